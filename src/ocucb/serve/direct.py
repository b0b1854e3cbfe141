"""The short way for calls that come often: to their functions, and back from other threads."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from fastapi.params import Header
from fastapi.routing import APIRoute
from pydantic import TypeAdapter
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

T = TypeVar("T")


class Direct(APIRoute):
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
                given[self._body] = json.loads(body)
            values = {
                name: check(given[name]) if name in given else default
                for name, (check, default) in self._checks.items()
            }
        except (ValueError, RecursionError):  # pydantic's and json's are ValueErrors
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
