"""Backward passes over whole diagonals, and the table built from them; Gaussian rewards.

docs/gittins.md explains the mathematics. This module precomputes the ladder of smoothing matrices
that a pass climbs, and packs a few diagonals into one table.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from .._compile import cores
from .._types import Floats
from ._kernels import EXACT, HEADER, LOG_STEP, RATIO_STEP, ROWS, TERMS, backward_pass
from ._numerics import (
    chebyshev_coefficients,
    chebyshev_sums,
    gauss_legendre,
    lagrange_weights,
    polynomials,
    product,
)

_NODES = 64
_COEFFICIENTS = 60
_QUADRATURE = 64
_SHORTEST = 6.0  # the ladder of lengths, in deviations of one step
_RUNG_RATIO = 1.15


def build(cells: int) -> Floats:
    """Compute the packed table with `cells` cells in log d beyond the exact diagonals."""
    behind = TERMS // 2 - 1  # diagonals below EXACT that the first cell's polynomial uses
    nodes = [round(EXACT * math.exp(LOG_STEP * k)) for k in range(-behind, cells + 1)]
    last = math.floor(EXACT * math.exp(LOG_STEP * cells))
    # The grid in log(m / T) serves T > ROWS and m > ROWS, with two points to spare at each end.
    half = math.ceil(math.log(last / ROWS) / RATIO_STEP) + 2
    ratios: Floats = RATIO_STEP * np.arange(-half, half + 1, dtype=np.float64)
    rungs = ladder(nodes[-1])

    def exact(d: int) -> Floats:
        return diagonal(d, rungs)

    def column(d: int) -> Floats:
        return _column(diagonal(d, rungs), ratios)

    with ThreadPoolExecutor(cores()) as pool:
        # Longest first, so that no thread is still busy with it when the others are done.
        columns = np.array(list(pool.map(column, reversed(nodes)))[::-1])
        head = np.concatenate(list(pool.map(exact, range(2, EXACT + 1))))

    header = np.zeros(HEADER)
    header[:2] = last, ratios.size
    positions = np.log(np.array(nodes) / EXACT) / LOG_STEP
    body = np.empty((cells, 2 * ROWS + ratios.size, TERMS))
    for cell in range(cells):
        first = min(cell, len(nodes) - TERMS)
        window = slice(first, first + TERMS)
        body[cell] = polynomials(positions[window] - (cell + 0.5), columns[window]).T
    return np.concatenate([header, head, body.ravel()])


def _column(g: Floats, ratios: Floats) -> Floats:
    """Return a diagonal's scaled offsets at T = 1 ... ROWS, m = 1 ... ROWS and given log(m/T)."""
    scaled = by_deviation(g)
    return np.concatenate([scaled[: -ROWS - 1 : -1], scaled[:ROWS], along(scaled, ratios)])


def by_deviation(g: Floats) -> Floats:
    """Return the offsets of one diagonal divided by the deviation still to be learnt."""
    d = g.size + 1
    m = np.arange(1, d)
    # At m = 1, offset and deviation are both 0; the entry is never read, only kept finite.
    scaled: Floats = g / np.sqrt(np.maximum(m - 1, 0.5) / ((d - m) * (d - 1.0)))
    return scaled


def along(scaled: Floats, ratios: Floats) -> Floats:
    """Interpolate one diagonal at log(m/T) = ratios, from the ten nearest whole m.

    A ratio beyond the ends of the diagonal gets the nearest value.
    """
    d = scaled.size + 1
    points = 10
    wanted = d / (1.0 + np.exp(-ratios))
    start = np.clip(np.floor(wanted).astype(int) - points // 2 + 1, 2, d - points)
    around = start + np.arange(points)[:, None]
    x = np.log(around / (d - around))
    weights = lagrange_weights(x, np.clip(ratios, x[0], x[-1]))
    out = np.zeros(ratios.size)
    for j in range(points):
        out += weights[j] * scaled[around[j] - 1]
    return out


def diagonal(d: int, rungs: tuple[Floats, Floats, Floats] | None = None) -> Floats:
    """Return g(m, d - m) for m = 1 ... d - 1; `rungs` is the `ladder` of this or a larger d."""
    out = np.empty(d - 1)
    backward_pass(d, *(rungs or ladder(d)), out)
    if not np.all(np.diff(out) > 0):
        raise ArithmeticError(f"the backward pass over the diagonal m + T = {d} broke down.")
    return out


def ladder(d: int) -> tuple[Floats, Floats, Floats]:
    """Return the matrices, nodes and dimensions of the rungs that diagonals up to d need."""
    # The longest reach is near T = d/2, where it stays below 4.4 sqrt(d).
    longest = 20.0 + 4.4 * math.sqrt(d)
    count = math.ceil(math.log(longest / _SHORTEST) / math.log(_RUNG_RATIO)) + 1
    matrices, nodes, dimensions = zip(*map(_rung, range(count)), strict=True)
    return np.array(matrices), np.array(nodes), np.array(dimensions)


@cache
def _rung(rung: int) -> tuple[Floats, Floats, tuple[float, float, float, float]]:
    """Return the smoothing matrix, nodes and dimensions of one rung, for `backward_pass`."""
    from scipy.special import ndtr  # here, since it takes as long to import as the whole package

    unit, to_coefficients, abscissae, weights = _points()
    length = _SHORTEST * _RUNG_RATIO**rung
    # The boundary moves by less than the margin in one step, and moves far only while T, hence
    # length, is small. A tight margin puts the dense end of the points at the boundary.
    margin = min(3.0, max(0.6, 36.0 / length))
    stretch = max(6.0, length / 200.0)
    extent = math.log1p((length + margin) / stretch)
    places = stretch * np.expm1(extent * unit) - margin

    # E[U(z + Z); 0 < z + Z < length] for the Chebyshev polynomials in the mapped coordinate v of
    # U, by Gauss-Legendre quadrature in v within nine deviations.
    inner = math.log1p(length / stretch)
    low = np.log1p(np.clip(places - 9.0, 0.0, length) / stretch) / inner
    high = np.log1p(np.clip(places + 9.0, 0.0, length) / stretch) / inner
    v = low + (high - low) * (1.0 + abscissae[:, None]) / 2.0
    z = stretch * np.expm1(inner * v)
    density = np.exp(-0.5 * (z - places) ** 2) / math.sqrt(2.0 * math.pi)
    mass = density * inner * (z + stretch) * (high - low) / 2.0 * weights[:, None]
    right = product(chebyshev_sums(2.0 * v - 1.0, mass, _NODES).T, to_coefficients)

    # E[1; z + Z < 0] and E[z + Z; z + Z < 0] multiply the intercept and the slope of the line.
    below = ndtr(-places)
    moment = places * below - np.exp(-0.5 * places**2) / math.sqrt(2.0 * math.pi)
    maps = product(to_coefficients[:_COEFFICIENTS], np.column_stack([right, below, moment]))
    return maps.T, stretch * np.expm1(inner * unit), (length, margin, stretch, 2.0 / extent)


@cache
def _points() -> tuple[Floats, Floats, Floats, Floats]:
    """Return what all rungs share: Chebyshev points on (0, 1) and the map from values there to
    coefficients; nodes and weights of Gauss-Legendre quadrature on (-1, 1).
    """
    unit = (1.0 - np.cos(np.pi * np.arange(_NODES) / (_NODES - 1))) / 2.0
    return unit, chebyshev_coefficients(_NODES), *gauss_legendre(_QUADRATURE)
