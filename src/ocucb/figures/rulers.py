"""Ticks that a person would choose: round, few, with thousands separators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._matplotlib import Axes, Formatter, LogLocator, MaxNLocator, NullFormatter

_STEPS = [1, 2, 2.5, 5, 10]  # between ticks of a linear axis, times a power of ten
_MOST = 8  # ticks on a logarithmic axis
_LONGEST = 1e6  # numbers from here on are written as powers of ten


class RoundLogLocator(LogLocator):
    """Ticks of a logarithmic axis: at powers of ten, or between them if these are too few."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks between two limits."""
        low, high = (max(1e-300, x) for x in sorted((vmin, vmax)))
        if high < 5.0 * low:
            return MaxNLocator(5, steps=_STEPS).tick_values(low, high)
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        whole = [k for k in range(first, last + 1) if low * 0.999 <= 10.0**k <= high * 1.001]
        if len(whole) >= 3:
            stride = -(-len(whole) // _MOST)
            return np.array([10.0**k for k in whole if k % stride == 0])
        for within in ((1, 2, 5), (1, 2, 3, 4, 6, 8)):
            ticks = np.array([m * 10.0**k for k in range(first, last + 1) for m in within])
            ticks = ticks[(ticks >= low * 0.999) & (ticks <= high * 1.001)]
            if ticks.size >= 3:
                break
        return ticks


class Numbers(Formatter):
    """Labels with thousands separators, or of powers of ten if an axis has very long numbers."""

    def __init__(self) -> None:
        self._long = False

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return the labels of all ticks of an axis, in one notation."""
        sizes = [abs(value) for value in values if value != 0.0]
        self._long = bool(sizes) and (max(sizes) >= _LONGEST or min(sizes) < 1e-4)
        return [self(value) for value in values]

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of one tick."""
        if not self._long or x == 0.0 or 0.05 < abs(x) < 50.0:
            return f"{x:,.10g}".replace("-", "\N{MINUS SIGN}")
        digits, exponent = f"{x:.9e}".split("e")
        factor = f"{float(digits):g}"
        power = f"10^{{{int(exponent)}}}"
        return f"${power}$" if factor == "1" else rf"${factor} \times {power}$"


def round_ticks(axes: Axes) -> None:
    """Give both axes of a panel round ticks, with thousands separators, linear or logarithmic.

    Parameters
    ----------
    axes : matplotlib Axes
        The panel, which has its scales.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from ocucb import figures
    >>> axes = Figure().add_subplot(xlim=(0, 20_000), yscale="log", ylim=(1, 3000))
    >>> figures.round_ticks(axes)
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['0', '5,000', '10,000', '15,000', '20,000']
    """
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() not in ("linear", "log"):
            continue
        if axis.get_scale() == "log":
            axis.set_major_locator(RoundLogLocator())
            axis.set_minor_locator(LogLocator(subs=range(2, 10)))
            axis.set_minor_formatter(NullFormatter())
        else:
            axis.set_major_locator(MaxNLocator(5, steps=_STEPS))
        axis.set_major_formatter(Numbers())
