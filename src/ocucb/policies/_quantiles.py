"""Upper quantiles of the normal and the beta distribution, for kernels.

Both start from an approximation that is right to three digits or more and take Householder steps,
so one or two evaluations of the tail give the last digits. The tail of a beta distribution is its
density times a continued fraction; the density is written with the Kullback-Leibler divergence and
the remainders of Stirling's formula, so nothing cancels after a million pulls.
"""

from __future__ import annotations

from math import erfc, exp, expm1, lgamma, log, log1p, pi, sqrt

from .._compile import compiled, inlined
from ._divergence import bernoulli_kl, kl_upper

_TINY = 1e-300


@inlined
def normal_quantile(tail: float) -> float:
    """Return z such that a standard normal variate exceeds it with probability `tail` <= 1/2.

    The start is 26.2.23 of Abramowitz and Stegun (1964), with an error below 4.5e-4.
    """
    w = sqrt(-2.0 * log(tail))
    z = w - (2.515517 + w * (0.802853 + w * 0.010328)) / (
        1.0 + w * (1.432788 + w * (0.189269 + w * 0.001308))
    )
    density = exp(-0.5 * z * z) / sqrt(2.0 * pi)
    step = (tail - 0.5 * erfc(z / sqrt(2.0))) / density
    bend = step * z
    step *= (1.0 + 0.5 * bend) / (1.0 + bend + step * step * (z * z - 1.0) / 6.0)
    return max(0.0, z - step)


@inlined
def stirling_remainder(z: float) -> float:
    """Return log Gamma(z) minus Stirling's formula."""
    if z < 16.0:
        return lgamma(z) - ((z - 0.5) * log(z) - z + 0.5 * log(2.0 * pi))
    square = 1.0 / (z * z)
    return (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - square / 1680.0) * square) * square) / z


@compiled
def beta_tail(a: float, b: float, x: float) -> tuple[float, float]:
    """Return the logarithm of P(X > x) and P(X > x) / density, for X ~ Beta(a, b).

    The continued fraction (Lentz's method) is for x above the median, or not far below it.
    """
    n, y = a + b, 1.0 - x
    # x^a (1 - x)^b / B(a, b)
    power = 0.5 * log(a * b / (2.0 * pi * n)) - n * bernoulli_kl(a / n, x)
    power += stirling_remainder(n) - stirling_remainder(a) - stirling_remainder(b)
    c, d = 1.0, 1.0 - n * y / (b + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    fraction = d
    for m in range(1, 100_000):
        even = m * (a - m) * y / ((b + 2.0 * m - 1.0) * (b + 2.0 * m))
        d = 1.0 + even * d
        c = 1.0 + even / c
        d = 1.0 / (d if abs(d) > _TINY else _TINY)
        c = c if abs(c) > _TINY else _TINY
        fraction *= d * c
        odd = -(b + m) * (n + m) * y / ((b + 2.0 * m) * (b + 2.0 * m + 1.0))
        d = 1.0 + odd * d
        c = 1.0 + odd / c
        d = 1.0 / (d if abs(d) > _TINY else _TINY)
        c = c if abs(c) > _TINY else _TINY
        fraction *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return power + log(fraction / b), fraction / b * x * y


@compiled
def beta_quantile(a: float, b: float, tail: float) -> float:
    """Return x such that X ~ Beta(a, b) exceeds it with probability `tail` <= 1/2; a, b >= 1.

    Its relative error is below 1e-12 while a + b is below 10^6, and grows slowly from there.
    """
    if b == 1.0:
        return exp(log1p(-tail) / a)
    if a == 1.0:
        return -expm1(log(tail) / b)
    # Temme's leading term: the root of twice the divergence is about normal.
    z = normal_quantile(tail)
    x = kl_upper(a / (a + b), 0.5 * z * z / (a + b))
    goal = log(tail)
    for _ in range(50):
        x = min(max(x, 1e-300), 1.0 - 1e-16)
        logarithm, mills = beta_tail(a, b, x)
        # Newton's step for log P(X > x), and what its curvature adds (Halley)
        step = (logarithm - goal) * mills
        slope = (a - 1.0) / x - (b - 1.0) / (1.0 - x)
        step /= 1.0 - 0.5 * (logarithm - goal) * (1.0 + mills * slope)
        new = x + step
        if not 0.0 < new < 1.0:
            new = 0.5 * (x + (1.0 if step > 0.0 else 0.0))
        moved = abs(new - x)
        x = new
        if moved <= 1e-6 * min(mills, x):
            break
    return x
