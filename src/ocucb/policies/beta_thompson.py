"""Thompson sampling for Bernoulli rewards, with a uniform prior: Thompson (1933)."""

from typing import Any

from .._compile import compiled
from ..random import beta, largest
from ._decorators import choice_policy, one_per_arm
from ._largest import largest_of_beta


@compiled
def _probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any
) -> None:
    largest_of_beta(1.0 + sums, 1.0 + pulls - sums, memory, 0.0)


@choice_policy(
    name="beta-thompson",
    label="Thompson sampling (Beta)",
    formula="Beta(1 + S, 1 + T - S), a fresh sample for every arm in every round",
    aliases=("beta-ts", "bernoulli-thompson"),
    reference="Thompson (1933); Kaufmann, Korda and Munos (2012); Agrawal and Goyal (2013)",
    memory=one_per_arm,
    forgets=True,
    probabilities=_probabilities,
    binary=True,
    needs_sigma=False,
)
def BetaThompson(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    """Play the arm whose sample from the posterior is largest; S is the number of successes.

    Proved for Bernoulli rewards: asymptotic optimality (Kaufmann, Korda and Munos; Agrawal and
    Goyal), and worst-case regret of order sqrt(K n log n). It runs step by step: the clocks of
    `skip_thompson` need normal samples. Checked against two independent programs.

    Examples
    --------
    >>> from ocucb import BetaThompson
    >>> BetaThompson()
    BetaThompson()
    """
    for i in range(pulls.size):
        memory[i] = beta(stream, 1.0 + sums[i], 1.0 + pulls[i] - sums[i])
    return largest(memory, stream)
