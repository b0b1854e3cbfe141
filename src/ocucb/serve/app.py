"""The application: calls, health, metrics and the page, for any ASGI server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any

from fastapi import Body, FastAPI, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response

from .._text import LARGEST_COUNT
from .._version import __version__
from . import export, models, report, schema
from .answers import answer_of
from .authentication import access_of, needs, token_of
from .errors import NotReady, Refused
from .health import Probe
from .lanes import result_of
from .metrics import StateOfBandits
from .middleware import Middleware, log
from .pages import Name, add_pages
from .routes import FastRoute, StrictRoute
from .service import Service
from .storage import Storage, now
from .tokens import Authenticator

_SAME_KEY = "Repeats with the same key get the same decisions."
_Key = Annotated[str | None, Header(min_length=1, max_length=200, description=_SAME_KEY)]
_AfterName = Annotated[str, Query(max_length=100, description="The last name seen.")]
_LimitOfNames = Annotated[
    int, Query(ge=1, le=report.MOST_LISTED, description="The most to return.")
]
_After = Annotated[int, Query(ge=0, le=LARGEST_COUNT, description="The last number seen.")]
_Limit = Annotated[int, Query(ge=1, le=export.MOST_LINES, description="The most to return.")]
_Archived = Annotated[bool, Query(description="Those that are archived, not the others.")]
_Joined = Annotated[bool, Query(description="One row for each decision, with its reward.")]
_Format = Annotated[
    export.Format, Query(alias="format", description="Lines of JSON, CSV, or Parquet.")
]
_Margin = Annotated[
    float | None, Query(ge=0, le=1e100, description="A difference that does not matter.")
]
_Context = Annotated[
    str | None, Query(max_length=4000, description="As in a decision, as JSON: `[1,0.5]`.")
]
_Level = Annotated[float | None, Query(gt=0, lt=1, description="Confidence of the verdict.")]
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": models.ErrorAnswer, "description": text}
    for status, text in (
        (400, "The request is malformed."),
        (401, "No valid token."),
        (403, "The token may not do this."),
        (404, "There is no such bandit."),
        (409, "It conflicts with the current state."),
        (413, "The body is too large."),
        (415, "The body is not declared as JSON."),
        (422, "A field has a wrong value."),
        (429, "The token may not send so many requests; Retry-After says how long to wait."),
        (503, "The store cannot be used now."),
    )
}


def create_app(
    storage: Storage,
    *,
    clock: Callable[[], int] = now,
    sweep_seconds: float = 1.0,
    origins: Sequence[str] = (),
) -> FastAPI:
    """Return the application, for any ASGI server; `ocucb serve` uses uvicorn.

    The clock gives microseconds since 1970. Expired decisions are closed every `sweep_seconds`,
    and whenever somebody asks. Pages of `origins` may call it, with a token but no cookie.
    """
    registry = CollectorRegistry()
    service = Service(storage, clock=clock, registry=registry)
    authenticator, probe = Authenticator(storage), Probe(storage)

    async def sweep() -> None:
        while True:
            try:
                await run_in_threadpool(service.sweep)
            except Exception as error:  # whatever it was may be gone the next time
                log.error("sweep", extra={"facts": {"reason": repr(error)}})
            await asyncio.sleep(sweep_seconds)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for route in app.routes:
            access_of(route)  # or nobody knows who may call it
        warming = asyncio.create_task(run_in_threadpool(service.warm))
        sweeper = asyncio.create_task(sweep())
        yield
        sweeper.cancel()
        with suppress(asyncio.CancelledError):
            await sweeper
        service.close_soon()
        await warming
        probe.close()
        await run_in_threadpool(service.close)
        log.info("closed")

    app = FastAPI(
        title="ocucb serve",
        version=__version__,
        summary="Decisions that learn from their rewards.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses=_REFUSALS,
    )
    app.router.route_class = StrictRoute
    app.add_middleware(Middleware, authenticator=authenticator, registry=registry)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key"],
            expose_headers=["Retry-After"],
        )
    for route in app.routes:  # FastAPI has added the schema
        needs("public")(route.endpoint)  # type: ignore[attr-defined]
    registry.register(StateOfBandits(storage, clock))
    app.state.service = service
    _handle_errors(app)
    _add_calls(app, service)
    _add_operations(app, service, probe)
    add_pages(app, authenticator)
    schema.complete(app)
    return app


def _handle_errors(app: FastAPI) -> None:
    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        return answer_of(error)

    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> Response:
        return answer_of(models.invalid(error.errors(), request.url.path.rpartition("/")[2]))

    @app.exception_handler(HTTPException)
    async def not_found(request: Request, error: HTTPException) -> Response:
        sentence = {
            404: "there is nothing at this address.",
            405: f"{request.method} is not allowed here.",
            400: "the body must be JSON.",
        }.get(error.status_code, f"{error.detail}.")
        return JSONResponse({"error": sentence}, error.status_code, error.headers)


def _json(content: Any, status: int = 200) -> Response:
    return Response(json.dumps(content, allow_nan=False), status, media_type="application/json")


def _add_calls(app: FastAPI, service: Service) -> None:
    """Add the calls for programs."""

    def read(question: Callable[..., Any], *arguments: Any) -> Any:
        with service.storage.reading() as connection:
            return question(connection, *arguments)

    @app.get("/v1/bandits")
    @needs("read", filters=True)
    def list_bandits(
        request: Request,
        after: _AfterName = "",
        limit: _LimitOfNames = report.MOST_LISTED,
        archived: _Archived = False,
    ) -> Response:
        """List bandits and their health by name, after the name `after`.

        `next` is the name to go on after, or null if these are the last ones; there may be fewer
        than `limit` of them if they have many arms. A token that is limited to some bandits lists
        only these.
        """
        with service.storage.reading() as connection:
            found = report.overview(
                connection,
                service.clock(),
                after,
                limit,
                archived=archived,
                patterns=token_of(request.scope).patterns,
            )
        return _json(found)

    @app.put("/v1/bandits/{name}", responses={201: {"description": "It was created."}})
    @needs("administer")
    def create_bandit(name: Name, rules: models.Rules) -> Response:
        """Create a bandit; repeating the call is harmless."""
        created = service.create(name, rules)
        return _json(read(report.summary, name, service.clock()), 201 if created else 200)

    @app.get("/v1/bandits/{name}")
    @needs("read")
    def show_bandit(name: Name) -> Response:
        """Return what is known about the arms, what is played next and why, and the health."""
        return _json(read(report.summary, name, service.clock()))

    @app.patch("/v1/bandits/{name}")
    @needs("administer")
    async def change_bandit(name: Name, change: models.Change) -> Response:
        """Add or retire arms, change the policy, extend the horizon, pause or archive.

        Repeating it is harmless. Another policy goes on with what is known about the arms: a new
        epoch, of which the log has an entry.
        """
        if change.policy is not None:
            await run_in_threadpool(service.rehearse, name, change)
        await result_of(service.change(name, change))
        return _json(await run_in_threadpool(read, report.summary, name, service.clock()))

    @app.delete("/v1/bandits/{name}")
    @needs("administer")
    async def delete_bandit(name: Name, request: Request) -> Response:
        """Delete a bandit, which must be archived, with all its decisions and rewards."""
        await result_of(service.delete(name))
        facts = {"bandit": name, "token": token_of(request.scope).id}
        log.warning("deleted", extra={"facts": facts})
        return _json({"deleted": name})

    @app.post("/v1/bandits/{name}/prior")
    @needs("administer")
    async def tell_prior(
        name: Name, prior: models.PriorRequest, idempotency_key: _Key = None
    ) -> Response:
        """Tell what is known of arms from elsewhere: the bandit goes on as if it had played them.

        The same key counts once. Every item is an entry of the log.
        """
        await result_of(service.prior(name, prior, idempotency_key))
        return _json(await run_in_threadpool(read, report.summary, name, service.clock()))

    @needs("decide")
    async def decide(
        name: Name,
        request: Annotated[models.DecisionsRequest | None, Body()] = None,
        idempotency_key: _Key = None,
    ) -> Response:
        """Decide which arms to play."""
        waiting = service.decide(name, request or models.DecisionsRequest(), idempotency_key)
        return _json({"decisions": await result_of(waiting)})

    @needs("decide")
    async def reward(name: Name, items: models.RewardsRequest) -> Response:
        """Record the rewards of decisions; each counts once."""
        statuses = await result_of(service.reward(name, items))
        answers = [
            {"decision": item.decision, "status": status}
            for item, status in zip(items, statuses, strict=True)
        ]
        return _json({"rewards": answers})

    calls = ("decisions", decide, models.Decisions), ("rewards", reward, models.RewardAnswers)
    for path, call, model in calls:
        app.router.add_api_route(
            f"/v1/bandits/{{name}}/{path}",
            call,
            methods=["POST"],
            response_model=model,
            route_class_override=FastRoute,
        )

    @app.get("/v1/bandits/{name}/log")
    @needs("read")
    def read_log(
        name: Name,
        after: _After = 0,
        limit: _Limit = 1000,
        joined: _Joined = False,
        form: _Format = "ndjson",
    ) -> Response:
        """Return entries of the log after number `after`; joined, decisions with their outcomes.

        The `outcome` of a decision is `reward`, `default`, `expired`, or `open` so far.
        """
        with service.storage.reading() as connection:
            rows = export.log_rows(connection, name, after, limit, joined=joined)
        content = export.written(rows, form, joined=joined)
        return Response(content, media_type=export.TYPES[form])

    @app.get("/v1/bandits/{name}/verdict")
    @needs("read")
    def show_verdict(
        name: Name, margin: _Margin = None, level: _Level = None, context: _Context = None
    ) -> Response:
        """Tell whether the experiment may be stopped, how sure that is, and what it would lose.

        `margin` is a difference that does not matter; it and `level` are those of `when_decided`
        by default, or 0 and 0.95. If arms have features, the verdict is about one `context`.
        """
        given = None if context is None else models.context_of(context)
        return _json(read(report.verdict, name, margin, level, given))

    @app.get("/v1/bandits/{name}/history")
    @needs("read")
    def read_history(name: Name) -> Response:
        """Return decisions, pulls and summed rewards of the arms over time."""
        return _json(read(report.curves, name))


def _add_operations(app: FastAPI, service: Service, probe: Probe) -> None:
    """Add what those who run the service look at."""

    @app.get("/healthz", responses={503: {"model": models.ErrorAnswer}})
    @needs("public")
    async def healthz() -> Response:
        """Tell whether decisions can be stored: write something, and wait 3 seconds at most."""
        return await healthy()

    @app.get("/readyz", responses={503: {"model": models.ErrorAnswer}})
    @needs("public")
    async def readyz() -> Response:
        """Tell whether to send requests here: as `/healthz`, once stored policies are compiled."""
        return await healthy() if service.is_warm else answer_of(NotReady())

    async def healthy() -> Response:
        problem = await probe.problem()
        if problem is not None:
            log.error("store", extra={"facts": {"reason": str(problem)}})
            return answer_of(problem)
        return _json({"status": "ok", "version": __version__})

    @app.get("/metrics")
    @needs("read")
    def metrics() -> Response:
        """Return counters and histograms for Prometheus."""
        return Response(generate_latest(service.registry), media_type=CONTENT_TYPE_LATEST)
