"""Measure the points of panels: choose how runs are drawn, estimate the time, play, allot more.

Runs are allotted to points by precision. Every point first gets a few hundred; those with a
standard error above their goal then get as many as it asks for, until all have reached it. Each
round depends only on the outcome of the one before, so the result does not depend on workers or
interruptions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np

from .._waiting import Interrupts, interruptible
from ..engine import choose_engine
from ..importance import PLAIN, Mixture, first_mixture
from ..progress import duration
from ..results import QUANTILES, PolicyResult
from ..scheduler import Job, Watch, run_jobs, tilt
from ..specification import Block, Specification
from ..store import Store
from .panels import Line, Panel
from .progress import Display

_TIMED = 5  # points per line at which the time of a run is measured beforehand
_PILOTS = 8  # points per line at which a mixture is chosen
_GROWTH = 8  # a round multiplies the runs of a point by at most this: early errors are rough
_RESERVE = 1.05  # more runs than an error asks for, so that the next one is likely below the goal
_MOST_RUNS = 1 << 21  # per point


@dataclass(frozen=True)
class Point:
    """What was measured at one x of one line of a panel.

    Attributes
    ----------
    panel, line : str
    x : float
    policy, problem, engine : str
    horizon, runs : int
    sampling : str
        "plain" or "tilted".
    effective_runs, mean_weight : float
        How many plain runs would be as precise, and the mean weight, whose expectation is 1.
    precision : float
        The share of the axis that runs were allotted for; nan if their number was given.
    mean, stderr : float
        Mean regret at the horizon and its standard error; in a panel of tails, the probability of
        a regret above x.
    deviation, deviation_error : float
        Standard deviation of the regret, and its standard error. That of plain runs allows for one
        worst-case run missing from the sample.
    quantiles : tuple of float
        At the levels `QUANTILES`.
    seconds : float
        Time spent on it, summed over workers.
    """

    panel: str
    line: str
    x: float
    policy: str
    problem: str
    engine: str
    horizon: int
    runs: int
    sampling: str
    effective_runs: float
    mean_weight: float
    precision: float
    mean: float
    stderr: float
    deviation: float
    deviation_error: float
    quantiles: tuple[float, ...]
    seconds: float


@dataclass(frozen=True)
class Task:
    """A point to be measured; in a panel of tails, a line of points.

    Attributes
    ----------
    panel : Panel
    line : Line
    x : float
    runs : int
        Runs to play.
    seed : int
    precision : float
        The standard error wanted, as a share of the axis; nan if `runs` are all that is wanted.
    mixture : Mixture
        What runs are drawn from.
    """

    panel: Panel
    line: Line
    x: float
    runs: int
    seed: int
    precision: float = math.nan
    mixture: Mixture = PLAIN

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

    def more(self, stderr: float) -> Task | None:
        """Return the task with more runs if its standard error is above the goal, else None."""
        goal = self.precision * self.line.tolerance * self.panel.top
        if self.panel.tail or not stderr > goal or self.runs >= _MOST_RUNS:
            return None
        wanted = self.runs * min(float(_GROWTH), _RESERVE * (stderr / goal) ** 2)
        specification, runs = self.specification(), self.runs
        while runs < min(wanted, _MOST_RUNS):
            runs += specification.block_from(runs)
        return replace(self, runs=runs)


@dataclass(frozen=True)
class RunContext:
    """What tasks are measured with: workers, store, display, and what Ctrl-C does."""

    threads: int
    executor: Executor | None
    store: Store
    display: Display
    interrupts: Interrupts | None = None

    def run_jobs(self, jobs: Iterable[Job], watch: Watch | None = None) -> Iterator[Job]:
        """Run jobs."""
        return run_jobs(
            jobs,
            threads=self.threads,
            executor=self.executor,
            in_flight=max(64, 4 * self.threads),
            store=self.store,
            watch=watch,
            interrupts=self.interrupts,
        )


def tasks_of(
    panels: Iterable[Panel], runs: dict[str, int], seed: int, precision: float = math.nan
) -> list[Task]:
    """Return all points of some panels; `runs` gives the runs per point of each panel."""
    return [
        Task(panel, line, x, runs[panel.name], seed, precision)
        for panel in panels
        for line in panel.lines
        for x in (panel.xs[:1] if panel.tail else panel.xs)
    ]


def with_mixtures(tasks: Sequence[Task], context: RunContext) -> list[Task]:
    """Return the tasks with what their runs are drawn from.

    A number of runs that is given means plain runs, as in the paper. Otherwise pilots decide, each
    for some neighbouring points: a mixture is unbiased for all of them, and good for what is alike.
    Tails are drawn from a mixture that reaches all of them, rather than the best one for the mean.
    """
    chosen: dict[tuple[str, str, float], Mixture] = {}

    def mixture(task: Task) -> Mixture:
        if task.panel.tail:
            _, problem, horizon = task.line.at(task.x)
            return first_mixture(problem, horizon)
        if not task.panel.tilted or math.isnan(task.precision):
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


def estimate(tasks: Sequence[Task], context: RunContext) -> tuple[list[float], float]:
    """Return the seconds that one run of each task takes, and those of all missing runs together.

    The first block of a few points on each line is played (or found in the store); the times of the
    other points are interpolated.
    """
    lines: dict[tuple[str, str], list[int]] = {}
    for i, task in enumerate(tasks):
        lines.setdefault((task.panel.name, task.line.label), []).append(i)
    timed = sorted(
        {
            numbers[round(j)]
            for numbers in lines.values()
            for j in np.linspace(0, len(numbers) - 1, _TIMED)
        }
    )

    def jobs() -> Iterator[Job]:
        for i in timed:
            specification = tasks[i].specification()
            context.display.say(f"preparing {tasks[i].label}")
            interruptible(specification.prepare)
            yield Job(specification, min(tasks[i].runs, specification.block_from(0)))

    cost = {}
    for i, job in zip(timed, context.run_jobs(jobs()), strict=True):
        assert job.merged is not None
        cost[i] = job.seconds / job.merged.runs
    a_run = [0.0] * len(tasks)
    for numbers in lines.values():
        known = [i for i in numbers if i in cost]
        between = np.interp(numbers, known, [cost[i] for i in known])
        for i, one in zip(numbers, between, strict=True):
            a_run[i] = float(one)
    missing = [max(0, task.runs - context.store.runs(task.specification())) for task in tasks]
    return a_run, sum(one * runs for one, runs in zip(a_run, missing, strict=True))


def measure(
    tasks: Sequence[Task],
    context: RunContext,
    say: Callable[[str], None] = lambda text: None,
) -> list[Point]:
    """Run tasks, with as many runs as their precision asks for, and return their points in order.

    What each round takes is announced with `say`.
    """
    found: dict[int, list[Point]] = {}
    due = dict(enumerate(tasks))
    while due:
        a_run, missing = estimate(list(due.values()), context)
        runs = "more runs" if found else "runs"
        say(
            f"{runs} for {len(due):,} points: about {duration(missing / context.threads)} with "
            f"{context.threads} workers."
        )
        context.display.begin([task.label for task in due.values()], a_run, missing)
        found.update(zip(due, _measured(list(due.values()), context), strict=True))
        more = {i: task.more(found[i][0].stderr) for i, task in due.items()}
        due = {i: task for i, task in more.items() if task is not None}
    return [point for i in range(len(tasks)) for point in found[i]]


def _measured(tasks: Sequence[Task], context: RunContext) -> Iterator[list[Point]]:
    """Run tasks and yield the points of each in order."""
    reached = {"task": 0}

    def jobs() -> Iterator[Job]:
        for task in tasks:
            specification = task.specification()
            interruptible(specification.prepare)
            yield Job(specification, task.runs)

    def watch(job: Job, block: Block, played: bool) -> None:
        context.display.advance(reached["task"], job, block, played)

    for job in context.run_jobs(jobs(), watch):
        task = tasks[reached["task"]]
        reached["task"] += 1
        yield _points(task, job)


def _points(task: Task, job: Job) -> list[Point]:
    found = job.result
    assert found is not None
    result = found[0]
    point = Point(
        panel=task.panel.name,
        line=task.line.label,
        x=task.x,
        policy=result.policy,
        problem=found.problem,
        engine=result.engine,
        horizon=result.horizon,
        runs=result.runs,
        sampling=result.sampling,
        effective_runs=result.effective_runs,
        mean_weight=result.weight.value,
        precision=task.precision,
        mean=result.mean_regret,
        stderr=float(result.stderr[-1]),
        deviation=result.deviation.value,
        deviation_error=_deviation_error(result),
        quantiles=tuple(map(float, result.quantile(QUANTILES))),
        seconds=result.seconds,
    )
    if not task.panel.tail:
        return [point]
    tail = [result.tail(x) for x in task.panel.xs]
    seconds = result.seconds / len(tail)
    return [
        replace(point, x=x, mean=one.value, stderr=one.stderr, seconds=seconds)
        for x, one in zip(task.panel.xs, tail, strict=True)
    ]


def _deviation_error(result: PolicyResult) -> float:
    """Return the standard error of the standard deviation of regret.

    The estimate from plain runs is too small where rare failures dominate and the sample may
    contain none. One more run with the worst regret would add worst^2 / runs to the variance.
    """
    deviation, error = result.deviation
    if result.sampling != "plain":
        return error
    if not deviation > 0.0:
        return math.inf if result.runs > 1 and result.worst > 0.0 else math.nan
    return math.hypot(error, result.worst**2 / result.runs / (2.0 * deviation))
