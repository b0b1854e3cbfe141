"""How many arms a formula is told of: all, or the effective ones, which depend on their pulls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .._compile import kernel_part
from .._types import Counts, Floats
from ..policies._families import PolicyFamily

# What a formula is told of the other arms, for arm i if it had T pulls; they fill `counted_arms`.


@kernel_part
def all_arms(pulls: Floats, i: int, T: float) -> float:
    """Return the number of arms."""
    return float(pulls.size)


@kernel_part
def effective_arms(pulls: Floats, i: int, T: float) -> float:
    """Return the sum over arms of min(1, sqrt(their pulls / T)).

    It depends on T and not on i alone, to the last bit: equal arms tie.
    """
    count, roots = 0.0, 0.0
    for j in range(pulls.size):
        if j == i or pulls[j] >= T:
            count += 1.0
        else:
            roots += math.sqrt(pulls[j])
    return count + roots / math.sqrt(T)


@kernel_part
def effective_arms_of_all(pulls: Floats, order: Counts, counts: Floats) -> None:
    """Write the effective arms of every arm, at a cost that hardly grows faster than their number.

    `order` holds the arms by their pulls a while ago; it is brought up to date.
    """
    arms = order.size
    for k in range(1, arms):
        i = order[k]
        while k > 0 and pulls[order[k - 1]] > pulls[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
    fewer, roots = 0, 0.0  # arms with fewer pulls, and the sum of the roots of these
    while fewer < arms:
        T = pulls[order[fewer]]
        count, root = arms - fewer, math.sqrt(T)
        value = count + roots / root
        while fewer < arms and pulls[order[fewer]] == T:
            counts[order[fewer]] = value
            roots += root
            fewer += 1


class ArmCount(NamedTuple):
    """The other arms as an arm sees them while it is played, up to `kink` pulls.

    With T pulls it counts ``whole + roots / sqrt(T)`` arms. At `kink` it catches up with another.
    """

    whole: float
    roots: float
    kink: float


@kernel_part
def all_arm_count(pulls: Floats, i: int, T: float) -> ArmCount:
    """Return all arms."""
    return ArmCount(float(pulls.size), 0.0, math.inf)


@kernel_part
def effective_arm_count(pulls: Floats, i: int, T: float) -> ArmCount:
    """Return the effective arms of arm i from T pulls on."""
    whole, roots, kink = 1.0, 0.0, math.inf
    for j in range(pulls.size):
        if j != i:
            if pulls[j] <= T:
                roots += math.sqrt(pulls[j])
            else:
                whole += 1.0
                kink = min(kink, pulls[j])
    return ArmCount(whole, roots, kink)


def arm_count_slots(family: PolicyFamily) -> dict[str, Callable[..., Any]]:
    """Return how arms are counted for a policy's formula, as slots of kernels."""
    if family.rule.takes_effective_arms:
        return {
            "counted_arms": effective_arms,
            "leader_arm_count": effective_arm_count,
        }
    return {"counted_arms": all_arms, "leader_arm_count": all_arm_count}
