"""Explore, then commit: Robbins (1952), Perchet et al. (2016)."""

from typing import Any

import numpy as np

from ..random import largest
from ._decorators import choice_policy, whole_from


def _memory(arms: int) -> int:
    return 1


@choice_policy(
    name="explore-then-commit",
    label="Explore-then-commit",
    formula="each arm m times in turn, then the arm with the largest mean until the end",
    aliases=("etc",),
    reference="Robbins (1952); Perchet, Rigollet, Chassang and Snowberg (2016)",
    valid={"m": whole_from(1)},
    memory=_memory,
    needs_sigma=False,
)
def ExploreThenCommit(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    m: float = 10.0,
) -> int:  # fmt: skip
    """Play each arm m times, then commit to the best.

    Parameters
    ----------
    m : int, optional
        How often each arm is played at first, at least 1.

    Examples
    --------
    >>> from ocucb import ExploreThenCommit
    >>> ExploreThenCommit(m=50)
    ExploreThenCommit(m=50)
    """
    if t <= m * pulls.size:
        return int(t - 1.0) % int(pulls.size)
    if memory[0] == 0.0:
        memory[0] = 1.0 + largest(np.divide(sums, pulls), stream)
    return int(memory[0]) - 1
