"""Greedy play with an optimistic start: Sutton and Barto (1998)."""

from typing import Any

from ..random import largest
from ._decorators import choice_policy
from ._families import Range


def _memory(arms: int) -> int:
    return 3 * arms + 1


@choice_policy(
    name="optimistic",
    label="Optimistic start",
    formula="largest Q, which begins at start and moves to a reward by step (reward - Q)",
    reference="Sutton and Barto (1998), Reinforcement learning, section 2.7",
    valid={"step": Range("> 0 and <= 1", lambda value: 0.0 < value <= 1.0)},
    memory=_memory,
    needs_sigma=False,
    aliases=("optimistic-greedy", "optimistic-initial-values"),
)
def OptimisticStart(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    start: float = 5.0, step: float = 0.1,
) -> int:  # fmt: skip
    """Play greedily with estimates that begin too high, and so try every arm for a while.

    An estimate is a weighted average of the start and the arm's rewards, of which the latest count
    most; several that arrive together count as so many of their average. Once the start is
    forgotten it never explores again, so its regret is linear.

    Parameters
    ----------
    start : float, optional
        Where estimates begin, in units of the rewards: above what any arm pays on average.
    step : float, optional
        Share of a new reward in the estimate, above 0 and at most 1.

    Examples
    --------
    >>> from ocucb import OptimisticStart
    >>> OptimisticStart(start=1)
    OptimisticStart(start=1, step=0.1)
    """
    arms = pulls.size
    estimate, known = memory[:arms], memory[arms : 2 * arms]
    paid, begun = memory[2 * arms : 3 * arms], memory[3 * arms :]
    for i in range(arms):
        if begun[0] == 0.0:
            estimate[i] = start
        count = pulls[i] - known[i]
        if count > 0.0:
            reward = (sums[i] - paid[i]) / count
            estimate[i] = reward + (1.0 - step) ** count * (estimate[i] - reward)
        known[i], paid[i] = pulls[i], sums[i]
    begun[0] = 1.0
    return largest(estimate, stream)
