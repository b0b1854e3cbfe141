"""OCUCB-n, the anytime version of OCUCB: Lattimore (2016), with rho = 1/2.

The formula was checked against an independent implementation and, without the two terms that bound
B from below, against the author's own page about it. The default eta is ours.
"""

from math import e, log, sqrt

from ._decorators import above, index_policy


@index_policy(
    name="ocucb-n",
    label="OCUCB-n",
    formula="mean + sigma * sqrt(2 * eta / T * log(B)), B = max(e, log(t), t * log(t) / H), H the "
    "sum over arms j of min(T, sqrt(T * T_j))",
    reference="Lattimore (2016), Regret analysis of the anytime optimally confident UCB algorithm",
    valid={"eta": above(0)},
    proved={"eta": above(1)},
    unplayed_index="nondecreasing",
)
def OCUCBn(
    pulls: float, t: float, horizon: float, effective_arms: float, eta: float = 1.1
) -> float:
    """Optimally Confident UCB without a horizon.

    For subgaussian rewards and eta > 1 its regret is of the order of the sum over suboptimal arms
    of log(n gap^2 log(n) / k) / gap, k being that problem's effective number of arms; it is optimal
    up to a factor eta as n grows, and its worst case is within sqrt(log log n) of the best. The
    paper allows rho in [1/2, 1] in the exponents T^(1 - rho) T_j^rho and calls 1/2 canonical.

    Parameters
    ----------
    eta : float, optional
        Half the factor under the root, above 0; regret bounds are proved above 1.

    Examples
    --------
    >>> from ocucb import OCUCBn
    >>> round(OCUCBn().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.493
    """
    level = max(e, log(t), t * log(t) / (pulls * effective_arms))
    return sqrt(2.0 * eta / pulls * log(level))
