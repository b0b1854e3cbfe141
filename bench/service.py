"""The service under load: speed, kills, two servers, memory, many bandits (`run.py serve`)."""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import re
import selectors
import socket
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from ocucb.serve.client import Client
from ocucb.serve.models import DecisionsRequest, Rules
from ocucb.serve.service import Service
from ocucb.serve.storage import Storage
from ocucb.serve.tokens import add_token

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from serving import Cluster, Load, Server

SECONDS = 4.0  # length of one timing
ROUNDS = 4  # timings of each, alternately; the best counts
CONNECTIONS = 32  # that ask at once, where decisions a second are counted
CLIENTS = 8  # elsewhere
BATCH = 10  # decisions or rewards in a request, while servers are killed
CROWD = 10_000  # bandits, of which a page shows 100
LOOKS = 50  # at that page
IDLE = 20.0  # seconds without a request
ARMS = [f"arm {i}" for i in range(10)]
RULES = {"arms": ARMS, "policy": "ocucb", "horizon": 10**7, "bounds": [0, 1]}
PATH = "/v1/bandits/x"

# What the service writes for one decision, in one transaction and by hand.
STATEMENTS = (
    "INSERT INTO log (bandit, seq, at, kind, arm, propensity) VALUES (1, ?, 0, 'decision', 3, 1.0)",
    "INSERT INTO requests (bandit, key, body, first, count) VALUES (1, ?, ?, ?, 1)",
    "UPDATE arms SET pulls = 1, open = ?, sum = 0.5, squares = 0.5, decisions = ? "
    "WHERE bandit = 1 AND position = 3",
    "UPDATE bandits SET version = ?, at = 0, rounds = ?, stream = 'abc' WHERE id = 1",
)


def bare(store: str, sqlite: bool) -> Callable[[], float]:
    """Return a function that measures bare transactions a second, with the plain driver."""
    connection = (
        sqlite3.connect(store, isolation_level=None)
        if sqlite
        else psycopg.connect(store, autocommit=True)
    )
    if sqlite:
        connection.execute("PRAGMA synchronous = FULL")
    first, second, third, fourth = (
        text if sqlite else text.replace("?", "%s") for text in STATEMENTS
    )
    begin = "BEGIN IMMEDIATE" if sqlite else "BEGIN"
    (last,) = connection.execute("SELECT coalesce(max(seq), 0) FROM log").fetchone()
    seq = last

    def rate() -> float:
        nonlocal seq
        began, done = time.perf_counter(), 0
        while time.perf_counter() - began < SECONDS:
            seq += 1
            key = uuid.uuid4().hex * 2
            connection.execute(begin)
            connection.execute(first, (seq,))
            connection.execute(second, (key, key, seq))
            connection.execute(third, (seq, seq))
            connection.execute(fourth, (seq, seq))
            connection.execute("COMMIT")
            done += 1
        return done / (time.perf_counter() - began)

    return rate


def served(server: Server, token: str) -> Callable[[], float]:
    """Return a function that measures decisions a second, one a request."""

    def rate() -> float:
        count = multiprocessing.Value("q")
        client = multiprocessing.Process(target=_ask, args=(server.port, token, count))
        client.start()
        client.join()
        assert count.value, "no decision was made"
        return count.value / SECONDS

    return rate


def _ask(port: int, token: str, count: Any) -> None:
    """Ask for `SECONDS` through many connections, with little effort for each."""
    head = (
        f"POST {PATH}/decisions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        "Content-Length: 0\r\nIdempotency-Key: "
    )
    ready = selectors.DefaultSelector()

    def send(connection: socket.socket) -> None:
        connection.sendall(f"{head}{uuid.uuid4().hex}\r\n\r\n".encode())

    end = time.perf_counter() + SECONDS
    for _ in range(CONNECTIONS):
        connection = socket.create_connection(("127.0.0.1", port), timeout=60)
        ready.register(connection, selectors.EVENT_READ)
        send(connection)
    while time.perf_counter() < end:
        for key, _ in ready.select(60):
            connection = key.fileobj
            answer = b""
            while not answer.endswith(b"}"):
                answer += connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200"), answer
            count.value += 1
            send(connection)


@contextmanager
def playing(*stores: str) -> Iterator[tuple[list[Server], str]]:
    """Start servers, one for each store, with a bandit on the first."""
    opened = Storage(stores[0])
    token = add_token(opened, "administer")
    opened.close()
    servers = [Server(store, "--log-level", "warning") for store in stores]
    try:
        with Client(servers[0].url, "x", token) as client:
            client.create(**RULES)
        yield servers, token
    finally:
        for server in servers:
            server.terminate()


