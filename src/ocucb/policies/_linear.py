"""What policies for arms with features share: factors, samples, distances, draws."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

from .._compile import compiled, inlined
from ..random import normal, uniform


def one_per_arm_and_factor(arms: int, dimension: int) -> int:
    """Return the size of a memory for `sample_means`, after a number for each arm."""
    return arms + dimension * (dimension + 2)


def one_for_each(arms: int, dimension: int) -> int:
    """Return the size of a memory that has a number for each arm."""
    return arms


@compiled
def cholesky(matrix: Any, factor: Any, least: float) -> None:
    """Write the lower triangular factor of a positive semidefinite matrix.

    Squares on its diagonal are at least `least`, whatever rounding errors say.
    """
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = sqrt(max(least, total))
            else:
                factor[i, j] = total / factor[j, j] if factor[j, j] > 0.0 else 0.0


@compiled
def sample_means(model: Any, scale: float, values: Any, room: Any, stream: Any) -> None:
    """Write each arm's mean under weights drawn from a normal distribution around the estimate.

    Its covariance is ``scale^2`` times the inverse.
    """
    size, count = model.weights.shape[1], model.weights.shape[0]
    factor = room[: size * size].reshape(size, size)
    noise, drawn = room[size * size :][:size], room[size * size + size :][:size]
    for number in range(count):
        cholesky(model.inverse[number], factor, 0.0)
        for i in range(size):
            noise[i] = normal(stream)
        for i in range(size):
            total = 0.0
            for j in range(i + 1):
                total += factor[i, j] * noise[j]
            drawn[i] = model.weights[number, i] + scale * total
        first, last = (0, values.size) if count == 1 else (number, number + 1)
        for arm in range(first, last):
            row = min(arm, model.features.shape[0] - 1)
            values[arm] = 0.0
            for i in range(size):
                values[arm] += model.features[row, i] * drawn[i]


@inlined
def cross_norm(model: Any, one: int, other: int) -> float:
    """Return ``|x - y|`` in the norm of the inverse: in units of sigma, an error of a gap."""
    square = model.norms[one] ** 2 + model.norms[other] ** 2
    if model.weights.shape[0] == 1:  # otherwise the arms' weights are independent
        for i in range(model.weights.shape[1]):
            square -= 2.0 * model.features[one, i] * model.solved[other, i]
    return sqrt(max(0.0, square))


@inlined
def draw_by_share(shares: Any, stream: Any) -> int:
    """Return an arm, drawn with probabilities proportional to the shares."""
    total = 0.0
    for i in range(shares.size):
        total += shares[i]
    place, last = uniform(stream) * total, 0
    for i in range(shares.size):
        if shares[i] > 0.0:
            last = i
            if place < shares[i]:
                return i
        place -= shares[i]
    return last


@compiled
def invert(gram: Any, ridge: float, inverse: Any) -> float:
    """Write the inverse of ``ridge * I`` plus a positive semidefinite matrix.

    It is given that sum, which is overwritten by its factor. Returns the logarithm of its
    determinant, minus that of ``ridge * I``.
    """
    d, total = gram.shape[0], 0.0
    cholesky(gram, gram, 0.5 * ridge)  # in exact arithmetic, no square is below the ridge
    for i in range(d):
        total += log(gram[i, i] * gram[i, i] / ridge)
    for c in range(d):
        for i in range(d):
            value = 1.0 if i == c else 0.0
            for k in range(i):
                value -= gram[i, k] * inverse[k, c]
            inverse[i, c] = value / gram[i, i]
        for i in range(d - 1, -1, -1):
            value = inverse[i, c]
            for k in range(i + 1, d):
                value -= gram[k, i] * inverse[k, c]
            inverse[i, c] = value / gram[i, i]
    return total


@compiled
def weighted_inverse(x: Any, counts: Any, tiny: float, gram: Any, inverse: Any) -> None:
    """Write the inverse of ``tiny * I`` plus the sum of ``counts * x x'``."""
    d = x.shape[1]
    for i in range(d):
        for j in range(d):
            gram[i, j] = tiny if i == j else 0.0
    for arm in range(counts.size):
        if counts[arm] > 0.0:
            for i in range(d):
                scaled = counts[arm] * x[arm, i]
                for j in range(d):
                    gram[i, j] += scaled * x[arm, j]
    invert(gram, tiny, inverse)


@compiled
def square_norm(x: Any, arm: int, inverse: Any) -> float:
    """Return ``x' V^-1 x`` of an arm."""
    total = 0.0
    for i in range(x.shape[1]):
        value = 0.0
        for j in range(x.shape[1]):
            value += inverse[i, j] * x[arm, j]
        total += x[arm, i] * value
    return total


@compiled
def optimal_design(x: Any, active: Any, tiny: float, design: Any, gram: Any, inverse: Any) -> float:
    """Write a nearly G-optimal design on the active arms; return the dimension that they span.

    Frank-Wolfe steps (Todd 2016), from arms chosen one by one to be far from the span of those
    before: the support stays small. It ends once no squared norm exceeds the least possible by a
    tenth.
    """
    d = x.shape[1]
    for arm in range(design.size):
        design[arm] = 0.0
    for _ in range(d):
        weighted_inverse(x, design, tiny, gram, inverse)
        # outside the span of those before, squared norms are of the order of 1 / tiny
        best, top = -1, 1e-6 / tiny
        for arm in range(design.size):
            if active[arm] > 0.0:
                square = square_norm(x, arm, inverse)
                if square > top:
                    best, top = arm, square
        if best < 0:
            break
        design[best] = 1.0
    total = 0.0
    for arm in range(design.size):
        total += design[arm]
    rank = total
    for arm in range(design.size):
        design[arm] /= total
    for _ in range(1000):
        weighted_inverse(x, design, tiny, gram, inverse)
        best, top = -1, 0.0
        for arm in range(design.size):
            if active[arm] > 0.0:
                square = square_norm(x, arm, inverse)
                if square > top:
                    best, top = arm, square
        if top <= 1.1 * rank or top <= 1.0:
            break
        step = (top / rank - 1.0) / (top - 1.0)
        for arm in range(design.size):
            design[arm] *= 1.0 - step
        design[best] += step
    return rank
