"""How much work a round takes: the paper's appendix "Computation Time".

OCUCB: the index of an unplayed arm falls as time passes, so an index that was computed earlier is
an upper bound. Arms are kept in a heap, ordered by their last computed index; in every round, the
top one is computed again until it stays on top. The paper says that this takes O(n) in expectation
over n rounds, asymptotically: a bounded number of indices per round, whatever the number of arms.

Thompson sampling: the paper says that sampling all arms in every round seems unavoidable. It is
not. Take any threshold c. Whether an unplayed arm's sample exceeds c is an event with the same
probability in every round, so the rounds and arms in which it happens are found by one clock for
all such arms; a sample below c decides nothing unless all samples are.
"""

from __future__ import annotations

import heapq
import math

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from .._types import Floats
from ..problems import Problem


def indices_per_round(
    problem: Problem, horizon: int, rng: np.random.Generator, alpha: float, psi: float
) -> float:
    """Play OCUCB once with Gaussian rewards and return the indices it computed, per round.

    The first index of each arm is counted as well.

    Examples
    --------
    >>> import ocucb
    >>> rng = np.random.default_rng(1)
    >>> 1.0 <= indices_per_round(ocucb.gap(2, 0.5), 1000, rng, alpha=3.0, psi=2.0) <= 2.0
    True
    """
    K = problem.arms
    # plain lists are faster than arrays, one number at a time
    means: list[float] = problem.means.tolist()
    sums: list[float] = (problem.means + rng.standard_normal(K)).tolist()
    noise: list[float] = rng.standard_normal(horizon).tolist()
    pulls = [1] * K

    def index(arm: int, t: int) -> float:
        return sums[arm] / pulls[arm] + math.sqrt(alpha / pulls[arm] * math.log(psi * horizon / t))

    heap = [(-index(arm, K + 1), arm) for arm in range(K)]
    heapq.heapify(heap)
    count = K
    fresh = heap[0][1]  # the arm whose index is that of this round
    for t in range(K + 1, horizon + 1):
        while heap[0][1] != fresh:
            fresh = heap[0][1]
            heapq.heapreplace(heap, (-index(fresh, t), fresh))
            count += 1
        sums[fresh] += means[fresh] + noise[t - 1]
        pulls[fresh] += 1
        heapq.heapreplace(heap, (-index(fresh, t + 1), fresh))
        count += 1
    return count / horizon


_CAUTION = 3.0  # deviations of an arm's posterior that the threshold lies below its mean
_ACTIVE = 1.5  # arms whose mean is less than this many deviations below the threshold are sampled


def samples_per_round(problem: Problem, horizon: int, rng: np.random.Generator) -> float:
    """Play Thompson sampling once with Gaussian rewards and return its normal samples per round.

    Examples
    --------
    >>> import ocucb
    >>> samples_per_round(ocucb.gap(20, 1.0), 2000, np.random.default_rng(1)) < 15.0
    True
    """
    return play_thompson(problem, horizon, rng)[0]


def play_thompson(problem: Problem, horizon: int, rng: np.random.Generator) -> tuple[float, Floats]:
    """Play Thompson sampling in its exact law; return normal samples per round, and the pulls.

    The threshold may be any function of the past; it is chosen again when an arm is played that is
    not sampled in every round, and whenever the rounds have grown by a hundredth.
    """
    K = problem.arms
    sums = problem.means + rng.standard_normal(K)
    pulls = np.ones(K)
    count, t = 0, K
    while t < horizon:
        mean, spread = sums / pulls, pulls**-0.5
        c = (mean - _CAUTION * spread).max()
        z = (c - mean) / spread
        active = np.flatnonzero(z <= _ACTIVE)
        pooled = np.flatnonzero(z > _ACTIVE)
        # a Poisson clock: an arm exceeds c in a round if it has a point there
        rates = np.cumsum(-log_ndtr(z[pooled]))
        total = rates[-1] if pooled.size else 0.0
        until = min(horizon, t + 1 + t // 100)
        while t < until:
            t += 1
            noise = rng.standard_normal(active.size) / np.sqrt(pulls[active])
            samples = sums[active] / pulls[active] + noise
            count += active.size
            best = int(samples.argmax())
            arm, top = int(active[best]), float(samples[best])
            points = rng.poisson(total)
            if points:
                named = np.unique(np.searchsorted(rates, total * rng.random(points), "right"))
                above = pooled[np.minimum(named, pooled.size - 1)]
                # given that they exceed c
                tail = ndtr(-z[above]) * rng.random(above.size)
                high = mean[above] - spread[above] * ndtri(tail)
                count += above.size
                if high.max() > top:
                    arm, top = int(above[high.argmax()]), float(high.max())
            elif top < c and pooled.size:  # then the others count, given that they do not
                share = ndtr(z[pooled]) * rng.random(pooled.size)
                low = mean[pooled] + spread[pooled] * ndtri(share)
                count += pooled.size
                if low.max() > top:
                    arm = int(pooled[low.argmax()])
            sums[arm] += problem.means[arm] + rng.standard_normal()
            pulls[arm] += 1.0
            if z[arm] > _ACTIVE:
                break
    return count / horizon, pulls
