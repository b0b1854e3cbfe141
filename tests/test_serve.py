"""`ocucb serve` without a network: what is played, kept, answered and refused."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import shutil
import socket
import sqlite3
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import hypothesis.strategies as st
import numpy as np
import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hypothesis import HealthCheck, given, settings
from starlette.testclient import TestClient

from helpers import ROOT, invoke, wait_until
from ocucb.serve import commands, direct, gate, health, report, service, storage, tokens
from ocucb.serve.app import create_app
from ocucb.serve.check import check
from ocucb.serve.client import Client, Decision, ServiceError
from ocucb.serve.machine import Machine
from ocucb.serve.models import Change, DecisionsRequest, Refused, RewardItem, Rules
from ocucb.serve.service import Service
from ocucb.serve.storage import Storage

RULES = {"arms": ["a", "b", "c"], "policy": "ocucb", "horizon": 1000, "bounds": [0, 1], "seed": 1}


class Clock:
    """The time, as tests want it."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += round(seconds * 1e6)


@pytest.fixture
def opened(store):
    made = Storage(store)
    yield made
    made.close()


@pytest.fixture
def sqlite_storage(tmp_path):
    made = Storage(str(tmp_path / "store.db"))
    yield made
    made.close()


class Http:
    """An application without a server, and who speaks to it."""

    def __init__(self, store: Storage) -> None:
        self.clock, self.storage = Clock(), store
        self.app = create_app(store, clock=self.clock, sweep_seconds=3600)
        self.client = TestClient(self.app, raise_server_exceptions=True)
        self.admin = tokens.add_token(store, "administer")
        self.decider = tokens.add_token(store, "decide")

    def __call__(self, method, path, body=None, token="", **options):
        headers = {"Authorization": f"Bearer {token or self.admin}", **options.pop("headers", {})}
        if body is not None:
            options["json"] = body
        return self.client.request(method, path, headers=headers, **options)

    def version(self, name="x"):
        return self("GET", f"/v1/bandits/{name}").json()["version"]


@pytest.fixture
def http(sqlite_storage):
    made = Http(sqlite_storage)
    with made.client:
        made("PUT", "/v1/bandits/x", RULES)
        yield made


def rules(**changes) -> Rules:
    return Rules.model_validate({**RULES, **changes})


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
        arm, propensity = machine.decide(number)
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
    played = [machine.decide(number) for number in range(1, 4)]
    assert played == [(0, 1.0), (1, 1.0), (2, 1.0)]


def test_propensities_that_are_not_known_are_null():
    machine = Machine(rules(policy="thompson", floor=0.2), 7)
    for number in range(1, 40):
        arm, propensity = machine.decide(number)
        machine.reward(arm, 0.5)
        assert (propensity is None) == (number > 3), "the first arms are certain"
    assert machine.chances() is None


def test_a_control_has_its_share_and_is_no_arm_of_the_policy():
    machine = Machine(rules(policy="ocucb", control="b", control_share=0.1), 3)
    played = [0, 0, 0]
    for number in range(1, 4001):
        arm, _ = machine.decide(number)
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
        arm, _ = one.decide(number)
        if number % 3:
            one.reward(arm, number / 300)
    two = Machine.restored(one.rules, 3, one.state())
    for number in range(300, 350):
        assert one.decide(number) == two.decide(number)
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
        for one in self.decisions.values():
            if one["reward"] is None and not one["lapsed"] and now >= one["due"]:
                one["lapsed"] = True

    def decided(self, answer, now, unit):
        for one in answer:
            assert one["id"] not in self.decisions
            due = now + round(self.expiry * 1e6)
            assert one["expires_at"] == due / 1e6
            self.decisions[one["id"]] = {"due": due, "reward": None, "lapsed": False, **one}
            if unit:
                self.units[unit] = one["id"]

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
        entries = connection.execute(sa.select(storage.log)).mappings().all()
    rewarded = [one for one in model.decisions.values() if one["reward"] is not None]
    assert found["totals"]["decisions"] == len(model.decisions)
    assert found["totals"]["rewards"] == len(rewarded)
    assert found["totals"]["expired"] == sum(one["lapsed"] for one in model.decisions.values())
    assert found["totals"]["open"] == 0
    kinds = [entry["kind"] for entry in entries]
    assert kinds.count("reward") == len(rewarded)
    assert kinds.count("expired" if default is None else "default") == found["totals"]["expired"]
    assert kinds.count("late") == found["totals"]["late"] > 0
    (checked,) = check(opened)
    assert checked.problem is None
    assert (checked.decisions, checked.rewards) == (len(model.decisions), len(rewarded))
    for one in services:
        one.close()


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
        "decisions": 1, "rewards": 0, "open": 0, "expired": 1, "late": 0,
    }  # fmt: skip
    kinds = [json.loads(line)["kind"] for line in _log(opened, "idle")]
    assert kinds == ["decision", "clock", "expired"]
    assert [found.problem for found in check(opened)] == [None, None]
    clock.pass_seconds(86400)
    assert report_of("x")["health"] == [], "it is noted for a day"
    one.close()


