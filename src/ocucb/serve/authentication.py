"""Who may call what: every route declares it (`needs`), and a request must prove it."""

from __future__ import annotations

import hashlib
import hmac
import math
import time
from collections.abc import Callable
from typing import Any, Literal, TypeVar, get_args

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.routing import Match
from starlette.types import Scope

from .answers import LoginRequired, Rejected
from .tokens import Authenticator, Rates, Token

COOKIE = "ocucb_token"

# public: anybody. form: anybody, but not from a page of another site. page: whoever has logged in;
# others are sent to the login. read: any token, or the cookie of the page. decide: any token.
# administer: a token with that scope, or the page's cookie with what only our own page can know.
Access = Literal["public", "form", "page", "read", "decide", "administer"]
T = TypeVar("T", bound=Callable[..., Any])


def needs(access: Access, *, filters: bool = False) -> Callable[[T], T]:
    """Declare what a request needs to reach a function, or an application that is mounted.

    A token that is limited to some bandits reaches only routes with the name of one of them, and
    those that declare that they answer with nothing else (`filters`): see `token_of`.
    """
    assert access in get_args(Access), access

    def declared(function: T) -> T:
        function.access, function.filters = access, filters  # type: ignore[attr-defined]
        return function

    return declared


def access_of(route: Any) -> Access:
    """Return what a route has declared; one that has declared nothing is an error."""
    function = getattr(route, "endpoint", None) or getattr(route, "app", None)
    access: Access | None = getattr(function, "access", None)
    if access is None:
        raise TypeError(f"{route!r} does not declare who may call it; decorate it with @needs.")
    return access


def csrf_token(text: str) -> str:
    """Return what a page must send with the cookie to change something: other sites cannot know it.

    It follows from the token in the cookie, which no script can read.
    """
    return hmac.new(
        text.strip().encode("utf-8", "replace"), b"ocucb csrf", hashlib.sha256
    ).hexdigest()


def token_of(scope: Scope) -> Token:
    """Return the token with which a request has come to its route."""
    token: Token = scope["ocucb.token"]
    return token


def access_needed(scope: Scope) -> tuple[Access, str | None]:
    """Return what a request needs, and which bandit it is for.

    The bandit is a star for all of them, and None if that is no matter.
    """
    partial: Access | None = None
    for route in scope["app"].routes:
        match, child = route.matches(scope)
        if match is Match.FULL:
            access = access_of(route)
            filters = access not in ("read", "decide", "administer") or route.endpoint.filters
            return access, child.get("path_params", {}).get("name", None if filters else "*")
        if match is Match.PARTIAL and partial is None:
            partial = access_of(route)
    if partial in ("public", "form", "page"):
        return partial, None
    # No route takes it, so there is nothing to protect, only a 404 or 405 to be told of.
    of_method: dict[str, Access] = {"GET": "read", "HEAD": "read", "POST": "decide"}
    return of_method.get(scope["method"], "administer"), None


async def authenticate(
    scope: Scope, headers: Headers, authenticator: Authenticator, rates: Rates
) -> Token | None:
    """Return who sends a request, or None where nobody asks; reject whoever may not send it."""
    access, bandit = access_needed(scope)
    if access == "form" and _is_foreign(headers):
        raise Rejected(403, f"{scope['path']} does not take forms of other sites.")
    if access in ("public", "form"):
        return None
    scheme, _, text = headers.get("authorization", "").partition(" ")
    proof = headers.get("x-csrf-token") if access == "administer" else None
    if scheme.lower() != "bearer":
        cookies = headers.get("cookie", "") if access in ("read", "page") or proof else ""
        text = cookie_parser(cookies).get(COOKIE, "")
        if proof is not None and (
            _is_foreign(headers)
            or not hmac.compare_digest(proof.encode(), csrf_token(text).encode())
        ):
            raise Rejected(403, "the page is out of date, or not ours; load it again.")
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
    if bandit is not None and not token.may_use(bandit):
        what = f"bandit {bandit!r}" if bandit != "*" else scope["path"]
        raise Rejected(403, f"this token is limited to {token.bandits}, and not good for {what}.")
    wait = rates.wait(token, time.monotonic())
    if wait:
        seconds = math.ceil(wait)
        raise Rejected(
            429,
            f"this token may send {token.rate:g} requests per second; wait {seconds} s.",
            seconds,
        )
    scope["ocucb.token"] = token
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
