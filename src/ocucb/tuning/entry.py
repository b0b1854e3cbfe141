"""The entry point: validate, search for the parameters of each policy, measure what was found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np

from .._keywords import hinted
from .._text import shown, to_count, to_float
from .._types import Floats
from ..policies import Policy, PolicyFamily, to_policies
from ..priors import AnyProblem
from ..random import to_seed
from ..results import Estimate
from ..simulation import to_workers
from .contender import Contender, Gain
from .laboratory import Bar, Laboratory, Trial
from .objective import OBJECTIVES, Measured, Objective, score
from .result import TuningResult
from .search import FRESH, Search
from .space import Space, check_ranges, space_of

_FEWEST_RUNS = 2000
_DEFAULT_SECONDS = 120.0  # nominal, of one core, for all that is played by default
_DEFAULT_LIMITS = 20_000, 300_000  # runs by default
_UNKNOWN = Estimate(math.nan, math.nan)


class Goal(NamedTuple):
    """What is minimised: one of `OBJECTIVES`, and the level of "cvar"."""

    name: str
    level: float


class TuningInterrupted(KeyboardInterrupt):
    """Ctrl-C during `tune`; `result` holds what is known, or None.

    Parameters
    ----------
    result : TuningResult or None
        The trials so far and the best of them, not measured again; None if there are none. It
        becomes an attribute.

    Examples
    --------
    >>> import ocucb
    >>> try:
    ...     result = ocucb.tune("ucb", ocucb.gap(K=2), 100, runs=2000, rng=1)
    ... except ocucb.TuningInterrupted as stopped:  # Ctrl-C
    ...     result = stopped.result
    """

    def __init__(self, result: TuningResult | None) -> None:
        super().__init__("tuning interrupted")
        self.result = result


@hinted
def tune(
    policies: Policy | PolicyFamily | str | Iterable[Policy | PolicyFamily | str],
    problems: AnyProblem | Sequence[AnyProblem],
    horizon: int,
    runs: int | None = None,
    *,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    objective: str = "mean",
    level: float = 0.95,
    rng: Any = None,
    engine: str = "auto",
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
) -> TuningResult:
    """Find the parameters with which policies have the least regret.

    The best parameters depend on the problem, so say what yours is like: with one problem, a list,
    or a distribution. A race on the whole range finds a good region, quadratic fits of log regret
    find the best point there, and what was found is then measured again with fresh runs, along with
    the policy as it was given. All numbers about the winner come from these: the runs that made it
    the winner would flatter it.

    Parameters
    ----------
    policies : policy, name of a policy, or a list of these
        What to tune, each starting from the parameters that it has: ``"ocucb"``, a policy of your
        own.
    problems : Problem, Prior, or a list of these
        What to tune for: ``gap(K=10, gap=0.3)``, ``prior("normal", K=10)``.
    horizon : int
        Rounds in a run, n.
    runs : int, optional
        Runs on each problem, of each policy, at least 2000; two fifths of them are fresh. Pilots of
        importance sampling come on top of that; so does, for "worst", a search on each problem
        alone. By default as many as take about two minutes of one core, at most 300,000.
    ranges : dict, optional
        Which parameters to tune, and where: ``{"alpha": (1, 6)}``. By default all, each from an
        eighth of its value to eight times that as far as it is valid. Whole numbers stay whole.
    objective : {"mean", "worst", "cvar"}
        What to minimise. "mean": the mean regret, averaged over problems. "worst": the largest
        ratio of the mean regret to that of the best parameters for this problem alone. "cvar":
        the mean regret over the worst runs, averaged over problems.
    level : float, optional
        For "cvar": the worst ``1 - level`` of the runs count, 5% by default.
    rng, engine, workers, executor, progress : optional
        As for `simulate`. The same seed gives the same result for any number of workers.

    Returns
    -------
    TuningResult
        The best policy, its gain with an interval, and all trials, with `table`, `plot` and `line`.

    Raises
    ------
    TuningInterrupted
        On Ctrl-C; it is a KeyboardInterrupt with what is known in its `result`.

    Examples
    --------
    >>> import ocucb
    >>> result = ocucb.tune("moss", ocucb.gap(K=2, gap=0.5), 500, runs=5000, rng=1)
    >>> result.line
    'ocucb.MOSS(constant=1.16)'
    """
    starts = to_policies(policies)
    games = _problems(problems)
    horizon = to_count(horizon, "horizon")
    if runs is not None:
        runs = to_count(runs, "runs", _FEWEST_RUNS)
    if objective not in OBJECTIVES:
        known = ", ".join(OBJECTIVES)
        raise ValueError(f"unknown objective {shown(objective)}; choose from {known}.")
    level = to_float(level, "level", "between 0 and 1")
    if not 0.0 <= level < 1.0:
        raise ValueError(f"level must be at least 0 and below 1, got {level:g}.")
    to_workers(workers)
    given = check_ranges(ranges, starts)
    spaces = [space_of(start, given) for start in starts]
    seed = to_seed(rng)
    with Bar(progress) as bar:
        tail = level if objective == "cvar" else None
        place = Laboratory(games, horizon, seed, tail, engine, workers, executor, bar)
        tuning = _Tuning(place, spaces, Goal(objective, level))
        try:
            searches = 2 if objective == "worst" else 1
            cost = searches * place.check(starts)
            if runs is None:
                few, many = _DEFAULT_LIMITS
                runs = int(min(max(_DEFAULT_SECONDS / cost, few), many))
            bar.total = searches * runs * len(games) * len(starts)
            return tuning.run(runs)
        except KeyboardInterrupt:
            raise TuningInterrupted(tuning.so_far()) from None


def _problems(given: Any) -> list[Any]:
    games = list(given) if isinstance(given, list | tuple) else [given]
    if not games:
        raise ValueError("problems must hold at least one problem, got none.")
    return games


class _Tuning:
    """The searches of one call, one after the other, and what they have found so far."""

    def __init__(self, laboratory: Laboratory, spaces: list[Space], goal: Goal) -> None:
        self.laboratory, self.spaces, self.goal = laboratory, spaces, goal
        self.runs = 0  # on each problem, of each policy
        self.searches: list[Search] = []
        self.references: tuple[Policy, ...] = ()
        self.best: Floats | None = None  # log regret of these

    def run(self, runs: int) -> TuningResult:
        """Search, measure again, report."""
        self.runs = runs
        if self.goal.name == "worst":
            alone = [self._best_alone(p) for p in range(len(self.laboratory.problems))]
            self.references = tuple(trial.policy for trial in alone)
            self.best = np.log([trial.values[0].value for trial in alone])
        winners = []
        for space in self.spaces:
            self.searches.append(Search(self.laboratory, space, self.runs, self.best, []))
            winners.append(self.searches[-1].run())
        best = min(winners, key=lambda trial: score(trial.values, self.best).value).policy
        fresh, measured = self._measure_again([trial.policy for trial in winners])
        objective = Objective(self.goal.name, len(self.laboratory.problems), self.references)
        contenders = [
            _contender(trial.policy, space, objective, measured)
            for trial, space in zip(winners, self.spaces, strict=True)
        ]
        return self._result(contenders, best, fresh)

    def so_far(self) -> TuningResult | None:
        """Return what is known before the fresh runs, or None if nothing is."""
        contenders, best = [], []
        for search in self.searches:
            if search.trials:
                most = max(trial.runs for trial in search.trials)
                leaders = [trial for trial in search.trials if trial.runs == most]
                leader = min(leaders, key=lambda trial: score(trial.values, self.best).value)
                unknown = (_UNKNOWN,) * len(leader.values)
                gain = Gain(math.nan, math.nan, math.nan)
                start, space = search.space.start, search.space
                facts = (_UNKNOWN, _UNKNOWN, unknown, unknown, gain, space)
                contenders.append(Contender(leader.policy, start, *facts))
                best.append(leader)
        if not contenders:
            return None
        winner = min(best, key=lambda trial: score(trial.values, self.best).value)
        return self._result(contenders, winner.policy, [], interrupted=True)

    def _best_alone(self, p: int) -> Trial:
        """Return the best that is found, of all policies, for one problem alone."""
        place = self.laboratory.on(p)
        searches = [Search(place, space, self.runs, None, []) for space in self.spaces]
        return min((search.run() for search in searches), key=lambda trial: trial.values[0].value)

    def _measure_again(self, found: list[Policy]) -> tuple[list[Trial], Measured]:
        """Measure what was found, what it started from, and what it is compared with."""
        runs = int(FRESH * self.runs)
        players = [*(space.start for space in self.spaces), *found]
        fresh = self.laboratory.measure(players, runs, "fresh")
        measured = {(trial.policy, p): x for trial in fresh for p, x in enumerate(trial.values)}
        for p, policy in enumerate(self.references):
            if (policy, p) not in measured:
                (again,) = self.laboratory.on(p).measure([policy], runs, "fresh")
                measured[policy, p] = again.values[0]
        return fresh, measured

    def _result(
        self,
        contenders: list[Contender],
        best: Policy,
        fresh: list[Trial],
        interrupted: bool = False,
    ) -> TuningResult:
        place = self.laboratory
        trials = [trial for search in self.searches for trial in search.trials] + fresh
        return TuningResult(
            contenders=contenders,
            best=best,
            objective=self.goal.name,
            level=self.goal.level,
            problems=[problem.name for problem in place.problems],
            horizon=place.horizon,
            runs=self.runs,
            seed=place.seed,
            trials=trials,
            scores=[score(trial.values, self.best) for trial in trials],
            references=self.references,
            best_logs=self.best,
            interrupted=interrupted,
        )


def _contender(policy: Policy, space: Space, objective: Objective, measured: Measured) -> Contender:
    """Compare a policy that was found with what it started from."""
    start = space.start
    ratio = objective.combined(policy, measured) - objective.combined(start, measured)
    error = 2.0 * ratio.error(measured)
    gain = Gain(*(-math.expm1(ratio.log + move) for move in (0.0, error, -error)))
    numbers = range(objective.problems)
    return Contender(
        policy,
        start,
        objective.estimate(policy, measured),
        objective.estimate(start, measured),
        tuple(measured[policy, p] for p in numbers),
        tuple(measured[start, p] for p in numbers),
        gain,
        space,
    )
