"""`ocucb serve` as processes: killed, told to stop, several at once, without their database."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from helpers import ROOT, run, wait_until
from ocucb.serve import protocol
from ocucb.serve.check import check
from ocucb.serve.client import Client, ServiceError
from ocucb.serve.storage import Storage
from ocucb.serve.tokens import add_token
from serving import Load, Proxy, Server

BANDIT = {"arms": ["a", "b", "c"], "policy": "ocucb", "horizon": 10**6, "bounds": [0, 1]}


@pytest.fixture
def servers():
    """Start servers that are gone when the test is."""
    made: list[Server] = []

    def start(*arguments, **options) -> Server:
        made.append(Server(*map(str, arguments), **options))
        return made[-1]

    yield start
    for server in made:
        if server.process.poll() is None:
            server.kill()


def get(url: str) -> tuple[int, dict]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_two_servers_and_ten_clients_play_one_bandit(cluster, servers):
    store = cluster.new_database()
    opened = Storage(store)
    token = add_token(opened, "administer")
    urls = [servers(store, "--log-level", "warning").url for _ in range(2)]
    with Client(urls[0], "x", token) as client:
        client.create(**BANDIT, floor=0.1, control="a", control_share=0.1, seed=5)
    with Load(urls, "x", token, clients=10, rounds=12) as load:
        pass
    load.assert_all_there(opened, "x")
    assert len(load.decisions) == len(load.rewards) == 120
    opened.close()


def test_servers_behind_a_proxy_are_restarted_one_by_one_and_nobody_notices(cluster, servers):
    """While clients ask and tell, each server ends, and comes back at its port."""
    store = cluster.new_database()
    opened = Storage(store)
    token = add_token(opened, "administer")
    running = [servers(store, "--log-level", "warning") for _ in range(2)]
    proxy = Proxy([server.port for server in running])
    with Client(proxy.url, "x", token) as client:
        client.create(**BANDIT, seed=5)
    with Load([proxy.url], "x", token, clients=4, rounds=60, on=True) as load:
        for i, server in enumerate(running):
            wait_until(lambda i=i: len(load.rewards) >= 60 * (i + 1), f"restart {i}")
            assert not load.done
            assert server.terminate() == 0
            servers(store, "--log-level", "warning", port=server.port)
            wait_until(lambda server=server: get(f"{server.url}/readyz")[0] == 200, "ready")
    load.assert_all_there(opened, "x")
    assert len(load.rewards) >= 240
    assert min(proxy.handed.values()) >= 2, "both were asked"
    proxy.close()
    opened.close()


@pytest.mark.parametrize(("told", "batch"), [(BANDIT, 1), ({"arms": BANDIT["arms"]}, 8)])
def test_kills_lose_nothing_that_was_acknowledged(told, batch, tmp_path, servers):
    """SIGKILL, twice, amid decisions and rewards of four clients; bench/ has 50 times.

    In groups of eight there are more decisions than an open horizon begins with.
    """
    store = tmp_path / "store.db"
    server = servers(store)
    token, port = server.token(), server.port
    with Client(server.url, "x", token) as client:
        client.create(**told)
    with Load([server.url], "x", token, clients=4, rounds=45, batch=batch) as load:
        for kill in range(1, 3):
            wait_until(lambda kill=kill: len(load.rewards) >= 40 * batch * kill, f"kill {kill}")
            assert not load.done
            server.kill()
            server = servers(store, port=port)
    opened = Storage(str(store))
    load.assert_all_there(opened, "x")
    assert len(load.rewards) == 180 * batch
    opened.close()


def test_sigterm_finishes_what_was_begun(tmp_path, servers):
    """Requests that have begun are answered, new ones are not taken, the status is 0."""
    store = tmp_path / "store.db"
    server = servers(store)
    token = server.token()
    with Client(server.url, "x", token) as client:
        client.create(**BANDIT)
    begun = [_half_a_request(server, token) for _ in range(5)]
    wait_until(lambda: _connections(server.port) >= 5, "five connections")
    server.process.terminate()
    wait_until(lambda: not _listens(server.port), "no longer listening")
    for connection in begun:
        connection.sendall(b"}")
    assert all(_answer(connection).startswith(b"HTTP/1.1 200 OK\r\n") for connection in begun)
    assert server.process.wait(60) == 0
    opened = Storage(str(store))
    (checked,) = check(opened)
    assert checked.problem is None
    assert checked.decisions == 5, "what was decided was answered"
    opened.close()
    assert server.terminate() == 0
    assert all("level" in line for line in server.log), "every line of the log is JSON"
    assert any(line["event"] == "closed" for line in server.log)
    assert any(line.get("path") == "/v1/bandits/x" and line["status"] == 201 for line in server.log)
    assert token.split("_", 2)[2] not in json.dumps(server.log)


@pytest.mark.parametrize("signals", ["one", "two", "two, with open requests"])
def test_ctrl_c_ends_the_server_without_a_traceback(signals, tmp_path, servers):
    """One lets it finish, status 0; a second one ends it at once, with the status of a shell."""
    store = tmp_path / "store.db"
    server = servers(store, "--log-level", "warning")
    token = server.token()
    with Client(server.url, "x", token) as client:
        client.create(**BANDIT)
        client.ask()
    begun = []
    if signals == "two, with open requests":
        begun = [_half_a_request(server, token) for _ in range(3)]
        wait_until(lambda: _connections(server.port) >= 3, "connections")
    server.process.send_signal(signal.SIGINT)
    if begun:
        wait_until(lambda: not _listens(server.port), "it has noticed")
    if signals != "one":
        server.process.send_signal(signal.SIGINT)
    # without open requests it may have ended before the second one
    wanted = {"one": {0}, "two": {0, 130}}.get(signals, {130})
    assert server.process.wait(60) in wanted
    server.terminate()
    assert all("level" in line for line in server.log), server.log
    assert not any("exception" in line for line in server.log)
    for connection in begun:
        assert _answer(connection) == b""
        connection.close()
    opened = Storage(str(store))
    assert [(checked.decisions, checked.problem) for checked in check(opened)] == [(1, None)]
    opened.close()


def _half_a_request(server: Server, token: str) -> socket.socket:
    """Begin to ask for a decision; a brace is missing."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    connection.sendall(
        f"POST /v1/bandits/x/decisions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{".encode()
    )
    return connection


