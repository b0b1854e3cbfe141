"""How many indices OCUCB has to compute in a round: the paper's appendix "Computation Time".

The index of an unplayed arm falls as time passes, so an index that was computed earlier is an
upper bound. Arms are kept in a heap, ordered by their last computed index; in every round, the top
one is computed again until it stays on top. The paper says that this takes O(n) in expectation over
n rounds, asymptotically: a bounded number of indices per round, whatever the number of arms.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

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
