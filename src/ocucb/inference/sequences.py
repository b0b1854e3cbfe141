"""Confidence sequences: intervals for an arm's mean, and for differences, that hold at all times.

They come from martingales M(m) >= 0 that begin with 1 if m is the true mean, so that M(m) ever
reaches 1 / delta with probability at most delta, whatever policy decides when the arm is played and
however often anybody looks. The interval consists of the means m with log M(m) < log(1 / delta).
T is the number of rewards, Q the sum of their squared deviations from their mean.

- *Sigma known.* A normal mixture of likelihood ratios (H. Robbins 1970, Statistical methods related
  to the law of the iterated logarithm, Annals of Mathematical Statistics 41(5)), for
  sigma-subgaussian rewards:

      log M(m) = (T (mean - m) / sigma)^2 / (2 (T + r)) - log((T + r) / r) / 2,  r = 10.

- *Rewards in [0, 1].* Whoever believes that the mean is not m bets a part b of a fortune on x = 1
  at fair odds and the rest on x = 0, so that a reward x multiplies the fortune by b x / m + (1 - b)
  (1 - x) / (1 - m) (I. Waudby-Smith and A. Ramdas 2024, Estimating means of bounded random
  variables by betting, JRSS B 86(1)). M(m) is the fortune of a mixture over b with the density

      3/8 * (b^(3/2) + (1 - b)^(3/2)) / sqrt(b (1 - b)),

  the mean of the densities of Beta(1/2, 2) and Beta(2, 1/2). It favours small and large rates, such
  as those of clicks, and costs no more at 1/2 than the usual Beta(1/2, 1/2).
  On rewards of 0 and 1 it is a Beta-binomial mixture, and M(m) = exp(T kl(mean, m) - cost), where
  the cost is the logarithm of the largest likelihood over the mixed one (`click_cost`); other
  rewards with this sum make the fortune larger. The best b would make one of at least exp(T
  kl_v(mean, m)), where kl_v is the least divergence that their variance v = Q / T allows
  (`moment_kl` in `ocucb.policies._divergence`), and the mixture has that fortune but for a factor
  that is worst for rewards of 0 and 1 (T. Cover and E. Ordentlich 1996, Universal portfolios with
  side information, IEEE Transactions on Information Theory 42(2); F. Orabona and K.-S. Jun 2024,
  Tight concentrations and confidence sequences from the regret of universal portfolio, ibid.
  70(1)): the cost is the largest of all (`unit_cost`).
  So sums and squares are enough, and no reward has to be kept.

- *Sigma unknown.* Rewards are assumed to be normal, of any variance. M(m) is a mixture of t-tests
  (T. L. Lai 1976, On confidence sequences, Annals of Statistics 4(2)): with the prior 1 / sigma on
  the deviation, the marginal likelihood of the rewards is proportional to
  (Q + T (mean - m)^2)^(-T/2) under m, and to B^(-1/2) (Q + T (mean - m)^2 / B)^(-T/2), B = (T + r)
  / r, if the true mean is m + sigma * X with X normal of variance 1 / r, r = 1. The interval is

      mean ± sqrt(Q * (A - 1) / (1 - A / B) / T),  A = (B / delta^2)^(1/T),

  and the whole line while A >= B: below 5 rewards at level 95%. For other rewards than normal ones
  it is an approximation, which their number makes better.

For two arms, M_1(m_1) M_2(m_2) is a martingale, too: the difference lies between the smallest and
the largest m_1 - m_2 for which the sum of both logarithms stays below log(1 / delta). That is
shorter than what two intervals say, by a factor of up to sqrt(2). Where sigma is unknown, two
intervals with delta / 2 each must do.
"""

from __future__ import annotations

from math import inf, lgamma, log, sqrt

import numpy as np

from .._compile import compiled
from .._types import Floats
from ..policies._divergence import lower_value, moment_upper

_MIXTURE = 10.0  # r: tightest for about 100 rewards
_STUDENT_MIXTURE = 1.0  # r where sigma is unknown: more for few rewards
_SECTIONS = 40  # steps of a search for the best split of log(1 / delta)
_GOLD = 0.5 * (sqrt(5.0) - 1.0)
_LOG_BETA = log(4.0 / 3.0)  # log B(1/2, 2)