def _log(store, name):
    with store.reading() as connection:
        return report.log_lines(connection, name, 0, 1000).splitlines()


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
        return [one for one in self.sent if not one.startswith("BEGIN")]


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
        totals = [one["totals"] for one in report.overview(connection, clock.now)["bandits"]]
    assert sum(one["expired"] for one in totals) == 2
    assert sum(one["open"] for one in totals) == 0
    one.close()


def test_a_bandit_that_cannot_be_swept_stops_no_other(sqlite_storage):
    clock = Clock()
    one = Service(sqlite_storage, clock=clock)
    for name in ("a", "b"):
        one.create(name, rules(expiry=10.0))
        one.decide(name, DecisionsRequest()).result(60)
    one.close()
    with sqlite_storage.writing() as connection:
        rule = storage.bandits.update().where(storage.bandits.c.name == "a")
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
    sqlite_storage.close()
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "DROP TABLE probe; DROP INDEX bandits_due; ALTER TABLE bandits DROP COLUMN due;"
            "ALTER TABLE bandits DROP COLUMN corrected; "
            "UPDATE alembic_version SET version_num = '0001'"
        )
    connection.close()
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
        return [one["name"] for one in pages[-1]["bandits"]], pages[-1]["next"]

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
        found += [one["name"] for one in answer["bandits"]]
        after = answer["next"]
    assert found == ["x", "y", "z"]


# Stores that disappear, are full, or belong to somebody else


def _take_away(path, how):
    if how == "removed":
        path.unlink()
    elif how == "replaced":
        with sqlite3.connect(path) as source, sqlite3.connect(f"{path}.copy") as copy:
            source.backup(copy)
        source.close()
        copy.close()
        Path(f"{path}.copy").replace(path)
    elif how == "without its log":
        Path(f"{path}-wal").unlink()
    else:
        path.rename(f"{path}.elsewhere")


@pytest.mark.parametrize("how", ["removed", "replaced", "without its log", "moved"])
def test_nothing_is_acknowledged_that_is_not_in_the_file(how, http):
    path = Path(http.storage.place)
    assert http("POST", "/v1/bandits/x/decisions").status_code == 200
    assert http("GET", "/healthz").status_code == 200
    _take_away(path, how)
    left = path.read_bytes() if path.exists() else None
    for method, address in (("POST", "/v1/bandits/x/decisions"), ("GET", "/v1/bandits/x")):
        answer = http(method, address)
        assert answer.status_code == 503
        assert answer.json() == {"error": "the store cannot be used now; try again."}
    time.sleep(0.2)  # an answer of /healthz is given for 0.1 s
    assert http("GET", "/healthz").status_code == 503
    http.storage.writer.dispose()  # as if new connections were needed
    assert http("POST", "/v1/bandits/x/decisions").status_code == 503
    assert (path.read_bytes() if path.exists() else None) == left, "nothing is made in its place"
    if how == "moved":
        Path(f"{path}.elsewhere").rename(path)
        http.app.state.service.storage.writer.dispose()
        assert http("POST", "/v1/bandits/x/decisions").status_code == 200
        assert [(one.decisions, one.problem) for one in check(http.storage)] == [(2, None)]


@pytest.mark.parametrize("moment", ["begin", "commit"])
def test_a_file_that_disappears_amid_a_transaction_acknowledges_nothing(moment, sqlite_storage):
    one = Service(sqlite_storage)
    one.create("x", rules())
    path = Path(sqlite_storage.place)
    sa.event.listen(sqlite_storage.writer, moment, lambda _: path.exists() and path.unlink())
    with pytest.raises(storage.StoreUnavailable, match=r"store.db was removed or replaced; put it"):
        one.decide("x", DecisionsRequest()).result(60)
    one.close()


@pytest.mark.parametrize("what", ["missing", "empty", "without bandits", "PostgreSQL"])
def test_check_calls_no_store_sound_that_has_nothing_in_it(what, tmp_path, request):
    path = tmp_path / "store.db"
    if what == "empty":
        path.touch()
    elif what == "without bandits":
        Storage(str(path)).close()
    place = str(path)
    if what == "PostgreSQL":
        place = request.getfixturevalue("cluster").new_database()
    done = invoke("serve", "check", "--store", place)
    assert (done.exit_code, done.stdout) == (2, "")
    sentence = "are no bandits in" if what == "without bandits" else "is no store"
    assert re.fullmatch(rf"Error: there {sentence} .*\.\n", done.stderr)
    if what == "empty":
        assert path.read_bytes() == b""


