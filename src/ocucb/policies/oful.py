"""OFUL, optimism in the face of uncertainty: Abbasi-Yadkori, Pál and Szepesvári (2011)."""

from math import log, sqrt

from ._decorators import above, at_least, linear_policy


@linear_policy(
    name="oful",
    label="OFUL",
    formula="mean + (sigma * sqrt(log det V - d * log ridge + 2 * log(1 / delta)) "
    "+ sqrt(ridge) * size) * norm",
    reference="Abbasi-Yadkori, Pál and Szepesvári (2011), Improved algorithms for linear "
    "stochastic bandits",
    valid={"delta": above(0), "size": at_least(0), "ridge": above(0)},
)
def OFUL(
    mean: float, norm: float, log_det: float, t: float, horizon: float, dimension: float,
    arms: float, sigma: float, delta: float = 0.01, size: float = 1.0, ridge: float = 1.0,
) -> float:  # fmt: skip
    """OFUL: theta lies in an ellipsoid with probability 1 - delta, in all rounds together.

    Parameters
    ----------
    delta : float, optional
        Probability that the ellipsoid misses theta, above 0; its theorem has at most 1.
    size : float, optional
        A bound on the length of theta.
    ridge : float, optional
        Penalty on the squared length of theta, above 0.

    Examples
    --------
    >>> from ocucb import OFUL
    >>> OFUL(delta=0.001)
    OFUL(delta=0.001, size=1, ridge=1)
    """
    radius = sigma * sqrt(max(0.0, log_det - 2.0 * log(delta))) + sqrt(ridge) * size
    return mean + radius * norm
