"""The skip-ahead engine: exact simulation of index policies at a cost that hardly grows with n.

For Gaussian rewards. The step engine pays for every pull, but while one arm leads nothing is
decided: only the round in which it loses the lead matters, and that can be sampled directly.
docs/skip-ahead.md has the argument, whose words are used here: the leader's *height* is how far its
summed reward lies above the *border*, below which its index is below J, the largest ceiling of the
other arms; a *line* above the border is what a Brownian motion hits.

The ceilings are in a tournament tree: old indices where those of unplayed arms never rise
(`play_nonincreasing`), else the indices at the end of a time window (`play_nondecreasing`). The
effective arms of an unplayed arm only grow, so ceilings remain ceilings.

Shifting all means does not change the order of the indices, so kernels put the best arm's mean at 0
and sum the noise alone: with 10^10 pulls, heights would otherwise drown in rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from .._compile import kernel_part, specialise
from .._types import Counts, Flags, Floats, Words
from ..policies._families import Policy, PolicyFamily
from ..policies._rules import BonusRule, IndexRule
from ..problems import Problem
from ..random import normal, uniform
from ..rewards import Rewards
from . import step
from .arm_counts import ArmCount, arm_count_slots, effective_arms_of_all
from .base import Engine, Game, Outcome, Plan, skip_obstacle
from .formulas import bonus_of, falls_short_of, never
from .run import NEXT_MARK, OWED, Run, Stats, rounds_to_mark, run_slots, stats_of
from .tournament import highest, highest_other, raise_tree, replace

# Declared here, filled in by `specialise`: the policy's bonus and declarations.
bonus: Callable[..., float]
falls_short: Callable[..., bool]  # whether an index is surely below a level
ranked_index: Callable[..., float]  # by which arms are compared: `shifted_index`
counted_arms: Callable[[Floats, int, float], float]  # what the formula is told of other arms
leader_arm_count: Callable[[Floats, int, float], ArmCount]
takes_effective_arms: bool  # the bonus depends on the pulls of other arms
concave_until: Callable[..., float]  # pulls up to which `concave` holds; inf for always
concave: bool  # pulls * bonus is concave as the arm is played
unplayed_constant: bool  # the index of an unplayed arm does not change
unplayed_rises: bool  # the index of an unplayed arm may rise
pull: Callable[..., int]
leapt: Callable[..., int]

# Parts of kernels that use the bonus are specialised first and bound under their own names.

# Costs, in steps or nanoseconds; they affect the speed, never the law.
LEAP = 10.0  # a leap, in steps
COST_ROUND, COST_ARM = 20.0, 2.5  # a round of the plain loop, and each arm in it
COST_SWITCH, COST_INDEX = 100.0, 30.0  # a change of leader, an index


@kernel_part
def is_finite(index: float) -> bool:
    """Tell whether an index is finite: infinite ones cannot be ranked."""
    return index - index == 0.0


@kernel_part
def hitting_time(height: float, drift: float, scale: float, before: float, rng: Words) -> float:
    """Draw the time at which a Brownian motion started at `height` first hits zero.

    Any value of at least `before` means "not before `before`". With a drift away from zero it may
    never hit; if it does, the law is that of the opposite drift. The time solves
    ``(height - speed * time)^2 = time * swing^2``; one of the two roots is picked at random.
    J. Michael, W. Schucany and R. Haas (1976), Generating random variates using transformations
    with multiple roots, The American Statistician 30(2).
    """
    speed = abs(drift)
    time = inf
    if drift <= 0.0 or uniform(rng) < exp(-2.0 * drift * height / (scale * scale)):
        swing = scale * abs(normal(rng))
        root = 2.0 * height / (swing + sqrt(swing * swing + 4.0 * speed * height))
        time = root * root
        if time < before and uniform(rng) * (height + speed * time) > height:
            root = height / (speed * root)
            time = root * root
    return time


@kernel_part
def endpoint_given_no_hit(
    height: float, drift: float, scale: float, span: float, rng: Words
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
        noise = spread * normal(rng)
        if mean + noise > 0.0 and uniform(rng) >= exp(rate * (mean + noise)):
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
    rng: Words,
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
                time = hitting_time(height, drift, scale, left, rng)
                if time < left:
                    steps = np.ceil(time)
                    swing = scale * sqrt(steps - time) * normal(rng)
                    noise += swing - (height + drift * time) + trend * steps
                    height = swing + drift * (steps - time)
                    left -= steps
                else:
                    swing = endpoint_given_no_hit(height, drift, scale, left, rng)
                    noise += swing + trend * left
                    height += swing + drift * left
                    left = 0.0
            else:
                swing = scale * normal(rng)
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


def play_nonincreasing(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Play a policy where the index of an unplayed arm never rises: an old index is a ceiling."""
    tree, _ = work
    arms, sigma, gaps, n = game.means.size, game.sigma, game.gaps, float(game.horizon)
    end = float(game.checkpoints[game.checkpoints.size - 1])
    edge = np.floor(concave_until(n, float(arms), *values))
    t = run.rounds[0]
    for i in range(arms):
        T = run.pulls[i]
        near = sigma * bonus(T, t + 1.0, n, counted_arms(run.pulls, i, T), *values)
        tree[arms + i] = run.sums[i] / T - gaps[i] + near
        if not is_finite(near):
            return False
    raise_tree(tree)
    index = 0.0
    while t < end and is_finite(index) and not stop[0]:
        while True:
            leader, rival = highest(tree)
            T, noise, gap = run.pulls[leader], run.sums[leader], gaps[leader]
            arm_count = leader_arm_count(run.pulls, leader, T)
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
            return False
        height = T * (index - rival)
        trend, scale = run.drawn[leader], game.scales[leader]
        before = t
        if rival > -inf:
            free = rounds_to_mark(leader == game.tilted, run.mark[NEXT_MARK], T)
            last = min(end - 1.0, t + free)
            lead = Lead(t, T, noise, near, height)
            t, T, noise, near, height = play_leader(
                values, game, run.pulls, leader, arm_count, edge, trend, scale, rival + gap,
                lead, last, run.reward_rng,
            )  # fmt: skip
            index = noise / T - gap + near
        marked = rounds_to_mark(leader == game.tilted, run.mark[NEXT_MARK], T) == 0.0
        # the leader plays the rest, unless it has met a mark and its mean may change
        if t == before or (height > 0.0 and t == end - 1.0 and not marked):
            # the weight depends on all its first rewards, and a branch on all rewards
            if leader == game.tilted or end < n:
                noise += run.drawn[leader] + scale * normal(run.reward_rng)
            else:
                run.mark[OWED] = leader
            T += end - t
            t = end
        done = leapt(game, run, leader, T, noise, t, done, outcome, row)
        replace(tree, leader, index)
    return is_finite(index)


