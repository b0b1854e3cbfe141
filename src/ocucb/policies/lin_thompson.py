"""Linear Thompson sampling: Agrawal and Goyal (2013)."""

from math import erfc, nan, sqrt
from typing import Any

from .._compile import compiled
from ..random import largest
from ._decorators import above, at_least, linear_policy
from ._largest import largest_of_normal
from ._linear import cross_norm, one_per_arm_and_factor, sample_means


@compiled
def thompson_probabilities(
    t: float, horizon: float, model: Any, sigma: float, memory: Any, scale: float, ridge: float
) -> None:
    """Write the arms' probabilities; nan for three samples and more that are correlated."""
    K = model.means.size
    chances, width = memory[:K], scale * sigma
    for i in range(K):
        chances[i] = 1.0 if K == 1 else nan
    if K == 2:
        spread = width * cross_norm(model, 0, 1)
        if spread > 0.0:
            gap = (model.means[0] - model.means[1]) / spread / sqrt(2.0)
            chances[0], chances[1] = 0.5 * erfc(-gap), 0.5 * erfc(gap)
    elif model.weights.shape[0] == K and width > 0.0 and model.norms.min() > 0.0:
        unit = width * model.norms.min()
        top = model.means.max()
        largest_of_normal((model.means - top) / unit, width * model.norms / unit, chances, 0.0)


@linear_policy(
    name="lin-thompson",
    label="LinThompson",
    formula="<sample, x>, with sample ~ N(weights, (scale * sigma)^2 V^-1)",
    reference="Agrawal and Goyal (2013), Thompson sampling for contextual bandits with linear "
    "payoffs",
    valid={"scale": at_least(0), "ridge": above(0)},
    memory=one_per_arm_and_factor,
    probabilities=thompson_probabilities,
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