def rates(title: str, store: str, beside: str, sqlite: bool) -> str:
    """Compare decisions a second with bare transactions on the same kind of store."""
    with playing(beside):
        pass  # a bandit to write about, and nobody who serves it
    with playing(store) as ((server,), token):
        ours, theirs = served(server, token), bare(beside, sqlite)
        ours()
        pairs = [(ours(), theirs()) for _ in range(ROUNDS)]
    best, plain = (max(measured) for measured in zip(*pairs, strict=True))
    mark = "" if best >= 0.5 * plain else " **missed**"
    return f"| {title} | {best:.0f} | {plain:.0f} | {best / plain:.2f}{mark} | 0.5 |"


def waits(title: str, store: str) -> str:
    """Return how long a decision takes at half the load that a server can bear, and the first."""
    with playing(store) as ((server,), token):
        measure = served(server, token)
        measure()
        half = 0.5 * max(measure() for _ in range(ROUNDS))
        times: list[float] = []
        threads = [
            threading.Thread(target=_ask_at, args=(server.port, token, half / CLIENTS, i, times))
            for i in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    firsts = [_first(store, token) for _ in range(ROUNDS)]
    p50, p99 = (1e3 * float(x) for x in np.quantile(times, (0.5, 0.99)))
    first = 1e3 * max(firsts)
    mark = "" if first < 100.0 else " **missed**"
    return f"| {title} | {half:.0f} | {p50:.1f} ms | {p99:.1f} ms | {first:.0f} ms{mark} | 100 ms |"


def _ask_at(port: int, token: str, rate: float, number: int, times: list[float]) -> None:
    """Ask so many times a second, for `SECONDS`; a request that must wait for others is late."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Length": "0"}
    began = time.perf_counter() + number / (CLIENTS * rate)
    for i in range(round(rate * SECONDS)):
        due = began + i / rate
        time.sleep(max(0.0, due - time.perf_counter()))
        key = {"Idempotency-Key": uuid.uuid4().hex}
        connection.request("POST", f"{PATH}/decisions", headers={**headers, **key})
        json.load(connection.getresponse())
        times.append(time.perf_counter() - due)
    connection.close()


def _first(store: str, token: str) -> float:
    """Return how long the first decision takes of a server that says that it is ready."""
    server = Server(store, "--log-level", "warning")
    try:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        ready = False
        while not ready:
            time.sleep(0.05)
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            answer.read()
            ready = answer.status == 200
        began = time.perf_counter()
        connection.request(
            "POST", f"{PATH}/decisions", headers={"Authorization": f"Bearer {token}"}
        )
        assert len(json.load(connection.getresponse())["decisions"]) == 1
        return time.perf_counter() - began
    finally:
        server.terminate()


def kills(folder: Path, number: int, rounds: int) -> str:
    """Kill a server again and again while eight clients ask and tell."""
    store = str(folder / "kills.db")
    server = Server(store, "--log-level", "warning")
    token, port = server.token(), server.port
    with Client(server.url, "x", token) as client:
        client.create(**RULES)
    done = 0
    began = time.perf_counter()
    total = CLIENTS * rounds * BATCH
    try:
        with Load([server.url], "x", token, CLIENTS, rounds, BATCH) as load:
            for kill in range(1, number + 1):
                while len(load.rewards) < total * kill // (number + 1) and not load.done:
                    time.sleep(0.01)
                if load.done:
                    break
                server.kill()
                done += 1
                server = Server(store, "--log-level", "warning", port=port)
        seconds = time.perf_counter() - began
    finally:
        server.terminate()
    opened = Storage(store)
    load.assert_all_there(opened, "x")
    opened.close()
    return (
        f"SQLite, {CLIENTS} clients, {len(load.decisions):,} decisions and {len(load.rewards):,} "
        f"rewards, {BATCH} per request, {done} kills with SIGKILL: everything acknowledged is "
        "there exactly once, and "
        f"the log replays to the state, bit for bit ({seconds:.0f} s)."
    )


def together(cluster: Cluster, rounds: int) -> str:
    """Let two servers play one bandit."""
    store = cluster.new_database()
    with playing(store, store) as (servers, token):
        urls = [server.url for server in servers]
        with Load(urls, "x", token, 10, rounds) as load:
            pass
    opened = Storage(store)
    load.assert_all_there(opened, "x")
    opened.close()
    return (
        f"PostgreSQL, two servers, one bandit, 10 clients, {len(load.decisions):,} decisions and "
        f"{len(load.rewards):,} rewards: the log replays to every decision and the state."
    )


def memory(cluster: Cluster, rounds: int) -> str:
    """Return how much memory a server has after a tenth of the requests, and after all."""
    with playing(cluster.new_database()) as ((server,), token):
        sizes = []
        for part in (rounds // 10, rounds - rounds // 10):
            threads = [
                threading.Thread(target=_ask_and_tell, args=(server.port, token, part))
                for _ in range(CLIENTS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            sizes.append(_megabytes(server.process.pid))
    requests = 2 * CLIENTS * rounds
    return (
        f"PostgreSQL, one server: {sizes[0]:.0f} MB after {requests // 10:,} requests, "
        f"{sizes[1]:.0f} MB after {requests:,}."
    )


def _ask_and_tell(port: int, token: str, rounds: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    for _ in range(rounds):
        key = {"Idempotency-Key": uuid.uuid4().hex}
        connection.request("POST", f"{PATH}/decisions", headers={**headers, **key})
        (decision,) = json.load(connection.getresponse())["decisions"]
        body = json.dumps([{"decision": decision["id"], "reward": 0.5}])
        connection.request("POST", f"{PATH}/rewards", body, headers)
        (answer,) = json.load(connection.getresponse())["rewards"]
        assert answer["status"] == "accepted"
    connection.close()


def crowd(title: str, store: str) -> str:
    """Let a server hold many bandits, each with an open decision that will expire, and wait."""
    opened = Storage(store)
    token = add_token(opened, "administer")
    service = Service(opened)
    rules = Rules(arms=ARMS[:3], bounds=[0.0, 1.0], expiry=3600.0, seed=1)
    waiting = []
    for i in range(CROWD):
        service.create(f"bandit-{i}", rules)
        waiting.append(service.decide(f"bandit-{i}", DecisionsRequest()))
    for decisions in waiting:
        decisions.result()
    service.close()
    opened.close()
    server = Server(store, "--log-level", "warning")
    try:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        times, path = [], "/v1/bandits?limit=100"
        for _ in range(LOOKS):
            began = time.perf_counter()
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            assert len(json.load(connection.getresponse())["bandits"]) == 100
            times.append(time.perf_counter() - began)
        connection.close()
        before, began = _processor_seconds(server.process.pid), time.perf_counter()
        time.sleep(IDLE)
        spent = _processor_seconds(server.process.pid) - before
        idle = spent / (time.perf_counter() - began)
    finally:
        server.terminate()
    page = 1e3 * statistics.median(times)
    marks = [" **missed**" * (page > 50.0), " **missed**" * (idle > 0.02)]
    return f"| {title} | {page:.0f} ms{marks[0]} | 50 ms | {idle:.2%}{marks[1]} | 2% |"


def _processor_seconds(process: int) -> float:
    *_, rest = Path(f"/proc/{process}/stat").read_text().rpartition(")")
    user, system = map(int, rest.split()[11:13])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def _megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    (found,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
    return int(found) / 1024


def section() -> list[str]:
    """Return the section of the table."""
    lines = [
        "## Service",
        "",
        "Durable decisions per second on one bandit with 10 arms, one per request, with "
        f"{CONNECTIONS} clients, compared with bare transactions of the same rows on the same "
        f"database (best of {ROUNDS} alternating timings; all on this machine, clients included).",
        "",
        "| store | decisions/s | bare transactions/s | ratio | goal |",
        "|---|---|---|---|---|",
    ]
    cluster = Cluster()
    try:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            lines.append(rates("SQLite", str(place / "a.db"), str(place / "b.db"), True))
            print(lines[-1], flush=True)
            stores = cluster.new_database(), cluster.new_database()
            lines.append(rates("PostgreSQL", *stores, False))
            print(lines[-1], flush=True)
            lines += [
                "",
                f"One decision at half that load, from {CLIENTS} clients, counted from when it was "
                f"due, and the first one of a server that says it is ready (worst of {ROUNDS}).",
                "",
                "| store | decisions/s | median | p99 | first | goal |",
                "|---|---|---|---|---|---|",
            ]
            for title, store in (
                ("SQLite", str(place / "d.db")),
                ("PostgreSQL", cluster.new_database()),
            ):
                lines.append(waits(title, store))
                print(lines[-1], flush=True)
            for sentence in (
                lambda: together(cluster, 500),
                lambda: memory(cluster, 6250),
                lambda: kills(place, 50, 10**5 // (2 * CLIENTS * BATCH)),
            ):
                lines += ["", sentence()]
                print(lines[-1], flush=True)
            lines += [
                "",
                f"With {CROWD:,} bandits, each with an open decision that will expire: the time of "
                f"a page of 100 (median of {LOOKS}), and the processor time of a server that "
                f"nobody asks anything, as a share of one core (during {IDLE:.0f} s).",
                "",
                "| store | page of the list | goal | idle | goal |",
                "|---|---|---|---|---|",
            ]
            for title, store in (
                ("SQLite", str(place / "c.db")),
                ("PostgreSQL", cluster.new_database()),
            ):
                lines.append(crowd(title, store))
                print(lines[-1], flush=True)
    finally:
        cluster.remove()
    return lines