def test_a_read_only_database_is_unavailable(cluster):
    store = Storage(address := cluster.new_database())
    made = Http(store)
    with made.client:
        made("PUT", "/v1/bandits/x", RULES)
        with psycopg.connect(address, autocommit=True) as connection:
            name = connection.info.dbname
            connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        store.writer.dispose()  # from now on connections are read-only
        assert made("POST", "/v1/bandits/x/decisions").status_code == 503
        assert made("GET", "/healthz").status_code == 503
        assert made("GET", "/v1/bandits/x").status_code == 200
    store.close()


def test_looking_at_the_health_leaves_nothing_behind(opened):
    made = Http(opened)
    with made.client:
        for _ in range(3):
            opened.check_writable()
            assert made("GET", "/healthz").status_code == 200
    with opened.reading() as connection:
        assert len(connection.execute(sa.select(storage.probe)).all()) == 1
        assert connection.execute(sa.select(storage.log)).all() == []


def test_many_who_look_at_the_health_share_an_attempt(sqlite_storage, monkeypatch):
    tried, held = [], threading.Event()

    def check_writable():
        tried.append(0)
        assert held.wait(60)
        raise storage.StoreUnavailable("no.")

    monkeypatch.setattr(sqlite_storage, "check_writable", check_writable)
    monkeypatch.setattr(health, "_MOST_SECONDS", 0.01)

    async def look():
        probe = health.Probe(sqlite_storage)
        slow = await asyncio.gather(*(probe.problem() for _ in range(50)))
        monkeypatch.setattr(health, "_MOST_SECONDS", 60)
        held.set()
        refused = await asyncio.gather(*(probe.problem() for _ in range(50)))
        probe.close()
        return {str(one) for one in slow}, {str(one) for one in refused}

    assert asyncio.run(look()) == ({"the store takes too long to write."}, {"no."})
    assert len(tried) == 1


def test_nobody_waits_long_for_a_store_that_another_has_locked(opened):
    """Bounded at 3 s; a busy machine gets 3 more here. Without a bound it took 10 to 30 s."""
    made = Http(opened)
    names = [f"b{i}" for i in range(12)]  # more than there are threads
    with made.client, ThreadPoolExecutor(30) as pool:
        for name in names:
            made("PUT", f"/v1/bandits/{name}", RULES)
        if opened.is_sqlite:
            other = sqlite3.connect(opened.place, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
        else:
            address = opened.writer.url.set(drivername="postgresql").render_as_string()
            other = psycopg.connect(address)
            other.execute("LOCK TABLE bandits, probe IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()

        def ask(path):
            answer = made("POST" if path.endswith("decisions") else "GET", path)
            return path, answer.status_code, time.monotonic() - began

        paths = [f"/v1/bandits/{name}/decisions" for name in (*names, *names)] + ["/healthz"]
        answers = list(pool.map(ask, paths))
        other.rollback()
        other.close()
        assert {status for _, status, _ in answers} == {503}
        assert max(seconds for _, _, seconds in answers) < 6
        assert {made("POST", path).status_code for path in paths[:12]} == {200}
    assert all(one.problem is None for one in check(opened))


def test_many_threads_share_transactions_and_lose_nothing(opened):
    one = Service(opened)
    one.create("x", rules())

    def play(_: int) -> list[str]:
        decision = one.decide("x", DecisionsRequest(), None).result(60)[0]
        item = RewardItem(decision=decision["id"], reward=0.5)
        return [decision["id"], *one.reward("x", [item, item]).result(60)]

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(play, range(200)))
    assert len({answer[0] for answer in answers}) == 200
    assert all(answer[1:] == ["accepted", "duplicate"] for answer in answers)
    groups = one.registry.get_sample_value("ocucb_group_size_count")
    assert groups < 400, "requests that wait together share a transaction"
    assert one.registry.get_sample_value("ocucb_events_total", {"kind": "reward"}) == 200
    assert [found.problem for found in check(opened)] == [None]
    one.close()


def test_a_request_that_fails_takes_no_other_down(sqlite_storage, monkeypatch):
    one = Service(sqlite_storage)
    one.create("x", rules())
    gate_open, begun = threading.Event(), threading.Event()
    original = Machine.decide

    def decide(self, number):
        begun.set()
        assert gate_open.wait(60)
        return original(self, number)

    monkeypatch.setattr(Machine, "decide", decide)
    first = one.decide("x", DecisionsRequest())
    assert begun.wait(60)  # the others now wait together
    good = [one.decide("x", DecisionsRequest()) for _ in range(3)]
    broken = one._submit("x", service._Work(lambda turn: 1 / 0))
    good.append(one.decide("x", DecisionsRequest()))
    gate_open.set()
    with pytest.raises(ZeroDivisionError):
        broken.result(60)
    ids = [future.result(60)[0]["id"] for future in (first, *good)]
    assert len(set(ids)) == 5
    assert [(found.decisions, found.problem) for found in check(sqlite_storage)] == [(5, None)]
    one.close()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("UPDATE log SET reward = 0.25 WHERE seq = 2", "the stored state differs"),
        ("UPDATE log SET arm = 2 WHERE seq = 1", "decision 1 was arm 2"),
        ("UPDATE log SET propensity = 0.5 WHERE seq = 1", "decision 1 was arm 0 with propens"),
        ("DELETE FROM log WHERE seq = 3", "entry 3 of the log is missing"),
        ("UPDATE arms SET pulls = 0, sum = 0 WHERE position = 0", "the stored state differs"),
        ("UPDATE arms SET pulls = 2 WHERE position = 0", "the stored state cannot be read: rounds"),
        ("UPDATE log SET reward = 5 WHERE seq = 2", "the log cannot be replayed: reward 5.0 lies"),
        ("UPDATE arms SET decisions = 7 WHERE position = 0", "the stored counts of decisions"),
        ("UPDATE bandits SET version = 9", "the log ends with entry 6, the state with 9"),
        ("UPDATE log SET at = 1 WHERE seq = 2", "entry 2 is earlier"),
        ("UPDATE log SET decision = 9 WHERE seq = 2", "closes decision 9, not an open one"),
        ("UPDATE log SET kind = 'gift' WHERE seq = 2", "entry 2 is of the unknown kind 'gift'"),
    ],
)
def test_check_finds_whatever_is_wrong(damage, sentence, tmp_path):
    path = tmp_path / "store.db"
    store = Storage(str(path))
    one = Service(store)
    one.create("x", rules())
    for _ in range(3):
        (decision,) = one.decide("x", DecisionsRequest()).result(60)
        one.reward("x", [RewardItem(decision=decision["id"], reward=0.5)]).result(60)
    one.close()
    store.close()
    assert invoke("serve", "check", "--store", path).stdout == (
        "x: 3 decisions and 3 rewards, all as stored.\n"
    )
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    connection.close()
    done = invoke("serve", "check", "x", "--store", path)
    assert done.exit_code == 1
    assert sentence in done.stdout
    assert done.stderr == ""


