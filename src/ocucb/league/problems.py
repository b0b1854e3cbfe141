"""What the league plays: problems in families, as data.

A contest is one problem, or a prior over problems, and a horizon. The worst case over Δ consists of
several, of which, for each policy separately, the one with the largest mean regret counts. Rewards
are Gaussian with σ = 1 or with a σ for each arm, of which policies are told the largest; clicks,
which are 0 or 1; or ratings between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from .._text import power_of_ten, remedy
from ..priors import AnyProblem, Prior, prior
from ..problems import (
    Problem,
    bernoulli,
    beta_rewards,
    empirical,
    gap,
    gaussian,
    moss_failure,
    uniform_arms,
)

FEW_ARMS = 10  # up to this, arms are few
SHORT = 5_000  # rounds up to which every policy for clicks can play
DISASTER = 3.0  # a regret above this many times σ sqrt(K n) is a disaster

# kinds of reward: their names in data files, and in tables
KINDS = {
    "gaussian": "Gaussian rewards",
    "unequal": "Unequal variances",
    "clicks": "Clicks",
    "ratings": "Ratings",
}

Instance = tuple[AnyProblem, int]


def kind_of(problem: Problem) -> str:
    """Return the kind of reward of a problem, one of `KINDS`."""
    if problem.rewards.binary:
        return "clicks"
    if problem.rewards.unit:
        return "ratings"
    return "gaussian" if np.ptp(problem.scales) == 0.0 else "unequal"


@dataclass(frozen=True)
class Contest:
    """A problem of the league."""

    name: str  # its name on the command line
    group: str  # its family
    title: str  # what is played, for people
    instances: tuple[Instance, ...]  # problem or prior, and horizon; several for a worst case

    @property
    def kind(self) -> str:
        """Its kind of reward, one of `KINDS`."""
        return kind_of(self.instances[0][0].typical)

    @property
    def few_arms(self) -> bool:
        """Whether it has few arms."""
        return self.instances[0][0].arms <= FEW_ARMS

    @property
    def short(self) -> bool:
        """Whether it has few rounds."""
        return self.instances[0][1] <= SHORT

    def describe(self, problem: str) -> str:
        """Return what is played, with the gap where there are several, given a problem's name."""
        if len(self.instances) == 1:
            return self.title
        (found,) = (known for known, _ in self.instances if known.name == problem)
        if isinstance(found, Prior):
            return f"{self.title}, {found.name}"
        return f"{self.title.removesuffix(', worst Δ')}, Δ = {found.gaps.max():.3g}"


def disaster_level(problem: AnyProblem, horizon: int) -> float:
    """Return the regret above which a run is a disaster; inf where no run can lose as much.

    The unit is σ sqrt(K n), with σ the largest standard deviation of an arm's rewards: regret of
    this order cannot be avoided on the hardest problem of this size, and on no problem do good
    policies exceed it by more than a small factor. Theorems about the tail of regret use the same
    unit. It is the same for all policies, so it does not matter how good their medians are; and
    where arms are so close that even the worst one in every round loses less, nothing is at stake.
    With a prior, σ and K are those of its typical problem, whichever problem a run has drawn.

    Examples
    --------
    >>> round(disaster_level(gap(2, 0.3), 10_000)), disaster_level(gap(2, 0.03), 10_000)
    (424, inf)
    """
    deviation, typical = problem.rewards.deviation, problem.typical
    spread = typical.sigma  # of rewards whose deviation is not known
    if deviation is not None:
        arms = zip(typical.means.tolist(), typical.scales.tolist(), strict=True)
        spread = max(deviation(mean, scale) for mean, scale in arms)
    level = DISASTER * spread * math.sqrt(typical.arms * horizon)
    return level if level < horizon * problem.largest_gap else math.inf


def _one(name: str, group: str, title: str, problem: AnyProblem, horizon: int) -> Contest:
    return Contest(name, group, title, ((replace(problem, name=name), horizon),))


# Δ in units of σ sqrt(K / n): policies have their worst case in between
_SCALES = (1.0, 2.0, 4.0, 8.0, 16.0)


def _worst_gap(K: int, n: int) -> Contest:
    problems = [gap(K, scale * math.sqrt(K / n)) for scale in _SCALES]
    name = f"worst-{K}-{n:.0e}".replace("e+0", "e")
    title = f"K = {K}, n = {power_of_ten(round(math.log10(n)))}, worst Δ"
    return Contest(name, "worst case over Δ", title, tuple((problem, n) for problem in problems))


