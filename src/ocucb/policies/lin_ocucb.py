"""OCUCB's confidence level on a linear model: the idea of Lattimore (2015), section 6."""

from math import log, sqrt

from ._decorators import above, at_least, linear_policy


@linear_policy(
    name="lin-ocucb",
    label="LinOCUCB",
    formula="mean + sigma * sqrt(alpha * log(psi * n / t)) * norm",
    reference="this library, after Lattimore (2015), Optimally confident UCB",
    valid={"alpha": above(0), "psi": at_least(1), "ridge": above(0)},
)
def LinOCUCB(
    mean: float, norm: float, t: float, horizon: float, dimension: float, arms: float, sigma: float,
    alpha: float = 3.0, psi: float = 2.0, ridge: float = 1.0,
) -> float:  # fmt: skip
    """Optimally confident linear UCB: the level of `OCUCB` on a linear model.

    On unit vectors with a vanishing ridge, it is OCUCB. No regret bound is proved.

    Parameters
    ----------
    alpha : float, optional
        Factor under the root, above 0.
    psi : float, optional
        Factor in the logarithm, at least 1.
    ridge : float, optional
        Penalty on the squared length of theta, above 0.

    Examples
    --------
    >>> from ocucb import LinOCUCB
    >>> LinOCUCB(alpha=2)
    LinOCUCB(alpha=2, psi=2, ridge=1)
    """
    return mean + sigma * sqrt(alpha * log(psi * horizon / t)) * norm
