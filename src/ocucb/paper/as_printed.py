"""The paper's figures as the paper draws them: its colours, a box, few ticks, no short bars."""

from __future__ import annotations

from collections.abc import Sequence

from .._matplotlib import Axes, Figure
from ..figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, Style, empty_panels
from .measure import Point
from .panels import FIGURES, TEASER, Panel

_COLORS = {
    BLACK: "#000000", RED: "#e41a1c", BLUE: "#377eb8", GREEN: "#4daf4a", PURPLE: "#984ea3",
    ORANGE: "#bf8040",
}  # fmt: skip
_STYLES = {
    "UCB": BLACK, "OCUCB": RED, "AOCUCB": BLUE, "MOSS": GREEN, "Thompson sampling": PURPLE,
    "Gittins": ORANGE,
}  # fmt: skip
_ALPHAS = {"OCUCB(alpha=1)": BLACK, "OCUCB(alpha=2)": RED, "OCUCB": BLUE, "OCUCB(alpha=6)": GREEN}
_SEEN = 0.015  # of the axis: error bars that are shorter are omitted, as in the paper


def draw(name: str, panels: Sequence[Panel], points: Sequence[Point]) -> Figure:
    """Draw one of the paper's figures from its points."""
    size = (5.2, 3.6) if len(panels) > 1 else (6.0, 4.0)
    figure, axes = empty_panels(len(panels), size=size)
    for panel, its_axes in zip(panels, axes, strict=True):
        mine = [point for point in points if point.panel == panel.name]
        if name == "teaser":
            mine = [point for point in mine if point.line in TEASER]
        _draw_panel(its_axes, panel, mine)
        if its_axes.get_subplotspec().colspan.start > 0:
            its_axes.set_ylabel("")
    # where the paper has it, and there is room
    where = axes[-1] if name == "fig4" else axes[0]
    corner = "upper left" if name in ("fig3", "fig4") else "best"
    where.legend(fancybox=False, edgecolor="black", framealpha=1.0, fontsize=8, loc=corner)
    return figure  # type: ignore[no-any-return]


def _draw_panel(axes: Axes, panel: Panel, points: Sequence[Point]) -> None:
    axes.spines[["top", "right"]].set_visible(True)
    axes.grid(visible=False)
    axes.tick_params(direction="in", top=True, right=True)
    title = panel.title.replace("$N$", _runs(points))
    axes.set_title(title, fontsize=9, loc="center")
    axes.set(xlabel=panel.xlabel, ylabel="Expected regret")
    ours = {line.label for line in panel.lines if line.ours}
    for label in dict.fromkeys(point.line for point in points):
        mine = [point for point in points if point.line == label]
        style, name = _style(label, panel.name in FIGURES["fig1"][1])
        bars = [point.stderr if 2.0 * point.stderr > _SEEN * panel.top else 0.0 for point in mine]
        axes.errorbar(
            [point.x for point in mine],
            [point.mean for point in mine],
            yerr=[2.0 * bar for bar in bars] if any(bars) else None,
            color=_COLORS[style],
            linestyle=style.dashes,
            linewidth=0.9 if label in ours else 1.4,
            elinewidth=0.7,
            label=f"{name} (ours)" if label in ours else name,
        )
    if ours:
        handles, labels = axes.get_legend_handles_labels()
        chosen = [x for x in zip(handles, labels, strict=True) if x[1].endswith("(ours)")]
        axes.legend(*zip(*chosen, strict=True), frameon=False, fontsize=8, loc="lower right")
    axes.set_xlim(panel.left, panel.right)
    if panel.name != "exp10":
        axes.set_xticks([panel.left, panel.right or panel.xs[-1]])
        axes.xaxis.set_major_formatter("{x:g}" if panel.xs[-1] < 1000 else "{x:,.0f}")
    drawn = [point.mean for point in points if point.line not in ours]
    low, high = min(drawn), panel.ceiling or max(drawn)
    margin = 0.1 * (high - low)
    axes.set_ylim(low - margin, panel.ceiling or high + margin)


def _style(label: str, by_alpha: bool) -> tuple[Style, str]:
    """Return the style of a line and its name in the legend."""
    if by_alpha:
        alpha = "3" if label == "OCUCB" else label[-2]
        return _ALPHAS[label], rf"$\alpha = {alpha}$"
    return _STYLES[label.partition("(")[0]], label


def _runs(points: Sequence[Point]) -> str:
    fewest, most = min(point.runs for point in points), max(point.runs for point in points)
    more = "" if fewest == most else f" to ${tex_number(most)}$"
    return f"$N = {tex_number(fewest)}${more}"


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
