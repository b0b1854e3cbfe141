"""Slow, obvious twins of `ocucb.gittins`, for its tests. Nothing here is shared with the library.

Gaussian rewards: the value function itself is held at Gauss-Legendre points on equal panels right
of the stopping boundary, and every expectation is the plain quadrature sum (Nystroem's method):
no interpolation, no map, no polynomial basis, no precomputed matrix.

Run as a script it writes `data/gittins_samples.csv`, the values at horizons 10^4 and 10^5 that
are too slow to compute in a test (about ten minutes).
"""

from __future__ import annotations

import csv
import itertools
import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import numba
import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr

PANEL_WIDTH = 3.0  # in standard deviations of one step
SAMPLES = Path(__file__).parent / "data" / "gittins_samples.csv"


@numba.njit(nogil=True)
def _expected_value(x, sigma, m, points, weights, values, count):
    """E V(x + Z) and its derivative; V is m * y beyond the last panel."""
    first = np.searchsorted(points[:count], x - 8.5 * sigma)
    end = np.searchsorted(points[:count], x + 8.5 * sigma)
    total = 0.0
    slope = 0.0
    for q in range(first, end):
        z = (points[q] - x) / sigma
        mass = weights[q] * values[q] * math.exp(-0.5 * z * z)
        total += mass
        slope += mass * z
    scale = 1.0 / (math.sqrt(2.0 * math.pi) * sigma)
    total *= scale
    slope *= scale / sigma
    edge = points[count]  # the end of the last panel is kept behind the points
    z = (edge - x) / sigma
    if z < 8.5:
        above = 0.5 * math.erfc(z / math.sqrt(2.0))
        density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        total += m * (x * above + sigma * density)
        slope += m * (above + edge * density / sigma)
    return total, slope


@numba.njit(nogil=True)
def _gaussian_diagonal(d, abscissae, gauss_weights, out):
    p = abscissae.size
    size = p * int(8.0 * math.sqrt(d) / 2.0 + 4.0 * math.sqrt(d) + 60)
    points, weights, values = np.empty(size), np.empty(size), np.empty(size)
    new_points, new_weights, new_values = np.empty(size), np.empty(size), np.empty(size)
    # V_1(x) = max(0, x): no panels at all, the linear part starts at 0.
    count = 0
    points[0] = 0.0
    out[0] = 0.0
    boundary = 0.0
    for m in range(2, d):
        T = d - m
        sigma = 1.0 / math.sqrt(T * (T + 1.0))
        x = boundary - 0.1 * sigma
        for _ in range(100):
            ev, slope = _expected_value(x, sigma, m - 1, points, weights, values, count)
            step = (x + ev) / (1.0 + slope)
            x -= step
            if abs(step) < 1e-13 * sigma:
                break
        boundary = x
        out[m - 1] = -x
        if T == 1:
            break
        width = PANEL_WIDTH / math.sqrt(T * (T - 1.0))
        reach = 8.0 * math.sqrt(1.0 / T - 1.0 / (d - 1.0)) - x
        panels = int(reach / width) + 1
        q = 0
        for panel in range(panels):
            for i in range(p):
                new_points[q] = x + width * (panel + 0.5 * (1.0 + abscissae[i]))
                new_weights[q] = 0.5 * width * gauss_weights[i]
                ev, _ = _expected_value(new_points[q], sigma, m - 1, points, weights, values, count)
                new_values[q] = new_points[q] + ev
                q += 1
        new_points[q] = x + width * panels
        count = q
        points, new_points = new_points, points
        weights, new_weights = new_weights, weights
        values, new_values = new_values, values


def gaussian_diagonal(d, points=12):
    """g(m, d - m) for m = 1 ... d - 1; 12 points a panel are good to 2e-12, 10 to 2e-10."""
    out = np.empty(d - 1)
    _gaussian_diagonal(d, *np.polynomial.legendre.leggauss(points), out)
    return out


