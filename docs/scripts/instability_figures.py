"""Measure regret and instability up to n = 10^9, and draw the picture of docs/instability.md.

python docs/scripts/instability_figures.py [STORE]

It prints the page's tables, and takes some minutes. With a store it can be resumed.
"""

from __future__ import annotations

import sys
from math import log, sqrt
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

import ocucb
from ocucb import _text

PICTURE = Path(__file__).parent.parent / "pictures" / "instability.png"
ARMS, SEED = 2, 1
HORIZONS = [10**k for k in range(3, 10)]
LAST = HORIZONS[-1]
GAPS = (0.0, 0.35, 0.7, 1.4)  # in units of a policy's own scale times sqrt(K / n)
ALPHAS, LEVELS = (1.0, 3.0), (4.0, 8.0, 16.0, 32.0)  # smaller ones fail too often
WIDTH = 0.06  # of SLE-UCB's beta; its theorem has 8
COLOURS = {
    "OCUCB": "#D55E00", "MOSS": "#009E73", "AdaUCB": "#0072B2", "UCB": "#000000",
    "mean + f/√T": "#777777", "SLE-UCB": "#CC79A7",
}  # fmt: skip


@ocucb.index_policy(unplayed_index="constant", concave=True)
def level(pulls, t, horizon, arms, f=1.0):
    """The same width throughout: what UCB-f (Chen and Lu 2026) plays with f of the horizon."""
    return f / sqrt(pulls)


@ocucb.index_policy(unplayed_index="constant", concave=True)
def stable(pulls, t, horizon, arms, alpha=1.0, width=8.0):
    """SLE-UCB for sigma = 1, |means| <= 1, as skip-ahead can play it: no clipping, no envelope."""
    iota = sqrt(log(arms * horizon))
    beta = width * (1.0 + 4.0 * iota) * iota
    return beta / sqrt(pulls) + alpha * beta * sqrt(arms / horizon) * log(horizon / pulls)


def beta_of(n: int, width: float) -> float:
    """Return SLE-UCB's beta for sigma = 1 and |means| <= 1."""
    iota = sqrt(log(ARMS * n))
    return width * (1.0 + 4.0 * iota) * iota


class Found(NamedTuple):
    """The worst over gaps: regret and the largest deviation of pulls; coverage with equal arms."""

    regret: ocucb.Estimate
    instability: ocucb.Estimate
    coverage: ocucb.Estimate


def measured(policy, n: int, scale: float, runs: int, store: str | None) -> Found:
    """Play all gaps."""
    regrets, spreads, covered = [], [], []
    for g in GAPS:
        problem = ocucb.gaussian([0.0, -min(2.0, g * scale * sqrt(ARMS / n))])
        one = ocucb.simulate(
            policy, problem, n, runs, rng=SEED, sampling="plain", workers=1, store=store,
            checkpoints=[n],
        )[0]  # fmt: skip
        regrets.append(ocucb.Estimate(one.mean_regret, float(one.stderr[-1])))
        spreads.append(one.instability)
        covered.append(ocucb.Estimate(float(one.coverage.mean()), float(one.coverage_stderr.max())))
    return Found(max(regrets), max(spreads), covered[0])


def row(name: str, n: int, found: Found) -> str:
    """Return a line of a table, with two standard errors."""
    units = (sqrt(ARMS * n), n)
    cells = [
        " ".join(_text.with_error(one.value / unit, 2 * one.stderr / unit))
        for one, unit in zip(found[:2], units, strict=True)
    ]
    product = found.regret.value * found.instability.value / n**1.5
    share = 100 * found.coverage.value, 200 * found.coverage.stderr
    return (
        f"| {name} | {cells[0]} | {cells[1]} | {product:.2f} | {share[0]:.1f} ± {share[1]:.1f}% |"
    )


