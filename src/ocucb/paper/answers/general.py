"""Introduction, theorems, conclusions and the appendix on computation time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from ..._text import listed
from ...reports.estimates import Uncertain, average, geometric_mean, value_of
from ..claims import (
    FALSE,
    TRUE,
    Answer,
    Curves,
    Evidence,
    Series,
    exactly,
    mean_of,
    moved,
    series_of,
    span,
    up_to,
)
from ..panels import (
    ALPHAS,
    COMPARISON,
    DOUBLED_EPOCH,
    EVERY,
    PANELS,
    RESTART_ARMS,
    SENSITIVITY,
    SQUARED,
    SQUARED_EPOCH,
    THOMPSON,
    WORK_ARMS,
    restart_rounds,
)


def superb(curves: Curves) -> Answer:
    """Compare OCUCB with the best other policy, with every way to average over places."""
    head = ("weighted equally", "times the regret of the best other", "lowest regret at")
    rows, found, shares = [head], [], []
    ways = ("as in the paper", "with Gittins also in exp8 and exp9")
    for gittins, which in enumerate(ways):
        by_stretch = [_over_best(curves, panel, bool(gittins)) for panel in EVERY]
        by_point = [_over_best(curves, panel, bool(gittins), points=True) for panel in EVERY]
        for name, ratios in (
            ("stretches", [ratio for some in by_stretch for ratio in some]),
            ("panels", [geometric_mean(some) for some in by_stretch]),
            ("grid points", [ratio for some in by_point for ratio in some]),
        ):
            found.append(geometric_mean(ratios))
            shares.append(_share_below_1(ratios))
            rows.append((f"{name}, {which}", str(found[-1]), f"{shares[-1]:.0%} of the {name}"))
    alone = _over_best(curves, "exp2", False)
    ten, share = geometric_mean(alone), _share_below_1(alone)
    rows.append(("stretches of exp2 alone", str(ten), f"{share:.0%} of the stretches"))
    low, high = min(found, key=value_of), max(found, key=value_of)
    factors = sorted(x for panel in EVERY for x in curves.factors(panel, "OCUCB"))
    series = [Series("OCUCB", [i / len(factors) for i in range(len(factors))], factors)]
    definition = "“superb” allows {:.2f} times the regret of the best other policy"
    statistic = "OCUCB's regret over that of the best other policy, averaged over six panels, "
    return Answer(
        [
            up_to(f"{statistic}in the best weighting", low, 1.0, 1.5, definition),
            up_to(f"{statistic}in the worst weighting", high, 1.0, 1.5, definition),
        ],
        f"On average over the six panels, OCUCB has {low} to {high} times the regret of the best "
        f"other policy at the same place, and the lowest regret at {min(shares):.0%} to "
        f"{max(shares):.0%} of the places, depending on whether stretches, panels or grid points "
        "are weighted equally and on whether Gittins counts where the paper omits it. In exp2 "
        f"alone it has {ten} times.",
        Evidence("place, from best to worst", "over the best other", series, level=1.0),
        table=rows,
        caption="by weighting",
    )


def _share_below_1(ratios: Sequence[Uncertain]) -> float:
    return sum(ratio.value < 1.0 for ratio in ratios) / len(ratios)


def _over_best(curves: Curves, panel: str, gittins: bool, points: bool = False) -> list[Uncertain]:
    """Return OCUCB's regret over that of the best other policy, by stretch or by grid point."""

    def measured(line: str) -> list[Uncertain]:
        if points:
            return [mean_of([point]) for point in curves.line(panel, line)]
        return curves.stretches(panel, line)

    others = [name for name in curves.lines(panel, ours=gittins) if name != "OCUCB"]
    best = [min(some, key=value_of) for some in zip(*map(measured, others), strict=True)]
    return [a / b for a, b in zip(measured("OCUCB"), best, strict=True)]