def test_the_database_itself_refuses_a_second_outcome(opened):
    one = Service(opened)
    one.create("x", rules())
    (decision,) = one.decide("x", DecisionsRequest()).result(60)
    one.reward("x", [RewardItem(decision=decision["id"], reward=0.5)]).result(60)
    row = {"bandit": 1, "seq": 3, "at": 0, "kind": "expired", "arm": 0, "decision": 1}
    with pytest.raises(sa.exc.IntegrityError), opened.writing() as connection:
        connection.execute(storage.log.insert(), row)
    one.close()


# Versions of the schema


def test_migrations_give_the_tables_of_the_program(opened):
    with opened.reading() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, storage.metadata) == []


LATER = """
from alembic import op
import sqlalchemy as sa
revision, down_revision = "0003", "0002"
def upgrade():
    op.add_column("bandits", sa.Column("note", sa.Text))
    {}
"""


def test_an_older_store_is_migrated_whole_or_not_at_all(store, tmp_path):
    token = tokens.add_token(made := Storage(store), "decide")
    made.close()
    versions = (storage.MIGRATIONS / "versions", tmp_path / "later")
    versions[1].mkdir()
    (versions[1] / "0003_later.py").write_text(LATER.format("1 / 0"))
    with pytest.raises(ZeroDivisionError):
        Storage(store, versions)
    Storage(store).close()  # as it was
    (versions[1] / "0003_later.py").write_text(LATER.format(""))
    shutil.rmtree(versions[1] / "__pycache__", ignore_errors=True)
    made = Storage(store, versions)
    with made.reading() as connection:
        names = [column["name"] for column in sa.inspect(connection).get_columns("bandits")]
    assert "note" in names
    assert tokens.Doorkeeper(made).find(token) is not None
    sqlite = made.is_sqlite
    made.close()
    with pytest.raises(ValueError, match="has schema 0003, which is newer than this ocucb knows"):
        Storage(store)
    if sqlite:
        backup = Storage(f"{store}.0002.backup")
        assert tokens.Doorkeeper(backup).find(token) is not None
        backup.close()


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("mysql://u:secret@h/d", r"got 'mysql://\*\*\*@h/d'\.$"),
        ("sqlite://", "store must be the path of an SQLite file or"),
        ("nothing.db", "there is no store .*nothing.db; `ocucb serve` creates one"),
        ("postgresql://u:secret@127.0.0.1:1/d", "cannot be used as a store: connection failed"),
        ("other.db", "cannot be used as a store: file is not a database"),
        ("tables.db", "has tables that ocucb did not make"),
    ],
)
def test_a_store_that_cannot_be_used_is_one_sentence(place, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.db").write_text("something else, and quite long enough to be read" * 40)
    with sqlite3.connect("tables.db") as connection:
        connection.execute("CREATE TABLE results (x)")
    connection.close()
    done = invoke("serve", "check", "--store", place)
    assert done.exit_code == 2
    assert re.search(sentence, done.stderr.strip())
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr
    assert not (tmp_path / "nothing.db").exists()
    nowhere = invoke("serve", "token", "--store", "nowhere/store.db")
    assert nowhere.stderr.endswith("nowhere is not a folder.\n")


@pytest.mark.parametrize("store", ["none", "foreign", "without tokens"])
@pytest.mark.parametrize(
    "words",
    [
        "serve --port {taken}",
        "serve --port 65536",
        "serve --host 0.0.0.0 --port 0",
        "serve --host 1.2.3.4.5 --port 0",
        "serve --log-level loud",
        "serve --colour red",
        "serve token --scope all",
        "serve token --label {tab}",
        "serve check nobody",
        "serve revoke 1",
        "serve revoke one",
    ],
)
def test_a_refused_command_changes_nothing(words, store, tmp_path):
    path = tmp_path / "store.db"
    if store == "foreign":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE results (x)")
        connection.close()
    elif store == "without tokens":
        Storage(str(path)).close()
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        facts = {"taken": taken.getsockname()[1], "tab": "a\tb"}
        done = invoke(*(word.format(**facts) for word in words.split()), "--store", path)
    assert done.exit_code == 2
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("option", "value"), [("--store", "a.db"), ("--port", "8001"), ("--log-level", "info")]
)
def test_options_before_a_subcommand_are_refused(option, value):
    done = invoke("serve", option, value, "check")
    assert done.exit_code == 2
    assert f"{option} stands before 'check', whose options come after it." in done.stderr


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
    assert [one["arm"] for one in first.json()["decisions"]] == ["a", "b", "c"]
    assert all(one["propensity"] == 1 for one in first.json()["decisions"])
    assert http("POST", "/v1/bandits/y/decisions", {"count": 3}, headers=key).json() == first.json()
    assert http("POST", "/v1/bandits/y/decisions", {"count": 2}, headers=key).status_code == 422
    ids = [one["id"] for one in first.json()["decisions"]]
    rewards = [{"decision": ids[0], "reward": 1}, {"decision": ids[0], "reward": 0.5}]
    rewards += [{"decision": ids[0], "reward": 1}, {"decision": "1-x", "reward": 1}]
    answer = http("POST", "/v1/bandits/y/rewards", rewards).json()["rewards"]
    assert [one["status"] for one in answer] == ["accepted", "conflict", "duplicate", "unknown"]
    elsewhere = http("POST", "/v1/bandits/x/rewards", [{"decision": ids[1], "reward": 1}]).json()
    assert elsewhere["rewards"][0]["status"] == "unknown", "ids belong to their bandit"
    lines = http("GET", "/v1/bandits/y/log?limit=2").text.splitlines()
    entries = [json.loads(line) for line in lines]
    assert [entry["decision"] for entry in entries] == ids[:2]
    rest = http("GET", "/v1/bandits/y/log?after=2").text.splitlines()
    assert [json.loads(line)["kind"] for line in rest] == ["decision", "reward"]
    listed = http("GET", "/v1/bandits").json()["bandits"]
    assert [one["name"] for one in listed] == ["x", "y"]


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
    ("PUT", "/v1/bandits/y", {**RULES, "arms": ["a\x00"]}, 422, "arms.0: must not contain control"),
    ("PUT", "/v1/bandits/y", {**RULES, "arms": [1]}, 422, "arms.0: input should be a valid string"),
    ("PUT", "/v1/bandits/y", {**RULES, "arms": ["x" * 201]}, 422, "at most 200 characters"),
    ("PUT", "/v1/bandits/y", {**RULES, "arms": [str(i) for i in range(1001)]}, 422, "at most 1000"),
    ("PUT", "/v1/bandits/y", {**RULES, "horizon": 0}, 422, "horizon: input should be greater"),
    ("PUT", "/v1/bandits/y", {**RULES, "horizon": 2**60}, 422, "horizon: input should be less"),
    ("PUT", "/v1/bandits/y", {**RULES, "horizon": 1.5}, 422, "horizon: input should be a valid"),
    ("PUT", "/v1/bandits/y", {**RULES, "policy": "ocub"}, 422, "unknown policy 'ocub'; choose"),
    ("PUT", "/v1/bandits/y", {**RULES, "policy": "ocucb:alpha=-1"}, 422, "alpha must be > 0"),
    ("PUT", "/v1/bandits/y", {**RULES, "bounds": [1, 0]}, 422, "the lower one first, got 1 and 0."),
    ("PUT", "/v1/bandits/y", {**RULES, "bounds": None}, 422, "give either bounds"),
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
    ("POST", "/v1/bandits/x/rewards", [{"decision": "1"}], 422, "0.reward is missing."),
    ("POST", "/v1/bandits/x/rewards", [{"decision": "1", "reward": 2}], 422, "0.reward must lie"),
    ("POST", "/v1/bandits/x/rewards", [{"decision": 1, "reward": 1}], 422, "0.decision: input sh"),
    ("POST", "/v1/bandits/x/rewards", [{"decision": "1", "reward": "1"}], 422, "0.reward: input s"),
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
    ("DELETE", "/v1/bandits/x", None, 405, "DELETE is not allowed here."),
]


