"""The pictures of this package: bounds with measured regret between them, and section 2.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._matplotlib import Axes, Figure
from .._types import Counts, Floats
from ..figures import (
    BARS,
    BLUE,
    GREEN,
    GREY,
    POLICY_STYLES,
    RED,
    SKY,
    Look,
    draw_estimates,
    empty_panels,
    figure_of,
    legend,
    policy_styles,
    round_ticks,
    set_title,
)
from ..problems import Problem
from ..results import PolicyResult, SimulationResult
from ._quantities import Bound

_LONG_DASHES, _DOTS = (0, (7, 3)), (0, (1, 2))


def regret_and_bounds(
    problem: Problem,
    bounds: Mapping[int, Mapping[str, Bound]],
    measured: Mapping[int, SimulationResult],
    look: Look,
) -> Figure:
    """Draw regret against the horizon, with a band between the bounds of each policy that has both.

    Shapes are not drawn, nor is anything above the trivial bound, n times the largest gap. Bounds
    that hold only for the worst problem, or only as n → ∞, are lines. `bounds` has the statements
    that apply at each horizon, by key; `measured` the regret of policies at some.
    """
    times = list(bounds)
    trivial = np.array(times) * problem.gaps.max()
    axes = look.panel((7, 5.5))
    figure = figure_of(axes)

    def values(key: str) -> Floats:
        return np.array([at[key].value if key in at else np.nan for at in bounds.values()])

    axes.plot(times, trivial, color=GREY, linewidth=0.8, label=r"trivial bound $n\Delta_{\max}$")
    for label, upper, lower, family, hatch in (
        ("UCB, constant 8", "ucb_bound", "ucb_promise_lower_bound", "ucb", ""),
        ("MOSS, constant 4", "moss_bound", "moss_promise_lower_bound", "moss", "...."),
    ):
        most, least = np.minimum(values(upper), trivial), np.nan_to_num(values(lower))
        color = POLICY_STYLES[family].color
        how: dict[str, Any] = {"facecolor": (color, 0.13), "edgecolor": (color, 0.4)}
        label = f"{label}: proven to lie here"
        axes.fill_between(times, least, most, **how, hatch=hatch, linewidth=0, label=label)
        for edge in (most, np.where(least > 0, least, np.nan)):
            axes.plot(times, edge, color=color, alpha=0.6, linewidth=1.0)
    for key, label, dashes in (
        ("lai_robbins", r"Lai and Robbins, as $n \to \infty$", _LONG_DASHES),
        ("minimax_lower_bound", "lower bound for the worst problem", _DOTS),
    ):
        if np.nan_to_num(values(key)).any():
            axes.plot(times, values(key), color=GREY, linestyle=dashes, linewidth=1.2, label=label)
    found = [(n, policy, 1.0) for n, result in measured.items() for policy in result]
    _draw_measured(axes, found, look)
    look.finish(
        axes,
        f"What is proved and what is measured on {problem.name}",
        BARS if found else "",
        xscale="log" if len(times) > 1 else "linear",
        yscale="log" if trivial.any() else "linear",
    )
    axes.set(xlabel="horizon $n$", ylabel="expected regret")
    if len(times) > 1:
        axes.set_xlim(times[0], times[-1])
    # Lower bounds may be 0: the axis ends a little below the smallest line that is not.
    shown = [policy.mean_regret for _, policy, _ in found]
    shown += [*trivial, *values("minimax_lower_bound")]
    axes.set_ylim(bottom=0.5 * min((x for x in shown if x > 0), default=1.0))
    if look.ax is None:
        legend(figure, loc="outside lower center", ncols=2)
    else:
        legend(axes)
    return figure


def conjecture_fails(rows: Sequence[dict[str, Any]], look: Look) -> Figure:
    """Draw section 2.1: regret over K, which the conjecture says stays bounded."""
    axes = look.panel((7, 5))
    K = [row["K"] for row in rows]

    def curve(name: str) -> list[float]:
        return [row[name] / row["K"] for row in rows]

    order = r"$\Sigma\,(1/\Delta_i)\,\log^+(n/H_i)$"
    label = f"impossible if regret after one bad arm is raised to 1\nis at most {order}, constant 1"
    impossible = curve("necessary")
    axes.fill_between(K, 0, impossible, color=SKY.color, alpha=0.35, linewidth=0, label=label)
    for name, label, dashes in (
        ("theorem1", "theorem 1 (order)", _DOTS),
        ("conjectured", "conjecture (order)", _LONG_DASHES),
    ):
        axes.plot(K, curve(name), color=GREY, linestyle=dashes, linewidth=1.4, label=label)
    found = [(row["K"], policy, row["K"]) for row in rows for policy in row["measured"]]
    _draw_measured(axes, found, look)
    title = "Regret over $K$ grows without end, contrary to the conjecture"
    more = f"means 1/2, 1/2 - 1/K, 0, ..., 0 and $n = K^2$; {BARS}"
    look.finish(axes, title, more, xscale="log")
    axes.set(xlabel="arms $K$", ylabel="regret / $K$")
    axes.set_xlim(K[0], K[-1])
    axes.set_ylim(bottom=0)
    if look.ax is None:
        legend(figure_of(axes), loc="outside lower center", ncols=2)
    else:
        legend(axes)
    return figure_of(axes)


def lemmas_at_work(
    checks: Sequence[tuple[str, str, float, float]],
    t: Counts,
    walk: Floats,
    boundaries: Mapping[float, Floats],
    look: Look,
) -> Figure:
    """Draw the best arm's walk within its boundary, and lemmas: what is promised, what is found.

    A check is a lemma's name, its kind, what is promised and what is found. `walk` is the mean
    noise of the best arm after t pulls, `boundaries` its boundary at t for some β. On the axes that
    are given, only lemmas are drawn.
    """
    if look.ax is None:
        figure, (left, sides) = empty_panels(2, size=(6.2, 4.6))
        _draw_walk(left, t, walk, boundaries)
    else:
        figure, sides = figure_of(look.ax), look.ax
    _draw_promises(sides, checks, look)
    return figure  # type: ignore[no-any-return]


def _draw_walk(left: Axes, t: Counts, walk: Floats, boundaries: Mapping[float, Floats]) -> None:
    for (beta, edge), dashes in zip(boundaries.items(), ("solid", _LONG_DASHES), strict=True):
        for sign, label in ((1, rf"$\beta = {beta:g}$"), (-1, None)):
            left.plot(t, sign * edge, color=GREY, linestyle=dashes, linewidth=1.2, label=label)
    left.plot(t, walk, color=RED[0], linewidth=1.2, label="mean noise of the best arm")
    left.set_xscale("log")
    left.set_xlim(1, t[-1])
    left.set_xlabel("pulls $t$")
    left.set_ylabel("")
    round_ticks(left)
    set_title(left, "The best arm's noise stays within the boundary of lemma 6")
    legend(left)


def _draw_promises(
    sides: Axes, checks: Sequence[tuple[str, str, float, float]], look: Look
) -> None:
    kinds = {
        "probability": (RED[0], "probability of failure"),
        "algebra": (BLUE[0], "side of an inequality"),
        "constant": (GREEN[0], "constant of the proof"),
    }
    least = 1e-17  # what is smaller is drawn as an arrow
    for y, (_, kind, promised, found) in enumerate(reversed(checks)):
        color, shown = kinds[kind][0], max(found, least)
        sides.plot([shown, promised], [y, y], color=color, linewidth=1.0)
        sides.plot([shown], [y], "o" if found > least else "<", color=color, markersize=5)
        sides.plot([promised], [y], "|", color=color, markersize=10, markeredgewidth=2)
    for color, title in kinds.values():
        sides.plot([], [], "o-", color=color, label=title)
    look.finish(sides, "Lemmas promise (bar) more than is found (dot)", xscale="log")
    names = look.names((name, name) for name, *_ in checks)
    sides.set_yticks(range(len(checks)), names[::-1], fontsize=8)
    sides.set_ylabel("")
    sides.grid(visible=False, axis="y")
    sides.set_xlim(least, 1e14)
    legend(sides, loc="upper left", fontsize=8)


def _draw_measured(
    axes: Axes, found: Sequence[tuple[int, PolicyResult, float]], look: Look
) -> None:
    """Draw a line for each policy, from triples of x, result, and what its regret is divided by."""
    styles = policy_styles(result.policy for _, result, _ in found)
    labels = {result.policy: f"{result.label}, measured" for _, result, _ in found}
    names = look.names(labels.items())
    for (policy, style), name in zip(styles.items(), names, strict=True):
        mine = [triple for triple in found if triple[1].policy == policy]
        draw_estimates(
            axes,
            [x for x, _, _ in mine],
            [result.mean_regret / unit for _, result, unit in mine],
            [float(result.stderr[-1]) / unit for _, result, unit in mine],
            style,
            label=name,
            linewidth=1.8,
        )
