"""What ``ocucb serve`` does: start the server, check a store, manage tokens."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from .._text import table
from .app import create_app
from .check import Checked, check
from .middleware import log
from .protocol import LimitedHttp
from .storage import Storage, is_missing
from .tokens import add_token, check_token, list_tokens, revoke_token

GRACE = 20  # seconds that open requests get at the end
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(:\d{1,5})?|https?://\[[0-9a-f:]+\](:\d{1,5})?")


class JsonLines(logging.Formatter):
    """A log in which every line is a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat("T", "milliseconds")
        line: dict[str, Any] = {
            "time": when.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = self.formatException(record.exc_info) + "\n"
        return json.dumps(line, default=str)


def _log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("ocucb.serve").setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel(logging.INFO)
    logging.captureWarnings(True)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(store: str, host: str, port: int, log_level: str, origins: Sequence[str] = ()) -> None:
    """Run the server until it is told to stop (SIGTERM or Ctrl-C)."""
    if log_level not in ("debug", "info", "warning", "error"):
        raise ValueError(f"--log-level must be debug, info, warning or error, got {log_level!r}.")
    if not 0 <= port <= 65535:
        raise ValueError(f"--port must lie between 0 and 65535, got {port}.")
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise ValueError(
                "--allow-origin must look like https://shop.example, without a path, got "
                f"{origin!r}."
            )
    if is_missing(store) and not is_loopback(host):
        raise _without_token(host, store)
    # a store is made last: a command that is refused leaves nothing behind
    with listening(host, port) as listener, closing(Storage(store)) as storage:
        _serve(storage, listener, host, log_level, origins)


def _without_token(host: str, place: str) -> ValueError:
    return ValueError(
        f"{host} can be reached from other machines, and {place} has no tokens yet; "
        "make one first: ocucb serve token."
    )


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that waits for requests, or say why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number and number > 0 else str(error)
        raise ValueError(f"cannot listen on {host}:{port}: {reason}; use another --port.") from None


def _serve(
    storage: Storage, listener: socket.socket, host: str, log_level: str, origins: Sequence[str]
) -> None:
    valid = [token for token in list_tokens(storage) if token.revoked_at is None]
    if not valid and not is_loopback(host):
        raise _without_token(host, storage.place)
    _log_to_stderr(log_level)
    address = f"[{host}]" if ":" in host else host
    print(f"Page:  http://{address}:{listener.getsockname()[1]}/")
    print(f"Store: {storage.place}")
    if not valid:
        token = add_token(storage, "administer", "made when the server first started")
        print(f"Token: {token} (shown only now; `ocucb serve token` makes another)")
    sys.stdout.flush()
    serve_until_told(create_app(storage, origins=origins), listener, GRACE)


def serve_until_told(app: Any, listener: socket.socket, grace: int) -> None:
    """Run uvicorn until SIGTERM or Ctrl-C; open requests then get `grace` seconds."""
    # asyncio does this for sockets that it opens; without it, answers may be delayed by 40 ms
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    config = uvicorn.Config(
        app,
        http=LimitedHttp,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=grace,
        limit_concurrency=2000,
    )
    server = _Server(config)
    signals = signal.SIGTERM, signal.SIGINT
    for number in signals:
        signal.signal(number, server.handle_exit)  # uvicorn does this too, but later
    server.run(sockets=[listener])
    for number in signals:  # the rest takes no time, and Python forgets its handlers before the end
        signal.signal(number, signal.SIG_IGN)


class _Server(uvicorn.Server):
    """uvicorn's server, except for how it stops."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish open requests; exit at once on a second Ctrl-C: what is acknowledged is stored.

        uvicorn would raise the signal again at the end, and cancel requests with tracebacks.
        """
        if self.should_exit and sig == signal.SIGINT:
            log.warning("interrupted twice")
            os._exit(130)
        self.should_exit = True


def check_store(store: str, name: str | None) -> list[Checked]:
    """Replay the log of one bandit, or of all."""
    with closing(Storage(store, create=False)) as storage:
        found = list(check(storage, name))
        if not found:  # it may be the wrong store, or all that is left of one
            raise ValueError(f"there are no bandits in {storage.place}, so nothing was checked.")
    return found


def back_up(store: str, target: Path) -> None:
    """Copy an SQLite store while servers use it."""
    if target.exists():
        raise ValueError(f"{target} is there already; name a file that is not.")
    if not target.absolute().parent.is_dir():
        raise ValueError(f"{target} cannot be written: {target.parent} is not a folder.")
    with closing(Storage(store, create=False)) as storage:
        if not storage.is_sqlite:
            raise ValueError(
                "only SQLite is copied like this; for PostgreSQL use pg_dump --format=custom."
            )
        storage.back_up(target)


def make_token(
    store: str, scope: str, label: str, bandits: Sequence[str], rate: float | None
) -> str:
    check_token(scope, label, bandits, rate)  # before a store is made
    with closing(Storage(store)) as storage:
        return add_token(storage, scope, label, bandits, rate)


def token_table(store: str) -> str:
    head = ("number", "scope", "label", "bandits", "rate", "made", "revoked")
    rows: list[tuple[str, ...]] = [head]
    with closing(Storage(store, create=False)) as storage:
        for token in list_tokens(storage):
            dates = [
                time.strftime("%Y-%m-%d %H:%M", time.gmtime(when / 1e6)) if when else ""
                for when in (token.created_at, token.revoked_at)
            ]
            rate = "" if token.rate is None else f"{token.rate:g}/s"
            limits = (token.bandits or "all", rate)
            rows.append((str(token.id), token.scope, token.label, *limits, *dates))
    return table(rows, left=(1, 2, 3, 5, 6)) if len(rows) > 1 else "no tokens"


def revoke(store: str, number: int) -> None:
    with closing(Storage(store, create=False)) as storage:
        revoke_token(storage, number)
