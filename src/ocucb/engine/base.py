"""What an engine is, and what all kernels share.

An `Engine` answers three questions about a policy on a problem: what prevents it from playing, what
a run would cost, and which kernel plays it.

A kernel is called as ``kernel(values, game, key, first, outcome, stop)``: the policy's parameters,
what is played, the key and number of the first run, where to write the outcome, and a flag. It
plays as many runs as the outcome has rows. A run depends only on the key and its number. If the
policy cannot choose an arm, the run's regret is nan. Once ``stop[0]`` is set, the kernel returns
promptly and its output is meaningless.

Kernels are templates (see `_compile`): they call functions that their modules only declare. The
engine's `kernel` binds these to a policy's formula and the arms' rewards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numba
import numpy as np

from .._compile import compiled, compiling, kernel_part, rare_part, specialise
from .._memo import cached_while_alive
from .._types import Counts, Floats, Words
from ..importance import MARKS, PLAIN, Mixture
from ..policies._base import Kind, Policy, PolicyFamily
from ..policies._declarations import has_infinite_bonus
from ..policies._divergence import bernoulli_kl, kl_lower, kl_upper
from ..problems import Problem
from ..random import REWARDS, start_stream, uniform
from ..rewards import Rewards

Kernel = Callable[..., None]


@dataclass(frozen=True)
class Engine:
    """A way to simulate runs.

    Attributes
    ----------
    name : str
        What users call it; engines for different policies or rewards may share a name.
    kind : {"index", "sampling", "choice"} or None
        The only kind of policy it plays; None for all.
    obstacle : callable
        ``obstacle(policy, problem, horizon)``: a clause saying why it cannot play, or None.
    cost : callable
        ``cost(policy, problem, horizon)``: nominal nanoseconds per run. It must be the same on
        every machine, because it determines where blocks of runs begin.
    kernel : callable
        ``kernel(family, rewards)``: a template and the functions to bind into it.
    sums_rewards : bool
        It sums whole rewards, so with large means rounding can drown the noise.
    takes_infinite : bool
        It can compare infinite indices.
    """

    name: str
    kind: Kind | None
    obstacle: Callable[[Policy, Problem, int], str | None]
    cost: Callable[[Policy, Problem, int], float]
    kernel: Callable[[PolicyFamily, Rewards], tuple[Kernel, dict[str, Any]]]
    sums_rewards: bool = True
    takes_infinite: bool = False


NEXT_MARK, TILT_END = 0, 1  # places in `Game.mark`


class Game(NamedTuple):
    """What is played: the problem, what policies are told, and when regret is measured.

    `means` are zeros for an engine that sums the noise alone. Rewards are drawn with the means
    `drawn`: that of the arm `tilted`, if any, may be lower at first. ``mark[NEXT_MARK]`` is the
    next number of its pulls at which its summed reward is recorded, ``mark[TILT_END]`` that at
    which its mean is no longer lower; `pass_mark` must be called there. `mixture` is the table of a
    `Mixture`.

    Loops do not hand a game to what they call often: that counts references to all its arrays,
    which is why there are few.
    """

    means: Floats
    scales: Floats
    gaps: Floats
    sigma: float
    horizon: int
    checkpoints: Counts
    tilted: int
    mixture: Floats
    drawn: Floats
    mark: Floats


def new_game(
    engine: Engine,
    problem: Problem,
    horizon: int,
    checkpoints: Counts,
    mixture: Mixture = PLAIN,
) -> Game:
    """Return what is played."""
    means = problem.means if engine.sums_rewards else np.zeros(problem.arms)
    drawn, mark = means.copy(), np.full(2, math.inf)
    means.flags.writeable = False
    scales, gaps = problem.scales, problem.gaps
    return Game(
        means,
        scales,
        gaps,
        problem.sigma,
        horizon,
        checkpoints,
        mixture.arm,
        mixture.table(),
        drawn,
        mark,
    )


class Stats(NamedTuple):
    """Statistics of each arm.

    `squares`, the summed squared deviations from the mean, is empty unless the policy needs it.
    """

    sums: Floats
    pulls: Floats
    squares: Floats


class Outcome(NamedTuple):
    """What a kernel writes.

    ``regret[run, checkpoint]``; ``pulls[run, arm]``; ``noise[run, mark]``, the summed deviation
    from their mean of the first rewards of the tilted arm: as many as the mark says, or all if it
    has fewer; and, if an arm is tilted, ``luck[run]``: the same for all rewards of the other arms,
    and for all of its own, in units of sigma.
    """

    regret: Floats
    pulls: Counts
    noise: Floats
    luck: Floats


def new_outcome(runs: int, game: Game) -> Outcome:
    """Return arrays for the outcome of some runs."""
    regret = np.empty((runs, game.checkpoints.size))
    pulls = np.empty((runs, game.means.size), dtype=np.int64)
    marks = np.isfinite(game.mixture[MARKS]).sum()
    return Outcome(regret, pulls, np.zeros((runs, int(marks))), np.zeros((runs, 2)))


# Declared here, filled in by `specialise`: the policy's formula and the arms' rewards.
rule: Callable[..., float]
bonus: Callable[..., float]
lowest_mean: Callable[..., float]
counted_arms: Callable[[Floats, int, float], float]  # what the formula is told of other arms
index: Callable[..., float]
draw: Callable[[float, float, Words], float]


@kernel_part
def new_stats(arms: int) -> Stats:
    """Return statistics for `play_each_once` to initialise."""
    return Stats(np.empty(arms), np.empty(arms), np.empty(0))


@kernel_part
def new_stats_with_squares(arms: int) -> Stats:
    """Return statistics for a policy that needs the variance."""
    return Stats(np.empty(arms), np.empty(arms), np.empty(arms))


@kernel_part
def squares_added(total: float, count: float, reward: float) -> float:
    """Return what a reward adds to the squared deviations of `count` rewards with sum `total`.

    Welford's update: unlike a sum of squares, it does not cancel.
    """
    old = total / count if count > 0.0 else reward
    return (reward - old) * (reward - (total + reward) / (count + 1.0))


@kernel_part
def variance_of(total: float, count: float, squares: float) -> float:
    """Return the empirical variance of an arm's rewards.

    Of rewards of 0 and 1 it is a function of the mean. Rounding, which depends on their order, must
    not part arms with the same successes: these tie.
    """
    mean = total / count
    variance, of_clicks = squares / count, mean * (1.0 - mean)
    return of_clicks if abs(variance - of_clicks) <= 1e-9 * of_clicks else variance


@rare_part
def start_run(game: Game, key: Words, run: int, rewards: Words) -> None:
    """Start the stream of rewards, and pick the component of the mixture."""
    start_stream(rewards, key, run, REWARDS)
    arm = game.tilted
    if arm >= 0:
        shares, shifts, lengths, marks = game.mixture
        place = uniform(rewards)
        component = 0
        while component < shares.size - 1 and place >= shares[component]:
            place -= shares[component]
            component += 1
        game.drawn[arm] = game.means[arm] - shifts[component]
        game.mark[NEXT_MARK], game.mark[TILT_END] = marks[0], lengths[component]


@rare_part
def pass_mark(game: Game, stats: Stats, outcome: Outcome, run: int) -> None:
    """Record the noise of the tilted arm; no longer tilt it if its time is over."""
    arm, marks = game.tilted, game.mixture[MARKS]
    T, mean = stats.pulls[arm], game.means[arm]
    game.mark[NEXT_MARK] = np.inf
    for i in range(outcome.noise.shape[1]):
        if marks[i] == T:
            outcome.noise[run, i] = stats.sums[arm] - T * mean
        elif marks[i] > T:
            game.mark[NEXT_MARK] = marks[i]
            break
    if game.mark[TILT_END] == T:
        game.drawn[arm] = mean


@kernel_part
def observe(stats: Stats, arm: int, reward: float) -> None:
    """Take note of a reward."""
    if stats.squares.size > 0:
        stats.squares[arm] += squares_added(stats.sums[arm], stats.pulls[arm], reward)
    stats.sums[arm] += reward
    stats.pulls[arm] += 1.0


@kernel_part
def rounds_to_mark(tilted: bool, mark: float, pulls: float) -> float:
    """Return how many pulls in a row an arm may have before it meets a mark, if it is tilted."""
    return mark - pulls if tilted else np.inf


@kernel_part
def mark_failed(outcome: Outcome, run: int) -> None:
    """Mark a run in which the policy could not choose an arm."""
    for c in range(outcome.regret.shape[1]):
        outcome.regret[run, c] = np.nan


@kernel_part
def finish_run(game: Game, stats: Stats, outcome: Outcome, run: int) -> None:
    """Write the final pulls and the luck of a run, and the noise at marks that were not met.

    The regret becomes infinite where rewards were not finite.
    """
    finite = True
    for i in range(stats.pulls.size):
        outcome.pulls[run, i] = np.int64(stats.pulls[i])
        finite = finite and abs(stats.sums[i]) < np.inf
        # the noise of an arm that rounding drowns is no martingale
        heard = game.scales[i] > 2.0**-50 * game.horizon * abs(game.means[i])
        if game.tilted >= 0 and heard:
            noise = stats.sums[i] - stats.pulls[i] * game.means[i]
            outcome.luck[run, np.int64(i == game.tilted)] += noise / game.sigma
    if not finite:
        for c in range(outcome.regret.shape[1]):
            outcome.regret[run, c] = np.inf
    for i in range(outcome.noise.shape[1]):
        if stats.pulls[game.tilted] < game.mixture[MARKS, i]:
            T = stats.pulls[game.tilted]
            outcome.noise[run, i] = stats.sums[game.tilted] - T * game.means[game.tilted]


@kernel_part
def pseudo_regret(game: Game, stats: Stats) -> float:
    """Return the sum over arms of gap times pulls."""
    total = 0.0
    for i in range(game.gaps.size):
        total += game.gaps[i] * stats.pulls[i]
    return total


def play_each_once(game: Game, rewards: Words, stats: Stats, outcome: Outcome, run: int) -> int:
    """Play the first K rounds, one arm each; return the number of checkpoints passed."""
    done = 0
    total = 0.0
    drawn, mark = game.drawn, game.mark
    for i in range(drawn.size):
        stats.sums[i] = stats.pulls[i] = 0.0
        if stats.squares.size > 0:
            stats.squares[i] = 0.0
        if i < game.horizon:
            observe(stats, i, draw(drawn[i], game.scales[i], rewards))
            if i == game.tilted and mark[NEXT_MARK] == 1.0:
                pass_mark(game, stats, outcome, run)
            total += game.gaps[i]
            if done < game.checkpoints.size and game.checkpoints[done] == i + 1:
                outcome.regret[run, done] = total
                done += 1
    return done


# What a formula is told of the other arms, for arm i if it had T pulls; they fill `counted_arms`.


@kernel_part
def all_arms(pulls: Floats, i: int, T: float) -> float:
    """Return the number of arms."""
    return float(pulls.size)


@kernel_part
def effective_arms(pulls: Floats, i: int, T: float) -> float:
    """Return the sum over arms of min(1, sqrt(their pulls / T)).

    It depends on T and not on i alone, to the last bit: equal arms tie.
    """
    count, roots = 0.0, 0.0
    for j in range(pulls.size):
        if j == i or pulls[j] >= T:
            count += 1.0
        else:
            roots += math.sqrt(pulls[j])
    return count + roots / math.sqrt(T)


@kernel_part
def effective_arms_of_all(pulls: Floats, order: Counts, counts: Floats) -> None:
    """Write the effective arms of every arm, at a cost that hardly grows faster than their number.

    `order` holds the arms by their pulls a while ago; it is brought up to date.
    """
    arms = order.size
    for k in range(1, arms):
        i = order[k]
        while k > 0 and pulls[order[k - 1]] > pulls[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
    fewer, roots = 0, 0.0  # arms with fewer pulls, and the sum of the roots of these
    while fewer < arms:
        T = pulls[order[fewer]]
        count, root = arms - fewer, math.sqrt(T)
        value = count + roots / root
        while fewer < arms and pulls[order[fewer]] == T:
            counts[order[fewer]] = value
            roots += root
            fewer += 1


@kernel_part
def new_order(arms: int) -> Counts:
    """Return an order for `effective_arms_of_all`."""
    return np.arange(arms)


@kernel_part
def no_order(arms: int) -> int:
    """Return nothing in its place: an array that is handed on takes time."""
    return 0


class ArmCount(NamedTuple):
    """The other arms as an arm sees them while it is played, up to `kink` pulls.

    With T pulls it counts ``whole + roots / sqrt(T)`` arms. At `kink` it catches up with another.
    """

    whole: float
    roots: float
    kink: float


@kernel_part
def all_arm_count(pulls: Floats, i: int, T: float) -> ArmCount:
    """Return all arms."""
    return ArmCount(float(pulls.size), 0.0, math.inf)


@kernel_part
def effective_arm_count(pulls: Floats, i: int, T: float) -> ArmCount:
    """Return the effective arms of arm i from T pulls on."""
    whole, roots, kink = 1.0, 0.0, math.inf
    for j in range(pulls.size):
        if j != i:
            if pulls[j] <= T:
                roots += math.sqrt(pulls[j])
            else:
                whole += 1.0
                kink = min(kink, pulls[j])
    return ArmCount(whole, roots, kink)


def arm_index(values: Any, game: Game, stats: Stats, i: int, t: float) -> float:
    """Return the index of arm i in round t."""
    T = stats.pulls[i]
    n, K = float(game.horizon), counted_arms(stats.pulls, i, T)
    return index(stats.sums[i] / T, 0.0, T, t, n, K, game.sigma, values)


def arm_index_with_variance(values: Any, game: Game, stats: Stats, i: int, t: float) -> float:
    """Return the same for a policy that takes the variance; one function for both is slower."""
    T = stats.pulls[i]
    n, K = float(game.horizon), float(game.means.size)
    variance = variance_of(stats.sums[i], T, stats.squares[i])
    return index(stats.sums[i] / T, variance, T, t, n, K, game.sigma, values)


# A budget for the divergence of Gaussian rewards is a bonus.


def bonus_of_budget(pulls: float, t: float, n: float, K: float, *values: Any) -> float:
    """Return the bonus in units of sigma."""
    return sqrt(2.0 * rule(pulls, t, n, K, *values) / pulls)


def budget_of_user(pulls: float, t: float, n: float, K: float, *values: Any) -> float:
    """Return a user's budget, nan where it is negative: as for Gaussian rewards, an error."""
    budget = rule(pulls, t, n, K, *values)
    return budget if budget >= 0.0 else math.nan


