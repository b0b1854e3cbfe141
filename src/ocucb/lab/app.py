"""The application of the lab: the page, and numbers as server-sent events."""

from __future__ import annotations

import asyncio
import json
import threading
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from .._compile import cores
from .._text import listed
from .._version import __version__
from ..serve.middleware import HEADERS
from ..serve.pages import PAGES as SHARED
from ..serve.pages import Files, package_folder
from ..sweeps import SweepCurve, SweepResult
from . import payload
from .crew import Crew, Lane
from .race import race_of
from .rounds import Limits, Say, sharpen, sharpen_gaps
from .state import State, read
from .stories import STORIES
from .taking import ENDINGS, Shelf, file_of
from .visitors import Busy, Visitors

PAGES = Path(__file__).parent / "pages"
FIGURES = ("regret", "tails", "shares", "gaps", "race")
_POLL = 0.05  # seconds between looks whether the page is still there
_KEPT = 12  # results, of some megabytes each

Send_ = Callable[[str, Any], None]


@dataclass(frozen=True)
class House:
    """The rules of a lab: alone on one's machine, or open to anybody."""

    limits: Limits
    each: int = 16  # streams of a visitor
    most: int = 32
    rate: float = 50.0  # streams that a visitor may begin in a second, on average


PRIVATE = House(Limits())
PUBLIC = House(Limits(precision=0.01, seconds=20.0, longest_run=0.5), each=6, most=48, rate=3.0)


