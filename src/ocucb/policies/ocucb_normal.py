"""OCUCB-normal: OCUCB's confidence level (Lattimore, 2015) where nobody knows the variances.

The shape of the index is that of Cowan, Honda and Katehakis (2018), whose level is the round.
"""

from math import expm1, log, sqrt

from ._decorators import above, at_least, index_policy

_FIRST = 3.0  # pulls of each arm before the formula means anything
_AHEAD = 1e300  # stands for an index above all others; finite, so that fewer pulls come first
_LARGEST = 690.0  # its exponential is far from overflow, whatever the variance


@index_policy(
    name="ocucb-normal",
    label="OCUCB-normal",
    formula="mean + S * sqrt((psi * n / t)^(alpha / (T - 2)) - 1), S^2 the unbiased variance; "
    "three pulls of each arm first",
    reference="Lattimore (2015), Optimally confident UCB, for the level; Cowan, Honda and "
    "Katehakis (2018), Normal bandits of unknown means and variances, for the index",
    valid={"alpha": above(0), "psi": at_least(1)},
    needs_sigma=False,
    unplayed_index="nonincreasing",
)
def OCUCBNormal(
    mean: float, variance: float, pulls: float, t: float, horizon: float, arms: float, sigma: float,
    alpha: float = 3.0, psi: float = 2.0,
) -> float:  # fmt: skip
    """OCUCB for normal rewards with unknown variances, which may differ between arms.

    It ignores sigma: nobody has to know it. Nothing is proved.

    Parameters
    ----------
    alpha : float, optional
        Factor in the exponent, above 0.
    psi : float, optional
        Factor of n / t, at least 1.

    Examples
    --------
    >>> from ocucb import OCUCBNormal
    >>> OCUCBNormal()
    OCUCBNormal(alpha=3, psi=2)
    """
    if pulls < _FIRST:
        return _AHEAD / pulls
    level = alpha / (pulls - 2.0) * log(psi * horizon / t)
    spread = variance * pulls / (pulls - 1.0)
    return mean + sqrt(spread * expm1(min(level, _LARGEST)))
