"""Stores: what is finished is never lost, never counted twice, and never changes a bit."""

from __future__ import annotations

import enum
import functools
import json
import math
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import types
import warnings
import zlib
from contextlib import suppress
from math import log, sqrt
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.compiler import Compiler
from numba.extending import register_jitable

import ocucb
from helpers import DATA, background, invoke, killed_after, run_with_folder, same, wait_until
from ocucb import engine
from ocucb.importance import first_mixture
from ocucb.policies import FAMILIES
from ocucb.specification import Specification, run_blocks
from ocucb.store import Store, StoreError, _place

NUMERICS = DATA / "numerics.json"
PROBLEM = ocucb.gap(2, 0.3)
CALL = {"policies": "ocucb", "problem": PROBLEM, "horizon": 2000, "rng": 1}


def specification(**change) -> Specification:
    facts = {
        "policy": ocucb.OCUCB(),
        "problem": PROBLEM,
        "horizon": 2000,
        "checkpoints": np.array([2000]),
        "seed": 1,
        "engine": "step",
        **change,
    }
    return Specification(**facts)


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
        assert [(one.result.runs, one.seed) for one in store.contents()] == [
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


def test_identity_covers_what_changes_the_numbers(monkeypatch):
    def bonus(constant):
        def mine(pulls, t, horizon, arms):
            return sqrt(constant / pulls * log(horizon))

        return ocucb.index_policy(mine)()

    def louder(mean, scale, stream):
        return mean + scale

    def softer(mean, scale, stream):
        return mean - scale

    softer.__name__ = "louder"
    plain = specification()
    others = [
        specification(policy=ocucb.OCUCB(alpha=2)),
        specification(policy=ocucb.MOSS()),
        specification(problem=ocucb.gap(2, 0.31)),
        specification(problem=ocucb.gap(3, 0.3)),
        specification(problem=ocucb.gap(2, 0.3, sigma=2)),
        specification(problem=ocucb.uniform_rewards(PROBLEM.means)),
        specification(problem=ocucb.custom_rewards(louder, [0, -0.3], 1.0)),
        specification(problem=ocucb.custom_rewards(softer, [0, -0.3], 1.0)),
        specification(horizon=2001, checkpoints=np.array([2001])),
        specification(checkpoints=np.array([10, 2000])),
        specification(seed=2),
        specification(engine="skip"),
        specification(mixture=first_mixture(PROBLEM, 2000)),
        specification(mixture=first_mixture(PROBLEM, 100)),
        specification(policy=bonus(1.0)),
        specification(policy=bonus(2.0)),
    ]
    names = {one.identity for one in (plain, *others)}
    assert len(names) == 1 + len(others)
    monkeypatch.setattr("ocucb.specification.NUMERICS", engine.NUMERICS + 1)
    assert specification().identity not in names


def helper_with(default):
    def helper(x, factor=default):
        return factor * x

    return numba.njit(helper)


def chain(depth):
    """Two functions that call each other."""

    def one(x):
        return x if x < depth else two(x - 1.0)

    def two(x):
        return one(x - 1.0)

    return one


def policy_using(thing, how, arms="arms"):
    """A policy whose formula refers to something."""
    space = {"thing": thing, "sqrt": sqrt}
    exec(f"def mine(pulls, t, horizon, {arms}):\n    return sqrt({how} / pulls)", space)
    return ocucb.index_policy(space["mine"])()


def function(text):
    space = {}
    exec(f"def helper{text}", space)
    return space["helper"]


def scaled(factor, inner):
    """A function that calls another with the same code."""

    @numba.njit
    def helper(x):
        return factor * inner(x)

    return helper


def doubled(x):
    return 2.0 * x


def both_named(text):
    """A function with a variable and a global of the same name, which one inside uses."""
    space = {"x": text}
    exec(
        "def around(x):\n"
        "    def helper(y):\n"
        "        def inner():\n"
        "            global x\n"
        "            return x\n"
        "        return x + inner()\n"
        "    return helper",
        space,
    )
    return numba.njit(space["around"](1.0))


class Pair(NamedTuple):
    x: float = 1.0
    y: float = 2.0


class Swapped(NamedTuple):
    y: float = 1.0
    x: float = 2.0


class Other(NamedTuple):
    x: float = 1.0
    y: float = 3.0


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Turned(enum.IntEnum):
    LOW = 2
    HIGH = 1


class Doubling(enum.IntEnum):
    LOW = 1
    HIGH = 2

    def twice(self):
        return 2 * self


class Adding(NamedTuple):
    x: float = 1.0

    def more(self):
        return self.x + 1.0


def settings(value):
    module = types.ModuleType("settings")
    module.C = value
    return module


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        (2.0, 3.0, "thing"),
        (settings(2.0), settings(3.0), "thing.C"),
        (helper_with(2.0), helper_with(3.0), "thing(1.0)"),
        ((np.arange(2000.0),), (np.arange(2000.0) ** 2,), "thing[0][3]"),
        (numba.vectorize(lambda x: x + 1.0), numba.vectorize(lambda x: x + 2.0), "thing(1.0)"),
        (chain(3.0), chain(4.0), "thing(1.0)"),
        (np.zeros(3), np.ones(3), "thing[0]"),
        (np.zeros((2, 2)), np.zeros((2, 2), order="F"), "thing[0, 0]"),
        (np.zeros(1, "f8, i8"), np.zeros(1, "i8, f8"), "thing[0]['f0']"),
        (np.dtype("f8"), np.dtype("f4"), "thing.type(1.0)"),
        (0.0, -0.0, "thing"),
        (math.nan, -math.nan, "thing"),
        (1.0, np.float32(1.0), "thing"),
        (1.0, True, "thing"),
        ((1.0, 2.0), [1.0, 2.0], "thing[0]"),
        ({"a": 1.0}, {"a": 2.0}, "thing['a']"),
        (np.sqrt, np.exp, "thing(t)"),
        (sqrt, math.exp, "thing(t)"),
        (numba.float64, numba.int8, "thing(t)"),
        (Pair(), Swapped(), "thing.x"),
        (Pair, Swapped, "thing(1.0, 2.0).x"),
        (Pair, Other, "thing().y"),
        (Pair(), (1.0, 2.0), "thing[0]"),
        (Level, Turned, "thing.LOW"),
        (Level.LOW, Level.HIGH, "thing"),
        (Level.LOW, 1, "thing"),
        (
            numba.njit(function("(a, b): return a / b")),
            numba.njit(function("(b, a): return b / a")),
            "thing(a=t, b=2.0)",
        ),
        (numba.njit(doubled), numba.njit(fastmath=True)(doubled), "thing(t)"),
        (
            numba.njit(fastmath={"nnan"})(doubled),
            numba.njit(fastmath={"ninf"})(doubled),
            "thing(t)",
        ),
        (numba.njit(doubled), numba.njit(error_model="numpy")(doubled), "thing(t)"),
        (numba.njit(doubled), numba.njit(locals={"x": numba.float32})(doubled), "thing(t)"),
        (numba.njit(doubled), numba.njit("float32(float32)")(doubled), "thing(t)"),
        (numba.vectorize(doubled), numba.vectorize(["f4(f4)"])(doubled), "thing(t)"),
        (numba.njit(doubled), numba.vectorize(doubled), "thing(t)"),
        (
            scaled(2.0, scaled(3.0, numba.njit(doubled))),
            scaled(2.0, scaled(4.0, numba.njit(doubled))),
            "thing(t)",
        ),
        (both_named(2.0), both_named(3.0), "thing(t)"),
        (
            numba.njit(function("(x):\n    'a'\n    return len('a')")),
            numba.njit(function("(x):\n    'ab'\n    return len('ab')")),
            "thing(t)",
        ),
        (
            numba.njit(function("(x): return x in {1.0, 2.0}")),
            numba.njit(function("(x): return x in {1.0, 3.0}")),
            "thing(t)",
        ),
        (
            numba.njit(function("(x): return (0.0, x)[0]")),
            numba.njit(function("(x): return (-0.0, x)[0]")),
            "thing(t)",
        ),
        (
            numba.njit(function("(x, *more): return x")),
            numba.njit(function("(x, more=()): return x")),
            "thing(t)",
        ),
    ],
)
def test_identity_covers_what_a_formula_refers_to(one, other, how):
    for thing in (one, other):
        assert policy_using(thing, how).family.code.unknown is None
    names = [specification(policy=policy_using(thing, how)).identity for thing in (one, one, other)]
    assert names[0] == names[1]
    assert names[0] != names[2]


