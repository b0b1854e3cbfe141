"""Write what README.md and docs say about the league, from data that tests/data keeps.

Without arguments, the texts are rendered again from tests/data/league; the tests fail if they
differ. With the folder of a league at default precision and seed 1, data and pictures are replaced
first. Texts are about what was played, be it the whole league or some of its parts:

    ocucb league --out league
    python docs/scripts/league_text.py league
"""

from __future__ import annotations

import csv
import math
import re
import shutil
import sys
from pathlib import Path

from ocucb._text import listed
from ocucb.league import CONTESTS
from ocucb.league.advice import advise
from ocucb.league.measure import PRECISION, Skipped
from ocucb.league.page import Report, percent
from ocucb.league.problems import KINDS
from ocucb.league.questions import QUESTIONS, Cells
from ocucb.league.standings import Row, Standings
from ocucb.league.tables import read_cells, read_players

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests" / "data" / "league"
FILES = ("cells.csv", "policies.csv", "skipped.csv")
PICTURES = ("ratios", *QUESTIONS)
PAGES = tuple(ROOT / name for name in ("README.md", "docs/league.md", "docs/open-problems.md"))


def keep(folder: Path) -> None:
    """Replace the data in tests/data, in six digits, and the pictures, by those of a league."""
    KEPT.mkdir(exist_ok=True)
    for name in FILES:
        with open(folder / name, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        with open(KEPT / name, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [list(map(shorter, row)) for row in rows]
            )
    for name in PICTURES:
        if (folder / f"{name}.png").exists():
            shutil.copyfile(folder / f"{name}.png", picture(name))


def picture(name: str) -> Path:
    """Return where a picture of the league is kept."""
    return ROOT / "docs" / "pictures" / f"league-{name}.png"


def shorter(text: str) -> str:
    """Return a number in six digits, and anything else as it is."""
    return f"{float(text):.6g}" if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text) else text


def kept_report() -> Report:
    """Return the league in tests/data."""
    cells = read_cells(KEPT / "cells.csv")
    by_key = {cell.key: cell for cell in cells}
    with open(KEPT / "skipped.csv", encoding="utf-8", newline="") as file:
        skipped = [Skipped(**row) for row in csv.DictReader(file)]
    players = read_players(KEPT / "policies.csv")
    contests = list(CONTESTS.values()) if players else []
    return Report(
        standings=Standings(players, contests, by_key),
        cells=cells,
        skipped=skipped,
        questions=[name for name in QUESTIONS if picture(name).exists()],
        answers=Cells(by_key),
        seed=1,
        workers=2,
        seconds=0.0,
        precision=PRECISION,
        runs=None,
    )


def advice_table(report: Report) -> str:
    """Return the advice as a table."""
    rows = [
        f"| {advice.situation} | **{advice.pick.player.label}** | {mean_ratio(advice.pick)} | "
        f"{advice.pick.worst.value:.2f} ({advice.pick.worst.where}) | "
        f"{', '.join(advice.equals) or '–'} | "
        f"{advice.kept}{f' ({advice.others})' if advice.others else ''} |\n"
        for advice in advise(report.standings)
    ]
    head = "| situation | lowest mean regret | geometric mean ratio | worst ratio |"
    more = "not significantly worse | still named without one problem |"
    return f"{head} {more}\n|---|---|---|---|---|---|\n{''.join(rows)}{not_known(report)}"


def not_known(report: Report) -> str:
    """Return whose disasters are not known well enough to be named, as a paragraph."""
    found = [advice for advice in advise(report.standings) if advice.unknown]
    return "".join(
        f"\nNot known well enough to be named ({row.situation.partition(',')[0]}, no disasters): "
        f"{', '.join(row.unknown)}.\n"
        for row in found
    )


def mean_ratio(row: Row) -> str:
    """Return the geometric mean with the errors of the runs and, in brackets, of the problems."""
    spread = f" (± {2 * row.spread:.2f})" if math.isfinite(row.spread) else ""
    return f"{row.mean.value:.2f} ± {2 * row.mean.error:.2f}{spread}"


