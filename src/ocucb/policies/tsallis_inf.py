"""Tsallis-INF: Zimmert and Seldin (2021), with importance-weighted losses."""

from math import sqrt
from typing import Any

from .._compile import compiled
from ..random import proportional
from ._decorators import choice_policy


def _memory(arms: int) -> int:
    return 4 * arms + 2


@compiled
def _follow(least: float, pulls: Any, sums: Any, sigma: float, memory: Any) -> None:
    """Update the estimated losses with what was paid since the last call; write probabilities.

    A loss is 1 - (reward - least) / (2 sigma).
    """
    arms = pulls.size
    chance, loss = memory[:arms], memory[arms : 2 * arms]
    known, paid = memory[2 * arms : 3 * arms], memory[3 * arms : 4 * arms]
    for i in range(arms):
        if memory[4 * arms] > 0.0:
            new = (pulls[i] - known[i]) * (1.0 + least / (2.0 * sigma))
            new -= (sums[i] - paid[i]) / (2.0 * sigma)
            if new != 0.0:
                loss[i] += new / chance[i]
        known[i], paid[i] = pulls[i], sums[i]
    memory[4 * arms] += 1.0
    eta = 2.0 / sqrt(memory[4 * arms])
    # Find x below all losses where the weights 4 / (eta (loss - x))^2 sum to 1. To the right of it
    # the sum is convex and too large: Newton's method comes from there and does not overshoot.
    x = loss.min() - 2.0 / eta
    for _ in range(100):
        total, slope = -1.0, 0.0
        for i in range(arms):
            root = 2.0 / (eta * (loss[i] - x))
            chance[i] = root * root
            total += chance[i]
            slope += eta * root * chance[i]
        x -= total / slope
        if not total > 1e-13:
            break
    total = chance.sum()
    for i in range(arms):
        chance[i] /= total


@compiled
def _unit_probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any
) -> None:
    _follow(0.0, pulls, sums, sigma, memory)


@compiled
def _probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any
) -> None:
    """Do it for rewards of unknown place: the first ones say where they lie."""
    last = 4 * pulls.size
    if memory[last] == 0.0:
        memory[last + 1] = sums.sum() / pulls.sum() - sigma
    _follow(memory[last + 1], pulls, sums, sigma, memory)


@choice_policy(memory=_memory, probabilities=_unit_probabilities)
def _on_unit_interval(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    _unit_probabilities(t, horizon, pulls, sums, sigma, memory)
    return proportional(memory[: pulls.size], stream)


@choice_policy(
    name="tsallis-inf",
    label="Tsallis-INF",
    formula="a random arm, with probabilities 4 / (eta (L - x))^2 that sum to 1; eta = 2 / sqrt(t),"
    " L the sum of losses / probability; a loss is 1 - reward on [0, 1], otherwise 1/2 - (reward - "
    "mean of the first K) / (2 sigma)",
    reference="Zimmert and Seldin (2021), Tsallis-INF: an optimal algorithm for stochastic and "
    "adversarial bandits",
    memory=_memory,
    probabilities=_probabilities,
    bounded_form=_on_unit_interval,
)
def TsallisINF(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    """Follow the regularised leader, with half of the Tsallis entropy as regulariser.

    Proved for losses in [0, 1], here 1 - reward if rewards lie in [0, 1]: regret of the smallest
    possible order against an adversary, and log regret on random rewards. Nothing is proved for
    other rewards, whose losses are taken relative to the first ones. The first round of each arm,
    which is not drawn, is not used otherwise, and t counts from there. A late reward counts with
    its arm's latest probability. It runs step by step: probabilities change in every round.

    Checked against two independent programs (in JAX and MATLAB). The authors also propose a loss
    estimate of less variance, with 4 / sqrt(t) as the learning rate; it is not used here.

    Examples
    --------
    >>> from ocucb import TsallisINF
    >>> TsallisINF()
    TsallisINF()
    """
    _probabilities(t, horizon, pulls, sums, sigma, memory)
    return proportional(memory[: pulls.size], stream)
