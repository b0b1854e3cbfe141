"""What arms pay: one entry for each kind of reward.

A kind of reward knows how to draw one reward; its Kullback-Leibler divergence; the likelihood ratio
for a tilted mean and its standard deviation; and its bounds. Engines and policies ask what a kind
can do; none of them tests its name.

To add a kind, add an entry to `KINDS` here, and to `problems.py` a constructor and its line in
`KINDS` there.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from math import log, sqrt
from typing import Any

import numpy as np

from ._compile import compiled
from ._memo import cached_property
from ._types import Floats, Words
from ._users import Snapshot
from .random import below, beta, gamma, normal, uniform

# What a sampler may take: numbers of its arm, or the rewards from which it draws.
SAMPLERS = (
    ("mean", "scale", "stream"),
    ("arm", "mean", "scale", "stream"),
    ("arm", "table", "stream"),
)


@dataclass(frozen=True, eq=False)
class Rewards:
    """A kind of reward.

    Attributes
    ----------
    name : str
        Its name in tables and files.
    sample : callable
        ``sample(mean, scale, stream)`` draws one reward; it may take the number of the arm first:
        ``sample(arm, mean, scale, stream)``, or ``sample(arm, table, stream)`` with the problem's
        `table`.
    divergence : callable or None
        ``divergence(mean, other, scale)``: the Kullback-Leibler divergence of rewards with mean
        `mean` from those with mean `other`.
    log_likelihood_ratio : callable or None
        ``log_likelihood_ratio(noise, count, mean, tilted, scale)``: the logarithm of how much more
        likely `count` rewards are under `mean` than under the mean `tilted`, if their sum is
        ``count * mean + noise``; for numbers or arrays. None if the sum does not determine it, so
        that means cannot be tilted.
    deviation : callable or None
        ``deviation(mean, scale)``: the standard deviation of one reward, which tilting needs too.
    bounds : callable or None
        ``bounds(mean, scale)``: the smallest and the largest reward; None if unknown.
    binary : bool
        Every reward is 0 or 1.
    unit : bool
        Every reward lies in [0, 1], and policies may know it.
    rounds : {"", "shared", "disjoint", "rows", "path", "own path"}
        How features and means are drawn anew in each round, if they are: see `engine.rounds`.
    contexts : callable or None
        ``contexts(features, t, stream)`` writes the features of round t.
    path : callable or None
        ``path(means, t, table, stream)`` writes the means of round t over those of the round
        before; a user's does without the table.
    subgaussian : bool
        Large noise is as rare as the sigma of a problem says, as most theorems assume.
    brownian : bool
        Summed rewards are a Brownian motion with drift `mean` and deviation `scale`, observed at
        integer times.
    """

    name: str
    sample: Callable[..., float]
    divergence: Callable[..., float] | None = None
    log_likelihood_ratio: Callable[..., float] | None = None
    deviation: Callable[[float, float], float] | None = None
    bounds: Callable[[float, float], tuple[float, float]] | None = None
    binary: bool = False
    brownian: bool = False
    unit: bool = False
    rounds: str = ""
    contexts: Callable[..., None] | None = None
    path: Callable[..., None] | None = None
    subgaussian: bool = True

    @cached_property
    def code(self) -> Snapshot:
        """What kernels call, compiled; a user's is frozen at first use."""
        functions: dict[str, Callable[..., Any]] = {"draw": self.sample}
        if self.contexts is not None:
            functions["contexts"] = self.contexts
        if self.path is not None:
            functions["path"] = self.path
        return Snapshot(functions, KINDS.get(self.name) is self)

    @property
    def draw(self) -> Callable[..., float]:
        """`sample`, compiled."""
        function: Callable[..., float] = self.code.compiled["draw"]
        return function

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """What `sample` takes: one of `SAMPLERS`."""
        return tuple(inspect.signature(self.sample).parameters)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...] | str:
        # Another process looks up our kinds by name; compiled code is not sent.
        if KINDS.get(self.name) is self:
            return _kind_named, (self.name,)
        return Rewards, tuple(getattr(self, field.name) for field in fields(self))


def _draw_gaussian(mean: float, scale: float, stream: Words) -> float:
    return mean + scale * normal(stream)


