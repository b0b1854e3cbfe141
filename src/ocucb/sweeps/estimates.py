"""From sums over runs to curves: control variates are fitted, batches left out one by one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .._types import Floats
from ..pooling import KNOWN, TERMS
from ..results import Estimate
from ..results.control_variates import fitted

BATCHES = 32
_STUDENT = 2.0395  # the quantile of 97.5% with 31 degrees of freedom


def curve_of(sums: Floats) -> tuple[Floats, Floats]:
    """Return the mean regret at each point and its standard error, from a row of sums each.

    The coefficients of the control variates are fitted to the same runs: the error allows for it.
    """
    runs = sums[:, 0]
    means = sums[:, 1 : 1 + TERMS] / runs[:, None]
    rows, columns = np.tril_indices(TERMS)
    products = np.empty((len(sums), TERMS, TERMS))
    products[:, rows, columns] = products[:, columns, rows] = sums[:, 1 + TERMS :]
    fits, used = fitted(products[:, 1:, 1:], products[:, 1:, :1])
    slopes = fits[:, :, 0]
    values = means[:, 0] - (slopes * (means[:, 1:] - KNOWN)).sum(axis=1)
    left = products[:, 0, 0] - (slopes * products[:, 1:, 0]).sum(axis=1)
    return values, np.sqrt(np.maximum(left, 0.0) / (runs - 1.0 - used) / runs)


def left_out(batches: Floats) -> Floats:
    """Return the curve without each of the batches, from ``batches[batch, point]`` of sums."""
    total = batches.sum(axis=0)
    return np.stack([curve_of(total - batch)[0] for batch in batches])


def jackknife(statistic: Callable[..., float], *curves: tuple[Floats, Floats]) -> Estimate:
    """Return a statistic of curves, with its standard error by the jackknife over half-samples.

    Each curve comes with its versions without a batch, which say what each batch adds to it. Of a
    half-sample, 16 batches count twice and the others not at all; those of `_SIGNS` and their
    complements are balanced. For a linear statistic this is the ordinary jackknife. But there,
    curves hardly move, whereas half-samples lie a standard error away: as far as the truth does. So
    a statistic that is not linear, such as where a maximum is, has an honest error, too. If it
    moves further to one side than to the other, the error is that of the wider side. Two errors are
    a quantile of Student's distribution, since there are few batches.

    Streams of different policies are independent, and so are batches, so half-samples with the
    same batches of all curves do.
    """
    value = statistic(*(curve for curve, _ in curves))
    added = [(BATCHES - 1) * (out.mean(axis=0) - out) for _, out in curves]
    shifts = []
    for signs in np.concatenate([_SIGNS, -_SIGNS]):
        moves = [(signs[:, None] * batch).sum(axis=0) / BATCHES for batch in added]
        moved = (curve + move for (curve, _), move in zip(curves, moves, strict=True))
        shifts.append(statistic(*moved) - value)
    wider = max(_spread(shifts, 1.0), _spread(shifts, -1.0))
    return Estimate(value, _STUDENT / 2.0 * wider)


def _spread(shifts: list[float], side: float) -> float:
    """Return the root mean square of the shifts if those to the other side were as large."""
    squares = [shift * shift for shift in shifts if not shift * side <= 0.0]
    return math.sqrt(2.0 * math.fsum(squares) / len(shifts))


def _balanced() -> Floats:
    """Return signs of batches, a row per half-sample: Sylvester's Hadamard matrix."""
    signs: Floats = np.ones((1, 1))
    while len(signs) < BATCHES:
        signs = np.block([[signs, signs], [signs, -signs]])
    return signs[1:]  # the first counts everything


_SIGNS = _balanced()
