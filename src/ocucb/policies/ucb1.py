"""UCB1: Auer, Cesa-Bianchi and Fischer (2002), the one of textbooks."""

from math import log, sqrt

from ._decorators import index_policy


@index_policy(
    name="ucb1",
    formula="mean + 2 * sigma * sqrt(2 * log(t) / T)",
    reference="Auer, Cesa-Bianchi and Fischer (2002), Finite-time analysis of the multiarmed "
    "bandit problem",
    unplayed_index="nondecreasing",
    concave=True,
)
def UCB1(pulls: float, t: float, horizon: float, arms: float) -> float:
    """UCB with the constant of textbooks: mean + sqrt(2 log(t) / T) for rewards in [0, 1].

    Such rewards have sigma = 1/2, so that in units of sigma it is UCB(constant=8), and its regret
    is several times that of `UCB`. The paper's t counts the rounds so far, one fewer than here.
    Proved for rewards in [0, 1]: regret of at most 8 log(n) times the sum of 1 / gap, and a
    constant.

    Examples
    --------
    >>> from ocucb import UCB, UCB1
    >>> state = {"pulls": 4, "t": 100, "horizon": 1000, "arms": 2}
    >>> UCB1().bonus(**state) == UCB(constant=8).bonus(**state)
    True
    """
    return sqrt(8.0 / pulls * log(t))
