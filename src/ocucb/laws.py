"""The laws that priors draw problems from: functions, ours and users', and lists of problems.

Problems are drawn outside the kernels, a block of runs at a time, by a function that is compiled as
policies are: a user's is as fast as ours. The problem of a run is drawn from a stream of its own.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log, log1p
from typing import Any, NamedTuple

import numpy as np

from ._compile import specialise
from ._memo import cached_property
from ._types import Counts, Floats, Words
from ._users import Snapshot, is_ours
from .problems import Problem
from .random import PROBLEMS, beta, gamma, normal, start_stream, uniform

EXAMPLES = 1024  # problems that stand for all
_ROOM = 2**21  # means that these may have together


class Drawn(NamedTuple):
    """Problems, one row each: its arms, their means and scales, and the sigma policies are told.

    Rows with fewer arms than there are columns end with nan.
    """

    arms: Counts
    means: Floats
    scales: Floats
    sigma: Floats

    def ranked(self) -> tuple[Counts, Floats]:
        """Return the arms of each row, the best first, and their gaps; inf where there is none."""
        order = np.argsort(-self.means, axis=1, kind="stable")
        means = np.take_along_axis(self.means, order, axis=1)
        return order, np.nan_to_num(means[:, :1] - means, nan=math.inf)

    def by_arms(self) -> Iterator[tuple[int, Counts]]:
        """Yield each number of arms that occurs, with the rows that have it."""
        for arms in np.unique(self.arms):
            yield int(arms), np.flatnonzero(self.arms == arms)


# Declared here, filled in by `specialise`.
draw: Callable[..., None]


def draw_rows(
    values: Any, shares: Floats, drawn: Drawn, key: Words, first: int, stream: Words
) -> None:
    """Draw one problem after the other; `shares` cumulates how likely 1, 2, ... arms are."""
    for row in range(drawn.arms.size):
        start_stream(stream, key, first + row, PROBLEMS)
        count = drawn.means.shape[1]
        if shares.size > 0:
            place, count = uniform(stream), 1
            while count < shares.size and place >= shares[count - 1]:
                count += 1
        drawn.arms[row] = count
        draw(drawn.means[row, :count], stream, *values)


def draw_rows_with_scales(
    values: Any, shares: Floats, drawn: Drawn, key: Words, first: int, stream: Words
) -> None:
    """Do the same where the arms' scales are drawn, too."""
    for row in range(drawn.arms.size):
        start_stream(stream, key, first + row, PROBLEMS)
        drawn.arms[row] = drawn.means.shape[1]
        draw(drawn.means[row], drawn.scales[row], stream, *values)


def pick_rows(places: Counts, count: int, key: Words, first: int, stream: Words) -> None:
    """Pick one of `count` problems for each run."""
    for row in range(places.size):
        start_stream(stream, key, first + row, PROBLEMS)
        places[row] = np.int64(uniform(stream) * count)


@lru_cache(maxsize=1)
def _picking() -> Callable[..., None]:
    return specialise(pick_rows, {}, keep=True)


# The laws of this package, written as users write theirs.


def _normal(means: Floats, stream: Words, mean: float = 0.0, sd: float = 1.0) -> None:
    for i in range(means.size):
        means[i] = mean + sd * normal(stream)


def _beta(means: Floats, stream: Words, a: float = 1.0, b: float = 1.0) -> None:
    for i in range(means.size):
        if a >= 1.0 and b >= 1.0:
            means[i] = beta(stream, a, b)
        else:
            # gamma variates with shapes below 1, by logarithms, which do not underflow
            x = log(gamma(stream, a + 1.0)) + log1p(-uniform(stream)) / a
            y = log(gamma(stream, b + 1.0)) + log1p(-uniform(stream)) / b
            means[i] = 1.0 / (1.0 + exp(y - x)) if y - x < 700.0 else 0.0


def _headlines(means: Floats, stream: Words) -> None:
    # Fitted to the aggregated counts of the Upworthy Research Archive (tests with at least 20
    # clicks): rates of tests are logit-normal, and the spread of the arms' rates depends on them.
    rate = min(0.5, 1.0 / (1.0 + exp(4.33 - 0.70 * normal(stream))))
    spread = 0.28 if rate < 0.009 else 0.23 if rate < 0.018 else 0.17
    a = (1.0 - rate) / (spread * spread) - rate  # so that the deviation is spread * rate
    for i in range(means.size):
        means[i] = beta(stream, a, a * (1.0 - rate) / rate)


class Kind(NamedTuple):
    """A law of this package, and the rewards that go with it."""

    function: Callable[..., None]
    rewards: str
    arms: dict[int, float] | None = None  # how likely so many are, where K is not given


