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


def regret_over_time(result: SimulationResult) -> Figure:
    """Draw mean regret against rounds for every policy, with bands of two standard errors."""
    return regret_panels([result])


def regret_panels(results: Sequence[SimulationResult]) -> Figure:
    """Draw results as `regret_over_time` does, in a panel each."""
    if not 0 < len(results) <= MOST_PANELS:
        raise ValueError(
            f"there are {len(results)} problems to draw, and room for 1 to {MOST_PANELS}; choose "
            "with --problem."
        )
    figure, axes = panels(len(results))
    for result, its_axes in zip(results, axes, strict=True):
        _draw_over_time(its_axes, result)
    return figure  # type: ignore[no-any-return]


def _draw_over_time(axes: Axes, result: SimulationResult) -> None:
    runs = max(one.runs for one in result)
    axes.set_title(f"{result.problem}, N = {runs:,}", fontsize=10)
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


def draw_by_x(
    axes: Axes, points: Sequence[tuple[float, PolicyResult]], xlabel: str, title: str
) -> None:
    """Draw final regret against a quantity that varies, with bars of two standard errors."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(xlabel)
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
