"""Skip-ahead for Bernoulli rewards: index policies at a cost that hardly grows with n.

The leader, J and the line above the border are those of `skip`; what the leader plays in one go is
one binomial number, or 64 coins at a time near the line. docs/skip-ahead.md has the argument.

Ties are common. A leap keeps the leader *strictly* above J, by a margin that exceeds any rounding.
Equality is left to the selection, which picks one of all the arms that share the largest index,
uniformly at random, as the step engine does. Both compute indices with the same operations, so a
tie for one is a tie for the other.

In place of a bonus, another index has its *allowance* at J: how far the mean may lie below J before
the index does. Most looks at other arms only ask whether an index is below a level, which takes no
inversion of the divergence (`falls_short`).

A budget may depend on the effective arms (KL-AdaUCB). Those of an unplayed arm only grow, so its
old index is a ceiling. Those of the leader only shrink: with the number at the start of a leap the
budget is too small throughout, and the line too high, which is safe. The leader stops where it
catches up with another arm's pulls.
"""

from __future__ import annotations

from collections.abc import Callable
from math import expm1, inf, log, log1p, nextafter
from typing import Any, NamedTuple

import numpy as np

from .._compile import kernel_part, specialise
from .._types import Flags, Floats, Words
from ..policies._families import Policy, PolicyFamily
from ..policies._rules import (
    BernoulliKLRule,
    BonusRule,
    ConfidenceRule,
    IndexRule,
    WholeIndexRule,
)
from ..problems import Problem
from ..random import binomial, coins, largest, ones, pick
from ..rewards import Rewards
from . import step
from .arm_counts import ArmCount, arm_count_slots
from .base import Engine, Game, Outcome, Plan, skip_obstacle
from .formulas import allowance_of, chord_start_of, falls_short_of, index_of, never
from .run import NEXT_MARK, Run, rounds_to_mark, run_slots, stats_of
from .skip import best_challenger, is_finite, seen
from .tournament import highest, highest_other, raise_tree, replace

# Declared here, filled in by `specialise`: the policy's bonus and declarations, the arms' rewards.
index: Callable[..., float]
allowance: Callable[..., float]  # how far a mean may lie below a level that its index reaches
chord_start: Callable[..., float]  # an allowance from which a chord is safe, for a budget
has_bonus: bool  # that is a bonus: the index is the mean plus it
concave_until: Callable[..., float]  # pulls up to which `concave` holds; inf for always
concave: bool  # pulls * bonus is concave as the arm is played
unplayed_constant: bool  # the index of an unplayed arm does not change
unplayed_rises: bool  # the index of an unplayed arm may rise
draw: Callable[[float, float, Words], float]
pull: Callable[..., int]
leapt: Callable[..., int]
counted_arms: Callable[[Floats, int, float], float]  # all arms, or the effective ones of an arm
leader_arm_count: Callable[[Floats, int, float], ArmCount]

WORD = 64.0  # coins that are tossed at once
ALL = np.uint64(2**64 - 1)
RARE = 41.5  # minus the logarithm of 1e-18

# These affect the speed, never the law.
REACH = 0.25  # length of a line, as a share of the leader's pulls
SHORT_REACH = 0.0625  # the same for an index that is not the sum of mean and bonus
STRETCH = 0.8  # coins to look at, in units of those that would be safe if the mean share failed
COST_ROUND, COST_ARM = 20.0, 2.5  # nanoseconds of a round of the plain loop, and of each arm in it
COST_SWITCH, COST_INDEX = 60.0, 35.0  # of a change of leader, of an index
COST_INVERSION = 60.0  # of an index that is not the sum of mean and bonus


class Facts(NamedTuple):
    """What does not change: horizon, sigma, and pulls up to which the policy is concave."""

    horizon: float
    sigma: float
    edge: float


@kernel_part
def safe_pulls(height: float, fall: float) -> float:
    """Return how many pulls the leader surely plays, even if all fail.

    It leads while its height above the line is positive, from which each failure takes `fall`.
    """
    return np.ceil(height / fall) if fall > 0.0 else inf