def hopeless(curves: Curves) -> Answer:
    """Compare improved UCB with UCB and with random play."""
    ucb, improved, uniform = lines = curves.lines("improved")
    pairs = zip(curves.line("improved", improved), curves.line("improved", ucb), strict=True)
    ratios = [mean_of([a]) / mean_of([b]) for a, b in pairs]
    worst, least = max(ratios, key=value_of), min(ratios, key=value_of)
    ours, theirs = (curves.between("improved", line, 0.3, 0.3) for line in (improved, uniform))
    random = ours / theirs
    definition = "“hopeless” begins at {:.1f} times UCB's regret"
    return Answer(
        [up_to("improved UCB's regret over UCB's, at worst", worst, 3.0, 1.2, definition)],
        f"Its regret is {least.value:.1f} to {worst.value:.1f} times UCB's (K = 10, n = 10⁴), and "
        f"at Δ = 0.3 it is {random.value:.0%} of what playing at random costs.",
        Evidence("Δ", "expected regret", [curves.drawn("improved", x) for x in lines], logy=True),
    )


def conservative_rivals(curves: Curves) -> Answer:
    """Tell who pays too much for safety (UCB), and who is not safe (MOSS, with many arms)."""
    means, spreads = [], []
    for panel in COMPARISON:
        means += curves.ratios(panel, "UCB", "OCUCB")
        spreads += [
            Uncertain(a.deviation, a.deviation_error) / Uncertain(b.deviation, b.deviation_error)
            for a, b in zip(curves.line(panel, "UCB"), curves.line(panel, "OCUCB"), strict=True)
        ]
    regret, spread = geometric_mean(means), geometric_mean(spreads)
    last, moss = max(curves.xs("exp10")), curves.moss_line
    end, ours = (curves.line("exp10", line)[-1] for line in (moss, "OCUCB"))
    more = mean_of([end]) / mean_of([ours])
    series = [curves.drawn_deviation("exp8", line) for line in ("UCB", "OCUCB", "MOSS")]
    return Answer(
        [
            exactly("UCB over OCUCB: regret, averaged over four panels", regret, 1.0, False, "UCB"),
            exactly("UCB over OCUCB: standard deviation, averaged", spread, 1.0, part="UCB"),
            exactly(f"{moss} over OCUCB at K = {last:g}: regret", more, 1.0, False, "MOSS"),
        ],
        f"On average over the four panels with equal gaps, UCB has {regret} times OCUCB's regret "
        f"and {spread.value:.2f} times its standard deviation. At K = {last:,.0f} in exp10, "
        f"{moss} has {more} times OCUCB's regret, with a standard deviation of "
        f"{end.deviation / end.mean:.1f} times the mean.",
        Evidence("n (K = 2)", "standard deviation", series, logy=True),
        {TRUE: "So UCB pays for safety that OCUCB does without, and MOSS pays for its failures."},
    )


def typically(curves: Curves) -> Answer:
    """Count the places at which OCUCB has less regret than each rival."""
    criteria, series, parts = [], [], []
    for rival in ("UCB", "AOCUCB", "MOSS", THOMPSON, "Gittins"):
        mine = [panel for panel in EVERY if rival in curves.lines(panel)]
        places = [
            Uncertain(p, error, common=error if ratio.common else 0.0)
            for panel in mine
            for p, ratio in zip(
                curves.shares(panel, "OCUCB", rival),
                curves.ratios(panel, "OCUCB", rival),
                strict=True,
            )
            for error in [math.sqrt(p * (1.0 - p))]
        ]
        share = average(places)
        statistic = f"share of the places at which OCUCB has less regret than {rival}"
        criteria.append(exactly(statistic, share, 0.5, False, rival))
        parts.append(f"{share.value:.0%} against {rival}")
        series.append(curves.drawn_ratio("exp1", "OCUCB", rival, rival))
    return Answer(
        criteria,
        f"The share of places at which it has less regret is {listed(parts)}; Gittins is in two of "
        "the six panels, the others are in all.",
        Evidence("Δ (K = 2)", "OCUCB over the other", series, level=1.0),
    )


