"""Running bandits that get another policy, or data from elsewhere: played, replayed, migrated."""

from __future__ import annotations

import json
import random

import pytest

import ocucb
from ocucb.serve import report
from ocucb.serve.check import check
from ocucb.serve.errors import Conflict, Invalid, KeyReused
from ocucb.serve.export import log_rows
from ocucb.serve.machine import Machine
from ocucb.serve.models import Change, DecisionsRequest, Prior, RewardItem, Rules
from ocucb.serve.service import Service
from ocucb.serve.storage import Storage
from serving import RULES, Clock, as_of, rules

COUNTS = ("arm", "pulls", "open", "decisions")


def play(services, rng, rounds, name="x", binary=False):
    """Ask and tell, some of it late, through one service after the other."""
    waiting = []
    for number in range(rounds):
        one = services[number % len(services)]
        waiting += one.decide(name, DecisionsRequest()).result(60)
        if number % 3:
            decision = waiting.pop(rng.randrange(len(waiting)))
            reward = float(rng.random() < 0.4) if binary else rng.random()
            item = RewardItem(decision=decision["id"], reward=reward)
            assert one.reward(name, [item]).result(60) == ["accepted"]


def summary_of(store, name="x"):
    with store.reading() as connection:
        return report.summary(connection, name, 0)


def rows_of(store, name="x", **options):
    with store.reading() as connection:
        return log_rows(connection, name, 0, 10_000, **options)


# Epochs


@pytest.mark.parametrize("minimize", [False, True])
def test_another_policy_goes_on_with_what_is_known(opened, minimize):
    """Two services with a cache each: each epoch plays as a bandit made from the parts before."""
    clock, rng = Clock(), random.Random(1)
    services = [Service(opened, clock=clock) for _ in range(2)]
    asked = rules(minimize=minimize, floor=0.05)
    services[0].create("x", asked)
    began = []
    for policy in ("thompson", "tsallis-inf", "ocucb:alpha=2"):
        play(services, rng, 40)
        before = summary_of(opened)
        services[0].rehearse("x", Change(policy=policy))
        for one in services:  # a repeat is harmless
            one.change("x", Change(policy=policy)).result(60)
        after = summary_of(opened)
        for one, other in zip(after["arms"], before["arms"], strict=True):
            assert one["mean"] == pytest.approx(other["mean"], rel=1e-14)
            assert [one[key] for key in COUNTS] == [other[key] for key in COUNTS]
        assert (after["round"], after["horizon"]) == (before["round"], before["horizon"])
        began.append(after["version"])
    assert after["epoch"] == 4
    assert after["policy"].startswith("ocucb:alpha=2")
    play(services, rng, 10)
    epochs = [row for row in rows_of(opened) if row["kind"] == "epoch"]
    assert [row["seq"] for row in epochs] == began
    assert [row["change"]["policy"].partition(":")[0] for row in epochs] == [
        "thompson", "tsallis-inf", "ocucb",
    ]  # fmt: skip
    for row in rows_of(opened, joined=True):
        assert row["epoch"] == 1 + sum(seq < row["seq"] for seq in began)
    assert [checked.problem for checked in check(opened)] == [None]
    assert not services[1].create("x", asked), "what it was created with is still known"
    for service in services:
        service.close()


def test_an_epoch_plays_as_a_bandit_that_is_made_of_the_parts():
    machine, rng = Machine(rules(policy="moss"), 3), random.Random(2)
    for number in range(1, 60):
        arm, _ = machine.choose(number)
        machine.reward(arm, rng.random())
    parts = machine.bandit.to_parts() | {"policy": "klucb", "memory": None}
    twin = ocucb.Bandit.from_parts(**parts)
    machine.change(Change(policy="klucb", add=["d"]))
    twin.add("d")
    for number in range(60, 90):
        arm, _ = machine.choose(number)
        assert machine.names[arm] == twin.ask()
        machine.reward(arm, 0.3)
        twin.tell(machine.names[arm], 0.3)


def test_a_policy_that_cannot_go_on_changes_nothing(opened):
    clock = Clock()
    service = Service(opened, clock=clock)
    service.create("x", rules(horizon=None))
    play([service], random.Random(1), 20)
    before = summary_of(opened)
    for change, error, sentence in (
        (Change(policy="nobody", add=["d"]), Invalid, "policy: .*nobody"),
        (Change(policy="beta-thompson", add=["d"]), Conflict, "numbers of successes"),
        (Change(policy="lin-ucb", paused=True), Conflict, "features"),
        (Change(policy="gittins", retire=["a"]), Conflict, "pass horizon="),
        (Change(policy="ucb", horizon=5), Conflict, "must be above the rounds so far"),
    ):
        with pytest.raises(error, match=sentence):
            service.change("x", change).result(60)
        with pytest.raises(error, match=sentence):
            service.rehearse("x", change)
    assert summary_of(opened) == before
    service.change("x", Change(policy="gittins", horizon=60)).result(60)
    found = summary_of(opened)
    assert (found["horizon"], found["open_horizon"], found["epoch"]) == (60, False, 2)
    assert [checked.problem for checked in check(opened)] == [None]
    service.close()


