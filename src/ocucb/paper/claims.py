"""What the paper says about its experiments, each sentence as numbers with errors.

A claim becomes statistics, each compared with a threshold: it holds if the estimate is on the right
side by two standard errors, does not hold if it is on the wrong side by as much (by more where it
is the worst of many), and is undecided otherwise. What "competitive" or "weak" means is our choice;
it is printed beside the table so that readers can disagree.

Curves are compared over stretches of neighbouring points, whose regrets are averaged: with few
runs, single points are noisy, and the worst of a hundred noisy ratios says little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..reports.estimates import Estimate, margin
from .measure import Point

COMPETITIVE = 1.5  # times the regret of the best: up to this, a policy is competitive
EXCELLENT = 1.25
VISIBLE = 0.05  # of the axis: curves closer than this cannot be told apart by eye
WEAK = 0.10  # relative change in regret when a parameter doubles
FEWEST = 100  # runs per point: with fewer, the errors themselves are too uncertain

HOLDS, FAILS, OPEN, MISSING = "holds", "does not hold", "not decided at this N", "not run"


@dataclass(frozen=True)
class Criterion:
    """A part of a claim: estimates, and the side of a threshold on which all of them should lie.

    Attributes
    ----------
    statistic : str
        What is estimated.
    estimates : tuple of Estimate
        All of them must lie on the right side.
    threshold : float
    below : bool
        Whether below is the right side.
    selected_from : int
        How many candidates these estimates were selected from because they looked best.
    enough_runs : bool
        Whether there are enough runs to trust the errors.
    """

    statistic: str
    estimates: tuple[Estimate, ...]
    threshold: float
    below: bool
    selected_from: int = 1
    enough_runs: bool = True

    @property
    def worst(self) -> Estimate:
        """The estimate farthest on the wrong side."""
        return max(self.estimates, key=self._excess)

    def _excess(self, estimate: Estimate) -> float:
        distance = estimate.value - self.threshold
        return distance if self.below else -distance

    @property
    def verdict(self) -> str:
        """Whether it holds.

        It holds if all estimates lie on the right side by two standard errors. It fails if one of
        them lies on the wrong side by a margin that the largest of so many exceeds as rarely as
        one exceeds two standard errors.
        """
        finite = all(math.isfinite(x) for one in self.estimates for x in (one.value, one.error))
        if not (finite and self.enough_runs):
            return OPEN
        needed = margin(self.selected_from)
        if all(self._excess(one) + needed * one.error <= 0.0 for one in self.estimates):
            return HOLDS
        needed = margin(len(self.estimates))
        failed = any(self._excess(one) - needed * one.error > 0.0 for one in self.estimates)
        return FAILS if failed else OPEN


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper.

    Attributes
    ----------
    number : int
    sentence : str
        What it says, in short.
    panels : tuple of str
        The panels it is about.
    check : callable
        Turns the curves of those panels into criteria.
    """

    number: int
    sentence: str
    panels: tuple[str, ...]
    check: Callable[[Curves], list[Criterion]]


@dataclass(frozen=True)
class Finding:
    """A claim and its criteria, none if its panels were not measured."""

    claim: Claim
    criteria: list[Criterion]

    @property
    def verdict(self) -> str:
        """The verdict on the whole claim: it holds if all of its criteria do."""
        if not self.criteria:
            return MISSING
        verdicts = {one.verdict for one in self.criteria}
        return FAILS if FAILS in verdicts else OPEN if OPEN in verdicts else HOLDS