def _divergence_gaussian(mean: float, other: float, scale: float) -> float:
    return 0.5 * ((mean - other) / scale) ** 2


def _ratio_gaussian(noise: Any, count: Any, mean: float, tilted: Any, scale: float) -> Any:
    shift = mean - tilted
    return shift * (noise + 0.5 * shift * count) / scale**2


def _deviation_gaussian(mean: float, scale: float) -> float:
    return scale


def _no_bounds(mean: float, scale: float) -> tuple[float, float]:
    return -math.inf, math.inf


def _draw_bernoulli(mean: float, scale: float, stream: Words) -> float:
    return 1.0 if uniform(stream) < mean else 0.0


def _xlog(x: float, ratio: float) -> float:
    """Return x * log(ratio), or 0 if x is 0."""
    if x == 0.0:
        return 0.0
    return x * log(ratio) if ratio > 0.0 else -math.inf


def _over(top: float, bottom: float) -> float:
    return top / bottom if bottom > 0.0 else math.inf


def _divergence_bernoulli(mean: float, other: float, scale: float) -> float:
    return _xlog(mean, _over(mean, other)) + _xlog(1.0 - mean, _over(1.0 - mean, 1.0 - other))


def _ratio_bernoulli(noise: Any, count: Any, mean: float, tilted: Any, scale: float) -> Any:
    hits = count * mean + noise
    return hits * np.log(mean / tilted) + (count - hits) * np.log((1.0 - mean) / (1.0 - tilted))


def _deviation_bernoulli(mean: float, scale: float) -> float:
    return sqrt(mean * (1.0 - mean))


def _unit_interval(mean: float, scale: float) -> tuple[float, float]:
    return 0.0, 1.0


def _draw_uniform(mean: float, scale: float, stream: Words) -> float:
    return mean + scale * (2.0 * uniform(stream) - 1.0)


def _divergence_uniform(mean: float, other: float, scale: float) -> float:
    return 0.0 if mean == other else math.inf


def _around_mean(mean: float, scale: float) -> tuple[float, float]:
    return mean - scale, mean + scale


@compiled
def _log_gamma(stream: Words, shape: float) -> float:
    """Return the logarithm of a gamma variate: with a small shape, the variate may be too small."""
    if shape >= 1.0:
        return log(gamma(stream, shape))
    return log(gamma(stream, shape + 1.0)) + math.log1p(-uniform(stream)) / shape


def _draw_beta(mean: float, scale: float, stream: Words) -> float:
    a, b = scale * mean, scale * (1.0 - mean)
    if min(a, b) >= 1.0:
        return beta(stream, a, b)
    x, y = _log_gamma(stream, a), _log_gamma(stream, b)
    return 1.0 / (1.0 + math.exp(y - x))


def _divergence_beta(mean: float, other: float, scale: float) -> float:
    from scipy.special import betaln, psi  # takes half a second to import

    a, b, c, d = (scale * share for share in (mean, 1.0 - mean, other, 1.0 - other))
    return float(betaln(c, d) - betaln(a, b) + (a - c) * psi(a) + (b - d) * psi(b))


def _deviation_beta(mean: float, scale: float) -> float:
    return sqrt(mean * (1.0 - mean) / (1.0 + scale))


def _draw_exponential(mean: float, scale: float, stream: Words) -> float:
    return -mean * math.log1p(-uniform(stream))


def _divergence_exponential(mean: float, other: float, scale: float) -> float:
    return log(other / mean) + mean / other - 1.0


def _ratio_exponential(noise: Any, count: Any, mean: float, tilted: Any, scale: float) -> Any:
    total = count * mean + noise
    return total * (1.0 / tilted - 1.0 / mean) - count * np.log(mean / tilted)


def _deviation_exponential(mean: float, scale: float) -> float:
    return mean


def _at_least_0(mean: float, scale: float) -> tuple[float, float]:
    return 0.0, math.inf


def _draw_empirical(arm: int, table: Floats, stream: Words) -> float:
    # the table begins with where each arm's rewards do, and the last one's end
    start, end = int(table[arm]), int(table[arm + 1])
    reward: float = table[start + below(stream, end - start)]
    return reward


