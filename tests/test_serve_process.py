"""`ocucb serve` as processes: killed, told to stop, several at once, without their database."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import threading
import urllib.error
import urllib.request
from contextlib import suppress

import pytest

from helpers import ROOT, run, wait_until
from ocucb.serve.check import check
from ocucb.serve.client import Client, ServiceError
from ocucb.serve.storage import Storage
from ocucb.serve.tokens import add_token
from serving import Load, Server

BANDIT = {"arms": ["a", "b", "c"], "policy": "ocucb", "horizon": 10**6, "bounds": [0, 1]}


@pytest.fixture
def servers():
    """Start servers that are gone when the test is."""
    made: list[Server] = []

    def start(*arguments, **options) -> Server:
        made.append(Server(*map(str, arguments), **options))
        return made[-1]

    yield start
    for one in made:
        if one.process.poll() is None:
            one.kill()


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


def test_kills_lose_nothing_that_was_acknowledged(tmp_path, servers):
    """SIGKILL, twice, amid decisions and rewards of four clients; bench/ has 50 times."""
    store = tmp_path / "store.db"
    server = servers(store)
    token, port = server.token(), server.port
    with Client(server.url, "x", token) as client:
        client.create(**BANDIT)
    with Load([server.url], "x", token, clients=4, rounds=45) as load:
        for kill in range(1, 3):
            wait_until(lambda kill=kill: len(load.rewards) >= 40 * kill, f"kill {kill}")
            assert not load.done
            server.kill()
            server = servers(store, port=port)
    opened = Storage(str(store))
    load.assert_all_there(opened, "x")
    assert len(load.rewards) == 180
    opened.close()


def test_sigterm_finishes_what_was_begun(tmp_path, servers):
    """Requests that wait for a lock are answered, new ones are not taken, the status is 0."""
    store = tmp_path / "store.db"
    server = servers(store)
    token = server.token()
    with Client(server.url, "x", token) as client:
        client.create(**BANDIT)
    other = sqlite3.connect(store, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # the server must wait
    answers: list[object] = []

    def ask() -> None:
        with (
            suppress(ServiceError),  # one that came too late
            Client(server.url, "x", token, timeout=60, patience=0) as client,
        ):
            answers.append(client.ask())

    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    wait_until(lambda: _connections(server.port) >= 5, "five connections")
    server.process.terminate()
    wait_until(lambda: not _listens(server.port), "no longer listening")
    other.execute("ROLLBACK")
    other.close()
    for thread in threads:
        thread.join(60)
    assert server.process.wait(60) == 0
    opened = Storage(str(store))
    (checked,) = check(opened)
    assert checked.problem is None
    assert checked.decisions == len(answers) >= 1, "what was decided was answered"
    opened.close()
    assert server.terminate() == 0
    assert all("level" in line for line in server.log), "every line of the log is JSON"
    assert any(line["event"] == "closed" for line in server.log)
    assert any(line.get("path") == "/v1/bandits/x" and line["status"] == 201 for line in server.log)
    assert token.split("_", 2)[2] not in json.dumps(server.log)


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


def test_the_examples_of_the_documentation_work(tmp_path, servers):
    """The lines of curl, with the ids that the server gives, and the lines of Python."""
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    page = (ROOT / "docs" / "service.md").read_text()
    lines = re.findall(r"^curl .*$", page, re.MULTILINE)
    assert len(lines) == 3
    (python,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    server = servers(tmp_path / "store.db", "--log-level", "warning")
    token = server.token()
    decision = ""
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
    assert answer == {"rewards": [{"decision": decision, "status": "accepted"}]}
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
