"""The step engine: one pull at a time, as the paper writes it down.

It is the reference for faster engines, so it is kept plain. There is one kernel for each form that
a policy can have, and one that is lazy in the way of the paper's appendix "Computation Time".

Every kernel plays runs ``first, first + 1, ...`` and fills ``regret[run, checkpoint]``, the
pseudo-regret (the sum of gap times pulls) after so many rounds, and ``pulls[run, arm]``, the final
counts. A run depends on its number and the key alone. Where a policy's formula gives something
that is not a number, the run's regret becomes nan. When ``stop[0]`` is set, the kernel returns
within a moment, and what it has filled in means nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt

from .._compile import inlined
from ..random import CHOICES, REWARDS, Words, largest, normal, pick, start_stream

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LONGEST = float(1 << 26)  # pulls of an arm that count for `leap`, so that a leap ends soon

# Declared here, filled in by `specialise`: the policy's formula and the arms' rewards.
bonus: Callable[..., float]
deviation: Callable[..., float]
choose: Callable[..., int]
memory_size: Callable[[int], int]
leap: float  # share of its pulls for which an arm's bonus may be estimated ahead; 0 for not at all
unplayed_constant: bool  # the index (or deviation) of an unplayed arm does not change
draw: Callable[[float, float, Words], float]


@inlined
def mark_failed(regret: Floats, run: int) -> None:
    """Mark a run whose policy could not choose."""
    for c in range(regret.shape[1]):
        regret[run, c] = np.nan


@inlined
def record_pulls(counts: Floats, run: int, pulls: Counts) -> None:
    """Write the final counts of a run."""
    for i in range(counts.size):
        pulls[run, i] = np.int64(counts[i])


@inlined
def pseudo_regret(gaps: Floats, counts: Floats) -> float:
    """Return the sum of gap times pulls."""
    total = 0.0
    for i in range(gaps.size):
        total += gaps[i] * counts[i]
    return total


def play_each_once(
    means: Floats,
    scales: Floats,
    gaps: Floats,
    horizon: int,
    checkpoints: Counts,
    rewards: Words,
    sums: Floats,
    counts: Floats,
    run: int,
    regret: Floats,
) -> int:
    """Play the first K rounds, arm after arm; return how many checkpoints lie there."""
    done = 0
    total = 0.0
    for i in range(means.size):
        sums[i] = counts[i] = 0.0
        if i < horizon:
            sums[i] = draw(means[i], scales[i], rewards)
            counts[i] = 1.0
            total += gaps[i]
            if done < checkpoints.size and checkpoints[done] == i + 1:
                regret[run, done] = total
                done += 1
    return done


def play_index(
    values: Any,
    means: Floats,
    scales: Floats,
    gaps: Floats,
    sigma: float,
    horizon: int,
    checkpoints: Counts,
    key: Words,
    first: int,
    regret: Floats,
    pulls: Counts,
    stop: Flags,
) -> None:
    """Look at every arm in every round."""
    arms = means.size
    n, K = float(horizon), float(arms)
    sums, counts, index = np.empty(arms), np.empty(arms), np.empty(arms)
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    for run in range(regret.shape[0]):
        if stop[0]:
            return
        start_stream(rewards, key, first + run, REWARDS)
        start_stream(choices, key, first + run, CHOICES)
        done = play_each_once(
            means, scales, gaps, horizon, checkpoints, rewards, sums, counts, run, regret
        )
        t = arms
        while done < checkpoints.size:
            t += 1
            if stop[0]:
                return
            for i in range(arms):
                T = counts[i]
                index[i] = sums[i] / T + sigma * bonus(T, float(t), n, K, *values)
            best = largest(index, choices)
            if best < 0:
                mark_failed(regret, run)
                break
            sums[best] += draw(means[best], scales[best], rewards)
            counts[best] += 1.0
            if t == checkpoints[done]:
                regret[run, done] = pseudo_regret(gaps, counts)
                done += 1
        record_pulls(counts, run, pulls)


def select_arm(
    values: Any,
    sums: Floats,
    counts: Floats,
    ceiling: Floats,
    leader: int,
    sigma: float,
    t: float,
    horizon: float,
    choices: Words,
) -> tuple[int, float]:
    """Return the arm with the largest index in round t and a ceiling of all other arms' indices.

    ``ceiling[i]`` is the index of arm i when somebody last looked, which it cannot have risen
    above while it waited. So only arms whose ceiling is the largest need a fresh look.
    """
    K = float(sums.size)
    T = counts[leader]
    ceiling[leader] = sums[leader] / T + sigma * bonus(T, t, horizon, K, *values)
    if ceiling[leader] != ceiling[leader]:
        return -1, np.inf
    while True:
        top, highest, second = -1, -np.inf, -np.inf
        for i in range(sums.size):
            if ceiling[i] > second:
                if ceiling[i] > highest:
                    second = highest
                    top, highest = i, ceiling[i]
                else:
                    second = ceiling[i]
        T = counts[top]
        fresh = sums[top] / T + sigma * bonus(T, t, horizon, K, *values)
        ceiling[top] = fresh
        if fresh > second:
            return top, second
        if fresh != fresh:
            return -1, np.inf
        if fresh == second:
            for i in range(sums.size):
                if ceiling[i] == second:
                    T = counts[i]
                    ceiling[i] = sums[i] / T + sigma * bonus(T, t, horizon, K, *values)
                    if ceiling[i] != ceiling[i]:
                        return -1, np.inf
            return pick(ceiling, second, choices), second


def play_index_lazily(
    values: Any,
    means: Floats,
    scales: Floats,
    gaps: Floats,
    sigma: float,
    horizon: int,
    checkpoints: Counts,
    key: Words,
    first: int,
    regret: Floats,
    pulls: Counts,
    stop: Flags,
) -> None:
    """Look at the other arms only when the leader's index no longer exceeds theirs.

    For policies whose unplayed arms do not rise; it plays the same arms as `play_index`.
    """
    arms = means.size
    n, K = float(horizon), float(arms)
    sums, counts, ceiling = np.empty(arms), np.empty(arms), np.empty(arms)
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    for run in range(regret.shape[0]):
        if stop[0]:
            return
        start_stream(rewards, key, first + run, REWARDS)
        start_stream(choices, key, first + run, CHOICES)
        done = play_each_once(
            means, scales, gaps, horizon, checkpoints, rewards, sums, counts, run, regret
        )
        t = K  # rounds played
        for i in range(arms):
            # a nan is looked at again by the first election, which reports it
            fresh = sums[i] + sigma * bonus(1.0, t + 1.0, n, K, *values)
            ceiling[i] = fresh if fresh == fresh else np.inf
        leader, rival = arms - 1, np.inf
        while done < checkpoints.size:
            until = float(checkpoints[done])
            mean, scale, total, T = means[leader], scales[leader], sums[leader], counts[leader]
            while t < until:
                if stop[0]:
                    return
                # For so many pulls the bonus stays above `least`, so the formula can wait while
                # the mean alone makes up for the rest; 1e-12 is far more than rounding can do.
                reach = min(until - t, 1.0 + floor(min(T, LONGEST) * leap))
                least = sigma * bonus(T + reach - 1.0, t + reach, n, K, *values)
                bar = rival - least + 1e-12 * (abs(rival) + least)
                last = t + reach
                while t < last and total > bar * T:
                    total += draw(mean, scale, rewards)
                    T += 1.0
                    t += 1.0
                if t < last:
                    if not total / T + sigma * bonus(T, t + 1.0, n, K, *values) > rival:
                        break
                    total += draw(mean, scale, rewards)
                    T += 1.0
                    t += 1.0
            sums[leader], counts[leader] = total, T
            if t < until:
                leader, rival = select_arm(
                    values, sums, counts, ceiling, leader, sigma, t + 1.0, n, choices
                )
                if leader < 0:
                    mark_failed(regret, run)
                    break
                sums[leader] += draw(means[leader], scales[leader], rewards)
                counts[leader] += 1.0
                t += 1.0
            if t == until:
                regret[run, done] = pseudo_regret(gaps, counts)
                done += 1
        record_pulls(counts, run, pulls)


def play_samples(
    values: Any,
    means: Floats,
    scales: Floats,
    gaps: Floats,
    sigma: float,
    horizon: int,
    checkpoints: Counts,
    key: Words,
    first: int,
    regret: Floats,
    pulls: Counts,
    stop: Flags,
) -> None:
    """Draw a fresh sample for every arm in every round and play the largest.

    Where deviations of unplayed arms are constant, only the arm just played needs new ones.
    """
    arms = means.size
    n, K = float(horizon), float(arms)
    sums, counts = np.empty(arms), np.empty(arms)
    centre, spread = np.empty(arms), np.empty(arms)
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    for run in range(regret.shape[0]):
        if stop[0]:
            return
        start_stream(rewards, key, first + run, REWARDS)
        start_stream(choices, key, first + run, CHOICES)
        done = play_each_once(
            means, scales, gaps, horizon, checkpoints, rewards, sums, counts, run, regret
        )
        for i in range(arms):
            centre[i] = sums[i]
            spread[i] = sigma * deviation(1.0, K + 1.0, n, K, *values)
        t = arms
        while done < checkpoints.size:
            t += 1
            if stop[0]:
                return
            best, top = -1, -np.inf
            for i in range(arms):
                if not unplayed_constant:
                    spread[i] = sigma * deviation(counts[i], float(t), n, K, *values)
                sample = centre[i] + spread[i] * normal(choices)
                if sample > top:
                    best, top = i, sample
            if best < 0:
                mark_failed(regret, run)
                break
            sums[best] += draw(means[best], scales[best], rewards)
            T = counts[best] + 1.0
            counts[best] = T
            centre[best] = sums[best] / T
            if unplayed_constant:
                spread[best] = sigma * deviation(T, t + 1.0, n, K, *values)
            if t == checkpoints[done]:
                regret[run, done] = pseudo_regret(gaps, counts)
                done += 1
        record_pulls(counts, run, pulls)


def play_choices(
    values: Any,
    means: Floats,
    scales: Floats,
    gaps: Floats,
    sigma: float,
    horizon: int,
    checkpoints: Counts,
    key: Words,
    first: int,
    regret: Floats,
    pulls: Counts,
    stop: Flags,
) -> None:
    """Ask the policy's function in every round."""
    arms = means.size
    sums, counts, memory = np.empty(arms), np.empty(arms), np.empty(memory_size(arms))
    rewards, choices = np.empty(4, np.uint64), np.empty(4, np.uint64)
    for run in range(regret.shape[0]):
        if stop[0]:
            return
        start_stream(rewards, key, first + run, REWARDS)
        start_stream(choices, key, first + run, CHOICES)
        for i in range(memory.size):
            memory[i] = 0.0
        done = play_each_once(
            means, scales, gaps, horizon, checkpoints, rewards, sums, counts, run, regret
        )
        t = arms
        while done < checkpoints.size:
            t += 1
            if stop[0]:
                return
            best = choose(float(t), float(horizon), counts, sums, sigma, memory, choices, *values)
            if best < 0 or best >= arms:
                mark_failed(regret, run)
                break
            sums[best] += draw(means[best], scales[best], rewards)
            counts[best] += 1.0
            if t == checkpoints[done]:
                regret[run, done] = pseudo_regret(gaps, counts)
                done += 1
        record_pulls(counts, run, pulls)
