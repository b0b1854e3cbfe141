"""Answer the paper's sentences with ten seeds, on thin grids: does the seed decide any of them?

    python docs/scripts/claims_seeds.py seeds

plays a few points of every panel with few runs, so that errors are three times as large as by
default or more, and writes one file of verdicts per seed; claims_table.py turns them into the table
of docs/reproduction.md. It takes about six minutes on two cores.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path

from ocucb.paper import PRECISION, panels
from ocucb.paper.measure import measure, tasks_again, tasks_of, with_mixtures, work_points
from ocucb.paper.panels import Panel
from ocucb.paper.sentences import judge, places_to_measure_again
from ocucb.paper.sharing import with_shared_runs
from ocucb.reports.measure import RunContext
from ocucb.reports.progress import Display
from ocucb.store import Store

SEEDS = range(1, 11)
BY_GAP, BY_HORIZON = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0), (1000, 10_000, 100_000)
KEPT = {
    **dict.fromkeys(("exp1", "exp2"), BY_GAP),
    **dict.fromkeys(("exp4", "exp5"), (0.1, 0.3, 1.0, 1.5, 2.0)),
    **dict.fromkeys(("exp6", "exp7"), (5000, 30_000, 100_000)),
    **dict.fromkeys(("exp8", "exp9", "exp11", "exp12"), BY_HORIZON),
    "exp10": (5, 100, 400, 2500),
    "psi": (1.0, 2.0, 16.0, 64.0, 1024.0),
    "alpha": (1.0, 3.0, 6.0, 8.0, 20.0),
    "constants": (2.0, 2.5, 4.0),
    "improved": (0.3, 1.0),
    "work": (30.0, 1000.0),
}
RUNS = {"psi": 4096, "alpha": 4096, "constants": 256}


def thinner(panel: Panel) -> Panel:
    """Return a panel with few points, its last among them, and few runs."""
    runs = RUNS.get(panel.name, panel.fewest_runs)
    return replace(panel, xs=KEPT.get(panel.name, panel.xs), fewest_runs=runs)


def verdicts(seed: int, folder: Path) -> list[tuple[int, int, str, float]]:
    """Return seed, claim, verdict and first number of every claim."""
    chosen = [thinner(panel) for panel in panels().values() if not panel.tail]
    every = {panel.name: panel for panel in chosen}
    with Store(folder / f"seed{seed}.db") as store:
        context = RunContext(2, None, store, Display(False))
        first = {panel.name: panel.fewest_runs for panel in chosen}
        tasks = tasks_of(chosen, first, seed, 10 * PRECISION)
        points = measure(with_mixtures(tasks, context), context)
        points = with_shared_runs(tasks, points, context)
        points += work_points(every["work"], every["work"].fewest_runs, seed)
        again = tasks_again(every, places_to_measure_again(points), points, seed)
        found = judge(points, measure(with_mixtures(again, context), context))
    return [
        (seed, answer.claim.number, answer.verdict, answer.criteria[0].estimate.value)
        for answer in found
    ]


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.mkdir(exist_ok=True)
    for seed in SEEDS:
        path = out / f"seed{seed}.csv"
        if not path.exists():
            rows = verdicts(seed, out)
            with open(path, "w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(("seed", "claim", "verdict", "value"))
                writer.writerows(rows)
