"""The application: calls, health, metrics and the page, for any ASGI server."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs

import jinja2
from fastapi import Body, FastAPI, Header, Query, Request
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from .._text import LARGEST_COUNT
from .._version import __version__
from . import models, report
from .answers import answer_of
from .authentication import COOKIE, access_of, needs
from .errors import Refused, StoreUnavailable
from .lanes import result_of
from .middleware import Middleware, log
from .routes import FastRoute, StrictRoute
from .service import Service
from .storage import PATIENCE, Storage, now
from .tokens import Authenticator

PAGES = Path(__file__).parent / "pages"
_KEPT = 0.1  # seconds for which an answer about the health is given to others, too
_MOST_SECONDS = PATIENCE + 0.5  # then the answer is no, whatever the store is doing

_Name = Annotated[models.BanditName, InPath(description="The bandit's name.")]
_SAME_KEY = "Repeats with the same key get the same decisions."
_Key = Annotated[str | None, Header(min_length=1, max_length=200, description=_SAME_KEY)]
_AfterName = Annotated[str, Query(max_length=100, description="The last name seen.")]
_LimitOfNames = Annotated[
    int, Query(ge=1, le=report.MOST_LISTED, description="The most to return.")
]
_After = Annotated[int, Query(ge=0, le=LARGEST_COUNT, description="The last number seen.")]
_Limit = Annotated[int, Query(ge=1, le=report.MOST_LINES, description="The most to return.")]
_Margin = Annotated[
    float | None, Query(ge=0, le=1e100, description="A difference that does not matter.")
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
        (503, "The store cannot be used now."),
    )
}


class Probe:
    """Writes to the store, once for many who ask together; all must share an event loop."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._pool = ThreadPoolExecutor(1, "ocucb-health")
        self._attempt: Future[Exception | None] | None = None
        self._ended = 0.0

    def close(self) -> None:
        """Begin no more attempts."""
        self._pool.shutdown(wait=False)

    async def problem(self) -> Exception | None:
        """Return why the store cannot be written to, or None if it can."""
        attempt = self._attempt
        if attempt is None or (attempt.done() and time.monotonic() > self._ended + _KEPT):
            attempt = self._attempt = self._pool.submit(self._try)
        await asyncio.wait([asyncio.wrap_future(attempt)], timeout=_MOST_SECONDS)
        if not attempt.done():
            return StoreUnavailable("the store takes too long to write.")
        return attempt.result()

    def _try(self) -> Exception | None:
        try:
            self._storage.check_writable()
        except Exception as error:
            return error
        finally:
            self._ended = time.monotonic()
        return None


