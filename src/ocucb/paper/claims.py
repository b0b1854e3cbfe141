"""What the paper says about its experiments, each sentence as a number with an error.

A claim is turned into statistics, each of which is compared with a threshold: it holds when the
number is on the right side by two standard errors, does not hold when it is on the wrong side by as
much (by more where it is the worst of many), and is not decided otherwise. What "competitive" or
"weak" is to mean is our choice, and stands beside the table for readers to disagree with.

Curves are compared in stretches of neighbouring points, whose regrets are added up: single points
of a short run are noisy, and the worst of a hundred noisy ratios says little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

from .measure import Point

COMPETITIVE = 1.5  # times the regret of the best: within this a policy is competitive
EXCELLENT = 1.25
VISIBLE = 0.05  # of the axis: curves that are closer cannot be told apart by eye
WEAK = 0.10  # relative change of regret when a parameter is doubled
FEWEST = 100  # runs for each point: with fewer, nobody knows how large the errors are

HOLDS, FAILS, OPEN, MISSING = "holds", "does not hold", "not decided at this N", "not run"


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error, and where it was found."""

    value: float
    error: float
    where: str = ""

    def __sub__(self, other: Estimate) -> Estimate:
        return Estimate(self.value - other.value, math.hypot(self.error, other.error), self.where)

    def __truediv__(self, other: Estimate) -> Estimate:
        if not (self.value > 0.0 and other.value > 0.0):
            return Estimate(math.nan, math.inf, self.where)
        ratio = self.value / other.value
        spread = math.hypot(self.error / self.value, other.error / other.value)
        return Estimate(ratio, ratio * spread, self.where)


@dataclass(frozen=True)
class Criterion:
    """A part of a claim: statistics, and the side of a threshold on which all should be.

    Attributes
    ----------
    words : str
        What is measured.
    numbers : tuple of Estimate
        They must all be on the right side.
    threshold : float
    below : bool
        Whether below is the right side.
    among : int
        How many the numbers were chosen from, because they looked best.
    enough : bool
        Whether there are enough runs to believe the errors.
    """

    words: str
    numbers: tuple[Estimate, ...]
    threshold: float
    below: bool
    among: int = 1
    enough: bool = True

    @property
    def number(self) -> Estimate:
        """The number that is farthest on the wrong side."""
        return max(self.numbers, key=self._excess)

    def _excess(self, number: Estimate) -> float:
        distance = number.value - self.threshold
        return distance if self.below else -distance

    @property
    def verdict(self) -> str:
        """Whether it holds.

        All numbers must be on the right side by two standard errors; it fails if one of them is on
        the wrong side by as many as have the same chance for the largest of so many.
        """
        clear = all(math.isfinite(one.value) and math.isfinite(one.error) for one in self.numbers)
        if not (clear and self.enough):
            return OPEN
        margin = _margin(self.among)
        if all(self._excess(one) + margin * one.error <= 0.0 for one in self.numbers):
            return HOLDS
        margin = _margin(len(self.numbers))
        failed = any(self._excess(one) - margin * one.error > 0.0 for one in self.numbers)
        return FAILS if failed else OPEN


