"""Who plays which block when: jobs are split into blocks, workers play them, outcomes are merged.

Any `concurrent.futures.Executor` will do; only `submit` and the completion of futures are used.
Blocks of the next job start while the last ones of the previous job are still being played, and
finished blocks go to the store as they arrive. Merging is always in order.
"""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ._types import Floats
from ._waiting import NAP, Interrupts, outcome_of
from .importance import HARMLESS, PILOT_RUNS, Pilot, first_mixture, improved, obstacle
from .problems import Problem
from .results import Estimate, Moments, SimulationResult, result_of
from .specification import Block, Spans, Specification, Stopped, remotely, run_blocks, run_pilot
from .store import Store

FEWEST_RUNS = 1000  # before a precision counts as reached: an early error bar is too uncertain
_PILOT_BLOCK = 16  # runs of a pilot in a task
_IN_FLIGHT = 64  # tasks at a time for an executor of unknown size
_TASK = 0.5  # seconds of work in a task for an executor: handing one over costs milliseconds


class Here(Executor):
    """An executor whose workers are threads of this process.

    It is given what to play as it is, not packed, and last of all a flag that tells it to stop.
    """


@dataclass
class Job:
    """What is to be played, and its progress."""

    specification: Specification
    runs: int  # wanted; with a precision, the maximum
    precision: float | None = None  # finish when two standard errors are this share of the mean
    merged: Moments | None = None  # the outcome so far
    seconds: float = 0.0  # total time of the blocks so far
    control_variates: bool = True  # whether means are corrected for luck

    @property
    def means(self) -> tuple[Floats, Floats]:
        """The mean regret at each checkpoint, its error allowing for failures that were not seen.

        That of a result does so only if the mean is corrected, where it is never larger than here.
        """
        assert self.merged is not None
        curve = self.merged.curve(0.0, self.control_variates)
        unseen = self.specification.description.unseen(self.merged.runs)
        return curve.regret, np.hypot(curve.stderr, unseen)

    @property
    def mean(self) -> Estimate:
        """The last of these: at the horizon."""
        values, errors = self.means
        return Estimate(float(values[-1]), float(errors[-1]))

    @property
    def finished(self) -> bool:
        """Whether all runs are done, or enough of them for the precision."""
        if self.merged is None:
            return False
        if self.merged.runs >= self.runs:
            return True
        if self.precision is None or self.merged.runs < FEWEST_RUNS:
            return False
        return self.half_width <= self.precision * self.mean.value

    @property
    def half_width(self) -> float:
        """Two standard errors of the mean regret at the horizon, unseen failures included."""
        return math.inf if self.merged is None or self.merged.runs < 2 else 2.0 * self.mean.stderr

    @property
    def seconds_per_run(self) -> float:
        """Estimated time of a run on one worker; infinite before the first block."""
        return math.inf if self.merged is None else self.seconds / self.merged.runs

    def take(self, block: Block) -> None:
        """Merge the next block."""
        moments = block.moments
        self.merged = moments if self.merged is None else self.merged.merged(moments)
        self.seconds += block.seconds

    @property
    def result(self) -> SimulationResult | None:
        """The result so far, or None if no block is finished."""
        if self.merged is None:
            return None
        played = self.specification.description
        return result_of(played, self.merged, self.seconds, self.control_variates)

    def runs_needed(self) -> tuple[float, float]:
        """Return a range for the number of runs that the precision will take.

        The error bar shrinks with the square root of the runs (and what was not seen, with their
        number), but is itself an estimate. A long tail (high kurtosis) makes it a poor one, and the
        range wide.
        """
        assert self.merged is not None
        assert self.precision is not None
        runs, (mean, error) = self.merged.runs, self.mean
        if runs < FEWEST_RUNS or not mean > 0.0:
            return float(min(FEWEST_RUNS, self.runs)), float(self.runs)
        goal = 0.5 * self.precision * mean
        not_seen = self.specification.unseen(runs)
        seen, unseen = (error**2 - not_seen**2) / goal**2, (not_seen / goal) ** 2
        guess = runs * 0.5 * (seen + math.sqrt(seen**2 + 4.0 * unseen))
        # relative errors of the variance (from the fourth moment) and of the squared mean
        doubt = math.sqrt((self.merged.kurtosis - 1.0) / runs + (self.half_width / mean) ** 2)
        low, high = guess / (1.0 + 2.0 * doubt), guess * (1.0 + 2.0 * doubt)
        return min(max(low, runs), self.runs), min(max(high, runs), self.runs)


Watch = Callable[[Job, Block, bool], None]


class Played(Protocol):
    """What workers are sent: a specification, or something made of several."""

    @property
    def package(self) -> bytes:
        """It, packed for another process."""


@dataclass
class _Batch:
    """Consecutive blocks of a job: being played, or finished."""

    job: Job
    future: Future[list[Block]] | None
    blocks: list[Block] | None

    def cancel(self) -> None:
        if self.future is not None:
            self.future.cancel()


