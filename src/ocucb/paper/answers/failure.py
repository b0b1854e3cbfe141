"""Appendix "Experiments": the failure of MOSS."""

from __future__ import annotations

import math

from ..._text import listed, power_of_ten
from ...reports.estimates import Uncertain, value_of
from ...theory import ocucb_shape
from ..claims import Answer, Curves, Evidence, Series, exactly, series_of, up_to
from ..panels import PANELS
from .comparison import impractical, time_of

_SAMPLE = 1e-8  # seconds for a normal sample, on one core
THOMPSON_SECONDS = {600: 6.0, 1000: 37.0, 2500: 770.0}  # for a run with skip-ahead, measured once


def _power(number: float) -> str:
    """Return a large number as people write it.

    Examples
    --------
    >>> _power(6.4e7), _power(3.9e13)
    ('6·10⁷', '4·10¹³')
    """
    if not math.isfinite(number):
        return "unknown"
    digit, _, exponent = f"{number:.0e}".partition("e+")
    return f"{digit}·{power_of_ten(int(exponent))}"


def _failure(curves: Curves, ratio: bool = True) -> Evidence:
    moss = curves.moss_line
    if ratio:
        series = [curves.drawn_ratio("exp10", moss, "OCUCB", f"{moss} over OCUCB")]
        return Evidence("K", f"{moss} over OCUCB", series, level=1.0, logx=True)
    series = [curves.drawn("exp10", "OCUCB"), curves.drawn("exp10", moss)]
    return Evidence("K", "expected regret", series)


def _failure_ratio(curves: Curves, K: float) -> Uncertain:
    """Return MOSS's regret over OCUCB's; small games are measured again, large ones are precise."""
    get = curves.at if K <= 200 else lambda panel, line, x: curves.between(panel, line, x, x)
    return get("exp10", curves.moss_line, K) / get("exp10", "OCUCB", K)


def _over_sum(curves: Curves, K: float) -> Uncertain:
    """Return OCUCB's regret over theorem 1's sum with constant 1."""
    return curves.between("exp10", "OCUCB", K, K).times(1.0 / _sum(K))


def _sum(K: float) -> float:
    _, problem, n = PANELS["exp10"].lines[0].at(K)
    return ocucb_shape(problem.means, n).value


def too_slow(curves: Curves) -> Answer:
    """Compare a run of Thompson sampling step by step with one that skips ahead."""
    xs = curves.xs("exp10")
    K = int(max(xs))
    then = _SAMPLE * K**4
    now = THOMPSON_SECONDS[K]
    times = listed(f"{time_of(s)} at K = {k:,}" for k, s in THOMPSON_SECONDS.items())
    series = [
        Series("step by step", xs, [_SAMPLE * float(x) ** 4 for x in xs]),
        Series("skip-ahead", [*THOMPSON_SECONDS], [*THOMPSON_SECONDS.values()]),
    ]
    return Answer(
        [
            impractical(f"a run at K = {K:,}", then, in_2015=True, part="2015"),
            impractical(f"a run at K = {K:,}", now, part="today"),
        ],
        f"Step by step, a run at K = {K:,} takes n K = {_power(K**4)} normal samples, which is "
        f"{time_of(then)} on one core. With skip-ahead, whose runs have the same distribution, a "
        f"run takes {times}.",
        Evidence("K", "seconds for a run", series, level=3600.0, logx=True, logy=True),
    )