def _margin(count: int) -> float:
    """Return how many standard errors the largest of `count` exceeds as seldom as one exceeds two.

    Examples
    --------
    >>> round(_margin(1), 2), round(_margin(100), 2)
    (2.0, 3.51)
    """
    return NormalDist().inv_cdf(1.0 - NormalDist().cdf(-2.0) / count)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper.

    Attributes
    ----------
    number : int
    sentence : str
        What it says, in short.
    panels : tuple of str
        The panels that it speaks about.
    check : callable
        Turns the curves of those panels into tests.
    """

    number: int
    sentence: str
    panels: tuple[str, ...]
    check: Callable[[Curves], list[Criterion]]


@dataclass(frozen=True)
class Finding:
    """A claim and what became of it."""

    claim: Claim
    tests: list[Criterion]

    @property
    def verdict(self) -> str:
        """One word for the whole claim: it holds when all of its parts do."""
        if not self.tests:
            return MISSING
        verdicts = {test.verdict for test in self.tests}
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
        """Return the points of a line, in the order of x."""
        return self._points[panel][line]

    def stretches(self, panel: str, line: str) -> list[Estimate]:
        """Return the mean regret of a line over stretches of its points, some twenty of them."""
        points = self.points(panel, line)
        size = max(1, len(points) // 20)
        return [_mean(points[i : i + size]) for i in range(0, len(points), size)]

    def between(self, panel: str, line: str, low: float, high: float) -> Estimate:
        """Return the mean regret over the points from x = low to high."""
        return _mean([one for one in self.points(panel, line) if low <= one.x <= high])

    def factors(self, panel: str, line: str) -> list[list[Estimate]]:
        """Return the ratios of a line to each of the others, for each stretch."""
        others = [self.stretches(panel, name) for name in self.lines(panel) if name != line]
        mine = self.stretches(panel, line)
        return [[one / rival[i] for rival in others] for i, one in enumerate(mine)]

    def all_factors(self, panels: Iterable[str], line: str) -> tuple[Estimate, ...]:
        """Return the ratios of a line to any other, over all stretches of some panels."""
        return tuple(
            one for panel in panels for stretch in self.factors(panel, line) for one in stretch
        )

    def worst_factor(self, panels: Iterable[str], line: str) -> Estimate:
        """Return the largest of these."""
        return max(self.all_factors(panels, line), key=lambda one: one.value)

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
    low, two, three, high = (curves.worst_factor(SENSITIVITY, line) for line in lines)
    outer = min(low, high, key=lambda one: one.value)
    tests = [
        Criterion(
            f"worst factor to the best α, over all four panels, for {name} less that of the "
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
        words = f"regret with α = 6 over that with α = 1 at n = 5000 ({panel})"
        tests.append(Criterion(words, (ratio,), 1.0, True))
    for panel in ("exp4", "exp5"):
        ratio = curves.between(panel, lines[1], 1.5, 2) / curves.between(panel, lines[3], 1.5, 2)
        words = f"regret with α = 2 over that with α = 6 at Δ ≥ 1.5 ({panel})"
        tests.append(Criterion(words, (ratio,), 1.0, True))
    return tests


def _psi_is_weak(curves: Curves) -> list[Criterion]:
    tests = []
    for line in curves.lines("psi"):
        change = curves.between("psi", line, 4, 4) / curves.between("psi", line, 2, 2)
        tests.append(
            Criterion(
                f"relative change of regret when ψ goes from 2 to 4 ({line})",
                (Estimate(abs(change.value - 1.0), change.error, change.where),),
                WEAK,
                True,
            )
        )
    return tests


def _ocucb_is_competitive(curves: Curves) -> list[Criterion]:
    everywhere = curves.all_factors((*COMPARISON, *UNIFORM), "OCUCB")
    stretches = [
        stretch for panel in (*COMPARISON, *UNIFORM) for stretch in curves.factors(panel, "OCUCB")
    ]
    # where it is better than all others beyond doubt: a ratio small by chance has a large error
    best = min(stretches, key=lambda some: max(one.value + 3.5 * one.error for one in some))
    return [
        Criterion("worst factor to any policy of the panel", everywhere, COMPETITIVE, True),
        Criterion(
            "factor to the others where it does best", tuple(best), 1.0, True, len(stretches)
        ),
    ]


def _gittins_wins(curves: Curves) -> list[Criterion]:
    tests = []
    for panel in ("exp1", "exp2"):
        chances = [
            min(_chance_below(one, 1.0) for one in stretch)
            for stretch in curves.factors(panel, "Gittins")
        ]
        share = sum(chances) / len(chances)
        error = math.sqrt(sum(p * (1.0 - p) for p in chances)) / len(chances)
        words = f"share of the axis on which it has the lowest regret of all ({panel})"
        tests.append(Criterion(words, (Estimate(share, error),), 0.5, False))
    return tests


def _chance_below(number: Estimate, threshold: float) -> float:
    """Return the probability that what a number estimates lies below a threshold."""
    if number.error == 0.0:
        return float(number.value < threshold)
    return 0.5 * math.erfc((number.value - threshold) / number.error / math.sqrt(2.0))


def _moss_is_competitive(curves: Curves) -> list[Criterion]:
    everywhere = curves.all_factors(COMPARISON, "MOSS")
    return [Criterion("worst factor to any policy of the panel", everywhere, COMPETITIVE, True)]


def _thompson_is_aocucb(curves: Curves) -> list[Criterion]:
    tests = []
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
        words = f"largest distance as a share of the axis ({panel})"
        tests.append(Criterion(words, shares, VISIBLE, True))
    return tests


def _moss_explodes(curves: Curves) -> list[Criterion]:
    moss = next(name for name in curves.lines("exp10") if name.startswith("MOSS"))

    def factor(low: float, high: float) -> Estimate:
        return curves.between("exp10", moss, low, high) / curves.between(
            "exp10", "OCUCB", low, high
        )

    def power(line: str) -> Estimate:
        many, few = (curves.between("exp10", line, *ends) for ends in ((2000, 2500), (100, 200)))
        growth, scale = many / few, math.log(2250 / 150)
        return Estimate(math.log(growth.value) / scale, growth.error / growth.value / scale)

    return [
        Criterion(
            "regret of MOSS over that of OCUCB at K = 2500", (factor(2500, 2500),), 1.5, False
        ),
        Criterion(
            "power of K with which MOSS's regret grows from K ≤ 200 to K ≥ 2000, less OCUCB's",
            (power(moss) - power("OCUCB"),),
            0.0,
            False,
        ),
        Criterion(
            "regret of MOSS over that of OCUCB for K ≤ 100", (factor(0, 100),), EXCELLENT, True
        ),
    ]


def _two_lead(curves: Curves) -> list[Criterion]:
    tests = []
    for panel in UNIFORM:
        level = {name: curves.between(panel, name, 1e4, 1e5) for name in curves.lines(panel)}
        leaders = [level.pop(name) for name in ("OCUCB", "MOSS")]
        ratios = tuple(leader / other for leader in leaders for other in level.values())
        words = f"OCUCB and MOSS over any of the others, n ≥ 10^4 ({panel})"
        tests.append(Criterion(words, ratios, 1.0, True))
        words = f"UCB over OCUCB and over MOSS, n ≥ 10^4 ({panel})"
        ratios = tuple(level["UCB"] / leader for leader in leaders)
        tests.append(Criterion(words, ratios, EXCELLENT, False))
    return tests


def _three_is_excellent(curves: Curves) -> list[Criterion]:
    alphas = curves.all_factors(SENSITIVITY, "OCUCB")
    rivals = curves.all_factors((*COMPARISON, *UNIFORM), "OCUCB")
    return [
        Criterion("worst factor of α = 3 to another α", alphas, EXCELLENT, True),
        Criterion("worst factor of α = 3 to another policy", rivals, EXCELLENT, True),
    ]


def _spread_falls(curves: Curves) -> list[Criterion]:
    tests = []
    for panel, low, high, symbol in (("psi", 2.0, 16.0, "ψ"), ("alpha", 2.0, 8.0, "α")):
        for line in curves.lines(panel):
            at = {one.x: one for one in curves.points(panel, line)}
            less, more = (
                Estimate(at[x].deviation, at[x].deviation_error, f"{panel} at {x:g}")
                for x in (low, high)
            )
            words = f"standard deviation at {symbol} = {high:g} over that at {low:g} ({line})"
            tests.append(Criterion(words, (more / less,), 1.0, True))
    return tests


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
    """Check every claim whose panels were measured."""
    curves = Curves(points)
    there = {point.panel for point in points}
    few = {point.panel for point in points if point.runs < FEWEST}
    findings = []
    for claim in CLAIMS:
        tests = claim.check(curves) if there.issuperset(claim.panels) else []
        enough = few.isdisjoint(claim.panels)
        findings.append(Finding(claim, [replace(test, enough=enough) for test in tests]))
    return findings
