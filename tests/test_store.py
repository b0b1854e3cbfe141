"""Stores: what is finished is never lost and never counted twice."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress

import pytest

import ocucb
from helpers import background, invoke, killed_after, run_with_folder, same, wait_until
from ocucb.specification import run_blocks
from ocucb.store import Store, StoreError
from store_cases import CALL, PROBLEM, specification


def test_it_goes_on_where_it_was(tmp_path, played):
    path = tmp_path / "results.db"
    ocucb.simulate(**CALL, runs=1024, store=path)
    assert sum(runs for _, runs in played) == 1024
    more = ocucb.simulate(**CALL, runs=5000, store=path)
    assert sum(runs for _, runs in played) == 5000, "old runs were played again"
    assert same(more, ocucb.simulate(**CALL, runs=5000))
    del played[:]
    again = ocucb.simulate(**CALL, runs=5000, store=path)
    assert not played
    assert same(more, again)
    fewer = ocucb.simulate(**CALL, runs=1000, store=path)
    assert sum(runs for _, runs in played) < 128  # the end of a block that was larger
    assert same(fewer, ocucb.simulate(**CALL, runs=1000))
    assert not list(tmp_path.glob("*-wal")), "a closed store is one file"


def test_a_store_asks_for_a_seed(tmp_path):
    with pytest.raises(ValueError, match="a store needs a seed to resume from: pass rng="):
        ocucb.simulate("ucb", PROBLEM, 100, 10, store=tmp_path / "results.db")
    assert not list(tmp_path.iterdir())


def test_simulations_in_one_file_do_not_disturb_each_other(tmp_path, played):
    path = tmp_path / "results.db"
    calls = [
        {**CALL, "runs": 300},
        {**CALL, "policies": "ocucb:alpha=2", "runs": 300},
        {**CALL, "horizon": 1000, "runs": 300},
        {**CALL, "rng": 2**80, "runs": 300},
    ]
    first = [ocucb.simulate(**call, store=path) for call in calls]
    assert sum(runs for _, runs in played) == 1200
    assert all(
        same(one, ocucb.simulate(**call, store=path))
        for one, call in zip(first, calls, strict=True)
    )
    assert sum(runs for _, runs in played) == 1200
    with Store(path, read_only=True) as store:
        assert [(content.result.runs, content.seed) for content in store.contents()] == [
            (300, 1), (300, 1), (300, 1), (300, 2**80),
        ]  # fmt: skip


def test_contents_are_results(tmp_path):
    """What a store holds can be saved and shown like what `simulate` returned."""
    path = tmp_path / "results.db"
    result = ocucb.simulate(**{**CALL, "runs": 300, "rng": 1}, store=path)
    with Store(path) as store:
        (one,), (bare,) = store.contents(), store.contents(samples=False)
    result.save(tmp_path / "direct.json")
    one.save(tmp_path / "stored.json")
    assert (tmp_path / "direct.json").read_bytes() == (tmp_path / "stored.json").read_bytes()
    assert one.table() == result.table()
    assert " 300 " in repr(bare)
    assert (bare[0].deviation, bare[0].failure) == (one[0].deviation, one[0].failure)
    for a, b in zip(bare[0].tail_curve()[1:], one[0].tail_curve()[1:], strict=True):
        assert (a >= b).all(), "errors of tails without single runs are upper bounds"


def test_kill_at_any_moment(tmp_path, begun, monkeypatch):
    """Twenty processes are killed in the middle, at random; the last one finishes their work."""
    path = tmp_path / "results.db"
    call = {**CALL, "horizon": 20_000, "engine": "step", "runs": 6000}
    expected = ocucb.simulate(**call)
    blocks_in_all = begun.value
    assert blocks_in_all >= 24
    monkeypatch.setattr("ocucb.store._PAUSE", 0.0)  # commit whatever is finished
    dice = random.Random(1)
    held = []
    for _ in range(20):
        killed_after(
            dice.randint(1, 6), begun, lambda: ocucb.simulate(**call, store=path, workers=2)
        )
        if path.exists() and path.stat().st_size:
            with Store(path) as store:
                held.append(sum(content.result.runs for content in store.contents()))
    assert held == sorted(held), "committed runs were lost"
    assert 0 < held[-1] < 6000, "nothing was ever committed, or nothing killed"
    assert same(expected, ocucb.simulate(**call, store=path))
    with Store(path) as store:
        assert [content.result.runs for content in store.contents()] == [6000]


def test_several_processes_on_one_new_store(tmp_path):
    """Six processes start at once, on three simulations; nothing is counted twice."""
    path = tmp_path / "results.db"
    calls = [{**CALL, "runs": 3000, "rng": seed} for seed in (1, 2, 3)] * 2
    expected = [ocucb.simulate(**call) for call in calls]
    children = [background(lambda call=call: ocucb.simulate(**call, store=path)) for call in calls]
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0] * 6
    with Store(path) as store:
        found = store.contents()
    assert sorted((stored.seed, stored.result.runs) for stored in found) == [
        (1, 3000),
        (2, 3000),
        (3, 3000),
    ]
    for stored in found:
        assert (stored.result.regret == expected[stored.seed - 1][0].regret).all()


def test_full_disk(tmp_path):
    script = """
