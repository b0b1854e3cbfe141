"""Figures of results, with matplotlib but without its windows: they work on any machine."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from .results import PolicyResult, SimulationResult
    from .summary import Summary

# The paper's colours and line styles, in its order: UCB, OCUCB, AOCUCB, MOSS, Thompson sampling.
_STYLES: dict[str, tuple[str, Any]] = {
    "ucb": ("#000000", (0, (5, 3))),
    "ocucb": ("#e41a1c", "solid"),
    "aocucb": ("#377eb8", (0, (6, 2, 1, 2, 1, 2))),
    "moss": ("#4daf4a", (0, (1, 1.2))),
    "thompson": ("#984ea3", (0, (4, 1.5, 1, 1.5))),
}
_OTHERS = ["#a65628", "#ff7f00", "#17becf", "#7f7f7f", "#bcbd22", "#1f77b4", "#8c564b", "#e377c2"]
_ENDINGS = (".png", ".pdf", ".svg")


def _styles(policies: Iterable[str]) -> dict[str, tuple[str, Any]]:
    """Give each policy a colour and a line: the paper's, or the next one that is free."""
    styles: dict[str, tuple[str, Any]] = {}
    taken: set[str] = set()
    spare = itertools.cycle(_OTHERS)
    for policy in policies:
        family = policy.partition(":")[0]
        if policy not in styles:
            known = family in _STYLES and family not in taken
            styles[policy] = _STYLES[family] if known else (next(spare), "solid")
            taken.add(family)
    return styles


def _empty(title: str, xlabel: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(xlabel)
    axes.set_ylabel("expected regret")
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def regret_over_time(result: SimulationResult) -> Figure:
    """Draw mean regret against rounds for every policy, with bands of two standard errors."""
    runs = max(one.runs for one in result)
    figure, axes = _empty(f"{result.problem}, N = {runs:,}", "round $t$")
    styles = _styles(one.policy for one in result)
    for one in result:
        color, dashes = styles[one.policy]
        axes.plot(
            one.checkpoints,
            one.regret,
            color=color,
            linestyle=dashes,
            linewidth=1.6,
            label=one.label,
        )
        bar = 2 * np.nan_to_num(one.stderr)
        axes.fill_between(
            one.checkpoints, one.regret - bar, one.regret + bar, color=color, alpha=0.2, linewidth=0
        )
    horizon = max(one.horizon for one in result)
    if horizon > 1:
        axes.set_xscale("log")
        axes.set_xlim(1, horizon)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return figure


def regret_by_x(points: Sequence[tuple[float, PolicyResult]], xlabel: str, title: str) -> Figure:
    """Draw final regret against a quantity that varies, with bars of two standard errors."""
    figure, axes = _empty(title, xlabel)
    for policy, (color, dashes) in _styles(one.policy for _, one in points).items():
        mine = [(x, one) for x, one in points if one.policy == policy]
        axes.errorbar(
            [x for x, _ in mine],
            [one.mean_regret for _, one in mine],
            yerr=[2 * float(np.nan_to_num(one.stderr[-1])) for _, one in mine],
            color=color,
            linestyle=dashes,
            linewidth=1.6,
            elinewidth=0.8,
            label=mine[0][1].label,
        )
    axes.set_xlim(0, max(x for x, _ in points))
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return figure


def live_summary(summary: Summary) -> Figure:
    """Draw what a live bandit knows: means with intervals and indices, and the share of traffic."""
    blue, grey, red = "#377eb8", "#aaaaaa", "#e41a1c"
    shown = summary.shown()
    rows = np.arange(len(shown))
    colors = [grey if summary.retired[i] else blue for i in shown]
    figure = Figure(figsize=(8, 1.5 + 0.3 * len(shown)), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(5, 2))
    left.hlines(rows, summary.low[shown], summary.high[shown], colors=colors, lw=2.5, alpha=0.6)
    left.scatter(summary.mean[shown], rows, c=colors, s=24, zorder=3)
    label = f"mean and {100 * summary.level:g}% interval"
    left.plot([], [], color=blue, marker="o", markersize=5, label=label)
    if np.isfinite(summary.index[shown]).any():
        left.scatter(summary.index[shown], rows, marker="|", color=red, s=90, label="index")
    left.set_yticks(rows, [_arm_label(summary, i) for i in shown])
    left.invert_yaxis()
    left.set_xlabel("loss" if summary.minimize else "reward")
    total = max(1, int((summary.pulls + summary.open).sum()))
    told, waiting = 100 * summary.pulls[shown] / total, 100 * summary.open[shown] / total
    right.barh(rows, told, color=colors, height=0.6)
    right.barh(rows, waiting, left=told, color="white", edgecolor=colors, hatch="////", height=0.6)
    right.barh([0], [0], color="white", edgecolor=blue, hatch="////", label="open")
    right.set_xlabel("share of traffic, %")
    right.set_xlim(0, 100)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{summary.policy}, round {summary.round:,}", fontsize=10, x=0.02, ha="left")
    figure.legend(loc="outside upper right", frameon=False, fontsize=8, ncols=3)
    return figure


def _arm_label(summary: Summary, i: int) -> str:
    if summary.retired[i]:
        return f"{summary.arms[i]} (retired)"
    return (
        f"{summary.arms[i]} (next)" if summary.arms[i] == summary.next_arm else f"{summary.arms[i]}"
    )


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose ending names no format for pictures."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise ValueError(
            f"cannot draw to {str(path)!r}: its ending must be one of {', '.join(_ENDINGS)}."
        )


def write(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file whose ending names the format."""
    check_ending(path)
    figure.savefig(path, dpi=150)