def short_table(report: Report) -> str:
    """Return the advice as the README has it."""
    rows = [
        f"| {advice.situation} | "
        f"{listed([f'**{advice.pick.player.label}**', *advice.equals], 'or')} | "
        f"{advice.pick.mean.value:.2f} ± {2 * advice.pick.spread:.2f} | "
        f"{advice.pick.worst.value:.2f} | "
        f"{advice.kept} |\n"
        for advice in advise(report.standings)
    ]
    head = "| your problem | use | regret | at worst | stays best |"
    return f"{head}\n|---|---|---|---|---|\n{''.join(rows)}"


def tables(report: Report) -> str:
    """Return a table for each kind of reward, by worst ratio."""
    parts = []
    for kind, title in KINDS.items():
        rows = [
            f"| {row.player.label}{'' if row.player.needs_horizon else '*'} | "
            f"{row.worst.value:.2f} ({row.worst.where}) | {mean_ratio(row)} | "
            f"{row.deviation:.2f} | {risk(row)} | {row.player.defaults} | "
            f"{row.played} of {row.contests} |\n"
            for row in report.standings.table(report.standings.of_kind(kind))
        ]
        head = "worst ratio | geometric mean | deviation | P(disaster) | defaults | problems |"
        parts.append(f"| {title} | {head}\n|---|---|---|---|---|---|---|\n{''.join(rows)}")
    return "\n".join(parts)


def risk(row: Row) -> str:
    """Return the bound for disasters; whether they are rare, if that is not known."""
    return f"≤ {percent(row.disaster_bound)}{', not known' if row.undecided else ''}"


def question_text(report: Report) -> str:
    """Return the open questions with their answers and pictures."""
    return "\n".join(
        f"**{i}. {one.title}** {one.answer(report.answers)}\n\n"
        f"![{one.title}](pictures/league-{one.name}.png)\n"
        for i, one in enumerate(QUESTIONS.values(), 1)
        if one.name in report.questions
    )


def texts() -> dict[str, str]:
    """Return every generated part of the pages by its name; empty if it was not played."""
    report = kept_report()
    found = {"league-answer": "", "league-findings": ""}
    if report.standings.best:
        found["league-answer"] = (
            f"## Which policy should I use?\n\n{short_table(report)}\n{ANSWERED}\n\n"
        )
        found["league-findings"] = FINDINGS.format(advice_table(report), tables(report))
    found["league-findings"] += f"## The open questions of the paper\n\n{question_text(report)}\n"
    for name in report.questions:
        found[f"question-{name}"] = f"{QUESTIONS[name].answer(report.answers)}\n"
    return found


ANSWERED = (
    "Mean regret of the policy in bold relative to the best policy on each problem: the geometric "
    "mean over the problems, ± two standard errors over these, and the worst of them. Policies "
    "named beside it are not significantly worse. The last column leaves out one problem at a "
    "time. [All policies, all problems, and the paper's open questions](docs/league.md)."
)

FINDINGS = """## Which one should I use?

{}
(Geometric mean and worst of the ratios to the best policy on each problem, among the policies that
played all of the situation's problems. The first ± is two standard errors of the runs; the one in
brackets is two standard errors of the jackknife over problems. The last column leaves out one
problem at a time, by its name in the picture below, and counts how often the same policy is named.)

![Every policy's regret relative to the best on every problem](pictures/league-ratios.png)

## Tables

Policies that did not play every problem come last: the problems they missed might have been their
worst.

{}
"""


def rendered(page: str) -> str:
    """Return a page with its generated parts, which comments enclose, written again."""
    for name, text in texts().items():
        part = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page = part.sub(lambda found, text=text: f"{found[1]}{text}{found[2]}", page)
    return page


if __name__ == "__main__":
    for given in sys.argv[1:]:
        keep(Path(given))
    for path in PAGES:
        path.write_text(rendered(path.read_text(encoding="utf-8")), encoding="utf-8")
