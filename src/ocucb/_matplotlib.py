"""What figures need of matplotlib, which refuses to be imported while MPLBACKEND names nothing."""

from __future__ import annotations

import os

try:
    from matplotlib import colormaps, rc_context
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
    from matplotlib.figure import Figure
    from matplotlib.ticker import Formatter, LogLocator, MaxNLocator, NullFormatter
except ValueError as error:
    chosen = os.environ.get("MPLBACKEND")
    if chosen is None or "backend" not in str(error):
        raise
    raise ValueError(
        f"matplotlib has no backend {chosen!r}, which the environment variable MPLBACKEND names; "
        "unset it, or set it to agg."
    ) from error

__all__ = [
    "Axes", "Figure", "FigureCanvasAgg", "Formatter", "LinearSegmentedColormap",
    "LogLocator", "MaxNLocator", "NullFormatter", "colormaps", "rc_context", "to_hex", "to_rgb",
]  # fmt: skip
