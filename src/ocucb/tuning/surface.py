"""What was measured, smoothed: log regret as a quadratic function of a few parameters.

Each surface is fitted by the equations of a gamma regression with a logarithmic link,

    sum over trials of runs * (measured / fitted - 1) * feature = 0   for every feature.

They are linear in what was measured, so a fit is not biased by the long tail of a regret that is
mostly small: a mean of logarithms would flatter policies that rarely fail. For the same reason a
trial's weight is its number of runs rather than its own error bar, which is smallest where a
failure happened not to be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from .._types import Floats

_STEPS = 50  # of Fisher scoring; a few suffice
_LARGEST_STEP = 2.0  # of log regret
_SMALL = 1e-9  # the last one
_RIDGE = 1e-9  # relative; where whole numbers leave too few points, the fit is the flattest one
_REACH = 1.5  # how far from the centre trials count, in widths


@dataclass(frozen=True)
class Surface:
    """A quadratic function around a point: the logarithm of a regret, and its standard error."""

    centre: Floats
    width: float
    coefficients: Floats
    covariance: Floats

    def at(self, places: Floats) -> Floats:
        """Return the logarithm of the regret at some points, one in each row."""
        logs: Floats = (self._features(places) * self.coefficients).sum(axis=1)
        return logs

    def errors(self, places: Floats) -> Floats:
        """Return its standard errors, as the scatter of trials around the fit has them."""
        rows = self._features(places)
        variances = np.einsum("ij,jk,ik->i", rows, self.covariance, rows)
        errors: Floats = np.sqrt(np.maximum(variances, 0.0))
        return errors

    def _features(self, places: Floats) -> Floats:
        return _features((places - self.centre) / self.width)


def fitted(places: Floats, values: Floats, runs: Floats, centre: Floats, width: float) -> Surface:
    """Fit a surface to positive values at some points, with weights that fall with the distance.

    Trials count fully at the centre, and not at all from `_REACH` widths on.
    """
    far = np.abs(places - centre).max(axis=1) / (_REACH * width)
    kernel = np.maximum(1.0 - far**3, 0.0) ** 3
    used = kernel > 0.0
    places, values, runs, kernel = places[used], values[used], runs[used], kernel[used]
    rows = _features((places - centre) / width)
    weights = runs * kernel
    square = _products(rows, weights)
    square += _RIDGE * weights.sum() * np.eye(rows.shape[1])
    coefficients: Floats = np.zeros(rows.shape[1])
    coefficients[0] = np.log((weights * values).sum() / weights.sum())
    for _ in range(_STEPS):
        left = values * np.exp(-(rows * coefficients).sum(axis=1)) - 1.0
        step = np.linalg.solve(square, (rows * (weights * left)[:, None]).sum(axis=0))
        largest = float(np.abs((rows * step).sum(axis=1)).max())
        coefficients = coefficients + step * min(1.0, _LARGEST_STEP / max(largest, 1e-300))
        if largest < _SMALL:
            break
    left = values * np.exp(-(rows * coefficients).sum(axis=1)) - 1.0
    count = kernel.sum() ** 2 / (kernel**2).sum()
    noise = (weights * left**2).sum() / kernel.sum() * count / max(1.0, count - rows.shape[1])
    inverse = np.linalg.inv(square)
    covariance = inverse @ (_products(rows, runs * kernel**2) * noise) @ inverse
    return Surface(centre, width, coefficients, covariance)


def _products(rows: Floats, weights: Floats) -> Floats:
    products: Floats = (rows[:, :, None] * rows[:, None, :] * weights[:, None, None]).sum(axis=0)
    return products


def least(dimension: int) -> int:
    """Return the number of coefficients of a surface.

    >>> least(1), least(2)
    (3, 6)
    """
    return (dimension + 1) * (dimension + 2) // 2


def _features(x: Floats) -> Floats:
    """Return 1, the coordinates and their products, one row for each point."""
    pairs = combinations_with_replacement(range(x.shape[1]), 2)
    columns = [np.ones(len(x)), *x.T, *(x[:, i] * x[:, j] for i, j in pairs)]
    return np.stack(columns, axis=1)