def gaussian_by_quadrature(m, T):
    """g(m, T) for m <= 4, straight from the recursion, every expectation by adaptive quadrature."""

    def play(x, m, T):
        sigma = 1.0 / math.sqrt(T * (T + 1.0))
        if m == 1:
            return x
        if m == 2:  # E max(0, x + Z) is known
            return x + x * ndtr(x / sigma) + sigma * norm_pdf(x / sigma)
        edge = boundary(m - 1, T + 1)
        low, high = max(edge, x - 10.0 * sigma), x + 10.0 * sigma
        if low >= high:
            return x
        gain = quad(
            lambda y: play(y, m - 1, T + 1) * norm_pdf((y - x) / sigma) / sigma,
            low,
            high,
            epsabs=1e-12,
            epsrel=1e-12,
        )
        return x + gain[0]

    @cache
    def boundary(m, T):
        if m == 1:
            return 0.0
        return brentq(lambda x: play(x, m, T), -2.0 / T, 0.0, xtol=1e-13)

    return -boundary(m, T)


def norm_pdf(z):
    return math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


def bernoulli_by_bisection(m, a, b):
    """Index of a Beta(a, b) arm with m rounds left: bisection over the plain recursion."""

    def play(c):
        @cache
        def value(k, i):
            p = (a + i) / (a + b + k)
            later = 0.0
            if k + 1 < m:
                later = p * max(0.0, value(k + 1, i + 1)) + (1 - p) * max(0.0, value(k + 1, i))
            return p - c + later

        return value(0, 0)

    low, high = a / (a + b), 1.0
    while high - low > 1e-13:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if play(middle) > 0 else (low, middle)
    return low


def bernoulli_by_enumeration(m, a, b):
    """The same for m <= 4, exactly: the best ratio E rewards / E pulls over all stopping rules."""
    states = [(k, i) for k in range(1, m) for i in range(k + 1)]
    best = Fraction(0)
    for choice in itertools.product((False, True), repeat=len(states)):
        goes_on = dict(zip(states, choice, strict=True))
        rewards = pulls = Fraction(0)
        reached = {(0, 0): Fraction(1)}
        for k in range(m):
            after = {}
            for (_, i), chance in reached.items():
                if k and not goes_on[k, i]:
                    continue
                p = Fraction(a + i, a + b + k)
                rewards += chance * p
                pulls += chance
                after[k + 1, i + 1] = after.get((k + 1, i + 1), 0) + chance * p
                after[k + 1, i] = after.get((k + 1, i), 0) + chance * (1 - p)
            reached = after
        best = max(best, rewards / pulls)
    return best


def two_armed_values(horizon, index):
    """Expected rewards over `horizon` rounds of two uniform Bernoulli arms: Bayes-optimal, Gittins.

    Both by the recursion over all states; `index(m, successes, failures)` drives the second.
    """

    def pull(value, state, arm):
        s, f = state[2 * arm], state[2 * arm + 1]
        p = (s + 1) / (s + f + 2)
        win, lose = list(state), list(state)
        win[2 * arm] += 1
        lose[2 * arm + 1] += 1
        return p * (1 + value(tuple(win))) + (1 - p) * value(tuple(lose))

    @cache
    def optimal(state):
        if sum(state) == horizon:
            return 0.0
        return max(pull(optimal, state, 0), pull(optimal, state, 1))

    @cache
    def gittins(state):
        if sum(state) == horizon:
            return 0.0
        m = horizon - sum(state)
        arm = int(index(m, *state[2:]) > index(m, *state[:2]))
        return pull(gittins, state, arm)

    return optimal((0, 0, 0, 0)), gittins((0, 0, 0, 0))


def sample_pulls(d):
    """Values of T, dense near both ends of the diagonal and spread evenly in log(m/T) between."""
    ends = np.r_[1:13, np.geomspace(13, d / 2, 100).astype(int)]
    return np.unique(np.r_[ends, d - ends])


def write_samples():
    diagonals = (300, 777, 1203, 1999, 3001, 5003, 7777, 9500, 10_001, 30_011, 61_234, 100_001)
    with SAMPLES.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["m_remaining", "T_pulls", "offset"])
        for d in diagonals:
            g = gaussian_diagonal(d)
            for T in sample_pulls(d).tolist():
                writer.writerow([d - T, T, f"{g[d - T - 1]:.12e}"])
            file.flush()
            print(f"diagonal {d} done", flush=True)


if __name__ == "__main__":
    write_samples()
