"""Bandits of the service that are told nothing but their arms: stored, replayed, migrated."""

from __future__ import annotations

import json
import random

import pytest
import sqlalchemy as sa

from ocucb.live import rules as live_rules
from ocucb.serve import report, tables
from ocucb.serve.check import check
from ocucb.serve.errors import Conflict, Invalid
from ocucb.serve.machine import Machine
from ocucb.serve.models import Change, DecisionsRequest, RewardItem, Rules
from ocucb.serve.service import Service
from ocucb.serve.storage import Storage
from serving import RULES, Clock, as_of, rules

ARMS = {"arms": ["a", "b", "c"]}


@pytest.fixture
def soon(monkeypatch):
    """Open horizons of 60, 464 and 9,994."""
    monkeypatch.setattr(live_rules, "_FIRST_HORIZON", 60)


def play(service, rng, rounds, name="x"):
    """Ask in groups, and tell most of it, late."""
    waiting = []
    while rounds > 0:
        asked = DecisionsRequest(count=min(rounds, rng.randint(1, 9)))
        rounds -= asked.count
        waiting += service.decide(name, asked).result(60)
        rng.shuffle(waiting)
        told = [
            RewardItem(decision=decision["id"], reward=rng.gauss(0, 2)) for decision in waiting[3:]
        ]
        waiting = waiting[:3]
        if told:
            assert set(service.reward(name, told).result(60)) == {"accepted"}


def summary_of(store, clock, name="x"):
    with store.reading() as connection:
        return report.summary(connection, name, clock.now)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"floor": 0.05, "control": "b", "control_share": 0.2, "minimize": True},
        {"policy": "uniform"},
        {"bounds": [-100, 100]},
        {"policy": "thompson", "sigma": 2},
        {"policy": "improved-ucb", "sigma": 2},
    ],
    ids=str,
)
def test_an_open_horizon_grows_and_is_replayed_exactly(changes, opened, soon):
    """Two services with a cache each, on either database; then told by PATCH, and on."""
    clock, rng = Clock(), random.Random(3)
    services = [Service(opened, clock=clock) for _ in range(2)]
    assert services[0].create("x", Rules.model_validate({**ARMS, **changes, "seed": 4}))
    for rounds, planned in ((59, 60), (1, 464), (300, 464), (110, 9994)):
        for one, part in zip(services, (rounds // 2, rounds - rounds // 2), strict=True):
            play(one, rng, part)
        found = summary_of(opened, clock)
        assert (found["round"] - 1, found["open_horizon"]) == (found["totals"]["decisions"], True)
        assert found["horizon"] == planned
        assert found["health"] == []
        assert [checked.problem for checked in check(opened)] == [None]
    with pytest.raises(Conflict, match="must be above the rounds so far, 470, got 470"):
        services[0].change("x", Change(horizon=470)).result(60)
    for _ in range(2):  # a repeat is harmless
        services[0].change("x", Change(horizon=9994)).result(60)
    found = summary_of(opened, clock)
    assert (found["horizon"], found["open_horizon"]) == (9994, False)
    play(services[1], rng, 30)
    with opened.reading() as connection:
        kinds = connection.execute(sa.select(tables.log.c.kind)).scalars().all()
    assert kinds.count("change") == 1
    assert [(checked.decisions, checked.problem) for checked in check(opened)] == [(500, None)]
    for service in services:
        service.close()


def test_what_is_not_known_is_said(opened):
    clock = Clock()
    service = Service(opened, clock=clock)
    service.create("x", Rules.model_validate(ARMS))
    play(service, random.Random(1), 40)
    found = summary_of(opened, clock)
    assert (found["sigma"], found["bounds"]) == (None, None)
    assert found["policy"] == "ocucb-normal:alpha=3,psi=2"
    assert "of 1,000 or more: OCUCB-normal plays" in found["next"]["why"]
    with opened.reading() as connection:
        (line,) = report.overview(connection, clock.now)["bandits"]
    assert (line["horizon"], line["open_horizon"]) == (1000, True)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    service.create("few", Rules.model_validate(ARMS))
    (decision,) = service.decide("few", DecisionsRequest()).result(60)
    service.reward("few", [RewardItem(decision=decision["id"], reward=1.5)]).result(60)
    (first, *_) = summary_of(opened, clock, "few")["arms"]
    assert (first["mean"], first["low"], first["high"], first["index"]) == (1.5, None, None, None)
    service.close()


def test_creating_it_again_is_harmless(sqlite_storage):
    """What is the default may change; a bandit keeps what it was created with."""
    service = Service(sqlite_storage)
    bare = Rules.model_validate(ARMS)
    clicks = Rules.model_validate({**ARMS, "bounds": [0, 1]})
    for name, asked, policy in (
        ("bare", bare, "ocucb-normal:alpha=3,psi=2"),
        ("clicks", clicks, "kl-ocucb:alpha=3,psi=2"),
    ):
        assert service.create(name, asked)
        assert not service.create(name, asked)
        assert json.loads(service._rules_of(name))["policy"] == policy
        assert not service.create(name, asked.model_copy(update={"policy": policy}))
        for change in ({"policy": "uniform"}, {"horizon": 1000}, {"minimize": True}):
            with pytest.raises(Conflict, match="exists with other rules"):
                service.create(name, asked.model_copy(update=change))
    assert service.create("named", rules(policy="ocucb"))  # the default of earlier versions
    assert not service.create("named", rules(policy=None))
    for wrong, words in (
        ({"policy": "ucb"}, "UCB has to know how much rewards vary"),
        ({"policy": "gittins", "sigma": 1.0}, "pass horizon="),
    ):
        with pytest.raises(Invalid, match=words):
            service.create("wrong", Rules.model_validate({**ARMS, **wrong}))
        assert service._rules_of("wrong") is None
    service.close()


@pytest.mark.parametrize("policy", ["ocucb-normal", "improved-ucb"])
def test_a_machine_goes_on_bit_for_bit_when_it_plans_farther(policy, soon):
    sigma = {} if policy == "ocucb-normal" else {"sigma": 1}
    one = Machine(Rules.model_validate({**ARMS, "policy": policy, **sigma, "floor": 0.05}), 3)
    rng = random.Random(2)
    for number in range(1, 600):
        if number in (60, 61, 62, 465, 466):
            one = Machine.restored(one.rules, 3, one.state())
        two = Machine.restored(one.rules, 3, one.state())
        assert one.state() == two.state()
        played = one.choose(number)
        assert two.choose(number) == played
        assert one.state() == two.state()
        one.reward(played[0], rng.gauss(0, 1))
    assert one.state().horizon == 9994


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("UPDATE bandits SET horizon = 1001", "cannot be read: horizon must be 1000, got 1001"),
        ("UPDATE bandits SET open_horizon = FALSE", "the stored state differs"),
        ("UPDATE arms SET squares = 1e9 WHERE position = 0", "the stored state differs"),
    ],
)
def test_check_finds_a_horizon_that_is_wrong(damage, sentence, opened):
    service = Service(opened)
    service.create("x", Rules.model_validate(ARMS))
    play(service, random.Random(1), 30)
    service.close()
    with opened.writing() as connection:
        connection.execute(sa.text(damage))
    (found,) = check(opened)
    assert sentence in found.problem


