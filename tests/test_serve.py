"""`ocucb serve` without a network: what is played, kept, swept and listed."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
import sqlalchemy as sa

from ocucb.serve import report, tables
from ocucb.serve.check import check
from ocucb.serve.errors import Refused
from ocucb.serve.machine import Machine
from ocucb.serve.models import Change, DecisionsRequest, RewardItem
from ocucb.serve.service import Service
from ocucb.serve.storage import Storage
from serving import RULES, Clock, as_of, log_lines, rules

# What is played


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": "ocucb"},
        {"policy": "ocucb", "floor": 0.1},
        {"policy": "uniform", "floor": 0.05, "control": "b", "control_share": 0.25},
        {"policy": "epsilon-greedy:epsilon=0.3", "control": "a", "control_share": 0.4},
        {"policy": "thompson", "control": "c", "control_share": 0.2, "floor": 0.15},
        {"policy": "ocucb", "floor": 1 / 3},
    ],
    ids=str,
)
def test_propensities_are_true(changes):
    """Arms are played as often as their propensities say.

    Decisions minus propensities are a martingale; divided by its deviation it is beyond 5 about
    once in 10^6, and there are 18 of them.
    """
    machine = Machine(rules(horizon=5000, **changes), 7)
    rng = random.Random(1)
    excess, variance = np.zeros(3), np.zeros(3)
    for number in range(1, 2001):
        chances = machine.chances()
        arm, propensity = machine.choose(number)
        assert propensity == pytest.approx(chances[arm], abs=1e-12)
        assert chances.sum() == pytest.approx(1)
        assert propensity > 0
        excess += np.eye(3)[arm] - chances
        variance += chances * (1 - chances)
        if rng.random() < 0.7:
            machine.reward(arm, float(rng.random() < 0.3 + 0.1 * arm))
        else:
            machine.cancel(arm)
    assert (np.abs(excess) <= 5 * np.sqrt(variance) + 1e-9).all(), excess / np.sqrt(variance)
    floor = changes.get("floor", 0)
    assert all(arm.open == 0 and arm.pulls > 0.5 * floor * 2000 for arm in machine.state().arms)


def test_a_floor_too_small_to_be_played_breaks_nothing():
    """Such a bandit cannot be created any more, but may be stored."""
    machine = Machine(rules(floor=1e-310), 7)
    played = [machine.choose(number) for number in range(1, 4)]
    assert played == [(0, 1.0), (1, 1.0), (2, 1.0)]


def test_propensities_that_are_not_known_are_null():
    machine = Machine(rules(policy="mots", floor=0.2), 7)
    for number in range(1, 40):
        arm, propensity = machine.choose(number)
        machine.reward(arm, 0.5)
        assert (propensity is None) == (number > 3), "the first arms are certain"
    assert machine.chances() is None


def test_propensities_of_thompson_sampling_are_known():
    """They are those of all arms before the decision, and at least the floor."""
    for policy, bounds in (("thompson", None), ("beta-thompson", [0, 1]), ("oc-thompson", [0, 1])):
        sigma = 1.0 if bounds is None else None
        machine = Machine(rules(policy=policy, floor=0.1, bounds=bounds, sigma=sigma), 7)
        for number in range(1, 40):
            chances = machine.chances()
            assert chances.sum() == pytest.approx(1.0, abs=1e-9)
            arm, propensity = machine.choose(number)
            assert propensity == pytest.approx(chances[arm], rel=1e-12)
            assert propensity >= 0.1
            machine.reward(arm, float(number % 3 == arm))


def test_a_control_has_its_share_and_is_no_arm_of_the_policy():
    machine = Machine(rules(policy="ocucb", control="b", control_share=0.1), 3)
    played = [0, 0, 0]
    for number in range(1, 4001):
        arm, _ = machine.choose(number)
        machine.reward(arm, float(arm == 1))  # the control is the best by far
        played[arm] += 1
    assert abs(played[1] - 400) < 5 * math.sqrt(4000 * 0.1 * 0.9)  # once in 10^6
    assert machine.state().arms[1].pulls == played[1]


@pytest.mark.parametrize("policy", ["ocucb", "thompson", "epsilon-greedy", "improved-ucb"])
def test_a_machine_goes_on_bit_for_bit_from_its_state(policy):
    one = Machine(rules(policy=policy, floor=0.05), 3)
    for number in range(1, 300):
        if number % 50 == 0:
            one.change(Change(add=[f"new {number}"], horizon=1000 + number))
        arm, _ = one.choose(number)
        if number % 3:
            one.reward(arm, number / 300)
    two = Machine.restored(one.rules, 3, one.state())
    for number in range(300, 350):
        assert one.choose(number) == two.choose(number)
    assert one.state() == two.state()


# A model of the service: dictionaries


class Model:
    """What the service must answer, one request at a time."""

    def __init__(self, expiry: float, default: float | None) -> None:
        self.expiry, self.default = expiry, default
        self.decisions: dict[str, dict] = {}
        self.units: dict[str, str] = {}
        self.keys: dict[str, list] = {}

    def lapse(self, now: int) -> None:
        for decision in self.decisions.values():
            if decision["reward"] is None and not decision["lapsed"] and now >= decision["due"]:
                decision["lapsed"] = True

    def decided(self, answer, now, unit):
        for decision in answer:
            assert decision["id"] not in self.decisions
            due = now + round(self.expiry * 1e6)
            assert decision["expires_at"] == due / 1e6
            self.decisions[decision["id"]] = {
                "due": due,
                "reward": None,
                "lapsed": False,
                **decision,
            }
            if unit:
                self.units[unit] = decision["id"]

    def open_of(self, unit):
        one = self.decisions.get(self.units.get(unit))
        return one if one and one["reward"] is None and not one["lapsed"] else None

    def reward(self, decision, reward):
        one = self.decisions.get(decision)
        if one is None:
            return "unknown"
        if one["lapsed"]:
            return "expired"
        if one["reward"] is None:
            one["reward"] = reward
            return "accepted"
        return "duplicate" if one["reward"] == reward else "conflict"


@pytest.mark.parametrize("default", [None, 0.0])
def test_two_services_do_what_a_model_does(opened, default):
    """Two services with a cache each, on one store: every answer is that of a model.

    In the end the log, replayed, gives every decision and the state.
    """
    clock, rng = Clock(), random.Random(5)
    services = [Service(opened, clock=clock) for _ in range(2)]
    asked = rules(expiry=20.0, default_reward=default, floor=0.05, control="a", control_share=0.2)
    assert services[0].create("x", asked)
    assert not services[1].create("x", asked)
    model = Model(20.0, default)
    for step in range(180):
        clock.pass_seconds(rng.choice([0, 0.1, 2]))
        model.lapse(clock.now)
        one = rng.choice(services)
        what = rng.random()
        if what < 0.45:
            unit = f"u{rng.randrange(8)}" if rng.random() < 0.5 else None
            count = 1 if unit else rng.randint(1, 3)
            key = f"key {step}" if rng.random() < 0.5 else None
            request = DecisionsRequest(count=count, unit=unit)
            before = model.open_of(unit)
            answer = one.decide("x", request, key).result(60)
            if before is not None:
                assert [row["id"] for row in answer] == [before["id"]]
                assert answer[0]["arm"] == before["arm"]
            else:
                assert len(answer) == count
                model.decided(answer, clock.now, unit)
            if key:
                model.keys[key] = [request, answer]
        elif what < 0.55 and model.keys:
            key = rng.choice(list(model.keys))
            request, answer = model.keys[key]
            assert one.decide("x", request, key).result(60) == answer
            with pytest.raises(Refused, match="was used for another request"):
                one.decide("x", DecisionsRequest(count=77), key).result(60)
        elif what < 0.95 and model.decisions:
            ids = rng.choices(list(model.decisions)[-30:], k=rng.randint(1, 4))
            if rng.random() < 0.1:
                ids.append(rng.choice(["1-0123456789abcdef", "zz", "", "fff-", "-1-é"]))
            items = [RewardItem(decision=i, reward=rng.choice([0.0, 1.0])) for i in ids]
            wanted = [model.reward(item.decision, item.reward) for item in items]
            assert one.reward("x", items).result(60) == wanted
        else:
            change = rng.choice(
                [
                    Change(add=[f"arm {rng.randrange(5)}"]),
                    Change(retire=["c"]),
                    Change(add=["c"]),
                    Change(horizon=1000 + step),
                ]
            )
            one.change("x", change).result(60)
    clock.pass_seconds(100)
    services[0].sweep()
    model.lapse(clock.now)
    with opened.reading() as connection:
        found = report.summary(connection, "x", clock.now)
        entries = connection.execute(sa.select(tables.log)).mappings().all()
    rewarded = [decision for decision in model.decisions.values() if decision["reward"] is not None]
    assert found["totals"]["decisions"] == len(model.decisions)
    assert found["totals"]["rewards"] == len(rewarded)
    assert found["totals"]["expired"] == sum(
        decision["lapsed"] for decision in model.decisions.values()
    )
    assert found["totals"]["open"] == 0
    kinds = [entry["kind"] for entry in entries]
    assert kinds.count("reward") == len(rewarded)
    assert kinds.count("expired" if default is None else "default") == found["totals"]["expired"]
    assert kinds.count("late") == found["totals"]["late"] > 0
    (checked,) = check(opened)
    assert checked.problem is None
    assert (checked.decisions, checked.rewards) == (len(model.decisions), len(rewarded))
    for service in services:
        service.close()


def test_a_clock_that_goes_back_a_little_changes_no_order(sqlite_storage):
    clock = Clock()
    one = Service(sqlite_storage, clock=clock)
    one.create("x", rules(expiry=10.0))
    first = one.decide("x", DecisionsRequest()).result(60)[0]
    clock.pass_seconds(-60)
    second = one.decide("x", DecisionsRequest()).result(60)[0]
    assert second["expires_at"] == first["expires_at"]
    clock.pass_seconds(69)
    statuses = one.reward("x", [RewardItem(decision=first["id"], reward=0.5)]).result(60)
    assert statuses == ["accepted"]
    clock.pass_seconds(1)
    statuses = one.reward("x", [RewardItem(decision=second["id"], reward=0.5)]).result(60)
    assert statuses == ["expired"]
    assert [found.problem for found in check(sqlite_storage)] == [None]
    one.close()


def test_a_clock_that_was_ahead_switches_no_expiry_off(opened):
    """Time goes back by a year; what was decided in between expires after all, and in order."""
    clock, year = Clock(), 365 * 86400
    one = Service(opened, clock=clock)
    one.create("x", rules(expiry=100.0))
    one.create("idle", rules(expiry=100.0))

    def ask(name="x"):
        return one.decide(name, DecisionsRequest()).result(60)[0]

    def tell(decision):
        return one.reward("x", [RewardItem(decision=decision["id"], reward=0.5)]).result(60)[0]

    def report_of(name):
        with opened.reading() as connection:
            return report.summary(connection, name, clock.now)

    before = ask()
    assert tell(before) == "accepted"
    clock.pass_seconds(year)
    ahead, also_ahead, third = ask(), ask(), ask("idle")
    clock.pass_seconds(10 - year)
    after = ask()
    assert after["expires_at"] == clock.now / 1e6 + 100
    assert third["expires_at"] > clock.now / 1e6 + year / 2
    one.sweep()  # nobody asks the idle one
    assert tell(ahead) == "accepted"
    for name in ("x", "idle"):
        (note,) = report_of(name)["health"]
        assert note == "The clock was 364 d 23 h ahead until 0 s ago: times before that are wrong."
    clock.pass_seconds(99)
    one.sweep()
    assert report_of("x")["totals"]["expired"] == report_of("idle")["totals"]["expired"] == 0
    last = ask()
    clock.pass_seconds(1)
    one.sweep()
    assert tell(also_ahead) == tell(after) == "expired"
    assert tell(last) == "accepted"
    assert report_of("idle")["totals"] == {
        "decisions": 1, "rewards": 0, "open": 0, "expired": 1, "late": 0, "prior": 0,
    }  # fmt: skip
    kinds = [json.loads(line)["kind"] for line in _log(opened, "idle")]
    assert kinds == ["decision", "clock", "expired"]
    assert [found.problem for found in check(opened)] == [None, None]
    clock.pass_seconds(86400)
    assert report_of("x")["health"] == [], "it is noted for a day"
    one.close()


def _log(store, name):
    with store.reading() as connection:
        return log_lines(connection, name, 0, 1000).splitlines()


# What it costs


class Statements:
    """The statements that are sent to the database."""

    def __init__(self, store: Storage) -> None:
        self.sent = []
        # on PostgreSQL both are one engine
        for engine in {store.reader, store.writer} if store.is_sqlite else {store.writer}:
            sa.event.listen(engine, "before_cursor_execute", self._note)

    def _note(self, connection, cursor, statement, *_):
        self.sent.append(" ".join(statement.split()))

    def during(self, call):
        self.sent.clear()
        call()
        return [statement for statement in self.sent if not statement.startswith("BEGIN")]


def test_the_sweeper_asks_once_and_writes_only_where_something_is_due(opened):
    clock = Clock()
    one = Service(opened, clock=clock)
    for number in range(20):
        one.create(f"b{number}", rules(expiry=100.0))
    one.create("without", rules())
    statements = Statements(opened)
    statements.during(one.sweep)
    for name in ("b3", "b4"):
        one.decide(name, DecisionsRequest()).result(60)
        clock.pass_seconds(1)
    (sent,) = statements.during(one.sweep)
    assert sent.startswith("SELECT bandits.name FROM bandits WHERE bandits.due <= ")
    clock.pass_seconds(30)
    assert len(statements.during(one.sweep)) == 1
    clock.pass_seconds(68.5)
    sent = statements.during(one.sweep)
    assert len([text for text in sent if text.startswith("INSERT INTO log")]) == 1, "b3"
    clock.pass_seconds(50)
    statements.during(one.sweep)
    clock.pass_seconds(1)
    assert len(statements.during(one.sweep)) == 1
    with opened.reading() as connection:
        totals = [bandit["totals"] for bandit in report.overview(connection, clock.now)["bandits"]]
    assert sum(total["expired"] for total in totals) == 2
    assert sum(total["open"] for total in totals) == 0
    one.close()


def test_a_bandit_that_cannot_be_swept_stops_no_other(sqlite_storage):
    clock = Clock()
    one = Service(sqlite_storage, clock=clock)
    for name in ("a", "b"):
        one.create(name, rules(expiry=10.0))
        one.decide(name, DecisionsRequest()).result(60)
    one.close()
    with sqlite_storage.writing() as connection:
        rule = tables.bandits.update().where(tables.bandits.c.name == "a")
        connection.execute(rule.values(rules="{}"))
    two = Service(sqlite_storage, clock=clock)
    clock.pass_seconds(11)
    with pytest.raises(Refused, match="arms is missing"):
        two.sweep()
    assert len(_log(sqlite_storage, "b")) == 2, "it has expired"
    two.close()


def test_a_migrated_store_goes_on_to_expire(sqlite_storage, tmp_path):
    """A store of the first version, with open decisions and without the column for them."""
    path, clock = tmp_path / "store.db", Clock()
    one = Service(sqlite_storage, clock=clock)
    for name, expiry in (("a", 10.0), ("b", None)):
        one.create(name, rules(expiry=expiry))
        one.decide(name, DecisionsRequest()).result(60)
    one.close()
    as_of(sqlite_storage, "0001")
    made = Storage(str(path))
    two = Service(made, clock=clock)
    two.sweep()
    assert [len(_log(made, name)) for name in "ab"] == [1, 1]
    clock.pass_seconds(11)
    two.sweep()
    assert [len(_log(made, name)) for name in "ab"] == [2, 1]
    assert [found.problem for found in check(made)] == [None, None]
    two.close()
    made.close()


def test_the_list_comes_in_pages_and_says_what_summaries_say(opened, monkeypatch):
    clock, rng = Clock(), random.Random(2)
    one = Service(opened, clock=clock)
    more = [
        {}, {"minimize": True}, {"control": "b", "control_share": 0.4}, {"floor": 0.2},
        {"expiry": 5.0}, {"expiry": 5.0, "default_reward": 0.0}, {"horizon": 3},
    ]  # fmt: skip
    for number in range(14):
        name = f"b{number:02}"
        one.create(name, rules(**more[number % 7]))
        asked = DecisionsRequest(count=number + 1)
        for decision in one.decide(name, asked).result(60)[number % 2 :]:
            if rng.random() < 0.7:
                item = RewardItem(decision=decision["id"], reward=rng.random())
                one.reward(name, [item]).result(60)
    one.change("b13", Change(paused=True, retire=["a"])).result(60)
    clock.pass_seconds(6)
    one.sweep()
    statements, pages = Statements(opened), []

    def page(after="", limit=report.MOST_LISTED):
        def call():
            with opened.reading() as connection:
                pages.append(report.overview(connection, clock.now, after, limit))

        assert len(statements.during(call)) == 3, "whatever there is"
        return [bandit["name"] for bandit in pages[-1]["bandits"]], pages[-1]["next"]

    names = [f"b{number:02}" for number in range(14)]
    assert page() == (names, None)
    for line in pages[0]["bandits"]:
        with opened.reading() as connection:
            full = report.summary(connection, line["name"], clock.now)
        tried = [arm for arm in full["arms"] if arm["mean"] is not None and not arm["retired"]]
        sign = -1 if full["minimize"] else 1
        best = max(tried, key=lambda arm, sign=sign: sign * arm["mean"], default={"arm": None})
        wanted = {key: full.get(key) for key in line}
        assert line == wanted | {"arms": 3, "best": best["arm"]}
    assert any(line["health"] for line in pages[0]["bandits"])
    assert page(limit=5) == (names[:5], "b04")
    assert page("b04", 9) == (names[5:], None)
    assert page("b04x", 3) == (names[5:8], "b07")
    assert page("z") == ([], None)
    monkeypatch.setattr(report, "_MOST_ARMS_LISTED", 7)
    assert page() == (names[:2], "b01"), "as many as have 7 arms together"
    monkeypatch.setattr(report, "_MOST_ARMS_LISTED", 1)
    assert page() == (names[:1], "b00"), "one at least"
    one.close()


def test_pages_of_the_list_over_http(http):
    for name in ("y", "z"):
        http("PUT", f"/v1/bandits/{name}", RULES)
    found, after = [], ""
    while after is not None:
        answer = http("GET", f"/v1/bandits?limit=1&after={after}").json()
        found += [bandit["name"] for bandit in answer["bandits"]]
        after = answer["next"]
    assert found == ["x", "y", "z"]
