"""Slow and obvious twins of policies for arms with features: numpy, V inverted in every round."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

import numpy as np

from ocucb.policies import Policy
from ocucb.problems import Problem
from ocucb.random import CHOICES, REWARDS, below, largest, normal, start_stream, uniform


class Models:
    """Least squares: one model for all arms, or one for each, if these share a context."""

    def __init__(self, problem: Problem, ridge: float) -> None:
        rows, d = problem.features.shape
        self.shared = rows == problem.arms
        self.V = [ridge * np.eye(d) for _ in range(1 if self.shared else problem.arms)]
        self.b = [np.zeros(d) for _ in self.V]
        self.ridge, self.d = ridge, d

    def of(self, arm: int) -> int:
        return 0 if self.shared else arm

    def x(self, features: np.ndarray, arm: int) -> np.ndarray:
        return features[arm if self.shared else 0].copy()

    def mean(self, x: np.ndarray, arm: int) -> float:
        return float(x @ np.linalg.solve(self.V[self.of(arm)], self.b[self.of(arm)]))

    def square(self, x: np.ndarray, arm: int) -> float:
        return float(x @ np.linalg.solve(self.V[self.of(arm)], x))

    def log_det(self, arm: int) -> float:
        return float(np.linalg.slogdet(self.V[self.of(arm)])[1] - self.d * log(self.ridge))


def lin_ucb(mean, norm, log_det, t, n, sigma, constant, ridge):
    return mean + sigma * constant * norm


def lin_ocucb(mean, norm, log_det, t, n, sigma, alpha, psi, ridge):
    return mean + norm * sqrt(alpha * log(psi * n / t) * sigma**2)


def oful(mean, norm, log_det, t, n, sigma, delta, size, ridge):
    return mean + norm * (sigma * sqrt(log_det + 2 * log(1 / delta)) + sqrt(ridge) * size)


INDICES = {"lin-ucb": lin_ucb, "lin-ocucb": lin_ocucb, "oful": oful}


def lin_thompson(models, xs, means, squares, t, sigma, stream, scale, ridge):
    values = np.empty(len(means))
    for one, V in enumerate(models.V):
        L = np.linalg.cholesky(np.linalg.inv(V))
        noise = np.array([normal(stream) for _ in range(models.d)])
        theta = np.linalg.solve(V, models.b[one]) + scale * sigma * (L @ noise)
        for arm, x in enumerate(xs):
            if models.of(arm) == one:
                values[arm] = x @ theta
    return largest(values, stream)


def lin_med(models, xs, means, squares, t, sigma, stream, share, size, ridge):
    best = int(np.argmax(means))
    shares = []
    for arm, x in enumerate(xs):
        if arm == best:
            shares.append(share + (1 - share) / len(xs))
            continue
        radius = sigma * sqrt(models.log_det(arm) + 2 * log(t)) + sqrt(ridge) * size
        width = squares[arm] + squares[best]
        if models.shared:
            width = models.square(x - xs[best], 0)
        gap = means[best] - means[arm]
        shares.append((1 - share) / len(xs) * (exp(-(gap**2) / radius**2 / width) if gap else 1.0))
    place = uniform(stream) * sum(shares)
    return int(np.argmax(np.cumsum(shares) > place))


def lin_epsilon_greedy(models, xs, means, squares, t, sigma, stream, epsilon, ridge):
    return below(stream, len(means)) if uniform(stream) < epsilon else largest(means, stream)


CHOICES_OF = {
    "lin-thompson": lin_thompson,
    "lin-med": lin_med,
    "lin-epsilon-greedy": lin_epsilon_greedy,
}


def draw_round(problem: Problem, stream: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the features and the means of a round."""
    rows, d = problem.features.shape
    if problem.rewards.rounds == "":
        return problem.features, problem.means
    if problem.rewards.rounds == "rows":
        table = problem.table.reshape(-1, rows * d + problem.arms)
        row = table[below(stream, len(table))]
        return row[: rows * d].reshape(rows, d), row[rows * d :]
    x = np.array([[normal(stream) for _ in range(d)] for _ in range(rows)])
    if problem.rewards.rounds == "disjoint":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    theta = problem.table.reshape(-1, d)
    return x, (theta * x).sum(axis=1)


def play(policy: Policy, problem: Problem, n: int, key: Any, run: int) -> list[tuple[int, float]]:
    """Return the arms of one run, each with its regret."""
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    start_stream(rewards, key, run, REWARDS)
    start_stream(choices, key, run, CHOICES)
    p, name = policy.parameters, policy.family.name
    models = Models(problem, p.get("ridge", 1.0))
    played = []
    for t in range(1, n + 1):
        features, true = draw_round(problem, rewards)
        arms = range(problem.arms)
        xs = [models.x(features, arm) for arm in arms]
        means = np.array([models.mean(xs[arm], arm) for arm in arms])
        squares = np.array([models.square(xs[arm], arm) for arm in arms])
        if name in INDICES:
            values = [
                INDICES[name](
                    means[i], sqrt(squares[i]), models.log_det(i), t, n, problem.sigma, **p
                )
                for i in arms
            ]
            arm = largest(np.array(values), choices)
        else:
            arm = CHOICES_OF[name](models, xs, means, squares, t, problem.sigma, choices, **p)
        reward = problem.reward(arm, rewards, float(true[arm]))
        one = models.of(arm)
        models.V[one] += np.outer(xs[arm], xs[arm])
        models.b[one] += reward * xs[arm]
        played.append((arm, float(true.max() - true[arm])))
    return played