class Secured:
    """Gives every answer the headers of the service: a strict content policy, among others."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                missing = [header for header in HEADERS if header[0] not in given]
                message["headers"] = [*message["headers"], *missing]
            await send(message)

        await self.app(scope, receive, answer)


def create_lab(house: House = PRIVATE) -> FastAPI:
    """Return the application, for any ASGI server; `ocucb lab` uses uvicorn."""
    visitors = Visitors(house.each, house.most, house.rate)
    shelf = Shelf(_KEPT)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.crew = Crew(cores())
        yield
        await run_in_threadpool(app.state.crew.end)

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.add_middleware(Secured)
    app.state.visitors = visitors
    app.mount("/static", Files(directory=PAGES / "static"))
    app.mount("/shared", Files(directory=SHARED / "static"))
    app.mount(
        "/charts", Files(directory=package_folder("chartkick", "django", "static", "chartkick"))
    )
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(PAGES), autoescape=True)
    page = templates.get_template("lab.html").render(version=__version__, stories=STORIES)

    @app.exception_handler(ValueError)
    async def refused(request: Request, error: ValueError) -> Response:
        return JSONResponse({"error": str(error)}, 422)

    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy) -> Response:
        return JSONResponse({"error": str(error)}, 429, {"Retry-After": "5"})

    @app.get("/")
    def show() -> Response:
        return HTMLResponse(page)

    @app.get("/registry")
    def registry() -> Response:
        return JSONResponse(payload.registry())

    @app.get("/about")
    def about(request: Request) -> Response:
        return JSONResponse(payload.about(_state(request)))

    @app.get("/runs")
    async def runs(request: Request) -> Response:
        def play(state: State, lane: Lane, send: Send_, say: Say) -> None:
            for known in sharpen(state, lane, house.limits, say):
                if known.whole:
                    shelf.put((state.address, known.problem, known.runs), known.result)
                send("numbers", payload.numbers(state, known))

        return _stream(request, visitors, play)

    @app.get("/gaps/{number}")
    async def gaps(request: Request, number: int) -> Response:
        def play(state: State, lane: Lane, send: Send_, say: Say) -> None:
            _check_number(state, number)
            curves: list[SweepCurve] = []
            for found in sharpen_gaps(state, number, lane, house.limits, say):
                curves.append(found)
                send("curve", payload.curve(state, number, found))
                if kept := payload.curves_together(curves, state.policies):
                    name = state.settings[number].problem.name
                    whole = SweepResult(kept, "gap", name, state.seed, __version__)
                    shelf.put((state.address, number, found.runs, "gaps"), whole)

        return _stream(request, visitors, play)

    @app.get("/race/{number}/{policy}")
    def race(request: Request, number: int, policy: int) -> Response:
        state = _state(request)
        _check_number(state, number, policy)
        with visitors.visit(_name(request)), warnings.catch_warnings():
            run, found = race_of(state, number, policy)
        return JSONResponse(payload.race(state, number, policy, run, found))

    @app.get("/take/{figure}/{number}/{which}/{file}")
    def take(request: Request, figure: str, number: int, which: int, file: str) -> Response:
        """Return a figure as a file; `which` is the number of runs, or whose race it is."""
        state = _state(request)
        ending = file.rpartition(".")[2]
        if figure not in FIGURES or ending not in ENDINGS:
            known = f"{listed(FIGURES, 'or')} as {listed([*ENDINGS], 'or')}"
            raise ValueError(f"there is no such figure; there are {known}.")
        with visitors.visit(_name(request)):
            if figure == "race":
                _check_number(state, number, which)
                thing: Any = race_of(state, number, which)[0]
            else:
                more = ("gaps",) if figure == "gaps" else ()
                thing = shelf.get((state.address, number, which, *more))
            if thing is None:
                return JSONResponse({"error": "it is no longer here; play again."}, 410)
            name = f"attachment; filename={figure}.{ending}"
            made = file_of(figure, ending, thing)
        return Response(made, media_type=ENDINGS[ending], headers={"Content-Disposition": name})

    return app


def _state(request: Request) -> State:
    return read(request.url.query)


def _name(request: Request) -> str:
    return request.client.host if request.client else ""


def _check_number(state: State, number: int, policy: int = 0) -> None:
    if not (0 <= number < len(state.settings) and 0 <= policy < len(state.players)):
        raise ValueError("there is no such problem or policy here.")


def _stream(
    request: Request,
    visitors: Visitors,
    play: Callable[[State, Lane, Send_, Say], None],
) -> Response:
    """Answer with events for as long as the page listens.

    An event source cannot read an answer that refuses, so whatever is refused is an event as well.
    """

    async def events() -> AsyncIterator[str]:
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[str | None]()

        def put(text: str | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(queue.put_nowait, text)

        def send(kind: str, content: Any) -> None:
            put(_event(kind, content))

        try:
            with visitors.visit(_name(request)) as account:
                state = _state(request)
                lane = request.app.state.crew.lane(account)
                worker = threading.Thread(
                    target=_work, args=(play, state, lane, send, put), daemon=True
                )
                yield _event("about", await run_in_threadpool(payload.about, state))
                worker.start()
                try:
                    async for text in _until_gone(request, queue):
                        yield text
                finally:
                    lane.close()
        except (Busy, ValueError) as error:
            yield _event("refused", str(error))

    headers = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


async def _until_gone(request: Request, queue: asyncio.Queue[str | None]) -> AsyncIterator[str]:
    while True:
        try:
            text = await asyncio.wait_for(queue.get(), _POLL)
        except TimeoutError:
            if await request.is_disconnected():
                return
            continue
        if text is None:
            return
        yield text


def _work(
    play: Callable[[State, Lane, Send_, Say], None],
    state: State,
    lane: Lane,
    send: Send_,
    put: Callable[[str | None], None],
) -> None:
    """Play in a thread of its own; whatever goes wrong is an event."""
    try:
        play(state, lane, send, lambda word: send("word", word))
        send("done", None)
    except ValueError as error:
        send("refused", str(error))
    except BaseException as error:
        if not lane.closed:  # else it was cancelled, which raises all sorts of things
            send("refused", f"something went wrong: {type(error).__name__}.")
    finally:
        put(None)


def _event(kind: str, content: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps(content, allow_nan=False)}\n\n"
