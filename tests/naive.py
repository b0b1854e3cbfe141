"""Slow and obvious twins of the compiled policies: plain Python, every arm in every round.

They share the random number generator with the library and nothing else: the formulae are written
down again, from the paper.
"""

from __future__ import annotations

from math import ceil, e, log, sqrt
from typing import Any

import numpy as np

from ocucb import gittins
from ocucb.policies import Policy
from ocucb.problems import Problem
from ocucb.random import CHOICES, REWARDS, below, normal, start_stream, uniform


def bonus(name: str, T: float, t: int, n: int, K: int, p: dict[str, float]) -> float:
    if name == "ocucb":
        return sqrt(p["alpha"] / T * log(p["psi"] * n / t))
    if name == "aocucb":
        return sqrt(2 / T * log(n / T))
    if name == "ucb":
        return sqrt(p["constant"] / T * log(t))
    if name == "moss":
        return sqrt(p["constant"] / T * log(max(1.0, n / (T * K))))
    if name == "gittins":
        return gittins.offset(n - t + 1.0, float(T), gittins.surrogate(n))
    if name == "gittins-approx":
        M = n - t
        if M <= 1 or M <= T:
            return 0.0
        beta = min(M / (4 * log(M) ** 1.5), M / (4 * T * sqrt(log(M / T))))
        return sqrt(2 / T * log(max(1.0, beta)))
    raise KeyError(name)


def argmax(values: list[float], stream: Any) -> int:
    best = max(values)
    tied = [i for i, value in enumerate(values) if value == best]
    return tied[0] if len(tied) == 1 else tied[below(stream, len(tied))]


class ImprovedUCB:
    """Auer and Ortner's phases, with the set of active arms kept as a set."""

    def __init__(self, K: int, n: int) -> None:
        self.active = set(range(K))
        self.phase = 0
        self.n = n

    def choose(self, means: list[float], T: list[int], sigma: float, stream: Any) -> int:
        while True:
            if len(self.active) == 1:
                return next(iter(self.active))
            d = 0.5**self.phase
            if self.n * d * d < e:
                worst = min(means) - 1
                left = [m if i in self.active else worst for i, m in enumerate(means)]
                return argmax([m / (2 * sigma) for m in left], stream)
            target = ceil(2 * log(self.n * d * d) / (d * d))
            behind = [i for i in sorted(self.active) if T[i] < target]
            if behind:
                return min(behind, key=lambda i: (T[i], i))
            w = sqrt(log(self.n * d * d) / (2 * target))
            scaled = {i: means[i] / (2 * sigma) for i in self.active}
            top = max(scaled.values()) - w
            self.active = {i for i in self.active if not scaled[i] + w < top}
            self.phase += 1


def play(
    policy: Policy, problem: Problem, n: int, key: np.ndarray, run: int
) -> tuple[list[int], list[float]]:
    """Return the arms that the policy plays in one run, and the rewards that it gets."""
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    start_stream(rewards, key, run, REWARDS)
    start_stream(choices, key, run, CHOICES)
    K, sigma, name, p = problem.arms, problem.sigma, policy.family.name, policy.parameters
    T = [0] * K
    S = [0.0] * K
    improved = ImprovedUCB(K, n)
    committed = None
    arms: list[int] = []
    gains: list[float] = []
    for t in range(1, n + 1):
        means = [S[i] / T[i] for i in range(K)] if t > K else []
        if t <= K:
            arm = t - 1
        elif name == "thompson":
            arm = argmax([m + sigma / sqrt(T[i]) * normal(choices) for i, m in enumerate(means)], 0)
        elif name == "uniform":
            arm = below(choices, K)
        elif name == "epsilon-greedy":
            explore = uniform(choices) < p["epsilon"]
            arm = below(choices, K) if explore else argmax(means, choices)
        elif name == "explore-then-commit":
            if t <= p["m"] * K:
                arm = (t - 1) % K
            else:
                committed = argmax(means, choices) if committed is None else committed
                arm = committed
        elif name == "bernoulli-gittins":
            left = float(n - t + 1)
            table = gittins.bernoulli_surrogate(n)
            indices = [gittins.bernoulli_index(left, S[i], T[i] - S[i], table) for i in range(K)]
            arm = argmax(indices, choices)
        elif name == "improved-ucb":
            arm = improved.choose(means, T, sigma, choices)
        else:
            indices = [m + sigma * bonus(name, T[i], t, n, K, p) for i, m in enumerate(means)]
            arm = argmax(indices, choices)
        reward = problem.noise.draw(problem.means[arm], problem.scales[arm], rewards)
        T[arm] += 1
        S[arm] += reward
        arms.append(arm)
        gains.append(reward)
    return arms, gains