def test_identity_covers_the_names_of_arguments():
    """`arms` and `effective_arms` are different numbers, though the instructions are the same."""
    names = ("arms", "effective_arms")
    one, other = (specification(policy=policy_using(None, name, name)) for name in names)
    assert one.identity != other.identity
    assert (one._key != other._key).all(), "streams of their own"


def test_identity_covers_what_a_wrapper_stands_for():
    """Names of arguments are read from what it wraps."""
    names = set()
    for name in ("arms", "effective_arms"):

        @functools.wraps(policy_using(None, name, name).family.source)
        def mine(*given):
            return given[3]

        names.add(specification(policy=ocucb.index_policy(mine)()).identity)
    assert len(names) == 2


def test_identity_covers_which_of_our_formulas_a_users_policy_has():
    sources = (ocucb.UCB.source, ocucb.MOSS.source)
    mine = [ocucb.index_policy(name="mine", label="mine")(one)() for one in sources]
    assert not any(policy.is_ours for policy in mine)
    assert mine[0].name == mine[1].name
    one, other = (specification(policy=policy).identity for policy in mine)
    assert one != other


class Strange:
    def method(self):
        return 1.0


@register_jitable
def registered(x):
    return x


@pytest.mark.parametrize(
    "thing",
    [
        Strange(),
        Strange,
        Strange().method,
        functools.partial(doubled, 1.0),
        registered,
        numba.guvectorize("(n)->()")(doubled),
        numba.cfunc("f8(f8)")(doubled),
        numba.float64[:],
        numba.njit(pipeline_class=type("Mine", (Compiler,), {}))(doubled),
        Doubling,
        Doubling.LOW,
        Adding,
        Adding(),
        type("Number", (float,), {})(1.0),
        np.array([None]),
        np.ma.array([1.0]),
        np.poly1d([1.0]),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_cannot_be_told_apart_is_refused(thing, tmp_path):
    policy = policy_using(thing, "thing.x")
    with (
        pytest.warns(UserWarning, match="other numbers each time, whatever the seed, because ver"),
        pytest.raises(ValueError, match=r"a store cannot tell .* from another version of it"),
    ):
        ocucb.simulate(policy, PROBLEM, 100, 10, rng=1, store=tmp_path / "results.db")
    assert not (tmp_path / "results.db").exists()
    names = {specification(policy=policy.retaken()).identity for _ in range(2)}
    assert len(names) == 2, "a fresh meaning each time"


def test_identity_covers_nothing_else():
    def first(pulls, t, horizon, arms):
        """Said in one way."""
        return sqrt(2.0 / pulls)

    def again(pulls, t, horizon, arms):
        # said in another
        return sqrt(2.0 / pulls)

    again.__name__ = "first"
    assert specification().identity == specification().identity
    named = ocucb.gaussian([0, -0.3])
    assert named.name != PROBLEM.name
    assert specification(problem=named).identity == specification().identity
    mine = [ocucb.index_policy(one)() for one in (first, again)]
    assert len({specification(policy=one).identity for one in mine}) == 1


@pytest.mark.parametrize("name", FAMILIES)
def test_numbers_are_those_of_this_numerical_version(name):
    """When this fails on purpose, raise `engine.NUMERICS`: old stores hold other numbers.

    Then write the new ones with ``python tests/test_store.py``.
    """
    known = json.loads(NUMERICS.read_text())
    assert known["numerics"] == engine.NUMERICS
    rows = {row: pair for row, pair in known["numbers"].items() if row.split()[0] == name}
    # Other versions of scipy give other last bits of tables, and luck depends on these.
    rel = 1e-9 if FAMILIES[name].table is None else 1e-8
    assert numbers(name) == {row: pytest.approx(pair, rel=rel) for row, pair in rows.items()}


def numbers(name: str) -> dict[str, list[float]]:
    found, family = {}, FAMILIES[name]
    for problem in (ocucb.gap(4, 0.5), ocucb.bernoulli([0.6, 0.4, 0.3])):
        if problem.rewards.binary or not family.binary:
            skips = ("index", "sampling") if problem.rewards.brownian else ("index",)
            skipping = family.kind in skips or family.challenge is not None
            for which in ("step", "skip") if skipping else ("step",):
                for sampling in ("plain", "tilted"):
                    one = ocucb.simulate(
                        name, problem, 400, 700, rng=3, engine=which, sampling=sampling
                    )[0]
                    row = f"{name} {problem.rewards.name} {which}"
                    row += " tilted" if sampling == "tilted" else ""
                    found[row] = [one.mean_regret, float(one.stderr[-1])]
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_checkpoints_do_not_change_what_is_played(name):
    """Nor what the pilot finds; but sampling policies on skip-ahead draw afresh at each of them.

    As docs/simulation.md says, under Seeds.
    """
    family = FAMILIES[name]
    for problem in (ocucb.gap(4, 0.5), ocucb.bernoulli([0.6, 0.4, 0.3])):
        for which in ("step", "skip"):
            for sampling in ("plain", "tilted"):
                if family.binary and not problem.rewards.binary:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # where the step engine plays instead
                    one, *others = (
                        ocucb.simulate(
                            name,
                            problem,
                            400,
                            65,
                            rng=3,
                            engine=which,
                            sampling=sampling,
                            checkpoints=checkpoints,
                        )[0]
                        for checkpoints in (None, [], [5, 6, 7, 150, 399], range(1, 400))
                    )
                draws = (one.engine, family.kind) == ("skip", "sampling")
                for other in others:
                    same_runs = (
                        (one.sample == other.sample).all()
                        and (one.weights == other.weights).all()
                        and (one.pulls == other.pulls).all()
                    )
                    assert same_runs == (not draws)
                    if not draws:
                        assert other.mean_regret == pytest.approx(one.mean_regret, rel=1e-13)
                        assert other.stderr[-1] == pytest.approx(one.stderr[-1], rel=1e-9)


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
                held.append(sum(one.result.runs for one in store.contents()))
    assert held == sorted(held), "committed runs were lost"
    assert 0 < held[-1] < 6000, "nothing was ever committed, or nothing killed"
    assert same(expected, ocucb.simulate(**call, store=path))
    with Store(path) as store:
        assert [one.result.runs for one in store.contents()] == [6000]


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
    assert sorted((one.seed, one.result.runs) for one in found) == [(1, 3000), (2, 3000), (3, 3000)]
    for one in found:
        assert (one.result.regret == expected[one.seed - 1][0].regret).all()


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
print([one.result.runs >= 1024 for one in found])
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
    print([one.result.runs for one in store.contents()])
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


def foreign(path):
    path.write_text("policy,regret\nucb,3\n")


def beginning_lost(path):
    whole = path.read_bytes()
    path.write_bytes(b"\0" * 100 + whole[100:])


def torn(path):
    path.write_bytes(path.read_bytes()[:5000])


def overwritten(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + random.Random(1).randbytes(len(whole) - 4096))


def of_another_program(path):
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("pragma application_id = 7")
        database.execute("create table friends (name)")
    database.close()


def plain_database(path):
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("create table friends (name)")
    database.close()


def older(path):
    with sqlite3.connect(path) as database:
        database.execute("pragma user_version = 1")
    database.close()


def newer(path):
    with sqlite3.connect(path) as database:
        database.execute("pragma user_version = 99")
    database.close()


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (foreign, "is not an ocucb store"),
        (beginning_lost, "is not an ocucb store, or its header is damaged"),
        (torn, "is damaged .* move it away and run again, or rescue"),
        (overwritten, "is damaged .* move it away and run again, or rescue"),
        (of_another_program, "is another program's database"),
        (plain_database, "is another program's database"),
        (older, "written by an older ocucb .format 1; this version reads 3.; use that version, or"),
        (newer, "written by a newer ocucb .format 99; this version reads 3"),
    ],
)
def test_what_is_no_store_is_left_alone(tmp_path, harm, words):
    path = tmp_path / "results.db"
    ocucb.simulate(**CALL, runs=3000, store=path)
    harm(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=words):
        ocucb.simulate(**CALL, runs=5000, store=path)
    with pytest.raises(StoreError, match=words), Store(path, read_only=True) as store:
        store.contents()
    assert path.read_bytes() == before


def test_a_damaged_block_is_played_again(tmp_path, played):
    path = tmp_path / "results.db"
    ocucb.simulate(**CALL, runs=1024, store=path)
    with sqlite3.connect(path) as database:
        database.execute("update blocks set moments = zeroblob(length(moments)) where first = 128")
    database.close()
    shown = "a block of OCUCB on gap:K=2,gap=0.3 is damaged, so 128 of its 1,024 runs are shown"
    with Store(path) as store, pytest.warns(UserWarning, match=f"results.db: {shown}"):
        assert [one.result.runs for one in store.contents()] == [128]
    told = command("results", path)
    assert told.exit_code == 0
    assert told.stderr == f"Note: {path}: {shown}; simulate again to restore the rest.\n"
    assert " 128 " in told.stdout
    del played[:]
    with pytest.warns(UserWarning, match="replaying a damaged block of OCUCB"):
        healed = ocucb.simulate(**CALL, runs=1024, store=path)
    assert played == [(128, 64)]
    assert same(healed, ocucb.simulate(**CALL, runs=1024))
    with Store(path) as store:
        assert [one.result.runs for one in store.contents()] == [1024]


def test_an_interrupted_commit_mixes_nothing_up(tmp_path, monkeypatch):
    """The rows that a transaction made are gone when it is rolled back; so is what we know of them.

    The blocks are committed later, and must not go to the simulation that has the row by then.
    """
    path = tmp_path / "results.db"
    with Store(path) as store:
        first, second = specification(), specification(policy=ocucb.UCB())
        store._pending = [(first, run_blocks(first, [(0, 64)])[0])]
        with monkeypatch.context() as change:
            change.setattr("ocucb.store._packed", lambda moments: 1 / 0)
            store._number(first)  # as if the interrupt had come after this
            with pytest.raises(ZeroDivisionError):
                store.flush()
        other = Store(path)
        other.add(second, run_blocks(second, [(0, 64)])[0])
        other.flush()
        store.flush()
        other._database.close()
        for one in (first, second):
            found = store.get(one, 0, 64)
            assert (found.moments.mean == one.play(0, 64).mean).all()
        found = {one.result.policy: one.result.mean_regret for one in store.contents()}
        assert found == {
            one.policy.name: float(one.play(0, 64).mean[-1]) for one in (first, second)
        }


