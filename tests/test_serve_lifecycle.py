"""A bandit's life: archived, deleted, exported, backed up; a server that says when it is ready."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from helpers import invoke, wait_until
from ocucb.serve import export, metrics, tables
from ocucb.serve.check import check
from ocucb.serve.errors import UnknownBandit
from ocucb.serve.machine import Machine
from ocucb.serve.models import Change, DecisionsRequest, RewardItem
from ocucb.serve.service import Service
from ocucb.serve.storage import Storage
from serving import RULES, Http, _program, rules

PATH = "/v1/bandits/x"


@pytest.fixture
def either(opened):
    """The service on either database, with a bandit x."""
    made = Http(opened)
    with made.client:
        made("PUT", PATH, {**RULES, "expiry": 60})
        yield made


def play(http, count=4, rewards=2):
    """Make decisions, some of which are rewarded."""
    found = http("POST", f"{PATH}/decisions", {"count": count}).json()["decisions"]
    items = [{"decision": one["id"], "reward": i / 4} for i, one in enumerate(found[:rewards])]
    http("POST", f"{PATH}/rewards", items)
    return found


# Archived and deleted


def test_an_archived_bandit_rests_and_can_be_brought_back(either):
    found = play(either)
    assert either("PATCH", PATH, {"archived": True}).json()["archived"] is True
    version = either.version()
    either("PATCH", PATH, {"archived": True})
    assert either.version() == version, "a repeat changes nothing"
    refused = either("POST", f"{PATH}/decisions")
    assert (refused.status_code, refused.json()["error"]) == (
        409, "bandit 'x' is archived; bring it back with PATCH.",
    )  # fmt: skip
    late = [{"decision": found[2]["id"], "reward": 1}]
    said = either("POST", f"{PATH}/rewards", late).json()["rewards"]
    assert said[0]["status"] == "accepted"
    assert either("GET", "/v1/bandits").json()["bandits"] == []
    (listed,) = either("GET", "/v1/bandits?archived=true").json()["bandits"]
    assert (listed["name"], listed["archived"]) == ("x", True)
    assert either("PUT", PATH, {**RULES, "expiry": 60}).status_code == 200, "it exists"
    either("PATCH", PATH, {"archived": False})
    assert len(play(either)) == 4
    assert [one.problem for one in check(either.storage)] == [None]
    with either.storage.writing() as connection:
        connection.execute(sa.text("UPDATE bandits SET archived = NOT archived"))
    assert ["state differs" in one.problem for one in check(either.storage)] == [True]


def test_only_what_is_archived_can_be_deleted_and_nothing_of_it_remains(either):
    play(either)
    either("PUT", "/v1/bandits/y", RULES)
    refused = either("DELETE", PATH)
    assert (refused.status_code, refused.json()["error"]) == (
        409, "bandit 'x' is in use; archive it with PATCH, then delete it.",
    )  # fmt: skip
    either("PATCH", PATH, {"archived": True})
    assert either("DELETE", PATH, token=either.decider).status_code == 403
    assert either("DELETE", PATH).json() == {"deleted": "x"}
    for method, path in (("GET", ""), ("POST", "/decisions"), ("GET", "/log"), ("DELETE", "")):
        assert either(method, f"{PATH}{path}").status_code == 404
    with either.storage.reading() as connection:
        (left,) = connection.execute(sa.select(tables.bandits.c.id)).scalars()
        for table in (tables.arms, tables.log, tables.requests, tables.history):
            found = connection.execute(sa.select(table.c.bandit)).scalars().all()
            assert set(found) <= {left}


def test_requests_that_wait_behind_a_deletion_are_refused(opened):
    one = Service(opened)
    one.create("x", rules())
    one.change("x", Change(archived=True)).result(60)
    with opened.writing():  # so that what follows waits together
        waiting = [one.change("x", Change(paused=True)), one.delete("x")]
        waiting += [one.delete("x"), one.change("x", Change(archived=False))]
    waiting[0].result(60), waiting[1].result(60)
    for future in waiting[2:]:
        with pytest.raises(UnknownBandit):
            future.result(60)
    one.close()


def test_a_server_does_not_take_a_new_bandit_for_the_one_that_another_has_deleted(opened):
    """Same name, same version, and with SQLite the same number: only the secret differs."""
    one, other = Service(opened), Service(opened)
    one.create("x", rules())
    other.decide("x", DecisionsRequest(count=2)).result(60)  # it keeps the bandit in memory
    one.change("x", Change(archived=True)).result(60)
    other.decide("nobody", DecisionsRequest())
    one.delete("x").result(60)
    one.create("x", rules(arms=["new 1", "new 2"], policy="uniform"))
    one.decide("x", DecisionsRequest(count=2)).result(60)
    (decision,) = other.decide("x", DecisionsRequest()).result(60)
    assert decision["arm"].startswith("new")
    assert [(found.decisions, found.problem) for found in check(opened)] == [(3, None)]
    one.close(), other.close()


# The log as rows


def test_joined_rows_are_decisions_with_their_outcomes(either):
    """Compared with a join of the entries, by hand."""
    first = play(either, 5, 2)
    either.clock.pass_seconds(61)
    either("POST", f"{PATH}/rewards", [{"decision": first[3]["id"], "reward": 1}])  # late
    play(either, 3, 1)
    entries = [json.loads(line) for line in either("GET", f"{PATH}/log").text.splitlines()]
    assert {entry["kind"] for entry in entries} == {"decision", "reward", "expired", "late"}
    closed = {
        entry["decision"]: entry for entry in entries if entry["kind"] in ("reward", "expired")
    }
    expected = []
    for entry in entries:
        if entry["kind"] == "decision":
            end = closed.get(entry["decision"], {"kind": "open"})
            names = "seq at at_iso decision arm propensity unit context expires_at expires_at_iso"
            row = {key: entry[key] for key in names.split()}
            row |= {"epoch": 1, "outcome": end["kind"], "reward": end.get("reward"), "guard": None}
            expected.append({**row, "closed_at": end.get("at"), "closed_at_iso": end.get("at_iso")})
    lines = either("GET", f"{PATH}/log?joined=true").text.splitlines()
    assert [json.loads(line) for line in lines] == expected
    assert [row["outcome"] for row in expected].count("open") == 2
    page = either("GET", f"{PATH}/log?joined=true&limit=2&after={expected[1]['seq']}")
    assert [json.loads(line) for line in page.text.splitlines()] == expected[2:4]
    assert expected[0]["at_iso"] == "2023-11-14T22:13:20.000000Z"


@pytest.mark.parametrize("joined", [True, False])
def test_every_format_says_the_same(joined, either):
    import pyarrow.parquet

    hostile = 'a "quoted", name; =1+1\u202e'
    either("PATCH", PATH, {"add": [hostile], "retire": ["a", "b", "c"]})
    play(either)
    query = f"{PATH}/log?joined={joined}&format="
    lines = [json.loads(line) for line in either("GET", f"{query}ndjson").text.splitlines()]
    answer = either("GET", f"{query}csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    table = list(csv.DictReader(io.StringIO(answer.content.decode(), newline="")))
    parquet = either("GET", f"{query}parquet")
    found = pyarrow.parquet.read_table(io.BytesIO(parquet.content)).to_pylist()
    flat = [
        {key: json.dumps(one) if isinstance(one, dict) else one for key, one in line.items()}
        for line in lines
    ]
    assert any(row["arm"] == hostile for row in flat)
    assert [set(row) for row in found] == [set(row) for row in flat]
    for row, other in zip(found, flat, strict=True):
        change = [one.pop("change", None) for one in (row, other)]
        assert row == other
        assert [one and json.loads(one) for one in change[:1]] == [
            one and json.loads(one) for one in change[1:]
        ]
    assert len(table) == len(flat)
    for row, other in zip(table, flat, strict=True):
        for key, value in other.items():
            said = row[key]
            assert (
                float(said) == value if isinstance(value, float) else said == str(value or "")
            ) or (value == 0 and said == "0")


def test_an_empty_log_is_an_empty_table(http):
    import pyarrow.parquet

    answer = http("GET", f"{PATH}/log?joined=true&format=parquet").content
    assert pyarrow.parquet.read_table(io.BytesIO(answer)).column_names == list(export.JOINED)
    text = http("GET", f"{PATH}/log?format=csv").text
    assert text.strip() == ",".join(export.ENTRY)


def test_parquet_names_its_extra(http, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = http("GET", f"{PATH}/log?format=parquet")
    assert answer.status_code == 422
    assert answer.json()["error"] == (
        "format parquet needs pyarrow on the server: pip install 'ocucb[parquet]', or use csv."
    )


# Ready


def test_a_server_is_ready_once_it_has_rehearsed_every_kind_of_bandit(opened, monkeypatch):
    """And no more than once, and nothing of that is stored."""
    one = Service(opened)
    kinds = [{}, {"policy": "uniform"}, {"bounds": None, "sigma": 2.0}, {"floor": 0.1}, {}]
    for i, changes in enumerate(kinds):
        one.create(f"b{i}", rules(**changes))
    one.create("asleep", rules(policy="greedy"))
    one.change("asleep", Change(archived=True)).result(60)
    one.close()
    rehearsed, rehearse = [], Machine.rehearse
    wait = []

    def slowly(self):
        wait_until(lambda: wait, "the first look")
        rehearsed.append(self.rules)
        rehearse(self)

    monkeypatch.setattr(Machine, "rehearse", slowly)
    made = Http(opened)
    with made.client:
        refused = made.client.get("/readyz")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "are being compiled" in refused.json()["error"]
        assert made.client.get("/healthz").status_code == 200, "it is alive"
        wait.append(0)
        wait_until(lambda: made.client.get("/readyz").status_code == 200, "ready")
        assert len(rehearsed) == 4
        listed = made("GET", "/v1/bandits").json()["bandits"]
        assert {one["totals"]["decisions"] for one in listed} == {0}
    assert all(found.problem is None for found in check(opened))


def test_a_bandit_that_cannot_be_loaded_keeps_no_server_from_starting(sqlite_storage, caplog):
    one = Service(sqlite_storage)
    for name in ("broken", "good"):
        one.create(name, rules())
    one.close()
    with sqlite_storage.writing() as connection:
        connection.execute(sa.text("UPDATE bandits SET stream = 'x' WHERE name = 'broken'"))
    made = Http(sqlite_storage)
    with made.client:
        wait_until(lambda: made.client.get("/readyz").status_code == 200, "ready")
        assert made("POST", "/v1/bandits/good/decisions").status_code == 200
    assert [record.facts["bandit"] for record in caplog.records if record.msg == "warm"] == [
        "broken"
    ]


# Metrics


def test_labels_of_bandits_are_bounded(opened, monkeypatch):
    monkeypatch.setattr(metrics, "MOST_LABELLED", 3)
    made = Http(opened)
    with made.client:
        for i in range(5):
            made("PUT", f"/v1/bandits/b{i}", {**RULES, "policy": "uniform"})
            made("POST", f"/v1/bandits/b{i}/decisions", {"count": i + 1})
        text = made("GET", "/metrics").text
    counts = {
        line.partition('bandit="')[2].partition('"')[0]: float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line.startswith("ocucb_events_total{")
    }
    assert counts == {"b0": 1, "b1": 2, "b2": 3, metrics.OTHERS: 4 + 5}
    assert 'ocucb_open_decisions{bandit="b4"} 5.0' in text
    assert 'ocucb_health_notes{bandit="b4"} 0.0' in text


def test_metrics_come_without_a_store(http):
    assert "ocucb_open_decisions" in http("GET", "/metrics").text
    Path(http.storage.place).unlink()
    text = http("GET", "/metrics").text
    assert "ocucb_http_requests_total" in text
    assert "ocucb_open_decisions" not in text


# Backups


def test_a_backup_goes_on_where_it_was_made(store, tmp_path):
    """With the commands of docs/howto/production.md; rewards come in before and after."""
    made = Storage(store)
    one = Service(made)
    one.create("x", rules())
    found = one.decide("x", DecisionsRequest(count=3)).result(60)
    copy = str(tmp_path / "copy")
    if made.is_sqlite:
        assert invoke("serve", "backup", copy, "--store", store).exit_code == 0
    else:
        refused = invoke("serve", "backup", copy, "--store", store)
        assert refused.exit_code == 2
        assert "for PostgreSQL use pg_dump --format=custom" in refused.stderr
        dump = [_program("pg_dump"), "--format=custom", f"--file={copy}.dump", store]
        subprocess.run(dump, check=True, timeout=60)
    item = RewardItem(decision=found[0]["id"], reward=1.0)
    assert one.reward("x", [item]).result(60) == ["accepted"]
    one.close(), made.close()
    if not made.is_sqlite:
        copy = re.sub(r"/test\d+\?", "/restored?", store)
        create = [_program("createdb"), f"--maintenance-db={store}", "restored"]
        subprocess.run(create, check=True, timeout=60)
        restore = [_program("pg_restore"), f"--dbname={copy}", f"{tmp_path}/copy.dump"]
        subprocess.run(restore, check=True, timeout=60)
    back = Storage(copy)
    assert [(found.decisions, found.rewards, found.problem) for found in check(back)] == [
        (3, 0, None)
    ]
    again = Service(back)
    assert again.reward("x", [item]).result(60) == ["accepted"], "ids are still good"
    again.close(), back.close()


def test_a_backup_replaces_nothing(tmp_path):
    Storage(str(tmp_path / "store.db")).close()
    (tmp_path / "there").write_text("something")
    for name, sentence in (("there", "is there already"), ("no/where", "is not a folder")):
        done = invoke("serve", "backup", tmp_path / name, "--store", tmp_path / "store.db")
        assert done.exit_code == 2
        assert sentence in done.stderr
    assert (tmp_path / "there").read_text() == "something"
    done = invoke("serve", "backup", tmp_path / "copy", "--store", tmp_path / "nothing.db")
    assert "there is no store" in done.stderr
