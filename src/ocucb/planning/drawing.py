"""The picture of a plan: certainty and regret against the number of visitors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._matplotlib import Axes, Figure
from ..figures import BLACK, GREY, RED, draw_estimates, empty_panels

if TYPE_CHECKING:
    from .result import PlanResult


def draw(plan: PlanResult) -> Figure:
    """Draw the probability of a wrong recommendation, and regret, against visitors."""
    figure: Figure
    figure, (certainty, regret) = empty_panels(2)
    points = plan.points
    n = [point.horizon for point in points]
    for axes, policy, equal in (
        (certainty, [point.wrong for point in points], [point.equal_wrong for point in points]),
        (regret, [point.regret for point in points], [point.equal_regret for point in points]),
    ):
        values, errors = [one.value for one in policy], [one.stderr for one in policy]
        draw_estimates(axes, n, values, errors, RED, label=plan.label)
        draw_estimates(axes, n, equal, None, BLACK, label="equal shares")
        axes.set_xscale("log")
        axes.set_xlabel("visitors")
        axes.legend(frameon=False)
    certainty.set_ylabel("P(the arm recommended is not the best)")
    certainty.set_ylim(0.0, None)
    regret.set_ylim(0.0, None)
    figure.suptitle(plan.problem, fontsize=10)
    _mark(certainty, plan)
    return figure


def _mark(axes: Axes, plan: PlanResult) -> None:
    """Show where the wanted certainty is reached."""
    wrong = 1.0 - plan.certainty
    axes.axhline(wrong, color=GREY, linewidth=0.8)
    axes.annotate(
        f"{100.0 * wrong:.3g}%", (1.0, wrong), xycoords=("axes fraction", "data"), color=GREY,
        ha="right", va="bottom", fontsize=9,
    )  # fmt: skip
    counts: list[float] = [plan.equal_visitors]
    if plan.visitors is not None:
        counts.append(plan.visitors.value)
    axes.plot(counts, [wrong] * len(counts), "o", color=GREY, markersize=4)
