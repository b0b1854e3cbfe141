"""Which one should I use? Sentences that follow from the league's numbers, and from nothing else.

A policy is named for a situation if its regret, averaged over that situation's problems, is the
lowest. Policies that are not significantly worse are named beside it. Since the lowest was
chosen because it looks best, a difference counts only if it exceeds the largest one that chance
produces between any two of so many policies, at the level of two standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..reports.estimates import margin
from .measure import DISASTER, RARE
from .problems import FEW_ARMS, Contest
from .standings import Player, Row, Standings

_NEAR = 0.01  # difference in mean regret that nobody needs to care about
_NAMED = 4  # policies that are named beside the best


@dataclass(frozen=True)
class Advice:
    """What to use in one situation.

    Attributes
    ----------
    situation : str
    pick : Row
        The policy with the lowest mean regret, and its row over the situation's problems.
    equals : tuple of str
        Labels of those that are not significantly worse.
    """

    situation: str
    pick: Row
    equals: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The advice in words."""
        row = self.pick
        text = (
            f"{self.situation}: {row.player.label} ({row.mean.value:.2f} times the best of each "
            f"problem on average, {row.worst.value:.2f} at worst"
        )
        if self.equals:
            named = list(self.equals[:_NAMED])
            if len(self.equals) > _NAMED:
                named.append(f"{len(self.equals) - _NAMED} more")
            verb = "is" if len(named) == 1 else "are"
            text += f"; {listed(named)} {verb} not significantly worse"
        return f"{text})."


def listed(texts: Sequence[str], last: str = "and") -> str:
    """Join texts as in a sentence.

    Examples
    --------
    >>> listed(["UCB", "MOSS", "OCUCB"])
    'UCB, MOSS and OCUCB'
    """
    return f" {last} ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def choose(
    standings: Standings, situation: str, contests: Sequence[Contest], players: Sequence[Player]
) -> Advice | None:
    """Return what to use among some policies; None if none of them played everywhere."""
    rows = [standings.row(one, contests) for one in players]
    complete = [row for row in rows if row is not None and row.complete]
    if not complete:
        return None
    pick = min(complete, key=lambda row: row.mean.value)
    # of all who played, whoever may be chosen: what two policies differ by is the same everywhere
    everyone = [standings.row(one, contests) for one in standings.players]
    rivals = sum(1 for row in everyone if row is not None and row.complete)
    needed = margin(max(1, math.comb(rivals, 2)))
    equals = []
    for row in sorted(complete, key=lambda row: row.mean.value):
        behind = standings.difference(row.player, pick.player, contests)
        # an error that is not known proves nothing
        clear = behind.value - needed * behind.error > 0.0 and behind.value > _NEAR
        if row.player != pick.player and not clear:
            equals.append(row.player.label)
    return Advice(situation, pick, tuple(equals))


def safe(standings: Standings, contests: Sequence[Contest]) -> list[Player]:
    """Return the policies for which disasters are known to be rare in all of some contests."""
    rows = [standings.row(one, contests) for one in standings.players]
    return [
        row.player
        for row in rows
        if row is not None and row.complete and row.disaster_bound <= RARE
    ]


def advise(standings: Standings) -> list[Advice]:
    """Return the advice for every situation that was played."""
    players = standings.players
    anytime = [one for one in players if not one.needs_horizon]
    gaussian = [one for one in standings.contests if not one.clicks]
    clicks = [one for one in standings.contests if one.clicks]
    few = [one for one in gaussian if one.few_arms]
    many = [one for one in gaussian if not one.few_arms]
    once = f"at most one run in {round(1 / RARE)} above {DISASTER:.0f} times its median"
    situations = (
        (f"Gaussian rewards, up to {FEW_ARMS} arms, horizon known", few, players),
        (f"Gaussian rewards, up to {FEW_ARMS} arms, horizon unknown", few, anytime),
        (f"Gaussian rewards, more than {FEW_ARMS} arms, horizon known", many, players),
        (f"Gaussian rewards, more than {FEW_ARMS} arms, horizon unknown", many, anytime),
        ("Clicks, horizon known", clicks, players),
        ("Clicks, horizon unknown", clicks, anytime),
        (f"Gaussian rewards, no disasters ({once})", gaussian, safe(standings, gaussian)),
        (f"Clicks, no disasters ({once})", clicks, safe(standings, clicks)),
    )
    found = [choose(standings, *one) for one in situations if one[1]]
    return [one for one in found if one is not None]


def answer(standings: Standings) -> str:
    """Return the one-paragraph answer to "which one should I use?"."""
    sentences = [one.sentence for one in advise(standings)]
    for name, clicks in (("Gaussian rewards", False), ("clicks", True)):
        contests = [one for one in standings.contests if one.clicks == clicks]
        if contests and not safe(standings, contests):
            sentences.append(
                f"On {name}, no policy is known to be free of disasters: each has a problem on "
                f"which more than one run in {round(1 / RARE)} may exceed {DISASTER:.0f} times its "
                "median."
            )
    rows = [standings.row(one, standings.contests) for one in standings.players]
    robust = [row for row in rows if row is not None and row.complete]
    if robust:
        least = min(robust, key=lambda row: row.worst.value)
        sentences.append(
            f"If you know nothing of your problem: {least.player.label} is never worse than "
            f"{least.worst.value:.2f} ± {2 * least.worst.error:.2f} times the best "
            f"({least.worst.where})."
        )
    return " ".join(sentences)
