"""`sweep`: make a cloud of runs for each curve, have it played, report.

Parts of clouds are played by threads or an executor, and added up in order; a `Store` may keep
them. A seed gives the same curves, to the last bit, for any number of workers.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._keywords import hinted
from .._text import shown, to_count, to_float
from .._types import Floats
from .._version import __version__
from .._waiting import Interrupts, interruptible
from ..policies import Policy, PolicyFamily
from ..pooling import COLUMNS
from ..priors import AnyProblem
from ..progress import Compiling
from ..random import to_seed
from ..simulation import specify, to_workers
from ..specification import Specification
from ..store import Store
from .axes import Axis, Line, axis_of
from .cloud import Cloud
from .estimates import BATCHES, curve_of, left_out
from .horizons import may_use_horizon
from .meter import SweepMeter
from .play import Part, Team
from .result import SweepCurve, SweepResult

DEFAULT_RUNS = 1024
FEWEST_RUNS = 256
_FIRST_ROUND = 1024  # runs before a precision counts as reached: handing parts over takes time
MOST_RUNS = 2**20  # the ceiling if a precision is given but no number of runs
_FEWEST_BATCHES = 16  # that have runs, for an error bar of a curve that was interrupted


class SweepInterrupted(KeyboardInterrupt):
    """Ctrl-C during `sweep`; `result` holds the curves that have runs, or None.

    Parameters
    ----------
    result : SweepResult or None
        Curves from the finished runs, which may be fewer than were asked for; None if there are
        none. It becomes an attribute.

    Examples
    --------
    >>> import ocucb
    >>> try:
    ...     result = ocucb.sweep("ucb", ocucb.gap(), [50, 100], runs=256, rng=1)
    ... except ocucb.SweepInterrupted as stopped:  # Ctrl-C
    ...     result = stopped.result
    """

    def __init__(self, result: SweepResult | None) -> None:
        super().__init__("sweep interrupted")
        self.result = result


@hinted
def sweep(
    policies: Policy | PolicyFamily | str | Iterable[Policy | PolicyFamily | str],
    problems: AnyProblem | Sequence[AnyProblem] | Mapping[float, AnyProblem],
    horizon: int | Sequence[int],
    *,
    over: str | None = None,
    runs: int | None = None,
    precision: float | None = None,
    rng: Any = None,
    workers: int | None = None,
    executor: Executor | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> SweepResult:
    """Measure the regret of policies along an axis: one curve each.

    Exactly one thing varies: the problem, the horizon, or a parameter of the policies. Where the
    problems differ in their means alone, and rewards are Gaussian or Bernoulli, every run counts
    for its neighbours too, weighted by its likelihood there: curves are smooth, and take far fewer
    runs. A policy that ignores the horizon plays once for all horizons.

    Parameters
    ----------
    policies : policy, name of a policy, or a list of these
        The policies to play: one curve each. With `over`, those that differ only in this parameter
        make one curve.
    problems : Problem, Prior, list or dictionary of these
        The problem to play, or those along the axis: ``[gap(2, d) for d in gaps]``. A dictionary
        has the values of the axis as keys; otherwise they are those of the parameter, or of the
        mean, that varies.
    horizon : int or list of int
        Rounds in a run; a list is the axis.
    over : str, optional
        The parameter of the policies that varies: ``"alpha"``.
    runs : int, optional
        Runs at each point, at least 256: 1024 by default, rounded up to a multiple of 32. With
        `precision`, the maximum: 1,048,576 by default.
    precision : float, optional
        Continue until two standard errors are at most this share of the curve's largest mean
        regret, at every point: 0.01 for one percent of the height of the figure.
    rng : int, numpy Generator or None
        Seed; None takes a new one, which the result reports.
    workers : int, optional
        Threads; all cores by default. With an executor, its number of workers.
    executor : concurrent.futures.Executor, optional
        Plays the runs instead of threads.
    store : path or Store, optional
        An SQLite file for finished parts. The same sweep resumes where it stopped, and one with
        more runs continues; `ocucb results` does not show them. Requires a seed, `rng`.
    progress : bool, optional
        Show a progress bar on standard error; by default if that is a terminal.

    Returns
    -------
    SweepResult
        One curve per policy, with `table`, `plot`, `to_csv` and `save`, and with the errors of
        maxima, ratios and crossings.

    Raises
    ------
    SweepInterrupted
        On Ctrl-C; it is a KeyboardInterrupt with the curves so far in its `result`.

    Examples
    --------
    >>> import ocucb
    >>> gaps = [0.2, 0.3, 0.4, 0.5, 0.6]
    >>> result = ocucb.sweep(["ocucb", "ucb"], [ocucb.gap(2, d) for d in gaps], 1000, rng=1)
    >>> result.axis, bool((result["ocucb"].regret < result["ucb"].regret).all())
    ('gap', True)
    """
    axis = axis_of(policies, problems, horizon, over)
    share = None if precision is None else to_float(precision, "precision", "between 0 and 1")
    if share is not None and not 0.0 < share < 1.0:
        raise ValueError(f"precision must lie between 0 and 1, got {shown(precision)}.")
    if runs is None:
        runs = DEFAULT_RUNS if share is None else MOST_RUNS
    wanted = -(-to_count(runs, "runs", FEWEST_RUNS) // BATCHES) * BATCHES
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {shown(executor)}.")
    threads = to_workers(workers)
    if not isinstance(store, Store | str | os.PathLike | None):
        raise TypeError(f"store must be a path or a Store, got {shown(store)}.")
    if store is not None and rng is None:
        raise ValueError("a store needs a seed to resume from: pass rng=, for example rng=1.")
    seed = to_seed(rng)
    jobs: list[_Job] = []
    with ExitStack() as open_now:
        lines = [_sources(axis, line, seed) for line in axis.lines]
        if store is not None:
            for source in (source for sources in lines for source in sources):
                source.check_identity()
        try:
            _prepare((source for sources in lines for source in sources), progress)
            keeper = store
            if keeper is not None and not isinstance(keeper, Store):
                keeper = open_now.enter_context(Store(keeper))
            meter = open_now.enter_context(SweepMeter(progress))
            with Interrupts() as interrupts:
                team = Team(threads, executor, keeper, interrupts)
                clouds = [team.cloud(sources, axis.kind == "problem") for sources in lines]
                jobs = [_Job(cloud, wanted, share) for cloud in clouds]
                _prepare(clouds, progress)
                _play(team, jobs, meter)
        except KeyboardInterrupt:
            raise SweepInterrupted(_result(axis, jobs, seed)) from None
    result = _result(axis, jobs, seed)
    assert result is not None
    return result


def _result(axis: Axis, jobs: list[_Job], seed: int) -> SweepResult | None:
    """Return the curves that enough batches tell about; None if there is no such curve."""
    curves = [
        _curve(axis, line, job)
        for line, job in zip(axis.lines, jobs, strict=False)
        if (job.batches[:, :, 0] > 0.0).any(axis=1).sum() >= _FEWEST_BATCHES
    ]
    if not curves:
        return None
    return SweepResult(curves, axis.name, _shared_name(axis), seed, __version__)


def _prepare(things: Iterable[Specification | Cloud], progress: bool | None) -> None:
    """Compile everything, so that errors surface before play."""

    def prepare(note: Compiling) -> None:
        for thing in things:
            policy = thing.policy if isinstance(thing, Specification) else thing
            note.begin(policy.label)
            thing.prepare()

    with Compiling(progress) as note:
        interruptible(lambda: prepare(note))


def _shared_name(axis: Axis) -> str:
    names = [problem.name for problem in axis.problems]
    return names[0] if len(set(names)) == 1 else f"{names[0]} to {names[-1]}"


def _sources(axis: Axis, line: Line, seed: int) -> list[Specification]:
    """Return what is played for a curve: plain, before pilots choose mixtures."""
    for policy, problem in zip(line.players, axis.problems, strict=True):
        if policy.family.binary and not problem.rewards.binary:
            raise ValueError(
                f"{policy.label} is for rewards of 0 and 1, but these are {problem.rewards.name}."
            )
    if axis.kind == "horizon":
        policy, problem = line.players[0], axis.problems[0]
        if not may_use_horizon(policy):
            rounds = np.array(axis.horizons)
            return [specify(policy, problem, axis.horizons[-1], rounds, seed, "auto")]
    return [
        specify(policy, problem, horizon, np.array([horizon]), seed, "auto")
        for policy, problem, horizon in zip(line.players, axis.problems, axis.horizons, strict=True)
    ]


@dataclass
class _Job:
    """A cloud to be played, and its progress."""

    cloud: Cloud
    runs: int  # per point; with a precision, the maximum
    precision: float | None
    batches: Floats = field(init=False)
    done: int = 0  # runs per point so far
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.batches = np.zeros((BATCHES, self.cloud.points, COLUMNS))

    def rounds(self) -> Iterator[tuple[int, int]]:
        """Yield the first run and the number of runs of each round: half of all before it.

        A sweep with more runs has the same rounds, apart from the last.
        """
        first = 0
        while first < self.runs:
            size = max(_FIRST_ROUND, -(-first // (2 * BATCHES)) * BATCHES)
            yield first, min(size, self.runs - first)
            first += size

    def parts(self, first: int, size: int) -> Iterator[_Part]:
        """Yield the parts of a round, one for each batch."""
        runs = size // BATCHES
        for batch in range(BATCHES):
            yield _Part(self.cloud, first + batch * runs, runs, self, batch)

    @property
    def width(self) -> float:
        """Two standard errors, where they are largest, as a share of the largest mean regret."""
        values, errors = curve_of(self.batches.sum(axis=0))
        errors = np.hypot(errors, self.cloud.unseen(self.done))
        largest = float(values.max())
        return 2.0 * float(errors.max()) / largest if largest > 0.0 else 0.0


@dataclass(frozen=True)
class _Part(Part):
    """A part of a job, which belongs to a batch."""

    job: _Job
    batch: int


def _play(team: Team, jobs: list[_Job], meter: SweepMeter) -> None:
    """Play all jobs; with a precision, one round after the other until it is reached."""

    def add(parts: Iterable[_Part]) -> None:
        for part, sums, seconds, played in team.played(parts):
            job = part.job
            job.batches[part.batch] += sums
            job.seconds += seconds
            job.done += part.runs
            meter.advance(job.cloud, job.runs, part.runs, played)

    plain = [job for job in jobs if job.precision is None]
    add(part for job in plain for span in job.rounds() for part in job.parts(*span))
    for job in jobs:
        if job.precision is not None:
            for first, size in job.rounds():
                add(job.parts(first, size))
                if job.width <= job.precision:
                    break
            _warn_if_short(job)


def _warn_if_short(job: _Job) -> None:
    if job.precision is not None and job.width > job.precision:
        warnings.warn(
            f"{job.cloud.label}: {job.done:,} runs at each point give the curve to "
            f"{100 * job.width:.2g}% of its height, not to {100 * job.precision:.2g}%; allow more "
            "runs.",
            stacklevel=5,
        )


def _curve(axis: Axis, line: Line, job: _Job) -> SweepCurve:
    values, errors = curve_of(job.batches.sum(axis=0))
    pool = job.cloud.pool
    return SweepCurve(
        policy=line.policy,
        label=line.label,
        axis=axis.name,
        values=axis.values,
        regret=values,
        stderr=errors,
        left_out=left_out(job.batches),
        runs=job.done,
        pooled=pool is not None,
        seconds=job.seconds,
    )
