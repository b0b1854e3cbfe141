"""Slow and obvious twins of policies for arms with features: numpy, V inverted in every round."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

import numpy as np

from ocucb.policies import Policy
from ocucb.problems import Problem
from ocucb.random import CHOICES, REWARDS, below, largest, normal, start_stream, uniform


class Models:
    """Least squares: one model for all arms, or one for each, if these share a context.

    V is of the rewards that have been seen; W of those to come, too.
    """

    def __init__(self, arms: int, d: int, shared: bool, ridge: float) -> None:
        self.shared = shared
        self.V = [ridge * np.eye(d) for _ in range(1 if shared else arms)]
        self.W = [ridge * np.eye(d) for _ in self.V]
        self.b = [np.zeros(d) for _ in self.V]
        self.ridge, self.d = ridge, d

    def expect(self, arm: int, x: np.ndarray) -> None:
        self.W[self.of(arm)] += np.outer(x, x)

    def learn(self, arm: int, x: np.ndarray, reward: float) -> None:
        self.V[self.of(arm)] += np.outer(x, x)
        self.b[self.of(arm)] += reward * x

    def theta(self, one: int) -> np.ndarray:
        return np.linalg.solve(self.V[one], self.b[one])

    def of(self, arm: int) -> int:
        return 0 if self.shared else arm

    def x(self, features: np.ndarray, arm: int) -> np.ndarray:
        return features[arm if self.shared else 0].copy()

    def mean(self, x: np.ndarray, arm: int) -> float:
        return float(x @ self.theta(self.of(arm)))

    def square(self, x: np.ndarray, arm: int) -> float:
        return float(x @ np.linalg.solve(self.W[self.of(arm)], x))

    def log_det(self, arm: int) -> float:
        return float(np.linalg.slogdet(self.W[self.of(arm)])[1] - self.d * log(self.ridge))


def lin_ucb(mean, norm, log_det, t, n, sigma, constant, ridge):
    return mean + sigma * constant * norm


def lin_ocucb(mean, norm, log_det, t, n, sigma, alpha, psi, ridge):
    return mean + norm * sqrt(alpha * log(psi * n / t) * sigma**2)


def oful(mean, norm, log_det, t, n, sigma, delta, size, ridge):
    return mean + norm * (sigma * sqrt(log_det + 2 * log(1 / delta)) + sqrt(ridge) * size)


INDICES = {"lin-ucb": lin_ucb, "lin-ocucb": lin_ocucb, "oful": oful}


def lin_thompson(models, xs, means, squares, t, sigma, stream, scale, ridge):
    values = np.empty(len(means))
    for one, W in enumerate(models.W):
        L = np.linalg.cholesky(np.linalg.inv(W))
        noise = np.array([normal(stream) for _ in range(models.d)])
        theta = models.theta(one) + scale * sigma * (L @ noise)
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


def choose(
    policy: Policy, models: Models, xs: Any, t: int, n: int, sigma: float, stream: Any
) -> int:
    """Return the arm that a policy plays in round t, given the features of each."""
    p, name, arms = policy.parameters, policy.family.name, range(len(xs))
    means = np.array([models.mean(xs[arm], arm) for arm in arms])
    squares = np.array([models.square(xs[arm], arm) for arm in arms])
    if name in INDICES:
        values = [
            INDICES[name](means[i], sqrt(squares[i]), models.log_det(i), t, n, sigma, **p)
            for i in arms
        ]
        return largest(np.array(values), stream)
    return CHOICES_OF[name](models, xs, means, squares, t, sigma, stream, **p)


def play(policy: Policy, problem: Problem, n: int, key: Any, run: int) -> list[tuple[int, float]]:
    """Return the arms of one run, each with its regret."""
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    start_stream(rewards, key, run, REWARDS)
    start_stream(choices, key, run, CHOICES)
    rows, d = problem.features.shape
    models = Models(problem.arms, d, rows == problem.arms, policy.parameters.get("ridge", 1.0))
    played = []
    for t in range(1, n + 1):
        features, true = draw_round(problem, rewards)
        xs = [models.x(features, arm) for arm in range(problem.arms)]
        arm = choose(policy, models, xs, t, n, problem.sigma, choices)
        reward = problem.reward(arm, rewards, float(true[arm]))
        models.expect(arm, xs[arm])
        models.learn(arm, xs[arm], reward)
        played.append((arm, float(true.max() - true[arm])))
    return played
