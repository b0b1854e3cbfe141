"""Slow and obvious twins of the policies with a rule to stop."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

from ocucb.random import beta, normal, uniform
from policy_entries import entry
from twins_kl import argmax, bernoulli_kl, kl_index, level_ties

_upper = kl_index(lambda T, t, n, K, budget: budget)


def means_of(T: list[int], S: list[float]) -> list[float]:
    return [s / pulls for s, pulls in zip(S, T, strict=True)]


class Stopping:
    """Whoever has decided plays one arm."""

    unit = False

    def __init__(self, K: int, n: int, delta: float) -> None:
        self.K, self.delta = K, delta
        self.decision: int | None = None
        self.stopped = 0
        self.begin()

    def begin(self) -> None:
        """Prepare what the policy remembers."""

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        if self.decision is None:
            arm = self.next(t, T, S, sigma, stream)
            if self.decision is None:
                return arm
            self.stopped = t - 1
        return self.decision

    def bounds(self, mean: float, T: int, level: float, sigma: float) -> tuple[float, float]:
        if self.unit:
            args = (T, 0, 0, self.K, sigma)
            upper = min(_upper(mean, *args, budget=level), 1 - 1e-9)
            return 1 - _upper(1 - mean, *args, budget=level), upper
        width = sigma * sqrt(2 * level / T)
        return mean - width, mean + width


class Elimination(Stopping):
    def begin(self) -> None:
        self.active = list(range(self.K))

    def next(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        counts = [T[i] for i in self.active]
        if min(counts) == max(counts):
            level, means = log(2 * self.K * counts[0] ** 2 / self.delta), means_of(T, S)
            found = {i: self.bounds(means[i], T[i], level, sigma) for i in self.active}
            highest = max(low for low, _ in found.values())
            self.active = [i for i in self.active if not found[i][1] < highest]
            if len(self.active) == 1:
                self.decision = self.active[0]
        return min(self.active, key=lambda i: (T[i], i))


class UnitElimination(Elimination):
    unit = True


class Pairs(Stopping):
    def begin(self) -> None:
        self.waiting: int | None = None

    def next(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        if self.waiting is not None:
            arm, self.waiting = self.waiting, None
            return arm
        level, means = log(2 * self.K * (t - 1) ** 2 / self.delta), means_of(T, S)
        found = [self.bounds(mean, T[i], level, sigma) for i, mean in enumerate(means)]
        leader = argmax(means, stream)
        uppers = [high if i != leader else -1e300 for i, (_, high) in enumerate(found)]
        rival = argmax(uppers, stream)
        if self.K == 1 or found[leader][0] > uppers[rival]:
            self.decision = leader
        self.waiting = rival
        return leader


class UnitPairs(Pairs):
    unit = True


class TopTwo(Stopping):
    def surely(self, T: list[int], means: list[float], a: int, b: int, t: int, s: float) -> bool:
        """Tell whether arm a is better than arm b: by mixtures of likelihood ratios."""
        (x, y), gap = (T[a], T[b]), (means[a] - means[b]) / s
        evidence = gap**2 / 2 / ((x + 1) / x**2 + (y + 1) / y**2)
        return evidence > log((self.K - 1) * sqrt((1 + x) * (1 + y)) / self.delta)

    def cost(self, T: list[int], means: list[float], a: int, b: int) -> float:
        return max(0.0, means[a] - means[b]) ** 2 / (1 / T[a] + 1 / T[b])

    def sample(self, T: int, S: float, sigma: float, stream: Any) -> float:
        return S / T + sigma * normal(stream) / sqrt(T)

    def next(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        means = means_of(T, S)
        best = argmax(means, stream)
        if all(self.surely(T, means, best, i, t, sigma) for i in range(self.K) if i != best):
            self.decision = best
            return best
        leader = argmax([self.sample(T[i], S[i], sigma, stream) for i in range(self.K)], stream)
        if uniform(stream) < 0.5:
            return leader
        costs = [-self.cost(T, means, leader, i) for i in range(self.K)]
        costs[leader] = -1e300
        found = level_ties(costs)
        return found.index(max(found))


class UnitTopTwo(TopTwo):
    def surely(self, T: list[int], means: list[float], a: int, b: int, t: int, s: float) -> bool:
        """Tell the same by the likelihood ratio of rewards of 0 and 1."""
        return self.cost(T, means, a, b) > log(2 * (t - 1) * (self.K - 1) / self.delta)

    def cost(self, T: list[int], means: list[float], a: int, b: int) -> float:
        if means[a] <= means[b]:
            return 0.0
        both = (means[a] * T[a] + means[b] * T[b]) / (T[a] + T[b])
        return T[a] * bernoulli_kl(means[a], both) + T[b] * bernoulli_kl(means[b], both)

    def sample(self, T: int, S: float, sigma: float, stream: Any) -> float:
        return beta(stream, 1.0 + S, 1.0 + T - S)


for name, twin, unit_twin in (
    ("successive-elimination", Elimination, UnitElimination),
    ("lucb", Pairs, UnitPairs),
    ("top-two-thompson", TopTwo, UnitTopTwo),
):
    entry(f"{name}:delta=0.05", f"{name}:delta=0.9", unit=unit_twin, logarithmic=False)(twin)