def run_jobs(
    jobs: Iterable[Job],
    *,
    threads: int,
    executor: Executor | None = None,
    in_flight: int | None = None,
    store: Store | None = None,
    watch: Watch | None = None,
    interrupts: Interrupts | None = None,
) -> Iterator[Job]:
    """Play jobs, taken as workers become free, and yield each when it is finished, in order.

    An executor, if there is one, plays the blocks instead of threads, and has at most `in_flight`
    tasks, of one or more blocks, at a time. A store is where finished blocks are looked up and
    kept. `watch` is called with the job, each block once merged, and whether it was played now.
    """
    interrupts = Interrupts() if interrupts is None else interrupts
    capacity = 4 * threads if executor is None else in_flight or _IN_FLIGHT
    coming = _batches(jobs, store, 0.0 if executor is None else _TASK)
    line: deque[_Batch] = deque()
    with workers_for(threads, executor, interrupts, store is not None) as submit:
        try:
            while True:
                while len(line) < capacity and (due := next(coming, None)) is not None:
                    job, spans, known = due
                    future = None if known else submit(run_blocks, job.specification, spans)
                    line.append(_Batch(job, future, [known] if known else None))
                interrupts.check()
                if not line:
                    if store is not None:
                        store.flush()
                    return
                head = line[0]
                if head.blocks is None:
                    _collect(line, store)
                    continue
                line.popleft()
                for block in head.blocks:
                    if not head.job.finished:
                        head.job.take(block)
                        if watch is not None:
                            watch(head.job, block, head.future is not None)
                if head.job.finished:
                    # blocks that were queued in case the job was not yet precise enough
                    while line and line[0].job is head.job:
                        line.popleft().cancel()
                    yield head.job
        finally:
            for batch in line:
                batch.cancel()


@contextmanager
def workers_for(
    threads: int, executor: Executor | None, interrupts: Interrupts, stored: bool
) -> Iterator[Callable[..., Future[Any]]]:
    """Give a function that submits ``task(played, *arguments)`` to threads or an executor.

    Threads stop when the context ends or on Ctrl-C. Errors point to a store if there is one.
    """
    ours = futures.ThreadPoolExecutor(threads) if executor is None else None
    stop = interrupts.new_flag()

    def submit(task: Callable[..., Any], played: Played, *arguments: Any) -> Future[Any]:
        if ours is not None:
            return ours.submit(task, played, *arguments, stop)
        assert executor is not None
        if isinstance(executor, Here):
            return executor.submit(task, played, *arguments, stop)
        return executor.submit(remotely, task, played.package, *arguments)

    try:
        yield submit
    except Stopped:
        raise KeyboardInterrupt from None
    except (futures.BrokenExecutor, futures.CancelledError) as error:
        again = "again to resume from the store." if stored else "again."
        raise RuntimeError(
            f"lost all workers ({type(error).__name__}: {error}); restart them and run {again}"
        ) from error
    finally:
        stop[0] = True
        if ours is not None:
            ours.shutdown(wait=False, cancel_futures=True)


def tilt(
    specification: Specification,
    threads: int,
    executor: Executor | None = None,
    *,
    always: bool = False,
    stored: bool = False,
    interrupts: Interrupts | None = None,
) -> Specification:
    """Return the specification with the mixture that a pilot finds, or as it is if that does harm.

    With `always`, a mixture is used even if it does harm; if there is none, a warning says why.
    Errors point to a store if what is played is `stored`. For `interrupts` see `run_jobs`.
    """
    problem = specification.problem
    reason = obstacle(problem, specification.horizon)
    if reason is None:
        assert isinstance(problem, Problem)
        interrupts = Interrupts() if interrupts is None else interrupts
        first = first_mixture(problem, specification.horizon)
        trial = specification.drawn_from(first)
        tasks: list[Future[Pilot]] = []
        with workers_for(threads, executor, interrupts, stored) as submit:
            try:
                for start in range(0, PILOT_RUNS, _PILOT_BLOCK):
                    tasks.append(submit(run_pilot, trial, start, _PILOT_BLOCK))
                parts = [outcome_of(task, interrupts) for task in tasks]
            finally:
                for task in tasks:
                    task.cancel()
        pilot = Pilot(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        mixture, gain = improved(first, problem, pilot)
        if mixture.arm >= 0 and (always or gain >= HARMLESS):
            return specification.drawn_from(mixture)
        reason = "the pilot found no variation, or that it would do harm"
    if always:
        warnings.warn(
            f"{specification.policy.label} is sampled without tilting: {reason}.", stacklevel=4
        )
    return specification


def _batches(
    jobs: Iterable[Job], store: Store | None, seconds: float
) -> Iterator[tuple[Job, Spans, Block | None]]:
    """Yield a job with blocks to play for about `seconds`, or with a block from the store."""
    for job in jobs:
        spans: Spans = []
        first, cost = 0, 0.0
        while first < job.runs and not job.finished:
            runs = min(job.specification.block_from(first), job.runs - first)
            known = None if store is None else store.get(job.specification, first, runs)
            if known is None:
                spans.append((first, runs))
                cost += runs * job.seconds_per_run
            # with a precision a job may finish at any time, so its tasks stay small
            small = job.precision is not None and sum(n for _, n in spans) >= first // 8
            if spans and (known is not None or cost >= seconds or small):
                yield job, spans, None
                spans, cost = [], 0.0
            if known is not None:
                yield job, [], known
            first += runs
        if spans:
            yield job, spans, None


def _collect(line: deque[_Batch], store: Store | None) -> None:
    """Wait until something is done, and store what is finished."""
    playing = [batch.future for batch in line if batch.future is not None and batch.blocks is None]
    futures.wait(playing, NAP, futures.FIRST_COMPLETED)
    for batch in line:
        if batch.blocks is None and batch.future is not None and batch.future.done():
            batch.blocks = batch.future.result()
            for block in batch.blocks:
                if store is not None:
                    store.add(batch.job.specification, block)
    if store is not None:
        store.flush_when_due()