def test_bad_input_is_one_sentence_and_changes_nothing(http):
    version = http.version()
    for method, path, body, status, sentence in BAD:
        answer = http(method, path, body)
        assert answer.status_code == status, (method, path, body, answer.text)
        (said,) = answer.json().values()
        assert sentence in said, (body, said)
        assert said.endswith(".")
        assert "\n" not in said
    assert http.version() == version
    assert [one["name"] for one in http("GET", "/v1/bandits").json()["bandits"]] == ["x"]


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
        monkeypatch.setattr(direct.Direct, "_read", lambda self, scope: None)  # the long way
    assert http.version() == version


@pytest.mark.parametrize("name", ["Idempotency-Key", "Authorization", "Content-Type"])
def test_headers_that_decide_something_occur_once(name, http, monkeypatch):
    version = http.version()
    value = {"Authorization": f"Bearer {http.admin}", "Content-Type": "application/json"}
    for values in (("k1", "k1"), ("k1", "k2")):
        headers = [(key, one) for key, one in value.items() if key != name]
        headers += [(name, value.get(name, one)) for one in values]
        for path in ("decisions", "rewards"):
            answer = http.client.post(f"/v1/bandits/x/{path}", headers=headers, content=b"{}")
            assert answer.status_code == 400
            assert answer.json()["error"] == f"the header {name.lower()} may occur only once."
    assert http.version() == version


