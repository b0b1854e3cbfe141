"""Numbers that sharpen: all policies of a state are played in rounds, each with more runs.

A round ends where blocks of runs end, so what is known after it is, to the last bit, what
`simulate` gives for so many runs. The curve over the gap is a sweep, then one with more runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from .._waiting import Interrupts
from ..policies import Policy
from ..problems import Problem
from ..results import SimulationResult, joined
from ..scheduler import Job, tilt, workers_for
from ..simulation import DEFAULT_CHECKPOINTS, specify
from ..specification import Block, run_blocks
from ..sweeps import SweepCurve, sweep
from .crew import Lane
from .state import State, gap_problem, gaps_of

FIRST, MOST_RUNS = 256, 65_536
GAP_RUNS = (256, 1024)  # at each point
_AT_ONCE = 16  # blocks that wait in a lane

Say = Callable[[str], None]


@dataclass(frozen=True)
class Limits:
    """When a page's numbers are sharp enough, and how much time they may take."""

    precision: float = 0.005  # two standard errors, as a share of the mean
    seconds: float = 60.0  # of a processor
    longest_run: float = 20.0  # seconds of one run, nominally


@dataclass(frozen=True)
class Round:
    """What is known about a problem after a round; in the first, policies arrive one by one."""

    problem: int
    result: SimulationResult
    whole: bool  # whether all policies are there

    @property
    def runs(self) -> int:
        """Runs of each policy."""
        return self.result[0].runs


def rungs(first: int = FIRST, most: int = MOST_RUNS) -> Iterator[int]:
    """Yield the numbers of runs after which rounds end.

    >>> list(rungs(256, 2048))
    [256, 384, 512, 768, 1024, 1536, 2048]
    """
    while first <= most:
        yield first
        if first >= 64 and 3 * first // 2 <= most:
            yield 3 * first // 2
        first *= 2


def sharpen(state: State, lane: Lane, limits: Limits, say: Say) -> Iterator[Round]:
    """Play a state, and yield what is known after each round; `say` is told what takes long."""
    longest = max(state.costs) / 1e9
    if longest > limits.longest_run:
        raise ValueError(
            f"one of these policies plays every round by itself, so a run takes about "
            f"{longest:.0f} s: choose a smaller horizon, or run the command."
        )
    first, plain = FIRST, state.sampling == "plain"
    if plain:
        first = max(4, min(FIRST, 1 << int(4e9 / max(state.costs)).bit_length()))
    jobs: list[list[Job]] = []
    for number, setting in enumerate(state.settings):
        jobs.append([])
        for player in state.players:
            say(f"compiling {player.label}")
            job = _prepared(state, player, setting.problem)
            say(f"playing the first runs of {player.label}")
            if not plain:
                job.specification = tilt(job.specification, 1, lane)
            _extend([job], first, lane)
            jobs[-1].append(job)
            yield Round(number, _result([job]), whole=False)
    everything = [job for group in jobs for job in group]
    for runs in rungs(first):
        for number, group in enumerate(jobs):
            _extend(group, runs, lane)
            yield Round(number, _result(group), whole=True)
        if all(job.half_width <= limits.precision * job.mean.value for job in everything):
            break
        if lane.seconds > limits.seconds:
            say("stopped here, at the limit of time")
            break


def _prepared(state: State, player: Policy, problem: Problem) -> Job:
    """Return what is to be played, compiled; measured where `simulate` does by default."""
    times = np.round(np.geomspace(1, state.horizon, DEFAULT_CHECKPOINTS)).astype(np.int64)
    specification = specify(player, problem, state.horizon, np.unique(times), state.seed, "auto")
    specification.prepare()
    return Job(specification, MOST_RUNS)


def _result(jobs: list[Job]) -> SimulationResult:
    results = [job.result for job in jobs]
    return joined([result for result in results if result is not None])


def _extend(jobs: list[Job], runs: int, lane: Lane) -> None:
    """Play the next blocks of some policies, up to so many runs of each."""
    waiting: deque[tuple[Job, Future[list[Block]]]] = deque()
    with workers_for(1, lane, Interrupts(), False) as submit:
        for job in jobs:
            if job.merged is not None and not _ends_at(job, job.merged.runs):
                job.merged = None  # the last block was cut short: whole ones give other last bits
            first = 0 if job.merged is None else job.merged.runs
            while first < runs:
                size = min(job.specification.block_from(first), runs - first)
                waiting.append((job, submit(run_blocks, job.specification, [(first, size)])))
                first += size
                if len(waiting) >= _AT_ONCE:
                    _take(*waiting.popleft())
        while waiting:
            _take(*waiting.popleft())


def _ends_at(job: Job, runs: int) -> bool:
    """Tell whether a block ends there, as for slow policies beside fast ones it may not."""
    at = 0
    while at < runs:
        at += job.specification.block_from(at)
    return at == runs


def _take(job: Job, task: Future[list[Block]]) -> None:
    for block in task.result():
        job.take(block)


def sharpen_gaps(
    state: State, number: int, lane: Lane, limits: Limits, say: Say
) -> Iterator[SweepCurve]:
    """Yield the curve of each policy over the gap, then all again with more runs."""
    setting = state.settings[number]
    if len(setting.means) < 2:
        raise ValueError("the curve over the gap needs two arms.")
    problems = {gap: gap_problem(setting, gap) for gap in gaps_of(setting)}
    for runs in GAP_RUNS:
        for player in state.players:
            say(f"sweeping {player.label}, {runs:,} runs at each gap")
            yield sweep(
                player, problems, state.horizon, runs=runs, rng=state.seed, executor=lane,
                workers=4, progress=False,
            )[0]  # fmt: skip
        if lane.seconds > limits.seconds / 4:
            return
