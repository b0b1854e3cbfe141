"""What policies with a rule to stop share.

Their memory begins with the rounds that they took, 0 until they stop, and the arm that they
recommend; a number for each arm follows.
"""

from __future__ import annotations

from typing import Any

from .._compile import compiled, inlined
from ._divergence import bernoulli_kl
from ._families import Range

PROBABILITY = Range("above 0 and below 1", lambda value: 0.0 < value < 1.0)


def memory_of_stops(arms: int) -> int:
    """Return the size of the memory: the two numbers, and one for each arm."""
    return 2 + arms


@inlined
def stop(t: float, arm: int, memory: Any) -> int:
    """Note before round t that the policy stops, and return the arm that it recommends."""
    memory[0], memory[1] = t - 1.0, float(arm)
    return arm


@compiled
def least_played(pulls: Any, memory: Any) -> tuple[int, bool]:
    """Return the remaining arm with the fewest pulls, and whether the others have as many."""
    least, most = -1, 0.0
    for i in range(pulls.size):
        if memory[2 + i] == 0.0:
            most = max(most, pulls[i])
            if least < 0 or pulls[i] < pulls[least]:
                least = i
    return least, pulls[least] == most


@compiled
def eliminate(t: float, memory: Any) -> bool:
    """Stop if one arm is left, and tell whether it did."""
    left, last = 0, -1
    for i in range(memory.size - 2):
        if memory[2 + i] == 0.0:
            left, last = left + 1, i
    if left == 1:
        stop(t, last, memory)
    return left == 1


@compiled
def least(costs: Any, leader: int) -> int:
    """Return the other arm with the least cost, the first of those that rounding alone tells apart.

    Where rewards are 0 and 1, different pulls and successes may cost the same.
    """
    lowest, best = 1e300, leader
    for i in range(costs.size):
        if i != leader:
            lowest = min(lowest, costs[i])
    for i in range(costs.size - 1, -1, -1):
        if i != leader and costs[i] <= lowest + 1e-12 * (1.0 + lowest):
            best = i
    return best


@inlined
def bernoulli_cost(mean: float, pulls: float, other: float, its_pulls: float) -> float:
    """Return the evidence that an arm with the larger mean is better than another, on [0, 1].

    The logarithm of how much likelier rewards are with their own means than with a common one.
    """
    if mean <= other:
        return 0.0
    common = (mean * pulls + other * its_pulls) / (pulls + its_pulls)
    return pulls * bernoulli_kl(mean, common) + its_pulls * bernoulli_kl(other, common)
