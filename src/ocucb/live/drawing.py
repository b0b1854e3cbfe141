"""The picture of a bandit: what is known about each arm, and its share of the traffic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .._matplotlib import Axes, Figure
from .._types import Counts, Flags, Floats
from ..figures import BLUE, RED, Look, empty_panels, figure_of, legend, round_ticks
from .names import Arm

_RETIRED = "#aaaaaa"


class Known(Protocol):
    """What is drawn, as a `Summary` has it."""

    @property
    def arms(self) -> Sequence[Arm]: ...
    @property
    def pulls(self) -> Counts: ...
    @property
    def open(self) -> Counts: ...
    @property
    def mean(self) -> Floats: ...
    @property
    def low(self) -> Floats: ...
    @property
    def high(self) -> Floats: ...
    @property
    def index(self) -> Floats: ...
    @property
    def retired(self) -> Flags: ...
    @property
    def level(self) -> float: ...
    @property
    def simultaneous(self) -> bool: ...
    @property
    def policy(self) -> str: ...
    @property
    def round(self) -> int: ...
    @property
    def minimize(self) -> bool: ...
    @property
    def next_arm(self) -> Arm | None: ...
    def shown(self) -> list[int]: ...


def picture(summary: Known, look: Look) -> Figure:
    """Draw each arm's mean with its interval and index, and beside it its share of the traffic."""
    shown = summary.shown()
    names = look.names([(f"{summary.arms[i]}", _name(summary, i)) for i in shown])
    colors = [_RETIRED if summary.retired[i] else BLUE.color for i in shown]
    if look.ax is None:
        figure, (left, right) = empty_panels(2, size=(4, 1.5 + 0.3 * len(shown)))
        left.get_gridspec().set_width_ratios((5, 2))
        _draw_shares(right, summary, shown, colors)
        right.sharey(left)
        right.tick_params(axis="y", labelleft=False)
    else:
        figure, left = figure_of(look.ax), look.ax
    _draw_knowledge(left, summary, shown, colors)
    title = f"What is known about the arms in round {summary.round:,}"
    look.finish(left, title, summary.policy)
    # names may contain dollar signs, which do not mean mathematics here
    left.set_yticks(range(len(shown)), names, parse_math=False)
    left.set_ylim(len(shown) - 0.4, -0.6)
    left.grid(visible=False, axis="y")
    left.set(xlabel="loss" if summary.minimize else "reward", ylabel="")
    if look.ax is None:
        legend(figure, loc="outside lower center", ncols=3)
    else:
        legend(left)
    return figure  # type: ignore[no-any-return]


def _draw_knowledge(
    axes: Axes, summary: Known, shown: Sequence[int], colors: Sequence[str]
) -> None:
    rows, kept = np.arange(len(shown)), list(shown)
    low, high = (
        np.where(np.isfinite(end), end, np.nan)[kept] for end in (summary.low, summary.high)
    )
    axes.hlines(rows, low, high, colors=colors, lw=2.5, alpha=0.6)
    axes.scatter(summary.mean[kept], rows, c=colors, s=24, zorder=3)
    each = "of all arms" if summary.simultaneous else "of each arm"
    label = f"mean, {100 * summary.level:g}% interval {each}"
    axes.plot([], [], color=BLUE.color, marker="o", markersize=5, label=label)
    if np.isfinite(summary.index[kept]).any():
        axes.scatter(summary.index[kept], rows, marker="|", color=RED.color, s=90, label="index")


def _draw_shares(axes: Axes, summary: Known, shown: Sequence[int], colors: Sequence[str]) -> None:
    rows, kept = np.arange(len(shown)), list(shown)
    total = max(1, int((summary.pulls + summary.open).sum()))
    pulls, pending = 100 * summary.pulls[kept] / total, 100 * summary.open[kept] / total
    hollow: dict[str, Any] = {"color": "white", "hatch": "////", "height": 0.6}
    axes.barh(rows, pulls, color=colors, height=0.6)
    axes.barh(rows, pending, left=pulls, edgecolor=colors, **hollow)
    axes.barh([0], [0], edgecolor=BLUE.color, label="open", **hollow)
    axes.set(xlabel="share of traffic, %", xlim=(0, 100), ylabel="")
    axes.grid(visible=False, axis="y")
    round_ticks(axes)


def _name(summary: Known, i: int) -> str:
    name = summary.arms[i]
    if summary.retired[i]:
        return f"{name} (retired)"
    return f"{name} (next)" if name == summary.next_arm else f"{name}"
