"""The linear algebra and quadrature behind the tables, with bit-for-bit reproducible results.

BLAS and LAPACK are not used: their order of summation, and so the last bits of a table, would
depend on the number of threads. Here numpy only does elementwise arithmetic, and every sum is a
loop in a fixed order.
"""

from __future__ import annotations

import numpy as np

from .._types import Floats


def product(a: Floats, b: Floats) -> Floats:
    """Return the product of two matrices."""
    out = np.zeros((a.shape[0], b.shape[1]))
    for k in range(a.shape[1]):
        out += a[:, k, None] * b[k]
    return out


def chebyshev_sums(x: Floats, weights: Floats, terms: int) -> Floats:
    """Return the sums over q of weights[q, i] T_k(x[q, i]), at [k, i]; T_k is Chebyshev's."""
    twice = 2.0 * x
    weighted = np.empty((terms, *x.shape))
    weighted[0] = weights
    weighted[1] = weights * x
    for k in range(2, terms):
        np.multiply(twice, weighted[k - 1], out=weighted[k])
        weighted[k] -= weighted[k - 2]
    out = np.zeros((terms, x.shape[1]))
    for q in range(x.shape[0]):
        out += weighted[:, q]
    return out


def chebyshev_coefficients(points: int) -> Floats:
    """Return the map from values at the points -cos(pi j / (points - 1)) to coefficients.

    It is a cosine transform: the first and last values, and the first and last coefficients, count
    half. Angles are reduced as integers, so that every cosine is accurate to the last bit.
    """
    last = points - 1
    k = np.arange(points)
    angles = np.pi / last * (k[:, None] * (last - k) % (2 * last))
    half = np.where((k == 0) | (k == last), 0.5, 1.0)
    out: Floats = 2.0 / last * half[:, None] * half * np.cos(angles)
    return out


def gauss_legendre(points: int) -> tuple[Floats, Floats]:
    """Return the nodes and weights of Gauss-Legendre quadrature on (-1, 1), by Newton's method."""
    x = -np.cos(np.pi * (np.arange(points) + 0.75) / (points + 0.5))
    for _ in range(5):  # the start is accurate to 1e-4, and every step squares the error
        before, value = np.ones(points), x
        for k in range(2, points + 1):
            before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
        slope = points * (before - x * value) / ((1.0 - x) * (1.0 + x))
        x = x - value / slope
    return x, 2.0 / ((1.0 - x) * (1.0 + x) * slope**2)


def lagrange_weights(x: Floats, at: Floats) -> Floats:
    """Return, at [j, i], the weight of the value at x[j, i] in the interpolant at at[i]."""
    out = np.ones(x.shape)
    for k in range(x.shape[0]):
        others = np.arange(x.shape[0]) != k
        out[others] *= (at - x[k]) / (x[others] - x[k])
    return out


def polynomials(x: Floats, values: Floats) -> Floats:
    """Return the coefficients, lowest first, of the polynomials with values[i, j] at x[i].

    Björck and Pereyra's method: divided differences, then Newton's form multiplied out.
    """
    out = values.copy()
    last = x.size - 1
    for k in range(last):
        for i in range(last, k, -1):
            out[i] = (out[i] - out[i - 1]) / (x[i] - x[i - k - 1])
    for k in range(last - 1, -1, -1):
        for i in range(k, last):
            out[i] -= x[k] * out[i + 1]
    return out
