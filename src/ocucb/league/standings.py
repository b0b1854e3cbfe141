"""The league's tables: each policy relative to the best on every problem, with errors.

The best of a problem is the policy with the lowest mean regret there. The lowest of many noisy
numbers is a little too low, so ratios are a little too high, by less than the precision.

A mean over contests has two errors: that of the runs, and that of the choice of contests, which
more runs do not reduce.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from ..reports.estimates import Uncertain, geometric_mean, value_of
from .measure import RARE, Cell, Key
from .problems import Contest


@dataclass(frozen=True)
class Player:
    """A policy of the league."""

    name: str
    label: str
    needs_horizon: bool  # whether it must know the horizon
    seconds: float = math.nan  # processor time of a decision
    defaults: str = ""  # where its parameters come from (`entrants.origin`)
    own: bool = False  # whether somebody has entered it, beside those of this package


@dataclass(frozen=True)
class Row:
    """One policy over some contests."""

    player: Player
    # how many it played, and how many there are
    played: int
    contests: int
    worst: Uncertain  # its largest ratio to the best, and where
    mean: Uncertain  # the geometric mean of its ratios; the error is that of the runs
    # The jackknife's standard error of that mean, over contests: how much depends on their choice.
    # nan for a single one.
    spread: float
    # the geometric mean of its standard deviations, each in units of the best mean regret
    deviation: float
    # averages of the largest deviation of an arm's pulls over the horizon, and of how often the
    # textbook's 95% intervals hold, over the contests where they are known
    instability: float
    coverage: float
    # the probability of a disaster, and where, for the instance with the largest bound
    disaster: Uncertain
    disaster_bound: float  # that bound, which holds for every instance of every contest
    # the largest probability of a disaster that is certain, two standard errors below an estimate
    disaster_floor: float
    few_runs: int  # how many of its cells have fewer runs than their precision asks for

    @property
    def complete(self) -> bool:
        """Whether it played everywhere."""
        return self.played == self.contests

    @property
    def undecided(self) -> bool:
        """Whether it is not known if disasters are rare."""
        return self.disaster_floor <= RARE < self.disaster_bound


class Standings:
    """Cells by policy and contest.

    `general` says whether all policies of this package played all problems of the league, and no
    others: only then does anything follow for situations.
    """

    def __init__(
        self,
        players: Sequence[Player],
        contests: Sequence[Contest],
        cells: Mapping[Key, Cell],
        general: bool = True,
    ) -> None:
        self.general = general
        self.players = players
        self.contests = contests
        self._cells = {
            (player.name, contest.name): found
            for player in players
            for contest in contests
            if (found := _instances(player, contest, cells))
        }
        self.best = {
            contest.name: min((cell.mean for cell in found), key=value_of)
            for contest in contests
            if (found := [cell for _, cell in self.of(contest)])
        }

    def of_kind(self, kind: str) -> list[Contest]:
        """Return the contests with one kind of reward."""
        return [contest for contest in self.contests if contest.kind == kind]

    def cell(self, player: Player, contest: Contest) -> Cell | None:
        """Return what a policy did in a contest, its worst instance; None if it did not play."""
        found = self.cells(player, contest)
        return max(found, key=lambda cell: cell.mean.value) if found else None

    def cells(self, player: Player, contest: Contest) -> list[Cell]:
        """Return what a policy did in all instances of a contest; none if it did not play."""
        return self._cells.get((player.name, contest.name), [])

    def of(self, contest: Contest) -> list[tuple[Player, Cell]]:
        """Return who played in a contest, the lowest mean regret first."""
        found = [(player, cell) for player in self.players if (cell := self.cell(player, contest))]
        return sorted(found, key=lambda pair: pair[1].mean.value)

    def ratio(self, player: Player, contest: Contest) -> Uncertain | None:
        """Return a policy's mean regret relative to the best in a contest."""
        cell = self.cell(player, contest)
        if cell is None:
            return None
        best = self.best[contest.name]
        ratio = Uncertain(1.0, 0.0) if cell.mean == best else cell.mean / best
        return replace(ratio, where=contest.title)

    def row(self, player: Player, contests: Iterable[Contest]) -> Row | None:
        """Return a policy's row in a table of some contests; None if it played in none."""
        asked = list(contests)
        played = [contest for contest in asked if self.cell(player, contest) is not None]
        if not played:
            return None
        cells = [cell for contest in played if (cell := self.cell(player, contest)) is not None]
        ratios = [ratio for contest in played if (ratio := self.ratio(player, contest)) is not None]
        spreads = [
            cell.deviation.value / self.best[contest.name].value
            for contest, cell in zip(played, cells, strict=True)
        ]
        logs = [math.log(spread) for spread in spreads if spread > 0.0]
        everything = [(cell, contest) for contest in played for cell in self.cells(player, contest)]
        worst, where = max(everything, key=lambda pair: pair[0].disaster_bound)
        return Row(
            player=player,
            played=len(played),
            contests=len(asked),
            worst=max(ratios, key=value_of),
            mean=geometric_mean(ratios),
            spread=jackknife(ratios),
            deviation=math.exp(sum(logs) / max(1, len(logs))),
            instability=_average(cell.instability.value for cell in cells),
            coverage=_average(cell.coverage.value for cell in cells),
            disaster=replace(worst.disaster, where=where.describe(worst.problem)),
            disaster_bound=worst.disaster_bound,
            disaster_floor=max(
                cell.disaster.value - 2.0 * cell.disaster.error for cell, _ in everything
            ),
            few_runs=sum(not cell.reached for cell, _ in everything),
        )

    def table(self, contests: Iterable[Contest]) -> list[Row]:
        """Return the rows of all who played in some contests.

        The smallest worst ratio comes first. Those who did not play everywhere come last: what they
        were spared might have been their worst.
        """
        asked = list(contests)
        rows = [row for player in self.players if (row := self.row(player, asked)) is not None]
        return sorted(rows, key=lambda row: (not row.complete, row.worst.value))

    def difference(self, one: Player, other: Player, contests: Iterable[Contest]) -> Uncertain:
        """Return by how much the mean logarithm of regret of `one` exceeds that of `other`."""
        asked = list(contests)
        logs = []
        for contest in asked:
            mine, theirs = self.cell(one, contest), self.cell(other, contest)
            assert mine is not None
            assert theirs is not None
            ratio = mine.mean / theirs.mean
            logs.append(Uncertain(math.log(ratio.value), ratio.error / ratio.value))
        value = sum(log.value for log in logs) / len(logs)
        return Uncertain(value, math.hypot(*(log.error for log in logs)) / len(logs))


