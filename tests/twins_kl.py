"""Slow and obvious twins of divergences of rewards in [0, 1], what is made of them, and draws."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isclose, log
from typing import Any

from ocucb.random import below, uniform


def bernoulli_kl(p: float, q: float) -> float:
    def part(x: float, y: float) -> float:
        return 0.0 if x == 0 else inf if y == 0 else x * log(x / y)

    return part(p, q) + part(1 - p, 1 - q)


def kl_index(budget: Callable[..., float]) -> Callable[..., float]:
    """Return the largest q with T * kl(mean, q) <= budget, by bisection."""

    def index(mean: float, T: float, t: float, n: float, K: int, sigma: float, **p: float) -> float:
        return varied(mean, mean * (1 - mean), T, t, n, K, sigma, **p)

    def varied(
        mean: float, V: float, T: float, t: float, n: float, K: int, sigma: float, **p: float
    ) -> float:
        most = budget(T, t, n, K, **p)
        low, high = mean, 1.0
        if most <= 0 or mean == 1:
            return mean
        for _ in range(60):
            middle = (low + high) / 2
            near = T * least_divergence(mean, V, middle) <= most
            low, high = (middle, high) if near else (low, middle)
        return low

    index.varied = varied  # type: ignore[attr-defined]
    return index


def least_divergence(mean: float, V: float, q: float) -> float:
    """Return the divergence from the mean q of rewards that are a or 1, with this mean and V."""
    a = 0.0 if mean * (1 - mean) == V else max(0.0, mean - V / (1 - mean))
    p = (mean - a) / (1 - a)
    return bernoulli_kl(p if p > 1e-12 else 0.0, (q - a) / (1 - a))


def draw(weights: list[float], stream: Any) -> int:
    """Return a place with probability proportional to its weight."""
    place = uniform(stream) * sum(weights)
    for i, weight in enumerate(weights):
        place -= weight
        if place < 0:
            return i
    return max(i for i, weight in enumerate(weights) if weight > 0)


def argmax(values: list[float], stream: Any) -> int:
    """Return the place of the largest, drawn where several are."""
    best = max(values)
    tied = [i for i, value in enumerate(values) if value == best]
    return tied[0] if len(tied) == 1 else tied[below(stream, len(tied))]


def level_ties(found: list[float]) -> list[float]:
    """Different pulls and successes may have the same value, but not the same digits."""
    best = max(found)
    near = [isclose(x, best, rel_tol=1e-12, abs_tol=1e-12) for x in found]
    return [best if tied else one for one, tied in zip(found, near, strict=True)]


class UnitIMED:
    """Smallest T * kl(mean, best mean) + log T, for rewards of 0 and 1."""

    def __init__(self, K: int, n: int) -> None:
        self.K = K

    def divergence(self, mean: float, best: float, sigma: float) -> float:
        return bernoulli_kl(mean, best)

    def values(self, T: list[int], S: list[float], sigma: float) -> list[float]:
        means = [s / pulls for s, pulls in zip(S, T, strict=True)]
        found = [
            -(pulls * self.divergence(mean, max(means), sigma) + log(pulls))
            for mean, pulls in zip(means, T, strict=True)
        ]
        return level_ties(found)

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        return argmax(self.values(T, S, sigma), stream)


class VariedIMED(UnitIMED):
    def choose(  # type: ignore[override]
        self, t: int, T: list[int], S: list[float], V: list[float], sigma: float, stream: Any
    ) -> int:
        means = [s / pulls for s, pulls in zip(S, T, strict=True)]
        found = [
            -(T[i] * least_divergence(means[i], V[i], max(means)) + log(T[i]))
            for i in range(self.K)
        ]
        return argmax(level_ties(found), stream)
