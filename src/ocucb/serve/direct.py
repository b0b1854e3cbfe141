"""The way of a request to its function: strict for all, short for those that come often."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from fastapi import Request, Response
from fastapi.params import Header
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from .models import Refused, short

T = TypeVar("T")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON: of two values for one key, none is what was meant."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise Refused(422, f"{short(twice, 50)} occurs twice in one object; give it once.")
    return made


class Strict(APIRoute):
    """A call that takes no JSON in which a key occurs twice."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            with suppress(ValueError, RecursionError):  # of which FastAPI tells better
                body = request.scope["state"].get("body", b"")
                json.loads(body, object_pairs_hook=_without_repeats)
            return await handle(request)

        return strictly


class Direct(Strict):
    """A call whose valid requests go straight to its function; FastAPI describes it.

    FastAPI's way from a request to a function takes longer than a decision. Here pydantic checks
    the same annotations, and that is all; whatever is not valid goes FastAPI's way, which says
    why. The function is asynchronous and takes parts of the path, headers and one body.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self._checks: dict[str, tuple[Callable[[Any], Any], Any]] = {}
        self._headers: dict[str, str] = {}
        for name, parameter in inspect.signature(endpoint, eval_str=True).parameters.items():
            annotation = parameter.annotation
            self._checks[name] = TypeAdapter(annotation).validate_python, parameter.default
            if any(isinstance(one, Header) for one in getattr(annotation, "__metadata__", ())):
                self._headers[name] = name.replace("_", "-")
            elif name not in self.param_convertors:
                self._body = name

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        values = self._read(scope) if scope["method"] in (self.methods or ()) else None
        if values is None:
            await super().handle(scope, receive, send)
        else:
            answer = await self.endpoint(**values)
            await answer(scope, receive, send)

    def _read(self, scope: Scope) -> dict[str, Any] | None:
        """Return what the function takes, or None if something is not valid."""
        headers, body = Headers(scope=scope), scope["state"]["body"]
        given = dict(scope["path_params"])
        for name, header in self._headers.items():
            if (text := headers.get(header)) is not None:
                given[name] = text
        try:
            if body:
                given[self._body] = json.loads(body, object_pairs_hook=_without_repeats)
            values = {
                name: check(given[name]) if name in given else default
                for name, (check, default) in self._checks.items()
            }
        except (ValueError, RecursionError, Refused):  # pydantic's and json's are ValueErrors
            return None
        return None if inspect.Parameter.empty in values.values() else values


async def result_of(future: Future[T]) -> T:
    """Return what another thread finds, as `asyncio.wrap_future` does.

    That one wakes the event loop for every result; here those of a group wake it once.
    """
    loop = asyncio.get_running_loop()
    arrivals = _arrivals.setdefault(loop, _Arrivals())
    waiting = loop.create_future()
    future.add_done_callback(lambda _: arrivals.add(waiting, loop))
    try:
        await waiting
    except asyncio.CancelledError:
        future.cancel()
        raise
    return future.result()


class _Arrivals:
    """Those in an event loop whose results have come, and who do not know it yet."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._called = False

    def add(self, waiting: asyncio.Future[None], loop: asyncio.AbstractEventLoop) -> None:
        """Tell one, soon; from any thread."""
        self._waiting.append(waiting)
        if not self._called and not loop.is_closed():
            self._called = True
            loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self._called = False  # first, so that whoever comes from now on calls again
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():  # or it was given up
                waiting.set_result(None)


_arrivals: WeakKeyDictionary[asyncio.AbstractEventLoop, _Arrivals] = WeakKeyDictionary()
