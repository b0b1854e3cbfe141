"""Policies and rewards of users: one meaning, taken once; nothing false, nothing out of bounds."""

from __future__ import annotations

import enum
import functools
import gc
import os
import subprocess
import sys
import textwrap
import types
import warnings
import weakref
from concurrent.futures import ProcessPoolExecutor
from math import inf, log, sqrt
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

import ocucb
from ocucb._users import is_ours
from ocucb.engine import base, kernel_of, step
from ocucb.live.decision import _kernels_of
from ocucb.policies import FAMILIES
from ocucb.policies._base import above
from ocucb.policies._declarations import false_declaration, has_infinite_bonus
from ocucb.random import uniform
from ocucb.rewards import GAUSSIAN
from ocucb.simulation import specify
from ocucb.specification import Specification

PROBLEM = ocucb.gap(3, 0.5)


def formula(body: str, kind=ocucb.index_policy, space=None, **facts):
    """Return a policy whose function has the given body, in a namespace of its own."""
    arguments = {
        ocucb.index_policy: "pulls, t, horizon, arms",
        ocucb.kl_policy: "pulls, t, horizon, arms",
        ocucb.sampling_policy: "pulls, t, horizon, arms",
        ocucb.choice_policy: "t, horizon, pulls, sums, sigma, memory, stream",
    }[kind]
    space = {"sqrt": sqrt, "log": log, "inf": inf} if space is None else space
    exec(f"def mine({arguments}):\n" + textwrap.indent(body, "    "), space)
    return kind(**facts)(space["mine"])


# Declarations


@pytest.mark.parametrize(
    "said", ["rising", "Rise", "typo", ["nonincreasing"], "", 1, True, np.array(["constant"])]
)
def test_unknown_declarations_are_refused(said):
    with pytest.raises(
        ValueError,
        match="unplayed_index must be 'nonincreasing', 'constant', 'nondecreasing' or None",
    ):
        formula("return 1.0 / pulls", unplayed_index=said)


@pytest.mark.parametrize(
    ("facts", "error", "words"),
    [
        ({"concave": "yes"}, ValueError, "concave must be True or False, got 'yes'"),
        ({"check": 1}, ValueError, "check must be True or False, got 1"),
        (
            {"waiting": "nonincreasing"},
            TypeError,
            "declares 'waiting', which is not one of binary, challenge, check",
        ),
        ({"concave_until": 5}, TypeError, "concave_until must be a plain function, got 5"),
        ({"memory": 5}, TypeError, "memory must be a plain function, got 5"),
        ({"table": "x"}, TypeError, "mine must take the arguments pulls, t, horizon, arms, table"),
        ({"name": "two\nlines"}, ValueError, "name must be one line of text"),
        ({"name": ""}, ValueError, "name must be one line of text, got ''"),
        ({"label": "two\rlines"}, ValueError, "label must be one line of text"),
        ({"label": None}, ValueError, "label must be one line of text, got None"),
        ({"valid": 3}, TypeError, "valid must be a dict of ranges, got 3"),
        ({"proved": {"c": 3}}, TypeError, "proved must be a dict of ranges, got {'c': 3}"),
        ({"valid": {"c": above(0)}}, ValueError, "valid names 'c', which is not a parameter"),
        ({"binary": 3}, ValueError, "binary must be True or False, got 3"),
    ],
)
def test_wrong_facts_are_refused(facts, error, words):
    with pytest.raises(error, match=words):
        formula("return 1.0 / pulls", **facts)


RISING = "return sqrt(2.0 / pulls * log(t))"
FALLING = "return sqrt(2.0 / pulls * log(9.0 * horizon / t))"
CONSTANT = {"unplayed_index": "constant"}
CONCAVE = {**CONSTANT, "concave": True}


def _five(horizon, arms):
    return 5.0


@pytest.mark.parametrize(
    ("body", "facts", "words"),
    [
        (RISING, {"unplayed_index": "nonincreasing"}, "rises from"),
        (RISING, {"unplayed_index": "constant"}, "rises from"),
        (FALLING, {"unplayed_index": "constant"}, "falls from"),
        (FALLING, {"unplayed_index": "nondecreasing"}, "falls from"),
        ("return sqrt(pulls)", CONSTANT, "bonus rises from .* pulls in round"),
        ("return pulls ** -0.5 if pulls < 9 else 0.0", CONCAVE, "below its chord"),
        ("return 5.0 / pulls - 0.2", CONCAVE, "negative"),
        (
            "return 1.0 / sqrt(pulls)",
            CONCAVE | {"concave_until": _five},
            "declares concave_until = 5",
        ),
    ],
)
def test_false_declarations_are_refused(body, facts, words):
    family = formula(body, **facts)
    with pytest.raises(ValueError, match=f"{words}.*check=False"):
        ocucb.simulate(family, PROBLEM, 1000, 5, rng=1)
    with pytest.raises(ValueError, match=words):
        ocucb.Bandit("abc", family, 1000, sigma=1)
    knows_better = formula(body, **facts, check=False)
    ocucb.simulate(knows_better, PROBLEM, 1000, 5, rng=1)


