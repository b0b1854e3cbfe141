"""The league's figures: a map of all ratios, and a picture for each open question."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from .._matplotlib import (
    Axes,
    Figure,
    LinearSegmentedColormap,
    LogLocator,
    NullFormatter,
    StrMethodFormatter,
)
from ..figures import BLACK, BLUE, GREEN, GREY, RED, Style, draw_estimates, empty_panels
from ..problems import Problem
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
    values = np.array(
        [[_value(standings, player, where) for where in contests] for player in players]
    )
    axes.imshow(np.log(values), cmap=_MAP, vmin=0.0, vmax=math.log(_WORST), aspect="auto")
    for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
        value = values[i, j]
        text = f"{value:.2f}" if value < 9.95 else f"{value:.0f}"
        color = "white" if value > 0.75 * _WORST else "black"
        weight = "bold" if value == 1.0 else "normal"
        axes.text(j, i, text, ha="center", va="center", fontsize=6, color=color, weight=weight)
    axes.set_xticks(
        range(len(contests)), [contest.name for contest in contests], rotation=60, ha="right"
    )
    axes.set_yticks(range(len(players)), [player.label for player in players])
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
        [cell.mean.value for cell in cells],
        [read(cell).value for cell in cells],
        xerr=[2.0 * _finite(cell.mean.error) for cell in cells],
        yerr=[2.0 * _finite(read(cell).error) for cell in cells],
        elinewidth=0.7,
        **how,  # type: ignore[arg-type]
    )


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _frontier(cells: Cells) -> Figure:
    figure, axes = empty_panels(6, columns=3, size=(4.2, 3.5))
    reads: tuple[tuple[str, Callable[[Cell], Uncertain]], ...] = (
        ("standard deviation", lambda cell: cell.deviation),
        ("P(failure)", lambda cell: cell.failure),
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


def _by_horizon(
    lines: Callable[[Problem], Iterable[tuple[str, Sequence[Uncertain]]]],
    styles: Sequence[Style],
    ylabel: str,
) -> Figure:
    """Draw, for each of two problems, labelled lines of estimates whose `where` is the horizon."""
    figure, axes = empty_panels(2, size=(4.8, 3.6))
    for (where, problem), its_axes in zip(questions.GAPS.items(), axes, strict=True):
        for (label, found), style in zip(lines(problem), itertools.cycle(styles), strict=False):
            xs = [float(point.where) for point in found]
            values, errors = [point.value for point in found], [point.error for point in found]
            draw_estimates(its_axes, xs, values, errors, style, label=label)
        its_axes.axhline(1.0, color=GREY, linewidth=0.7)
        its_axes.set(xscale="log", xlabel="$n$", ylabel="")
        its_axes.set_title(rf"{where}, $\Delta = 0.3$", fontsize=9)
        its_axes.set_ylim(bottom=0)
    axes[0].set_ylabel(ylabel)
    axes[0].legend(frameon=False, fontsize=8)
    return figure  # type: ignore[no-any-return]


def _price(cells: Cells) -> Figure:
    def lines(problem: Problem) -> Iterator[tuple[str, Sequence[Uncertain]]]:
        for pair in questions.PAIRS:
            yield from questions.prices(cells, problem, pair).items()

    styles = (RED, ("#e377c2", "dashed"), GREEN, ("#a65628", "dashed"))
    return _by_horizon(lines, styles, "regret relative to known horizon")


def _loglog(cells: Cells) -> Figure:
    def lines(problem: Problem) -> Iterator[tuple[str, Sequence[Uncertain]]]:
        bound = float((2.0 / problem.gaps[problem.gaps > 0.0]).sum())
        for policy in questions.long_policies():
            found = cells.all([(policy, problem, n) for n in questions.LONG])
            units = [bound * math.log(cell.horizon) for cell in found]
            yield (
                policy.label,
                [
                    Uncertain(cell.mean.value / unit, cell.mean.error / unit, str(cell.horizon))
                    for cell, unit in zip(found, units, strict=True)
                ],
            )

    ylabel = r"regret / $(\sum_i 2 / \Delta_i)\,\log n$"
    return _by_horizon(lines, (RED, BLACK, BLUE, GREEN), ylabel)


def _dots(cells: Cells, names: Sequence[str], base: str, contests: Sequence[Contest]) -> Figure:
    """Draw policies' regret relative to that of one of them, a line for each contest."""
    (rival,) = questions.named([base])
    others = [policy for policy in questions.named(names) if policy != rival]
    figure, (axes,) = empty_panels(1, size=(7.5, 1.4 + 0.28 * len(contests)))
    rows = {contest.title: len(contests) - 1 - i for i, contest in enumerate(contests)}
    styles = zip(others, _MARKERS, _COLORS, strict=False)
    for number, (policy, marker, color) in enumerate(styles):
        ratios = questions.relative(cells, policy, rival, contests)
        shift = 0.12 * (number - 0.5 * (len(others) - 1))
        axes.errorbar(
            [ratio.value for ratio in ratios],
            [rows[ratio.where] - shift for ratio in ratios],
            xerr=[2.0 * _finite(ratio.error) for ratio in ratios],
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


_PICTURES: dict[str, Callable[[Cells], Figure]] = {
    "frontier": _frontier,
    "price": _price,
    "loglog": _loglog,
    "bayesian": lambda cells: _dots(cells, *questions.BAYESIAN_COMPARISON),
    "variance": lambda cells: _dots(cells, *questions.VARIANCE_COMPARISON),
    "unknown": lambda cells: _dots(cells, *questions.UNKNOWN_COMPARISON),
}
