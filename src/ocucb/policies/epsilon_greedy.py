"""Epsilon-greedy: usually the best arm so far, occasionally a random one."""

from math import inf
from typing import Any

from .._compile import compiled
from ..random import below, largest, uniform
from ._decorators import between, choice_policy, one_per_arm


@compiled
def greedy_probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, epsilon: float
) -> None:
    """Write the arms' probabilities."""
    top, tied = -inf, 0
    for i in range(pulls.size):
        mean = sums[i] / pulls[i]
        tied = 1 if mean > top else tied + (mean == top)
        top = max(top, mean)
    for i in range(pulls.size):
        memory[i] = epsilon / pulls.size
        if sums[i] / pulls[i] == top:
            memory[i] += (1.0 - epsilon) / tied


@choice_policy(
    name="epsilon-greedy",
    label="Epsilon-greedy",
    formula="with probability epsilon a random arm, otherwise the arm with the largest mean",
    reference="Sutton and Barto (1998), Reinforcement learning",
    valid={"epsilon": between(0, 1)},
    memory=one_per_arm,
    forgets=True,
    probabilities=greedy_probabilities,
    needs_sigma=False,
    aliases=("eps-greedy", "e-greedy", "egreedy"),
)
def EpsilonGreedy(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    epsilon: float = 0.1,
) -> int:  # fmt: skip
    """Play a random arm with fixed probability epsilon, otherwise the one with the largest mean.

    Parameters
    ----------
    epsilon : float, optional
        Probability of a random arm, from 0 to 1.

    Examples
    --------
    >>> from ocucb import EpsilonGreedy
    >>> EpsilonGreedy(epsilon=0.05)
    EpsilonGreedy(epsilon=0.05)
    """
    if uniform(stream) < epsilon:
        return below(stream, pulls.size)
    for i in range(pulls.size):
        memory[i] = sums[i] / pulls[i]
    return largest(memory, stream)
