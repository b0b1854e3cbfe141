"""The page of a reproduction: one self-contained HTML file."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from .._text import duration
from .._version import __version__
from ..reports.page import Section, circumstances, document, facts_table, figure
from ..reports.pictures import ENDINGS, to_svg
from .claims import (
    DECIDED,
    DEPENDS,
    FALSE,
    HALF,
    MISSING,
    OUTDATED,
    TRUE,
    Criterion,
    Evidence,
    Finding,
)
from .drawing import draw_evidence
from .measure import SHARED, Point
from .panels import FIGURES, PAPER, PAPERS, PRECISION, Panel, moss_constant_of

_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Report:
    """What the page shows."""

    points: Sequence[Point]
    findings: Sequence[Finding]
    panels: dict[str, Panel]
    seed: int
    workers: int
    seconds: float
    processor: float  # seconds of processor time, but for those of an executor's workers


def page(report: Report, folder: Path) -> str:
    """Return the page; the figures are read from `folder`."""
    there = {point.panel for point in report.points}
    drawn = [name for name in FIGURES if there.intersection(FIGURES[name][1])]
    intro = f"""<p>The experiments of Tor Lattimore's paper
(<a href="https://arxiv.org/abs/1507.07880">arXiv:1507.07880</a>), rerun with ocucb
{escape(__version__)}: every figure, and a number for every claim in the text.</p>"""
    figures = "".join(_figure(name, report, folder) for name in drawn)
    sections = (
        Section("claims", "What the paper says, and what we find", _claims(report)),
        Section("figures", "Figures", figures),
        Section("settings", "How this page was made", _settings(report)),
    )
    return document("Optimally Confident UCB, reproduced", intro, sections, _STYLE)


def _claims(report: Report) -> str:
    rows = "".join(_claim(finding, report.points) for finding in report.findings)
    counts = Counter(finding.verdict for finding in report.findings)
    order = dict.fromkeys((*DECIDED, *counts))
    summary = "; ".join(f"{counts[v]} {v}" for v in order if counts[v])
    summary = summary.replace(DEPENDS, DEPENDS.replace("depends", "depend"))
    return f"""<p>Every sentence of the text about its experiments, in order: {summary}. A sentence
is <em>true</em> or <em>false</em> if its numbers say so by two standard errors (± below), and
<em>half true</em> if some of them do. Where that depends on the definition of a word such as
“competitive”, the answer is the value at which the sentence turns from false to true. What was true
until better software came along is <em>true in 2015, no longer</em>: a run, or the table that runs
need, took more than an hour on one core, and takes less than a minute now. Where a sentence is
about the worst of many points, the curves only suggest which one that is; the number comes from
separate runs at that point alone. Line numbers refer to the paper's TeX source.</p>
<table class="claims">
<thead><tr><th>Sentence</th><th>Answer</th><th>Evidence</th></tr></thead>
<tbody>{rows}</tbody>
</table>"""


def _picture(evidence: Evidence, name: str) -> str:
    """Return the small picture beside a sentence, if there is something to see."""
    figure = draw_evidence(evidence)
    if figure is None:
        return ""
    image = base64.b64encode(to_svg(figure, name)).decode()
    alt = f"{evidence.ylabel} against {evidence.xlabel}"
    return f'<img src="data:image/svg+xml;base64,{image}" alt="{escape(alt)}">'


_KINDS = {
    TRUE: "yes", FALSE: "no", HALF: "half", OUTDATED: "half", DEPENDS: "word", MISSING: "missing"
}  # fmt: skip


def _claim(finding: Finding, points: Sequence[Point]) -> str:
    claim, answer = finding.claim, finding.answer
    option = _moss_option([point for point in points if point.panel in claim.panels])
    again = f"<code>ocucb reproduce {' '.join(claim.panels)}{option}</code>"
    words, picture = "Its panels were not run.", ""
    if answer is not None:
        numbers = "".join(_criterion(criterion) for criterion in answer.criteria)
        numbers += "".join(f"<li>{escape(' · '.join(row))}</li>" for row in answer.table)
        words = (
            f"{escape(finding.words)}<details><summary>numbers</summary><ul>{numbers}"
            f"</ul></details>"
        )
        picture = _picture(answer.evidence, f"claim{claim.number}")
    return (
        f'<tr id="claim-{claim.number}"><td><b>{claim.number}.</b> {escape(claim.quote)}'
        f'<p class="again">{escape(claim.source)}<br>{again}</p></td>'
        f'<td><span class="{_KINDS.get(finding.verdict, "open")}">{finding.verdict}</span>'
        f"<p>{words}</p></td><td>{picture}</td></tr>"
    )


def _criterion(criterion: Criterion) -> str:
    estimate = criterion.estimate
    where = f" ({escape(estimate.where)})" if estimate.where else ""
    side = "below" if criterion.below else "above"
    turns = f"true {side} {criterion.surely:g}"
    if criterion.surely != criterion.never:
        other = "above" if criterion.below else "below"
        turns += f", false {other} {criterion.never:g} on any reading"
    return (
        f"<li>{escape(criterion.statistic)}{where}: <b>{estimate}</b> ({turns}): "
        f"{criterion.verdict}</li>"
    )


def _moss_option(points: Sequence[Point]) -> str:
    """Return the option that sets MOSS's constant to that of some points; none for the default."""
    constant = moss_constant_of(point.policy for point in points)
    return "" if constant == 2.0 else f" --moss-constant {constant!r}".removesuffix(".0")