@kernel_part
def all_but_safe_pulls(height: float, fall: float, mean: float) -> float:
    """Return how many pulls the leader plays but for a chance of 1e-18.

    By the inequalities of Chernoff and Doob, for any r > 0 the height falls to zero within m pulls
    with probability at most exp(m * growth - r * height), where growth is the logarithm of the
    expectation of exp(r * (fall - reward)). This r is the best where fall = mean.
    """
    r = 2.0 * RARE / height
    growth = log1p(mean * expm1(-r)) + r * fall
    return np.floor(RARE / growth) if growth > 0.0 else inf


@kernel_part
def first_ones(heads: np.uint64, count: float) -> float:
    """Return how many of the first coins of a word show 1; `count` is at least 1."""
    return ones(heads & (ALL >> np.uint64(WORD - count)))


class Lead(NamedTuple):
    """The leader's pulls and successes after t rounds, and its index `top` in the next one.

    Arrays stay in the kernels: references to those that an inlined function takes are counted.
    """

    t: float
    pulls: float
    total: float
    top: float


def play_leader(
    values: Any,
    facts: Facts,
    arm_count: ArmCount,
    mean: float,
    scale: float,
    rival: float,
    lead: Lead,
    last: float,
    rng: Words,
) -> Lead:
    """Let the leader play until its index is not above `rival` or `last` rounds are over.

    At least one round is played. `arm_count` must hold until then.
    """
    n, sigma, edge = facts
    t, T, total, _ = lead
    # It may lead by a tie, and often loses the lead at once: the first pull is not part of a leap.
    total += draw(mean, scale, rng)
    T += 1.0
    t += 1.0
    K = seen(arm_count, T)
    near = allowance(rival, T, t + 1.0, n, K, sigma, values) if has_bonus else 0.0
    top = total / T + near if has_bonus else index(total / T, 0.0, T, t + 1.0, n, K, sigma, values)
    while top > rival and t < last:
        reach = min(last - t, 1.0 + np.floor((REACH if has_bonus else SHORT_REACH) * T))
        if concave:
            if edge >= T:
                reach = min(reach, max(1.0, edge - T))
            far = allowance(rival, T + reach, t + reach + 1.0, n, K, sigma, values)
            if has_bonus:
                height = T * (top - rival)
            else:
                near = chord_start(rival, T, t + 1.0, reach, n, K, sigma, values)
                height = total - T * (rival - near)
            fall = rival - ((T + reach) * far - T * near) / reach
        else:
            if not has_bonus:
                # The line is T * (near - far) above the border here, about half of reach * near.
                near = allowance(rival, T, t + 1.0, n, K, sigma, values)
                height = total - T * (rival - near)
                if near > 0.0:
                    reach = min(reach, max(1.0, np.floor(height / near)))
            worst = t + 1.0 if unplayed_rises else t + reach + 1.0
            far = allowance(rival, T + reach, worst, n, K, sigma, values)
            fall = rival - far
            height = total - T * fall
        # The margin exceeds any rounding: the leader stays strictly above.
        height -= 1e-12 * T * (abs(top) + abs(rival) + near)
        ratio = max(1.0, STRETCH / (1.01 - mean)) / fall if fall > 0.0 else inf
        left, held, heads = reach, 0.0, np.uint64(0)
        while True:
            if held == 0.0 and height > WORD * fall:
                count = all_but_safe_pulls(height, fall, mean)
                count = min(left, max(count, safe_pulls(height, fall)))
                gain = binomial(rng, count, mean)
            else:
                # Coins are tossed by the word and played in order, until the lead is in doubt.
                # It is not while even the failures first, then the successes, would keep it.
                if held == 0.0:
                    held = min(left, WORD)
                    heads = coins(rng, held, mean)
                count = max(1.0, min(held, np.floor(height * ratio)))
                gain = first_ones(heads, count)
                if not height > (count - gain) * fall + gain * max(0.0, fall - 1.0):
                    count = max(1.0, min(held, safe_pulls(height, fall)))
                    gain = first_ones(heads, count)
                heads >>= np.uint64(count)
                held -= count
            total += gain
            height += gain - count * fall
            left -= count
            if not (height > 0.0 and left > 0.0):
                break
        T += reach - left
        t += reach - left
        K = seen(arm_count, T)
        if has_bonus:
            near = far
            if not (concave and left == 0.0):
                near = allowance(rival, T, t + 1.0, n, K, sigma, values)
            top = total / T + near
        else:
            top = index(total / T, 0.0, T, t + 1.0, n, K, sigma, values)
    return Lead(t, T, total, top)


