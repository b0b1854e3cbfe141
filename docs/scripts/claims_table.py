"""Write what README.md and docs/reproduction.md say about claims, from points in tests/data.

Without arguments, the texts are rendered again from tests/data; the tests fail if the pages differ.
With the folder of a reproduction at the default precision and seed 1, the points are replaced
first; with --seeds, the verdicts for other seeds are:

    ocucb reproduce --out reproduction
    python docs/scripts/claims_table.py reproduction
    python docs/scripts/claims_seeds.py seeds && python docs/scripts/claims_table.py --seeds seeds
"""

from __future__ import annotations

import csv
import math
import re
import sys
from collections import Counter
from pathlib import Path

from ocucb._text import listed
from ocucb.paper import PRECISION, panels
from ocucb.paper.claims import DECIDED, DEPENDS, OUTDATED, Finding
from ocucb.paper.measure import Point
from ocucb.paper.reproduction import read_points
from ocucb.paper.sentences import CLAIMS, judge

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "reproduction.md"
POINTS = ROOT / "tests" / "data" / "reproduction.csv"
SEEDS = ROOT / "tests" / "data" / "seeds.csv"
QUARTILES = ("q0.25", "q0.5", "q0.75")
FOUND = ("mean", "stderr", "deviation", "deviation_stderr")
COLUMNS = ("panel", "line", "x", "N", "sampling", *FOUND, "effective_runs", *QUARTILES, "again")


