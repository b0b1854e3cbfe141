"""Play the league: what a cell of its tables is, and how many runs it gets.

Runs are drawn from a broad mixture that makes failures of every size common. The
mixture that a pilot would choose for the mean needs fewer runs for the mean, but sees too few
failures to estimate a standard deviation or the probability of a disaster.

Every cell gets runs until two standard errors are at most a share of its mean regret, and until
the probability of a disaster is known to be small, or not to be small and to a quarter of itself.
The cost of a cell is limited: slow policies get fewer runs, and none where even the fewest would
take too long. Disasters may cost more than the mean: too few runs would exclude a policy that has
none. Cost is the engine's nominal one, which is the same on every machine, so that the numbers are
too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..engine import choose_engine
from ..importance import PLAIN, Mixture, first_mixture, obstacle
from ..policies import Policy
from ..priors import AnyProblem
from ..problems import Problem
from ..reports.estimates import Uncertain
from ..reports.measure import kept_facts, whole_blocks
from ..results import PolicyResult
from ..scheduler import Job
from ..simulation import specify
from ..specification import Specification
from .problems import disaster_level

PRECISION = 0.05  # default: two standard errors, as a share of the mean
RARE = 0.01  # a disaster that is known to be rarer than this is no concern
KNOWN = 0.25  # standard error of the probability of a disaster, as a share of it
SEEN = 10.0  # effective number of disasters from which that standard error is believed
BUDGET = 0.3  # nominal seconds for a cell
# Times the nominal cost that some formulas take, with Gaussian rewards and with clicks, roughly.
_SLOWER = {"bayes-ucb": (8.0, 8.0), "kl-ucb": (1.0, 10.0), "kl-ucb-plus": (1.0, 6.0)}
_STRETCH = 3.0  # times the budget that the fewest runs may take
PATIENCE = 4.5  # nominal seconds that it may take to know about disasters
_FIRST = 1024  # runs to begin with
_TILTED = 512  # runs from which they are tilted; with fewer, the mean would be too uncertain
_FEWEST = 64  # runs: with fewer, an error bar says nothing
_GROWTH = 8
_RESERVE = 1.05
_MOST = 1 << 17

Key = tuple[str, str, int]  # the names of policy and problem, and the horizon


@dataclass(frozen=True)
class Cell:
    """What was measured of one policy on one problem."""

    place: str  # the contest, or the open question that it belongs to
    policy: str
    label: str
    problem: str
    engine: str
    sampling: str
    horizon: int
    runs: int
    effective_runs: float  # how many plain runs would give the same standard error of the mean
    # mean regret, its standard deviation, and the probability that the best arms get less than half
    # of the rounds
    mean: Uncertain
    deviation: Uncertain
    failure: Uncertain
    median: float
    # the largest standard deviation of an arm's pulls, as a share of the horizon, and how often the
    # textbook's 95% interval of an arm holds at the end, on average over arms; nan: not known
    instability: Uncertain
    coverage: Uncertain
    disaster: Uncertain  # the probability of a disaster (`problems.disaster_level`)
    # An upper bound for it: two standard errors more. 0 where no run can be a disaster.
    disaster_bound: float
    disasters: float  # the effective number of disasters that were seen
    reached: bool  # whether mean and disasters are as precise as was asked for
    seconds: float  # time spent on it, summed over workers

    @property
    def key(self) -> Key:
        """What was played."""
        return self.policy, self.problem, self.horizon


@dataclass(frozen=True)
class Task:
    """A cell to be measured."""

    place: str  # the contest or question it belongs to
    policy: Policy
    problem: AnyProblem
    horizon: int
    runs: int
    seed: int
    most: int  # runs that it may have for the mean
    limit: int  # runs that it may have for disasters
    # two standard errors as a share of the mean; nan if `runs` are all that is wanted
    precision: float
    mixture: Mixture = PLAIN  # what runs are drawn from

    @property
    def label(self) -> str:
        """The problem and the policy, for people."""
        return f"{self.place}, {self.policy.label}"

    @property
    def key(self) -> Key:
        """What is played: the same for two tasks only if it is the same."""
        return self.policy.name, self.problem.name, self.horizon

    group = key  # itself: times differ from cell to cell

    def specification(self) -> Specification:
        """Return what to play."""
        engine = choose_engine(self.policy, self.problem.typical, self.horizon, "auto").name
        rounds = np.array([self.horizon])
        facts = self.policy, self.problem, self.horizon, rounds, self.seed, engine, self.mixture
        return Specification(*facts)

    def more(self, found: Cell) -> Task | None:
        """Return the task with more runs if what was found is not precise enough, else None."""
        if found.reached:
            return None
        lacking = _lacking(found, self.precision, self.specification().unseen(self.runs))
        factors = [min(_GROWTH, _RESERVE * times) for times in lacking]
        pairs = zip(factors, (self.most, self.limit), strict=True)
        wanted = max(min(self.runs * factor, most) for factor, most in pairs)
        if wanted <= self.runs:
            return None
        return replace(self, runs=whole_blocks(self.specification(), self.runs, wanted))


def _lacking(cell: Cell, precision: float, unseen: float) -> tuple[float, float]:
    """Return how many times the runs it takes for the mean, and for disasters; at most 1: none.

    `unseen` is the error of the mean owing to failures that were not seen. It falls like 1/runs,
    and so does a part of that of disasters: then this is the least that it takes.
    """
    goal = precision * cell.mean.value
    mean = max((2.0 * cell.mean.error / goal) ** 2, 2.0 * unseen / goal) if goal > 0.0 else 0.0
    value, error = cell.disaster.value, cell.disaster.error
    if cell.disaster_bound <= RARE:
        return mean, 0.0
    if value < RARE:
        return mean, 2.0 * error / (RARE - value)
    unknown = (error / (KNOWN * value)) ** 2
    doubtful = (2.0 * error / (value - RARE)) ** 2 if value > RARE else math.inf
    return mean, max(unknown, doubtful, SEEN / max(cell.disasters, 1.0))


@dataclass(frozen=True)
class Skipped:
    """A policy that does not play a problem, and why."""

    place: str
    policy: str
    reason: str


def make_task(
    place: str,
    policy: Policy,
    problem: AnyProblem,
    horizon: int,
    seed: int,
    precision: float = PRECISION,
    runs: int | None = None,
    budget: float = BUDGET,
) -> Task | Skipped:
    """Return the cell of a policy on a problem or a prior, or why it is not played.

    It may cost `budget` nominal seconds.
    """
    try:
        specification = specify(policy, problem, horizon, np.array([horizon]), seed, "auto")
        specification.check_identity()
        policy.arguments(horizon)
    except ValueError as error:
        return Skipped(place, policy.name, str(error).removesuffix("."))
    if runs is not None:
        return Task(place, policy, problem, horizon, runs, seed, runs, runs, math.nan)
    typical = problem.typical
    cost = choose_engine(policy, typical, horizon, "auto").cost(policy, typical, horizon)
    cost *= _SLOWER.get(policy.family.name, (1.0, 1.0))[problem.rewards.binary]
    affordable = int(1e9 * budget / cost)
    if affordable * _STRETCH < _FEWEST:
        seconds = cost * _FEWEST / 1e9
        reason = f"{_FEWEST} runs would take {seconds:.0f} s, and a cell may take {budget:g} s"
        return Skipped(place, policy.name, reason)
    mixture = PLAIN
    if obstacle(problem, horizon) is None and affordable >= _TILTED:
        assert isinstance(problem, Problem)
        mixture = first_mixture(problem, horizon)
    most = whole_blocks(specification, 0, max(_FEWEST, min(affordable, _MOST)))
    limit = whole_blocks(specification, most, min(1e9 * PATIENCE / cost, _MOST))
    first = whole_blocks(specification, 0, min(_FIRST, most))
    return Task(place, policy, problem, horizon, first, seed, most, limit, precision, mixture)


def read_cell(task: Task, job: Job) -> Cell:
    """Return the cell of a finished job."""
    found = job.result
    assert found is not None
    result = found[0]
    level = disaster_level(task.problem, task.horizon)
    possible = math.isfinite(level)
    tail = Uncertain(*result.tail(level)) if possible else Uncertain(0.0, 0.0)
    cell = Cell(
        **kept_facts(result),
        place=task.place,
        label=result.label,
        problem=found.problem,
        mean=Uncertain(result.mean_regret, float(result.stderr[-1])),
        deviation=Uncertain(*result.deviation),
        failure=Uncertain(*result.failure),
        median=float(result.quantile(0.5)),
        instability=Uncertain(*result.instability).times(1.0 / result.horizon),
        # arms of a run are not independent: as if they were the same
        coverage=Uncertain(float(result.coverage.mean()), float(result.coverage_stderr.mean())),
        disaster=tail,
        disaster_bound=min(1.0, tail.value + 2.0 * tail.error),
        disasters=_effective_disasters(result, level) if possible else 0.0,
        reached=False,
    )
    if math.isnan(task.precision):
        return replace(cell, reached=True)
    unseen = job.specification.unseen(result.runs)
    return replace(cell, reached=max(_lacking(cell, task.precision, unseen)) <= 1.0)


def _effective_disasters(result: PolicyResult, x: float) -> float:
    """Return how many unweighted runs above x would be as informative as the weighted ones."""
    edges, _, _ = result.tail_curve()
    above = edges > x * 1.01  # bin b holds what lies above edge b + 1; x is rounded to an edge
    sums, squares = result.histogram[:, : int(above.sum())].sum(axis=1)
    return float(sums**2 / squares) if squares > 0.0 else 0.0
