"""Linear Thompson sampling: Agrawal and Goyal (2013)."""

from typing import Any

from ..random import largest
from ._decorators import above, at_least, linear_policy
from ._linear import one_per_arm_and_factor, sample_means


@linear_policy(
    name="lin-thompson",
    label="LinThompson",
    formula="<sample, x>, with sample ~ N(weights, (scale * sigma)^2 V^-1)",
    reference="Agrawal and Goyal (2013), Thompson sampling for contextual bandits with linear "
    "payoffs",
    valid={"scale": at_least(0), "ridge": above(0)},
    memory=one_per_arm_and_factor,
)
def LinThompson(
    t: float, horizon: float, model: Any, sigma: float, memory: Any, stream: Any,
    scale: float = 1.0, ridge: float = 1.0,
) -> int:  # fmt: skip
    """Draw theta from the posterior and play the arm that is best under it.

    Parameters
    ----------
    scale : float, optional
        Factor of the posterior's standard deviation, at least 0. With 1 this is the posterior under
        the prior N(0, sigma^2 / ridge); the regret bound needs a factor of about sqrt(d log n).
    ridge : float, optional
        Penalty on the squared length of theta, above 0.

    Examples
    --------
    >>> from ocucb import LinThompson
    >>> LinThompson(scale=0.5)
    LinThompson(scale=0.5, ridge=1)
    """
    values = memory[: model.means.size]
    sample_means(model, scale * sigma, values, memory[model.means.size :], stream)
    return largest(values, stream)
