"""The step engine: one pull at a time, as in the paper.

It is the reference for the faster engines, so it is kept simple: one kernel for each form of
policy, a lazy one that follows the paper's appendix "Computation Time", and its counterpart for
indices that rise, where no other engine plays them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Any

import numpy as np

from .._compile import kernel_part, specialise
from .._types import Counts, Flags, Floats, Words
from ..policies._base import Policy, PolicyFamily
from ..problems import Problem
from ..random import CHOICES, largest, normal, pick, start_stream
from ..rewards import Rewards
from .base import (
    NEXT_MARK,
    Engine,
    Game,
    Kernel,
    Outcome,
    Stats,
    arm_count_slots,
    arm_index,
    arm_index_with_variance,
    bonus_of,
    deviation_of,
    effective_arms_of_all,
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
SHORTEST = 4.0  # rounds of a window

# Declared here, filled in by `specialise`: the policy's formula and the arms' rewards.
bonus: Callable[..., float]
counted_arms: Callable[[Floats, int, float], float]  # what the formula is told of other arms
deviation: Callable[..., float]
choose: Callable[..., int]
memory_size: Callable[[int], int]
index: Callable[..., float]
leaps: bool  # the bonus falls slowly enough to be bounded a leap ahead
unplayed_constant: bool  # the deviation of an unplayed arm does not change
draw: Callable[[float, float, Words], float]


def evaluate_all(
    values: Any, game: Game, stats: Stats, order: Counts, t: float, indices: Floats
) -> None:
    """Write all arms' indices in round t."""
    for i in range(indices.size):
        indices[i] = arm_index(values, game, stats, i, t)


def evaluate_all_with_effective_arms(
    values: Any, game: Game, stats: Stats, order: Counts, t: float, indices: Floats
) -> None:
    """Write the same for a policy that takes the effective arms, which are found together."""
    n, sigma = float(game.horizon), game.sigma
    effective_arms_of_all(stats.pulls, order, indices)
    for i in range(indices.size):
        T = stats.pulls[i]
        indices[i] = index(stats.sums[i] / T, 0.0, T, t, n, indices[i], sigma, values)


def play_index(
    values: Any, game: Game, key: Words, first: int, outcome: Outcome, stop: Flags
) -> None:
    """Evaluate every arm in every round."""
    arms = game.means.size
    stats, indices, order = new_stats(arms), np.empty(arms), np.arange(arms)
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
            evaluate_all(values, game, stats, order, float(t), indices)
            best = largest(indices, choices)
            if best < 0:
                mark_failed(outcome, run)
                break
            observe(stats, best, draw(drawn[best], game.scales[best], rewards))
            if best == tilted and stats.pulls[best] == mark[NEXT_MARK]:
                pass_mark(game, stats, outcome, run)
            if t == game.checkpoints[done]:
                outcome.regret[run, done] = pseudo_regret(game, stats)
                done += 1
        finish_run(game, stats, outcome, run)


def play_index_in_windows(
    values: Any, game: Game, key: Words, first: int, outcome: Outcome, stop: Flags
) -> None:
    """Evaluate other arms only at the ends of windows, and where the leader may have lost the lead.

    For policies where the index of an unplayed arm never falls: at the end of a window it is a
    ceiling for all of it. It plays what `play_index` plays, where no engine is faster: elsewhere
    the reference stays as simple as it can be.
    """
    arms = game.means.size
    n = float(game.horizon)
    stats, indices, order = new_stats(arms), np.empty(arms), np.arange(arms)
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    drawn, mark, tilted = game.drawn, game.mark, game.tilted
    for run in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        start_run(game, key, first + run, rewards)
        start_stream(choices, key, first + run, CHOICES)
        done = play_each_once(game, rewards, stats, outcome, run)
        t = float(arms)  # rounds played
        leader, rival = arms - 1, np.inf
        opened, until, width, rest = 0.0, 0.0, SHORTEST, 0.0
        while done < game.checkpoints.size:
            if stop[0]:
                return
            total, T = stats.sums[leader], stats.pulls[leader]
            started = t
            if leaps and t < until:
                # As in `play_index_lazily`, but here the bonus rises with t.
                last = min(until, float(game.checkpoints[done]))
                last = min(last, t + 1.0 + floor(min(T, LONGEST) * LOOKAHEAD))
                last = min(last, t + rounds_to_mark(leader == tilted, mark[NEXT_MARK], T))
                far = T + last - t - 1.0
                K = counted_arms(stats.pulls, leader, far)
                least = game.sigma * bonus(far, t + 1.0, n, K, *values)
                level = rival - least + 1e-12 * (abs(rival) + least)
                mean, scale = drawn[leader], game.scales[leader]
                while t < last and total > level * T:
                    total += draw(mean, scale, rewards)
                    T += 1.0
                    t += 1.0
                stats.sums[leader], stats.pulls[leader] = total, T
            if t == started:
                best = leader
                if t == until or not arm_index(values, game, stats, leader, t + 1.0) > rival:
                    if until > 0.0:
                        lasted = t - opened
                        width = 2.0 * width if t == until else max(SHORTEST, lasted)
                        rest = t if lasted > SHORTEST else t + 8.0
                    evaluate_all(values, game, stats, order, t + 1.0, indices)
                    best = largest(indices, choices)
                    if best < 0:
                        mark_failed(outcome, run)
                        break
                    until, rival = 0.0, np.inf
                    if best == leader and t >= rest:
                        opened, until = t, min(n, t + 1.0 + width)
                        evaluate_all(values, game, stats, order, until, indices)
                        rival = largest_other(indices, best)
                leader = best
                observe(stats, leader, draw(drawn[leader], game.scales[leader], rewards))
                t += 1.0
            if leader == tilted and stats.pulls[leader] == mark[NEXT_MARK]:
                pass_mark(game, stats, outcome, run)
            if t == game.checkpoints[done]:
                outcome.regret[run, done] = pseudo_regret(game, stats)
                done += 1
        finish_run(game, stats, outcome, run)


