"""A slow and obvious twin of the step engine: plain Python, every arm in every round.

The twins of the policies are in policy_table.py.
"""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np

from ocucb.importance import Mixture
from ocucb.policies import Policy
from ocucb.problems import Problem
from ocucb.random import CHOICES, REWARDS, normal, start_stream, uniform
from policy_table import argmax, is_whole, twin_of


def play(
    policy: Policy,
    problem: Problem,
    n: int,
    key: np.ndarray,
    run: int,
    twin: Any = None,
    mixture: Mixture | None = None,
) -> tuple[list[int], list[float]]:
    """Return the arms that the policy plays in one run, and the rewards that it gets.

    The policy's twin is taken from the table unless it is given. With a mixture, the run is drawn
    from one of its components.
    """
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    start_stream(rewards, key, run, REWARDS)
    start_stream(choices, key, run, CHOICES)
    tilted, shift, length = -1, 0.0, 0
    if mixture is not None:
        component = int(np.sum(uniform(rewards) >= np.cumsum(mixture.shares)))
        tilted, shift, length = mixture.arm, mixture.shifts[component], mixture.lengths[component]
    K, sigma, p = problem.arms, problem.sigma, policy.parameters
    known = problem.rewards.unit, problem.rewards.binary
    form, inputs = policy.family.form(*known).rule, policy.family.rule.inputs
    kind, varied = form.kind, form.takes_variance
    twin = twin or twin_of(policy, *known)
    if kind == "choice":
        rule = twin(K, n, **p)
    T = [0] * K
    others = T if "effective_arms" in inputs else K
    S = [0.0] * K
    seen: list[list[float]] = [[] for _ in range(K)]
    arms: list[int] = []
    gains: list[float] = []
    for t in range(1, n + 1):
        if t <= K:
            arm = t - 1
        elif kind == "choice":
            moments = (T, S, [variance(rewards) for rewards in seen]) if varied else (T, S)
            arm = rule.choose(t, *moments, sigma, choices)
        elif varied:
            two = [(S[i] / T[i], variance(seen[i])) for i in range(K)]
            arm = argmax([twin(*two[i], T[i], t, n, others, sigma, **p) for i in range(K)], choices)
        elif is_whole(policy, *known):
            means = [S[i] / T[i] for i in range(K)]
            arm = argmax(
                [twin(means[i], T[i], t, n, others, sigma, **p) for i in range(K)], choices
            )
        else:
            widths = [sigma * twin(T[i], t, n, others, **p) for i in range(K)]
            if kind == "sampling":
                widths = [width * normal(choices) for width in widths]
            arm = argmax([S[i] / T[i] + widths[i] for i in range(K)], choices)
        mean = float(problem.means[arm])
        if arm == tilted and T[arm] < length:
            mean = mean - shift
        reward = problem.reward(arm, rewards, mean)
        T[arm] += 1
        S[arm] += reward
        seen[arm].append(reward)
        arms.append(arm)
        gains.append(reward)
    return arms, gains


def variance(rewards: list[float]) -> float:
    """Return the empirical variance; of clicks, without rounding, so that equal arms tie."""
    mean = sum(rewards) / len(rewards)
    return mean * (1 - mean) if set(rewards) <= {0, 1} else float(np.var(rewards))


def weight(mixture: Mixture, problem: Problem, arms: list[int], gains: list[float]) -> float:
    """Return the weight of a run: densities multiplied reward by reward."""
    mean, scale = problem.means[mixture.arm], problem.scales[mixture.arm]
    seen = [gain for arm, gain in zip(arms, gains, strict=True) if arm == mixture.arm]

    def density(x: float, centre: float) -> float:
        if problem.rewards.binary:
            return float(centre if x == 1.0 else 1.0 - centre)
        return exp(-0.5 * ((x - centre) / scale) ** 2)

    total = 0.0
    parts = zip(mixture.shares, mixture.shifts, mixture.lengths, strict=True)
    for share, shift, length in parts:
        for x in seen[:length]:
            share *= density(x, mean - shift) / density(x, mean)
        total += share
    return 1.0 / total
