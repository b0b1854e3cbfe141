"""Who may do what: a test for each line of the list of threats in docs/service.md."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading

import pytest
from starlette.testclient import TestClient

from helpers import ROOT, invoke, wait_until
from ocucb.serve import answers, commands, lanes, middleware, report
from ocucb.serve.answers import Rejected
from ocucb.serve.authentication import csrf_token
from ocucb.serve.check import check
from ocucb.serve.errors import Overloaded, Refused
from ocucb.serve.models import DecisionsRequest
from ocucb.serve.service import Service
from ocucb.serve.tokens import add_token
from ocucb.serve.turn import Work
from serving import RULES, Http, rules


def test_nothing_without_a_valid_token(http):
    wrong = [
        "", "x", "ocucb_1_", "ocucb_99_" + "a" * 43, http.admin[:-1] + "!", http.admin + "x",
        "ocucb_²_x", "ocucb__", http.admin.replace("ocucb_1_", "ocucb_2_"),
        http.admin.replace("ocucb_1_", "ocucb_01_"), http.admin.replace("ocucb_1_", "ocucb_+1_"),
    ]  # fmt: skip
    for method, path, body in (
        ("GET", "/v1/bandits", None),
        ("GET", "/v1/bandits/x", None),
        ("GET", "/v1/bandits/x/log", None),
        ("POST", "/v1/bandits/x/decisions", {}),
        ("PATCH", "/v1/bandits/x", {"paused": True}),
        ("GET", "/metrics", None),
        ("GET", "/anything", None),
    ):
        for text in wrong:
            headers = {"Authorization": f"Bearer {text}".encode()}
            answer = http.client.request(method, path, headers=headers, json=body)
            assert answer.status_code == 401, (path, text)
            assert answer.headers["www-authenticate"] == "Bearer"
        assert http.client.request(method, path, json=body).status_code == 401
        basic = {"Authorization": f"Basic {http.admin}"}
        assert http.client.request(method, path, headers=basic, json=body).status_code == 401
    assert not http("GET", "/v1/bandits/x").json()["paused"]


def test_a_token_that_may_decide_may_not_administer(http):
    for method, body in (("PUT", RULES), ("PATCH", {"paused": True}), ("DELETE", None)):
        answer = http(method, "/v1/bandits/x", body, token=http.decider)
        assert answer.status_code == 403
        assert "scope administer" in answer.json()["error"]
    assert http("POST", "/v1/bandits/x/decisions", token=http.decider).status_code == 200
    assert http("GET", "/v1/bandits/x", token=http.decider).json()["paused"] is False


def test_tokens_are_stored_as_digests_and_shown_once(tmp_path):
    path = tmp_path / "store.db"
    made = invoke("serve", "token", "--store", path, "--scope", "administer", "--label", "me")
    token = made.stdout.strip()
    secret = token.split("_", 2)[2]
    assert len(secret) >= 43, "256 bits"
    listed = invoke("serve", "tokens", "--store", path).stdout
    assert "me" in listed
    files = [file.read_bytes() for file in tmp_path.iterdir()]
    assert not any(secret.encode() in content for content in files)
    assert secret not in listed
    for words, sentence in (
        (["token", "--scope", "all"], "scope must be decide or administer, got 'all'."),
        (["revoke", "7"], "there is no token 7 to revoke; `ocucb serve tokens` lists them."),
    ):
        done = invoke("serve", *words, "--store", path)
        assert (done.exit_code, done.stderr) == (2, f"Error: {sentence}\n")


def test_a_revoked_token_ends_within_a_second(http):
    assert http("GET", "/v1/bandits", token=http.decider).status_code == 200
    done = invoke("serve", "revoke", "2", "--store", http.storage.place)
    assert done.exit_code == 0
    wait_until(
        lambda: http("GET", "/v1/bandits", token=http.decider).status_code == 401, "revoked", 5
    )
    assert http("GET", "/v1/bandits").status_code == 200


def test_other_machines_are_refused_while_there_is_no_token(tmp_path):
    done = invoke("serve", "--store", tmp_path / "store.db", "--host", "0.0.0.0", "--port", "0")
    assert done.exit_code == 2
    assert "0.0.0.0 can be reached from other machines" in done.stderr
    assert done.stderr.count("\n") == 1


def test_answers_do_not_wait_for_acknowledgements(tmp_path, monkeypatch):
    """asyncio sends small answers at once only on sockets that it opened itself; ours must ask."""
    found = []

    def run(self, sockets):
        found.extend(
            endpoint.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for endpoint in sockets
        )

    monkeypatch.setattr(commands.uvicorn.Server, "run", run)
    monkeypatch.setattr(commands, "_log_to_stderr", lambda level: None)
    monkeypatch.setattr(commands.signal, "signal", lambda *_: None)
    commands.serve(str(tmp_path / "store.db"), "127.0.0.1", 0, "info")
    assert len(found) == 1
    assert all(found)


def test_a_foreign_page_cannot_use_the_cookie(http):
    """Alone it only reads; other sites do not get it sent, and scripts cannot see it."""
    client = TestClient(http.app)
    answer = client.post("/login", data={"token": http.admin}, follow_redirects=False)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert client.get("/v1/bandits").status_code == 200
    assert client.post("/v1/bandits/x/decisions").status_code == 401
    assert client.patch("/v1/bandits/x", json={"paused": True}).status_code == 401
    client.post("/logout")
    assert client.get("/v1/bandits").status_code == 401
    assert client.post("/login", data={"token": "wrong"}).status_code == 401
    assert client.get("/", follow_redirects=False).headers["location"] == "/login"


def test_our_own_page_changes_things_with_a_text_that_no_other_can_know(http):
    def proof_of(client):
        return re.findall('name="csrf" content="([0-9a-f]{64})"', client.get("/").text)

    def pause(client, proof, **more):
        headers = {"X-CSRF-Token": proof, **more}
        return client.patch("/v1/bandits/x", json={"paused": True}, headers=headers).status_code

    admin, other, decider = (TestClient(http.app) for _ in range(3))
    tokens = http.admin, add_token(http.storage, "administer"), http.decider
    for client, token in zip((admin, other, decider), tokens, strict=True):
        client.post("/login", data={"token": token})
    (proof,), (others,) = proof_of(admin), proof_of(other)
    assert proof_of(decider) == [], "it could do nothing with it"
    assert proof != others
    for wrong in (others, "", "x", proof[:-1], proof.upper(), "²"):
        assert pause(admin, wrong.encode()) in (401, 403), wrong
    assert pause(decider, csrf_token(http.decider)) == 403, "the scope counts, too"
    assert pause(TestClient(http.app), csrf_token("")) == 401
    evil = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
    for key, value in evil.items():
        assert pause(admin, proof, **{key: value}) == 403
    assert not http("GET", "/v1/bandits/x").json()["paused"]
    assert pause(admin, proof, **{"sec-fetch-site": "same-origin"}) == 200
    assert http("GET", "/v1/bandits/x").json()["paused"]
    decide = admin.post("/v1/bandits/x/decisions", headers={"X-CSRF-Token": proof})
    assert decide.status_code == 401, "a page makes no decisions"


@pytest.mark.parametrize("path", ["/login", "/logout"])
def test_forms_of_other_sites_log_nobody_in_or_out(path, http):
    def post(**headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = {"token": http.admin}
        return http.client.post(path, data=data, headers=named, follow_redirects=False)

    for headers in (
        {"origin": "https://evil.example"}, {"origin": "null"}, {"origin": "http://["},
        {"origin": "http://testserver:81"}, {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site", "origin": "http://testserver"},
    ):  # fmt: skip
        answer = post(**headers)
        assert answer.status_code == 403, headers
        assert answer.json() == {"error": f"{path} does not take forms of other sites."}
        assert "set-cookie" not in answer.headers
    for headers in (
        {}, {"origin": "http://testserver"}, {"sec_fetch_site": "none"},
        {"sec_fetch_site": "same-origin", "origin": "https://behind.a.proxy"},
    ):  # fmt: skip
        assert post(**headers).status_code == 303, headers


def test_every_answer_has_the_headers_that_protect_it(http):
    for path in ("/", "/login", "/v1/bandits", "/v1/nothing", "/static/page.js", "/healthz"):
        headers = http("GET", path, follow_redirects=False).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "same-origin"
        assert "server" not in headers


def test_large_bodies_are_refused_before_they_are_read(http):
    large = b" " * (middleware.LARGEST_BODY + 1)
    headers = {"Content-Type": "application/json"}
    assert http("PUT", "/v1/bandits/y", content=large, headers=headers).status_code == 413
    given = []

    def endless():  # without a length
        while len(given) < 100:
            given.append(0)
            yield b" " * 100_000

    answer = http("PUT", "/v1/bandits/y", content=endless(), headers=headers)
    assert answer.status_code == 413
    assert str(middleware.LARGEST_BODY) in answer.json()["error"]


def test_a_body_that_never_ends_is_given_up(http, monkeypatch):
    import anyio

    monkeypatch.setattr(middleware, "BODY_SECONDS", 0.05)

    async def never():
        await anyio.sleep(60)

    async def ask():
        headers = middleware.Headers({})
        with pytest.raises(Rejected) as caught:
            await middleware._body(headers, never)
        return caught.value.status

    assert anyio.run(ask) == 408


def test_a_body_is_taken_for_empty_only_if_its_length_says_so():
    """HTTP/2 has bodies without a length, and HTTP/1.1 those in chunks."""

    async def receive():
        return {"type": "http.request", "body": b"{}"}

    async def read(**headers):
        return await middleware._body(middleware.Headers(headers), receive)

    assert asyncio.run(read()) == b"{}"
    assert asyncio.run(read(**{"content-length": "2"})) == b"{}"
    assert asyncio.run(read(**{"content-length": "0"})) == b""
    assert asyncio.run(read(**{"content-length": "0", "transfer-encoding": "chunked"})) == b"{}"


def test_forms_of_other_sites_are_not_json(http):
    headers = {"Content-Type": "text/plain"}
    answer = http("POST", "/v1/bandits/x/decisions", content=b"{}", headers=headers)
    assert answer.status_code == 415


def test_ids_cannot_be_guessed(http):
    decision = http("POST", "/v1/bandits/x/decisions").json()["decisions"][0]["id"]
    number, _, code = decision.partition("-")
    assert len(code) == 16
    for guess in (number, f"{number}-", f"{number}-{'0' * 16}", f"{number}-{code[:-1]}"):
        answer = http("POST", "/v1/bandits/x/rewards", [{"decision": guess, "reward": 1}])
        assert answer.json()["rewards"][0]["status"] == "unknown"


HOSTILE = [
    "<script>alert(1)</script>", "'; DROP TABLE bandits; --", '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}", "../../etc/passwd", "\u202egnp.exe", "=cmd()", "%s%n", "🙂", "${jndi:ldap://x}",
]  # fmt: skip


def test_hostile_names_are_only_names(opened):
    made = Http(opened)
    with made.client:
        made(
            "PUT",
            "/v1/bandits/x",
            {**RULES, "arms": HOSTILE, "control": HOSTILE[1], "control_share": 0.1},
        )
        for unit in HOSTILE:
            headers = {"Idempotency-Key": unit.encode("ascii", "replace").decode()}
            answer = made("POST", "/v1/bandits/x/decisions", {"unit": unit}, headers=headers)
            (one,) = answer.json()["decisions"]
            assert one["arm"] in HOSTILE
            made("POST", "/v1/bandits/x/rewards", [{"decision": one["id"], "reward": 1}])
        found = made("GET", "/v1/bandits/x").json()
        assert [arm["arm"] for arm in found["arms"]] == HOSTILE
        lines = made("GET", "/v1/bandits/x/log").text.splitlines()
        assert [json.loads(line)["unit"] for line in lines][::2] == HOSTILE
        page = made("GET", "/bandits/%3Cscript%3E")
        assert page.status_code == 422
        assert page.headers["content-type"] == "application/json"
    assert [checked.problem for checked in check(opened)] == [None]


def test_no_answer_shows_what_went_wrong_inside(http, monkeypatch, caplog):
    def broken(*_, **__):
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(report, "overview", broken)
    answer = TestClient(http.app).get(
        "/v1/bandits", headers={"Authorization": f"Bearer {http.admin}"}
    )
    assert answer.status_code == 500
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.json()["error"].startswith("internal error; see the server's log.")
    assert "hunter2" in caplog.text, "the log says what"
    assert answer.headers["x-frame-options"] == "DENY"


def test_lines_of_the_log_cannot_be_forged(http):
    import logging

    from ocucb.serve.commands import JsonLines

    record = logging.LogRecord("x", logging.INFO, "", 0, "request", (), None)
    record.facts = {"path": '/a\n{"level": "error"}\r\x1b[31m'}
    line = JsonLines().format(record)
    assert "\n" not in line
    assert "\x1b" not in line
    assert json.loads(line)["path"] == record.facts["path"]


def test_secrets_stay_out_of_the_log(http, caplog):
    caplog.set_level("DEBUG")
    http("GET", "/v1/bandits")
    http.client.post("/login", data={"token": http.admin})
    secret = http.admin.split("_", 2)[2]
    assert any(record.getMessage() == "request" for record in caplog.records)
    for record in caplog.records:
        assert secret not in record.getMessage() + str(getattr(record, "facts", ""))


def test_many_waiting_requests_are_refused_and_not_kept(sqlite_storage, monkeypatch):
    monkeypatch.setattr(lanes, "MOST_WAITING", 5)
    one = Service(sqlite_storage)
    one.create("x", rules())
    held, begun = threading.Event(), threading.Event()

    def hold(turn):
        begun.set()
        assert held.wait(60)

    first = one.lanes.submit("x", Work(hold))
    assert begun.wait(60)
    others = [one.decide("x", DecisionsRequest()) for _ in range(5)]
    with pytest.raises(Overloaded, match="too many requests wait for bandit 'x'") as caught:
        one.decide("x", DecisionsRequest())
    assert answers.STATUSES[type(caught.value)] == 503
    held.set()
    assert [len(future.result(60)) for future in others] == [1] * 5
    first.result(60)
    for i in range(20):
        with pytest.raises(Refused, match="there is no bandit"):
            one.decide(f"nobody {i}", DecisionsRequest()).result(60)
    wait_until(lambda: set(one.lanes.open) == {"x"}, "names of nobody are forgotten")
    one.close()


def test_a_request_that_is_given_up_leaves_the_lane_free(sqlite_storage):
    one = Service(sqlite_storage)
    one.create("x", rules())
    held, begun = threading.Event(), threading.Event()

    def hold(turn):
        begun.set()
        assert held.wait(60)

    first = one.lanes.submit("x", Work(hold))
    assert begun.wait(60)
    given_up, kept = (one.decide("x", DecisionsRequest()) for _ in range(2))
    assert given_up.cancel()
    assert not first.cancel(), "it has begun"
    held.set()
    assert len(kept.result(60)) == 1
    assert len(one.decide("x", DecisionsRequest()).result(60)) == 1
    assert [(found.decisions, found.problem) for found in check(sqlite_storage)] == [(2, None)]
    one.close()


def test_strangers_cannot_fill_the_metrics(http):
    def size():
        return len(http("GET", "/metrics").text.splitlines())

    http.client.request("BREW0", "/tea0")
    size()
    before = size()
    for i in range(1, 20):
        assert http.client.request(f"BREW{i}", f"/tea{i}").status_code == 401
        assert http("GET", f"/tea{i}").status_code == 404
        assert http("GET", f"/v1/bandits/tea{i}").status_code == 404
    assert size() <= before + 40, "as many as there are routes, not requests"


def test_every_threat_has_a_test():
    page = (ROOT / "docs" / "service.md").read_text()
    section = page.partition("## Threats\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert rows
    sources = "".join(path.read_text() for path in (ROOT / "tests").glob("test_serve*.py"))
    for row in rows:
        names = re.findall(r"`(test_\w+)`", row)
        assert names, row
        for name in names:
            assert f"def {name}(" in sources, name