def psi_is_weak(curves: Curves) -> Answer:
    """Find the power of ψ with which regret grows, with that of α beside it."""

    def powers_of(panel: str, low: float, high: float) -> list[Uncertain]:
        ratios = (
            curves.at(panel, line, high) / curves.at(panel, line, low)
            for line in curves.lines(panel)
        )
        return [ratio.log(math.log(high / low)) for ratio in ratios]

    powers, alphas = powers_of("psi", 2, 16), powers_of("alpha", 3, 6)
    worst = max(powers, key=value_of)
    doubling = span((100.0 * (2.0**power.value - 1.0) for power in powers), 0)
    series = [
        curves.drawn_over("psi", line, curves.between("psi", line, 2, 2).value)
        for line in curves.lines("psi")
    ]
    definition = "“very weak” allows a power of {:.2f}"
    statistic = "power of ψ with which regret grows from ψ = 2 to 16"
    return Answer(
        [up_to(statistic, worst, 0.05, 0.5, definition)],
        f"From ψ = 2 to 16, regret scales as ψ to the power of {span(map(value_of, powers))} on "
        f"three problems: doubling ψ changes it by {doubling}%. From α = 3 to 6, it scales as α to "
        f"the power of {span(map(value_of, alphas))}.",
        Evidence("ψ", "regret over that at ψ = 2", series, level=1.0, logx=True),
    )


def three_is_excellent(curves: Curves) -> Answer:
    """Compare α = 3 with the best other policy and with the best other α."""
    rivals = curves.extreme(EVERY, "OCUCB")
    every = curves.extreme(SENSITIVITY, "OCUCB")
    inner = curves.extreme(SENSITIVITY, "OCUCB", (ALPHAS[2], ALPHAS[6]))
    among = "“excellent” among {} allows {{:.2f}} times the best regret".format
    series = [
        curves.drawn_ratio("exp4", "OCUCB", ALPHAS[a], f"over α = {a}")
        for a in (1, 2, 6)
        if ALPHAS[a] in curves.lines("exp4")
    ]
    statistic = "α = 3 over the best other {}, at worst".format
    return Answer(
        [
            up_to(statistic("policy"), rivals, 1.05, 2.0, among("policies"), "policies"),
            up_to(statistic("α"), every, 1.05, 3.0, among("all α"), "all α"),
        ],
        f"At worst, {rivals} times the regret of the best other policy ({rivals.where}), {every} "
        f"times that of the best of α = 1, 2 and 6 ({every.where}), and {inner} times that of the "
        f"better of α = 2 and 6 ({inner.where}).",
        Evidence("Δ (K = 2)", "α = 3 over another α", series, level=1.0, logy=True),
    )


def teaser(curves: Curves) -> Answer:
    """Compare the largest regrets over all gaps."""
    peaks = {line: curves.peak("exp1", line) for line in ("UCB", "OCUCB", THOMPSON)}
    ours, statistic = peaks["OCUCB"], "OCUCB's largest regret over {}'s".format
    return Answer(
        [
            exactly(statistic(line), ours / peaks[line], 1.0, part=f"OCUCB and {line}")
            for line in ("UCB", THOMPSON)
        ],
        f"Over all Δ, the largest regret of OCUCB is {ours.value:.0f}, that of UCB "
        f"{peaks['UCB'].value:.0f} and of Thompson sampling {peaks[THOMPSON].value:.0f}. (The "
        "curve that the paper's own picture calls Thompson sampling is a column that it elsewhere "
        "calls AOCUCB.)",
        Evidence("Δ", "expected regret", [curves.drawn("exp1", line) for line in peaks]),
    )


