"""Almost Optimally Confident UCB: Lattimore (2015), algorithm 2."""

from math import log, sqrt

from ._decorators import index_policy


@index_policy(
    name="aocucb",
    formula="mean + sigma * sqrt(2 / T * log(n / T))",
    reference="Lattimore (2015), Optimally confident UCB, algorithm 2",
    unplayed_index="constant",
    concave=True,
)
def AOCUCB(pulls: float, t: float, horizon: float, arms: float) -> float:
    """Almost Optimally Confident UCB, a simpler variant of OCUCB.

    It has the regret guarantees of improved UCB, with a short proof (the paper's last theorem).

    Examples
    --------
    >>> from ocucb import AOCUCB
    >>> round(AOCUCB().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.6615
    """
    return sqrt(2.0 / pulls * log(horizon / pulls))