def normal_interval(
    mean: Floats, pulls: Floats, sigma: float, level: float
) -> tuple[Floats, Floats]:
    """Return both ends of the intervals of sigma-subgaussian arms; nan without a reward.

    >>> low, high = normal_interval(np.array([0.5]), np.array([100.0]), 0.5, 0.95)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.348, 0.652)
    """
    T = np.where(pulls > 0, pulls, np.nan)
    delta = 1.0 - level
    reach = (T + _MIXTURE) * (np.log((T + _MIXTURE) / _MIXTURE) - 2.0 * np.log(delta))
    half = sigma * np.sqrt(reach) / T
    return mean - half, mean + half


def student_interval(
    mean: Floats, pulls: Floats, squares: Floats, level: float
) -> tuple[Floats, Floats]:
    """Return the same where sigma is unknown and rewards are normal, from sums of squares.

    >>> low, high = student_interval(
    ...     np.array([0.5, 0.5]), np.array([4.0, 100.0]), np.array([1.0, 25.0]), 0.95
    ... )
    >>> low.round(3), high.round(3)
    (array([ -inf, 0.332]), array([  inf, 0.668]))
    """
    T = np.where(pulls > 0, pulls, np.nan)
    B = (T + _STUDENT_MIXTURE) / _STUDENT_MIXTURE
    more = np.expm1((np.log(B) - 2.0 * np.log(1.0 - level)) / T)  # A - 1
    rest = 1.0 - (1.0 + more) / B
    known = (rest > 0.0) & (squares > 0.0)  # equal rewards say nothing about the variance
    half = np.where(T > 0, np.inf, np.nan)
    np.divide(squares * more, np.where(known, rest, 1.0) * T, out=half, where=known)
    np.sqrt(half, out=half)
    return mean - half, mean + half


def unit_interval(
    mean: Floats, pulls: Floats, squares: Floats, level: float
) -> tuple[Floats, Floats]:
    """Return the same for rewards in [0, 1], from sums of squares.

    >>> clicks, ratings = unit_interval(
    ...     np.array([0.5, 0.5]), np.array([100.0, 100.0]), np.array([25.0, 4.0]), 0.95
    ... )
    >>> clicks.round(3), ratings.round(3)
    (array([0.336, 0.418]), array([0.664, 0.582]))
    """
    ends = np.full((2, mean.size), np.nan)
    for i in np.flatnonzero(pulls > 0):
        ends[:, i] = _unit_ends(mean[i], pulls[i], squares[i], -log(1.0 - level))
    return ends[0], ends[1]


def normal_difference(
    mean: Floats, pulls: Floats, sigma: float, other: int, level: float
) -> tuple[Floats, Floats]:
    """Return both ends of the intervals of every mean minus that of arm `other`.

    >>> low, high = normal_difference(np.array([0.9, 0.5]), np.array([400.0, 400.0]), 0.5, 1, 0.95)
    >>> low.round(3), high.round(3)
    (array([0.269,   nan]), array([0.531,   nan]))
    """
    T = np.where(pulls > 0, pulls, np.nan)
    spread, cost = (T + _MIXTURE) / T**2, np.log((T + _MIXTURE) / _MIXTURE)
    reach = (spread + spread[other]) * (cost + cost[other] - 2.0 * np.log(1.0 - level))
    half = sigma * np.sqrt(reach)
    half[other] = np.nan
    return mean - mean[other] - half, mean - mean[other] + half


def student_difference(
    mean: Floats, pulls: Floats, squares: Floats, other: int, level: float
) -> tuple[Floats, Floats]:
    """Return the same where sigma is unknown and rewards are normal.

    >>> low, high = student_difference(
    ...     np.array([0.9, 0.5]), np.array([400.0, 400.0]), np.array([100.0, 100.0]), 1, 0.95
    ... )
    >>> low.round(3), high.round(3)
    (array([0.215,   nan]), array([0.585,   nan]))
    """
    low, high = student_interval(mean, pulls, squares, 1.0 - 0.5 * (1.0 - level))
    low, high = low - high[other], high - low[other]
    low[other] = high[other] = np.nan
    return low, high


