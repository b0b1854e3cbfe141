"""AdaUCB: Lattimore (2018), which fits the confidence level to the problem while it is played.

Checked against two independent implementations, one of which calls it UCB-dagger. It is MOSS with
the effective arms, H / T, in place of K and a logarithm that does not vanish.
"""

from math import e, log, sqrt

from ._decorators import index_policy


@index_policy(
    name="adaucb",
    formula="mean + sigma * sqrt(2 / T * log((x + e) * sqrt(log(x + e)))), x = n / H, H the sum "
    "over arms j of min(T, sqrt(T * T_j))",
    reference="Lattimore (2018), Refining the confidence level for optimistic bandit strategies",
    unplayed_index="constant",
    concave=True,
)
def AdaUCB(pulls: float, t: float, horizon: float, effective_arms: float) -> float:
    """UCB whose confidence level depends on how often all arms were played.

    For Gaussian rewards it is minimax optimal up to a constant, asymptotically optimal, and never
    worse than UCB by more than a constant factor, all at once. The index of an unplayed arm never
    rises: it stands still while an arm with at least as many pulls is played. ``pulls * bonus`` was
    checked to be concave where effective arms are a + b / sqrt(pulls), for n up to 10^9.

    Examples
    --------
    >>> from ocucb import AdaUCB
    >>> round(AdaUCB().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.6792
    """
    x = horizon / (pulls * effective_arms) + e
    return sqrt(2.0 / pulls * log(x * sqrt(log(x))))