class Curves:
    """The measured curves of some panels: regret in stretches of neighbouring points."""

    def __init__(self, points: Iterable[Point]) -> None:
        self._points: dict[str, dict[str, list[Point]]] = {}
        for point in points:
            self._points.setdefault(point.panel, {}).setdefault(point.line, []).append(point)

    def lines(self, panel: str) -> list[str]:
        """Return the names of a panel's lines."""
        return list(self._points[panel])

    def points(self, panel: str, line: str) -> list[Point]:
        """Return the points of a line, in order of x."""
        return self._points[panel][line]

    def stretches(self, panel: str, line: str) -> list[Estimate]:
        """Return the mean regret of a line over some twenty stretches of its points."""
        points = self.points(panel, line)
        size = max(1, len(points) // 20)
        return [_mean(points[i : i + size]) for i in range(0, len(points), size)]

    def between(self, panel: str, line: str, low: float, high: float) -> Estimate:
        """Return the mean regret of a line over the points with low <= x <= high."""
        return _mean([one for one in self.points(panel, line) if low <= one.x <= high])

    def ratios(self, panel: str, line: str) -> list[list[Estimate]]:
        """Return the ratios of a line to each of the others, by stretch."""
        others = [self.stretches(panel, name) for name in self.lines(panel) if name != line]
        mine = self.stretches(panel, line)
        return [[one / rival[i] for rival in others] for i, one in enumerate(mine)]

    def all_ratios(self, panels: Iterable[str], line: str) -> tuple[Estimate, ...]:
        """Return the ratios of a line to all others, over all stretches of some panels."""
        return tuple(
            one for panel in panels for stretch in self.ratios(panel, line) for one in stretch
        )

    def worst_ratio(self, panels: Iterable[str], line: str) -> Estimate:
        """Return the largest of `all_ratios`."""
        return max(self.all_ratios(panels, line), key=lambda one: one.value)

    def largest(self, panel: str) -> float:
        """Return the largest regret in a panel: the height of its axis."""
        return max(one.mean for name in self.lines(panel) for one in self.points(panel, name))


def _mean(points: Sequence[Point]) -> Estimate:
    where = f"{points[0].panel} at {points[0].x:g}"
    if len(points) > 1:
        where += f" to {points[-1].x:g}"
    value = sum(one.mean for one in points) / len(points)
    error = math.sqrt(sum(one.stderr**2 for one in points)) / len(points)
    return Estimate(value, error, where)


COMPARISON = ("exp1", "exp2", "exp8", "exp9")
SENSITIVITY = ("exp4", "exp5", "exp6", "exp7")
UNIFORM = ("exp11", "exp12")


def _alpha_is_robust(curves: Curves) -> list[Criterion]:
    lines = curves.lines("exp4")
    low, two, three, high = (curves.worst_ratio(SENSITIVITY, line) for line in lines)
    outer = min(low, high, key=lambda one: one.value)
    criteria = [
        Criterion(
            f"worst ratio to the best α, over all four panels, for {name}, minus that of the "
            "better of α = 1 and α = 6",
            (inner - outer,),
            0.0,
            True,
        )
        for name, inner in (("α = 2", two), ("α = 3", three))
    ]
    for panel in ("exp6", "exp7"):
        ratio = curves.between(panel, lines[3], 5000, 5000) / curves.between(
            panel, lines[0], 5000, 5000
        )
        statistic = f"regret with α = 6 over that with α = 1 at n = 5000 ({panel})"
        criteria.append(Criterion(statistic, (ratio,), 1.0, True))
    for panel in ("exp4", "exp5"):
        ratio = curves.between(panel, lines[1], 1.5, 2) / curves.between(panel, lines[3], 1.5, 2)
        statistic = f"regret with α = 2 over that with α = 6 at Δ ≥ 1.5 ({panel})"
        criteria.append(Criterion(statistic, (ratio,), 1.0, True))
    return criteria


def _psi_is_weak(curves: Curves) -> list[Criterion]:
    criteria = []
    for line in curves.lines("psi"):
        change = curves.between("psi", line, 4, 4) / curves.between("psi", line, 2, 2)
        criteria.append(
            Criterion(
                f"relative change in regret when ψ goes from 2 to 4 ({line})",
                (Estimate(abs(change.value - 1.0), change.error, change.where),),
                WEAK,
                True,
            )
        )
    return criteria


def _ocucb_is_competitive(curves: Curves) -> list[Criterion]:
    everywhere = curves.all_ratios((*COMPARISON, *UNIFORM), "OCUCB")
    stretches = [
        stretch for panel in (*COMPARISON, *UNIFORM) for stretch in curves.ratios(panel, "OCUCB")
    ]
    # where it most clearly beats all others: a ratio that is small by chance has a large error
    best = min(stretches, key=lambda some: max(one.value + 3.5 * one.error for one in some))
    return [
        Criterion("worst ratio to any policy of the panel", everywhere, COMPETITIVE, True),
        Criterion("ratio to the others where it does best", tuple(best), 1.0, True, len(stretches)),
    ]


def _gittins_wins(curves: Curves) -> list[Criterion]:
    criteria = []
    for panel in ("exp1", "exp2"):
        chances = [
            min(_chance_below(one, 1.0) for one in stretch)
            for stretch in curves.ratios(panel, "Gittins")
        ]
        share = sum(chances) / len(chances)
        error = math.sqrt(sum(p * (1.0 - p) for p in chances)) / len(chances)
        statistic = f"fraction of the axis on which it has the lowest regret of all ({panel})"
        criteria.append(Criterion(statistic, (Estimate(share, error),), 0.5, False))
    return criteria


def _chance_below(estimate: Estimate, threshold: float) -> float:
    """Return the probability that the true value lies below a threshold."""
    if estimate.error == 0.0:
        return float(estimate.value < threshold)
    return 0.5 * math.erfc((estimate.value - threshold) / estimate.error / math.sqrt(2.0))


def _moss_is_competitive(curves: Curves) -> list[Criterion]:
    everywhere = curves.all_ratios(COMPARISON, "MOSS")
    return [Criterion("worst ratio to any policy of the panel", everywhere, COMPETITIVE, True)]


def _thompson_is_aocucb(curves: Curves) -> list[Criterion]:
    criteria = []
    for panel in (*COMPARISON, *UNIFORM):
        height = curves.largest(panel)
        pairs = zip(
            curves.stretches(panel, "Thompson sampling"),
            curves.stretches(panel, "AOCUCB"),
            strict=True,
        )
        shares = tuple(
            Estimate(abs(gap.value) / height, gap.error / height, gap.where)
            for gap in (a - b for a, b in pairs)
        )
        statistic = "largest distance as a fraction of the axis"
        criteria.append(Criterion(statistic, shares, VISIBLE, True))
    return criteria


def _moss_explodes(curves: Curves) -> list[Criterion]:
    moss = next(name for name in curves.lines("exp10") if name.startswith("MOSS"))

    def ratio(low: float, high: float) -> Estimate:
        return curves.between("exp10", moss, low, high) / curves.between(
            "exp10", "OCUCB", low, high
        )

    def power(line: str) -> Estimate:
        many, few = (curves.between("exp10", line, *ends) for ends in ((2000, 2500), (100, 200)))
        growth, scale = many / few, math.log(2250 / 150)
        return Estimate(math.log(growth.value) / scale, growth.error / growth.value / scale)

    return [
        Criterion(
            f"regret of {moss} over that of OCUCB at K = 2500",
            (ratio(2500, 2500),),
            1.5,
            False,
        ),
        Criterion(
            f"power of K with which {moss}'s regret grows from K ≤ 200 to K ≥ 2000, minus OCUCB's",
            (power(moss) - power("OCUCB"),),
            0.0,
            False,
        ),
        Criterion(
            f"regret of {moss} over that of OCUCB for K ≤ 100",
            (ratio(0, 100),),
            EXCELLENT,
            True,
        ),
    ]


def _two_lead(curves: Curves) -> list[Criterion]:
    criteria = []
    for panel in UNIFORM:
        level = {name: curves.between(panel, name, 1e4, 1e5) for name in curves.lines(panel)}
        leaders = [level.pop(name) for name in ("OCUCB", "MOSS")]
        ratios = tuple(leader / other for leader in leaders for other in level.values())
        statistic = "regret of OCUCB and MOSS over that of any other, n ≥ 10^4"
        criteria.append(Criterion(statistic, ratios, 1.0, True))
        statistic = "regret of UCB over that of OCUCB and MOSS, n ≥ 10^4"
        ratios = tuple(level["UCB"] / leader for leader in leaders)
        criteria.append(Criterion(statistic, ratios, EXCELLENT, False))
    return criteria


def _three_is_excellent(curves: Curves) -> list[Criterion]:
    alphas = curves.all_ratios(SENSITIVITY, "OCUCB")
    rivals = curves.all_ratios((*COMPARISON, *UNIFORM), "OCUCB")
    return [
        Criterion("worst ratio of α = 3 to another α", alphas, EXCELLENT, True),
        Criterion("worst ratio of α = 3 to another policy", rivals, EXCELLENT, True),
    ]


def _spread_falls(curves: Curves) -> list[Criterion]:
    criteria = []
    for panel, low, high, symbol in (("psi", 2.0, 16.0, "ψ"), ("alpha", 2.0, 8.0, "α")):
        for line in curves.lines(panel):
            at = {one.x: one for one in curves.points(panel, line)}
            less, more = (
                Estimate(at[x].deviation, at[x].deviation_error, f"{panel} at {x:g}")
                for x in (low, high)
            )
            statistic = f"standard deviation at {symbol} = {high:g} over that at {low:g} ({line})"
            criteria.append(Criterion(statistic, (more / less,), 1.0, True))
    return criteria


CLAIMS = (
    Claim(
        1,
        "α between 2 and 3 is reasonable in all regimes; large α is better when n is small, small "
        "α when Δ is large.",
        SENSITIVITY,
        _alpha_is_robust,
    ),
    Claim(2, "The dependence on ψ is very weak.", ("psi",), _psi_is_weak),
    Claim(
        3,
        "OCUCB is always competitive with the best and sometimes significantly better.",
        (*COMPARISON, *UNIFORM),
        _ocucb_is_competitive,
    ),
    Claim(4, "Gittins is arguably the winner for small horizons.", ("exp1", "exp2"), _gittins_wins),
    Claim(5, "MOSS is competitive too.", COMPARISON, _moss_is_competitive),
    Claim(
        6,
        "Thompson sampling and AOCUCB are almost indistinguishable.",
        (*COMPARISON, *UNIFORM),
        _thompson_is_aocucb,
    ),
    Claim(
        7,
        "The regret of MOSS explodes for large K and OCUCB's does not; it is serious only when K "
        "is unreasonably large.",
        ("exp10",),
        _moss_explodes,
    ),
    Claim(
        8,
        "With uniformly distributed arms OCUCB and MOSS lead, and UCB is significantly worse.",
        UNIFORM,
        _two_lead,
    ),
    Claim(
        9,
        "α = 3 leads to consistently excellent performance.",
        (*SENSITIVITY, *COMPARISON, *UNIFORM),
        _three_is_excellent,
    ),
    Claim(
        10,
        "Increasing ψ or α decreases the variance of OCUCB's regret.",
        ("psi", "alpha"),
        _spread_falls,
    ),
)


def judge(points: Sequence[Point]) -> list[Finding]:
    """Check every claim whose panels have all been measured."""
    curves = Curves(points)
    there = {point.panel for point in points}
    few = {point.panel for point in points if point.runs < FEWEST}
    findings = []
    for claim in CLAIMS:
        criteria = claim.check(curves) if there.issuperset(claim.panels) else []
        enough = few.isdisjoint(claim.panels)
        findings.append(Finding(claim, [replace(one, enough_runs=enough) for one in criteria]))
    return findings