def test_false_declarations_of_deviations():
    family = formula(
        "return sqrt(log(t + 1.0) / pulls)", ocucb.sampling_policy, unplayed_index="constant"
    )
    with pytest.raises(ValueError, match='unplayed_index="constant", but its formula rises'):
        ocucb.simulate(family, PROBLEM, 1000, 5, rng=1)


CLICKS = ocucb.bernoulli([0.6, 0.5, 0.4])


def play_live(bandit):
    for t in range(100):
        bandit.tell(bandit.ask(), float(t % 2))


@pytest.mark.parametrize(
    ("body", "given", "facts"),
    [
        ("return log(horizon / (9.0 * pulls * arms))", r"-[0-9.]+", CONCAVE),
        ("return -1.0", "-1", {}),
        ("return log(0.5 - pulls)", "nan", CONSTANT),  # Python refuses to compute it
    ],
)
def test_a_budget_that_may_be_negative_is_refused(body, given, facts):
    words = f"must be a budget of at least 0 everywhere, but its formula gives {given} in round"
    checked = formula(body, ocucb.kl_policy, **facts)
    for problem in (PROBLEM, CLICKS):
        with pytest.raises(ValueError, match=words):
            ocucb.simulate(checked, problem, 100, 5, rng=1)
    for scale in ({"bounds": (0, 1)}, {"sigma": 1}):
        with pytest.raises(ValueError, match=words):
            ocucb.Bandit("abc", checked, 100, **scale)


@pytest.mark.parametrize(
    ("problem", "body", "facts"),
    [
        (PROBLEM, "return log(horizon / (9.0 * pulls * arms))", CONCAVE),
        (CLICKS, "return log(horizon / (9.0 * pulls * arms))", CONCAVE),
        (CLICKS, "return log(0.5 - pulls)", {}),
    ],
    ids=["gaussian", "clicks", "clicks, nan"],
)
def test_a_budget_that_is_negative_in_play_is_an_error(problem, body, facts):
    """Where the grid is not asked; nothing is played as 0."""
    scale = {"bounds": (0, 1)} if problem is CLICKS else {"sigma": 1}
    trusted = formula(body, ocucb.kl_policy, **facts, check=False)
    for engine in ("step", "skip") if facts else ("step",):
        with pytest.raises(ValueError, match="its formula gave a negative budget, or a value that"):
            ocucb.simulate(trusted, problem, 100, 5, rng=1, engine=engine)
    bandit = ocucb.Bandit("abc", trusted, 100, **scale)
    with pytest.raises(ValueError, match="its formula gave a negative budget, or something that"):
        play_live(bandit)
    with pytest.raises(ValueError, match="budget must be at least 0, got"):
        trusted().bonus(pulls=50, t=90, horizon=100, arms=3)


@pytest.mark.parametrize("arms", [1, 2, 10, 300])
@pytest.mark.parametrize("horizon", [1, 2, 5, 300, 10_000, 10**6])
def test_what_we_declare_ourselves_passes(arms, horizon):
    for name, family in FAMILIES.items():
        if family.kind != "choice" and not (name == "gittins" and horizon > 10_000):
            assert false_declaration(family(), horizon, arms) is None, name
            if family.has_bonus:
                assert not has_infinite_bonus(family(), horizon, arms), name


# One meaning, taken once

CHANGING = """
import sys
import numba, ocucb
from math import sqrt

C = 8.0

@numba.njit
def helper(x):
    return C * x

helper(1.0)  # compiled with the first value

@ocucb.index_policy
def mine(pulls, t, horizon, arms):
    return {formula}

def noisy(mean, scale, stream):
    return mean + C * (ocucb.random.uniform(stream) - 0.5)
"""


def changing(formula="C / sqrt(pulls)"):
    module = types.ModuleType("changing")
    exec(CHANGING.format(formula=formula), module.__dict__)
    return module


def play(policy, problem=PROBLEM, **more):
    return ocucb.simulate(policy, problem, 200, 100, rng=1, **more)[0].mean_regret


@pytest.mark.parametrize("formula", ["C / sqrt(pulls)", "helper(1.0) / sqrt(pulls)"])
def test_a_global_that_changes_is_used_or_refused(formula, tmp_path):
    module = changing(formula)
    module.C = 0.1  # nobody has used the policy yet: this is its first meaning
    small = play(module.mine, store=tmp_path / "results.db")
    fresh = changing(formula)
    large = play(fresh.mine)
    assert small != large
    fresh.C = 0.1
    for more in ({}, {"store": tmp_path / "results.db"}, {"engine": "step"}):
        with pytest.raises(ValueError, match="mine reads a value that has changed"):
            play(fresh.mine, **more)
    with pytest.raises(ValueError, match="mine reads a value that has changed"):
        play(fresh.mine, ocucb.bernoulli([0.5, 0.4]))
    with pytest.raises(ValueError, match="mine reads a value that has changed"):
        ocucb.Bandit("ab", fresh.mine, 100, sigma=1)
    fresh.C = 8.0
    assert play(fresh.mine) == large
    assert play(module.mine, store=tmp_path / "results.db") == small


def test_the_value_of_a_module_that_changes():
    settings = types.ModuleType("settings")
    settings.C = 8.0
    mine = formula("return settings.C / sqrt(pulls)", space={"settings": settings, "sqrt": sqrt})
    play(mine)
    settings.C = 0.1
    with pytest.raises(ValueError, match="has changed"):
        play(mine)


