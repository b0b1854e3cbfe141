"""Successive elimination: Even-Dar, Mannor and Mansour (2006), arms drop out until one is left."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

from ._decorators import choice_policy
from ._divergence import kl_upper
from ._stopping import PROBABILITY, eliminate, least_played, memory_of_stops


@choice_policy(memory=memory_of_stops, stops=True)
def _on_unit_interval(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    delta: float = 0.05,
) -> int:  # fmt: skip
    arms = pulls.size
    if memory[0] == 0.0:
        arm, complete = least_played(pulls, memory)
        if not complete:
            return arm
        T = pulls[arm]
        budget, highest = log(2.0 * arms * T * T / delta) / T, 0.0
        for i in range(arms):
            mean = min(max(sums[i] / pulls[i], 0.0), 1.0)  # a live bandit may be told more than 1
            if memory[2 + i] == 0.0:
                highest = max(highest, 1.0 - kl_upper(1.0 - mean, budget))
        for i in range(arms):
            mean = min(max(sums[i] / pulls[i], 0.0), 1.0)
            if memory[2 + i] == 0.0 and min(kl_upper(mean, budget), 1.0 - 1e-9) < highest:
                memory[2 + i] = 1.0
        if not eliminate(t, memory):
            return least_played(pulls, memory)[0]
    return int(memory[1])


@choice_policy(
    name="successive-elimination",
    label="Successive elimination",
    formula="the remaining arms in turn; after T rounds each, drop arm i if mean_i + w < max_j "
    "mean_j - w, w = sigma * sqrt(2 * log(2 K T^2 / delta) / T); stop when one is left",
    reference="Even-Dar, Mannor and Mansour (2006), Action elimination and stopping conditions; "
    "Kaufmann and Kalyanakrishnan (2013) for the level",
    valid={"delta": PROBABILITY},
    memory=memory_of_stops,
    stops=True,
    bounded_form=_on_unit_interval,
)
def SuccessiveElimination(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    delta: float = 0.05,
) -> int:  # fmt: skip
    """Play the arms that may still be best in turn, until only one is left.

    It stops then, and plays this arm to the end; it is not a best one with probability delta at
    most. On rewards in [0, 1] the bounds are those of the Bernoulli divergence (KL-Racing).

    Proved: that probability, for sigma-subgaussian rewards and for rewards in [0, 1], as by a union
    bound over T and arms the right bounds hold with probability 1 - delta. The level is that of
    Kaufmann and Kalyanakrishnan, with their alpha = k_1 = 2; the original one is larger. It does
    not stop where several arms are best.

    Parameters
    ----------
    delta : float, optional
        The probability of a wrong recommendation that is allowed, above 0 and below 1.

    Examples
    --------
    >>> from ocucb import SuccessiveElimination
    >>> SuccessiveElimination(delta=0.01)
    SuccessiveElimination(delta=0.01)
    """
    arms = pulls.size
    if memory[0] == 0.0:
        arm, complete = least_played(pulls, memory)
        if not complete:
            return arm
        T, top = pulls[arm], -1e300
        width = sigma * sqrt(2.0 * log(2.0 * arms * T * T / delta) / T)
        for i in range(arms):
            if memory[2 + i] == 0.0:
                top = max(top, sums[i] / pulls[i])
        for i in range(arms):
            if memory[2 + i] == 0.0 and sums[i] / pulls[i] + width < top - width:
                memory[2 + i] = 1.0
        if not eliminate(t, memory):
            return least_played(pulls, memory)[0]
    return int(memory[1])
