"""How close `tune` comes to the best of a fine grid, and how long it takes.

Both are free to choose alpha and psi of OCUCB; what each has chosen is then measured with the same
number of fresh runs. The grid is thinned out in three rounds of simulations.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

import ocucb
from ocucb.policies import Policy

HORIZON = 10_000
ALPHAS, PSIS = np.geomspace(0.375, 24.0, 33), np.geomspace(1.0, 16.0, 9)
ROUNDS = (1024, 24), (8192, 4), (65_536, 1)  # runs of a point, and points that are kept
FRESH = 65_536  # runs that compare the two
GOAL = 0.02


def grid_best(problem: Any) -> tuple[Policy, float]:
    """Return the best point of the grid, and the processor time that it took."""
    began = time.process_time()
    points = [
        Policy(ocucb.OCUCB, (float(f"{a:.3g}"), float(f"{psi:.3g}")))
        for a in ALPHAS
        for psi in PSIS
    ]
    for runs, kept in ROUNDS:
        found = ocucb.simulate(points, problem, HORIZON, runs, rng=runs, checkpoints=[HORIZON])
        order = np.argsort([player.mean_regret for player in found])[:kept]
        points = [points[i] for i in order]
    return points[0], time.process_time() - began


def section() -> list[str]:
    """Return the section as lines of Markdown."""
    lines = [
        "## Tuning",
        "",
        "`tune` with its default number of runs, alpha and psi of OCUCB, n = 10^4, against the",
        f"best of a grid of {ALPHAS.size * PSIS.size} points. Excess: mean regret over that of the",
        "grid's best, minus 1, ± two standard errors; the goal is 2%. Times are those of the",
        "processor, of one core.",
        "",
        "| problem | tuned | excess | seconds | grid | seconds of the grid | goal |",
        "|---|---|---|---|---|---|---|",
    ]
    problems = (
        ocucb.gap(K=10, gap=0.3),
        ocucb.bernoulli([0.5, 0.45]),
        ocucb.prior("normal", K=10),
    )
    for problem in problems:
        best, grid_seconds = grid_best(problem)
        began = time.process_time()
        tuned = ocucb.tune("ocucb", problem, HORIZON, rng=1).best
        seconds = time.process_time() - began
        both = ocucb.simulate([tuned, best], problem, HORIZON, FRESH, rng=2, checkpoints=[HORIZON])
        excess = both[0].mean_regret / both[1].mean_regret - 1.0
        bar = 2.0 * math.hypot(*(player.stderr[-1] / player.mean_regret for player in both))
        missed = " **missed**" * (excess - bar > GOAL)
        names = (policy.label.removeprefix("OCUCB") or "default" for policy in (tuned, best))
        shown = [name.strip("()") for name in names]
        lines.append(
            f"| {problem.name} | {shown[0]} | {100 * excess:+.1f}% ± {100 * bar:.1f}% "
            f"| {seconds:.0f} | {shown[1]} | {grid_seconds:.0f} | 2%{missed} |"
        )
        print(lines[-1], flush=True)
    return lines


if __name__ == "__main__":
    section()
