"""The league's figures: a map of all ratios, and a picture for each open question."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from .._matplotlib import (
    Axes,
    Figure,
    LinearSegmentedColormap,
    LogLocator,
    NullFormatter,
    StrMethodFormatter,
)
from ..figures import BLACK, BLUE, GREEN, GREY, RED, draw_estimates, empty_panels
from ..reports.estimates import Uncertain
from . import questions
from .measure import Cell
from .problems import CONTESTS, Contest
from .questions import Cells
from .standings import Player, Standings, by_mean

_WORST = 4.0  # ratios from here on have the darkest colour
_LEAST = 1e-9  # the smallest probability that is drawn
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_COLORS = ("#377eb8", "#4daf4a", "#984ea3", "#ff7f00", "#a65628", "#17becf", "#e377c2", "#555555")
_MAP = LinearSegmentedColormap.from_list("ratio", ["#ffffff", "#fee391", "#fe9929", "#b3261e"])


def ratio_map(standings: Standings) -> Figure:
    """Draw every policy's regret relative to the best on every problem."""
    contests = standings.contests
    rows = by_mean(standings.table(contests))
    players = [row.player for row in rows]
    size = (2.6 + 0.44 * len(contests), 2.6 + 0.25 * len(players))
    figure, (axes,) = empty_panels(1, size=size)
    values = np.array([[_value(standings, one, where) for where in contests] for one in players])
    axes.imshow(np.log(values), cmap=_MAP, vmin=0.0, vmax=math.log(_WORST), aspect="auto")
    for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
        value = values[i, j]
        text = f"{value:.2f}" if value < 9.95 else f"{value:.0f}"
        color = "white" if value > 0.75 * _WORST else "black"
        weight = "bold" if value == 1.0 else "normal"
        axes.text(j, i, text, ha="center", va="center", fontsize=6, color=color, weight=weight)
    axes.set_xticks(range(len(contests)), [one.name for one in contests], rotation=60, ha="right")
    axes.set_yticks(range(len(players)), [one.label for one in players])
    axes.tick_params(labelsize=7, length=0)
    axes.set_ylabel("")
    axes.spines[:].set_visible(False)
    figure.get_layout_engine().set(w_pad=0.15)  # long labels touch the edge otherwise
    return figure  # type: ignore[no-any-return]


def _value(standings: Standings, player: Player, contest: Contest) -> float:
    ratio = standings.ratio(player, contest)
    return math.nan if ratio is None else ratio.value


def draw(name: str, cells: Cells) -> Figure:
    """Draw the picture of an open question."""
    return _PICTURES[name](cells)


def _points(
    axes: Axes, cells: Sequence[Cell], read: Callable[[Cell], Uncertain], **how: object
) -> None:
    """Draw cells as points of (mean, something), with bars of two standard errors."""
    axes.errorbar(
        [one.mean.value for one in cells],
        [read(one).value for one in cells],
        xerr=[2.0 * _finite(one.mean.error) for one in cells],
        yerr=[2.0 * _finite(read(one).error) for one in cells],
        elinewidth=0.7,
        **how,  # type: ignore[arg-type]
    )


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _frontier(cells: Cells) -> Figure:
    figure, axes = empty_panels(6, columns=3, size=(4.2, 3.5))
    reads: tuple[tuple[str, Callable[[Cell], Uncertain]], ...] = (
        ("standard deviation", lambda one: one.deviation),
        ("P(failure)", lambda one: one.failure),
    )
    for (what, read), row in zip(reads, (axes[:3], axes[3:]), strict=True):
        for name, its_axes in zip(questions.FRONTIER, row, strict=True):
            lines = (
                (questions.alpha_plays(name), "alpha", RED, r"OCUCB, $\alpha$ varies"),
                (questions.psi_plays(name), "psi", BLUE, r"OCUCB, $\psi$ varies"),
            )
            for plays, parameter, (color, dashes), label in lines:
                found = cells.all(plays)
                style = {"color": color, "linestyle": dashes, "marker": ".", "linewidth": 1.0}
                _points(its_axes, found, read, label=label, **style)
                for cell in found:
                    text = cell.policy.partition(f"{parameter}=")[2].partition(",")[0]
                    place = cell.mean.value, read(cell).value
                    its_axes.annotate(
                        text, place, (2, 2), textcoords="offset points", fontsize=6, color=color
                    )
            styles = zip(_MARKERS, _COLORS, strict=False)
            for cell, (marker, color) in zip(
                cells.all(questions.beside_plays(name)), styles, strict=False
            ):
                points = {"linestyle": "none", "marker": marker, "color": color, "markersize": 5}
                _points(its_axes, [cell], read, label=cell.label, **points)
            its_axes.set(xscale="log", yscale="log", xlabel="mean regret")
            its_axes.set_ylabel(what if name == questions.FRONTIER[0] else "")
            its_axes.set_ylim(bottom=max(_LEAST, its_axes.get_ylim()[0]))
            its_axes.set_title(CONTESTS[name].title, fontsize=9)
            _plain_ticks(its_axes)
    axes[0].legend(frameon=False, fontsize=6.5)
    return figure  # type: ignore[no-any-return]


