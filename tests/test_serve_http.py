"""The calls of the service without a network: answers, refusals, health, fuzzed requests."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from concurrent.futures import Future
from urllib.parse import quote

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from ocucb.serve import lanes, report, routes
from ocucb.serve.check import check
from ocucb.serve.errors import Conflict
from serving import RULES

# The six calls


def test_a_round_over_http(http):
    made = http("PUT", "/v1/bandits/y", RULES)
    assert made.status_code == 201
    again = http("PUT", "/v1/bandits/y", RULES)
    assert (again.status_code, again.json()) == (200, made.json())
    other = http("PUT", "/v1/bandits/y", {**RULES, "horizon": 5})
    assert other.status_code == 409
    assert other.json()["error"].startswith("bandit 'y' exists with other rules")
    key = {"Idempotency-Key": "k1"}
    first = http("POST", "/v1/bandits/y/decisions", {"count": 3}, headers=key)
    assert [decision["arm"] for decision in first.json()["decisions"]] == ["a", "b", "c"]
    assert all(decision["propensity"] == 1 for decision in first.json()["decisions"])
    assert http("POST", "/v1/bandits/y/decisions", {"count": 3}, headers=key).json() == first.json()
    assert http("POST", "/v1/bandits/y/decisions", {"count": 2}, headers=key).status_code == 422
    ids = [decision["id"] for decision in first.json()["decisions"]]
    rewards = [{"decision": ids[0], "reward": 1}, {"decision": ids[0], "reward": 0.5}]
    rewards += [{"decision": ids[0], "reward": 1}, {"decision": "1-x", "reward": 1}]
    answer = http("POST", "/v1/bandits/y/rewards", rewards).json()["rewards"]
    assert [told["status"] for told in answer] == ["accepted", "conflict", "duplicate", "unknown"]
    elsewhere = http("POST", "/v1/bandits/x/rewards", [{"decision": ids[1], "reward": 1}]).json()
    assert elsewhere["rewards"][0]["status"] == "unknown", "ids belong to their bandit"
    lines = http("GET", "/v1/bandits/y/log?limit=2").text.splitlines()
    entries = [json.loads(line) for line in lines]
    assert [entry["decision"] for entry in entries] == ids[:2]
    rest = http("GET", "/v1/bandits/y/log?after=2").text.splitlines()
    assert [json.loads(line)["kind"] for line in rest] == ["decision", "reward"]
    listed = http("GET", "/v1/bandits").json()["bandits"]
    assert [bandit["name"] for bandit in listed] == ["x", "y"]


def test_changes_over_http(http):
    path = "/v1/bandits/x"
    changed = http("PATCH", path, {"add": ["d"], "retire": ["a"], "horizon": 2000}).json()
    assert [(arm["arm"], arm["retired"]) for arm in changed["arms"]] == [
        ("a", True), ("b", False), ("c", False), ("d", False),
    ]  # fmt: skip
    assert changed["horizon"] == 2000
    version = http.version()
    same = http("PATCH", path, {"add": ["d"], "retire": ["a"], "horizon": 2000})
    assert same.status_code == 200, "a repeat is harmless"
    assert http.version() == version
    assert http("PATCH", path, {"paused": True}).json()["paused"]
    refused = http("POST", f"{path}/decisions")
    assert (refused.status_code, refused.json()["error"]) == (
        409, "bandit 'x' is paused; resume it with PATCH.",
    )  # fmt: skip
    http("PATCH", path, {"paused": False})
    assert http("POST", f"{path}/decisions").status_code == 200
    assert [found.problem for found in check(http.storage)] == [None]


def test_units_keep_their_arm_while_their_decision_is_open(http):
    http("PUT", "/v1/bandits/u", {**RULES, "policy": "uniform", "expiry": 60})

    def ask(unit):
        answer = http("POST", "/v1/bandits/u/decisions", {"unit": unit}).json()
        return answer["decisions"][0]

    anna = ask("anna")
    others = [ask(f"other {i}")["id"] for i in range(5)]
    assert ask("anna") == anna
    assert len({anna["id"], *others}) == 6
    http("POST", "/v1/bandits/u/rewards", [{"decision": anna["id"], "reward": 1}])
    second = ask("anna")
    assert second["id"] != anna["id"]
    http.clock.pass_seconds(61)
    assert ask("anna")["id"] != second["id"], "it has expired"


BAD = [
    ("PUT", "/v1/bandits/y", {}, 422, "arms is missing."),
    ("PUT", "/v1/bandits/y", [], 422, "the body: input should be a valid dictionary or object"),
    ("PUT", "/v1/bandits/y", {**RULES, "arms": []}, 422, "arms: list should have at least 1 item"),
    ("PUT", "/v1/bandits/y", {**RULES, "arms": ["a", "a"]}, 422, "got 'a' twice"),
    (
        "PUT",
        "/v1/bandits/y",
        {**RULES, "arms": ["a\x00"]},
        422,
        "arms[0]: must not contain",
    ),
    (
        "PUT",
        "/v1/bandits/y",
        {**RULES, "arms": [1]},
        422,
        "arms[0]: input should be a valid",
    ),
    ("PUT", "/v1/bandits/y", {**RULES, "arms": ["x" * 201]}, 422, "at most 200 characters"),
    ("PUT", "/v1/bandits/y", {**RULES, "arms": [str(i) for i in range(1001)]}, 422, "at most 1000"),
    ("PUT", "/v1/bandits/y", {**RULES, "horizon": 0}, 422, "horizon: input should be greater"),
    ("PUT", "/v1/bandits/y", {**RULES, "horizon": 2**60}, 422, "horizon: input should be less"),
    ("PUT", "/v1/bandits/y", {**RULES, "horizon": 1.5}, 422, "horizon: input should be a valid"),
    ("PUT", "/v1/bandits/y", {**RULES, "policy": "ocub"}, 422, "unknown policy 'ocub'; did"),
    ("PUT", "/v1/bandits/y", {**RULES, "policy": "ocucb:alpha=-1"}, 422, "alpha must be > 0"),
    ("PUT", "/v1/bandits/y", {**RULES, "bounds": [1, 0]}, 422, "the lower one first, got 1 and 0."),
    ("PUT", "/v1/bandits/y", {**RULES, "sigma": 1}, 422, "give bounds, [low, high], or sigma, or"),
    ("PUT", "/v1/bandits/y", {**RULES, "bounds": None}, 422, "OCUCB has to know how much rewards"),
    ("PUT", "/v1/bandits/y", {**RULES, "floor": 0.5}, 422, "add up to 1.5, which is more than 1"),
    ("PUT", "/v1/bandits/y", {**RULES, "floor": 1e-310}, 422, "0 or at least 1e-09, got 1e-310."),
    ("PUT", "/v1/bandits/y", {**RULES, "floor": 9e-10}, 422, "floor must be 0 or at least 1e-09"),
    ("PUT", "/v1/bandits/y", {**RULES, "control": "z", "control_share": 0.1}, 422, "got 'z'."),
    ("PUT", "/v1/bandits/y", {**RULES, "control": "a"}, 422, "belong together"),
    ("PUT", "/v1/bandits/y", {**RULES, "default_reward": 1}, 422, "default_reward needs an exp"),
    ("PUT", "/v1/bandits/y", {**RULES, "expiry": 1, "default_reward": 2}, 422, "got 2.0."),
    ("PUT", "/v1/bandits/y", {**RULES, "colour": 1}, 422, "colour is not a field of this request."),
    ("PUT", "/v1/bandits/a b", RULES, 422, "name: string should match pattern"),
    ("PUT", f"/v1/bandits/{'y' * 101}", RULES, 422, "name: string should match pattern"),
    ("POST", "/v1/bandits/x/decisions", {"count": 0}, 422, "count: input should be greater than"),
    ("POST", "/v1/bandits/x/decisions", {"count": 1001}, 422, "count: input should be less than"),
    ("POST", "/v1/bandits/x/decisions", {"count": True}, 422, "count: input should be a valid int"),
    ("POST", "/v1/bandits/x/decisions", {"count": 2, "unit": "u"}, 422, "count must be 1, got 2."),
    ("POST", "/v1/bandits/x/decisions", {"unit": ""}, 422, "unit: string should have at least 1"),
    ("POST", "/v1/bandits/z/decisions", {}, 404, "there is no bandit 'z'; create it with PUT"),
    ("POST", "/v1/bandits/x/rewards", [], 422, "list should have at least 1 item"),
    ("POST", "/v1/bandits/x/rewards", [{"decision": "1"}], 422, "rewards[0].reward is missing."),
    (
        "POST",
        "/v1/bandits/x/rewards",
        [{"decision": "1", "reward": 2}],
        422,
        "rewards[0].reward must",
    ),
    (
        "POST",
        "/v1/bandits/x/rewards",
        [{"decision": 1, "reward": 1}],
        422,
        "rewards[0].decision: in",
    ),
    (
        "POST",
        "/v1/bandits/x/rewards",
        [{"decision": "1", "reward": "1"}],
        422,
        "rewards[0].reward: i",
    ),
    ("PATCH", "/v1/bandits/x", {"retire": ["z"]}, 422, "retire: unknown arm 'z'."),
    ("PATCH", "/v1/bandits/x", {"retire": ["a", "b", "c"]}, 409, "the last active arm cannot be"),
    ("PATCH", "/v1/bandits/x", {"add": ["d"], "retire": ["d"]}, 422, "unknown arm 'd'"),
    ("PATCH", "/v1/bandits/x", {"add": ["a"], "retire": ["a"]}, 422, "both added and retired"),
    ("PATCH", "/v1/bandits/x", {"horizon": 10}, 409, "must be above the present one, 1000, got 10"),
    ("PATCH", "/v1/bandits/x", {"paused": 1}, 422, "paused: input should be a valid boolean"),
    ("GET", "/v1/bandits/x/log?after=-1", None, 422, "after: input should be greater than or equ"),
    ("GET", "/v1/bandits?limit=101", None, 422, "limit: input should be less than or equal to 100"),
    ("GET", f"/v1/bandits?after={'y' * 101}", None, 422, "after: string should have at most 100"),
    ("GET", "/v1/bandits/x/log?limit=1e9", None, 422, "limit: input should be a valid integer"),
    ("GET", "/v1/bandits/z", None, 404, "there is no bandit 'z'"),
    ("GET", "/v1/nothing", None, 404, "there is nothing at this address."),
    ("DELETE", "/v1/bandits/x", None, 409, "is in use; archive it with PATCH, then delete"),
    ("DELETE", "/v1/bandits/x/log", None, 405, "DELETE is not allowed here."),
    ("GET", "/v1/bandits/x/log?format=xml", None, 422, "format: input should be 'ndjson'"),
]


def test_bad_input_is_one_sentence_and_changes_nothing(http):
    version = http.version()
    for method, path, body, status, sentence in BAD:
        answer = http(method, path, body)
        assert answer.status_code == status, (method, path, body, answer.text)
        (said,) = answer.json().values()
        assert sentence in said, (body, said)
        assert said.endswith((".", "?"))
        assert "\n" not in said
    assert http.version() == version
    assert [bandit["name"] for bandit in http("GET", "/v1/bandits").json()["bandits"]] == ["x"]


def test_rewards_that_rounding_would_swamp_are_refused(http):
    """With sigma told there are no bounds, yet sums could not hold such rewards."""
    told = {"arms": ["a", "b"], "sigma": 1, "seed": 1}
    http("PUT", "/v1/bandits/s", told)
    (decision,) = http("POST", "/v1/bandits/s/decisions").json()["decisions"]
    version = http.version("s")
    for reward in (1e10, -1e100):
        item = {"decision": decision["id"], "reward": reward}
        answer = http("POST", "/v1/bandits/s/rewards", [item])
        assert answer.status_code == 422
        said = answer.json()["error"]
        assert said.startswith(
            "rewards[0].reward must lie between -9.0072e+06 and 9.0072e+06, got "
        )
        assert said.endswith(
            f"{reward!r}; rounding would swamp it, subtract a constant from all rewards."
        )
    assert http.version("s") == version
    item = {"decision": decision["id"], "reward": 1e6}
    assert (
        http("POST", "/v1/bandits/s/rewards", [item]).json()["rewards"][0]["status"] == "accepted"
    )
    refused = http("PUT", "/v1/bandits/t", {**told, "expiry": 1, "default_reward": 1e10})
    assert refused.status_code == 422
    assert refused.json()["error"].startswith("default_reward must lie between -9.0072e+06 and ")


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 422),
        (b"", 422),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),
        (b'{"arms": [' + b"9" * 5000 + b"]}", 400),
        (b'{"arms": ["\\ud800"], "horizon": 1, "sigma": 1}', 422),
        (b'{"arms": ["a"], "horizon": 1, "sigma": NaN}', 422),
        (b'{"arms": ["a"], "horizon": 1, "sigma": 1e999}', 422),
    ],
    ids="cut empty no-text deep long-number surrogate nan infinite".split(),
)
def test_bodies_that_are_no_json_are_refused(content, status, http):
    answer = http(
        "PUT", "/v1/bandits/y", content=content, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (status, 422)
    assert list(answer.json()) == ["error"]


@pytest.mark.parametrize(
    ("method", "path", "content", "key"),
    [
        ("PUT", "y", b'{"arms": ["a"], "horizon": 9, "sigma": 1, "seed": 1, "seed": 2}', "seed"),
        ("PATCH", "x", b'{"horizon": 2000, "\\u0068orizon": 3000}', "horizon"),
        ("POST", "x/decisions", b'{"count": 1, "count": 1}', "count"),
        ("POST", "x/rewards", b'[{"decision": "1-x", "reward": 1, "reward": 0}]', "reward"),
    ],
)
def test_keys_that_occur_twice_are_refused(method, path, content, key, http, monkeypatch):
    version, headers = http.version(), {"Content-Type": "application/json"}
    for _ in range(2):
        answer = http(method, f"/v1/bandits/{path}", content=content, headers=headers)
        assert answer.status_code == 422
        assert answer.json()["error"] == f"{key} occurs twice in one object; give it once."
        monkeypatch.setattr(routes.FastRoute, "_read", lambda *_: None)  # FastAPI's way
    assert http.version() == version


@pytest.mark.parametrize("name", ["Idempotency-Key", "Authorization", "Content-Type"])
def test_headers_that_decide_something_occur_once(name, http, monkeypatch):
    version = http.version()
    value = {"Authorization": f"Bearer {http.admin}", "Content-Type": "application/json"}
    for values in (("k1", "k1"), ("k1", "k2")):
        headers = [(key, one) for key, one in value.items() if key != name]
        headers += [(name, value.get(name, text)) for text in values]
        for path in ("decisions", "rewards"):
            answer = http.client.post(f"/v1/bandits/x/{path}", headers=headers, content=b"{}")
            assert answer.status_code == 400
            assert answer.json()["error"] == f"the header {name.lower()} may occur only once."
    assert http.version() == version


# The fast path of calls that come often


def test_the_schema_lists_the_calls_that_take_the_fast_path(http):
    paths = http("GET", "/openapi.json").json()["paths"]
    decide, reward = (paths[f"/v1/bandits/{{name}}/{what}"] for what in ("decisions", "rewards"))
    assert list(decide) == list(reward) == ["post"]
    found = [
        (parameter["in"], parameter["name"], parameter["required"])
        for parameter in decide["post"]["parameters"]
    ]
    assert found == [("path", "name", True), ("header", "idempotency-key", False)]
    bodies = [call["post"]["requestBody"] for call in (decide, reward)]
    assert [body.get("required", False) for body in bodies] == [False, True]
    first, second = (body["content"]["application/json"]["schema"] for body in bodies)
    assert {"$ref": "#/components/schemas/DecisionsRequest"} in first["anyOf"]
    assert second["items"] == {"$ref": "#/components/schemas/RewardItem"}
    for call, answer in ((decide, "Decisions"), (reward, "RewardAnswers")):
        responses = call["post"]["responses"]
        schema = responses["200"]["content"]["application/json"]["schema"]
        assert schema == {"$ref": f"#/components/schemas/{answer}"}
        assert {"401", "404", "409", "422", "503"} <= set(responses)


CONTENTS = [
    b"", b"{}", b"null", b" ", b"{", b"\xff", b"[]", b"0", b"[" * 100_000, b'{"count": 2}',
    b'{"count": 0}', b'{"count": 2.0}', b'{"count": 1e0}', b'{"count": "1"}', b'{"count": null}',
    b'{"count": 1, "count": 3}', b'{"unit": "anna"}', b'{"unit": "\\ud800"}', b'{"unit": "\\0"}',
    b'{"unit": "anna", "count": 2}', b'{"colour": 1}', b'{"count": ' + b"9" * 5000 + b"}",
    '{"unit": "anna"}'.encode("utf-16"), b"\xef\xbb\xbf{}",
    b'[{"decision": "1-x", "reward": 1}]', b'[{"decision": "1-x", "reward": NaN}]',
    b'[{"decision": "1-x", "reward": 1e999}]', b'[{"decision": "1-x", "reward": true}]',
    b'[{"decision": "1-x", "reward": 0.5, "more": 1}]', b'[{"decision": "' + b"1" * 65 + b'"}]',
    b"[" + b",".join([b'{"decision": "1-x", "reward": 1}'] * 1001) + b"]",
]  # fmt: skip


@pytest.mark.parametrize("what", ["decisions", "rewards"])
def test_both_ways_give_the_same_answers(what, http, monkeypatch):
    """What goes straight to its function is answered as if it had gone FastAPI's way."""
    paths = [f"/v1/bandits/{name}/{what}" for name in ("x", "nobody", "a%20b", "x%0A")]
    keys = [{}, {"Idempotency-Key": ""}, {"Idempotency-Key": "k" * 201}]
    requests = [("POST", paths[0], content, key) for content in CONTENTS for key in keys]
    requests += [("POST", path, content, {}) for path in paths[1:] for content in CONTENTS]
    requests += [(method, paths[0], b"{}", {}) for method in ("GET", "PUT", "OPTIONS")]

    def answers():
        for number, (method, path, content, key) in enumerate(requests):
            headers = {"Content-Type": "application/json", "Idempotency-Key": f"{number}", **key}
            found = http(method, path, content=content, headers=headers)
            yield found.status_code, dict(found.headers), found.json()

    slow, read = [], routes.FastRoute._read

    def counted(self, request, body):
        values = read(self, request, body)
        if values is None:
            slow.append(request.url.path)
        return values

    monkeypatch.setattr(routes.FastRoute, "_read", counted)
    fast = list(answers())
    refused = [status for status, _, _ in fast if status not in (200, 404, 405)]
    assert len(slow) == len(refused), "only what is refused goes FastAPI's way"
    monkeypatch.setattr(routes.FastRoute, "_read", lambda *_: None)
    assert list(answers()) == fast
    assert {200, 404, 405, 422} <= {status for status, _, _ in fast}


