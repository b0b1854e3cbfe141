"""Skip-ahead for rewards of 0 and 1: index policies at a cost that hardly grows with n.

Why skipping is exact
---------------------
Let the leader have T pulls before round t + 1, and let no other arm's index exceed J while it
leads. After s more pulls it still leads if its summed reward is above the border

    C(s) = (T + s) * (J - sigma * bonus(T + s, t + s + 1)).

1. *A line above the border*, the same as for Gaussian rewards (`skip`): a chord where
   ``pulls * bonus`` is concave, else a looser line. A sum above the line is above the border.
2. *Pulls that cannot cost the lead.* A failure takes a fixed amount off the height of the sum above
   the line, so even if all fail the first height / amount pulls keep the lead (`safe_pulls`): no
   search is needed. The leader plays them whatever they pay, and what they pay is one binomial
   number.
3. *Pulls that hardly can.* If the height is many times what chance can take off in m pulls,
   Chernoff's bound says so, and m pulls are one binomial number, too (`all_but_safe_pulls`).
4. *Near the line* coins are tossed 64 at a time (`coins`), in the order in which they are played.
   Often their sum alone shows that they keep the lead; if not, as many as are safe are played, and
   then the rest is looked at. Coins are dropped only where the lead is lost: what comes after the
   first time at which the height is not positive has no influence on that time, so fresh coins
   have the right law.
5. *On the line or below* the index itself decides. It is computed as the step engine does.

Steps 1, 2, 4 and 5 are exact. Step 3 is wrong with probability at most 1e-18 each time, a hundredth
of the resolution of the random numbers, and a run takes a few thousand such steps at most: its law
differs from that in the step engine by less than 1e-14. Leaps grow with T, so a run takes some
log n of them once one arm leads clearly.

Ties
----
Arms with equal pulls and successes have equal indices, so ties are common. A leap keeps the leader
*strictly* above J, by a margin that exceeds any rounding. Equality is left to the selection, which
picks one of all the arms that share the largest index, uniformly at random, as the step engine
does. Both compute indices with the same operations, so a tie for one is a tie for the other.

Who is next
-----------
As in `skip`, a tournament tree holds a ceiling for every arm's index: an old index if those of
unplayed arms never rise (`play_nonincreasing`), else that at the end of a time window
(`play_nondecreasing`).

What else could skip
--------------------
The argument needs a smallest reward, and sums that can be drawn at once. Gaussian rewards have no
smallest; sums of uniform rewards have no simple law, and a normal approximation would not be exact.

Other indices
-------------
An index that is not the mean plus a bonus works alike if it rises with the mean: in place of the
bonus stands its *allowance* at J, how far the mean may lie below J before the index does. For
KL-UCB and its kin, whose index is the largest q with T * kl(mean, q) <= budget, it follows from
inverting kl in its first argument. T * kl(S / T, J) is convex in (S, T), so where the budget is
concave the border is convex again, and where it is convex a slightly higher one is (`chord_start`).
Most looks at other arms only ask whether an index is below a level, which takes no inversion at all
(`falls_short`).

A budget may depend on the effective arms (KL-AdaUCB). Those of an unplayed arm only grow, so its
old index is a ceiling. Those of the leader only shrink: with the number at the start of a leap the
budget is too small throughout, and the line above the border too high, which is safe. The leader
stops where it catches up with another arm's pulls, so that a formula gives its number.
"""

from __future__ import annotations

from collections.abc import Callable
from math import expm1, inf, log, log1p, nextafter
from typing import Any, NamedTuple

import numpy as np

from .._compile import kernel_part, specialise
from .._types import Flags, Floats, Words
from ..policies._base import Policy, PolicyFamily
from ..problems import Problem
from ..random import CHOICES, binomial, coins, largest, ones, pick, start_stream
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
    allowance_of,
    arm_count_slots,
    chord_start_of,
    falls_short_of,
    finish_run,
    first_rounds,
    index_of,
    mark_failed,
    never,
    new_stats,
    pass_mark,
    play_each_once,
    pseudo_regret,
    rounds_to_mark,
    skip_obstacle,
    start_run,
)
from .skip import (
    best_challenger,
    highest,
    highest_other,
    is_finite,
    raise_tree,
    record,
    replace,
    seen,
)

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
    rewards: Words,
) -> Lead:
    """Let the leader play until its index is not above `rival` or `last` rounds are over.

    At least one round is played. `arm_count` must hold until then.
    """
    n, sigma, edge = facts
    t, T, total, _ = lead
    # It may lead by a tie, and often loses the lead at once: the first pull is not part of a leap.
    total += draw(mean, scale, rewards)
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
                reach = min(reach, max(1.0, np.floor(height / near))) if near > 0.0 else 1.0
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
                gain = binomial(rewards, count, mean)
            else:
                # Coins are tossed by the word and played in order, until the lead is in doubt.
                # It is not while even the failures first, then the successes, would keep it.
                if held == 0.0:
                    held = min(left, WORD)
                    heads = coins(rewards, held, mean)
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