def as_predicted(curves: Curves) -> Answer:
    """Compare how regrets grow with K with the orders in their bounds."""
    moss, last = curves.moss_line, max(curves.xs("exp10"))
    growth = curves.between("exp10", moss, last, last) / curves.between("exp10", moss, 400, 400)
    power = growth.log(math.log(last / 400))
    theirs = math.log(_sum(last) / _sum(400)) / math.log(last / 400)
    change = _over_sum(curves, last) / _over_sum(curves, 100)
    xs = curves.xs("exp10")
    series = [series_of("OCUCB", xs, [_over_sum(curves, K) for K in xs])]
    excess = f"{moss}: power of K from 400 on, minus that of theorem 1's sum"
    drift = f"OCUCB over theorem 1's sum: at K = {last:g} over that at 100"
    definition = "a bound of the right order allows its constant to grow {:.2f} times"
    return Answer(
        [
            exactly(excess, power - Uncertain(theirs, 0.0), 0.0, False, "MOSS"),
            up_to(drift, change, 1.5, 5.0, definition, "OCUCB"),
        ],
        f"From K = 400 on, the regret of {moss} scales as K to the power of {power.value:.2f}; its "
        f"bound sqrt(nK) to that of 2, theorem 1's sum to that of {theirs:.2f}. OCUCB's regret "
        f"over this sum is {change} times as large at K = {last:,.0f} as at K = 100.",
        Evidence("K", "OCUCB over theorem 1's sum", series, logx=True),
    )


def moss_explodes(curves: Curves) -> Answer:
    """Compare how fast the regrets of MOSS and OCUCB grow with K."""
    moss, last = curves.moss_line, max(curves.xs("exp10"))
    ratio, small = _failure_ratio(curves, last), _failure_ratio(curves, 100)

    def power(line: str) -> Uncertain:
        growth = curves.between("exp10", line, last, last) / curves.at("exp10", line, 100)
        return growth.log(math.log(last / 100))

    powers = power(moss), power("OCUCB")
    growth = f"{moss} over OCUCB at K = {last:g}, over that at 100"
    excess = f"power of K: {moss}'s minus OCUCB's"
    return Answer(
        [
            exactly(growth, ratio / small, 1.0, False, "the ratio"),
            exactly(excess, powers[0] - powers[1], 0.0, False, "the power of K"),
        ],
        f"{moss} has {ratio} times OCUCB's regret at K = {last:,.0f} and {small} times at K = 100; "
        f"in between, its regret scales as K to the power of {powers[0].value:.2f}, OCUCB's to "
        f"that of {powers[1].value:.2f}.",
        _failure(curves, ratio=False),
    )


def ocucb_is_good(curves: Curves) -> Answer:
    """Compare OCUCB's regret with theorem 1's sum."""
    xs = curves.xs("exp10")
    factors = [_over_sum(curves, K) for K in xs]
    worst = max(factors, key=lambda factor: factor.value - 2.0 * factor.error)
    series = [series_of("OCUCB", xs, factors)]
    definition = "“good” allows {:.1f} times that sum"
    statistic = "OCUCB's regret over theorem 1's sum with constant 1, at worst"
    return Answer(
        [up_to(statistic, worst, 0.7, 10.0, definition)],
        f"Its regret is at most {worst} times Σ (1/Δ_i) log⁺(n/H_i), the order of theorem 1 with "
        f"constant 1 ({worst.where}); as n → ∞, no good policy gets below 2.",
        Evidence("K", "over theorem 1's sum", series, level=2.0, logx=True),
    )


def serious(curves: Curves) -> Answer:
    """Find from which K on MOSS has much more regret than OCUCB."""
    xs = curves.xs("exp10")
    ratios = {K: _failure_ratio(curves, K) for K in xs}
    small = max((ratios[K] for K in xs if K <= 100), key=value_of)
    since = []
    for most in (1.5, 2.0):
        K = next((K for K in xs if all(ratios[L].value > most for L in xs if L >= K)), math.nan)
        if math.isfinite(K):
            since.append(f"more than {most:g} times from K = {K:g} (n = {_power(K**3)}) on")
    definition = "{:.2f} times OCUCB's regret is not “serious”"
    return Answer(
        [up_to("MOSS over OCUCB for K ≤ 100, at worst", small, 1.05, 2.0, definition)],
        f"Up to K = 100, MOSS has at most {small} times OCUCB's regret ({small.where}); it has "
        f"{' and '.join(since) or 'never more than 1.5 times'}.",
        _failure(curves),
    )