class Pair(NamedTuple):
    x: float = 0.1
    y: float = 8.0


class Swapped(NamedTuple):
    y: float = 0.1
    x: float = 8.0


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 9


class Turned(enum.IntEnum):
    LOW = 9
    HIGH = 1


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        (Pair(), Swapped(), "thing.x"),
        (Pair, Swapped, "thing(0.1, 8.0).x"),
        (Level, Turned, "thing.LOW.value"),
        (Level.LOW, Level.HIGH, "thing.value"),
        (numba.float64, numba.int8, "thing(2.5)"),
        (np.sqrt, np.square, "thing(2.5)"),
    ],
)
def test_any_global_that_changes_is_noticed(one, other, how):
    space = {"thing": one, "sqrt": sqrt}
    mine = formula(f"return {how} / sqrt(pulls)", space=space)
    before = mine().bonus(1, 10, 100, 3)
    space["thing"] = other
    with pytest.raises(ValueError, match="mine reads a value that has changed"):
        play(mine)
    with pytest.raises(ValueError, match="mine reads a value that has changed"):
        ocucb.Bandit("ab", mine, 100, sigma=1)
    space["thing"] = one
    mine.code.check("mine")
    space["thing"] = other
    again = formula(f"return {how} / sqrt(pulls)", space=space)
    assert again().bonus(1, 10, 100, 3) != before


class Small(enum.IntEnum):
    """What it means is unknown, because of its method."""

    SIZE = 1

    def twice(self):
        return 2 * self


class Large(enum.IntEnum):
    SIZE = 20

    def twice(self):
        return 2 * self


def test_what_is_unknown_is_taken_anew():
    space = {"Size": Small, "sqrt": sqrt}
    mine = formula("return Size.SIZE.value / sqrt(pulls)", space=space)()
    call = (mine, PROBLEM, 100, np.array([100]), 1, "step")
    with pytest.warns(UserWarning, match="other numbers each time.* <enum 'Small'> cannot be told"):
        first, again = specify(*call), specify(*call)
    assert first.identity != again.identity
    space["Size"] = Large
    with pytest.warns(UserWarning, match="other numbers each time"):
        later = specify(*call)
    state = {"pulls": 1, "t": 10, "horizon": 100, "arms": 3}
    assert first.policy.bonus(**state) == again.policy.bonus(**state) == 1.0
    assert later.policy.bonus(**state) == 20.0
    with pytest.raises(ValueError, match="an executor cannot tell <enum 'Large'> from another"):
        later.package.count(0)
    assert ocucb.Bandit("ab", mine, 100, sigma=1).policy.bonus(**state) == 20.0


def test_a_sampler_that_is_unknown_is_taken_anew():
    space = {"Size": Small}
    exec("def noisy(mean, scale, stream): return mean + Size.SIZE.value", space)
    problem = ocucb.custom_rewards(space["noisy"], [0, -0.5], 1.0)
    taken = [problem.retaken() for _ in range(2)]
    assert len({one.identity for one in taken}) == 2
    space["Size"] = Large
    stream = np.ones(4, np.uint64)
    assert [one.retaken().rewards.draw(0.0, 1.0, stream) for one in (problem, *taken)] == [20.0] * 3
    assert ocucb.gap().retaken().rewards is ocucb.gap().rewards


def narrow(x):
    y = x
    return y / 3.0


@pytest.mark.parametrize(
    "helper",
    [
        numba.njit(locals={"y": numba.float32})(narrow),
        numba.njit("float32(float32)")(narrow),
    ],
)
def test_a_helper_keeps_its_types(helper):
    """Where numbers are converted they are converted in a formula too."""
    policy = formula("return helper(pulls)", space={"helper": helper})()
    assert policy.bonus(10.1, 11, 100, 3) == helper(10.1) != narrow(10.1)


def test_helpers_that_share_a_function_keep_their_options():
    space = {"one": numba.njit(narrow), "other": numba.njit(locals={"y": numba.float32})(narrow)}
    policy = formula("return one(pulls) - other(pulls)", space=space)()
    assert policy.bonus(10.1, 11, 100, 3) == narrow(10.1) - space["other"](10.1) != 0.0


def test_a_helper_that_takes_arrays_of_given_types():
    """Ours are read-only, which its author need not have foreseen."""
    helper = numba.njit("float64(float64[:])")(lambda x: x[0])
    family = formula("return int(helper(pulls)) - 1", ocucb.choice_policy, {"helper": helper})
    ocucb.Bandit("abc", family, 100, sigma=1).ask()


def test_a_package_with_a_similar_name_is_not_ours():
    space = {"sqrt": sqrt}
    file = str(Path(ocucb.__file__).parent) + "_contrib/theirs.py"
    exec(compile("def mine(pulls, t, horizon, arms): return sqrt(pulls)", file, "exec"), space)
    assert not is_ours(space["mine"])
    assert is_ours(ocucb.UCB.source)
    theirs = ocucb.index_policy(unplayed_index="constant")(space["mine"])
    with pytest.raises(ValueError, match="bonus rises"):
        ocucb.simulate(theirs, PROBLEM, 100, 5, rng=1)


