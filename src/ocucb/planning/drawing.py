"""The picture of a plan: certainty and regret against the number of visitors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .._matplotlib import Axes, Figure
from ..figures import (
    BARS,
    BLACK,
    GREY,
    Look,
    draw_estimates,
    empty_panels,
    figure_of,
    legend,
    policy_styles,
)
from ..results import Estimate


class Point(Protocol):
    """What is drawn of a plan, as a `PlanPoint` has it."""

    @property
    def horizon(self) -> int: ...
    @property
    def wrong(self) -> Estimate: ...
    @property
    def regret(self) -> Estimate: ...
    @property
    def equal_wrong(self) -> float: ...
    @property
    def equal_regret(self) -> float: ...


class Known(Protocol):
    """What is drawn, as a `PlanResult` has it."""

    @property
    def policy(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def problem(self) -> str: ...
    @property
    def certainty(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def points(self) -> Sequence[Point]: ...


def picture(plan: Known, reached: Sequence[float], look: Look) -> Figure:
    """Draw the probability of a wrong recommendation, and beside it the regret.

    `reached` are the visitors at which the certainty is reached. On axes of the caller's, the
    regret is left out.
    """
    panels = empty_panels(2, size=(5, 3.6))[1] if look.ax is None else [look.ax]
    points, facts = plan.points, f"{plan.problem}, seed {plan.seed}; {BARS}"
    wrong = [point.wrong for point in points], [point.equal_wrong for point in points]
    _draw(panels[0], plan, wrong, look)
    look.finish(panels[0], "How likely a wrong arm is recommended", facts, xscale="log")
    panels[0].set(xlabel="visitors", ylabel="P(the arm recommended is not the best)")
    _mark(panels[0], 1.0 - plan.certainty, reached)
    for axes in panels[1:]:
        regret = [point.regret for point in points], [point.equal_regret for point in points]
        _draw(axes, plan, regret, look)
        title = "What finding out costs" if look.title is None else ""
        Look(None, look.xscale, look.yscale, title=title).finish(axes, title, xscale="log")
        axes.set(xlabel="visitors", ylabel="expected regret")
    return figure_of(panels[0])


def _draw(
    axes: Axes, plan: Known, curves: tuple[Sequence[Estimate], Sequence[float]], look: Look
) -> None:
    n, (own, equal) = [point.horizon for point in plan.points], curves
    values, errors = zip(*own, strict=True)
    mine, other = look.names([(plan.policy, plan.label), ("equal shares", "equal shares")])
    draw_estimates(axes, n, values, errors, policy_styles([plan.policy])[plan.policy], label=mine)
    # UCB has its dashes
    draw_estimates(axes, n, equal, None, BLACK._replace(dashes=(0, (1, 2.5))), label=other)
    axes.set_ylim(bottom=0)
    legend(axes)


def _mark(axes: Axes, wrong: float, reached: Sequence[float]) -> None:
    """Show where the wanted certainty is reached."""
    axes.axhline(wrong, color=GREY, linewidth=0.8)
    axes.annotate(
        f"{100.0 * wrong:.3g}%", (1.0, wrong), xycoords=("axes fraction", "data"), color=GREY,
        ha="right", va="bottom", fontsize=9,
    )  # fmt: skip
    axes.plot(reached, [wrong] * len(reached), "o", color=GREY, markersize=4)
