"""All bounds for one problem: the table, JSON and picture of `ocucb theory`.

A bound whose condition fails has no value; it is listed with the reason.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from textwrap import indent
from typing import TYPE_CHECKING, Any

import numpy as np

from .._keywords import hinted
from .._text import table, to_count
from .._types import Floats
from ..problems import Problem, gaussian
from ..rewards import Rewards
from . import _lower, _upper
from ._constants import best_constants
from ._quantities import Bound, complexities, complexity

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

    from ..results import SimulationResult

# Measured beside the bounds: the paper's policy as it is played, and the policies whose bounds have
# constants, with the parameters for which these are proved.
DEFAULT_POLICIES = ("ocucb", "ucb:constant=8", "moss:constant=4")
CURVE_POINTS = 13


def _balanced(means: Floats, horizon: float, sigma: float) -> Bound:
    widths = gaussian(means).gaps
    positive = np.unique(widths[widths > 0])
    if positive.size != 1 or np.count_nonzero(widths == 0) != 1:
        raise ValueError(
            "the paper's theorem 19 covers only one best arm and equal gaps, and these means have "
            "others."
        )
    return _lower.balanced_lower_bound(means.size, float(positive[0]), horizon, sigma)


@dataclass(frozen=True)
class Statement:
    """A theorem: its title, and the function that evaluates it for means, horizon and sigma.

    One that is proved for more than one kind of reward takes the kind as well.
    """

    title: str
    bound: Callable[..., Bound]
    kinds: Callable[[], list[Rewards]] = list


_TITLES: dict[str, tuple[str, Callable[..., Bound]]] = {
    "ocucb_shape": ("OCUCB, theorem 1", _upper.ocucb_shape),
    "ocucb_bound": ("OCUCB, theorem 1 with C_1", _upper.ocucb_bound),
    "ocucb_bound_best": ("OCUCB, theorem 1 with the smallest C_1",
        lambda means, n, sigma: _upper.ocucb_bound(means, n, sigma, given=best_constants())),
    "ocucb_minimax_shape": ("OCUCB, theorem 2", _upper.ocucb_minimax_shape),
    "ocucb_minimax_bound": ("OCUCB, theorem 2 with C_2", _upper.ocucb_minimax_bound),
    "ocucb_minimax_bound_best": ("OCUCB, theorem 2 with the smallest C_2",
        lambda means, n, sigma: _upper.ocucb_minimax_bound(
            means, n, sigma, given=best_constants(goal="C2"))),
    "aocucb_shape": ("AOCUCB", _upper.aocucb_shape),
    "aocucb_minimax_shape": ("AOCUCB, worst case", _upper.aocucb_minimax_shape),
    "ucb_shape": ("UCB", _upper.ucb_shape),
    "ucb_bound": ("UCB, constant 8", _upper.ucb_bound),
    "ucb_minimax_bound": ("UCB, constant 8, worst case", _upper.ucb_minimax_bound),
    "moss_problem_shape": ("MOSS", _upper.moss_problem_shape),
    "moss_shape": ("MOSS, worst case", _upper.moss_shape),
    "moss_bound": ("MOSS, constant 4", _upper.moss_bound),
    "improved_ucb_bound": ("improved UCB", _upper.improved_ucb_bound),
    "improved_ucb_minimax_bound": ("improved UCB, worst case", _upper.improved_ucb_minimax_bound),
    "balanced_lower_bound": ("equal gaps", _balanced),
    "unbalanced_lower_shape": ("arbitrary gaps", _lower.unbalanced_lower_shape),
    "lai_robbins": ("Lai and Robbins", _lower.lai_robbins),
    "minimax_lower_bound": ("worst case",
        lambda means, *rest: _lower.minimax_lower_bound(means.size, *rest)),
    "ucb_worst_case_shape": ("UCB, worst case", _lower.ucb_worst_case_shape),
    "thompson_worst_case_shape": ("Thompson sampling, worst case",
        _lower.thompson_worst_case_shape),
    "ucb_promise_lower_bound": ("UCB, if it keeps its upper bound",
        lambda *problem: _lower.promise_lower_bound(_upper.ucb_bound, *problem)),
    "moss_promise_lower_bound": ("MOSS, if it keeps its upper bound",
        lambda *problem: _lower.promise_lower_bound(_upper.moss_bound, *problem)),
}  # fmt: skip
# proved for more than one kind of reward
_KINDS = {"lai_robbins": _lower.one_parameter_kinds}
STATEMENTS = {key: Statement(*row, _KINDS.get(key, list)) for key, row in _TITLES.items()}


@dataclass(frozen=True, eq=False)
class Report:
    """Upper bounds, lower bounds and measured regret for one problem.

    Attributes
    ----------
    problem : Problem
        The problem.
    horizon : int
        Rounds, n.
    statements : dict
        For each key, such as "ucb_bound", the `Bound`, or one sentence that says why it does not
        apply.
    measured : SimulationResult or None
        Regret at the horizon.
    curve : dict
        Regret at horizons up to this one, for the picture.

    Examples
    --------
    >>> import ocucb
    >>> from ocucb import theory
    >>> found = theory.report(ocucb.gap(K=2, gap=0.5), 1000)
    >>> found.statements["moss_shape"].value == (1000 * 2) ** 0.5
    True
    >>> "Lai and Robbins" in found.table()
    True
    >>> found.to_dict()["H"]
    4.0
    >>> figure = found.plot()
    >>> found.at(10_000)["moss_shape"].value > found.at(1000)["moss_shape"].value
    True
    >>> found.horizons()[0], found.horizons()[-1]
    (20, 1000)
    >>> found.is_vacuous(found.statements["moss_bound"])  # 39 sqrt(nK) exceeds n times the gap
    True
    """

    problem: Problem
    horizon: int
    statements: dict[str, Bound | str]
    measured: SimulationResult | None = None
    curve: dict[int, SimulationResult] = field(default_factory=dict)

    def table(self) -> str:
        """Return the report as text."""
        H_i = complexities(self.problem.means, self.problem.sigma)
        lines = [
            f"{self.problem.name}, sigma = {self.problem.sigma:g}, n = {self.horizon}",
            f"H   = {complexity(self.problem.means, self.problem.sigma):.6g}",
            "H_i = " + ", ".join(f"{h:.6g}" for h in H_i[:8]) + (", ..." if H_i.size > 8 else ""),
        ]
        for side, title in (("upper", "Regret is at most"), ("lower", "Regret is at least")):
            rows: list[tuple[str, ...]] = []
            for key, bound in self._sorted():
                if bound.side == side:
                    what = f"{STATEMENTS[key].title} ({bound.policy}): {bound.about}"
                    rows.append((_written(bound.value), bound.kind, what))
                    if self.is_vacuous(bound):
                        rows.append(("", "vacuous", self._trivial(bound)))
                    rows += [("", "", f"needs {bound.needs}"), ("", "", bound.source)]
            if rows:
                lines += ["", title, indent(table(rows, left=(1, 2)), "  ")]
        refused = [
            f"  {STATEMENTS[key].title}: {reason}"
            for key, reason in self.statements.items()
            if isinstance(reason, str)
        ]
        lines += ["", "Not applicable", *refused] if refused else []
        lines += [
            "",
            "A shape is known only up to a constant factor; a limit holds only as n → ∞; a vacuous "
            "bound says nothing that is not true of every policy.",
        ]
        if self.measured is not None:
            lines += ["", "Measured", self.measured.table()]
        return "\n".join(lines)

    def is_vacuous(self, bound: Bound) -> bool:
        """Tell whether a bound says nothing: regret is never below 0, nor above n times the gap.

        Shapes and limits, which have no constant to compare, are never called vacuous.

        Parameters
        ----------
        bound : Bound
            One of `statements`.
        """
        if bound.kind != "bound":
            return False
        return bound.value >= self._worst if bound.side == "upper" else bound.value <= 0.0

    @property
    def _worst(self) -> float:
        """The regret of playing the worst arm in every round."""
        return self.horizon * self.problem.largest_gap

    def _trivial(self, bound: Bound) -> str:
        if bound.side == "lower":
            return "no regret is below 0"
        return f"no regret exceeds n times the largest gap, {_written(self._worst)}"

    def _sorted(self) -> list[tuple[str, Bound]]:
        """Return the statements that apply: bounds, shapes, limits; the sharpest of each first."""
        found = [(key, bound) for key, bound in self.statements.items() if isinstance(bound, Bound)]

        def rank(pair: tuple[str, Bound]) -> tuple[int, float]:
            bound = pair[1]
            sharp = bound.value if bound.side == "upper" else -bound.value
            return ("bound", "shape", "limit").index(bound.kind), sharp

        return sorted(found, key=rank)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain numbers: the object of ``--json``."""
        H_i = complexities(self.problem.means, self.problem.sigma)
        titles = {
            key: {"statement": key, "title": STATEMENTS[key].title} for key in self.statements
        }
        found = [
            {**titles[key], **asdict(bound), "vacuous": self.is_vacuous(bound)}
            for key, bound in self._sorted()
        ]
        refused = [
            {**titles[key], "reason": reason}
            for key, reason in self.statements.items()
            if isinstance(reason, str)
        ]
        return {
            "problem": self.problem.name,
            "sigma": self.problem.sigma,
            "horizon": self.horizon,
            "H": complexity(self.problem.means, self.problem.sigma),
            "H_i": [float(h) if math.isfinite(h) else None for h in H_i],
            "bounds": found,
            "not_applicable": refused,
            "seed": None if self.measured is None else self.measured.seed,
            "measured": [result.to_dict() for result in self.measured or ()],
        }

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, ax: matplotlib.axes.Axes | None = None,
        xscale: str | None = None, yscale: str | None = None,
        labels: Sequence[str] | Mapping[str, str] | None = None, title: str | None = None,
    ) -> matplotlib.figure.Figure:  # fmt: skip
        """Draw regret against n: upper and lower bounds as bands, and measured regret as lines."""
        from ..figures import Look, written
        from ._figures import regret_and_bounds

        look = Look(ax, xscale, yscale, labels, title)
        bounds = {n: self.at(n) for n in self.horizons()}
        return written(regret_and_bounds(self.problem, bounds, self.curve, look), path)

    def at(self, horizon: int) -> dict[str, Bound]:
        """Return the statements that apply at another horizon."""
        found = _evaluate(self.problem, horizon)
        return {key: bound for key, bound in found.items() if not isinstance(bound, str)}

    def horizons(self) -> list[int]:
        """Return the horizons of the picture: equal steps of log n, from ten rounds per arm."""
        least = min(10 * self.problem.arms, self.horizon)
        steps = np.geomspace(least, self.horizon, CURVE_POINTS)
        return sorted({round(float(x)) for x in steps})


