"""What rewards say about the means of arms, given what is assumed of rewards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._types import Floats
from .sequences import (
    normal_difference,
    normal_interval,
    student_difference,
    student_interval,
    unit_difference,
    unit_interval,
)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Numbers of rewards, their means and squared deviations, and what is assumed of them.

    Bounds come first, then sigma; with neither, rewards are normal. Intervals hold at all times.
    Each of a `family` of so many has the level 1 - (1 - level) / family, so that all of them
    together have the level (Bonferroni).

    >>> import numpy as np
    >>> evidence = Evidence(
    ...     np.array([400.0, 500.0]), np.array([0.05, 0.11]), np.array([19.0, 48.95]), (0.0, 1.0)
    ... )
    >>> low, high = evidence.intervals(0.95, family=2)
    >>> low.round(3), high.round(3)
    (array([0.02 , 0.065]), array([0.101, 0.169]))
    """

    pulls: Floats
    mean: Floats  # nan without a reward
    squares: Floats
    bounds: tuple[float, float] | None = None
    sigma: float | None = None
    independent: bool = True  # whether the means of different arms have independent posteriors

    @property
    def assumption(self) -> str:
        """What is assumed of rewards."""
        if self.bounds is not None:
            return f"rewards lie between {self.bounds[0]:g} and {self.bounds[1]:g}"
        if self.sigma is not None:
            return f"rewards are sigma-subgaussian with sigma = {self.sigma:g}"
        return "rewards are normal, of unknown variance"

    def intervals(self, level: float, family: int = 1) -> tuple[Floats, Floats]:
        """Return both ends of the arms' intervals; nan without a reward."""
        level = _each(level, family)
        if self.bounds is not None:
            low, width = self._scale(self.bounds)
            ends = unit_interval(*self._in_unit(low, width), level)
            return low + width * ends[0], low + width * ends[1]
        if self.sigma is not None:
            return normal_interval(self.mean, self.pulls, self.sigma, level)
        return student_interval(self.mean, self.pulls, self.squares, level)

    def differences(self, other: int, level: float, family: int = 1) -> tuple[Floats, Floats]:
        """Return both ends of the intervals of each mean minus that of an arm; nan for itself."""
        level = _each(level, family)
        if self.bounds is not None:
            low, width = self._scale(self.bounds)
            ends = unit_difference(*self._in_unit(low, width), other, level)
            return width * ends[0], width * ends[1]
        if self.sigma is not None:
            return normal_difference(self.mean, self.pulls, self.sigma, other, level)
        return student_difference(self.mean, self.pulls, self.squares, other, level)

    def scaled(self, factors: Floats | float) -> Evidence:
        """Return what so many times the rewards would say, with the same means and variances."""
        return Evidence(
            self.pulls * factors, self.mean, self.squares * factors, self.bounds, self.sigma
        )

    def only(self, arms: Any) -> Evidence:
        """Return what is known about some of the arms."""
        return Evidence(
            self.pulls[arms], self.mean[arms], self.squares[arms], self.bounds, self.sigma
        )

    def are_clicks(self, arms: Any) -> bool:
        """Tell whether all rewards of some arms have been at the bounds, as far as one can see."""
        if self.bounds is None:
            return False
        mean, pulls, squares = self.only(arms)._in_unit(*self._scale(self.bounds))
        most = pulls * mean * (1.0 - mean)
        return bool((squares >= most * (1.0 - 1e-9) - 1e-12).all())

    def _scale(self, bounds: tuple[float, float]) -> tuple[float, float]:
        return bounds[0], bounds[1] - bounds[0]

    def _in_unit(self, low: float, width: float) -> tuple[Floats, Floats, Floats]:
        return (self.mean - low) / width, self.pulls, self.squares / width / width


def _each(level: float, family: int) -> float:
    return 1.0 - (1.0 - level) / family