def test_a_block_cannot_stand_for_another(tmp_path):
    path = tmp_path / "results.db"
    ocucb.simulate(["ucb", "moss"], PROBLEM, 2000, 64, rng=1, store=path)
    with sqlite3.connect(path) as database:
        (a, b) = (row[0] for row in database.execute("select moments from blocks order by rowid"))
        database.execute("update blocks set moments = ? where simulation = 1", (b,))
        database.execute("update blocks set moments = ? where simulation = 2", (a,))
    database.close()
    shown = "a block of (UCB|MOSS) on .* is damaged, so 0 of its 64 runs are shown"
    with Store(path) as store, pytest.warns(UserWarning, match=shown):
        assert store.contents() == []


def with_checksum(content: bytes):
    """A block of which only the content is wrong."""

    def harm(database):
        (identity,) = database.execute("select identity from simulations").fetchone()
        database.execute(
            "update blocks set moments = ?, checksum = ? where first = 64",
            (content, zlib.crc32(content, _place(identity, 64, 64))),
        )

    harm.__name__ = f"{len(content)} bytes with their checksum"
    return harm


def name_of(harm) -> str:
    return harm if isinstance(harm, str) else harm.__name__


ODD = [
    "update simulations set checkpoints = x'0102030405'",
    "update simulations set checkpoints = x''",
    "update simulations set checkpoints = 'text'",
    "update simulations set checkpoints = zeroblob(length(checkpoints))",
    "update simulations set means = x'00'",
    "update simulations set means = 7",
    "update simulations set seed = 'one'",
    "update simulations set seed = '-1'",
    "update simulations set seed = x'31'",
    "update simulations set seed = '1' || char(0)",
    "update simulations set horizon = 'many'",
    "update simulations set horizon = 0",
    "update simulations set horizon = 1999",
    "update simulations set sigma = 'wide'",
    "update simulations set sigma = 9e999",
    "update simulations set policy = x'ff'",
    "update simulations set label = x'ff'",
    "update simulations set sampling = 'biased'",
    "update blocks set runs = -5 where first = 64",
    "update blocks set runs = 'all' where first = 64",
    "update blocks set first = -64 where first = 64",
    "update blocks set first = 'early' where first = 64",
    "update blocks set moments = 'text' where first = 64",
    "update blocks set checksum = 'right' where first = 64",
    "update blocks set seconds = 'few' where first = 64",
    "update blocks set seconds = -1.0 where first = 64",
    "update blocks set finished = 'today' where first = 64",
    "update blocks set finished = 9e999 where first = 64",
    "drop table blocks",
    "alter table simulations drop column seed",
    with_checksum(b""),
    with_checksum(b"no zlib data"),
    with_checksum(zlib.compress(b"odd")),
    with_checksum(zlib.compress(b"\0" * 8 * 1000)),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "results.db"
    ocucb.simulate(**CALL, runs=512, store=path)
    return path


def tampered(sound, folder, harm) -> Path:
    path = folder / "results.db"
    shutil.copy(sound, path)
    with sqlite3.connect(path) as database:
        database.execute(harm) if isinstance(harm, str) else harm(database)
    database.close()
    return path


@pytest.mark.parametrize("harm", ODD, ids=name_of)
def test_rows_that_ocucb_did_not_write_are_one_sentence(harm, sound, tmp_path, played):
    path = tampered(sound, tmp_path, harm)
    before = path.read_bytes()
    words = rf"^{path} is damaged \([^\n]+\); it was left unchanged: [^\n]+$"
    with pytest.raises(StoreError, match=words), Store(path, read_only=True) as store:
        store.contents()
    with pytest.raises(StoreError, match=words):
        ocucb.simulate(**CALL, runs=512, store=path)
    assert not played
    told = command("results", path)
    assert told.exit_code == 1
    assert told.stdout == ""
    assert re.fullmatch(rf"Error: {path} is damaged [^\n]+\n", told.stderr)
    assert path.read_bytes() == before


@pytest.mark.parametrize("harm", ODD, ids=name_of)
def test_rows_of_files_too_large_to_look_through(harm, sound, tmp_path, monkeypatch):
    """What is not found at once is found when it is read, or does no harm."""
    path = tampered(sound, tmp_path, harm)
    monkeypatch.setattr("ocucb.store._CHECKED", 0)
    with suppress(StoreError), Store(path, read_only=True) as store, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store.contents()
    with suppress(StoreError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = ocucb.simulate(**CALL, runs=512, store=path)
        assert same(again, ocucb.simulate(**CALL, runs=512))


def test_a_killed_store_says_what_it_is(tmp_path):
    """Even with all of its data in the write-ahead log, and nothing but that file copied."""
    path = tmp_path / "results.db"

    def write_and_die():
        store = Store(path)
        store.add(specification(), run_blocks(specification(), [(0, 64)])[0])
        store.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    child = background(write_and_die)
    child.join()
    assert Path(f"{path}-wal").stat().st_size > 0
    shutil.copy(path, tmp_path / "alone.db")
    with Store(tmp_path / "alone.db", read_only=True) as alone:
        assert alone.contents() == []
    with Store(path, read_only=True) as whole:
        assert [one.result.runs for one in whole.contents()] == [64]


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


def command(*words):
    return invoke(*words)


def test_command_line(tmp_path):
    path = tmp_path / "results.db"
    words = ["simulate", "-p", "ocucb", "-p", "ucb", "--means", "0,-0.3", "-n", "1e3", "--json"]
    first = command(*words, "--runs", "200", "--store", path)
    assert first.exit_code == 0, first.stderr
    direct = command(*words, "--runs", "200", "--seed", "0")
    assert [one["mean_regret"] for one in json.loads(first.stdout)] == [
        one["mean_regret"] for one in json.loads(direct.stdout)
    ]
    command("simulate", "-p", "ucb", "--problem", "uniform:K=3", "-n", "100", "--store", path)
    listed = command("results", path).stdout.splitlines()
    assert len(listed) == 4
    heads = "policy problem horizon seed runs mean regret ± 2 s.e. engine age"
    assert listed[0].split() == heads.split()
    assert listed[1].startswith("OCUCB")
    assert " 200 " in listed[1]
    assert "uniform:K=3" in listed[3]
    one = json.loads(command("results", path, "--policy", "ocucb", "--json").stdout)
    assert len(one) == 1
    assert one[0]["mean_regret"] == json.loads(first.stdout)[0]["mean_regret"]
    table, picture = tmp_path / "r.csv", tmp_path / "r.png"
    drawn = command("results", path, "--problem", "means", "--csv", table, "--plot", picture)
    assert drawn.exit_code == 0, drawn.stderr
    rows = table.read_text().splitlines()
    assert len(rows) > 40
    assert not any("uniform" in row for row in rows)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert rows[0].endswith(",rewards,sigma,seed")
    assert rows[1].endswith(",gaussian,1.0,0")
    piped = subprocess.run(
        f"{sys.executable} -m ocucb results {path} --csv /dev/stdout | cat",
        shell=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "problem,policy,engine" in piped.stdout
    assert command("results", path, "--seed", "1").stdout == "no simulations found\n"
    assert command("results", path, "--problem", "nowhere").stdout == "no simulations found\n"
    failed = command("results", path, "--seed", "first")
    assert failed.exit_code == 2
    assert "--seed must be a number, got 'first'" in failed.stderr
    failed = command("results", path, "--problem", "nowhere", "--plot", picture)
    assert failed.exit_code == 2
    assert "there are 0 problems to draw" in failed.stderr
    failed = command("results", tmp_path / "none.db")
    assert failed.exit_code == 1
    assert failed.stderr.startswith("Error: there is no store")


if __name__ == "__main__":
    found = {row: pair for name in FAMILIES for row, pair in numbers(name).items()}
    text = json.dumps({"numerics": engine.NUMERICS, "numbers": found}, indent=1)
    NUMERICS.write_text(text + "\n")