def comprehensive(curves: Curves) -> Answer:
    """Count what the experiments compare: strategies and kinds of problem."""
    rivals = {
        panel: [name for name in curves.lines(panel) if name != "OCUCB"]
        for panel in (*EVERY, "exp10")
    }
    names = list(dict.fromkeys(name for some in rivals.values() for name in some))
    kinds = {PANELS[panel].lines[0].at(100.0)[1].name.partition(":")[0] for panel in rivals}
    few = min(map(len, rivals.values()))
    counts = Uncertain(len(names), 0.0), Uncertain(len(kinds), 0.0)
    variety = "“a variety” at {:.0f} kinds of problem"
    return Answer(
        [
            up_to("other strategies", counts[0], 9.5, 1.5, "“many” begins at {:.0f} strategies"),
            up_to("kinds of problem", counts[1], 5.5, 1.5, variety),
        ],
        f"There are {len(names)} other strategies ({listed(names)}; one figure has {few}) and "
        f"{len(kinds)} kinds of problem: equal gaps, equally spaced means, and one with two good "
        "arms. All have standard normal noise and a known horizon. Improved UCB, which the text "
        "calls hopeless, is not among the strategies.",
        Evidence(),
    )


def efficient(curves: Curves) -> Answer:
    """Count indices per round: for a given number of rounds per arm, whatever K is."""
    lines = [f"OCUCB, K = {K}" for K in WORK_ARMS]
    first, last = min(curves.xs("work")), max(curves.xs("work"))
    ends = [curves.between("work", line, last, last) for line in lines]
    grows = (ends[-1] / ends[0]).log(math.log(WORK_ARMS[-1] / WORK_ARMS[0]))
    starts = [curves.between("work", line, first, first) for line in lines]
    change = ends[-1] / starts[-1]
    counts = listed(f"{end.value:.2f}" for end in ends)
    series = [curves.drawn("work", line, line.partition(", ")[2]) for line in lines]
    power = f"power of K with which indices per round grow at n = {last:,.0f} K"
    more = f"{lines[-1]}: indices per round at n = {last:g} K, over those at {first:g} K"
    definition = "“O(n)” allows a factor of K to the power of {:.2f}"
    return Answer(
        [
            up_to(power, grows, 0.05, 0.5, definition, "growing K"),
            exactly(more, change, 1.0, part="growing n"),
        ],
        f"With a heap and n = {last:,.0f} K rounds, OCUCB computes {counts} indices per round for "
        f"K = {listed(map(str, WORK_ARMS))}, so the number scales as K to the power of "
        f"{grows.value:.2f}; computing all of them would take K. For K = {WORK_ARMS[-1]} it "
        f"{moved(change)} from {starts[-1].value:.2f} at n = {first:,.0f} K. (Reordering the heap "
        "takes up to O(log K) steps more.)",
        Evidence("n/K", "indices per round", series, level=1.0, logx=True),
    )


def restarting(curves: Curves) -> Answer:
    """Compare OCUCB, restarted, with policies that need no horizon anyway."""
    criteria, words, series = [], [], []
    xs = curves.xs("restart")
    for K in RESTART_ARMS:

        def line(name: str, K: int = K) -> list[Uncertain]:
            return [mean_of([point]) for point in curves.line("restart", f"K = {K}, {name}")]

        known, ucb, thompson = map(line, ("OCUCB", "UCB", THOMPSON))
        best = [min(pair, key=value_of) for pair in zip(ucb, thompson, strict=True)]
        epochs = line(DOUBLED_EPOCH)
        first = epochs[xs.index(3.0)]  # of 256 rounds, which are the first of the others, too
        doubled = list(itertools.accumulate(epochs, _plus))
        squared = [
            last if restart_rounds(m) <= SQUARED else _plus(first, last)
            for m, last in zip(xs, line(SQUARED_EPOCH), strict=True)
        ]
        for way, found in (("doubled", doubled), ("squared", squared)):
            # from 960 rounds on
            pairs = [(found[i], best[i], known[i]) for i, m in enumerate(xs) if m >= 4]
            cost = geometric_mean([a / b for a, b, _ in pairs])
            price = geometric_mean([a / c for a, _, c in pairs])
            statistic = f"K = {K}, epochs {way}: OCUCB over the better of UCB and Thompson sampling"
            part = f"epochs that are {way} at K = {K}"
            criteria.append(exactly(statistic, cost, 1.0, False, part))
            words.append(f"{cost} and {price.value:.1f} times as large at K = {K}, epochs {way}")
            heights = [a / b for a, b in zip(found, best, strict=True)]
            series.append(series_of(f"K = {K}, {way}", xs, heights))
    return Answer(
        criteria,
        "OCUCB was restarted after epochs of 64, 128, 256 … or of 256, 256² … rounds. Its regret, "
        "compared with the better of UCB and Thompson sampling, which need no horizon, and with "
        f"OCUCB for a known horizon, is {'; '.join(words)} (geometric means over "
        f"n = {restart_rounds(4):,} to {restart_rounds(xs[-1]):,}, Δ = 0.3).",
        Evidence("m: n = 64 (2^m - 1)", "restarted over the better", series, level=1.0),
        {FALSE: "So even restarted it is ahead of policies that need no horizon."},
    )


