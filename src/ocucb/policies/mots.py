"""MOTS, minimax optimal Thompson sampling: Jin, Xu, Shi, Xiao and Gu (2021)."""

from math import log, sqrt
from typing import Any

from ..random import largest, normal
from ._decorators import above, at_least, choice_policy, one_per_arm
from ._families import Range


@choice_policy(
    name="mots",
    formula="min(mean + sigma * N(0, 1 / (rho T)), mean + sigma * sqrt(alpha / T * log+(n / (K "
    "T)))), a fresh sample for every arm in every round",
    reference="Jin, Xu, Shi, Xiao and Gu (2021), MOTS: minimax optimal Thompson sampling",
    valid={"rho": above(0), "alpha": above(0)},
    proved={"rho": Range("between 1/2 and 1", lambda x: 0.5 < x < 1.0), "alpha": at_least(4)},
    memory=one_per_arm,
)
def MOTS(
    t: float, horizon: float, pulls: Any, sums: Any, sigma: float, memory: Any, stream: Any,
    rho: float = 0.9, alpha: float = 4.0,
) -> int:  # fmt: skip
    """Thompson sampling whose samples are clipped at MOSS's confidence bound.

    Proved for sigma-subgaussian rewards: worst-case regret of the smallest possible order; for
    Gaussian rewards, asymptotic optimality up to the factor 1 / rho. It runs step by step: the
    clocks of `skip_thompson` need normal samples, and clipped ones have an atom.

    Checked against the paper's abstract; ranges come from a table of policies, not its theorems.

    Parameters
    ----------
    rho : float, optional
        Precision of the samples, above 0; proved between 1/2 and 1.
    alpha : float, optional
        Factor under the root of the bound that clips them, above 0; proved from 4 on.

    Examples
    --------
    >>> from ocucb import MOTS
    >>> MOTS(rho=0.99)
    MOTS(rho=0.99, alpha=4)
    """
    arms = pulls.size
    for i in range(arms):
        T = pulls[i]
        sample = normal(stream) / sqrt(rho * T)
        bound = sqrt(alpha / T * log(max(1.0, horizon / (arms * T))))
        memory[i] = sums[i] / T + sigma * min(sample, bound)
    return largest(memory, stream)
