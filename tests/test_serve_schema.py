"""The schema of the service: tokens, and examples that are what it really answers.

``python tests/test_serve_schema.py`` writes the examples anew.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from unittest import mock

import pytest

from helpers import wait_until
from ocucb._version import __version__
from ocucb.serve.schema import EXAMPLES
from ocucb.serve.storage import Storage
from serving import Http, Server

SECRET = "00112233445566778899aabbccddeeff" * 2
RULES = {
    "arms": ["red", "green"],
    "policy": "ocucb",
    "horizon": 10_000,
    "bounds": [0, 1],
    "floor": 0.05,
    "expiry": 3600,
    "seed": 7,
}


def examples() -> dict[str, dict]:
    """Return a sample request and answer for every call, as a fresh service gives them."""
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch("secrets.token_hex", return_value=SECRET),
    ):
        storage = Storage(str(Path(folder) / "store.db"))
        http, found = Http(storage), {}

        def call(method, route, body=None, query=""):
            answer = http(method, route.replace("{name}", "colours") + query, body)
            kind = answer.headers["content-type"].partition(";")[0]
            said = answer.json() if kind == "application/json" else answer.text
            example = {} if body is None else {"request": body}
            example |= {"status": answer.status_code, "type": kind, "answer": said}
            found[f"{method} {route}"] = example
            http.clock.pass_seconds(60)
            return said

        with http.client:
            wait_until(lambda: http.app.state.service.is_warm, "ready")
            call("PUT", "/v1/bandits/{name}", RULES)
            said = call("POST", "/v1/bandits/{name}/decisions", {"count": 2})
            first, second = (one["id"] for one in said["decisions"])
            rewards = [{"decision": first, "reward": 1}, {"decision": second, "reward": 0.25}]
            call("POST", "/v1/bandits/{name}/rewards", rewards)
            call("POST", "/v1/bandits/{name}/prior", [{"arm": "red", "pulls": 40, "mean": 0.2}])
            call("GET", "/v1/bandits/{name}")
            call("GET", "/v1/bandits")
            call("GET", "/v1/bandits/{name}/verdict", query="?margin=0.01")
            call("GET", "/v1/bandits/{name}/log", query="?joined=true")
            call("GET", "/v1/bandits/{name}/history")
            call("GET", "/healthz")["version"] = "0.1.0"
            call("GET", "/readyz")["version"] = "0.1.0"
            assert http("GET", "/healthz").json()["version"] == __version__
            lines = call("GET", "/metrics").splitlines(keepends=True)
            kept = [line for line in lines if line.startswith("ocucb_events_total")]
            found["GET /metrics"]["answer"] = "".join(kept)
            call("PATCH", "/v1/bandits/{name}", {"add": ["blue"], "archived": True})
            call("DELETE", "/v1/bandits/{name}")
        storage.close()
    return found


def assert_alike(one, other, where="example"):
    """Assert that two values are equal, but for the last digits of numbers."""
    if isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            assert_alike(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for i, both in enumerate(zip(one, other, strict=True)):
            assert_alike(*both, f"{where}[{i}]")
    else:
        assert one == (pytest.approx(other, rel=1e-9) if isinstance(other, float) else other), where


def test_examples_are_what_the_service_answers():
    assert_alike(examples(), json.loads(EXAMPLES.read_text("utf-8")))


def test_every_call_has_an_example_and_says_which_token_it_needs(http):
    schema = http.client.get("/openapi.json").json()
    assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    needs = {}
    for path, calls in schema["paths"].items():
        for method, call in calls.items():
            good = [call["responses"][code] for code in ("200", "201") if code in call["responses"]]
            given = [kind for one in good for kind in one["content"].values() if "example" in kind]
            assert len(given) == 1, (method, path)
            body = call.get("requestBody", {}).get("content", {}).get("application/json", {})
            assert ("example" in body) == ("requestBody" in call)
            needs[f"{method.upper()} {path}"] = bool(call["security"])
            assert "token" in call["description"]
    public = {"GET /healthz", "GET /readyz"}
    assert {call for call, token in needs.items() if not token} == public
    for call in needs:
        method, path = call.split()
        status = http.client.request(method, path.replace("{name}", "x")).status_code
        assert (status == 401) == needs[call], call


def test_the_calls_can_be_looked_at_and_tried_offline(browser, tmp_path):
    """Swagger UI, from this server alone: a call with a token that its form is given."""
    server = Server(str(tmp_path / "store.db"), "--log-level", "warning")
    token = server.token()
    browser.get(f"{server.url}/docs")
    count = "return document.querySelectorAll('.opblock').length"
    wait_until(lambda: browser.execute_script(count) >= 12, "the calls")
    browser.execute_script("window.ui.preauthorizeApiKey('token', arguments[0])", token)
    browser.execute_script("document.querySelector('.opblock-summary-control').click()")
    click = "const one = document.querySelector(arguments[0]); one?.click(); return Boolean(one)"
    for button in (".try-out__btn", ".execute"):
        wait_until(partial(browser.execute_script, click, button), button)
    said = "return document.querySelector('.live-responses-table')?.innerText ?? ''"
    wait_until(lambda: '"bandits": []' in browser.execute_script(said), "the answer")
    loaded = browser.execute_script(
        "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    )
    assert all(name.startswith((server.url, "data:")) for name in loaded)
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert server.terminate() == 0


if __name__ == "__main__":
    EXAMPLES.write_text(json.dumps(examples(), indent=1) + "\n", "utf-8")
    sys.stdout.write(f"wrote {EXAMPLES}\n")
