"""Skip-ahead for Thompson sampling: thinning instead of K fresh samples in every round.

In each round every arm i draws a fresh sample from N(mean_i, s_i^2), where mean_i is the average of
its T_i rewards and s_i = sigma * deviation(T_i); the arm with the largest sample is played. Most of
these samples decide nothing. Two ways of leaving them out, both exact, alternate.

**Leading.** Let l be the arm with the largest mean. Arm j beats l with probability Q(z_j), where Q
is the normal tail and z_j = (mean_l - mean_j) / sqrt(s_l^2 + s_j^2). While l is played, the others
do not change and s_l does not rise. So as long as mean_l stays above a bound,

    z_j >= level_j = (bound - mean_j) / sqrt(s_l^2 + s_j^2)    (with s_l as it was at the start),
    Q(z_j) <= Q(level_j) <= rate_j = phi(level_j) / level_j  (Mills' bound; phi the density).

Let a round be a candidate with probability sum_j rate_j, and let a candidate name arm j with weight
rate_j. Draw e = level_j + Exp(1) / level_j and, if e > z_j, accept it with probability
exp(-(e - level_j)^2 / 2). So it is accepted with probability Q(z_j) / rate_j, and is then a normal
variate given that it exceeds z_j: the standardised difference of the two samples given that j beats
l. Given e, the sample x of j is normal with mean mean_j + e s_j^2 / s and deviation s_l s_j / s,
where s^2 = s_l^2 + s_j^2. If no third arm beats x, arm j is played; in all other cases l is. So j
is played with probability P(j has the largest sample), and l with the remaining P(l has it). The
wait for the next candidate is geometric whatever the rewards, and l is played throughout.

The bound is watched without looking at every pull: height = sum_l - bound * T_l is a Gaussian
random walk with drift. Its value m pulls ahead takes one normal variate. Given heights a and b at
the ends, the Brownian bridge between them hits zero with probability exp(-2 a b / (m scale^2)), and
the walk is that bridge at integer times. If this is below 1e-18 / n, the m pulls are accepted
unseen; otherwise the midpoint is drawn given both ends, and the left half is handled first. The
first height below zero is a stopping time, so what was drawn beyond it can be discarded; a new
bound is chosen.

**Competing.** When no arm leads, take any threshold c. Arms that often exceed it are active: they
are sampled in every round. The others, with z_i = (c - mean_i) / s_i > 1.5, are pooled. A normal
variate has the law of the highest point of a Poisson process with intensity phi / Phi, which has no
point above y with probability Phi(y). So what a pooled arm draws above c are points of a Poisson
process in time, which does not change until the arm is played, and all pooled arms share one clock.
It runs at the sum of the rates phi(z_i) / (z_i Phi(1.5)); a point of arm i is proposed at
z_i + Exp(1) / z_i and accepted with the ratio of the intensities. In a round where no arm exceeds c
(a dip), the pooled arms are sampled given that they are below it. Any c is valid; the cheapest is
learned from earlier rounds.

**Error.** All this has the law of the step engine up to floating-point rounding, except for blocks
accepted unseen. A run has at most n of them. So its distribution differs from the step engine's by
at most 1e-18 in total variation, and that of 10^6 runs together by at most 1e-12.

**Requirements.** The policy's deviation depends only on pulls and parameters (``unplayed_index`` is
"constant") and does not rise with pulls. Rewards are Gaussian. As in the step engine, an arm whose
deviation is nan is not played, and if no other arm is left the run's regret is nan.

References
----------
P. A. W. Lewis and G. S. Shedler (1979), Simulation of nonhomogeneous Poisson processes by thinning,
Naval Research Logistics 26(3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import erfc, exp, floor, log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np

from .._compile import kernel_part, rare_part, specialise
from .._types import Counts, Flags, Floats, Words
from ..policies._base import Policy, PolicyFamily
from ..problems import Problem
from ..random import CHOICES, normal, start_stream, uniform
from ..rewards import Rewards
from . import step
from .base import (
    NEXT_MARK,
    Engine,
    Game,
    Kernel,
    Outcome,
    Stats,
    deviation_of,
    finish_run,
    first_rounds,
    mark_failed,
    new_stats,
    observe,
    pass_mark,
    play_each_once,
    pseudo_regret,
    rounds_to_mark,
    skip_obstacle,
    start_run,
)

# Declared here, filled in by `specialise`: the policy's formula.
deviation: Callable[..., float]

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

    `level` is used while an arm leads; `active` (a list) and `pooled` while arms compete.
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
    """Return a pooled arm's point above z in units of its spread; 0 if thinned or below `least`."""
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


