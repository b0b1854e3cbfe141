"""Pictures of a search: a curve over one parameter, a map over two.

Both show the trials smoothed by local fits (`surface`), which reach further where trials are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .._matplotlib import Axes, Figure, colormaps
from .._text import listed
from .._types import Floats
from ..figures import (
    BARS,
    GREY,
    RED,
    SEQUENTIAL,
    Look,
    empty_panels,
    figure_of,
    legend,
    policy_styles,
)
from ..results import Estimate
from .contender import Contender
from .laboratory import Trial
from .objective import combined_logs
from .search import surfaces_of
from .space import Axis
from .surface import least

_CURVE, _MAP = 101, 31  # points of a curve, and of each side of a map
_NARROWEST = 0.1  # width of a local fit, as a share of the range
_NEIGHBOURS = 4.0  # trials per coefficient that it takes in at least
_LEVELS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)  # percent above the least
_HIGHEST = 3.0  # what a curve shows, as a multiple of its lowest point


class Tuned(Protocol):
    """What is drawn, as a `TuningResult` has it."""

    @property
    def contenders(self) -> Sequence[Contender]: ...
    @property
    def winner(self) -> Contender: ...
    @property
    def problems(self) -> Sequence[str]: ...
    @property
    def horizon(self) -> int: ...
    @property
    def measure(self) -> str: ...
    @property
    def trials(self) -> Sequence[Trial]: ...
    @property
    def scores(self) -> Sequence[Estimate]: ...
    @property
    def best_logs(self) -> Floats | None: ...


def picture(result: Tuned, look: Look) -> Figure:
    """Draw every contender, or only the best one on the axes that are given."""
    shown = result.contenders if look.ax is None else [result.winner]
    for contender in shown:
        if len(contender.space.axes) > 2:
            raise ValueError(
                f"a picture shows one or two parameters, but {contender.start.family.label} was "
                f"tuned in {len(contender.space.axes)}; name one or two with ranges=."
            )
    panels = empty_panels(len(shown))[1] if look.ax is None else [look.ax]
    for one, panel in zip(shown, panels, strict=True):
        axes = one.space.axes
        (_curve if len(axes) == 1 else _map)(panel, result, one, look)
        title = f"{one.start.family.label} with other values of {listed(x.name for x in axes)}"
        scales = ["log" if axis.log else "linear" for axis in axes]
        yscale = scales[1] if len(axes) == 2 else "linear"
        more = f"{listed(result.problems)}, n = {result.horizon:,}"
        more += f"; {BARS}" if len(axes) == 1 else ""
        look.finish(panel, title, more, xscale=scales[0], yscale=yscale)
    return figure_of(panels[0])


def _curve(panel: Axes, result: Tuned, one: Contender, look: Look) -> None:
    (axis,) = one.space.axes
    grid = np.linspace(0.0, 1.0, _CURVE).astype(np.float64)[:, None]
    logs, errors = _smoothed(result, one, grid)
    x = _values(axis, grid[:, 0])
    names = look.names((name, name) for name in ("fit", "tried", "as given", "tuned"))
    color, dashes = policy_styles([one.start.name])[one.start.name]
    panel.plot(x, np.exp(logs), color=color, linestyle=dashes, linewidth=1.6, label=names[0])
    band = np.exp(logs - 2.0 * errors), np.exp(logs + 2.0 * errors)
    panel.fill_between(x, *band, color=color, alpha=0.25, linewidth=0)
    tried = [(t, s) for t, s in zip(result.trials, result.scores, strict=True) if _is_of(one, t)]
    places = [t.policy.parameters[axis.name] for t, _ in tried if t.stage != "fresh"]
    values = [s.value for t, s in tried if t.stage != "fresh"]
    panel.plot(places, values, ".", color=GREY, markersize=4, alpha=0.6, label=names[1])
    for policy, value, mark, label in (
        (one.start, one.start_value, "o", names[2]),
        (one.policy, one.value, "*", names[3]),
    ):
        if value.value == value.value:  # not interrupted
            panel.errorbar(
                [policy.parameters[axis.name]],
                [value.value],
                yerr=[2.0 * np.nan_to_num(value.stderr)],
                fmt=mark,
                color="black",
                markersize=9,
                markerfacecolor="black" if mark == "*" else "white",
                label=label,
                zorder=5,
            )
    lowest = float(np.exp(logs.min()))
    panel.set_ylim(0.9 * lowest, min(_HIGHEST * lowest, 1.05 * float(np.exp(logs.max()))))
    panel.set(xlabel=axis.name, ylabel=result.measure)
    panel.set_xlim(axis.low, axis.high)
    legend(panel)


def _map(panel: Axes, result: Tuned, one: Contender, look: Look) -> None:
    side = np.linspace(0.0, 1.0, _MAP).astype(np.float64)
    grid = np.stack([part.ravel() for part in np.meshgrid(side, side)], axis=1)
    logs, _ = _smoothed(result, one, grid)
    above = 100.0 * np.expm1(logs - logs.min()).reshape(_MAP, _MAP)
    across, up = one.space.axes
    names = look.names((name, name) for name in ("as given", "tuned"))
    filled: Any = panel.contourf(
        _values(across, side),
        _values(up, side),
        np.minimum(above, _LEVELS[-1]),
        levels=_LEVELS,
        colors=_shades(len(_LEVELS) - 1),
    )
    bar = panel.figure.colorbar(filled, ax=panel)
    bar.set_label(f"{result.measure} above the least, %")
    for policy, mark, size, face, label in (
        *((t.policy, ".", 2, GREY, None) for t in result.trials if _is_of(one, t)),
        (one.start, "o", 8, "white", names[0]),
        (one.policy, "*", 13, RED.color, names[1]),
    ):
        point = [policy.parameters[axis.name] for axis in one.space.axes]
        inside = all(-0.01 <= u <= 1.01 for u in one.space.place(policy))
        if inside:
            panel.plot(
                *([x] for x in point),
                mark,
                markersize=size,
                markerfacecolor=face,
                markeredgecolor="black" if label else GREY,
                label=label,
                clip_on=False,
                zorder=5 if label else 3,
            )
    panel.set(xlabel=across.name, ylabel=up.name)
    panel.set(xlim=(across.low, across.high), ylim=(up.low, up.high))
    panel.grid(visible=False)
    panel.legend(loc="upper left", fontsize=8)


def _shades(count: int) -> list[tuple[float, float, float, float]]:
    """Return colours from pale to dark."""
    return [colormaps[SEQUENTIAL](1.0 - i / (count - 1)) for i in range(count)]


def _values(axis: Axis, units: Floats) -> Floats:
    """Return parameters at coordinates, not rounded."""
    if axis.log:
        curved: Floats = axis.low * (axis.high / axis.low) ** units
        return curved
    straight: Floats = axis.low + (axis.high - axis.low) * units
    return straight


def _is_of(one: Contender, trial: Trial) -> bool:
    """Tell whether a trial belongs to a contender: other parameters than those tuned are equal."""
    if trial.policy.family is not one.start.family:
        return False
    tuned = {axis.name for axis in one.space.axes}
    mine, its = one.start.parameters, trial.policy.parameters
    return all(mine[name] == its[name] for name in mine if name not in tuned)


def _smoothed(result: Tuned, one: Contender, grid: Floats) -> tuple[Floats, Floats]:
    """Return log objective and its standard error at some points, by a local fit at each."""
    trials = [trial for trial in result.trials if _is_of(one, trial) and trial.stage != "fresh"]
    places = np.array([one.space.place(trial.policy) for trial in trials])
    wanted = min(len(places) - 1, round(_NEIGHBOURS * least(grid.shape[1])))
    logs, errors = [], []
    for centre in grid:
        far = np.sort(np.abs(places - centre).max(axis=1))
        width = max(_NARROWEST, float(far[wanted]))
        surfaces = surfaces_of(one.space, trials, centre, width)
        here = np.array([[float(surface.at(centre[None, :])[0]) for surface in surfaces]])
        spread = np.array([float(surface.errors(centre[None, :])[0]) for surface in surfaces])
        best = result.best_logs
        logs.append(float(combined_logs(here, best)[0]))
        if best is None:
            shares = np.exp(here[0] - here.max())
            errors.append(float(np.sqrt(((shares / shares.sum() * spread) ** 2).sum())))
        else:
            errors.append(float(spread[(here[0] - best).argmax()]))
    return np.array(logs), np.array(errors)