def play_rest(game: Game, run: Run, arm: int, rounds: float) -> float:
    """Return the summed reward of an arm that plays all rounds that are left.

    These change no choice, but luck and a tilted run's weight depend on all rewards, and so does a
    branch of a run that stops early.
    """
    total: float = run.sums[arm]
    if rounds == 1.0:
        return total + draw(run.drawn[arm], game.scales[arm], run.reward_rng)
    return total + binomial(run.reward_rng, rounds, run.drawn[arm])


def play_nonincreasing(
    values: Any, game: Game, run: Run, work: Any, done: int, outcome: Outcome, row: int, stop: Flags
) -> bool:
    """Play a policy where the index of an unplayed arm never rises: an old index is a ceiling."""
    tree, _ = work
    arms, scales, sigma, n = game.means.size, game.scales, game.sigma, float(game.horizon)
    end = float(game.checkpoints[game.checkpoints.size - 1])
    facts = Facts(n, sigma, np.floor(concave_until(n, float(arms), *values)))
    sums, pulls = run.sums, run.pulls
    t = run.rounds[0]
    for i in range(arms):
        T = pulls[i]
        others = counted_arms(pulls, i, T)
        tree[arms + i] = index(sums[i] / T, 0.0, T, t + 1.0, n, others, sigma, values)
    raise_tree(tree)
    while t < end and not stop[0]:
        while True:
            leader, rival = highest(tree)
            top = tree[arms + leader]
            if unplayed_constant:
                break
            T = pulls[leader]
            others = counted_arms(pulls, leader, T)
            top = index(sums[leader] / T, 0.0, T, t + 1.0, n, others, sigma, values)
            if not top < rival:
                break
            replace(tree, leader, top)
        if top == rival:
            if not unplayed_constant:
                replace(tree, leader, top)
                for i in range(arms):
                    if tree[arms + i] == rival:
                        T = pulls[i]
                        others = counted_arms(pulls, i, T)
                        fresh = index(sums[i] / T, 0.0, T, t + 1.0, n, others, sigma, values)
                        replace(tree, i, fresh)
            leader = pick(tree[arms:], rival, run.choice_rng)
        if not is_finite(top):
            return False
        T, total = pulls[leader], sums[leader]
        if t + 1.0 == end or rival == -inf:  # nobody else will lead
            total = play_rest(game, run, leader, end - t)
            T += end - t
            t = end
        else:
            arm_count = leader_arm_count(pulls, leader, T)
            free = rounds_to_mark(leader == game.tilted, run.mark[NEXT_MARK], T)
            last = min(min(end - 1.0, t + free), t + arm_count.kink - T)
            lead = Lead(t, T, total, top)
            mean, scale = run.drawn[leader], scales[leader]
            t, T, total, top = play_leader(
                values, facts, arm_count, mean, scale, rival, lead, last, run.reward_rng
            )
            if not is_finite(top):
                return False
            replace(tree, leader, top)
        done = leapt(game, run, leader, T, total, t, done, outcome, row)
    return True