def compete(
    values: Any,
    game: Game,
    stats: Stats,
    posterior: Posterior,
    clock: Clock,
    done: int,
    t: float,
    until: float,
    caution: float,
    rewards: Words,
    choices: Words,
    outcome: Outcome,
    run: int,
    stop: Flags,
) -> tuple[float, int, float]:
    """Play round by round from t to `until`, sampling the active arms.

    The threshold c is the largest mean - caution * spread. Returns t, the number of checkpoints
    done and the next caution; t = -1 if no arm can be played.
    """
    drawn, scales, sigma, n = game.drawn, game.scales, game.sigma, float(game.horizon)
    mean, spread = posterior
    rate, groups, _, active, pooled = clock
    arms = scales.size
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
        z = (c - mean[i]) / spread[i]
        pooled[i] = z > _POOLED
        if pooled[i]:
            rate[i] = tail_bound(z) / _SHARE
        else:
            rate[i] = 0.0
            active[busy] = i
            busy += 1
    total = sum_rates(rate, groups)
    wait = exponential(choices) / total
    mark = float(game.checkpoints[done])
    dips, points = 0.0, 0.0
    while t < until and not stop[0]:
        t += 1.0
        best, top = -1, -np.inf
        if busy == arms:
            for i in range(arms):
                sample = mean[i] + spread[i] * normal(choices)
                if sample > top:
                    best, top = i, sample
        else:
            for k in range(busy):
                i = active[k]
                sample = mean[i] + spread[i] * normal(choices)
                if sample > top:
                    best, top = i, sample
        while wait < 1.0:
            points += 1.0
            i = name_arm(rate, groups, total, choices)
            z = (c - mean[i]) / spread[i]
            z = shows_above(z, (top - mean[i]) / spread[i], choices)
            if z > 0.0:
                best, top = i, mean[i] + spread[i] * z
            wait += exponential(choices) / total
        wait -= 1.0
        if top < c:
            dips += 1.0
            for i in range(arms):
                if pooled[i]:
                    sample = np.inf
                    while sample > c:
                        sample = mean[i] + spread[i] * normal(choices)
                    if sample > top:
                        best, top = i, sample
        if best < 0:
            return -1.0, done, caution
        observe(stats, best, drawn[best] + scales[best] * normal(rewards))
        if best == game.tilted and stats.pulls[best] == game.mark[NEXT_MARK]:
            pass_mark(game, stats, outcome, run)
        T = stats.pulls[best]
        mean[best] = stats.sums[best] / T
        spread[best] = sigma * deviation(T, t, n, K, *values)
        if pooled[best]:
            z = (c - mean[best]) / spread[best]
            pooled[best] = z > _POOLED
            if pooled[best]:
                rate[best] = tail_bound(z) / _SHARE
            else:
                rate[best] = 0.0
                active[busy] = best
                busy += 1
            total = sum_again(rate, groups, best)
            wait = exponential(choices) / total
        if t == mark:
            outcome.regret[run, done] = pseudo_regret(game, stats)
            done += 1
            if t < until:
                mark = float(game.checkpoints[done])
    if busy == arms:
        caution -= 0.05
    else:
        # A dip takes about 5 ns per arm, a point 60 ns: let both cost the same.
        caution += max(-0.5, min(0.5, 0.25 * log((5.0 * K * dips + 60.0) / (60.0 * points + 60.0))))
    return t, done, caution


