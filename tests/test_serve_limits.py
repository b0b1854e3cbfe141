"""Tokens with limits: to bandits, to a rate; pages of other origins."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from helpers import invoke
from ocucb.serve.app import create_app
from ocucb.serve.authentication import needs
from ocucb.serve.tokens import Rates, Token, add_token, list_tokens
from serving import RULES, Http

NAMES = ["shop", "shop-1", "shop-2", "shop_3", "SHOP-4", "other"]


@pytest.fixture
def many(opened):
    """A service on either database, with several bandits."""
    made = Http(opened)
    with made.client:
        for name in NAMES:
            made("PUT", f"/v1/bandits/{name}", RULES)
        yield made


@pytest.mark.parametrize(
    ("patterns", "good"),
    [
        (["shop-*"], {"shop-1", "shop-2"}),
        (["shop"], {"shop"}),
        (["shop*", "other"], {"shop", "shop-1", "shop-2", "shop_3", "other"}),
        (["shop_*"], {"shop_3"}),  # no wildcard of SQL
        (["nobody"], set()),
    ],
)
def test_a_token_reaches_the_bandits_that_it_is_for_and_no_others(patterns, good, many):
    token = add_token(many.storage, "administer", "", patterns)
    calls = [
        ("GET", "", None), ("PUT", "", RULES), ("PATCH", "", {"horizon": 2000}),
        ("POST", "/decisions", {}), ("POST", "/rewards", [{"decision": "1-x", "reward": 1}]),
        ("GET", "/log", None), ("GET", "/history", None), ("GET", "/verdict", None),
    ]  # fmt: skip
    many("PUT", "/v1/bandits/shop-1", RULES)
    for name in NAMES:
        for method, path, body in calls:
            if (method, name) == ("PUT", "SHOP-4"):
                continue
            status = many(method, f"/v1/bandits/{name}{path}", body, token=token).status_code
            assert (status == 403) == (name not in good), (name, method, path)
    listed = many("GET", "/v1/bandits", token=token).json()
    assert {one["name"] for one in listed["bandits"]} == good
    refused = many("GET", "/metrics", token=token)
    assert refused.status_code == 403
    assert refused.json()["error"].startswith(f"this token is limited to {','.join(patterns)}, and")
    assert many("GET", "/healthz", token=token).status_code == 200
    assert many("GET", "/nothing", token=token).status_code == 404


def test_a_page_of_the_list_is_full_although_a_token_may_not_see_all(many):
    token = add_token(many.storage, "decide", "", ["shop*"])
    first = many("GET", "/v1/bandits?limit=2", token=token).json()
    rest = many("GET", f"/v1/bandits?limit=9&after={first['next']}", token=token).json()
    names = [[one["name"] for one in page["bandits"]] for page in (first, rest)]
    assert [len(page) for page in names] == [2, 2]
    assert {*names[0], *names[1]} == {"shop", "shop-1", "shop-2", "shop_3"}
    assert rest["next"] is None


def test_a_route_without_a_bandit_is_closed_to_limited_tokens_unless_it_filters(sqlite_storage):
    """As one that is added later and shows everything."""
    app = create_app(sqlite_storage, sweep_seconds=3600)

    async def everything():
        return {}

    async def some():
        return {}

    app.get("/v1/all")(needs("read")(everything))
    app.get("/v1/some")(needs("read", filters=True)(some))
    token = add_token(sqlite_storage, "administer", "", ["shop"])
    headers = {"Authorization": f"Bearer {token}"}
    with TestClient(app) as client:
        assert client.get("/v1/all", headers=headers).status_code == 403
        assert client.get("/v1/some", headers=headers).status_code == 200


def test_a_page_of_a_bandit_needs_a_token_that_is_for_it(many):
    token = add_token(many.storage, "decide", "", ["shop"])
    many.client.post("/login", data={"token": token})
    assert many.client.get("/bandits/shop").status_code == 200
    assert many.client.get("/bandits/other").status_code == 403
    assert many.client.get("/").status_code == 200


def test_limits_are_made_and_listed_on_the_command_line(tmp_path):
    path = tmp_path / "store.db"
    words = ["--bandit", "shop", "--bandit", "shop-*", "--rate", "2.5", "--label", "the shop"]
    assert invoke("serve", "token", *words, "--store", path).exit_code == 0
    assert re.search(
        r"decide +the shop +shop,shop-\* +2\.5/s", invoke("serve", "tokens", "--store", path).stdout
    )
    for more, sentence in (
        (["--bandit", "a b"], "bandit must be a name, or the beginning of names and a star, got"),
        (["--bandit", "*x"], "got '*x'."),
        (["--bandit", "a,b"], "got 'a,b'."),
        (["--rate", "0"], "rate must lie between 0.001 and 1e6 requests a second, got 0."),
        (["--rate", "nan"], "rate must lie between"),
        (["--bandit", "a"] * 101, "a token is for at most 100 bandits; use a prefix"),
    ):
        done = invoke("serve", "token", *more, "--store", path)
        assert done.exit_code == 2
        assert sentence in done.stderr


# Rates


def test_rates_follow_a_model():
    """A bucket with room for one second's requests, refilled continuously."""
    for rate in (0.25, 1.0, 3.0, 50.0):
        token = Token(1, "", "decide", "", 0, None, None, rate)
        rates, now, taken = Rates(), 100.0, []
        for step in range(2000):
            now += (step * 7919 % 13) / (8 * rate)
            wait = rates.wait(token, now)
            assert (wait == 0.0) == (_left(taken, rate, now) > 1 - 1e-9)
            if wait:
                again = rates.wait(token, now + wait * 1.0001)
                assert again == 0.0, "it said how long to wait"
                now += wait * 1.0001
            taken.append(now)
        assert len(taken) <= rate * (now - 100) + max(1, rate) + 1