def create_app(
    storage: Storage, *, clock: Callable[[], int] = now, sweep_seconds: float = 1.0
) -> FastAPI:
    """Return the application, for any ASGI server; `ocucb serve` uses uvicorn.

    The clock gives microseconds since 1970. Expired decisions are closed every `sweep_seconds`,
    and whenever somebody asks.
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
        sweeper = asyncio.create_task(sweep())
        yield
        sweeper.cancel()
        with suppress(asyncio.CancelledError):
            await sweeper
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
    for route in app.routes:  # FastAPI has added the schema
        needs("public")(route.endpoint)  # type: ignore[attr-defined]
    app.state.service = service
    _handle_errors(app)
    _add_calls(app, service)
    _add_operations(app, service, probe)
    _add_pages(app, authenticator)
    return app


def _handle_errors(app: FastAPI) -> None:
    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        return answer_of(error)

    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> Response:
        return answer_of(models.invalid(error.errors()))

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
    @needs("read")
    def list_bandits(after: _AfterName = "", limit: _LimitOfNames = report.MOST_LISTED) -> Response:
        """List bandits and their health by name, after the name `after`.

        `next` is the name to go on after, or null if these are the last ones; there may be fewer
        than `limit` of them if they have many arms.
        """
        return _json(read(report.overview, service.clock(), after, limit))

    @app.put("/v1/bandits/{name}", responses={201: {"description": "It was created."}})
    @needs("administer")
    def create_bandit(name: _Name, rules: models.Rules) -> Response:
        """Create a bandit; repeating the call is harmless."""
        created = service.create(name, rules)
        return _json(read(report.summary, name, service.clock()), 201 if created else 200)

    @app.get("/v1/bandits/{name}")
    @needs("read")
    def show_bandit(name: _Name) -> Response:
        """Return what is known about the arms, what is played next and why, and the health."""
        return _json(read(report.summary, name, service.clock()))

    @app.patch("/v1/bandits/{name}")
    @needs("administer")
    async def change_bandit(name: _Name, change: models.Change) -> Response:
        """Add or retire arms, extend the horizon, pause or resume; repeating it is harmless."""
        await result_of(service.change(name, change))
        return _json(await run_in_threadpool(read, report.summary, name, service.clock()))

    @needs("decide")
    async def decide(
        name: _Name,
        request: Annotated[models.DecisionsRequest | None, Body()] = None,
        idempotency_key: _Key = None,
    ) -> Response:
        """Decide which arms to play."""
        waiting = service.decide(name, request or models.DecisionsRequest(), idempotency_key)
        return _json({"decisions": await result_of(waiting)})

    @needs("decide")
    async def reward(name: _Name, items: models.RewardsRequest) -> Response:
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
    def read_log(name: _Name, after: _After = 0, limit: _Limit = 1000) -> Response:
        """Return entries of the log after number `after`, as lines of JSON."""
        lines = read(report.log_lines, name, after, limit)
        return Response(lines, media_type="application/x-ndjson")

    @app.get("/v1/bandits/{name}/verdict")
    @needs("read")
    def show_verdict(name: _Name, margin: _Margin = None, level: _Level = None) -> Response:
        """Tell whether the experiment may be stopped, how sure that is, and what it would lose.

        `margin` is a difference that does not matter; it and `level` are those of `when_decided`
        by default, or 0 and 0.95.
        """
        return _json(read(report.verdict, name, margin, level))

    @app.get("/v1/bandits/{name}/history")
    @needs("read")
    def read_history(name: _Name) -> Response:
        """Return decisions, pulls and summed rewards of the arms over time."""
        return _json(read(report.curves, name))


def _add_operations(app: FastAPI, service: Service, probe: Probe) -> None:
    """Add what those who run the service look at."""

    @app.get("/healthz", responses={503: {"model": models.ErrorAnswer}})
    @needs("public")
    async def healthz() -> Response:
        """Tell whether decisions can be stored: write something, and wait 3 seconds at most."""
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


def _add_pages(app: FastAPI, authenticator: Authenticator) -> None:
    """Add what people look at."""
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(PAGES), autoescape=True)
    app.mount("/static", needs("public")(StaticFiles(directory=PAGES / "static")))

    def page(template: str, status: int = 200, **values: Any) -> Response:
        return HTMLResponse(templates.get_template(template).render(**values), status)

    @app.get("/", include_in_schema=False)
    @needs("page")
    def list_page() -> Response:
        return page("list.html")

    @app.get("/bandits/{name}", include_in_schema=False)
    @needs("page")
    def bandit_page(name: _Name) -> Response:
        return page("bandit.html", name=name)

    @app.get("/login", include_in_schema=False)
    @needs("form")
    def login_page() -> Response:
        return page("login.html", wrong=False)

    @app.post("/login", include_in_schema=False)
    @needs("form")
    async def login(request: Request) -> Response:
        fields = parse_qs((await request.body()).decode("utf-8", "replace"))
        text = fields.get("token", [""])[0].strip()
        if await run_in_threadpool(authenticator.find, text) is None:
            return page("login.html", 401, wrong=True)
        answer = RedirectResponse("/", 303)
        scheme = request.headers.get("x-forwarded-proto", request.url.scheme)
        secure = scheme == "https"  # whoever lies about it harms only themselves
        answer.set_cookie(COOKIE, text, httponly=True, samesite="strict", secure=secure)
        return answer

    @app.post("/logout", include_in_schema=False)
    @needs("form")
    def logout() -> Response:
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer
