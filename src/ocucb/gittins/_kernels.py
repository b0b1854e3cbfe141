"""Compiled kernels of :mod:`ocucb.gittins` for Gaussian rewards: one backward pass, one evaluation.

docs/gittins.md explains the mathematics and the tables; these kernels only read and write arrays.
"""

from __future__ import annotations

import math

import numpy as np

from .._compile import compiled
from .._types import Floats

# Layout of the packed table that `offset` reads, written by `_gaussian.build`.
EXACT = 256  # diagonals m + T <= EXACT are stored entry by entry
ROWS = 32  # beyond them, each T <= ROWS and each m <= ROWS has its own row
TERMS = 8  # coefficients of the polynomial in log d on one cell
LOG_STEP = 0.2  # width of a cell in log d
RATIO_STEP = 0.125  # spacing of the grid in log(m / T)
HEADER = 8  # table[0]: largest diagonal, table[1]: number of grid points in log(m / T)
CELLS = HEADER + EXACT * (EXACT - 1) // 2  # where the cells start

_LOG_EXACT = math.log(EXACT)


@compiled
def backward_pass(
    diagonal: int, smoothing: Floats, nodes: Floats, rungs: Floats, out: Floats
) -> None:
    """Write g(m, diagonal - m) into out[m - 1] for m = 1 ... diagonal - 1.

    They are nan from the first step that fails to converge. For every rung, `smoothing` has, by
    node (and two more) and term, the linear map from the nodal values of U, and the two
    coefficients of its linear branch, to the Chebyshev coefficients of E U(. + Z); `nodes` the
    positions of these values right of the boundary, in standard deviations of Z; `rungs` its
    length, margin left of the boundary, stretch of the logarithmic map and 2 / its range.
    """
    points = nodes.shape[1]
    terms = smoothing.shape[2]
    values = np.zeros(points)  # U right of the boundary; U_1 vanishes there
    coefficients = np.empty(terms)
    twice = np.empty(points)
    anchors = np.ones(points)
    logs = np.empty(points)
    anchored, anchored_last = -1, 0.0
    newer = np.empty(points)
    older = np.empty(points)
    boundary = 0.0
    rung = 0
    shift, shift_before, shift_earlier = -0.3, -0.3, -0.3
    out[:] = np.nan
    out[0] = 0.0
    for m in range(2, diagonal):
        pulls = diagonal - m
        sigma = 1.0 / math.sqrt(pulls * (pulls + 1.0))
        length, margin, stretch, scale = rungs[rung]
        matrix = smoothing[rung]

        # Chebyshev coefficients of E U_{m-1}(. + Z) from -margin to length.
        constant = -(m - 1) * boundary
        slope = -(m - 1) * sigma
        for k in range(terms):
            coefficients[k] = constant * matrix[points, k] + slope * matrix[points + 1, k]
        for i in range(0, points, 4):  # four rows at a time: fewer loads and stores of the sum
            u0, u1, u2, u3 = values[i], values[i + 1], values[i + 2], values[i + 3]
            for k in range(terms):
                pair = u0 * matrix[i, k] + u1 * matrix[i + 1, k]
                coefficients[k] += pair + (u2 * matrix[i + 2, k] + u3 * matrix[i + 3, k])

        # Newton's method for the new boundary, relative to the old one. Thanks to the extrapolated
        # start, one step usually suffices: a step of 1e-7 leaves an error of its square.
        guess = shift
        if m > 6:
            guess = 3.0 * (shift - shift_before) + shift_earlier
        step = 1.0
        attempts = 0
        while abs(step) > 1e-7 and attempts < 30:
            attempts += 1
            stretched = 1.0 + (guess + margin) / stretch
            x2 = 2.0 * scale * math.log(stretched) - 2.0
            b1, b2, c1, c2 = 0.0, 0.0, 0.0, 0.0
            for k in range(terms - 1, 0, -1):
                c1, c2 = 2.0 * b1 + x2 * c1 - c2, c1
                b1, b2 = coefficients[k] + x2 * b1 - b2, b1
            smooth = coefficients[0] + 0.5 * x2 * b1 - b2
            steepness = (b1 + 0.5 * x2 * c1 - c2) * scale / (stretched * stretch)
            step = (smooth + m * (boundary + sigma * guess)) / (steepness + m * sigma)
            guess -= step
        if not abs(step) <= 1e-7:
            return
        shift_earlier, shift_before, shift = shift_before, shift, guess
        boundary += sigma * shift
        out[m - 1] = -boundary
        if pulls == 1:
            return

        # The nodes of the new function, and Clenshaw's recurrence for its values there.
        next_sigma = 1.0 / math.sqrt(pulls * (pulls - 1.0))
        spread = math.sqrt(1.0 / pulls - 1.0 / (diagonal - 1.0))
        reach = (7.5 * spread - boundary) / next_sigma
        while rung > 0 and rungs[rung - 1, 0] >= reach:
            rung -= 1
        while rung < rungs.shape[0] - 1 and rungs[rung, 0] < reach:
            rung += 1
        first = 1.0 + (shift + margin) / stretch
        last = 1.0 + (length + margin) / stretch
        ratio = next_sigma / (sigma * stretch)
        # 64 logarithms would cost a third of the step. Their arguments hardly move from one step
        # to the next, so they are recomputed only when the series about the last ones requires it.
        low = (first - anchors[0]) / (first + anchors[0])
        end = min(first + ratio * nodes[rung, points - 1], last)
        high = (end - anchors[points - 1]) / (end + anchors[points - 1])
        if rung != anchored or last != anchored_last or max(abs(low), abs(high)) > 0.03:
            anchored, anchored_last = rung, last
            for i in range(points):
                anchors[i] = min(first + ratio * nodes[rung, i], last)
                logs[i] = math.log(anchors[i])
        for i in range(points):
            argument = min(first + ratio * nodes[rung, i], last)
            t = (argument - anchors[i]) / (argument + anchors[i])
            q = t * t
            log = logs[i] + 2.0 * t * (1.0 + q * (1.0 / 3.0 + q * (0.2 + q / 7.0)))
            twice[i] = 2.0 * scale * log - 2.0
            newer[i] = coefficients[terms - 1]
            older[i] = 0.0
        for k in range(terms - 2, 0, -2):  # two steps at a time, to avoid copying
            upper, lower = coefficients[k], coefficients[k - 1]
            for i in range(points):
                odd = upper + twice[i] * newer[i] - older[i]
                even = lower + twice[i] * odd - newer[i]
                older[i] = odd
                newer[i] = even
        for i in range(points):
            values[i] = coefficients[0] + 0.5 * twice[i] * newer[i] - older[i]
        values[0] = -m * boundary


