"""The step engine: one pull at a time, as in the paper.

It is the reference for the faster engines, so it is kept simple: one kernel for each form of
policy, and a lazy one that follows the paper's appendix "Computation Time".
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Any

import numpy as np

from .._compile import specialise
from .._types import Flags, Floats, Words
from ..policies._base import Policy, PolicyFamily
from ..problems import Problem
from ..random import CHOICES, largest, normal, pick, start_stream
from ..rewards import Rewards
from .base import (
    Engine,
    Game,
    Kernel,
    Outcome,
    Stats,
    arm_index,
    arm_index_with_variance,
    bonus_of,
    finish_run,
    first_rounds,
    index_of,
    mark_failed,
    new_stats,
    new_stats_with_squares,
    no_bonus,
    no_memory,
    observe,
    pass_mark,
    play_each_once,
    pseudo_regret,
    rounds_to_mark,
    rule_of,
    start_run,
)

LOOKAHEAD = 1.0 / 64.0  # length of a leap, as a share of the leader's pulls
LONGEST = float(1 << 26)  # cap on those pulls, so that a leap ends soon

# Declared here, filled in by `specialise`: the policy's formula and the arms' rewards.
bonus: Callable[..., float]
deviation: Callable[..., float]
choose: Callable[..., int]
memory_size: Callable[[int], int]
leaps: bool  # the bonus falls slowly enough to be bounded a leap ahead
unplayed_constant: bool  # the deviation of an unplayed arm does not change
draw: Callable[[float, float, Words], float]


def play_index(
    values: Any, game: Game, key: Words, first: int, outcome: Outcome, stop: Flags
) -> None:
    """Evaluate every arm in every round."""
    arms = game.means.size
    stats, indices = new_stats(arms), np.empty(arms)
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    drawn, mark, tilted = game.drawn, game.mark, game.tilted
    for run in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        start_run(game, key, first + run, rewards)
        start_stream(choices, key, first + run, CHOICES)
        done = play_each_once(game, rewards, stats, outcome, run)
        t = arms
        while done < game.checkpoints.size:
            t += 1
            if stop[0]:
                return
            for i in range(arms):
                indices[i] = arm_index(values, game, stats, i, float(t))
            best = largest(indices, choices)
            if best < 0:
                mark_failed(outcome, run)
                break
            observe(stats, best, draw(drawn[best], game.scales[best], rewards))
            if best == tilted and stats.pulls[best] == mark[0]:
                pass_mark(game, stats, outcome, run)
            if t == game.checkpoints[done]:
                outcome.regret[run, done] = pseudo_regret(game, stats)
                done += 1
        finish_run(game, stats, outcome, run)


def select_arm(
    values: Any,
    game: Game,
    stats: Stats,
    ceiling: Floats,
    leader: int,
    t: float,
    choices: Words,
) -> tuple[int, float]:
    """Return the arm with the largest index in round t and an upper bound on the others.

    ``ceiling[i]`` is the index of arm i when it was last evaluated. It cannot have risen since, so
    only arms with the largest ceiling are evaluated again.
    """
    ceiling[leader] = arm_index(values, game, stats, leader, t)
    if ceiling[leader] != ceiling[leader]:
        return -1, np.inf
    while True:
        top, highest, second = -1, -np.inf, -np.inf
        for i in range(ceiling.size):
            if ceiling[i] > second:
                if ceiling[i] > highest:
                    second = highest
                    top, highest = i, ceiling[i]
                else:
                    second = ceiling[i]
        fresh = arm_index(values, game, stats, top, t)
        ceiling[top] = fresh
        if fresh > second:
            return top, second
        if fresh != fresh:
            return -1, np.inf
        if fresh == second:
            for i in range(ceiling.size):
                if ceiling[i] == second:
                    ceiling[i] = arm_index(values, game, stats, i, t)
                    if ceiling[i] != ceiling[i]:
                        return -1, np.inf
            return pick(ceiling, second, choices), second


def play_index_lazily(
    values: Any, game: Game, key: Words, first: int, outcome: Outcome, stop: Flags
) -> None:
    """Evaluate other arms only when the leader's index no longer exceeds their ceilings.

    For policies where the index of an unplayed arm never rises; it plays what `play_index` plays.
    """
    arms = game.means.size
    n, K = float(game.horizon), float(arms)
    stats, ceiling = new_stats(arms), np.empty(arms)
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    drawn, mark, tilted = game.drawn, game.mark, game.tilted
    for run in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        start_run(game, key, first + run, rewards)
        start_stream(choices, key, first + run, CHOICES)
        done = play_each_once(game, rewards, stats, outcome, run)
        t = K  # rounds played
        for i in range(arms):
            ceiling[i] = np.inf
            if t < n:
                # the first `select_arm` evaluates a nan again and reports it
                fresh = arm_index(values, game, stats, i, t + 1.0)
                ceiling[i] = fresh if fresh == fresh else np.inf
        leader, rival = arms - 1, np.inf
        while done < game.checkpoints.size:
            until = float(game.checkpoints[done])
            while t < until:
                if stop[0]:
                    return
                mean, scale = drawn[leader], game.scales[leader]
                total, T = stats.sums[leader], stats.pulls[leader]
                last = t + 1.0
                if leaps:
                    # The bonus is at least `least` up to round `last`, so while the mean makes up
                    # the rest the formula can wait; the margin of 1e-12 exceeds any rounding.
                    last = min(until, t + 1.0 + floor(min(T, LONGEST) * LOOKAHEAD))
                    last = min(last, t + rounds_to_mark(leader == tilted, mark[0], T))
                    least = game.sigma * bonus(T + last - t - 1.0, last, n, K, *values)
                    level = rival - least + 1e-12 * (abs(rival) + least)
                    while t < last and total > level * T:
                        total += draw(mean, scale, rewards)
                        T += 1.0
                        t += 1.0
                    stats.sums[leader], stats.pulls[leader] = total, T
                    if leader == tilted and mark[0] == T:
                        pass_mark(game, stats, outcome, run)
                if t < last:
                    if not arm_index(values, game, stats, leader, t + 1.0) > rival:
                        break
                    observe(stats, leader, draw(mean, scale, rewards))
                    if leader == tilted and stats.pulls[leader] == mark[0]:
                        pass_mark(game, stats, outcome, run)
                    t += 1.0
            if t < until:
                leader, rival = select_arm(values, game, stats, ceiling, leader, t + 1.0, choices)
                if leader < 0:
                    mark_failed(outcome, run)
                    break
                observe(stats, leader, draw(drawn[leader], game.scales[leader], rewards))
                if leader == tilted and stats.pulls[leader] == mark[0]:
                    pass_mark(game, stats, outcome, run)
                t += 1.0
            if t == until:
                outcome.regret[run, done] = pseudo_regret(game, stats)
                done += 1
        finish_run(game, stats, outcome, run)


def play_samples(
    values: Any, game: Game, key: Words, first: int, outcome: Outcome, stop: Flags
) -> None:
    """Draw a fresh sample for every arm in every round and play the largest.

    If the deviation of an unplayed arm is constant, only the arm just played needs updating.
    """
    arms, sigma = game.means.size, game.sigma
    n, K = float(game.horizon), float(arms)
    stats, centre, spread = new_stats(arms), np.empty(arms), np.empty(arms)
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    drawn, mark, tilted = game.drawn, game.mark, game.tilted
    for run in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        start_run(game, key, first + run, rewards)
        start_stream(choices, key, first + run, CHOICES)
        done = play_each_once(game, rewards, stats, outcome, run)
        for i in range(arms):
            centre[i] = stats.sums[i]
            spread[i] = sigma * deviation(1.0, K + 1.0, n, K, *values)
        t = arms
        while done < game.checkpoints.size:
            t += 1
            if stop[0]:
                return
            best, top = -1, -np.inf
            for i in range(arms):
                if not unplayed_constant:
                    spread[i] = sigma * deviation(stats.pulls[i], float(t), n, K, *values)
                sample = centre[i] + spread[i] * normal(choices)
                if sample > top:
                    best, top = i, sample
            if best < 0:
                mark_failed(outcome, run)
                break
            observe(stats, best, draw(drawn[best], game.scales[best], rewards))
            if best == tilted and stats.pulls[best] == mark[0]:
                pass_mark(game, stats, outcome, run)
            T = stats.pulls[best]
            centre[best] = stats.sums[best] / T
            if unplayed_constant:
                spread[best] = sigma * deviation(T, t + 1.0, n, K, *values)
            if t == game.checkpoints[done]:
                outcome.regret[run, done] = pseudo_regret(game, stats)
                done += 1
        finish_run(game, stats, outcome, run)


def play_choices(
    values: Any, game: Game, key: Words, first: int, outcome: Outcome, stop: Flags
) -> None:
    """Call the policy's function in every round."""
    arms, n = game.means.size, float(game.horizon)
    stats, memory = new_stats(arms), np.empty(memory_size(arms))
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    drawn, mark, tilted = game.drawn, game.mark, game.tilted
    for run in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        start_run(game, key, first + run, rewards)
        start_stream(choices, key, first + run, CHOICES)
        for i in range(memory.size):
            memory[i] = 0.0
        done = play_each_once(game, rewards, stats, outcome, run)
        t = arms
        while done < game.checkpoints.size:
            t += 1
            if stop[0]:
                return
            best = choose(
                float(t), n, stats.pulls, stats.sums, game.sigma, memory, choices, *values
            )
            if best < 0 or best >= arms:
                mark_failed(outcome, run)
                break
            observe(stats, best, draw(drawn[best], game.scales[best], rewards))
            if best == tilted and stats.pulls[best] == mark[0]:
                pass_mark(game, stats, outcome, run)
            if t == game.checkpoints[done]:
                outcome.regret[run, done] = pseudo_regret(game, stats)
                done += 1
        finish_run(game, stats, outcome, run)