def by_mean(rows: Iterable[Row]) -> list[Row]:
    """Return rows, the smallest geometric mean first; who did not play everywhere comes last."""
    return sorted(rows, key=lambda row: (not row.complete, row.mean.value))


def jackknife(ratios: Sequence[Uncertain]) -> float:
    """Return the standard error of a geometric mean, as the jackknife over its parts estimates it.

    For a mean (here, of logarithms) that is the standard deviation divided by the root of the
    number.

    Examples
    --------
    >>> round(jackknife([Uncertain(1.0, 0.0), Uncertain(4.0, 0.4)]), 3)
    1.386
    """
    logs = [math.log(ratio.value) for ratio in ratios]
    if len(logs) < 2:
        return math.nan
    return math.exp(fmean(logs)) * stdev(logs) / math.sqrt(len(logs))


def _average(values: Iterable[float]) -> float:
    """Return the mean of those that are known; nan if none is."""
    known = [value for value in values if math.isfinite(value)]
    return fmean(known) if known else math.nan


def _instances(player: Player, contest: Contest, cells: Mapping[Key, Cell]) -> list[Cell]:
    """Return a policy's cells in a contest; none if it did not play all instances."""
    found = [cells.get((player.name, problem.name, n)) for problem, n in contest.instances]
    whole = [cell for cell in found if cell is not None]
    return whole if len(whole) == len(found) else []
