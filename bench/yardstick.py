"""The yardstick: the loop that anyone would write first, compiled.

It evaluates every arm in every round and draws normal variates from numpy's Generator. `make bench`
reports our speed as a multiple of this loop's on the same machine, so it must never change.
"""

from __future__ import annotations

from math import log, sqrt

import numba
import numpy as np
import numpy.typing as npt


@numba.njit
def ocucb(rng: np.random.Generator, means: npt.NDArray[np.float64], n: int) -> float:
    """Play OCUCB(alpha=3, psi=2) for n rounds and return the regret."""
    K = means.size
    pulls = np.zeros(K)
    sums = np.zeros(K)
    for t in range(1, n + 1):
        if t <= K:
            best = t - 1
        else:
            level = 3.0 * log(2.0 * n / t)
            best, top = 0, -np.inf
            for i in range(K):
                index = sums[i] / pulls[i] + sqrt(level / pulls[i])
                if index > top:
                    best, top = i, index
        pulls[best] += 1
        sums[best] += means[best] + rng.standard_normal()
    return ((means.max() - means) * pulls).sum()


@numba.njit
def aocucb(rng: np.random.Generator, means: npt.NDArray[np.float64], n: int) -> float:
    """Play AOCUCB for n rounds and return the regret."""
    K = means.size
    pulls = np.zeros(K)
    sums = np.zeros(K)
    for t in range(1, n + 1):
        if t <= K:
            best = t - 1
        else:
            best, top = 0, -np.inf
            for i in range(K):
                index = sums[i] / pulls[i] + sqrt(2.0 / pulls[i] * log(n / pulls[i]))
                if index > top:
                    best, top = i, index
        pulls[best] += 1
        sums[best] += means[best] + rng.standard_normal()
    return ((means.max() - means) * pulls).sum()


@numba.njit
def moss(rng: np.random.Generator, means: npt.NDArray[np.float64], n: int) -> float:
    """Play MOSS(constant=2) for n rounds and return the regret."""
    K = means.size
    pulls = np.zeros(K)
    sums = np.zeros(K)
    for t in range(1, n + 1):
        if t <= K:
            best = t - 1
        else:
            best, top = 0, -np.inf
            for i in range(K):
                index = sums[i] / pulls[i] + sqrt(
                    2.0 / pulls[i] * log(max(1.0, n / (pulls[i] * K)))
                )
                if index > top:
                    best, top = i, index
        pulls[best] += 1
        sums[best] += means[best] + rng.standard_normal()
    return ((means.max() - means) * pulls).sum()


@numba.njit
def ucb(rng: np.random.Generator, means: npt.NDArray[np.float64], n: int) -> float:
    """Play UCB(constant=2) for n rounds and return the regret."""
    K = means.size
    pulls = np.zeros(K)
    sums = np.zeros(K)
    for t in range(1, n + 1):
        if t <= K:
            best = t - 1
        else:
            level = 2.0 * log(t)
            best, top = 0, -np.inf
            for i in range(K):
                index = sums[i] / pulls[i] + sqrt(level / pulls[i])
                if index > top:
                    best, top = i, index
        pulls[best] += 1
        sums[best] += means[best] + rng.standard_normal()
    return ((means.max() - means) * pulls).sum()


@numba.njit
def thompson(rng: np.random.Generator, means: npt.NDArray[np.float64], n: int) -> float:
    """Play Thompson sampling for n rounds and return the regret."""
    K = means.size
    pulls = np.zeros(K)
    sums = np.zeros(K)
    for t in range(1, n + 1):
        if t <= K:
            best = t - 1
        else:
            best, top = 0, -np.inf
            for i in range(K):
                index = sums[i] / pulls[i] + rng.standard_normal() / sqrt(pulls[i])
                if index > top:
                    best, top = i, index
        pulls[best] += 1
        sums[best] += means[best] + rng.standard_normal()
    return ((means.max() - means) * pulls).sum()