def deviation_of_user(pulls: float, t: float, n: float, K: float, *values: Any) -> float:
    """Return a user's deviation, nan where it is negative or infinite: an error."""
    deviation = rule(pulls, t, n, K, *values)
    return deviation if 0.0 <= deviation < math.inf else math.nan


# Four ways to state an index policy, in one form; they fill the slot `index`.


def index_of_bonus(
    mean: float,
    variance: float,
    pulls: float,
    t: float,
    n: float,
    K: float,
    sigma: float,
    values: Any,
) -> float:
    """Return the mean plus the policy's bonus."""
    return mean + sigma * bonus(pulls, t, n, K, *values)


def index_of_budget(
    mean: float,
    variance: float,
    pulls: float,
    t: float,
    n: float,
    K: float,
    sigma: float,
    values: Any,
) -> float:
    """Return the largest mean that the budget allows rewards of 0 and 1 to have."""
    return kl_upper(mean, rule(pulls, t, n, K, *values) / pulls)


def index_of_mean(
    mean: float,
    variance: float,
    pulls: float,
    t: float,
    n: float,
    K: float,
    sigma: float,
    values: Any,
) -> float:
    """Return the index that the policy states."""
    return rule(mean, pulls, t, n, K, sigma, *values)


def index_of_variance(
    mean: float,
    variance: float,
    pulls: float,
    t: float,
    n: float,
    K: float,
    sigma: float,
    values: Any,
) -> float:
    """Return the index that the policy states in terms of mean and variance."""
    return rule(mean, variance, pulls, t, n, K, sigma, *values)