# The short way of calls that come often


def test_the_schema_lists_the_calls_that_go_the_short_way(http):
    paths = http("GET", "/openapi.json").json()["paths"]
    decide, reward = (paths[f"/v1/bandits/{{name}}/{what}"] for what in ("decisions", "rewards"))
    assert list(decide) == list(reward) == ["post"]
    found = [(one["in"], one["name"], one["required"]) for one in decide["post"]["parameters"]]
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

    slow, handle = [], direct.APIRoute.handle

    async def slowly(self, scope, receive, send):
        slow.append(scope["path"])
        await handle(self, scope, receive, send)

    monkeypatch.setattr(direct.APIRoute, "handle", slowly)
    short = list(answers())
    valid = [status for status, _, _ in short if status in (200, 404)]
    assert len(slow) == len(requests) - len(valid), "only what is refused goes the long way"
    monkeypatch.setattr(direct.Direct, "_read", lambda self, scope: None)
    assert list(answers()) == short
    assert {200, 404, 405, 422} <= {status for status, _, _ in short}


def test_results_of_a_group_wake_the_event_loop_once():
    async def play():
        loop = asyncio.get_running_loop()
        futures = [Future() for _ in range(10)]
        tasks = [asyncio.create_task(direct.result_of(one)) for one in futures]
        await asyncio.sleep(0)
        given_up = tasks.pop()
        given_up.cancel()
        await asyncio.sleep(0.01)
        assert futures.pop().cancelled(), "nobody waits for it"
        woken, wake = [], loop.call_soon_threadsafe
        loop.call_soon_threadsafe = lambda *words: (woken.append(words), wake(*words))

        def answer():
            futures[0].set_exception(Refused(409, "no."))
            for number, future in enumerate(futures[1:], 1):
                future.set_result(number)

        thread = threading.Thread(target=answer)
        thread.start()
        thread.join()  # the loop is busy meanwhile
        refused, *numbers = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(refused, Refused)
        assert numbers == list(range(1, 9))
        assert len(woken) == 1
        again = asyncio.create_task(direct.result_of(later := Future()))
        await asyncio.sleep(0)
        later.set_result("later")
        assert await again == "later"
        assert len(woken) == 2

    asyncio.run(play())


