"""Numbers with standard errors: differences, ratios and means, and what counts as significant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from .._text import with_error


@dataclass(frozen=True)
class Uncertain:
    """A number with its standard error, to calculate with, and where it comes from.

    A `results.Estimate`, which users see, is a plain pair.
    """

    value: float
    error: float
    where: str = ""

    def __sub__(self, other: Uncertain) -> Uncertain:
        return Uncertain(self.value - other.value, math.hypot(self.error, other.error), self.where)

    def __truediv__(self, other: Uncertain) -> Uncertain:
        if not (self.value > 0.0 and other.value > 0.0):
            return Uncertain(math.nan, math.inf, self.where)
        ratio = self.value / other.value
        spread = math.hypot(self.error / self.value, other.error / other.value)
        return Uncertain(ratio, ratio * spread, self.where)

    def times(self, factor: float) -> Uncertain:
        """Return a multiple of it."""
        return Uncertain(self.value * factor, self.error * abs(factor), self.where)

    def log(self, per: float = 1.0) -> Uncertain:
        """Return its logarithm divided by `per`."""
        if not self.value > 0.0:
            return Uncertain(math.nan, math.inf, self.where)
        return Uncertain(math.log(self.value) / per, self.error / self.value / per, self.where)

    def __str__(self) -> str:
        """Return the value ± two standard errors, with as many digits as these deserve."""
        half_width = 2.0 * self.error
        if not (math.isfinite(self.value) and math.isfinite(half_width)):
            return "unknown"
        if half_width == 0.0:
            return f"{self.value:g}"
        return " ".join(with_error(self.value, half_width, digits=1, group=","))


def value_of(estimate: Uncertain) -> float:
    """Return the value, as a key to compare estimates by."""
    return estimate.value


def geometric_mean(estimates: Sequence[Uncertain]) -> Uncertain:
    """Return the geometric mean of independent estimates; unknown unless all are positive.

    Examples
    --------
    >>> geometric_mean([Uncertain(1.0, 0.0), Uncertain(4.0, 0.4)])
    Uncertain(value=2.0, error=0.1, where='')
    """
    logs = [estimate.log() for estimate in estimates]
    mean = math.exp(sum(log.value for log in logs) / len(logs))
    return Uncertain(mean, mean * (math.hypot(*(log.error for log in logs)) / len(logs)))


def margin(count: int) -> float:
    """Return how many standard errors the largest of `count` exceeds as rarely as one exceeds two.

    Examples
    --------
    >>> round(margin(1), 2), round(margin(100), 2)
    (2.0, 3.51)
    """
    return NormalDist().inv_cdf(1.0 - NormalDist().cdf(-2.0) / count)