# Whether an index is surely below a level, where that is cheaper to tell than the index; they fill
# `falls_short`. An index within rounding of the level is not: it must be computed to be ranked.


def falls_short_of_budget(
    level: float,
    mean: float,
    pulls: float,
    t: float,
    n: float,
    K: float,
    sigma: float,
    values: Any,
) -> bool:
    """Tell so without inverting the divergence."""
    budget = rule(pulls, t, n, K, *values)
    return mean < level < 1.0 and pulls * bernoulli_kl(mean, level) > budget + 1e-9 * (1.0 + budget)


def never_falls_short(
    level: float,
    mean: float,
    pulls: float,
    t: float,
    n: float,
    K: float,
    sigma: float,
    values: Any,
) -> bool:
    """Leave it to the index."""
    return False


# How far an arm's mean may lie below a level that its index reaches; they fill `allowance`.


def allowance_of_bonus(
    level: float, pulls: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return the bonus: the level does not matter."""
    return sigma * bonus(pulls, t, n, K, *values)


def allowance_of_budget(
    level: float, pulls: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return how far the budget allows rewards of 0 and 1 to lie below their mean `level`."""
    return level - kl_lower(level, rule(pulls, t, n, K, *values) / pulls)


def chord_start_of_budget(
    level: float,
    pulls: float,
    t: float,
    reach: float,
    n: float,
    K: float,
    sigma: float,
    values: Any,
) -> float:
    """Return an allowance from which a chord to that after `reach` more pulls is safe.

    ``T * kl(S / T, level)`` is convex in (S, T), so a concave budget has a convex border,
    and the allowance itself will do. A convex budget lies above the line through its values at
    `reach` and twice that; with this line as a budget the border is convex, and higher.
    """
    now, then = rule(pulls, t, n, K, *values), rule(pulls + reach, t + reach, n, K, *values)
    last = rule(pulls + 2.0 * reach, t + 2.0 * reach, n, K, *values)
    return level - kl_lower(level, max(0.0, min(now, 2.0 * then - last)) / pulls)


def no_chord_start(
    level: float,
    pulls: float,
    t: float,
    reach: float,
    n: float,
    K: float,
    sigma: float,
    values: Any,
) -> float:
    """Stand in for `chord_start` where it is not called."""
    return math.nan


def allowance_of_index(
    level: float, pulls: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return what follows from the lowest mean that the policy declares."""
    return level - lowest_mean(level, pulls, t, n, K, sigma, *values)


@cached_while_alive
def first_rounds(rewards: Rewards) -> Callable[..., int]:
    """Return `play_each_once` for a kind of reward."""
    return specialise(play_each_once, {"draw": rewards.draw}, part=True)


def index_of(family: PolicyFamily) -> Callable[..., float]:
    """Return the index of a policy as a function of an arm's mean, variance and pulls."""
    if family.has_bonus:
        return specialise(index_of_bonus, {"bonus": bonus_of(family)}, inline=True)
    if family.reading == "bernoulli budget":
        return specialise(index_of_budget, {"rule": budget_of(family)}, inline=True)
    template = index_of_variance if family.takes_variance else index_of_mean
    return specialise(template, {"rule": rule_of(family)}, inline=True)


def bonus_of(family: PolicyFamily) -> Callable[..., float]:
    """Return the bonus of a policy that has one, in units of sigma."""
    if family.reading == "plain":
        return rule_of(family)
    return specialise(bonus_of_budget, {"rule": rule_of(family)}, part=True)


def budget_of(family: PolicyFamily) -> Callable[..., float]:
    """Return the budget for rewards of 0 and 1; ours are never negative."""
    rule = rule_of(family)
    if family.is_ours:
        return rule
    return specialise(budget_of_user, {"rule": rule}, part=True)


def deviation_of(family: PolicyFamily) -> Callable[..., float]:
    """Return the deviation of a sampling policy; ours are finite and never negative."""
    rule = rule_of(family)
    if family.is_ours:
        return rule
    return specialise(deviation_of_user, {"rule": rule}, part=True)


def falls_short_of(family: PolicyFamily) -> Callable[..., bool]:
    """Return a test whether an index is surely below a level."""
    if family.reading != "bernoulli budget":
        return specialise(never_falls_short, {}, inline=True)
    return specialise(falls_short_of_budget, {"rule": budget_of(family)}, inline=True)


def chord_start_of(family: PolicyFamily) -> Callable[..., float]:
    """Return where chords above the border of a budget start."""
    if family.reading != "bernoulli budget":
        return specialise(no_chord_start, {}, inline=True)
    return specialise(chord_start_of_budget, {"rule": rule_of(family)}, inline=True)


def allowance_of(family: PolicyFamily) -> Callable[..., float]:
    """Return how far an arm's mean may lie below a level that its index reaches."""
    if family.has_bonus:
        return specialise(allowance_of_bonus, {"bonus": bonus_of(family)}, inline=True)
    if family.lowest_mean is not None:
        slots = {"lowest_mean": family.code.compiled["lowest_mean"]}
        return specialise(allowance_of_index, slots, inline=True)
    assert family.reading == "bernoulli budget", family.reading
    return specialise(allowance_of_budget, {"rule": budget_of(family)}, inline=True)


def arm_count_slots(family: PolicyFamily) -> dict[str, Callable[..., Any]]:
    """Return how arms are counted for a policy's formula, as slots of kernels."""
    if family.takes_effective_arms:
        return {
            "counted_arms": effective_arms,
            "leader_arm_count": effective_arm_count,
            "new_order": new_order,
        }
    return {"counted_arms": all_arms, "leader_arm_count": all_arm_count, "new_order": no_order}


def rule_of(family: PolicyFamily) -> Callable[..., Any]:
    """Return a policy's compiled function, having checked its return type.

    A user's function must not write to the engine's arrays, so it is compiled only for read-only
    arrays: kernels then pass theirs as such.
    """
    rule: Any = family.function
    if family.is_ours:
        return rule  # type: ignore[no-any-return]
    number, numbers = numba.float64, numba.float64[::1]
    seen = numba.types.Array(number, 1, "C", readonly=True)
    kinds = {"pulls": seen, "sums": seen, "memory": numbers, "stream": numba.uint64[::1]}
    with compiling:  # other threads may be about to do the same
        if not rule.overloads:
            choice = family.kind == "choice"
            state = tuple(kinds.get(name, number) if choice else number for name in family.inputs)
            table = () if family.table is None else (seen,)
            rule.compile(state + table + (number,) * len(family.defaults))
            rule.disable_compile()
    (answer,) = (one.signature.return_type for one in rule.overloads.values())
    kind, words = numba.types.Number, "a number"
    if family.kind == "choice":
        kind, words = numba.types.Integer, "an arm's number, an int"
    if not isinstance(answer, kind) or isinstance(answer, numba.types.Complex):
        raise TypeError(f"{family.label} must return {words}, got {answer}.")
    return rule  # type: ignore[no-any-return]


def skip_obstacle(
    policy: Policy, problem: Problem, horizon: int, able: bool, whole: bool = False
) -> str | None:
    """Return why an engine cannot skip ahead, or None when it may.

    Engines for different rewards say the same, so that users read it once.

    Parameters
    ----------
    able : bool
        Whether the engine can skip rewards of this kind.
    whole : bool
        Whether the engine can skip with an index that is not the mean plus a bonus.
    """
    kind = policy.family.kind
    if kind == "index" and not policy.family.has_bonus and not whole:
        return "skip-ahead needs an index that is the mean plus a bonus"
    if policy.family.unplayed_index is None:
        return "it does not declare how the index of an unplayed arm changes (unplayed_index=)"
    if not policy.is_ours and has_infinite_bonus(policy, horizon, problem.arms):
        return "its bonus is infinite in some rounds"
    if not able:
        clicks = kind == "index" and not policy.family.takes_effective_arms
        needed = "Gaussian rewards" + " or rewards of 0 and 1" * clicks
        return f"skip-ahead needs {needed}, but these are {problem.rewards.name}"
    return None


@compiled
def no_memory(arms: int) -> int:
    """Return the memory size of a choice policy that declares none."""
    return 0


@kernel_part
def no_bonus(pulls: float, t: float, horizon: float, arms: float, *values: float) -> float:
    """Stand in for `bonus` in kernels that never call it."""
    return math.nan


@kernel_part
def never(horizon: float, arms: float, *values: float) -> float:
    """Stand in for `concave_until` if a policy declares none."""
    return math.inf
