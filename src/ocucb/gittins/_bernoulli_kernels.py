"""Compiled kernels of :mod:`ocucb.gittins` for Bernoulli rewards: calibration and look-up.

docs/gittins.md explains the mathematics and the tables; these kernels only read and write arrays.
"""

from __future__ import annotations

import math

import numpy as np

from .._compile import compiled
from .._types import Counts, Floats

# Layout of the packed table that `bernoulli_index` reads, written by `_bernoulli.build`.
SMALL = 64  # beyond the exact block, each state with T < SMALL has its own row in m
ANGLES = 512  # intervals of the grid in arcsin(sqrt(mean)) that serves the rest
STENCIL = 5  # numbers per m or T: first node, and the weights of four-point interpolation
HEADER = 16
# Entries of the header. The stencil of m or T is STENCIL * m or STENCIL * T entries from its start.
HORIZON, PRIOR_A, PRIOR_B, EXACT = 0, 1, 2, 3
ROW_STENCIL, ROW_START, ROW_NODES = 4, 5, 6
M_STENCIL, T_STENCIL, GRID_START, M_NODES = 7, 8, 9, 10


@compiled
def calibrate(
    m: int, a: float, b: float, guess: float, tolerance: float, value: Floats, plays: Floats
) -> float:
    """Finite-horizon Gittins index of a Beta(a, b) arm with m rounds left, by exact recursion.

    For a safe amount c, W(c) is the value of playing once and then as long as it pays, computed by
    recursion over k = pulls from now and i = successes among them. W is convex and decreasing,
    with slope minus the expected number of pulls; its zero is the index. Newton's method
    approaches it from below after the first step, and is exact once the best rule is found. It
    starts at `guess` and ends with the first step below `tolerance`; the remaining error is far
    smaller. `value` and `plays`, of length m + 2, are its workspace.
    """
    total = a + b
    mean = a / total
    c = guess
    for _ in range(100):
        # From `sure` successes on, even failures in all other rounds leave the mean above c: the
        # arm is played to the end. With fewer than `low` it is abandoned at once, and going back
        # in time `low` falls by at most one per level. Only the states in between are visited.
        sure = max(0, math.ceil(c * (total + m) - a))
        low = sure
        for i in range(min(sure, m) + 1):
            value[i] = 0.0
            plays[i] = 0.0
        for k in range(m - 1, -1, -1):
            if sure <= k + 1:
                value[sure] = (m - k - 1) * ((a + sure) / (total + k + 1) - c)
                plays[sure] = m - k - 1
            if k == 0:
                break
            first = max(low - 1, 0)
            width = min(sure, k + 1) - first
            scale = 1.0 / (total + k)
            # Views with nonnegative indices from 0 let the compiler vectorise the loop.
            v = value[first:]
            n = plays[first:]
            for i in range(width):
                p = (a + first + i) * scale
                gain = p - c + p * v[i + 1] + (1.0 - p) * v[i]
                count = 1.0 + p * n[i + 1] + (1.0 - p) * n[i]
                v[i] = max(gain, 0.0)
                n[i] = count if gain > 0.0 else 0.0
            if value[first] > 0.0:
                low = first
        step = mean - c
        if sure > 0 and m > 1:
            step += mean * value[1] + (1.0 - mean) * value[0]
            step /= 1.0 + mean * plays[1] + (1.0 - mean) * plays[0]
        c += step
        if abs(step) < tolerance:
            break
    return c


@compiled
def spread(m: float, mean: float, total: float) -> float:
    """Return the standard deviation of the change in a Beta posterior's mean over m - 1 pulls."""
    return math.sqrt(mean * (1.0 - mean) / (total + 1.0) * (m - 1.0) / (total + m - 1.0))


