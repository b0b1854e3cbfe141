"""Routes: strict about JSON, with a declared access; and the fast path of decisions and rewards."""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from .authentication import access_of
from .errors import Invalid
from .models import short

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; a key with two values is refused, as nobody knows which was meant."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise Invalid(f"{short(twice, 50)} occurs twice in one object; give it once.")
    return made


class StrictRoute(APIRoute):
    """A route that declares who may call it, and takes no JSON in which a key occurs twice."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        access_of(self)

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def strictly(request: Request) -> Response:
            with suppress(ValueError, RecursionError):  # FastAPI explains these better
                json.loads(await request.body(), object_pairs_hook=_without_repeats)
            return await handle(request)

        return strictly


class FastRoute(StrictRoute):
    """A route with a fast path: a valid request goes straight to its function.

    FastAPI's way from a request to a function takes longer than a decision. On the fast path
    pydantic checks the same annotations, and that is all. A request that is not valid takes
    FastAPI's way, which says why. So does every request if there is more to check than parts of
    the path, headers and one body: no dependency that anybody declares is ever skipped.
    """

    def get_route_handler(self) -> Handler:
        handle, declared = super().get_route_handler(), self.dependant
        parameters = inspect.signature(self.endpoint, eval_str=True).parameters
        parts = (*declared.path_params, *declared.header_params, *declared.body_params)
        # FastAPI asks again if the route is included in another router, which may declare more
        if hasattr(self, "app") or declared.dependencies or len(declared.body_params) != 1:
            return handle
        if {part.name for part in parts} != set(parameters):
            return handle
        self._headers = {part.name: part.alias for part in declared.header_params}
        self._body = declared.body_params[0].name
        self._checks = {
            name: (TypeAdapter(parameter.annotation).validate_python, parameter.default)
            for name, parameter in parameters.items()
        }

        async def fast(request: Request) -> Response:
            values = self._read(request, await request.body())
            if values is None:
                return await handle(request)
            answer: Response = await self.endpoint(**values)
            return answer

        return fast

    def _read(self, request: Request, body: bytes) -> dict[str, Any] | None:
        """Return what the function takes, or None if something is not valid."""
        given = dict(request.path_params)
        for name, header in self._headers.items():
            if (text := request.headers.get(header)) is not None:
                given[name] = text
        try:
            if body:
                given[self._body] = json.loads(body, object_pairs_hook=_without_repeats)
            values = {
                name: check(given[name]) if name in given else default
                for name, (check, default) in self._checks.items()
            }
        except (ValueError, RecursionError, Invalid):  # pydantic's and json's are ValueErrors
            return None
        return None if inspect.Parameter.empty in values.values() else values
