"""The skip-ahead engine: exact simulation of index policies at a cost that hardly grows with n.

For Gaussian rewards. The step engine pays for every pull, but while one arm leads nothing is
decided: only the round in which it loses the lead matters, and that can be sampled directly.

Why skipping is exact
---------------------
Let the leader have T pulls before round t + 1, and let no other arm's index exceed J while it
leads. After s more pulls it still leads if its index is above J, that is, if its summed reward is
above the *border*

    C(s) = (T + s) * (J - sigma * bonus(T + s, t + s + 1)).

1. *A line above the border.* Where ``pulls * bonus`` is concave while the arm is played, C is
   convex, so its chord over 0, ..., m lies above it and touches it at both ends. Where we only know
   that the bonus does not rise with pulls, (T + s) * (J - sigma * bonus(T + m, t')) is a line above
   C, where t' is whichever of t + 1 and t + m + 1 gives the smaller bonus. A walk above the line is
   above the border.
2. *A walk inside a Brownian motion.* The leader's sum is a Gaussian random walk, hence a Brownian
   motion observed at integer times. Its height above the line is a Brownian motion with drift; the
   time at which it first hits the line has a known law (inverse Gaussian) and is drawn directly
   (`hitting_time`). In all rounds before that time the walk is above the line: the leader leads,
   and there is no need to look.
3. *If it hits the line*, the height there is zero, and the next integer time is a fraction of a
   step away: one normal variate gives the walk's position then. If that is above the line, repeat
   step 2. If not, compare it with the border itself: below it, the lead is lost in this very round;
   above it, continue with a new line.
4. *If it does not hit the line* before m, the position at m is drawn given that it did not: a
   normal variate, accepted with the probability 1 - exp(-2 * height * height' / (scale^2 * m)) that
   a Brownian bridge between two heights stays above zero (`endpoint_given_no_hit`).

The hitting time is a stopping time, so fresh increments from there on have the right law, and
whatever else was drawn can be discarded. A run has exactly the law that it has in the step engine,
up to the resolution of the random numbers. Each decision compares a multiple of 2^-53 with a
probability, so it is wrong with probability at most 2^-53, and `endpoint_given_no_hit` gives up on
events rarer than 1e-18. A leap takes two or three decisions. So the total variation distance to the
step engine is at most 4e-16 per leap: below 1e-12 for a run with a few hundred changes of leader,
below 1e-10 for the paper's largest problems.

Who is next
-----------
A tournament tree holds a ceiling for every arm's index: its root is the largest, and an update
takes log2(K) comparisons. Where the index of an unplayed arm never rises, an old index is a ceiling
(`play_nonincreasing`); J is the largest ceiling of the other arms, and when the leader falls below
it, the arm that owns it is evaluated again. Where it may rise, the ceilings are the indices at the
end of a time window (`play_nondecreasing`). Where it depends on the other arms' pulls, it falls as
these are played: ceilings remain ceilings, since the effective arms of an unplayed arm only grow.

Shifting all means does not change the order of the indices, so kernels put the best arm's mean at 0
and sum the noise alone: with 10^10 pulls, heights would otherwise drown in rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from .._compile import kernel_part, rare_part, specialise
from .._types import Flags, Floats, Words
from ..policies._base import Policy, PolicyFamily
from ..problems import Problem
from ..random import normal, uniform
from ..rewards import Rewards
from . import step
from .base import (
    NEXT_MARK,
    ArmCount,
    Engine,
    Game,
    Kernel,
    Outcome,
    Stats,
    arm_count_slots,
    bonus_of,
    effective_arms_of_all,
    falls_short_of,
    finish_run,
    first_rounds,
    mark_failed,
    never,
    new_stats,
    observe,
    pass_mark,
    play_each_once,
    pseudo_regret,
    rounds_to_mark,
    skip_obstacle,
    start_run,
)

# Declared here, filled in by `specialise`: the policy's bonus and declarations.
bonus: Callable[..., float]
falls_short: Callable[..., bool]  # whether an index is surely below a level
ranked_index: Callable[..., float]  # by which arms are compared: `shifted_index`
counted_arms: Callable[[Floats, int, float], float]  # what the formula is told of other arms
leader_arm_count: Callable[[Floats, int, float], ArmCount]
new_order: Callable[[int], Any]  # what `effective_arms_of_all` needs, if it is called
takes_effective_arms: bool  # the bonus depends on the pulls of other arms
concave_until: Callable[..., float]  # pulls up to which `concave` holds; inf for always
concave: bool  # pulls * bonus is concave as the arm is played
unplayed_constant: bool  # the index of an unplayed arm does not change
unplayed_rises: bool  # the index of an unplayed arm may rise

# Parts of kernels that use the bonus are specialised first and bound under their own names.

# Costs, in steps or nanoseconds; they affect the speed, never the law.
LEAP = 10.0  # a leap, in steps
COST_ROUND, COST_ARM = 20.0, 2.5  # a round of the plain loop, and each arm in it
COST_SWITCH, COST_INDEX = 120.0, 70.0  # a change of leader, an index


@kernel_part
def is_finite(index: float) -> bool:
    """Tell whether an index is finite: infinite ones cannot be ranked."""
    return index - index == 0.0


@kernel_part
def hitting_time(height: float, drift: float, scale: float, before: float, rewards: Words) -> float:
    """Draw the time at which a Brownian motion started at `height` first hits zero.

    Any value of at least `before` means "not before `before`". With a drift away from zero it may
    never hit; if it does, the law is that of the opposite drift. The time solves
    ``(height - speed * time)^2 = time * swing^2``; one of the two roots is picked at random.
    J. Michael, W. Schucany and R. Haas (1976), Generating random variates using transformations
    with multiple roots, The American Statistician 30(2).
    """
    speed = abs(drift)
    time = inf
    if drift <= 0.0 or uniform(rewards) < exp(-2.0 * drift * height / (scale * scale)):
        swing = scale * abs(normal(rewards))
        root = 2.0 * height / (swing + sqrt(swing * swing + 4.0 * speed * height))
        time = root * root
        if time < before and uniform(rewards) * (height + speed * time) > height:
            root = height / (speed * root)
            time = root * root
    return time


@kernel_part
def endpoint_given_no_hit(
    height: float, drift: float, scale: float, span: float, rewards: Words
) -> float:
    """Draw the noise of a Brownian motion from `height` over a `span` in which it stays above zero.

    However rare that event, a leap needs one proposal on average, because this is called only if
    the event has occurred.
    """
    mean = height + drift * span
    spread = scale * sqrt(span)
    rate = -2.0 * height / (spread * spread)
    noise = -mean  # on the line, for a closer look: only rounding leads here
    while mean + 9.0 * spread > 0.0:
        noise = spread * normal(rewards)
        if mean + noise > 0.0 and uniform(rewards) >= exp(rate * (mean + noise)):
            break
    return noise


def seen(arm_count: ArmCount, T: float) -> float:
    """Return how many arms the formula is told of with T pulls."""
    return arm_count.whole + arm_count.roots / sqrt(T) if takes_effective_arms else arm_count.whole


class Lead(NamedTuple):
    """The state of the leader after t rounds.

    `near` is sigma times its bonus in round t + 1; `height` is how far its summed reward lies above
    the border.
    """

    t: float
    pulls: float
    noise: float
    near: float
    height: float


def play_leader(
    values: Any,
    game: Game,
    pulls: Floats,
    leader: int,
    arm_count: ArmCount,
    edge: float,
    trend: float,
    scale: float,
    lag: float,
    lead: Lead,
    last: float,
    rewards: Words,
) -> Lead:
    """Let the leader of round t + 1 play until it loses the lead or `last` rounds are over.

    The lead is lost if the returned height is not positive. Unless t is `last`, at least one round
    is played.

    Parameters
    ----------
    pulls, leader, arm_count
        Pulls of all arms (the leader's own are not read), and what they mean to the leader.
    edge
        Pulls up to which `concave` holds.
    trend, scale
        Mean (not 0 while the arm is tilted) and deviation of the arm's noise.
    lag
        How far its mean lies below J.
    """
    n, sigma = float(game.horizon), game.sigma
    t, T, noise, near, height = lead
    while t < last:
        # A line over as many pulls as the arm already has stays close to the border.
        reach = min(last - t, T + LEAP)
        if takes_effective_arms:
            if arm_count.kink <= T:
                arm_count = leader_arm_count(pulls, leader, T)
            reach = min(reach, arm_count.kink - T)
        if concave:
            if edge >= T:
                reach = min(reach, max(1.0, edge - T))
            K = seen(arm_count, T + reach)
            far = sigma * bonus(T + reach, t + reach + 1.0, n, K, *values)
            drift = ((T + reach) * far - T * near) / reach - lag
        else:
            # The line is T * (near - far) above the border here, about half of reach * near.
            reach = min(reach, max(1.0, np.floor(height / near)))
            worst = t + 1.0 if unplayed_rises else t + reach + 1.0
            K = seen(arm_count, T + reach)
            far = sigma * bonus(T + reach, worst, n, K, *values)
            height = noise + T * (far - lag)
            drift = far - lag
        drift += trend
        speed = abs(drift)
        close = sqrt(LEAP) * scale + LEAP * speed  # within reach in that many steps
        left = reach
        while True:
            if height > close and left > LEAP:
                time = hitting_time(height, drift, scale, left, rewards)
                if time < left:
                    steps = np.ceil(time)
                    swing = scale * sqrt(steps - time) * normal(rewards)
                    noise += swing - (height + drift * time) + trend * steps
                    height = swing + drift * (steps - time)
                    left -= steps
                else:
                    swing = endpoint_given_no_hit(height, drift, scale, left, rewards)
                    noise += swing + trend * left
                    height += swing + drift * left
                    left = 0.0
            else:
                swing = scale * normal(rewards)
                noise += swing + trend
                height += swing + drift
                left -= 1.0
            if not (height > 0.0 and left > 0.0):
                break
        T += reach - left
        t += reach - left
        if concave and height > 0.0:
            near = far
        else:
            near = sigma * bonus(T, t + 1.0, n, seen(arm_count, T), *values)
            height = noise + T * (near - lag)
            if not height > 0.0:
                break
    return Lead(t, T, noise, near, height)


@kernel_part
def raise_tree(tree: Floats) -> None:
    """Fill the tournament tree above its leaves; node i is the parent of 2 i and 2 i + 1."""
    for node in range(tree.size // 2 - 1, 0, -1):
        tree[node] = max(tree[2 * node], tree[2 * node + 1])


@kernel_part
def replace(tree: Floats, arm: int, ceiling: float) -> None:
    """Set the ceiling of one arm."""
    node = tree.size // 2 + arm
    tree[node] = ceiling
    while node > 1:
        node >>= 1
        left, right = tree[2 * node], tree[2 * node + 1]
        top = right if right > left else left
        if tree[node] == top:
            break
        tree[node] = top


@kernel_part
def highest(tree: Floats) -> tuple[int, float]:
    """Return the arm with the highest ceiling, and the highest ceiling of the others."""
    arms = tree.size // 2
    node, second = 1, -inf
    while node < arms:
        node *= 2
        loser = tree[node + 1]
        if loser > tree[node]:
            loser = tree[node]
            node += 1
        if loser > second:
            second = loser
    return node - arms, second


@kernel_part
def highest_other(tree: Floats, arm: int) -> float:
    """Return the highest ceiling of all arms but one."""
    node, top = tree.size // 2 + arm, -inf
    while node > 1:
        if tree[node ^ 1] > top:
            top = tree[node ^ 1]
        node >>= 1
    return top


@rare_part
def record(
    game: Game, stats: Stats, leader: int, t: float, done: int, outcome: Outcome, run: int
) -> int:
    """Record the checkpoints that the leader passed on its way to round t.

    Its pulls at each of them follow from the round, since no other arm was played.
    """
    T = stats.pulls[leader]
    while done < game.checkpoints.size and game.checkpoints[done] <= t:
        stats.pulls[leader] = T - (t - game.checkpoints[done])
        outcome.regret[run, done] = pseudo_regret(game, stats)
        done += 1
    stats.pulls[leader] = T
    return done


def play_nonincreasing(
    values: Any, game: Game, key: Words, first: int, outcome: Outcome, stop: Flags
) -> None:
    """Play a policy where the index of an unplayed arm never rises: an old index is a ceiling."""
    arms, sigma, gaps = game.means.size, game.sigma, game.gaps
    n, K = float(game.horizon), float(arms)
    end = float(game.checkpoints[game.checkpoints.size - 1])
    edge = np.floor(concave_until(n, K, *values))
    stats, tree = new_stats(arms), np.empty(2 * arms)
    rewards = np.empty(4, np.uint64)
    drawn, mark, tilted = game.drawn, game.mark, game.tilted
    for run in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        start_run(game, key, first + run, rewards)
        done = play_each_once(game, rewards, stats, outcome, run)
        t = K  # rounds played
        index = 0.0
        if t < end:
            index = sigma * bonus(1.0, t + 1.0, n, K, *values)
            for i in range(arms):
                tree[arms + i] = stats.sums[i] - gaps[i] + index
            raise_tree(tree)
        while t < end and is_finite(index):
            if stop[0]:
                return
            while True:
                leader, rival = highest(tree)
                T, noise, gap = stats.pulls[leader], stats.sums[leader], gaps[leader]
                arm_count = leader_arm_count(stats.pulls, leader, T)
                if unplayed_constant:
                    index = tree[arms + leader]
                    near = index - (noise / T - gap)
                    break
                near = sigma * bonus(T, t + 1.0, n, seen(arm_count, T), *values)
                index = noise / T - gap + near
                if not index < rival:
                    break
                replace(tree, leader, index)
            if not is_finite(index):
                break
            height = T * (index - rival)
            trend, scale = drawn[leader], game.scales[leader]
            before = t
            if rival > -inf:
                last = min(end - 1.0, t + rounds_to_mark(leader == tilted, mark[NEXT_MARK], T))
                lead = Lead(t, T, noise, near, height)
                t, T, noise, near, height = play_leader(
                    values, game, stats.pulls, leader, arm_count, edge, trend, scale, rival + gap,
                    lead, last, rewards,
                )  # fmt: skip
                index = noise / T - gap + near
            marked = rounds_to_mark(leader == tilted, mark[NEXT_MARK], T) == 0.0
            # the leader plays the rest, unless it has met a mark and its mean may change
            if t == before or (height > 0.0 and t == end - 1.0 and not marked):
                if leader == tilted:  # the weight depends on all its first rewards
                    noise += drawn[leader] + scale * normal(rewards)
                T += end - t
                t = end
            stats.sums[leader], stats.pulls[leader] = noise, T
            if leader == tilted and mark[NEXT_MARK] == T:
                pass_mark(game, stats, outcome, run)
            replace(tree, leader, index)
            if game.checkpoints[done] <= t:
                done = record(game, stats, leader, t, done, outcome, run)
        if not is_finite(index):
            mark_failed(outcome, run)
        finish_run(game, stats, outcome, run)


def shifted_index(
    total: float, pulls: float, gap: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return an arm's index, shifted so that the best arm's expected reward is 0."""
    return total / pulls - gap + sigma * bonus(pulls, t, n, K, *values)


def write_indices(
    values: Any, game: Game, stats: Stats, order: Any, t: float, tree: Floats
) -> None:
    """Write all arms' indices in round t into the leaves of the tree."""
    sums, pulls, gaps = stats.sums, stats.pulls, game.gaps
    arms = gaps.size
    n, sigma = float(game.horizon), game.sigma
    if takes_effective_arms:
        effective_arms_of_all(pulls, order, tree[arms:])
    for i in range(arms):
        K = tree[arms + i] if takes_effective_arms else float(arms)
        tree[arms + i] = ranked_index(sums[i], pulls[i], gaps[i], t, n, K, sigma, values)


def best_challenger(
    values: Any, game: Game, stats: Stats, tree: Floats, level: float, leader: int, t: float
) -> tuple[int, float, float, int]:
    """Find the largest indices in round t of arms whose ceiling is at least `level`.

    The leader is left out. Arms with high ceilings come first, so most others are not evaluated.

    Returns
    -------
    best, top, second, seen
        The arm with the largest index, that index, the second largest, and how many arms were
        evaluated. If an index is nan, so is `top`. Where an index below `level` need not be
        computed (`falls_short`), it counts as -inf.
    """
    sums, pulls, gaps = stats.sums, stats.pulls, game.gaps
    arms = gaps.size
    n, sigma = float(game.horizon), game.sigma
    best, top, second, seen = -1, -inf, -inf, 0
    node = 1
    while True:
        if tree[node] >= level and tree[node] >= second:
            if node < arms:
                node *= 2
                if tree[node + 1] > tree[node]:
                    node += 1
                continue
            i = node - arms
            if i != leader:
                K, mean = counted_arms(pulls, i, pulls[i]), sums[i] / pulls[i]
                if not falls_short(max(level, second), mean, pulls[i], t, n, K, sigma, values):
                    index = ranked_index(sums[i], pulls[i], gaps[i], t, n, K, sigma, values)
                    seen += 1
                    if index > top:
                        best, top, second = i, index, top
                    elif index > second:
                        second = index
                    elif index != index:
                        return i, index, index, seen
        # Up from the lower child of a pair, then over from a higher one to its sibling.
        while node > 1 and (tree[node | 1] > tree[node & -2]) != (node & 1 == 1):
            node >>= 1
        if node == 1:
            break
        node ^= 1
    return best, top, second, seen


def scan_rounds(
    values: Any,
    game: Game,
    stats: Stats,
    order: Any,
    tree: Floats,
    t: float,
    until: float,
    leader: int,
    done: int,
    rewards: Words,
    outcome: Outcome,
    run: int,
) -> tuple[float, int, int, int]:
    """Run the plain loop while t < until.

    Returns
    -------
    t, leader, switches, done
        The round, the last arm played (-1 if an index is not finite), the changes of leader, and
        the checkpoints passed.
    """
    arms = game.means.size
    drawn, mark, tilted = game.drawn, game.mark, game.tilted
    switches = 0
    while t < until:
        write_indices(values, game, stats, order, t + 1.0, tree)
        best, top = -1, -inf
        for i in range(arms):
            if tree[arms + i] > top:
                best, top = i, tree[arms + i]
            elif tree[arms + i] != tree[arms + i]:
                return t, -1, switches, done
        if not is_finite(top):
            return t, -1, switches, done
        if best != leader:
            leader = best
            switches += 1
        observe(stats, leader, drawn[leader] + game.scales[leader] * normal(rewards))
        if leader == tilted and stats.pulls[leader] == mark[NEXT_MARK]:
            pass_mark(game, stats, outcome, run)
        t += 1.0
        if t == game.checkpoints[done]:
            outcome.regret[run, done] = pseudo_regret(game, stats)
            done += 1
    return t, leader, switches, done


def play_nondecreasing(
    values: Any, game: Game, key: Words, first: int, outcome: Outcome, stop: Flags
) -> None:
    """Play a policy where the index of an unplayed arm may rise.

    Time is split into windows. A window's ceilings are the indices in its last round, which no
    unplayed arm exceeds earlier. If the leader's index is above them all, it leads as in
    `play_nonincreasing`. If not, the arms with higher ceilings are evaluated in this round: either
    one of them leads, or they get a lower ceiling that holds for a shorter time.

    While the lead changes every other round, as it does at first, all this may cost more than the
    plain loop, which then takes over: after a failed window, for eight times its cost.
    """
    arms, sigma, gaps, scales = game.means.size, game.sigma, game.gaps, game.scales
    n, K = float(game.horizon), float(arms)
    checkpoints = game.checkpoints
    end = float(checkpoints[checkpoints.size - 1])
    edge = np.floor(concave_until(n, K, *values))
    price, fill = COST_ROUND + COST_ARM * K, 2.0 * COST_ARM * K
    stats, tree, order = new_stats(arms), np.empty(2 * arms), new_order(arms)
    rewards = np.empty(4, np.uint64)
    drawn, mark, tilted = game.drawn, game.mark, game.tilted
    for run in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        start_run(game, key, first + run, rewards)
        done = play_each_once(game, rewards, stats, outcome, run)
        t = K  # rounds played
        leader = arms - 1
        plain, patience, width = True, 8.0, min(1 / 32, 32.0 / K)
        while t < end and leader >= 0:
            if stop[0]:
                return
            start = t
            if plain:
                until = min(end, t + patience)
                t, leader, switches, done = scan_rounds(
                    values, game, stats, order, tree, t, until, leader, done, rewards, outcome, run
                )
                plain = switches * (COST_SWITCH + 4.0 * COST_INDEX) + fill > (t - start) * price
                continue
            until = min(end, t + 1.0 + max(3.0, np.floor(width * t)))
            write_indices(values, game, stats, order, until, tree)
            for i in range(arms, 2 * arms):
                tree[i] = tree[i] if tree[i] == tree[i] else inf
            raise_tree(tree)
            T, noise = stats.pulls[leader], stats.sums[leader]
            gap, scale = gaps[leader], scales[leader]
            near = sigma * bonus(T, t + 1.0, n, counted_arms(stats.pulls, leader, T), *values)
            switches, evaluations, cost = 0, 0, fill
            while t < until and cost < 2.0 * (fill + (t - start) * price):
                index = noise / T - gap + near
                if not is_finite(index):
                    stats.pulls[leader] = T
                    leader = -1
                    break
                rival = highest_other(tree, leader)
                valid = until  # last round in which no other arm exceeds `rival`
                switches += 1
                cost = switches * COST_SWITCH + evaluations * COST_INDEX + fill
                if not index > rival:
                    challenger, top, second, seen = best_challenger(
                        values, game, stats, tree, index, leader, t + 1.0
                    )
                    evaluations += seen
                    if top != top or top == inf:
                        stats.pulls[leader] = T
                        leader = -1
                        break
                    if top > index:
                        stats.sums[leader], stats.pulls[leader] = noise, T
                        if checkpoints[done] <= t:
                            done = record(game, stats, leader, t, done, outcome, run)
                        others = counted_arms(stats.pulls, leader, T)
                        near = sigma * bonus(T, until, n, others, *values)
                        replace(tree, leader, noise / T - gap + near)
                        top, index = max(second, index), top
                        leader = challenger
                        T, noise = stats.pulls[leader], stats.sums[leader]
                        gap, scale = gaps[leader], scales[leader]
                        near = index - (noise / T - gap)
                        rival = highest_other(tree, leader)
                if not index > rival:
                    # The best of these is at `top` now. Find a time until which no arm exceeds a
                    # level halfway up to the leader.
                    level = 0.5 * (top + index)
                    share = (level - top) / (rival - top) if rival > top else 0.0
                    span = np.floor(share * (until - t - 1.0))
                    while span > 0.0:
                        _, rival, _, seen = best_challenger(
                            values, game, stats, tree, level, leader, t + 1.0 + span
                        )
                        evaluations += seen
                        rival = max(rival, level)
                        if rival < index:
                            break
                        span = np.floor(0.25 * span)
                    valid = t + 1.0 + span
                if rival == -inf:
                    T += until - t
                    t = until
                elif t + 1.0 < valid:
                    last = min(
                        valid - 1.0, t + rounds_to_mark(leader == tilted, mark[NEXT_MARK], T)
                    )
                    lead = Lead(t, T, noise, near, T * (index - rival))
                    arm_count = leader_arm_count(stats.pulls, leader, T)
                    t, T, noise, near, _ = play_leader(
                        values, game, stats.pulls, leader, arm_count, edge, drawn[leader], scale,
                        rival + gap, lead, last, rewards,
                    )  # fmt: skip
                else:
                    noise += drawn[leader] + scale * normal(rewards)
                    T += 1.0
                    t += 1.0
                    if t < until:
                        others = counted_arms(stats.pulls, leader, T)
                        near = sigma * bonus(T, t + 1.0, n, others, *values)
                stats.sums[leader], stats.pulls[leader] = noise, T
                if leader == tilted and mark[NEXT_MARK] == T:
                    pass_mark(game, stats, outcome, run)
            if leader >= 0:
                stats.sums[leader], stats.pulls[leader] = noise, T
                if done < checkpoints.size and checkpoints[done] <= t:
                    done = record(game, stats, leader, t, done, outcome, run)
            plain = cost > (t - start) * price
            patience = max(8.0, np.floor(8.0 * cost / price)) if plain else 8.0
            width = 0.5 * width if evaluations > 3 * switches + arms else min(1 / 4, 2.0 * width)
        if leader < 0:
            mark_failed(outcome, run)
        finish_run(game, stats, outcome, run)


# The engine's three answers


def obstacle(policy: Policy, problem: Problem, horizon: int) -> str | None:
    """Return why this engine cannot play a policy, or None if it can."""
    return skip_obstacle(policy, problem, horizon, problem.rewards.brownian)


def cost(policy: Policy, problem: Problem, horizon: int) -> float:
    """Return the nominal nanoseconds per run: those of stepping where skipping does not pay."""
    return min(step.cost(policy, problem, horizon), 2000.0 * problem.arms * log(horizon + 1.0))


def kernel(family: PolicyFamily, rewards: Rewards) -> tuple[Kernel, dict[str, Any]]:
    """Return the kernel for how the index of an unplayed arm changes."""
    functions = {
        "bonus": bonus_of(family),
        "concave_until": family.code.compiled.get("concave_until", never),
        "concave": family.concave,
        "unplayed_constant": family.unplayed_constant,
        "unplayed_rises": family.unplayed_index == "nondecreasing",
        "play_each_once": first_rounds(rewards),
        "takes_effective_arms": family.takes_effective_arms,
        **arm_count_slots(family),
    }
    functions["seen"] = specialise(seen, functions, inline=True)
    functions["play_leader"] = specialise(play_leader, functions, inline=True)
    if family.never_rises:
        return play_nonincreasing, functions
    functions["ranked_index"] = specialise(shifted_index, functions, inline=True)
    functions["falls_short"] = falls_short_of(family)
    functions["best_challenger"] = specialise(best_challenger, functions, part=True)
    functions["write_indices"] = specialise(write_indices, functions, part=True)
    functions["scan_rounds"] = specialise(scan_rounds, functions, part=True)
    return play_nondecreasing, functions


ENGINE = Engine("skip", "index", obstacle, cost, kernel, sums_rewards=False)
