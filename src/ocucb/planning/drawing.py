"""The picture of a plan: certainty and regret against the number of visitors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .._matplotlib import Axes, Figure
from ..figures import BLACK, GREY, RED, draw_estimates, empty_panels
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


def draw(
    points: Sequence[Point], label: str, problem: str, certainty: float, reached: Sequence[float]
) -> Figure:
    """Draw the probability of a wrong recommendation, and regret, against visitors.

    `reached` are the visitors at which the certainty is reached.
    """
    figure: Figure
    figure, (mistakes, regret) = empty_panels(2)
    n = [point.horizon for point in points]
    for axes, policy, equal in (
        (mistakes, [point.wrong for point in points], [point.equal_wrong for point in points]),
        (regret, [point.regret for point in points], [point.equal_regret for point in points]),
    ):
        values = [estimate.value for estimate in policy]
        errors = [estimate.stderr for estimate in policy]
        draw_estimates(axes, n, values, errors, RED, label=label)
        draw_estimates(axes, n, equal, None, BLACK, label="equal shares")
        axes.set_xscale("log")
        axes.set_xlabel("visitors")
        axes.legend(frameon=False)
    mistakes.set_ylabel("P(the arm recommended is not the best)")
    mistakes.set_ylim(0.0, None)
    regret.set_ylim(0.0, None)
    figure.suptitle(problem, fontsize=10)
    _mark(mistakes, 1.0 - certainty, reached)
    return figure


def _mark(axes: Axes, wrong: float, reached: Sequence[float]) -> None:
    """Show where the wanted certainty is reached."""
    axes.axhline(wrong, color=GREY, linewidth=0.8)
    axes.annotate(
        f"{100.0 * wrong:.3g}%", (1.0, wrong), xycoords=("axes fraction", "data"), color=GREY,
        ha="right", va="bottom", fontsize=9,
    )  # fmt: skip
    axes.plot(reached, [wrong] * len(reached), "o", color=GREY, markersize=4)
