"""The quantities in which the theorems are stated: log⁺, gaps, H and H_i; and what a bound is.

Everything is measured in units of sigma: with sigma-subgaussian noise, a gap Δ counts as Δ / sigma,
and the regret is sigma times the value of the formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from .._text import to_count, to_float, to_floats
from .._types import Floats
from .._vectors import Numbers
from ..problems import Problem, gaussian
from ..rewards import KINDS

Kind = Literal["bound", "shape", "limit"]


@dataclass(frozen=True)
class Bound:
    """A statement about regret, with its value.

    Attributes
    ----------
    policy : str
        Whose regret it bounds: a policy as `ocucb.simulate` knows it, or a class of policies.
    side : {"upper", "lower"}
        Regret is at most, or at least, `value`.
    kind : {"bound", "shape", "limit"}
        A bound holds as it stands. A shape is known only up to a constant factor: its value is
        the formula with that factor set to 1, and is never drawn as a bound. A limit holds only
        as n → ∞.
    value : float
        In units of regret.
    about : str
        The problems it covers: this one, the worst one, one of a family.
    condition : str
        What else it requires; this has been checked.
    source : str
        Where it is proved.
    rewards : str
        The rewards it is proved for: "subgaussian" for all sigma-subgaussian ones, or the name of
        one kind, such as "gaussian".

    Examples
    --------
    >>> from ocucb import theory
    >>> bound = theory.moss_bound([0.0, -0.5], 800)
    >>> bound.policy, bound.side, bound.kind, bound.value
    ('moss:constant=4', 'upper', 'bound', 1560.5)
    >>> import ocucb
    >>> theory.minimax_lower_bound(2, 1000).covers(ocucb.bernoulli([0.5, 0.4]))
    False
    """

    policy: str
    side: Literal["upper", "lower"]
    kind: Kind
    value: float
    about: str
    condition: str
    source: str
    rewards: str = "subgaussian"

    def covers(self, problem: Problem) -> bool:
        """Tell whether it is proved for the kind of reward that a problem has."""
        if self.rewards == "subgaussian":
            return problem.rewards.subgaussian
        return KINDS.get(self.rewards) is problem.rewards

    @property
    def kind_of_rewards(self) -> str:
        """The rewards it is proved for, in words."""
        kind = "sigma-subgaussian" if self.rewards == "subgaussian" else self.rewards.capitalize()
        return f"{kind} rewards"

    @property
    def needs(self) -> str:
        """What it requires, in words: the rewards, then the other conditions."""
        kind = self.kind_of_rewards
        return f"{kind}, {self.condition}" if self.condition else kind


@dataclass(frozen=True)
class Instance:
    """A checked problem in units of sigma: gaps in increasing order, horizon."""

    gaps: Floats
    horizon: int
    sigma: float

    @property
    def arms(self) -> int:
        """Number of arms, K."""
        return self.gaps.size

    @property
    def best_arms(self) -> int:
        """Number of arms with gap 0."""
        return int(np.count_nonzero(self.gaps == 0))

    @property
    def suboptimal(self) -> Floats:
        """The gaps that are not 0."""
        return self.gaps[self.best_arms :]

    @property
    def large_gaps(self) -> float:
        """The additive term of theorems 1 and 2: Σ Δ_i if the largest gap exceeds 1, else 0."""
        return float(self.gaps.sum()) if self.gaps[-1] > 1 else 0.0


def instance(means: Numbers, horizon: float, sigma: float = 1.0) -> Instance:
    """Check means, horizon and sigma, and return them in units of sigma."""
    problem = gaussian(means, sigma)
    if np.ptp(problem.scales) > 0:
        raise ValueError("sigma must be one number for all arms: the bounds cover no other case.")
    scaled = np.sort(problem.gaps) / in_range(problem.sigma, "sigma")
    for end in scaled[scaled > 0][[0, -1]] if scaled.any() else ():
        in_range(float(end), "a gap over sigma")
    return Instance(scaled, to_count(horizon, "horizon"), problem.sigma)


class BoundFunction(Protocol):
    """A theorem as a function of the problem."""

    def __call__(self, means: Numbers, horizon: float, sigma: float = 1.0) -> Bound:
        """Return the bound for a problem."""


def states(
    side: Literal["upper", "lower"],
    kind: Kind,
    policy: str,
    about: str,
    condition: str,
    source: str,
    rewards: str = "subgaussian",
) -> Callable[[Callable[[Instance], float]], BoundFunction]:
    """Turn a formula, in units of sigma, into a function that returns a `Bound` with these facts.

    The function takes means, horizon and sigma, and checks them.
    """

    def decorated(formula: Callable[[Instance], float]) -> BoundFunction:
        @wraps(formula, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
        def evaluate(means: Numbers, horizon: float, sigma: float = 1.0) -> Bound:
            value = sigma * formula(instance(means, horizon, sigma))
            return Bound(policy, side, kind, value, about, condition, source, rewards)

        del evaluate.__wrapped__  # or signatures would be those of formulas
        return evaluate

    return decorated


def in_range(value: float, name: str) -> float:
    """Return a positive number, or refuse one whose square would overflow or underflow."""
    value = to_float(value, name, "between 1e-100 and 1e100")
    if not value > 0:
        raise ValueError(f"{name} must be a number greater than 0, got {value:g}.")
    if not 1e-100 <= value <= 1e100:
        raise ValueError(
            f"{name} must lie between 1e-100 and 1e100, got {value:g}; change the units, or make "
            "means equal that are this close."
        )
    return value


def log_plus(x: npt.ArrayLike) -> Floats:
    """Return log⁺(x) = max(1, log x), as section 2 of the paper defines it.

    Parameters
    ----------
    x : array_like
        Numbers of at least 0.

    Examples
    --------
    >>> from ocucb import theory
    >>> theory.log_plus([0.5, 1.0, 100.0]).round(4)
    array([1.    , 1.    , 4.6052])
    """
    values = to_floats(x, "x", "between 0 and 1e308")
    for value in values[~(values >= 0)].flat:
        raise ValueError(f"log_plus is defined for numbers of at least 0, got {value:g}.")
    logs: Floats = np.log(np.maximum(values, math.e))
    return logs


def gaps(means: Numbers) -> Floats:
    """Return Δ_i = max_j μ_j - μ_i for every arm, in order.

    Examples
    --------
    >>> from ocucb import theory
    >>> theory.gaps([0.0, -0.1, -0.5])
    array([0. , 0.1, 0.5])
    """
    return gaussian(means).gaps


def complexity(means: Numbers, sigma: float = 1.0) -> float:
    """Return H = Σ σ²/Δ_i² over the arms with Δ_i > 0 (section 2.1).

    Examples
    --------
    >>> from ocucb import theory
    >>> round(theory.complexity([0.0, -0.1, -0.5]), 9)  # 1/0.01 + 1/0.25
    104.0
    """
    positive = instance(means, 1, sigma).suboptimal
    return float((positive**-2).sum())


def complexities(means: Numbers, sigma: float = 1.0) -> Floats:
    """Return H_i = Σ_j min(σ²/Δ_i², σ²/Δ_j²) of theorem 1 for every arm, in order.

    The sum includes the best arms, each of which adds σ²/Δ_i². The H_i of a best arm is infinite.

    Examples
    --------
    >>> from ocucb import theory
    >>> theory.complexities([0.0, -0.1, -0.5]).round(9)  # 100 + 100 + 4 and 4 + 4 + 4
    array([ inf, 204.,  12.])
    """
    instance(means, 1, sigma)
    return complexities_of(gaps(means) / sigma)


def complexities_of(scaled: Floats) -> Floats:
    """Return every H_i from the gaps in units of sigma, in the time it takes to sort them."""
    with np.errstate(divide="ignore"):
        weights = scaled**-2.0
    order = np.argsort(weights)
    below = np.concatenate([[0.0], np.cumsum(weights[order])])
    # Arms with a larger gap add their own 1/Δ_j², the others 1/Δ_i².
    rank = np.searchsorted(weights[order], weights, side="left")
    H: Floats = below[rank] + (weights.size - rank) * weights
    return H
