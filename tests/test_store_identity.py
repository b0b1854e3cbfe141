"""What a store takes for the same simulation, and what for another."""

from __future__ import annotations

import enum
import functools
import math
import types
from math import log, sqrt
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.compiler import Compiler
from numba.extending import register_jitable

import ocucb
from ocucb import engine
from ocucb.importance import first_mixture
from store_cases import PROBLEM, specification


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
    names = {policy.identity for policy in (plain, *others)}
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
    mine = [ocucb.index_policy(name="mine", label="mine")(source)() for source in sources]
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
    mine = [ocucb.index_policy(formula)() for formula in (first, again)]
    assert len({specification(policy=policy).identity for policy in mine}) == 1
