"""SLE-UCB, stabilised lower-envelope UCB: Wang, Ye and Zhong (2026), algorithm 1."""

from math import inf, log, sqrt
from typing import Any

from ..random import uniform
from ._decorators import above, at_least, choice_policy
from ._families import Range

_RANK, _PULLS, _SUM, _CLIPPED, _ENVELOPE = 0, 1, 2, 3, 4  # rows of its memory, K numbers each


def _memory(arms: int) -> int:
    return 5 * arms


@choice_policy(
    name="sle-ucb",
    label="SLE-UCB",
    formula="U + alpha * beta * sqrt(K / n) * log(n / T), U the least of mean_s + beta / sqrt(s) "
    "over s = 1 .. T, mean_s that of the first s rewards, clipped at +-B; "
    "B = bound + 4 * sigma * iota, beta = width * B * iota, iota = sqrt(log(K n))",
    reference="Wang, Ye and Zhong (2026), Toward the optimal regret-instability trade-off in "
    "multi-armed bandits, arXiv 2608.17841, algorithm 1",
    valid={"alpha": above(0), "bound": above(0), "width": above(0)},
    proved={"alpha": at_least(1), "width": Range("8", lambda x: x == 8.0)},
    memory=_memory,
)
def SLEUCB(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    alpha: float = 1.0, bound: float = 1.0, width: float = 8.0,
) -> int:  # fmt: skip
    """A stable policy: numbers of pulls vary little from run to run, at the price of regret.

    The index of an arm falls with every pull, whatever the rewards. Arms that look alike therefore
    get about as many pulls, however lucky the first ones were, and sample means are closer to
    normal. For every n, with worst-case regret R and the largest standard deviation S of a number
    of pulls: R <= (5 + alpha log(2 K)) beta sqrt(K n), S <= 2 sqrt(n) + 18 sqrt(2) sigma n / (alpha
    beta sqrt(K)). The product is of order n^(3/2) log K, and no policy's is below order n^(3/2).

    beta is so large that arms are played almost in turn unless n is very large: 300 sigma for K = 2
    and n = 10,000. Nothing is proved for a smaller `width`. Of several rewards of an arm that
    arrive together, as live, their mean is clipped.

    Parameters
    ----------
    alpha : float, optional
        How strongly numbers of pulls are held together, above 0; proved from 1 on.
    bound : float, optional
        A bound on the absolute values of the means, in units of the rewards.
    width : float, optional
        Factor of beta, above 0; proved for 8.

    Examples
    --------
    >>> from ocucb import SLEUCB
    >>> SLEUCB(alpha=4)
    SLEUCB(alpha=4, bound=1, width=8)
    """
    arms = pulls.size
    iota = sqrt(log(arms * horizon))
    most = bound + 4.0 * sigma * iota
    beta = width * most * iota
    pull_back = alpha * beta * sqrt(arms / horizon)
    best, top = -1, -inf
    for i in range(arms):
        if memory[_PULLS * arms + i] == 0.0:
            memory[_RANK * arms + i] = uniform(stream)
            memory[_ENVELOPE * arms + i] = inf
        T = pulls[i]
        new = T - memory[_PULLS * arms + i]
        if new > 0.0:
            mean = (sums[i] - memory[_SUM * arms + i]) / new
            memory[_CLIPPED * arms + i] += new * min(most, max(-most, mean))
            memory[_PULLS * arms + i], memory[_SUM * arms + i] = T, sums[i]
            now = memory[_CLIPPED * arms + i] / T + beta / sqrt(T)
            memory[_ENVELOPE * arms + i] = min(memory[_ENVELOPE * arms + i], now)
        index = memory[_ENVELOPE * arms + i] + pull_back * log(horizon / T)
        tied = best >= 0 and index == top
        if index > top or (tied and memory[_RANK * arms + i] < memory[_RANK * arms + best]):
            best, top = i, index
    return best
