"""Uniform play: every arm equally likely in every round, the regret of not learning at all.

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
    """Play an arm at random in every round."""
    return below(stream, pulls.size)
