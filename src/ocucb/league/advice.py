"""Which one should I use? Sentences that follow from the league's numbers, and from nothing else.

A policy is named for a situation if its regret, averaged over that situation's problems, is the
lowest. Policies that are not significantly worse are named beside it. Since the lowest was
chosen because it looks best, a difference counts only if it exceeds the largest one that chance
produces between any two of so many policies, at the level of two standard errors.

All this is about the problems that were played. How much depends on their choice shows when they
are left out one at a time: who is named then?
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from .._text import listed
from ..reports.estimates import margin
from .measure import RARE
from .pairs import pairs_of
from .problems import DISASTER, FEW_ARMS, HEADLINES, KINDS, SHORT, Contest
from .standings import Player, Row, Standings

_NEAR = 0.01  # difference in mean regret that nobody needs to care about
_NAMED = 4  # policies that are named beside the best


@dataclass(frozen=True)
class Advice:
    """What to use in one situation."""

    situation: str
    pick: Row  # the policy with the lowest mean regret, and its row over the situation's problems
    equals: tuple[str, ...]  # labels of those that are not significantly worse
    # names of the problems without which another policy is named, and its label
    without: tuple[tuple[str, str], ...] = ()
    # labels of those that might have been named if more were known about their disasters
    unknown: tuple[str, ...] = ()

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
        if self.unknown:
            text += f"; not known of {listed(self.unknown)}"
        return f"{text})."

    @property
    def kept(self) -> str:
        """In how many cases it is still named if one problem is left out."""
        count = self.pick.contests
        return f"{count - len(self.without)} of {count}"

    @property
    def others(self) -> str:
        """Who is named without which problems."""
        labels = dict.fromkeys(label for _, label in self.without)
        return "; ".join(
            f"{label} without {listed([name for name, it in self.without if it == label], 'or')}"
            for label in labels
        )


def complete_rows(
    standings: Standings, contests: Sequence[Contest], players: Sequence[Player]
) -> list[Row]:
    """Return the rows of those who played everywhere, the smallest geometric mean first."""
    rows = [standings.row(player, contests) for player in players]
    whole = [row for row in rows if row is not None and row.complete]
    return sorted(whole, key=lambda row: row.mean.value)


def choose(
    standings: Standings,
    situation: str,
    contests: Sequence[Contest],
    eligible: Callable[[Sequence[Contest]], Sequence[Player]],
) -> Advice | None:
    """Return what to use among the policies that are eligible, given the contests.

    None if none of them played everywhere.
    """
    complete = complete_rows(standings, contests, eligible(contests))
    if not complete:
        return None
    pick = complete[0]
    # of all who played, whoever may be chosen: what two policies differ by is the same everywhere
    rivals = len(complete_rows(standings, contests, standings.players))
    needed = margin(max(1, math.comb(rivals, 2)))
    equals = []
    for row in complete:
        behind = standings.difference(row.player, pick.player, contests)
        # an error that is not known proves nothing
        clear = behind.value - needed * behind.error > 0.0 and behind.value > _NEAR
        if row.player != pick.player and not clear:
            equals.append(row.player.label)
    without = []
    for contest in contests if len(contests) > 1 else []:
        rest = [other for other in contests if other is not contest]
        winner = complete_rows(standings, rest, eligible(rest))[0].player
        if winner != pick.player:
            without.append((contest.name, winner.label))
    return Advice(situation, pick, tuple(equals), tuple(without))


def safest(standings: Standings, situation: str, contests: Sequence[Contest]) -> Advice | None:
    """Return what to use if disasters must be rare; None if that is not known of any policy."""
    found = choose(standings, situation, contests, partial(safe, standings))
    if found is None:
        return None
    rows = complete_rows(standings, contests, standings.players)
    better = [row for row in rows if row.mean.value < found.pick.mean.value]
    return replace(found, unknown=tuple(row.player.label for row in better if row.undecided))


def safe(standings: Standings, contests: Sequence[Contest]) -> list[Player]:
    """Return the policies for which disasters are known to be rare in all of some contests."""
    rows = complete_rows(standings, contests, standings.players)
    return [row.player for row in rows if row.disaster_bound <= RARE]


def advise(standings: Standings) -> list[Advice]:
    """Return the advice for every situation that was played.

    Of a part of the league, or of other problems, it is about the problems that were played.
    """

    def players(contests: Sequence[Contest]) -> Sequence[Player]:
        return standings.players

    def anytime(contests: Sequence[Contest]) -> Sequence[Player]:
        return [player for player in standings.players if not player.needs_horizon]

    if not standings.general:
        here = [
            choose(standings, f"{_where(kind, contests)}, horizon {horizon}", contests, eligible)
            for kind in KINDS
            if (contests := standings.of_kind(kind))
            for horizon, eligible in (("known", players), ("unknown", anytime))
        ]
        return [advice for advice in here if advice is not None]
    gaussian, unequal, clicks, ratings = map(standings.of_kind, KINDS)
    few = [contest for contest in gaussian if contest.few_arms]
    many = [contest for contest in gaussian if not contest.few_arms]
    short = [contest for contest in clicks if contest.short]
    headlines = [contest for contest in clicks if contest.group == HEADLINES]
    once = f"at most one run in {round(1 / RARE)} loses more than {DISASTER:.0f}σ√(Kn)"
    situations = (
        (f"Gaussian rewards, up to {FEW_ARMS} arms, horizon known", few, players),
        (f"Gaussian rewards, up to {FEW_ARMS} arms, horizon unknown", few, anytime),
        (f"Gaussian rewards, more than {FEW_ARMS} arms, horizon known", many, players),
        (f"Gaussian rewards, more than {FEW_ARMS} arms, horizon unknown", many, anytime),
        ("Variances unknown and unequal, horizon known", unequal, players),
        ("Variances unknown and unequal, horizon unknown", unequal, anytime),
        ("Clicks, horizon known", clicks, players),
        ("Clicks, horizon unknown", clicks, anytime),
        (f"Clicks, horizon known, up to {SHORT:,} rounds", short, players),
        ("Tests of headlines, clicks at about 1%, horizon known", headlines, players),
        ("Tests of headlines, clicks at about 1%, horizon unknown", headlines, anytime),
        ("Ratings between 0 and 1, horizon known", ratings, players),
        ("Ratings between 0 and 1, horizon unknown", ratings, anytime),
    )
    found = [choose(standings, *situation) for situation in situations if situation[1]]
    for contests in (gaussian, clicks):
        if contests:
            rewards = KINDS[contests[0].kind]
            found.append(safest(standings, f"{rewards}, no disasters ({once})", contests))
    return [advice for advice in found if advice is not None]


def _where(kind: str, contests: Sequence[Contest]) -> str:
    """Name a kind of reward and the problems with it that were played."""
    names = [contest.name for contest in contests]
    on = listed(names) if len(names) <= _NAMED else f"these {len(names)} problems"
    return f"{KINDS[kind]}, on {on} alone"


def place_of(standings: Standings, player: Player, kind: str) -> str | None:
    """Return how a policy fares on problems with one kind of reward, in a sentence.

    None if it has played none of them.
    """
    contests = standings.of_kind(kind)
    row = standings.row(player, contests)
    if row is None:
        return None
    order = [other.player for other in complete_rows(standings, contests, standings.players)]
    text = f"{KINDS[kind]}: {player.label}, yours, has {row.mean} times the best of each problem"
    if player in order:
        text += f", number {order.index(player) + 1} of {len(order)}"
    else:
        text += f", on {row.played} of {row.contests} problems"
    rivals = [pair for pair in pairs_of(standings, player, contests) if not pair.other.own]
    if rivals:
        best = max(rivals, key=lambda pair: (pair.problems, pair.ratio.value))
        text += f"; {best.ratio} times the regret of {best.other.label}: {_JUDGED[best.verdict]}"
    return f"{text}."


_JUDGED = {
    "lower": "significantly less",
    "higher": "significantly more",
    "not different": "no significant difference",
}


def answer(standings: Standings) -> str:
    """Return the one-paragraph answer to "which one should I use?".

    It begins with policies that somebody has entered.
    """
    own = [player for player in standings.players if player.own]
    places = [place_of(standings, player, kind) for player in own for kind in KINDS]
    sentences = [place for place in places if place is not None]
    sentences += [advice.sentence for advice in advise(standings)]
    if not standings.general:
        return " ".join(sentences)
    for name in ("gaussian", "clicks"):
        contests = standings.of_kind(name)
        if contests and not safe(standings, contests):
            rewards = KINDS[name]
            sentences.append(
                f"{rewards}: no policy is known to be free of disasters: each has a problem on "
                f"which more than one run in {round(1 / RARE)} may lose more than "
                f"{DISASTER:.0f}σ√(Kn)."
            )
    rows = [standings.row(player, standings.contests) for player in standings.players]
    robust = [row for row in rows if row is not None and row.complete]
    if robust:
        least = min(robust, key=lambda row: row.worst.value)
        sentences.append(
            f"If you know nothing of your problem: {least.player.label} is never worse than "
            f"{least.worst.value:.2f} ± {2 * least.worst.error:.2f} times the best "
            f"({least.worst.where})."
        )
    return " ".join(sentences)
