"""A live decision comes with its probability, from one evaluation of each arm."""

from __future__ import annotations

import copy
import random
from math import inf

import numba
import pytest

import ocucb
from ocucb import Bandit
from ocucb.policies import FAMILIES


@ocucb.index_policy(unplayed_index="nonincreasing", check=False)
def infinite_at_first(pulls, t, horizon, arms):
    return inf if pulls < 2.0 else 1.0 / pulls


@ocucb.index_policy(unplayed_index="constant", check=False)
def unbounded(pulls, t, horizon, arms):
    return inf if pulls == 3.0 else 1.0 / pulls


POLICIES = [*(family for family in FAMILIES.values()), infinite_at_first, unbounded]


@pytest.mark.parametrize("family", POLICIES, ids=lambda family: family.name)
@pytest.mark.parametrize("count", [2, 5])
def test_decisions_are_those_of_probabilities_and_ask(family, count):
    """The same arms, probabilities and state, to the last bit; rewards of few values tie."""
    bounds = {"bounds": (0, 1)} if family.binary else {"sigma": 0.5}
    world = random.Random(1)
    one = Bandit(range(count), family(), 60, rng=3, **bounds)
    two, seen = copy.deepcopy(one), set()
    one._warned_of_horizon = two._warned_of_horizon = True
    for step in range(80):
        chances = one.probabilities()
        active = one.arms
        if step % 7 == 1:  # also arms that were never played
            arm = active[step % len(active)]
            one.play(arm)
            decided = two._decide(arm)
        else:
            arm = one.ask()
            decided = two._decide()
        assert decided == (arm, None if chances is None else chances[arm])
        seen.add(decided[1])
        if step % 5:
            reward = float(world.random() < 0.4)
            one.tell(arm, reward)
            two.tell(arm, reward)
        if step == 40 and count > 2:
            one.retire(1)
            two.retire(1)
        assert one.to_dict() == two.to_dict()
    assert 1.0 in seen


def test_a_tie_has_equal_probabilities():
    bandit = Bandit(range(4), "ocucb", 100, sigma=1)
    bandit.tell(range(4), [0.5, 0.5, 0.5, 0.0])
    arm, chance = bandit._decide()
    assert arm in (0, 1, 2)
    assert chance == 1 / 3
    assert Bandit("ab", infinite_at_first, 100, sigma=1)._decide() == (0, 1.0)


CALLS = []


def note(*call):
    CALLS.append(call)


@ocucb.index_policy(check=False)
def every_arm(pulls, t, horizon, arms):
    with numba.objmode():
        note(pulls, t)
    return 1.0 / pulls


@ocucb.index_policy(unplayed_index="nonincreasing", check=False)
def few_arms(pulls, t, horizon, arms):
    with numba.objmode():
        note(pulls, t)
    return 1.0 / pulls


@ocucb.sampling_policy(check=False)
def sampled(pulls, t, horizon, arms):
    with numba.objmode():
        note(pulls, t)
    return 1.0 / pulls


def stated(t, horizon, pulls, sums, sigma, memory):
    with numba.objmode():
        note("stated", t)
    memory[: pulls.size] = 1.0 / pulls.size


@ocucb.choice_policy(memory=lambda arms: arms, probabilities=stated)
def chosen(t, horizon, pulls, sums, sigma, memory, stream):
    with numba.objmode():
        note("chosen", t)
    return 0


def evaluated(family, decide):
    """Return what is decided between two arms in round 5, and what was evaluated for that."""
    bandit = Bandit("ab", family, 100, sigma=1, rng=1)
    bandit.tell([*"abb"], [0.5, 0.25, 0.5])
    bandit.ask()  # arm a, unless random
    CALLS.clear()
    decided, calls = decide(bandit), sorted(CALLS)
    CALLS.clear()  # what a formula reads must not have changed when it is used again
    return decided, calls


@pytest.mark.filterwarnings("ignore:Code running in object mode")
def test_a_decision_evaluates_each_arm_once():
    (arm, chance), calls = evaluated(every_arm, Bandit._decide)
    assert (arm, chance) == (0, 1.0)
    assert calls == [(2.0, 5.0), (2.0, 5.0)]
    (arm, chance), calls = evaluated(sampled, Bandit._decide)
    assert 0.0 < chance < 1.0
    assert calls in ([(2.0, 5.0), (2.0, 5.0)], [(1.0, 5.0), (3.0, 5.0)])
    (arm, chance), calls = evaluated(chosen, Bandit._decide)
    assert (arm, chance) == (0, 0.5)
    assert calls == [("chosen", 5.0), ("stated", 5.0)]


@pytest.mark.filterwarnings("ignore:Code running in object mode")
def test_a_probability_takes_no_evaluation():
    """Where few arms are evaluated, no others are; the last one is the ceiling for round 6."""
    (arm, chance), calls = evaluated(few_arms, Bandit._decide)
    assert (arm, chance) == (0, 1.0)
    assert calls == evaluated(few_arms, Bandit.ask)[1]
    assert calls[-1] == (3.0, 6.0)
    assert len(calls) <= 3


@pytest.mark.filterwarnings("ignore:Code running in object mode")
def test_an_arm_of_ones_own_choice_is_evaluated_once():
    for family, after in ((every_arm, []), (few_arms, [(3.0, 6.0)])):
        (arm, chance), calls = evaluated(family, lambda bandit: bandit._decide(1))
        assert (arm, chance) == (1, 0.0)
        assert calls == [(2.0, 5.0), (2.0, 5.0), *after]
        _, calls = evaluated(family, lambda bandit: bandit.play("b"))
        assert calls == after
