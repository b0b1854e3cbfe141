"""How likely large regret is: the exponent of the tail, and an estimate of the tail itself.

Regret is large if the best arm disappoints in its first few pulls and is then left alone. After T
pulls with average noise m, a bonus b(T, t) brings it back as soon as m + b(T, t) exceeds the index
of its rivals, which is about -Δ. So large regret takes m < -Δ - b(T, t), and for Gaussian rewards
with standard deviation 1 this has a probability of about

    exp(-T (Δ + b(T, t))² / 2) = exp(-T b(T, t)² / 2) · exp(-Δ T b(T, t) - T Δ² / 2).

The first factor decides how fast the tail falls. The second one, which falls more slowly than any
power, and the number of T's at which it may happen, decide how likely it is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._text import to_count, to_float
from .._types import Floats
from ..policies import Policy, to_policies
from ..policies._rules import BonusRule, SamplingRule
from ..problems import Problem

_STEP = 0.1  # of the grid on which the walk's density lives, in standard deviations
_REACH = 8.0  # standard deviations beyond which a normal density counts as 0
_MOST_PULLS = 4096  # after this many pulls the best arm is safe
_TIMES = 60  # rounds at which indices are compared


def tail_exponent(policy: Any, problem: Problem | None = None) -> float:
    """Return γ such that regret of order n has probability n^-γ, up to slower factors.

    If the policy does not know the horizon, like UCB and Thompson sampling, the tail of the regret
    is a power as well: P(regret > x) is about x^-γ up to x = nΔ. A policy that knows the horizon
    has a flat tail instead: once the best arm is abandoned, nothing brings it back, and regret is
    either small or about nΔ, the latter with probability n^-γ.

    With Gaussian rewards γ is the smallest T b(T)²/(2 log n), where b(T) is the largest bonus that
    an arm with T pulls ever gets: c/2 for UCB and MOSS with constant c, α/2 for OCUCB, and 1 for
    AOCUCB and Thompson sampling. γ = 1 is the price of the smallest mean regret: Fan and Glynn
    show that every policy that attains the lower bound of Lai and Robbins has it.

    Parameters
    ----------
    policy : policy or name of a policy
        An index policy with a bonus, or one that samples.
    problem : Problem, optional
        Gaussian. It matters only if the best arm's standard deviation s is not what the policy is
        told, sigma: γ is then (sigma/s)² times as large.

    Returns
    -------
    float
        Infinite if such regret is less likely than any power of n.

    References
    ----------
    L. Fan and P. Glynn (2025), The fragility of optimized bandit algorithms, Operations Research;
    arXiv:2109.13595.

    Examples
    --------
    >>> from ocucb import theory
    >>> [theory.tail_exponent(name) for name in ("ucb", "ucb:constant=4", "ocucb")]
    [1.0, 2.0, 1.5]
    """
    player = _player(policy)
    told = 1.0 if problem is None else _told(problem)
    horizons = (1e75, 1e150, 1e300)  # whose logarithms double
    pulls = 2.0 ** np.arange(11)
    squares = np.array([[_largest(player, T, n) ** 2 for T in pulls] for n in horizons])
    # of a log n + b log log n + c, second differences leave a
    slope = pulls * np.diff(squares, 2, axis=0)[0] / (2.0 * math.log(horizons[0]))
    exponent = round(float(slope.min()) * told**2, 3)  # what is left of the rest
    return exponent if exponent < 1e6 else math.inf  # bonuses that grow like a power of n


def _player(policy: Any) -> Policy:
    """Return a policy whose way back to an arm is known."""
    (player,) = to_policies(policy)
    family = player.family
    plain = isinstance(family.rule, BonusRule) and family.table is None
    if plain or isinstance(family.rule, SamplingRule):
        return player
    raise ValueError(
        f"the tail of {player.label} is not known; choose a policy whose index is the mean plus a "
        "bonus, such as ucb or ocucb."
    )


def _told(problem: Problem) -> float:
    """Return sigma, which policies are told, over the best arm's own standard deviation."""
    if not problem.rewards.brownian:
        raise ValueError(f"tails are known for Gaussian rewards, not {problem.rewards.name} ones.")
    if np.count_nonzero(problem.gaps == 0.0) > 1 or problem.arms == 1:
        raise ValueError("tails need one best arm and at least one other.")
    return float(problem.sigma / problem.scales[problem.gaps == 0.0][0])


