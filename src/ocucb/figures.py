"""Pictures: what they share (canvas, line styles, error bars, files), and those of results.

Drawn with matplotlib but without its windows, so they work on any machine. This module knows no
other part of the library: what it draws is described by a protocol, which `SimulationResult`
satisfies.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ._files import replacing
from ._matplotlib import Axes, Figure, FigureCanvasAgg
from ._types import Counts, Floats

Style = tuple[str, Any]  # colour and dashes

# The paper's styles: its colours, and dashes that tell lines apart in black and white.
BLACK: Style = ("#000000", (0, (5, 3)))
RED: Style = ("#e41a1c", "solid")
BLUE: Style = ("#377eb8", (0, (6, 2, 1, 2, 1, 2)))
GREEN: Style = ("#4daf4a", (0, (1, 1.2)))
PURPLE: Style = ("#984ea3", (0, (4, 1.5, 1, 1.5)))
BROWN: Style = ("#bf8040", (0, (4, 1.5, 1, 1.5)))
GREY = "#555555"  # for what is not a policy

POLICY_STYLES = {
    "ucb": BLACK, "ocucb": RED, "aocucb": BLUE, "moss": GREEN, "thompson": PURPLE, "gittins": BROWN
}  # fmt: skip
_SPARE_COLORS = ("#a65628", "#17becf", "#7f7f7f", "#bcbd22", "#1f77b4", "#8c564b", "#e377c2")
MOST_PANELS = 12
LEAST_TAIL = 1e-7  # the smallest probability that is drawn
_ENDINGS = (".png", ".pdf", ".svg")


class Curve(Protocol):
    """One policy's regret, over time and in the tail, as a `PolicyResult` has it."""

    @property
    def policy(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def horizon(self) -> int: ...
    @property
    def runs(self) -> int: ...
    @property
    def checkpoints(self) -> Counts: ...
    @property
    def regret(self) -> Floats: ...
    @property
    def stderr(self) -> Floats: ...
    def tail_curve(self) -> tuple[Floats, Floats, Floats]: ...


class Curves(Protocol):
    """The curves of several policies on one problem, as a `SimulationResult` has them."""

    @property
    def problem(self) -> str: ...
    @property
    def seed(self) -> int: ...
    def __iter__(self) -> Iterator[Curve]: ...


def policy_styles(policies: Iterable[str]) -> dict[str, Style]:
    """Return a style for each policy: the paper's, or the next spare curve.

    Of several policies of one family, the first gets the family's style.

    Examples
    --------
    >>> styles = policy_styles(["moss:constant=4", "moss:constant=2"])
    >>> styles["moss:constant=4"] == GREEN, styles["moss:constant=2"] == GREEN
    (True, False)
    """
    styles: dict[str, Style] = {}
    taken: set[str] = set()
    spare = itertools.cycle(_SPARE_COLORS)
    for policy in policies:
        family = policy.partition(":")[0]
        if policy not in styles:
            known = family in POLICY_STYLES and family not in taken
            styles[policy] = POLICY_STYLES[family] if known else (next(spare), "solid")
            taken.add(family)
    return styles


def empty_panels(count: int, columns: int = 2, size: tuple[float, float] = (7, 4.5)) -> Any:
    """Return a figure and its axes, `count` of them in rows of `columns`."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = [figure.add_subplot(rows, columns, i + 1) for i in range(count)]
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_ylabel("expected regret")
    return figure, axes


def draw_estimates(
    axes: Axes,
    x: Sequence[float],
    estimates: Sequence[float],
    stderr: Sequence[float] | None,
    style: Style,
    *,
    label: str | None = None,
    linewidth: float = 1.4,
) -> None:
    """Draw a line through estimates, with error bars of two standard errors, if any."""
    color, dashes = style
    axes.errorbar(
        x,
        estimates,
        yerr=None if stderr is None else 2.0 * np.nan_to_num(stderr),
        color=color,
        linestyle=dashes,
        linewidth=linewidth,
        elinewidth=linewidth / 2,
        label=label,
    )


def regret_panels(results: Sequence[Curves]) -> Figure:
    """Draw mean regret against rounds, with bands of two standard errors, one panel per result."""
    return _panels(results, _draw_over_time)


def tails(results: Sequence[Curves]) -> Figure:
    """Draw P(regret > x) against x, with bands of two standard errors, one panel per result."""
    return _panels(results, _draw_tails)


def _panels(results: Sequence[Curves], draw: Callable[[Axes, Curves], None]) -> Figure:
    if not 0 < len(results) <= MOST_PANELS:
        raise ValueError(
            f"there are {len(results)} problems to draw, but a figure holds 1 to {MOST_PANELS}; "
            "select some with --problem and --seed."
        )
    figure, axes = empty_panels(len(results))
    for result, its_axes in zip(results, axes, strict=True):
        draw(its_axes, result)
    return figure  # type: ignore[no-any-return]


def _title(result: Curves) -> str:
    runs = [curve.runs for curve in result]
    fewest, most = min(runs), max(runs)
    count = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f"{result.problem}, N = {count}, seed {result.seed}"


def _draw_over_time(axes: Axes, result: Curves) -> None:
    curves = list(result)
    axes.set_title(_title(result), fontsize=10)
    axes.set_xlabel("round $t$")
    styles = policy_styles(curve.policy for curve in curves)
    for curve in curves:
        color, dashes = styles[curve.policy]
        t, regret = curve.checkpoints, curve.regret
        axes.plot(t, regret, color=color, linestyle=dashes, linewidth=1.6, label=curve.label)
        band = 2 * np.nan_to_num(curve.stderr)
        axes.fill_between(t, regret - band, regret + band, color=color, alpha=0.2, linewidth=0)
    horizon = max(curve.horizon for curve in curves)
    if horizon > 1:
        axes.set_xscale("log")
        axes.set_xlim(1, horizon)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def _draw_tails(axes: Axes, result: Curves) -> None:
    curves = list(result)
    axes.set_title(f"{_title(result)}, n = {curves[0].horizon:,}", fontsize=10)
    axes.set(xscale="log", yscale="log", xlabel="$x$", ylabel="P(regret > $x$)")
    styles = policy_styles(curve.policy for curve in curves)
    lowest, left, right = 1.0, math.inf, 0.0
    for curve in curves:
        x, p = draw_tail(axes, curve.tail_curve(), styles[curve.policy], curve.label)
        if p.size:
            lowest = min(lowest, float(p.min()))
            # 1 is only known up to the mean weight
            falling = x[p < 0.995 * p.max()]
            left, right = min(left, float(falling.min(initial=x[0]))), max(right, float(x[0]))
    if 0.0 < left < right:
        axes.set_xlim(left, 1.3 * right)
    axes.set_ylim(max(LEAST_TAIL, 10.0 ** math.floor(math.log10(lowest / 2.0))), 1.5)
    axes.legend(frameon=False)


def draw_tail(
    axes: Axes, curve: tuple[Floats, Floats, Floats], style: Style, label: str
) -> tuple[Floats, Floats]:
    """Draw one tail, as `PolicyResult.tail_curve` has it, where there are data; return that."""
    drawn = curve[1] >= LEAST_TAIL
    x, p, error = (part[drawn] for part in curve)
    color, dashes = style
    axes.plot(x, p, color=color, linestyle=dashes, linewidth=1.6, label=label)
    low = np.maximum(p - 2 * error, 1e-3 * LEAST_TAIL)  # what is below 0 leaves the picture
    axes.fill_between(x, low, p + 2 * error, color=color, alpha=0.2, linewidth=0)
    return x, p


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose extension is not a supported picture format."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise ValueError(
            f"cannot draw to {str(path)!r}: its ending must be one of {', '.join(_ENDINGS)}."
        )


def write(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file; the extension selects the format."""
    check_ending(path)
    with replacing(path, "wb") as file:
        figure.savefig(file, format=Path(path).suffix[1:].lower(), dpi=150)


def written(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """Return a figure, written to a file if there is a path."""
    if path is not None:
        write(figure, path)
    return figure
