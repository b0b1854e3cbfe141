"""KL-UCB-switch: Garivier, Hadiji, Ménard and Stoltz (2022)."""

from math import floor, log, sqrt

from .._compile import inlined
from ._decorators import fair_share, index_policy, kl_policy
from ._divergence import kl_lower, kl_upper


@inlined
def _budget(pulls: float, horizon: float, arms: float) -> float:
    return log(max(1.0, horizon / (arms * pulls)))


@inlined
def _switch(horizon: float, arms: float) -> float:
    """Return up to how many pulls an arm has the KL index."""
    return float(floor((horizon / arms) ** 0.2 + 1e-9))  # the root of 243 is 3


def _lowest_mean(
    level: float, pulls: float, t: float, horizon: float, arms: float, sigma: float
) -> float:
    """Return a mean at which the index reaches `level`; it must not fall as pulls grow.

    The index jumps up at the switch, so beyond it the answer stays above what it was before, by
    ``kl(p, q) <= (q - p)^2 / (q (1 - q))``.
    """
    switch = _switch(horizon, arms)
    if pulls <= switch:
        return kl_lower(level, _budget(pulls, horizon, arms) / pulls)
    before = _budget(switch, horizon, arms) / switch
    narrow = before * max(0.0, level * (1.0 - level))
    return level - sqrt(min(narrow, 0.5 * _budget(pulls, horizon, arms) / pulls))


@index_policy(unplayed_index="constant", lowest_mean=_lowest_mean)
def _on_unit_interval(
    mean: float, pulls: float, t: float, horizon: float, arms: float, sigma: float
) -> float:
    budget = _budget(pulls, horizon, arms) / pulls
    if pulls <= _switch(horizon, arms):
        return kl_upper(mean, budget)
    return mean + sqrt(0.5 * budget)


@kl_policy(
    name="kl-ucb-switch",
    label="KL-UCB-switch",
    formula="T <= (n / K)^(1/5): largest q with T * kl(mean, q) <= log+(n / (K T)); then "
    "mean + sqrt(log+(n / (K T)) / (2 T))",
    reference="Garivier, Hadiji, Menard and Stoltz (2022), KL-UCB-switch",
    unplayed_index="constant",
    concave=True,
    concave_until=fair_share,
    bounded_form=_on_unit_interval,
)
def KLUCBSwitch(pulls: float, t: float, horizon: float, arms: float) -> float:
    """KL-UCB for the first pulls of an arm, MOSS from then on.

    Proved for all rewards in [0, 1], with the divergence from the empirical distribution: minimax
    optimal up to a constant, and asymptotically optimal. On Bernoulli rewards that divergence is
    the one used here. For Gaussian rewards both indices are the same, namely MOSS. Checked against
    two independent programs (SMPyBandits and one with t in place of n).

    Examples
    --------
    >>> from ocucb import KLUCBSwitch
    >>> round(KLUCBSwitch().bonus(pulls=4, t=100, horizon=1000, arms=2), 4)
    1.5538
    """
    return log(max(1.0, horizon / (arms * pulls)))
