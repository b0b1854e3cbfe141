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
from ..policies._families import Policy, PolicyFamily
from ..policies._rules import (
    BernoulliKLRule,
    BonusRule,
    ChoiceRule,
    IndexRule,
    LinearRule,
    Rule,
    SamplingRule,
)
from ..problems import Problem
from ..random import largest, normal, pick
from ..rewards import Rewards
from .arm_counts import arm_count_slots, effective_arms_of_all
from .base import Engine, Game, Outcome, Plan
from .formulas import bonus_of, choice_of, deviation_of, index_of, no_bonus
from .run import (
    ADVISED,
    NEXT_MARK,
    STOPPED,
    Run,
    Stats,
    ending,
    rounds_to_mark,
    run_slots,
    stats_of,
    variance_of,
)

LOOKAHEAD = 1.0 / 64.0  # length of a leap, as a share of the leader's pulls
LONGEST = float(1 << 26)  # cap on those pulls, so that a leap ends soon
SHORTEST = 4.0  # rounds of a window

# Declared here, filled in by `specialise`: the policy's formula and the arms' rewards.
bonus: Callable[..., float]
counted_arms: Callable[[Floats, int, float], float]  # what the formula is told of other arms
deviation: Callable[..., float]
choose: Callable[..., int]
index: Callable[..., float]
leaps: bool  # the bonus falls slowly enough to be bounded a leap ahead
unplayed_constant: bool  # the deviation of an unplayed arm does not change
draw_reward: Callable[[int, float, float, Floats, Words], float]
takes_variance: bool
stops: bool  # the policy has a rule to stop
pull: Callable[..., int]
leapt: Callable[..., int]


def arm_index(values: Any, game: Game, stats: Stats, i: int, t: float) -> float:
    """Return the index of arm i in round t."""
    T = stats.pulls[i]
    n, K = float(game.horizon), counted_arms(stats.pulls, i, T)
    return index(stats.sums[i] / T, 0.0, T, t, n, K, game.sigma, values)


def arm_index_with_variance(values: Any, game: Game, stats: Stats, i: int, t: float) -> float:
    """Return the same for a policy that takes the variance; one function for both is slower."""
    T = stats.pulls[i]
    n, K = float(game.horizon), counted_arms(stats.pulls, i, T)
    variance = variance_of(stats.sums[i], T, stats.squares[i])
    return index(stats.sums[i] / T, variance, T, t, n, K, game.sigma, values)


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
        T, variance = stats.pulls[i], 0.0
        if takes_variance:
            variance = variance_of(stats.sums[i], T, stats.squares[i])
        indices[i] = index(stats.sums[i] / T, variance, T, t, n, indices[i], sigma, values)