@compiled
def sweep(rounds: Counts, a: Floats, b: Floats, tolerance: float, out: Floats) -> None:
    """Write the scaled offset of Beta(a[i], b[i]) with rounds[j] >= 2 rounds left into out[i, j].

    The scaled offset is (index - mean) / spread. It varies slowly with i and j, so three
    neighbouring entries predict it well and the calibration needs few steps.
    """
    value = np.empty(rounds[-1] + 2)
    plays = np.empty(rounds[-1] + 2)
    for i in range(a.size):
        total = a[i] + b[i]
        mean = a[i] / total
        for j in range(rounds.size):
            scale = spread(rounds[j], mean, total)
            scaled = 0.5
            if i > 0 and j > 0:
                scaled = out[i, j - 1] + out[i - 1, j] - out[i - 1, j - 1]
            elif i > 0:
                scaled = out[i - 1, j]
            elif j > 0:
                scaled = out[i, j - 1]
            guess = min(max(mean + scaled * scale, mean), 1.0)
            index = calibrate(rounds[j], a[i], b[i], guess, tolerance, value, plays)
            out[i, j] = (index - mean) / scale


@compiled
def bernoulli_index(m: float, successes: float, failures: float, table: Floats) -> float:
    """Gittins index of a Bernoulli arm, from a table of `ocucb.gittins.bernoulli_surrogate`.

    The arguments are whole numbers of any numeric type. Beyond the table's horizon
    (m + successes + failures > horizon) the result is nan.

    Parameters
    ----------
    m : int
        Rounds left, including the current one.
    successes, failures : int
        How often the arm paid 1 and 0.
    table : numpy.ndarray
        From `bernoulli_surrogate`.

    Examples
    --------
    >>> from ocucb import gittins
    >>> round(gittins.bernoulli_index(2, 0, 0, gittins.bernoulli_surrogate(10)), 6)
    0.555556
    """
    rounds = int(m)
    T = int(successes + failures)
    a = table[PRIOR_A] + successes
    total = table[PRIOR_A] + table[PRIOR_B] + T
    mean: float = a / total
    if rounds <= 1:
        return mean
    exact = int(table[EXACT])
    scaled: float = 0.0
    if rounds + T <= exact:
        before = (exact - 1) * (T * (T + 1) // 2) - (T - 1) * T * (T + 1) // 3
        scaled = table[HEADER + before + int(successes) * (exact - 1 - T) + rounds - 2]
    elif not rounds + T <= table[HORIZON]:
        return math.nan
    elif T < SMALL:
        stencil = int(table[ROW_STENCIL]) + STENCIL * rounds
        pair = T * (T + 1) // 2 + int(successes)
        start = int(table[ROW_START]) + int(table[ROW_NODES]) * pair + int(table[stencil])
        for i in range(4):
            scaled += table[stencil + 1 + i] * table[start + i]
    else:
        nodes = int(table[M_NODES])
        in_m = int(table[M_STENCIL]) + STENCIL * rounds
        in_T = int(table[T_STENCIL]) + STENCIL * T
        place = math.asin(math.sqrt(mean)) * (ANGLES / (0.5 * math.pi))
        angle = min(max(int(place), 1), ANGLES - 2)
        x = place - angle
        w0 = x * (x - 1.0) * (2.0 - x) / 6.0
        w1 = (x * x - 1.0) * (x - 2.0) / 2.0
        w2 = x * (x + 1.0) * (2.0 - x) / 2.0
        w3 = x * (x * x - 1.0) / 6.0
        for i in range(4):
            row = int(table[in_T]) + i
            start = int(table[GRID_START]) + angle - 1
            start += (ANGLES + 1) * (nodes * row + int(table[in_m]))
            along = 0.0
            for j in range(4):
                y = table[start : start + 4]
                along += table[in_m + 1 + j] * (w0 * y[0] + w1 * y[1] + w2 * y[2] + w3 * y[3])
                start += ANGLES + 1
            scaled += table[in_T + 1 + i] * along
    return mean + scaled * spread(m, mean, total)
