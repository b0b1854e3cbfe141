"""LinMED, linear minimum empirical divergence: Balagopalan and Jun (2025)."""

from math import exp, log, sqrt
from typing import Any

from .._compile import compiled
from ._decorators import above, at_least, between, linear_policy
from ._linear import cross_norm, draw_by_share, one_for_each


@compiled
def write_shares(
    t: float, model: Any, sigma: float, memory: Any, share: float, size: float, ridge: float
) -> float:
    """Write what the arms' probabilities are proportional to; return the sum."""
    best, K, total = 0, model.means.size, 0.0
    for i in range(K):
        if model.means[i] > model.means[best]:
            best = i
    for i in range(K):
        log_det = model.log_dets[i if model.log_dets.size > 1 else 0]
        radius = sigma * sqrt(log_det + 2.0 * log(t)) + sqrt(ridge) * size
        gap, width = model.means[best] - model.means[i], cross_norm(model, i, best)
        memory[i] = (1.0 - share) / K + (share if i == best else 0.0)
        if gap > 0.0:
            memory[i] *= exp(-min(700.0, (gap / (radius * width)) ** 2))
        total += memory[i]
    return total


@compiled
def med_probabilities(
    t: float, horizon: float, model: Any, sigma: float, memory: Any, share: float, size: float,
    ridge: float,
) -> None:  # fmt: skip
    """Write the arms' probabilities."""
    total = write_shares(t, model, sigma, memory, share, size, ridge)
    for i in range(model.means.size):
        memory[i] /= total


@linear_policy(
    name="lin-med",
    label="LinMED",
    formula="P(arm i) ~ q_i * exp(-gap_i^2 / (beta * |x_i - x_best|^2))",
    reference="Balagopalan and Jun (2025), Minimum empirical divergence for sub-Gaussian linear "
    "bandits",
    valid={"share": between(0, 1), "size": at_least(0), "ridge": above(0)},
    memory=one_for_each,
    probabilities=med_probabilities,
)
def LinMED(
    t: float, horizon: float, model: Any, sigma: float, memory: Any, stream: Any,
    share: float = 0.9, size: float = 1.0, ridge: float = 1.0,
) -> int:  # fmt: skip
    """LinMED without its optimal design: q is `share` for the best arm so far, the rest for all.

    The squared radius beta is that of OFUL with delta = 1 / t.

    Parameters
    ----------
    share : float, optional
        Share of q that the best arm so far has, from 0 to 1.
    size : float, optional
        A bound on the length of theta.
    ridge : float, optional
        Penalty on the squared length of theta, above 0.

    Examples
    --------
    >>> from ocucb import LinMED
    >>> LinMED(share=0.5)
    LinMED(share=0.5, size=1, ridge=1)
    """
    write_shares(t, model, sigma, memory, share, size, ridge)
    return draw_by_share(memory[: model.means.size], stream)
