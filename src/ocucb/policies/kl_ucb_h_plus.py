"""KL-UCB-H+: KL-UCB+ with a known horizon, Lai (1987)."""

from math import log

from ._decorators import kl_policy


@kl_policy(
    name="kl-ucb-h-plus",
    label="KL-UCB-H+",
    formula="largest q with T * kl(mean, q) <= log(n / T)",
    reference="Lai (1987), Adaptive treatment allocation and the multi-armed bandit problem; "
    "Kaufmann (2018), On Bayesian index policies for sequential resource allocation, for the name",
    unplayed_index="constant",
    concave=True,
)
def KLUCBHPlus(pulls: float, t: float, horizon: float, arms: float) -> float:
    """KL-UCB with the logarithm of horizon / pulls.

    Lai proved asymptotic optimality for one-parameter exponential families with a budget that is
    log(n / T) up to lower-order terms; this simple form is the one that is used in experiments. For
    Gaussian rewards it is AOCUCB. Checked against SMPyBandits, not against the papers.

    Examples
    --------
    >>> from ocucb import KLUCBHPlus
    >>> round(KLUCBHPlus().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.6615
    """
    return log(max(1.0, horizon / pulls))