def _left(taken: list[float], rate: float, now: float) -> float:
    """What is left in the bucket, from all that was ever taken."""
    most = max(1.0, rate)
    left, when = most, taken[0] if taken else now
    for at in taken:
        left, when = min(most, left + (at - when) * rate) - 1, at
    return min(most, left + (now - when) * rate)


def test_too_many_requests_are_told_how_long_to_wait(http):
    slow = add_token(http.storage, "decide", "", [], 0.1)
    other = add_token(http.storage, "decide", "", [], 0.1)
    path = "/v1/bandits/x/decisions"
    assert http("POST", path, token=slow).status_code == 200
    refused = http("POST", path, token=slow)
    assert refused.status_code == 429
    wait = refused.headers["retry-after"]
    assert wait in ("9", "10"), "some time has passed"
    assert refused.json()["error"] == f"this token may send 0.1 requests per second; wait {wait} s."
    assert http("POST", path, token=other).status_code == 200, "each for itself"
    assert http("POST", path).status_code == 200
    assert http.version() == 3, "what is refused changes nothing"
    assert [token.rate for token in list_tokens(http.storage)] == [None, None, 0.1, 0.1]


# Other origins

SITE = "https://shop.example"


def _cors(storage, origins):
    made = Http(storage)
    made.client = TestClient(create_app(storage, clock=made.clock, origins=origins))
    return made


def test_pages_of_listed_origins_may_call_with_a_token(sqlite_storage):
    http = _cors(sqlite_storage, [SITE])
    with http.client:
        http("PUT", "/v1/bandits/x", RULES)
        for origin, good in ((SITE, True), ("https://evil.example", False)):
            asked = {
                "Origin": origin,
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,content-type,idempotency-key",
            }
            answer = http.client.options("/v1/bandits/x/decisions", headers=asked)
            assert (answer.status_code == 200) == good
            assert answer.headers.get("access-control-allow-origin") == (origin if good else None)
            said = http("POST", "/v1/bandits/x/decisions", headers={"Origin": origin})
            assert said.headers.get("access-control-allow-origin") == (origin if good else None)
            assert "access-control-allow-credentials" not in said.headers, "no cookies"
            wrong = http("GET", "/v1/bandits/x", token="wrong", headers={"Origin": origin})
            assert wrong.status_code == 401
            if good:
                assert wrong.headers["access-control-allow-origin"] == origin, "errors can be read"


def test_without_origins_no_other_page_may_call(http):
    answer = http("POST", "/v1/bandits/x/decisions", headers={"Origin": SITE})
    assert "access-control-allow-origin" not in answer.headers
    asked = {"Origin": SITE, "Access-Control-Request-Method": "POST"}
    assert http.client.options("/v1/bandits/x/decisions", headers=asked).status_code != 200


@pytest.mark.parametrize("origin", ["shop.example", "https://shop.example/", "https://a b", "null"])
def test_an_origin_has_no_path(origin, tmp_path):
    done = invoke("serve", "--allow-origin", origin, "--store", tmp_path / "store.db")
    assert done.exit_code == 2
    assert "--allow-origin must look like https://shop.example, without a path" in done.stderr
    assert list(tmp_path.iterdir()) == []
