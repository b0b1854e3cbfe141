"""Vectors of numbers that users give, one for each arm, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._text import shown, to_floats
from ._types import Floats

Numbers = Sequence[float] | npt.NDArray[np.floating[Any]]

PLACE = "between -1e100 and 1e100"


def to_vector(values: Numbers | float, what: str, size: int | None = None) -> Floats:
    """Return finite numbers as a vector, or say which one is wrong."""
    vector = np.atleast_1d(to_floats(values, what, PLACE))
    if size is not None and vector.size == 1:
        vector = np.full(size, vector[0])
    if vector.ndim != 1:
        raise ValueError(f"{what} must be a list of numbers, got a {vector.ndim}-D array.")
    if size is None and vector.size < 1:
        raise ValueError(f"{what} must name at least one arm, got none.")
    if size is not None and vector.size != size:
        want = f"one number or one for each of {size} arms"
        raise ValueError(f"{what} must be {want}, got {vector.size}.")
    for i in np.flatnonzero(~np.isfinite(vector)):
        raise ValueError(f"{what} must be finite, got {vector[i]} for arm {i + 1}.")
    # Their squares must neither overflow nor vanish.
    for i in np.flatnonzero(np.abs(vector) > 1e100):
        raise ValueError(f"{what} must lie {PLACE}, got {vector[i]:g} for arm {i + 1}.")
    return vector


def to_positive(values: Numbers | float, what: str, size: int) -> Floats:
    """Return numbers greater than 0 as a vector, or say which one is wrong."""
    vector = to_vector(values, what, size)
    for i in np.flatnonzero(~(vector > 0)):
        raise ValueError(f"{what} must be greater than 0, got {vector[i]:g}.")
    for i in np.flatnonzero(vector < 1e-100):
        raise ValueError(f"{what} must be at least 1e-100, got {vector[i]:g}.")
    return vector


def to_bounds(bounds: Any, means: Floats) -> tuple[float, float]:
    """Return bounds of rewards with these means, or say what is wrong with them."""
    pair = to_floats(bounds, "bounds", PLACE)
    if pair.shape != (2,) or not -1e100 <= pair[0] < pair[1] <= 1e100:
        got = shown(bounds)
        raise ValueError(f"bounds must be two numbers {PLACE}, the lower one first, got {got}.")
    low, high = map(float, pair)
    for i in np.flatnonzero((means < low) | (means > high)):
        raise ValueError(
            f"means must lie within the bounds {low:g} and {high:g}, got {means[i]:g} for arm "
            f"{i + 1}."
        )
    return low, high
