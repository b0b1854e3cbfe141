"""The page of a reproduction: one HTML file that holds everything and needs nothing."""

from __future__ import annotations

import base64
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path

from .. import __version__
from ..progress import duration
from .claims import COMPETITIVE, EXCELLENT, FAILS, HOLDS, MISSING, VISIBLE, WEAK, Criterion, Finding
from .measure import Point
from .panels import FIGURES, Panel


@dataclass(frozen=True)
class Report:
    """What the page tells."""

    points: Sequence[Point]
    findings: Sequence[Finding]
    panels: dict[str, Panel]
    seed: int
    workers: int
    seconds: float
    full: str


def page(report: Report, folder: Path) -> str:
    """Return the page; the figures are read from `folder`."""
    there = {one.panel for one in report.points}
    drawn = [name for name in FIGURES if there.intersection(FIGURES[name][1])]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Optimally Confident UCB, reproduced</title>
<style>{_STYLE}</style>
</head>
<body>
<header>
<h1>Optimally Confident UCB, reproduced</h1>
<p>The experiments of Tor Lattimore's paper
(<a href="https://arxiv.org/abs/1507.07880">arXiv:1507.07880</a>), simulated anew with ocucb
{escape(__version__)}: every figure, and every claim of the text with a number.</p>
</header>
<main>
<section id="claims">
<h2>What the paper says, and what we find</h2>
{_claims(report.findings)}
</section>
<section id="figures">
<h2>Figures</h2>
{"".join(_figure(name, report, folder) for name in drawn)}
</section>
<section id="settings">
<h2>How it was made</h2>
{_settings(report)}
</section>
</main>
</body>
</html>
"""


def _claims(findings: Sequence[Finding]) -> str:
    rows = "".join(_claim(one) for one in findings)
    return f"""<p>A statistic holds when it is on the right side of its threshold by two standard
errors, and does not hold when it is on the wrong side by as much (by more where it is the worst of
many). By <em>competitive</em> we mean at most {COMPETITIVE:g} times the regret of the best, by
<em>excellent</em> at most {EXCELLENT:g} times; <em>indistinguishable</em> curves are closer than
{VISIBLE:.0%} of the axis, and a dependence is <em>very weak</em> if doubling the parameter changes
the regret by less than {WEAK:.0%}. Curves are compared in stretches of neighbouring points.</p>
<table class="claims">
<thead><tr><th>Claim</th><th>Verdict</th><th>Measured (± two standard errors)</th></tr></thead>
<tbody>{rows}</tbody>
</table>"""


def _claim(finding: Finding) -> str:
    claim = finding.claim
    kind = {HOLDS: "yes", FAILS: "no", MISSING: "missing"}.get(finding.verdict, "open")
    tests = "".join(_test(test) for test in finding.tests)
    again = f"<code>ocucb reproduce {' '.join(claim.panels)}</code>"
    return (
        f'<tr id="claim-{claim.number}"><td><b>{claim.number}.</b> {escape(claim.sentence)}'
        f'<p class="again">{again}</p></td>'
        f'<td><span class="{kind}">{finding.verdict}</span></td>'
        f"<td>{f'<ul>{tests}</ul>' if tests else 'its panels were not run'}</td></tr>"
    )


def _test(test: Criterion) -> str:
    number = test.number
    mark = {HOLDS: "✓", FAILS: "✗"}.get(test.verdict, "?")
    where = f" ({escape(number.where)})" if number.where and "(" not in test.words else ""
    side = "≤" if test.below else "≥"
    return (
        f"<li>{mark} {escape(test.words)}{where}: <b>{number.value:.3g}</b> "
        f"± {2 * number.error:.2g}, claimed {side} {test.threshold:g}</li>"
    )


def _figure(name: str, report: Report, folder: Path) -> str:
    title, parts = FIGURES[name]
    picture = base64.b64encode((folder / f"{name}.svg").read_bytes()).decode()
    commands = "".join(_panel(part, report) for part in parts if name != "teaser")
    files = " ".join(f'<a href="{name}.{ending}">{ending}</a>' for ending in ("pdf", "svg", "png"))
    if name == "teaser":
        commands = "<tr><td>teaser</td><td colspan=3><code>ocucb reproduce teaser</code></td></tr>"
    return f"""<figure id="{name}">
