"""The league's tables: each policy relative to the best on every problem, with errors.

The best of a problem is the policy with the lowest mean regret there. The lowest of many noisy
numbers is a little too low, so ratios are a little too high, by less than the precision.

A mean over contests has two errors: that of the runs, and that of the choice of contests, which
more runs do not reduce.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from ..reports.estimates import Uncertain, geometric_mean
from .measure import RARE, Cell, Key
from .problems import Contest


@dataclass(frozen=True)
class Player:
    """A policy of the league.

    Attributes
    ----------
    name, label : str
    needs_horizon : bool
        Whether it must know the horizon.
    seconds : float
        Processor time of a decision.
    defaults : str
        Where its parameters come from (`entrants.origin`).
    """

    name: str
    label: str
    needs_horizon: bool
    seconds: float = math.nan
    defaults: str = ""


@dataclass(frozen=True)
class Row:
    """One policy over some contests.

    Attributes
    ----------
    player : Player
    played, contests : int
        How many it played, and how many there are.
    worst : Uncertain
        Its largest ratio to the best, and where.
    mean : Uncertain
        The geometric mean of its ratios; the error is that of the runs.
    spread : float
        The jackknife's standard error of that mean, over contests: how much depends on their
        choice. nan for a single one.
    deviation : float
        The geometric mean of its standard deviations, each in units of the best mean regret.
    disaster : Uncertain
        The probability of a disaster, and where, for the instance with the largest bound.
    disaster_bound : float
        That bound: it holds for every instance of every contest.
    disaster_floor : float
        The largest probability of a disaster that is certain, two standard errors below an
        estimate.
    few_runs : int
        How many of its cells have fewer runs than their precision asks for.
    """

    player: Player
    played: int
    contests: int
    worst: Uncertain
    mean: Uncertain
    spread: float
    deviation: float
    disaster: Uncertain
    disaster_bound: float
    disaster_floor: float
    few_runs: int

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

    Parameters
    ----------
    players : list of Player
    contests : list of Contest
    cells : dict of Key to Cell
    """

    def __init__(
        self,
        players: Sequence[Player],
        contests: Sequence[Contest],
        cells: Mapping[Key, Cell],
    ) -> None:
        self.players = players
        self.contests = contests
        self._cells = {
            (player.name, contest.name): found
            for player in players
            for contest in contests
            if (found := _instances(player, contest, cells))
        }
        self.best = {
            contest.name: min((one.mean for one in found), key=lambda mean: mean.value)
            for contest in contests
            if (found := [cell for _, cell in self.of(contest)])
        }

    def cell(self, player: Player, contest: Contest) -> Cell | None:
        """Return what a policy did in a contest, its worst instance; None if it did not play."""
        found = self.cells(player, contest)
        return max(found, key=lambda one: one.mean.value) if found else None

    def cells(self, player: Player, contest: Contest) -> list[Cell]:
        """Return what a policy did in all instances of a contest; none if it did not play."""
        return self._cells.get((player.name, contest.name), [])

    def of(self, contest: Contest) -> list[tuple[Player, Cell]]:
        """Return who played in a contest, the lowest mean regret first."""
        found = [(one, cell) for one in self.players if (cell := self.cell(one, contest))]
        return sorted(found, key=lambda pair: pair[1].mean.value)

    def ratio(self, player: Player, contest: Contest) -> Uncertain | None:
        """Return a policy's mean regret relative to the best in a contest."""
        cell = self.cell(player, contest)
        if cell is None:
            return None
        best = self.best[contest.name]
        if cell.mean == best:
            return Uncertain(1.0, 0.0, contest.title)
        ratio = cell.mean / best
        return Uncertain(ratio.value, ratio.error, contest.title)

    def row(self, player: Player, contests: Iterable[Contest]) -> Row | None:
        """Return a policy's row in a table of some contests; None if it played in none."""
        asked = list(contests)
        played = [one for one in asked if self.cell(player, one) is not None]
        if not played:
            return None
        cells = [cell for one in played if (cell := self.cell(player, one)) is not None]
        ratios = [ratio for one in played if (ratio := self.ratio(player, one)) is not None]
        spreads = [
            cell.deviation.value / self.best[one.name].value
            for one, cell in zip(played, cells, strict=True)
        ]
        positive = [one for one in spreads if one > 0.0]
        everything = [(cell, one) for one in played for cell in self.cells(player, one)]
        worst, where = max(everything, key=lambda pair: pair[0].disaster_bound)
        place = where.describe(worst.problem)
        return Row(
            player=player,
            played=len(played),
            contests=len(asked),
            worst=max(ratios, key=lambda one: one.value),
            mean=geometric_mean(ratios),
            spread=jackknife(ratios),
            deviation=math.exp(sum(map(math.log, positive)) / max(1, len(positive))),
            disaster=Uncertain(worst.disaster.value, worst.disaster.error, place),
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
        rows = [row for one in self.players if (row := self.row(one, asked)) is not None]
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
        value = sum(one.value for one in logs) / len(logs)
        return Uncertain(value, math.hypot(*(one.error for one in logs)) / len(logs))


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
    logs = [math.log(one.value) for one in ratios]
    if len(logs) < 2:
        return math.nan
    return math.exp(fmean(logs)) * stdev(logs) / math.sqrt(len(logs))


def _instances(player: Player, contest: Contest, cells: Mapping[Key, Cell]) -> list[Cell]:
    """Return a policy's cells in a contest; none if it did not play all instances."""
    found = [
        cells.get((player.name, problem.name, horizon)) for problem, horizon in contest.instances
    ]
    whole = [one for one in found if one is not None]
    return whole if len(whole) == len(found) else []
