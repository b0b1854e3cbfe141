"""Control variates: means corrected by how far what is known misses its mean.

Each point of a curve has `TERMS` numbers per run, all times the run's weight w: the regret, and
control variates, whose means are `KNOWN`: w itself, whose mean is 1, and others with the mean 0,
such as the noise of the arms (their *luck*). How far the sample means of the control variates miss
these values tells much about how far that of the regret misses its own, which linear regression
corrects. The coefficients come from the same runs; this biases estimates by about one part in
sqrt(N) of a standard error, and widens the error, which allows for it.

See Lavenberg and Welch (1981), A perspective on the use of control variables to increase the
efficiency of Monte Carlo simulations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import Floats

TERMS = 6
KNOWN = np.array([1.0, 0.0, 0.0, 0.0, 0.0])  # the means of all but the first
PAIRS = TERMS * (TERMS + 1) // 2
FEWEST_FITTED = 64  # runs: with fewer, fitted coefficients do more harm than good
_COLLINEAR = 1e-9  # share of a control variate that the others must leave
_ROWS, _COLUMNS = np.tril_indices(TERMS)


class Curve(NamedTuple):
    """Mean regret at some points, with standard errors, and whether these are corrected."""

    regret: Floats
    stderr: Floats
    corrected: bool


def packed(products: Floats) -> Floats:
    """Return the lower triangles of matrices, a row each."""
    triangles: Floats = products[..., _ROWS, _COLUMNS]
    return triangles


def unpacked(triangles: Floats) -> Floats:
    """Return the symmetric matrices that rows of `PAIRS` numbers stand for."""
    products = np.empty((len(triangles), TERMS, TERMS))
    products[:, _ROWS, _COLUMNS] = products[:, _COLUMNS, _ROWS] = triangles
    return products


def plain(runs: Floats, means: Floats, triangles: Floats) -> tuple[Floats, Floats]:
    """Return the mean regret at each point, as it is, and its standard error.

    `runs`, `means` and summed products of deviations, `triangles`, have a row for each point.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        errors: Floats = np.sqrt(np.maximum(triangles[:, 0], 0.0) / (runs - 1.0) / runs)
    return means[:, 0], errors


def corrected(runs: Floats, means: Floats, triangles: Floats) -> tuple[Floats, Floats]:
    """Return the mean regret at each point, corrected, and its standard error."""
    products = unpacked(triangles)
    with_regret, missed = products[:, 1:, 0], means[:, 1:] - KNOWN
    fits, used = fitted(products[:, 1:, 1:], np.stack([with_regret, missed], axis=2))
    values = means[:, 0] - (fits[:, :, 0] * missed).sum(axis=1)
    left = products[:, 0, 0] - (fits[:, :, 0] * with_regret).sum(axis=1)
    # the fitted plane is less certain the farther away from the sample means it is read
    leverage = (fits[:, :, 1] * missed).sum(axis=1)
    errors: Floats = np.sqrt(
        np.maximum(left, 0.0) / (runs - 1.0 - used) * (1.0 / runs + np.maximum(leverage, 0.0))
    )
    return values, errors


def coefficients(triangles: Floats) -> Floats:
    """Return the coefficients of the control variates, a row for each point."""
    products = unpacked(triangles)
    fits, _ = fitted(products[:, 1:, 1:], products[:, 1:, :1])
    return fits[:, :, 0]


def curve(runs: Floats, means: Floats, triangles: Floats, unseen: Floats) -> Curve:
    """Return the mean regret at each point, corrected if that is more precise at the last.

    `unseen` is the standard error owing to failures that no run has shown. What common runs vary
    by may hide it; once luck explains that, it does not, so the corrected error includes it.
    """
    values, errors = plain(runs, means, triangles)
    if float(runs.min()) < FEWEST_FITTED:
        return Curve(values, errors, False)
    better, its_errors = corrected(runs, means, triangles)
    its_errors = np.where(errors > 0.0, np.hypot(its_errors, unseen), 0.0)
    if its_errors[-1] < errors[-1]:
        return Curve(better, its_errors, True)
    return Curve(values, errors, False)


def fitted(square: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Solve ``square[point] @ fit = right[point]``; also return how many coefficients are used.

    Gauss-Jordan elimination, element by element, so that bits do not depend on threads as they do
    with LAPACK. What the control variates before it explain is left out.
    """
    square, right = square.copy(), right.copy()
    size = right.shape[1]
    scale = square[:, range(size), range(size)]
    used = np.zeros(len(right))
    for k in range(size):
        pivot = square[:, k, k]
        good = pivot > _COLLINEAR * scale[:, k]
        used += good
        safe = np.where(good, pivot, 1.0)
        row = np.where(good[:, None], square[:, k] / safe[:, None], 0.0)
        values = np.where(good[:, None], right[:, k] / safe[:, None], 0.0)
        column = square[:, :, k].copy()
        square -= column[:, :, None] * row[:, None, :]
        right -= column[:, :, None] * values[:, None, :]
        square[:, k], right[:, k] = row, values
        square[~good, :, k] = 0.0
    return right, used
