"""Uniform play: a random arm in every round, a baseline that learns nothing.

>>> from ocucb import UniformRandom
>>> UniformRandom()
UniformRandom()
"""

from typing import Any

from ..random import below
from ._base import choice_policy


@choice_policy(
    name="uniform",
    label="Uniform",
    formula="an arm drawn uniformly at random in every round",
    reference="baseline",
)
def UniformRandom(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    """Play a random arm in every round."""
    return below(stream, pulls.size)
