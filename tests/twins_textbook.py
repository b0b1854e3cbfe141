"""Slow twins of the policies of textbooks."""

from __future__ import annotations

from math import e, exp, log, sqrt
from typing import Any

from ocucb.random import below, uniform
from policy_entries import entry
from twins_kl import argmax, draw


@entry("ucb1", skips=True, like="ucb", by_hand={"ucb1": sqrt(8 / 4 * log(100))})
def ucb1_bonus(T: float, t: float, n: float, K: int) -> float:
    return 2 * sqrt(2 * log(t) / T)


@entry("softmax:temperature=0.3")
class Softmax:
    def __init__(self, K: int, n: int, temperature: float) -> None:
        self.temperature = temperature

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        means = [s / pulls for s, pulls in zip(S, T, strict=True)]
        return draw([exp((mean - max(means)) / self.temperature) for mean in means], stream)


class Told:
    """A policy that is told what each arm paid since the last call."""

    def __init__(self, K: int) -> None:
        self.K, self.T, self.S = K, [0] * K, [0.0] * K

    def news(self, T: list[int], S: list[float]) -> list[tuple[int, float]]:
        news = [(T[i] - self.T[i], S[i] - self.S[i]) for i in range(self.K)]
        self.T, self.S = list(T), list(S)
        return news


@entry("gradient", "gradient:step=0.4")
class Gradient(Told):
    def __init__(self, K: int, n: int, step: float) -> None:
        super().__init__(K)
        self.step, self.H, self.chances = step, [0.0] * K, [1 / K] * K

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        before = sum(self.S) / sum(self.T) if sum(self.T) else None
        for arm, (pulls, paid) in enumerate(self.news(T, S)):
            if before is None:
                continue
            for i in range(self.K):
                mine = (1 if i == arm else 0) - self.chances[i]
                self.H[i] += self.step * (paid - pulls * before) * mine
        weights = [exp(H - max(self.H)) for H in self.H]
        self.chances = [weight / sum(weights) for weight in weights]
        return draw(self.chances, stream)


@entry("optimistic", "optimistic:start=1,step=0.5")
class Optimistic(Told):
    def __init__(self, K: int, n: int, start: float, step: float) -> None:
        super().__init__(K)
        self.step, self.Q = step, [start] * K

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        for arm, (pulls, paid) in enumerate(self.news(T, S)):
            for _ in range(pulls):
                self.Q[arm] += self.step * (paid / pulls - self.Q[arm])
        return argmax(self.Q, stream)


@entry("decaying-epsilon", "decaying-epsilon:c=0.5")
class DecayingEpsilon:
    def __init__(self, K: int, n: int, c: float) -> None:
        self.K, self.c = K, c

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        if uniform(stream) < min(1, self.c * self.K / t):
            return below(stream, self.K)
        return argmax([s / pulls for s, pulls in zip(S, T, strict=True)], stream)


class UnitEXP3(Told):
    least: float | None = 0.0

    def __init__(self, K: int, n: int, gamma: float) -> None:
        super().__init__(K)
        self.gamma = gamma or min(1, sqrt(K * log(K) / ((e - 1) * n)))
        self.G, self.chances = [0.0] * K, [0.0] * K

    def choose(self, t: int, T: list[int], S: list[float], sigma: float, stream: Any) -> int:
        if self.least is None:
            self.least = sum(S) / sum(T) - sigma
        for arm, (pulls, paid) in enumerate(self.news(T, S)):
            if self.chances[arm]:
                self.G[arm] += (paid - pulls * self.least) / (2 * sigma) / self.chances[arm]
        weights = [exp(self.gamma * (G - max(self.G)) / self.K) for G in self.G]
        self.chances = [
            (1 - self.gamma) * weight / sum(weights) + self.gamma / self.K for weight in weights
        ]
        return draw(self.chances, stream)


@entry("exp3", "exp3:gamma=0.3", unit=UnitEXP3)
class EXP3(UnitEXP3):
    least = None
