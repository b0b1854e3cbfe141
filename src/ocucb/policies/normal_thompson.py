"""Thompson sampling for normal rewards of unknown variance: Honda and Takemura (2014)."""

from math import floor, sqrt
from typing import Any

from ..random import gamma, largest, normal
from ._decorators import between, choice_policy, one_per_arm
from ._families import Range


@choice_policy(
    name="normal-thompson",
    label="Thompson sampling (normal)",
    formula="mean + sqrt(Q / (T * d)) * Student(d), d = T - 1 + 2 * alpha, Q the summed squared "
    "deviations from the mean, a fresh sample for every arm in every round; each arm "
    "max(2, 3 - floor(2 * alpha)) times first",
    reference="Honda and Takemura (2014), Optimality of Thompson sampling for Gaussian bandits "
    "depends on priors",
    valid={"alpha": between(-10, 0.5)},
    proved={"alpha": Range("below 0", lambda x: x < 0.0)},
    memory=one_per_arm,
    needs_sigma=False,
)
def NormalThompson(
    t: float, horizon: float, pulls: Any, sums: Any, squares: Any, sigma: float, memory: Any,
    stream: Any, alpha: float = -0.5,
) -> int:  # fmt: skip
    """Thompson sampling that knows neither means nor variances, and no horizon.

    The prior of mean and variance is proportional to variance^(-1 - alpha). Proved for normal
    rewards: asymptotic optimality for alpha < 0, and that neither Jeffreys' prior (alpha = 1/2) nor
    the reference prior (alpha = 0) has it. It ignores sigma. Nothing is proved for rewards that
    often coincide: an arm whose rewards have all been equal has no variance, so its sample is its
    mean.

    Parameters
    ----------
    alpha : float, optional
        Exponent of the prior, between -10 and 1/2; the lower, the more first pulls.

    Examples
    --------
    >>> from ocucb import NormalThompson
    >>> NormalThompson()
    NormalThompson(alpha=-0.5)
    """
    first = max(2.0, 3.0 - floor(2.0 * alpha))
    behind = 0
    for i in range(pulls.size):
        if pulls[i] < pulls[behind]:
            behind = i
    if pulls[behind] < first:
        return behind
    for i in range(pulls.size):
        T, freedom = pulls[i], pulls[i] - 1.0 + 2.0 * alpha
        width = sqrt(max(squares[i], 0.0) / (2.0 * T * gamma(stream, 0.5 * freedom)))
        memory[i] = sums[i] / T + width * normal(stream)
    return largest(memory, stream)
