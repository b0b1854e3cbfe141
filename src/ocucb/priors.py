"""Priors over problems: `simulate` draws a problem from one for each run, and reports Bayes regret.

The problem of a run is drawn from a stream of its own, whose key depends on the seed and the prior
alone: so all policies meet the same problems (common random numbers), whatever the engine and the
number of workers.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from ._compile import translate_numba_errors
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
from ._types import Floats
from ._users import Snapshot, is_ours, plain
from .laws import LAWS, Drawn, Formula, Listed, Recipe, recipe_of
from .problems import MOST_ARMS, Problem, of_kind
from .random import stream_key, to_seed
from .rewards import Rewards

_LARGEST = 1e100  # as in `problems`


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
        """The noise of every arm is sigma-subgaussian.

        Policies are told this number, or that of the problem that they play where problems differ;
        then this is a typical one.
        """
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
        if name not in LAWS:
            raise ValueError(f"unknown prior {shown(name)}; {remedy(name, LAWS)}")
        if rewards is not None:
            raise ValueError(f"rewards is for functions of your own; {name!r} has its own kind.")
        law = LAWS[name]
        return _of_function(name, law.function, K, law.rewards, sigma, parameters, law.arms)
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
    if first.rounds:
        raise ValueError("the problems of a prior must have means that stay the same.")
    name = f"prior of {len(problems)} problem{'s' * (len(problems) > 1)}"
    arms = max(problem.arms for problem in problems)
    check = any(problem.check for problem in problems)
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
        key: parameter.default
        for key, parameter in inspect.signature(function).parameters.items()
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
    if not typical.rewards.subgaussian:
        raise ValueError(
            f"{rewards} rewards have no sigma that fits all means; give a list of problems instead."
        )
    scale = float(typical.scales[0])
    told = None if recipe.takes_scales else typical.sigma
    written = [f"K={arms}"] if K is not None else []
    written += [f"{key}={in_full(value)}" for key, value in values.items()]
    written += [f"sigma={in_full(sigma)}"] if sigma is not None else []
    label = f"prior {name}" + (f":{','.join(written)}" if written else "")
    source = Formula(recipe, tuple(values.values()), arms, shares, scale, told)
    return Prior(label, typical.rewards, arms, source)
