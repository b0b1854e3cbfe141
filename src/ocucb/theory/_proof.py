"""The quantities of the proof of theorem 1: δ_T, u_Δ, δ_Δ, k*, δ̃_Δ and β_{i,Δ}.

δ_T depends on every u_i, and u_Δ on δ at u_Δ, so they define each other; the paper says that they
must be extracted by staring at the relations. What one sees is this. u_Δ falls as Δ grows, so the
arm with the largest gap has the smallest u, and in δ at that point every arm contributes
min(u_j, u) = u. That is one equation in one unknown, whose left side rises and whose right side
falls. The arm with the next smaller gap then needs only those u that are already known, and so on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._memo import cached_property
from .._text import to_float
from .._types import Floats
from .._vectors import Numbers
from ._constants import Constants, c_gamma, cap
from ._quantities import Instance, in_range, instance, log_plus


@dataclass(frozen=True, eq=False)
class Proof:
    """The proof's quantities for one problem, in units of sigma, as `proof` returns them.

    Methods take T, a number of pulls, or `gap`, any Δ > 0.

    The lemmas about them hold for any c_6 > 0, c_9 >= e², c_10 >= e/2 and γ > 1, whether or not
    these belong to a complete set of constants.

    Attributes
    ----------
    problem : object
        The checked problem: ``gaps`` in increasing order, ``horizon``, ``sigma``.
    gamma, c6, c9, c10 : float
        γ and the constants of the paper.
    most : float
        The largest δ_T: 1/2 in the paper.

    Examples
    --------
    >>> from ocucb import theory
    >>> found = theory.proof([0.0, -1.0], 100_000)
    >>> found.delta(1) < found.delta(100) <= 0.5
    True
    >>> round(found.delta(100), 6)  # two arms, c_6 = 1: 2 * 100 / n
    0.002
    >>> bool(abs(found.u_at(1.0) - found.u[1]) < 1e-6)
    True
    >>> found.delta_at(1.0) == found.delta(found.u_at(1.0))
    True
    >>> found.k_star(0.5) >= found.k_star(1.0)
    True
    >>> found.delta_tilde(1.0) <= found.delta_tilde_bound(1.0)  # lemma 5
    True
    >>> found.delta_tilde_bound(0.5) > found.delta_tilde_bound(1.0)
    True
    >>> import numpy as np
    >>> found.beta(np.array([[0.1, 0.2], [8.0, 0.1]]), gap=1.0) > 1.0
    array([False,  True])
    """

    problem: Instance
    gamma: float
    c6: float
    c9: float
    c10: float
    most: float = 0.5

    @cached_property
    def u(self) -> Floats:
        """u_i of each arm, in order of increasing gaps; infinite for best arms."""
        found = np.full(self.problem.arms, np.inf)
        for i in range(self.problem.arms - 1, self.problem.best_arms - 1, -1):
            # u is not known yet for arms before i. Infinity does no harm in its place: it is at
            # least u_i, so it counts as u_i.
            found[i] = self._solve(float(self.problem.gaps[i]), found)
        return found

    def _delta(self, T: float, u: Floats) -> float:
        return min(self.most, self.c6 / self.problem.horizon * float(np.minimum(u, T).sum()))

    def _solve(self, gap: float, u: Floats) -> float:
        """Solve u_Δ = c_9/Δ² log(c_10 / δ at u_Δ)."""
        from scipy.optimize import brentq

        def right(x: float) -> float:
            return self.c9 / gap**2 * math.log(self.c10 / self._delta(x, u))

        low = self.c9 / gap**2 * math.log(self.c10 / self.most)
        high = right(low)
        if high <= low * (1 + 1e-15):
            return low
        return float(brentq(lambda x: x - right(x), low, high, xtol=1e-300, rtol=1e-14))

    def delta(self, T: float) -> float:
        """Return δ_T = min(1/2, c_6/n Σ_i min(u_i, T))."""
        return self._delta(T, self.u)

    def u_at(self, gap: float) -> float:
        """Return u_Δ for any Δ > 0."""
        return self._solve(in_range(gap, "gap"), self.u)

    def delta_at(self, gap: float) -> float:
        """Return δ_Δ, which is δ_T at T = u_Δ."""
        return self.delta(self.u_at(gap))

    def k_star(self, gap: float) -> int:
        """Return k* = min {k >= 0 : γ^(k+1) >= log(1/δ_Δ)/Δ²} (lemma 5)."""
        target = math.log(1 / self.delta_at(gap)) / gap**2
        return max(0, math.ceil(math.log(target) / math.log(self.gamma) - 1e-12) - 1)

    def delta_tilde(self, gap: float) -> float:
        """Return δ̃_Δ = c_γ (δ_Δ + Σ_{k<k*} δ at γ^(k+1)), the failure probability of lemma 6."""
        peeled = sum(self.delta(self.gamma ** (k + 1)) for k in range(self.k_star(gap)))
        return c_gamma(self.gamma, self.most) * (self.delta_at(gap) + peeled)

    def delta_tilde_bound(self, gap: float) -> float:
        """Return the right side of lemma 5, with c_5 = c_6 c_γ (2γ-1)/(γ-1)."""
        c5 = self.c6 * c_gamma(self.gamma, self.most) * (2 * self.gamma - 1) / (self.gamma - 1)
        at = self.u_at(gap)
        below = self.u[self.u < at]
        count = self.problem.arms - below.size
        total = count * at + float((below * log_plus(at / below)).sum())
        return c5 / self.problem.horizon * total

    def beta(self, means: Floats, gap: float) -> Floats:
        """Return β_{i,Δ} of arms whose mean of the first t rewards is off by means[..., t-1].

        `means` has running means of an arm's noise along its last axis. β is the smallest number of
        at least 1 such that, for all t,
        ``|mean| <= sqrt(2γβ/t log(1/δ_t)) + sqrt(2) γ Δ``.
        """
        t = np.arange(1, means.shape[-1] + 1)
        sums = np.minimum.outer(t.astype(float), self.u).sum(axis=1)
        delta = np.minimum(self.most, self.c6 / self.problem.horizon * sums)
        excess = np.maximum(0.0, np.abs(means) - math.sqrt(2) * self.gamma * gap)
        needed = excess**2 * t / (2 * self.gamma * np.log(1 / delta))
        beta: Floats = np.maximum(1.0, needed.max(axis=-1))
        return beta


def proof(
    means: Numbers,
    horizon: float,
    given: Constants | None = None,
    sigma: float = 1.0,
    *,
    gamma: float = 1.5,
    c6: float = 1.0,
    c9: float = 50.0,
    c10: float = 10.0,
) -> Proof:
    """Return the quantities of the proof for a problem.

    Parameters
    ----------
    given : Constants, optional
        Where to take γ, c_6, c_9 and c_10 from.
    gamma, c6, c9, c10 : float, optional
        Used without `given`. The defaults are such that δ_T is not always 1/2.

    Examples
    --------
    >>> import math
    >>> from ocucb import theory
    >>> quantities = theory.proof([0.0, -1.0], 1e5)
    >>> u = quantities.u[1]
    >>> delta = 2 * u / 1e5  # two arms, c_6 = 1
    >>> bool(abs(u - 50 * math.log(10 / delta)) < 1e-6)
    True
    """
    problem = instance(means, horizon, sigma)
    if given is not None:
        return Proof(problem, given.gamma, given.c6, given.c9, given.c10, cap(given.psi))
    gamma, c6 = to_float(gamma, "gamma"), to_float(c6, "c6")
    c9, c10 = to_float(c9, "c9"), to_float(c10, "c10")
    finite = all(map(math.isfinite, (gamma, c6, c9, c10)))
    if not (finite and gamma > 1 and c6 > 0 and c9 >= math.e**2 and c10 >= math.e / 2):
        raise ValueError(
            "the lemmas need finite gamma > 1, c6 > 0, c9 >= e² and c10 >= e/2, got "
            f"gamma={gamma:g}, c6={c6:g}, c9={c9:g}, c10={c10:g}."
        )
    return Proof(problem, gamma, c6, c9, c10)
