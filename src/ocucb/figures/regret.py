"""The pictures of simulations: regret over time, and its tail."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from .._matplotlib import Axes, Figure
from .._types import Counts, Floats
from .palette import Style, policy_styles
from .panels import BARS, Look, draw_estimates, empty_panels, figure_of, legend

MOST_PANELS = 12
LEAST_TAIL = 1e-7  # the smallest probability that is drawn


class PlayerLike(Protocol):
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


class SimulationLike(Protocol):
    """The curves of several policies on one problem, as a `SimulationResult` has them."""

    @property
    def problem(self) -> str: ...
    @property
    def seed(self) -> int: ...
    def __iter__(self) -> Iterator[PlayerLike]: ...


def over_time(result: SimulationLike, look: Look) -> Figure:
    """Draw mean regret against rounds, with bands of two standard errors."""
    axes = look.panel()
    _draw_over_time(axes, result, look)
    return figure_of(axes)


def tail(result: SimulationLike, look: Look) -> Figure:
    """Draw P(regret > x) against x, with bands of two standard errors."""
    axes = look.panel()
    _draw_tails(axes, result, look)
    return figure_of(axes)


def regret_panels(results: Sequence[SimulationLike]) -> Figure:
    """Draw mean regret against rounds, one panel per result."""
    return _panels(results, _draw_over_time)


def tails(results: Sequence[SimulationLike]) -> Figure:
    """Draw P(regret > x) against x, one panel per result."""
    return _panels(results, _draw_tails)


def _panels(
    results: Sequence[SimulationLike], draw: Callable[[Axes, SimulationLike, Look], None]
) -> Figure:
    if not 0 < len(results) <= MOST_PANELS:
        raise ValueError(
            f"there are {len(results)} problems to draw, but a figure holds 1 to {MOST_PANELS}; "
            "select some with --problem and --seed."
        )
    figure, axes = empty_panels(len(results))
    for result, its_axes in zip(results, axes, strict=True):
        draw(its_axes, result, Look())
    return figure  # type: ignore[no-any-return]


def _facts(result: SimulationLike) -> str:
    """Return what stands below a title: runs, seed, what the bands are."""
    runs = [curve.runs for curve in result]
    fewest, most = min(runs), max(runs)
    count = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f"{count} run{'s' if most > 1 else ''}, seed {result.seed}; {BARS}"


def _draw_over_time(axes: Axes, result: SimulationLike, look: Look) -> None:
    curves = list(result)
    styles = policy_styles(curve.policy for curve in curves)
    names = look.names((curve.policy, curve.label) for curve in curves)
    for curve, name in zip(curves, names, strict=True):
        style = styles[curve.policy]
        draw_estimates(axes, curve.checkpoints, curve.regret, curve.stderr, style, label=name)
    horizon = max(curve.horizon for curve in curves)
    title = f"Regret over time on {result.problem}"
    look.finish(axes, title, _facts(result), xscale="log" if horizon > 1 else "linear")
    if horizon > 1:
        axes.set_xlim(1 if axes.get_xscale() == "log" else 0, horizon)
    if axes.get_yscale() == "linear":
        axes.set_ylim(bottom=0)
    axes.set(xlabel="round $t$", ylabel="expected regret")
    legend(axes)


def _draw_tails(axes: Axes, result: SimulationLike, look: Look) -> None:
    curves = list(result)
    styles = policy_styles(curve.policy for curve in curves)
    names = look.names((curve.policy, curve.label) for curve in curves)
    lowest, left, right = 1.0, math.inf, 0.0
    for curve, name in zip(curves, names, strict=True):
        x, p = draw_tail(axes, curve.tail_curve(), styles[curve.policy], name)
        if p.size:
            lowest = min(lowest, float(p.min()))
            # 1 is only known up to the mean weight
            falling = x[p < 0.995 * p.max()]
            left, right = min(left, float(falling.min(initial=x[0]))), max(right, float(x[0]))
    title = f"How likely a large regret is on {result.problem}, n = {curves[0].horizon:,}"
    look.finish(axes, title, _facts(result), xscale="log", yscale="log")
    if 0.0 < left < right:
        axes.set_xlim(left, 1.3 * right)
    if axes.get_yscale() == "log":
        axes.set_ylim(max(LEAST_TAIL, 10.0 ** math.floor(math.log10(lowest / 2.0))), 1.5)
    axes.set(xlabel="regret $x$", ylabel="P(regret > $x$)")
    legend(axes)


def draw_tail(
    axes: Axes, curve: tuple[Floats, Floats, Floats], style: Style, label: str
) -> tuple[Floats, Floats]:
    """Draw one tail, as `PolicyResult.tail_curve` has it, where there are data; return that."""
    drawn = curve[1] >= LEAST_TAIL
    x, p, error = (part[drawn] for part in curve)
    color, dashes = style
    axes.plot(x, p, color=color, linestyle=dashes, linewidth=1.6, label=label)
    low = np.maximum(p - 2 * error, 1e-3 * LEAST_TAIL)  # what is below 0 leaves the picture
    axes.fill_between(x, low, p + 2 * error, color=color, alpha=0.25, linewidth=0)
    return x, p
