"""The figures of the reproduction, laid out as in the paper."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from .._matplotlib import Axes, Figure
from ..figures import (
    BLACK,
    BLUE,
    BROWN,
    GREEN,
    GREY,
    PURPLE,
    RED,
    Style,
    draw_estimates,
    empty_panels,
    policy_styles,
)
from ..results import QUANTILES
from .claims import Evidence
from .measure import Point
from .panels import FIGURES, TEASER, Panel

_ALPHA_STYLES = (BLACK, RED, BLUE, GREEN)  # the paper's, for α = 1, 2, 3, 6
_PROBLEM_STYLES = (RED, BLUE, GREEN, PURPLE, BROWN)
_NAMED_STYLES = {
    "UCB": BLACK, "OCUCB": RED, "AOCUCB": BLUE, "MOSS": GREEN, "Thompson sampling": PURPLE,
    "Gittins": BROWN, "α = 1": BLACK, "α = 2": RED, "α = 3": BLUE, "α = 6": GREEN,
}  # fmt: skip
_PARTS = {
    "constants": ("UCB, ", "MOSS, "),
    "work": ("OCUCB, ", "Thompson sampling, "),
    "restart": ("K = 2, ", "K = 10, "),
}
_SEEN = 0.015  # of the axis: error bars that are shorter are omitted, as in the paper


def draw(name: str, panels: dict[str, Panel], points: Sequence[Point]) -> Figure:
    """Draw a figure of the paper, or one of ours, from its points."""
    mine = [panels[panel] for panel in FIGURES[name][1] if panel in panels]
    if name in ("fig-psi", "fig-alpha"):
        return _spread_figure(mine[0], points)
    if name in ("fig-constants", "fig-improved", "fig-work", "fig-restart"):
        return _plain_figure(mine[0], points)
    if name == "fig-tails":
        return _tail_figure(mine[0], points)
    figure, axes = empty_panels(len(mine), size=(5.2, 3.6) if len(mine) > 1 else (6.0, 4.0))
    for panel, its_axes in zip(mine, axes, strict=True):
        kept = TEASER if name == "teaser" else None
        _draw_panel(its_axes, panel, _of(panel, points), kept)
        if its_axes.get_subplotspec().colspan.start > 0:
            its_axes.set_ylabel("")
    # where the paper has it, and there is room
    where = axes[-1] if name == "fig4" else axes[0]
    corner = "upper left" if name in ("fig3", "fig4") else "best"
    where.legend(fancybox=False, edgecolor="black", framealpha=1.0, fontsize=8, loc=corner)
    return figure  # type: ignore[no-any-return]


def _draw_panel(
    axes: Axes, panel: Panel, points: Sequence[Point], kept: Sequence[str] | None
) -> None:
    """Draw a panel as the paper does: a box, few ticks, its limits, no bar that is hard to see."""
    axes.spines[["top", "right"]].set_visible(True)
    axes.tick_params(direction="in", top=True, right=True)
    axes.set_ylabel("Expected regret")
    _title(axes, panel, points)
    axes.set_xlabel(panel.xlabel)
    by_alpha = panel.name in FIGURES["fig1"][1]
    ours = {line.label for line in panel.lines if line.ours}
    drawn = []
    for label, style in _styles(points, by_alpha).items():
        if kept is not None and label not in kept:
            continue
        mine = [point for point in points if point.line == label]
        bars = [point.stderr if 2.0 * point.stderr > _SEEN * panel.top else 0.0 for point in mine]
        name = _alpha_label(label) if by_alpha else label
        xs, means = [point.x for point in mine], [point.mean for point in mine]
        name, width = (f"{name} (ours)", 0.9) if label in ours else (name, 1.4)
        draw_estimates(
            axes, xs, means, bars if any(bars) else None, style, label=name, linewidth=width
        )
        if label not in ours:
            drawn += means
    if ours:
        handles, labels = axes.get_legend_handles_labels()
        chosen = [x for x in zip(handles, labels, strict=True) if x[1].endswith("(ours)")]
        axes.legend(*zip(*chosen, strict=True), frameon=False, fontsize=8, loc="lower right")
    axes.set_xlim(panel.left, panel.right)
    if panel.name != "exp10":
        axes.set_xticks([panel.left, panel.right or panel.xs[-1]])
        axes.xaxis.set_major_formatter("{x:g}" if panel.xs[-1] < 1000 else "{x:,.0f}")
    low, high = min(drawn), panel.ceiling or max(drawn)
    margin = 0.1 * (high - low)
    axes.set_ylim(low - margin, panel.ceiling or high + margin)


def _of(panel: Panel, points: Sequence[Point]) -> list[Point]:
    return [point for point in points if point.panel == panel.name]


def _title(axes: Axes, panel: Panel, points: Sequence[Point]) -> None:
    axes.set_title(panel.title.replace("$N$", _runs(points)), fontsize=9)


def _styles(points: Sequence[Point], by_alpha: bool) -> dict[str, Style]:
    """Return the style of each line: that of its policy, or where only α differs, of α."""
    policies = {point.line: point.policy for point in points}
    if by_alpha:
        return dict(zip(policies, _ALPHA_STYLES, strict=True))
    styles = policy_styles(policies.values())
    return {line: styles[policy] for line, policy in policies.items()}


def _alpha_label(line: str) -> str:
    return r"$\alpha = 3$" if line == "OCUCB" else rf"$\alpha = {line[-2]}$"


def _plain_figure(panel: Panel, points: Sequence[Point]) -> Figure:
    """Draw one of our own panels; some have two pictures, by how the names of lines begin."""
    mine = _of(panel, points)
    parts = _PARTS.get(panel.name, ("",))
    figure, axes = empty_panels(len(parts), size=(5.2, 3.6) if len(parts) > 1 else (6.0, 4.0))
    for part, its_axes in zip(parts, axes, strict=True):
        its_axes.set_title(part[:-2] or panel.title.replace("$N$", _runs(mine)), fontsize=9)
        its_axes.set_xlabel(panel.xlabel)
        labels = dict.fromkeys(point.line for point in mine if point.line.startswith(part))
        for label, style in zip(labels, _PROBLEM_STYLES, strict=False):
            line = [point for point in mine if point.line == label]
            _draw_line(its_axes, line, style, label.removeprefix(part))
        its_axes.set_yscale("log")
        if panel.work:
            its_axes.set_xscale("log")
            what = "indices" if part == _PARTS["work"][0] else "samples"
            its_axes.set_ylabel(f"{what} per round")
        its_axes.legend(frameon=False, fontsize=8)
    return figure  # type: ignore[no-any-return]


def _draw_line(
    axes: Axes, line: Sequence[Point], style: Style, label: str | None,
    what: tuple[str, str] = ("mean", "stderr"),
) -> None:  # fmt: skip
    values, errors = ([getattr(point, name) for point in line] for name in what)
    draw_estimates(axes, [point.x for point in line], values, errors, style, label=label)


def _spread_figure(panel: Panel, points: Sequence[Point]) -> Figure:
    """Draw mean, standard deviation and upper quantiles against a parameter."""
    figure, axes = empty_panels(3, columns=3, size=(4.2, 3.6))
    mine = _of(panel, points)
    figure.suptitle(panel.title.replace("$N$", _runs(mine)), fontsize=10)
    labels = dict.fromkeys(point.line for point in mine)
    for label, style in zip(labels, _PROBLEM_STYLES, strict=False):
        line = [point for point in mine if point.line == label]
        _draw_line(axes[0], line, style, label)
        _draw_line(axes[1], line, style, None, ("deviation", "deviation_error"))
        xs = [point.x for point in line]
        for level, width in ((0.95, 1.0), (0.99, 2.0)):
            heights = [point.quantiles[QUANTILES.index(level)] for point in line]
            axes[2].plot(xs, heights, color=style[0], linestyle=style[1], linewidth=width)
    titles = ("expected regret", "standard deviation", "95% (thin) and 99% quantile (bold)")
    for its_axes, title in zip(axes, titles, strict=True):
        its_axes.set_title(title, fontsize=9)
        its_axes.set_ylabel("regret" if its_axes is axes[0] else "")
        its_axes.set_xlabel(panel.xlabel)
        its_axes.set_xscale("log")
        its_axes.set_ylim(0)
    axes[0].set_ylim(0, panel.top)
    axes[0].legend(frameon=False, fontsize=8)
    return figure  # type: ignore[no-any-return]


def _tail_figure(panel: Panel, points: Sequence[Point]) -> Figure:
    """Draw the probability of exceeding a regret, with bands of two standard errors."""
    figure, (axes,) = empty_panels(1, size=(6.5, 4.3))
    mine = _of(panel, points)
    _title(axes, panel, mine)
    axes.set_xlabel(panel.xlabel)
    axes.set_ylabel("P(regret > $x$)")
    for label, (color, dashes) in _styles(mine, False).items():
        # A logarithm has no place for 0, nor a curve for what a single run or two have shown.
        line = [point for point in mine if point.line == label and point.mean > 2.0 * point.stderr]
        xs = [point.x for point in line]
        axes.plot(xs, [point.mean for point in line], color=color, linestyle=dashes, label=label)
        low = [point.mean - 2.0 * point.stderr for point in line]
        high = [point.mean + 2.0 * point.stderr for point in line]
        axes.fill_between(xs, low, high, color=color, alpha=0.2, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(panel.left, panel.right)
    axes.set_ylim(top=panel.top)
    axes.legend(frameon=False, fontsize=8)
    return figure  # type: ignore[no-any-return]


def draw_evidence(evidence: Evidence) -> Figure:
    """Draw the small picture beside a sentence."""
    figure, (axes,) = empty_panels(1, size=(3.1, 2.1))
    spare = itertools.cycle(_PROBLEM_STYLES)
    for series in evidence.series:
        style = _NAMED_STYLES.get(series.label.removesuffix(" (ours)")) or next(spare)
        how: dict[str, Any] = {"linewidth": 1.1, "label": series.label}
        if series.bars:
            stderr = [bar / 2.0 for bar in series.bars]
            draw_estimates(axes, series.xs, series.ys, stderr, style, **how)
        else:
            axes.plot(series.xs, series.ys, color=style[0], linestyle=style[1], **how)
    if evidence.level is not None:
        axes.axhline(evidence.level, color=GREY, linewidth=0.7)
    # with a handful of runs there may be nothing that a logarithm can show
    if evidence.logx and math.isfinite(axes.dataLim.minposx):
        axes.set_xscale("log")
    if evidence.logy and math.isfinite(axes.dataLim.minposy):
        axes.set_yscale("log")
    axes.set_xlabel(evidence.xlabel, fontsize=7)
    axes.set_ylabel(evidence.ylabel, fontsize=7)
    axes.tick_params(labelsize=6, which="both")
    if len(evidence.series) > 1:
        axes.legend(frameon=False, fontsize=6, loc="best")
    return figure  # type: ignore[no-any-return]


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