def test_results_of_a_group_wake_the_event_loop_once():
    async def play():
        loop = asyncio.get_running_loop()
        futures = [Future() for _ in range(10)]
        tasks = [asyncio.create_task(lanes.result_of(waiting)) for waiting in futures]
        await asyncio.sleep(0)
        given_up = tasks.pop()
        given_up.cancel()
        await asyncio.sleep(0.01)
        assert futures.pop().cancelled(), "nobody waits for it"
        woken, wake = [], loop.call_soon_threadsafe
        loop.call_soon_threadsafe = lambda *words: (woken.append(words), wake(*words))

        def answer():
            futures[0].set_exception(Conflict("no."))
            for number, future in enumerate(futures[1:], 1):
                future.set_result(number)

        thread = threading.Thread(target=answer)
        thread.start()
        thread.join()  # the loop is busy meanwhile
        refused, *numbers = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(refused, Conflict)
        assert numbers == list(range(1, 9))
        assert len(woken) == 1
        again = asyncio.create_task(lanes.result_of(later := Future()))
        await asyncio.sleep(0)
        later.set_result("later")
        assert await again == "later"
        assert len(woken) == 2

    asyncio.run(play())


def test_a_result_that_comes_after_the_event_loop_is_no_error(caplog):
    future = Future()

    async def give_up():
        task = asyncio.create_task(lanes.result_of(future))
        await asyncio.sleep(0)
        assert future.set_running_or_notify_cancel()  # it cannot be cancelled now
        task.cancel()

    asyncio.run(give_up())
    future.set_result(1)
    assert caplog.records == []