@compiled
def _polynomial(coefficients: Floats, x: float) -> float:
    value = 0.0
    for k in range(TERMS - 1, -1, -1):
        value = value * x + coefficients[k]
    return value


@compiled
def offset(m: float, T: float, table: Floats) -> float:
    """Gittins offset g(m, T) for unit noise, from a table of `ocucb.gittins.surrogate`.

    m and T are whole numbers of any numeric type. With m <= 1 round left the offset is 0;
    beyond the table's horizon (m + T > horizon + 1) the result is nan.

    Parameters
    ----------
    m : int
        Rounds left, including the current one.
    T : int
        Number of times the arm has been pulled, at least 1.
    table : numpy.ndarray
        From `surrogate`.

    Examples
    --------
    >>> from ocucb import gittins
    >>> round(gittins.offset(10, 10, gittins.surrogate(100)), 6)
    0.123035
    """
    if m <= 1.0:
        return 0.0
    diagonal = m + T
    if diagonal <= EXACT:
        d = int(diagonal)
        stored: float = table[HEADER + (d - 2) * (d - 1) // 2 + int(m) - 1]
        return stored
    if not diagonal <= table[0]:
        return math.nan
    place = (math.log(diagonal) - _LOG_EXACT) * (1.0 / LOG_STEP)
    cell = int(place)
    x = place - cell - 0.5
    columns = int(table[1])
    start = CELLS + TERMS * (2 * ROWS + columns) * cell
    if T <= ROWS:
        row = start + TERMS * (int(T) - 1)
        scaled = _polynomial(table[row : row + TERMS], x)
    elif m <= ROWS:
        row = start + TERMS * (ROWS + int(m) - 1)
        scaled = _polynomial(table[row : row + TERMS], x)
    else:
        place = math.log(m / T) * (1.0 / RATIO_STEP) + 0.5 * (columns - 1)
        column = int(place)
        # Lagrange's formula on six equidistant points; p ... u are the distances to them.
        r = place - column
        p, q, s, t, u = r + 2.0, r + 1.0, r - 1.0, r - 2.0, r - 3.0
        pq, rs, tu = p * q, r * s, t * u
        w0 = -q * rs * tu
        w1 = 5.0 * p * rs * tu
        w2 = -10.0 * pq * s * tu
        w3 = 10.0 * pq * r * tu
        w4 = -5.0 * pq * rs * u
        w5 = pq * rs * t
        row = start + TERMS * (2 * ROWS + column - 2)
        # A view, so that every index below is a constant and needs no check for negative values.
        c = table[row : row + 6 * TERMS]
        scaled = 0.0
        for k in range(TERMS - 1, -1, -1):
            left = w0 * c[k] + w1 * c[k + TERMS] + w2 * c[k + 2 * TERMS]
            right = w3 * c[k + 3 * TERMS] + w4 * c[k + 4 * TERMS] + w5 * c[k + 5 * TERMS]
            scaled = scaled * x + (left + right)
        scaled /= 120.0
    return scaled * math.sqrt((m - 1.0) / (T * (diagonal - 1.0)))


@compiled
def offsets(m: Floats, T: Floats, table: Floats, out: Floats) -> None:
    """Write offset(m[i], T[i], table) into out[i]."""
    for i in range(m.size):
        out[i] = offset(m[i], T[i], table)
