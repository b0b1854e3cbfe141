"""Importance sampling: rare failures are made common, and runs are weighted accordingly.

A policy fails if the best arm disappoints in its first few pulls and is then hardly played again.
That happens in 10^-5 to 10^-2 of the runs and decides the mean and the variance of the regret, so
plain runs either miss it or are dominated by a few of them.

Here a run is drawn from a *defensive mixture*: with probability ``shares[0]`` it is plain, and with
probability ``shares[j]`` the first ``lengths[j]`` rewards of the best arm have a mean that is lower
by ``shifts[j]``. The weight of a run is the likelihood ratio

    weight = 1 / sum_j shares[j] * ratio_j,

where ratio_j, which is 1 for j = 0, says how much likelier those rewards are in component j than in
a plain run. E[weight * X] is the plain expectation of X, whatever X and the policy are, because only
rewards are touched. No weight exceeds 1 / shares[0], so it cannot go wrong badly, and the mean weight
is known to be 1.

The shares are chosen by a pilot (`improved`): EM steps towards the mixture that minimises the
variance of the weighted regret.

References
----------
P. Glasserman and S. Juneja (2008), Uniformly efficient importance sampling for the tail
distribution of sums of random variables, Mathematics of Operations Research 33(1).
A. Owen and Y. Zhou (2000), Safe and effective importance sampling, Journal of the American
Statistical Association 95(449).
L. Fan and P. Glynn (2021), The fragility of optimized bandit algorithms, arXiv:2109.13595.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ._types import Counts, Floats
from .problems import Problem

_DEPTHS = (0.75, 1.5, 2.5, 3.5)  # shifts beyond the gap, in standard errors of the first rewards
_LONGEST = 1024  # pulls of the best arm that may be tilted


class Mixture(NamedTuple):
    """The distribution that runs are drawn from.

    Attributes
    ----------
    arm : int
        The arm whose first rewards are tilted, -1 if none is.
    shares : ndarray
        Probabilities of the components; the first is plain.
    shifts : ndarray
        By how much each lowers the arm's mean.
    lengths : ndarray
        For how many pulls.
    marks : ndarray
        The lengths, each once, in increasing order.
    """

    arm: int
    shares: Floats
    shifts: Floats
    lengths: Counts
    marks: Counts


PLAIN = Mixture(-1, np.ones(1), np.zeros(1), np.zeros(1, np.int64), np.zeros(0, np.int64))


def obstacle(problem: Problem, horizon: int) -> str | None:
    """Return a clause saying why runs stay plain, or None if they can be tilted."""
    rewards, best = problem.rewards, int(problem.means.argmax())
    if problem.rewards.log_likelihood_ratio is None:
        return f"{rewards.name} rewards have no likelihood ratio for another mean"
    if problem.arms == 1 or horizon <= problem.arms:
        return "nothing is chosen"
    if np.sum(problem.gaps == 0.0) > 1:
        return "several arms are best, so none of them can fail alone"
    if _spread(problem, best) == 0.0:
        return "the best arm always pays the same"
    return None


def _spread(problem: Problem, arm: int) -> float:
    """Return the standard deviation of an arm's rewards."""
    mean, scale = float(problem.means[arm]), float(problem.scales[arm])
    return math.sqrt(mean * (1.0 - mean)) if problem.rewards.binary else scale


def first_mixture(problem: Problem, horizon: int, plain: float = 0.3) -> Mixture:
    """Return a broad mixture to start from: many lengths and shifts, with equal shares."""
    best = int(problem.means.argmax())
    mean, spread = float(problem.means[best]), _spread(problem, best)
    gap = float(np.min(problem.gaps[problem.gaps > 0.0]))
    least = -math.inf
    if problem.rewards.bounds is not None:
        least, _ = problem.rewards.bounds(mean, float(problem.scales[best]))
    lengths, shifts = [0], [0.0]
    length = 1
    while length <= min(_LONGEST, horizon // 2):
        for depth in _DEPTHS:
            shift = gap + depth * spread / math.sqrt(length)
            # at most nearly down to the smallest reward
            shifts.append(min(shift, 0.98 * (mean - least)))
            lengths.append(length)
        length *= 2
    shares = np.full(len(shifts), (1.0 - plain) / (len(shifts) - 1))
    shares[0] = plain
    return _mixture(best, shares, np.array(shifts), np.array(lengths))


def _mixture(arm: int, shares: Floats, shifts: Floats, lengths: Counts) -> Mixture:
    return Mixture(arm, shares, shifts, lengths, np.unique(lengths[lengths > 0]))


def likelihood_ratios(mixture: Mixture, problem: Problem, noise: Floats, pulls: Counts) -> Floats:
    """Return, for each run and component, how much likelier the run is there than plain.

    Parameters
    ----------
    noise : ndarray
        ``noise[run, mark]``, as in the outcome of a kernel.
    pulls : ndarray
        Pulls of the mixture's arm in each run.
    """
    ratio = problem.rewards.log_likelihood_ratio
    ratios = np.ones((len(noise), mixture.shares.size))
    if mixture.arm < 0:
        return ratios
    assert ratio is not None
    mean, scale = float(problem.means[mixture.arm]), float(problem.scales[mixture.arm])
    for j in range(1, mixture.shares.size):
        mark = int(np.searchsorted(mixture.marks, mixture.lengths[j]))
        count = np.minimum(pulls, mixture.lengths[j])
        tilted = mean - mixture.shifts[j]
        ratios[:, j] = np.exp(-ratio(noise[:, mark], count, mean, tilted, scale))
    return ratios


def weights(mixture: Mixture, problem: Problem, noise: Floats, pulls: Counts) -> Floats:
    """Return the weight of each run."""
    return 1.0 / (likelihood_ratios(mixture, problem, noise, pulls) @ mixture.shares)