def test_only_a_policy_that_looks_at_the_horizon_is_beyond_it(opened):
    service = Service(opened, clock=Clock())
    service.create("x", rules(horizon=10))
    play([service], random.Random(1), 12)
    found = summary_of(opened)
    assert found["needs_horizon"]
    assert "beyond its horizon" in found["health"][0]
    service.change("x", Change(policy="ucb1")).result(60)
    found = summary_of(opened)
    assert not found["needs_horizon"]
    assert found["health"] == []
    with opened.reading() as connection:
        (line,) = report.overview(connection, 0)["bandits"]
    assert (line["health"], line["needs_horizon"]) == ([], False)
    service.close()


# Data from elsewhere


@pytest.mark.parametrize(
    ("changes", "variance"),
    [
        ({}, None),
        ({"minimize": True, "floor": 0.1}, 0.01),
        ({"bounds": None, "sigma": 2.0, "horizon": None}, None),
        ({"bounds": None, "policy": None}, 1.5),
        ({"policy": "tsallis-inf", "minimize": True}, None),
        ({"policy": "beta-thompson", "control": "c", "control_share": 0.2}, None),
    ],
    ids=str,
)
def test_data_from_elsewhere_counts_as_if_it_had_been_played(changes, variance, opened):
    """At creation and by a call, once for each key; two services, replayed."""
    clock, rng = Clock(), random.Random(4)
    services = [Service(opened, clock=clock) for _ in range(2)]
    first = Prior(arm="a", pulls=30, mean=0.3, variance=variance)
    later = [
        Prior(arm="a", pulls=10, sum=4.0, variance=variance),
        Prior(arm="b", pulls=20, mean=0.45, variance=variance),
    ]
    asked = rules(**changes, prior=[first.model_dump()])
    assert services[0].create("x", asked)
    assert not services[1].create("x", asked)
    binary = changes.get("policy") == "beta-thompson"
    play(services, rng, 20, binary=binary)
    before = summary_of(opened)
    assert before["totals"]["prior"] == 30
    for one in services:
        one.prior("x", later, "key").result(60)
    with pytest.raises(KeyReused):
        services[0].prior("x", later[:1], "key").result(60)
    after = summary_of(opened)
    assert after["round"] == before["round"] + 30
    if not after["open_horizon"]:
        assert after["horizon"] == before["horizon"] + 30 == 1060
    assert after["totals"] == before["totals"] | {"prior": 60}
    for i, (more, total) in enumerate(((10, 4.0), (20, 9.0), (0, 0.0))):
        old, new = before["arms"][i], after["arms"][i]
        assert new["pulls"] == old["pulls"] + more
        mean = ((old["mean"] or 0.0) * old["pulls"] + total) / max(1, new["pulls"])
        assert (new["mean"] or 0.0) == pytest.approx(mean, rel=1e-12)
    play(services, rng, 20, binary=binary)
    kinds = [row["kind"] for row in rows_of(opened)]
    assert (kinds[0], kinds.count("prior")) == ("prior", 3)
    assert [checked.problem for checked in check(opened)] == [None]
    for service in services:
        service.close()


def test_intervals_are_those_of_the_rewards_themselves():
    """A bandit that is told of rewards one by one knows the same as one that is told sums."""
    rng = random.Random(6)
    rewards = [round(rng.random(), 3) for _ in range(50)]
    mean = sum(rewards) / 50
    variance = sum((x - mean) ** 2 for x in rewards) / 50
    machine = Machine(rules(), 1)
    for x in (0.25, 0.75, 0.1):
        machine.bandit.tell("a", x)
    machine.tell_prior([Prior(arm="a", pulls=50, mean=mean, variance=variance)], "prior")
    twin = ocucb.Bandit(RULES["arms"], "ocucb", 1050, bounds=(0, 1))
    twin.tell(["a"] * 53, [0.25, 0.75, 0.1, *rewards])
    one, two = machine.bandit.summary().rows()[0], twin.summary().rows()[0]
    for key in ("pulls", "mean", "low", "high", "index"):
        assert one[key] == pytest.approx(two[key], rel=1e-9)
    worst = Machine(rules(), 1)
    worst.tell_prior([Prior(arm="a", pulls=50, mean=mean)], "prior")
    wide = worst.bandit.summary().rows()[0]
    assert wide["high"] - wide["low"] > one["high"] - one["low"]


