"""Stores of the service: they disappear, fill up, are damaged, or have another schema."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from helpers import ROOT, invoke
from ocucb.serve import health, storage, tables, tokens
from ocucb.serve.check import check
from ocucb.serve.machine import Machine
from ocucb.serve.models import DecisionsRequest, RewardItem
from ocucb.serve.service import Service
from ocucb.serve.storage import Storage
from ocucb.serve.turn import Work
from serving import RULES, Clock, Http, rules

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
        assert [(checked.decisions, checked.problem) for checked in check(http.storage)] == [
            (2, None)
        ]


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
        assert len(connection.execute(sa.select(tables.probe)).all()) == 1
        assert connection.execute(sa.select(tables.log)).all() == []


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
        return {str(status) for status in slow}, {str(status) for status in refused}

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
    assert all(checked.problem is None for checked in check(opened))


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
    labels = {"bandit": "x", "kind": "reward"}
    assert one.registry.get_sample_value("ocucb_events_total", labels) == 200
    assert [found.problem for found in check(opened)] == [None]
    one.close()


def test_a_request_that_fails_takes_no_other_down(sqlite_storage, monkeypatch):
    one = Service(sqlite_storage)
    one.create("x", rules())
    gate_open, begun = threading.Event(), threading.Event()
    original = Machine.choose

    def choose(self, *given):
        begun.set()
        assert gate_open.wait(60)
        return original(self, *given)

    monkeypatch.setattr(Machine, "choose", choose)
    first = one.decide("x", DecisionsRequest())
    assert begun.wait(60)  # the others now wait together
    good = [one.decide("x", DecisionsRequest()) for _ in range(3)]
    broken = one.lanes.submit("x", Work(lambda turn: 1 / 0))
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
        connection.execute(tables.log.insert(), row)
    one.close()


# Versions of the schema


def test_migrations_give_the_tables_of_the_program(opened):
    with opened.reading() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, tables.metadata) == []


NEWEST = max(path.name for path in (storage.MIGRATIONS / "versions").glob("0*.py"))[:4]
LATER = f"""
from alembic import op
import sqlalchemy as sa
revision, down_revision = "9999", "{NEWEST}"
def upgrade():
    op.add_column("bandits", sa.Column("note", sa.Text))
    {{}}
"""


def test_a_store_of_the_first_release_goes_on(tmp_path):
    """What 0.1.0 left in a file is opened, passes its check, and plays what 0.1.0 played next."""
    path = tmp_path / "store.db"
    with sqlite3.connect(path) as connection:
        connection.executescript((ROOT / "tests" / "data" / "service_0.1.0.sql").read_text("utf-8"))
    connection.close()
    made = Storage(str(path))
    service = Service(made, clock=Clock())
    for name, then in (("clicks", "bbbabbbc"), ("bare", "babbabba")):
        found = service.decide(name, DecisionsRequest(count=8)).result(60)
        assert "".join(decision["arm"] for decision in found) == then
    service.close()
    assert [(checked.decisions, checked.problem) for checked in check(made)] == [
        (20, None),
        (20, None),
    ]
    made.close()


def test_an_older_store_is_migrated_whole_or_not_at_all(store, tmp_path):
    token = tokens.add_token(made := Storage(store), "decide")
    made.close()
    versions = (storage.MIGRATIONS / "versions", tmp_path / "later")
    versions[1].mkdir()
    (versions[1] / "9999_later.py").write_text(LATER.format("1 / 0"))
    with pytest.raises(ZeroDivisionError):
        Storage(store, versions)
    Storage(store).close()  # as it was
    (versions[1] / "9999_later.py").write_text(LATER.format(""))
    shutil.rmtree(versions[1] / "__pycache__", ignore_errors=True)
    made = Storage(store, versions)
    with made.reading() as connection:
        names = [column["name"] for column in sa.inspect(connection).get_columns("bandits")]
    assert "note" in names
    assert tokens.Authenticator(made).find(token) is not None
    sqlite = made.is_sqlite
    made.close()
    with pytest.raises(ValueError, match="has schema 9999, which is newer than this ocucb knows"):
        Storage(store)
    if sqlite:
        backup = Storage(f"{store}.{NEWEST}.backup")
        assert tokens.Authenticator(backup).find(token) is not None
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
