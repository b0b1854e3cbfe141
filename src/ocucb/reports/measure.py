"""Play many simulations in rounds: estimate the time, play, allot more runs where needed.

Each round depends only on the outcome of the one before, so the result does not depend on
workers or interruptions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from .._text import duration
from .._waiting import Interrupts, interruptible
from ..results import PolicyResult
from ..scheduler import Job, Watch, run_jobs
from ..specification import Block, Specification
from ..store import Store
from .progress import Display

_TIMED = 5  # tasks per group at which the time of a run is measured beforehand


class Task(Protocol):
    """A simulation to be played, with a number of runs that may grow."""

    @property
    def runs(self) -> int:
        """Runs to play."""

    @property
    def label(self) -> str:
        """What is played, for people."""

    @property
    def group(self) -> Hashable:
        """Tasks of a group, in order, take similar times."""

    def specification(self) -> Specification:
        """Return what to play."""

    def more(self, found: Any) -> Any:
        """Return the task with more runs if what was found asks for them, else None."""


AnyTask = TypeVar("AnyTask", bound=Task)
Found = TypeVar("Found")


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


class _Forecast:
    """Says, as soon as it can tell, how long it takes to compile everything."""

    measured = 3  # kernels by which it can tell
    patience = 5.0  # seconds that need no announcement

    def __init__(self, specifications: Iterable[Specification], say: Callable[[str], None]) -> None:
        self._left = {_kernel(one) for one in specifications}
        self._times: list[float] = []
        self._say = say

    def prepare(self, specification: Specification) -> None:
        """Compile what is needed."""
        began = time.monotonic()
        interruptible(specification.prepare)
        if _kernel(specification) not in self._left:
            return
        self._left.remove(_kernel(specification))
        self._times.append(time.monotonic() - began)
        if len(self._times) == self.measured:
            seconds = sum(self._times) / self.measured * len(self._left)
            if seconds >= self.patience:
                self._say(f"compiling {len(self._left)} more kernels: about {duration(seconds)}.")


def _kernel(specification: Specification) -> tuple[str, str, str]:
    """Return what the compiled code of a specification depends on."""
    names = specification.policy.family.name, specification.problem.rewards.name
    return *names, specification.engine


def estimate(
    tasks: Sequence[AnyTask], context: RunContext, say: Callable[[str], None] = lambda text: None
) -> tuple[list[float], float]:
    """Return the seconds that one run of each task takes, and those of all missing runs together.

    The first block of a few tasks of each group is played (or found in the store); the times of the
    others are interpolated. Before that, policies are compiled; `say` is told how long that takes.
    """
    groups: dict[Hashable, list[int]] = {}
    for i, task in enumerate(tasks):
        groups.setdefault(task.group, []).append(i)
    timed = sorted(
        {
            numbers[round(j)]
            for numbers in groups.values()
            for j in np.linspace(0, len(numbers) - 1, _TIMED)
        }
    )

    chosen = {i: tasks[i].specification() for i in timed}
    forecast = _Forecast(chosen.values(), say)

    def jobs() -> Iterator[Job]:
        for i, specification in chosen.items():
            context.display.say(f"preparing {tasks[i].label}")
            forecast.prepare(specification)
            yield Job(specification, min(tasks[i].runs, specification.block_from(0)))

    cost = {}
    for i, job in zip(timed, context.run_jobs(jobs()), strict=True):
        assert job.merged is not None
        cost[i] = job.seconds / job.merged.runs
    a_run = [0.0] * len(tasks)
    for numbers in groups.values():
        known = [i for i in numbers if i in cost]
        between = np.interp(numbers, known, [cost[i] for i in known])
        for i, seconds in zip(numbers, between, strict=True):
            a_run[i] = float(seconds)
    missing = [max(0, task.runs - context.store.runs(task.specification())) for task in tasks]
    return a_run, sum(seconds * runs for seconds, runs in zip(a_run, missing, strict=True))


def measure(
    tasks: Sequence[AnyTask],
    context: RunContext,
    read: Callable[[AnyTask, Job], Found],
    say: Callable[[str], None] = lambda text: None,
    what: str = "points",
) -> list[Found]:
    """Run tasks, with as many runs as they ask for, and return what is found, in order.

    ``read(task, job)`` returns what is kept of a finished job. `say` is told how long each round
    takes; `what` is what tasks are called there.
    """
    found: dict[int, Found] = {}
    due = dict(enumerate(tasks))
    while due:
        a_run, missing = estimate(list(due.values()), context, say)
        runs = "more runs" if found else "runs"
        say(
            f"{runs} for {len(due):,} {what}: about {duration(missing / context.threads)} with "
            f"{context.threads} workers."
        )
        context.display.begin([task.label for task in due.values()], a_run, missing)
        found.update(zip(due, _played(list(due.values()), context, read), strict=True))
        more = {i: task.more(found[i]) for i, task in due.items()}
        due = {i: task for i, task in more.items() if task is not None}
    return [found[i] for i in range(len(tasks))]


def _played(
    tasks: Sequence[AnyTask], context: RunContext, read: Callable[[AnyTask, Job], Found]
) -> Iterator[Found]:
    """Run tasks and yield what is found, in order."""
    reached = {"task": 0}

    def jobs() -> Iterator[Job]:
        for task in tasks:
            specification = task.specification()
            interruptible(specification.prepare)
            yield Job(specification, task.runs)

    def watch(job: Job, block: Block, played: bool) -> None:
        rounds = job.specification.horizon
        context.display.advance(reached["task"], block.moments.runs, rounds, played)

    for job in context.run_jobs(jobs(), watch):
        task = tasks[reached["task"]]
        reached["task"] += 1
        yield read(task, job)


def kept_facts(result: PolicyResult) -> dict[str, Any]:
    """Return what a point or cell keeps of a result as it is."""
    names = ("policy", "engine", "sampling", "horizon", "runs", "effective_runs", "seconds")
    return {name: getattr(result, name) for name in names}


def whole_blocks(specification: Specification, first: int, wanted: float) -> int:
    """Return the smallest number of runs, from `first` on, that ends a block and is enough.

    Examples
    --------
    >>> import ocucb
    >>> spec = Specification(ocucb.UCB(), ocucb.gap(), 100, np.array([100]), 1, "step")
    >>> whole_blocks(spec, 512, 600), whole_blocks(spec, 512, 500)
    (640, 512)
    """
    runs = first
    while runs < wanted:
        runs += specification.block_from(runs)
    return runs
