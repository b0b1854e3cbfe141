"""MOSS without a horizon: Degenne and Perchet (2016).

Checked against two independent transcriptions of the paper's index for rewards in [0, 1], where
sigma is 1/2: mean + sqrt((1 + alpha) / 2 * log(max(1, t / (K T))) / T).
"""

from math import log, sqrt

from ._decorators import above, index_policy


@index_policy(
    name="moss-anytime",
    label="MOSS-anytime",
    formula="mean + sigma * sqrt(2 * (1 + alpha) / T * log(max(1, t / (T * K))))",
    reference="Degenne and Perchet (2016), Anytime optimal algorithms in stochastic multi-armed "
    "bandits",
    valid={"alpha": above(-1)},
    proved={"alpha": above(0)},
    unplayed_index="nondecreasing",
)
def MOSSAnytime(pulls: float, t: float, horizon: float, arms: float, alpha: float = 1.35) -> float:
    """MOSS with the round in place of the horizon.

    Its worst-case regret is O(sqrt(n K)) for every n, for bounded or subgaussian rewards and
    alpha > 0; alpha = 1.35 minimises the constant. The bonus is zero once T >= t / K. Since that
    edge moves with t, `concave` is not declared.

    Parameters
    ----------
    alpha : float, optional
        Above -1; regret bounds are proved above 0.

    Examples
    --------
    >>> from ocucb import MOSSAnytime
    >>> round(MOSSAnytime().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.7227
    """
    return sqrt(2.0 * (1.0 + alpha) / pulls * log(max(1.0, t / (pulls * arms))))