def play_index(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Evaluate every arm in every round."""
    indices, order = work
    stats, t = stats_of(run), run.rounds[0]
    while done < game.checkpoints.size and not stop[0]:
        t += 1.0
        evaluate_all(values, game, stats, order, t, indices)
        best = largest(indices, run.choice_rng)
        if best < 0:
            return False
        done = pull(game, run, best, t, done, outcome, row)
    return True


def play_index_in_windows(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Evaluate other arms only at the ends of windows, and where the leader may have lost the lead.

    For policies where the index of an unplayed arm never falls: at the end of a window it is a
    ceiling for all of it. It plays what `play_index` plays, where no engine is faster: elsewhere
    the reference stays as simple as it can be.
    """
    (indices, order), n = work, float(game.horizon)
    stats, t = stats_of(run), run.rounds[0]
    leader, rival = indices.size - 1, np.inf
    opened, until, width, rest = 0.0, 0.0, SHORTEST, 0.0
    while done < game.checkpoints.size and not stop[0]:
        if leaps and t < until:
            # As in `play_index_lazily`, but here the bonus rises with t.
            total, T, started = run.sums[leader], run.pulls[leader], t
            last = min(until, float(game.checkpoints[done]))
            last = min(last, t + 1.0 + floor(min(T, LONGEST) * LOOKAHEAD))
            last = min(last, t + rounds_to_mark(leader == game.tilted, run.mark[NEXT_MARK], T))
            far = T + last - t - 1.0
            K = counted_arms(run.pulls, leader, far)
            least = game.sigma * bonus(far, t + 1.0, n, K, *values)
            level = rival - least + 1e-12 * (abs(rival) + least)
            mean, scale = run.drawn[leader], game.scales[leader]
            while t < last and total > level * T:
                total += draw_reward(leader, mean, scale, game.table, run.reward_rng)
                T += 1.0
                t += 1.0
            if t > started:
                done = leapt(game, run, leader, T, total, t, done, outcome, row)
                continue
        if t == until or not arm_index(values, game, stats, leader, t + 1.0) > rival:
            if until > 0.0:
                lasted = t - opened
                width = 2.0 * width if t == until else max(SHORTEST, lasted)
                rest = t if lasted > SHORTEST else t + 8.0
            evaluate_all(values, game, stats, order, t + 1.0, indices)
            best = largest(indices, run.choice_rng)
            if best < 0:
                return False
            until, rival = 0.0, np.inf
            if best == leader and t >= rest:
                opened, until = t, min(n, t + 1.0 + width)
                evaluate_all(values, game, stats, order, until, indices)
                rival = largest_other(indices, best)
            leader = best
        t += 1.0
        done = pull(game, run, leader, t, done, outcome, row)
    return True


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
    choice_rng: Words,
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
            return pick(ceiling, second, choice_rng), second


def play_index_lazily(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Evaluate other arms only when the leader's index no longer exceeds their ceilings.

    For policies where the index of an unplayed arm never rises; it plays what `play_index` plays.
    """
    ceiling, n = work, float(game.horizon)
    stats, t = stats_of(run), run.rounds[0]
    for i in range(ceiling.size):
        # the first `select_arm` evaluates a nan again and reports it
        fresh = arm_index(values, game, stats, i, t + 1.0)
        ceiling[i] = fresh if fresh == fresh else np.inf
    leader, rival = ceiling.size - 1, np.inf
    while done < game.checkpoints.size and not stop[0]:
        if leaps:
            # The bonus is at least `least` up to round `last`, so while the mean makes up the rest
            # the formula can wait; the margin of 1e-12 exceeds any rounding.
            total, T = run.sums[leader], run.pulls[leader]
            last = t + 1.0 + floor(min(T, LONGEST) * LOOKAHEAD)
            last = min(float(game.checkpoints[done]), last)
            last = min(last, t + rounds_to_mark(leader == game.tilted, run.mark[NEXT_MARK], T))
            far = T + last - t - 1.0
            K = counted_arms(run.pulls, leader, far)
            least = game.sigma * bonus(far, last, n, K, *values)
            level = rival - least + 1e-12 * (abs(rival) + least)
            mean, scale = run.drawn[leader], game.scales[leader]
            while t < last and total > level * T:
                total += draw_reward(leader, mean, scale, game.table, run.reward_rng)
                T += 1.0
                t += 1.0
            if t == last:
                done = leapt(game, run, leader, T, total, t, done, outcome, row)
                continue
            run.sums[leader], run.pulls[leader] = total, T  # neither mark nor checkpoint so far
        if not arm_index(values, game, stats, leader, t + 1.0) > rival:
            leader, rival = select_arm(
                values, game, stats, ceiling, leader, t + 1.0, run.choice_rng
            )
            if leader < 0:
                return False
        t += 1.0
        done = pull(game, run, leader, t, done, outcome, row)
    return True


def play_samples(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Draw a fresh sample for every arm in every round and play the largest.

    If the deviation of an unplayed arm is constant, only the arm just played needs updating.
    """
    (centre, spread), sigma = work, game.sigma
    n, K = float(game.horizon), float(centre.size)
    t = run.rounds[0]
    for i in range(centre.size):
        T = run.pulls[i]
        centre[i] = run.sums[i] / T
        spread[i] = sigma * deviation(T, t + 1.0, n, K, *values)
    while done < game.checkpoints.size and not stop[0]:
        t += 1.0
        best, top = -1, -np.inf
        for i in range(centre.size):
            if not unplayed_constant:
                spread[i] = sigma * deviation(run.pulls[i], t, n, K, *values)
            sample = centre[i] + spread[i] * normal(run.choice_rng)
            if sample > top:
                best, top = i, sample
            elif sample != sample:
                best = -1
                break
        if best < 0:
            return False
        done = pull(game, run, best, t, done, outcome, row)
        T = run.pulls[best]
        centre[best] = run.sums[best] / T
        if unplayed_constant:
            spread[best] = sigma * deviation(T, t + 1.0, n, K, *values)
    return True


def play_choices(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Call the policy's function in every round."""
    n, sigma = float(game.horizon), game.sigma
    sums, pulls, squares = run.sums, run.pulls, run.squares
    t = run.rounds[0]
    while done < game.checkpoints.size and not stop[0]:
        t += 1.0
        if stops and run.memory[STOPPED] > 0.0:
            best = int(run.memory[ADVISED])
        else:
            best = choose(t, n, pulls, sums, squares, sigma, run.memory, run.choice_rng, values)
        if best < 0 or best >= pulls.size:
            return False
        done = pull(game, run, best, t, done, outcome, row)
    return True


# The arrays that the loops above work with


def two_arrays(arms: int) -> tuple[Floats, Floats]:
    """Return two numbers for each arm."""
    return np.empty(arms), np.empty(arms)


def array_and_order(arms: int) -> tuple[Floats, Counts]:
    """Return a number for each arm, and an order of the arms."""
    return np.empty(arms), np.arange(arms)


def _can_skip(rule: Rule, rewards: Rewards) -> bool:
    """Tell whether skip-ahead plays a policy that declares `unplayed_index`."""
    if rewards.rounds:
        return False
    if isinstance(rule, BernoulliKLRule):
        return rewards.binary
    alone = rewards.binary and not rule.takes_effective_arms
    return isinstance(rule, BonusRule) and (rewards.brownian or alone)


# The engine's three answers


def obstacle(policy: Policy, problem: Problem, horizon: int) -> str | None:
    """Return None: any policy can be played step by step, if not here, by a neighbour."""
    if policy.forget is not None:
        return "it forgets"
    return "it looks at features" if isinstance(policy.family.rule, LinearRule) else None


def cost(policy: Policy, problem: Problem, horizon: int) -> float:
    """Return the nominal nanoseconds per run."""
    inverted = isinstance(policy.family.rule, BernoulliKLRule)
    if policy.family.rule.is_lazy:
        return (40.0 if inverted else 10.0) * horizon + 50.0 * problem.arms
    return (20.0 + (60.0 if inverted else 6.0) * problem.arms) * horizon


def plan(family: PolicyFamily, rewards: Rewards) -> Plan:
    """Return how a policy's form is played."""
    rule = family.rule
    functions = run_slots(rewards, rule.takes_variance)
    if isinstance(rule, ChoiceRule):
        functions["choose"] = choice_of(family)
        if rule.stops:
            functions |= ending(functions, stops=True)
        functions["stops"] = rule.stops
        return Plan(play_choices, functions, memory_size=rule.memory_size)
    if isinstance(rule, SamplingRule):
        functions["deviation"] = deviation_of(family)
        functions["unplayed_constant"] = rule.unplayed_constant
        return Plan(play_samples, functions, two_arrays)
    assert isinstance(rule, IndexRule), rule
    has_bonus = isinstance(rule, BonusRule)
    template = arm_index_with_variance if rule.takes_variance else arm_index
    functions |= arm_count_slots(family)
    slots = {"index": index_of(family), **arm_count_slots(family)}
    functions["arm_index"] = specialise(template, slots, inline=True)
    if not rule.is_lazy:
        way = evaluate_all_with_effective_arms if rule.takes_effective_arms else evaluate_all
        functions["index"] = index_of(family)
        functions["evaluate_all"] = specialise(way, functions, part=True)
        if rule.unplayed_index is None or _can_skip(rule, rewards):
            return Plan(play_index, functions, array_and_order)
        functions["leaps"] = has_bonus and not rewards.rounds
        functions["bonus"] = bonus_of(family) if has_bonus else no_bonus
        return Plan(play_index_in_windows, functions, array_and_order)
    functions["leaps"] = isinstance(rule, BonusRule) and rule.concave and not rewards.rounds
    functions["bonus"] = bonus_of(family) if functions["leaps"] else no_bonus
    functions["select_arm"] = specialise(select_arm, functions, part=True)
    return Plan(play_index_lazily, functions, np.empty)


ENGINE = Engine("step", Rule, obstacle, cost, plan, takes_infinite=True)
