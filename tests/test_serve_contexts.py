"""Bandits of the service whose arms have features: decided, stored, replayed, refused."""

from __future__ import annotations

import hashlib
import json
import random

import numpy as np
import pytest
import sqlalchemy as sa

from ocucb import LinearBandit
from ocucb.serve import report, tables
from ocucb.serve.check import check
from ocucb.serve.errors import Conflict, Invalid, KeyReused
from ocucb.serve.machine import Machine
from ocucb.serve.models import Change, DecisionsRequest, RewardItem, Rules
from ocucb.serve.service import Service
from ocucb.serve.storage import Storage
from serving import RULES, Clock, as_of

BARE = {"arms": ["a", "b", "c"], "features": ["always", "evening"], "sigma": 1, "seed": 4}


def rules(**changes):
    return Rules.model_validate({**BARE, **changes})


def context(rng, made):
    """Return features of arms a, b, c and, of a later one, d."""
    rows = [[1.0, rng.uniform(-1, 1)] for _ in "abcd"]
    return dict(zip("abcd", rows, strict=True)) if made.shared else rows[0]


def of(given, arm):
    return given[arm] if isinstance(given, dict) else given


def known(given, arms="abc"):
    return {arm: given[arm] for arm in arms} if isinstance(given, dict) else given


def play(service, made, rng, rounds, arms="abc"):
    """Ask, and tell most of it late, in another order."""
    waiting = []
    for _ in range(rounds):
        asked = DecisionsRequest(context=known(context(rng, made), arms), count=rng.choice([1, 2]))
        waiting += service.decide("x", asked).result(60)
        rng.shuffle(waiting)
        while len(waiting) > 5:
            told = RewardItem(decision=waiting.pop()["id"], reward=rng.gauss(0, 1))
            assert service.reward("x", [told]).result(60) == ["accepted"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"shared": True, "minimize": True},
        {"floor": 0.05, "control": "b", "control_share": 0.2, "default_reward": 0.5},
        {"shared": True, "control": "b", "control_share": 0.2, "policy": "lin-med"},
        {"policy": "lin-thompson", "features": 2, "floor": 1 / 3},
        {"policy": "lin-epsilon-greedy", "shared": True, "bounds": [-99, 99], "sigma": None},
    ],
    ids=str,
)
def test_everything_is_replayed_exactly(changes, opened):
    """Two services with a cache each, on either database, while arms come, go and come back."""
    clock, rng, made = Clock(), random.Random(3), rules(expiry=100, **changes)
    services = [Service(opened, clock=clock) for _ in range(2)]
    assert services[0].create("x", made)
    assert not services[1].create("x", made)
    steps = (Change(add=["d"]), Change(retire=["a"]), Change(add=["a"], horizon=5000))
    if made.floor == 1 / 3:
        steps = (Change(retire=["a"]), Change(add=["a"], horizon=5000))
    arms = "abc"
    for step in (None, *steps):
        if step is not None:
            services[1].change("x", step).result(60)
            arms += "d" if "d" in step.add else ""
        for service in services:
            play(service, made, rng, 7, arms)
        clock.pass_seconds(101)
        services[0].sweep()
        assert [checked.problem for checked in check(opened)] == [None]
    with opened.reading() as connection:
        found = report.summary(connection, "x", clock.now)
    assert found["totals"]["open"] == 0
    assert found["totals"]["expired"] > 0
    assert len(found["weights"]) == (1 if made.shared else len(arms)) * 2
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for service in services:
        service.close()


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("policy", ["lin-ocucb", "oful", "lin-thompson"])
def test_a_machine_plays_what_a_linear_bandit_plays(policy, shared):
    """One is told features with the reward, the other remembers them; both lose some rewards."""
    machine = Machine(rules(policy=policy, shared=shared, horizon=300), 4)
    bandit = LinearBandit("abc", 2, policy, 300, shared=shared, sigma=1, rng=4)
    rng, waiting = random.Random(1), []
    for number in range(1, 200):
        given = known(context(rng, machine.rules))
        arm = bandit.ask(given)
        place, _ = machine.choose(number, machine.checked(given))
        assert machine.names[place] == arm
        waiting.append((place, arm, given))
        if number == 50:
            machine.change(Change(retire=["a"]))
            bandit.retire("a")
        if number == 90:
            machine.change(Change(add=["a"]))
            bandit.add("a")
            bandit.retire(["b", "c"])  # so that arms are in the same order
            bandit.add(["b", "c"])
        if number % 4:
            place, arm, given = waiting.pop(rng.randrange(len(waiting)))
            if number % 9:
                machine.reward(place, number % 7, context=given)
                bandit.tell(arm, number % 7, of(given, arm))
            else:
                machine.cancel(place, given)
                bandit.cancel(arm, of(given, arm))
    one, two = machine.bandit.summary(), bandit.summary()
    order = [two.arms.index(arm) for arm in one.arms]
    for mine, theirs in ((one.pulls, two.pulls[order]), (one.open, two.open[order])):
        assert mine.tolist() == theirs.tolist()
    weights = two.weights if shared else two.weights[order]
    assert one.weights == pytest.approx(weights, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": "lin-ocucb", "floor": 0.05},
        {"policy": "lin-thompson", "shared": True, "minimize": True},
        {"policy": "lin-med", "shared": True, "control": "b", "control_share": 0.3},
    ],
    ids=str,
)
def test_a_machine_goes_on_bit_for_bit_from_its_state(changes):
    """At every step, across renewals of the model and changes of arms."""
    one, rng = Machine(rules(**changes), 3), random.Random(2)
    for number in range(1, 150):
        two = Machine.restored(one.rules, 3, one.state())
        assert repr(one.state()) == repr(two.state())
        given = known(context(rng, one.rules))
        played = one.choose(number, given)
        assert two.choose(number, given) == played
        paid = rng.gauss(0, 1)
        for machine in (one, two):
            if number % 3:
                machine.reward(played[0], paid, context=given)
            if number in (40, 80):
                change = Change(retire=["a"]) if number == 40 else Change(add=["a"])
                machine.change(change)
        assert repr(one.state()) == repr(two.state())


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("policy", ["lin-epsilon-greedy:epsilon=0.4", "lin-med"])
def test_propensities_are_true(policy, shared):
    """Decisions minus propensities are a martingale; beyond 5 deviations once in 10^6 each."""
    changes = {"control": "b", "control_share": 0.2, "floor": 0.1, "policy": policy}
    machine, rng = Machine(rules(shared=shared, **changes), 7), random.Random(1)
    excess, variance = np.zeros(3), np.zeros(3)
    for number in range(1, 1001):
        given = known(context(rng, machine.rules))
        chances = machine.chances(given)
        arm, propensity = machine.choose(number, given)
        assert propensity == pytest.approx(chances[arm], abs=1e-12)
        assert chances.sum() == pytest.approx(1)
        excess += np.eye(3)[arm] - chances
        variance += chances * (1 - chances)
        machine.reward(arm, rng.gauss(arm, 1), context=given)
    assert (np.abs(excess) <= 5 * np.sqrt(variance)).all(), excess / np.sqrt(variance)
    assert machine.chances() is None, "it depends on the context"