def plain_index(
    total: float, pulls: float, gap: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return an arm's index, where `skip` shifts it."""
    return index(total / pulls, 0.0, pulls, t, n, K, sigma, values)


def scan_rounds(
    values: Any,
    game: Game,
    run: Run,
    now: Floats,
    t: float,
    until: float,
    leader: int,
    done: int,
    outcome: Outcome,
    row: int,
) -> tuple[float, int, int, int]:
    """Run the plain loop while t < until, with `now` as a buffer for indices.

    Returns
    -------
    t, leader, switches, done
        The round, the last arm played (-1 if an index is not finite), the changes of leader, and
        the checkpoints passed.
    """
    n, K, sigma = float(game.horizon), float(now.size), game.sigma
    sums, pulls = run.sums, run.pulls
    switches = 0
    while t < until:
        for i in range(now.size):
            now[i] = index(sums[i] / pulls[i], 0.0, pulls[i], t + 1.0, n, K, sigma, values)
        best = largest(now, run.choice_rng)
        if best < 0 or not is_finite(now[best]):
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

    Windows, ceilings and the plain loop are those of `skip.play_nondecreasing`. If the largest
    index belongs to several arms, all arms are evaluated and one of these plays a single round.
    """
    tree, now = work
    arms, scales, sigma = game.means.size, game.scales, game.sigma
    n, K = float(game.horizon), float(arms)
    end = float(game.checkpoints[game.checkpoints.size - 1])
    facts = Facts(n, sigma, np.floor(concave_until(n, K, *values)))
    arm_count = ArmCount(K, 0.0, inf)
    per_arm = COST_ARM if has_bonus else COST_INVERSION
    switch = COST_SWITCH if has_bonus else 4.0 * COST_INVERSION
    price, fill = COST_ROUND + per_arm * K, 2.0 * per_arm * K
    stats, t = stats_of(run), run.rounds[0]
    sums, pulls = run.sums, run.pulls
    leader = arms - 1
    plain, patience, width = True, 8.0, min(1 / 32, 32.0 / K)
    while t < end and not stop[0]:
        start = t
        if plain:
            until = min(end, t + patience)
            t, leader, switches, done = scan_rounds(
                values, game, run, now, t, until, leader, done, outcome, row
            )
            if leader < 0:
                return False
            plain = switches * (switch + 4.0 * COST_INDEX) + fill > (t - start) * price
            continue
        until = min(end, t + 1.0 + max(3.0, np.floor(width * t)))
        for i in range(arms):
            last = index(sums[i] / pulls[i], 0.0, pulls[i], until, n, K, sigma, values)
            tree[arms + i] = last if last == last else inf
        raise_tree(tree)
        T = pulls[leader]
        top = index(sums[leader] / T, 0.0, T, t + 1.0, n, K, sigma, values)
        switches, evaluations, cost = 0, 0, fill
        while t < until and cost < 2.0 * (fill + (t - start) * price):
            if not is_finite(top):
                return False
            rival = highest_other(tree, leader)
            valid = until  # last round in which no other arm exceeds `rival`
            switches += 1
            cost = switches * switch + evaluations * COST_INDEX + fill
            if not top > rival:
                challenger, best, second, seen = best_challenger(
                    values, game, stats, tree, top, leader, t + 1.0
                )
                evaluations += seen
                if best != best or best == inf:
                    return False
                if best >= top:
                    if best == max(second, top):
                        for i in range(arms):
                            T = pulls[i]
                            now[i] = index(sums[i] / T, 0.0, T, t + 1.0, n, K, sigma, values)
                        challenger = pick(now, best, run.choice_rng)
                        evaluations += arms
                    T = pulls[leader]
                    ceiling = index(sums[leader] / T, 0.0, T, until, n, K, sigma, values)
                    replace(tree, leader, ceiling)
                    leader = challenger
                    best, top = max(second, top), best
                    rival = highest_other(tree, leader)
            if not top > rival:
                # The best of these is at `best` now. Find a time until which no arm exceeds a
                # level halfway up to the leader.
                if best == -inf:  # surely below the leader: a guess
                    best = top - (rival - top)
                level = 0.5 * (best + top)
                share = (level - best) / (rival - best) if rival > best else 0.0
                span = np.floor(share * (until - t - 1.0))
                while span > 0.0:
                    _, rival, _, seen = best_challenger(
                        values, game, stats, tree, level, leader, t + 1.0 + span
                    )
                    evaluations += seen
                    rival = max(rival, level)
                    if rival < top:
                        break
                    span = np.floor(0.25 * span)
                valid = t + 1.0 + span
            T, total = pulls[leader], sums[leader]
            if t + 1.0 == end or rival == -inf:  # nobody else will lead
                total = play_rest(game, run, leader, end - t)
                T += end - t
                t = end
            else:
                free = rounds_to_mark(leader == game.tilted, run.mark[NEXT_MARK], T)
                last = min(max(t + 1.0, valid - 1.0), t + free)
                lead = Lead(t, T, total, top)
                mean, scale = run.drawn[leader], scales[leader]
                t, T, total, top = play_leader(
                    values, facts, arm_count, mean, scale, rival, lead, last, run.reward_rng
                )
            done = leapt(game, run, leader, T, total, t, done, outcome, row)
        plain = cost > (t - start) * price
        patience = max(8.0, np.floor(8.0 * cost / price)) if plain else 8.0
        width = 0.5 * width if evaluations > 3 * switches + arms else min(1 / 4, 2.0 * width)
    return True


def tree_and_indices(arms: int) -> tuple[Floats, Floats]:
    """Return a tournament tree, and a buffer for indices."""
    return np.empty(2 * arms), np.empty(arms)


# The engine's three answers


def obstacle(policy: Policy, problem: Problem, horizon: int) -> str | None:
    """Return why this engine cannot play a policy, or None if it can."""
    rule = policy.family.rule
    assert isinstance(rule, IndexRule)
    kl = isinstance(rule, BernoulliKLRule)
    others = rule.takes_effective_arms and not (kl and rule.never_rises)
    able = problem.rewards.binary and not problem.rewards.rounds and not others
    whole = kl or (isinstance(rule, WholeIndexRule) and rule.lowest_mean is not None)
    return skip_obstacle(policy, problem, horizon, able, whole)


def cost(policy: Policy, problem: Problem, horizon: int) -> float:
    """Return the nominal nanoseconds per run: those of stepping where skipping does not pay.

    If unplayed arms rise, the lead changes so often at first that in short runs stepping is faster
    (`python bench/run.py choice`).
    """
    stepping = step.cost(policy, problem, horizon)
    rule = policy.family.rule
    assert isinstance(rule, IndexRule)
    if not rule.never_rises and horizon < 3000:
        return nextafter(stepping, inf)
    return min(stepping, 2000.0 * problem.arms * log(horizon + 1.0))


def plan(family: PolicyFamily, rewards: Rewards) -> Plan:
    """Return the kernel for how the index of an unplayed arm changes."""
    rule = family.rule
    assert isinstance(rule, IndexRule)
    functions = run_slots(rewards) | {
        "allowance": allowance_of(family),
        "chord_start": chord_start_of(family),
        "index": index_of(family),
        "has_bonus": isinstance(rule, BonusRule),
        "concave_until": family.code.compiled.get("concave_until", never),
        "concave": isinstance(rule, ConfidenceRule) and rule.concave,
        "unplayed_constant": rule.unplayed_constant,
        "unplayed_rises": rule.unplayed_index == "nondecreasing",
        "takes_effective_arms": rule.takes_effective_arms,
        **arm_count_slots(family),
    }
    functions["seen"] = specialise(seen, functions, inline=True)
    functions["play_leader"] = specialise(play_leader, functions, inline=True)
    functions["play_rest"] = specialise(play_rest, functions, inline=True)
    if rule.never_rises:
        return Plan(play_nonincreasing, functions, tree_and_indices)
    functions["ranked_index"] = specialise(plain_index, functions, inline=True)
    functions["falls_short"] = falls_short_of(family)
    functions["best_challenger"] = specialise(best_challenger, functions, part=True)
    functions["scan_rounds"] = specialise(scan_rounds, functions, part=True)
    return Plan(play_nondecreasing, functions, tree_and_indices)


ENGINE = Engine("skip", IndexRule, obstacle, cost, plan)
