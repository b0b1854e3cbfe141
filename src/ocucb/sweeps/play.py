"""Who plays clouds: pilots that choose mixtures, probes that find neighbours, then part by part.

Parts are played by threads or an executor, in any order, and handed back in the order in which they
were asked for; a store may know them already.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from .._types import Flags, Floats
from .._waiting import Interrupts, outcome_of
from ..importance import Mixture, first_mixture
from ..importance import obstacle as tilt_obstacle
from ..pooling import COLUMNS, Pool, windows_of
from ..pooling import obstacle as pool_obstacle
from ..problems import Problem
from ..scheduler import tilt, workers_for
from ..specification import Specification
from ..store import Store
from .cloud import Cloud

_GROUP = 8  # neighbouring points that share a pilot, at most
_ALIKE = 1.25  # ratio of their smallest gaps
_PROBES = 16  # runs per point that tell how many pulls arms get
_FAR = 2**40  # the number of the first of these: no other run comes near
_RARE = 4.0 / 1024.0  # components with a smaller share serve deviations and tails, not means


class Playable(Protocol):
    """What is played in parts: a cloud, or what else reduces runs to rows of sums."""

    @property
    def identity(self) -> str:
        """A hash of everything that affects the numbers."""

    @property
    def package(self) -> bytes:
        """It, packed for another process."""

    @property
    def points(self) -> int:
        """How many rows there are."""

    @property
    def pulls(self) -> int:
        """Rounds of one run of each source."""

    def play(self, first: int, runs: int, stop: Flags | None = None) -> Floats:
        """Play runs, and return a row of `COLUMNS` numbers for each point."""


@dataclass(frozen=True)
class Part:
    """Some runs of a cloud: those of each of its sources."""

    cloud: Playable
    first: int
    runs: int


AnyPart = TypeVar("AnyPart", bound=Part)


@dataclass(frozen=True)
class Team:
    """Who plays, and where finished parts are kept."""

    threads: int
    executor: Executor | None
    store: Store | None
    interrupts: Interrupts

    def cloud(self, sources: Sequence[Specification], neighbours: bool) -> Cloud:
        """Return the cloud of a curve, once pilots have chosen how its runs are drawn.

        Runs are pooled where they can be, if the sources are `neighbours`: alike but for problems.
        """
        drawn = tuple(self._drawn(group) for group in _groups(sources))
        tilted = tuple(source for group in drawn for source in group)
        given = [source.problem for source in sources]
        if not neighbours or pool_obstacle(given, sources[0].horizon) is not None:
            return Cloud(tilted, None)
        problems = tuple(problem for problem in given if isinstance(problem, Problem))
        mixtures = tuple(source.mixture for source in tilted)
        with workers_for(
            self.threads, self.executor, self.interrupts, self.store is not None
        ) as submit:
            tasks = [submit(mean_pulls, source, _FAR, _PROBES) for source in sources]
            pulls = np.stack([outcome_of(task, self.interrupts) for task in tasks])
        windows = windows_of(problems, pulls, [mixture.arm for mixture in mixtures])
        return Cloud(tilted, Pool(problems, mixtures, windows))

    def _drawn(self, group: list[Specification]) -> list[Specification]:
        """Return neighbours with the mixture that a pilot in their middle finds."""
        middle = group[len(group) // 2]
        problem, horizon = middle.problem, middle.horizon
        if tilt_obstacle(problem, horizon) is not None:
            return group
        assert isinstance(problem, Problem)
        found = tilt(
            middle,
            self.threads,
            self.executor,
            stored=self.store is not None,
            interrupts=self.interrupts,
        ).mixture
        mixture = marked(problem, horizon) if found.arm < 0 else _without_rare(found)
        return [source.drawn_from(mixture) for source in group]

    def played(self, parts: Iterable[AnyPart]) -> Iterator[tuple[AnyPart, Floats, float, bool]]:
        """Play parts as workers become free, and yield each, in order, with what came out.

        That is its sums, the seconds that it took, and whether it was played now.
        """
        line: deque[tuple[AnyPart, Any]] = deque()
        capacity = 4 * self.threads if self.executor is None else max(64, 4 * self.threads)
        with workers_for(
            self.threads, self.executor, self.interrupts, self.store is not None
        ) as submit:

            def first() -> tuple[AnyPart, Floats, float, bool]:
                part, task = line.popleft()
                if not isinstance(task, Future):
                    return (part, *task, False)
                sums, seconds = outcome_of(task, self.interrupts)
                if self.store is not None:
                    self.store.add_sums(part.cloud.identity, part.first, part.runs, sums, seconds)
                return part, sums, seconds, True

            try:
                for part in parts:
                    known = self._known(part)
                    task = known or submit(play_part, part.cloud, part.first, part.runs)
                    line.append((part, task))
                    while len(line) >= capacity:
                        yield first()
                while line:
                    yield first()
            finally:
                for _, task in line:
                    if isinstance(task, Future):
                        task.cancel()
                if self.store is not None:
                    self.store.flush()

    def _known(self, part: Part) -> tuple[Floats, float] | None:
        if self.store is None:
            return None
        shape = part.cloud.points, COLUMNS
        return self.store.get_sums(part.cloud.identity, part.first, part.runs, shape)


def _groups(sources: Sequence[Specification]) -> list[list[Specification]]:
    """Split sources into neighbours that are so alike that one pilot will do."""
    groups: list[list[Specification]] = []
    for source in sources:
        first = groups[-1][0] if groups else None
        if first is None or len(groups[-1]) == _GROUP or not _alike(first, source):
            groups.append([])
        groups[-1].append(source)
    return groups


def _alike(one: Specification, other: Specification) -> bool:
    """Tell whether a mixture for the one suits the other: same arm, marks, and nearly the gap."""
    a, b = one.problem, other.problem
    for each in (one, other):
        if tilt_obstacle(each.problem, each.horizon) is not None:
            return False
    assert isinstance(a, Problem)
    assert isinstance(b, Problem)
    best = a.best_arm
    if a.rewards is not b.rewards or best != b.best_arm or a.means[best] != b.means[best]:
        return False
    marks = first_mixture(a, one.horizon).marks, first_mixture(b, other.horizon).marks
    small, large = sorted(float(p.gaps[p.gaps > 0.0].min()) for p in (a, b))
    return a.scales[best] == b.scales[best] and np.array_equal(*marks) and large <= _ALIKE * small


def marked(problem: Problem, horizon: int) -> Mixture:
    """Return the mixture of plain runs alone, whose noise at marks tells how likely others are."""
    first = first_mixture(problem, horizon)
    shares = np.zeros(first.shares.size)
    shares[0] = 1.0
    return first._replace(shares=shares)


def _without_rare(mixture: Mixture) -> Mixture:
    """Drop components that are only there for deviations and tails: their densities take time."""
    shares = np.where(mixture.shares < _RARE, 0.0, mixture.shares)
    shares[0] = 1.0 - shares[1:].sum()
    return mixture._replace(shares=shares)


def mean_pulls(source: Specification, first: int, runs: int, stop: Flags | None = None) -> Floats:
    """Return the mean pulls of each arm: what workers run to find neighbours."""
    means: Floats = source.outcome(first, runs, stop).pulls.mean(axis=0)
    return means


def play_part(
    cloud: Playable, first: int, runs: int, stop: Flags | None = None
) -> tuple[Floats, float]:
    """Play a part of a cloud, and return its sums and the seconds it took: what workers run."""
    began = time.perf_counter()
    return cloud.play(first, runs, stop), time.perf_counter() - began
