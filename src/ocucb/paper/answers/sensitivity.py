"""Appendix "Experiments": sensitivity to α."""

from __future__ import annotations

import itertools
import math

from ..._text import listed
from ...reports.estimates import Uncertain, value_of
from ..claims import FALSE, Answer, Curves, Evidence, exactly, moved, series_of, up_to
from ..measure import Point
from ..panels import ALPHAS, SENSITIVITY


def _alpha_ratio(curves: Curves, panel: str, x: float, above: int, below: int) -> Uncertain:
    high, low = (curves.between(panel, ALPHAS[a], x, x) for a in (above, below))
    return high / low


def best_alpha_varies(curves: Curves) -> Answer:
    """Compare α = 1 with α = 3 where one should win, and where the other should."""
    small = _alpha_ratio(curves, "exp4", 2.0, 1, 3)
    large = _alpha_ratio(curves, "exp6", 100_000, 1, 3)
    series = [curves.drawn("exp4", name, f"α = {a}") for a, name in ALPHAS.items()]
    few, many, at = "Δ = 2, n = 10⁴", "Δ = 0.2, n = 10⁵", "α = 1 over α = 3 at K = 2, {}".format
    return Answer(
        [exactly(at(few), small, 1.0, True, few), exactly(at(many), large, 1.0, False, many)],
        f"At K = 2, α = 1 has {small} times the regret of α = 3 for {few}, and {large} "
        f"times for {many}.",
        Evidence("Δ (K = 2)", "expected regret", series),
    )


def alpha_is_reasonable(curves: Curves) -> Answer:
    """Find how far α = 2 and α = 3 are from the best α, at worst."""
    every = tuple(ALPHAS.values())
    worst = {a: curves.extreme(SENSITIVITY, ALPHAS[a], every) for a in (2, 3)}
    others = {
        a: max(x for panel in SENSITIVITY for x in curves.factors(panel, ALPHAS[a], every))
        for a in (1, 6)
    }
    series = [curves.drawn_factor("exp4", name, f"α = {a}", every) for a, name in ALPHAS.items()]
    statistic = "α = {} over the best other α, at worst".format
    definition = "α = {} is “reasonable” with {{:.2f}} times the best regret".format
    return Answer(
        [up_to(statistic(a), worst[a], 1.05, 5.0, definition(a), f"α = {a}") for a in (2, 3)],
        f"At worst, α = 2 has {worst[2]} times the regret of the best other α ({worst[2].where}) "
        f"and α = 3 has {worst[3]} times ({worst[3].where}); α = 1 has about {others[1]:.0f} and "
        f"α = 6 about {others[6]:.0f} times.",
        Evidence("Δ (K = 2)", "over the best other α", series, level=1.0, logy=True),
    )


def large_alpha_small_n(curves: Curves) -> Answer:
    """Compare α = 6 with smaller α at small and at large n.

    It is better *because* n is small if it is better there, and by more than where n is large: the
    larger of the ratio at small n and of this over that at large n is below 1.
    """
    few, many = min(curves.xs("exp6")), max(curves.xs("exp6"))
    criteria, early, late = [], [], []
    for a in (3, 1):
        smalls, larges, trends = [], [], []
        for panel, arms in (("exp6", 2), ("exp7", 10)):
            small, large = (_alpha_ratio(curves, panel, n, 6, a) for n in (few, many))
            statistic = f"K = {arms}: α = 6 over α = {a} at n = {few:,.0f}, or that over n = 10⁵"
            both = max(small, small / large, key=value_of)
            criteria.append(exactly(statistic, both, 1.0, part=f"α = {a} at K = {arms}"))
            smalls.append(f"{small.value:.2f}")
            larges.append(f"{large.value:.2f}")
            trends.append(moved(large / small, "loses ground", "gains ground"))
        ground = listed(dict.fromkeys(trends))
        early.append(f"{listed(smalls)} times the regret of α = {a} and {ground} as n grows")
        late.append(f"{listed(larges)} times")
    series = [curves.drawn_ratio("exp6", ALPHAS[6], ALPHAS[a], f"over α = {a}") for a in (3, 1)]
    return Answer(
        criteria,
        f"At n = {few:,.0f} and K = 2 and 10, α = 6 has {', and '.join(early)}; at n = {many:,.0f} "
        f"it has {', and '.join(late)}.",
        Evidence("n (K = 2)", "α = 6 over another α", series, level=1.0, logy=True),
        {FALSE: "So in no case is the large α better because n is small."},
    )


def small_alpha_large_gap(curves: Curves) -> Answer:
    """Compare neighbouring α at the largest gap."""
    criteria, words = [], []
    for panel, arms in (("exp4", 2), ("exp5", 10)):
        numbers = []
        for less, more in ((1, 2), (2, 3), (3, 6)):
            ratio = _alpha_ratio(curves, panel, 2.0, less, more)
            part = f"α = {less} against {more} at K = {arms}"
            statistic = f"K = {arms}, Δ = 2: α = {less} over α = {more}"
            criteria.append(exactly(statistic, ratio, 1.0, part=part))
            numbers.append(f"{ratio.value:.2f}")
        words.append(f"{listed(numbers)} at K = {arms}")
    series = [curves.drawn_ratio("exp4", ALPHAS[a], ALPHAS[6], f"α = {a}") for a in (1, 2, 3)]
    return Answer(
        criteria,
        "At Δ = 2, the regret of α = 1 over that of α = 2, of 2 over 3 and of 3 over 6 is "
        f"{'; '.join(words)}.",
        Evidence("Δ (K = 2)", "over α = 6", series, level=1.0, logy=True),
    )


def alpha_is_conservative(curves: Curves) -> Answer:
    """Follow the median regret, that of a run without a failure."""
    criteria, series, spans = [], [], []
    for line in curves.lines("alpha"):
        points = curves.line("alpha", line)
        medians = [_median(p) for p in points]
        steps = [later / earlier for earlier, later in itertools.pairwise(medians)]
        least = min(steps, key=value_of)
        statistic = f"{line}: median regret at one α over that at the α before, smallest"
        criteria.append(exactly(statistic, least, 1.0, below=False, part=line))
        spans.append(
            f"from {medians[0].value:.0f} to {medians[-1].value:.0f}, by a factor of at least "
            f"{least.value:.2f} per step ({line})"
        )
        series.append(series_of(line, [p.x for p in points], medians))
    last = curves.xs("alpha")[-1]
    return Answer(
        criteria,
        f"Between α = 1 and {last:g}, the median regret, that of a run without a failure, goes "
        f"{'; '.join(spans)}.",
        Evidence("α", "median regret", series, logx=True, logy=True),
    )


def _median(point: Point) -> Uncertain:
    """Return the median with its error, from the quartiles of a distribution that is nearly normal.

    The error of a normal sample's median is 1.25 standard deviations over the root of its size, and
    its quartiles are 1.35 standard deviations apart.
    """
    low, middle, high = point.quantiles[3:6]
    error = 1.25 * (high - low) / 1.35 / math.sqrt(point.effective_runs)
    return Uncertain(middle, error)
