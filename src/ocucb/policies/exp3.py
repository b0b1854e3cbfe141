"""EXP3: Auer, Cesa-Bianchi, Freund and Schapire (2002), with importance-weighted rewards."""

from math import e, exp, log, sqrt
from typing import Any

from .._compile import compiled
from ..random import proportional
from ._decorators import between, choice_policy


def _memory(arms: int) -> int:
    return 4 * arms + 2


@compiled
def _follow(
    least: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, gamma: float
) -> None:
    """Update the estimated gains with what was paid since the last call; write probabilities.

    A gain is (reward - least) / (2 sigma).
    """
    arms = pulls.size
    if gamma == 0.0:
        gamma = min(1.0, sqrt(arms * log(arms) / ((e - 1.0) * horizon)))
    chance, gain = memory[:arms], memory[arms : 2 * arms]
    known, paid = memory[2 * arms : 3 * arms], memory[3 * arms : 4 * arms]
    for i in range(arms):
        if memory[4 * arms] > 0.0:
            new = sums[i] - paid[i] - (pulls[i] - known[i]) * least
            gain[i] += new / (2.0 * sigma) / chance[i] if new != 0.0 else 0.0
        known[i], paid[i] = pulls[i], sums[i]
    memory[4 * arms] = 1.0
    top, total = gain.max(), 0.0
    for i in range(arms):
        chance[i] = exp(gamma * (gain[i] - top) / arms)
        total += chance[i]
    for i in range(arms):
        chance[i] = (1.0 - gamma) * chance[i] / total + gamma / arms


@compiled
def _unit_probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, gamma: float
) -> None:
    _follow(0.0, horizon, pulls, sums, sigma, memory, gamma)


@compiled
def _probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, gamma: float
) -> None:
    """Do it for rewards of unknown place: the first ones say where they lie."""
    last = 4 * pulls.size
    if memory[last] == 0.0:
        memory[last + 1] = sums.sum() / pulls.sum() - sigma
    _follow(memory[last + 1], horizon, pulls, sums, sigma, memory, gamma)


@choice_policy(memory=_memory, probabilities=_unit_probabilities)
def _on_unit_interval(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    gamma: float = 0.0,
) -> int:  # fmt: skip
    _unit_probabilities(t, horizon, pulls, sums, sigma, memory, gamma)
    return proportional(memory[: pulls.size], stream)


@choice_policy(
    name="exp3",
    label="EXP3",
    formula="a random arm: with probability gamma any, otherwise with one proportional to exp("
    "gamma G / K), G the sum of gains / probability; a gain is the reward on [0, 1], otherwise 1/2 "
    "+ (reward - mean of the first K) / (2 sigma)",
    reference="Auer, Cesa-Bianchi, Freund and Schapire (2002), The nonstochastic multiarmed bandit "
    "problem",
    valid={"gamma": between(0, 1)},
    memory=_memory,
    probabilities=_probabilities,
    bounded_form=_on_unit_interval,
)
def EXP3(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    gamma: float = 0.0,
) -> int:  # fmt: skip
    """Exponential weights for exploration and exploitation, against an adversary.

    Proved for rewards in [0, 1], whatever they are: regret O(sqrt(n K log K)), which on random
    rewards is far more than other policies have. Nothing is proved for other rewards, which are
    taken relative to the first ones. The first round of each arm, which is not drawn, is not used
    otherwise. A late reward counts with its arm's latest probability.

    Parameters
    ----------
    gamma : float, optional
        Share of rounds in which any arm is drawn, up to 1; 0 for sqrt(K log K / ((e - 1) n)), or 1
        if that is less, as in the bound.

    Examples
    --------
    >>> from ocucb import EXP3
    >>> EXP3(gamma=0.1)
    EXP3(gamma=0.1)
    """
    _probabilities(t, horizon, pulls, sums, sigma, memory, gamma)
    return proportional(memory[: pulls.size], stream)