# The archive's tests have so many arms, in percent.
_HEADLINE_ARMS = {2: 3.0, 3: 4.0, 4: 52.0, 5: 19.0, 6: 18.0, 7: 3.0, 8: 2.0}
LAWS = {
    "normal": Kind(_normal, "gaussian"),
    "beta": Kind(_beta, "bernoulli"),
    "headlines": Kind(_headlines, "bernoulli", _HEADLINE_ARMS),
}


class Recipe:
    """A function that draws means, frozen and compiled at first use."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function
        names = tuple(inspect.signature(function).parameters)
        self.takes_scales = names[:2] == ("means", "scales")
        expected = ("means", "scales", "stream") if self.takes_scales else ("means", "stream")
        if names[: len(expected)] != expected:
            raise TypeError(
                "the function of a prior must take the arguments means, stream or means, scales, "
                f"stream first, in this order, got {', '.join(names) or 'none'}."
            )
        self.parameters = names[len(expected) :]
        if not self.name.isprintable():
            raise ValueError(f"the name of a prior must be one line of text, got {self.name!r}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Recipe, (self.function,)  # compiled code is not sent

    @property
    def name(self) -> str:
        """What the prior is called."""
        return self.function.__name__.lstrip("_")

    @cached_property
    def code(self) -> Snapshot:
        """The function, compiled; a user's is frozen at first use."""
        return Snapshot({"draw": self.function}, is_ours(self.function))

    @cached_property
    def kernel(self) -> Callable[..., None]:
        """What draws a block of problems."""
        template = draw_rows_with_scales if self.takes_scales else draw_rows
        return specialise(template, {"draw": self.code.compiled["draw"]}, keep=True)


recipe_of = lru_cache(maxsize=32)(Recipe)  # a recent one is not compiled anew


@dataclass(frozen=True, eq=False)
class Formula:
    """Problems drawn by a function."""

    recipe: Recipe
    values: tuple[float, ...]  # of the function's parameters
    arms: int
    shares: tuple[float, ...]  # how likely 1, 2, ... arms are, cumulated; empty if always `arms`
    scale: float
    sigma: float | None  # None: the largest scale of a problem

    @property
    def identity(self) -> str:
        """A text that two share only if they draw the same problems."""
        numbers = [value.hex() for value in (*self.values, *self.shares, self.scale)]
        told = None if self.sigma is None else self.sigma.hex()
        code = self.recipe.code.identity or self.recipe.name
        return f"formula {code} {self.arms} {numbers} {told}"

    def draw(self, key: Words, first: int, runs: int) -> Drawn:
        """Draw the problems of consecutive runs."""
        shape, stream = (runs, self.arms), np.zeros(4, np.uint64)
        sigma = np.full(runs, math.nan if self.sigma is None else self.sigma)
        vectors = np.full(shape, math.nan), np.full(shape, self.scale)
        drawn = Drawn(np.empty(runs, np.int64), *vectors, sigma)
        self.recipe.kernel(self.values, np.array(self.shares), drawn, key, first, stream)
        if self.sigma is None and runs:
            sigma[:] = drawn.scales.max(axis=1)
        return drawn

    def examples(self, key: Words) -> Drawn:
        """Return problems that stand for all."""
        return self.draw(key, 0, max(1, min(EXAMPLES, _ROOM // self.arms)))


@dataclass(frozen=True, eq=False)
class Listed:
    """Problems of a list, each equally likely."""

    drawn: Drawn

    @staticmethod
    def of(problems: Sequence[Problem]) -> Listed:
        """Return problems as rows."""
        arms = np.array([problem.arms for problem in problems])
        means = np.full((arms.size, arms.max()), math.nan)
        scales = np.ones(means.shape)
        for row, problem in enumerate(problems):
            size = problem.arms
            means[row, :size], scales[row, :size] = problem.means, problem.scales
        return Listed(Drawn(arms, means, scales, np.array([problem.sigma for problem in problems])))

    @property
    def identity(self) -> str:
        """A text that two share only if they draw the same problems."""
        digest = hashlib.sha256(repr(self.drawn.means.shape).encode())
        for part in self.drawn:
            digest.update(part.tobytes())
        return f"list {digest.hexdigest()}"

    def draw(self, key: Words, first: int, runs: int) -> Drawn:
        """Draw the problems of consecutive runs."""
        places, stream = np.empty(runs, np.int64), np.zeros(4, np.uint64)
        _picking()(places, self.drawn.arms.size, key, first, stream)
        taken: list[Any] = [part[places] for part in self.drawn]
        return Drawn(*taken)

    def examples(self, key: Words) -> Drawn:
        """Return all problems."""
        return self.drawn
