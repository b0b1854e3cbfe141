"""Every sentence of the paper about its experiments, with the numbers that answer it.

In the order of the text; `CLAIMS`, below the functions that answer them, quotes them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from .._text import power_of_ten
from ..reports.estimates import Uncertain
from ..theory import ocucb_shape
from .claims import (
    ALPHAS,
    ARMS,
    COMPARISON,
    EVERY,
    FEWEST,
    PANELS,
    SENSITIVITY,
    THOMPSON,
    UNIFORM,
    Answer,
    Claim,
    Criterion,
    Curves,
    Evidence,
    Finding,
    Series,
    mean_of,
    place,
    value_of,
)
from .measure import Point


def _exactly(
    statistic: str, estimate: Uncertain, threshold: float, below: bool = True
) -> Criterion:
    return Criterion(statistic, estimate, threshold, threshold, below)


def _up_to(statistic: str, estimate: Uncertain, surely: float, never: float) -> Criterion:
    return Criterion(statistic, estimate, surely, never, surely < never)


def _span(numbers: Iterable[float], digits: int = 2) -> str:
    low, *_, high = (*sorted(numbers),) * 2
    return f"{low:.{digits}f} to {high:.{digits}f}"


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


# --- introduction and theorems ------------------------------------------------------------------


def _superb(curves: Curves) -> Answer:
    factors = [factor for panel in EVERY for factor in curves.factors(panel, "OCUCB")]
    stretches = [one for panel in EVERY for one in curves.stretches(panel, "OCUCB")]
    mean = math.exp(sum(map(math.log, factors)) / len(factors))
    # neighbouring stretches are independent, and so are policies: at most twice OCUCB's own error
    errors = [2.0 * one.error / one.value for one in stretches]
    error = mean * math.sqrt(sum(x * x for x in errors)) / len(errors)
    average = Uncertain(mean, error)
    best = sum(factor < 1.0 for factor in factors) / len(factors)
    statistic = "OCUCB's regret over that of the best other policy, averaged over six panels"
    return Answer(
        [_up_to(statistic, average, 1.0, 1.5)],
        f"On average over the six panels, OCUCB has {average} times the regret of the best other "
        f"policy at the same place, and the lowest of all at {best:.0%} of the places.",
        Evidence(
            "place, from best to worst",
            "over the best other",
            [Series("OCUCB", [i / len(factors) for i in range(len(factors))], sorted(factors))],
            level=1.0,
        ),
    )


def _hopeless(curves: Curves) -> Answer:
    ucb, improved, uniform = curves.lines("improved")
    pairs = zip(curves.line("improved", improved), curves.line("improved", ucb), strict=True)
    ratios = [mean_of([a]) / mean_of([b]) for a, b in pairs]
    worst, least = max(ratios, key=value_of), min(ratios, key=value_of)
    random = curves.between("improved", improved, 0.3, 0.3) / curves.between(
        "improved", uniform, 0.3, 0.3
    )
    return Answer(
        [_up_to("improved UCB's regret over UCB's, at worst", worst, 3.0, 1.2)],
        f"Its regret is {least.value:.1f} to {worst.value:.1f} times UCB's (K = 10, n = 10⁴), and "
        f"at Δ = 0.3 it is {random.value:.0%} of what playing at random costs: true for every "
        f"meaning of hopeless up to {worst.value:.1f} times UCB's.",
        Evidence(
            "Δ",
            "expected regret",
            [curves.drawn("improved", name) for name in curves.lines("improved")],
            logy=True,
        ),
    )


def _typically(curves: Curves) -> Answer:
    criteria, series, parts = [], [], []
    for rival in ("UCB", "AOCUCB", "MOSS", THOMPSON, "Gittins"):
        mine = [panel for panel in EVERY if rival in curves.lines(panel)]
        chances = [p for panel in mine for p in curves.shares(panel, "OCUCB", rival)]
        share = sum(chances) / len(chances)
        error = math.sqrt(sum(p * (1.0 - p) for p in chances)) / len(chances)
        statistic = f"share of the places at which OCUCB has less regret than {rival}"
        criteria.append(_exactly(statistic, Uncertain(share, error), 0.5, below=False))
        parts.append(f"{share:.0%} of the places against {rival}")
        panel = "exp1"
        series.append(curves.drawn_ratio(panel, "OCUCB", rival, rival))
    return Answer(
        criteria,
        f"It has less regret at {', '.join(parts[:-1])}, but only {parts[-1]}, which is in two of "
        "the six panels.",
        Evidence("Δ (K = 2)", "OCUCB over the other", series, level=1.0),
    )


def _psi_is_weak(curves: Curves) -> Answer:
    lines, powers = curves.lines("psi"), []
    for line in lines:
        ratio = curves.at("psi", line, 16) / curves.at("psi", line, 2)
        powers.append(ratio.log(math.log(8.0)))
    alphas = []
    for line in curves.lines("alpha"):
        ratio = curves.at("alpha", line, 6) / curves.at("alpha", line, 3)
        alphas.append(ratio.log(math.log(2.0)))
    worst = max(powers, key=value_of)
    doubling = [2.0**one.value - 1.0 for one in powers]
    return Answer(
        [_up_to("power of ψ with which regret grows from ψ = 2 to 16", worst, 0.05, 0.5)],
        f"From ψ = 2 to 16, regret grows like ψ to the power of {_span(p.value for p in powers)} "
        f"on three problems: doubling ψ costs {min(doubling):.1%} to {max(doubling):.1%}. (α, from "
        f"3 to 6: a power of {_span(p.value for p in alphas)}.) True if very weak allows a power "
        f"of {worst.value:.2f}.",
        Evidence(
            "ψ",
            "regret over that at ψ = 2",
            [
                Series(
                    line,
                    [p.x for p in curves.line("psi", line)],
                    [
                        p.mean / curves.between("psi", line, 2, 2).value
                        for p in curves.line("psi", line)
                    ],
                )
                for line in lines
            ],
            level=1.0,
            logx=True,
        ),
    )


def _three_is_excellent(curves: Curves) -> Answer:
    rivals = curves.extreme(EVERY, "OCUCB")
    every = curves.extreme(SENSITIVITY, "OCUCB")
    inner = curves.extreme(SENSITIVITY, "OCUCB", (ALPHAS[2], ALPHAS[6]))
    return Answer(
        [
            _up_to("α = 3 over the best other policy, at worst", rivals, 1.05, 2.0),
            _up_to("α = 3 over the best other α, at worst", every, 1.05, 3.0),
        ],
        f"At worst, {rivals} times the regret of the best other policy ({rivals.where}), and "
        f"{every} times that of the best other α ({every.where}, against α = 1; {inner} times "
        f"against α = 2 and 6): true for every meaning of excellent from {rivals.value:.2f} on "
        f"among policies, from {every.value:.2f} on among all α.",
        Evidence(
            "Δ (K = 2)",
            "α = 3 over another α",
            [
                curves.drawn_ratio("exp4", "OCUCB", ALPHAS[a], f"over α = {a}")
                for a in (1, 2, 6)
                if ALPHAS[a] in curves.lines("exp4")
            ],
            level=1.0,
            logy=True,
        ),
    )


def _teaser(curves: Curves) -> Answer:
    peaks = {}
    for line in ("UCB", "OCUCB", THOMPSON):
        peaks[line] = curves.peak("exp1", line)
    criteria = [
        _exactly(f"OCUCB's largest regret over {line}'s", peaks["OCUCB"] / peaks[line], 1.0)
        for line in ("UCB", THOMPSON)
    ]
    return Answer(
        criteria,
        f"Over all Δ, the largest regret of OCUCB is {peaks['OCUCB'].value:.0f}, that of UCB "
        f"{peaks['UCB'].value:.0f} and of Thompson sampling {peaks[THOMPSON].value:.0f}. (The "
        "curve that the paper's own picture calls Thompson sampling is a column that it elsewhere "
        "calls AOCUCB.)",
        Evidence("Δ", "expected regret", [curves.drawn("exp1", line) for line in peaks]),
    )


# --- conclusions and computation ----------------------------------------------------------------


def _work(curves: Curves) -> Answer:
    last = max(curves.xs("work"))
    found = {line: curves.between("work", line, last, last) for line in curves.lines("work")}
    few, *_, many = found
    falls = [
        curves.between("work", line, last, last)
        - curves.between("work", line, last / 10, last / 10)
        for line in found
    ]
    return Answer(
        [
            _exactly(f"change from n = {last / 10:,.0f} to {last:,.0f} ({line})", fall, 0.0)
            for line, fall in zip(found, falls, strict=True)
        ],
        f"With a heap, OCUCB computes {found[few].value:.3f} indices per round for {few} and "
        f"{found[many].value:.2f} for {many} at n = {last:,.0f}, and ever fewer as n grows, "
        "whatever K is. (The heap itself takes O(log K) steps to reorder.)",
        Evidence(
            "n",
            "indices per round",
            [curves.drawn("work", line) for line in found],
            level=1.0,
            logx=True,
        ),
    )


def _spread(panel: str, symbol: str) -> Callable[[Curves], Answer]:
    def check(curves: Curves) -> Answer:
        criteria, turns, least = [], [], []
        for line in curves.lines(panel):
            points = curves.line(panel, line)
            spread = [
                Uncertain(p.deviation, p.deviation_error, f"{symbol} = {p.x:g}") for p in points
            ]
            low = min(range(len(spread)), key=lambda i: spread[i].value)
            before, after = spread[low] / spread[0], spread[-1] / spread[low]
            if low > 0:
                statistic = f"{line}: standard deviation at its minimum over the first"
                criteria.append(_exactly(statistic, before, 1.0))
            if low < len(spread) - 1:
                statistic = f"{line}: standard deviation at the last {symbol} over the minimum"
                criteria.append(_exactly(statistic, after, 1.0))
            turns.append(points[low].x)
            least.append((before.value, after.value))
        name = f"{symbol} = {points[0].x:g} to {points[-1].x:g}"
        return Answer(
            criteria,
            f"On three problems and over {name}, the standard deviation first falls, to "
            f"{_span(b for b, _ in least)} times its value, and then rises again, by "
            f"{min(a for _, a in least) - 1:.0%} to {max(a for _, a in least) - 1:.0%}; it turns "
            f"near {symbol} = {' and '.join(f'{x:g}' for x in sorted(set(turns)))}.",
            Evidence(
                symbol,
                "standard deviation",
                [
                    Series(
                        line,
                        [p.x for p in curves.line(panel, line)],
                        [p.deviation for p in curves.line(panel, line)],
                        [2.0 * p.deviation_error for p in curves.line(panel, line)],
                    )
                    for line in curves.lines(panel)
                ],
                logx=True,
                logy=True,
            ),
        )

    return check


# --- sensitivity --------------------------------------------------------------------------------


def _alpha_ratio(curves: Curves, panel: str, x: float, above: int, below: int) -> Uncertain:
    high, low = (curves.between(panel, ALPHAS[a], x, x) for a in (above, below))
    return high / low


def _best_alpha_varies(curves: Curves) -> Answer:
    small = _alpha_ratio(curves, "exp4", 2.0, 1, 3)
    large = _alpha_ratio(curves, "exp6", 100_000, 1, 3)
    return Answer(
        [
            _exactly("α = 1 over α = 3 at K = 2, Δ = 2, n = 10⁴", small, 1.0),
            _exactly("α = 1 over α = 3 at K = 2, Δ = 0.2, n = 10⁵", large, 1.0, below=False),
        ],
        f"At K = 2, α = 1 has {small} times the regret of α = 3 for Δ = 2, n = 10⁴, and {large} "
        "times for Δ = 0.2, n = 10⁵.",
        Evidence(
            "Δ (K = 2)",
            "expected regret",
            [curves.drawn("exp4", name, f"α = {a}") for a, name in ALPHAS.items()],
        ),
    )


def _alpha_is_reasonable(curves: Curves) -> Answer:
    every = tuple(ALPHAS.values())
    worst = {a: curves.extreme(SENSITIVITY, ALPHAS[a], every) for a in (2, 3)}
    others = {
        a: max(x for panel in SENSITIVITY for x in curves.factors(panel, ALPHAS[a], every))
        for a in (1, 6)
    }
    criteria = [
        _up_to(f"α = {a} over the best other α, at worst", worst[a], 1.05, 5.0) for a in (2, 3)
    ]
    return Answer(
        criteria,
        f"At worst, α = 2 has {worst[2]} times the regret of the best other α ({worst[2].where}) "
        f"and α = 3 {worst[3]} times ({worst[3].where}); α = 1 has about {others[1]:.0f} and α = 6 "
        f"about {others[6]:.0f} times. True for every meaning of reasonable from "
        f"{max(worst[2].value, worst[3].value):.2f} on.",
        Evidence(
            "Δ (K = 2)",
            "over the best other α",
            [
                Series(
                    f"α = {a}",
                    curves.middles("exp4"),
                    curves.factors("exp4", name, tuple(ALPHAS.values())),
                )
                for a, name in ALPHAS.items()
            ],
            level=1.0,
            logy=True,
        ),
    )


def _large_alpha_small_n(curves: Curves) -> Answer:
    criteria, words, series = [], [], []
    for panel, arms in (("exp6", 2), ("exp7", 10)):
        few, many = (_alpha_ratio(curves, panel, n, 6, 1) for n in (5000, 100_000))
        three = _alpha_ratio(curves, panel, 5000, 6, 3)
        criteria += [
            _exactly(
                f"K = {arms}: α = 6 over α = 1 at n = 5000, over that at 10⁵", few / many, 1.0
            ),
            _exactly(f"K = {arms}: α = 6 over α = 3 at n = 5000", three, 1.0),
        ]
        words.append(
            f"At K = {arms}, α = 6 has {few.value:.2f} times the regret of α = 1 at n = 5000 and "
            f"{many.value:.2f} times at n = 10⁵, and {three.value:.2f} times that of α = 3 at "
            "n = 5000."
        )
        series.append(curves.drawn_ratio(panel, ALPHAS[6], ALPHAS[1], f"K = {arms}"))
    return Answer(
        criteria,
        f"It is the other way round: a large α pays when n is large. {' '.join(words)}",
        Evidence("n", "α = 6 over α = 1", series, level=1.0, logy=True),
    )


def _small_alpha_large_gap(curves: Curves) -> Answer:
    criteria, numbers = [], []
    for panel, arms in (("exp4", 2), ("exp5", 10)):
        for less, more in ((1, 2), (2, 3), (3, 6)):
            ratio = _alpha_ratio(curves, panel, 2.0, less, more)
            statistic = f"K = {arms}, Δ = 2: α = {less} over α = {more}"
            criteria.append(_exactly(statistic, ratio, 1.0))
            numbers.append(f"{ratio.value:.2f}")
    return Answer(
        criteria,
        f"At Δ = 2, regret rises with α from 1 over 2 and 3 to 6: by ratios of "
        f"{', '.join(numbers[:3])} at K = 2 and {', '.join(numbers[3:])} at K = 10.",
        Evidence(
            "Δ (K = 2)",
            "over α = 6",
            [curves.drawn_ratio("exp4", ALPHAS[a], ALPHAS[6], f"α = {a}") for a in (1, 2, 3)],
            level=1.0,
            logy=True,
        ),
    )


def _alpha_is_conservative(curves: Curves) -> Answer:
    criteria, series, spans = [], [], []
    for line in curves.lines("alpha"):
        points = curves.line("alpha", line)
        medians = [_median(p) for p in points]
        steps = [later / earlier for earlier, later in itertools.pairwise(medians)]
        least = min(steps, key=value_of)
        statistic = f"{line}: median regret at one α over that at the α before, smallest"
        criteria.append(_exactly(statistic, least, 1.0, below=False))
        spans.append(f"{medians[0].value:.0f} to {medians[-1].value:.0f}")
        series.append(Series(line, [p.x for p in points], [m.value for m in medians]))
    return Answer(
        criteria,
        "A run in which nothing goes wrong costs the more the larger α is: the median regret rises "
        f"all the way from α = 1 to 20 ({', '.join(spans)} on three problems), while failures "
        "become rare.",
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


# --- comparison ---------------------------------------------------------------------------------


def _constant(policy: str, others: Sequence[float]) -> Callable[[Curves], Answer]:
    def check(curves: Curves) -> Answer:
        lines = [name for name in curves.lines("constants") if name.startswith(f"{policy}, ")]
        ratios = {
            (line, c): curves.at("constants", line, c) / curves.at("constants", line, 2.0)
            for line in lines
            for c in others
        }
        (line, c), least = min(ratios.items(), key=lambda item: item[1].value)
        most = max(one.value for one in ratios.values())
        listed = f"{others[0]:g}" if len(others) == 1 else f"{others[0]:g} to {others[-1]:g}"
        return Answer(
            [_exactly(f"{policy} with another constant over 2, at least", least, 1.0, below=False)],
            f"On four problems, {policy} with a constant of {listed} has {least} "
            f"({line.partition(', ')[2]}, {c:g}) to {most:.2f} times the regret of constant 2.",
            Evidence(
                "constant",
                "regret over that with 2",
                [
                    Series(
                        line.partition(", ")[2],
                        curves.xs("constants"),
                        [
                            p.mean / curves.between("constants", line, 2, 2).value
                            for p in curves.line("constants", line)
                        ],
                    )
                    for line in lines
                ],
                level=1.0,
            ),
        )

    return check


def _gittins_is_practical(curves: Curves) -> Answer:
    horizon = max(p.x for panel in ("exp8", "exp9") for p in curves.line(panel, "Gittins"))
    return Answer(
        [_exactly("largest horizon at which Gittins was played here", Uncertain(horizon, 0), 1e4)],
        f"No longer: here Gittins is played up to n = {horizon:,.0f}, in both panels from which "
        "the paper omits it, and indices up to 10⁶ take seconds.",
        Evidence(
            "n (K = 2)",
            "expected regret",
            [
                curves.drawn("exp8", "Gittins", "Gittins (ours)"),
                curves.drawn("exp8", "OCUCB"),
            ],
        ),
    )


def _regimes(curves: Curves) -> Answer:
    del curves
    comparison, sensitivity = PANELS["exp8"].lines[0], PANELS["exp6"].lines[0]
    gaps = [float(line.at(5000)[1].gaps.max()) for line in (comparison, sensitivity)]
    lasts = [PANELS[name].xs[-1] for name in ("exp1", "exp4")]
    return Answer(
        [
            _exactly("difference of the gaps where n varies", Uncertain(gaps[0] - gaps[1], 0), 0.0),
            _exactly(
                "largest Δ, sensitivity minus comparison", Uncertain(lasts[1] - lasts[0], 0), 0
            ),
        ],
        f"Where n varies, Δ is {gaps[0]:g} in this figure and {gaps[1]:g} in that one; where Δ "
        f"varies, it goes up to {lasts[0]:g} here and to {lasts[1]:g} there.",
        Evidence(
            "largest Δ shown; Δ where n varies",
            "Δ",
            [
                Series("comparison", [0, 1], [lasts[0], gaps[0]]),
                Series("sensitivity", [0, 1], [lasts[1], gaps[1]]),
            ],
        ),
    )


def _competitive(line: str, some_panels: tuple[str, ...]) -> Callable[[Curves], Answer]:
    def check(curves: Curves) -> Answer:
        worst = curves.extreme(some_panels, line)
        known = [name for name in curves.lines("exp1") if name != "Gittins"]
        without = curves.extreme(some_panels, line, known)
        return Answer(
            [_up_to(f"{line} over the best other policy, at worst", worst, 1.05, 2.0)],
            f"At worst, {worst} times the regret of the best other policy ({worst.where}); "
            f"{without} times without Gittins ({without.where}). True for every meaning of "
            f"competitive from {worst.value:.2f} on.",
            Evidence(
                "Δ",
                "over the best other",
                [
                    curves.drawn_factor("exp1", line, "K = 2"),
                    curves.drawn_factor("exp2", line, "K = 10"),
                ],
                level=worst.value,
            ),
        )

    return check


def _sometimes_better(curves: Curves) -> Answer:
    best = curves.extreme(EVERY, "OCUCB", largest=False)
    return Answer(
        [_exactly("OCUCB over the best other policy, where it does best", best, 1.0)],
        f"Where it does best, OCUCB has {best} times the regret of the best other policy "
        f"({best.where}).",
        Evidence(
            "Δ",
            "over the best other",
            [
                curves.drawn_factor("exp1", "OCUCB", "K = 2"),
                curves.drawn_factor("exp2", "OCUCB", "K = 10"),
            ],
            level=1.0,
        ),
    )


def _gittins_wins(curves: Curves) -> Answer:
    criteria, words = [], []
    for panel, arms in (("exp1", 2), ("exp2", 10)):
        average = curves.between(panel, "Gittins", 0, 1) / curves.between(panel, "OCUCB", 0, 1)
        last = max(curves.xs(panel))
        end = curves.at(panel, "Gittins", last) / curves.at(panel, "OCUCB", last)
        peak = curves.peak(panel, "Gittins") / curves.peak(panel, "OCUCB")
        ahead = [p > 0.5 for p in curves.shares(panel, "Gittins", "OCUCB")]
        since = len(ahead)
        while since and ahead[since - 1]:
            since -= 1
        start = curves.middles(panel)[min(since, len(ahead) - 1)]
        criteria += [
            _exactly(f"K = {arms}: Gittins over OCUCB at Δ = 1", end, 1.0),
            _exactly(f"K = {arms}: Gittins over OCUCB, averaged over Δ", average, 1.0),
            _exactly(f"K = {arms}: largest regret of Gittins over that of OCUCB", peak, 1.0),
        ]
        words.append(
            f"at K = {arms}, {average.value:.2f} times the regret of OCUCB on average over Δ, "
            f"{peak.value:.2f} times at the peak and {end.value:.2f} times at Δ = 1, and less from "
            f"Δ of about {start:.1g} on"
        )
    return Answer(
        criteria,
        f"Gittins has, {'; '.join(words)}.",
        Evidence(
            "Δ",
            "Gittins over OCUCB",
            [
                curves.drawn_ratio("exp1", "Gittins", "OCUCB", "K = 2"),
                curves.drawn_ratio("exp2", "Gittins", "OCUCB", "K = 10"),
            ],
            level=1.0,
        ),
    )


def _indistinguishable(some_panels: tuple[str, ...]) -> Callable[[Curves], Answer]:
    def check(curves: Curves) -> Answer:
        shares = {}
        for panel in some_panels:
            height = curves.height(panel)
            pairs = zip(
                curves.stretches(panel, THOMPSON),
                curves.stretches(panel, "AOCUCB"),
                curves.middles(panel),
                strict=True,
            )
            likely = sorted(((abs((a - b).value), x) for a, b, x in pairs), reverse=True)
            found = []
            for _, x in likely[:2]:
                gap = curves.at(panel, THOMPSON, x) - curves.at(panel, "AOCUCB", x)
                found.append(Uncertain(abs(gap.value), gap.error, gap.where).times(1.0 / height))
            shares[panel] = max(found, key=value_of)
        worst = max(shares.values(), key=value_of)
        percent = worst.times(100.0)
        others = max((s.value for s in shares.values() if s is not worst), default=0.0)
        return Answer(
            [_up_to("largest distance as a share of the axis", worst, 0.005, 0.25)],
            f"The curves are up to {percent}% of the axis apart ({worst.where}), and up to "
            f"{others:.0%} in the other panel{'s' if len(shares) > 2 else ''}: true if they may be "
            f"{worst.value:.0%} apart.",
            Evidence(
                "Δ (K = 2)" if "exp1" in some_panels else "n (K = 100)",
                "expected regret",
                [
                    curves.drawn("exp1" if "exp1" in some_panels else "exp12", line)
                    for line in (THOMPSON, "AOCUCB")
                ],
            ),
        )

    return check


# --- failure of MOSS ----------------------------------------------------------------------------


def _moss_line(curves: Curves) -> str:
    return next(name for name in curves.lines("exp10") if name.startswith("MOSS"))


def _failure(curves: Curves, ratio: bool = True) -> Evidence:
    moss = _moss_line(curves)
    if ratio:
        series = [curves.drawn_ratio("exp10", moss, "OCUCB", f"{moss} over OCUCB")]
        return Evidence("K", f"{moss} over OCUCB", series, level=1.0, logx=True)
    series = [curves.drawn("exp10", "OCUCB"), curves.drawn("exp10", moss)]
    return Evidence("K", "expected regret", series)


def _failure_ratio(curves: Curves, K: float) -> Uncertain:
    """Return MOSS's regret over OCUCB's; small games are measured again, large ones are precise."""
    get = curves.at if K <= 200 else lambda panel, line, x: curves.between(panel, line, x, x)
    return get("exp10", _moss_line(curves), K) / get("exp10", "OCUCB", K)


def _too_slow(curves: Curves) -> Answer:
    xs = curves.xs("exp10")
    samples = Uncertain(max(xs) ** 4, 0.0)
    return Answer(
        [_up_to("normal samples in one run, step by step", samples, 1e12, 1e9)],
        f"Step by step, n K = {_power(samples.value)} normal samples in one run at K = "
        f"{max(xs):,.0f}, which is hours. Skip-ahead plays the same game exactly, in seconds a run "
        "at K = 600, but at K = 2,500 still in minutes.",
        Evidence(
            "K",
            "samples in a run",
            [Series("step by step", xs, [float(x) ** 4 for x in xs])],
            logx=True,
            logy=True,
        ),
    )


def _moss_explodes(curves: Curves) -> Answer:
    moss, last = _moss_line(curves), max(curves.xs("exp10"))
    ratio, small = _failure_ratio(curves, last), _failure_ratio(curves, 100)

    def power(line: str) -> Uncertain:
        growth = curves.between("exp10", line, last, last) / curves.at("exp10", line, 100)
        return growth.log(math.log(last / 100))

    powers = power(moss), power("OCUCB")
    return Answer(
        [
            _exactly(
                f"{moss} over OCUCB at K = {last:g}, over that at 100",
                ratio / small,
                1.0,
                below=False,
            ),
            _exactly(
                f"power of K: {moss}'s minus OCUCB's", powers[0] - powers[1], 0.0, below=False
            ),
        ],
        f"{moss} has {ratio} times OCUCB's regret at K = {last:,.0f}; from K = 100 on, its regret "
        f"grows like K to the power of {powers[0].value:.2f}, OCUCB's like {powers[1].value:.2f}.",
        _failure(curves, ratio=False),
    )


def _ocucb_is_good(curves: Curves) -> Answer:
    factors = []
    for x in curves.xs("exp10"):
        _, problem, n = PANELS["exp10"].lines[0].at(x)
        sums = ocucb_shape(problem.means, n).value
        found = curves.between("exp10", "OCUCB", x, x)
        factors.append(Uncertain(found.value / sums, found.error / sums, place("exp10", x)))
    worst = max(factors, key=lambda one: one.value - 2.0 * one.error)
    return Answer(
        [_up_to("OCUCB's regret over theorem 1's sum with constant 1, at worst", worst, 0.7, 10.0)],
        f"Its regret is at most {worst} times Σ (1/Δ_i) log⁺(n/H_i), the order of theorem 1 with "
        f"constant 1 ({worst.where}); the limit for n → ∞ that no good policy can beat is 2. True "
        f"for every meaning of good from {worst.value:.1f} on.",
        Evidence(
            "K",
            "over theorem 1's sum",
            [
                Series(
                    "OCUCB",
                    curves.xs("exp10"),
                    [one.value for one in factors],
                    [2.0 * one.error for one in factors],
                )
            ],
            level=2.0,
            logx=True,
        ),
    )


def _serious(curves: Curves) -> Answer:
    xs = curves.xs("exp10")
    ratios = {K: _failure_ratio(curves, K) for K in xs}
    small = max((ratios[K] for K in xs if K <= 100), key=value_of)
    twice, half = (
        next((K for K in xs if all(ratios[L].value > most for L in xs if L >= K)), math.nan)
        for most in (2.0, 1.5)
    )
    return Answer(
        [_up_to("MOSS over OCUCB for K ≤ 100, at worst", small, 1.05, 2.0)],
        f"Up to K = 100, MOSS has at most {small} times OCUCB's regret ({small.where}); it has "
        f"more than 1.5 times from K = {half:g} (n = {_power(half**3)}) and more than twice from "
        f"K = {twice:g} (n = {_power(twice**3)}) on. True for every meaning of serious from "
        f"{small.value:.2f} on.",
        _failure(curves),
    )


def _slightly(curves: Curves) -> Answer:
    pairs = [
        a / b
        for panel in EVERY
        for a, b in zip(
            curves.stretches(panel, "MOSS"), curves.stretches(panel, "OCUCB"), strict=True
        )
    ]
    ratios = sorted(one.value for one in pairs)
    error = 1.25 * math.sqrt(sum(one.error**2 for one in pairs)) / len(pairs)
    median = Uncertain(ratios[len(ratios) // 2], error)
    worse = sum(x > 1.0 for x in ratios) / len(ratios)
    most = curves.extreme(EVERY, "MOSS", ["OCUCB"])
    return Answer(
        [_up_to("median of MOSS over OCUCB, over six panels", median, 1.2, 2.0)],
        f"In the six panels with K ≤ 100, MOSS has more regret than OCUCB at {worse:.0%} of the "
        f"places; the median ratio is {median}, the largest {most} ({most.where}).",
        Evidence(
            "place, from best to worst",
            "MOSS over OCUCB",
            [Series("MOSS", [i / len(ratios) for i in range(len(ratios))], ratios)],
            level=1.0,
        ),
    )


# --- uniformly distributed arms -----------------------------------------------------------------


def _two_lead(curves: Curves) -> Answer:
    criteria, words = [], []
    for panel in UNIFORM:
        rivals = [name for name in curves.lines(panel) if name not in ("OCUCB", "MOSS")]
        found = [
            max((curves.between(panel, a, x, x) for a in ("OCUCB", "MOSS")), key=value_of)
            / min((curves.between(panel, b, x, x) for b in rivals), key=value_of)
            for x in curves.xs(panel)
            if x >= 1000
        ]
        worst, arms = max(found, key=value_of), ARMS[panel]
        statistic = f"K = {arms}: the worse of the two over the best other, n ≥ 1000, at worst"
        criteria.append(_exactly(statistic, worst, 1.0))
        words.append(f"{worst} times at K = {arms}")
    return Answer(
        criteria,
        f"From n = 1000 to 10⁵, the worse of the two has at most {' and '.join(words)} the regret "
        "of the best other policy.",
        Evidence(
            "n (K = 100)",
            "expected regret",
            [curves.drawn("exp12", line) for line in curves.lines("exp12")],
        ),
    )


def _ucb_is_worse(curves: Curves) -> Answer:
    criteria, words = [], []
    for panel in UNIFORM:
        rivals = [name for name in curves.lines(panel) if name != "UCB"]
        found = [
            curves.between(panel, "UCB", x, x)
            / max((curves.between(panel, b, x, x) for b in rivals), key=value_of)
            for x in curves.xs(panel)
            if x >= 10_000
        ]
        least, arms = min(found, key=value_of), ARMS[panel]
        statistic = f"K = {arms}: UCB over the worst other policy, n ≥ 10⁴, at least"
        criteria.append(_exactly(statistic, least, 1.0, below=False))
        words.append(f"{found[0].value:.2f} to {found[-1].value:.2f} times at K = {arms}")
    return Answer(
        criteria,
        f"From n = 10⁴ to 10⁵, UCB has {' and '.join(words)} the regret of the worst other policy.",
        Evidence(
            "n",
            "UCB over AOCUCB",
            [
                curves.drawn_ratio("exp11", "UCB", "AOCUCB", "K = 10"),
                curves.drawn_ratio("exp12", "UCB", "AOCUCB", "K = 100"),
            ],
            level=1.0,
        ),
    )


_APPENDIX = "appendix Experiments"
CLAIMS = (
    Claim(
        1,
        "The new algorithm is … empirically superb.",
        "abstract, l. 158; conclusions, l. 751",
        EVERY,
        _superb,
    ),
    Claim(
        2,
        "Improved UCB is … empirically hopeless.",
        "introduction, l. 217",
        ("improved",),
        _hopeless,
    ),
    Claim(
        3,
        "OCUCB typically outperforms existing approaches.",
        "introduction, l. 231",
        EVERY,
        _typically,
    ),
    Claim(
        4,
        "The algorithm is very insensitive to ψ. / The dependence on ψ is very weak.",
        f"section 2, l. 282; {_APPENDIX}, l. 1189",
        ("psi", "alpha"),
        _psi_is_weak,
    ),
    Claim(
        5,
        "α = 3 led to consistently excellent performance.",
        "section 2, l. 282",
        (*SENSITIVITY, *EVERY),
        _three_is_excellent,
    ),
    Claim(
        6,
        "The graph teases the worst-case performance of OCUCB relative to UCB and Thompson "
        "sampling.",
        "section 5, l. 742",
        ("exp1",),
        _teaser,
    ),
    Claim(
        7,
        "The running time … over n time steps is O(n) in expectation (asymptotically). / "
        "The algorithm is … extremely efficient.",
        "appendix Computation Time, l. 1024; conclusions, l. 750",
        ("work",),
        _work,
    ),
    Claim(
        8,
        "Merely increasing ψ … will decrease the variance of OCUCB.",
        "conclusions, l. 776",
        ("psi",),
        _spread("psi", "ψ"),
    ),
    Claim(
        9,
        "Merely increasing … (or α) will decrease the variance of OCUCB.",
        "conclusions, l. 776",
        ("alpha",),
        _spread("alpha", "α"),
    ),
    Claim(
        10,
        "The optimal α is problem specific.",
        f"{_APPENDIX}, l. 1187",
        ("exp4", "exp6"),
        _best_alpha_varies,
    ),
    Claim(
        11,
        "α ∈ [2, 3] is a reasonable choice in all regimes.",
        f"{_APPENDIX}, l. 1187",
        SENSITIVITY,
        _alpha_is_reasonable,
    ),
    Claim(
        12,
        "In general, a large α leads to better performance when n is small.",
        f"{_APPENDIX}, l. 1188",
        ("exp6", "exp7"),
        _large_alpha_small_n,
        headline=True,
    ),
    Claim(
        13,
        "Small α is better when Δ is large.",
        f"{_APPENDIX}, l. 1188",
        ("exp4", "exp5"),
        _small_alpha_large_gap,
    ),
    Claim(
        14,
        "Large α makes the algorithm more conservative.",
        f"{_APPENDIX}, l. 1189",
        ("alpha",),
        _alpha_is_conservative,
    ),
    Claim(
        15,
        "In practice the 2 inside the square root [of UCB] is uniformly better than any "
        "larger constant.",
        f"{_APPENDIX}, l. 1241",
        ("constants",),
        _constant("UCB", (2.5, 3.0, 4.0, 6.0, 8.0)),
    ),
    Claim(
        16,
        "The analysis … would suggest using a constant of 4 for MOSS, but 2 led to "
        "improved empirical results.",
        f"{_APPENDIX}, l. 1242",
        ("constants",),
        _constant("MOSS", (4.0,)),
    ),
    Claim(
        17,
        "The Gittins index strategy is not practical computationally for horizons larger "
        "than n = 10⁴. / Its computation is impractical for large horizons.",
        f"{_APPENDIX}, l. 1248 and 1315",
        ("exp8", "exp9"),
        _gittins_is_practical,
    ),
    Claim(
        18,
        "In the first set of experiments I use the same regimes as [in the figure on sensitivity].",
        f"{_APPENDIX}, l. 1255",
        ("exp1", "exp4", "exp6", "exp8"),
        _regimes,
    ),
    Claim(
        19,
        "OCUCB is always competitive with the best.",
        f"{_APPENDIX}, l. 1314",
        COMPARISON,
        _competitive("OCUCB", COMPARISON),
        headline=True,
    ),
    Claim(
        20,
        "OCUCB is … sometimes significantly better.",
        f"{_APPENDIX}, l. 1314",
        EVERY,
        _sometimes_better,
    ),
    Claim(
        21,
        "Arguably the Gittins strategy is the winner for small horizons.",
        f"{_APPENDIX}, l. 1314",
        ("exp1", "exp2"),
        _gittins_wins,
    ),
    Claim(
        22,
        "MOSS is also competitive in these regimes.",
        f"{_APPENDIX}, l. 1316",
        COMPARISON,
        _competitive("MOSS", COMPARISON),
    ),
    Claim(
        23,
        "Thompson sampling and AOCUCB are almost indistinguishable.",
        f"{_APPENDIX}, l. 1317",
        COMPARISON,
        _indistinguishable(COMPARISON),
    ),
    Claim(
        24,
        "Algorithms like Thompson sampling for which the running time is O(Kn) are too "
        "slow to evaluate in this regime for large K.",
        f"{_APPENDIX}, l. 1330",
        ("exp10",),
        _too_slow,
    ),
    Claim(
        25,
        "The regret of MOSS is exploding for large K.",
        f"{_APPENDIX}, l. 1331",
        ("exp10",),
        _moss_explodes,
        headline=True,
    ),
    Claim(
        26,
        "… while OCUCB enjoys good performance.",
        f"{_APPENDIX}, l. 1331",
        ("exp10",),
        _ocucb_is_good,
    ),
    Claim(
        27,
        "The issues are only serious when K (and so n) is unreasonably large.",
        f"{_APPENDIX}, l. 1331",
        ("exp10",),
        _serious,
    ),
    Claim(
        28,
        "In modestly sized experiments MOSS is usually only slightly worse than OCUCB.",
        f"{_APPENDIX}, l. 1332",
        EVERY,
        _slightly,
    ),
    Claim(
        29,
        "[With uniformly distributed arms] OCUCB and MOSS [are] leading the pack …",
        f"{_APPENDIX}, l. 1352",
        UNIFORM,
        _two_lead,
    ),
    Claim(
        30,
        "… with Thompson sampling and AOCUCB almost identical …",
        f"{_APPENDIX}, l. 1352",
        UNIFORM,
        _indistinguishable(UNIFORM),
    ),
    Claim(
        31,
        "… and UCB significantly worse.",
        f"{_APPENDIX}, l. 1353",
        UNIFORM,
        _ucb_is_worse,
    ),
)


def judge(points: Sequence[Point], again: Sequence[Point] = ()) -> list[Finding]:
    """Answer every sentence whose panels have all been measured.

    Parameters
    ----------
    points : list of Point
        The panels.
    again : list of Point
        The places of `places_to_measure_again`.
    """
    return _judged(Curves(points, again))


def _judged(curves: Curves) -> list[Finding]:
    points = list(curves.points)
    there = {point.panel for point in points}
    few = {one.panel for one in points if one.runs < FEWEST and not PANELS[one.panel].work}
    findings = []
    for claim in CLAIMS:
        if not there.issuperset(claim.panels):
            findings.append(Finding(claim))
            continue
        answer = claim.check(curves)
        enough = few.isdisjoint(claim.panels)
        criteria = [replace(one, enough_runs=enough) for one in answer.criteria]
        findings.append(Finding(claim, replace(answer, criteria=criteria)))
    return findings


def places_to_measure_again(points: Sequence[Point]) -> list[tuple[str, str, float]]:
    """Return the places (panel, line, x) on which some answer depends more than on others."""
    curves = Curves(points)
    _judged(curves)
    return list(curves.wanted)
