"""A cloud: the runs of one policy along an axis, in parts that are pure functions.

Each point of the axis is a source of runs. A part is as many runs of every source, reduced to a row
of sums for each point (see `pooling`). Parts belong to batches, and are merged by adding them in
order, so it does not matter who played them, or when.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._memo import cached_property
from .._types import Counts, Flags, Floats
from ..engine import Outcome
from ..importance import run_weights
from ..pooling import COLUMNS, TERMS, Chart, Pool, Sums, heard
from ..problems import Problem
from ..specification import Specification, packed

_NUMERICS = 1  # increment whenever a seed gives different curves: stores keep the two apart
_ROOM = 2**20  # numbers per array of single runs
_MOST_RUNS = 4096


@dataclass(frozen=True, eq=False)
class Cloud:
    """One policy along an axis, with a source of runs at each point, pooled or not.

    A source whose specification has several checkpoints stands for as many points.
    """

    sources: tuple[Specification, ...]
    pool: Pool | None

    def __reduce__(self) -> tuple[Any, ...]:
        return Cloud, (self.sources, self.pool)

    @property
    def label(self) -> str:
        """Its policy, for people."""
        return self.sources[0].policy.label

    @property
    def points(self) -> int:
        """Number of points on the axis."""
        return sum(source.checkpoints.size for source in self.sources)

    @property
    def pulls(self) -> int:
        """Rounds of one run of each source."""
        return sum(source.horizon for source in self.sources)

    @cached_property
    def identity(self) -> str:
        """A hash of everything that affects the numbers, and of nothing else."""
        windows = None if self.pool is None else self.pool.windows.tolist()
        facts = f"sweep {_NUMERICS}", windows, *(source.identity for source in self.sources)
        return hashlib.sha256("\n".join(map(str, facts)).encode()).hexdigest()

    @cached_property
    def package(self) -> bytes:
        """The cloud, pickled for any process with the same ocucb."""
        for source in self.sources:
            source.check_identity("an executor")
        return packed(self, self.label)

    def unseen(self, runs: int) -> Floats:
        """Return the standard error of each point owing to failures that no run has shown."""
        return np.repeat(
            [source.unseen(runs) for source in self.sources],
            [source.checkpoints.size for source in self.sources],
        )

    def prepare(self) -> None:
        """Compile what is needed, so that errors surface before play."""
        for source in self.sources:
            source.prepare()
        self.play(0, 0)

    def only(self, points: Counts) -> Cloud:
        """Return the cloud of some of the points, each of which has a source of its own."""
        pool = None if self.pool is None else self.pool.only(points)
        return Cloud(tuple(self.sources[i] for i in points), pool)

    def chart(self) -> None:
        """Compute what pooling needs to know, which threads might all do for themselves."""
        if self.pool is not None:
            _ = self._charts

    @cached_property
    def _charts(self) -> list[Chart]:
        assert self.pool is not None
        return [self.pool.chart(source) for source in range(len(self.sources))]

    def play(self, first: int, runs: int, stop: Flags | None = None) -> Floats:
        """Play runs of every source, and return a row of sums for each point.

        Sums of different sources add up: products are those of deviations from a source's mean.
        """
        sums = np.zeros((self.points, COLUMNS))
        point = 0
        for number, source in enumerate(self.sources):
            checkpoints = source.checkpoints.size
            places: Counts = np.arange(point, point + checkpoints)
            if self.pool is not None:
                places = self.pool.targets(number)
            part = Sums(places.size)
            piece = max(1, min(_MOST_RUNS, _ROOM // (source.problem.arms + checkpoints)))
            for start in range(first, first + max(runs, 1), piece):
                count = min(piece, first + runs - start)
                by_arm = isinstance(source.problem, Problem)
                outcome = source.outcome(start, count, stop, by_arm)
                if self.pool is not None:
                    self._add_pooled(part, number, outcome)
                else:
                    part.add(own_terms(source, outcome))
            if runs:
                sums[places] += part.rows()
            point += checkpoints
        return sums

    def _add_pooled(self, part: Sums, number: int, outcome: Outcome) -> None:
        pool = self.pool
        assert pool is not None
        pulls, noise = outcome.pulls.astype(np.float64), outcome.arm_noise
        arm = pool.mixtures[number].arm
        groups = pool.group_of_arms
        at_marks = np.column_stack([outcome.noise, pulls[:, arm]])
        part.add_runs(self._charts[number], added(pulls, groups), added(noise, groups), at_marks)


def added(values: Floats, groups: Any) -> Floats:
    """Return ``values[run, arm]`` added up over groups of arms, in order."""
    sums = np.zeros((len(values), int(groups.max()) + 1))
    for arm, group in enumerate(groups):
        sums[:, group] += values[:, arm]
    return sums


def own_terms(source: Specification, outcome: Outcome) -> Floats:
    """Return ``terms[run, checkpoint, term]`` of runs that say nothing about their neighbours.

    The luck of arms is that of the whole run, whose mean is 0 whatever the checkpoint.
    """
    weights = run_weights(
        source.mixture, source.problem, outcome.noise, outcome.pulls[:, source.mixture.arm]
    )
    terms = np.zeros((*outcome.regret.shape, TERMS))
    terms[:, :, 0] = weights[:, None] * outcome.regret
    terms[:, :, 1] = weights[:, None]
    if isinstance(source.problem, Problem):
        best = source.problem.gaps == 0.0
        for term, arms in ((2, ~best), (3, best)):
            luck = (outcome.arm_noise * (arms & heard(source.problem, source.horizon))).sum(axis=1)
            terms[:, :, term] = (weights * luck)[:, None]
    return terms