def test_a_store_that_knew_no_open_horizon_is_migrated(store):
    """Of either kind: bandits go on, and their creation can be repeated without a policy."""
    made, clock = Storage(store), Clock()
    service = Service(made, clock=clock)
    service.create("x", rules())
    play_clicks(service)
    service.close()
    as_of(made, "0002")
    made = Storage(store)
    service = Service(made, clock=clock)
    found = summary_of(made, clock)
    assert (found["horizon"], found["open_horizon"]) == (1000, False)
    assert not service.create("x", Rules.model_validate({**RULES, "policy": None}))
    play_clicks(service)
    assert service.create("new", Rules.model_validate(ARMS))
    play(service, random.Random(1), 20, "new")
    service.close()
    made.close()
    made = Storage(store)
    assert [(checked.decisions, checked.problem) for checked in check(made)] == [
        (20, None),
        (20, None),
    ]
    made.close()


def play_clicks(service):
    for decision in service.decide("x", DecisionsRequest(count=10)).result(60)[:7]:
        service.reward("x", [RewardItem(decision=decision["id"], reward=1.0)]).result(60)


def test_it_is_created_over_http_with_its_arms_alone(http):
    answer = http("PUT", "/v1/bandits/bare", ARMS)
    assert answer.status_code == 201
    assert (answer.json()["sigma"], answer.json()["open_horizon"]) == (None, True)
    assert http("PUT", "/v1/bandits/bare", ARMS).status_code == 200
    schema = http("GET", "/openapi.json").json()["components"]["schemas"]["Rules"]
    assert schema["required"] == ["arms"]
    assert {"type": "null"} in schema["properties"]["horizon"]["anyOf"]
    assert http("PATCH", "/v1/bandits/bare", {"horizon": 500}).json()["open_horizon"] is False
