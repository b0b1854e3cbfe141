"""Optimally Confident UCB: Lattimore (2015), algorithm 1."""

from math import log, sqrt

from ._decorators import above, at_least, index_policy


@index_policy(
    name="ocucb",
    formula="mean + sigma * sqrt(alpha / T * log(psi * n / t))",
    reference="Lattimore (2015), Optimally confident UCB, algorithm 1",
    valid={"alpha": above(0), "psi": at_least(1)},
    proved={"alpha": above(2), "psi": at_least(2)},
    unplayed_index="nonincreasing",
    concave=True,
)
def OCUCB(
    pulls: float, t: float, horizon: float, arms: float, alpha: float = 3.0, psi: float = 2.0
) -> float:
    """Optimally Confident UCB, the paper's algorithm.

    Its problem-dependent and worst-case regret are both order-optimal for alpha > 2 and
    psi >= 2 (theorems 1 and 2). The paper's experiments use alpha = 3.

    Parameters
    ----------
    alpha : float, optional
        Factor under the root, above 0; regret bounds are proved above 2.
    psi : float, optional
        Factor in the logarithm, at least 1; regret bounds are proved from 2 on.

    Examples
    --------
    >>> from ocucb import OCUCB
    >>> OCUCB(alpha=2.5)
    OCUCB(alpha=2.5, psi=2)
    >>> round(OCUCB().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.4989
    """
    return sqrt(alpha / pulls * log(psi * horizon / t))
