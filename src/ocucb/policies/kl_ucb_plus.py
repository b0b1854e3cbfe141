"""KL-UCB+: Garivier and Cappé (2011), analysed by Honda (2019)."""

from math import log

from ._decorators import kl_policy


@kl_policy(
    name="kl-ucb-plus",
    label="KL-UCB+",
    formula="largest q with T * kl(mean, q) <= log(t / T)",
    reference="Garivier and Cappe (2011), section on experiments; Honda (2019), A note on KL-UCB+ "
    "policy for the stochastic bandit",
    unplayed_index="nondecreasing",
    concave=True,
)
def KLUCBPlus(pulls: float, t: float, horizon: float, arms: float) -> float:
    """KL-UCB with a budget that shrinks with the arm's pulls; needs no horizon.

    Proved: asymptotic optimality for Bernoulli rewards (Honda), and for one-parameter exponential
    families with an additional log log term (Kaufmann, 2018). Checked against two independent
    programs and the abstracts of both. KL-UCB-H+ has a known horizon in place of t.

    Examples
    --------
    >>> from ocucb import KLUCBPlus
    >>> round(KLUCBPlus().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.2686
    """
    return log(max(1.0, t / pulls))