@kernel_part
def largest_other(indices: Floats, arm: int) -> float:
    """Return the largest index of all arms but one; nan if one of them is nan."""
    top = -np.inf
    for i in range(indices.size):
        if i != arm and not indices[i] <= top:
            top = indices[i]
    return top


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
    n = float(game.horizon)
    stats, ceiling = new_stats(arms), np.empty(arms)
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    drawn, mark, tilted = game.drawn, game.mark, game.tilted
    for run in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        start_run(game, key, first + run, rewards)
        start_stream(choices, key, first + run, CHOICES)
        done = play_each_once(game, rewards, stats, outcome, run)
        t = float(arms)  # rounds played
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
                    last = min(last, t + rounds_to_mark(leader == tilted, mark[NEXT_MARK], T))
                    far = T + last - t - 1.0
                    K = counted_arms(stats.pulls, leader, far)
                    least = game.sigma * bonus(far, last, n, K, *values)
                    level = rival - least + 1e-12 * (abs(rival) + least)
                    while t < last and total > level * T:
                        total += draw(mean, scale, rewards)
                        T += 1.0
                        t += 1.0
                    stats.sums[leader], stats.pulls[leader] = total, T
                    if leader == tilted and mark[NEXT_MARK] == T:
                        pass_mark(game, stats, outcome, run)
                if t < last:
                    if not arm_index(values, game, stats, leader, t + 1.0) > rival:
                        break
                    observe(stats, leader, draw(mean, scale, rewards))
                    if leader == tilted and stats.pulls[leader] == mark[NEXT_MARK]:
                        pass_mark(game, stats, outcome, run)
                    t += 1.0
            if t < until:
                leader, rival = select_arm(values, game, stats, ceiling, leader, t + 1.0, choices)
                if leader < 0:
                    mark_failed(outcome, run)
                    break
                observe(stats, leader, draw(drawn[leader], game.scales[leader], rewards))
                if leader == tilted and stats.pulls[leader] == mark[NEXT_MARK]:
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
                elif sample != sample:
                    best = -1
                    break
            if best < 0:
                mark_failed(outcome, run)
                break
            observe(stats, best, draw(drawn[best], game.scales[best], rewards))
            if best == tilted and stats.pulls[best] == mark[NEXT_MARK]:
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
            if best == tilted and stats.pulls[best] == mark[NEXT_MARK]:
                pass_mark(game, stats, outcome, run)
            if t == game.checkpoints[done]:
                outcome.regret[run, done] = pseudo_regret(game, stats)
                done += 1
        finish_run(game, stats, outcome, run)


def _can_skip(family: PolicyFamily, rewards: Rewards) -> bool:
    """Tell whether skip-ahead plays a policy that declares `unplayed_index`."""
    if family.reading == "bernoulli budget":
        return rewards.binary
    alone = rewards.binary and not family.takes_effective_arms
    return family.has_bonus and (rewards.brownian or alone)


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
        functions["deviation"] = deviation_of(family)
        functions["unplayed_constant"] = family.unplayed_constant
        return play_samples, functions
    assert family.kind == "index", family.kind
    template = arm_index_with_variance if family.takes_variance else arm_index
    functions |= arm_count_slots(family)
    slots = {"index": index_of(family), **arm_count_slots(family)}
    functions["arm_index"] = specialise(template, slots, inline=True)
    if family.takes_variance:
        functions["new_stats"] = new_stats_with_squares
    if not family.is_lazy:
        way = evaluate_all_with_effective_arms if family.takes_effective_arms else evaluate_all
        slots = {"index": index_of(family), "arm_index": functions["arm_index"]}
        functions["evaluate_all"] = specialise(way, slots, part=True)
        if family.unplayed_index is None or _can_skip(family, rewards):
            return play_index, functions
        functions["leaps"] = family.has_bonus
        functions["bonus"] = bonus_of(family) if family.has_bonus else no_bonus
        return play_index_in_windows, functions
    functions["leaps"] = family.concave and family.has_bonus
    functions["bonus"] = bonus_of(family) if functions["leaps"] else no_bonus
    functions["select_arm"] = specialise(select_arm, functions, part=True)
    return play_index_lazily, functions


ENGINE = Engine("step", None, obstacle, cost, kernel, takes_infinite=True)
