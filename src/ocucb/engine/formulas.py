"""A policy's formula, compiled and in the form in which kernels, simulated and live, call it."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import sqrt
from typing import Any

import numba

from .._compile import compiling, kernel_part, specialise
from ..policies._divergence import bernoulli_kl, kl_lower, kl_upper, moment_upper
from ..policies._families import PolicyFamily
from ..policies._rules import (
    BernoulliKLRule,
    BonusRule,
    ChoiceRule,
    GaussianKLRule,
    LinearChoiceRule,
    Model,
    MomentKLRule,
)

# Declared here, filled in by `specialise`: what the policy states.
rule: Callable[..., float]
bonus: Callable[..., float]
lowest_mean: Callable[..., float]
from_parts: Callable[..., int]


# A budget for the divergence of Gaussian rewards is a bonus.


def bonus_of_budget(pulls: float, t: float, n: float, K: float, *values: Any) -> float:
    """Return the bonus in units of sigma."""
    return sqrt(2.0 * rule(pulls, t, n, K, *values) / pulls)


def budget_of_user(pulls: float, t: float, n: float, K: float, *values: Any) -> float:
    """Return a user's budget, nan where it is negative: as for Gaussian rewards, an error."""
    budget = rule(pulls, t, n, K, *values)
    return budget if budget >= 0.0 else math.nan


def deviation_of_user(pulls: float, t: float, n: float, K: float, *values: Any) -> float:
    """Return a user's deviation, nan where it is negative or infinite: an error."""
    deviation = rule(pulls, t, n, K, *values)
    return deviation if 0.0 <= deviation < math.inf else math.nan


# Five ways to state an index policy, in one form; they fill the slot `index`. T counts pulls.


