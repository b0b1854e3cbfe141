"""Thompson sampling with a flat Gaussian prior: Thompson (1933)."""

from math import sqrt

from ._decorators import sampling_policy


@sampling_policy(
    name="thompson",
    label="Thompson sampling",
    formula="mean + sigma * N(0, 1 / T), a fresh sample for every arm in every round",
    aliases=("ts", "gaussian-thompson"),
    reference="Thompson (1933); flat prior as in Lattimore (2015), appendix on experiments",
    unplayed_index="constant",
)
def ThompsonSampling(pulls: float, t: float, horizon: float, arms: float) -> float:
    """Play the arm whose sample from the posterior is largest.

    Examples
    --------
    >>> from ocucb import ThompsonSampling
    >>> ThompsonSampling()
    ThompsonSampling()
    """
    return 1.0 / sqrt(pulls)
