"""The Kullback-Leibler divergence of rewards in [0, 1], and its inverses.

KL policies invert it once per index, so a few nanoseconds matter. An inverse starts from the series
in the root of the budget where that is small, else from a bound that follows from
``kl(p, q) >= (q - p)^2 / (2 q (1 - p))``, and takes Householder steps of third order: all
derivatives come with the logarithms, and errors fall with their fourth power. One to three steps
give the last digits.

Of all rewards in [0, 1] with mean m and variance v, those that take the two values a and 1, a =
m - v / (1 - m), are the hardest to tell from rewards with a higher mean: K_inf(F, q) is the maximum
over u of E log(1 - u (X - q)), a function of X whose third derivative is negative, and its
expectation is least under the law on {a, 1}, an extremal one of Chebyshev and Markov. So a
divergence that depends on mean and variance alone lies between that of Bernoulli rewards and K_inf,
which needs all rewards; it is Bernoulli's on the interval from a to 1. See Honda and Takemura
(2012), Stochastic bandit based on empirical moments, for any number of moments.
"""

from __future__ import annotations

from math import exp, expm1, log, log1p, sqrt

from .._compile import inlined

_SMALL = 0.3  # the series is used while its first term is below this share of the variance
_CLOSE = 4e-4  # relative length of a step after which no other is needed
_MOST = 60  # steps; three are enough, so this only guards against what rounding might do


@inlined
def bernoulli_kl(p: float, q: float) -> float:
    """Return the divergence of rewards with mean p from rewards with mean q.

    Written in terms of q - p, so that it does not cancel where the two are close.
    """
    d = q - p
    if p <= 0.0:
        return -log1p(-q)
    if p >= 1.0:
        return -log(q)
    return -p * log1p(d / p) - (1.0 - p) * log1p(-d / (1.0 - p))


@inlined
def kl_upper(p: float, budget: float) -> float:
    """Return the largest q with kl(p, q) <= budget."""
    if not budget > 0.0 or p >= 1.0:
        return budget if budget != budget else p
    if p <= 0.0:
        return -expm1(-budget)
    r = 1.0 - p
    v = p * r
    root = sqrt(2.0 * v * budget)
    if root < _SMALL * v:
        ratio = root / v
        d = root * (1.0 + ratio * ((1.0 - 2.0 * p) / 3.0 + ratio * (1.0 - 13.0 * v) / 36.0))
    else:
        a = r * budget
        d = a + sqrt(a * (a + 2.0 * p))
        if d > 0.5 * r:  # another bound, from -p * log(q) >= 0
            d = min(d, r - r * exp((p * log(p) - budget) / r))
    over_p, over_r = 1.0 / p, 1.0 / r
    for _ in range(_MOST):
        q, c = p + d, r - d
        if not c > 0.0:
            return 1.0
        inverse = 1.0 / (q * c)
        over_q, over_c, over_d = c * inverse, q * inverse, 1.0 / d
        value = -p * log1p(d * over_p) - r * log1p(-d * over_r) - budget
        step = value * q * c * over_d
        second = (p * c * over_q + r * q * over_c) * over_d
        third = 2.0 * (r * q * over_c * over_c - p * c * over_q * over_q) * over_d
        step *= (1.0 - 0.5 * step * second) / (1.0 - step * second + step * step * third / 6.0)
        if not step < d:
            step = 0.5 * d
        if not d - step < r:
            step = 0.5 * (d - r)
        d -= step
        if abs(step) <= _CLOSE * min(d, c):
            break
    return p + d


@inlined
def kl_lower(q: float, budget: float) -> float:
    """Return the smallest p with kl(p, q) <= budget."""
    if not budget > 0.0:
        return budget if budget != budget else q
    if q >= 1.0:
        return 1.0
    if budget >= -log1p(-q):
        return 0.0
    r = 1.0 - q
    v = q * r
    root = sqrt(2.0 * v * budget)
    if root < _SMALL * v:
        ratio = root / v
        d = root * (1.0 - ratio * ((1.0 - 2.0 * q) / 6.0 + ratio * (1.0 + 2.0 * v) / 72.0))
    else:
        a = q * budget
        d = min(a + sqrt(a * (a + 2.0 * r)), 0.9 * q)
    for _ in range(_MOST):
        p, c = q - d, r + d
        below, above = log1p(-d / q), log1p(d / r)
        slope = above - below
        step = (p * below + c * above - budget) / slope
        second = 1.0 / (p * c * slope)
        third = (1.0 / (p * p) - 1.0 / (c * c)) / slope
        step *= (1.0 - 0.5 * step * second) / (1.0 - step * second + step * step * third / 6.0)
        if not step < d:
            step = 0.5 * d
        if not d - step < q:
            step = 0.5 * (d - q)
        d -= step
        if abs(step) <= _CLOSE * min(d, q - d):
            break
    return q - d


@inlined
def lower_value(mean: float, variance: float) -> float:
    """Return the value a of rewards that are a or 1, with this mean and variance.

    It is exactly 0 for a variance of ``mean * (1 - mean)`` but for rounding: rewards of 0 and 1.
    """
    most = mean * (1.0 - mean)
    rest = most - variance
    return rest / (1.0 - mean) if rest > 1e-9 * most and mean < 1.0 else 0.0


@inlined
def moment_kl(mean: float, variance: float, q: float) -> float:
    """Return the least divergence of rewards in [0, 1] with this variance from a mean q."""
    a = lower_value(mean, variance)
    return bernoulli_kl(max(0.0, mean - a) / (1.0 - a), (q - a) / (1.0 - a))


@inlined
def moment_upper(mean: float, variance: float, budget: float) -> float:
    """Return the largest q with moment_kl(mean, variance, q) <= budget."""
    a = lower_value(mean, variance)
    return a + (1.0 - a) * kl_upper((mean - a) / (1.0 - a), budget)