def test_it_learns_who_likes_what(opened):
    """Evening readers click on arts, others on sport: at most a tenth of the choices are wrong."""
    service, rng = Service(opened), random.Random(1)
    service.create("x", rules(arms=["sport", "arts"], horizon=400, bounds=[0, 1], sigma=None))
    wrong = 0
    for n in range(400):
        evening = rng.random() < 0.5
        asked = DecisionsRequest(context=[1, float(evening)])
        (decision,) = service.decide("x", asked).result(60)
        right = (decision["arm"] == "arts") == evening
        wrong += not right and n >= 200
        told = RewardItem(decision=decision["id"], reward=float(rng.random() < 0.1 + 0.8 * right))
        service.reward("x", [told]).result(60)
    assert wrong <= 20
    with opened.reading() as connection:
        weights = report.summary(connection, "x", 0)["weights"]
        morning = report.verdict(connection, "x", None, 0.9, [1.0, 0.0])
    service.close()
    assert [row["arm"] for row in weights] == ["sport", "sport", "arts", "arts"]
    assert weights[1]["weight"] < -0.4
    assert weights[3]["weight"] > 0.4
    assert morning["leader"] == "sport"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (None, "context must be a list of 2 numbers, got none."),
        ({"a": [1.0, 2.0]}, "context must be a list of 2 numbers, got an object."),
        ([1.0], "context must have 2 numbers, got 1."),
        ([1.0, 2e6], "context: feature 'evening' must lie between -1e+06 and 1e+06, got 2e+06"),
    ],
)
def test_a_wrong_context_changes_nothing(wrong, sentence, http):
    http("PUT", "/v1/bandits/y", BARE)
    asked = {"context": wrong, "count": 3}
    answer = http("POST", "/v1/bandits/y/decisions", asked)
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]
    assert http.version("y") == 0


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ([1, 2], "context must be an object with a list of 2 numbers for each active arm, got a l"),
        ({"a": [1, 2], "b": [1, 2]}, "context: the features of arm 'c' are missing."),
        ({"a": [1, 2], "b": [1, 2], "c": [1]}, "context.c must have 2 numbers, got 1."),
        ({"a": [1, 2], "b": [1, "x"], "c": [1, 2]}, "context.b[1]: input should be a valid number"),
        ({arm: [1, 2] for arm in "abcz"}, "context: unknown arm 'z'."),
        ({}, "context: the features of arm 'a' are missing."),
    ],
)
def test_a_wrong_context_of_arms_changes_nothing(wrong, sentence, http):
    http("PUT", "/v1/bandits/y", {**BARE, "shared": True})
    answer = http("POST", "/v1/bandits/y/decisions", {"context": wrong})
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]
    assert http.version("y") == 0


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"features": 0}, "features: input should be greater than or equal to 1, got 0."),
        ({"features": ["a", "a"]}, "features must have different names"),
        ({"features": 101}, "features: input should be less than or equal to 100, got 101."),
        ({"features": ["a", 3]}, "features[1]: input should be a valid string, got 3."),
        ({"sigma": None}, "LinOCUCB has to know how much rewards vary"),
        ({"policy": "ucb"}, "policy: UCB does not look at features: leave them out, or"),
        ({"features": None, "policy": "oful"}, "policy: OFUL needs features: give them, or"),
        ({"policy": "phased-elimination"}, "needs features that stay the same; choose another."),
        ({"features": None, "shared": True}, "shared is for arms with features: give features"),
        ({"when_decided": {"do": "pause"}}, "when_decided cannot be used with features"),
        (
            {"features": 99, "arms": [str(i) for i in range(52)]},
            "52 arms with 99 features each are",
        ),
    ],
)
def test_what_does_not_fit_is_not_created(wrong, sentence, http):
    answer = http("PUT", "/v1/bandits/y", {**BARE, **wrong})
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]
    assert http("GET", "/v1/bandits/y").status_code == 404


