"""Answers to requests that fail: the one table of HTTP statuses, and the sentence in the body."""

from __future__ import annotations

from starlette.responses import JSONResponse, RedirectResponse, Response

from .errors import (
    Conflict,
    Invalid,
    KeyReused,
    NotReady,
    Overloaded,
    StoreUnavailable,
    UnknownBandit,
)

STATUSES: dict[type[Exception], int] = {
    Invalid: 422,
    KeyReused: 422,
    UnknownBandit: 404,
    Conflict: 409,
    NotReady: 503,
    Overloaded: 503,
    StoreUnavailable: 503,
}


class Rejected(Exception):
    """A request that does not reach the service, because of its token, headers or body.

    `wait` is the number of seconds after which it may be repeated.
    """

    def __init__(self, status: int, sentence: str, wait: int = 1) -> None:
        super().__init__(sentence)
        self.status, self.wait = status, wait


class LoginRequired(Exception):
    """Somebody who has not logged in wants to see a page."""


def answer_of(error: Exception) -> Response:
    """Return the answer to a request that failed: one sentence in JSON, and nothing else."""
    if isinstance(error, LoginRequired):
        return RedirectResponse("/login", 303)
    status = error.status if isinstance(error, Rejected) else STATUSES.get(type(error), 500)
    sentence = str(error)
    if isinstance(error, StoreUnavailable):
        sentence = "the store cannot be used now; try again."
    elif status == 500:
        sentence = "internal error; see the server's log."
    wait = str(error.wait if isinstance(error, Rejected) else 1)
    again = {"Retry-After": wait}
    headers = {401: {"WWW-Authenticate": "Bearer"}, 429: again, 503: again}.get(status)
    return JSONResponse({"error": sentence}, status, headers)
