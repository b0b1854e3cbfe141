"""The figures of the reproduction, laid out like the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .._files import noting, replacing
from ..figures import empty_panels
from ..results import QUANTILES
from .measure import Point
from .panels import FIGURES, TEASER, Panel

# The paper's colours; in black and white the lines differ too.
_STYLES: dict[str, tuple[str, Any]] = {
    "UCB": ("#000000", (0, (5, 3))),
    "OCUCB": ("#e41a1c", "solid"),
    "AOCUCB": ("#377eb8", (0, (6, 2, 1, 2, 1, 2))),
    "MOSS": ("#4daf4a", (0, (1, 1.2))),
    "Thompson sampling": ("#984ea3", (0, (4, 1.5, 1, 1.5))),
    "Gittins": ("#ff7f00", (0, (8, 2))),
    "OCUCB(alpha=1)": ("#000000", (0, (5, 3))),
    "OCUCB(alpha=2)": ("#377eb8", (0, (6, 2, 1, 2, 1, 2))),
    "OCUCB(alpha=6)": ("#4daf4a", (0, (1, 1.2))),
}
_SPARE = (("#e41a1c", "solid"), ("#377eb8", (0, (5, 2))), ("#4daf4a", (0, (1, 1.2))))
ENDINGS = ("pdf", "svg", "png")


def draw(name: str, panels: dict[str, Panel], points: Sequence[Point]) -> Figure:
    """Draw a figure of the paper, or one of ours, from its points."""
    mine = [panels[panel] for panel in FIGURES[name][1] if panel in panels]
    if name in ("fig-psi", "fig-alpha"):
        return _spread_figure(mine[0], points)
    figure, axes = empty_panels(len(mine), size=(5.2, 3.6) if len(mine) > 1 else (6.0, 4.0))
    for panel, its_axes in zip(mine, axes, strict=True):
        kept = TEASER if name == "teaser" else None
        _draw_panel(its_axes, panel, [one for one in points if one.panel == panel.name], kept)
        if its_axes.get_subplotspec().colspan.start > 0:
            its_axes.set_ylabel("")
    # as in the paper, where there is room
    where = axes[-1] if name == "fig4" else axes[0]
    corner = "upper left" if name in ("fig3", "fig4") else "best"
    where.legend(frameon=False, fontsize=8, loc=corner)
    return figure  # type: ignore[no-any-return]


def _draw_panel(
    axes: Axes, panel: Panel, points: Sequence[Point], kept: Sequence[str] | None
) -> None:
    axes.set_title(f"{panel.title}, $N = {tex_number(_runs(points))}$", fontsize=9)
    axes.set_xlabel(panel.xlabel)
    for label in dict.fromkeys(one.line for one in points):
        if kept is None or label in kept:
            _draw_line(axes, label, [one for one in points if one.line == label])
    axes.set_xlim(panel.left, panel.right)
    axes.set_ylim(0, panel.top)


def _draw_line(axes: Axes, label: str, points: Sequence[Point]) -> None:
    color, dashes = _STYLES[label.partition("(constant")[0]]
    axes.errorbar(
        [one.x for one in points],
        [one.mean for one in points],
        yerr=[2.0 * one.stderr for one in points],
        color=color,
        linestyle=dashes,
        linewidth=1.4,
        elinewidth=0.7,
        label=_legend(label, points[0].panel),
    )


def _legend(label: str, panel: str) -> str:
    """Return how the legend calls a line: by alpha where only that differs."""
    if panel not in FIGURES["fig1"][1]:
        return label
    return r"$\alpha = 3$" if label == "OCUCB" else rf"$\alpha = {label[-2]}$"


def _spread_figure(panel: Panel, points: Sequence[Point]) -> Figure:
    """Draw mean, standard deviation and upper quantiles against a parameter."""
    figure, axes = empty_panels(3, columns=3, size=(4.2, 3.6))
    mine = [one for one in points if one.panel == panel.name]
    figure.suptitle(f"{panel.title}, $N = {tex_number(_runs(mine))}$", fontsize=10)
    labels = dict.fromkeys(one.line for one in mine)
    for label, (color, dashes) in zip(labels, _SPARE, strict=True):
        ours = [one for one in mine if one.line == label]
        xs = [one.x for one in ours]
        look = {"color": color, "linestyle": dashes, "linewidth": 1.4, "elinewidth": 0.7}
        axes[0].errorbar(
            xs,
            [one.mean for one in ours],
            yerr=[2 * one.stderr for one in ours],
            label=label,
            **look,
        )
        axes[1].errorbar(
            xs,
            [one.deviation for one in ours],
            yerr=[2 * one.deviation_error for one in ours],
            **look,
        )
        for level, width in ((0.95, 1.0), (0.99, 2.0)):
            heights = [one.quantiles[QUANTILES.index(level)] for one in ours]
            axes[2].plot(xs, heights, color=color, linestyle=dashes, linewidth=width)
    titles = ("expected regret", "standard deviation", "95% (thin) and 99% quantile (bold)")
    for its_axes, title in zip(axes, titles, strict=True):
        its_axes.set_title(title, fontsize=9)
        its_axes.set_ylabel("regret" if its_axes is axes[0] else "")
        its_axes.set_xlabel(panel.xlabel)
        its_axes.set_ylim(0)
    axes[0].legend(frameon=False, fontsize=8)
    return figure  # type: ignore[no-any-return]


def _runs(points: Sequence[Point]) -> int:
    return min(one.runs for one in points)


def tex_number(number: int) -> str:
    r"""Return a number of runs as the paper writes it.

    Examples
    --------
    >>> tex_number(120000), tex_number(600), tex_number(30000), tex_number(4096)
    ('1.2 \\times 10^5', '600', '3 \\times 10^4', '4096')
    """
    digits = str(number).rstrip("0")
    if number < 10_000 or len(digits) > 3:
        return str(number)
    power = len(str(number)) - 1
    return rf"{digits[0]}{'.' + digits[1:] if len(digits) > 1 else ''} \times 10^{power}"


def write(figure: Figure, folder: Path, name: str, failures: list[str]) -> list[Path]:
    """Write a figure in all formats, the same bytes for the same picture; note what fails."""
    paths = [folder / f"{name}.{ending}" for ending in ENDINGS]
    dateless = {"pdf": {"CreationDate": None, "ModDate": None}, "svg": {"Date": None}, "png": {}}
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # what was laid out once serves all formats
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        for path, ending in zip(paths, ENDINGS, strict=True):
            with noting(failures, path), replacing(path, "wb") as file:
                figure.savefig(file, format=ending, dpi=150, metadata=dateless[ending])
    return paths
