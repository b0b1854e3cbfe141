"""Priors over problems: `simulate` draws a problem from one for each run, and reports Bayes regret.

The problem of a run is drawn from a stream of its own, whose key depends on the seed and the prior
alone: so all policies meet the same problems (common random numbers), whatever the engine and the
number of workers. Problems are drawn outside the kernels, a block of runs at a time, by a function
that is compiled as policies are: a user's is as fast as ours.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from math import exp, log, log1p
from typing import Any, NamedTuple

import numpy as np

from ._compile import specialise, translate_numba_errors
from ._memo import cached_property
from ._text import (
    in_full,
    listed,
    remedy,
    shown,
    split_specification,
    to_count,
    to_float,
)
from ._types import Counts, Floats, Words
from ._users import Snapshot, is_ours, plain
from .problems import MOST_ARMS, Problem, of_kind
from .random import PROBLEMS, beta, gamma, normal, start_stream, stream_key, to_seed, uniform
from .rewards import Rewards

EXAMPLES = 1024  # problems that stand for all
_ROOM = 2**21  # means that these may have together
_LARGEST = 1e100  # as in `problems`


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


# The priors of this package, written as users write theirs.


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


class _Kind(NamedTuple):
    """A prior of this package."""

    function: Callable[..., None]
    rewards: str
    arms: dict[int, float] | None = None  # how likely so many are, where K is not given


# The archive's tests have so many arms, in percent.
_HEADLINE_ARMS = {2: 3.0, 3: 4.0, 4: 52.0, 5: 19.0, 6: 18.0, 7: 3.0, 8: 2.0}
PRIORS = {
    "normal": _Kind(_normal, "gaussian"),
    "beta": _Kind(_beta, "bernoulli"),
    "headlines": _Kind(_headlines, "bernoulli", _HEADLINE_ARMS),
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
        for row, one in enumerate(problems):
            means[row, : one.arms], scales[row, : one.arms] = one.means, one.scales
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


@dataclass(frozen=True, eq=False)
class Prior:
    """A distribution of problems, as `prior` returns it.

    Attributes
    ----------
    name : str
        Its name in tables and figures.
    rewards : Rewards
        The kind of reward, the same for all problems.
    arms : int
        Number of arms; the largest if it varies.
    sigma : float
        The noise of every arm is sigma-subgaussian. Policies are told this number, or that of the
        problem that they play where problems differ; then this is a typical one.
    source : object
        How problems are drawn.
    check : bool
        As for `Problem`, of a typical problem.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.prior("normal", K=3)
    <prior normal:K=3,mean=0,sd=1: 3 arms, gaussian, sigma=1>
    >>> for problem in ocucb.prior("normal", K=3).problems(2, rng=1):
    ...     print(problem.means.round(2))  # those of the first runs of simulate(..., rng=1)
    [ 0.44 -0.17 -0.65]
    [ 0.55  0.69 -1.12]
    """

    name: str
    rewards: Rewards
    arms: int
    source: Formula | Listed
    check: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return Prior, tuple(getattr(self, field.name) for field in fields(self))

    @cached_property
    def identity(self) -> str:
        """A hash of everything that problems and rewards depend on."""
        parts = ["prior", self.rewards.name, self.rewards.code.identity, self.source.identity]
        if self.rewards.unit and not self.rewards.binary:  # which a policy may know
            parts.append("unit")
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @property
    def codes(self) -> list[Snapshot]:
        """A user's functions that draw problems."""
        return [self.source.recipe.code] if isinstance(self.source, Formula) else []

    def retaken(self) -> Prior:
        """Return the prior with functions of now, if it is unknown whether they have changed."""
        source, rewards = self.source, self.rewards
        if isinstance(source, Formula) and source.recipe.code.unknown is not None:
            source = replace(source, recipe=Recipe(source.recipe.function))
        if rewards.code.unknown is not None:
            rewards = replace(rewards)
        if source is self.source and rewards is self.rewards:
            return self
        return replace(self, source=source, rewards=rewards)

    def problems(self, runs: int, rng: Any = None) -> list[Problem]:
        """Return the problems of the first runs of a simulation with this seed.

        Parameters
        ----------
        runs : int
            How many.
        rng : int, numpy Generator or None
            The seed, as in `simulate`.
        """
        drawn = self.drawn(to_seed(rng), 0, to_count(runs, "runs"))
        return [self.problem(drawn, row) for row in range(drawn.arms.size)]

    def problem(self, drawn: Drawn, row: int) -> Problem:
        """Return one of the problems that were drawn."""
        arms = int(drawn.arms[row])
        vectors = drawn.means[row, :arms].copy(), drawn.scales[row, :arms].copy()
        return Problem(*vectors, self.rewards, float(drawn.sigma[row]), self.name)

    def drawn(self, seed: int, first: int, runs: int) -> Drawn:
        """Draw the problems of consecutive runs, for kernels."""
        key = stream_key(seed, "problems", self.identity)
        return self._checked(partial(self.source.draw, key, first, runs), first)

    def _checked(self, make: Callable[[], Drawn], first: int) -> Drawn:
        """Return what is drawn, or say in a sentence what is wrong with it."""
        with translate_numba_errors(f"the {self.name}"):
            try:
                drawn = make()
            except IndexError:
                raise ValueError(
                    f"the {self.name} reads or writes beyond the end of an array; means has "
                    f"{self.arms} numbers."
                ) from None
            except (ArithmeticError, AssertionError, RuntimeError, ValueError) as error:
                raise ValueError(f"the {self.name} could not draw a problem: {error}") from error
        self._check_values(drawn, first)
        return drawn

    def _check_values(self, drawn: Drawn, first: int) -> None:
        """Refuse problems that no constructor would make."""
        there = np.arange(self.arms) < drawn.arms[:, None]

        def refuse(wrong: Any, values: Floats, what: str) -> None:
            for run, arm in np.argwhere(there & wrong)[:1]:
                value = values[run, arm]
                raise ValueError(
                    f"the {self.name} drew {value:g} as the {what} of arm {arm + 1} in run "
                    f"{first + run}; it must lie {place}."
                )

        means, scales = drawn.means, drawn.scales
        place = f"between {-_LARGEST:g} and {_LARGEST:g}"
        refuse(~(np.abs(means) <= _LARGEST), means, "mean")
        if self.rewards.unit:
            inside = isinstance(self.source, Formula) and not self.rewards.binary  # Beta
            place = "strictly between 0 and 1" if inside else "between 0 and 1"
            outer = (means <= 0.0) | (means >= 1.0) if inside else (means < 0.0) | (means > 1.0)
            refuse(outer, means, "mean")
        place = f"between {1 / _LARGEST:g} and {_LARGEST:g}"
        refuse(~((scales >= 1 / _LARGEST) & (scales <= _LARGEST)), scales, "scale")

    @cached_property
    def examples(self) -> Drawn:
        """Problems that stand for all: the same for any seed; those of a list if there is one."""
        key = stream_key(0, "examples", self.identity)
        return self._checked(partial(self.source.examples, key), 0)

    @cached_property
    def typical(self) -> Problem:
        """A problem that stands for all where engines are chosen, and disasters defined.

        It has the median number of arms. Its best arm has the average mean of such examples' best
        arms, and so on.
        """
        examples = self.examples
        arms = int(np.sort(examples.arms)[examples.arms.size // 2])
        rows = examples.arms == arms
        order, _ = examples.ranked()
        means, scales = (
            _rounded(np.take_along_axis(part, order, axis=1)[rows, :arms].mean(axis=0))
            for part in (examples.means, examples.scales)
        )
        sigma = float(_rounded(examples.sigma[rows].mean(keepdims=True))[0])
        return Problem(means, scales, self.rewards, sigma, self.name, check=self.check)

    @property
    def sigma(self) -> float:
        """What policies are told about the noise; of a typical problem, if that varies."""
        told = self.examples.sigma
        return float(told[0]) if (told == told[0]).all() else self.typical.sigma

    @cached_property
    def means(self) -> Floats:
        """The average mean of the best arm, the second best and so on, where there are so many."""
        order, _ = self.examples.ranked()
        ranked: Any = np.take_along_axis(self.examples.means, order, axis=1)
        return _rounded(np.nanmean(ranked, axis=0))

    @cached_property
    def largest_gap(self) -> float:
        """The largest gap among the examples."""
        _, gaps = self.examples.ranked()
        return float(_rounded(gaps[np.isfinite(gaps)].max(keepdims=True))[0])

    def __repr__(self) -> str:
        fewest = int(self.examples.arms.min())
        arms = f"{self.arms}" if fewest == self.arms else f"{fewest} to {self.arms}"
        told = f"{self.rewards.name}, sigma={self.sigma:g}"
        return f"<{self.name}: {arms} arms, {told}>"


AnyProblem = Problem | Prior


def _rounded(values: Floats) -> Floats:
    """Round to six digits: the last bits of what is drawn depend on the machine."""
    return np.array([float(f"{value:.6g}") for value in values])


def prior(
    kind: str | Callable[..., None] | Iterable[Problem],
    K: int | None = None,
    *,
    rewards: str | None = None,
    sigma: float | None = None,
    **parameters: float,
) -> Prior:
    """A distribution of problems, for `simulate` to draw one for each run.

    Parameters
    ----------
    kind : str, function or list of Problem
        ``"normal"``: Gaussian rewards whose means are normal, with parameters `mean` (0) and `sd`
        (1). ``"beta"``: Bernoulli rewards whose means have a Beta distribution, with `a` (1) and
        `b` (1). ``"headlines"``: Bernoulli rewards with rates like those of headlines in real
        click tests. As on the command line, ``"normal:K=10,sd=0.5"`` has everything in one text.

        A function, ``draw(means, stream)``, fills the array `means`, with randomness from
        `ocucb.random`; it is compiled by numba. Further arguments are parameters. If it is
        ``draw(means, scales, stream)``, it may fill the arms' standard deviations, too.

        A list: each of its problems is equally likely. They have one kind of reward; their numbers
        of arms may differ.
    K : int, optional
        Number of arms. Without it, "headlines" draws a number, too: 4 in half of the tests.
    rewards : str, optional
        With a function, the kind of reward: "gaussian" (default), "bernoulli", "uniform" or "beta".
    sigma : float, optional
        Standard deviation of the rewards, 1 by default, where their kind leaves it open (of Beta
        rewards, that of an arm with mean 1/2, which fixes their concentration). Policies
        are told this number; if a function fills `scales`, the largest of the problem.
    **parameters : float
        Those of the kind or the function.

    Returns
    -------
    Prior

    Examples
    --------
    >>> import ocucb
    >>> from ocucb.random import normal, uniform
    >>> ocucb.prior("headlines", K=4)
    <prior headlines:K=4: 4 arms, bernoulli, sigma=0.5>
    >>> def one_good(means, stream, gap=0.5):
    ...     for i in range(means.size):
    ...         means[i] = -gap
    ...     means[int(uniform(stream) * means.size)] = 0.0
    >>> mine = ocucb.prior(one_good, K=5, gap=0.3)
    >>> result = ocucb.simulate(["ocucb", "ucb"], mine, 1000, 2000, rng=1)
    >>> result["ocucb"].mean_regret < result["ucb"].mean_regret
    True
    >>> ocucb.prior([ocucb.gap(K=2), ocucb.gap(K=10)])
    <prior of 2 problems: 2 to 10 arms, gaussian, sigma=1>
    """
    if isinstance(kind, str):
        name, numbers = split_specification(kind)
        for key in numbers:
            if key in parameters or {"K": K, "sigma": sigma}.get(key) is not None:
                raise ValueError(f"{key} is given twice, in {shown(kind)} and beside it.")
        K = numbers.pop("K", K)  # type: ignore[assignment]
        sigma = numbers.pop("sigma", sigma)
        parameters = {**numbers, **parameters}
        if name not in PRIORS:
            raise ValueError(f"unknown prior {shown(name)}; {remedy(name, PRIORS)}")
        if rewards is not None:
            raise ValueError(f"rewards is for functions of your own; {name!r} has its own kind.")
        one = PRIORS[name]
        return _of_function(name, one.function, K, one.rewards, sigma, parameters, one.arms)
    function = plain(kind)
    if inspect.isfunction(function):
        told = "gaussian" if rewards is None else rewards
        return _of_function(function.__name__, function, K, told, sigma, parameters, None)
    given = {"K": K, "rewards": rewards, "sigma": sigma, **parameters}
    for key, value in given.items():
        if value is not None:
            raise ValueError(f"{key} is for functions and names; a list of problems says it all.")
    return _of_list(kind)


def _of_list(given: Any) -> Prior:
    if isinstance(given, Problem):
        raise TypeError(f"a prior needs a list of problems, even of one: [{given.name}].")
    problems = list(given) if isinstance(given, Iterable) else []
    for problem in problems or [given]:
        if not isinstance(problem, Problem):
            raise TypeError(
                f"a prior must be a name such as 'normal', a function or a list of problems, got "
                f"{shown(problem)}."
            )
    first = problems[0].rewards
    kinds = {(problem.rewards.name, problem.rewards.code.identity) for problem in problems}
    if len({(problem.rewards.unit, problem.rewards.bounds) for problem in problems}) > len(kinds):
        raise ValueError("the problems of a prior must have rewards with the same bounds.")
    if len(kinds) > 1:
        names = listed(sorted({name for name, _ in kinds}))
        raise ValueError(f"the problems of a prior must have one kind of reward, got {names}.")
    if "arm" in first.inputs:  # which arm that is depends on the problem
        raise ValueError(
            f"the problems of a prior must have rewards that depend on an arm's mean alone, but "
            f"those of {first.name} depend on which arm it is."
        )
    name = f"prior of {len(problems)} problem{'s' * (len(problems) > 1)}"
    arms, check = (
        max(problem.arms for problem in problems),
        any(problem.check for problem in problems),
    )
    return Prior(name, first, arms, Listed.of(problems), check)


def _of_function(
    name: str,
    function: Callable[..., None],
    K: int | None,
    rewards: str,
    sigma: float | None,
    given: dict[str, float],
    arm_shares: dict[int, float] | None,
) -> Prior:
    """Return the prior that a function draws."""
    recipe = recipe_of(function)
    shares: tuple[float, ...] = ()
    if K is not None:
        arms = to_count(K, "K")
        if arms > MOST_ARMS:
            raise ValueError(f"K must be at most {MOST_ARMS}, got {arms}.")
    elif arm_shares is None:
        raise ValueError(f"the prior {name!r} needs the number of arms, for example K=10.")
    else:
        arms = max(arm_shares)
        cumulated = np.cumsum([arm_shares.get(number, 0.0) for number in range(1, arms + 1)])
        shares = tuple((cumulated / cumulated[-1]).tolist())
    defaults = {
        key: one.default
        for key, one in inspect.signature(function).parameters.items()
        if key in recipe.parameters
    }
    for key in given:
        if key not in defaults:
            known = ", ".join(["K", *defaults, "sigma"])
            raise ValueError(f"the prior {name!r} has no parameter {shown(key)}; it has {known}.")
    values = {}
    for key, default in defaults.items():
        value = given.get(key, default)
        if value is inspect.Parameter.empty:
            raise ValueError(f"the prior {name!r} needs its parameter {key}, for example {key}=1.")
        values[key] = to_float(value, key, "between -1e308 and 1e308")
        if not math.isfinite(values[key]):
            raise ValueError(f"{key} must be finite, got {values[key]}.")
        if is_ours(function) and key in ("sd", "a", "b") and not values[key] > 0.0:
            raise ValueError(f"{key} must be greater than 0, got {values[key]:g}.")
    typical = of_kind(rewards, [0.5], sigma)
    if recipe.takes_scales and not typical.rewards.brownian:
        raise ValueError(f"scales can be drawn for Gaussian rewards only, not for {rewards} ones.")
    scale = float(typical.scales[0])
    told = None if recipe.takes_scales else typical.sigma
    written = [f"K={arms}"] if K is not None else []
    written += [f"{key}={in_full(value)}" for key, value in values.items()]
    written += [f"sigma={in_full(sigma)}"] if sigma is not None else []
    label = f"prior {name}" + (f":{','.join(written)}" if written else "")
    source = Formula(recipe, tuple(values.values()), arms, shares, scale, told)
    return Prior(label, typical.rewards, arms, source)