<img src="data:image/svg+xml;base64,{picture}" alt="{escape(title)}">
<figcaption><b>{escape(title)}.</b> Bars are two standard errors. {files}
<table>{commands}</table></figcaption>
</figure>
"""


def _panel(name: str, report: Report) -> str:
    points = [one for one in report.points if one.panel == name]
    if not points:
        return ""
    runs = min(one.runs for one in points)
    paper = report.panels[name].paper_runs
    ours = name in ("psi", "alpha")
    constants = {one.policy.removeprefix("moss:") for one in points if "moss:" in one.policy}
    other = "".join(f" --moss-{one.replace('=', ' ')}" for one in constants if one != "constant=2")
    spent = sum(one.seconds for one in points)
    used = f", {duration(spent)} of processor time" if spent == spent else ""
    return (
        f'<tr><td><a href="{name}.csv">{name}</a></td>'
        f"<td>N = {runs:,}{'' if ours else f' (paper: {paper:,})'}, {len(points)} points{used}</td>"
        f"<td><code>ocucb reproduce {name} --runs {runs} --seed {report.seed}{other}</code></td>"
        "</tr>"
    )


def _settings(report: Report) -> str:
    parts = ("numpy", "scipy", "numba", "matplotlib")
    libraries = ", ".join(f"{name} {version(name)}" for name in parts)
    facts = {
        "Seed": str(report.seed),
        "Points": f"{len(report.points):,}",
        "Runs": f"{sum(one.runs for one in report.points):,}",
        "Pulls": f"{sum(float(one.runs) * one.horizon for one in report.points):.2e}",
        "Time of this call": f"{duration(report.seconds)} with {report.workers} workers",
        "The whole paper": report.full,
        "Made": time.strftime("%Y-%m-%d %H:%M %Z"),
        "Software": f"ocucb {__version__}, Python {platform.python_version()}, {libraries}",
        "Machine": f"{platform.system()} {platform.machine()}",
    }
    rows = "".join(
        f"<tr><th>{key}</th><td>{escape(value)}</td></tr>" for key, value in facts.items()
    )
    return f"""<table class="facts">{rows}</table>
<p>The noise is standard normal. Thompson sampling has a flat prior. OCUCB has α = 3 and ψ = 2, and
UCB and MOSS have constant 2, unless a legend says otherwise. The text of the paper gives the gap
of the second half of the sensitivity figure as 3/10, its titles as 2/10, which is right. The
author's own program ran MOSS with constant 4 in the figure on its failure:
<code>ocucb reproduce exp10 --moss-constant 4</code> shows that. The paper leaves Gittins out where
n exceeds 10,000 and shows neither ψ nor the spread; here they are.</p>"""


_STYLE = """
:root { color-scheme: light; --line: #d8d8d8; --soft: #666; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
  max-width: 66rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; }
a { color: #1b5e9e; }
code { font: .85em ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0;
  border-bottom: 1px solid var(--line); }
ul { margin: 0; padding: 0; list-style: none; font-size: .9rem; }
.again { margin: .2rem 0 0; color: var(--soft); font-size: .85rem; }
.claims td:first-child { width: 34%; }
.claims td:nth-child(2) span { white-space: nowrap; font-weight: 600; padding: .1rem .5rem;
  border-radius: .7rem; border: 1px solid; }
.yes { color: #17692e; background: #e7f5ea; }
.no { color: #a3161b; background: #fdecec; }
.open, .missing { color: #6b5200; background: #fdf6dd; }
figure { margin: 1.5rem 0 2.5rem; }
figure img { width: 100%; max-width: 62rem; height: auto; display: block; }
#teaser img, #fig3 img { max-width: 34rem; }
figcaption { font-size: .9rem; }
figcaption table { margin-top: .4rem; font-size: .85rem; }
.facts th { white-space: nowrap; font-weight: 600; }
@media (max-width: 40rem) {
  .claims thead { display: none; }
  .claims tr, .claims td { display: block; border: 0; width: auto !important; }
  .claims tr { border-bottom: 1px solid var(--line); padding: .6rem 0; }
  figcaption table tr, figcaption table td, .facts tr, .facts th, .facts td { display: block;
    border: 0; padding: .1rem 0; }
  figcaption table tr, .facts tr { border-bottom: 1px solid var(--line); padding: .3rem 0; }
}
@media print {
  body { max-width: none; font-size: 11px; padding: 0; }
  figure, .claims tr { break-inside: avoid; }
  a { color: inherit; text-decoration: none; }
}
"""