def lead(
    values: Any,
    game: Game,
    stats: Stats,
    posterior: Posterior,
    clock: Clock,
    ends: Floats,
    heights: Floats,
    done: int,
    t: float,
    until: float,
    rewards: Words,
    choices: Words,
    outcome: Outcome,
    run: int,
    stop: Flags,
) -> tuple[float, int]:
    """Play from candidate to candidate while one arm leads, from t to `until` at most.

    An arm leads if less than `_LIMIT` of the rounds are candidates; if none does, nothing is
    played. Returns t and the number of checkpoints done.
    """
    drawn, scales, sigma, n = game.drawn, game.scales, game.sigma, float(game.horizon)
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
    drift, scale, T = drawn[leader], scales[leader], stats.pulls[leader]
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
        longest = min(mark - t, rounds_to_mark(leader == game.tilted, game.mark[NEXT_MARK], T))
        wait = longest
        if total > 0.0:
            wait = floor(min(wait, exponential(choices) / -log1p(-total)))
        gone, depth = 0.0, -1
        while gone < wait and height > 0.0:
            if depth < 0:
                # the longest block that is likely to be accepted unseen
                m = wait - gone
                reach = sure - height * drift
                if 1.4 * height * height < m * reach:
                    m = floor(1.4 * height * height / reach)
                if m < 4.0:
                    height += drift + scale * normal(rewards)
                    gone += 1.0
                    continue
                depth = 0
                ends[0] = gone + m
                heights[0] = height + m * drift + scale * sqrt(m) * one_normal(rewards)
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
                    + scale * sqrt(half * (m - half) / m) * one_normal(rewards)
                )
        t += gone
        T += gone
        mean[leader] = bound + height / T
        spread[leader] = sigma * deviation(T, t, n, K, *values)

        if height > 0.0 and wait < longest:
            t += 1.0
            arm = name_arm(rate, groups, total, choices)
            excess = exponential(choices) / level[arm]
            e = level[arm] + excess
            s, s_arm = spread[leader], spread[arm]
            both = sqrt(s * s + s_arm * s_arm)
            wins = (
                e * both > mean[leader] - mean[arm] and 2.0 * exponential(choices) > excess * excess
            )
            if wins and arms > 2:
                x = mean[arm] + s_arm * (s_arm * e + s * one_normal(choices)) / both
                wins = not overtaken(
                    x, bound, leader, arm, mean, spread, rate, groups, total, choices
                )
            if wins:
                observe(stats, arm, drawn[arm] + scales[arm] * one_normal(rewards))
                if arm == game.tilted and stats.pulls[arm] == game.mark[NEXT_MARK]:
                    pass_mark(game, stats, outcome, run)
                mean[arm] = stats.sums[arm] / stats.pulls[arm]
                spread[arm] = sigma * deviation(stats.pulls[arm], t, n, K, *values)
                level[arm] = (bound - mean[arm]) / sqrt(wide + spread[arm] * spread[arm])
                rate[arm] = tail_bound(level[arm])
                total = sum_again(rate, groups, arm)
                leads = level[arm] > 0.0 and total < _LIMIT
                idle -= 1
            else:
                height += drift + scale * one_normal(rewards)
                T += 1.0
                mean[leader] = bound + height / T
                spread[leader] = sigma * deviation(T, t, n, K, *values)
                idle += 1
        stats.pulls[leader] = T
        if t == mark:
            outcome.regret[run, done] = pseudo_regret(game, stats)
            done += 1
        if not height > 0.0 or idle > 4 + arms // 4:  # the bound no longer holds, or is too low
            leads = False
        if (
            rounds_to_mark(leader == game.tilted, game.mark[NEXT_MARK], T) == 0.0
        ):  # the drift may change
            leads = False
    stats.sums[leader] = mean[leader] * T
    if leader == game.tilted and game.mark[NEXT_MARK] == T:
        pass_mark(game, stats, outcome, run)
    return t, done


def play_thinned(
    values: Any, game: Game, key: Words, first: int, outcome: Outcome, stop: Flags
) -> None:
    """Skip ahead while an arm leads; sample the competing arms while none does."""
    arms = game.means.size
    n, K = float(game.horizon), float(arms)
    stats = new_stats(arms)
    posterior = Posterior(np.empty(arms), np.empty(arms))
    clock = Clock(
        rate=np.empty(arms),
        groups=np.empty((arms - 1) // _GROUP + 1),
        level=np.empty(arms),
        active=np.empty(arms, np.int64),
        pooled=np.empty(arms, np.bool_),
    )
    ends, heights = np.empty(64), np.empty(64)  # n can be halved fewer than 64 times
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    last = float(game.checkpoints[game.checkpoints.size - 1])
    for run in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        start_run(game, key, first + run, rewards)
        start_stream(choices, key, first + run, CHOICES)
        done = play_each_once(game, rewards, stats, outcome, run)
        for i in range(arms):
            posterior.mean[i] = stats.sums[i]
            posterior.spread[i] = game.sigma * deviation(1.0, K, n, K, *values)
        t, caution = K, 0.0
        while 0.0 <= t < last:
            if stop[0]:
                return
            before = t
            t, done = lead(
                values, game, stats, posterior, clock, ends, heights, done, t, last,
                rewards, choices, outcome, run, stop,
            )  # fmt: skip
            if t == before:
                until = min(last, t + max(32.0 + floor(0.5 * K), floor(t / 8.0)))
                t, done, caution = compete(
                    values, game, stats, posterior, clock, done, t, until, caution,
                    rewards, choices, outcome, run, stop,
                )  # fmt: skip
            for spread in posterior.spread:
                if spread != spread:  # the arm would never be played again
                    t = -1.0
        if t < 0.0:
            mark_failed(outcome, run)
        finish_run(game, stats, outcome, run)


# The engine's three answers


def obstacle(policy: Policy, problem: Problem, horizon: int) -> str | None:
    """Return why this engine cannot play a policy, or None if it can."""
    if policy.family.unplayed_index in ("nonincreasing", "nondecreasing"):
        return "the deviation of an unplayed arm must be constant"
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


def kernel(family: PolicyFamily, rewards: Rewards) -> tuple[Kernel, dict[str, Any]]:
    """Return the kernel."""
    functions = {"deviation": deviation_of(family), "play_each_once": first_rounds(rewards)}
    functions["compete"] = specialise(compete, functions, inline=True)
    functions["lead"] = specialise(lead, functions, inline=True)
    return play_thinned, functions


ENGINE = Engine("skip", "sampling", obstacle, cost, kernel)
