"""Skip-ahead for Thompson sampling: thinning instead of K fresh samples in every round.

Two ways of leaving out samples that decide nothing, both exact, alternate: while one arm leads,
others are candidates at a bounded rate (`lead`); while none does, arms that rarely exceed a
threshold share a Poisson clock (`compete`). docs/skip-ahead.md has the argument and its symbols.

The policy's deviation must rise neither with pulls nor with t (``unplayed_index`` is "constant" or
"nonincreasing"): rates that were true once remain upper bounds, and where a candidate or a point
is looked at, deviations are those of the round. As in the step engine, an arm whose deviation is
nan is not played, and if no other arm is left the run's regret is nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import erfc, exp, floor, log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np

from .._compile import kernel_part, rare_part, specialise
from .._types import Counts, Flags, Floats, Words
from ..policies._families import Policy, PolicyFamily
from ..policies._rules import SamplingRule
from ..problems import Problem
from ..random import normal, uniform
from ..rewards import Rewards
from . import step
from .base import Engine, Game, Outcome, Plan, skip_obstacle
from .formulas import deviation_of
from .run import NEXT_MARK, Run, rounds_to_mark, run_slots

# Declared here, filled in by `specialise`: the policy's formula.
deviation: Callable[..., float]
unplayed_constant: bool  # the deviation of an unplayed arm does not change
pull: Callable[..., int]
leapt: Callable[..., int]

_RISK = 1e-18  # total variation that a run may lose to pulls accepted unseen

# These affect the speed, never the law.
_LIMIT = 0.25  # candidates per round up to which an arm leads; `overtaken` needs it to be <= 1/4
_SLACK = 0.5  # logarithm of the factor by which the bound may raise the rate of candidates
_POOLED = 1.5  # an arm is pooled if c is this many deviations above its mean
_SHARE = 0.9331927987311419  # normal distribution function at _POOLED
_FEW = 12  # up to this many arms, all are active
_MANY = 16  # above this many arms, third arms are thinned too
_GROUP = 16  # arms in a group whose rates are summed together


class Posterior(NamedTuple):
    """The policy's posterior for each arm, derived from the statistics."""

    mean: Floats
    spread: Floats


class Clock(NamedTuple):
    """Rates at which arms are candidates or have points, and their sums over groups of arms.

    An arm's rate follows from its `level`, in standard deviations. `active` (a list) and `pooled`
    are used while arms compete.
    """

    rate: Floats
    groups: Floats
    level: Floats
    active: Counts
    pooled: Flags


@kernel_part
def exponential(stream: Words) -> float:
    """Return a standard exponential variate."""
    return -log(1.0 - uniform(stream))


@rare_part
def one_normal(stream: Words) -> float:
    """Return a standard normal variate in rarely executed code: a call compiles faster."""
    return normal(stream)


@kernel_part
def upper_tail(z: float) -> float:
    """Return the probability that a standard normal variate exceeds z."""
    return 0.5 * erfc(0.7071067811865476 * z)


@kernel_part
def tail_bound(z: float) -> float:
    """Return Mills' upper bound on it, for z > 0."""
    return 0.3989422804014327 * exp(-0.5 * z * z) / z


@kernel_part
def sum_groups(groups: Floats) -> float:
    """Return the total rate of all arms."""
    total = 0.0
    for g in range(groups.size):
        total += groups[g]
    return total


