"""Guardrails: whom they accuse, what is done then, on both databases; replayed, migrated, told."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import sqlalchemy as sa
from pydantic import ValidationError

from ocucb.inference.evidence import Evidence
from ocucb.serve import report
from ocucb.serve.check import check
from ocucb.serve.errors import Conflict, Invalid
from ocucb.serve.guardrail import Watch
from ocucb.serve.machine import Machine
from ocucb.serve.models import Change, DecisionsRequest, Guardrail, RewardItem, Rules
from ocucb.serve.service import Service
from ocucb.serve.storage import Storage
from serving import RULES, Clock, as_of, log_lines, rules

ERRORS = {"metric": "errors", "most": 0.1, "bounds": [0, 1]}
RATES = {"a": 0.02, "b": 0.6, "c": 0.05}


def play(services, rng, rounds, rates=RATES, name="x"):
    """Ask and tell, with errors as frequent as `rates`; stop once the bandit pauses."""
    for number in range(rounds):
        one = services[number % len(services)]
        try:
            (decision,) = one.decide(name, DecisionsRequest()).result(60)
        except Conflict:  # it is paused
            return
        guard = float(rng.random() < rates[decision["arm"]])
        item = RewardItem(decision=decision["id"], reward=rng.random(), guard=guard)
        assert one.reward(name, [item]).result(60) == ["accepted"]
        assert one.reward(name, [item]).result(60) == ["duplicate"]
        other = item.model_copy(update={"guard": 1.0 - guard})
        assert one.reward(name, [other]).result(60) == ["conflict"]


def entries(store, kind, name="x"):
    with store.reading() as connection:
        lines = log_lines(connection, name).splitlines()
    return [entry for line in lines if (entry := json.loads(line))["kind"] == kind]


def test_the_watch_knows_what_a_plain_sum_knows():
    """Sums and squares beside numpy; the interval is that of the confidence sequence."""
    rng = np.random.default_rng(1)
    for given in ({"bounds": [-2.0, 3.0]}, {"sigma": 1.5}, {}):
        values = rng.uniform(-2, 3, 200)
        watch = Watch(Guardrail(metric="m", most=0.0, level=0.9, **given))
        watch.extend(2)
        for value in values.tolist():
            watch.note(1, value)
        count, total, squares = watch.arms[1]
        assert count == 200
        assert total == pytest.approx(values.sum(), rel=1e-12)
        assert squares == pytest.approx(values.var() * 200, rel=1e-10)
        known = watch.known(1)
        bounds = tuple(given["bounds"]) if "bounds" in given else None
        parts = (np.array([x]) for x in (200.0, values.mean(), values.var() * 200))
        low, high = Evidence(*parts, bounds, given.get("sigma")).intervals(0.9)
        assert (known["low"], known["high"]) == pytest.approx((low[0], high[0]), rel=1e-9)
        assert known["violated"] == (low[0] > 0.0)
        assert watch.known(0)["values"] == 0


def test_an_arm_at_its_bound_is_seldom_retired_and_a_bad_one_soon():
    """Looked at after every value, 400 of them, at level 0.8, so that there is something to see.

    Of 200 arms whose mean is the bound at most 40 + 4 * 5.7 = 62 are accused, but by chance once
    in 30,000; all of those with a mean far beyond it are.
    """
    rng = np.random.default_rng(3)
    rule = Guardrail(metric="errors", most=0.2, bounds=[0, 1], level=0.8)
    for rate, fewest, most in ((0.2, 0, 62), (0.5, 200, 200)):
        accused = 0
        for _ in range(200):
            watch = Watch(rule)
            watch.extend(1)
            for value in (rng.random(400) < rate).astype(float).tolist():
                watch.note(0, value)
                if value and watch.known(0)["violated"]:  # a 0 accuses nobody
                    accused += 1
                    break
        assert fewest <= accused <= most


def test_an_arm_that_violates_it_is_retired_and_the_log_says_so(opened):
    """Two services with a cache each; the arm stays retired until somebody brings it back."""
    clock, rng = Clock(), random.Random(2)
    services = [Service(opened, clock=clock) for _ in range(2)]
    asked = rules(policy="uniform", guardrail=ERRORS)
    assert services[0].create("x", asked)
    assert not services[1].create("x", asked)
    play(services, rng, 150)
    (told,) = entries(opened, "guard")
    assert told["change"]["retire"] == ["b"]
    assert told["change"]["metric"] == "errors"
    assert told["change"]["low"] > 0.1
    with opened.reading() as connection:
        found = report.summary(connection, "x", clock.now)
    arms = {arm["arm"]: arm for arm in found["arms"]}
    assert [name for name, arm in arms.items() if arm["retired"]] == ["b"]
    for name, arm in arms.items():
        assert arm["guard"]["values"] == arm["pulls"]
        assert arm["guard"]["violated"] == (name == "b")
    after = [one["arm"] for one in entries(opened, "decision") if one["seq"] > told["seq"]]
    assert set(after) == {"a", "c"}
    assert sum(one["guard"] for one in entries(opened, "reward") if one["arm"] == "b") == round(
        arms["b"]["guard"]["mean"] * arms["b"]["pulls"]
    )
    services[1].change("x", Change(add=["b"])).result(60)
    play(services, rng, 20)
    assert len(entries(opened, "guard")) == 2, "with its next value"
    assert [checked.problem for checked in check(opened)] == [None]
    for service in services:
        service.close()


def test_the_control_and_the_last_arm_make_it_pause(opened):
    rng = random.Random(3)
    service = Service(opened, clock=Clock())
    bad = dict.fromkeys("abc", 0.7)
    service.create("x", rules(policy="uniform", guardrail=ERRORS))
    play([service], rng, 300, bad)
    told = [entry["change"] for entry in entries(opened, "guard")]
    assert [("retire" in one, one.get("paused")) for one in told] == [
        (True, None), (True, None), (False, True),
    ]  # fmt: skip
    service.create("y", rules(policy="uniform", guardrail=ERRORS, control="a", control_share=0.5))
    play([service], rng, 300, {**dict.fromkeys("bc", 0.0), "a": 0.7}, "y")
    (entry,) = entries(opened, "guard", "y")
    assert (entry["change"]["arm"], entry["change"]["paused"]) == ("a", True)
    assert [checked.problem for checked in check(opened)] == [None, None]
    service.close()


def test_a_guardrail_may_be_a_least_value_and_a_verdict_follows_it():
    machine = Machine(
        rules(
            policy="uniform",
            guardrail={"metric": "quality", "least": 0.5, "sigma": 0.1},
            when_decided={"do": "pause"},
        ),
        1,
    )
    done = []
    for number in range(1, 400):
        arm, _ = machine.choose(number)
        done += machine.reward(arm, [0.9, 0.1, 0.1][arm], [0.8, 0.8, 0.1][arm])
        if machine.paused:
            break
    kinds = [kind for kind, _ in done]
    assert kinds == ["guard", "verdict"]
    assert done[0][1]["retire"] == ["c"]
    assert done[0][1]["high"] < 0.5
    assert done[1][1]["leader"] == "a"


def test_default_rewards_and_missing_values_accuse_nobody(opened):
    clock = Clock()
    service = Service(opened, clock=clock)
    asked = rules(policy="uniform", guardrail=ERRORS, expiry=10.0, default_reward=0.0)
    service.create("x", asked)
    decisions = service.decide("x", DecisionsRequest(count=30)).result(60)
    items = [RewardItem(decision=one["id"], reward=1.0) for one in decisions[:10]]
    service.reward("x", items).result(60)
    clock.pass_seconds(11)
    service.sweep()
    assert entries(opened, "guard") == []
    with opened.reading() as connection:
        found = report.summary(connection, "x", clock.now)
    assert [arm["guard"]["values"] for arm in found["arms"]] == [0, 0, 0]
    assert [checked.problem for checked in check(opened)] == [None]
    service.close()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"most": 1, "least": 0}, "give most or least, one of both"),
        ({}, "give most or least, one of both"),
        ({"most": 1, "bounds": [0, 1], "sigma": 1}, "or neither; got both"),
        ({"most": 1, "bounds": [1, 1]}, "the lower bound comes first"),
    ],
)
def test_guardrails_that_make_no_sense_are_refused(given, sentence):
    with pytest.raises(ValidationError, match=sentence):
        Guardrail(metric="m", **given)


def test_values_that_cannot_be_are_refused_over_http(http):
    http("PUT", "/v1/bandits/g", {**RULES, "guardrail": ERRORS})
    for name, guard, sentence in (
        ("g", 1.5, "rewards[0].guard must lie between the guardrail's bounds 0 and 1, got 1.5."),
        ("x", 0.5, "rewards[0].guard is given, but the bandit has no guardrail."),
        ("g", "y", "rewards[0].guard: input should be a valid number, got y."),
    ):
        path = f"/v1/bandits/{name}"
        (one,) = http("POST", f"{path}/decisions").json()["decisions"]
        body = [{"decision": one["id"], "reward": 1, "guard": guard}]
        answer = http("POST", f"{path}/rewards", body)
        assert (answer.status_code, answer.json()["error"]) == (422, sentence)
    with pytest.raises(Invalid):
        Machine(rules(), 1).check_guard(0.0, "guard")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE log SET detail = '{}' WHERE kind = 'guard'",
        "UPDATE log SET guard = 0 WHERE kind = 'reward' AND arm = 1",
        "UPDATE arms SET guard_sum = guard_sum + 1",
    ],
)
def test_check_finds_whatever_is_wrong(damage, sqlite_storage):
    service = Service(sqlite_storage, clock=Clock())
    service.create("x", rules(policy="uniform", guardrail=ERRORS))
    play([service], random.Random(2), 80)
    service.close()
    assert [checked.problem for checked in check(sqlite_storage)] == [None]
    with sqlite_storage.writing() as connection:
        connection.execute(sa.text(damage))
    (found,) = check(sqlite_storage)
    assert found.problem is not None


def test_a_store_from_before_guardrails_goes_on(opened, store):
    one = Service(opened, clock=Clock())
    one.create("x", Rules.model_validate(RULES))
    decisions = one.decide("x", DecisionsRequest(count=5)).result(60)
    one.close()
    as_of(opened, "0005")
    made = Storage(store)
    two = Service(made, clock=Clock())
    items = [RewardItem(decision=decision["id"], reward=0.5) for decision in decisions]
    assert set(two.reward("x", items).result(60)) == {"accepted"}
    two.create("y", rules(policy="uniform", guardrail=ERRORS))
    play([two], random.Random(2), 30, name="y")
    assert [checked.problem for checked in check(made)] == [None, None]
    two.close()
    made.close()