@pytest.mark.parametrize(
    ("changes", "item", "sentence"),
    [
        ({}, {"arm": "z", "mean": 0.5}, r"prior\[1\].arm: unknown arm 'z'"),
        ({}, {"mean": 1.5}, r"prior\[1\].mean: the mean must lie between 0 and 1, got 1.5"),
        ({}, {"sum": -1.0}, r"prior\[1\].sum: the mean must lie between 0 and 1"),
        ({}, {"mean": 0.5, "variance": 0.3}, r"prior\[1\].variance: .* at most 0.25, got 0.3"),
        ({"bounds": None, "policy": None}, {"mean": 1.0}, r"prior\[1\].variance is missing"),
        ({"policy": "beta-thompson"}, {"sum": 2.5}, r"prior\[1\].sum: .*whole number, got 2.5"),
    ],
    ids=str,
)
def test_data_that_cannot_be_is_refused_as_a_whole(changes, item, sentence):
    machine = Machine(rules(**changes), 1)
    before = machine.state()
    good = Prior(arm="a", pulls=5, sum=2.0, variance=0.2)
    with pytest.raises(Invalid, match=sentence):
        machine.tell_prior([good, Prior.model_validate({"arm": "b", "pulls": 10, **item})], "prior")
    assert machine.state() == before
    with pytest.raises(Conflict, match="too many"):
        machine.tell_prior([Prior(arm="a", pulls=10**12, sum=0.0, variance=0.0)] * 10_000, "prior")


def test_calls_and_refusals_over_http(http):
    path = "/v1/bandits/x"
    answer = http("PATCH", path, {"policy": "ucb1"})
    assert (answer.status_code, answer.json()["epoch"]) == (200, 2)
    assert http("PATCH", path, {"policy": "ucb1"}).json()["version"] == answer.json()["version"]
    assert http("PATCH", path, {"policy": "x"}, token=http.decider).status_code == 403
    body, key = [{"arm": "a", "pulls": 3, "mean": 0.5}], {"Idempotency-Key": "one"}
    for _ in range(2):
        answer = http("POST", f"{path}/prior", body, headers=key)
        assert (answer.status_code, answer.json()["totals"]["prior"]) == (200, 3)
    assert http("POST", f"{path}/prior", body, token=http.decider).status_code == 403
    for wrong, sentence in (
        ([{"arm": "a", "pulls": 3}], "prior[0]: give mean or sum of arm 'a', one of both"),
        ([{"arm": "a", "pulls": 0, "sum": 1}], "prior[0].pulls: input should be greater"),
        ([{"arm": "q", "pulls": 1, "sum": 1}], "prior[0].arm: unknown arm 'q'."),
    ):
        answer = http("POST", f"{path}/prior", wrong)
        assert answer.status_code == 422
        assert answer.json()["error"].startswith(sentence)
    answer = http("PUT", "/v1/bandits/y", RULES | {"prior": [{"arm": "q", "pulls": 1, "sum": 1}]})
    assert answer.json()["error"] == "prior[0].arm must be one of the arms, got 'q'."


def test_check_finds_data_from_elsewhere_that_somebody_has_changed(sqlite_storage):
    from ocucb.serve import tables

    service = Service(sqlite_storage, clock=Clock())
    service.create("x", rules(prior=[{"arm": "a", "pulls": 9, "sum": 3.0}]))
    service.close()
    with sqlite_storage.writing() as connection:
        detail = json.dumps({"pulls": 9, "sum": 4.0, "squares": 2.0})
        connection.execute(tables.log.update().values(detail=detail))
    (found,) = check(sqlite_storage)
    assert found.problem == "the stored state differs from the replayed one."


def test_a_store_from_before_epochs_goes_on(opened, store):
    clock, rng = Clock(), random.Random(7)
    one = Service(opened, clock=clock)
    one.create("x", Rules.model_validate(RULES))
    play([one], rng, 20)
    one.close()
    as_of(opened, "0004")
    made = Storage(store)
    two = Service(made, clock=clock)
    assert not two.create("x", Rules.model_validate(RULES))
    two.prior("x", [Prior(arm="a", pulls=5, sum=1.0)]).result(60)
    two.change("x", Change(policy="moss")).result(60)
    play([two], rng, 20)
    assert summary_of(made)["epoch"] == 2
    assert [checked.problem for checked in check(made)] == [None]
    two.close()
    made.close()
