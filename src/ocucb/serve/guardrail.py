"""Guardrails: a second metric of every decision, such as errors or latency, with a bound.

An arm violates its guardrail once a confidence sequence for the mean of its metric lies beyond the
bound as a whole. It holds at all times, so it may be looked at after every value: an arm whose mean
keeps to the bound is ever accused with probability 1 - level at most, whatever the policy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inference.evidence import Evidence
from .errors import Invalid
from .models import Guardrail


class Watch:
    """What is known of the metric of each arm: number of values, their sum, squared deviations."""

    def __init__(self, guardrail: Guardrail) -> None:
        self.guardrail = guardrail
        self.arms: list[tuple[int, float, float]] = []

    def extend(self, arms: int) -> None:
        """Make room for so many arms."""
        self.arms += [(0, 0.0, 0.0)] * (arms - len(self.arms))

    def check(self, value: float, where: str) -> None:
        """Refuse a value that cannot be."""
        bounds = self.guardrail.bounds
        if bounds is not None and not bounds[0] <= value <= bounds[1]:
            raise Invalid(
                f"{where} must lie between the guardrail's bounds {bounds[0]:g} and "
                f"{bounds[1]:g}, got {value!r}."
            )

    def note(self, arm: int, value: float) -> None:
        """Take a value."""
        count, total, squares = self.arms[arm]
        if count:
            distance = value - total / count
            squares += distance * distance * (count / (count + 1))
        self.arms[arm] = count + 1, total + value, squares

    def known(self, arm: int) -> dict[str, Any]:
        """Return how many values an arm has, their mean with its interval, and whether it fails."""
        count, total, squares = self.arms[arm]
        if not count:
            return {"values": 0, "mean": None, "low": None, "high": None, "violated": False}
        rule = self.guardrail
        bounds = None if rule.bounds is None else (rule.bounds[0], rule.bounds[1])
        pulls, mean, spread = (np.array([float(x)]) for x in (count, total / count, squares))
        ends = Evidence(pulls, mean, spread, bounds, rule.sigma).intervals(rule.level)
        low, high = (float(end[0]) for end in ends)
        return {
            "values": count,
            "mean": total / count,
            "low": low if np.isfinite(low) else None,
            "high": high if np.isfinite(high) else None,
            "violated": (rule.most is not None and low > rule.most)
            or (rule.least is not None and high < rule.least),
        }
