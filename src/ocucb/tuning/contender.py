"""A policy before and after tuning, and what it gained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..policies import Policy
from ..results import Estimate
from .space import Axis, Space

_NEAR_END = 0.01  # of a range, as a share


class Gain(NamedTuple):
    """How much less of the objective a tuned policy has than it had: 0.1 for a tenth less.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        Its 95% interval: two standard errors on either side, on the scale of the ratio's logarithm.

    Examples
    --------
    >>> from ocucb.tuning import Gain
    >>> Gain(0.04, 0.03, 0.05).distinguishable, Gain(0.01, -0.01, 0.03).distinguishable
    (True, False)
    """

    value: float
    low: float
    high: float

    @property
    def distinguishable(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True)
class Contender:
    """One policy before and after tuning.

    Attributes
    ----------
    policy, start : Policy
        With the parameters that were found, and as it was given.
    value, start_value : Estimate
        The objective of each, from fresh runs; nan if tuning was interrupted before these.
    values, start_values : tuple of Estimate
        The same on each problem, before they are combined.
    gain : Gain
        How much less the tuned policy has.

    Examples
    --------
    >>> import ocucb
    >>> result = ocucb.tune("ucb", ocucb.gap(K=2), 100, runs=2000, rng=1)
    >>> result[0].start
    UCB(constant=2)
    """

    policy: Policy
    start: Policy
    value: Estimate
    start_value: Estimate
    values: tuple[Estimate, ...]
    start_values: tuple[Estimate, ...]
    gain: Gain
    space: Space

    @property
    def notes(self) -> list[str]:
        """Sentences about parameters at the end of their range, or where no bound is proved."""
        said = []
        for axis in self.space.axes:
            value = self.policy.parameters[axis.name]
            end = axis.low if axis.unit(value) < 0.5 else axis.high
            near = abs(axis.unit(value) - axis.unit(end)) < _NEAR_END
            if near and self._goes_on(axis, end):
                said.append(
                    f"{self.policy.family.label}'s {axis.name} = {value:g} is at the end of its "
                    "range: a wider one may hold a better value."
                )
        for name, proved in self.policy.family.proved.items():
            value = self.policy.parameters[name]
            if not proved.holds(value):
                said.append(
                    f"{self.policy.family.label}'s regret bound is proved for {name} "
                    f"{proved.text}, not for {value:g}."
                )
        return said

    def _goes_on(self, axis: Axis, end: float) -> bool:
        """Tell whether there are valid values beyond an end of a range."""
        valid = self.policy.family.valid.get(axis.name)
        step = 1.0 if axis.whole else 1e-3 * (axis.high - axis.low)
        return valid is None or valid.holds(end + step if end == axis.high else end - step)
