"""Two policies side by side, on the problems that both have played.

What is paired are the problems; runs are independent, so their errors add up. A difference counts
only if it exceeds the largest one that chance produces between any two of all that played.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ..reports.estimates import Uncertain, margin
from .problems import KINDS, Contest
from .standings import Player, Standings, jackknife

PAIR_COLUMNS = ("rewards", "policy", "other", "problems", "ratio", "ratio_stderr",
                "ratio_jackknife", "better", "worse", "verdict")  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """One policy's regret relative to another's."""

    one: Player
    other: Player
    problems: int  # how many both played
    ratio: Uncertain  # the geometric mean over these; the error is that of the runs
    spread: float  # the jackknife's standard error over problems; nan for a single one
    # on how many of them the regret is lower, and higher, by more than chance explains
    better: int
    worse: int
    verdict: str  # the same for the mean: "lower", "higher" or "not different"


def pairs_of(standings: Standings, player: Player, contests: Sequence[Contest]) -> list[Pair]:
    """Return a policy beside every other, the one with the lowest regret first."""
    needed = _margin(standings, contests)
    found = [
        pair
        for other in standings.players
        if other != player and (pair := _pair(standings, player, other, contests, needed))
    ]
    return sorted(found, key=lambda pair: -pair.ratio.value)


def pair_rows(standings: Standings) -> Iterator[Sequence[Any]]:
    """Yield the rows of pairs.csv: every two policies once for each kind of reward."""
    for kind in KINDS:
        contests = standings.of_kind(kind)
        needed = _margin(standings, contests)
        for one, other in combinations(standings.players, 2):
            pair = _pair(standings, one, other, contests, needed)
            if pair is not None:
                ratio, facts = pair.ratio, (pair.spread, pair.better, pair.worse, pair.verdict)
                yield (kind, one.name, other.name, pair.problems, ratio.value, ratio.error, *facts)


def _margin(standings: Standings, contests: Sequence[Contest]) -> float:
    """Return how many standard errors count, whoever is compared with whom."""
    playing = [player for player in standings.players if standings.row(player, contests)]
    return margin(max(1, math.comb(len(playing), 2)))


def _pair(
    standings: Standings, one: Player, other: Player, contests: Sequence[Contest], needed: float
) -> Pair | None:
    """Compare two policies; None if no problem was played by both."""
    ratios = []
    for contest in contests:
        mine, theirs = standings.cell(one, contest), standings.cell(other, contest)
        if mine is not None and theirs is not None:
            ratios.append(mine.mean / theirs.mean)
    ratios = [ratio for ratio in ratios if ratio.value > 0.0]  # nan where nobody lost anything
    if not ratios:
        return None
    logs = [ratio.log() for ratio in ratios]
    value = sum(log.value for log in logs) / len(logs)
    mean = Uncertain(value, math.hypot(*(log.error for log in logs)) / len(logs))
    ratio = Uncertain(math.exp(mean.value), math.exp(mean.value) * mean.error)
    signs = [_sign(log, needed) for log in logs]
    verdict = {-1: "lower", 0: "not different", 1: "higher"}[_sign(mean, needed)]
    spread = jackknife(ratios)
    return Pair(one, other, len(logs), ratio, spread, signs.count(-1), signs.count(1), verdict)


def _sign(difference: Uncertain, needed: float) -> int:
    """Return the sign of a difference, 0 if chance explains it."""
    clear = abs(difference.value) > needed * difference.error
    return int(math.copysign(1, difference.value)) if clear else 0
