"""What `plan` returns: a table, a picture, JSON."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _docstrings
from .._text import table_of, with_error
from ..results import Estimate

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure


@dataclass(frozen=True)
class PlanPoint:
    """What a number of visitors leads to.

    Attributes
    ----------
    horizon, runs : int
        The visitors, and how many runs of the policy were simulated.
    regret, wrong, simple_regret : Estimate
        The policy's regret, the probability that the arm it recommends is not the best, and that
        arm's mean gap.
    stopped, stopping_time : Estimate
        How likely a policy with a rule to stop has stopped by then, and when.
    equal_regret, equal_wrong, equal_simple_regret : float
        The same for equal shares, exactly.

    Examples
    --------
    >>> import ocucb
    >>> plan = ocucb.plan(ocucb.gap(2, 1.0), policy="ucb", horizon=[40], rng=1)
    >>> point = plan.points[0]
    >>> point.horizon, round(point.equal_wrong, 5)
    (40, 0.00078)
    >>> point.regret.value < point.equal_regret
    True
    """

    horizon: int
    runs: int
    regret: Estimate
    wrong: Estimate
    simple_regret: Estimate
    stopped: Estimate
    stopping_time: Estimate
    equal_regret: float
    equal_wrong: float
    equal_simple_regret: float


@dataclass(frozen=True, eq=False)
class PlanResult:
    """What `plan` returns.

    Attributes
    ----------
    policy, label : str
        The policy's name with all parameters, and its short name.
    problem : str
        The problem's name.
    certainty : float
        The wanted probability that the best arm is recommended.
    points : list of PlanPoint
        What was measured, by number of visitors.
    visitors : Estimate or None
        How many visitors the policy takes for the certainty; None if that lies beyond the points.
    regret : Estimate or None
        Its regret by then.
    equal_visitors : int
        How many the classical test with equal shares takes.
    equal_regret : float
        Its regret by then.
    seed : int
        ``rng=seed`` reproduces the numbers.
    version : str
        The version of ocucb that produced it.

    Examples
    --------
    >>> import ocucb
    >>> plan = ocucb.plan(ocucb.gap(2, 1.0), policy="ucb", certainty=0.9, rng=1)
    >>> plan.equal_visitors
    8
    >>> plan.table().splitlines()[-1]
    'gap:K=2,gap=1, seed 1; error bars are two standard errors'
    >>> plan.to_dict()["certainty"]
    0.9
    >>> figure = plan.plot()
    """

    policy: str
    label: str
    problem: str
    certainty: float
    points: list[PlanPoint]
    visitors: Estimate | None
    regret: Estimate | None
    equal_visitors: int
    equal_regret: float
    seed: int
    version: str

    @property
    def sentences(self) -> list[str]:
        """What it takes, in words."""
        wanted = f"to recommend the best arm with probability {100.0 * self.certainty:g}%"
        classical = (
            f"Equal shares take {self.equal_visitors:,} visitors {wanted}, and lose "
            f"{self.equal_regret:,.4g}."
        )
        if self.visitors is None or self.regret is None:
            most = max(point.horizon for point in self.points)
            return [f"{self.label} takes more than {most:,} visitors {wanted}.", classical]
        count = " ".join(with_error(self.visitors.value, 2.0 * self.visitors.stderr, 1, ","))
        lost = " ".join(with_error(self.regret.value, 2.0 * self.regret.stderr))
        return [f"{self.label} takes {count} visitors {wanted}, and loses {lost}.", classical]

    def table(self) -> str:
        """Return the plan as text: one line per number of visitors."""
        lines = [table_of(self.points, self._columns, left=("± ",)), *self.sentences]
        place = f"{self.problem}, seed {self.seed}; error bars are two standard errors"
        return "\n".join([*lines, place])

    @property
    def _columns(self) -> dict[str, Callable[[PlanPoint], str]]:
        columns: dict[str, Callable[[PlanPoint], str]] = {
            "visitors": lambda point: f"{point.horizon:,}",
            "regret": lambda point: _with_bar(point.regret),
            "wrong": lambda point: _percent(point.wrong),
            "simple regret": lambda point: _with_bar(point.simple_regret),
        }
        if any(point.stopped.value > 0.0 for point in self.points):
            columns["stopped"] = lambda point: _percent(point.stopped)
            columns["after"] = lambda point: _with_bar(point.stopping_time)
        return columns | {
            "equal shares: regret": lambda point: f"{point.equal_regret:,.4g}",
            "wrong ": lambda point: f"{100.0 * point.equal_wrong:.2f}%",
            "simple regret ": lambda point: f"{point.equal_simple_regret:.2g}",
        }

    def __repr__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table())}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain numbers: what ``--json`` prints."""
        facts = {name: value for name, value in vars(self).items() if name != "points"}
        facts["points"] = [vars(point) for point in self.points]
        return {name: _plain(value) for name, value in facts.items()}

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, ax: matplotlib.axes.Axes | None = None,
        xscale: str | None = None, yscale: str | None = None,
        labels: Sequence[str] | Mapping[str, str] | None = None, title: str | None = None,
    ) -> matplotlib.figure.Figure:  # fmt: skip
        """Plot the probability of a wrong recommendation, and regret, against visitors.

        On the axes that are given, regret is left out.
        """
        from ..figures import Look, written
        from .drawing import picture

        reached = [float(self.equal_visitors)]
        if self.visitors is not None:
            reached.append(self.visitors.value)
        return written(picture(self, reached, Look(ax, xscale, yscale, labels, title)), path)


_docstrings.complete([PlanResult.plot], _docstrings.PLOT)


def _with_bar(estimate: Estimate) -> str:
    return " ".join(with_error(estimate.value, 2.0 * estimate.stderr))


def _percent(estimate: Estimate) -> str:
    return " ".join(with_error(100.0 * estimate.value, 200.0 * estimate.stderr)) + "%"


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate):
        return value._asdict()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value