import ocucb
call = dict(policies=["ocucb:alpha=2", "ocucb"], problem=ocucb.gap(2, 0.3), horizon=2000, rng=1)
kept = ocucb.simulate(**call, runs=1024, store="results.db")
try:
    ocucb.simulate(**call, runs=400_000, store="results.db")
except ocucb.StoreError as error:
    print(error)
with ocucb.Store("results.db", read_only=True) as store:
    found = store.contents()
print([stored.result.runs >= 1024 for stored in found])
again = ocucb.simulate(**call, runs=1024, store="results.db")
print([bool((a.regret == b.regret).all()) for a, b in zip(kept, again)])
"""
    done = run_with_folder(tmp_path, "mount -t tmpfs -o size=400k none . && cd $PWD", script)
    said, held, right = done.stdout.splitlines(), "[True, True]", "[True, True]"
    assert said[0].startswith("results.db cannot grow (database or disk is full)"), done.stderr
    assert "free some disk space and run again" in said[0]
    assert said[1:] == [held, right]


def test_full_disk_on_the_command_line(tmp_path):
    """The runs that were played are shown, and other outputs are written."""
    script = """
import sys
from ocucb.cli import main
words = "simulate -p ocucb:alpha=2.5 --means 0,-0.3 -n 2000 -r 400000 --csv regret.csv"
sys.argv = ["ocucb", *words.split(), "--store", "full/results.db"]
main()
"""
    (tmp_path / "full").mkdir()
    done = run_with_folder(tmp_path, "mount -t tmpfs -o size=200k none full", script)
    assert done.returncode == 1, done.stderr
    assert "OCUCB(alpha=2.5)" in done.stdout
    (told,) = [line for line in done.stderr.splitlines() if line.startswith("Error")]
    assert told.startswith("Error: full/results.db cannot grow")
    assert "ocucb:alpha=2.5,psi=2" in (tmp_path / "regret.csv").read_text()


def test_read_only(tmp_path):
    path = tmp_path / "results.db"
    ocucb.simulate(**CALL, runs=500, store=path)
    before = path.read_bytes()
    script = """
import ocucb
try:
    ocucb.simulate("ocucb", ocucb.gap(2, 0.3), 2000, 600, rng=1, store="results.db")
except ocucb.StoreError as error:
    print(error)
with ocucb.Store("results.db", read_only=True) as store:
    print([stored.result.runs for stored in store.contents()])
