"""Checks that your own policies, kinds of reward, engines and stores should pass, as ours do.

A check returns nothing if all is well; otherwise it raises AssertionError with one sentence that
says what is wrong. Seeds are fixed, so the same code always gets the same answer. Random quantities
are compared at levels of 1e-6, so of a million correct implementations a check rejects about as
many as it makes comparisons: each says how many.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import hypot, isfinite, sqrt
from typing import Any

import cloudpickle
import numpy as np
from scipy import stats

from . import importance
from ._types import Floats, Words
from .engine import ENGINES, Engine, Game, Outcome, kernel_of, new_game, new_outcome
from .engine.run import Run, copy_run
from .live import Bandit
from .policies import Policy, to_policies
from .policies._declarations import false_declaration
from .problems import Problem, bernoulli, gap, gaussian
from .random import CHOICES, REWARDS, start_stream, stream_key
from .simulation import simulate
from .specification import Specification, run_blocks
from .store import Store

__all__ = ["check_engine", "check_policy", "check_rewards", "check_store"]

_LEVEL = 1e-6  # of a comparison of distributions
_ERRORS = 5.0  # standard errors that a mean may be off: the same for a normal one
_DRAWS = 20_000  # rewards of an arm
_HORIZON = 300
_RUNS = 4000
_BRANCHES = 1000  # runs that are interrupted, copied and played on


@contextmanager
def _asserting() -> Iterator[None]:
    """Let what the library refuses count as a failed check."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise AssertionError(str(error)) from error


def _require(holds: Any, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)


def _require_mean(values: Floats, truth: float, what: str, error: float = 0.0) -> None:
    found, stderr = float(values.mean()), float(values.std()) / sqrt(values.size)
    near = abs(found - truth) <= _ERRORS * hypot(stderr, error) + 1e-9 * (1.0 + abs(truth))
    _require(near, f"{what} is {found:.6g} instead of {truth:.6g}.")


def _require_alike(found: Floats, reference: Floats, what: str) -> None:
    error = float(reference.std()) / sqrt(reference.size)
    _require_mean(found, float(reference.mean()), f"{what}: its mean", error)
    p = stats.ks_2samp(found, reference, method="asymp").pvalue
    _require(p > _LEVEL, f"{what} has another distribution than on the step engine (p = {p:.1g}).")


class _Match:
    """An engine, and what it plays to be checked."""

    def __init__(self, engine: Engine, policy: Policy, problem: Problem) -> None:
        self.engine, self.problem = engine, problem
        self.who = f"{policy.label} on the {engine.name} engine"
        self.kernel = kernel_of(policy.family, problem.rewards, engine)
        self.values, self.key = policy.arguments(_HORIZON), stream_key(1, "testing")
        self.forget = policy.forget
        self.go = np.zeros(1, dtype=np.bool_)

    def game(self, *checkpoints: int, mixture: importance.Mixture = importance.PLAIN) -> Game:
        times = np.array(checkpoints or [_HORIZON], dtype=np.int64)
        return new_game(self.engine, self.problem, _HORIZON, times, mixture, self.forget)

    def play(self, game: Game, first: int, runs: int) -> Outcome:
        outcome = new_outcome(runs, game)
        self.kernel(self.values, game, self.key, first, outcome, self.go)
        return outcome

    def play_on(self, game: Game, run: Run, stop: bool = False) -> Outcome:
        outcome = new_outcome(1, game)
        self.kernel.play_on(self.values, game, run, outcome, self.go | stop)
        return outcome


def _matches(policy: Policy, problem: Problem) -> list[_Match]:
    """Return the engines that can play a policy, the step engine last."""
    form = policy.on(problem.rewards.unit, problem.rewards.binary)
    mine = [engine for engine in ENGINES if isinstance(form.family.rule, engine.rule)]
    able = [engine for engine in mine if engine.obstacle(form, problem, _HORIZON) is None]
    return [_Match(engine, policy, problem) for engine in able]