GAUSSIAN = Rewards(
    "gaussian",
    _draw_gaussian,
    divergence=_divergence_gaussian,
    log_likelihood_ratio=_ratio_gaussian,
    deviation=_deviation_gaussian,
    bounds=_no_bounds,
    brownian=True,
)
BERNOULLI = Rewards(
    "bernoulli",
    _draw_bernoulli,
    divergence=_divergence_bernoulli,
    log_likelihood_ratio=_ratio_bernoulli,
    deviation=_deviation_bernoulli,
    bounds=_unit_interval,
    binary=True,
    unit=True,
)
# Uniform rewards with different means have different supports, so they cannot be tilted.
UNIFORM = Rewards("uniform", _draw_uniform, divergence=_divergence_uniform, bounds=_around_mean)
# Its sum does not determine the likelihood of Beta rewards.
BETA = Rewards(
    "beta",
    _draw_beta,
    divergence=_divergence_beta,
    deviation=_deviation_beta,
    bounds=_unit_interval,
    unit=True,
)
EXPONENTIAL = Rewards(
    "exponential",
    _draw_exponential,
    divergence=_divergence_exponential,
    log_likelihood_ratio=_ratio_exponential,
    deviation=_deviation_exponential,
    bounds=_at_least_0,
    subgaussian=False,
)
KINDS = {kind.name: kind for kind in (GAUSSIAN, BERNOULLI, UNIFORM, BETA, EXPONENTIAL)}


def _kind_named(name: str) -> Rewards:
    return KINDS[name]


@dataclass(frozen=True)
class Between:
    """Bounds that all arms share."""

    low: float
    high: float

    def __call__(self, mean: float, scale: float) -> tuple[float, float]:
        return self.low, self.high


@lru_cache(maxsize=32)
def empirical_rewards(low: float, high: float) -> Rewards:
    """Return the kind of reward drawn from a problem's table, all of them between the bounds."""
    unit = low == 0.0 and high == 1.0
    return Rewards("empirical", _draw_empirical, bounds=Between(low, high), unit=unit)


def _draw_on_sphere(features: Any, t: float, stream: Words) -> None:
    for i in range(features.shape[0]):
        total = 0.0
        for j in range(features.shape[1]):
            features[i, j] = normal(stream)
            total += features[i, j] ** 2
        for j in range(features.shape[1]):
            features[i, j] /= sqrt(total)


@lru_cache(maxsize=32)
def rewards_in_contexts(contexts: Callable[..., None] | None, rounds: str) -> Rewards:
    """Return Gaussian rewards whose means change with the round's features."""
    draw = _draw_on_sphere if contexts is None else contexts
    return Rewards("gaussian (contexts)", _draw_gaussian, rounds=rounds, contexts=draw)


@lru_cache(maxsize=32)
def rewards_along(kind: Rewards, path: Callable[..., None], own: bool) -> Rewards:
    """Return a kind of reward with means that follow a path; with other means it has other laws."""
    changes: dict[str, Any] = dict.fromkeys(("divergence", "log_likelihood_ratio", "deviation"))
    return replace(
        kind,
        **changes,
        name=f"{kind.name} (changing)",
        bounds=kind.bounds if kind.unit else None,
        brownian=False,
        rounds="own path" if own else "path",
        path=path,
    )


def _draw_mean(mean: float, scale: float, stream: Words) -> float:
    return mean


@lru_cache(maxsize=32)
def rewards_of_rows(low: float, high: float) -> Rewards:
    """Return rewards that are read from rows of data, all of them between the bounds."""
    unit = low == 0.0 and high == 1.0
    return Rewards("data", _draw_mean, bounds=Between(low, high), unit=unit, rounds="rows")


@lru_cache(maxsize=32)
def rewards_of(sample: Callable[..., float], bounds: tuple[float, float] | None = None) -> Rewards:
    """Return the kind of reward that a user's function draws; a recent one is not compiled anew."""
    name = sample.__name__
    if not name.isprintable():
        raise ValueError(f"the name of sample must be one line of text, got {name!r}.")
    known = None if bounds is None else Between(*bounds)
    title = f"{name} (custom)" if name in (*KINDS, "empirical") else name
    return Rewards(title, sample, bounds=known, unit=bounds == (0.0, 1.0))