def test_a_result_that_comes_after_the_event_loop_is_no_error(caplog):
    future = Future()

    async def give_up():
        task = asyncio.create_task(direct.result_of(future))
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
        rewards = [{"decision": one["id"], "reward": 1} for one in decisions if one["arm"] != "b"]
        http("POST", "/v1/bandits/h/rewards", rewards)
    http.clock.pass_seconds(11)
    http.app.state.service.sweep()
    said = notes("h")
    assert any("Sample-ratio mismatch" in note and "'b' in 100%" in note for note in said)
    assert any("beyond its horizon, 400" in note for note in said)
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
        kept = [one for one in decisions if rng.random() < 0.6]
        rewards = [{"decision": one["id"], "reward": 1} for one in kept]
        http("POST", "/v1/bandits/e/rewards", rewards)
    http.clock.pass_seconds(11)
    http.app.state.service.sweep()
    assert http("GET", "/v1/bandits/e").json()["health"] == []


def test_curves_end_with_the_present_and_stay_short(http):
    http("PUT", "/v1/bandits/c", {**RULES, "horizon": 10**5})
    for _ in range(60):
        decisions = http("POST", "/v1/bandits/c/decisions", {"count": 50}).json()["decisions"]
        rewards = [{"decision": one["id"], "reward": 0.5} for one in decisions]
        http("POST", "/v1/bandits/c/rewards", rewards)
    found = http("GET", "/v1/bandits/c/history").json()
    assert found["arms"] == ["a", "b", "c"]
    rounds = [point["round"] for point in found["points"]]
    assert rounds == sorted(set(rounds))
    assert rounds[-1] == 3000
    assert 30 < len(rounds) <= report.MOST_POINTS
    assert sum(found["points"][-1]["decisions"]) == 3000
    assert sum(found["points"][-1]["sums"]) == 1500


# Who may do what: a test for each line of the list of threats in docs/service.md


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
        found.extend(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in sockets)

    monkeypatch.setattr(commands.uvicorn.Server, "run", run)
    monkeypatch.setattr(commands, "_log_to_stderr", lambda level: None)
    monkeypatch.setattr(commands.signal, "signal", lambda *_: None)
    commands.serve(str(tmp_path / "store.db"), "127.0.0.1", 0, "info")
    assert len(found) == 1
    assert all(found)


def test_a_foreign_page_cannot_use_the_cookie(http):
    """The cookie only reads, other sites do not get it sent, and scripts cannot see it."""
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
    large = b" " * (gate.LARGEST_BODY + 1)
    headers = {"Content-Type": "application/json"}
    assert http("PUT", "/v1/bandits/y", content=large, headers=headers).status_code == 413
    given = []

    def endless():  # without a length
        while len(given) < 100:
            given.append(0)
            yield b" " * 100_000

    answer = http("PUT", "/v1/bandits/y", content=endless(), headers=headers)
    assert answer.status_code == 413
    assert str(gate.LARGEST_BODY) in answer.json()["error"]


def test_a_body_that_never_ends_is_given_up(http, monkeypatch):
    import anyio

    monkeypatch.setattr(gate, "BODY_SECONDS", 0.05)

    async def never():
        await anyio.sleep(60)

    async def ask():
        headers = gate.Headers({})
        with pytest.raises(Refused) as caught:
            await gate._body(headers, never)
        return caught.value.status

    assert anyio.run(ask) == 408


def test_a_body_is_taken_for_empty_only_if_its_length_says_so():
    """HTTP/2 has bodies without a length, and HTTP/1.1 those in chunks."""

    async def receive():
        return {"type": "http.request", "body": b"{}"}

    async def read(**headers):
        return await gate._body(gate.Headers(headers), receive)

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
    assert [one.problem for one in check(opened)] == [None]


def test_no_answer_shows_what_went_wrong_inside(http, monkeypatch, caplog):
    def broken(*_):
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
    monkeypatch.setattr(service, "MOST_WAITING", 5)
    one = Service(sqlite_storage)
    one.create("x", rules())
    held, begun = threading.Event(), threading.Event()

    def hold(turn):
        begun.set()
        assert held.wait(60)

    first = one._submit("x", service._Work(hold))
    assert begun.wait(60)
    others = [one.decide("x", DecisionsRequest()) for _ in range(5)]
    with pytest.raises(Refused, match="too many requests wait for bandit 'x'") as caught:
        one.decide("x", DecisionsRequest())
    assert caught.value.status == 503
    held.set()
    assert [len(future.result(60)) for future in others] == [1] * 5
    first.result(60)
    for i in range(20):
        with pytest.raises(Refused, match="there is no bandit"):
            one.decide(f"nobody {i}", DecisionsRequest()).result(60)
    wait_until(lambda: set(one._lanes) == {"x"}, "names of nobody are forgotten")
    one.close()