def test_our_formula_in_a_users_policy_is_checked():
    with pytest.raises(ValueError, match='declares unplayed_index="nonincreasing", but its'):
        play(ocucb.index_policy(unplayed_index="nonincreasing")(ocucb.UCB.source))


def test_a_helper_that_is_not_compiled_has_a_remedy():
    space = {"sqrt": sqrt}
    exec("def helper(pulls):\n    return 2.0 / sqrt(pulls)", space)
    mine = formula("return helper(pulls)", space=space)
    words = r"by numba: helper is a plain Python function; decorate it with @numba\.njit\.$"
    with pytest.raises(TypeError, match=words):
        play(mine)
    with pytest.raises(TypeError, match=words):
        ocucb.Bandit("ab", mine, 100, sigma=1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ucb", "inf"),
        ("ocucb", "-inf"),
        ("thompson", "inf - inf"),
        ("imed", "inf"),
        ("uniform", "1e308"),
    ],
)
def test_rewards_that_are_not_finite_are_not_the_fault_of_the_policy(text, value):
    space = {"inf": inf, "uniform": uniform}
    exec(
        f"def noisy(mean, scale, stream):\n    return {value} if uniform(stream) < scale else mean",
        space,
    )
    words = r"^the rewards that noisy gave in run \d+, or their sum, are not finite\.$"
    with pytest.raises(ValueError, match=words):
        play(text, ocucb.custom_rewards(space["noisy"], [0, -0.3], 1.0, scales=0.2))


def test_a_formula_that_fails_is_blamed_on_custom_rewards_too():
    def fine(mean, scale, stream):
        return mean + scale * uniform(stream)

    problem = ocucb.custom_rewards(fine, [0, -0.3], 1.0)
    mine = formula("return inf - inf * t", check=False)
    with pytest.raises(ValueError, match=r"^mine could not choose an arm in run \d+: its formula"):
        play(mine, problem)


@pytest.mark.parametrize("call", ["package.inner.helper", "bunch[0]", "ufunc"])
@pytest.mark.filterwarnings("ignore:First-class function type")
def test_a_helper_that_was_compiled_earlier(call):
    """It is compiled anew with the values of now, wherever the formula finds it."""
    space = {"C": 8.0, "sqrt": sqrt}
    exec("def helper(pulls):\n    return C / sqrt(pulls)", space)
    helper = numba.njit(space["helper"])
    package, inner = types.ModuleType("package"), types.ModuleType("package.inner")
    package.inner, inner.helper, inner.package = inner, helper, package
    ufunc = numba.vectorize(space["helper"])
    assert helper(4.0) == ufunc(4.0) == 4.0
    space |= {"package": package, "bunch": (helper, helper), "ufunc": ufunc, "C": 1.0}
    policy = formula(f"return {call}(pulls)", space=space)()
    assert policy.bonus(4, 10, 100, 3) == 0.5


def test_a_sampler_whose_global_changes():
    module = changing()
    problem = ocucb.custom_rewards(module.noisy, [0, -0.3], 4.0)
    first = play("ucb", problem)
    module.C = 0.1
    with pytest.raises(ValueError, match="the sampler noisy reads a value that has changed"):
        play("ucb", problem)
    module.C = 8.0
    assert play("ucb", problem) == first


ELSEWHERE = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import ocucb, settings, theirs

def play(policy, **more):
    return ocucb.simulate(policy, ocucb.gap(), 100, 100, rng=1, **more)[0].mean_regret

if __name__ == "__main__":
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        theirs.C = settings.C = 0.1  # which a worker that imports them does not know
        print(play(theirs.by_value) == play(theirs.by_value, executor=pool))
        play(theirs.by_module)
        try:
            play(theirs.by_module, executor=pool)
        except RuntimeError as error:
            print(error)
"""
THEIRS = """
import ocucb, settings
C = 8.0

@ocucb.choice_policy
def by_value(t, horizon, pulls, sums, sigma, memory, stream):
    return int(C)

@ocucb.choice_policy
def by_module(t, horizon, pulls, sums, sigma, memory, stream):
    return int(settings.C)
