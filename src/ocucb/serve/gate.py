"""What every request passes: limits, authentication, headers, metrics and a line in the log."""

from __future__ import annotations

import logging
import time
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

import anyio
from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .models import Refused
from .storage import StoreUnavailable
from .tokens import Doorkeeper, Token

LARGEST_BODY = 1_000_000  # bytes
BODY_SECONDS = 10.0  # in which a body must arrive
COOKIE = "ocucb_token"

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_FORMS = ("/login", "/logout")
_PUBLIC = ("/healthz", "/openapi.json", *_FORMS)
_ONCE = (b"authorization", b"content-type", b"idempotency-key")  # headers that decide something
_HEADERS = [
    (name.encode(), value.encode())
    for name, value in (
        (
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            "img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        ),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),  # without it, our own forms would have no origin
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    )
]

log = logging.getLogger("ocucb.serve")


class Gate:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, doorkeeper: Doorkeeper, registry: CollectorRegistry) -> None:
        self.app, self._doorkeeper = app, doorkeeper
        self._requests = Counter(
            "ocucb_http_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=registry,
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
                message["headers"] = [
                    *message["headers"],
                    *(one for one in _HEADERS if one[0] not in given),
                ]
            await send(message)

        try:
            await self._pass(scope, receive, answer)
        except Exception as error:
            if isinstance(error, StoreUnavailable):
                log.error("store", extra={"facts": {"reason": str(error)}})
            elif not isinstance(error, Refused):
                log.exception("error", extra={"facts": {"path": scope["path"]}})
            if not status:
                await answer_of(error)(scope, receive, answer)
        finally:
            self._note(scope, status, time.perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", None) or "none"
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(route).observe(seconds)
        if not log.isEnabledFor(logging.INFO):
            return
        token = scope.get("state", {}).get("token")
        facts = {
            "method": scope["method"][:20],
            "path": scope["path"][:200],
            "status": status,
            "ms": round(1000 * seconds, 2),
            "token": token.id if token else None,
            "client": scope["client"][0] if scope.get("client") else None,
        }
        log.info("request", extra={"facts": facts})

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        scope.setdefault("state", {})
        names = [name for name, _ in scope["headers"] if name in _ONCE]
        if len(names) > len(set(names)):
            twice = next(name for name in names if names.count(name) > 1).decode()
            raise Refused(400, f"the header {twice} may occur only once.")
        if path in _FORMS and _is_foreign(headers):
            raise Refused(403, f"{path} does not take forms of other sites.")
        if not (path in _PUBLIC or path.startswith("/static/")):
            is_page = path == "/" or path.startswith("/bandits/")
            token = await self._token(headers, method)
            if token is None and is_page:
                await RedirectResponse("/login", 303)(scope, receive, send)
                return
            if token is None:
                raise Refused(401, "a valid token is needed: Authorization: Bearer ocucb_…")
            if method not in ("GET", "HEAD", "POST") and token.scope != "administer":
                raise Refused(
                    403, f"{method} needs a token with scope administer; this one has scope decide."
                )
            scope["state"]["token"] = token
        if method in ("POST", "PUT", "PATCH"):
            body = await _body(headers, receive)
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if body and path.startswith("/v1/") and kind != "application/json":
                raise Refused(415, f"Content-Type must be application/json, got {kind[:50]!r}.")
            scope["state"]["body"] = body
            receive = _replayed(body, receive)
        await self.app(scope, receive, send)

    async def _token(self, headers: Headers, method: str) -> Token | None:
        """Return who asks: a bearer token, or for reading the cookie of the page."""
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            text = _cookie(headers) if method in ("GET", "HEAD") else ""
        text = text.strip()
        if not text:
            return None
        known = self._doorkeeper.recall(text)
        return known if known else await run_in_threadpool(self._doorkeeper.find, text)


def answer_of(error: Exception) -> Response:
    """Return the answer to a request that failed: one sentence in JSON, and nothing else."""
    headers: dict[str, str] = {}
    if isinstance(error, Refused):
        status, sentence = error.status, error.sentence
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
    elif isinstance(error, StoreUnavailable):
        status, sentence = 503, "the store cannot be used now; try again."
    else:
        status, sentence = 500, "internal error; see the server's log."
    if status == 503:
        headers["Retry-After"] = "1"
    return JSONResponse({"error": sentence}, status, headers)


def _is_foreign(headers: Headers) -> bool:
    """Tell whether a browser says that a request comes from another site's page.

    Browsers send Sec-Fetch-Site over TLS and on this machine, and elsewhere an Origin with every
    form. A proxy may change the Host, so the first counts if it is there.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and _host(origin) != headers.get("host", "").lower()


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _cookie(headers: Headers) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


async def _body(headers: Headers, receive: Receive) -> bytes:
    """Return the body of a request, which must be short and come soon."""
    too_large = Refused(413, f"the body may have at most {LARGEST_BODY} bytes; send fewer items.")
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
                    raise Refused(400, "the connection was closed before the body was complete.")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > LARGEST_BODY:
                    raise too_large
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Refused(408, f"the body must arrive within {BODY_SECONDS:g} seconds.") from None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a channel that gives the body once more, and then what comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