def _plain_ticks(axes: Axes) -> None:
    """Write the few numbers of a short logarithmic axis as they are."""
    low, high = axes.get_xlim()
    within = (1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0) if high < 5.0 * low else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=within))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _price(cells: Cells) -> Figure:
    figure, axes = empty_panels(2, size=(4.8, 3.6))
    styles = (RED, ("#e377c2", "dashed"), GREEN, ("#a65628", "dashed"))
    for (where, problem), its_axes in zip(questions.GAPS.items(), axes, strict=True):
        lines = [
            line
            for pair in questions.PAIRS
            for line in questions.prices(cells, problem, pair).items()
        ]
        for (label, ratios), style in zip(lines, itertools.cycle(styles), strict=False):
            xs = [float(one.where) for one in ratios]
            values, errors = [one.value for one in ratios], [one.error for one in ratios]
            draw_estimates(its_axes, xs, values, errors, style, label=label)
        its_axes.axhline(1.0, color=GREY, linewidth=0.7)
        its_axes.set(xscale="log", xlabel="$n$", title="")
        its_axes.set_title(rf"{where}, $\Delta = 0.3$", fontsize=9)
        its_axes.set_ylabel("regret relative to known horizon" if its_axes is axes[0] else "")
        its_axes.set_ylim(bottom=0)
    axes[0].legend(frameon=False, fontsize=8)
    return figure  # type: ignore[no-any-return]


def _loglog(cells: Cells) -> Figure:
    figure, axes = empty_panels(2, size=(4.8, 3.6))
    for (where, problem), its_axes in zip(questions.GAPS.items(), axes, strict=True):
        gaps = problem.gaps[problem.gaps > 0.0]
        bound = float((2.0 / gaps).sum())
        styles = itertools.cycle((RED, BLACK, BLUE, GREEN))
        for policy, style in zip(questions.long_policies(), styles, strict=False):
            found = cells.all([(policy, problem, n) for n in questions.LONG])
            draw_estimates(
                its_axes,
                [one.horizon for one in found],
                [one.mean.value / (bound * math.log(one.horizon)) for one in found],
                [one.mean.error / (bound * math.log(one.horizon)) for one in found],
                style,
                label=policy.label,
            )
        its_axes.axhline(1.0, color=GREY, linewidth=0.7)
        its_axes.set(xscale="log", xlabel="$n$")
        its_axes.set_title(rf"{where}, $\Delta = 0.3$", fontsize=9)
        label = r"regret / $(\sum_i 2 / \Delta_i)\,\log n$"
        its_axes.set_ylabel(label if its_axes is axes[0] else "")
        its_axes.set_ylim(bottom=0)
    axes[0].legend(frameon=False, fontsize=8)
    return figure  # type: ignore[no-any-return]


def _dots(cells: Cells, names: Sequence[str], base: str, contests: Sequence[Contest]) -> Figure:
    """Draw policies' regret relative to that of one of them, a line for each contest."""
    (rival,) = questions.named([base])
    others = [one for one in questions.named(names) if one != rival]
    figure, (axes,) = empty_panels(1, size=(7.5, 1.4 + 0.28 * len(contests)))
    rows = {one.title: len(contests) - 1 - i for i, one in enumerate(contests)}
    styles = zip(others, _MARKERS, _COLORS, strict=False)
    for number, (policy, marker, color) in enumerate(styles):
        ratios = questions.relative(cells, policy, rival, contests)
        shift = 0.12 * (number - 0.5 * (len(others) - 1))
        axes.errorbar(
            [one.value for one in ratios],
            [rows[one.where] - shift for one in ratios],
            xerr=[2.0 * _finite(one.error) for one in ratios],
            linestyle="none",
            marker=marker,
            markersize=4,
            color=color,
            label=policy.label,
        )
    axes.axvline(1.0, color=GREY, linewidth=0.7)
    axes.set_yticks(list(rows.values()), list(rows), fontsize=8)
    axes.set_ylim(-0.6, len(contests) - 0.4)
    axes.set(xscale="log", xlabel=f"regret relative to {rival.label}", ylabel="")
    _plain_ticks(axes)
    figure.legend(*axes.get_legend_handles_labels(), frameon=False, fontsize=8, ncols=5,
                  loc="outside upper center")  # fmt: skip
    return figure  # type: ignore[no-any-return]


def _bayesian(cells: Cells) -> Figure:
    return _dots(cells, questions.BAYESIAN, "thompson", questions.gaussian_contests())


def _variance(cells: Cells) -> Figure:
    return _dots(cells, questions.LOW_VARIANCE, "ocucb", questions.rare_contests())


_PICTURES: dict[str, Callable[[Cells], Figure]] = {
    "frontier": _frontier,
    "price": _price,
    "loglog": _loglog,
    "bayesian": _bayesian,
    "variance": _variance,
}