def unit_difference(
    mean: Floats, pulls: Floats, squares: Floats, other: int, level: float
) -> tuple[Floats, Floats]:
    """Return the same for rewards in [0, 1].

    >>> low, high = unit_difference(
    ...     np.array([0.6, 0.3]), np.array([400.0, 400.0]), np.array([96.0, 84.0]), 1, 0.95
    ... )
    >>> low.round(3), high.round(3)
    (array([0.148,   nan]), array([0.442,   nan]))
    """
    ends = np.full((2, mean.size), np.nan)
    if pulls[other] > 0:
        there = mean[other], pulls[other], squares[other]
        for i in np.flatnonzero(pulls > 0):
            if i != other:
                here = mean[i], pulls[i], squares[i]
                ends[0, i] = -_farthest(*there, *here, -log(1.0 - level))
                ends[1, i] = _farthest(*here, *there, -log(1.0 - level))
    return ends[0], ends[1]


@compiled
def click_cost(hits: float, pulls: float) -> float:
    """Return the logarithm of the largest likelihood of so many hits over the mixed one."""
    S, F = hits, pulls - hits
    low = lgamma(S + 0.5) + lgamma(F + 2.0)  # Beta(1/2, 2)
    high = lgamma(S + 2.0) + lgamma(F + 0.5)
    top = max(low, high)
    mixed = top + log(0.5 * (np.exp(low - top) + np.exp(high - top)))
    mixed -= lgamma(pulls + 2.5) + _LOG_BETA
    best = -pulls * log(pulls)
    if S > 0.0:
        best += S * log(S)
    if F > 0.0:
        best += F * log(F)
    return max(0.0, best - mixed)


@compiled
def unit_cost(pulls: float) -> float:
    """Return the largest cost of all: of no hit, or as many hits as misses."""
    return max(click_cost(0.0, pulls), click_cost(0.5 * pulls, pulls))


@compiled
def _cost(mean: float, pulls: float, variance: float) -> float:
    """Return what the mixture costs: it is known exactly for rewards of 0 and 1."""
    if lower_value(mean, variance) == 0.0:
        return click_cost(mean * pulls, pulls)
    return unit_cost(pulls)


@compiled
def _unit_ends(mean: float, pulls: float, squares: float, budget: float) -> tuple[float, float]:
    """Return both ends of the interval of an arm with rewards in [0, 1]; log M is the budget."""
    mean = min(max(mean, 0.0), 1.0)
    variance = max(0.0, squares / pulls)
    allowed = (budget + _cost(mean, pulls, variance)) / pulls
    return _lowest(mean, variance, allowed), _highest(mean, variance, allowed)


@compiled
def _highest(mean: float, variance: float, allowed: float) -> float:
    """Return the largest mean whose divergence, given the variance, is allowed."""
    return moment_upper(mean, variance, allowed)


@compiled
def _lowest(mean: float, variance: float, allowed: float) -> float:
    """Return the smallest mean whose divergence, given the variance, is allowed."""
    return 1.0 - _highest(1.0 - mean, variance, allowed)


@compiled
def _farthest(
    mean: float,
    pulls: float,
    squares: float,
    other_mean: float,
    other_pulls: float,
    other_squares: float,
    budget: float,
) -> float:
    """Return the largest difference m_1 - m_2 of two arms' means in [0, 1].

    Divergences are convex, so the largest first mean that a part of the budget allows, less the
    smallest second mean that the rest allows, is concave in that part: golden sections find it.
    """
    mean, other_mean = min(max(mean, 0.0), 1.0), min(max(other_mean, 0.0), 1.0)
    variance, other_variance = max(0.0, squares / pulls), max(0.0, other_squares / other_pulls)
    total = budget + _cost(mean, pulls, variance)
    total += _cost(other_mean, other_pulls, other_variance)
    low, high, best = 0.0, 1.0, -inf
    for _ in range(_SECTIONS):
        one, two = high - _GOLD * (high - low), low + _GOLD * (high - low)
        first = _highest(mean, variance, one * total / pulls)
        first -= _lowest(other_mean, other_variance, (1.0 - one) * total / other_pulls)
        second = _highest(mean, variance, two * total / pulls)
        second -= _lowest(other_mean, other_variance, (1.0 - two) * total / other_pulls)
        best = max(best, first, second)
        if first >= second:
            high = two
        else:
            low = one
    return best
