"""Every sentence of the paper about its experiments, in the order of the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .answers import comparison, failure, general, sensitivity
from .claims import FEWEST, Claim, Curves, Finding
from .measure import Place, Point
from .panels import COMPARISON, EVERY, PANELS, SENSITIVITY, UNIFORM

_APPENDIX = "appendix Experiments"
# the sentence, where it stands, the panels it is about, its answer, whether the README quotes it
_ROWS: tuple[tuple[Any, ...], ...] = (
    ("The new algorithm is … empirically superb.",
     "abstract, l. 158; conclusions, l. 751", EVERY, general.superb),
    ("Even worse, the algorithm [improved UCB] is … empirically hopeless.",
     "introduction, l. 217", ("improved",), general.hopeless),
    ("UCB is too conservative, while MOSS is sometimes not conservative enough.",
     "introduction, l. 230", (*COMPARISON, "exp10"), general.conservative_rivals),
    ("OCUCB typically outperforms existing approaches.",
     "introduction, l. 231", EVERY, general.typically),
    ("The algorithm is very insensitive to ψ. / The dependence on ψ is very weak.",
     f"section 2, l. 282; {_APPENDIX}, l. 1189", ("psi", "alpha"), general.psi_is_weak),
    ("α = 3 led to consistently excellent performance.",
     "section 2, l. 282", (*SENSITIVITY, *EVERY), general.three_is_excellent),
    ("The graph on the right teases the worst-case performance of OCUCB relative to UCB and "
     "Thompson Sampling when n = 10⁴, K = 2 and where Δ_2 is varied.",
     "section 5, l. 742", ("exp1",), general.teaser),
    ("OCUCB is comprehensively evaluated in a variety of regimes and compared to many strategies.",
     "section 5, l. 744", (*EVERY, "exp10"), general.comprehensive),
    ("The algorithm is … extremely efficient. / The running time of this algorithm over n time "
     "steps is O(n) in expectation (asymptotically).",
     "conclusions, l. 750; appendix Computation Time, l. 1024", ("work",), general.efficient),
    ("It should be possible to apply the same repeated restarting idea …, but this is seldom "
     "practical.",
     "conclusions, l. 766", ("restart",), general.restarting),
    ("Merely increasing ψ … will decrease the variance of OCUCB.",
     "conclusions, l. 776", ("psi",), general.spread("psi", "ψ")),
    ("Merely increasing … (or α) will decrease the variance of OCUCB.",
     "conclusions, l. 776", ("alpha",), general.spread("alpha", "α")),
    ("For Thompson sampling it seems that sampling all arms at every time step is essentially "
     "unavoidable without significantly changing the algorithm.",
     "appendix Computation Time, l. 1029", ("work",), general.unavoidable),
    ("The optimal α is problem specific.",
     f"{_APPENDIX}, l. 1187", ("exp4", "exp6"), sensitivity.best_alpha_varies),
    ("α ∈ [2, 3] is a reasonable choice in all regimes.",
     f"{_APPENDIX}, l. 1187", SENSITIVITY, sensitivity.alpha_is_reasonable),
    ("In general, a large α leads to better performance when n is small.",
     f"{_APPENDIX}, l. 1188", ("exp6", "exp7"), sensitivity.large_alpha_small_n, True),
    ("Small α is better when Δ is large.",
     f"{_APPENDIX}, l. 1188", ("exp4", "exp5"), sensitivity.small_alpha_large_gap),
    ("Large α makes the algorithm more conservative.",
     f"{_APPENDIX}, l. 1189", ("alpha",), sensitivity.alpha_is_conservative),
    ("In practice the 2 inside the square root [of UCB] is uniformly better than any larger "
     "constant.",
     f"{_APPENDIX}, l. 1241",
     ("constants",), comparison.constant("UCB", (2.5, 3.0, 4.0, 6.0, 8.0))),
    ("The analysis … would suggest using a constant of 4 for MOSS, but 2 led to improved "
     "empirical results.",
     f"{_APPENDIX}, l. 1242", ("constants",), comparison.constant("MOSS", (4.0,))),
    ("The Gittins index strategy is not practical computationally for horizons larger than n = "
     "10⁴. / Its computation is impractical for large horizons.",
     f"{_APPENDIX}, l. 1248 and 1315", ("exp8", "exp9"), comparison.gittins_is_impractical),
    ("In the first set of experiments I use the same regimes as [in the figure on sensitivity].",
     f"{_APPENDIX}, l. 1255", ("exp1", "exp4", "exp6", "exp8"), comparison.regimes),
    ("OCUCB is always competitive with the best.",
     f"{_APPENDIX}, l. 1314", COMPARISON, comparison.competitive("OCUCB"), True),
    ("OCUCB is … sometimes significantly better.",
     f"{_APPENDIX}, l. 1314", EVERY, comparison.sometimes_better),
    ("Arguably the Gittins strategy is the winner for small horizons.",
     f"{_APPENDIX}, l. 1314", ("exp1", "exp2"), comparison.gittins_wins),
    ("MOSS is also competitive in these regimes.",
     f"{_APPENDIX}, l. 1316", COMPARISON, comparison.competitive("MOSS")),
    ("… which is consistent with the theory.",
     f"{_APPENDIX}, l. 1316", COMPARISON, comparison.moss_follows_theory),
    ("Thompson sampling and AOCUCB are almost indistinguishable.",
     f"{_APPENDIX}, l. 1317", COMPARISON, comparison.indistinguishable(COMPARISON)),
    ("Algorithms like Thompson sampling for which the running time is O(Kn) are too slow to "
     "evaluate in this regime for large K.",
     f"{_APPENDIX}, l. 1330", ("exp10",), failure.too_slow),
    ("As the theory predicts, [the regret of MOSS is exploding, while OCUCB enjoys good "
     "performance].",
     f"{_APPENDIX}, l. 1331", ("exp10",), failure.as_predicted),
    ("The regret of MOSS is exploding for large K.",
     f"{_APPENDIX}, l. 1331", ("exp10",), failure.moss_explodes, True),
    ("… while OCUCB enjoys good performance.",
     f"{_APPENDIX}, l. 1331", ("exp10",), failure.ocucb_is_good),
    ("The issues are only serious when K (and so n) is unreasonably large.",
     f"{_APPENDIX}, l. 1331", ("exp10",), failure.serious),
    ("In modestly sized experiments MOSS is usually only slightly worse than OCUCB.",
     f"{_APPENDIX}, l. 1332", EVERY, comparison.slightly),
    ("As in previous experiments [OCUCB and MOSS lead, and UCB is significantly worse].",
     f"{_APPENDIX}, l. 1352", COMPARISON, comparison.as_before),
    ("[With uniformly distributed arms] OCUCB and MOSS [are] leading the pack …",
     f"{_APPENDIX}, l. 1352", UNIFORM, comparison.two_lead),
    ("… with Thompson sampling and AOCUCB almost identical …",
     f"{_APPENDIX}, l. 1352", UNIFORM, comparison.indistinguishable(UNIFORM)),
    ("… and UCB significantly worse.", f"{_APPENDIX}, l. 1353", UNIFORM, comparison.ucb_is_worse),
)  # fmt: skip
CLAIMS = tuple(Claim(number, *row) for number, row in enumerate(_ROWS, 1))


def judge(points: Sequence[Point], again: Sequence[Point] = ()) -> list[Finding]:
    """Answer every sentence whose panels have all been measured.

    `again` has the places of `places_to_measure_again`.
    """
    curves = Curves(points, again)
    there = {point.panel for point in points}
    few = {p.panel for p in points if p.runs < FEWEST and not PANELS[p.panel].work}
    findings = []
    for claim in CLAIMS:
        if not there.issuperset(claim.panels):
            findings.append(Finding(claim))
            continue
        curves.missing.clear()
        answer = claim.check(curves)
        enough = few.isdisjoint(claim.panels)
        criteria = [replace(criterion, enough_runs=enough) for criterion in answer.criteria]
        answer = replace(answer, criteria=criteria)
        findings.append(Finding(claim, answer, tuple(curves.missing)))
    return findings


def places_to_measure_again(points: Sequence[Point]) -> list[Place]:
    """Return the places on which some answer depends more than on others, each once."""
    return list(dict.fromkeys(place for found in judge(points) for place in found.places))