def index_of_bonus(
    mean: float, variance: float, T: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return the mean plus the policy's bonus."""
    return mean + sigma * bonus(T, t, n, K, *values)


def index_of_budget(
    mean: float, variance: float, T: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return the largest mean that the budget allows Bernoulli rewards to have."""
    return kl_upper(mean, rule(T, t, n, K, *values) / T)


def index_of_moments(
    mean: float, variance: float, T: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return the largest mean that the budget allows rewards in [0, 1] with this variance."""
    return moment_upper(mean, variance, rule(T, t, n, K, *values) / T)


def index_of_mean(
    mean: float, variance: float, T: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return the index that the policy states."""
    return rule(mean, T, t, n, K, sigma, *values)


def index_of_variance(
    mean: float, variance: float, T: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return the index that the policy states in terms of mean and variance."""
    return rule(mean, variance, T, t, n, K, sigma, *values)


# Whether an index is surely below a level, where that is cheaper to tell than the index; they fill
# `falls_short`. An index within rounding of the level is not: it must be computed to be ranked.


def falls_short_of_budget(
    level: float, mean: float, T: float, t: float, n: float, K: float, sigma: float, values: Any
) -> bool:
    """Tell so without inverting the divergence."""
    budget = rule(T, t, n, K, *values)
    return mean < level < 1.0 and T * bernoulli_kl(mean, level) > budget + 1e-9 * (1.0 + budget)


def never_falls_short(
    level: float, mean: float, T: float, t: float, n: float, K: float, sigma: float, values: Any
) -> bool:
    """Leave it to the index."""
    return False


# How far an arm's mean may lie below a level that its index reaches; they fill `allowance`.


def allowance_of_bonus(
    level: float, T: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return the bonus: the level does not matter."""
    return sigma * bonus(T, t, n, K, *values)


def allowance_of_budget(
    level: float, T: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return how far the budget allows Bernoulli rewards to lie below their mean `level`."""
    return level - kl_lower(level, rule(T, t, n, K, *values) / T)


def chord_start_of_budget(
    level: float, T: float, t: float, reach: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return an allowance from which a chord to that after `reach` more pulls is safe.

    ``T * kl(S / T, level)`` is convex in (S, T), so a concave budget has a convex border,
    and the allowance itself will do. A convex budget lies above the line through its values at
    `reach` and twice that; with this line as a budget the border is convex, and higher.
    """
    now, then = rule(T, t, n, K, *values), rule(T + reach, t + reach, n, K, *values)
    last = rule(T + 2.0 * reach, t + 2.0 * reach, n, K, *values)
    return level - kl_lower(level, max(0.0, min(now, 2.0 * then - last)) / T)


def no_chord_start(
    level: float, T: float, t: float, reach: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Stand in for `chord_start` where it is not called."""
    return math.nan


def allowance_of_index(
    level: float, T: float, t: float, n: float, K: float, sigma: float, values: Any
) -> float:
    """Return what follows from the lowest mean that the policy declares."""
    return level - lowest_mean(level, T, t, n, K, sigma, *values)


def index_of(family: PolicyFamily) -> Callable[..., float]:
    """Return the index of a policy as a function of an arm's mean, variance and pulls."""
    match family.rule:
        case BonusRule():
            return specialise(index_of_bonus, {"bonus": bonus_of(family)}, inline=True)
        case MomentKLRule():
            return specialise(index_of_moments, {"rule": budget_of(family)}, inline=True)
        case BernoulliKLRule():
            return specialise(index_of_budget, {"rule": budget_of(family)}, inline=True)
    template = index_of_variance if family.rule.takes_variance else index_of_mean
    return specialise(template, {"rule": rule_of(family)}, inline=True)


def bonus_of(family: PolicyFamily) -> Callable[..., float]:
    """Return the bonus of a policy that has one, in units of sigma."""
    if not isinstance(family.rule, GaussianKLRule):
        return rule_of(family)
    return specialise(bonus_of_budget, {"rule": rule_of(family)}, part=True)


def budget_of(family: PolicyFamily) -> Callable[..., float]:
    """Return the budget for Bernoulli rewards; ours are never negative."""
    rule = rule_of(family)
    if family.is_ours:
        return rule
    return specialise(budget_of_user, {"rule": rule}, part=True)


def deviation_of(family: PolicyFamily) -> Callable[..., float]:
    """Return the deviation of a sampling policy; ours are finite and never negative."""
    rule = rule_of(family)
    if family.is_ours:
        return rule
    return specialise(deviation_of_user, {"rule": rule}, part=True)


def falls_short_of(family: PolicyFamily) -> Callable[..., bool]:
    """Return a test whether an index is surely below a level."""
    if not isinstance(family.rule, BernoulliKLRule):
        return specialise(never_falls_short, {}, inline=True)
    return specialise(falls_short_of_budget, {"rule": budget_of(family)}, inline=True)


def chord_start_of(family: PolicyFamily) -> Callable[..., float]:
    """Return where chords above the border of a budget start."""
    if not isinstance(family.rule, BernoulliKLRule):
        return specialise(no_chord_start, {}, inline=True)
    return specialise(chord_start_of_budget, {"rule": rule_of(family)}, inline=True)


def allowance_of(family: PolicyFamily) -> Callable[..., float]:
    """Return how far an arm's mean may lie below a level that its index reaches."""
    match family.rule:
        case BonusRule():
            return specialise(allowance_of_bonus, {"bonus": bonus_of(family)}, inline=True)
        case BernoulliKLRule():
            return specialise(allowance_of_budget, {"rule": budget_of(family)}, inline=True)
    slots = {"lowest_mean": family.code.compiled["lowest_mean"]}
    return specialise(allowance_of_index, slots, inline=True)


def choose_with_squares(
    t: float, n: float, pulls: Any, sums: Any, squares: Any, sigma: float, memory: Any, stream: Any,
    values: Any,
) -> int:  # fmt: skip
    """Call a choice policy that takes the squares; fills `choose`, as the next one does."""
    return int(rule(t, n, pulls, sums, squares, sigma, memory, stream, *values))


def choose_without_squares(
    t: float, n: float, pulls: Any, sums: Any, squares: Any, sigma: float, memory: Any, stream: Any,
    values: Any,
) -> int:  # fmt: skip
    """Call any other choice policy."""
    return int(rule(t, n, pulls, sums, sigma, memory, stream, *values))


def choice_of(family: PolicyFamily) -> Callable[..., int]:
    """Return the function of a choice policy, told of squares or not."""
    template = choose_with_squares if family.rule.takes_variance else choose_without_squares
    return specialise(template, {"rule": rule_of(family)}, inline=True)


# A linear model as users' functions get it: read-only.
_DIMENSIONS = Model(2, 1, 1, 3, 2, 1, 2, 1, 1)
_MODEL: Any = numba.types.NamedTuple(
    [numba.types.Array(numba.float64, size, "C", readonly=True) for size in _DIMENSIONS], Model
)


def choose_from_parts(
    t: float, n: float, sigma: float, memory: Any, stream: Any, values: Any, features: Any,
    means: Any, norms: Any, inverse: Any, weights: Any, log_dets: Any, solved: Any, pulls: Any,
    sums: Any,
) -> int:  # fmt: skip
    """Call a policy that chooses from a linear model, put together from arrays."""
    model = Model(features, means, norms, inverse, weights, log_dets, solved, pulls, sums)
    return int(rule(t, n, model, sigma, memory, stream, *values))


def choose_from_model(
    t: float, n: float, model: Any, sigma: float, memory: Any, stream: Any, values: Any
) -> int:
    """Do the same given the model: arrays become read-only on their own, not in a tuple."""
    return from_parts(
        t, n, sigma, memory, stream, values, model.features, model.means, model.norms,
        model.inverse, model.weights, model.log_dets, model.solved, model.pulls, model.sums,
    )  # fmt: skip


def linear_choice_of(family: PolicyFamily) -> Callable[..., int]:
    """Return the function of a policy that chooses from a linear model."""
    parts: Any = specialise(choose_from_parts, {"rule": rule_of(family)}, part=True)
    if not family.is_ours:
        number, numbers = numba.float64, numba.float64[::1]
        table = () if family.table is None else (numba.types.Array(number, 1, "C", readonly=True),)
        given = numba.types.BaseTuple.from_types((*table, *(number,) * len(family.defaults)))
        with compiling:
            parts.compile((number, number, number, numbers, numba.uint64[::1], given, *_MODEL))
            parts.disable_compile()
    return specialise(choose_from_model, {"from_parts": parts}, inline=True)


def rule_of(family: PolicyFamily) -> Callable[..., Any]:
    """Return a policy's compiled function, having checked its return type.

    A user's function must not write to the engine's arrays, so it is compiled only for read-only
    arrays: kernels then pass theirs as such.
    """
    rule: Any = family.function
    if family.is_ours:
        return rule  # type: ignore[no-any-return]
    number, numbers = numba.float64, numba.float64[::1]
    seen = numba.types.Array(number, 1, "C", readonly=True)
    arrays, kind, words = {}, numba.types.Number, "a number"
    if isinstance(family.rule, ChoiceRule):
        arrays = dict.fromkeys(("pulls", "sums", "squares"), seen)
        arrays |= {"memory": numbers, "stream": numba.uint64[::1]}
        kind, words = numba.types.Integer, "an arm's number, an int"
    if isinstance(family.rule, LinearChoiceRule):
        arrays = {"model": _MODEL, "memory": numbers, "stream": numba.uint64[::1]}
        kind, words = numba.types.Integer, "an arm's number, an int"
    with compiling:  # other threads may be about to do the same
        if not rule.overloads:
            state = tuple(arrays.get(name, number) for name in family.rule.inputs)
            table = () if family.table is None else (seen,)
            rule.compile(state + table + (number,) * len(family.defaults))
            rule.disable_compile()
    (answer,) = (overload.signature.return_type for overload in rule.overloads.values())
    if not isinstance(answer, kind) or isinstance(answer, numba.types.Complex):
        raise TypeError(f"{family.label} must return {words}, got {answer}.")
    return rule  # type: ignore[no-any-return]


@kernel_part
def no_bonus(pulls: float, t: float, horizon: float, arms: float, *values: float) -> float:
    """Stand in for `bonus` in kernels that never call it."""
    return math.nan


@kernel_part
def never(horizon: float, arms: float, *values: float) -> float:
    """Stand in for `concave_until` if a policy declares none."""
    return math.inf
