"""Lower bounds on regret: what no policy can achieve.

No lower bound can cover one problem and every policy, because always playing the best arm is a
policy too. Each of these bounds covers either the worst of a family of problems, or policies that
also do well on other problems.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from .._text import listed, to_count, to_float
from .._types import Floats
from .._vectors import Numbers
from ..problems import gaussian, of_kind
from ..rewards import KINDS, Rewards
from ._quantities import Bound, Instance, complexities_of, in_range, instance, states
from ._upper import BOOK, PAPER, sqrt_nK_log_K

_WORST = "the worst problem with K arms"
_shape = partial(states, "lower", "shape", rewards="gaussian")
_bound = partial(Bound, side="lower", kind="bound", rewards="gaussian")


def balanced_family(K: int, gap: float) -> Floats:
    """Return the K mean vectors of theorem 19, one per row.

    Arm 1 has mean Δ; in row i > 1 arm i has 2Δ; all others have 0.

    Returns
    -------
    numpy.ndarray
        K by K.

    Examples
    --------
    >>> from ocucb import theory
    >>> theory.balanced_family(3, 0.5)
    array([[0.5, 0. , 0. ],
           [0.5, 1. , 0. ],
           [0.5, 0. , 1. ]])
    """
    K = to_count(K, "K", 2)
    rows = np.diag(np.full(K, 2.0 * in_range(gap, "gap")))
    rows[:, 0] = gap
    return rows


def balanced_constant(ratio: float) -> float:
    """Return the constant c of theorem 19 for n/H = `ratio`: the r with 8 r log x = x^(1-2r).

    Let x = n/H, and let r (K-1)/Δ log x be the regret on μ^1. Some arm i > 1 then has
    E_1[T_i] <= r/Δ² log x, so P_1(T_i >= n/2) + P_i(T_i < n/2) >= x^(-2r)/2 (Tsybakov, lemma 2.6),
    and either event costs nΔ/2: the regrets on μ^1 and μ^i add up to nΔ/4 x^(-2r), which is
    x^(1-2r)/(4 log x) in the same unit. The larger of the two is smallest if both are r.

    Parameters
    ----------
    ratio : float
        n/H, at least e.

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.balanced_constant(1000.0), 3), round(theory.balanced_constant(5.3), 3)
    (0.297, 0.202)
    """
    from scipy.optimize import brentq

    ratio = to_float(ratio, "n/H", "between e and 1e308")
    if not ratio >= math.e:
        raise ValueError(f"n/H must be at least e, got {ratio:g}.")
    log = math.log(ratio)
    # in logarithms, for n/H up to the largest number
    return float(brentq(lambda r: math.log(8 * r * log) - (1 - 2 * r) * log, 1e-9, 0.5))


def balanced_lower_bound(K: int, gap: float, horizon: float, sigma: float = 1.0) -> Bound:
    """Return theorem 19: in one problem of `balanced_family`, regret >= c (K-1)/Δ log(n/H).

    The paper has c = 1/4. Its proof omits the factor 1/2 of Tsybakov's lemma 2.6; with that factor,
    and the best case distinction, c is `balanced_constant`: at least 0.202, 1/4 from n = 75 H on,
    and close to 1/2 for very large n/H.

    Parameters
    ----------
    sigma : float, optional
        Standard deviation of the rewards.

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.balanced_lower_bound(2, 0.5, 4000).value, 4)  # 0.2974 * 2 * log(1000)
    4.1084
    """
    K, n = to_count(K, "K", 2), to_count(horizon, "horizon")
    sigma = instance([0.0], n, sigma).sigma
    scaled = in_range(in_range(gap, "gap") / sigma, "a gap over sigma")
    H = (K - 1) / scaled**2
    if n / H < math.e:
        raise ValueError(
            f"the paper's theorem 19 needs H = (K-1) sigma²/gap² <= n/e, got H = {H:.4g} and n/e = "
            f"{n / math.e:.4g}; use a larger horizon or gap."
        )
    constant = balanced_constant(n / H)
    return _bound(
        "any policy",
        value=sigma * constant * (K - 1) / scaled * math.log(n / H),
        about="one of the family Δ, 0, …, 0 with any one arm raised to 2Δ",
        condition=f"H <= n/e; constant {constant:.3f} for this n/H",
        source=f"{PAPER}, theorem 19, repaired and sharpened in docs/slips.md",
    )


def unbalanced_family(means: Numbers) -> Floats:
    """Return the mean vectors μ^i of the paper's last lower bound: row i adds 2Δ_i to arm i.

    Returns
    -------
    numpy.ndarray
        K by K.

    Examples
    --------
    >>> from ocucb import theory
    >>> theory.unbalanced_family([0.5, 0.25])
    array([[0.5 , 0.25],
           [0.5 , 0.75]])
    """
    problem = gaussian(means)
    return problem.means + np.diag(2 * problem.gaps)


@_shape(
    "any policy",
    "one of the family in which one arm's mean is raised by twice its gap",
    "one best arm, every logarithm positive",
    f"{PAPER}, unbalanced reward vector (proof omitted there)",
)
def unbalanced_lower_shape(problem: Instance) -> float:
    """Return the shape of the lower bound for an arbitrary mean vector, on `unbalanced_family`.

    For one i, regret is of order Σ_{j≠i} log(n / (log(K) H_ij)) / (Δ_j + Δ_i) with
    H_ij = Σ_{k≠i} min((Δ_k + Δ_i)^-2, (Δ_j + Δ_i)^-2). The theorem does not
    say which i, so this is the smallest.

    Examples
    --------
    >>> from ocucb import theory
    >>> shape = theory.unbalanced_lower_shape([0.0, -0.5, -0.5], 1000)
    >>> round(shape.value, 4)  # i = 2 or 3: 1/0.5 log(1000/(5 log 3)) + log(1000/(2 log 3))
    16.5291
    """
    K, gaps = problem.arms, problem.gaps
    if K < 2 or problem.best_arms > 1:
        raise ValueError(
            "the unbalanced lower bound needs at least 2 arms and one best arm, got "
            f"{K} and {problem.best_arms}."
        )
    values = []
    for i in np.unique(gaps, return_index=True)[1]:  # equal gaps, equal sums
        others = np.delete(gaps, i) + gaps[i]
        H = complexities_of(others)
        logs = np.log(problem.horizon / (math.log(K) * H))
        if logs.min() <= 0:
            raise ValueError(
                f"the unbalanced lower bound needs n > log(K) H_ij = {math.log(K) * H.max():.4g}, "
                f"got n = {problem.horizon}; use a larger horizon."
            )
        values.append(float((logs / others).sum()))
    return min(values)


def one_parameter_kinds() -> list[Rewards]:
    """Return the kinds of reward that Lai and Robbins' bound is proved for.

    Only their mean is unknown, and likelihood ratios depend on the sum of the rewards alone.
    """
    return [
        kind
        for kind in KINDS.values()
        if kind.divergence is not None and kind.log_likelihood_ratio is not None
    ]


def lai_robbins(
    means: Numbers, horizon: float, sigma: float = 1.0, rewards: str = "gaussian"
) -> Bound:
    """Return Lai and Robbins' Σ Δ_i/kl(μ_i, μ*) log n, which regret reaches or exceeds as n → ∞.

    The divergence kl is that of the rewards; for Gaussian ones each term is 2σ²/Δ_i.

    Parameters
    ----------
    sigma : float, optional
        Standard deviation of Gaussian rewards; Bernoulli rewards have none to choose.
    rewards : str, optional
        Kind of reward: "gaussian", "bernoulli" or "exponential".

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.lai_robbins([0.0, -0.5], 1000).value, 4)  # 4 log(1000)
    27.631
    >>> round(theory.lai_robbins([0.03, 0.02], 10**6, rewards="bernoulli").value, 1)
    71.1
    """
    known = [kind.name for kind in one_parameter_kinds()]
    if rewards not in known:
        raise ValueError(f"rewards must be {listed(map(repr, known), 'or')}, got {rewards!r}.")
    checked = instance(means, horizon, sigma)
    problem = of_kind(rewards, means)
    divergence = problem.rewards.divergence
    assert divergence is not None
    best = float(problem.means.max())
    below = [mean for mean in problem.means.tolist() if mean < best]
    rate = sum((best - mean) / divergence(mean, best, sigma) for mean in below)
    return Bound(
        "consistent policies",
        "lower",
        "limit",
        rate * math.log(checked.horizon),
        "this problem, n → ∞",
        "regret o(n^a) on every problem for every a > 0",
        "Lai and Robbins (1985), Asymptotically efficient adaptive allocation rules",
        rewards=rewards,
    )


def minimax_lower_bound(K: int, horizon: float, sigma: float = 1.0) -> Bound:
    """Return the worst-case lower bound σ sqrt((K-1)n)/27.

    Parameters
    ----------
    sigma : float, optional
        Standard deviation of the rewards.

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.minimax_lower_bound(2, 729).value, 9)
    1.0
    """
    K, n = to_count(K, "K", 2), to_count(horizon, "horizon")
    sigma = instance([0.0], n, sigma).sigma
    if n < K - 1:
        raise ValueError(f"the worst-case lower bound needs n >= K - 1 = {K - 1}, got n = {n}.")
    return _bound(
        "any policy",
        value=sigma * math.sqrt((K - 1) * n) / 27,
        about=f"{_WORST} and means within sigma",
        condition="n >= K - 1",
        source=f"{BOOK}, theorem 15.2",
    )


@_shape("ucb", _WORST, "n → ∞", f"{PAPER}, introduction")
def ucb_worst_case_shape(problem: Instance) -> float:
    """Return the order of UCB's regret on the worst problem: at least sqrt(nK log n).

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.ucb_worst_case_shape([0.0, -0.5], 800).value, 3)
    103.418
    """
    return math.sqrt(problem.horizon * problem.arms * math.log(problem.horizon))


@_shape(
    "thompson",
    _WORST,
    "Gaussian prior",
    "Agrawal and Goyal (2013), Further optimal regret bounds for Thompson sampling",
)
def thompson_worst_case_shape(problem: Instance) -> float:
    """Return the order of Thompson sampling's regret on the worst problem: sqrt(nK log K).

    With a Gaussian prior it is at least of this order, and at most as well.

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.thompson_worst_case_shape([0.0, -0.5], 800).value, 4)
    33.3022
    """
    return sqrt_nK_log_K(problem)


def promise_lower_bound(
    promise: Callable[[Numbers, float, float], Bound],
    means: Numbers,
    horizon: float,
    sigma: float = 1.0,
) -> Bound:
    """Return the regret a policy must suffer here because it promises little regret elsewhere.

    Raise arm i to μ_1 + εΔ_i. A policy that keeps its upper bound B both there and here must find
    out which of the two it faces, so E[T_i] >= 2/((1+ε)²Δ_i²) log(n min(1, ε) Δ_i / (4 (B + B_i))).
    Each arm uses the best ε among those for which the raised problem still meets the conditions of
    B; arms for which no logarithm is positive contribute nothing.

    Parameters
    ----------
    promise : callable
        An upper bound such as `ucb_bound`, called with means, horizon and sigma.

    Examples
    --------
    >>> from ocucb import theory
    >>> 0 < theory.promise_lower_bound(theory.ucb_bound, [0.0, -1.0], 1e6).value < 27.7
    True
    """
    problem = gaussian(means, sigma)
    here = promise(means, horizon, sigma)
    if here.kind != "bound" or here.side != "upper":
        raise ValueError(
            "promise must return an upper bound with an explicit constant, got one of side "
            f"{here.side!r} and kind {here.kind!r}."
        )
    n, total = to_count(horizon, "horizon"), 0.0
    top = float(problem.means.max())
    # Arms with equal gaps contribute equally.
    for width, i, arms in zip(*np.unique(problem.gaps, True, return_counts=True), strict=True):
        if width == 0:
            continue

        def pulls(epsilon: float, i: int = i, width: float = width) -> float:
            most = n * min(1.0, epsilon) * width / 4
            if most <= here.value:  # the logarithm is negative, whatever B_i is
                return 0.0
            raised = problem.means.copy()
            raised[i] = top + epsilon * width
            try:
                both = here.value + promise(raised, horizon, sigma).value
            except ValueError:
                return 0.0
            log = math.log(most / both)
            return max(0.0, 2 * log / ((1 + epsilon) * width / problem.sigma) ** 2)

        total += float(arms * width * _largest(pulls))
    condition = f"the policy keeps its upper bound ({here.source})"
    about, source = "this problem", f"{BOOK}, proof of theorem 16.4"
    return _bound(here.policy, value=total, about=about, condition=condition, source=source)


def _largest(function: Callable[[float], float]) -> float:
    """Return the largest value over ε from 0.05 to 2: on a grid, then on one around its best."""
    grid = np.geomspace(0.05, 2.0, 12)
    values = [function(float(x)) for x in grid]
    best = int(np.argmax(values))
    low, high = grid[max(0, best - 1)], grid[min(best + 1, grid.size - 1)]
    return max(*values, *(function(float(x)) for x in np.linspace(low, high, 14)[1:-1]))
