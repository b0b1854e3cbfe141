"""Improved UCB: Auer and Ortner (2010), elimination in phases."""

from math import ceil, e, log, sqrt
from typing import Any

from ..random import largest
from ._decorators import choice_policy


def _memory(arms: int) -> int:
    return 2 + 2 * arms


@choice_policy(
    name="improved-ucb",
    label="Improved UCB",
    formula="phases d = 1, 1/2, 1/4, ...: play each remaining arm ceil(2 log(n d^2) / d^2) times, "
    "drop arm i if mean_i + w < max_j mean_j - w, w = sqrt(log(n d^2) / (2 T)); means / (2 sigma)",
    reference="Auer and Ortner (2010), UCB revisited",
    memory=_memory,
)
def ImprovedUCB(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any
) -> int:
    """Improved UCB, which the paper calls overly complicated and empirically hopeless.

    It is stated for rewards in [0, 1], so rewards are divided by 2 sigma. The remaining arms take
    turns within a phase. The phases end when n d^2 < e; if several arms then remain, the one
    with the largest mean is played to the end.

    Examples
    --------
    >>> from ocucb import ImprovedUCB
    >>> ImprovedUCB()
    ImprovedUCB()
    """
    arms = pulls.size
    d, target = memory[0], memory[1]
    dropped = memory[2 : 2 + arms]
    means = memory[2 + arms :]
    if d == 0.0:
        d, target = 1.0, ceil(2.0 * log(horizon))
    while True:
        left, least = 0, -1
        for i in range(arms):
            if dropped[i] == 0.0:
                left += 1
                if least < 0 or pulls[i] < pulls[least]:
                    least = i
        if left == 1 or (horizon * d * d >= e and pulls[least] < target):
            memory[0], memory[1] = d, target
            return least
        top = -1e300
        for i in range(arms):
            means[i] = sums[i] / pulls[i] / (2.0 * sigma) if dropped[i] == 0.0 else -1e300
            top = max(top, means[i])
        if horizon * d * d < e:
            memory[0], memory[1] = d, target
            return largest(means, stream)
        w = sqrt(log(horizon * d * d) / (2.0 * target))
        for i in range(arms):
            if means[i] + w < top - w:
                dropped[i] = 1.0
        d /= 2.0
        if horizon * d * d >= e:
            target = ceil(2.0 * log(horizon * d * d) / (d * d))
