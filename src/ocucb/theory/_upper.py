"""Upper bounds on the regret of OCUCB, UCB, MOSS, improved UCB and AOCUCB.

Each function returns a `Bound`. It is a bound where a constant is proved for this very policy, and
a shape where the literature gives only an order, or proves the constant for parameters other than
those used in practice.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from .._text import to_float
from .._types import Floats
from .._vectors import Numbers
from ._constants import Constants, constants
from ._quantities import Bound, Instance, complexities_of, instance, log_plus, states

PAPER = "Lattimore (2015), Optimally confident UCB"
BOOK = "Lattimore and Szepesvári (2020), Bandit algorithms"
_UCB = "Bubeck and Cesa-Bianchi (2012), Regret analysis, theorem 2.1"
_IMPROVED = "Auer and Ortner (2010), UCB revisited, theorem 3.1"
_ADDED = "Σ Δ_i is added if the largest gap exceeds sigma"
_shape, _bound = partial(states, "upper", "shape"), partial(states, "upper", "bound")


def ocucb_sum(problem: Instance) -> float:
    """Return Σ (1/Δ_i) log⁺(n/H_i), in units of sigma."""
    H = complexities_of(problem.gaps)[problem.best_arms :]
    return float((log_plus(problem.horizon / H) / problem.suboptimal).sum())


_OCUCB = f"alpha > 2, psi > 1; {_ADDED}"


@_shape("ocucb", "this problem", _OCUCB, f"{PAPER}, theorem 1")
def ocucb_shape(problem: Instance) -> float:
    """Return the shape of theorem 1: Σ (1/Δ_i) log⁺(n/H_i), plus Σ Δ_i if a gap exceeds sigma.

    Examples
    --------
    >>> from ocucb import theory
    >>> shape = theory.ocucb_shape([0.0, -0.1, -0.5], 1e5)
    >>> round(shape.value, 3)  # 10 log(1e5/204) + 2 log(1e5/12)
    80.004
    """
    return ocucb_sum(problem) + problem.large_gaps


@_shape("ocucb", "every problem", _OCUCB, f"{PAPER}, theorem 2")
def ocucb_minimax_shape(problem: Instance) -> float:
    """Return the shape of theorem 2: sqrt(nK), plus Σ Δ_i if a gap exceeds sigma.

    Examples
    --------
    >>> from ocucb import theory
    >>> theory.ocucb_minimax_shape([0.0, -0.3], 800).value
    40.0
    """
    return math.sqrt(problem.horizon * problem.arms) + problem.large_gaps


def _explicit(
    means: Numbers,
    horizon: float,
    sigma: float,
    parameters: tuple[float, float],
    given: Constants | None,
    theorem: int,
) -> Bound:
    """Return theorem 1 or 2 with its constant."""
    problem = instance(means, horizon, sigma)
    found = constants(*parameters, goal=f"C{theorem}") if given is None else given
    largest = float(problem.gaps[-1])
    if largest > found.largest_gap:
        raise ValueError(
            f"the explicit constants hold for gaps up to {found.largest_gap:.4g} sigma, got "
            f"{largest:.4g}; use ocucb_shape instead."
        )
    if theorem == 1:
        value, about = found.C1(problem.best_arms) * ocucb_sum(problem), "this problem"
    else:
        value, about = found.C2 * math.sqrt(problem.horizon * problem.arms), "every problem"
    return Bound(
        f"ocucb:alpha={found.alpha:g},psi={found.psi:g}",
        "upper",
        "bound",
        sigma * (value + problem.large_gaps),
        about,
        f"alpha > 2, psi > 1, gaps up to {found.largest_gap:.3g} sigma",
        f"{PAPER}, theorem {theorem} with the constants of docs/slips.md",
    )


def ocucb_bound(
    means: Numbers,
    horizon: float,
    sigma: float = 1.0,
    alpha: float = 3.0,
    psi: float = 2.0,
    given: Constants | None = None,
) -> Bound:
    """Return theorem 1 with its constant: C_1(α, ψ) Σ (1/Δ_i) log⁺(n/H_i).

    Several best arms are allowed; C_1 grows with their number.

    Examples
    --------
    >>> from ocucb import theory
    >>> theory.ocucb_bound([0.0, -0.3], 1e4).value > 1e18  # true, but useless
    True
    """
    return _explicit(means, horizon, sigma, (alpha, psi), given, 1)


def ocucb_minimax_bound(
    means: Numbers,
    horizon: float,
    sigma: float = 1.0,
    alpha: float = 3.0,
    psi: float = 2.0,
    given: Constants | None = None,
) -> Bound:
    """Return theorem 2 with its constant: C_2(α, ψ) sqrt(nK).

    Examples
    --------
    >>> from ocucb import theory
    >>> 7e17 < theory.ocucb_minimax_bound([0.0, -0.3], 2).value / 2 < 8e17  # sqrt(nK) is 2
    True
    """
    return _explicit(means, horizon, sigma, (alpha, psi), given, 2)


def ucb_bound(means: Numbers, horizon: float, sigma: float = 1.0, constant: float = 8.0) -> Bound:
    """Return UCB's bound Σ 4cσ² log(n)/Δ_i + c/(c - 4) Σ Δ_i, for c = `constant` > 4.

    Bubeck and Cesa-Bianchi's α is c/2. The default 8 is UCB1 of Auer, Cesa-Bianchi and Fischer
    (2002), whose sqrt(2 log(t)/T) is meant for rewards in [0, 1], which are 1/2-subgaussian. Their
    theorem prints the last term without Δ_i; this is the form that its proof yields.

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.ucb_bound([0.0, -0.5], 1000).value, 4)  # 32 log(1000)/0.5 + 2 * 0.5
    443.0963
    """
    problem = instance(means, horizon, sigma)
    constant = _ucb_constant(constant)
    positive = problem.suboptimal
    total = (4 * constant * math.log(problem.horizon) / positive).sum()
    total += constant / (constant - 4) * positive.sum()
    policy, value = f"ucb:constant={constant:g}", sigma * float(total)
    return Bound(policy, "upper", "bound", value, "this problem", "constant > 4", _UCB)


def _ucb_constant(constant: float) -> float:
    constant = to_float(constant, "constant")
    if not 4 < constant < math.inf:
        raise ValueError(
            f"UCB's bound is proved for a constant greater than 4, got {constant:g}; "
            "use ucb_shape for others."
        )
    return constant


def ucb_minimax_bound(
    means: Numbers, horizon: float, sigma: float = 1.0, constant: float = 8.0
) -> Bound:
    """Return UCB's worst-case bound 4 σ sqrt(c n (K-1) log n) + c/(c - 4) Σ Δ_i, for c > 4.

    It follows from `ucb_bound`: arms with gaps up to λ cost nλ at most, each of the others
    4c log(n)/λ, and λ is best where both are equal.

    Examples
    --------
    >>> import math
    >>> from ocucb import theory
    >>> bound = theory.ucb_minimax_bound([0.0, -0.5], 1000)
    >>> round(bound.value - 2 * 0.5, 4) == round(4 * math.sqrt(8 * 1000 * math.log(1000)), 4)
    True
    """
    problem = instance(means, horizon, sigma)
    policy = f"ucb:constant={_ucb_constant(constant):g}"
    n, K = problem.horizon, problem.arms
    value = 4 * math.sqrt(constant * n * (K - 1) * math.log(n))
    value += constant / (constant - 4) * float(problem.gaps.sum())
    source = f"{_UCB}, and the best split of the gaps"
    return Bound(policy, "upper", "bound", sigma * value, "every problem", "constant > 4", source)


@_shape(
    "ucb",
    "this problem",
    "constant 2, n → ∞",
    "Katehakis and Robbins (1995), Sequential choice from several populations",
    "gaussian",
)
def ucb_shape(problem: Instance) -> float:
    """Return the order of UCB's regret with constant 2: Σ log(n)/Δ_i.

    With constant 2, regret over log n tends to Σ 2/Δ_i for Gaussian rewards (Katehakis and
    Robbins); the paper knows of no finite-time result.

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.ucb_shape([0.0, -0.5], 1000).value, 4)
    13.8155
    """
    return math.log(problem.horizon) * float((1 / problem.suboptimal).sum())


@_bound("moss:constant=4", "every problem", "constant 4", f"{BOOK}, theorem 9.1")
def moss_bound(problem: Instance) -> float:
    """Return the bound of MOSS with constant 4: 39 σ sqrt(nK) + Σ Δ_i.

    Examples
    --------
    >>> from ocucb import theory
    >>> theory.moss_bound([0.0, -0.5], 800).value  # 39 * 40 + 0.5
    1560.5
    """
    return 39 * math.sqrt(problem.horizon * problem.arms) + float(problem.gaps.sum())


@_shape(
    "moss",
    "every problem",
    "constant above 2 (the paper's claim); it plays 2",
    f"Audibert and Bubeck (2009), Minimax policies; {PAPER}, appendix on experiments",
)
def moss_shape(problem: Instance) -> float:
    """Return the order of the regret of MOSS with constant 2, as in the experiments: sqrt(nK).

    The paper says that 2 + ε can be proved; nothing is known for 2 itself.

    Examples
    --------
    >>> from ocucb import theory
    >>> theory.moss_shape([0.0, -0.5], 800).value
    40.0
    """
    return math.sqrt(problem.horizon * problem.arms) + problem.large_gaps


@_shape(
    "moss",
    "this problem",
    "a constant for which it is proved, such as 4",
    "Audibert and Bubeck (2010), Regret bounds and minimax policies, theorem 24",
)
def moss_problem_shape(problem: Instance) -> float:
    """Return the order of MOSS's problem-dependent bound: K/Δ_min log⁺(n Δ_min²/K).

    All K arms pay for the smallest gap, which is why MOSS may be much worse than UCB.

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.moss_problem_shape([0.0, -0.1, -0.5], 1e5).value, 3)  # 30 log(1000/3)
    174.274
    """
    if not problem.suboptimal.size:
        return 0.0
    K, smallest = problem.arms, float(problem.suboptimal[0])
    value = K / smallest * float(log_plus(problem.horizon * smallest**2 / K))
    return value + problem.large_gaps


_ONE_BEST = "one best arm, gaps up to 2 sigma"


@_bound("improved-ucb", "every problem", _ONE_BEST, f"{_IMPROVED}, and the best λ")
def improved_ucb_minimax_bound(problem: Instance) -> float:
    """Return improved UCB's worst-case bound, of order sqrt(nK log K).

    It follows from `improved_ucb_bound`, whose terms fall as gaps grow: with gaps in units of 2σ,
    nλ + (K-1) (λ + (32 log(nλ²) + 96)/λ), smallest over λ between sqrt(e/n) and 1.

    Examples
    --------
    >>> from ocucb import theory
    >>> bound = theory.improved_ucb_minimax_bound([0.0, -0.5], 1e6)
    >>> bound.value >= theory.improved_ucb_bound([0.0, -0.02], 1e6).value
    True
    """
    from scipy.optimize import minimize_scalar

    _halved_gaps(problem)
    n, others = problem.horizon, problem.arms - 1

    def value(log: float) -> float:
        lam = math.exp(log)
        return n * lam + others * (lam + (32 * math.log(n * lam**2) + 96) / lam)

    low = 0.5 * (1 - math.log(n))
    found = minimize_scalar(value, bounds=(min(low, -1e-9), 0.0), method="bounded")
    worst = min(float(n), value(float(found.x)) if low < 0 else math.inf)
    return 2 * worst if others else 0.0


@_bound("improved-ucb", "this problem", _ONE_BEST, _IMPROVED)
def improved_ucb_bound(problem: Instance) -> float:
    """Return the bound of improved UCB, minimised over its free λ >= sqrt(e/n).

    With gaps in units of 2σ, it is the sum of Δ_i + (32 log(nΔ_i²) + 96)/Δ_i over the gaps above λ,
    plus 64/λ for each of the others, plus n times the largest of those. The theorem is stated for
    rewards in [0, 1], but its proof uses only that these are 1/2-subgaussian and that gaps are at
    most 1, so the policy divides by 2σ. It also needs that only a suboptimal arm can eliminate the
    best one, so there must not be a second best arm.

    Examples
    --------
    >>> import math
    >>> from ocucb import theory
    >>> scaled = 0.25 + (32 * math.log(1e6 / 16) + 96) / 0.25
    >>> abs(theory.improved_ucb_bound([0.0, -0.5], 1e6).value - 2 * scaled) < 1e-9
    True
    """
    positive, n = _halved_gaps(problem), problem.horizon
    values = [0.0 if not positive.size else n * positive[-1]]  # λ → ∞
    for first in range(positive.size):
        # λ just below gap `first`: as large as possible without changing the sets.
        limit = positive[first]
        if limit <= math.sqrt(math.e / n) or (first and limit == positive[first - 1]):
            continue
        above = positive[first:]
        value = (above + (32 * np.log(n * above**2) + 96) / above).sum() + first * 64 / limit
        values.append(float(value + (n * positive[first - 1] if first else 0.0)))
    return 2 * float(min(values))


def _halved_gaps(problem: Instance) -> Floats:
    """Return the positive gaps in units of 2σ, if the bound of improved UCB covers them."""
    positive = problem.suboptimal / 2
    if positive.size and positive[-1] > 1:
        raise ValueError(
            f"the bound of improved UCB needs gaps of at most 2 sigma, got {2 * positive[-1]:g} "
            "sigma; use a larger sigma."
        )
    if positive.size and problem.best_arms > 1:
        raise ValueError(
            f"the bound of improved UCB is proved for one best arm, got {problem.best_arms}; "
            "remove the others."
        )
    return positive


@_shape("aocucb", "this problem", f"smallest over δ; {_ADDED}", f"{PAPER}, theorem 21")
def aocucb_shape(problem: Instance) -> float:
    """Return the shape of theorem 21: nδ + Σ (1/Δ_i) log⁺(nΔ_i²) over Δ_i > δ, smallest over δ.

    Only δ = 0 and the gaps themselves can be optimal: between gaps, nδ grows and nothing else
    changes. Σ Δ_i is added if a gap exceeds sigma, as in theorem 1: the paper overlooks that every
    arm is played once.

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.aocucb_shape([0.0, -0.5], 1000).value, 4)  # δ = 0: 2 log(250)
    11.0429
    >>> round(theory.aocucb_shape([0.0, -1e-6], 1000).value, 9)  # δ = 1e-6: 1000 δ
    0.001
    """
    positive, n = problem.suboptimal, problem.horizon
    terms = log_plus(n * positive**2) / positive
    rest = np.concatenate([np.cumsum(terms[::-1])[::-1], [0.0]])
    value = float((n * np.concatenate([[0.0], positive]) + rest).min())
    return value + problem.large_gaps


@_shape("aocucb", "every problem", f"at least 2 arms; {_ADDED}", f"{PAPER}, theorem 21")
def aocucb_minimax_shape(problem: Instance) -> float:
    """Return the worst-case shape of theorem 21: sqrt(nK log K).

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.aocucb_minimax_shape([0.0, -0.5], 800).value, 4)
    33.3022
    """
    return sqrt_nK_log_K(problem) + problem.large_gaps


def sqrt_nK_log_K(problem: Instance) -> float:
    """Return sqrt(nK log K), which needs two arms."""
    if problem.arms < 2:
        raise ValueError("sqrt(nK log K) needs at least 2 arms, got 1.")
    return math.sqrt(problem.horizon * problem.arms * math.log(problem.arms))
