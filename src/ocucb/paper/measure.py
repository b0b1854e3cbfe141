"""Measure the points of panels: estimate the time, play the runs, keep what is finished."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from ..engine import choose_engine
from ..results import QUANTILES
from ..scheduler import Job, Watch, run_jobs
from ..specification import Block, Specification
from ..store import Store
from .panels import Line, Panel
from .progress import Display

_PILOTS = 5  # points per line at which the time of a run is measured beforehand


@dataclass(frozen=True)
class Point:
    """What was measured at one x of one line of a panel.

    Attributes
    ----------
    panel, line : str
    x : float
    policy, problem, engine : str
    horizon, runs : int
    mean, stderr : float
        Mean regret at the horizon and its standard error.
    deviation, deviation_error : float
        Standard deviation of the regret, and its standard error, which allows for one worst-case
        run missing from the sample.
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
    mean: float
    stderr: float
    deviation: float
    deviation_error: float
    quantiles: tuple[float, ...]
    seconds: float


@dataclass(frozen=True)
class Task:
    """A point to be measured."""

    panel: Panel
    line: Line
    x: float
    runs: int
    seed: int

    @property
    def label(self) -> str:
        """The panel and the line, for people."""
        return f"{self.panel.name}, {self.line.label}"

    def specification(self) -> Specification:
        """Return what to play."""
        policy, problem, horizon = self.line.at(self.x)
        engine = choose_engine(policy, problem, horizon, "auto").name
        return Specification(policy, problem, horizon, np.array([horizon]), self.seed, engine)


@dataclass(frozen=True)
class RunContext:
    """What tasks are measured with: workers, store and display."""

    threads: int
    executor: Executor | None
    store: Store
    display: Display

    def run_jobs(self, jobs: Iterable[Job], watch: Watch | None = None) -> Iterator[Job]:
        """Run jobs."""
        return run_jobs(
            jobs,
            threads=self.threads,
            executor=self.executor,
            in_flight=max(64, 4 * self.threads),
            store=self.store,
            watch=watch,
        )


def tasks_of(panels: Iterable[Panel], runs: dict[str, int], seed: int) -> list[Task]:
    """Return all points of some panels; `runs` gives the runs per point of each panel."""
    return [
        Task(panel, line, x, runs[panel.name], seed)
        for panel in panels
        for line in panel.lines
        for x in panel.xs
    ]


def estimate(tasks: Sequence[Task], context: RunContext) -> tuple[list[float], float]:
    """Return the seconds that one run of each task takes, and those of all missing runs together.

    The first block of a few points on each line is played (or found in the store); the times of the
    other points are interpolated.
    """
    lines: dict[tuple[str, str], list[int]] = {}
    for i, task in enumerate(tasks):
        lines.setdefault((task.panel.name, task.line.label), []).append(i)
    pilots = sorted(
        {
            numbers[round(j)]
            for numbers in lines.values()
            for j in np.linspace(0, len(numbers) - 1, _PILOTS)
        }
    )

    def jobs() -> Iterator[Job]:
        for i in pilots:
            specification = tasks[i].specification()
            context.display.say(f"preparing {tasks[i].label}")
            specification.prepare()
            yield Job(specification, min(tasks[i].runs, specification.block_from(0)))

    cost = {}
    for i, job in zip(pilots, context.run_jobs(jobs()), strict=True):
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


def measure(tasks: Sequence[Task], context: RunContext) -> Iterator[Point]:
    """Run tasks and yield their points in order."""
    reached = {"task": 0}

    def jobs() -> Iterator[Job]:
        for task in tasks:
            specification = task.specification()
            specification.prepare()
            yield Job(specification, task.runs)

    def watch(job: Job, block: Block, played: bool) -> None:
        context.display.advance(reached["task"], job, block, played)

    for job in context.run_jobs(jobs(), watch):
        task = tasks[reached["task"]]
        reached["task"] += 1
        yield _point(task, job)


def _point(task: Task, job: Job) -> Point:
    found, spec = job.result, job.specification
    assert job.merged is not None
    assert found is not None
    result = found[0]
    error = float(result.stderr[-1])
    deviation = error * math.sqrt(result.runs)
    worst = spec.horizon * float(spec.problem.gaps.max())
    return Point(
        panel=task.panel.name,
        line=task.line.label,
        x=task.x,
        policy=result.policy,
        problem=found.problem,
        engine=result.engine,
        horizon=result.horizon,
        runs=result.runs,
        mean=result.mean_regret,
        stderr=error,
        deviation=deviation,
        deviation_error=_deviation_error(deviation, job.merged.kurtosis, worst, result.runs),
        quantiles=tuple(map(float, result.quantile(QUANTILES))),
        seconds=result.seconds,
    )


def _deviation_error(deviation: float, kurtosis: float, worst: float, runs: int) -> float:
    """Return the standard error of a standard deviation.

    The sample's own estimate, from its fourth moment, is too small where rare disasters dominate
    and the sample may contain none. One more run with the worst regret, n times the largest gap,
    would add worst^2 / runs to the variance.
    """
    if not deviation > 0.0:
        return math.inf if runs > 1 and worst > 0.0 else math.nan
    sampled = deviation * math.sqrt((kurtosis - 1.0) / 4.0 / runs)
    return math.hypot(sampled, worst**2 / runs / (2.0 * deviation))
