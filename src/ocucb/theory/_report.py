"""Everything that is known about one problem: table, JSON and picture of `ocucb theory`.

A bound whose condition fails has no number: it is listed with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..problems import Problem, gaussian
from ._constants import best_constants
from ._lower import (
    balanced_lower_bound,
    lai_robbins,
    minimax_lower_bound,
    promise_lower_bound,
    unbalanced_lower_shape,
)
from ._quantities import Bound, Floats, complexities, complexity
from ._upper import (
    aocucb_minimax_shape,
    aocucb_shape,
    improved_ucb_bound,
    moss_bound,
    moss_shape,
    ocucb_bound,
    ocucb_minimax_bound,
    ocucb_minimax_shape,
    ocucb_shape,
    ucb_bound,
    ucb_shape,
)

if TYPE_CHECKING:
    import matplotlib.figure

    from ..results import SimulationResult

# Whose regret is measured beside the bounds: the paper's policy as it is played, and those whose
# bound has a constant, with the parameters that it is proved for.
DEFAULT_POLICIES = ("ocucb", "ucb:constant=8", "moss:constant=4")
CURVE_POINTS = 13


def _balanced(means: Floats, horizon: float, sigma: float) -> Bound:
    widths = gaussian(means).gaps
    positive = np.unique(widths[widths > 0])
    if positive.size != 1 or np.count_nonzero(widths == 0) != 1:
        raise ValueError(
            "thm:lower speaks about one best arm and equal gaps, which these means have not."
        )
    return balanced_lower_bound(means.size, float(positive[0]), horizon, sigma)


def _smallest(means: Floats, horizon: float, sigma: float) -> Bound:
    return ocucb_bound(means, horizon, sigma, given=best_constants())


def _smallest_minimax(means: Floats, horizon: float, sigma: float) -> Bound:
    return ocucb_minimax_bound(means, horizon, sigma, given=best_constants(goal="C2"))


def _minimax(means: Floats, horizon: float, sigma: float) -> Bound:
    return minimax_lower_bound(means.size, horizon, sigma)


def _ucb_pays(means: Floats, horizon: float, sigma: float) -> Bound:
    return promise_lower_bound(ucb_bound, means, horizon, sigma)


def _moss_pays(means: Floats, horizon: float, sigma: float) -> Bound:
    return promise_lower_bound(moss_bound, means, horizon, sigma)


STATEMENTS: dict[str, Callable[..., Bound]] = {
    "OCUCB, theorem 1": ocucb_shape,
    "OCUCB, theorem 1 with C_1": ocucb_bound,
    "OCUCB, theorem 1 with the smallest C_1": _smallest,
    "OCUCB, theorem 2": ocucb_minimax_shape,
    "OCUCB, theorem 2 with C_2": ocucb_minimax_bound,
    "OCUCB, theorem 2 with the smallest C_2": _smallest_minimax,
    "AOCUCB": aocucb_shape,
    "AOCUCB, worst case": aocucb_minimax_shape,
    "UCB": ucb_shape,
    "UCB, constant 8": ucb_bound,
    "MOSS, worst case": moss_shape,
    "MOSS, constant 4": moss_bound,
    "improved UCB": improved_ucb_bound,
    "thm:lower": _balanced,
    "unbalanced means": unbalanced_lower_shape,
    "Lai and Robbins": lai_robbins,
    "worst case": _minimax,
    "UCB's own promise": _ucb_pays,
    "MOSS's own promise": _moss_pays,
}


@dataclass(frozen=True, eq=False)
class Report:
    """What is promised, what is impossible and what was measured on one problem.

    Attributes
    ----------
    problem : Problem
        The problem.
    horizon : int
        Rounds, n.
    statements : dict
        For each name a `Bound`, or the sentence that says why it does not apply.
    measured : SimulationResult or None
        Regret at the horizon.
    curve : dict
        Measured regret at smaller horizons, for the picture.
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
            lines += ["", title]
            for name, one in self.statements.items():
                if not isinstance(one, str) and one.side == side:
                    what = f"{name} ({one.name})"
                    lines.append(f"  {_shown(one.value):>10}  {one.kind:5}  {what}: {one.about}")
                    lines.append(f"{'':21}needs {one.condition}")
                    lines.append(f"{'':21}{one.source}")
        refused = {name: one for name, one in self.statements.items() if isinstance(one, str)}
        if refused:
            lines += ["", "Not applicable"]
            lines += [f"  {name}: {reason}" for name, reason in refused.items()]
        lines += [
            "",
            "A shape is known up to a constant factor only, a limit holds for n → ∞ only.",
        ]
        if self.measured is not None:
            lines += ["", "Measured", self.measured.table()]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain numbers: the object of ``--json``."""
        H_i = complexities(self.problem.means, self.problem.sigma)
        found = [
            {"statement": name, **asdict(one)}
            for name, one in self.statements.items()
            if not isinstance(one, str)
        ]
        refused = [
            {"statement": name, "reason": one}
            for name, one in self.statements.items()
            if isinstance(one, str)
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
            "measured": [one.to_dict() for one in self.measured or ()],
        }

    def plot(self) -> matplotlib.figure.Figure:
        """Draw regret against n: upper and lower bounds as bands, and what was measured."""
        from ..figures import theory_bands

        return theory_bands(self)

    def at(self, horizon: int) -> dict[str, Bound]:
        """Return the statements that apply at another horizon."""
        found = _evaluate(self.problem, horizon)
        return {name: one for name, one in found.items() if not isinstance(one, str)}

    def horizons(self) -> list[int]:
        """Return the horizons of the picture: equal steps of log n, from ten rounds an arm on."""
        least = min(10 * self.problem.arms, self.horizon)
        steps = np.geomspace(least, self.horizon, CURVE_POINTS)
        return sorted({round(float(x)) for x in steps})


def _shown(value: float) -> str:
    return f"{value:.3g}" if value >= 1e6 else f"{value:.2f}"


def _evaluate(problem: Problem, horizon: int) -> dict[str, Bound | str]:
    found: dict[str, Bound | str] = {}
    for name, statement in STATEMENTS.items():
        try:
            one = statement(problem.means, horizon, problem.sigma)
        except ValueError as reason:
            found[name] = str(reason)
            continue
        kind = problem.rewards.name
        known = kind == "gaussian" or "Gaussian" not in one.condition
        found[name] = one if known else f"it is proved for Gaussian rewards, and these are {kind}."
    return found


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
    """Collect every bound for a problem, and measure the regret of policies beside them.

    Parameters
    ----------
    problem : Problem
        What is played; one sigma for all arms. What is proved for Gaussian rewards only, such as
        every lower bound, needs them.
    horizon : int
        Rounds, n.
    policies : list of policies
        Whose regret to measure; nobody's by default.
    runs, rng, workers
        As in `ocucb.simulate`.
    curve : bool
        Measure at smaller horizons too, for `Report.plot`. Policies that know the horizon are told
        the smaller one.

    Examples
    --------
    >>> import ocucb
    >>> found = report(ocucb.gaussian([0.0, -0.1, -0.5]), 100_000)
    >>> round(found.statements["OCUCB, theorem 1"].value, 3)
    80.004
    """
    from ..simulation import simulate

    if np.ptp(problem.scales) > 0:
        raise ValueError("sigma must be one number for all arms: the bounds know no other.")
    made = Report(problem, horizon, _evaluate(problem, horizon))
    if not policies:
        return made
    times = made.horizons() if curve else [horizon]
    results = {n: simulate(policies, problem, n, runs, rng=rng, workers=workers) for n in times}
    return Report(problem, horizon, made.statements, results[horizon], results if curve else {})