# Health


def test_health_tells_what_is_wrong(http):
    def notes(name):
        return http("GET", f"/v1/bandits/{name}").json()["health"]

    http("PUT", "/v1/bandits/h", {**RULES, "policy": "uniform", "expiry": 10, "horizon": 400})
    for _ in range(20):
        decisions = http("POST", "/v1/bandits/h/decisions", {"count": 20}).json()["decisions"]
        rewards = [
            {"decision": decision["id"], "reward": 1}
            for decision in decisions
            if decision["arm"] != "b"
        ]
        http("POST", "/v1/bandits/h/rewards", rewards)
    http.clock.pass_seconds(11)
    http.app.state.service.sweep()
    said = notes("h")
    assert any("Sample-ratio mismatch" in note and "'b' in 100%" in note for note in said)
    assert not any("beyond its horizon" in note for note in said), "it has no use for one"
    http("PUT", "/v1/bandits/m", {**RULES, "policy": "uniform", "expiry": 10})
    http("POST", "/v1/bandits/m/decisions", {"count": 60})
    http.clock.pass_seconds(11)
    http.app.state.service.sweep()
    assert notes("m") == ["Rewards are missing: 100% of the decisions expired without one."]
    decisions = http("POST", "/v1/bandits/x/decisions", {"count": 100}).json()["decisions"]
    http("POST", "/v1/bandits/x/rewards", [{"decision": decisions[0]["id"], "reward": 1}])
    assert notes("x") == []
    http.clock.pass_seconds(7200)
    http("POST", "/v1/bandits/x/decisions")
    (note,) = notes("x")
    assert note.startswith("No reward has arrived for ")


