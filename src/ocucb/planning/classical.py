"""The classical test: every arm gets the same share of the rounds, and the largest mean wins.

No run has to be played for it. On rewards of 0 and 1 the sums are binomial, ties are broken by a
uniform number added to each, and so an arm wins with probability

    sum over k of P(S_i = k) * integral over u in [0, 1] of
        prod over j != i of (P(S_j < k) + u * P(S_j = k)).

Means of Gaussian rewards are normal; those of all other rewards are taken to be.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import stats

from .._types import Floats
from ..problems import Problem

_DEVIATIONS = 12.0  # beyond which nothing is left
_POINTS = 2001  # of an integral over a normal density
_NODES = 24  # over u: exact up to 48 arms
_MOST = 1 << 40  # rounds of each arm


class Shares(NamedTuple):
    """What equal shares lead to after some rounds."""

    regret: float
    wrong: float
    simple_regret: float


class _Arms(NamedTuple):
    """Arms that are alike."""

    mean: float
    deviation: float
    gap: float
    size: int


def equal_shares(problem: Problem, n: int) -> Shares:
    """Return the regret after n rounds, and that of the arm with the largest mean then.

    Each arm has had n / K rounds, rounded down.

    Examples
    --------
    >>> import ocucb
    >>> shares = equal_shares(ocucb.gap(K=2, gap=0.5), 8)
    >>> shares.regret, round(shares.wrong, 6)  # the normal tail beyond 0.5 / sqrt(2 / 4)
    (2.0, 0.23975)
    """
    m = max(1, n // problem.arms)
    groups = _groups(problem)
    chances = _binomial(groups, m) if problem.rewards.binary else _normal(groups, m)
    wrong = math.fsum(p for p, arms in zip(chances, groups, strict=True) if arms.gap > 0.0)
    lost = math.fsum(p * arms.gap for p, arms in zip(chances, groups, strict=True))
    return Shares(n * float(problem.gaps.mean()), min(wrong, 1.0), lost)


def visitors(problem: Problem, wrong: float) -> int:
    """Return the fewest rounds after which a mistake is no likelier than `wrong`."""
    high = 1
    while equal_shares(problem, high * problem.arms).wrong > wrong:
        if high >= _MOST:
            raise ValueError("no number of rounds is enough; the gaps are too small for it.")
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        enough = equal_shares(problem, middle * problem.arms).wrong <= wrong
        low, high = (low, middle) if enough else (middle, high)
    return high * problem.arms


def _groups(problem: Problem) -> list[_Arms]:
    deviation = problem.rewards.deviation
    found: dict[tuple[float, float], _Arms] = {}
    for mean, scale, gap in zip(problem.means, problem.scales, problem.gaps, strict=True):
        spread = problem.sigma if deviation is None else deviation(float(mean), float(scale))
        key = float(mean), spread
        count = found[key].size if key in found else 0
        found[key] = _Arms(*key, float(gap), count + 1)
    return list(found.values())


def _normal(groups: list[_Arms], m: int) -> list[float]:
    """Return the probability that the largest mean of m rewards is in each group."""
    chances = []
    for arms in groups:
        if arms.deviation == 0.0:
            raise ValueError(f"rewards must vary, but those of mean {arms.mean:g} do not.")
        spread = arms.deviation / math.sqrt(m)
        x = arms.mean + spread * np.linspace(-_DEVIATIONS, _DEVIATIONS, _POINTS)
        product = stats.norm.pdf(x, arms.mean, spread)
        for other in groups:
            count = other.size - (other is arms)
            product = (
                product * stats.norm.cdf(x, other.mean, other.deviation / math.sqrt(m)) ** count
            )
        chances.append(arms.size * float(product.sum()) * (x[1] - x[0]))
    return _normalised(chances)


def _binomial(groups: list[_Arms], m: int) -> list[float]:
    """Return the same for rewards of 0 and 1."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    u = 0.5 * (nodes + 1.0)
    chances = []
    for arms in groups:
        spread = _DEVIATIONS * (math.sqrt(m) * arms.deviation + 1.0)
        low, high = max(0.0, m * arms.mean - spread), min(float(m), m * arms.mean + spread)
        k = np.arange(math.floor(low), math.ceil(high) + 1)
        product: Floats = np.ones((u.size, k.size))
        for other in groups:
            count = other.size - (other is arms)
            below = stats.binom.cdf(k - 1, m, other.mean)
            product *= (below + u[:, None] * stats.binom.pmf(k, m, other.mean)) ** count
        wins = 0.5 * (weights[:, None] * product).sum(axis=0)
        chances.append(arms.size * float((stats.binom.pmf(k, m, arms.mean) * wins).sum()))
    return _normalised(chances)


def _normalised(chances: list[float]) -> list[float]:
    whole = math.fsum(chances)
    return [chance / whole for chance in chances]