def shifted_index(
    total: float, pulls: float, gap: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return an arm's index, shifted so that the best arm's expected reward is 0."""
    return total / pulls - gap + sigma * bonus(pulls, t, n, K, *values)


def write_indices(
    values: Any, game: Game, stats: Stats, order: Counts, t: float, tree: Floats
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
    run: Run,
    order: Counts,
    tree: Floats,
    t: float,
    until: float,
    leader: int,
    done: int,
    outcome: Outcome,
    row: int,
) -> tuple[float, int, int, int]:
    """Run the plain loop while t < until.

    Returns
    -------
    t, leader, switches, done
        The round, the last arm played (-1 if an index is not finite), the changes of leader, and
        the checkpoints passed.
    """
    arms = game.means.size
    stats, switches = stats_of(run), 0
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
        t += 1.0
        done = pull(game, run, leader, t, done, outcome, row)
    return t, leader, switches, done


def play_nondecreasing(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Play a policy where the index of an unplayed arm may rise.

    Time is split into windows. A window's ceilings are the indices in its last round, which no
    unplayed arm exceeds earlier. If the leader's index is above them all, it leads as in
    `play_nonincreasing`. If not, the arms with higher ceilings are evaluated in this round: either
    one of them leads, or they get a lower ceiling that holds for a shorter time.

    While the lead changes every other round, as it does at first, all this may cost more than the
    plain loop, which then takes over: after a failed window, for twice its cost.
    """
    tree, order = work
    arms, sigma, gaps, scales = game.means.size, game.sigma, game.gaps, game.scales
    n, K = float(game.horizon), float(arms)
    end = float(game.checkpoints[game.checkpoints.size - 1])
    edge = np.floor(concave_until(n, K, *values))
    price, fill = COST_ROUND + COST_ARM * K, 2.0 * COST_ARM * K
    stats, t = stats_of(run), run.rounds[0]
    leader = arms - 1
    plain, patience, width = True, 8.0, min(1 / 32, 32.0 / K)
    while t < end and not stop[0]:
        start = t
        if plain:
            until = min(end, t + patience)
            t, leader, switches, done = scan_rounds(
                values, game, run, order, tree, t, until, leader, done, outcome, row
            )
            if leader < 0:
                return False
            plain = switches * (COST_SWITCH + 2.0 * COST_INDEX) + fill > (t - start) * price
            continue
        until = min(end, t + 1.0 + max(3.0, np.floor(width * t)))
        write_indices(values, game, stats, order, until, tree)
        for i in range(arms, 2 * arms):
            tree[i] = tree[i] if tree[i] == tree[i] else inf
        raise_tree(tree)
        T, noise = run.pulls[leader], run.sums[leader]
        gap, scale = gaps[leader], scales[leader]
        near = sigma * bonus(T, t + 1.0, n, counted_arms(run.pulls, leader, T), *values)
        switches, evaluations, cost = 0, 0, fill
        while t < until and cost < 2.0 * (fill + (t - start) * price):
            index = noise / T - gap + near
            if not is_finite(index):
                return False
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
                    return False
                if top > index:
                    others = counted_arms(run.pulls, leader, T)
                    near = sigma * bonus(T, until, n, others, *values)
                    replace(tree, leader, noise / T - gap + near)
                    top, index = max(second, index), top
                    leader = challenger
                    T, noise = run.pulls[leader], run.sums[leader]
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
                free = rounds_to_mark(leader == game.tilted, run.mark[NEXT_MARK], T)
                last = min(valid - 1.0, t + free)
                lead = Lead(t, T, noise, near, T * (index - rival))
                arm_count = leader_arm_count(run.pulls, leader, T)
                t, T, noise, near, _ = play_leader(
                    values, game, run.pulls, leader, arm_count, edge, run.drawn[leader], scale,
                    rival + gap, lead, last, run.reward_rng,
                )  # fmt: skip
            else:
                noise += run.drawn[leader] + scale * normal(run.reward_rng)
                T += 1.0
                t += 1.0
                if t < until:
                    others = counted_arms(run.pulls, leader, T)
                    near = sigma * bonus(T, t + 1.0, n, others, *values)
            done = leapt(game, run, leader, T, noise, t, done, outcome, row)
        plain = cost > (t - start) * price
        patience = max(8.0, np.floor(2.0 * cost / price)) if plain else 8.0
        width = 0.5 * width if evaluations > 2 * switches + arms // 8 else min(1 / 4, 2.0 * width)
    return True


def tree_and_order(arms: int) -> tuple[Floats, Counts]:
    """Return a tournament tree, and an order of the arms for `effective_arms_of_all`."""
    return np.empty(2 * arms), np.arange(arms)


# The engine's three answers


def obstacle(policy: Policy, problem: Problem, horizon: int) -> str | None:
    """Return why this engine cannot play a policy, or None if it can."""
    return skip_obstacle(policy, problem, horizon, problem.rewards.brownian)


def cost(policy: Policy, problem: Problem, horizon: int) -> float:
    """Return the nominal nanoseconds per run: those of stepping where skipping does not pay."""
    return min(step.cost(policy, problem, horizon), 2000.0 * problem.arms * log(horizon + 1.0))


def plan(family: PolicyFamily, rewards: Rewards) -> Plan:
    """Return the kernel for how the index of an unplayed arm changes."""
    rule = family.rule
    assert isinstance(rule, BonusRule)
    functions = run_slots(rewards) | {
        "bonus": bonus_of(family),
        "concave_until": family.code.compiled.get("concave_until", never),
        "concave": rule.concave,
        "unplayed_constant": rule.unplayed_constant,
        "unplayed_rises": rule.unplayed_index == "nondecreasing",
        "takes_effective_arms": rule.takes_effective_arms,
        **arm_count_slots(family),
    }
    functions["seen"] = specialise(seen, functions, inline=True)
    functions["play_leader"] = specialise(play_leader, functions, inline=True)
    if rule.never_rises:
        return Plan(play_nonincreasing, functions, tree_and_order)
    functions["ranked_index"] = specialise(shifted_index, functions, inline=True)
    functions["falls_short"] = falls_short_of(family)
    functions["best_challenger"] = specialise(best_challenger, functions, part=True)
    functions["write_indices"] = specialise(write_indices, functions, part=True, forced=True)
    functions["scan_rounds"] = specialise(scan_rounds, functions, part=True)
    return Plan(play_nondecreasing, functions, tree_and_order)


ENGINE = Engine("skip", IndexRule, obstacle, cost, plan, sums_rewards=False)
