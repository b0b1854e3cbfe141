"""KL-UCB++: Ménard and Garivier (2017)."""

from math import log

from ._decorators import fair_share, kl_policy


@kl_policy(
    name="kl-ucb-plus-plus",
    label="KL-UCB++",
    formula="largest q with T * kl(mean, q) <= log+(y (1 + log+(y)^2)), y = n / (K T)",
    reference="Menard and Garivier (2017), A minimax and asymptotically optimal algorithm for "
    "stochastic bandits",
    unplayed_index="constant",
    concave=True,
    concave_until=fair_share,
)
def KLUCBPlusPlus(pulls: float, t: float, horizon: float, arms: float) -> float:
    """KL-UCB with MOSS's budget and a little more.

    Proved: asymptotically optimal and minimax optimal up to a constant, for one-parameter
    exponential families whose means lie in a bounded interval, Gaussian and 0-1 rewards among them.
    Checked against the paper's exploration function as SMPyBandits quotes it, twice.

    Examples
    --------
    >>> from ocucb import KLUCBPlusPlus
    >>> round(KLUCBPlusPlus().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    2.0024
    """
    y = horizon / (arms * pulls)
    if y <= 1.0:
        return 0.0
    return log(y * (1.0 + log(y) ** 2))