def _worst_clicks(name: str, n: int, rounds: str) -> Contest:
    gaps = [scale * 0.5 * math.sqrt(2 / n) for scale in _SCALES]
    title = f"clicks at 50%, K = 2, n = {rounds}, worst Δ"
    problems = [replace(bernoulli([0.5, 0.5 - d]), name=f"clicks:gap={d:g}") for d in gaps]
    return Contest(name, "worst case over Δ", title, tuple((problem, n) for problem in problems))


def _groups(K: int) -> Problem:
    """One arm, a tenth of the arms close behind it, and the others far behind."""
    return gaussian([0.0] + [-0.1] * (K // 10) + [-0.5] * (K - 1 - K // 10))


_TWO, _MANY, _NEEDLE = "two arms", "many arms", "needle in a haystack"
_UNIFORM, _UNBALANCED = "uniform arms", "unbalanced"
_HALF, _RARE = "clicks at 50%", "clicks at 2%"
_SHORT, _LONG = "short horizon", "long horizon"
_UNEQUAL, _RATINGS = "unequal variances", "ratings"
HEADLINES = "headlines"
OWN = "yours"  # the family of problems that are not the league's


def _tests(name: str, K: int, readers: str, n: int) -> Contest:
    """Tests of headlines as a newsroom ran them: their rates are drawn for each run."""
    title = f"{K} headlines, {readers}, n = {n:,}"
    return Contest(name, HEADLINES, title, ((replace(prior("headlines", K=K), name=name), n),))


# the arms of the low-reward scenario of Garivier and Cappé (2011)
_LADDER = [0.1, *[0.05] * 3, *[0.02] * 3, *[0.01] * 3]
_LADDER_TITLE = "10 arms, clicks at 10, 5, 2 and 1%"

# Stars as shares of [0, 1]: of 100 customers, so many give 1, 2, 3, 4 and 5.
_STARS = [
    np.repeat([0.0, 0.25, 0.5, 0.75, 1.0], counts)
    for counts in ([5, 5, 10, 25, 55], *[[8, 7, 15, 25, 45]] * 3, [20, 10, 10, 15, 45])
]
# Of 1,000 visitors, 20 buy for a tenth to all of the highest price; of other arms, 15.
_REVENUE = [
    np.concatenate([np.zeros(1000 - buyers), np.linspace(0.1, 1.0, buyers)])
    for buyers in (20, 15, 15, 15, 15)
]

CONTESTS: dict[str, Contest] = {
    contest.name: contest
    for contest in (
        _one("two-easy", _TWO, "two arms, Δ = 1, n = 10⁴", gap(2, 1.0), 10_000),
        _one("two", _TWO, "two arms, Δ = 0.3, n = 10⁴", gap(2, 0.3), 10_000),
        _one("two-close", _TWO, "two arms, Δ = 0.05, n = 10⁴", gap(2, 0.05), 10_000),
        _one("ten", _MANY, "10 arms, Δ = 0.3, n = 10⁴", gap(10, 0.3), 10_000),
        _one("groups", _MANY, "50 arms in groups, n = 10⁴", _groups(50), 10_000),
        _one("needle", _NEEDLE, "1 good arm of 100, Δ = 1, n = 5,000", gap(100, 1.0), 5_000),
        _one("needle-hard", _NEEDLE, "1 good arm of 20, Δ = 0.5, n = 10⁴", gap(20, 0.5), 10_000),
        _one("uniform-10", _UNIFORM, "10 uniform arms, n = 10⁴", uniform_arms(10), 10_000),
        _one("uniform-50", _UNIFORM, "50 uniform arms, n = 10⁴", uniform_arms(50), 10_000),
        _one("moss-20", _UNBALANCED, "MOSS's trap, K = 20, n = 8,000", moss_failure(20), 8_000),
        _one("runner-up", _UNBALANCED, "10 arms, one close behind, n = 10⁴",
             gaussian([0.0, -0.1] + [-1.0] * 8), 10_000),
        _one("short-2", _SHORT, "two arms, Δ = 0.5, n = 100", gap(2, 0.5), 100),
        _one("short-10", _SHORT, "10 arms, Δ = 1, n = 200", gap(10, 1.0), 200),
        _one("long-2", _LONG, "two arms, Δ = 0.3, n = 2·10⁵", gap(2, 0.3), 200_000),
        _one("long-10", _LONG, "10 arms, Δ = 0.5, n = 10⁵", gap(10, 0.5), 100_000),
        _worst_gap(2, 1000),
        _worst_gap(2, 100_000),
        _worst_gap(10, 10_000),
        _one("half-2", _HALF, "clicks at 50% and 45%, n = 10⁴", bernoulli([0.5, 0.45]), 10_000),
        _one("half-10", _HALF, "10 arms, clicks at 50% and 40%, n = 10⁴",
             bernoulli([0.5] + [0.4] * 9), 10_000),
        _one("rare-2", _RARE, "clicks at 2% and 1%, n = 10⁴", bernoulli([0.02, 0.01]), 10_000),
        _one("rare-10", _RARE, "10 arms, clicks at 2% and 1%, n = 10⁴",
             bernoulli([0.02] + [0.01] * 9), 10_000),
        _one("rare-short", _SHORT, "5 arms, clicks at 2% and 0.5%, n = 2,000",
             bernoulli([0.02] + [0.005] * 4), 2_000),
        _one("half-short", _SHORT, "5 arms, clicks at 50% and 30%, n = 500",
             bernoulli([0.5] + [0.3] * 4), 500),
        _one("ladder", _RARE, f"{_LADDER_TITLE}, n = 10⁴", bernoulli(_LADDER), 10_000),
        _one("ladder-short", _SHORT, f"{_LADDER_TITLE}, n = 2,000", bernoulli(_LADDER), 2_000),
        # The median test had 4 headlines and 14,466 readers; 5, 50 and 95% of the headlines had at
        # most 2,028, 3,088 and 6,379.
        _tests("headlines", 4, "the median test", 14_466),
        _tests("headlines-2", 2, "3,088 readers each", 6_176),
        _tests("headlines-6", 6, "3,088 readers each", 18_528),
        _tests("headlines-short", 4, "2,028 readers each", 8_112),
        _tests("headlines-long", 4, "6,379 readers each", 25_516),
        _one("noisy-best", _UNEQUAL, "10 arms, Δ = 0.3, σ = 2 (best) and 0.3, n = 10⁴",
             gap(10, 0.3, [2.0] + [0.3] * 9), 10_000),
        _one("quiet-best", _UNEQUAL, "10 arms, Δ = 0.3, σ = 0.2 (best) and 1, n = 10⁴",
             gap(10, 0.3, [0.2] + [1.0] * 9), 10_000),
        _one("noisy-2", _UNEQUAL, "two arms, Δ = 0.3, σ = 2 (best) and 0.2, n = 10⁴",
             gap(2, 0.3, [2.0, 0.2]), 10_000),
        _one("quiet-2", _UNEQUAL, "two arms, Δ = 0.1, σ = 0.1 (best) and 1, n = 10⁴",
             gap(2, 0.1, [0.1, 1.0]), 10_000),
        _one("mixed-10", _UNEQUAL, "10 uniform arms, σ = 1 and 0.2 by turns, n = 10⁴",
             uniform_arms(10, [1.0, 0.2] * 5), 10_000),
        _one("mixed-short", _UNEQUAL, "6 arms, Δ = 1, σ = 2 and 0.5 by turns, n = 300",
             gap(6, 1.0, [2.0, 0.5] * 3), 300),
        _one("ratings-2", _RATINGS, "ratings of 0.8 and 0.75, n = 10⁴",
             beta_rewards([0.8, 0.75], 10.0), 10_000),
        _one("ratings-10", _RATINGS, "10 arms, ratings of 0.6 and 0.5, n = 10⁴",
             beta_rewards([0.6] + [0.5] * 9, 6.0), 10_000),
        _one("ratings-extreme", _RATINGS, "10 arms, ratings near 0 or 1, 0.5 and 0.4, n = 10⁴",
             beta_rewards([0.5] + [0.4] * 9, 0.5), 10_000),
        _one("stars", _RATINGS, "5 arms, 1 to 5 stars, n = 5,000", empirical(_STARS), 5_000),
        _one("revenue", _RATINGS, "5 arms, 2% or 1.5% buy at various prices, n = 2·10⁴",
             empirical(_REVENUE), 20_000),
        _worst_clicks("worst-clicks", 10_000, "10⁴"),
        _worst_clicks("worst-clicks-2e3", 2_000, "2,000"),
    )
}  # fmt: skip


def contest_of(problem: AnyProblem, horizon: int) -> Contest:
    """Return a problem of somebody's own as a contest.

    Examples
    --------
    >>> contest_of(gap(2, 0.3), 500).title
    'gap:K=2,gap=0.3, n = 500'
    """
    title = f"{problem.name}, n = {horizon:,}"
    return Contest(title, OWN, title, ((problem, horizon),))


def select(names: Iterable[str]) -> list[Contest]:
    """Return the contests that the given names select; all if none are given.

    Examples
    --------
    >>> [contest.title for contest in select(["ten"])]
    ['10 arms, Δ = 0.3, n = 10⁴']
    """
    wanted = set(names)
    for name in wanted - CONTESTS.keys():
        raise ValueError(f"no problem is called {name!r}; {remedy(name, CONTESTS)}")
    return [contest for contest in CONTESTS.values() if contest.name in wanted or not wanted]