@kernel_part
def sum_rates(rate: Floats, groups: Floats) -> float:
    """Sum the rates by group and return the total rate of all arms."""
    for g in range(groups.size):
        groups[g] = 0.0
    for i in range(rate.size):
        groups[i // _GROUP] += rate[i]
    return sum_groups(groups)


@kernel_part
def sum_again(rate: Floats, groups: Floats, arm: int) -> float:
    """Return the total rate of all arms after that of one arm has changed.

    Its group is summed afresh: adding a difference of rates would leave rounding behind.
    """
    start = arm - arm % _GROUP
    total = 0.0
    for i in range(start, min(start + _GROUP, rate.size)):
        total += rate[i]
    groups[arm // _GROUP] = total
    return sum_groups(groups)


@kernel_part
def name_arm(rate: Floats, groups: Floats, total: float, stream: Words) -> int:
    """Return an arm with probability proportional to its rate."""
    place = uniform(stream) * total
    g = 0
    while g < groups.size - 1 and place >= groups[g]:
        place -= groups[g]
        g += 1
    while groups[g] == 0.0:  # rounding went past the last
        g -= 1
    named = -1
    for i in range(g * _GROUP, min(g * _GROUP + _GROUP, rate.size)):
        if rate[i] > 0.0:
            named = i
            if place < rate[i]:
                break
            place -= rate[i]
    return named


@kernel_part
def shows_above(z: float, least: float, stream: Words) -> float:
    """Return a pooled arm's point above z, in deviations; 0 if thinned or below `least`."""
    excess = exponential(stream) / z
    if z + excess < least or 2.0 * exponential(stream) < excess * excess:
        return 0.0
    mark = uniform(stream)  # accepted with probability _SHARE / Phi, close to 1
    if mark > _SHARE and mark * (1.0 - upper_tail(z + excess)) > _SHARE:
        return 0.0
    return z + excess


@kernel_part
def overtaken(
    x: float,
    bound: float,
    leader: int,
    arm: int,
    mean: Floats,
    spread: Floats,
    rate: Floats,
    groups: Floats,
    total: float,
    stream: Words,
) -> bool:
    """Tell whether a third arm beats x."""
    arms = mean.size
    if arms > _MANY and x >= bound:
        # With its mean at the bound, the leader would draw less than the bound half the time, so
        # another arm exceeds it, hence x, with probability at most 2 rate. For rates up to 1/4 the
        # Poisson rate -log(1 - 2 rate) of such an event is at most log(16) rate: thin from that.
        wide = 2.772588722239781
        wait = exponential(stream) / (wide * total)
        while wait < 1.0:
            i = name_arm(rate, groups, total, stream)
            if i != arm:
                exceeds = -log1p(-upper_tail((x - mean[i]) / spread[i]))
                if uniform(stream) * wide * rate[i] < exceeds:
                    return True
            wait += exponential(stream) / (wide * total)
        return False
    for i in range(arms):
        if i != leader and i != arm and mean[i] + spread[i] * normal(stream) > x:
            return True
    return False


def refresh(values: Any, game: Game, run: Run, posterior: Posterior, i: int, t: float) -> None:
    """Make the deviation of an arm, as far as it depends on the round, that of round t."""
    if not unplayed_constant:
        n, K = float(game.horizon), float(game.means.size)
        posterior.spread[i] = game.sigma * deviation(run.pulls[i], t, n, K, *values)


def compete(
    values: Any,
    game: Game,
    run: Run,
    posterior: Posterior,
    clock: Clock,
    done: int,
    t: float,
    until: float,
    caution: float,
    outcome: Outcome,
    row: int,
    stop: Flags,
) -> tuple[float, int, float]:
    """Play round by round from t to `until`, sampling the active arms.

    The threshold c is the largest mean - caution * spread. Returns t, the number of checkpoints
    done and the next caution; t = -1 if no arm can be played.
    """
    rng, sigma, n = run.choice_rng, game.sigma, float(game.horizon)
    mean, spread = posterior
    rate, groups, level, active, pooled = clock
    arms = mean.size
    K = float(arms)
    c = -np.inf
    if arms > _FEW:
        waiting = 0
        for i in range(arms):
            if mean[i] - caution * spread[i] > c:
                c = mean[i] - caution * spread[i]
        for i in range(arms):
            if c - mean[i] > _POOLED * spread[i]:
                waiting += 1
        if 3 * waiting < 2 * arms - 2:  # a clock for so few arms does not pay
            c = -np.inf
    busy = 0
    for i in range(arms):
        level[i] = (c - mean[i]) / spread[i]
        pooled[i] = level[i] > _POOLED
        if pooled[i]:
            rate[i] = tail_bound(level[i]) / _SHARE
        else:
            rate[i] = 0.0
            active[busy] = i
            busy += 1
    total = sum_rates(rate, groups)
    wait = exponential(rng) / total
    dips, points = 0.0, 0.0
    while t < until and not stop[0]:
        t += 1.0
        best, top = -1, -np.inf
        if busy == arms:
            for i in range(arms):
                refresh(values, game, run, posterior, i, t)
                sample = mean[i] + spread[i] * normal(rng)
                if sample > top:
                    best, top = i, sample
        else:
            for k in range(busy):
                i = active[k]
                refresh(values, game, run, posterior, i, t)
                sample = mean[i] + spread[i] * normal(rng)
                if sample > top:
                    best, top = i, sample
        while wait < 1.0:
            points += 1.0
            i = name_arm(rate, groups, total, rng)
            refresh(values, game, run, posterior, i, t)
            z = shows_above(level[i], (max(top, c) - mean[i]) / spread[i], rng)
            if z > 0.0:
                best, top = i, mean[i] + spread[i] * z
            wait += exponential(rng) / total
        wait -= 1.0
        if top < c:
            dips += 1.0
            for i in range(arms):
                if pooled[i]:
                    refresh(values, game, run, posterior, i, t)
                    sample = np.inf
                    while sample > c:
                        sample = mean[i] + spread[i] * normal(rng)
                    if sample > top:
                        best, top = i, sample
        if best < 0:
            return -1.0, done, caution
        done = pull(game, run, best, t, done, outcome, row)
        T = run.pulls[best]
        mean[best] = run.sums[best] / T
        spread[best] = sigma * deviation(T, t, n, K, *values)
        if pooled[best]:
            level[best] = (c - mean[best]) / spread[best]
            pooled[best] = level[best] > _POOLED
            if pooled[best]:
                rate[best] = tail_bound(level[best]) / _SHARE
            else:
                rate[best] = 0.0
                active[busy] = best
                busy += 1
            total = sum_again(rate, groups, best)
            wait = exponential(rng) / total
    if busy == arms:
        caution -= 0.05
    else:
        # A dip takes about 5 ns per arm, a point 60 ns: let both cost the same.
        caution += max(-0.5, min(0.5, 0.25 * log((5.0 * K * dips + 60.0) / (60.0 * points + 60.0))))
    return t, done, caution


def lead(
    values: Any,
    game: Game,
    run: Run,
    posterior: Posterior,
    clock: Clock,
    ends: Floats,
    heights: Floats,
    done: int,
    t: float,
    until: float,
    outcome: Outcome,
    row: int,
    stop: Flags,
) -> tuple[float, int]:
    """Play from candidate to candidate while one arm leads, from t to `until` at most.

    An arm leads if less than `_LIMIT` of the rounds are candidates; if none does, nothing is
    played. Returns t and the number of checkpoints done.
    """
    reward_rng, choice_rng = run.reward_rng, run.choice_rng
    drawn, scales, sigma, n = run.drawn, game.scales, game.sigma, float(game.horizon)
    mean, spread = posterior
    rate, groups, level, _, _ = clock
    arms = scales.size
    K = float(arms)
    leader = arms - 1
    for i in range(arms - 1):
        if mean[i] > mean[leader]:
            leader = i
    wide = spread[leader] * spread[leader]
    # A lower bound holds longer but makes more candidates. Let it raise an arm's rate by a factor,
    # or to where the arm is unlikely to be a candidate before the end.
    never = sqrt(2.0 * log(8.0 * K * (n - t)))
    slack = 1e6 * (spread[leader] + scales[leader])  # with one arm any bound will do
    for i in range(arms):
        if i != leader:
            gap = mean[leader] - mean[i]
            square = wide + spread[i] * spread[i]
            if not gap * gap > _SLACK * square:
                return t, done
            slack = min(slack, max(gap - never * sqrt(square), _SLACK * square / gap))
    drift, scale, T = drawn[leader], scales[leader], run.pulls[leader]
    if not T * slack > 2.0 * scale:
        return t, done
    bound = mean[leader] - slack
    total = 0.0
    for i in range(arms):
        rate[i] = 0.0
        if i != leader:
            level[i] = (bound - mean[i]) / sqrt(wide + spread[i] * spread[i])
            rate[i] = tail_bound(level[i])
            total += rate[i]
            if not (level[i] > 0.0 and total < _LIMIT):
                return t, done
    total = sum_rates(rate, groups)
    sure = scale * scale * log(n / _RISK)
    drift -= bound
    height = T * slack
    idle = 0
    leads = True
    while leads and t < until and not stop[0]:
        mark = float(game.checkpoints[done])
        longest = min(mark - t, rounds_to_mark(leader == game.tilted, run.mark[NEXT_MARK], T))
        wait = longest
        if total > 0.0:
            wait = floor(min(wait, exponential(choice_rng) / -log1p(-total)))
        gone, depth = 0.0, -1
        while gone < wait and height > 0.0:
            if depth < 0:
                # the longest block that is likely to be accepted unseen
                m = wait - gone
                reach = sure - height * drift
                if 1.4 * height * height < m * reach:
                    m = floor(1.4 * height * height / reach)
                if m < 4.0:
                    height += drift + scale * normal(reward_rng)
                    gone += 1.0
                    continue
                depth = 0
                ends[0] = gone + m
                heights[0] = height + m * drift + scale * sqrt(m) * one_normal(reward_rng)
            m, far = ends[depth] - gone, heights[depth]
            if m == 1.0 or 2.0 * height * far > sure * m:
                gone, height = ends[depth], far
                depth -= 1
            else:
                half = floor(0.5 * m)
                depth += 1
                ends[depth] = gone + half
                heights[depth] = (
                    height
                    + (far - height) * half / m
                    + scale * sqrt(half * (m - half) / m) * one_normal(reward_rng)
                )
        t += gone
        T += gone
        mean[leader] = bound + height / T
        spread[leader] = sigma * deviation(T, t, n, K, *values)

        if height > 0.0 and wait < longest:
            t += 1.0
            arm = name_arm(rate, groups, total, choice_rng)
            refresh(values, game, run, posterior, arm, t)
            if not unplayed_constant:
                spread[leader] = sigma * deviation(T, t, n, K, *values)
            excess = exponential(choice_rng) / level[arm]
            e = level[arm] + excess
            s, s_arm = spread[leader], spread[arm]
            both = sqrt(s * s + s_arm * s_arm)
            wins = (
                e * both > mean[leader] - mean[arm]
                and 2.0 * exponential(choice_rng) > excess * excess
            )
            if wins and arms > 2:
                for i in range(arms):
                    if i != leader:
                        refresh(values, game, run, posterior, i, t)
                x = mean[arm] + s_arm * (s_arm * e + s * one_normal(choice_rng)) / both
                wins = not overtaken(
                    x, bound, leader, arm, mean, spread, rate, groups, total, choice_rng
                )
            if wins:
                run.pulls[leader] = T
                done = pull(game, run, arm, t, done, outcome, row)
                mean[arm] = run.sums[arm] / run.pulls[arm]
                spread[arm] = sigma * deviation(run.pulls[arm], t, n, K, *values)
                level[arm] = (bound - mean[arm]) / sqrt(wide + spread[arm] * spread[arm])
                rate[arm] = tail_bound(level[arm])
                total = sum_again(rate, groups, arm)
                leads = level[arm] > 0.0 and total < _LIMIT
                idle -= 1
            else:
                height += drift + scale * one_normal(reward_rng)
                T += 1.0
                mean[leader] = bound + height / T
                spread[leader] = sigma * deviation(T, t, n, K, *values)
                idle += 1
        if not height > 0.0 or idle > 4 + arms // 4:  # the bound no longer holds, or is too low
            leads = False
        if rounds_to_mark(leader == game.tilted, run.mark[NEXT_MARK], T) == 0.0:
            leads = False  # the drift may change
        done = leapt(game, run, leader, T, mean[leader] * T, t, done, outcome, row)
    return t, done


def play_thinned(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Skip ahead while an arm leads; sample the competing arms while none does."""
    posterior, clock, ends, heights = work
    n, K = float(game.horizon), float(game.means.size)
    last = float(game.checkpoints[game.checkpoints.size - 1])
    t, caution = run.rounds[0], 0.0
    for i in range(game.means.size):
        T = run.pulls[i]
        posterior.mean[i] = run.sums[i] / T
        posterior.spread[i] = game.sigma * deviation(T, t, n, K, *values)
    while t < last and not stop[0]:
        before = t
        for i in range(game.means.size):
            refresh(values, game, run, posterior, i, t + 1.0)
        t, done = lead(
            values, game, run, posterior, clock, ends, heights, done, t, last, outcome, row, stop
        )
        if t == before:
            until = min(last, t + max(32.0 + floor(0.5 * K), floor(t / 8.0)))
            t, done, caution = compete(
                values, game, run, posterior, clock, done, t, until, caution, outcome, row, stop
            )
        for spread in posterior.spread:
            if spread != spread:  # the arm would never be played again
                return False
        if t < 0.0:
            return False
    return True


def new_posterior(arms: int) -> tuple[Posterior, Clock, Floats, Floats]:
    """Return the posterior, the clock, and what a leap is halved with: fewer than 64 times."""
    clock = Clock(
        rate=np.empty(arms),
        groups=np.empty((arms - 1) // _GROUP + 1),
        level=np.empty(arms),
        active=np.empty(arms, np.int64),
        pooled=np.empty(arms, np.bool_),
    )
    return Posterior(np.empty(arms), np.empty(arms)), clock, np.empty(64), np.empty(64)


# The engine's three answers


def obstacle(policy: Policy, problem: Problem, horizon: int) -> str | None:
    """Return why this engine cannot play a policy, or None if it can."""
    rule = policy.family.rule
    assert isinstance(rule, SamplingRule)
    if rule.unplayed_index == "nondecreasing":
        return "the deviation of an unplayed arm must not rise"
    return skip_obstacle(policy, problem, horizon, problem.rewards.brownian)


def cost(policy: Policy, problem: Problem, horizon: int) -> float:
    """Return the nominal nanoseconds per run.

    It takes some rounds until one arm leads; in shorter runs stepping is faster
    (`python bench/run.py choice`).
    """
    stepping = step.cost(policy, problem, horizon)
    gap = problem.gaps[problem.gaps > 0].min(initial=math.inf) / problem.sigma
    if horizon < 1000 and not 20.0 * (1.0 + problem.arms) <= horizon * gap**2 < math.inf:
        return math.nextafter(stepping, math.inf)
    return min(stepping, 2000.0 * problem.arms * log(horizon + 1.0))


def plan(family: PolicyFamily, rewards: Rewards) -> Plan:
    """Return the kernel."""
    assert isinstance(family.rule, SamplingRule), family.rule
    functions = run_slots(rewards) | {"deviation": deviation_of(family)}
    functions["unplayed_constant"] = family.rule.unplayed_constant
    functions["refresh"] = specialise(refresh, functions, part=True, forced=True)
    functions["compete"] = specialise(compete, functions, inline=True)
    functions["lead"] = specialise(lead, functions, inline=True)
    return Plan(play_thinned, functions, new_posterior)


ENGINE = Engine("skip", SamplingRule, obstacle, cost, plan)