def test_a_service_that_loses_rewards_evenly_raises_no_alarm(http):
    """Two looks, each wrong once in 10^4."""
    rng = random.Random(3)
    same = {"policy": "uniform", "expiry": 10, "control": "a", "control_share": 0.3}
    http("PUT", "/v1/bandits/e", {**RULES, **same, "horizon": 10000})
    for _ in range(10):
        decisions = http("POST", "/v1/bandits/e/decisions", {"count": 200}).json()["decisions"]
        kept = [decision for decision in decisions if rng.random() < 0.6]
        rewards = [{"decision": decision["id"], "reward": 1} for decision in kept]
        http("POST", "/v1/bandits/e/rewards", rewards)
    http.clock.pass_seconds(11)
    http.app.state.service.sweep()
    assert http("GET", "/v1/bandits/e").json()["health"] == []


def test_curves_end_with_the_present_and_stay_short(http):
    http("PUT", "/v1/bandits/c", {**RULES, "horizon": 10**5})
    for _ in range(60):
        decisions = http("POST", "/v1/bandits/c/decisions", {"count": 50}).json()["decisions"]
        rewards = [{"decision": decision["id"], "reward": 0.5} for decision in decisions]
        http("POST", "/v1/bandits/c/rewards", rewards)
    found = http("GET", "/v1/bandits/c/history").json()
    assert found["arms"] == ["a", "b", "c"]
    rounds = [point["round"] for point in found["points"]]
    assert rounds == sorted(set(rounds))
    assert rounds[-1] == 3000
    assert 30 < len(rounds) <= report.MOST_POINTS
    assert sum(found["points"][-1]["decisions"]) == 3000
    assert sum(found["points"][-1]["sums"]) == 1500


