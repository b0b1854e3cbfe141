"""For tests of `ocucb serve`: a PostgreSQL cluster, servers, and a service without a network."""

from __future__ import annotations

import itertools
import json
import os
import pwd
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from ocucb.serve import tokens
from ocucb.serve.app import create_app
from ocucb.serve.export import log_rows, written
from ocucb.serve.models import Rules
from ocucb.serve.storage import Storage

_TIME = 60  # seconds, for anything


def _program(name: str) -> str | None:
    """Return a program of PostgreSQL, which Debian keeps out of the path."""
    places = [Path(found) for found in (shutil.which(name),) if found]
    places += sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return str(places[0]) if places else None


class Cluster:
    """A PostgreSQL cluster of its own, in a temporary folder, on a socket in it.

    PostgreSQL refuses to run as root: then it runs as another user.
    """

    def __init__(self, *options: str) -> None:
        programs = _program("initdb"), _program("pg_ctl")
        if None in programs:
            pytest.skip("needs PostgreSQL's initdb and pg_ctl (Debian: postgresql)")
        self._initdb, self._control = map(str, programs)
        self._user: dict[str, Any] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="ocucb-pg-"))
        if os.geteuid() == 0:
            user = next(
                (
                    account
                    for account in pwd.getpwall()
                    if account.pw_name in ("postgres", "nobody")
                ),
                None,
            )
            if user is None:
                pytest.skip("needs a user postgres or nobody, for PostgreSQL does not run as root")
            self._user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self._options = options
        self._numbers = itertools.count()
        made = ["-U", "ocucb", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        self._run(self._initdb, "-D", self.folder / "data", *made)
        self.start()

    def _run(self, *words: object) -> None:
        done = subprocess.run(
            [str(word) for word in words],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=_TIME,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            **self._user,
        )
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        settings = f"-c listen_addresses= -k {self.folder} {' '.join(self._options)}"
        log = self.folder / "log"
        self._run(
            self._control, "-D", self.folder / "data", "-w", "-t", _TIME, "-l", log,
            "-o", settings, "start",
        )  # fmt: skip

    def stop(self) -> None:
        self._run(self._control, "-D", self.folder / "data", "-w", "-m", "immediate", "stop")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_database(self) -> str:
        """Create an empty database and return its address."""
        name = f"test{next(self._numbers)}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._url(name)

    def _url(self, database: str) -> str:
        return f"postgresql://ocucb@/{database}?host={self.folder}"


class Server:
    """`ocucb serve` in a process of its own."""

    def __init__(self, store: str, *words: str, port: int = 0) -> None:
        command = [sys.executable, "-m", "ocucb", "serve", "--store", store, "--port", str(port)]
        self.process = subprocess.Popen(
            [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.log: list[dict[str, Any]] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._read_out, daemon=True),
            threading.Thread(target=self._read_log, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self.url = self._line("Page:").rstrip("/")
        self.port = int(self.url.rpartition(":")[2])

    def _read_out(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)

    def _read_log(self) -> None:
        for line in self.process.stderr:
            self.log.append(json.loads(line) if line.startswith("{") else {"event": line})

    def _line(self, word: str) -> str:
        while True:
            try:
                line = self._lines.get(timeout=_TIME)
            except queue.Empty:
                self.kill()
                pytest.fail(f"no line {word!r} from the server: {self.log}")
            if line.startswith(word):
                return line.removeprefix(word).split()[0]

    def token(self) -> str:
        """Return the token that a server prints when it starts with an empty store."""
        return self._line("Token:")

    def kill(self) -> None:
        self.process.kill()
        self._wait()

    def terminate(self) -> int:
        """Ask it to end; return its status."""
        self.process.send_signal(signal.SIGTERM)
        return self._wait()

    def _wait(self) -> int:
        status = self.process.wait(timeout=_TIME)
        for reader in self._readers:
            reader.join(_TIME)
        return status


class Proxy:
    """Hands connections to servers in turn, as a load balancer does, but for those that are gone.

    It knows no HTTP: whatever one side sends, the other gets.
    """

    def __init__(self, ports: list[int]) -> None:
        self._ports = itertools.cycle(ports)
        self._most = len(ports)
        self.handed: dict[int, int] = dict.fromkeys(ports, 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                inner, _ = self._listener.accept()
                threading.Thread(target=self._join, args=(inner,), daemon=True).start()

    def _join(self, inner: socket.socket) -> None:
        for _ in range(self._most):
            port = next(self._ports)
            with suppress(OSError):
                outer = socket.create_connection(("127.0.0.1", port), timeout=_TIME)
                self.handed[port] += 1
                for pair in ((inner, outer), (outer, inner)):
                    threading.Thread(target=self._copy, args=pair, daemon=True).start()
                return
        inner.close()

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Load:
    """Clients that ask and tell as fast as they can, and note what was acknowledged.

    Each plays so many rounds, and with `on` more of them, until the context ends.
    """

    def __init__(
        self,
        urls: list[str],
        name: str,
        token: str,
        clients: int,
        rounds: int,
        batch: int = 1,
        on: bool = False,
    ) -> None:
        self._over = threading.Event()
        if not on:
            self._over.set()
        self._urls, self._name, self._token = urls, name, token
        self._rounds, self._batch = rounds, batch
        self.decisions: list[str] = []
        self.rewards: dict[str, float] = {}
        self.failures: list[str] = []
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._play, args=(i,), daemon=True) for i in range(clients)
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(20 * _TIME)
        assert not any(thread.is_alive() for thread in self._threads)

    @property
    def done(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    def _play(self, number: int) -> None:
        from ocucb.serve.client import Client, ServiceError

        url = self._urls[number % len(self._urls)]
        with Client(url, self._name, self._token, timeout=20, patience=_TIME) as client:
            for step in itertools.count():
                if step >= self._rounds and self._over.is_set():
                    return
                try:
                    decisions = client.ask(self._batch)
                    with self._lock:
                        self.decisions += [decision.id for decision in decisions]
                    rewards = [(number + step + i) % 5 / 4 for i in range(self._batch)]
                    statuses = client.tell(decisions, rewards)
                except ServiceError as error:
                    self.failures.append(str(error))
                    return
                with self._lock:
                    self.failures += set(statuses) - {"accepted", "duplicate"}
                    for decision, reward in zip(decisions, rewards, strict=True):
                        self.rewards[decision.id] = reward

    def assert_all_there(self, storage: Any, name: str) -> None:
        """Everything acknowledged is in the log exactly once, and the log gives the state."""
        from ocucb.serve.check import check

        assert self.failures == []
        found: dict[str, list[float]] = {}
        decided: list[str] = []
        last = 0
        while True:
            with storage.reading() as connection:
                lines = log_lines(connection, name, last, 10_000).splitlines()
            if not lines:
                break
            for entry in map(json.loads, lines):
                if entry["kind"] == "decision":
                    decided.append(entry["decision"])
                else:
                    found.setdefault(entry["decision"], []).append(entry["reward"])
                last = entry["seq"]
        assert len(decided) == len(set(decided))
        assert set(self.decisions) <= set(decided)
        assert {key: found.get(key) for key in self.rewards} == {
            key: [value] for key, value in self.rewards.items()
        }
        (checked,) = check(storage, name)
        assert checked.problem is None
        assert checked.decisions == len(decided)
        # every ask was answered in the end, so nothing was decided twice for a repeated request
        assert len(decided) == len(self.decisions)


RULES = {"arms": ["a", "b", "c"], "policy": "ocucb", "horizon": 1000, "bounds": [0, 1], "seed": 1}


class Clock:
    """The time, as tests want it."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += round(seconds * 1e6)


# What undoes each migration but the first.
UNDO = {
    "0007": [
        "ALTER TABLE log DROP COLUMN context",
        "ALTER TABLE bandits DROP COLUMN model",
        "ALTER TABLE arms DROP COLUMN model",
    ],
    "0006": [
        "ALTER TABLE log DROP COLUMN guard",
        "ALTER TABLE arms DROP COLUMN measured",
        "ALTER TABLE arms DROP COLUMN guard_sum",
        "ALTER TABLE arms DROP COLUMN guard_squares",
    ],
    "0005": [
        "DROP INDEX log_news",
        "ALTER TABLE bandits DROP COLUMN policy",
        "ALTER TABLE bandits DROP COLUMN epoch",
    ],
    "0004": [
        "ALTER TABLE tokens DROP COLUMN bandits",
        "ALTER TABLE tokens DROP COLUMN rate",
        "ALTER TABLE bandits DROP COLUMN archived",
    ],
    "0003": ["ALTER TABLE bandits DROP COLUMN open_horizon"],
    "0002": [
        "DROP TABLE probe",
        "DROP INDEX bandits_due",
        "ALTER TABLE bandits DROP COLUMN due",
        "ALTER TABLE bandits DROP COLUMN corrected",
    ],
}


def as_of(storage: Storage, version: str) -> None:
    """Give a store the schema of an earlier version, and close it."""
    with storage.writing() as connection:
        for later, statements in sorted(UNDO.items(), reverse=True):
            for statement in statements if later > version else ():
                connection.execute(sa.text(statement))
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{version}'"))
    storage.close()


def log_lines(connection, name: str, after: int = 0, limit: int = 10_000) -> str:
    """Return the log of a bandit as the service does."""
    return written(log_rows(connection, name, after, limit), "ndjson", joined=False).decode()


class Http:
    """An application without a server, and who speaks to it."""

    def __init__(self, store: Storage) -> None:
        self.clock, self.storage = Clock(), store
        self.app = create_app(store, clock=self.clock, sweep_seconds=3600)
        self.client = TestClient(self.app, raise_server_exceptions=True)
        self.admin = tokens.add_token(store, "administer")
        self.decider = tokens.add_token(store, "decide")

    def __call__(self, method, path, body=None, token="", **options):
        headers = {"Authorization": f"Bearer {token or self.admin}", **options.pop("headers", {})}
        if body is not None:
            options["json"] = body
        return self.client.request(method, path, headers=headers, **options)

    def version(self, name="x"):
        return self("GET", f"/v1/bandits/{name}").json()["version"]


def rules(**changes) -> Rules:
    return Rules.model_validate({**RULES, **changes})