def test_a_request_that_is_given_up_leaves_the_lane_free(sqlite_storage):
    one = Service(sqlite_storage)
    one.create("x", rules())
    held, begun = threading.Event(), threading.Event()

    def hold(turn):
        begun.set()
        assert held.wait(60)

    first = one._submit("x", service._Work(hold))
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
    assert len(rows) >= 15
    sources = "".join(
        (ROOT / "tests" / name).read_text()
        for name in ("test_serve.py", "test_serve_process.py", "test_serve_page.py")
    )
    for row in rows:
        names = re.findall(r"`(test_\w+)`", row)
        assert names, row
        for name in names:
            assert f"def {name}(" in sources, name


# The schema, fuzzed


def strategy_of(schema, definitions):
    """Return a strategy for a JSON schema, as far as ours go."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return st.one_of([strategy_of(one, definitions) for one in schema["anyOf"]])
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
    assert all(one.problem is None for one in check(http.storage))


# The client


class Wire:
    """The transport of a client, with an application at its end, that loses what it is told to."""

    def __init__(self, http: Http) -> None:
        self.http, self.lose_requests, self.lose_answers, self.sent = http, 0, 0, []

    def attach(self, client: Client) -> None:
        client._http._transport = self

    def handle_request(self, request):
        import httpx

        self.sent.append(request)
        if self.lose_requests:
            self.lose_requests -= 1
            raise httpx.ConnectError("lost on the way")
        answer = self.http.client.request(
            request.method, str(request.url.raw_path, "ascii"), content=request.read(),
            headers=dict(request.headers),
        )  # fmt: skip
        if self.lose_answers:
            self.lose_answers -= 1
            raise httpx.ReadTimeout("lost on the way back")
        return httpx.Response(answer.status_code, content=answer.content)

    def close(self):
        pass


@pytest.fixture
def client(http):
    made = Client("http://testserver", "shop", http.admin, patience=60)
    made.wire = Wire(http)
    made.wire.attach(made)
    made.create(["a", "b"], "ocucb", 1000, bounds=[0, 1])
    with made:
        yield made


def test_the_client_has_the_verbs_of_a_bandit(client, http):
    client.create(["a", "b"], "ocucb", 1000, bounds=[0, 1])
    decision = client.ask()
    assert isinstance(decision, Decision)
    assert decision.arm == "a"
    assert client.tell(decision, 0.5) == "accepted"
    assert client.tell(decision.id, 0.25) == "conflict"
    several = client.ask(3)
    assert client.tell(several, [1, 0, 1]) == ["accepted"] * 3
    assert client.ask(unit="anna") == client.ask(unit="anna")
    client.add("c")
    client.retire(["a"])
    client.extend(5000)
    client.pause()
    with pytest.raises(ServiceError, match="is paused") as caught:
        client.ask()
    assert caught.value.status == 409
    client.resume()
    found = client.summary()
    assert (found["horizon"], found["paused"]) == (5000, False)
    with pytest.raises(ValueError, match="one reward for each decision, got 3 decisions and 1"):
        client.tell(several, [1])


def test_the_client_repeats_safely_what_was_lost(client, http):
    for lost in ("lose_requests", "lose_answers"):
        setattr(client.wire, lost, 2)
        before = client.summary()["totals"]["decisions"] if lost == "never" else None
        client.wire.sent.clear()
        decision = client.ask()
        keys = {request.headers["idempotency-key"] for request in client.wire.sent}
        assert (len(client.wire.sent), len(keys)) == (3, 1), before
        setattr(client.wire, lost, 1)
        assert client.tell(decision, 0.5) in ("accepted", "duplicate")
    totals = client.summary()["totals"]
    assert (totals["decisions"], totals["rewards"]) == (2, 2), "nothing happened twice"


def test_the_client_gives_up_in_time_and_repeats_no_refusal(http):
    impatient = Client("http://127.0.0.1:9", "shop", "x", timeout=0.2, patience=0.1)
    with impatient, pytest.raises(ServiceError, match="does not answer") as caught:
        impatient.ask()
    assert caught.value.status is None
    stranger = Client("http://testserver", "shop", "ocucb_1_x")
    wire = Wire(http)
    wire.attach(stranger)
    with pytest.raises(ServiceError, match="a valid token is needed"):
        stranger.ask()
    assert len(wire.sent) == 1


def test_metrics_are_what_prometheus_reads(http):
    from prometheus_client.parser import text_string_to_metric_families

    http("POST", "/v1/bandits/x/decisions", {"count": 7})
    http("POST", "/v1/bandits/nobody/decisions")
    answer = http("GET", "/metrics")
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert samples["ocucb_events_total", (("kind", "decision"),)] == 7
    route = "/v1/bandits/{name}/decisions"
    labels = [("method", "POST"), ("route", route)]
    for status in ("200", "404"):
        assert samples["ocucb_http_requests_total", (*labels, ("status", status))] == 1
    assert samples["ocucb_http_seconds_count", (("route", route),)] == 2