# The engine's three answers


def obstacle(policy: Policy, problem: Problem, horizon: int) -> None:
    """Return None: every policy can be played step by step."""


def cost(policy: Policy, problem: Problem, horizon: int) -> float:
    """Return the nominal nanoseconds per run."""
    inverted = policy.family.reading == "bernoulli budget"
    if policy.family.is_lazy:
        return (40.0 if inverted else 10.0) * horizon + 50.0 * problem.arms
    return (20.0 + (60.0 if inverted else 6.0) * problem.arms) * horizon


def kernel(family: PolicyFamily, rewards: Rewards) -> tuple[Kernel, dict[str, Any]]:
    """Return the kernel for a policy's form."""
    functions: dict[str, Any] = {"draw": rewards.draw, "play_each_once": first_rounds(rewards)}
    if family.kind == "choice":
        functions["choose"] = rule_of(family)
        functions["memory_size"] = family.code.compiled.get("memory_size", no_memory)
        return play_choices, functions
    if family.kind == "sampling":
        functions["deviation"] = rule_of(family)
        functions["unplayed_constant"] = family.unplayed_index == "constant"
        return play_samples, functions
    assert family.kind == "index", family.kind
    template = arm_index_with_variance if family.takes_variance else arm_index
    functions["arm_index"] = specialise(template, {"index": index_of(family)}, inline=True)
    if family.takes_variance:
        functions["new_stats"] = new_stats_with_squares
    if not family.is_lazy:
        return play_index, functions
    functions["leaps"] = family.concave and family.has_bonus
    functions["bonus"] = bonus_of(family) if functions["leaps"] else no_bonus
    functions["select_arm"] = specialise(select_arm, functions, part=True)
    return play_index_lazily, functions


ENGINE = Engine("step", None, obstacle, cost, kernel, takes_infinite=True)
