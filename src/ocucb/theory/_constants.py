"""The constants of the proof of theorems 1 and 2: c_γ, c_1 … c_11, C_1(α, ψ) and C_2(α, ψ).

The paper leaves C_1 and C_2 unspecified. Here they are numbers: every constraint of its appendix
"Constants and Constraints" is checked, with the slips in that appendix repaired as docs/slips.md
explains. The free choices are γ (the ratio of the peeling argument), κ (1 in the paper's constraint
on c_2), c_3 and c_10; `constants` minimises over those that are not given, and `best_constants`
over α and ψ as well.

There are two versions of the proof. ``tight=False`` is the paper's, with its mistakes repaired and
nothing else changed; with ``c10="paper"`` it also has the paper's own c_9 and c_10, which are
generous. ``tight=True`` takes the same steps with less generous rounding, which makes C_1 smaller
by fifteen orders of magnitude at α = 3, ψ = 2.

The paper requires ψ >= 2 and says that ψ > 1 would do. It does: ψ >= 2 is needed only where δ_T is
capped at 1/2, so the cap is 1/ψ here if ψ < 2 (docs/slips.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from .._text import shown, to_float
from .._types import Floats

# Conditions (C3) and (C4) of the failure event, and its probability as a multiple of δ̃_Δ.
# The paper: 67 in lemma 10, 1 + 24 + 13 from lemmas 7, 9 and 10.
# Tight: dyadic blocks with thresholds 1/2, 1/2, 2^-1.5, 2^-2, ... give 4 + sqrt(2) and 2.5.
_SPREAD = {False: 67.0, True: 4.0 + math.sqrt(2.0)}
_FAILURE = {False: 38.0, True: 2.5}
_STRICTLY = 1.0 + 1e-9  # the constraint on c_1 is a strict inequality


def cap(psi: float) -> float:
    """Return the largest δ_T: 1/2 as in the paper, or 1/ψ for ψ < 2.

    Where δ is capped, lemma 13 needs ψ n δ >= n.

    Examples
    --------
    >>> cap(2.0), cap(100.0), cap(1.25)
    (0.5, 0.5, 0.8)
    """
    return min(max(0.5, 1.0 / psi), 0.9999)  # below 1 even where Const6 fails


def _least_c10(psi: float) -> float:
    return math.e**2 * cap(psi) * _STRICTLY  # lemma 15 needs log(c_10 / cap) >= 2


# Worst-case: sum over i of sup {log⁺(y²) / y : y² >= K / i} / sqrt(i K) is at most this.
_WORST_CASE = 1.0 + 3.0 / math.e**2


@dataclass(frozen=True)
class Constraint:
    """One constraint: its label, its statement, and whether the constants satisfy it.

    Attributes
    ----------
    label : str
        Where it stands: a line of the appendix, or a step of a lemma.
    statement : str
        The inequality.
    holds : bool
        Whether the constants satisfy it.

    Examples
    --------
    >>> from ocucb import theory
    >>> line = theory.constants(3.0, 2.0).constraints()[0]
    >>> line.holds
    True
    """

    label: str
    statement: str
    holds: bool


@dataclass(frozen=True)
class Constants:
    """A set of constants with which the proof of theorems 1 and 2 works.

    Attributes
    ----------
    alpha, psi : float
        The parameters of OCUCB.
    gamma, kappa, c3, c10 : float
        The free choices.
    c_gamma, c1, c2, c4, c5, c6, c7, c8, c9 : float
        The others, named as in the paper.
    tight : bool
        The version of the proof.

    Examples
    --------
    >>> from ocucb import theory
    >>> found = theory.constants(3.0, 2.0)
    >>> 5e17 < found.C1() < 6e17
    True
    >>> found.c11(best_arms=2) > found.c11()
    True
    >>> all(line.holds for line in found.constraints())
    True
    """

    alpha: float
    psi: float
    gamma: float
    kappa: float
    tight: bool
    c_gamma: float
    c1: float
    c2: float
    c3: float
    c4: float
    c5: float
    c6: float
    c7: float
    c8: float
    c9: float
    c10: float

    def c11(self, best_arms: int = 1) -> float:
        """Return the constant of lemma 15, in which each best arm counts as arm 1 does.

        It includes the probability of the failure event, which the paper's own c_11 omits.
        """
        each_best, each_other = self._integrals()
        return self.failure * self.c5 * (best_arms * each_best + each_other)

    @property
    def failure(self) -> float:
        """The probability of the failure event over δ̃_Δ.

        P{β > b} is at most δ̃ times the cap to the power of b. With a cap above 1/2 this is at most
        2 cap δ̃ for b = 1.
        """
        return 2 * cap(self.psi) * _FAILURE[self.tight]

    @property
    def spread(self) -> float:
        """The factor in (C4): β counts in steps of log 2 / log(1 / cap), each half as likely."""
        return _SPREAD[self.tight] * math.log(2) / math.log(1 / cap(self.psi))

    def _integrals(self) -> tuple[float, float]:
        """Return the contributions of a best arm and of any other arm to lemma 15."""
        c8, log_c8 = self.c8, math.log(self.c8)
        if not self.tight:
            return 2 * c8 * (1 + log_c8) + 3 * c8 * log_c8, 5.0
        tail = 1 + 2 / math.log(self.c10 / cap(self.psi))
        middle = 1 + 2 * math.exp(-0.5)  # the integral of max(1, log(x^-2)) over (0, 1)
        return c8 + c8 * tail, (2 * log_c8 + 2 / math.e) / c8 + tail + middle

    @property
    def log_factor(self) -> float:
        """The loss in lemma 3: log(c_10 / δ_i) is at most this times log⁺(n / H_i)."""
        return 1 + math.log(self.c10) + max(0.0, -math.log(self.c6 * self._least_u))

    @property
    def _least_u(self) -> float:
        """Every u_Δ is at least this over Δ²."""
        return self.c9 * math.log(self.c10 / cap(self.psi))

    def pulls(self, times: int) -> float:
        """Bound Σ Δ_i ⌈β_i u_i⌉ over Σ Δ_i u_i by (C4), as slip 2 in docs/slips.md explains."""
        return 1 + 2 * times * self.spread

    def C1(self, best_arms: int = 1) -> float:
        """Return C_1(α, ψ): the regret is at most C_1 Σ (1/Δ_i) log⁺(n/H_i)."""
        lost = self.c8 * self.c11(best_arms)
        return self.c9 * self.log_factor * (self.pulls(1 + best_arms) + lost)

    @property
    def C2(self) -> float:
        """C_2(α, ψ): the regret is at most C_2 sqrt(nK) on every problem."""
        each_best, each_other = self._integrals()
        each = max(each_best, each_other) if self.tight else each_best + each_other
        lost = self.c8 * self.failure * self.c5 * each
        return 1 + _WORST_CASE * self.c9 * self.log_factor * (self.pulls(1) + lost)

    @property
    def largest_gap(self) -> float:
        """The largest gap, in units of sigma, for which u_i >= 2, as the proof requires."""
        return math.sqrt(self._least_u / 2)

    def constraints(self) -> list[Constraint]:
        """Check every constraint of the appendix, and those that the proof uses unlisted."""
        c, a, g, k = self, self.alpha, self.gamma, self.kappa

        def root(factor: float, inside: float) -> Floats:
            # u_Δ and δ_Δ enter as log(x / δ) / log(c_10 / δ), which is monotone in δ, so it is
            # enough to check the cap and the limit δ → 0.
            ends = np.array([math.log(inside / top) / math.log(c.c10 / top), 1.0])
            ratio: Floats = np.sqrt(factor / c.c9 * ends)
            return ratio

        q, spread, top = math.sqrt, c.spread, cap(c.psi)
        # T_k <= 1 + β_k times this times min(T_i, u_k), in lemma 13.
        pulled = c.c2 * max(1.0, c.c8**2 / c.c1) if c.tight else c.c2 * c.c8**3
        all_pulls = spread * pulled + 2 if c.tight else 2 * spread * pulled
        peeled = c.c6 * c.c_gamma * (2 * g - 1) / (g - 1)
        index = q(a) - q(a / c.c2) - q(2 * g) - q(2 * g / c.c2)
        lines = [
            ("Const1", "ψ c_6 covers the pulls of all arms", _at_least(c.c6 * c.psi, all_pulls)),
            ("Const2", "c_7 = 10 ψ c_6 (c_1 + c_2)",
             _at_least(c.c7, 10 * c.psi * c.c6 * (c.c1 + c.c2))),
            ("Const3", "c_γ = Σ 2^(3 - γ^k)", _at_least(c.c_gamma, c_gamma(g, top))),
            ("Const4", "c_4 = sqrt(2) γ", _at_least(c.c4, q(2) * g)),
            ("Const5", "c_5 >= c_6 c_γ (2γ - 1) / (γ - 1)", _at_least(c.c5, peeled)),
            ("Const6", "ψ > 1", c.psi > 1),
            ("Const7", "(2 + c_3) c_4 / c_8 <= 1/4", _at_least(0.25, (2 + c.c3) * c.c4 / c.c8)),
            ("Const8", "1 < γ < α / 2", 1 < g < a / 2),
            ("Const9", "sqrt(α) - sqrt(α/c_2) - sqrt(2γ) - sqrt(2γ/c_2) >= κ > 0",
             k > 0 and _at_least(index, k)),
            ("Const10", "κ sqrt(c_1/u log(1/δ)) exceeds the slack of both arms",
             bool((k * root(c.c1, 1.0) > _slack(c.c4, c.tight)).all())),
            ("Const11", "sqrt(2γ c_1/u log(c_1/δ)) <= c_3 c_4 Δ",
             _at_least(c.c3 * c.c4, root(2 * g * c.c1, c.c1).max())),
            ("Const12", "sqrt(2γ c_2/u log(c_2/δ)) <= Δ/4",
             _at_least(0.25, root(2 * g * c.c2, c.c2).max())),
            ("Const13", "sqrt(2γ/u log(1/δ)) <= Δ/4", _at_least(0.25, root(2 * g, 1.0).max())),
            ("Const14", "sqrt(α/u log(c_7/δ)) <= Δ/4", _at_least(0.25, root(a, c.c7).max())),
            ("lemma 13, t = K + 1", "ψ c_6 >= 2, c_7 >= ψ c_6", c.c7 >= c.psi * c.c6 >= 2),
            ("lemma 13 (d)", "c_1, c_2 >= 1", min(c.c1, c.c2) >= 1),
            ("lemma 5", "c_9 >= e²", c.c9 >= math.e**2),
            ("lemma 15", "log(2 c_10) >= 2, c_8 >= e",
             c.c10 / top >= math.e**2 and c.c8 >= math.e),
        ]  # fmt: skip
        return [Constraint(*line) for line in lines]


def _at_least(value: float, least: float) -> bool:
    """Compare up to rounding."""
    return bool(value * _STRICTLY >= least)


def _slack(c4: float, tight: bool) -> float:
    """Return the least κ sqrt(c_1/u log(1/δ)) that lemma 11 (h) allows, over Δ.

    It must exceed Δ_i + 2 c_4 Δ̃. The paper splits it in halves, which gives 4 c_4; splitting it in
    the right proportion gives 1 + 2 c_4.
    """
    return 1 + 2 * c4 if tight else 4 * c4


@lru_cache(maxsize=4096)
def c_gamma(gamma: float, most: float = 0.5) -> float:
    """Return c_γ = Σ_k 2^(3 - γ^k), the constant of the peeling argument in lemma 6.

    With another cap d of δ_T than 1/2, which is `most`, it is 2/d² Σ_k d^(γ^k).

    Parameters
    ----------
    gamma : float
        γ, above 1.
    most : float, optional
        The cap of δ_T.

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.c_gamma(2.0), 6)  # 8 (1/2 + 1/4 + 1/16 + 1/256 + ...)
    6.531372
    """
    gamma, most = to_float(gamma, "gamma"), to_float(most, "most", "between 0 and 1")
    if not gamma > 1:
        raise ValueError(f"gamma must be greater than 1, got {gamma:g}.")
    if not 0 < most < 1:
        raise ValueError(f"most must lie between 0 and 1, got {most:g}.")
    decay = math.log(1 / most)
    if gamma < 1.001:  # very many terms: their integral with the Euler-Maclaurin correction
        from scipy.special import exp1

        step = math.log(gamma)
        return float(2 / most**2 * exp1(decay)) / step + 1 / most + step * decay / most / 6
    # later terms are 0 in floating point
    terms = math.ceil(math.log(760 / decay) / math.log(gamma)) + 1
    return float(2 / most**2 * np.sum(np.exp(-decay * gamma ** np.arange(terms))))


def _derive(
    alpha: float, psi: float, gamma: float, kappa: float, c10: float | None, c3: float | None,
    tight: bool,
) -> Constants | None:  # fmt: skip
    """Derive the constants from the free ones, or return None if no such constants exist.

    c_9 must be large enough for c_7 (Const14), which grows with c_1, which grows with c_9; c_3 is
    as large as c_1 requires (Const11). C_1 and C_2 grow with all of them, so each is as small as
    possible, unless c_3 is given. If c_10 is None, it is the paper's max(c_2, c_7 ψ, c_1 ψ).
    """
    slack = math.sqrt(alpha) - math.sqrt(2 * gamma) - kappa
    if not (slack > 0 and kappa > 0):
        return None
    c2 = ((math.sqrt(alpha) + math.sqrt(2 * gamma)) / slack) ** 2
    c4, most, tenth = math.sqrt(2) * gamma, cap(psi), c10 or max(c2, _least_c10(psi))

    def over(x: float) -> float:
        """Return the largest log(x / δ) / log(c_10 / δ)."""
        return max(1.0, math.log(x / most) / math.log(tenth / most))

    c9 = 32 * gamma * c2 * over(c2)
    spread = math.log(2) / math.log(1 / most)
    for _ in range(200):  # the requirement on c_9 depends on log c_9, so this converges quickly
        logs = math.log(tenth / most) / math.log(1 / most)
        asked = (_slack(c4, tight) / kappa) ** 2 * logs * _STRICTLY**2
        c1 = asked * c9
        least = math.sqrt(2 * gamma * asked * over(c1)) / c4
        third = least if c3 is None else c3
        c8 = 4 * (2 + third) * c4
        if tight:
            c6 = (_SPREAD[True] * spread * c2 * max(1.0, c8**2 / c1) + 2) / psi
        else:
            c6 = 2 * _SPREAD[False] * spread * c2 * c8**3 / psi
        c7 = 10 * psi * c6 * (c1 + c2)
        before, c9 = (c9, tenth), max(c9, 16 * alpha * over(c7))
        if c10 is None:
            tenth, c9 = max(c2, c7 * psi, c1 * psi), max(32 * gamma * c2, 16 * alpha)
        if c9 <= before[0] * (1 + 1e-13) and tenth <= before[1] * (1 + 1e-13):
            break
    if third * _STRICTLY < least:
        return None
    peeled = (2 * gamma - 1) / (gamma - 1) if tight else 24 * gamma / (gamma - 1)
    c5 = peeled * c6 * c_gamma(gamma, most)
    free, first = (alpha, psi, gamma, kappa, tight, c_gamma(gamma, most)), (c1, c2, third, c4)
    return Constants(*free, *first, c5, c6, c7, c8, c9, tenth)


def _check_parameters(alpha: float, psi: float) -> None:
    if not alpha > 2:
        raise ValueError(f"alpha must be greater than 2 for theorems 1 and 2, got {alpha:g}.")
    if not psi > 1:
        raise ValueError(f"psi must be greater than 1 for theorems 1 and 2, got {psi:g}.")
    if not (2.0001 <= alpha <= 1e12 and 1.0001 <= psi <= 1e250):
        raise ValueError(
            "the constants can be computed for alpha from 2.0001 to 1e12 and psi from 1.0001 to "
            f"1e250, got alpha={alpha!r} and psi={psi!r}."
        )


_GOALS: dict[str, Callable[[Constants], float]] = {
    "C1": lambda constants: constants.C1(),
    "C2": lambda constants: constants.C2,
}


@lru_cache(maxsize=256)
def constants(
    alpha: float = 3.0,
    psi: float = 2.0,
    gamma: float | None = None,
    kappa: float | None = None,
    c3: float | None = None,
    c10: float | Literal["paper"] | None = None,
    *,
    tight: bool = True,
    goal: str = "C1",
) -> Constants:
    """Return constants that satisfy every constraint of the proof of theorems 1 and 2.

    Parameters
    ----------
    alpha, psi : float, optional
        The parameters of OCUCB; the theorems require alpha > 2 and psi >= 2, and hold for psi > 1.
        Floating point allows alpha from 2.0001 to 1e12 and psi from 1.0001 to 1e250.
    gamma, kappa, c3, c10 : float, optional
        Free choices: 1 < gamma < alpha / 2, 0 < kappa < sqrt(alpha) - sqrt(2 gamma), c3 large
        enough, and c10 > e²/2. Those that are not given minimise `goal`. With ``c10="paper"``, c_9
        and c_10 are the generous ones of the appendix.

    Examples
    --------
    >>> from ocucb import theory
    >>> found = theory.constants(3.0, 2.0)
    >>> 1 < found.gamma < 1.5
    True
    >>> found.C1() < theory.constants(3.0, 2.0, tight=False).C1()
    True
    """
    alpha, psi = to_float(alpha, "alpha"), to_float(psi, "psi", "between 1 and 1e250")
    _check_parameters(alpha, psi)
    if goal not in _GOALS:
        raise ValueError(f"goal must be 'C1' or 'C2', got {shown(goal)}.")
    gamma = None if gamma is None else to_float(gamma, "gamma")
    kappa = None if kappa is None else to_float(kappa, "kappa")
    c3 = None if c3 is None else to_float(c3, "c3")
    if gamma is not None and not 1 < gamma < alpha / 2:
        raise ValueError(f"gamma must lie between 1 and alpha / 2 = {alpha / 2:g}, got {gamma:g}.")
    least = _least_c10(psi)
    if isinstance(c10, str) and c10 != "paper":
        raise ValueError(f"c10 must be a number or 'paper', got {shown(c10)}.")
    if c10 is not None and not isinstance(c10, str):
        c10 = to_float(c10, "c10")
        if not least <= c10 < math.inf:
            raise ValueError(f"c10 must be a number greater than {least:.3g}, got {c10:g}.")

    def at(x: Floats) -> Constants | None:
        numbers = iter(x)
        g = gamma if gamma is not None else _gamma(alpha, next(numbers))
        k = kappa if kappa is not None else _kappa(alpha, g, next(numbers))
        tenth = None
        if c10 != "paper":
            tenth = c10 if c10 is not None else _c10(psi, next(numbers))
        return _derive(alpha, psi, g, k, tenth, c3, tight)

    free = zip((gamma, kappa, c10), (0.0, 0.0, 5.0), strict=True)
    found = _minimised(at, [start for given, start in free if given is None], goal)
    if found is None:
        raise ValueError(
            f"no constants satisfy the constraints with gamma={gamma}, kappa={kappa}, c3={c3}, "
            f"c10={c10} at alpha={alpha:g}; omit c3, or the others."
        )
    return found


@lru_cache(maxsize=8)
def best_constants(*, tight: bool = True, goal: str = "C1") -> Constants:
    """Return the constants with the smallest C_1 (or C_2) over all alpha > 2 and psi >= 2.

    The paper calls this minimisation a herculean task.

    Examples
    --------
    >>> from ocucb import theory
    >>> theory.best_constants().C1() < theory.constants(3.0, 2.0).C1()
    True
    """
    if goal not in _GOALS:
        raise ValueError(f"goal must be 'C1' or 'C2', got {goal!r}.")

    def at(x: Floats) -> Constants | None:
        alpha, psi = 2 + math.exp(min(x[0], 60.0)), 2 + math.exp(min(x[1], 200.0))
        gamma = _gamma(alpha, x[2])
        return _derive(alpha, psi, gamma, _kappa(alpha, gamma, x[3]), _c10(psi, x[4]), None, tight)

    found = _minimised(at, [3.0, 20.0, -2.0, 0.0, 5.0], goal)
    assert found is not None
    return found


def _share(x: float) -> float:
    """Map the real line into (0, 1)."""
    return 1 / (1 + math.exp(-min(max(x, -100.0), 35.0)))


def _gamma(alpha: float, x: float) -> float:
    return 1 + max((alpha / 2 - 1) * _share(x), 1e-9)


def _kappa(alpha: float, gamma: float, x: float) -> float:
    return (math.sqrt(alpha) - math.sqrt(2 * gamma)) * _share(x)


def _c10(psi: float, x: float) -> float:
    return _least_c10(psi) * (1 + math.exp(min(x, 600.0)))


def _minimised(
    at: Callable[[Floats], Constants | None], start: list[float], goal: str
) -> Constants | None:
    """Search a coarse grid, then run the Nelder-Mead simplex until it no longer improves."""
    from scipy.optimize import minimize

    def height(x: Floats) -> float:
        try:
            found = at(x)
            return 1e6 if found is None else min(1e6, math.log(_GOALS[goal](found)))
        except OverflowError:
            return 1e6

    steps = itertools.product([-3.0, -1.5, 0.0, 1.5], repeat=len(start))
    point = min((np.array(start) + step for step in steps), key=height)
    best = height(point)
    for _ in range(12 if start else 0):
        simplex = np.vstack([point, point + np.eye(len(start))])
        options = {"initial_simplex": simplex, "xatol": 1e-5, "fatol": 1e-9, "maxiter": 3000}
        answer = minimize(height, point, method="Nelder-Mead", options=options)
        gain, point, best = best - answer.fun, answer.x, float(answer.fun)
        if gain < 1e-7:
            break
    return at(point) if best < 1e6 else None
