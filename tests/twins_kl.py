"""Slow and obvious twins of divergences of rewards in [0, 1], and of the indices they give."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log


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