# The schema, fuzzed


def strategy_of(schema, definitions):
    """Return a strategy for a JSON schema, as far as ours go."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return st.one_of([strategy_of(choice, definitions) for choice in schema["anyOf"]])
    kind = schema.get("type")
    if kind == "object":
        needed = schema.get("required", [])
        parts = {k: strategy_of(v, definitions) for k, v in schema.get("properties", {}).items()}
        return st.fixed_dictionaries(
            {k: v for k, v in parts.items() if k in needed},
            optional={k: v for k, v in parts.items() if k not in needed},
        )
    if kind == "array":
        return st.lists(
            strategy_of(schema.get("items", {}), definitions),
            min_size=schema.get("minItems", 0),
            max_size=min(4, schema.get("maxItems", 4)),
        )
    return {
        "string": st.one_of(st.text(max_size=8), st.sampled_from(["a", "b", "ocucb", "uniform"])),
        "integer": st.one_of(st.integers(), st.integers(0, 20)),
        "number": st.one_of(st.floats(), st.floats(0, 1), st.integers(0, 2)),
        "boolean": st.booleans(),
        "null": st.none(),
    }.get(kind, JUNK)


JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.one_of(st.sampled_from(["x", "x", "y"]), st.text(max_size=12))


def test_no_request_that_the_schema_allows_or_not_fails_inside(http):
    """Every operation, with bodies of its schema, near it and far from it: no 500, no traceback."""
    schema = http("GET", "/openapi.json").json()
    definitions = schema["components"]["schemas"]
    operations = [
        (method.upper(), path, operation)
        for path, found in schema["paths"].items()
        for method, operation in found.items()
    ]
    assert len(operations) >= 10
    policies = ("ocucb", "uniform")  # others take seconds to compile

    @given(data=st.data())
    @settings(
        max_examples=250,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def fuzz(data):
        method, path, operation = data.draw(st.sampled_from(operations))
        name = data.draw(NAMES)
        path = path.replace("{name}", quote(name, safe="") or "-")
        options = {}
        query = [p["name"] for p in operation.get("parameters", []) if p["in"] == "query"]
        if query:
            options["params"] = data.draw(
                st.dictionaries(
                    st.sampled_from(query), st.one_of(st.integers(), st.text(max_size=5))
                )
            )
        headers = {}
        if data.draw(st.booleans()):
            key = data.draw(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=9))
            headers["Idempotency-Key"] = key
        if "requestBody" in operation:
            wanted = operation["requestBody"]["content"]["application/json"]["schema"]
            body = data.draw(st.one_of(strategy_of(wanted, definitions), JUNK))
            if isinstance(body, dict) and "policy" in body and body["policy"] not in policies:
                body["policy"] = data.draw(st.sampled_from(["uniform", "nobody", 7]))
            options["content"] = data.draw(
                st.one_of(st.just(json.dumps(body).encode()), st.binary(max_size=20))
                if data.draw(st.integers(0, 9)) == 0
                else st.just(json.dumps(body).encode())
            )
            headers["Content-Type"] = "application/json"
        answer = http(method, path, headers=headers, **options)
        assert answer.status_code < 500, (method, path, options, answer.text)
        assert "Traceback" not in answer.text
        if answer.status_code >= 400:
            said = answer.json()["error"]
            assert said.endswith((".", "…"))
            assert "\n" not in said

    fuzz()
    assert all(checked.problem is None for checked in check(http.storage))
