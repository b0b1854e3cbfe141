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
from matplotlib.ticker import LogLocator, NullFormatter

from ._files import replacing

if TYPE_CHECKING:
    from .live.summary import Summary
    from .results import SimulationResult
    from .theory import Report

# The paper's colours and line styles, in its order: UCB, OCUCB, AOCUCB, MOSS, Thompson sampling.
_STYLES: dict[str, tuple[str, Any]] = {
    "ucb": ("#000000", (0, (5, 3))),
    "ocucb": ("#e41a1c", "solid"),
    "aocucb": ("#377eb8", (0, (6, 2, 1, 2, 1, 2))),
    "moss": ("#4daf4a", (0, (1, 1.2))),
    "thompson": ("#984ea3", (0, (4, 1.5, 1, 1.5))),
}
_OTHERS = ["#a65628", "#ff7f00", "#17becf", "#7f7f7f", "#bcbd22", "#1f77b4", "#8c564b", "#e377c2"]
MOST_PANELS = 12
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


def panels(count: int, columns: int = 2, size: tuple[float, float] = (7, 4.5)) -> Any:
    """Return a figure and its axes, `count` of them in rows of `columns`."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = [figure.add_subplot(rows, columns, i + 1) for i in range(count)]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.set_ylabel("expected regret")
    return figure, axes


def _single(title: str, xlabel: str) -> tuple[Figure, Axes]:
    figure, (axes,) = panels(1)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(xlabel)
    return figure, axes


def regret_over_time(result: SimulationResult) -> Figure:
    """Draw mean regret against rounds for every policy, with bands of two standard errors."""
    return regret_panels([result])


def regret_panels(results: Sequence[SimulationResult]) -> Figure:
    """Draw results as `regret_over_time` does, in a panel each."""
    if not 0 < len(results) <= MOST_PANELS:
        raise ValueError(
            f"there are {len(results)} problems to draw, and room for 1 to {MOST_PANELS}; choose "
            "some with --problem and --seed."
        )
    figure, axes = panels(len(results))
    for result, its_axes in zip(results, axes, strict=True):
        _draw_over_time(its_axes, result)
    return figure  # type: ignore[no-any-return]


def _draw_over_time(axes: Axes, result: SimulationResult) -> None:
    numbers = sorted({one.runs for one in result})
    runs = " to ".join(f"{number:,}" for number in dict.fromkeys((numbers[0], numbers[-1])))
    axes.set_title(f"{result.problem}, N = {runs}, seed {result.seed}", fontsize=10)
    axes.set_xlabel("round $t$")
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


def theory_bands(report: Report) -> Figure:
    """Draw regret against the horizon: a band from at least to at most for each policy with bounds.

    Shapes are not drawn, and neither is what exceeds n times the largest gap, which is as much
    regret as there can be. What speaks about the worst problem, or about n → ∞, is a line.
    """
    times = report.horizons()
    ceiling = np.array(times) * report.problem.gaps.max()
    figure, axes = _single(report.problem.name, "horizon $n$")
    figure.set_size_inches(7, 5.5)
    found = [report.at(n) for n in times]

    def values(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([one[name].value if name in one else np.nan for one in found])

    axes.plot(times, ceiling, color="#555555", linewidth=0.8, label="as much as there can be")
    for upper, lower, family, hatch in (
        ("UCB, constant 8", "UCB's own promise", "ucb", ""),
        ("MOSS, constant 4", "MOSS's own promise", "moss", "...."),
    ):
        most, least = np.minimum(values(upper), ceiling), np.nan_to_num(values(lower))
        color = _STYLES[family][0]
        axes.fill_between(
            times,
            least,
            most,
            facecolor=(color, 0.13),
            edgecolor=(color, 0.4),
            hatch=hatch,
            linewidth=0,
            label=f"{upper}: proved to lie here",
        )
        for edge in (most, np.where(least > 0, least, np.nan)):
            axes.plot(times, edge, color=color, alpha=0.6, linewidth=1.0)
    for name, label, dots in (
        ("Lai and Robbins", "Lai and Robbins, as $n \\to \\infty$", (0, (7, 3))),
        ("worst case", "at least this on the worst problem", (0, (1, 2))),
    ):
        if np.nan_to_num(values(name)).any():
            axes.plot(
                times, values(name), color="#555555", linestyle=dots, linewidth=1.2, label=label
            )
    measured = [one.policy for one in next(iter(report.curve.values()), ())]
    for policy, (color, dashes) in _styles(measured).items():
        line = [result[policy] for result in report.curve.values()]
        axes.errorbar(
            list(report.curve),
            [one.mean_regret for one in line],
            yerr=[2 * float(np.nan_to_num(one.stderr[-1])) for one in line],
            color=color,
            linestyle=dashes,
            linewidth=1.8,
            elinewidth=0.8,
            label=f"{line[0].label}, measured",
        )
    if len(times) > 1:
        axes.set_xscale("log")
        axes.set_xlim(times[0], times[-1])
        axes.xaxis.set_minor_formatter(NullFormatter())
        if times[-1] < 100 * times[0]:  # powers of ten alone would be too few numbers
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter("{x:g}")
    if ceiling.any():
        axes.set_yscale("log")
    # Lower bounds may be 0: the axis ends a little below the smallest line that is not.
    shown = [one.mean_regret for result in report.curve.values() for one in result]
    shown += [*ceiling, *values("worst case")]
    axes.set_ylim(bottom=0.5 * min((x for x in shown if x > 0), default=1.0))
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def conjecture_fails(rows: Sequence[dict[str, Any]]) -> Figure:
    """Draw section 2.1: regret over K where the conjecture says that it stays bounded."""
    figure, axes = _single("means 1/2, 1/2 - 1/K, 0, ..., 0 and $n = K^2$", "arms $K$")
    axes.set_ylabel("regret / $K$")
    K = [row["K"] for row in rows]

    def curve(name: str) -> list[float]:
        return [row[name] / row["K"] for row in rows]

    axes.fill_between(
        K,
        0,
        curve("necessary"),
        color="#56b4e9",
        alpha=0.35,
        linewidth=0,
        label="impossible if regret after one bad arm is raised to 1\n"
        r"is at most $\Sigma\,(1/\Delta_i)\,\log^+(n/H_i)$, constant 1",
    )
    for name, label, dots in (
        ("theorem1", "theorem 1 (order)", (0, (1, 1.5))),
        ("conjectured", "conjecture (order)", (0, (7, 3))),
    ):
        axes.plot(K, curve(name), color="#555555", linestyle=dots, linewidth=1.4, label=label)
    results = [(row["K"], one) for row in rows for one in row["measured"]]
    for policy, (color, dashes) in _styles(one.policy for _, one in results).items():
        mine = [(arms, one) for arms, one in results if one.policy == policy]
        axes.errorbar(
            [arms for arms, _ in mine],
            [one.mean_regret / arms for arms, one in mine],
            yerr=[2 * float(np.nan_to_num(one.stderr[-1])) / arms for arms, one in mine],
            color=color,
            linestyle=dashes,
            linewidth=1.8,
            elinewidth=0.8,
            label=f"{mine[0][1].label}, measured",
        )
    axes.set_xscale("log")
    axes.set_xlim(K[0], K[-1])
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=9)
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
    # names may hold $ signs, which are not mathematics here
    left.set_yticks(rows, [_arm_label(summary, i) for i in shown], parse_math=False)
    left.invert_yaxis()
    left.set_xlabel("loss" if summary.minimize else "reward")
    total = max(1, int((summary.pulls + summary.open).sum()))
    pulls, pending = 100 * summary.pulls[shown] / total, 100 * summary.open[shown] / total
    right.barh(rows, pulls, color=colors, height=0.6)
    right.barh(rows, pending, left=pulls, color="white", edgecolor=colors, hatch="////", height=0.6)
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
    with replacing(path, "wb") as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower(), dpi=150)
