"""KL-AdaUCB: AdaUCB's confidence level (Lattimore, 2018) with the divergence of the rewards."""

from math import e, log, sqrt

from ._decorators import kl_policy


@kl_policy(
    name="kl-adaucb",
    label="KL-AdaUCB",
    formula="largest q with T * kl(mean, q) <= log((x + e) * sqrt(log(x + e))), x = n / H, H the "
    "sum over arms j of min(T, sqrt(T * T_j))",
    reference="Lattimore (2018), Refining the confidence level for optimistic bandit strategies, "
    "for the level",
    unplayed_index="constant",
    concave=True,
)
def KLAdaUCB(pulls: float, t: float, horizon: float, effective_arms: float) -> float:
    """AdaUCB with the divergence of the rewards in place of a square root.

    AdaUCB's theorems are about Gaussian rewards, for which this is AdaUCB; nothing is proved for
    Bernoulli rewards. While an arm is played its budget is convex, for any number of pulls of the
    others: checked on a grid.

    Examples
    --------
    >>> from ocucb import KLAdaUCB
    >>> round(KLAdaUCB().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.6792
    """
    x = horizon / (pulls * effective_arms) + e
    return log(x * sqrt(log(x)))
