"""OC-Thompson: Thompson sampling with OCUCB's confidence level (Lattimore, 2015)."""

from math import log, sqrt
from typing import Any

import numpy as np

from .._compile import compiled
from ..random import beta, largest
from ._decorators import above, choice_policy, one_per_arm, sampling_policy
from ._largest import largest_of_beta


@compiled
def _unit_probabilities(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any,
    c: float = 0.3, psi: float = 2.0,
) -> None:  # fmt: skip
    w = min(1.0, c * log(psi * horizon / t))
    hits = np.minimum(np.maximum(sums, 0.0), pulls)
    largest_of_beta(1.0 + hits / w, 1.0 + (pulls - hits) / w, memory, 0.0)


@choice_policy(memory=one_per_arm, forgets=True, probabilities=_unit_probabilities)
def _on_unit_interval(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    c: float = 0.3, psi: float = 2.0,
) -> int:  # fmt: skip
    """Sample from Beta posteriors in which each reward counts 1 / w times."""
    w = min(1.0, c * log(psi * horizon / t))
    for i in range(pulls.size):
        hits = min(max(sums[i], 0.0), pulls[i])
        memory[i] = beta(stream, 1.0 + hits / w, 1.0 + (pulls[i] - hits) / w)
    return largest(memory, stream)


@sampling_policy(
    name="oc-thompson",
    label="OC-Thompson",
    formula="mean + sigma * N(0, w / T), w = min(1, c * log(psi * n / t)), or on [0, 1] Beta(1 + "
    "S / w, 1 + (T - S) / w); a fresh sample for every arm in every round",
    reference="Thompson (1933); Lattimore (2015), Optimally confident UCB, for the level",
    valid={"c": above(0), "psi": above(1)},
    unplayed_index="nonincreasing",
    bounded_form=_on_unit_interval,
)
def OCThompson(
    pulls: float, t: float, horizon: float, arms: float, c: float = 0.3, psi: float = 2.0
) -> float:
    """Thompson sampling that knows the horizon: posteriors become narrow towards the end.

    The variance of each sample is multiplied by w = min(1, c * log(psi * n / t)): until t = psi * n
    * exp(-1 / c) it is Thompson sampling. Without the cap, regret would be of order log(n)^2, since
    an arm that is left alone halfway (on a logarithmic scale) would need that many pulls. On
    rewards in [0, 1], S being their sum, the posterior is tempered: to the power of 1 / w, with a
    uniform prior. Nothing is proved.

    Parameters
    ----------
    c : float, optional
        Factor of the variance, above 0; with a small one, runs fail more often.
    psi : float, optional
        Factor in the logarithm, above 1.

    Examples
    --------
    >>> from ocucb import OCThompson
    >>> OCThompson()
    OCThompson(c=0.3, psi=2)
    """
    return sqrt(min(1.0, c * log(psi * horizon / t)) / pulls)
