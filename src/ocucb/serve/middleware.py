"""The middleware around the application: limits, authentication, headers, metrics, the log."""

from __future__ import annotations

import logging
import time

import anyio
from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .answers import LoginRequired, Rejected, answer_of
from .authentication import authenticate
from .errors import Refused, StoreUnavailable
from .tokens import Authenticator, Rates, Token

LARGEST_BODY = 1_000_000  # bytes
BODY_SECONDS = 10.0  # in which a body must arrive

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# headers that decide something
_ONCE = (b"authorization", b"content-type", b"idempotency-key", b"x-csrf-token")
_CONTENT_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    b"img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = [
    (b"content-security-policy", _CONTENT_POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),  # without it, our own forms would have no origin
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]

log = logging.getLogger("ocucb.serve")


class Middleware:
    """What every request passes before it reaches a route."""

    def __init__(
        self, app: ASGIApp, authenticator: Authenticator, registry: CollectorRegistry
    ) -> None:
        self.app, self._authenticator, self._rates = app, authenticator, Rates()
        labels = ["method", "route", "status"]
        self._requests = Counter(
            "ocucb_http_requests", "Requests answered.", labels, registry=registry
        )
        self._seconds = Histogram(
            "ocucb_http_seconds", "Seconds to answer a request.", ["route"], registry=registry
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name for name, _ in message["headers"]}
                missing = [header for header in HEADERS if header[0] not in given]
                message["headers"] = [*message["headers"], *missing]
            await send(message)

        token: Token | None = None
        try:
            headers = Headers(scope=scope)
            _check_headers(scope)
            token = await authenticate(scope, headers, self._authenticator, self._rates)
            if scope["method"] in ("POST", "PUT", "PATCH"):
                receive = await _buffered(scope["path"], headers, receive)
            await self.app(scope, receive, answer)
        except Exception as error:
            if isinstance(error, StoreUnavailable):
                log.error("store", extra={"facts": {"reason": str(error)}})
            elif not isinstance(error, Refused | Rejected | LoginRequired):
                log.exception("error", extra={"facts": {"path": scope["path"]}})
            if not status:
                await answer_of(error)(scope, receive, answer)
        finally:
            self._note(scope, status, time.perf_counter() - began, token)

    def _note(self, scope: Scope, status: int, seconds: float, token: Token | None) -> None:
        route = getattr(scope.get("route"), "path", None) or "none"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(route).observe(seconds)
        if not log.isEnabledFor(logging.INFO):
            return
        facts = {
            "method": scope["method"][:20],
            "path": scope["path"][:200],
            "status": status,
            "ms": round(1000 * seconds, 2),
            "token": token.id if token else None,
            "client": scope["client"][0] if scope.get("client") else None,
        }
        log.info("request", extra={"facts": facts})


def _check_headers(scope: Scope) -> None:
    """Reject a request in which a header that decides something occurs twice."""
    names = [name for name, _ in scope["headers"] if name in _ONCE]
    if len(names) > len(set(names)):
        twice = next(name for name in names if names.count(name) > 1).decode()
        raise Rejected(400, f"the header {twice} may occur only once.")


async def _buffered(path: str, headers: Headers, receive: Receive) -> Receive:
    """Read the body of a request; return a channel that gives it at once, then what follows."""
    body = await _body(headers, receive)
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and path.startswith("/v1/") and kind != "application/json":
        raise Rejected(415, f"Content-Type must be application/json, got {kind[:50]!r}.")
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _body(headers: Headers, receive: Receive) -> bytes:
    """Return the body of a request, which must be short and come soon."""
    too_large = Rejected(413, f"the body may have at most {LARGEST_BODY} bytes; send fewer items.")
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > LARGEST_BODY:
        raise too_large
    if length == "0" and "transfer-encoding" not in headers:
        return b""  # nothing to wait for, so no timer, which takes longer than the rest
    parts: list[bytes] = []
    size = 0
    try:
        with anyio.fail_after(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Rejected(400, "the connection was closed before the body was complete.")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > LARGEST_BODY:
                    raise too_large
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Rejected(408, f"the body must arrive within {BODY_SECONDS:g} seconds.") from None