def keep(folder: Path) -> None:
    """Replace the points in tests/data by those of a reproduction, in eight digits."""
    points = []
    for name, panel in panels().items():
        if panel.tail:  # no claim is about it
            continue
        found = read_points(folder / f"{name}.csv", name, seed=1)
        if not panel.work and {result.precision for result in found} != {PRECISION}:
            raise SystemExit(f"{folder} has no {name} of precision {PRECISION:g}, seed 1.")
        points += [(answer, 0) for answer in found]
    points += [(point, 1) for point in read_points(folder / "again.csv", "", seed=1)]
    with open(POINTS, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for one, again in points:
            numbers = [one.mean, one.stderr, one.deviation, one.deviation_error]
            # only one claim needs quartiles, in one panel
            numbers += [one.effective_runs, *one.quantiles[3:6]] if one.panel == "alpha" else []
            text = [f"{x:.8g}" for x in numbers] + [""] * (8 - len(numbers))
            what = (one.panel, one.line, f"{one.x:g}", one.runs, one.sampling)
            writer.writerow((*what, *text, again))


def kept_points() -> tuple[list[Point], list[Point]]:
    """Return the points in tests/data, and those measured again, with what claims depend on."""
    found: tuple[list[Point], list[Point]] = ([], [])
    with open(POINTS, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            quartiles = [float(row[name] or math.nan) for name in QUARTILES]
            point = Point(
                panel=row["panel"],
                line=row["line"],
                x=float(row["x"]),
                policy="",
                problem="",
                engine="",
                horizon=0,
                runs=int(row["N"]),
                sampling=row["sampling"],
                effective_runs=float(row["effective_runs"] or math.nan),
                mean_weight=math.nan,
                precision=PRECISION,
                mean=float(row["mean"]),
                stderr=float(row["stderr"]),
                deviation=float(row["deviation"]),
                deviation_error=float(row["deviation_stderr"]),
                quantiles=(math.nan,) * 3 + tuple(quartiles) + (math.nan,) * 3,
                seconds=math.nan,
            )
            found[int(row["again"])].append(point)
    return found


def summary(findings: list[Finding]) -> str:
    """Count the verdicts."""
    counts = Counter(finding.verdict for finding in findings)
    parts = []
    for verdict in dict.fromkeys((*DECIDED, *counts)):
        count = counts[verdict]
        if verdict == DEPENDS:
            verb = "depends" if count == 1 else "depend"
            words = verdict.replace("depends", verb)
        elif verdict == OUTDATED:
            words = "was true in 2015 but is no longer" if count == 1 else "were true in 2015 only"
        else:
            words = f"{'is' if count == 1 else 'are'} {verdict}"
        if count:
            parts.append(f"{count} {words}")
    return f"Of the paper's {len(findings)} sentences about experiments, {listed(parts)}."


def short_text(findings: list[Finding]) -> str:
    """Return what README.md says: the counts and, of some sentences, the beginning of the answer.

    The beginning ends with the first full stop or semicolon: what follows are further numbers.
    """
    parts = []
    for finding in findings:
        if finding.claim.headline and finding.answer:
            words = re.split("[.;] ", finding.words)[0].rstrip(".")
            parts.append(
                f"- “{finding.claim.quote}” **{finding.verdict.capitalize()}.** {words}.\n"
            )
    return f"{summary(findings)} For example:\n\n{''.join(parts)}"


def full_table(findings: list[Finding]) -> str:
    """Return the table of docs/reproduction.md: every sentence."""
    rows = [
        f"| {finding.claim.number} | “{finding.claim.quote}” ({finding.claim.source}) | "
        f"**{finding.verdict}** | {finding.words} |\n"
        for finding in findings
    ]
    head = f"{summary(findings)}\n\n| | sentence | verdict | measured |\n|---|---|---|---|\n"
    return head + "".join(rows) + "".join(map(more_numbers, findings))


def more_numbers(finding: Finding) -> str:
    """Return the table that an answer comes with; nothing if it has none."""
    if not (finding.answer and finding.answer.table):
        return ""
    head, *rows = (f"| {' | '.join(row)} |\n" for row in finding.answer.table)
    line = "|---" * len(finding.answer.table[0])
    title = f"Sentence {finding.claim.number}, {finding.answer.caption}"
    return f"\n{title}:\n\n{head}{line}|\n{''.join(rows)}"


def keep_seeds(folder: Path) -> None:
    """Replace the verdicts in tests/data by those of the seeds that a folder has."""
    with open(SEEDS, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("seed", "claim", "verdict", "value"))
        for path in sorted(folder.glob("seed*.csv"), key=lambda path: int(path.stem[4:])):
            with open(path, encoding="utf-8", newline="") as found:
                writer.writerows(list(csv.reader(found))[1:])


def seeds_table() -> str:
    """Return the table of verdicts for some seeds."""
    with open(SEEDS, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    seeds = ", ".join(dict.fromkeys(row["seed"] for row in rows))
    head = "| | verdict | seeds with it | its first statistic in claims.csv, over all seeds |"
    lines = [f"Seeds {seeds}:\n\n{head}\n|---|---|---|---|\n"]
    for claim in CLAIMS:
        mine = [row for row in rows if int(row["claim"]) == claim.number]
        values = sorted(float(row["value"]) for row in mine)
        for verdict, count in Counter(row["verdict"] for row in mine).most_common():
            span = f"{values[0]:.3g} to {values[-1]:.3g}"
            lines.append(f"| {claim.number} | {verdict} | {count} of {len(mine)} | {span} |\n")
    return "".join(lines)


def replaced(page: str, name: str, text: str) -> str:
    """Return a page with the part between two comments replaced."""
    part = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    changed, count = part.subn(lambda m: m[1] + text + m[2], page)
    assert count == 1, f"{name} is not on the page"
    return changed


def pages() -> dict[Path, str]:
    """Return the pages as they should be."""
    findings = judge(*kept_points())
    readme, page = (path.read_text(encoding="utf-8") for path in (README, PAGE))
    page = replaced(page, "claims", full_table(findings))
    return {
        README: replaced(readme, "claims", short_text(findings)),
        PAGE: replaced(page, "seeds", seeds_table()),
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--seeds"]:
        keep_seeds(Path(sys.argv[2]))
    elif sys.argv[1:]:
        keep(Path(sys.argv[1]))
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
