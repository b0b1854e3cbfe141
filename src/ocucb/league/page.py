"""The page of the league: one self-contained HTML file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from .._text import duration, with_error
from .._version import __version__
from ..reports.estimates import Uncertain
from ..reports.page import Section, circumstances, document, facts_table, figure
from .advice import advise, answer
from .measure import BUDGET, KNOWN, PATIENCE, PRECISION, RARE, SEEN, Cell, Skipped
from .pairs import Pair, pairs_of
from .problems import DISASTER, KINDS, Contest
from .questions import QUESTIONS, Cells
from .standings import Player, Row, Standings, by_mean


@dataclass(frozen=True)
class Report:
    """What the page shows."""

    standings: Standings
    cells: Sequence[Cell]
    skipped: Sequence[Skipped]
    questions: Sequence[str]
    answers: Cells
    seed: int
    workers: int
    seconds: float
    precision: float
    runs: int | None


def page(report: Report, folder: Path) -> str:
    """Return the page; the figures are read from `folder`."""
    standings = report.standings
    intro = f"""<p>{len(standings.players)} policies on {len(standings.contests)} problems, each
simulated with ocucb {escape(__version__)} until error bars are short: mean regret relative to
the best, its spread, disasters, and the time per decision.</p>"""
    sections = []
    compared = _compared(standings)
    if standings.best:
        sections += [
            Section("advice", "Which one should I use?", _advice(report)),
            *([Section("yours", "Yours beside the others", compared)] if compared else []),
            Section("tables", "Tables", _tables(report)),
            Section("map", "Problem by problem", _map(report, folder)),
        ]
    if report.questions:
        body = "".join(_question(name, report, folder) for name in report.questions)
        sections.append(Section("questions", "The open questions of the paper", body))
    sections.append(Section("settings", "How this page was made", _settings(report)))
    return document("The league of bandit policies", intro, sections, _STYLE)


def _advice(report: Report) -> str:
    rows = "".join(
        f"<tr><td>{escape(advice.situation)}</td><td><b>{escape(row.player.label)}</b></td>"
        f"<td>{_number(row.mean)}{_spread(row)}</td><td>{_number(row.worst)}<br>"
        f'<span class="soft">{escape(row.worst.where)}</span></td>'
        f"<td>{escape(', '.join(advice.equals)) or '–'}</td>"
        f'<td>{advice.kept}<br><span class="soft">{escape(advice.others)}</span></td></tr>'
        for advice in advise(report.standings)
        for row in [advice.pick]
    )
    return f"""<p>{escape(answer(report.standings))}</p>
<table class="wide"><thead><tr><th>Situation</th><th>Lowest mean regret</th><th>Geometric mean
ratio</th><th>Worst ratio</th><th>Not significantly worse</th><th>Still named without one
problem</th></tr></thead>
<tbody>{rows}</tbody></table>
<p class="soft">The policy with the lowest regret over the situation's problems (geometric mean
of ratios to the best policy on each), among those that played all of them. A policy is not counted
as significantly worse unless it is behind by more than error bars can explain. The first ± is two
standard errors of the runs. The second, in brackets, is two standard errors of the jackknife over
problems: how much depends on which problems were chosen. For the same reason the last column leaves
out one problem at a time, and says who has the lowest regret then.</p>"""


def _compared(standings: Standings) -> str:
    """Return a table for each policy that somebody has entered, and each kind of reward."""
    parts = []
    for player in standings.players:
        for kind, title in KINDS.items() if player.own else ():
            rows = "".join(map(_pair, pairs_of(standings, player, standings.of_kind(kind))))
            if rows:
                parts.append(
                    f"<h3>{title}: {escape(player.label)}</h3>{_head(_PAIR_TITLES)}"
                    f"<tbody>{rows}</tbody></table>"
                )
    if not parts:
        return ""
    return f"""<p class="soft">Regret relative to that of each other policy: the geometric mean over
