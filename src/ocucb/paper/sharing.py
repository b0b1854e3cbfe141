"""Lines whose points share runs, which takes far fewer of them: the means come from here.

Along the gap, a run counts for neighbouring gaps as well (`pooling`), and along the horizon, a
policy that ignores it plays all horizons at once. In exp10, runs share their beginnings with mirror
images of themselves (`exchange`). Each point has first runs of its own, which tell its deviation
and its quantiles, and what its precision means if that is the paper's.

Points that are not yet as precise as they should be go on without the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from .._text import duration
from .._types import Counts, Floats
from .._waiting import Interrupts, interruptible
from ..importance import PLAIN, Mixture
from ..pooling import COLUMNS
from ..reports.measure import RunContext
from ..reports.measure import measure as measure_all
from ..scheduler import Job, tilt
from ..specification import Specification
from ..sweeps.cloud import Cloud
from ..sweeps.estimates import curve_of
from ..sweeps.play import Part, Team
from .exchange import Exchange
from .measure import MIRRORED, MOST_RUNS, POOLED, RESERVE, SHARED, Point, Task, more_runs
from .panels import BY_GAP, BY_HORIZON

_STEP = 32  # numbers of runs are multiples of it, and parts have at least as many
_PARTS = 32  # parts that a line's runs are split into, at most
_FEWEST_MIRRORED = 128  # runs from which an error bar is believed


def with_shared_runs(
    tasks: Sequence[Task],
    points: Sequence[Point],
    context: RunContext,
    say: Callable[[str], None] = lambda text: None,
) -> list[Point]:
    """Return the points of tasks, those that share runs with the means that these tell."""
    sharing = {(task.panel.name, task.line.label, task.x): task for task in tasks if task.shares}
    lines: dict[tuple[str, str], list[int]] = {}
    for place, point in enumerate(points):
        if (point.panel, point.line, point.x) in sharing:
            lines.setdefault((point.panel, point.line), []).append(place)
    every = [
        _Line(
            places,
            [points[i] for i in places],
            [sharing[points[i].panel, points[i].line, points[i].x] for i in places],
        )
        for places in lines.values()
    ]
    found = list(points)
    for line, its_points in (
        *_at_all_horizons([line for line in every if line.way == BY_HORIZON], context, say),
        *_in_clouds([line for line in every if line.way != BY_HORIZON], context, say),
    ):
        for place, point in zip(line.places, its_points, strict=True):
            found[place] = point
    return found


@dataclass(frozen=True)
class _Line:
    """The points of a line with their tasks, and where they stand among all."""

    places: list[int]
    points: list[Point]
    tasks: list[Task]

    @property
    def way(self) -> str:
        return self.tasks[0].panel.sharing

    @property
    def label(self) -> str:
        return self.tasks[0].label

    @property
    def goals(self) -> Floats:
        """The standard errors wanted."""
        pairs = zip(self.tasks, self.points, strict=True)
        return np.array([task.goal(point) for task, point in pairs])

    def sources(self) -> list[Specification]:
        """Return what is played at each point, plain."""
        return [replace(task, mixture=PLAIN).specification() for task in self.tasks]

    def with_means(
        self, means: tuple[Floats, Floats], runs: Counts, seconds: Floats, sampling: str,
        weights: Floats,
    ) -> list[Point]:  # fmt: skip
        """Return the points with other means and errors, from so many runs each."""
        values, errors = means
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = (np.array([point.deviation for point in self.points]) / errors) ** 2
        return [
            replace(
                point,
                mean=float(values[i]),
                stderr=float(errors[i]),
                runs=int(runs[i]),
                effective_runs=float(worth[i]),
                mean_weight=float(weights[i]),
                sampling=sampling,
                seconds=point.seconds + float(seconds[i]),
            )
            for i, point in enumerate(self.points)
        ]


def excess(errors: Floats, goals: Floats) -> Floats:
    """Return how many times too large errors are; 0 where there is no error.

    Examples
    --------
    >>> excess(np.array([2.0, 0.0]), np.array([1.0, 0.0])).tolist()
    [2.0, 0.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(errors > 0.0, errors / goals, 0.0)


# --- all horizons at once -----------------------------------------------------------------------


@dataclass(frozen=True)
class _HorizonsTask:
    """The runs of a policy that ignores the horizon, measured at all horizons of its line."""

    line: _Line
    runs: int
    mixture: Mixture = PLAIN

    @property
    def label(self) -> str:
        """The panel and the line, for people."""
        return self.line.label

    @property
    def group(self) -> str:
        """Nothing takes a similar time."""
        return self.label

    def specification(self) -> Specification:
        """Return what to play."""
        longest = self.line.sources()[-1]
        rounds = np.array([int(task.x) for task in self.line.tasks])
        return replace(longest, checkpoints=rounds, mixture=self.mixture)

    def more(self, found: list[Point]) -> _HorizonsTask | None:
        """Return the task with more runs if a standard error is above its goal, else None."""
        errors = np.array([point.stderr for point in found])
        worst = float(excess(errors, self.line.goals).max())
        runs = more_runs(self.specification(), self.runs, worst)
        return None if runs is None else replace(self, runs=runs)


def _at_all_horizons(
    lines: list[_Line], context: RunContext, say: Callable[[str], None]
) -> Iterator[tuple[_Line, list[Point]]]:
    tasks = []
    for line in lines:
        task = _HorizonsTask(line, line.tasks[0].runs)
        if line.tasks[0].panel.tilted:
            specification = task.specification()
            context.display.say(f"preparing {task.label}")
            interruptible(specification.prepare)
            drawn = tilt(
                specification, context.threads, context.executor, interrupts=context.interrupts
            )
            task = replace(task, mixture=drawn.mixture)
        tasks.append(task)
    found = measure_all(tasks, context, _all_horizons, say, "lines")
    yield from zip(lines, found, strict=True)


def _all_horizons(task: _HorizonsTask, job: Job) -> list[Point]:
    assert job.merged is not None
    size = len(task.line.points)
    runs, seconds = np.full(size, job.merged.runs), np.full(size, job.seconds / size)
    weights = np.full(size, job.merged.weight.value)
    return task.line.with_means(job.means, runs, seconds, SHARED, weights)


# --- clouds of runs -----------------------------------------------------------------------------


@dataclass
class _Curve:
    """A cloud that is played until all its points are precise enough, and what is added up."""

    cloud: Cloud | Exchange
    label: str
    goals: Floats
    fewest: int  # first runs of each point
    a_run: Floats  # estimated seconds of a run at each point
    sums: Floats = field(init=False)
    done: Counts = field(init=False)  # runs of each point
    seconds: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.sums = np.zeros((self.cloud.points, COLUMNS))
        self.done = np.zeros(self.cloud.points, dtype=np.int64)
        self.seconds = np.zeros(self.cloud.points)

    def means(self) -> tuple[Floats, Floats]:
        """Return mean regrets and their errors, which allow for failures that were not seen."""
        values, errors = curve_of(self.sums)
        unseen = np.zeros(errors.size)
        for runs in np.unique(self.done).tolist():
            unseen = np.where(self.done == runs, self.cloud.unseen(runs), unseen)
        return values, np.hypot(errors, unseen)

    def due(self) -> list[_Piece]:
        """Return what is to be played next: parts of the runs of points that need more.

        They all get as many, between half as many as they have and as many again, so that few get
        more than they need.
        """
        if not self.done.any():
            return self._pieces(np.arange(self.cloud.points), 0, self.fewest)
        over = excess(self.means()[1], self.goals)
        late = np.flatnonzero((over > 1.0) & (self.done < MOST_RUNS))
        if not late.size:
            return []
        first = int(self.done[late[0]])
        needed = float(np.median(first * (RESERVE * over[late] ** 2 - 1.0)))
        return self._pieces(late, first, min(max(needed, 0.5 * first), float(first)))

    def _pieces(self, rows: Counts, first: int, runs: float) -> list[_Piece]:
        steps = math.ceil(runs / _STEP)
        parts = min(steps, _PARTS)
        ends = [first + _STEP * (steps * i // parts) for i in range(parts + 1)]
        cloud = self.cloud if rows.size == self.cloud.points else self.cloud.only(rows)
        cloud.chart()  # before threads do, each for itself
        return [_Piece(cloud, a, b - a, self, rows) for a, b in pairwise(ends)]

    def add(self, piece: _Piece, sums: Floats, seconds: float) -> None:
        """Add up what came out of a piece."""
        self.sums[piece.rows] += sums
        self.done[piece.rows] += piece.runs
        self.seconds[piece.rows] += seconds / piece.rows.size


@dataclass(frozen=True)
class _Piece(Part):
    """Runs at some points of a curve."""

    curve: _Curve
    rows: Counts

    @property
    def a_run(self) -> float:
        """Estimated seconds of a run at each of the points."""
        return float(self.curve.a_run[self.rows].sum())


def _in_clouds(
    lines: list[_Line], context: RunContext, say: Callable[[str], None]
) -> Iterator[tuple[_Line, list[Point]]]:
    """Yield lines with the points that clouds tell: one for each line, or one for each point."""
    interrupts = context.interrupts or Interrupts()
    team = Team(context.threads, context.executor, context.store, interrupts)
    every = []
    for line in lines:
        context.display.say(f"preparing {line.label}")
        every.append(_curves(line, team))
    _play([curve for curves in every for curve in curves], team, context, say)
    for line, curves in zip(lines, every, strict=True):
        parts = [(*curve.means(), curve.done, curve.seconds, curve.sums) for curve in curves]
        values, errors, runs, seconds, sums = map(np.concatenate, zip(*parts, strict=True))
        way = POOLED if line.way == BY_GAP else MIRRORED
        weights = sums[:, 2] / sums[:, 0]
        yield line, line.with_means((values, errors), runs, seconds, way, weights)


def _curves(line: _Line, team: Team) -> list[_Curve]:
    sources, goals = line.sources(), line.goals
    a_run = np.array([task.seconds / task.runs for task in line.points])
    if line.way == BY_GAP:
        cloud = team.cloud(sources, neighbours=True)
        return [_Curve(cloud, line.label, goals, line.tasks[0].runs, a_run)]
    # a run and its mirror image take up to twice as long
    each = zip(sources, goals, a_run, strict=True)
    return [
        _Curve(Exchange(s), line.label, goal[None], _FEWEST_MIRRORED, 2.0 * cost[None])
        for s, goal, cost in each
    ]


def _play(
    curves: list[_Curve], team: Team, context: RunContext, say: Callable[[str], None]
) -> None:
    """Play in rounds, each of which depends only on the outcome of the one before."""
    more = ""
    while pieces := [piece for curve in curves for piece in curve.due()]:
        a_run = [piece.a_run for piece in pieces]
        total = sum(piece.runs * one for piece, one in zip(pieces, a_run, strict=True))
        points = sum(len(rows) for rows in {id(p.rows): p.rows for p in pieces}.values())
        say(
            f"{more}runs that {points:,} points share: about {duration(total / team.threads)} "
            f"with {team.threads} workers."
        )
        more = "more "
        context.display.begin([piece.curve.label for piece in pieces], a_run, total)
        for number, (piece, sums, seconds, played) in enumerate(team.played(pieces)):
            piece.curve.add(piece, sums, seconds)
            context.display.advance(number, piece.runs, piece.cloud.pulls, played)
