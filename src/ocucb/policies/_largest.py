"""How likely each of several independent samples is to be the largest, by quadrature.

The probability of arm i is the integral of f_i(x) * prod over j != i of F_j(x), with densities f
and distribution functions F: of normal distributions, or of beta distributions, which are smooth
functions of log(x / (1 - x)). All densities here are log-concave on this scale.

The line is cut into panels, each short compared with the narrowest density that changes there, with
the 16 nodes of a Gauss-Legendre formula. On a panel, F_j is its value at the left end plus the
integral of the polynomial through the nodes' densities, so no distribution function is evaluated
but once, at the start. A panel serves all arms: the work is proportional to their number.

Panels begin where some F_j is below 1e-32 and end where every arm's remaining tail is below 1e-11
of its probability; f / |slope of log f| is more than the tail of a log-concave density. So relative
errors are below 1e-8 for probabilities above 1e-22.
"""

from __future__ import annotations

from math import erfc, exp, lgamma, log, log1p, pi, sqrt
from typing import Any

import numpy as np

from .._compile import compiled
from ._divergence import bernoulli_kl
from ._quantiles import beta_tail, stirling_remainder

_NORMAL, _BETA = 0, 1  # kinds of distributions, of two parameters each

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def _integrals() -> Any:
    """Return the matrix that takes values at the nodes to integrals from -1 to each node."""
    basis = np.polynomial.legendre.legvander(_NODES, _NODES.size - 1)
    whole = [
        np.polynomial.legendre.legval(_NODES, np.polynomial.legendre.legint(unit, lbnd=-1))
        for unit in np.eye(_NODES.size)
    ]
    return np.linalg.solve(basis.T, np.array(whole)).T


_INTEGRALS = np.ascontiguousarray(_integrals())
_BEGIN = log(1e-32)  # panels begin where some distribution function is below
_ENOUGH = 1e-11  # and end where tails are below this share of each probability
_TINY = 1e-45  # or below this
_TURN = 0.5  # length of a panel in standard deviations
_FALL = 6.0  # the most by which a logarithm changes on a panel
_MANY = 1e5  # counts beyond which logarithms of the density of a beta distribution cancel
_MOST_PANELS = 100_000


@compiled
def _logit_density(a: float, b: float, norm: float, y: float) -> tuple[float, float, float]:
    """Return logarithm of the density, its slope, and minus its curvature, at x = 1/(1+exp(-y))."""
    e = exp(-abs(y))
    small, large = e / (1.0 + e), 1.0 / (1.0 + e)
    x, rest = (large, small) if y > 0.0 else (small, large)
    n = a + b
    if n > _MANY:
        value = norm - n * bernoulli_kl(a / n, x)
    else:
        close = log1p(e)
        value = norm + (-b * y if y > 0.0 else a * y) - n * close
    return value, a * rest - b * x, n * x * rest


@compiled
def _normal_density(
    mean: float, spread: float, norm: float, y: float
) -> tuple[float, float, float]:
    """Return the same of a normal distribution."""
    z = (y - mean) / spread
    return norm - 0.5 * z * z, -z / spread, 1.0 / (spread * spread)


@compiled
def _density(
    kind: int, one: float, two: float, norm: float, y: float
) -> tuple[float, float, float]:
    if kind == _NORMAL:
        return _normal_density(one, two, norm, y)
    return _logit_density(one, two, norm, y)


@compiled
def _norm(kind: int, one: float, two: float) -> float:
    """Return the constant of the logarithm of the density."""
    if kind == _NORMAL:
        return -log(two * sqrt(2.0 * pi))
    n = one + two
    if n > _MANY:
        norm = 0.5 * log(one * two / (2.0 * pi * n)) + stirling_remainder(n)
        return norm - stirling_remainder(one) - stirling_remainder(two)
    return lgamma(n) - lgamma(one) - lgamma(two)


