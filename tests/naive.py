"""A slow and obvious twin of the step engine: plain Python, every arm in every round.

The twins of the policies are in policy_table.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ocucb.policies import Policy
from ocucb.problems import Problem
from ocucb.random import CHOICES, REWARDS, normal, start_stream
from policy_table import TABLE, argmax


def play(
    policy: Policy, problem: Problem, n: int, key: np.ndarray, run: int, twin: Any = None
) -> tuple[list[int], list[float]]:
    """Return the arms that the policy plays in one run, and the rewards that it gets.

    The policy's twin is taken from the table unless it is given.
    """
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    start_stream(rewards, key, run, REWARDS)
    start_stream(choices, key, run, CHOICES)
    K, sigma, kind, p = problem.arms, problem.sigma, policy.family.kind, policy.parameters
    inputs = policy.family.inputs
    twin = twin or TABLE[policy.family.name].twin
    if kind == "choice":
        rule = twin(K, n, **p)
    T = [0] * K
    S = [0.0] * K
    seen: list[list[float]] = [[] for _ in range(K)]
    arms: list[int] = []
    gains: list[float] = []
    for t in range(1, n + 1):
        if t <= K:
            arm = t - 1
        elif kind == "choice":
            arm = rule.choose(t, T, S, sigma, choices)
        elif "variance" in inputs:
            known = [(np.mean(x), np.var(x)) for x in seen]
            arm = argmax([twin(*known[i], T[i], t, n, K, sigma, **p) for i in range(K)], choices)
        elif "mean" in inputs:
            arm = argmax([twin(S[i] / T[i], T[i], t, n, K, sigma, **p) for i in range(K)], choices)
        else:
            widths = [sigma * twin(T[i], t, n, K, **p) for i in range(K)]
            if kind == "sampling":
                widths = [width * normal(choices) for width in widths]
            arm = argmax([S[i] / T[i] + widths[i] for i in range(K)], choices)
        reward = problem.rewards.draw(problem.means[arm], problem.scales[arm], rewards)
        T[arm] += 1
        S[arm] += reward
        seen[arm].append(reward)
        arms.append(arm)
        gains.append(reward)
    return arms, gains