def _check_plain(match: _Match, reference: _Match) -> Outcome:
    """Compare plain runs with those of the step engine, and return them."""
    who, n, best = match.who, _HORIZON, match.problem.best_arm
    found, steps = (
        player.play(player.game(n // 9, n // 3, n), first, _RUNS)
        for player, first in ((match, 0), (reference, _RUNS))
    )
    _require(np.isfinite(found.regret).all(), f"{who}: a run has no regret.")
    _require((found.pulls.sum(axis=1) == n).all(), f"{who}: pulls do not add up to the horizon.")
    lost = np.allclose(found.regret[:, -1], found.pulls @ match.problem.gaps, rtol=1e-9, atol=1e-9)
    _require(lost, f"{who}: the final regret is not that of the pulls.")
    for i, when in enumerate(("early", "later", "final")):
        _require_alike(found.regret[:, i], steps.regret[:, i], f"{who}, {when} regret")
    mine, theirs = (outcome.pulls[:, best].astype(np.float64) for outcome in (found, steps))
    _require_alike(mine, theirs, f"{who}, pulls of the best arm")
    return found


def _check_tilted(match: _Match, played: Floats) -> None:
    """Compare tilted runs, weighted, with the regret of plain ones."""
    problem, who = match.problem, f"{match.who}, tilted runs"
    if importance.obstacle(problem, _HORIZON) is not None:
        return
    mixture = importance.first_mixture(problem, _HORIZON)
    runs = match.play(match.game(mixture=mixture), 0, _RUNS)
    weights = importance.run_weights(mixture, problem, runs.noise, runs.pulls[:, mixture.arm])
    _require(np.isfinite(weights).all(), f"{who}: a leap passed a mark (see `rounds_to_mark`).")
    _require_mean(weights, 1.0, f"{who}: the mean weight")
    for i, whose in enumerate(("the other arms", "the best arm")):
        _require_mean(weights * runs.luck[:, -1, i], 0.0, f"{who}: the mean luck of {whose}")
    stderr = float(played.std()) / sqrt(played.size)
    _require_mean(weights * runs.regret[:, 0], float(played.mean()), f"{who}: regret", stderr)


def _check_branches(match: _Match, reference: _Match) -> None:
    """Check that a run can be interrupted, copied and played on."""
    part, whole, ends = match.game(match.problem.arms + 5), match.game(), np.empty(_BRANCHES)
    for number in range(_BRANCHES):
        run = match.kernel.start(part, match.key, number)
        match.play_on(part, run)
        copy = copy_run(run)
        found, again = (match.play_on(whole, branch).regret[0, 0] for branch in (run, copy))
        _require(found == again, f"{match.who}: a copied run goes another way than its original.")
        ends[number] = found
    runs, steps = (
        player.play(player.game(), 0, _RUNS).regret[:, 0] for player in (match, reference)
    )
    stepwise = (runs == steps).all()
    same = not stepwise or np.allclose(ends, runs[:_BRANCHES], rtol=1e-9, atol=1e-9)
    _require(same, f"{match.who}: a run goes another way if it is interrupted.")
    _require_alike(ends, steps[_BRANCHES:], f"{match.who}, regret of interrupted runs")


@_asserting()
def check_engine(engine: Engine, policies: Any, problem: Problem) -> None:
    """Check that an engine plays policies as the step engine does, the reference.

    Regret and pulls have the same distribution; tilted runs have a mean weight of 1 and the mean
    regret of plain ones; a run depends only on its key and number, ends when told to stop, and can
    be interrupted, copied and played on. 14 random comparisons for each policy; a second, besides
    the time to compile.

    Parameters
    ----------
    engine : Engine
        The engine, as in ``ocucb.engine.ENGINES``.
    policies : policy, name of a policy, or a list of these
        Policies that it can play.
    problem : Problem
        What is played.

    Examples
    --------
    >>> import ocucb
    >>> from ocucb.engine import ENGINES
    >>> ocucb.testing.check_engine(ENGINES[0], "moss", ocucb.gap(K=3, gap=0.5))
    """
    for policy in to_policies(policies):
        form, who = (
            policy.on(problem.rewards.unit, problem.rewards.binary),
            f"the {engine.name} engine",
        )
        _require(isinstance(form.family.rule, engine.rule), f"{who} does not play {policy.label}.")
        reason = engine.obstacle(form, problem, _HORIZON)
        _require(reason is None, f"{who} does not play {policy.label}: {reason}.")
        cost = engine.cost(form, problem, _HORIZON)
        _require(cost > 0.0 and isfinite(cost), f"{who} says that a run costs {cost}.")
        match, reference = _Match(engine, policy, problem), _matches(policy, problem)[-1]
        final = _check_plain(match, reference).regret[:, -1]
        alone = match.play(match.game(), 100, 1).regret[0, 0]
        same = alone == match.play(match.game(), 0, 101).regret[100, 0]
        _require(same, f"{match.who}: a run depends on more than its key and number.")
        run = match.kernel.start(match.game(), match.key, 0)
        stopped = match.play_on(match.game(), run, stop=True)
        _require(stopped.pulls.sum() < _HORIZON, f"{match.who}: it plays on when told to stop.")
        _check_branches(match, reference)
        _check_tilted(match, final)


def _stream(key: Words, number: int, purpose: Any) -> Words:
    words = np.empty(4, dtype=np.uint64)
    start_stream(words, key, number, purpose)
    return words


def _check_live(policy: Policy, problem: Problem) -> None:
    """Check that a live bandit plays the arms of the step engine."""
    played = Specification(policy, problem, _HORIZON, np.arange(1, _HORIZON + 1), 1, "step")
    known: Any = {"bounds": (0, 1)} if problem.rewards.unit else {"sigma": problem.sigma}
    for number in range(4):
        regret, total = played.outcome(number, 1).regret[0], 0.0
        bandit = Bandit(range(problem.arms), policy, _HORIZON, **known, rng=1)
        bandit._state.stream[:] = _stream(played._key, number, CHOICES)
        rewards = _stream(played._key, number, REWARDS)
        for t in range(_HORIZON):
            arm: Any = bandit.ask()
            total += problem.gaps[arm]
            same = abs(total - regret[t]) < 1e-9
            _require(same, f"{policy.label}: Bandit and simulate part in round {t + 1}.")
            bandit.tell(arm, problem.reward(arm, rewards))


@_asserting()
def check_policy(policy: Any) -> None:
    """Check that a policy is what it declares, and plays the same everywhere.

    Its declarations hold on a grid; every engine that can play it gives the same distribution, on
    Gaussian and Bernoulli rewards; a `Bandit` plays the arms of the simulator; a pickled copy, and
    any number of workers, give the same numbers. 16 random comparisons; a second, besides the time
    to compile.

    Parameters
    ----------
    policy : policy or name of a policy
        The policy, with its parameters.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.testing.check_policy(ocucb.MOSS(constant=4))
    """
    (player,) = to_policies(policy)
    for problem in (gaussian([0.5, 0.3, -0.5]), bernoulli([0.6, 0.5, 0.2])):
        if player.family.binary and not problem.rewards.binary:
            continue
        for arms in (2, problem.arms, 20):
            false = false_declaration(
                player.on(problem.rewards.unit, problem.rewards.binary), _HORIZON, arms
            )
            _require(false is None, f"{player.label} {false}.")
        *others, reference = _matches(player, problem)
        for match in others:
            _check_plain(match, reference)
        _check_live(player, problem)
    Specification(player, problem, _HORIZON, np.array([_HORIZON]), 1, "step").check_identity()
    try:
        copy = pickle.loads(cloudpickle.dumps(player))
    except Exception as error:  # pickling may run any code
        raise AssertionError(f"{player.label} cannot be pickled: {error}.") from error
    alone, shared, sent = (
        simulate(each, problem, _HORIZON, 300, rng=1, workers=workers, progress=False)[0].sample
        for each, workers in ((player, 1), (player, 3), (copy, 1))
    )
    _require(
        (alone == shared).all(), f"{player.label}: its numbers depend on the number of workers."
    )
    _require((alone == sent).all(), f"{player.label}: a pickled copy gives other numbers.")


def _check_arm(problem: Problem, arm: int) -> None:
    """Check what a kind of reward says about one arm, alone and with a lower mean."""
    kind, mean, scale = problem.rewards, float(problem.means[arm]), float(problem.scales[arm])
    who = f"{kind.name} rewards with mean {mean:g}"

    def draw(mean: float, number: int) -> Floats:
        stream = _stream(stream_key(number, "testing"), arm, REWARDS)
        return np.array([problem.reward(arm, stream, mean) for _ in range(_DRAWS)])

    sample = draw(mean, 0)
    squares = (sample - mean) ** 2
    _require_mean(sample, mean, f"{who}: the mean")
    excess = squares.mean() - problem.sigma**2 - _ERRORS * squares.std() / sqrt(_DRAWS)
    _require(excess <= 1e-9, f"{who}: the deviation exceeds sigma = {problem.sigma:g}.")
    least, most = (-np.inf, np.inf) if kind.bounds is None else kind.bounds(mean, scale)
    inside = (sample >= least).all() and (sample <= most).all()
    _require(inside, f"{who}: a reward lies outside [{least:g}, {most:g}].")
    _require(not kind.binary or np.isin(sample, (0, 1)).all(), f"{who}: one is neither 0 nor 1.")
    normal = not kind.brownian or stats.kstest((sample - mean) / scale, "norm").pvalue > _LEVEL
    _require(normal, f"{who}: they are not normal.")
    if kind.divergence is not None:
        same = kind.divergence(mean, mean, scale)
        _require(abs(same) < 1e-12, f"{who}: the divergence from themselves is {same:g}.")
    if kind.deviation is None:
        return
    spread, ratio = kind.deviation(mean, scale), kind.log_likelihood_ratio
    _require_mean(squares, spread**2, f"{who}: the variance")
    lower = mean - 0.2 * min(spread, mean - least)  # weights of exponential ones have a variance
    if ratio is None or lower == mean:
        return
    for count in (1, 4):
        totals = draw(lower, count).reshape(-1, count).sum(axis=1)
        weights = np.exp(ratio(totals - count * mean, count, mean, lower, scale))
        what = f"{who}, {count} drawn with mean {lower:g}"
        _require_mean(weights, 1.0, f"{what}: the mean likelihood ratio")
        _require_mean(weights * totals / count, mean, f"{what}: the mean, weighted with the ratio,")
    if kind.divergence is not None:
        logs = np.asarray(ratio(sample - mean, 1, mean, lower, scale))
        truth = kind.divergence(mean, lower, scale)
        _require_mean(logs, truth, f"{who}: the mean log-likelihood ratio, the divergence,")


@_asserting()
def check_rewards(problem: Problem) -> None:
    """Check that a kind of reward is what it says, and that engines agree about it.

    Rewards have the mean, deviation and bounds that are stated, and a deviation of at most sigma;
    likelihood ratios have mean 1, and correct the mean of rewards that were drawn with a lower one;
    the divergence is the mean log-likelihood ratio; every engine that accepts the kind plays MOSS,
    Thompson sampling and IMED as the step engine does, tilted too. 9 random comparisons for each
    arm, and 12 for each engine; a few seconds, besides the time to compile.

    Parameters
    ----------
    problem : Problem
        A problem with such rewards.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.testing.check_rewards(ocucb.uniform_rewards([0.6, 0.3]))
    """
    for arm in range(problem.arms):
        _check_arm(problem, arm)
    for policy in to_policies(["moss", "thompson", "imed"]):
        *others, reference = _matches(policy, problem)
        for match in others or [reference]:
            _check_tilted(match, _check_plain(match, reference).regret[:, -1])


@_asserting()
def check_store(open_store: Callable[[], Store]) -> None:
    """Check that a store keeps each block of runs once, and that simulations resume from it.

    Nothing here is random: no correct store is rejected. It takes a second.

    Parameters
    ----------
    open_store : callable
        Opens the store: empty at first, later with what was written to it.

    Examples
    --------
    >>> import ocucb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ocucb.testing.check_store(lambda: ocucb.Store(folder + "/results.db"))
    """
    policy, problem = to_policies("moss")[0], gap(2, 0.3)
    played = Specification(policy, problem, 100, np.array([50, 100]), 1, "step")
    # They claim to have taken long, which shows whether they are played again.
    blocks = [replace(block, seconds=1000.0) for block in run_blocks(played, [(0, 64), (64, 64)])]
    with open_store() as store:
        _require(not store.holds_runs, "the store is not empty.")
        for block in (*blocks, blocks[0]):
            store.add(played, block)
    with open_store() as store:
        for block in blocks:
            found, what = store.get(played, block.first, 64), f"the block from run {block.first} on"
            _require(found is not None, f"{what} was added, but is lost.")
            same = found and np.array_equal(found.moments.numbers(), block.moments.numbers())
            _require(same, f"{what} is not the one that was added.")
        _require(store.get(played, 0, 63) is None, "the store takes a block for a shorter one.")
        other = store.get(replace(played, seed=2), 0, 64)
        _require(other is None, "the store takes a simulation for one with another seed.")
        runs = [store.runs(played), *(player.runs for each in store.contents() for player in each)]
        _require(runs == [128, 128], f"128 runs were added, but the store counts {runs}.")
    call: Any = {"policies": policy, "problem": problem, "horizon": 100, "checkpoints": [50]}
    call |= {"runs": 300, "rng": 1, "engine": "step", "sampling": "plain", "progress": False}
    with open_store() as store:
        resumed = simulate(**call, store=store)[0]
    _require(resumed.seconds >= 2000.0, "runs that are in the store are played again.")
    same = (resumed.sample == simulate(**call)[0].sample).all()
    _require(same, "a simulation that resumes from the store has other numbers.")
    with open_store() as store:
        _require(store.runs(played) == 300, "runs that `simulate` added to the store are lost.")
