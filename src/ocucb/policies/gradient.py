"""The gradient bandit: Sutton and Barto (2018)."""

from math import exp
from typing import Any

from .._compile import compiled
from ..random import proportional
from ._decorators import above, choice_policy


def _memory(arms: int) -> int:
    return 4 * arms + 1


@compiled
def _probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, step: float
) -> None:
    arms = pulls.size
    chance, preference = memory[:arms], memory[arms : 2 * arms]
    known, paid = memory[2 * arms : 3 * arms], memory[3 * arms : 4 * arms]
    if memory[4 * arms] > 0.0:
        baseline = paid.sum() / known.sum()
        for i in range(arms):
            beyond = (sums[i] - paid[i]) - (pulls[i] - known[i]) * baseline
            if beyond != 0.0:
                preference[i] += step * beyond
                for j in range(arms):
                    preference[j] -= step * beyond * chance[j]
    memory[4 * arms] = 1.0
    top, total = preference.max(), 0.0
    for i in range(arms):
        known[i], paid[i] = pulls[i], sums[i]
        chance[i] = exp(preference[i] - top)
        total += chance[i]
    for i in range(arms):
        chance[i] /= total


@choice_policy(
    name="gradient",
    label="Gradient bandit",
    formula="a random arm, with probability p proportional to exp(H); after a reward of arm a, "
    "H += step (reward - mean of all earlier rewards) ((1 for a, 0 for others) - p)",
    reference="Williams (1992); Sutton and Barto (2018), Reinforcement learning, section 2.8",
    valid={"step": above(0)},
    memory=_memory,
    probabilities=_probabilities,
    needs_sigma=False,
    aliases=("gradient-bandit", "policy-gradient"),
)
def GradientBandit(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    step: float = 0.1,
) -> int:  # fmt: skip
    """Stochastic gradient ascent on preferences, with the average reward as its baseline.

    The first round of each arm, which is not drawn, only counts for the baseline. A late reward
    counts with its arm's latest probability. Nothing is proved here; it may settle on a wrong arm.

    Parameters
    ----------
    step : float, optional
        Step size, above 0, for rewards in their own units.

    Examples
    --------
    >>> from ocucb import GradientBandit
    >>> GradientBandit(step=0.4)
    GradientBandit(step=0.4)
    """
    _probabilities(t, horizon, pulls, sums, sigma, memory, step)
    return proportional(memory[: pulls.size], stream)
