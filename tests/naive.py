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
    path: Any = None,
) -> tuple[list[int], list[float]]:
    """Return the arms that the policy plays in one run, and the rewards that it gets.

    The policy's twin is taken from the table unless it is given. With a mixture, the run is drawn
    from one of its components. Where means change, ``path(means, t, stream)`` returns those of
    round t, given those of the round before.
    """
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    start_stream(rewards, key, run, REWARDS)
    start_stream(choices, key, run, CHOICES)
    tilted, shift, length = -1, 0.0, 0
    if mixture is not None:
        component = int(np.sum(uniform(rewards) >= np.cumsum(mixture.shares)))
        tilted, shift, length = mixture.arm, mixture.shifts[component], mixture.lengths[component]
    K, sigma, p = problem.arms, problem.sigma, policy.parameters
    kinds = problem.rewards.unit, problem.rewards.binary
    form, inputs = policy.family.form(*kinds).rule, policy.family.rule.inputs
    kind, varied = form.kind, form.takes_variance
    twin = twin or twin_of(policy, *kinds)
    forget = p.pop("forget", None)
    m = n if forget is None else min(n, forget if forget > 1 else 1 / (1 - forget))
    if kind == "choice":
        rule = twin(K, m, **p)
    pulls = [0] * K
    sums = [0.0] * K
    seen: list[list[float]] = [[] for _ in range(K)]
    arms: list[int] = []
    gains: list[float] = []
    means_now = [0.0] * K
    for t in range(1, n + 1):
        if path is not None:
            means_now = path(means_now, t, rewards)
        T, S, spread, now = pulls, sums, variance, t
        known = seen
        if forget is not None and t > K:
            known = remembered(K, arms, gains, forget)
            T = [sum(w for w, _ in one) for one in known]
            S = [sum(w * x for w, x in one) for one in known]
            spread, now = weighted_variance, min(m, 1 + sum(T))
        others = T if "effective_arms" in inputs else K
        if t <= K:
            arm = t - 1
        elif min(T) <= 1e-9:
            arm = next(i for i in range(K) if T[i] <= 1e-9)
        elif kind == "choice":
            moments = (T, S, [spread(one) for one in known]) if varied else (T, S)
            arm = rule.choose(now, *moments, sigma, choices)
        elif varied:
            two = [(S[i] / T[i], spread(known[i])) for i in range(K)]
            arm = argmax(
                [twin(*two[i], T[i], now, m, others, sigma, **p) for i in range(K)], choices
            )
        elif is_whole(policy, *kinds):
            means = [S[i] / T[i] for i in range(K)]
            arm = argmax(
                [twin(means[i], T[i], now, m, others, sigma, **p) for i in range(K)], choices
            )
        else:
            widths = [sigma * twin(T[i], now, m, others, **p) for i in range(K)]
            if kind == "sampling":
                widths = [width * normal(choices) for width in widths]
            arm = argmax([S[i] / T[i] + widths[i] for i in range(K)], choices)
        mean = float(problem.means[arm]) if path is None else means_now[arm]
        if arm == tilted and pulls[arm] < length:
            mean = mean - shift
        reward = problem.reward(arm, rewards, mean)
        pulls[arm] += 1
        sums[arm] += reward
        seen[arm].append(reward)
        arms.append(arm)
        gains.append(reward)
    return arms, gains


def remembered(
    K: int, arms: list[int], gains: list[float], forget: float
) -> list[list[tuple[float, float]]]:
    """Return weights and rewards of each arm, as a discount or a window leaves them."""
    seen: list[list[tuple[float, float]]] = [[] for _ in range(K)]
    for age, (arm, gain) in enumerate(zip(reversed(arms), reversed(gains), strict=True)):
        if forget < 1 or age < forget:
            seen[arm].append((forget**age if forget < 1 else 1.0, gain))
    return seen


def weighted_variance(seen: list[tuple[float, float]]) -> float:
    """Return the variance of weighted rewards; as in the engine, that of clicks has one value."""
    total = sum(w for w, _ in seen)
    mean = sum(w * x for w, x in seen) / total
    if {x for _, x in seen} <= {0.0, 1.0}:
        return mean * (1 - mean)
    return sum(w * (x - mean) ** 2 for w, x in seen) / total


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
