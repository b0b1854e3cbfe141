"""A policy whose regret has a light tail: Simchi-Levi, Zheng and Zhu (2022).

Checked only against the paper's abstract, with the order of its bonus as others quote it,
sqrt(n log n) / T for two arms: 1 / K under the root gives the abstract's sqrt(K n log n).
"""

from math import log, sqrt

from ._decorators import above, index_policy


@index_policy(
    name="light-tailed",
    label="Light-tailed",
    formula="mean + sigma * sqrt(eta * n * log(n) / K) / T",
    reference="Simchi-Levi, Zheng and Zhu (2022), A simple and optimal policy design with safety "
    "against heavy-tailed risk for stochastic bandits",
    valid={"eta": above(0)},
    unplayed_index="constant",
    concave=True,
)
def LightTailed(pulls: float, t: float, horizon: float, arms: float, eta: float = 1.0) -> float:
    """A bonus of order 1 / T: more exploration early on, less later, and hardly any disasters.

    For subgaussian rewards the worst-case mean is O(sqrt(K n log n)) and P(regret > x) is at most
    exp(-c x / sqrt(K n)), the best rate among policies with such a mean. The price: on a fixed
    problem regret grows like sqrt(n log n), not log n.

    Parameters
    ----------
    eta : float, optional
        Factor under the root, above 0.

    Examples
    --------
    >>> from ocucb import LightTailed
    >>> LightTailed(eta=0.1)
    LightTailed(eta=0.1)
    >>> round(LightTailed().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    14.6924
    """
    return sqrt(eta * horizon * log(horizon) / arms) / pulls