def _answer(connection: socket.socket) -> bytes:
    """Return all that comes until the other side closes the connection."""
    parts = []
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


# What comes before a body


@pytest.fixture(scope="module")
def plain_server(tmp_path_factory):
    server = Server(str(tmp_path_factory.mktemp("plain") / "store.db"), "--log-level", "warning")
    yield server
    assert server.terminate() == 0


def ask_for(server: Server, *parts: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        with suppress(ConnectionError):
            for part in parts:
                connection.sendall(part)
        first = b""
        with suppress(ConnectionError):
            first = connection.recv(65536)
            connection.shutdown(socket.SHUT_WR)  # no more comes, so nobody need wait
        return first + _answer(connection)


def padded(size: int, *, ends: bool = True) -> bytes:
    """Return the head of a request, so many bytes long."""
    start = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: "
    end = b"\r\n\r\n" if ends else b""
    return start + b"x" * (size - len(start) - len(end)) + end


def test_long_heads_are_refused(plain_server):
    most, long = protocol.LARGEST_HEAD, protocol.LONGEST_ADDRESS
    refused = b'{"error": "address and headers may have at most 32768 bytes together."}'
    fine = ask_for(plain_server, padded(most))
    assert fine.startswith(b"HTTP/1.1 200 OK\r\n")
    assert ask_for(plain_server, padded(most)[:5], padded(most)[5:]).startswith(b"HTTP/1.1 200")
    many = b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * (most // 6)
    chunked = b"POST /login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"
    for parts in (
        [padded(most + 1)],
        [padded(10 * most)],
        [padded(most + 1)[i : i + 1000] for i in range(0, most + 1, 1000)],
        [many, b"\r\n"],
        [b"\r\n" * most],
        [padded(100, ends=False), *[b"x" * 10_000] * 20],
    ):
        answer = ask_for(plain_server, *parts)
        assert answer.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n"), parts[0][:99]
        assert answer.endswith(refused)
    for what in (b"0\r\n" + b"t: x\r\n" * most, b"1;" + b"x" * 2 * most):  # trailers, a chunk
        assert ask_for(plain_server, chunked, what) == b"", "the request before has no answer yet"
    address = b"GET /" + b"x" * (long - 1)
    assert b" 401 " in ask_for(plain_server, address + b" HTTP/1.1\r\nConnection: close\r\n\r\n")
    for parts in (
        [address + b"x HTTP/1.1\r\n\r\n"],
        [address, b"x"],
        [b"GET /", *[b"x" * 1000] * 9],
        [address * 100],
    ):
        answer = ask_for(plain_server, *parts)
        assert answer.startswith((b"HTTP/1.1 414 Request-URI Too Long", b"HTTP/1.1 414 URI Too Lo"))
        assert answer.endswith(b'{"error": "the address may have at most 8192 bytes."}')
    body = b"POST /login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 500000\r\n\r\n"
    assert b" 401 Unauth" in ask_for(plain_server, body + b"x" * 500_000), "bodies may be longer"


def test_endless_heads_cost_no_memory_and_stall_nobody(plain_server):
    """100 MB of headers, of one header and of an address, from three connections at a time."""
    before = _megabytes(plain_server.process.pid)
    block = 1_000_000
    kinds = [
        (b"GET /healthz HTTP/1.1\r\n", b"a: b\r\n" * (block // 6)),
        (b"GET /healthz HTTP/1.1\r\na: ", b"b" * block),
        (b"GET /", b"c" * block),
    ]
    senders = [
        threading.Thread(target=ask_for, args=(plain_server, start, *[rest] * 100))
        for start, rest in kinds
    ]
    for sender in senders:
        sender.start()
    while any(sender.is_alive() for sender in senders):
        assert get(f"{plain_server.url}/healthz")[0] == 200
    assert _megabytes(plain_server.process.pid) < before + 30, "not hundreds"


def _megabytes(process: int) -> float:
    """Return the largest memory that a process has had."""
    status = Path(f"/proc/{process}/status").read_text()
    (found,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(found) / 1024


def _connections(port: int) -> int:
    """Return how many connections a server has accepted, as the kernel knows them."""
    wanted = f":{port:04X}"
    with open("/proc/net/tcp") as file:
        rows = [line.split() for line in file][1:]
    return sum(row[1].endswith(wanted) and row[3] == "01" for row in rows)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_healthz_tells_the_truth_about_the_store(cluster, servers):
    server = servers(cluster.new_database())
    token = server.token()
    with Client(server.url, "x", token, timeout=60, patience=0) as client:
        client.create(**BANDIT)
        assert get(f"{server.url}/healthz")[0] == 200
        cluster.stop()
        try:
            status, answer = get(f"{server.url}/healthz")
            assert (status, answer) == (503, {"error": "the store cannot be used now; try again."})
            with pytest.raises(ServiceError, match="the store cannot be used now") as caught:
                client.ask()
            assert caught.value.status == 503
        finally:
            cluster.start()
        wait_until(lambda: get(f"{server.url}/healthz")[0] == 200, "it recovers")
        assert client.ask().arm == "a", "what could not be stored was not decided"
    assert any(line["event"] == "store" and "reason" in line for line in server.log)


def test_healthz_tells_that_the_disk_is_full(tmp_path, servers):
    """No file may grow any more: decisions are not stored, and the health is not ok."""
    store = tmp_path / "store.db"
    server = servers(store, "--log-level", "error")
    with Client(server.url, "x", server.token(), patience=0) as client:
        client.create(**BANDIT)
        made = client.ask(1000)
        assert get(f"{server.url}/healthz")[0] == 200
        size = Path(f"{store}-wal").stat().st_size
        _, most = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, most))

        def ask_on() -> None:
            for _ in range(100):
                made.extend(client.ask(1000))

        with pytest.raises(ServiceError, match="the store cannot be used now"):
            ask_on()
        wait_until(lambda: get(f"{server.url}/healthz")[0] == 503, "it is noticed", 5)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (most, most))
        wait_until(lambda: get(f"{server.url}/healthz")[0] == 200, "it recovers", 5)
        made += client.ask(1000)
    opened = Storage(str(store))
    assert [(checked.decisions, checked.problem) for checked in check(opened)] == [
        (len(made), None)
    ]
    opened.close()


def test_the_examples_of_the_documentation_work(tmp_path, servers):
    """The lines of curl, with the ids that the server gives, and the lines of Python."""
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    page = (ROOT / "docs" / "service.md").read_text()
    lines = re.findall(r"^curl .*$", page, re.MULTILINE)
    readme = re.findall(r"^curl .*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert readme
    assert set(readme) <= set(lines)
    (python,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    server = servers(tmp_path / "store.db", "--log-level", "warning")
    token = server.token()
    decision, told = "", False
    for line in lines:
        line = line.replace("http://127.0.0.1:8000", server.url).replace(
            "--json", "--silent --json"
        )
        line = re.sub(r'"\d-[0-9a-f]{16}"', json.dumps(decision), line)
        done = subprocess.run(
            ["sh", "-c", line], env={"PATH": os.environ["PATH"], "TOKEN": token},
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        if "decisions" in answer:
            decision = answer["decisions"][0]["id"]
        if line.endswith("/rewards"):
            told = answer == {"rewards": [{"decision": decision, "status": "accepted"}]}
    assert told
    exec(python.replace("http://127.0.0.1:8000", server.url), {"TOKEN": token})
    with Client(server.url, "colours", token) as client:
        assert client.summary()["totals"]["rewards"] == 2


def test_what_cannot_be_started_is_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--store", str(tmp_path / "store.db"), "--port", str(port))
    assert done.returncode == 2
    assert done.stderr == (
        f"Error: cannot listen on 127.0.0.1:{port}: Address already in use; use another --port.\n"
    )
