"""Policies and rewards of users: one meaning, taken once, wherever and whenever they are played."""

from __future__ import annotations

import enum
import gc
import os
import subprocess
import sys
import textwrap
import types
import weakref
from math import inf, log, sqrt
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

import ocucb
from ocucb._users import is_ours
from ocucb.engine import kernel_of, step
from ocucb.live.decision import _kernels_of
from ocucb.random import uniform
from ocucb.rewards import GAUSSIAN
from ocucb.simulation import specify
from ocucb.specification import Specification
from own_policies import PROBLEM, formula, play

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
    assert len({problem.identity for problem in taken}) == 2
    space["Size"] = Large
    stream = np.ones(4, np.uint64)
    assert [each.retaken().rewards.draw(0.0, 1.0, stream) for each in (problem, *taken)] == [
        20.0
    ] * 3
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
        return mean + scale * (uniform(stream) - 0.5)

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
    samples = [player.sample for player in found]
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


# Notebooks


def alive(groups):
    """Return how many objects of each group still exist."""
    gc.collect()
    return [sum(alive() is not None for alive in group) for group in groups]


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
        gone.append([weakref.ref(made) for made in (family, family.function, kernel, ask)])
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
        gone.append([weakref.ref(made) for made in (rewards, rewards.draw, kernel)])
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
