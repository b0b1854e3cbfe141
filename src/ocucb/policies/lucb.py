"""LUCB: Kalyanakrishnan, Tewari, Auer and Stone (2012), the leader and its challenger in turn."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

from ..random import largest
from ._decorators import choice_policy
from ._divergence import kl_upper
from ._stopping import PROBABILITY, stop


def _memory(arms: int) -> int:
    return 3 + arms


@choice_policy(memory=_memory, stops=True)
def _on_unit_interval(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    delta: float = 0.05,
) -> int:  # fmt: skip
    arms, bounds = pulls.size, memory[3:]
    if memory[0] > 0.0:
        return int(memory[1])
    if memory[2] > 0.0:
        arm = int(memory[2]) - 1
        memory[2] = 0.0
        return arm
    for i in range(arms):
        bounds[i] = min(max(sums[i] / pulls[i], 0.0), 1.0)  # a live bandit may be told more than 1
    leader = largest(bounds, stream)
    level = log(2.0 * arms * (t - 1.0) * (t - 1.0) / delta)
    lower = 1.0 - kl_upper(1.0 - bounds[leader], level / pulls[leader])
    for i in range(arms):  # near 1, rounding must not decide
        upper = min(kl_upper(bounds[i], level / pulls[i]), 1.0 - 1e-9)
        bounds[i] = upper if i != leader else -1.0
    challenger = largest(bounds, stream)
    if arms == 1 or lower > bounds[challenger]:
        return stop(t, leader, memory)
    memory[2] = challenger + 1.0
    return leader


@choice_policy(
    name="lucb",
    label="LUCB",
    formula="the arm with the largest mean, then that with the largest mean_i + w_i among the "
    "others, w_i = sigma * sqrt(2 * log(2 K t^2 / delta) / T), t the rounds so far; stop when the "
    "leader's mean - w exceeds these",
    reference="Kalyanakrishnan, Tewari, Auer and Stone (2012), PAC subset selection in stochastic "
    "multi-armed bandits; Kaufmann and Kalyanakrishnan (2013) for the level and for [0, 1]",
    valid={"delta": PROBABILITY},
    memory=_memory,
    stops=True,
    bounded_form=_on_unit_interval,
)
def LUCB(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    delta: float = 0.05,
) -> int:  # fmt: skip
    """Play the leader and its strongest challenger until their bounds part.

    It stops then, and plays the leader to the end; it is not a best arm with probability delta at
    most. On rewards in [0, 1] the bounds are those of the Bernoulli divergence (KL-LUCB).

    Proved: that probability, for sigma-subgaussian rewards and for rewards in [0, 1], with the
    level of Kaufmann and Kalyanakrishnan (their alpha = k_1 = 2), which grows with t: rounds, where
    they count pairs. It does not stop where several arms are best.

    Parameters
    ----------
    delta : float, optional
        The probability of a wrong recommendation that is allowed, above 0 and below 1.

    Examples
    --------
    >>> from ocucb import LUCB
    >>> LUCB(delta=0.01)
    LUCB(delta=0.01)
    """
    arms, bounds = pulls.size, memory[3:]
    if memory[0] > 0.0:
        return int(memory[1])
    if memory[2] > 0.0:
        arm = int(memory[2]) - 1
        memory[2] = 0.0
        return arm
    for i in range(arms):
        bounds[i] = sums[i] / pulls[i]
    leader = largest(bounds, stream)
    level = 2.0 * log(2.0 * arms * (t - 1.0) * (t - 1.0) / delta)
    lower = bounds[leader] - sigma * sqrt(level / pulls[leader])
    for i in range(arms):
        bounds[i] += sigma * sqrt(level / pulls[i])
    bounds[leader] = -1e300
    challenger = largest(bounds, stream)
    if arms == 1 or lower > bounds[challenger]:
        return stop(t, leader, memory)
    memory[2] = challenger + 1.0
    return leader
