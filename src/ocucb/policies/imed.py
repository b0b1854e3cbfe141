"""IMED, indexed minimum empirical divergence: Honda and Takemura (2015)."""

from math import log, sqrt
from typing import Any

from ..random import largest
from ._decorators import choice_policy, one_per_arm
from ._divergence import bernoulli_kl, kl_upper


def _challenger_index(mean: float, pulls: float, leader_pulls: float, sigma: float) -> float:
    """Return where T * kl(mean, level) = log(leader_pulls / T)."""
    return mean + sigma * sqrt(2.0 * log(max(1.0, leader_pulls / pulls)) / pulls)


def _unit_challenger_index(mean: float, pulls: float, leader_pulls: float, sigma: float) -> float:
    return kl_upper(mean, log(max(1.0, leader_pulls / pulls)) / pulls)


@choice_policy(memory=one_per_arm, challenger_index=_unit_challenger_index)
def _on_unit_interval(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    best = 0.0
    for i in range(pulls.size):
        best = max(best, min(1.0, sums[i] / pulls[i]))  # a live bandit may be told more than 1
    lowest = 1e300
    for i in range(pulls.size):
        index = pulls[i] * bernoulli_kl(min(1.0, sums[i] / pulls[i]), best) + log(pulls[i])
        memory[i] = min(1e300, index)
        lowest = min(lowest, memory[i])
    for i in range(pulls.size):
        # 1 failure in 1 and 2 successes in 3 both have log(3): rounding must not part them
        tied = memory[i] <= lowest + 1e-12 * (1.0 + lowest)
        memory[i] = -lowest if tied else -memory[i]
    return largest(memory, stream)


@choice_policy(
    name="imed",
    formula="smallest T * kl(mean, largest mean) + log(T)",
    reference="Honda and Takemura (2015), Non-asymptotic analysis of a new bandit algorithm for "
    "semi-bounded rewards",
    memory=one_per_arm,
    challenger_index=_challenger_index,
    bounded_form=_on_unit_interval,
)
def IMED(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    """Play the arm with the least evidence against its being the best, counting its pulls.

    It needs neither a horizon nor a parameter. kl is the divergence of the rewards: here that of
    Gaussian ones; on rewards in [0, 1] that of Bernoulli rewards.

    Proved: asymptotic optimality for rewards bounded from above, with the divergence from the
    empirical distribution, which for Bernoulli rewards is the one used here. Checked against two
    independent libraries, bandit-kit and statrl, but not against the paper itself.

    Examples
    --------
    >>> from ocucb import IMED
    >>> IMED()
    IMED()
    """
    best = sums[0] / pulls[0]
    for i in range(1, pulls.size):
        best = max(best, sums[i] / pulls[i])
    for i in range(pulls.size):
        behind = (best - sums[i] / pulls[i]) / sigma
        memory[i] = -(0.5 * pulls[i] * behind * behind + log(pulls[i]))
    return largest(memory, stream)