def _largest(player: Policy, pulls: float, horizon: float) -> float:
    """Return the largest bonus with this many pulls, whatever the round."""
    if isinstance(player.family.rule, SamplingRule):
        # in n rounds, the largest of n samples
        deviation = float(player.family.source(pulls, horizon, horizon, 2.0, *player.values))
        return deviation * math.sqrt(2.0 * math.log(horizon))
    return max(player.bonus(pulls, t, horizon, 2.0) for t in (pulls + 2.0, horizon))


def tail_estimate(policy: Any, problem: Problem, horizon: int, regret: float) -> float:
    """Estimate the probability that the regret exceeds a number, without a simulation.

    The best arm's rewards are a random walk. Its rivals are taken to be as good as their
    means and to share the other rounds evenly, so the policy abandons the best arm, until the
    regret is as large as asked, if the walk is low enough at any number of pulls. The probability
    that a walk crosses such a boundary can be computed.

    Nothing is fitted. Simulations of UCB, MOSS, AOCUCB and OCUCB agree within a factor of 1.7, from
    10% down to 10^-5 (docs/rare-failures.md); for OCUCB it is always too large, because the noise
    of the rivals, which is left out, gives the best arm another chance. It says nothing about
    regret of the usual size, which is not due to a failure.

    Parameters
    ----------
    policy : policy or name of a policy
        One whose index is the mean plus a bonus.
    problem : Problem
        Gaussian, with one best arm and one gap.
    horizon : int
        Rounds in a run.
    regret : float
        With half of ``horizon * gap`` it is the probability of a failure.

    Examples
    --------
    >>> from ocucb import theory
    >>> import ocucb
    >>> p = theory.tail_estimate("ocucb", ocucb.gap(K=2, gap=0.3), 10_000, regret=1500)
    >>> f"{p:.1e}"  # measured: 4.1e-4
    '6.1e-04'
    """
    player = _player(policy)
    if isinstance(player.family.rule, SamplingRule):
        raise ValueError(f"{player.label} has no bonus; only the exponent of its tail is known.")
    told = _told(problem)
    n = to_count(horizon, "horizon")
    (*_, gap) = distinct = np.unique(problem.gaps[problem.gaps > 0.0]) / problem.sigma
    if len(distinct) > 1:
        raise ValueError("an estimate of the tail needs arms with one gap.")
    regret = to_float(regret, "regret", "between 0 and 1e308")
    if not regret >= 0.0:
        raise ValueError(f"regret must be at least 0, got {regret}.")
    elsewhere = math.floor(regret / (gap * problem.sigma)) + 1  # pulls of other arms that it takes
    if elsewhere >= n:
        return 0.0
    most = min(n - elsewhere, _MOST_PULLS, math.ceil(16.0 / gap**2))
    depths = np.array([_depth(player, T, gap, problem.arms, n, elsewhere) for T in _grid(most)])
    pulls = np.arange(1, most + 1)
    bounds = pulls * np.interp(np.log(pulls), np.log(_grid(most)), depths) * told
    return _crossing(bounds)


def _grid(most: int) -> Floats:
    """Return numbers of pulls from 1 to `most`: all small ones, and some of the others."""
    return np.unique(np.round(np.geomspace(1, most, 200)))


def _depth(
    player: Policy, pulls: float, gap: float, arms: int, horizon: int, elsewhere: int
) -> float:
    """Return how far below its mean an arm with so many pulls must be, to be left alone."""
    most = -math.inf
    for others in np.unique(np.round(np.geomspace(arms - 1, elsewhere, _TIMES))):
        t = pulls + others
        own, rival = (
            player.bonus(T, t, float(horizon), float(arms))
            for T in (pulls, max(1.0, others / (arms - 1)))
        )
        most = max(most, own - rival)
    return gap + most


def _crossing(bounds: Floats) -> float:
    """Return the probability that a walk with normal steps is below -bounds[T - 1] for any T."""
    low = float(bounds.max()) + _REACH / 2.0
    high = _REACH * math.sqrt(bounds.size)
    x = np.arange(-low, high, _STEP)
    kernel = np.exp(-0.5 * np.arange(-_REACH, _REACH + _STEP / 2, _STEP) ** 2)
    kernel /= kernel.sum()
    density = np.exp(-0.5 * x**2) * _STEP / math.sqrt(2.0 * math.pi)
    total = 0.0
    for i, bound in enumerate(bounds):
        if i:
            density = np.convolve(density, kernel, mode="same")
        # the share of each cell that lies below
        share = np.clip((-bound - x) / _STEP + 0.5, 0.0, 1.0)
        total += float((density * share).sum())
        density = density * (1.0 - share)
    return min(1.0, total)
