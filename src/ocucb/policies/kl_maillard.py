"""Kullback-Leibler Maillard sampling: Qin, Jun and Zhang (2023)."""

from math import exp
from typing import Any

from .._compile import compiled
from ..random import proportional
from ._decorators import choice_policy, one_per_arm
from ._divergence import bernoulli_kl
from .maillard import gaussian_probabilities


@compiled
def unit_probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any
) -> None:
    """Write the arms' probabilities on rewards in [0, 1]."""
    best = 0.0
    for i in range(pulls.size):
        best = max(best, min(1.0, sums[i] / pulls[i]))  # a live bandit may be told more than 1
    total = 0.0
    for i in range(pulls.size):
        memory[i] = exp(-pulls[i] * bernoulli_kl(min(1.0, sums[i] / pulls[i]), best))
        total += memory[i]
    for i in range(pulls.size):
        memory[i] /= total


@choice_policy(memory=one_per_arm, forgets=True, probabilities=unit_probabilities)
def _on_unit_interval(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    unit_probabilities(t, horizon, pulls, sums, sigma, memory)
    return proportional(memory, stream)


@choice_policy(
    name="kl-maillard",
    label="KL-Maillard sampling",
    formula="a random arm, with probability proportional to exp(-T kl(mean, largest mean))",
    reference="Qin, Jun and Zhang (2023), Kullback-Leibler Maillard sampling for multi-armed "
    "bandits with bounded rewards",
    memory=one_per_arm,
    forgets=True,
    probabilities=gaussian_probabilities,
    bounded_form=_on_unit_interval,
)
def KLMaillard(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    """Maillard sampling with the divergence of the rewards; for Gaussian ones they are the same.

    Proved for rewards in [0, 1], with the divergence of Bernoulli rewards: asymptotic optimality
    if they are 0 and 1, and worst-case regret that adapts to the best arm's variance. It runs step
    by step: every round is a draw that may go to any arm. Checked against the authors' own program
    and the paper's abstract.

    Examples
    --------
    >>> from ocucb import KLMaillard
    >>> KLMaillard()
    KLMaillard()
    """
    gaussian_probabilities(t, horizon, pulls, sums, sigma, memory)
    return proportional(memory, stream)
