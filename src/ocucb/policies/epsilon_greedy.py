"""Epsilon-greedy: usually the best arm so far, occasionally a random one.

>>> from ocucb import EpsilonGreedy
>>> EpsilonGreedy(epsilon=0.05)
EpsilonGreedy(epsilon=0.05)
"""

from typing import Any

import numpy as np

from .._types import Floats
from ..random import below, largest, uniform
from ._base import between, choice_policy


def _memory(arms: int) -> int:
    return arms


def _probabilities(
    t: float,
    horizon: float,
    pulls: Floats,
    sums: Floats,
    sigma: float,
    memory: Floats,
    epsilon: float,
) -> Floats:
    means = sums / pulls
    best = means == means.max()
    share: Floats = epsilon / pulls.size + (1.0 - epsilon) * best / np.count_nonzero(best)
    return share


@choice_policy(
    name="epsilon-greedy",
    formula="with probability epsilon a random arm, otherwise the arm with the largest mean",
    reference="Sutton and Barto (1998), Reinforcement learning",
    valid={"epsilon": between(0, 1)},
    memory=_memory,
    probabilities=_probabilities,
)
def EpsilonGreedy(
    t: float,
    horizon: float,
    pulls: Any,
    sums: Any,
    sigma: float,
    memory: Any,
    stream: Any,
    epsilon: float = 0.1,
) -> int:
    """Play a random arm with fixed probability epsilon, otherwise the one with the largest mean."""
    if uniform(stream) < epsilon:
        return below(stream, pulls.size)
    for i in range(pulls.size):
        memory[i] = sums[i] / pulls[i]
    return largest(memory, stream)
