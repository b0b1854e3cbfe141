"""Maillard sampling: Maillard (2013), analysed by Bian and Jun (2022)."""

from math import exp
from typing import Any

from .._compile import compiled
from ..random import proportional
from ._decorators import choice_policy, one_per_arm


@compiled
def gaussian_probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any
) -> None:
    """Write the arms' probabilities."""
    best = sums[0] / pulls[0]
    for i in range(1, pulls.size):
        best = max(best, sums[i] / pulls[i])
    total = 0.0
    for i in range(pulls.size):
        behind = (best - sums[i] / pulls[i]) / sigma
        memory[i] = exp(-0.5 * pulls[i] * behind * behind)
        total += memory[i]
    for i in range(pulls.size):
        memory[i] /= total


@choice_policy(
    name="maillard",
    label="Maillard sampling",
    formula="a random arm, with probability proportional to exp(-T (largest mean - mean)^2 / (2 "
    "sigma^2))",
    reference="Maillard (2013), doctoral thesis; Bian and Jun (2022), Maillard sampling: Boltzmann "
    "exploration done optimally",
    memory=one_per_arm,
    forgets=True,
    probabilities=gaussian_probabilities,
)
def Maillard(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    """Draw an arm with probabilities in closed form, which a log of decisions can keep.

    Proved by Bian and Jun for sigma-subgaussian rewards: asymptotic optimality for Gaussian ones,
    and worst-case regret within a factor sqrt(log n) of the smallest possible. It runs step by
    step: every round is a draw that may go to any arm. Checked against the program of Qin, Jun and
    Zhang (2023), who compare with it, and the abstracts of both papers.

    Examples
    --------
    >>> from ocucb import Maillard
    >>> policy = Maillard()
    >>> policy.probabilities(t=5, horizon=100, pulls=[2, 2], sums=[2.0, 0.0], sigma=1.0).round(4)
    array([0.7311, 0.2689])
    """
    gaussian_probabilities(t, horizon, pulls, sums, sigma, memory)
    return proportional(memory, stream)