def _written(value: float) -> str:
    return f"{value:.3g}" if value >= 1e6 else f"{value:.2f}"


def _evaluate(problem: Problem, horizon: int) -> dict[str, Bound | str]:
    found: dict[str, Bound | str] = {}
    for key, statement in STATEMENTS.items():
        kind = problem.rewards.name
        more = {"rewards": kind} if problem.rewards in statement.kinds() else {}
        try:
            bound = statement.bound(problem.means, horizon, problem.sigma, **more)
        except ValueError as reason:
            found[key] = str(reason)
            continue
        refusal = f"it is proved for {bound.kind_of_rewards}, and these are {kind}."
        found[key] = bound if bound.covers(problem) else refusal
    return found


@hinted
def report(
    problem: Problem,
    horizon: int,
    *,
    policies: Sequence[Any] = (),
    runs: int = 1000,
    rng: Any = None,
    curve: bool = False,
    workers: int | None = None,
) -> Report:
    """Evaluate every bound for a problem, and measure the regret of policies beside them.

    Parameters
    ----------
    problem : Problem
        The problem, with one sigma for all arms. Statements that are proved for Gaussian rewards
        only, such as most lower bounds, need them.
    policies : list of policies, optional
        The policies to measure; none by default.
    runs : int, optional
        Runs of each.
    curve : bool, optional
        Whether to measure at smaller horizons too, for `Report.plot`. Policies that use the
        horizon are given the smaller one.

    Examples
    --------
    >>> from ocucb import theory
    >>> import ocucb
    >>> found = theory.report(ocucb.gaussian([0.0, -0.1, -0.5]), 100_000)
    >>> round(found.statements["ocucb_shape"].value, 3)
    80.004
    """
    from ..simulation import simulate

    horizon = to_count(horizon, "horizon")
    if np.ptp(problem.scales) > 0:
        raise ValueError("sigma must be one number for all arms: the bounds cover no other case.")
    made = Report(problem, horizon, _evaluate(problem, horizon))
    if not policies:
        return made
    times = made.horizons() if curve else [horizon]
    results = {n: simulate(policies, problem, n, runs, rng=rng, workers=workers) for n in times}
    return Report(problem, horizon, made.statements, results[horizon], results if curve else {})
