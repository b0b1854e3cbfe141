"""The rules of a bandit, which never change: policy, range of rewards, direction, seed."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from .._text import shown, to_float
from .._types import Floats
from ..policies import Policy, to_policies
from ..random import to_seed

LARGEST_REWARD = 1e100  # sums of these stay far from overflow
PLACE = "between -1e100 and 1e100"
_MOST_ROUNDS = 10**12  # that anybody lives to see, whatever the horizon


@dataclass(frozen=True)
class Rules:
    """What `Bandit` was given, checked, and what follows from it."""

    policy: Policy
    form: Policy  # the policy as it is played on such rewards
    binary: bool  # rewards must be 0 or 1
    bounds: tuple[float, float] | None
    sigma: float
    low: float  # rewards outside low and high are odd
    high: float
    minimize: bool
    zero: float  # when minimizing, a loss x is kept as the reward zero - x
    strict: bool
    seed: int

    def reflected(self, pulls: Floats, sums: Floats) -> Floats:
        """Turn sums of losses into sums of rewards, or back, if losses are minimised."""
        return self.zero * pulls - sums if self.minimize else sums

    def warning(self, reward: float) -> str:
        """Return a warning about a reward that is not between low and high, or refuse it."""
        if not abs(reward) <= LARGEST_REWARD:
            size = PLACE if isfinite(reward) else "finite"
            raise ValueError(f"reward must be {size}, got {reward}.")
        if self.bounds is not None:
            text = f"reward {reward!r} lies outside the bounds {self.low:g} and {self.high:g}"
            advice = "" if self.strict else "; such rewards are taken as they are"
        else:
            text = f"rounding swamps rewards as large as {reward!r} with sigma {self.sigma:g}"
            advice = "; subtract a constant from all rewards"
        if self.strict:
            raise ValueError(f"{text}{advice}.")
        return f"{text}{advice}."


def to_rules(
    policy: Any, horizon: int, bounds: Any, sigma: Any, minimize: bool, strict: bool, rng: Any
) -> Rules:
    """Return the rules of a bandit with these arguments, or say what is wrong with them."""
    (given,) = to_policies([policy])
    given = given.retaken()
    bounds, sigma = _scale(bounds, sigma)
    rounds = min(horizon, _MOST_ROUNDS)
    farthest = min(LARGEST_REWARD, sigma * 2.0**53 / rounds)
    low, high = bounds or (-farthest, farthest)
    if max(-low, high) > farthest:
        raise ValueError(
            f"rounding swamps rewards between {low!r} and {high!r} in sums of {rounds:,}; subtract "
            "a constant from bounds and rewards."
        )
    unit = bounds == (0.0, 1.0)
    form = given.on(unit, binary=False)
    binary = form.family.binary
    if binary and not unit:
        raise ValueError(f"{given.label} needs rewards of 0 and 1: pass bounds=(0, 1).")
    zero = 1.0 if binary or form != given else 0.0
    seed, minimize, strict = to_seed(rng), bool(minimize), bool(strict)
    return Rules(given, form, binary, bounds, sigma, low, high, minimize, zero, strict, seed)


def _scale(bounds: Any, sigma: Any) -> tuple[tuple[float, float] | None, float]:
    """Return checked bounds and sigma, of which exactly one is given."""
    if (bounds is None) == (sigma is None):
        raise ValueError(
            "give either bounds=(low, high) or sigma=, so that the policy knows how much rewards "
            f"vary; got {'neither' if bounds is None else 'both'}."
        )
    if bounds is None:
        sigma = to_float(sigma, "sigma", PLACE)
        if not 1e-100 <= sigma <= 1e100:
            limits = "at least 1e-100 and at most 1e100"
            size = limits if 0 < sigma < inf else "greater than 0 and finite"
            raise ValueError(f"sigma must be {size}, got {sigma:g}.")
        return None, sigma
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise TypeError(f"bounds must be a pair (low, high), got {shown(bounds)}.") from None
    low, high = (to_float(one, "a bound", PLACE) for one in (low, high))
    if not (-inf < low < high < inf):
        raise ValueError(f"bounds must be finite, the lower one first, got {low:g} and {high:g}.")
    if not (low >= -LARGEST_REWARD and high <= LARGEST_REWARD and high - low >= 2e-100):
        raise ValueError(
            "bounds must lie between -1e100 and 1e100 and at least 2e-100 apart, got "
            f"{low:g} and {high:g}."
        )
    return (low, high), (high - low) / 2
