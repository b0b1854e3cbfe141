"""Policies that forget, one pull at a time: formulae are told what is still remembered.

With a discount c, what is k rounds old counts c^k; with a window w, only the last w rounds count:

    T_i = sum of weights of the rounds that played arm i,   S_i = the same sum of their rewards.

A formula is told T_i, the mean S_i / T_i and so on, in place of the horizon n the *memory* m =
min(n, 1 / (1 - c)) or min(n, w), and in place of the round min(m, 1 + sum of T_i). See Garivier and
Moulines (2011), On upper-confidence bound policies for switching bandit problems. An arm of which
nothing is remembered comes first.

A discount takes no loop over the arms: nothing fades, but the weights of new rewards grow by 1 / c
in each round, and what is told is divided by the latest.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from .._compile import kernel_part, rare_part
from .._types import Counts, Flags, Floats
from ..policies._families import Policy, PolicyFamily
from ..policies._rules import BernoulliKLRule, ChoiceRule, IndexRule, Rule, SamplingRule
from ..problems import Problem
from ..random import largest, normal
from ..rewards import Rewards
from .arm_counts import effective_arms_of_all
from .base import Engine, Game, Outcome, Plan
from .formulas import choice_of, deviation_of, index_of
from .run import REWARD, Run, run_slots, variance_of

GROWTH, MASS, ROUNDS, FACTS = 0, 1, 2, 3  # the latest weight, all that is remembered, rounds so far
HEAVIEST = 1e100  # weight
NOTHING = 1e-9  # of a pull: as if there were none

# Declared here, filled in by `specialise`.
index: Callable[..., float]
deviation: Callable[..., float]
choose: Callable[..., int]
pull: Callable[..., int]
takes_variance: bool
takes_effective_arms: bool


class Known(NamedTuple):
    """What is remembered, as views of a run's memory: of each arm, in weights, and the window."""

    facts: Floats
    pulls: Floats
    sums: Floats
    squares: Floats
    arms: Floats
    rewards: Floats


def memory_size(arms: int, forget: float, horizon: int) -> int:
    """Return how many numbers that takes."""
    window = 0 if forget < 1.0 else int(min(forget, horizon))
    return FACTS + 3 * arms + 2 * window


@kernel_part
def known_of(memory: Floats, arms: int) -> Known:
    """Return what a run's memory holds."""
    first = FACTS + 3 * arms
    middle = first + (memory.size - first) // 2
    return Known(
        memory[:FACTS],
        memory[FACTS : FACTS + arms],
        memory[FACTS + arms : FACTS + 2 * arms],
        memory[FACTS + 2 * arms : first],
        memory[first:middle],
        memory[middle:],
    )


@kernel_part
def add(known: Known, arm: int, weight: float, reward: float, squares: bool) -> None:
    """Add a reward, with Welford's update of the squared deviations."""
    T, S = known.pulls[arm], known.sums[arm]
    known.pulls[arm] = T + weight
    known.sums[arm] = S + weight * reward
    if squares:
        old = S / T if T > 0.0 else reward
        new = known.sums[arm] / known.pulls[arm]
        known.squares[arm] += weight * (reward - old) * (reward - new)


@rare_part
def renew(known: Known, squares: bool) -> None:
    """Add up the window anew, so that rounding errors do not."""
    for i in range(known.pulls.size):
        known.pulls[i] = known.sums[i] = known.squares[i] = 0.0
    for k in range(known.arms.size):
        add(known, int(known.arms[k]), 1.0, known.rewards[k], squares)


@rare_part
def lighten(known: Known) -> None:
    """Divide all weights by the latest."""
    scale = 1.0 / known.facts[GROWTH]
    for i in range(known.pulls.size):
        known.pulls[i] *= scale
        known.sums[i] *= scale
        known.squares[i] *= scale
    known.facts[GROWTH] = 1.0


@kernel_part
def drop(known: Known, arm: int, reward: float, squares: bool) -> None:
    """Take out a reward that leaves the window."""
    T, S = known.pulls[arm], known.sums[arm]
    if T <= 1.0:
        known.pulls[arm] = known.sums[arm] = known.squares[arm] = 0.0
        return
    known.pulls[arm] = T - 1.0
    known.sums[arm] = S - reward
    if squares:
        lost = (reward - S / T) * (reward - known.sums[arm] / known.pulls[arm])
        known.squares[arm] = max(0.0, known.squares[arm] - lost)


@kernel_part
def remember(known: Known, forget: float, arm: int, reward: float, squares: bool) -> None:
    """Take in the reward of a round, with which all others become one round older."""
    facts, window = known.facts, known.arms.size
    if window == 0:
        facts[GROWTH] /= forget
        facts[MASS] = forget * facts[MASS] + 1.0
        add(known, arm, facts[GROWTH], reward, squares)
        if facts[GROWTH] > HEAVIEST:
            lighten(known)
    else:
        place = int(facts[ROUNDS]) % window
        if facts[ROUNDS] >= window:
            drop(known, int(known.arms[place]), known.rewards[place], squares)
        known.arms[place], known.rewards[place] = arm, reward
        facts[MASS] = min(facts[ROUNDS] + 1.0, float(window))
        if place == window - 1:
            renew(known, squares)
        else:
            add(known, arm, 1.0, reward, squares)
    facts[ROUNDS] += 1.0


@rare_part
def begin(known: Known, forget: float, run: Run, squares: bool) -> None:
    """Take in the first rounds, one of each arm."""
    if known.facts[ROUNDS] == 0.0:
        known.facts[GROWTH] = 1.0
        for i in range(known.pulls.size):
            remember(known, forget, i, run.sums[i], squares)