the problems that both have played, with the errors of the tables below. "Lower" and "higher" are
significant: between any two of all policies, chance makes so large a difference no more often than
it makes a single one exceed two standard errors. <a href="pairs.csv">pairs.csv</a> compares all
policies.</p>
{"".join(parts)}"""


def _pair(pair: Pair) -> str:
    return (
        f"<tr><td>{_name(pair.other)}</td><td>{_number(pair.ratio)}{_spread(pair)}</td>"
        f"<td>{pair.verdict}</td><td>{pair.better}</td><td>{pair.worse}</td>"
        f"<td>{pair.problems}</td></tr>"
    )


def _spread(row: Row | Pair) -> str:
    """Return the error that the choice of problems makes."""
    return f" (± {_short(2 * row.spread)})" if math.isfinite(row.spread) else ""


def _number(number: Uncertain) -> str:
    known = math.isfinite(number.error) and number.error != 0.0
    return f"{number.value:.2f}{f' ± {_short(2 * number.error)}' if known else ''}"


def _short(value: float) -> str:
    return f"{value:.2f}" if value >= 0.005 else f"{value:.3f}"


def _chance(value: Uncertain, bound: float) -> str:
    """Return a probability with its error, or its bound if that is all that is known."""
    if bound == 0.0:
        return "none possible"
    if value.value > 0.0 and value.error <= KNOWN * value.value:
        return f"{percent(value.value)} ± {percent(2 * value.error)}"
    return f"≤ {percent(bound)}"


def percent(share: float) -> str:
    """Return a share in percent, in two digits.

    Examples
    --------
    >>> percent(0.00123), percent(0.123), percent(1.0)
    ('0.12%', '12%', '100%')
    """
    return f"{100 * share:.0f}%" if share >= 0.1 else f"{100 * share:.2g}%"


def _tables(report: Report) -> str:
    parts = []
    for kind, title in KINDS.items():
        contests = report.standings.of_kind(kind)
        if contests:
            rows = report.standings.table(contests)
            order = {row.player: i for i, row in enumerate(by_mean(rows), 1)}
            body = "".join(_row(i, order[row.player], row) for i, row in enumerate(rows, 1))
            ranked = "".join(
                f"<li>{_name(row.player)} <b>{row.mean.value:.2f}</b>{_missing(row)}</li>"
                for row in by_mean(rows)
            )
            parts.append(
                f"<h3>{title}, by worst ratio</h3>{_head(_TITLES)}<tbody>{body}</tbody></table>"
                f"<h3>{title}, by geometric mean</h3><ol class='order'>{ranked}</ol>"
            )
    notes = f"""<p class="soft">Ratio: mean regret over the lowest of any policy on the problem.
