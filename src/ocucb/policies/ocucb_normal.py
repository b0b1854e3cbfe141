"""OCUCB-normal: OCUCB's confidence level (Lattimore, 2015) where nobody knows the variances.

The shape of the index is that of Cowan, Honda and Katehakis (2018), whose level is the round. It
means nothing before the third pull of an arm, and little while an arm's rewards have all been
equal: clicks that are rare, revenue that is mostly zero. Such an arm is played on, up to a limit of
the order that exploring first and then committing needs. Normal rewards never meet it.
"""

from math import copysign, expm1, log, log1p, sqrt

from ._decorators import above, at_least, index_policy

_FIRST = 3.0  # pulls of an arm before the formula means anything
_AHEAD = 1e300  # an index above all others
_EQUAL = 1e-12  # rewards whose deviation is at most this share of their mean have been equal
_LARGEST = 690.0  # its exponential is far from overflow, whatever the variance


@index_policy(
    name="ocucb-normal",
    label="OCUCB-normal",
    formula="mean + S * sqrt((psi * n / t)^(alpha / (T - 2)) - 1), S^2 the unbiased variance; each "
    "arm three times first, or (n / K)^(2/3) times while its rewards are equal",
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

    It ignores sigma: nobody has to know it. An arm is first played three times, and on, up to
    (n / K)^(2/3) times, while all of its rewards are equal; arms with fewer pulls come first, then
    those with larger means.
    Nothing is proved.

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
    variance = max(variance, 0.0)  # rounding
    equal, share = sqrt(variance) <= _EQUAL * abs(mean), horizon / arms
    if pulls < _FIRST or (equal and pulls * pulls * pulls < share * share):
        # Fewer pulls first, then larger means: many arms must not tie that are not alike.
        return _AHEAD / pulls * (1.0 + 1e-6 * copysign(log1p(abs(mean)), mean))
    level = alpha / (pulls - 2.0) * log(psi * horizon / t)
    return mean + sqrt(variance * pulls / (pulls - 1.0)) * sqrt(expm1(min(level, _LARGEST)))