@compiled
def _below(kind: int, one: float, two: float, y: float) -> float:
    """Return the distribution function."""
    if kind == _NORMAL:
        return 0.5 * erfc((one - y) / two / sqrt(2.0))
    x, rest = 1.0 / (1.0 + exp(-y)), 1.0 / (1.0 + exp(y))
    if x * (one + two) > one:
        return float(-np.expm1(beta_tail(one, two, x)[0]))
    return exp(beta_tail(two, one, rest)[0])


@compiled
def _start(kind: int, one: float, two: float, norm: float) -> float:
    """Return where the distribution function is below 1e-32, but not far below: by bisection."""
    middle, spread = one, two
    if kind == _BETA:
        middle, spread = log(one / two), sqrt(1.0 / one + 1.0 / two)
    low, high = middle - 8.0 * spread, middle
    value, slope, _ = _density(kind, one, two, norm, low)
    while not (slope > 0.0 and value - log(slope) < _BEGIN):
        high, low = low, middle - 2.0 * (middle - low)
        value, slope, _ = _density(kind, one, two, norm, low)
    for _ in range(40):
        y = 0.5 * (low + high)
        value, slope, _ = _density(kind, one, two, norm, y)
        if slope > 0.0 and value - log(slope) < _BEGIN:
            low = y
        else:
            high = y
        if high - low < 0.05 * spread:
            break
    return low


@compiled
def _write_chances(kind: int, one: Any, two: Any, chances: Any, centre: float) -> float:
    K, size = one.size, _NODES.size
    norm, below, begin = np.empty(K), np.empty(K), -np.inf
    for j in range(K):
        chances[j] = 0.0
        norm[j] = _norm(kind, one[j], two[j])
        begin = max(begin, _start(kind, one[j], two[j], norm[j]))
    for j in range(K):
        below[j] = _below(kind, one[j], two[j], begin)
    x, lead, product = begin, 0.0, np.empty(size)
    f, F = np.empty((K, size)), np.empty((K, size))
    for _ in range(_MOST_PANELS):
        length, done = np.inf, True
        for j in range(K):
            value, slope, bend = _density(kind, one[j], two[j], norm[j], x)
            falling = slope < 0.0 and value - log(max(-slope, 1e-300)) < log(
                max(_TINY, _ENOUGH * chances[j])
            )
            if not falling:
                done = False
                length = min(length, _TURN / sqrt(bend) if bend > 0.0 else np.inf)
                length = min(length, _FALL / max(abs(slope), 1e-300))
        if done:
            break
        if kind == _BETA:
            length = min(length, 1.0)  # the curvature grows by the factor e at most
        product[:] = 1.0
        for j in range(K):
            for k in range(size):
                y = x + 0.5 * length * (1.0 + _NODES[k])
                f[j, k] = exp(_density(kind, one[j], two[j], norm[j], y)[0])
            total = 0.0
            for k in range(size):
                inner = 0.0
                for m in range(size):
                    inner += _INTEGRALS[k, m] * f[j, m]
                F[j, k] = below[j] + 0.5 * length * inner
                product[k] *= F[j, k]
                total += _WEIGHTS[k] * f[j, k]
            below[j] += 0.5 * length * total
        for k in range(size):
            y = x + 0.5 * length * (1.0 + _NODES[k])
            above = (y if kind == _NORMAL else 1.0 / (1.0 + exp(-y))) - centre
            for j in range(K):
                if F[j, k] > 0.0:
                    part = 0.5 * length * _WEIGHTS[k] * f[j, k] * product[k] / F[j, k]
                    chances[j] += part
                    lead += part * above
        x += length
    return lead


@compiled
def largest_of_normal(means: Any, spreads: Any, chances: Any, centre: float) -> float:
    """Write how likely each of some normal samples is to be the largest.

    Returns the mean of the largest minus a number.
    """
    return _write_chances(_NORMAL, means, spreads, chances, centre)


@compiled
def largest_of_beta(a: Any, b: Any, chances: Any, centre: float) -> float:
    """Do the same for beta distributions, whose parameters must be at least 1."""
    return _write_chances(_BETA, a, b, chances, centre)
