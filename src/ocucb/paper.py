"""The paper's experiments: regret against the gap, for the policies that it compares."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from .policies import AOCUCB, MOSS, OCUCB, UCB, ThompsonSampling
from .problems import gap
from .results import PolicyResult, replacing
from .simulation import simulate

HORIZON = 10_000
ARMS = 2
GAPS = tuple(np.round([0.01, 0.02, 0.03, *np.arange(0.05, 1.01, 0.05)], 2).tolist())


def reproduce(out: Path, runs: int, seed: int) -> list[Path]:
    """Measure regret for gaps from 0.01 to 1, and write a table and a figure.

    Returns
    -------
    list of Path
        The files that were written.
    """
    from . import figures

    policies = [UCB(), OCUCB(), AOCUCB(), MOSS(), ThompsonSampling()]
    out.mkdir(parents=True, exist_ok=True)
    points: list[tuple[float, PolicyResult]] = []
    for width in GAPS:
        result = simulate(
            policies,
            gap(ARMS, width),
            HORIZON,
            runs,
            rng=seed,
            checkpoints=[HORIZON],
            progress=False,
        )
        points += [(width, one) for one in result]
    table = out / "regret-comparison.csv"
    with replacing(table) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["gap", "policy", "mean_regret", "stderr", "runs", "engine"])
        for width, one in points:
            error = float(one.stderr[-1])
            writer.writerow([width, one.policy, one.mean_regret, error, one.runs, one.engine])
    picture = out / "regret-comparison.png"
    title = f"$n = 10^4$, $K = {ARMS}$, $N = {runs:,}$, $\\Delta$ varies"
    figure, axes = figures.panels(1)
    figures.draw_by_x(axes[0], points, r"$\Delta$", title)
    figures.write(figure, picture)
    return [table, picture]