def play_rest(game: Game, stats: Stats, leader: int, rounds: float, rewards: Words) -> None:
    """Let the leader play the remaining rounds, whose rewards change no choice."""
    if game.tilted >= 0:  # the run's weight and luck depend on all rewards; this is the last
        stats.sums[leader] += draw(game.drawn[leader], game.scales[leader], rewards)
    stats.pulls[leader] += rounds


def play_nonincreasing(
    values: Any, game: Game, key: Words, first: int, outcome: Outcome, stop: Flags
) -> None:
    """Play a policy where the index of an unplayed arm never rises: an old index is a ceiling."""
    arms, means, scales, sigma = game.means.size, game.drawn, game.scales, game.sigma
    n, K = float(game.horizon), float(arms)
    end = float(game.checkpoints[game.checkpoints.size - 1])
    facts = Facts(n, sigma, np.floor(concave_until(n, K, *values)))
    stats, tree = new_stats(arms), np.empty(2 * arms)
    sums, pulls = stats.sums, stats.pulls
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    mark, tilted = game.mark, game.tilted
    for run in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        start_run(game, key, first + run, rewards)
        start_stream(choices, key, first + run, CHOICES)
        done = play_each_once(game, rewards, stats, outcome, run)
        t = K  # rounds played
        top = 0.0
        if t < end:
            for i in range(arms):
                tree[arms + i] = index(sums[i], 0.0, 1.0, t + 1.0, n, K, sigma, values)
            raise_tree(tree)
        while t < end:
            if stop[0]:
                return
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
                leader = pick(tree[arms:], rival, choices)
            if not is_finite(top):
                break
            if t + 1.0 == end or rival == -inf:  # nobody else will lead
                play_rest(game, stats, leader, end - t, rewards)
                t = end
            else:
                arm_count = leader_arm_count(pulls, leader, pulls[leader])
                last = min(
                    end - 1.0, t + rounds_to_mark(leader == tilted, mark[NEXT_MARK], pulls[leader])
                )
                last = min(last, t + arm_count.kink - pulls[leader])
                lead = Lead(t, pulls[leader], sums[leader], top)
                mean, scale = means[leader], scales[leader]
                t, pulls[leader], sums[leader], top = play_leader(
                    values, facts, arm_count, mean, scale, rival, lead, last, rewards
                )
                if not is_finite(top):
                    break
                replace(tree, leader, top)
            if leader == tilted and pulls[leader] == mark[NEXT_MARK]:
                pass_mark(game, stats, outcome, run)
            if game.checkpoints[done] <= t:
                done = record(game, stats, leader, t, done, outcome, run)
        if not is_finite(top):
            mark_failed(outcome, run)
        finish_run(game, stats, outcome, run)


