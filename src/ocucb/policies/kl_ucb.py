"""KL-UCB: Garivier and Cappé (2011), Cappé et al. (2013)."""

from math import log

from ._decorators import at_least, kl_policy


@kl_policy(
    name="kl-ucb",
    label="KL-UCB",
    formula="largest q with T * kl(mean, q) <= log(t) + c * log(max(1, log(t)))",
    reference="Garivier and Cappe (2011), The KL-UCB algorithm for bounded stochastic bandits and "
    "beyond",
    valid={"c": at_least(0)},
    unplayed_index="nondecreasing",
    concave=True,
)
def KLUCB(pulls: float, t: float, horizon: float, arms: float, c: float = 0.0) -> float:
    """UCB with the divergence of the rewards in place of a square root; needs no horizon.

    Proved: asymptotic optimality for Bernoulli rewards and for one-parameter exponential families,
    and log regret for any rewards in [0, 1], all with c = 3. The authors recommend c = 0 in
    practice. For Gaussian rewards and c = 0 this is UCB with constant 2. Checked against two
    independent programs (SMPyBandits and one in MATLAB), but not against the paper itself.
    Lattimore and Szepesvari (2020), chapter 10, use the larger log(1 + t log(t)^2).

    Parameters
    ----------
    c : float, optional
        Factor of log log t, at least 0.

    Examples
    --------
    >>> from ocucb import KLUCB
    >>> round(KLUCB().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.5174
    """
    return log(t) + c * log(max(1.0, log(t)))
