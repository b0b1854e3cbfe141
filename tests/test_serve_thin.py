"""Thin clients: Python with httpx alone, JavaScript in one file; what they send fits the schema."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest

from helpers import ROOT
from ocucb.serve.client import Client
from serving import Server

SCRIPT = ROOT / "src" / "ocucb" / "serve" / "pages" / "static" / "client.js"

ALONE = """
import sys, json
HEAVY = "numba numpy scipy psycopg sqlalchemy pydantic fastapi starlette uvicorn alembic matplotlib"
HEAVY += " typer rich cloudpickle platformdirs jinja2 prometheus_client"
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HEAVY.split():
            raise ImportError(f"{name} is not here")
sys.meta_path.insert(0, Refuse())
from ocucb.serve.client import Client
with Client(sys.argv[1], "thin", sys.argv[2], patience=60) as bandit:
    bandit.create(["red", "green"], bounds=[0, 1], seed=1)
    decision = bandit.ask()
    status = bandit.tell(decision, 1.0)
    print(json.dumps([decision.arm, status, bandit.summary()["totals"]["rewards"]]))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(str(tmp_path_factory.mktemp("thin") / "store.db"), "--log-level", "warning")
    made.known = made.token()
    yield made
    assert made.terminate() == 0


def call_of(schema, method, path):
    """Return the call of the schema that a request is for."""
    for template, calls in schema["paths"].items():
        pattern = re.sub(r"\\\{name\\\}", "[^/]+", re.escape(template))
        if re.fullmatch(pattern, path.partition("?")[0]) and method.lower() in calls:
            return template, calls[method.lower()]
    raise AssertionError(f"the schema has no {method} {path}")


def assert_fits(schema, value, kind, where):
    """Assert that a value is of a kind: no field that is unknown, none that is missing."""
    if "$ref" in kind:
        kind = schema["components"]["schemas"][kind["$ref"].rpartition("/")[2]]
    choices = [one for one in kind.get("anyOf", []) if one.get("type") != "null"]
    if choices:
        assert value is None or len(choices) == 1, where
        kind = choices[0]
        if "$ref" in kind and value is not None:
            assert_fits(schema, value, kind, where)
    if isinstance(value, dict) and "properties" in kind:
        assert set(value) <= set(kind["properties"]), where
        assert set(kind.get("required", [])) <= set(value), where
        for name, one in value.items():
            assert_fits(schema, one, kind["properties"][name], f"{where}.{name}")
    if isinstance(value, list):
        assert kind["type"] == "array", where
        for one in value:
            assert_fits(schema, one, kind["items"], f"{where}[]")


def assert_sends_what_the_schema_takes(schema, sent):
    """Assert it of every request, and that they make use of all calls for programs."""
    used = set()
    for method, path, body in sent:
        template, call = call_of(schema, method, path)
        used.add((method, template))
        query = [one.partition("=")[0] for one in path.partition("?")[2].split("&") if one]
        assert set(query) <= {one["name"] for one in call.get("parameters", [])}
        if body is not None:
            kind = call["requestBody"]["content"]["application/json"]["schema"]
            assert_fits(schema, json.loads(body), kind, f"{method} {template}")
    one = "/v1/bandits/{name}"
    wanted = {("PUT", one), ("PATCH", one), ("DELETE", one), ("GET", one)}
    wanted |= {("GET", f"{one}/verdict")}
    wanted |= {("POST", f"{one}/{call}") for call in ("decisions", "rewards", "prior")}
    assert used == wanted
    offered = {
        (method.upper(), path)
        for path, calls in schema["paths"].items()
        for method in calls
        if path.startswith(one)
    }
    assert offered - wanted == {("GET", f"{one}/log"), ("GET", f"{one}/history")}


def test_the_python_client_needs_httpx_and_nothing_else(server):
    done = subprocess.run(
        [sys.executable, "-c", ALONE, server.url, server.known],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["red", "accepted", 1]


def test_the_python_client_sends_what_the_schema_takes(http):
    class Noting:
        def __init__(self):
            self.sent = []

        def handle_request(self, request):
            import httpx

            path = str(request.url.raw_path, "ascii")
            self.sent.append((request.method, path, request.read().decode() or None))
            answer = http.client.request(
                request.method, path, content=request.content, headers=dict(request.headers)
            )
            return httpx.Response(answer.status_code, content=answer.content)

        def close(self):
            pass

    with Client("http://testserver", "shop", http.admin) as client:
        client._http._transport = wire = Noting()
        client.create(
            ["a", "b"], "ocucb", 1000, bounds=[0, 1], guardrail={"metric": "m", "most": 1}
        )
        client.tell(client.ask(), 0.5, 0.0)
        client.tell(client.ask(2), [0.5, 1.0], [None, 1.0])
        client.ask(unit="anna")
        client.tell_prior([{"arm": "a", "pulls": 3, "sum": 1.0}])
        client.add("c")
        client.retire(["a"])
        client.extend(5000)
        client.switch("ucb1")
        client.pause()
        client.resume()
        client.verdict(margin=0.1, level=0.9)
        assert client.summary()["epoch"] == 2
        client.archive()
        client.restore()
        client.archive()
        client.delete()
    schema = http.client.get("/openapi.json").json()
    assert_sends_what_the_schema_takes(schema, wire.sent)
    with pytest.raises(AssertionError):
        assert_sends_what_the_schema_takes(
            schema, [*wire.sent, ("PATCH", wire.sent[0][1], '{"x": 1}')]
        )


def test_the_javascript_client_does_what_the_python_client_does(server, http, tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    script = tmp_path / "verbs.mjs"
    shutil.copy(SCRIPT, tmp_path / "client.mjs")
    shutil.copy(ROOT / "tests" / "client_verbs.mjs", script)
    done = subprocess.run(
        [node, str(script), server.url, server.known],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["retried"]) == 3
    assert len(set(found["retried"])) == 1
    assert found["statuses"] == ["accepted", "conflict", *["accepted"] * 3]
    assert found["anna"][0] == found["anna"][1]
    refused, status, sentence = found["refusal"]
    assert (refused, status) == (True, 409)
    assert "is paused" in sentence
    summary = found["summary"]
    assert summary["totals"] == {
        "decisions": 5, "rewards": 4, "open": 1, "expired": 0, "late": 0, "prior": 10,
    }  # fmt: skip
    assert (summary["horizon"], summary["epoch"], summary["label"]) == (5010, 2, "UCB1")
    assert sum(arm["guard"]["values"] for arm in summary["arms"]) == 1
    assert (found["verdict"], found["deleted"], found["away"]) == ("go on", {"deleted": "js"}, None)
    assert "one reward for each decision, got 2 decisions and 1 rewards" in found["counts"]
    schema = http.client.get("/openapi.json").json()
    assert_sends_what_the_schema_takes(schema, [row[:3] for row in found["sent"]])
    served = http.client.get("/static/client.js")
    assert served.text == SCRIPT.read_text("utf-8")
    assert "javascript" in served.headers["content-type"]
