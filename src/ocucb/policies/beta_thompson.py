"""Thompson sampling for rewards of 0 and 1, with a uniform prior: Thompson (1933)."""

from typing import Any

from ..random import beta, largest
from ._base import choice_policy


def _memory(arms: int) -> int:
    return arms


@choice_policy(
    name="beta-thompson",
    label="Thompson sampling (Beta)",
    formula="Beta(1 + S, 1 + T - S), a fresh sample for every arm in every round",
    reference="Thompson (1933); Kaufmann, Korda and Munos (2012); Agrawal and Goyal (2013)",
    memory=_memory,
    binary=True,
)
def BetaThompson(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    """Play the arm whose sample from the posterior is largest; S is the number of successes.

    Proved for rewards of 0 and 1: asymptotic optimality (Kaufmann, Korda and Munos; Agrawal and
    Goyal), and worst-case regret of order sqrt(K n log n).

    It runs step by step: the clocks of `skip_thompson` need normal samples.

    Checked against two independent programs, which have the same posterior.

    Examples
    --------
    >>> from ocucb import BetaThompson
    >>> BetaThompson()
    BetaThompson()
    """
    for i in range(pulls.size):
        memory[i] = beta(stream, 1.0 + sums[i], 1.0 + pulls[i] - sums[i])
    return largest(memory, stream)