def main() -> None:
    """Measure, print, draw."""
    store = sys.argv[1] if len(sys.argv) > 1 else None
    curves: dict[str, dict[int, Found]] = {}
    lines = {
        "OCUCB": ("ocucb", lambda n: 3.0, 600),
        "MOSS": ("moss", lambda n: 2.0, 600),
        "AdaUCB": ("adaucb", lambda n: 2.0, 300),
        "UCB": ("ucb", lambda n: sqrt(2.0 * log(n)), 64),
        "SLE-UCB": (stable(alpha=1, width=WIDTH), lambda n: 2.0 * beta_of(n, WIDTH), 64),
    }
    for name, (policy, scale, runs) in lines.items():
        curves[name] = {}
        for n in HORIZONS:
            curves[name][n] = measured(policy, n, scale(n), runs, store)
            print(row(f"{name}, n = {n:.0e}", n, curves[name][n]), flush=True)
    theorem = {}
    for n in HORIZONS[:4]:
        theorem[n] = measured(stable(alpha=1, width=8), n, 2.0 * beta_of(n, 8.0), 64, store)
        print(row(f"SLE-UCB, width = 8, n = {n:.0e}", n, theorem[n]), flush=True)
    for n in HORIZONS[:3]:  # the policy itself, which steps
        exact = ocucb.SLEUCB(alpha=1, width=WIDTH)
        found = measured(exact, n, 2.0 * beta_of(n, WIDTH), 64, store)
        print(row(f"SLE-UCB itself, n = {n:.0e}", n, found), flush=True)
    frontier: dict[str, list[Found]] = {"mean + f/√T": [], "SLE-UCB": []}
    for f in LEVELS:
        frontier["mean + f/√T"].append(measured(level(f=f), LAST, f, 32, store))
        print(row(f"f = {f:g}", LAST, frontier["mean + f/√T"][-1]), flush=True)
    for alpha in ALPHAS:
        policy, scale = stable(alpha=alpha, width=WIDTH), (1.0 + alpha) * beta_of(LAST, WIDTH)
        frontier["SLE-UCB"].append(measured(policy, LAST, scale, 32, store))
        print(row(f"alpha = {alpha:g}", LAST, frontier["SLE-UCB"][-1]), flush=True)
    draw(curves, theorem, frontier)


def draw(
    curves: dict[str, dict[int, Found]],
    theorem: dict[int, Found],
    frontier: dict[str, list[Found]],
) -> None:
    """Draw both panels."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    unit = sqrt(ARMS * LAST)
    for name, found in frontier.items():
        xs = [one.regret.value / unit for one in found]
        ys = [one.instability.value / LAST for one in found]
        left.plot(xs, ys, "o-", color=COLOURS[name], ms=4, lw=1.2, label=name)
    marks = {"OCUCB": "s", "MOSS": "^", "AdaUCB": "D", "UCB": "v"}
    for name, mark in marks.items():
        one = curves[name][LAST]
        at = one.regret.value / unit, one.instability.value / LAST
        left.plot(*at, mark, color=COLOURS[name], ms=7, label=name)
    xs = np.geomspace(0.4, 200.0, 50)
    points = [curves[name][LAST] for name in marks]
    points += [one for found in frontier.values() for one in found]
    least = min(one.regret.value * one.instability.value for one in points)
    left.plot(xs, least / unit / LAST / xs, "--", color="black", lw=1, label="R · S = c n^1.5")
    most = 4.0 + 18.0 * sqrt(2.0) * log(2.0 * ARMS)  # for alpha -> infinity, sigma = M = 1
    left.plot(
        xs, most * sqrt(LAST) / unit / xs, ":", color=COLOURS["SLE-UCB"], lw=1.2,
        label="bound on SLE-UCB's R · S",
    )  # fmt: skip
    left.set(
        xscale="log", yscale="log", xlim=(0.4, 200.0), ylim=(0.004, 0.8),
        xlabel="worst-case regret R, in units of √(Kn)",
        ylabel="instability S, over n",
        title="The frontier at n = 10⁹",
    )  # fmt: skip
    left.legend(frameon=False, fontsize=8)
    for name, found in curves.items():
        ys = [found[n].instability.value / n for n in HORIZONS]
        right.plot(HORIZONS, ys, "o-", ms=3, lw=1.4, color=COLOURS[name], label=name)
    right.plot(
        list(theorem), [one.instability.value / n for n, one in theorem.items()], "o:", ms=3,
        lw=1.4, color=COLOURS["SLE-UCB"], label="SLE-UCB, its theorem's constants",
    )  # fmt: skip
    right.set(
        xscale="log", yscale="log", ylim=(0.0002, 0.8), xlabel="n", ylabel="instability S, over n",
        title="MOSS's relatives stay unstable",
    )  # fmt: skip
    right.legend(frameon=False, fontsize=8, loc=(0.03, 0.24))
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    main()
