"""UCB: Katehakis and Robbins (1995), in the form used in the paper's experiments."""

from math import log, sqrt

from ._decorators import above, index_policy


@index_policy(
    name="ucb",
    formula="mean + sigma * sqrt(constant / T * log(t))",
    reference="Katehakis and Robbins (1995); Auer, Cesa-Bianchi and Fischer (2002)",
    valid={"constant": above(0)},
    unplayed_index="nondecreasing",
    concave=True,
)
def UCB(pulls: float, t: float, horizon: float, arms: float, constant: float = 2.0) -> float:
    """UCB with 2 inside the square root, which is asymptotically optimal for Gaussian rewards.

    Parameters
    ----------
    constant : float, optional
        Factor under the root, above 0.

    Examples
    --------
    >>> from ocucb import UCB
    >>> round(UCB().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.5174
    """
    return sqrt(constant / pulls * log(t))
