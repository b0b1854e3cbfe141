"""The figures of the reproduction as we would print them, and the small pictures of the claims."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from .._matplotlib import Axes, Figure
from ..figures import (
    BARS,
    GREY,
    POLICY_STYLES,
    Style,
    draw_estimates,
    empty_panels,
    legend,
    policy_styles,
    round_ticks,
    set_title,
    shades,
)
from ..results import QUANTILES
from .claims import Evidence, Series
from .measure import Point
from .panels import DOUBLED_EPOCH, FIGURES, PANELS, SQUARED_EPOCH, TEASER, Panel

_TITLES = {
    "exp1": "Regret as the gap varies: 2 arms, 10,000 rounds",
    "exp2": "Regret as the gap varies: 10 arms, 10,000 rounds",
    "exp4": "OCUCB with other α: 2 arms, 10,000 rounds",
    "exp5": "OCUCB with other α: 10 arms, 10,000 rounds",
    "exp6": "OCUCB with other α: 2 arms, gap 0.2",
    "exp7": "OCUCB with other α: 10 arms, gap 0.2",
    "exp8": "Regret as the horizon varies: 2 arms, gap 0.3",
    "exp9": "Regret as the horizon varies: 10 arms, gap 0.3",
    "exp10": "Regret as arms are added, where MOSS fails: $n = K^3$",
    "exp11": "Regret as the horizon varies: 10 equally spaced arms",
    "exp12": "Regret as the horizon varies: 100 equally spaced arms",
    "psi": "OCUCB with α = 3 and other ψ: 10,000 rounds",
    "alpha": "OCUCB with ψ = 2 and other α: 10,000 rounds",
    "constants": "Regret as the constant varies: 10,000 rounds",
    "improved": "Regret as the gap varies: 10 arms, 10,000 rounds",
    "work": "Work in a round, gap 0.3",
    "restart": "Regret after $64 (2^m - 1)$ rounds, gap 0.3",
    "tails": "How likely a large regret is: 2 arms, gap 0.3, 10,000 rounds",
}
_SYMBOLS = {
    r"$\Delta$": r"gap $\Delta$",
    "$n$": "horizon $n$",
    "$K$": "arms $K$",
    "$n/K$": "rounds per arm $n/K$",
}
_PARTS = {
    "constants": ("UCB, ", "MOSS, "),
    "work": ("OCUCB, ", "Thompson sampling, "),
    "restart": ("K = 2, ", "K = 10, "),
}
_EPOCHS = ("ocucb:epochs=doubled", "ocucb:alpha=3,psi=2", "ocucb:epochs=squared")


def draw(name: str, panels: dict[str, Panel], points: Sequence[Point]) -> Figure:
    """Draw a figure of the paper, or one of ours, from its points."""
    mine = [panels[panel] for panel in FIGURES[name][1] if panel in panels]
    if name in ("fig-psi", "fig-alpha"):
        return _spread_figure(mine[0], _of(mine[0], points))
    if mine[0].name in _PARTS:
        return _parts_figure(mine[0], _of(mine[0], points))
    one = len(mine) == 1
    figure, axes = empty_panels(len(mine), size=(6.0, 4.0) if one else (5.2, 3.3))
    for panel, its_axes in zip(mine, axes, strict=True):
        kept = [p for p in _of(panel, points) if name != "teaser" or p.line in TEASER]
        _draw_panel(its_axes, panel, kept)
        if its_axes.get_subplotspec().colspan.start > 0:
            its_axes.set_ylabel("")
    if one:
        legend(axes[0])
    else:
        found = [panel.get_legend_handles_labels() for panel in axes]
        lines = {name: line for pair in found for line, name in zip(*pair, strict=True)}
        how = {"handles": [*lines.values()], "labels": [*lines], "loc": "outside lower center"}
        legend(figure, ncols=6, **how)
    return figure  # type: ignore[no-any-return]


def _draw_panel(axes: Axes, panel: Panel, points: Sequence[Point]) -> None:
    for label, style in _styles(panel, points).items():
        line = [point for point in points if point.line == label]
        if panel.tail:
            # a logarithm has no place for 0, nor a curve for what a single run or two have shown
            line = [point for point in line if point.mean > 2.0 * point.stderr]
        name = _alpha(label) if panel.name in FIGURES["fig1"][1] else label
        _draw_line(axes, line, style, name)
    axes.set_xlim(panel.left, panel.right)
    if panel.tail:
        axes.set_ylabel("P(regret > $x$)")
        if math.isfinite(axes.dataLim.minposy):  # with two runs there may be nothing to show
            axes.set(xscale="log", yscale="log")
            axes.set_ylim(top=panel.top)
    elif panel.name == "improved":
        axes.set_yscale("log")
    else:
        axes.set_ylim(0.0, panel.ceiling)
    _finish(axes, panel, points)


def _finish(axes: Axes, panel: Panel, points: Sequence[Point], title: str | None = None) -> None:
    axes.set_xlabel(_SYMBOLS.get(panel.xlabel, panel.xlabel))
    round_ticks(axes)
    set_title(axes, _TITLES[panel.name] if title is None else title, _runs(points))


def _of(panel: Panel, points: Sequence[Point]) -> list[Point]:
    return [point for point in points if point.panel == panel.name]


def _styles(panel: Panel, points: Sequence[Point]) -> dict[str, Style]:
    """Return the style of each line: that of its policy."""
    known = {line.label: line.at(panel.xs[0])[0].name for line in panel.lines}
    policies = {point.line: point.policy or known[point.line] for point in points}
    styles = policy_styles(policies.values())
    return {line: styles[policy] for line, policy in policies.items()}


def _alpha(line: str) -> str:
    return "α = 3" if line == "OCUCB" else f"α = {line[-2]}"


def _draw_line(
    axes: Axes, line: Sequence[Point], style: Style, label: str | None,
    what: tuple[str, str] = ("mean", "stderr"),
) -> None:  # fmt: skip
    values, errors = ([getattr(point, name) for point in line] for name in what)
    draw_estimates(axes, [point.x for point in line], values, errors, style, label=label)


def _parts_figure(panel: Panel, points: Sequence[Point]) -> Figure:
    """Draw a panel of ours as two pictures, by how the names of lines begin."""
    parts = _PARTS[panel.name]
    figure, axes = empty_panels(2, size=(5.2, 3.6))
    for part, its_axes in zip(parts, axes, strict=True):
        labels = list(dict.fromkeys(p.line for p in points if p.line.startswith(part)))
        if panel.name == "restart":
            doubled, single, squared = policy_styles(_EPOCHS).values()
            known = {DOUBLED_EPOCH: doubled, SQUARED_EPOCH: squared, "OCUCB": single}
            known |= {"UCB": POLICY_STYLES["ucb"], "Thompson sampling": POLICY_STYLES["thompson"]}
            styles = [known[label.removeprefix(part)] for label in labels]
        else:
            styles = shades(len(labels))
        for label, style in zip(labels, styles, strict=True):
            line = [point for point in points if point.line == label]
            _draw_line(its_axes, line, style, label.removeprefix(part))
        its_axes.set_yscale("log")
        if panel.work:
            its_axes.set_xscale("log")
            what = "indices" if part == _PARTS["work"][0] else "samples"
            its_axes.set_ylabel(f"{what} per round")
        _finish(its_axes, panel, points, f"{part[:-2]}: {_lower(_TITLES[panel.name])}")
        legend(its_axes)
    return figure  # type: ignore[no-any-return]


def _lower(title: str) -> str:
    return title[0].lower() + title[1:]


def _spread_figure(panel: Panel, points: Sequence[Point]) -> Figure:
    """Draw mean, standard deviation and upper quantiles against a parameter."""
    figure, axes = empty_panels(3, columns=3, size=(4.2, 3.5))
    labels = list(dict.fromkeys(point.line for point in points))
    for label, style in zip(labels, shades(len(labels)), strict=True):
        line = [point for point in points if point.line == label]
        _draw_line(axes[0], line, style, label)
        _draw_line(axes[1], line, style, None, ("deviation", "deviation_error"))
        xs = [point.x for point in line]
        for level, width in ((0.95, 1.0), (0.99, 2.2)):
            heights = [point.quantiles[QUANTILES.index(level)] for point in line]
            axes[2].plot(xs, heights, color=style.color, linestyle=style.dashes, linewidth=width)
    ylabels = ("expected regret", "standard deviation", "95% (thin) and 99% quantile (bold)")
    for its_axes, ylabel in zip(axes, ylabels, strict=True):
        its_axes.set(xscale="log", xlabel=panel.xlabel, ylabel=ylabel)
        its_axes.set_xlim(panel.xs[0], panel.xs[-1])
        its_axes.set_ylim(0)
        round_ticks(its_axes)
    axes[0].set_ylim(0, panel.top)
    figure.suptitle(f"{_TITLES[panel.name]} ({_runs(points)})", fontsize=10)
    legend(figure, loc="outside lower center", ncols=len(labels))
    return figure  # type: ignore[no-any-return]


def draw_evidence(evidence: Evidence) -> Figure | None:
    """Draw the small picture beside a sentence; None if there is nothing to see."""
    if not evidence.series:
        return None
    figure, (axes,) = empty_panels(1, size=(3.6, 2.7))
    for series, style in zip(evidence.series, _series_styles(evidence.series), strict=True):
        errors = [bar / 2.0 for bar in series.bars] if series.bars else None
        draw_estimates(axes, series.xs, series.ys, errors, style, label=series.label, linewidth=1.4)
    if evidence.level is not None:
        axes.axhline(evidence.level, color=GREY, linewidth=0.8)
    # with a handful of runs there may be nothing that a logarithm can show
    if evidence.logx and math.isfinite(axes.dataLim.minposx):
        axes.set_xscale("log")
    if evidence.logy and math.isfinite(axes.dataLim.minposy):
        axes.set_yscale("log")
    round_ticks(axes)
    axes.set(xlabel=evidence.xlabel, ylabel=evidence.ylabel)
    if len(evidence.series) > 1:
        legend(figure, loc="outside upper left", ncols=2, fontsize=8, handlelength=2.2)
    return figure  # type: ignore[no-any-return]


def _series_styles(series: Sequence[Series]) -> list[Style]:
    """Return the style of each line: that of the policy it is named after, or another one."""
    names = [line.label.removesuffix(" (ours)") for line in series]
    known = {line.label: line.at(PANELS["exp1"].xs[0])[0].name for line in PANELS["exp1"].lines}
    settings = {"α = 1": 1, "α = 2": 2, "α = 3": 3, "α = 6": 6}
    known |= {name: f"ocucb:alpha={alpha},psi=2" for name, alpha in settings.items()}
    styles = policy_styles(known[name] for name in [*names, *settings] if name in known)
    spare = itertools.cycle(shades(max(2, sum(name not in known for name in names))))
    return [styles[known[name]] if name in known else next(spare) for name in names]


def _runs(points: Sequence[Point]) -> str:
    fewest, most = min(point.runs for point in points), max(point.runs for point in points)
    count = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f"{count} run{'s' if most > 1 else ''} at each point; {BARS}"