def test_a_bandit_without_features_takes_no_context(http):
    answer = http("POST", "/v1/bandits/x/decisions", {"context": [1]})
    assert (answer.status_code, http.version()) == (422, 0)
    assert "context is for bandits that were created with features." in answer.text


def test_too_many_arms_are_not_added(sqlite_storage):
    service = Service(sqlite_storage)
    service.create("x", rules(features=100, arms=[f"a{i}" for i in range(49)]))
    with pytest.raises(Invalid, match="51 arms with 100 features each"):
        service.change("x", Change(add=["b", "c"])).result(60)
    service.change("x", Change(add=["b"])).result(60)
    service.close()


def test_the_verdict_is_about_a_context(http):
    http("PUT", "/v1/bandits/y", BARE)
    for query, sentence in (
        ("", "context must be a list of 2 numbers, got none."),
        ("?context=[1]", "context must have 2 numbers, got 1."),
        ("?context=[1,", "context must be JSON such as [1,0.5], got [1,."),
        ("?context=[1,NaN]", "context[1]: input should be a finite number"),
        (f"?context={'[' * 3999}", "context must be JSON such as"),
    ):
        answer = http("GET", f"/v1/bandits/y/verdict{query}")
        assert answer.status_code == 422
        assert sentence in answer.json()["error"]
    assert http("GET", "/v1/bandits/y/verdict?context=[1,0.5]").json()["verdict"] == "go on"


