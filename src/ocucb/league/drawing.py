"""The league's figures: a map of all ratios, and a picture for each open question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle

import numpy as np

from .._matplotlib import Axes, Figure, LinearSegmentedColormap
from ..figures import (
    BARS,
    GREY,
    RED,
    draw_estimates,
    empty_panels,
    legend,
    policy_styles,
    round_ticks,
    set_title,
)
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
_STAR = "★"  # before the name of a policy that somebody has entered
_DARK_RED = "#6b2f00"  # OCUCB with other ψ, beside other α in its own colour
_MAP = LinearSegmentedColormap.from_list("ratio", ["#ffffff", "#fee391", "#fe9929", "#b3261e"])


def ratio_map(standings: Standings) -> Figure:
    """Draw every policy's regret relative to the best on every problem."""
    contests = standings.contests
    rows = by_mean(standings.table(contests))
    players = [row.player for row in rows]
    size = (max(6.0, 2.6 + 0.44 * len(contests)), 2.6 + 0.25 * len(players))
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
    names = [f"{_STAR} {player.label}" if player.own else player.label for player in players]
    axes.set_yticks(range(len(players)), names)
    axes.tick_params(labelsize=7, length=0)
    axes.set_ylabel("")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    set_title(axes, "Regret relative to the best policy on each problem")
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
                (questions.alpha_plays(name), "alpha", RED.color, "-", r"OCUCB, other $\alpha$"),
                (questions.psi_plays(name), "psi", _DARK_RED, ":", r"OCUCB, other $\psi$"),
            )
            for plays, parameter, color, dashes, label in lines:
                found = cells.all(plays)
                style = {"color": color, "linestyle": dashes, "marker": ".", "linewidth": 1.0}
                _points(its_axes, found, read, label=label, **style)
                for cell in found:
                    text = cell.policy.partition(f"{parameter}=")[2].partition(",")[0]
                    place = cell.mean.value, read(cell).value
                    its_axes.annotate(
                        text, place, (2, 2), textcoords="offset points", fontsize=6, color=color
                    )
            beside = cells.all(questions.beside_plays(name, cells.own))
            styles = policy_styles(cell.policy for cell in beside)
            own = {policy.name for policy in cells.own}
            for cell, marker in zip(beside, cycle(_MARKERS), strict=False):
                mine = cell.policy in own
                points: dict[str, object] = {
                    "linestyle": "none",
                    "color": styles[cell.policy].color,
                    "marker": "*" if mine else marker,
                    "markersize": 9 if mine else 5,
                    "markeredgecolor": "black" if mine else styles[cell.policy].color,
                }
                _points(its_axes, [cell], read, label=cell.label, **points)
            its_axes.set(xscale="log", yscale="log", xlabel="mean regret")
            its_axes.set_ylabel(what if name == questions.FRONTIER[0] else "")
            its_axes.set_ylim(bottom=max(_LEAST, its_axes.get_ylim()[0]))
            set_title(its_axes, CONTESTS[name].title)
            round_ticks(its_axes)
    legend(figure, handles=axes[0].get_legend_handles_labels()[0], ncols=6,
           loc="outside lower center")  # fmt: skip
    return figure  # type: ignore[no-any-return]


def _by_horizon(
    lines: Callable[[Problem], Iterable[tuple[str, str, Sequence[Uncertain]]]],
    title: str,
    ylabel: str,
) -> Figure:
    """Draw, for each of two problems, lines of estimates whose `where` is the horizon.

    Each has the name of a policy, whose style it gets, and a label.
    """
    figure, axes = empty_panels(2, size=(4.8, 3.6))
    for (where, problem), its_axes in zip(questions.GAPS.items(), axes, strict=True):
        every = list(lines(problem))
        styles = policy_styles(policy for policy, _, _ in every)
        for policy, label, found in every:
            xs = [float(point.where) for point in found]
            values, errors = [point.value for point in found], [point.error for point in found]
            draw_estimates(its_axes, xs, values, errors, styles[policy], label=label)
        its_axes.axhline(1.0, color=GREY, linewidth=0.7)
        its_axes.set(xscale="log", xlabel="horizon $n$", ylabel="")
        its_axes.set_ylim(bottom=0)
        round_ticks(its_axes)
        set_title(its_axes, f"{title}: {where}, gap 0.3", BARS)
    axes[0].set_ylabel(ylabel)
    legend(axes[0])
    return figure  # type: ignore[no-any-return]


def _price(cells: Cells) -> Figure:
    def lines(problem: Problem) -> Iterator[tuple[str, str, Sequence[Uncertain]]]:
        for pair in questions.PAIRS:
            labels = {policy.label: policy.name for policy in questions.named(pair)}
            for label, found in questions.prices(cells, problem, pair).items():
                yield labels[label.removesuffix(", restarted")], label, found

    return _by_horizon(lines, "Unknown horizon", "regret relative to known horizon")


def _loglog(cells: Cells) -> Figure:
    def lines(problem: Problem) -> Iterator[tuple[str, str, Sequence[Uncertain]]]:
        bound = float((2.0 / problem.gaps[problem.gaps > 0.0]).sum())
        for policy in questions.long_policies():
            found = cells.all([(policy, problem, n) for n in questions.LONG])
            units = [bound * math.log(cell.horizon) for cell in found]
            yield (
                policy.name,
                policy.label,
                [
                    Uncertain(cell.mean.value / unit, cell.mean.error / unit, str(cell.horizon))
                    for cell, unit in zip(found, units, strict=True)
                ],
            )

    ylabel = r"regret / ($\Sigma_i\, 2 / \Delta_i$) $\log n$"
    return _by_horizon(lines, "Long horizons", ylabel)


def _dots(cells: Cells, names: Sequence[str], base: str, contests: Sequence[Contest]) -> Figure:
    """Draw policies' regret relative to that of one of them, a line for each contest."""
    (rival,) = questions.named([base])
    others = [policy for policy in questions.named(names) if policy != rival]
    figure, (axes,) = empty_panels(1, size=(7.5, 1.4 + 0.28 * len(contests)))
    rows = {contest.title: len(contests) - 1 - i for i, contest in enumerate(contests)}
    styles = policy_styles(policy.name for policy in others)
    used: set[str] = set()
    for number, (policy, marker) in enumerate(zip(others, _MARKERS, strict=False)):
        color = styles[policy.name].color
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
            # hollow where another policy has the colour
            markerfacecolor="white" if color in used else color,
            label=policy.label,
        )
        used.add(color)
    axes.axvline(1.0, color=GREY, linewidth=0.7)
    axes.set(xscale="log", xlabel=f"regret relative to {rival.label}", ylabel="")
    round_ticks(axes)
    axes.set_yticks(list(rows.values()), list(rows), fontsize=8)
    axes.set_ylim(-0.6, len(contests) - 0.4)
    axes.grid(visible=False, axis="y")
    legend(figure, handles=axes.get_legend_handles_labels()[0], ncols=4, loc="outside upper center")
    return figure  # type: ignore[no-any-return]


_PICTURES: dict[str, Callable[[Cells], Figure]] = {
    "frontier": _frontier,
    "price": _price,
    "loglog": _loglog,
    "bayesian": lambda cells: _dots(cells, *questions.BAYESIAN_COMPARISON),
    "variance": lambda cells: _dots(cells, *questions.VARIANCE_COMPARISON),
    "unknown": lambda cells: _dots(cells, *questions.UNKNOWN_COMPARISON),
}