@kernel_part
def memory_of(forget: float, horizon: float) -> float:
    """Return what formulae are told in place of the horizon."""
    return min(horizon, 1.0 / (1.0 - forget) if forget < 1.0 else forget)


@kernel_part
def forgotten(known: Known) -> int:
    """Return the first arm of which nothing is remembered, or -1."""
    least = NOTHING * known.facts[GROWTH]
    for i in range(known.pulls.size):
        if known.pulls[i] <= least:
            return i
    return -1


def play_index(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Evaluate every arm in every round."""
    (indices, order), sigma, forget = work, game.sigma, game.forget
    known, m = known_of(run.memory, indices.size), memory_of(game.forget, float(game.horizon))
    begin(known, forget, run, takes_variance)
    facts, pulls, sums, squares = known.facts, known.pulls, known.sums, known.squares
    t, K = run.rounds[0], float(indices.size)
    while done < game.checkpoints.size and not stop[0]:
        t += 1.0
        best = forgotten(known)
        if best < 0:
            scale, now = 1.0 / facts[GROWTH], min(m, 1.0 + facts[MASS])
            if takes_effective_arms:
                effective_arms_of_all(pulls, order, indices)
            for i in range(indices.size):
                T, variance = pulls[i], 0.0
                if takes_variance:
                    variance = variance_of(sums[i], T, squares[i])
                count = indices[i] if takes_effective_arms else K
                indices[i] = index(sums[i] / T, variance, T * scale, now, m, count, sigma, values)
            best = largest(indices, run.choice_rng)
        if best < 0:
            return False
        done = pull(game, run, best, t, done, outcome, row)
        remember(known, forget, best, run.mark[REWARD], takes_variance)
    return True


def play_samples(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Draw a fresh sample for every arm in every round and play the largest."""
    sigma, forget, K = game.sigma, game.forget, run.pulls.size
    known, m = known_of(run.memory, K), memory_of(game.forget, float(game.horizon))
    begin(known, forget, run, False)
    t, arms = run.rounds[0], float(K)
    while done < game.checkpoints.size and not stop[0]:
        t += 1.0
        best, top = forgotten(known), -inf
        if best < 0:
            scale, now = 1.0 / known.facts[GROWTH], min(m, 1.0 + known.facts[MASS])
            for i in range(K):
                T = known.pulls[i]
                spread = sigma * deviation(T * scale, now, m, arms, *values)
                sample = known.sums[i] / T + spread * normal(run.choice_rng)
                if sample > top:
                    best, top = i, sample
                elif sample != sample:
                    best = -1
                    break
        if best < 0:
            return False
        done = pull(game, run, best, t, done, outcome, row)
        remember(known, forget, best, run.mark[REWARD], False)
    return True


def play_choices(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Call the policy's function in every round."""
    (pulls, sums, squares, room), sigma, forget = work, game.sigma, game.forget
    known, m = known_of(run.memory, pulls.size), memory_of(game.forget, float(game.horizon))
    begin(known, forget, run, takes_variance)
    t = run.rounds[0]
    while done < game.checkpoints.size and not stop[0]:
        t += 1.0
        best = forgotten(known)
        if best < 0:
            scale, now = 1.0 / known.facts[GROWTH], min(m, 1.0 + known.facts[MASS])
            for i in range(pulls.size):
                pulls[i] = known.pulls[i] * scale
                sums[i] = known.sums[i] * scale
                squares[i] = known.squares[i] * scale
            best = choose(now, m, pulls, sums, squares, sigma, room, run.choice_rng, values)
        if best < 0 or best >= pulls.size:
            return False
        done = pull(game, run, best, t, done, outcome, row)
        remember(known, forget, best, run.mark[REWARD], takes_variance)
    return True


# The arrays that the loops above work with


def array_and_order(arms: int) -> tuple[Floats, Counts]:
    """Return a number for each arm, and an order of the arms."""
    return np.empty(arms), np.arange(arms)


def seen_by_choice(rule: ChoiceRule) -> Callable[[int], tuple[Floats, Floats, Floats, Floats]]:
    """Return what makes three numbers for each arm, and the room that a rule works in."""

    def arrays(arms: int) -> tuple[Floats, Floats, Floats, Floats]:
        room = np.zeros(rule.memory_size(arms))
        return np.empty(arms), np.empty(arms), np.empty(arms), room

    return arrays


# The engine's three answers


def obstacle(policy: Policy, problem: Problem, horizon: int) -> str | None:
    """Return a clause where nothing is forgotten: then any other engine is faster."""
    return "it forgets nothing" if policy.forget is None else None


def cost(policy: Policy, problem: Problem, horizon: int) -> float:
    """Return the nominal nanoseconds per run."""
    inverted = isinstance(policy.family.rule, BernoulliKLRule)
    return (20.0 + (60.0 if inverted else 10.0) * problem.arms) * horizon


def plan(family: PolicyFamily, rewards: Rewards) -> Plan:
    """Return how a policy's form is played."""
    rule = family.rule
    slots: dict[str, Any] = run_slots(rewards, notes_reward=True)
    slots |= {"takes_variance": rule.takes_variance}
    slots["takes_effective_arms"] = rule.takes_effective_arms

    def size(game: Game) -> int:
        return memory_size(game.means.size, game.forget, game.horizon)

    if isinstance(rule, ChoiceRule):
        slots |= {"choose": choice_of(family)}
        return Plan(play_choices, slots, seen_by_choice(rule), state_size=size)
    if isinstance(rule, SamplingRule):
        return Plan(play_samples, slots | {"deviation": deviation_of(family)}, state_size=size)
    assert isinstance(rule, IndexRule), rule
    return Plan(play_index, slots | {"index": index_of(family)}, array_and_order, state_size=size)


ENGINE = Engine("step", Rule, obstacle, cost, plan, takes_infinite=True)