def test_the_log_has_the_contexts(http):
    """As objects in JSON and as JSON in CSV; the row is what was sent, as numbers."""
    http("PUT", "/v1/bandits/y", {**BARE, "shared": True, "control": "a", "control_share": 0.5})
    sent = {"c": [1, 0.1], "b": [1, 2], "a": [1, -3]}
    key = {"Idempotency-Key": "one"}
    answers = [
        http("POST", "/v1/bandits/y/decisions", {"context": sent}, headers=key) for _ in range(2)
    ]
    assert answers[0].json() == answers[1].json()
    other = http("POST", "/v1/bandits/y/decisions", {"context": {**sent, "a": [1, 3]}}, headers=key)
    assert other.status_code == 422
    (line,) = http("GET", "/v1/bandits/y/log").text.splitlines()
    assert json.loads(line)["context"] == sent
    _, row = http("GET", "/v1/bandits/y/log?joined=true&format=csv").text.splitlines()
    assert '""a"": [1.0, -3.0]' in row


def test_keys_of_earlier_versions_are_known_still(sqlite_storage):
    """Their requests had no context, and were identified by what they had."""
    service = Service(sqlite_storage)
    service.create("x", Rules.model_validate(RULES))
    service.decide("x", DecisionsRequest(), "key").result(60)
    with sqlite_storage.reading() as connection:
        stored = connection.execute(sa.select(tables.requests.c.body)).scalar_one()
    assert stored == hashlib.sha256(b'{"count":1,"unit":null}').hexdigest()
    with pytest.raises(KeyReused):
        service.decide("x", DecisionsRequest(count=2), "key").result(60)
    service.close()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("UPDATE log SET context = '[1.0, 0.25]' WHERE seq = 1", "when replayed."),
        ("UPDATE log SET context = NULL WHERE seq = 1", "cannot be replayed: context must be"),
        ("UPDATE bandits SET model = NULL", "cannot be read: the model must have a number"),
        ("UPDATE arms SET model = (SELECT model FROM arms WHERE position = 1)", "differs"),
    ],
)
def test_check_finds_damage(damage, sentence, opened):
    service, made = Service(opened), rules(horizon=1000)
    service.create("x", made)
    play(service, made, random.Random(1), 20)
    service.close()
    with opened.writing() as connection:
        connection.execute(sa.text(damage))
    (found,) = check(opened)
    assert sentence in found.problem


def test_a_store_that_knew_no_features_is_migrated(store):
    """Of either kind: its bandits go on, and new ones may have features."""
    made = Storage(store)
    service = Service(made)
    service.create("old", Rules.model_validate(RULES))
    service.decide("old", DecisionsRequest(count=5)).result(60)
    service.close()
    as_of(made, "0006")
    made = Storage(store)
    service = Service(made)
    service.decide("old", DecisionsRequest(count=5)).result(60)
    service.create("x", rules())
    play(service, rules(), random.Random(1), 10)
    with pytest.raises(Conflict, match="exists with other rules"):
        service.create("x", rules(features=3))
    service.close()
    assert [checked.problem for checked in check(made)] == [None, None]
    made.close()