def plain_index(
    total: float, pulls: float, gap: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return an arm's index, where `skip` shifts it."""
    return index(total / pulls, 0.0, pulls, t, n, K, sigma, values)


def scan_rounds(
    values: Any,
    game: Game,
    stats: Stats,
    now: Floats,
    t: float,
    until: float,
    leader: int,
    done: int,
    rewards: Words,
    choices: Words,
    outcome: Outcome,
    run: int,
) -> tuple[float, int, int, int]:
    """Run the plain loop while t < until, with `now` as a buffer for indices.

    Returns
    -------
    t, leader, switches, done
        The round, the last arm played (-1 if an index is not finite), the changes of leader, and
        the checkpoints passed.
    """
    n, K, sigma, scales = float(game.horizon), float(now.size), game.sigma, game.scales
    sums, pulls = stats.sums, stats.pulls
    drawn, mark, tilted = game.drawn, game.mark, game.tilted
    switches = 0
    while t < until:
        for i in range(now.size):
            now[i] = index(sums[i] / pulls[i], 0.0, pulls[i], t + 1.0, n, K, sigma, values)
        best = largest(now, choices)
        if best < 0 or not is_finite(now[best]):
            return t, -1, switches, done
        if best != leader:
            leader = best
            switches += 1
        sums[leader] += draw(drawn[leader], scales[leader], rewards)
        pulls[leader] += 1.0
        if leader == tilted and pulls[leader] == mark[NEXT_MARK]:
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

    Windows, ceilings and the plain loop are those of `skip.play_nondecreasing`. If the largest
    index belongs to several arms, all arms are evaluated and one of these plays a single round.
    """
    arms, means, scales, sigma = game.means.size, game.drawn, game.scales, game.sigma
    n, K = float(game.horizon), float(arms)
    end = float(game.checkpoints[game.checkpoints.size - 1])
    facts = Facts(n, sigma, np.floor(concave_until(n, K, *values)))
    arm_count = ArmCount(K, 0.0, inf)
    per_arm = COST_ARM if has_bonus else COST_INVERSION
    switch = COST_SWITCH if has_bonus else 4.0 * COST_INVERSION
    price, fill = COST_ROUND + per_arm * K, 2.0 * per_arm * K
    stats, tree, now = new_stats(arms), np.empty(2 * arms), np.empty(arms)
    sums, pulls = stats.sums, stats.pulls
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    mark, tilted = game.mark, game.tilted
    for run in range(outcome.regret.shape[0]):
        if stop[0]:
            return
        start_run(game, key, first + run, rewards)
        start_stream(choices, key, first + run, CHOICES)
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
                    values, game, stats, now, t, until, leader, done, rewards, choices, outcome, run
                )
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
                    leader = -1
                    break
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
                        leader = -1
                        break
                    if best >= top:
                        if best == max(second, top):
                            for i in range(arms):
                                T = pulls[i]
                                now[i] = index(sums[i] / T, 0.0, T, t + 1.0, n, K, sigma, values)
                            challenger = pick(now, best, choices)
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
                if t + 1.0 == end or rival == -inf:  # nobody else will lead
                    play_rest(game, stats, leader, end - t, rewards)
                    t = end
                else:
                    last = max(t + 1.0, valid - 1.0)
                    last = min(
                        last, t + rounds_to_mark(leader == tilted, mark[NEXT_MARK], pulls[leader])
                    )
                    lead = Lead(t, pulls[leader], sums[leader], top)
                    mean, scale = means[leader], scales[leader]
                    t, pulls[leader], sums[leader], top = play_leader(
                        values, facts, arm_count, mean, scale, rival, lead, last, rewards
                    )
                if leader == tilted and pulls[leader] == mark[NEXT_MARK]:
                    pass_mark(game, stats, outcome, run)
                if game.checkpoints[done] <= t:
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
    family = policy.family
    kl = family.reading == "bernoulli budget"
    others = family.takes_effective_arms and not (kl and family.never_rises)
    able = problem.rewards.binary and not others
    whole = kl or family.lowest_mean is not None
    return skip_obstacle(policy, problem, horizon, able, whole)


def cost(policy: Policy, problem: Problem, horizon: int) -> float:
    """Return the nominal nanoseconds per run: those of stepping where skipping does not pay.

    If unplayed arms rise, the lead changes so often at first that in short runs stepping is faster
    (`python bench/run.py choice`).
    """
    stepping = step.cost(policy, problem, horizon)
    if not policy.family.never_rises and horizon < 3000:
        return nextafter(stepping, inf)
    return min(stepping, 2000.0 * problem.arms * log(horizon + 1.0))


def kernel(family: PolicyFamily, rewards: Rewards) -> tuple[Kernel, dict[str, Any]]:
    """Return the kernel for how the index of an unplayed arm changes."""
    functions: dict[str, Any] = {
        "allowance": allowance_of(family),
        "chord_start": chord_start_of(family),
        "index": index_of(family),
        "has_bonus": family.has_bonus,
        "concave_until": family.code.compiled.get("concave_until", never),
        "concave": family.concave,
        "unplayed_constant": family.unplayed_constant,
        "unplayed_rises": family.unplayed_index == "nondecreasing",
        "draw": rewards.draw,
        "play_each_once": first_rounds(rewards),
        "takes_effective_arms": family.takes_effective_arms,
        **arm_count_slots(family),
    }
    functions["seen"] = specialise(seen, functions, inline=True)
    functions["play_leader"] = specialise(play_leader, functions, inline=True)
    functions["play_rest"] = specialise(play_rest, functions, inline=True)
    if family.never_rises:
        return play_nonincreasing, functions
    functions["ranked_index"] = specialise(plain_index, functions, inline=True)
    functions["falls_short"] = falls_short_of(family)
    functions["best_challenger"] = specialise(best_challenger, functions, part=True)
    functions["scan_rounds"] = specialise(scan_rounds, functions, part=True)
    return play_nondecreasing, functions


ENGINE = Engine("skip", "index", obstacle, cost, kernel)