"""
    mount = "mount --bind . . && mount -o remount,ro,bind . && cd $PWD"
    done = run_with_folder(tmp_path, mount, script)
    said = done.stdout.splitlines()
    assert said[0].startswith("results.db cannot be written"), done.stderr
    assert "choose another file, change its permissions" in said[0]
    assert said[1] == "[500]"
    assert path.read_bytes() == before


def test_locked_for_long(tmp_path, monkeypatch):
    path = tmp_path / "results.db"
    ocucb.simulate(**CALL, runs=100, store=path)
    monkeypatch.setattr("ocucb.store._PATIENCE", 0.2)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(StoreError, match="locked by another process"):
        ocucb.simulate(**CALL, runs=200, store=path)
    other.execute("rollback")
    other.close()
    assert ocucb.simulate(**CALL, runs=200, store=path)[0].runs == 200


def test_removed_while_running(tmp_path):
    path = tmp_path / "results.db"
    store = Store(path)
    store.add(specification(), run_blocks(specification(), [(0, 64)])[0])
    path.unlink()
    with pytest.raises(StoreError, match="was deleted in the meantime"):
        store.flush()
    store._database.close()


def test_wrong_places(tmp_path):
    with pytest.raises(StoreError, match="is not a file"):
        ocucb.simulate(**CALL, runs=10, store=tmp_path)
    with pytest.raises(StoreError, match=r"the folder of .* does not exist"):
        ocucb.simulate(**CALL, runs=10, store=tmp_path / "no" / "where.db")
    with pytest.raises(StoreError, match="there is no store"):
        Store(tmp_path / "nothing.db", read_only=True)
    empty = tmp_path / "empty.db"
    empty.touch()
    with pytest.raises(StoreError, match="is empty; simulate with --store to fill it"):
        Store(empty, read_only=True)
    assert ocucb.simulate(**CALL, runs=10, store=empty)[0].runs == 10


def test_interruption_commits_what_is_finished(tmp_path):
    path = tmp_path / "results.db"
    script = (
        "import ocucb; ocucb.simulate('ucb', ocucb.gap(), 10_000, 10**6, rng=1, engine='step', "
        f"sampling='plain', store={str(path)!r})"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)

    def committed():
        with suppress(StoreError), Store(path, read_only=True) as store:
            return store.contents()

    wait_until(committed, "a block committed")
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    with Store(path) as store:
        (one,) = store.contents()
    assert one.result.runs > 0
    expected = ocucb.simulate(
        "ucb", ocucb.gap(), 10_000, one.result.runs, rng=1, engine="step", sampling="plain"
    )
    assert (expected[0].regret == one.result.regret).all()


def test_command_line(tmp_path):
    path = tmp_path / "results.db"
    words = ["simulate", "-p", "ocucb", "-p", "ucb", "--means", "0,-0.3", "-n", "1e3", "--json"]
    first = invoke(*words, "--runs", "200", "--store", path)
    assert first.exit_code == 0, first.stderr
    direct = invoke(*words, "--runs", "200", "--seed", "0")
    assert [load["mean_regret"] for load in json.loads(first.stdout)] == [
        load["mean_regret"] for load in json.loads(direct.stdout)
    ]
    invoke("simulate", "-p", "ucb", "--problem", "uniform:K=3", "-n", "100", "--store", path)
    listed = invoke("results", path).stdout.splitlines()
    assert len(listed) == 4
    heads = "policy problem horizon seed runs mean regret ± 2 s.e. engine age"
    assert listed[0].split() == heads.split()
    assert listed[1].startswith("OCUCB")
    assert " 200 " in listed[1]
    assert "uniform:K=3" in listed[3]
    one = json.loads(invoke("results", path, "--policy", "ocucb", "--json").stdout)
    assert len(one) == 1
    assert one[0]["mean_regret"] == json.loads(first.stdout)[0]["mean_regret"]
    table, picture = tmp_path / "r.csv", tmp_path / "r.png"
    drawn = invoke("results", path, "--problem", "means", "--csv", table, "--plot", picture)
    assert drawn.exit_code == 0, drawn.stderr
    rows = table.read_text().splitlines()
    assert len(rows) > 40
    assert not any("uniform" in row for row in rows)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert rows[0].endswith(",rewards,sigma,sigmas,seed")
    assert rows[1].endswith(",gaussian,1.0,,0")
    piped = subprocess.run(
        f"{sys.executable} -m ocucb results {path} --csv /dev/stdout | cat",
        shell=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "problem,policy,engine" in piped.stdout
    assert invoke("results", path, "--seed", "1").stdout == "no simulations found\n"
    assert invoke("results", path, "--problem", "nowhere").stdout == "no simulations found\n"
    failed = invoke("results", path, "--seed", "first")
    assert failed.exit_code == 2
    assert "--seed must be a number, got 'first'" in failed.stderr
    failed = invoke("results", path, "--problem", "nowhere", "--plot", picture)
    assert failed.exit_code == 2
    assert "there are 0 problems to draw" in failed.stderr
    failed = invoke("results", tmp_path / "none.db")
    assert failed.exit_code == 1
    assert failed.stderr.startswith("Error: there is no store")