def _figure(name: str, report: Report, folder: Path) -> str:
    title, parts = FIGURES[name]
    commands = "".join(_panel(part, report) for part in parts if name != "teaser")
    if name == "teaser":
        commands = "<tr><td>teaser</td><td colspan=3><code>ocucb reproduce teaser</code></td></tr>"
    return figure(folder, name, title, _explained(name), f"<table>{commands}</table>")


def _explained(name: str) -> str:
    if name in PAPERS:
        files = " ".join(f'<a href="{name}-paper.{ending}">{ending}</a>' for ending in ENDINGS)
        return f"Bands are two standard errors. As the paper draws it: {files}. Ours:"
    if name != "fig-tails":
        return "Bands are two standard errors."
    return (
        "Bands are two standard errors. The regret cannot exceed 3000; where a curve is flat, the "
        "policy has lost the best arm for good, and the height is the probability of that."
    )


def _panel(name: str, report: Report) -> str:
    points = [point for point in report.points if point.panel == name]
    if not points:
        return ""
    fewest, most = min(point.runs for point in points), max(point.runs for point in points)
    runs = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    panel = report.panels[name]
    origin = "our own panel" if panel.ours else f"paper: {panel.full_runs:,}"
    ways = Counter(point.sampling for point in points if point.sampling != "plain")
    drawn = " and ".join(f"{n / len(points):.0%} of them {way}" for way, n in ways.items())
    spent = sum(point.seconds for point in points)
    used = f", {duration(spent)} of processor time" if spent == spent else ""
    return (
        f'<tr><td><a href="{name}.csv">{name}</a></td>'
        f"<td>N = {runs} ({origin}), {len(points)} points, "
        f"{drawn or 'all of them plain'}; "
        f"{_largest_error(panel, points)}{used}</td>"
        f"<td><code>ocucb reproduce {name}{_runs_option(points)} --seed {report.seed}"
        f"{_moss_option(points)}</code></td>"
        "</tr>"
    )


def _largest_error(panel: Panel, points: Sequence[Point]) -> str:
    """Say how large standard errors are as a share of the axis; of tails, how far they reach."""
    if panel.work:
        return "work is counted, not regret"
    if panel.tail:
        clear = (point.mean for point in points if point.mean > 2.0 * point.stderr)
        return f"probabilities down to {min(clear, default=1.0):.0e}"
    # in order, as another constant of MOSS gives a line another name
    lines = dict.fromkeys(point.line for point in points)
    if points[0].precision == PAPER and not panel.ours:
        spreads = ((p.stderr, p.deviation / math.sqrt(panel.full_runs)) for p in points)
        worst = max(error / spread if error > 0.0 else 0.0 for error, spread in spreads)
        return f"standard errors at most {worst:.2f} times those of the paper's runs"
    tolerances = dict(zip(lines, (line.tolerance for line in panel.lines), strict=True))
    found: dict[float, float] = {}
    for point in points:
        tolerance = tolerances[point.line]
        found[tolerance] = max(found.get(tolerance, 0.0), point.stderr / panel.top)
    parts = [f"{share:.2%}" for _, share in sorted(found.items())]
    if len(parts) > 1:
        parts[1] += " for α = 1"
    return f"largest standard error {' and '.join(parts)} of the axis"


def _runs_option(points: Sequence[Point]) -> str:
    """Return the option that sets the runs to those of some points; none for the default."""
    precision = points[0].precision
    if math.isnan(precision):
        return f" --runs {points[0].runs}"
    if precision == PAPER:
        return " --precision paper"
    return "" if precision == PRECISION else f" --precision {precision:g}"


def _settings(report: Report) -> str:
    # points of a tail come from the same runs, and so do those of all horizons: the last has them
    played: dict[tuple[str, str, float], Point] = {}
    for point in report.points:
        together = report.panels[point.panel].tail or point.sampling == SHARED
        played[point.panel, point.line, -1.0 if together else point.x] = point
    facts = {
        "Seed": str(report.seed),
        "Points": f"{len(report.points):,}",
        "Runs": f"{sum(point.runs for point in played.values()):,}",
        "Pulls": f"{sum(float(p.runs) * p.horizon for p in played.values()):.2e}",
        "Time taken": f"{duration(report.seconds)} with {report.workers} workers; processor time "
        f"{duration(report.processor)}",
    }
    facts |= circumstances()
    failure = [point for point in report.points if point.panel == "exp10"]
    if failure:
        facts["MOSS in exp10"] = f"constant {moss_constant_of(point.policy for point in failure):g}"
    return f"""{facts_table(facts)}
<p>Each point has as many runs as the precision requires, unless their number was given.
<em>Tilted</em> runs are drawn by importance sampling: the best arm's first rewards are often drawn
with a lower mean, so that failures, which are rare but dominate the mean regret, are seen; runs are
weighted accordingly, and means are corrected for the arms' luck. Runs of <em>pooled</em> points are
tilted, too, and count for neighbouring gaps as well, by their likelihood there; those of
<em>shared</em> points are played once for all horizons; <em>mirrored</em> ones are averaged with
runs in which the two good arms have exchanged their rewards. The noise is standard normal.
Thompson sampling has a flat prior. OCUCB has
α = 3 and ψ = 2, and UCB and MOSS have constant 2, unless a legend says otherwise. For the second
half of the sensitivity figure, the paper's text gives the gap as 3/10 and its titles as 2/10; the
titles are right. In the figure on the failure of MOSS, the text gives its constant as 2, and the
author's own program has 4; <code>ocucb reproduce exp10 --moss-constant 4</code> uses the latter.
The paper omits Gittins from exp8 and exp9, and shows neither the dependence on ψ nor standard
deviations; this page shows them.</p>"""
