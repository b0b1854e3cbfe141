"""UCB-V, which exploits low variance: Audibert, Munos and Szepesvari (2009).

Programs in public use differ: one has b in place of 3 b, b being the length of the interval, and
zeta is 1 in two. Here 3 b and zeta = 1.2, the values for which the authors prove their bound.
"""

from math import log, sqrt

from ._decorators import above, at_least, index_policy


@index_policy(
    name="ucb-v",
    label="UCB-V",
    formula="mean + sqrt(2 * zeta * V * log(t) / T) + 3 * c * zeta * 2 * sigma * log(t) / T, V the "
    "empirical variance",
    reference="Audibert, Munos and Szepesvari (2009), Exploration-exploitation tradeoff using "
    "variance estimates in multi-armed bandits",
    valid={"zeta": above(0), "c": at_least(0)},
    proved={"zeta": above(1), "c": at_least(1)},
    unplayed_index="nondecreasing",
)
def UCBV(
    mean: float, variance: float, pulls: float, t: float, horizon: float, arms: float, sigma: float,
    zeta: float = 1.2, c: float = 1.0,
) -> float:  # fmt: skip
    """UCB with the empirical variance of each arm, for rewards within an interval.

    The interval has length 2 sigma, as for clicks. Regret is at most 10 * log(n) times the sum over
    suboptimal arms of variance / gap + 2 * length, for zeta = 1.2 and c = 1. Nothing is proved for
    unbounded rewards, Gaussian ones included.

    Parameters
    ----------
    zeta : float, optional
        Factor of log t, above 0; proved above 1.
    c : float, optional
        Factor of the last term, at least 0; proved from 1 on.

    Examples
    --------
    >>> from ocucb import UCBV
    >>> UCBV()
    UCBV(zeta=1.2, c=1)
    """
    exploration = zeta * log(t) / pulls
    return mean + sqrt(2.0 * variance * exploration) + 6.0 * c * sigma * exploration
