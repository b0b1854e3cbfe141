"""IMED, indexed minimum empirical divergence: Honda and Takemura (2015)."""

from math import log, sqrt
from typing import Any

from .._compile import inlined
from ..random import largest
from ._decorators import choice_policy, one_per_arm
from ._divergence import bernoulli_kl, kl_upper, moment_kl


def _challenger_index(mean: float, pulls: float, leader_pulls: float, sigma: float) -> float:
    """Return where T * kl(mean, level) = log(leader_pulls / T)."""
    return mean + sigma * sqrt(2.0 * log(max(1.0, leader_pulls / pulls)) / pulls)


def _unit_challenger_index(mean: float, pulls: float, leader_pulls: float, sigma: float) -> float:
    return kl_upper(mean, log(max(1.0, leader_pulls / pulls)) / pulls)


@inlined
def _best_mean(pulls: Any, sums: Any) -> float:
    best = 0.0
    for i in range(pulls.size):
        best = max(best, min(1.0, sums[i] / pulls[i]))  # a live bandit may be told more than 1
    return best


@inlined
def _least(memory: Any, stream: Any) -> int:
    """Return the arm with the least index, drawn where several are."""
    lowest = 1e300
    for i in range(memory.size):
        memory[i] = min(1e300, memory[i])
        lowest = min(lowest, memory[i])
    for i in range(memory.size):
        # 1 failure in 1 and 2 successes in 3 both have log(3): rounding must not part them
        tied = memory[i] <= lowest + 1e-12 * (1.0 + lowest)
        memory[i] = -lowest if tied else -memory[i]
    return largest(memory, stream)


@choice_policy(memory=one_per_arm, forgets=True)
def _with_variance(
    t: float,
    horizon: float,
    pulls: Any,
    sums: Any,
    squares: Any,
    sigma: float,
    memory: Any,
    stream: Any,
) -> int:
    best = _best_mean(pulls, sums)
    for i in range(pulls.size):
        mean, variance = min(1.0, sums[i] / pulls[i]), squares[i] / pulls[i]
        memory[i] = pulls[i] * moment_kl(mean, variance, best) + log(pulls[i])
    return _least(memory, stream)


@choice_policy(memory=one_per_arm, forgets=True, challenger_index=_unit_challenger_index)
def _on_unit_interval(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    best = _best_mean(pulls, sums)
    for i in range(pulls.size):
        divergence = bernoulli_kl(min(1.0, sums[i] / pulls[i]), best)
        memory[i] = pulls[i] * divergence + log(pulls[i])
    return _least(memory, stream)


@choice_policy(
    name="imed",
    formula="smallest T * kl(mean, largest mean) + log(T)",
    reference="Honda and Takemura (2015), Non-asymptotic analysis of a new bandit algorithm for "
    "semi-bounded rewards",
    memory=one_per_arm,
    forgets=True,
    challenger_index=_challenger_index,
    bounded_form=_on_unit_interval,
    variance_form=_with_variance,
)
def IMED(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    """Play the arm with the least evidence against its being the best, counting its pulls.

    It needs neither a horizon nor a parameter. kl is the divergence of the rewards: here that of
    Gaussian ones; on Bernoulli rewards theirs; on other rewards in [0, 1] the least divergence of
    rewards with the arm's mean and variance.

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
