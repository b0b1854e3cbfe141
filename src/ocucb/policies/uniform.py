"""Uniform play: a random arm in every round, a baseline that learns nothing."""

from typing import Any

from .._compile import compiled
from ..random import below
from ._decorators import choice_policy


@compiled
def _probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any
) -> None:
    for i in range(pulls.size):
        memory[i] = 1.0 / pulls.size


@choice_policy(
    name="uniform",
    label="Uniform",
    formula="an arm drawn uniformly at random in every round",
    aliases=("random",),
    reference="baseline",
    probabilities=_probabilities,
    needs_sigma=False,
)
def UniformRandom(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    """Play a random arm in every round.

    Examples
    --------
    >>> from ocucb import UniformRandom
    >>> UniformRandom()
    UniformRandom()
    """
    return below(stream, pulls.size)