def _plus(one: Uncertain, other: Uncertain) -> Uncertain:
    """Return the sum of the regrets of two epochs, which are independent."""
    return Uncertain(one.value + other.value, math.hypot(one.error, other.error))


def spread(panel: str, symbol: str) -> Callable[[Curves], Answer]:
    """Return a check of how the standard deviation changes with a parameter."""

    def check(curves: Curves) -> Answer:
        criteria, words = [], []
        for line in curves.lines(panel):
            points = curves.line(panel, line)
            where = f"{symbol} = {{:g}}".format
            widths = [Uncertain(p.deviation, p.deviation_error, where(p.x)) for p in points]
            low = min(range(len(widths)), key=lambda i: widths[i].value)
            first, turn, last = points[0].x, points[low].x, points[-1].x
            before, after = widths[low] / widths[0], widths[-1] / widths[low]
            way = []
            if low > 0:
                statistic = f"{line}: standard deviation at its minimum over the first"
                part = f"{symbol} up to {turn:g}"
                criteria.append(exactly(statistic, before, 1.0, part=part))
                way.append(f"{before.value:.2f} from {first:g} to {turn:g}")
            if low < len(widths) - 1:
                statistic = f"{line}: standard deviation at the last {symbol} over the minimum"
                part = f"{symbol} from {turn:g} on"
                criteria.append(exactly(statistic, after, 1.0, part=part))
                way.append(f"{after.value:.2f} from {turn:g} to {last:g}")
            words.append(f"{' and '.join(way)} ({line})")
        series = [curves.drawn_deviation(panel, line) for line in curves.lines(panel)]
        return Answer(
            criteria,
            f"As {symbol} grows, the standard deviation is multiplied by {'; '.join(words)}.",
            Evidence(symbol, "standard deviation", series, logx=True, logy=True),
        )

    return check


def unavoidable(curves: Curves) -> Answer:
    """Count the normal samples that Thompson sampling needs, in its exact law."""
    last = max(curves.xs("work"))
    found = {
        K: curves.between("work", f"{THOMPSON}, K = {K}", last, last).times(1.0 / K)
        for K in WORK_ARMS
    }
    least = min(found.values(), key=value_of)
    counts = listed(f"{share.value * K:.1f} of {K}" for K, share in found.items())
    series = [curves.drawn_over("work", f"{THOMPSON}, K = {K}", K, f"K = {K}") for K in WORK_ARMS]
    definition = "“essentially” all means {:.0%} of them"
    return Answer(
        [up_to("share of the arms sampled per round, at least", least, 0.9, 0.5, definition)],
        "An exact implementation, in which arms that stay below a threshold share one clock, draws "
        f"{counts} samples per round at Δ = 0.3 and n = {last:,.0f} K.",
        Evidence("n/K", "samples per round over K", series, level=1.0, logx=True),
        {FALSE: "The policy is unchanged: rounds are distributed as with K fresh samples."},
    )
