"""Appendix "Experiments": comparison to other algorithms, and uniformly distributed arms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..._text import listed
from ...reports.estimates import Uncertain, average, value_of
from ...theory import moss_bound
from ..claims import (
    FALSE,
    OUTDATED,
    Answer,
    Criterion,
    Curves,
    Evidence,
    Series,
    exactly,
    mean_of,
    series_of,
    up_to,
)
from ..panels import ARMS, COMPARISON, EVERY, PANELS, THOMPSON, UNIFORM

# One standard for what is practical, then and now: the seconds that a run, or a table that runs
# need, takes on one core. Nobody would call a minute impractical, and nobody an hour practical.
MINUTE, HOUR = 60.0, 3600.0
_STEP = 1e-6  # of the recursion for Gittins indices, as measured here
_DIAGONALS = 5.5  # diagonals n, n exp(-0.2), n exp(-0.4) … have this many times n steps


def impractical(what: str, seconds: float, in_2015: bool = False, part: str = "") -> Criterion:
    """Return the criterion that something takes too long on one core."""
    definition = f"{what}, {time_of(seconds)} on one core, is too slow"
    statistic = f"{what}: seconds on one core{', as in 2015' if in_2015 else ''}"
    estimate = Uncertain(seconds, 0.0)
    return Criterion(statistic, estimate, HOUR, MINUTE, False, part, definition, in_2015)


def time_of(seconds: float) -> str:
    """Return a time in the largest unit that it fills.

    Examples
    --------
    >>> time_of(5.0), time_of(390625.0)
    ('5 s', '4.5 days')
    """
    for unit, name in ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= unit:
            return f"{seconds / unit:.2g} {name}"
    return f"{seconds:.2g} s"


def constant(policy: str, others: Sequence[float]) -> Callable[[Curves], Answer]:
    """Return a check of a constant of 2 against larger ones."""

    def check(curves: Curves) -> Answer:
        lines = [name for name in curves.lines("constants") if name.startswith(f"{policy}, ")]
        ratios = {
            (line, c): curves.at("constants", line, c) / curves.at("constants", line, 2.0)
            for line in lines
            for c in others
        }
        (line, c), least = min(ratios.items(), key=lambda item: item[1].value)
        most = max(map(value_of, ratios.values()))
        larger = f"{others[0]:g}" if len(others) == 1 else f"{others[0]:g} to {others[-1]:g}"
        series = [
            curves.drawn_over("constants", name, of_2.value, name.partition(", ")[2])
            for name in lines
            for of_2 in [curves.between("constants", name, 2, 2)]
        ]
        return Answer(
            [exactly(f"{policy} with another constant over 2, at least", least, 1.0, below=False)],
            f"On four problems, {policy} with a constant of {larger} has {least} "
            f"({line.partition(', ')[2]}, {c:g}) to {most:.2f} times the regret of constant 2.",
            Evidence("constant", "regret over that with 2", series, level=1.0),
        )

    return check


def gittins_is_impractical(curves: Curves) -> Answer:
    """Compare what the indices took, all n diagonals of them, with what they take now."""
    n = max(p.x for panel in ("exp8", "exp9") for p in curves.line(panel, "Gittins"))
    then, now = _STEP * n * n / 2.0, _STEP * _DIAGONALS * n
    series = [curves.drawn("exp8", "Gittins", "Gittins (ours)"), curves.drawn("exp8", "OCUCB")]
    return Answer(
        [
            impractical(f"a table for n = {n:,.0f}", then, in_2015=True),
            impractical(f"a table for n = {n:,.0f}", now),
        ],
        f"For n = {n:,.0f}, the indices take n²/2 steps of a recursion if all are computed: "
        f"{time_of(then)} on one core. Interpolating them from a few diagonals, to 10⁻⁹, takes "
        f"{time_of(now)}, so both panels from which the paper omits Gittins have it here.",
        Evidence("n (K = 2)", "expected regret", series),
        {OUTDATED: "A minute counts as practical here, an hour does not."},
    )


def regimes(curves: Curves) -> Answer:
    """Compare the settings of two figures."""
    del curves
    comparison, sensitivity = PANELS["exp8"].lines[0], PANELS["exp6"].lines[0]
    gaps = [float(line.at(5000)[1].gaps.max()) for line in (comparison, sensitivity)]
    lasts = [PANELS[name].xs[-1] for name in ("exp1", "exp4")]
    differ = Uncertain(abs(gaps[0] - gaps[1]), 0.0), Uncertain(abs(lasts[1] - lasts[0]), 0.0)
    return Answer(
        [
            exactly("difference of the gaps where n varies", differ[0], 1e-9, part="n"),
            exactly("difference of the largest Δ", differ[1], 1e-9, part="Δ"),
        ],
        f"Where n varies, Δ is {gaps[0]:g} in this figure and {gaps[1]:g} in that one; where Δ "
        f"varies, it goes up to {lasts[0]:g} here and to {lasts[1]:g} there.",
        Evidence(),
    )


def competitive(line: str) -> Callable[[Curves], Answer]:
    """Return a check of a policy against the best other one, at worst."""

    def check(curves: Curves) -> Answer:
        worst = curves.extreme(COMPARISON, line)
        known = [name for name in curves.lines("exp1") if name != "Gittins"]
        without = curves.extreme(COMPARISON, line, known)
        definition = "“competitive” allows {:.2f} times the regret of the best other policy"
        return Answer(
            [up_to(f"{line} over the best other policy, at worst", worst, 1.05, 2.0, definition)],
            f"At worst, {worst} times the regret of the best other policy ({worst.where}); "
            f"{without} times without Gittins ({without.where}).",
            _over_best_other(curves, line, worst.value),
        )

    return check


def _over_best_other(curves: Curves, line: str, level: float) -> Evidence:
    series = [curves.drawn_factor(panel, line, f"K = {ARMS[panel]}") for panel in ("exp1", "exp2")]
    return Evidence("Δ", "over the best other", series, level=level)


def sometimes_better(curves: Curves) -> Answer:
    """Find where OCUCB does best."""
    best = curves.extreme(EVERY, "OCUCB", largest=False)
    return Answer(
        [exactly("OCUCB over the best other policy, where it does best", best, 1.0)],
        f"Where it does best, OCUCB has {best} times the regret of the best other policy "
        f"({best.where}).",
        _over_best_other(curves, "OCUCB", 1.0),
    )


def gittins_wins(curves: Curves) -> Answer:
    """Compare Gittins with OCUCB: on average over gaps, at its worst, and at the largest gap."""
    criteria, words = [], []
    for panel, arms in (("exp1", 2), ("exp2", 10)):
        last = max(curves.xs(panel))
        average = curves.between(panel, "Gittins", 0, 1) / curves.between(panel, "OCUCB", 0, 1)
        peak = curves.peak(panel, "Gittins") / curves.peak(panel, "OCUCB")
        end = curves.at(panel, "Gittins", last) / curves.at(panel, "OCUCB", last)
        chances = curves.shares(panel, "Gittins", "OCUCB")
        criteria += [
            exactly(f"K = {arms}: Gittins over OCUCB{what}", x, 1.0, part=f"{part} at K = {arms}")
            for what, x, part in (
                (" at Δ = 1", end, "Δ = 1"),
                (", averaged over Δ", average, "the average"),
                (": largest regrets", peak, "the peak"),
            )
        ]
        words.append(
            f"at K = {arms}, {average.value:.2f} times OCUCB's regret on average over Δ, "
            f"{peak.value:.2f} times at the peak and {end.value:.2f} times at Δ = 1, and less at "
            f"{sum(chances) / len(chances):.0%} of the places"
        )
    series = _ratios_by_arms(curves, ("exp1", "exp2"), "Gittins", "OCUCB")
    evidence = Evidence("Δ", "Gittins over OCUCB", series, level=1.0)
    return Answer(criteria, f"Gittins has, {'; '.join(words)}.", evidence)


def _ratios_by_arms(
    curves: Curves, some_panels: Sequence[str], line: str, rival: str
) -> list[Series]:
    return [curves.drawn_ratio(name, line, rival, f"K = {ARMS[name]}") for name in some_panels]


def moss_follows_theory(curves: Curves) -> Answer:
    """Compare MOSS's largest regret with what is proved about it."""
    worst = Uncertain(0.0, 0.0)
    for panel in COMPARISON:
        moss = next(line for line in PANELS[panel].lines if line.label == "MOSS")
        # the largest point may be so by luck, but the bound is far away
        highest = max(curves.line(panel, "MOSS"), key=lambda point: point.mean)
        _, problem, n = moss.at(highest.x)
        share = mean_of([highest]).times(1.0 / moss_bound(problem.means, n).value)
        worst = max(worst, share, key=value_of)
    series = [
        curves.drawn_over(panel, "MOSS", (1e4 * ARMS[panel]) ** 0.5, f"K = {ARMS[panel]}")
        for panel in ("exp1", "exp2")
    ]
    return Answer(
        [exactly("MOSS's regret over the proved 39 sqrt(nK) + Σ Δ_i, at worst", worst, 1.0)],
        f"In these panels, MOSS's regret is at most {39 * worst.value:.2f} sqrt(nK) "
        f"({worst.where}); what is proved, for every problem and constant 4, is 39 sqrt(nK).",
        Evidence("Δ", "MOSS's regret over sqrt(nK)", series),
        {FALSE: "So it exceeds what is proved."},
    )


