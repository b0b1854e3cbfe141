"""Where candidates are played: every measurement of a search, with streams of its own."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from .._text import duration
from ..engine import engine_named
from ..importance import failure_cost
from ..policies import Policy
from ..priors import AnyProblem
from ..progress import ProgressBar
from ..results import UNSEEN, Estimate, PolicyResult
from ..simulation import simulate

FEWEST_TRIED = 256  # runs of a candidate that can be tilted, where there are enough


@dataclass(frozen=True)
class Trial:
    """A policy that was tried, and what it had on each problem.

    Attributes
    ----------
    policy : Policy
        What was played.
    stage : str
        In which part of the search: "race", "refine", "final".
    runs : int
        Runs on each problem.
    values : tuple of Estimate
        Its mean regret, or that of its worst runs, on each problem.

    Examples
    --------
    >>> import ocucb
    >>> result = ocucb.tune("ucb", ocucb.gap(K=2), 100, runs=2000, rng=1)
    >>> trial = result.trials[0]
    >>> trial.policy.family.name, trial.stage, len(trial.values)
    ('ucb', 'race', 1)
    """

    policy: Policy
    stage: str
    runs: int
    values: tuple[Estimate, ...]


@dataclass
class Laboratory:
    """Plays policies on problems; the trials of each search are kept in order.

    Every measurement has a seed of its own, so none knows what an earlier one was lucky with.
    """

    problems: Sequence[AnyProblem]
    horizon: int
    seed: int
    level: float | None  # of the mean over the worst runs; None for all of them
    engine: str
    workers: int | None
    executor: Executor | None
    bar: Bar
    calls: list[None] = field(default_factory=list)  # one for each measurement, of copies as well

    def on(self, p: int) -> Laboratory:
        """Return a laboratory with one of the problems; measurements share no seed either."""
        problems, calls, seed = [self.problems[p]], self.calls, self.seed
        how = (self.level, self.engine, self.workers, self.executor)
        return Laboratory(problems, self.horizon, seed, *how, self.bar, calls)

    def check(self, policies: Sequence[Policy]) -> float:
        """Have errors surface before anything is searched; return what a run of each costs.

        In nominal seconds, which are the same on every machine.
        """
        cost = 0.0
        for problem in self.problems:
            found = self._simulate(policies, problem, 1, self.seed, sampling="plain")
            for policy, result in zip(policies, found, strict=True):
                where = (policy, problem.typical, self.horizon)
                cost += 1e-9 * engine_named(result.engine, *where).cost(*where)
        return cost

    def measure(self, policies: Iterable[Policy], runs: int, stage: str) -> list[Trial]:
        """Play each policy on every problem."""
        players = list(dict.fromkeys(policies))
        self.calls.append(None)
        words = np.random.SeedSequence((self.seed, len(self.calls))).generate_state(1, np.uint64)
        seed = int(words[0])
        columns = []
        for problem in self.problems:
            self.bar.begin(f"{players[0].family.label}, {stage}")
            found = self._simulate(players, problem, runs, seed)
            columns.append([self._estimate(result, problem) for result in found])
            self.bar.advance(runs * len(players))
        rows = zip(*columns, strict=True)
        return [Trial(one, stage, runs, row) for one, row in zip(players, rows, strict=True)]

    def _simulate(
        self,
        policies: Sequence[Policy],
        problem: AnyProblem,
        runs: int,
        seed: int,
        sampling: str = "auto",
    ) -> Iterable[PolicyResult]:
        return simulate(
            policies,
            problem,
            self.horizon,
            runs,
            rng=seed,
            checkpoints=[self.horizon],
            engine=self.engine,
            sampling=sampling,
            workers=self.workers,
            executor=self.executor,
            progress=False,
        )

    def _estimate(self, result: PolicyResult, problem: AnyProblem) -> Estimate:
        if self.level is not None:
            found = result.cvar(self.level)
        else:
            unseen = 0.0
            if result.sampling == "plain" and not result.control_variates:
                unseen = UNSEEN * failure_cost(problem, self.horizon) / result.runs
            found = Estimate(result.mean_regret, math.hypot(float(result.stderr[-1]), unseen))
        if found.value > 0.0:
            return found
        if not found.stderr > 0.0:
            raise ValueError(f"{result.label} has no regret on {problem.name}: nothing to tune.")
        return Estimate(found.stderr, found.stderr)  # too few runs to see any


class Bar(ProgressBar):
    """The progress of all searches together."""

    def __init__(self, wanted: bool | None) -> None:
        super().__init__(wanted, "{task.completed:,.0f}/{task.total:,.0f} runs")
        self.total, self._done = 0, 0  # runs that are planned, and that are done
        self._began = time.monotonic()

    def begin(self, what: str) -> None:
        """Say what is measured now."""
        left = ""
        if self._done:
            rest = max(0, self.total - self._done)
            elapsed = time.monotonic() - self._began
            left = f"about {duration(elapsed * rest / self._done)} left"
        self.show(0, what, completed=self._done, total=self.total, left=left)

    def advance(self, runs: int) -> None:
        """Count finished runs."""
        self._done += runs
