"""Whether a user's sampler draws rewards with the means and bounds that it was declared with.

A sampler that ignores its mean gives regret that means nothing, so one is tried before it is
played.
"""

from __future__ import annotations

import math

import numpy as np

from ._memo import cached_while_alive
from ._types import Counts
from .problems import Problem
from .random import REWARDS, start_stream, stream_key

_DRAWS = 1000  # of each arm that is tried
_MOST_ARMS = 100  # that are tried
_FALSE_ALARM = 1e-6  # for all of them together
_REMEDY = "correct it, or pass check=False to skip this check."


def check_sampler(problem: Problem) -> None:
    """Refuse a user's sampler whose rewards do not have the means or bounds that they claim.

    The summed deviation from the mean of N draws exceeds x sigma sqrt(N) with probability at most
    2 exp(-x^2 / 2) if noise is sigma-subgaussian; it exceeds x times the root of its summed squares
    with at most that probability if noise is symmetric, whatever its tails (Efron, 1969). Only what
    exceeds both is refused.
    """
    if problem.check:
        _try(problem)


@cached_while_alive
def _try(problem: Problem) -> None:
    kind, sigma = problem.rewards, problem.sigma
    arms = _distinct(problem)
    key, stream = stream_key(0, "sampler"), np.empty(4, dtype=np.uint64)
    limit = math.sqrt(2.0 * math.log(2.0 * len(arms) / _FALSE_ALARM))
    for arm in arms:
        mean = float(problem.means[arm])
        start_stream(stream, key, arm, REWARDS)
        try:
            drawn = np.array([problem.reward(arm, stream) for _ in range(_DRAWS)], dtype=np.float64)
        except Exception:  # whoever plays it says what is wrong
            return
        if not np.isfinite(drawn).all():
            return
        if kind.bounds is not None:
            low, high = kind.bounds(mean, float(problem.scales[arm]))
            for x in drawn[(drawn < low) | (drawn > high)]:
                raise ValueError(
                    f"{kind.name} gave {x:g} for arm {arm + 1}, outside the bounds {low:g} and "
                    f"{high:g}; {_REMEDY}"
                )
        noise = drawn - mean
        spread = max(sigma * math.sqrt(_DRAWS), math.sqrt(float(noise @ noise)))
        with np.errstate(over="ignore"):  # then spread is infinite, and play reports the sum
            total = float(noise.sum())
        if abs(total) > limit * spread + 1e-9 * _DRAWS * abs(mean):
            raise ValueError(
                f"{_DRAWS:,} rewards that {kind.name} drew for arm {arm + 1} average "
                f"{drawn.mean():.4g}, far from the mean {mean:g} that was given; {_REMEDY}"
            )


def _distinct(problem: Problem) -> list[int]:
    """Return arms that differ for the sampler; of many, as many as can be checked, evenly."""
    arms: Counts = np.arange(problem.arms)
    if "arm" not in problem.rewards.inputs:
        pairs = np.stack([problem.means, problem.scales])
        arms = np.sort(np.unique(pairs, axis=1, return_index=True)[1])
    places = np.linspace(0, arms.size - 1, min(arms.size, _MOST_ARMS)).round()
    return [int(arms[int(place)]) for place in places]
