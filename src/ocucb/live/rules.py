"""The rules of a bandit, which never change: policy, range of rewards, direction, seed.

Where something is not told, they say what follows: the policy (`default_policy`), how far to plan
(`horizons`), and what is odd about rewards of which nothing is known (`FirstRewards`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, isqrt
from typing import Any

import numpy as np

from .._text import LARGEST_COUNT, shown, to_float
from .._types import Floats
from ..policies import FAMILIES, LINEAR, LinearRule, Policy, to_policies
from ..random import to_seed

LARGEST_REWARD = 1e100  # sums of these stay far from overflow
PLACE = "between -1e100 and 1e100"
_MOST_ROUNDS = 10**12  # that anybody lives to see, whatever the horizon
_OPEN_ROUNDS = 10**9  # the same where no horizon is told
_FIRST_HORIZON = 1000
_FEW_REWARDS = 16  # with two values at most: there may be no others


def horizons(told: int | None, rounds: int) -> list[int]:
    """Return how far to plan after so many rounds, and then in the rounds that follow.

    A horizon that was told stays. An open one grows from n to n^1.5 whenever it is reached:
    doubling would cost less in most runs, and be unsound, since n / t, of which OCUCB's level is
    the logarithm, would never again be large enough to correct a wrong belief.

    >>> horizons(5000, rounds=0), horizons(None, rounds=0)[:3], horizons(None, rounds=1000)[0]
    ([5000], [1000, 31622, 5623206], 31622)
    """
    if told is not None:
        return [told]
    planned = [_FIRST_HORIZON]
    while planned[-1] < LARGEST_COUNT:
        planned.append(min(isqrt(planned[-1] ** 3), LARGEST_COUNT))
    return [horizon for horizon in planned if horizon > rounds] or planned[-1:]


def default_policy(bounds: Any, sigma: Any) -> Policy:
    """Return the policy that plays if nobody names one, given what is known about rewards."""
    told = bounds is not None or sigma is not None
    return FAMILIES["kl-ocucb" if told else "ocucb-normal"]()


@dataclass(frozen=True)
class Rules:
    """What `Bandit` was given, checked, and what follows from it."""

    policy: Policy
    form: Policy  # the policy as it is played on such rewards
    binary: bool  # rewards must be 0 or 1
    bounds: tuple[float, float] | None
    sigma: float | None  # None if nobody knows
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

    def first_rewards(self, horizon: int | None) -> FirstRewards | None:
        """Return what looks at the first rewards, if the policy has to learn how much they vary."""
        if self.sigma is None and self.form.family.rule.takes_variance:
            return FirstRewards(_rounds(horizon))
        return None


def to_rules(
    policy: Any,
    horizon: int | None,
    bounds: Any,
    sigma: Any,
    minimize: bool,
    strict: bool,
    rng: Any,
    *,
    linear: bool = False,
) -> Rules:
    """Return the rules of a bandit with these arguments, or say what is wrong with them.

    A `linear` one has a model of arms with features.
    """
    if policy is None:
        policy = LINEAR["lin-ocucb"]() if linear else default_policy(bounds, sigma)
    (given,) = to_policies([policy])
    if isinstance(given.family.rule, LinearRule) != linear:
        what = "does not look at" if linear else "needs arms with"
        other = "Bandit" if linear else "LinearBandit"
        raise ValueError(f"{given.label} {what} features: use ocucb.{other}.")
    if given.forget is not None:
        raise ValueError(f"a bandit cannot forget, but {given.label} does: leave out forget=.")
    given = given.retaken()
    bounds, sigma = _scale(bounds, sigma)
    if horizon is None and given.family.table is not None:
        raise ValueError(f"{given.label} computes a table for its horizon: pass horizon=.")
    rounds = _rounds(horizon)
    farthest = min(LARGEST_REWARD, inf if sigma is None else sigma * 2.0**53 / rounds)
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
    if sigma is None and (linear or form.family.needs_sigma):
        learner = "" if linear else ", or use ocucb-normal, which learns it"
        raise ValueError(
            f"{given.label} has to know how much rewards vary: pass bounds=(low, high) or sigma="
            f"{learner}."
        )
    zero = 1.0 if binary or form != given else 0.0
    seed, minimize, strict = to_seed(rng), bool(minimize), bool(strict)
    return Rules(given, form, binary, bounds, sigma, low, high, minimize, zero, strict, seed)


def _rounds(horizon: int | None) -> int:
    """Return how many rewards may be summed."""
    return min(horizon or _OPEN_ROUNDS, _MOST_ROUNDS)


def _scale(bounds: Any, sigma: Any) -> tuple[tuple[float, float] | None, float | None]:
    """Return checked bounds and sigma, of which at most one is given."""
    if bounds is None and sigma is None:
        return None, None
    if bounds is not None and sigma is not None:
        raise ValueError("give bounds=(low, high) or sigma=, or neither; got both.")
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
    low, high = (to_float(bound, "a bound", PLACE) for bound in (low, high))
    if not (-inf < low < high < inf):
        raise ValueError(f"bounds must be finite, the lower one first, got {low:g} and {high:g}.")
    if not (low >= -LARGEST_REWARD and high <= LARGEST_REWARD and high - low >= 2e-100):
        raise ValueError(
            "bounds must lie between -1e100 and 1e100 and at least 2e-100 apart, got "
            f"{low:g} and {high:g}."
        )
    return (low, high), (high - low) / 2


class FirstRewards:
    """The first rewards of a bandit that learns their scale: what is odd about them, if anything.

    Arms with rewards of 0 and 1 often begin with equal ones, which say little about their variance.
    """

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds  # as many as may be summed
        self._values: set[float] = set()
        self._count = 0
        self._others = False  # whether earlier ones were not all 0 or 1

    def after(self, pulls: Floats, sums: Floats, squares: Floats) -> FirstRewards | None:
        """Count the rewards of a bandit that was saved; None if they were enough."""
        variable = sums - sums * (sums / np.maximum(pulls, 1.0))  # squares of so many ones
        ones = (sums == np.rint(sums)) & (sums >= 0.0) & (sums <= pulls)
        self._others = not (ones & np.isclose(squares, variable, rtol=1e-9, atol=1e-9)).all()
        if self._others:
            return self
        successes, count = float(sums.sum()), float(pulls.sum())
        self._count = int(count)
        self._values = {value for value, n in ((0.0, count - successes), (1.0, successes)) if n}
        return None if self._are_enough() else self

    def _are_enough(self) -> bool:
        few = self._count < _FEW_REWARDS
        return len(self._values) > 2 or (len(self._values) == 2 and not few)

    def add(self, reward: float) -> tuple[bool, str | None]:
        """Take one more; return whether these were enough, and a warning."""
        self._count += 1
        self._values.add(reward)
        if not self._are_enough():
            return False, None
        if self._values == {0.0, 1.0} and not self._others:
            return True, (
                "all rewards so far are 0 or 1, and nothing tells the policy that there are no "
                "others; pass bounds=(0, 1), with which it learns faster."
            )
        largest = max(map(abs, self._values))
        spread = max(self._values) - min(self._values)
        if spread < largest * self._rounds * 2.0**-53:
            return True, (
                f"rounding swamps rewards as large as {largest:g} that differ by {spread:.1g}; "
                "subtract a constant from all rewards."
            )
        return True, None
