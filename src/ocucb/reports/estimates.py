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

    Of its error, `common` is what it may have in common with its neighbours, because they share
    runs: that part does not average out. Two numbers that are subtracted or divided share nothing.
    A `results.Estimate`, which users see, is a plain pair.
    """

    value: float
    error: float
    where: str = ""
    common: float = 0.0

    @property
    def apart(self) -> float:
        """What of the error is not common."""
        if not self.common > 0.0:
            return self.error
        return math.sqrt(max(0.0, self.error**2 - self.common**2))

    def __sub__(self, other: Uncertain) -> Uncertain:
        return self._now(self.value - other.value, 1.0, other, 1.0)

    def __truediv__(self, other: Uncertain) -> Uncertain:
        if not (self.value > 0.0 and other.value > 0.0):
            return Uncertain(math.nan, math.inf, self.where)
        ratio = self.value / other.value
        return self._now(ratio, ratio / self.value, other, ratio / other.value)

    def _now(self, value: float, slope: float, other: Uncertain, its_slope: float) -> Uncertain:
        """Return a function of two numbers that share nothing, given its slopes."""
        errors = (self.error, other.error), (self.common, other.common)
        error, common = (math.hypot(one * slope, two * its_slope) for one, two in errors)
        return Uncertain(value, error, self.where, common)

    def times(self, factor: float) -> Uncertain:
        """Return a multiple of it."""
        return self._scaled(self.value * factor, abs(factor))

    def log(self, per: float = 1.0) -> Uncertain:
        """Return its logarithm divided by `per`."""
        if not self.value > 0.0:
            return Uncertain(math.nan, math.inf, self.where)
        return self._scaled(math.log(self.value) / per, 1.0 / self.value / per)

    def _scaled(self, value: float, slope: float) -> Uncertain:
        return Uncertain(value, self.error * slope, self.where, self.common * slope)

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


def average(estimates: Sequence[Uncertain]) -> Uncertain:
    """Return the mean of estimates, whose errors average out but for what they have in common.

    Examples
    --------
    >>> average([Uncertain(1.0, 0.4), Uncertain(3.0, 0.3)])
    Uncertain(value=2.0, error=0.25, where='', common=0.0)
    >>> average([Uncertain(1.0, 0.4, common=0.4), Uncertain(3.0, 0.3, common=0.3)]).error
    0.35
    """
    count = len(estimates)
    apart = math.hypot(*(x.apart for x in estimates)) / count
    common = sum(x.common for x in estimates) / count
    value = sum(x.value for x in estimates) / count
    return Uncertain(value, math.hypot(apart, common), estimates[0].where, common)


def geometric_mean(estimates: Sequence[Uncertain]) -> Uncertain:
    """Return the geometric mean of estimates; unknown unless all are positive.

    Examples
    --------
    >>> geometric_mean([Uncertain(1.0, 0.0), Uncertain(4.0, 0.4)])
    Uncertain(value=2.0, error=0.1, where='', common=0.0)
    """
    log = average([estimate.log() for estimate in estimates])
    mean = math.exp(log.value)
    return Uncertain(mean, mean * log.error, common=mean * log.common)


def margin(count: int) -> float:
    """Return how many standard errors the largest of `count` exceeds as rarely as one exceeds two.

    Examples
    --------
    >>> round(margin(1), 2), round(margin(100), 2)
    (2.0, 3.51)
    """
    return NormalDist().inv_cdf(1.0 - NormalDist().cdf(-2.0) / count)
