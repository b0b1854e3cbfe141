"""Epsilon-greedy that explores less and less: Auer, Cesa-Bianchi and Fischer (2002)."""

from typing import Any

from .._compile import compiled
from ..random import below, largest, uniform
from ._decorators import above, choice_policy, one_per_arm
from .epsilon_greedy import greedy_probabilities


@compiled
def _probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, c: float
) -> None:
    epsilon = min(1.0, c * pulls.size / t)
    greedy_probabilities(t, horizon, pulls, sums, sigma, memory, epsilon)


@choice_policy(
    name="decaying-epsilon",
    label="Epsilon-greedy (decaying)",
    formula="with probability min(1, c K / t) a random arm, otherwise the arm with the largest "
    "mean",
    reference="Auer, Cesa-Bianchi and Fischer (2002), Finite-time analysis of the multiarmed "
    "bandit problem",
    valid={"c": above(0)},
    memory=one_per_arm,
    probabilities=_probabilities,
    needs_sigma=False,
    aliases=("decaying-epsilon-greedy", "decaying-eps-greedy", "epsilon-decreasing"),
)
def DecayingEpsilonGreedy(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    c: float = 5.0,
) -> int:  # fmt: skip
    """Play a random arm with a probability that falls like 1 / t, otherwise the largest mean.

    Auer, Cesa-Bianchi and Fischer call it epsilon_n-greedy, and write c / d^2 for the c here, d
    being at most the smallest gap. Proved for rewards in [0, 1]: logarithmic regret if c > 5 / d^2.

    Parameters
    ----------
    c : float, optional
        How often each arm is explored in rounds t to 2.7 t, above 0.

    Examples
    --------
    >>> from ocucb import DecayingEpsilonGreedy
    >>> DecayingEpsilonGreedy(c=20)
    DecayingEpsilonGreedy(c=20)
    """
    if uniform(stream) < c * pulls.size / t:
        return below(stream, pulls.size)
    for i in range(pulls.size):
        memory[i] = sums[i] / pulls[i]
    return largest(memory, stream)