Geometric mean: ± two standard errors of the runs, and in brackets of the jackknife over problems.
Standard deviation: in units of that lowest mean regret, geometric mean over problems. Instability:
the standard deviation of the number of pulls of the arm with the largest, over n, averaged over
problems. Textbook intervals: how often an arm's mean ± 1.96 standard errors, from the true variance
of a reward, holds at the end, averaged over arms and problems; 95% if arms were played in turn.
Both: where rewards are of a kind whose variance is known, and problems are not drawn. Disaster: a
regret above {DISASTER:.0f}σ√(Kn), σ being the largest standard deviation of an arm's rewards; the
largest probability over problems and all gaps of a worst case, or a bound where too few were seen.
Defaults: parameters come from a theorem, from the experiments or advice of a paper, or are ours; –
if there are none. They were not tuned, so a policy with a cautious theorem is at a disadvantage.
Time: processor time per decision in the step engine with ten arms, including the reward. Policies
marked * do not need the horizon; those in bold are yours. Policies that did not play every problem
come last; <em>short</em> counts cells whose budget ran out before mean and disasters were known
well enough.</p>"""
    return notes + "".join(parts)


_TITLES = ("", "Policy", "Worst ratio", "Geometric mean, rank", "Standard deviation",
           "Instability", "Textbook intervals", "P(disaster), worst", "Defaults", "Time",
           "Short")  # fmt: skip
_PAIR_TITLES = ("Beside", "Regret relative to it", "Regret", "Problems with lower regret",
                "With higher", "Of")  # fmt: skip
_CONTEST_TITLES = ("Policy", "Mean regret", "Ratio", "Standard deviation", "Instability",
                   "Textbook intervals", "P(disaster)", "Runs", "Effective runs",
                   "Disasters seen", "Engine")  # fmt: skip


def _head(titles: Sequence[str]) -> str:
    cells = "".join(f"<th>{title}</th>" for title in titles)
    return f'<table class="wide"><thead><tr>{cells}</tr></thead>'


def _row(number: int, order: int, row: Row) -> str:
    seconds = row.player.seconds
    took = f"{1e9 * seconds:.0f} ns" if math.isfinite(seconds) else "–"
    return (
        f"<tr><td>{number}</td><td>{_name(row.player)}{_missing(row)}</td>"
        f'<td>{_number(row.worst)}<br><span class="soft">{escape(row.worst.where)}</span></td>'
        f"<td>{_number(row.mean)}{_spread(row)}, {order}</td><td>{row.deviation:.2f}</td>"
        f"<td>{_known(row.instability, '.3f')}</td><td>{_known(row.coverage, '.1%')}</td>"
        f"<td>{_chance(row.disaster, row.disaster_bound)}<br>"
        f'<span class="soft">{escape(row.disaster.where)}</span></td>'
        f"<td>{escape(row.player.defaults)}</td>"
        f'<td><span class="time">{took}</span></td><td>{row.few_runs or ""}</td></tr>'
    )


def _known(value: float, style: str) -> str:
    return f"{value:{style}}" if math.isfinite(value) else "–"


def _name(player: Player) -> str:
    label = f"<b>{escape(player.label)}</b>" if player.own else escape(player.label)
    return label + ("" if player.needs_horizon else "*")


def _missing(row: Row) -> str:
    return "" if row.complete else f" ({row.played} of {row.contests} problems)"


def _map(report: Report, folder: Path) -> str:
    explained = (
        "The best policy on each problem has 1.00; a cell is empty where a policy does not support "
        "the rewards or was not played."
    )
    picture = figure(folder, "ratios", "Mean regret relative to the best", explained)
    details = "".join(_contest(contest, report) for contest in report.standings.contests)
    data = " ".join(
        f'<a href="{name}">{name}</a>' for name in ("cells.csv", "league.csv", "pairs.csv")
    )
    return f"{picture}<p>{data}</p>{details}"


def _contest(contest: Contest, report: Report) -> str:
    rows = []
    for player, cell in report.standings.of(contest):
        ratio = report.standings.ratio(player, contest)
        assert ratio is not None
        mark = "" if cell.reached else " (budget)"
        risky = max(report.standings.cells(player, contest), key=lambda cell: cell.disaster_bound)
        rows.append(
            f"<tr><td>{_name(player)}</td>"
            f"<td>{' '.join(with_error(cell.mean.value, 2 * cell.mean.error))}</td>"
            f"<td>{_number(ratio)}</td>"
            f"<td>{' '.join(with_error(cell.deviation.value, 2 * cell.deviation.error))}</td>"
            f"<td>{_known(cell.instability.value, '.3f')}</td>"
            f"<td>{_known(cell.coverage.value, '.1%')}</td>"
            f"<td>{_chance(risky.disaster, risky.disaster_bound)}</td>"
            f"<td>{cell.runs:,}{mark}</td><td>{cell.effective_runs:,.0f}</td>"
            f"<td>{risky.disasters:.0f}</td><td>{escape(cell.engine)}</td></tr>"
        )
    skipped = "".join(
        f"<li>{escape(skip.policy)}: not played, {escape(skip.reason)}</li>"
        for skip in report.skipped
        if skip.place == contest.name
    )
    return (
        f'<details id="{escape(contest.name)}"><summary><b>{escape(contest.name)}</b> '
        f"({contest.group}): "
        f"{escape(contest.title)}</summary>{_head(_CONTEST_TITLES)}"
        f"<tbody>{''.join(rows)}</tbody></table><ul>{skipped}</ul></details>"
    )


def _question(name: str, report: Report, folder: Path) -> str:
    question = QUESTIONS[name]
    number = list(QUESTIONS).index(name) + 1
    text = escape(question.answer(report.answers))
    return figure(folder, name, f"{number}. {question.title.removesuffix('?')}", text)


def _settings(report: Report) -> str:
    cells = report.cells
    asked = f"two standard errors of at most {report.precision:.3g} of the mean"
    short = sum(not cell.reached for cell in cells)
    tilted = sum(cell.sampling != "plain" for cell in cells)
    facts = {
        "Seed": str(report.seed),
        "Cells": f"{len(cells):,}, {tilted:,} of them tilted",
        "Precision": asked if report.runs is None else f"{report.runs:,} plain runs for each cell",
        "Short of it": f"{short:,} cells, whose budget ran out first",
        "Not played": f"{len(report.skipped):,} cells, listed above",
        "Runs": f"{sum(cell.runs for cell in cells):,}",
        "Pulls": f"{sum(float(cell.runs) * cell.horizon for cell in cells):.2e}",
        "Time taken": f"{duration(report.seconds)} with {report.workers} workers",
    } | circumstances()
    option = "" if report.runs is None else f" --runs {report.runs}"
    if report.runs is None and report.precision != PRECISION:
        option = f" --precision {report.precision:g}"
    return f"""{facts_table(facts)}
<p>A cell, one policy on one problem, gets runs until two standard errors are below the precision,
and until the probability of a disaster is known to be below {percent(RARE)}, or known to be
above and to within {KNOWN:.0%} of its value, with at least {SEEN:.0f} effective disasters seen.
What was not seen in N plain runs is bounded by 3/N. A cell may take {BUDGET:g} nominal seconds, and
{PATIENCE:g} for disasters: slow policies get fewer runs, as the tables show. Tilted runs are drawn
from a broad mixture in which the best arm's first rewards often have a lower mean, and are
weighted accordingly, so that rare failures are seen; means are corrected for the arms' luck. Worst
cases are taken over five gaps between 1 and 16 times σ sqrt(K/n), separately for each policy.
Policies have their default parameters.
<code>ocucb league{option} --seed {report.seed}</code> makes this page;
<code>ocucb league --policy mypolicy.py:mine</code> adds your own policy, and <code>--problem</code>
or <code>--means</code> your own problem.</p>"""


_STYLE = """
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
.soft { color: var(--soft); font-size: .85rem; }
.wide { font-size: .85rem; display: block; overflow-x: auto; }
.wide td, .wide th { padding-right: .8rem; }
.order { columns: 14rem; font-size: .85rem; }
summary { cursor: pointer; padding: .2rem 0; }
"""
