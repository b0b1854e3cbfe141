"""Bayes-UCB: Kaufmann, Cappé and Garivier (2012)."""

from math import log, sqrt

from .._compile import inlined
from ._decorators import at_least, index_policy
from ._quantiles import beta_quantile, normal_quantile


@inlined
def _tail(t: float, horizon: float, c: float) -> float:
    return 1.0 / (max(2.0, t) * float(max(1.0, log(horizon)) ** c))


@index_policy
def _on_unit_interval(
    mean: float, pulls: float, t: float, horizon: float, arms: float, sigma: float, c: float = 0.0
) -> float:
    hits = min(max(mean, 0.0), 1.0) * pulls
    return beta_quantile(1.0 + hits, 1.0 + pulls - hits, _tail(t, horizon, c))


@index_policy(
    name="bayes-ucb",
    label="Bayes-UCB",
    formula="quantile of the posterior at 1 - 1 / (t log(n)^c): N(mean, sigma^2 / T), or "
    "Beta(1 + S, 1 + T - S) on [0, 1]",
    reference="Kaufmann, Cappe and Garivier (2012), On Bayesian upper confidence bounds for bandit "
    "problems",
    valid={"c": at_least(0)},
    unplayed_index="nondecreasing",
    concave=True,
    bounded_form=_on_unit_interval,
)
def BayesUCB(pulls: float, t: float, horizon: float, arms: float, c: float = 0.0) -> float:
    """A quantile of the posterior: flat prior for Gaussian rewards, uniform on [0, 1].

    S is the summed reward. On [0, 1] it runs step by step: under the uniform prior an index can
    rise with the pulls while the mean stays the same, so what skip-ahead relies on does not hold.

    Proved: asymptotic optimality for Bernoulli rewards with c >= 5 (in 2012), and for
    one-parameter exponential families with c >= 7 (Kaufmann, 2018). Its authors recommend c = 0,
    for which no horizon is needed. Checked against their own program (as part of SMPyBandits, with
    c = 0) and the abstract of Kaufmann (2018), On Bayesian index policies for sequential resource
    allocation; not against the theorems.

    Parameters
    ----------
    c : float, optional
        Power of log n in the level, at least 0.

    Examples
    --------
    >>> from ocucb import BayesUCB
    >>> round(BayesUCB().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.1632
    """
    return normal_quantile(_tail(t, horizon, c)) / sqrt(pulls)