def indistinguishable(some_panels: tuple[str, ...]) -> Callable[[Curves], Answer]:
    """Return a check of how far apart Thompson sampling and AOCUCB are on the page."""

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
        definition = "curves that are {:.0%} of the axis apart are “almost” the same"
        shown, xlabel = ("exp1", "Δ (K = 2)") if "exp1" in shares else ("exp12", "n (K = 100)")
        series = [curves.drawn(shown, line) for line in (THOMPSON, "AOCUCB")]
        return Answer(
            [up_to("largest distance as a share of the axis", worst, 0.005, 0.25, definition)],
            f"The curves are up to {percent}% of the axis apart ({worst.where}), and up to "
            f"{others:.0%} in the other panel{'s' if len(shares) > 2 else ''}.",
            Evidence(xlabel, "expected regret", series),
        )

    return check


def slightly(curves: Curves) -> Answer:
    """Compare MOSS with OCUCB at all places."""
    measured = [ratio for panel in EVERY for ratio in curves.ratios(panel, "MOSS", "OCUCB")]
    ratios = sorted(map(value_of, measured))
    median = Uncertain(ratios[len(ratios) // 2], 1.25 * average(measured).error)
    places = [i / len(ratios) for i in range(len(ratios))]
    series = [series_of("MOSS", places, sorted(measured, key=value_of))]
    worse = sum(x > 1.0 for x in ratios) / len(ratios)
    most = curves.extreme(EVERY, "MOSS", ["OCUCB"])
    definition = "“slightly” allows {:.2f} times OCUCB's regret"
    return Answer(
        [up_to("median of MOSS over OCUCB, over six panels", median, 1.2, 2.0, definition)],
        f"In the six panels with K ≤ 100, MOSS has more regret than OCUCB at {worse:.0%} of the "
        f"places; the median ratio is {median}, the largest {most} ({most.where}).",
        Evidence("place, from best to worst", "MOSS over OCUCB", series, level=1.0),
    )


# --- uniformly distributed arms -----------------------------------------------------------------


def as_before(curves: Curves) -> Answer:
    """Look for the same order in the earlier figure, by regret averaged over each panel."""
    criteria, words = [], []
    for panel in COMPARISON:
        means = {name: mean_of(curves.line(panel, name)) for name in curves.lines(panel)}
        rest = [name for name in means if name not in ("OCUCB", "MOSS")]
        _, best = min((means[name].value, name) for name in rest)
        _, worst = max((means[name].value, name) for name in means if name != "UCB")
        two = max(means["OCUCB"], means["MOSS"], key=value_of) / means[best]
        ucb = means["UCB"] / means[worst]
        where = f"{panel} (K = {ARMS[panel]})"
        leaders = f"{panel}: the worse of OCUCB and MOSS over the best other"
        criteria += [
            exactly(leaders, two, 1.0, part=f"the leaders in {panel}"),
            exactly(f"{panel}: UCB over the worst other", ucb, 1.0, below=False, part="UCB"),
        ]
        words.append(f"{two.value:.2f} ({best}) and {ucb.value:.2f} ({worst}) in {where}")
    return Answer(
        criteria,
        "Averaged over a panel, the regret of the worse of OCUCB and MOSS over that of the best "
        f"other policy, and that of UCB over that of the worst other, are {'; '.join(words)}.",
        _all_lines(curves, "exp2", "Δ (K = 10)"),
    )


def _all_lines(curves: Curves, panel: str, xlabel: str) -> Evidence:
    series = [curves.drawn(panel, line) for line in curves.lines(panel)]
    return Evidence(xlabel, "expected regret", series)


def two_lead(curves: Curves) -> Answer:
    """Compare the worse of OCUCB and MOSS with the best other policy."""
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
        criteria.append(exactly(statistic, worst, 1.0, part=f"K = {arms}"))
        words.append(f"{worst} (K = {arms})")
    return Answer(
        criteria,
        f"From n = 1000 to 10⁵, the worse of the two has at most {' and '.join(words)} times the "
        "regret of the best other policy.",
        _all_lines(curves, "exp12", "n (K = 100)"),
    )


def ucb_is_worse(curves: Curves) -> Answer:
    """Compare UCB with the worst other policy."""
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
        criteria.append(exactly(statistic, least, 1.0, below=False, part=f"K = {arms}"))
        words.append(f"{found[0].value:.2f} to {found[-1].value:.2f} (K = {arms})")
    series = _ratios_by_arms(curves, UNIFORM, "UCB", "AOCUCB")
    return Answer(
        criteria,
        f"From n = 10⁴ to 10⁵, UCB has {listed(words)} times the regret of the worst other policy.",
        Evidence("n", "UCB over AOCUCB", series, level=1.0),
    )
