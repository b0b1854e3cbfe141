"""Draw the figures of docs/methods.md, in a minute or two of processor time: `make methods`.

python docs/scripts/methods_figures.py [exact] [bars] [pooled]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import ocucb
from ocucb import figures
from ocucb.figures import BLUE, GREY, RED

PICTURES = Path(__file__).parents[1] / "pictures"
RUNS, SIMULATIONS, POINTS = 4000, 40, 30


def exact() -> Figure:
    """Quantiles of regret on one engine against those on the other: all on the diagonal."""
    figure, (axes,) = figures.empty_panels(1, size=(4.2, 4))
    levels = np.linspace(0.02, 0.98, 49)
    problem = ocucb.gap(K=5, gap=0.5)
    styles = figures.policy_styles(["ocucb", "ucb", "thompson"])
    for name, style in styles.items():
        either = [
            ocucb.simulate(
                name, problem, 2000, runs=RUNS, rng=seed, engine=engine, sampling="plain"
            )[0]
            for seed, engine in ((1, "step"), (2, "skip"))
        ]
        one, other = ([each.quantile(level) for level in levels] for each in either)
        axes.plot(one, other, ".", color=style.color, label=either[0].label)
    low, high = axes.get_xlim()
    axes.plot([low, high], [low, high], color="0.7", lw=1, zorder=0)
    axes.set(xlabel="quantiles of regret, step by step", ylabel="the same, skip-ahead")
    axes.legend(frameon=False)
    return figure


def bars() -> Figure:
    """The same simulation many times: plain runs, tilted ones, and tilted ones without luck."""
    figure, (axes,) = figures.empty_panels(1, size=(6.4, 3.4))
    problem = ocucb.gap(K=2, gap=0.5)
    ways = {
        "plain": {"sampling": "plain", "control_variates": False},
        "tilted": {"sampling": "tilted", "control_variates": False},
        "tilted, and\ncorrected for luck": {"sampling": "tilted"},
    }
    for place, (options, color) in enumerate(
        zip(ways.values(), (GREY, BLUE.color, RED.color), strict=True)
    ):
        found = [
            ocucb.simulate("ocucb", problem, 10_000, runs=400, rng=seed, **options)[0]
            for seed in range(SIMULATIONS)
        ]
        x = place + np.linspace(-0.35, 0.35, SIMULATIONS)
        means = [result.mean_regret for result in found]
        errors = [2 * result.stderr[-1] for result in found]
        axes.errorbar(x, means, errors, fmt=".", color=color, ms=3, lw=1)
    axes.set_xticks(range(3), list(ways))
    axes.set_ylabel("mean regret ± 2 standard errors")
    return figure


def pooled() -> Figure:
    """The same number of runs, each used once, and each used by its neighbours, too."""
    figure, (axes,) = figures.empty_panels(1, size=(6.4, 3.4))
    gaps = np.linspace(0.1, 1, POINTS)
    problems = [ocucb.gap(K=2, gap=float(gap)) for gap in gaps]
    alone = [
        ocucb.simulate("ocucb", problem, 1000, runs=256, rng=1, sampling="plain")[0]
        for problem in problems
    ]
    means = [result.mean_regret for result in alone]
    errors = [2 * result.stderr[-1] for result in alone]
    axes.errorbar(gaps, means, errors, fmt=".", color=GREY, lw=1, label="alone")
    curve = ocucb.sweep("ocucb", problems, 1000, runs=256, rng=1)[0]
    figures.draw_estimates(axes, gaps, curve.regret, curve.stderr, RED, label="pooled")
    figures.round_ticks(axes)
    axes.set(xlabel="gap Δ", ylim=(0, None))
    axes.legend(frameon=False)
    return figure


FIGURES = {"exact": exact, "bars": bars, "pooled": pooled}

if __name__ == "__main__":
    for name in sys.argv[1:] or FIGURES:
        place = PICTURES / f"methods-{name}.png"
        FIGURES[name]().savefig(place, dpi=110)
        print(place)