"""


def test_workers_play_what_was_meant(tmp_path):
    """A value travels with the formula; one that a worker finds for itself must be the same."""
    (tmp_path / "settings.py").write_text("C = 1.0")
    (tmp_path / "theirs.py").write_text(THEIRS)
    (tmp_path / "main.py").write_text(ELSEWHERE)
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    first, second = done.stdout.splitlines()
    assert first == "True", done.stderr
    assert second.startswith("a worker finds another version of by_module")


def identity(**facts):
    def rule(t, horizon, pulls, sums, sigma, memory, stream):
        return 0

    policy = ocucb.choice_policy(**facts)(rule)()
    return Specification(policy, PROBLEM, 100, np.array([100]), 1, "step").identity


def test_identity_covers_defaults_of_what_belongs_to_a_policy():
    def memory(size):
        def remembers(arms, more=size):
            return more

        return remembers

    def memory_by_keyword(size):
        def remembers(arms, *, more=size):
            return more

        return remembers

    def table(value):
        def numbers(horizon, more=value):
            return np.full(3, more)

        return numbers

    def concave_until(value):
        def edge(horizon, arms, *, more=value):
            return more

        return edge

    assert identity(memory=memory(1)) == identity(memory=memory(1)) != identity(memory=memory(2))
    one, two = identity(memory=memory_by_keyword(1)), identity(memory=memory_by_keyword(2))
    assert one != two
    names = set()
    for facts in (
        {"table": table(1.0)},
        {"table": table(2.0)},
        {"concave_until": concave_until(1.0)},
        {"concave_until": concave_until(2.0)},
    ):
        space = {"sqrt": sqrt}
        more = ", table" if "table" in facts else ""
        exec(f"def mine(pulls, t, horizon, arms{more}):\n    return 1.0 / pulls", space)
        policy = ocucb.index_policy(**facts)(space["mine"])()
        names.add(Specification(policy, PROBLEM, 100, np.array([100]), 1, "step").identity)
    assert len(names) == 4


def test_formulas_of_one_name_have_streams_of_their_own():
    """Two policies that play arm 0 all the time, on noise that they cannot influence.

    The correlation of 4,000 independent pairs exceeds 0.07 once in 100,000 times.
    """
    with_one_name = [formula(f"return {c} / sqrt(pulls)") for c in (2.0, 2.0001, "2.0")]
    found = ocucb.simulate(with_one_name, ocucb.gap(2, 0.1), 100, 4000, rng=1, engine="step")
    samples = [one.sample for one in found]
    assert abs(np.corrcoef(samples[0], samples[1])[0, 1]) < 0.07
    assert (samples[0] == samples[2]).all(), "the same formula again"
    with pytest.raises(KeyError, match="mine"):
        found["mine"]


def test_samplers_of_one_name_have_streams_of_their_own():
    def sampler(width):
        def noisy(mean, scale, stream):
            return mean + width * (ocucb.random.uniform(stream) - 0.5)

        return noisy

    problems = [ocucb.custom_rewards(sampler(width), [0, -0.1], 1.0) for width in (2.0, 2.0001)]
    assert problems[0].identity != problems[1].identity
    one, other = (ocucb.simulate("ucb", problem, 100, 4000, rng=1)[0] for problem in problems)
    assert abs(np.corrcoef(one.sample, other.sample)[0, 1]) < 0.07


def test_a_users_policy_may_have_the_name_of_ours():
    space = {"sqrt": sqrt, "log": log}
    exec(
        "def UCB(pulls, t, horizon, arms, constant=2.0):\n"
        "    return 0.5 * sqrt(constant / pulls * log(t))",
        space,
    )
    mine = ocucb.index_policy(name="ucb", label="UCB", unplayed_index="nondecreasing", concave=True)
    theirs = mine(space["UCB"])
    assert theirs().name == ocucb.UCB().name
    assert play(theirs) != play("ucb")
    found = ocucb.simulate([theirs, "ucb"], PROBLEM, 200, 10, rng=1)
    with pytest.raises(KeyError, match="ucb"):
        found["ucb"]


# Arrays


def test_a_choice_that_forgets_memory():
    family = formula("memory[2] += 1.0\nreturn 0", ocucb.choice_policy)
    with pytest.raises(ValueError, match=r"indexes an array out of bounds.* memory holds 0"):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)
    enough = formula("memory[2] += 1.0\nreturn 0", ocucb.choice_policy, memory=_three)
    assert ocucb.simulate(enough, PROBLEM, 100, 3, rng=1)[0].mean_regret == 1.0


def _three(arms):
    return 3


@pytest.mark.parametrize("array", ["pulls", "sums"])
@pytest.mark.parametrize("write", ["[0] = 1e9", "[:] = 1e9", " += 1e9", ".fill(1e9)"])
def test_a_choice_may_not_write_into_the_engines_arrays(array, write):
    family = formula(f"{array}{write}\nreturn 0", ocucb.choice_policy)
    with pytest.raises(TypeError, match="it writes to a read-only array"):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)
    with pytest.raises(TypeError, match="read"):
        ocucb.Bandit("abc", family, 100, sigma=1)


@pytest.mark.parametrize(
    "write",
    [
        "sums.flat[0] = 1e9",
        "np.ascontiguousarray(sums)[0] = 1e9",
        "np.asfortranarray(sums)[0] = 1e9",
        "np.fill_diagonal(sums.reshape((1, sums.size)), 1e9)",
        "for x in np.nditer(sums): x[()] = 1e9",
        "for x in nditer(sums): x[()] = 1e9",
    ],
)
def test_ways_around_read_only_arrays_are_refused(write):
    """numba forgets in these that an array is read-only."""
    space = {"np": np, "nditer": np.nditer}
    family = formula(f"{write}\nreturn 0 if sums[0] > 1e5 else 1", ocucb.choice_policy, space)
    with pytest.raises(ValueError, match=r"mine must not use .*, which can write to read-only"):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)
    with pytest.raises(ValueError, match="mine must not use"):
        ocucb.Bandit("abc", family, 100, sigma=1)


def test_a_choice_that_reads_beyond_the_arms():
    family = formula("return int(pulls[7])", ocucb.choice_policy)
    with pytest.raises(ValueError, match="indexes an array out of bounds: pulls and sums hold 3"):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)
    bandit = ocucb.Bandit("abc", family, 100, sigma=1)
    for _ in range(3):
        bandit.ask()
    before = bandit.to_dict()
    with pytest.raises(ValueError, match="indexes an array out of bounds"):
        bandit.ask()
    assert bandit.to_dict() == before


def test_helpers_of_a_choice_are_checked_too():
    @numba.njit
    def look(memory, i):
        return memory[i]

    space = {"look": look}
    family = formula("look(memory, 5)\nreturn 0", ocucb.choice_policy, space=space)
    with pytest.raises(ValueError, match="indexes an array out of bounds"):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)


def test_a_table_of_a_user_is_not_written_to():
    def numbers(horizon):
        return np.ones(3)

    space = {}
    exec("def mine(pulls, t, horizon, arms, table):\n    table[0] = 7.0\n    return 1.0", space)
    with pytest.raises(TypeError, match="it writes to a read-only array"):
        ocucb.simulate(ocucb.index_policy(table=numbers)(space["mine"]), PROBLEM, 100, 3, rng=1)


# Numbers


@pytest.mark.parametrize("given", [None, "text", 3.0, [[1.0]]])
def test_a_table_that_is_no_list_of_numbers(given):
    space = {"given": given}
    exec("def mine(pulls, t, horizon, arms, table):\n    return table[0]", space)
    family = ocucb.index_policy(table=lambda horizon: given)(space["mine"])
    with pytest.raises(TypeError, match="mine's table must return a list of numbers, got "):
        ocucb.simulate(family, PROBLEM, 100, 5, rng=1)


def test_a_table_of_whole_numbers():
    space = {}
    exec("def mine(pulls, t, horizon, arms, table):\n    return table[0]", space)
    whole, real = (
        ocucb.index_policy(table=lambda horizon, kind=kind: np.ones(1, kind))(space["mine"])
        for kind in (np.int32, np.float64)
    )
    assert whole().bonus(1, 10, 100, 3) == real().bonus(1, 10, 100, 3) == 1.0


@pytest.mark.parametrize("size", [1e14, 1e16, -1e15])
def test_means_that_rounding_swallows(size):
    problem = ocucb.gaussian([size, size - 2.0])
    for policy, engine in (("ocucb", "step"), ("thompson", "skip"), ("uniform", "auto")):
        with pytest.raises(ValueError, match=r"rounding swamps .* subtract a constant"):
            ocucb.simulate(policy, problem, 1000, 10, engine=engine)
    with pytest.warns(UserWarning, match="rounding matters"):
        ocucb.simulate("ocucb", ocucb.gaussian([1e12, 1e12 - 1]), 1000, 10, engine="step")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ocucb.simulate("ocucb", problem, 1000, 10)  # skip-ahead keeps the noise apart
        ocucb.simulate("ocucb", ocucb.gaussian([1000, 999]), 10_000, 10, engine="step")


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        ("return inf", {"unplayed_index": "constant"}),
        ("return inf", {"unplayed_index": "nondecreasing"}),
        ("return inf", {"unplayed_index": "nonincreasing"}),
        ("return inf if pulls < 40 else 1.0 / pulls", {"unplayed_index": "constant"}),
        ("return inf if pulls < 40 else log(t) / pulls", {"unplayed_index": "nondecreasing"}),
    ],
)
def test_an_infinite_bonus(body, facts, monkeypatch):
    """Skip-ahead cannot compare such indices: it is refused there and played step by step."""
    family = formula(body, **facts)
    with pytest.warns(UserWarning, match="its bonus is infinite in some rounds"):
        skipped = ocucb.simulate(family, PROBLEM, 300, 200, rng=1, engine="skip")[0]
    stepped = ocucb.simulate(family, PROBLEM, 300, 200, rng=1, engine="step")[0]
    assert skipped.engine == "step"
    assert skipped.mean_regret == stepped.mean_regret
    # where nobody has noticed, the kernel does
    monkeypatch.setattr(base, "has_infinite_bonus", lambda *facts: False)
    specification = Specification(family(), PROBLEM, 300, np.array([300]), 1, "skip")
    with pytest.raises(ValueError, match="a value that is not finite"):
        specification.play(0, 10)


@pytest.mark.parametrize(
    ("start", "draw"),
    [
        ("import numpy as np", "np.random.random()"),
        ("from numpy import random", "random.random()"),
        ("from numpy.random import random", "random()"),
        ("import random", "random.random()"),
        ("from random import random", "random()"),
    ],
)
def test_random_numbers_that_no_seed_controls(start, draw):
    space = {}
    exec(start, space)
    body = f"return int({draw} * pulls.size)"
    family = formula(body, ocucb.choice_policy, space)
    with pytest.raises(ValueError, match=r"mine must draw from ocucb\.random with its stream"):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)


def test_our_own_random_numbers_are_welcome_beside_numpy():
    space = {"ocucb": ocucb, "np": np}
    body = "return int(np.floor(ocucb.random.uniform(stream) * pulls.size))"
    family = formula(body, ocucb.choice_policy, space)
    assert ocucb.simulate(family, PROBLEM, 100, 3, rng=1)[0].runs == 3


# Messages


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return 0.0", "must return an arm's number, an int, got float64"),
        ("return t > 5", "must return an arm's number, an int, got bool"),
        ("return None", "must return an arm's number, an int, got none"),
        ("pass", "must return an arm's number, an int, got none"),
        ("if t > 5:\n    return 0", "must return an arm's number, an int"),
    ],
)
def test_a_choice_that_is_no_arm(body, words):
    family = formula(body, ocucb.choice_policy)
    with pytest.raises(TypeError, match=words):
        ocucb.simulate(family, PROBLEM, 100, 3, rng=1)
    with pytest.raises(TypeError, match=words):
        ocucb.Bandit("abc", family, 100, sigma=1)


@pytest.mark.parametrize("value", ["inf", "-1.0", "inf - inf", "sqrt(100.0 - pulls)"])
@pytest.mark.parametrize("facts", [{}, CONSTANT], ids=["", "constant"])
def test_a_deviation_that_is_not_finite(value, facts):
    """Engines would go on without the arm."""
    body = f"return {value} if pulls > 100 else 1.0 / sqrt(pulls)"
    family = formula(body, ocucb.sampling_policy, **facts)
    for play in (
        lambda: ocucb.simulate(family, PROBLEM, 200, 5, rng=1, engine="step"),
        lambda: ocucb.simulate(family, PROBLEM, 2000, 5, rng=1),
        lambda: ocucb.Bandit("abc", family, 200, sigma=1),
    ):
        with pytest.raises(ValueError, match=r"must be finite.* 1\d\d pulls; .*check=False"):
            play()


def test_a_deviation_that_is_not_finite_in_play_is_an_error():
    """Where the grid is not asked; nobody goes on without the arm while it has 4 pulls."""

    @ocucb.sampling_policy(**CONSTANT, check=False)
    def trusted(pulls, t, horizon, arms, c=0.0):
        wrong = inf * c if c < 2.0 else -1.0  # nan, infinite or negative
        return wrong if pulls == 4 else 1.0 / sqrt(pulls)

    words = r"could not choose an arm in {}: its formula gave a deviation that is negative or not f"
    for c, engine in ((0, "step"), (0, "skip"), (1, "step"), (2, "step"), (2, "skip")):
        with pytest.raises(ValueError, match=words.format(r"run \d+")):
            ocucb.simulate(trusted(c), PROBLEM, 10, 5, rng=1, engine=engine)
    for c in (0, 1, 2):
        bandit = ocucb.Bandit("abc", trusted(c), 100, sigma=1)
        bandit.tell(["a"] * 4 + ["b", "c"], [0.0] * 6)
        before = bandit.to_dict()
        for ask in (bandit.ask, lambda bandit=bandit: bandit.ask(3)):
            with pytest.raises(ValueError, match=words.format("round 7")):
                ask()
            assert bandit.to_dict() == before
        bandit.tell("a", 0.0)
        bandit.ask()


@pytest.mark.parametrize("answer", [inf, 9, 9.5])
def test_concave_until_may_be_any_number(answer):
    facts = {**CONCAVE, "concave_until": lambda horizon, arms: answer}
    family = formula("return 0.1 / sqrt(pulls) if pulls < 10 else 0.0", **facts)
    if answer == inf:
        family = formula("return 1.0 / sqrt(pulls)", **facts)
    ocucb.simulate(family, PROBLEM, 100, 5, rng=1)


@pytest.mark.parametrize("answer", [None, "9", inf - inf])
def test_concave_until_that_is_no_number(answer):
    facts = {**CONCAVE, "concave_until": lambda horizon, arms: answer}
    with pytest.raises(ValueError, match="mine's concave_until must return a number, got"):
        ocucb.simulate(formula("return 1.0 / sqrt(pulls)", **facts), PROBLEM, 100, 5, rng=1)


@pytest.mark.parametrize("body", ["return None", "pass", "return (1.0, 2.0)"])
def test_a_formula_that_is_no_number(body):
    with pytest.raises(TypeError, match="mine must return a number, got"):
        ocucb.simulate(formula(body), PROBLEM, 100, 3, rng=1)


def test_arguments_are_told_by_name():
    with pytest.raises(TypeError, match="horizon, arms, sigma first, in this order, got t, pulls"):
        ocucb.index_policy(lambda t, pulls, horizon, arms: 1.0)
    with pytest.raises(TypeError, match="in this order, got pulls, horizon, t, arms"):
        ocucb.sampling_policy(lambda pulls, horizon, t, arms: 1.0)
    with pytest.raises(TypeError, match="mean, scale, stream, in this order, got scale, mean"):
        ocucb.custom_rewards(lambda scale, mean, stream: 1.0, [0, 1], 1.0)


@pytest.mark.parametrize("default", ["3", "many", None, [1.0], (2.0,), {}, 1j])
def test_defaults_that_are_no_numbers(default):
    def mine(pulls, t, horizon, arms, width=default):
        return width / pulls

    with pytest.raises(TypeError, match="the default of mine's parameter 'width' must be a number"):
        ocucb.index_policy(mine)


def test_the_name_of_a_function_is_one_line():
    def mine(pulls, t, horizon, arms):
        return 1.0

    mine.__name__ = "two\nlines"
    with pytest.raises(ValueError, match=r"^the name of a policy must be one line .*'two\\nlines'"):
        ocucb.index_policy(mine)


def test_only_plain_functions_state_a_policy():
    class Callable:
        def __call__(self, pulls, t, horizon, arms):
            return 1.0

    def wide(pulls, t, horizon, arms, width=1.0):
        return width / sqrt(pulls)

    for wrong in (Callable(), functools.partial(wide, width=2.0), 3, "ucb"):
        with pytest.raises(TypeError, match="a policy must be a plain function, got"):
            ocucb.index_policy(wrong)
        with pytest.raises(TypeError, match="sample must be a plain function, got"):
            ocucb.custom_rewards(wrong, [0, 1], 1.0)
    assert play(ocucb.index_policy(numba.njit(wide))) == play(ocucb.index_policy(wide))


def test_helpers_may_be_defined_later_and_call_each_other():
    space = {"sqrt": sqrt}
    exec(
        textwrap.dedent("""
            import numba, ocucb
            @ocucb.index_policy
            def mine(pulls, t, horizon, arms):
                return even(3.0) / sqrt(pulls)

            @numba.njit
            def even(x):
                return x if x < 1.0 else odd(x - 1.0)

            @numba.njit
            def odd(x):
                return x + 0.5 if x < 1.0 else x - 1.0
        """),
        space,
    )
    assert play(space["mine"]) > 0


def test_a_policy_keeps_its_face():
    def mine(pulls, t, horizon, arms, width=1.0):
        """Say what it does."""
        return width / pulls

    family = ocucb.index_policy(mine)
    assert family.__doc__ == "Say what it does."
    assert family.__module__ == __name__
    with ProcessPoolExecutor(1) as pool:
        assert play(family(width=2.0)) == play(family(width=2.0), executor=pool)


def test_a_unit_form_is_part_of_what_a_policy_is(tmp_path):
    def budget(pulls, t, horizon, arms):
        return 1.0

    usual = ocucb.kl_policy(name="x")(budget)()
    other = ocucb.kl_policy(name="x", unit_form=ocucb.sampling_policy(budget))(budget)()
    call = {"problem": ocucb.bernoulli([0.5, 0.4]), "horizon": 50, "runs": 50, "rng": 1}
    first, second = (
        ocucb.simulate(one, **call, store=tmp_path / "results.db")[0].mean_regret
        for one in (usual, other)
    )
    assert first != second
    with pytest.raises(TypeError, match="unit_form must have the same table"):
        ocucb.index_policy(table=lambda horizon: np.zeros(3), unit_form=usual.family)(
            lambda pulls, t, horizon, arms, table: 1.0
        )
    nested = ocucb.index_policy(unit_form=ocucb.KLUCB)(
        lambda pulls, t, horizon, arms, c=0.0: 1.0 / pulls
    )
    assert nested.form(True).reading == "bernoulli budget"


# Notebooks


def alive(groups):
    """Return how many objects of each group still exist."""
    gc.collect()
    return [sum(one() is not None for one in group) for group in groups]


def test_a_policy_that_is_redefined_is_forgotten():
    """With its compiled code, though the function can see the policy, as in a notebook."""
    space, gone = {"ocucb": ocucb, "sqrt": sqrt}, []
    for i in range(5):
        text = f"""
            @ocucb.index_policy
            def mine(pulls, t, horizon, arms):
                return {i} / sqrt(pulls)
        """
        exec(textwrap.dedent(text), space)
        family = space["mine"]
        kernel, (ask, *_) = kernel_of(family, GAUSSIAN, step.ENGINE), _kernels_of(family)
        assert kernel_of(family, GAUSSIAN, step.ENGINE) is kernel
        gone.append([weakref.ref(one) for one in (family, family.function, kernel, ask)])
    del family, kernel, ask, _
    assert alive(gone) == [0, 0, 0, 0, 4]


def test_samplers_that_are_redefined_are_forgotten():
    """All but the last few, which a loop over problems may draw from again."""
    space, gone = {"ocucb": ocucb}, []
    for i in range(200):
        exec(f"def noisy(mean, scale, stream): return mean + {i}", space)
        space["problem"] = ocucb.custom_rewards(space["noisy"], [0, -0.5], 1.0)
        rewards = space["problem"].rewards
        kernel = kernel_of(ocucb.UCB, rewards, step.ENGINE)
        assert ocucb.custom_rewards(space["noisy"], [0, -1], 1.0).rewards is rewards
        gone.append([weakref.ref(one) for one in (rewards, rewards.draw, kernel)])
    del rewards, kernel
    assert not any(alive(gone[:-32]))


def test_without_numbas_compiler_one_sentence_says_so():
    code = """
        import ocucb
        print(round(ocucb.OCUCB().bonus(4, 100, 1000, 2), 6))
        mine = ocucb.index_policy(lambda pulls, t, horizon, arms: 1.0 / pulls)
        for play in (
            lambda: ocucb.simulate("ucb", ocucb.gap(), 100, 5, rng=1),
            lambda: ocucb.simulate(mine, ocucb.gap(), 100, 5, rng=1),
            lambda: ocucb.Bandit("ab", "thompson", 100, sigma=1),
            lambda: ocucb.Bandit("ab", mine, 100, sigma=1),
        ):
            try:
                play()
            except RuntimeError as error:
                print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    first, *errors = done.stdout.splitlines()
    assert first == "1.498933", done.stderr
    assert len(errors) == 4
    for error in errors:
        assert " cannot be played with NUMBA_DISABLE_JIT: loops rely on compiled code" in error
