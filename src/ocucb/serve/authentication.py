"""Who may call what: every route declares it (`needs`), and a request must prove it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, get_args

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.routing import Match
from starlette.types import Scope

from .answers import LoginRequired, Rejected
from .tokens import Authenticator, Token

COOKIE = "ocucb_token"

# public: anybody. form: anybody, but not from a page of another site. page: whoever has logged in;
# others are sent to the login. read: any token, or the cookie of the page. decide: any token.
# administer: a token with that scope.
Access = Literal["public", "form", "page", "read", "decide", "administer"]
T = TypeVar("T", bound=Callable[..., Any])


def needs(access: Access) -> Callable[[T], T]:
    """Declare what a request needs to reach a function, or an application that is mounted."""
    assert access in get_args(Access), access

    def declared(function: T) -> T:
        function.access = access  # type: ignore[attr-defined]
        return function

    return declared


def access_of(route: Any) -> Access:
    """Return what a route has declared; one that has declared nothing is an error."""
    function = getattr(route, "endpoint", None) or getattr(route, "app", None)
    access: Access | None = getattr(function, "access", None)
    if access is None:
        raise TypeError(f"{route!r} does not declare who may call it; decorate it with @needs.")
    return access


def access_needed(scope: Scope) -> Access:
    """Return what a request needs."""
    partial: Access | None = None
    for route in scope["app"].routes:
        match, _ = route.matches(scope)
        if match is Match.FULL:
            return access_of(route)
        if match is Match.PARTIAL and partial is None:
            partial = access_of(route)
    if partial in ("public", "form", "page"):
        return partial
    # No route takes it, so there is nothing to protect, only a 404 or 405 to be told of.
    of_method: dict[str, Access] = {"GET": "read", "HEAD": "read", "POST": "decide"}
    return of_method.get(scope["method"], "administer")


async def authenticate(
    scope: Scope, headers: Headers, authenticator: Authenticator
) -> Token | None:
    """Return who sends a request, or None where nobody asks; reject whoever may not send it."""
    access = access_needed(scope)
    if access == "form" and _is_foreign(headers):
        raise Rejected(403, f"{scope['path']} does not take forms of other sites.")
    if access in ("public", "form"):
        return None
    scheme, _, text = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        cookies = headers.get("cookie", "") if access in ("read", "page") else ""
        text = cookie_parser(cookies).get(COOKIE, "")
    text = text.strip()
    token = authenticator.recall(text)
    if token is None and text:
        token = await run_in_threadpool(authenticator.find, text)
    if token is None and access == "page":
        raise LoginRequired
    if token is None:
        raise Rejected(401, "a valid token is needed: Authorization: Bearer ocucb_…")
    if access == "administer" and token.scope != "administer":
        raise Rejected(
            403,
            f"{scope['method']} needs a token with scope administer; this one has scope decide.",
        )
    return token


def _is_foreign(headers: Headers) -> bool:
    """Tell whether a browser says that a request comes from another site's page.

    Browsers send Sec-Fetch-Site over TLS and on this machine, and elsewhere an Origin with every
    form. A proxy may change the Host, so the first counts if it is there.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    if origin is None:
        return False
    return origin.lower().partition("://")[2] != headers.get("host", "").lower()
