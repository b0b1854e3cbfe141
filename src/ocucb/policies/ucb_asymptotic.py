"""UCB with f(t) = 1 + t log(t)^2: Lattimore and Szepesvari (2020), chapter 8, checked there."""

from math import log, sqrt

from ._decorators import index_policy


@index_policy(
    name="ucb-asymptotic",
    label="UCB (asymptotic)",
    formula="mean + sigma * sqrt(2 / T * log(1 + t * log(t)^2))",
    reference="Lattimore and Szepesvari (2020), Bandit algorithms, algorithm 6",
    unplayed_index="nondecreasing",
    concave=True,
)
def UCBAsymptotic(pulls: float, t: float, horizon: float, arms: float) -> float:
    """UCB with a confidence level that makes it provably asymptotically optimal, without a horizon.

    For subgaussian rewards regret is at most log(n) * sum of 2 / gap, up to lower-order terms, the
    best possible for Gaussian rewards (theorem 8.1); the worst case is O(sqrt(n K log n)).

    Examples
    --------
    >>> from ocucb import UCBAsymptotic
    >>> round(UCBAsymptotic().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.957
    """
    return sqrt(2.0 / pulls * log(1.0 + t * log(t) ** 2))
