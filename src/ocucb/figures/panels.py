"""Panels: how they look, lines with bands, titles, legends, files; what callers may choose."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._files import replacing
from .._matplotlib import Axes, Figure, FigureCanvasAgg, rc_context
from .._text import listed, shown
from .palette import Style
from .rulers import round_ticks

_ENDINGS = (".png", ".pdf", ".svg")
_SCALES = ("linear", "log")
BARS = "bands: two standard errors"
# letters in PDF files as letters, in a kind of font that publishers accept
_FILES: Any = {"pdf.fonttype": 42, "ps.fonttype": 42}
_LOOK: Any = {
    "font.size": 9.0,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.which": "major",
    "axes.axisbelow": True,
    "grid.color": "#e9e9e9",
    "grid.linewidth": 0.6,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
}


def empty_panels(count: int, columns: int = 2, size: tuple[float, float] = (6, 4)) -> Any:
    """Return a figure and a list of its panels, for regret.

    Parameters
    ----------
    count : int
        The number of panels.
    columns : int, optional
        How many of them a row has at most.
    size : tuple of float, optional
        Width and height of a panel, in inches.

    Returns
    -------
    figure : matplotlib Figure
    axes : list of matplotlib Axes

    Examples
    --------
    >>> from ocucb import figures
    >>> figure, axes = figures.empty_panels(4, size=(3.5, 2.5))
    >>> len(axes), figure.get_size_inches().tolist()
    (4, [7.0, 5.0])
    """
    columns = min(columns, count)
    rows = -(-count // columns)
    with rc_context(_LOOK):
        figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.add_gridspec(rows, columns)
        axes = [figure.add_subplot(grid[i // columns, i % columns]) for i in range(count)]
        for panel in axes:
            panel.set_ylabel("expected regret")
    return figure, axes


def draw_estimates(
    axes: Axes,
    x: ArrayLike,
    estimates: ArrayLike,
    stderr: ArrayLike | None,
    style: Style,
    *,
    label: str | None = None,
    linewidth: float = 1.6,
) -> None:
    """Draw a line through estimates, with a band of two standard errors; a dot if there is one.

    Parameters
    ----------
    axes : matplotlib Axes
        Where to draw.
    x, estimates, stderr : list of float
        The points and their standard errors; None for numbers without errors.
    style : Style
        Colour and dashes.
    label : str, optional
        The name in the legend.
    linewidth : float, optional

    Examples
    --------
    >>> from ocucb import figures
    >>> _, (axes,) = figures.empty_panels(1)
    >>> figures.draw_estimates(axes, [1, 10], [2.0, 3.0], [0.1, 0.2], figures.RED, label="mine")
    >>> axes.get_lines()[0].get_label(), len(axes.collections)
    ('mine', 1)
    """
    color, dashes = style
    middle = np.asarray(estimates, dtype=np.float64)
    half = None if stderr is None else 2.0 * np.nan_to_num(np.asarray(stderr, dtype=np.float64))
    if middle.size == 1:
        axes.errorbar(x, middle, yerr=half, color=color, fmt="o", markersize=5, label=label)
        return
    axes.plot(x, middle, color=color, linestyle=dashes, linewidth=linewidth, label=label)
    if half is not None:
        axes.fill_between(x, middle - half, middle + half, color=color, alpha=0.25, linewidth=0)


def set_title(axes: Axes, title: str, more: str = "") -> None:
    """Write a title, and in small grey letters below it what else a reader must know."""
    axes.set_title(title, loc="left", fontsize=10, pad=19.0 if more else 6.0)
    if more:
        axes.annotate(
            more, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points",
            fontsize=8, color="#666666", annotation_clip=False,
        )  # fmt: skip


def legend(where: Axes | Figure, **how: Any) -> None:
    """Add a legend without a frame, with lines long enough to show their dashes."""
    where.legend(**{"frameon": False, "fontsize": 8.5, "handlelength": 2.8, **how})


@dataclass(frozen=True)
class Look:
    """What callers of ``plot`` chose, instead of what it would choose.

    Parameters
    ----------
    ax : matplotlib Axes, optional
        Where to draw.
    xscale, yscale : {"linear", "log"}, optional
        The scales.
    labels : list of str or dict, optional
        Names of the legend: in order, or by the names that they replace.
    title : str, optional
        The title.

    Raises
    ------
    ValueError
        A scale is neither linear nor logarithmic.

    Examples
    --------
    >>> from ocucb import figures
    >>> figures.Look(labels={"UCB": "UCB1"}).names([("ucb:constant=2", "UCB")])
    ['UCB1']
    """

    ax: Axes | None = None
    xscale: str | None = None
    yscale: str | None = None
    labels: Sequence[str] | Mapping[str, str] | None = None
    title: str | None = None

    def __post_init__(self) -> None:
        for name in ("xscale", "yscale"):
            if getattr(self, name) not in (None, *_SCALES):
                raise ValueError(
                    f"{name} must be 'linear' or 'log', got {shown(getattr(self, name))}."
                )

    def panel(self, size: tuple[float, float] = (6, 4)) -> Axes:
        """Return the panel to draw on: the caller's, or that of a new figure."""
        return empty_panels(1, size=size)[1][0] if self.ax is None else self.ax

    def names(self, curves: Iterable[tuple[str, str]]) -> list[str]:
        """Return the names of the legend, of curves whose full and short names are given."""
        pairs, given = list(curves), self.labels
        if given is None:
            return [short for _, short in pairs]
        if isinstance(given, Mapping):
            known = {name for pair in pairs for name in pair}
            strange = [shown(name) for name in given if name not in known]
            if strange:
                raise ValueError(
                    f"labels has {listed(strange)}, but the curves are "
                    f"{listed(shown(short) for _, short in pairs)}."
                )
            return [given.get(full, given.get(short, short)) for full, short in pairs]
        if isinstance(given, str) or len(given) != len(pairs):
            raise ValueError(
                f"labels must be a dictionary or a list of {len(pairs)} names, got {shown(given)}."
            )
        return list(given)

    def finish(
        self, axes: Axes, title: str, more: str = "", *, xscale: str = "linear",
        yscale: str = "linear",
    ) -> None:  # fmt: skip
        """Set scales, ticks and title: the caller's, or those given here.

        `more` stands below the title of figures of our own.
        """
        for side, kind in (("x", self.xscale or xscale), ("y", self.yscale or yscale)):
            # a logarithm has nothing to show where nothing is positive
            positive = math.isfinite(getattr(axes.dataLim, f"minpos{side}"))
            getattr(axes, f"set_{side}scale")(kind if positive else "linear")
        round_ticks(axes)
        if self.ax is not None:  # which has a style of its own
            axes.set_title(title if self.title is None else self.title)
        elif self.title is None:
            set_title(axes, title, more)
        else:
            set_title(axes, self.title)


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose extension is not a supported picture format."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise ValueError(
            f"cannot draw to {str(path)!r}: its ending must be one of {', '.join(_ENDINGS)}."
        )


def write(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file, whole or not at all; the ending selects the format.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure.
    path : path
        The file; its ending is .png, .pdf or .svg.

    Raises
    ------
    ValueError
        The ending is another one.

    Examples
    --------
    >>> import tempfile
    >>> from ocucb import figures
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     figures.write(figures.empty_panels(1)[0], folder + "/empty.pdf")
    """
    check_ending(path)
    with replacing(path, "wb") as file, rc_context(_FILES):
        figure.savefig(file, format=Path(path).suffix[1:].lower(), dpi=150)


def written(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """Return a figure, written to a file if there is a path."""
    if path is not None:
        write(figure, path)
    return figure


def figure_of(axes: Axes) -> Figure:
    """Return the whole figure that a panel is on, be it part of a part of it."""
    return axes.figure.figure
