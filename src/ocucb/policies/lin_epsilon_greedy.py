"""Epsilon-greedy on a linear model."""

from math import inf
from typing import Any

from .._compile import compiled
from ..random import below, largest, uniform
from ._decorators import above, between, linear_policy
from ._linear import one_for_each


@compiled
def linear_greedy_probabilities(
    t: float, horizon: float, model: Any, sigma: float, memory: Any, epsilon: float, ridge: float
) -> None:
    """Write the arms' probabilities."""
    top, tied = -inf, 0
    for i in range(model.means.size):
        tied = 1 if model.means[i] > top else tied + (model.means[i] == top)
        top = max(top, model.means[i])
    for i in range(model.means.size):
        memory[i] = epsilon / model.means.size
        if model.means[i] == top:
            memory[i] += (1.0 - epsilon) / tied


@linear_policy(
    name="lin-epsilon-greedy",
    label="Linear epsilon-greedy",
    formula="with probability epsilon a random arm, otherwise the arm with the largest mean",
    reference="Sutton and Barto (1998), Reinforcement learning, on a linear model",
    valid={"epsilon": between(0, 1), "ridge": above(0)},
    memory=one_for_each,
    probabilities=linear_greedy_probabilities,
)
def LinEpsilonGreedy(
    t: float, horizon: float, model: Any, sigma: float, memory: Any, stream: Any,
    epsilon: float = 0.1, ridge: float = 1.0,
) -> int:  # fmt: skip
    """Play a random arm with fixed probability epsilon, otherwise the best under the model.

    Parameters
    ----------
    epsilon : float, optional
        Probability of a random arm, from 0 to 1.
    ridge : float, optional
        Penalty on the squared length of theta, above 0.

    Examples
    --------
    >>> from ocucb import LinEpsilonGreedy
    >>> LinEpsilonGreedy(epsilon=0.05)
    LinEpsilonGreedy(epsilon=0.05, ridge=1)
    """
    if uniform(stream) < epsilon:
        return below(stream, model.means.size)
    for i in range(model.means.size):
        memory[i] = model.means[i]
    return largest(memory[: model.means.size], stream)
