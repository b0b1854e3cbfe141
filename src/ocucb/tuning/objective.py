"""What is minimised, and how its error follows from those of what was measured.

On each problem a policy has one number: its mean regret, or the mean over its worst runs. Several
problems are combined by the average, or by the largest ratio to the best that tuning for one
problem alone achieves there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .._types import Floats
from ..policies import Policy
from ..results import Estimate

OBJECTIVES = ("mean", "worst", "cvar")
Measured = Mapping[tuple[Policy, int], Estimate]  # of a policy on a problem, by number


@dataclass(frozen=True)
class Combined:
    """The logarithm of an objective, and its derivatives with respect to other logarithms.

    These are the logarithms of what policies have on problems. A number that enters twice, as that
    of a policy which is the best itself does, has one derivative.
    """

    log: float
    slopes: Mapping[tuple[Policy, int], float]

    def __sub__(self, other: Combined) -> Combined:
        keys = [*self.slopes, *(key for key in other.slopes if key not in self.slopes)]
        slopes = {key: self.slopes.get(key, 0.0) - other.slopes.get(key, 0.0) for key in keys}
        return Combined(self.log - other.log, slopes)

    def error(self, measured: Measured) -> float:
        """Return the standard error, given independent numbers."""
        used = [(slope, *measured[key]) for key, slope in self.slopes.items() if slope != 0.0]
        return math.hypot(*(slope * stderr / value for slope, value, stderr in used))


@dataclass(frozen=True)
class Objective:
    """What is minimised; for "worst", `best` is the best policy on each problem."""

    name: str
    problems: int
    best: tuple[Policy, ...] = ()

    def combined(self, policy: Policy, measured: Measured) -> Combined:
        """Return the objective of a policy."""
        logs = _logs(measured, [policy] * self.problems)
        if self.name == "worst":
            ratios = logs - _logs(measured, self.best)
            p = int(ratios.argmax())
            return Combined(0.0, {(policy, p): 1.0}) - Combined(
                -float(ratios[p]), {(self.best[p], p): 1.0}
            )
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        log = float(combined_logs(logs[None, :])[0])
        return Combined(log, {(policy, p): float(share) for p, share in enumerate(shares)})

    def estimate(self, policy: Policy, measured: Measured) -> Estimate:
        """Return the objective of a policy and its standard error."""
        found = self.combined(policy, measured)
        value = math.exp(found.log)
        return Estimate(value, value * found.error(measured))


def _logs(measured: Measured, policies: Sequence[Policy]) -> Floats:
    """Return the logarithms of what policies have, the first on the first problem and so on."""
    return np.array([math.log(measured[one, p].value) for p, one in enumerate(policies)])


def combined_logs(logs: Floats, best: Floats | None = None) -> Floats:
    """Combine the problems, which are columns: the largest ratio to the best, or else the average.

    Examples
    --------
    >>> np.exp(combined_logs(np.log([[1.0, 3.0]]))).round(6).tolist()
    [2.0]
    >>> np.exp(combined_logs(np.log([[1.0, 3.0]]), best=np.log([1.0, 2.0]))).round(6).tolist()
    [1.5]
    """
    if best is not None:
        ratios: Floats = (logs - best).max(axis=1)
        return ratios
    top = logs.max(axis=1)
    average: Floats = top + np.log(np.exp(logs - top[:, None]).mean(axis=1))
    return average


def score(values: Sequence[Estimate], best: Floats | None = None) -> Estimate:
    """Return the objective of a trial, given log regrets of the best for the worst ratio.

    Examples
    --------
    >>> score([Estimate(1.0, 0.3), Estimate(3.0, 0.4)])
    Estimate(value=2.0, stderr=0.25)
    """
    if best is None:
        average = sum(value for value, _ in values) / len(values)
        return Estimate(average, math.hypot(*(stderr for _, stderr in values)) / len(values))
    pairs = zip(values, np.exp(best), strict=True)
    ratios = [Estimate(value / least, stderr / least) for (value, stderr), least in pairs]
    return max(ratios, key=lambda ratio: ratio.value)
