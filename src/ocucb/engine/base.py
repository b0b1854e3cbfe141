"""What an engine is: the contract between whoever has runs played and the kernels that play them.

An `Engine` answers three questions about a policy on a problem: what prevents it from playing, what
a run would cost, and which kernel plays it.

A kernel is called as ``kernel(values, game, key, first, outcome, stop)``: the policy's parameters,
what is played, the key and number of the first run, where to write the outcome, and a flag. It
plays as many runs as the outcome has rows. Where each run has a problem of its own, `Rows` follow,
with these problems and the numbers of the runs. A run depends only on its problem, the key and its
number. If the policy cannot choose an arm, the run's regret is nan. Once ``stop[0]`` is set, the
kernel returns promptly and its output is meaningless.

Kernels are templates (see `_compile`): they call functions that their modules only declare. The
engine's `kernel` binds these to a policy's formula and the arms' rewards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._types import Counts, Floats
from ..importance import MARKS, PLAIN, Mixture
from ..policies._declarations import has_infinite_bonus
from ..policies._families import Policy, PolicyFamily
from ..policies._rules import ArmRule, BonusRule, IndexRule, Rule
from ..problems import Problem
from ..rewards import Rewards


def no_memory(arms: int) -> int:
    """Return the memory size of a policy that has none."""
    return 0


def no_work(arms: int) -> int:
    """Return what an engine works with that needs no arrays."""
    return 0


class Plan(NamedTuple):
    """How an engine plays a policy on a kind of reward.

    Attributes
    ----------
    play_run : function
        The template of `play_run` (see `run`).
    slots : dict
        The functions and constants to bind into it.
    new_work : callable
        ``new_work(arms)``: arrays that it works with.
    memory_size : callable
        ``memory_size(arms)``: how many numbers the policy remembers.
    state_size : callable or None
        ``state_size(game)``: the same where it depends on more than the arms.
    """

    play_run: Callable[..., bool]
    slots: dict[str, Any]
    new_work: Callable[[int], Any] = no_work
    memory_size: Callable[[int], int] = no_memory
    state_size: Callable[[Any], int] | None = None


@dataclass(frozen=True)
class Engine:
    """A way to simulate runs.

    Attributes
    ----------
    name : str
        What users call it; engines for different policies or rewards may share a name.
    rule : type
        The rules of policies that it plays: a subtype of `Rule`, or that itself.
    obstacle : callable
        ``obstacle(policy, problem, horizon)``: a clause saying why it cannot play, or None.
    cost : callable
        ``cost(policy, problem, horizon)``: nominal nanoseconds per run. It must be the same on
        every machine, because it determines where blocks of runs begin.
    plan : callable
        ``plan(family, rewards)``: how it plays.
    sums_rewards : bool
        It sums whole rewards, so with large means rounding can drown the noise.
    takes_infinite : bool
        It can compare infinite indices.
    """

    name: str
    rule: type[Rule]
    obstacle: Callable[[Policy, Problem, int], str | None]
    cost: Callable[[Policy, Problem, int], float]
    plan: Callable[[PolicyFamily, Rewards], Plan]
    sums_rewards: bool = True
    takes_infinite: bool = False


class Game(NamedTuple):
    """What is played: the problem, what policies are told, and when regret is measured.

    `means` are zeros for an engine that sums the noise alone; `table` is that of the problem, from
    which some kinds of reward are drawn. `tilted` is the arm whose first
    rewards may be drawn with a lower mean, or -1; `mixture` is the table of a `Mixture`. `widths`
    are those of `luck_widths`, none if all suboptimal arms have the same gap. `features` are those
    of the problem; where they change with the round, only their shape counts. `change` is the last
    round of the game from which on the means are others, or 0; `forget` the policy's discount or
    window, or 0.

    Loops do not hand a game to functions that are called often: that counts references to all its
    arrays. Functions inlined by `specialise` are no calls.
    """

    means: Floats
    scales: Floats
    gaps: Floats
    sigma: float
    horizon: int
    checkpoints: Counts
    tilted: int
    mixture: Floats
    table: Floats
    widths: Floats
    features: Floats
    change: int
    forget: float


def luck_widths(arms: int, checkpoints: Counts) -> Floats:
    """Return the bonus of an arm at each checkpoint if all arms are played alike, over sigma."""
    widths: Floats = np.sqrt(2.0 * arms * np.log(checkpoints) / checkpoints)
    return widths


def new_game(
    engine: Engine,
    problem: Problem,
    horizon: int,
    checkpoints: Counts,
    mixture: Mixture = PLAIN,
    forget: float | None = None,
) -> Game:
    """Return what is played."""
    means = problem.means if engine.sums_rewards else np.zeros(problem.arms)
    means.flags.writeable = False
    scales, gaps = problem.scales, problem.gaps
    differ = np.unique(gaps[gaps > 0.0]).size > 1
    return Game(
        means,
        scales,
        gaps,
        problem.sigma,
        horizon,
        checkpoints,
        mixture.arm,
        mixture.table(),
        problem.table,
        luck_widths(gaps.size, checkpoints) if differ else np.zeros(0),
        problem.features,
        problem.last_change(horizon),
        forget or 0.0,
    )


class Rows(NamedTuple):
    """Runs with their problems: one row each, or a single row if all runs have the same problem.

    `numbers` are those of the runs. Means are zeros for an engine that sums the noise alone.
    """

    numbers: Counts
    means: Floats
    scales: Floats
    gaps: Floats
    sigma: Floats


def same_rows(game: Game, first: int, runs: int) -> Rows:
    """Return consecutive runs that all have the problem of a game."""
    numbers, sigma = np.arange(first, first + runs), np.array([game.sigma])
    return Rows(numbers, game.means[None], game.scales[None], game.gaps[None], sigma)


# How the noise of the arms is added up: see `run.add_luck`.
LUCK = ("of others", "of best", "by gap", "by share of gap")


# Whether the arm that a run recommends is not a best one, its gap, and the rounds until a rule to
# stop says so: the horizon, if it does not, or if there is none. Since the means changed for the
# last time, the regret, and the rounds until play had recovered, or all of them.
ADVICE = ("wrong", "gap", "stopped", "since", "recovered")


class Outcome(NamedTuple):
    """What a kernel writes.

    ``regret[run, checkpoint]``; ``pulls[run, arm]``; ``noise[run, mark]``, the summed deviation
    from their mean of the first rewards of the tilted arm: as many as the mark says, or all if it
    has fewer. ``luck[run, checkpoint]``: the noise of the arms, added up in the ways of `LUCK`, the
    last two of which are left out if gaps do not differ.
    Unless it is empty, ``arm_noise[run, arm]``: the noise of each arm at the end.
    ``advice[run]``: what follows from the arm that a run recommends at the end, see `ADVICE`.
    ``optimal[run, checkpoint]``: 1 if the arm played in that very round is a best one, else 0.
    """

    regret: Floats
    pulls: Counts
    noise: Floats
    luck: Floats
    arm_noise: Floats = np.zeros((0, 0))  # which nobody writes to
    advice: Floats = np.zeros((0, 0))
    optimal: Floats = np.zeros((0, 0))


def new_outcome(runs: int, game: Game, by_arm: bool = False) -> Outcome:
    """Return arrays for the outcome of some runs, with the noise of each arm if asked for."""
    regret = np.empty((runs, game.checkpoints.size))
    pulls = np.empty((runs, game.means.size), dtype=np.int64)
    marks = np.isfinite(game.mixture[MARKS]).sum()
    noise, ways = np.zeros((runs, int(marks))), len(LUCK) if game.widths.size else 2
    luck = np.zeros((*regret.shape, ways))
    arm_noise = np.zeros((runs, game.means.size if by_arm else 0))
    advice, optimal = np.empty((runs, len(ADVICE))), np.zeros(regret.shape)
    return Outcome(regret, pulls, noise, luck, arm_noise, advice, optimal)


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
    rule = policy.family.rule
    assert isinstance(rule, ArmRule)
    if policy.forget is not None:
        return "it forgets"
    is_index = isinstance(rule, IndexRule)
    if is_index and not isinstance(rule, BonusRule) and not whole:
        return "skip-ahead needs an index that is the mean plus a bonus"
    if rule.unplayed_index is None:
        return "it does not declare how the index of an unplayed arm changes (unplayed_index=)"
    if not policy.is_ours and has_infinite_bonus(policy, horizon, problem.arms):
        return "its bonus is infinite in some rounds"
    if not able:
        clicks = is_index and not rule.takes_effective_arms
        needed = "Gaussian rewards" + " or rewards of 0 and 1" * clicks
        return f"skip-ahead needs {needed}, but these are {problem.rewards.name}"
    return None
