"""Write the table of claims in README.md from measured points, which tests/data keeps.

Without arguments, the table is rendered again from tests/data/reproduction.csv; the tests fail if
README.md differs. With the folder of a reproduction at the default precision and seed 1, the
points are replaced first:

    ocucb reproduce --out reproduction
    python docs/claims_table.py reproduction
"""

from __future__ import annotations

import csv
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path

from ocucb.paper import PRECISION, panels
from ocucb.paper.claims import COMPETITIVE, EXCELLENT, VISIBLE, WEAK, Estimate, Finding, judge
from ocucb.paper.measure import Point
from ocucb.paper.reproduction import read_points

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
POINTS = ROOT / "tests" / "data" / "reproduction.csv"
COLUMNS = ("panel", "line", "x", "N", "mean", "stderr", "deviation", "deviation_stderr")
TABLE = re.compile(r"\| claim \| verdict .*?\n(?=\n)", re.DOTALL)


def keep(folder: Path) -> None:
    """Replace the points in tests/data by those of a reproduction, in eight digits."""
    with open(POINTS, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for name, panel in panels().items():
            if panel.tail:  # no claim is about it
                continue
            points = read_points(folder / f"{name}.csv", name, seed=1)
            if {one.precision for one in points} != {PRECISION}:
                raise SystemExit(f"{folder} has no {name} of precision {PRECISION:g}, seed 1.")
            for one in points:
                found = (one.mean, one.stderr, one.deviation, one.deviation_error)
                numbers = (f"{x:.8g}" for x in found)
                writer.writerow((name, one.line, f"{one.x:g}", one.runs, *numbers))


def kept_points() -> list[Point]:
    """Return the points in tests/data, with what the claims depend on."""
    with open(POINTS, encoding="utf-8", newline="") as file:
        return [
            Point(
                panel=row["panel"],
                line=row["line"],
                x=float(row["x"]),
                policy="",
                problem="",
                engine="",
                horizon=0,
                runs=int(row["N"]),
                sampling="",
                effective_runs=math.nan,
                mean_weight=math.nan,
                precision=PRECISION,
                mean=float(row["mean"]),
                stderr=float(row["stderr"]),
                deviation=float(row["deviation"]),
                deviation_error=float(row["deviation_stderr"]),
                quantiles=(),
                seconds=math.nan,
            )
            for row in csv.DictReader(file)
        ]


def listed(texts: list[str]) -> str:
    """Join texts as in a sentence."""
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def percent(*estimates: Estimate) -> str:
    """Return fractions with two standard errors, in percent."""
    return listed([f"{100 * one.value:.0f} ± {200 * one.error:.0f}%" for one in estimates])


def times(*estimates: Estimate) -> str:
    """Return ratios to two decimals."""
    return listed([f"{one.value:.2f}" for one in estimates])


def most(*estimates: Estimate) -> str:
    """Return the largest of some fractions, in percent."""
    return f"{100 * max(one.value for one in estimates):.0f}%"


# What each claim's worst estimates are called in the table, in the order of its criteria.
MEASURED: dict[int, Callable[..., str]] = {
    1: lambda two, three, n2, n10, gap2, gap10: (
        f"at K = 2 and 10, α = 6 has {times(n2, n10)} times the regret of α = 1 for n = 5000, and "
        f"α = 2 has {times(gap2, gap10)} times that of α = 6 for Δ ≥ 1.5"
    ),
    2: lambda *changes: (
        f"doubling ψ changes regret by {percent(*changes)} on three problems; "
        f"very weak means less than {WEAK:.0%}"
    ),
    3: lambda worst, best: (
        f"at most {times(worst)} times the best; where it does best, {times(best)} times the next"
    ),
    4: lambda two, ten: (
        f"lowest regret on {percent(two, ten)} of the axis at K = 2 and 10; "
        "winner means more than half"
    ),
    5: lambda worst: (
        f"up to {times(worst)} times the best; competitive means up to {COMPETITIVE:g}"
    ),
    6: lambda exp1, exp2, exp8, exp9, exp11, exp12: (
        f"distance up to {percent(exp1)} of the axis at K = 2 as Δ varies, "
        f"{most(exp2, exp9, exp11)} at K = 10, {most(exp12)} at K = 100; "
        f"indistinguishable means less than {VISIBLE:.0%}"
    ),
    7: lambda many, power, few: (
        f"{many.value:.1f} ± {2 * many.error:.1f} times OCUCB's at K = 2500, {times(few)} times "
        "for K ≤ 100"
    ),
    8: lambda lead10, ucb10, lead100, ucb100: (
        f"at K = 10 and 100, the worse of the two has {times(lead10, lead100)} times the regret of "
        f"the next; UCB has at least {times(ucb10, ucb100)} times theirs"
    ),
    9: lambda alphas, rivals: (
        f"up to {times(rivals)} times the best policy and {times(alphas)} times the best α; "
        f"excellent means up to {EXCELLENT:g}"
    ),
    10: lambda psi2, psi10, psi_uniform, alpha2, alpha10, alpha_uniform: (
        f"on three problems, the standard deviation falls to {times(psi2, psi10, psi_uniform)} of "
        f"itself from ψ = 2 to 16, and to {times(alpha2, alpha10, alpha_uniform)} from α = 2 to 8"
    ),
}


def row(finding: Finding) -> str:
    """Return the table's row for a claim."""
    claim = finding.claim
    measured = MEASURED[claim.number](*(criterion.worst for criterion in finding.criteria))
    command = f"`ocucb reproduce {' '.join(claim.panels)}`"
    return f"| {claim.number}. {claim.sentence} | **{finding.verdict}** | {measured} | {command} |"


def table() -> str:
    """Return the table as README.md should have it."""
    head = "| claim | verdict | measured | reproduce with |\n|---|---|---|---|\n"
    return head + "".join(f"{row(finding)}\n" for finding in judge(kept_points()))


if __name__ == "__main__":
    for given in sys.argv[1:]:
        keep(Path(given))
    page = README.read_text(encoding="utf-8")
    README.write_text(TABLE.sub(lambda _: table(), page, count=1), encoding="utf-8")
