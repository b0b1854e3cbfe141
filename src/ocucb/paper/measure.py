"""Measure the points of panels: choose how runs are drawn, and how many.

Runs are allotted to points by precision. Every point first gets a few hundred; those with a
standard error above their goal then get as many more as it takes, until all have reached it. Where
the points of a line share runs (`sharing`), the first ones tell deviations and quantiles alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._waiting import interruptible
from ..engine import choose_engine
from ..importance import PLAIN, Mixture, first_mixture
from ..reports.measure import RunContext, kept_facts, whole_blocks
from ..reports.measure import measure as measure_all
from ..results import QUANTILES
from ..scheduler import Job, tilt
from ..specification import Specification
from ..sweeps.horizons import may_use_horizon
from .lazy import indices_per_round, samples_per_round
from .panels import BY_GAP, BY_HORIZON, BY_MIRROR, PAPER, PRECISION, Line, Panel

_PILOTS = 8  # points per line at which a mixture is chosen
_GROWTH = 8  # a round multiplies the runs of a point by at most this: early errors are rough
RESERVE = 1.05  # more runs than an error asks for, so that the next one is likely below the goal
MOST_RUNS = 1 << 21  # per point
POOLED, SHARED, MIRRORED = "pooled", "shared", "mirrored"  # see `Point.sampling`
_AGAIN, _AGAIN_LARGE = 0.01, 0.02  # relative standard errors at places that are measured again
_OTHER_SEED = 1_000_003  # is added to the seed there


Place = tuple[str, str, float]  # panel, line and x


@dataclass(frozen=True)
class Point:
    """What was measured at one x of one line of a panel."""

    panel: str
    line: str
    x: float
    policy: str
    problem: str
    engine: str
    horizon: int
    runs: int  # its own, even where others count
    # "plain" or "tilted"; of means that take runs of other points into account, "pooled" (those of
    # neighbouring gaps) or "shared" (all horizons have the same); "mirrored", see `exchange`
    sampling: str
    # how many plain runs would be as precise, and the mean weight, whose expectation is 1
    effective_runs: float
    mean_weight: float
    # the share of the axis that runs were allotted for, or `PAPER`; nan if their number was given
    precision: float
    # mean regret at the horizon and its standard error, which allows for failures that plain runs
    # have not shown; in a panel of tails, the probability of a regret above x
    mean: float
    stderr: float
    # standard deviation of the regret, and its standard error
    deviation: float
    deviation_error: float
    quantiles: tuple[float, ...]  # at the levels `QUANTILES`
    seconds: float  # time spent on it, summed over workers

    @property
    def correlated(self) -> bool:
        """Whether its error may be the same as that of other points of its line."""
        return self.sampling in (POOLED, SHARED)


@dataclass(frozen=True)
class Task:
    """A point to be measured; in a panel of tails, a line of points."""

    panel: Panel
    line: Line
    x: float
    runs: int  # runs to play
    seed: int
    # the standard error wanted, as a share of the axis, or `PAPER`; nan if `runs` are all
    precision: float = math.nan
    mixture: Mixture = PLAIN  # what runs are drawn from
    shares: bool = False  # whether its mean comes from runs that it shares with others

    @property
    def label(self) -> str:
        """The panel and the line, for people."""
        return f"{self.panel.name}, {self.line.label}"

    def specification(self) -> Specification:
        """Return what to play."""
        policy, problem, horizon = self.line.at(self.x)
        engine = choose_engine(policy, problem, horizon, "auto").name
        rounds = np.array([horizon])
        return Specification(policy, problem, horizon, rounds, self.seed, engine, self.mixture)

    @property
    def group(self) -> tuple[str, str]:
        """The line, along which the time of a run changes slowly."""
        return self.panel.name, self.line.label

    def more(self, found: Sequence[Point]) -> Task | None:
        """Return the task with more runs if its standard error is above the goal, else None."""
        if self.panel.tail or self.shares:
            return None
        excess = found[0].stderr / self.goal(found[0]) if found[0].stderr > 0.0 else 0.0
        runs = more_runs(self.specification(), self.runs, excess)
        return None if runs is None else replace(self, runs=runs)

    def goal(self, found: Point) -> float:
        """Return the standard error wanted, given what was found."""
        if self.precision == PAPER and not self.panel.ours:
            return found.deviation / math.sqrt(self.panel.full_runs)
        share = PRECISION if self.precision == PAPER else self.precision
        return share * self.line.tolerance * self.panel.top


def more_runs(specification: Specification, runs: int, excess: float) -> int | None:
    """Return how many runs to play if errors are so many times too large; None if they are not."""
    if not excess > 1.0 or runs >= MOST_RUNS:
        return None
    wanted = runs * min(float(_GROWTH), RESERVE * excess**2)
    return whole_blocks(specification, runs, min(wanted, MOST_RUNS))


def tasks_of(
    panels: Iterable[Panel], runs: dict[str, int], seed: int, precision: float = math.nan
) -> list[Task]:
    """Return all points of some panels; `runs` gives the runs per point of each panel."""
    return [
        Task(
            *(panel, line, x, runs[panel.name], seed, precision),
            shares=not math.isnan(precision) and shares_runs(panel, line),
        )
        for panel in panels
        if not panel.work
        for line in panel.lines
        for x in (panel.xs[:1] if panel.tail else panel.xs)
    ]


def shares_runs(panel: Panel, line: Line) -> bool:
    """Tell whether the points of a line share runs where these are allotted by precision."""
    if panel.sharing == BY_HORIZON:
        return len(panel.xs) > 1 and not may_use_horizon(line.at(panel.xs[0])[0])
    return panel.sharing == BY_MIRROR or (panel.sharing == BY_GAP and len(panel.xs) > 1)


def tasks_again(
    every: dict[str, Panel], places: Iterable[Place], points: Sequence[Point], seed: int
) -> list[Task]:
    """Return tasks that measure some places again: other random numbers, and more precisely.

    The standard error wanted is a share of the regret that was found there, rather than of an
    axis. Where a number of plain runs was given, as many are played again.
    """
    found = {(point.panel, point.line, point.x): point for point in points}
    tasks = []
    for name, label, x in places:
        point, panel = found[name, label, x], every[name]
        line = replace(next(known for known in panel.lines if known.label == label), tolerance=1.0)
        given = math.isnan(point.precision)
        precise = replace(panel, top=point.mean)
        runs = point.runs if given else panel.fewest_runs
        goal = math.nan if given else _AGAIN_LARGE if name == "exp10" else _AGAIN
        tasks.append(Task(precise, line, x, runs, seed + _OTHER_SEED, goal))
    return tasks


def with_mixtures(tasks: Sequence[Task], context: RunContext) -> list[Task]:
    """Return the tasks with what their runs are drawn from.

    A number of runs that is given means plain runs, as in the paper. Otherwise pilots decide, each
    for some neighbouring points: a mixture is unbiased for all of them, and good for what is alike.
    Broad panels have a mixture that reaches every failure, rather than the best one for the mean.
    """
    chosen: dict[Place, Mixture] = {}

    def mixture(task: Task) -> Mixture:
        given = math.isnan(task.precision)
        if task.panel.tail or (task.panel.broad and not given):
            _, problem, horizon = task.line.at(task.x)
            return first_mixture(problem, horizon)
        if given or not task.panel.tilted:
            return PLAIN
        pilot = replace(task, x=pilot_x(task.panel, task.x))
        place = (task.panel.name, task.line.label, pilot.x)
        if place not in chosen:
            context.display.say(f"preparing {task.label}")
            specification = pilot.specification()
            interruptible(specification.prepare)
            chosen[place] = tilt(
                specification, context.threads, context.executor, interrupts=context.interrupts
            ).mixture
        return chosen[place]

    return [replace(task, mixture=mixture(task)) for task in tasks]


def pilot_x(panel: Panel, x: float) -> float:
    """Return where on the grid the pilot for x is: in the middle of a group of points."""
    size = max(1, len(panel.xs) // _PILOTS)
    middle = panel.xs.index(x) // size * size + size // 2
    return panel.xs[min(middle, len(panel.xs) - 1)]


def measure(
    tasks: Sequence[Task], context: RunContext, say: Callable[[str], None] = lambda text: None
) -> list[Point]:
    """Run tasks, with as many runs as their precision asks for, and return their points in order.

    What each round takes is announced with `say`.
    """
    return [point for points in measure_all(tasks, context, _points, say) for point in points]


def _points(task: Task, job: Job) -> list[Point]:
    # a number of runs that is given means averages, as in the paper
    job.control_variates = not math.isnan(task.precision)
    found = job.result
    assert found is not None
    result = found[0]
    point = Point(
        **kept_facts(result),
        panel=task.panel.name,
        line=task.line.label,
        x=task.x,
        problem=found.problem,
        mean_weight=result.weight.value,
        precision=task.precision,
        mean=result.mean_regret,
        stderr=job.mean.stderr,
        deviation=result.deviation.value,
        deviation_error=result.deviation.stderr,
        quantiles=tuple(map(float, result.quantile(QUANTILES))),
    )
    if not task.panel.tail:
        return [point]
    tail = [result.tail(x) for x in task.panel.xs]
    seconds = result.seconds / len(tail)
    return [
        replace(point, x=x, mean=estimate.value, stderr=estimate.stderr, seconds=seconds)
        for x, estimate in zip(task.panel.xs, tail, strict=True)
    ]


_WORK: dict[str, Callable[..., float]] = {"ocucb": indices_per_round, "thompson": samples_per_round}


def work_points(panel: Panel, runs: int, seed: int) -> list[Point]:
    """Return the indices or samples per round at every point of a panel of work."""
    points = []
    for i, line in enumerate(panel.lines):
        for j, x in enumerate(panel.xs):
            policy, problem, horizon = line.at(x)
            streams = np.random.SeedSequence((seed, i, j)).spawn(runs)
            rngs = map(np.random.default_rng, streams)
            count = _WORK[policy.family.name]
            counts = np.array([count(problem, horizon, rng, **policy.parameters) for rng in rngs])
            spread = float(counts.std(ddof=1)) if runs > 1 else math.nan
            what = (panel.name, line.label, x, policy.name, problem.name, "heap", horizon)
            how = (runs, "plain", float(runs), 1.0, math.nan)
            found = (float(counts.mean()), spread / math.sqrt(runs), spread, math.nan)
            unknown = (math.nan,) * len(QUANTILES)
            points.append(Point(*what, *how, *found, quantiles=unknown, seconds=math.nan))
    return points
