"""Softmax, or Boltzmann exploration: Luce (1959), Sutton and Barto (1998)."""

from math import exp
from typing import Any

from .._compile import compiled
from ..random import proportional
from ._decorators import above, choice_policy, one_per_arm


@compiled
def _probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, temperature: float
) -> None:
    best = sums[0] / pulls[0]
    for i in range(1, pulls.size):
        best = max(best, sums[i] / pulls[i])
    total = 0.0
    for i in range(pulls.size):
        memory[i] = exp((sums[i] / pulls[i] - best) / temperature)
        total += memory[i]
    for i in range(pulls.size):
        memory[i] /= total


@choice_policy(
    name="softmax",
    label="Softmax",
    formula="a random arm, with probability proportional to exp(mean / temperature)",
    reference="Luce (1959), Individual choice behavior; Sutton and Barto (1998), Reinforcement "
    "learning, section 2.3",
    valid={"temperature": above(0)},
    memory=one_per_arm,
    forgets=True,
    probabilities=_probabilities,
    needs_sigma=False,
    aliases=("boltzmann", "boltzmann-exploration"),
)
def Softmax(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    temperature: float = 0.1,
) -> int:  # fmt: skip
    """Boltzmann exploration with a fixed temperature: arms with larger means are likelier.

    Its regret is linear, as the temperature is fixed and pulls do not count. `Maillard` mends both.

    Parameters
    ----------
    temperature : float, optional
        In units of the rewards, above 0; the higher, the more it explores.

    Examples
    --------
    >>> from ocucb import Softmax
    >>> policy = Softmax(temperature=0.5)
    >>> policy.probabilities(t=5, horizon=100, pulls=[2, 2], sums=[2.0, 1.0], sigma=1.0).round(4)
    array([0.7311, 0.2689])
    """
    _probabilities(t, horizon, pulls, sums, sigma, memory, temperature)
    return proportional(memory, stream)
