"""How policies are stated: five decorators that turn one function into a family, and ranges.

`index_policy` takes a bonus, or a whole index; `kl_policy` a budget; `sampling_policy` a deviation;
`choice_policy` a function that picks an arm. `linear_policy` takes an index, or a function that
picks an arm, from a linear model of the rewards.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial, wraps
from typing import Any, Concatenate, Protocol, TypeVar, get_args, overload

from .._text import shown, to_float
from .._users import plain
from . import _rules
from ._families import PolicyFamily, Range, changed, family_of

Decorator = Callable[[Callable[..., Any]], PolicyFamily]
T = TypeVar("T", contravariant=True)


class _Statement(Protocol[T]):
    @overload
    def __call__(self, function: Callable[..., T], /) -> PolicyFamily: ...
    @overload
    def __call__(self, **facts: Any) -> Decorator: ...


def _with_or_without_facts(
    state: Callable[Concatenate[Callable[..., T], ...], PolicyFamily],
) -> _Statement[T]:
    """Let a decorator be used as it is, or be called with facts first."""

    @wraps(state)
    def stated(function: Any = None, /, **facts: Any) -> Any:
        return partial(state, **facts) if function is None else state(function, **facts)

    return stated


@_with_or_without_facts
def index_policy(function: Callable[..., float], /, **facts: Any) -> PolicyFamily:
    """Make an index policy out of a bonus, or out of a whole index.

    The policy plays every arm once, then in each round the arm with the largest index; ties are
    broken at random.

    Parameters
    ----------
    function : callable
        ``bonus(pulls, t, horizon, arms, ...)``: the arm's pulls before round t, the round
        (counted from 1), the horizon, the number of arms, then parameters with default values.
        The index is ``mean + sigma * bonus``. A fourth argument named ``effective_arms`` is the sum
        over arms j of ``min(1, sqrt(pulls_j / pulls))``. For any other index, take the mean too:
        ``index(mean, pulls, t, horizon, arms, sigma, ...)``, or ``index(mean, variance, pulls,
        ...)`` with the empirical variance of the arm's rewards. The function takes and returns
        floats, and numba must be able to compile it.
    **facts : dict
        Attributes of `PolicyFamily`, and what a rule of this kind can declare:

        unplayed_index : {"nonincreasing", "constant", "nondecreasing"}
            How the index changes with t while the arm is not played. This also declares that it
            does not rise with pulls at a fixed mean, nor with effective arms. Without it every arm
            is evaluated in every round.
        concave : bool
            ``pulls * bonus`` is never negative, and concave while the arm is played, that is,
            while pulls and t grow together (up to `concave_until`, if given) and effective arms
            are ``a + b / sqrt(pulls)``.
        concave_until : callable
            ``concave_until(horizon, arms, ...)``: pulls beyond which the bonus is zero.
        lowest_mean : callable
            For a whole index that rises with the mean: ``lowest_mean(level, pulls, t, horizon,
            arms, sigma, ...)``, a mean above which the index is above `level`; the lower, the
            faster. It must not fall with pulls.

    Returns
    -------
    PolicyFamily or callable
        The family; a decorator, if only facts are given.

    Examples
    --------
    >>> import ocucb
    >>> from math import log, sqrt
    >>> @ocucb.index_policy(unplayed_index="nondecreasing")
    ... def cautious(pulls, t, horizon, arms, constant=8.0):
    ...     return sqrt(constant / pulls * log(t))
    >>> cautious(constant=4)
    cautious(constant=4)
    """
    return _family(function, (_rules.BonusRule, _rules.WholeIndexRule), facts)


@_with_or_without_facts
def kl_policy(function: Callable[..., float], /, **facts: Any) -> PolicyFamily:
    """Make an index policy out of a budget for the Kullback-Leibler divergence.

    An arm's index is the largest q with ``pulls * kl(mean, q) <= budget``. On Bernoulli rewards,
    kl is the divergence of such rewards; on other rewards in [0, 1], the least divergence of
    rewards with the arm's mean and variance; otherwise that of Gaussian ones, so the index is
    ``mean + sigma * sqrt(2 * budget / pulls)``.

    Parameters
    ----------
    function : callable
        ``budget(pulls, t, horizon, arms, ...)``, at least 0, or else an error; see `index_policy`.
    **facts : dict
        As for a bonus. `unplayed_index` is about the index; `concave` also says that while the arm
        is played the budget is concave throughout, or convex throughout.

    Returns
    -------
    PolicyFamily or callable

    Examples
    --------
    >>> import ocucb
    >>> from math import log
    >>> @ocucb.kl_policy(unplayed_index="nondecreasing")
    ... def kl_ucb(pulls, t, horizon, arms, c=1.0):
    ...     return c * log(t)
    >>> kl_ucb(c=2)
    kl_ucb(c=2)
    """
    family = _family(function, (_rules.GaussianKLRule, _rules.WholeIndexRule), facts)
    if isinstance(family.rule, _rules.WholeIndexRule):
        raise TypeError(f"{family.label} is a budget, which does not depend on the mean.")
    if family.bounded_form is not None:
        return family
    declared = {field.name: getattr(family.rule, field.name) for field in fields(family.rule)}
    bounded = changed(family, rule=_rules.BernoulliKLRule(**declared))
    variance = changed(family, rule=_rules.MomentKLRule(**declared))
    return changed(family, bounded_form=bounded, variance_form=variance)


@_with_or_without_facts
def sampling_policy(function: Callable[..., float], /, **facts: Any) -> PolicyFamily:
    """Make a policy out of a standard deviation: it plays the arm with the largest sample.

    In every round a fresh normal sample is drawn for each arm, around its mean.

    Parameters
    ----------
    function : callable
        ``deviation(pulls, t, horizon, arms, ...)``, in units of sigma; see `index_policy`.
    **facts : dict
        Attributes of `PolicyFamily`, and `unplayed_index` (see `index_policy`), here about the
        deviation.

    Returns
    -------
    PolicyFamily or callable

    Examples
    --------
    >>> import ocucb
    >>> from math import sqrt
    >>> @ocucb.sampling_policy(unplayed_index="constant")
    ... def timid(pulls, t, horizon, arms, scale=0.5):
    ...     return scale / sqrt(pulls)
    >>> timid(scale=0.3)
    timid(scale=0.3)
    """
    return _family(function, (_rules.SamplingRule,), facts)


@_with_or_without_facts
def choice_policy(function: Callable[..., int], /, **facts: Any) -> PolicyFamily:
    """Make a policy out of a function that picks the arm to play.

    Parameters
    ----------
    function : callable
        ``choose(t, horizon, pulls, sums, sigma, memory, stream, ...)`` returns the number of an
        arm, from 0. It is called from round K + 1 on; `pulls` and `sums` hold the pulls and summed
        rewards of the K arms, `squares` (after `sums`, if it takes them) the summed squared
        deviations of these rewards from their mean, `memory` is its own array of ``memory(K)``
        numbers (zero when a run starts), and `stream` is for `ocucb.random.uniform` and the like.
    **facts : dict
        Attributes of `PolicyFamily`, and what such a rule can declare:

        memory : callable
            ``memory(arms)``: how many numbers it remembers.
        challenger_index : callable
            If it plays the leader, the arm with the largest mean, unless another arm challenges it:
            ``challenger_index(mean, pulls, leader_pulls, sigma, ...)``, the mean of a leader with
            that many pulls above which this arm is no challenger. At least the arm's mean; never
            falls with `leader_pulls`.
        probabilities : callable
            ``probabilities(t, horizon, pulls, sums, sigma, memory, ...)`` writes the probability of
            each arm into the first entries of `memory`.
        forgets : bool
            `memory` is only room to work in: what is chosen depends on `pulls`, `sums` and
            `squares` alone. So it can forget (see `forget` of a policy), and they need not be
            whole numbers. It goes without saying where there is no memory.
        stops : bool
            It has a rule to stop. The first two numbers of `memory` are then the rounds that it
            took, 0 until then, and the number of the arm that it recommends, which it plays from
            there on.

    Returns
    -------
    PolicyFamily or callable

    Examples
    --------
    >>> import ocucb
    >>> from ocucb.random import below
    >>> @ocucb.choice_policy
    ... def anything(t, horizon, pulls, sums, sigma, memory, stream):
    ...     return below(stream, pulls.size)
    >>> anything()
    anything()
    """
    return _family(function, (_rules.ChoiceRule,), facts)


@_with_or_without_facts
def linear_policy(function: Callable[..., Any], /, **facts: Any) -> PolicyFamily:
    """Make a policy for arms with features out of an index, or out of a function that picks an arm.

    Both see a linear model of the rewards: least squares with a penalty of ``ridge * |theta|^2``,
    where `ridge` is the parameter of that name, or 1. They play problems such as `linear` and
    `contexts` make.

    Parameters
    ----------
    function : callable
        ``index(mean, norm, t, horizon, dimension, arms, sigma, ...)``: the reward that the model
        expects of the arm; ``sqrt(x' V^-1 x)``, where V is ``ridge * I`` plus the sum of x x' over
        the rounds so far, so that sigma * norm is the standard error of the mean; the round,
        counted from 1; the horizon; the number of features; that of arms; sigma; then parameters
        with default values. ``log_det`` after the norm is ``log det V - dimension * log ridge``.
        The arm with the largest index plays; ties are broken at random. Alternatively,
        ``choose(t, horizon, model, sigma, memory, stream, ...)`` returns the number of an arm, from
        0; `model` is a named tuple with the fields of ``ocucb.policies.Model``.
    **facts : dict
        Attributes of `PolicyFamily`, and what such a rule can declare:

        fixed_actions : bool
            Features must be the same in every round.
        memory : callable
            ``memory(arms, dimension)``: how many numbers a function that chooses remembers in
            `memory`.
        probabilities : callable
            ``probabilities(t, horizon, model, sigma, memory, ...)`` writes to the beginning of
            `memory` how likely the function is to pick each arm; nan if that is not known.

    Returns
    -------
    PolicyFamily or callable

    Examples
    --------
    >>> import ocucb
    >>> from math import log, sqrt
    >>> @ocucb.linear_policy
    ... def curious(mean, norm, t, horizon, dimension, arms, sigma, scale=1.5):
    ...     return mean + scale * sigma * sqrt(log(t + 1)) * norm
    >>> curious(scale=2)
    curious(scale=2)
    """
    return _family(function, (_rules.LinearIndexRule, _rules.LinearChoiceRule), facts)


def above(low: float) -> Range:
    """All numbers above `low`."""
    return Range(f"> {low:g}", lambda value: value > low)


def at_least(low: float) -> Range:
    """All numbers from `low` up."""
    return Range(f">= {low:g}", lambda value: value >= low)


def between(low: float, high: float) -> Range:
    """All numbers from `low` to `high`, inclusive."""
    return Range(f"between {low:g} and {high:g}", lambda value: low <= value <= high)


def whole_from(low: int) -> Range:
    """All whole numbers from `low` up."""
    return Range(
        f"a whole number >= {low}",
        lambda value: value >= low and float(value).is_integer(),
        whole=True,
    )


def one_per_arm(arms: int) -> int:
    """Return the size of a memory that has a number for each arm."""
    return arms


def fair_share(horizon: float, arms: float) -> float:
    """Return the pulls beyond which a bonus like that of MOSS is zero."""
    return horizon / arms


Rules = tuple[type[_rules.Rule], ...]
_STATED = {
    _rules.BonusRule: "a bonus",
    _rules.GaussianKLRule: "a budget",
    _rules.WholeIndexRule: "a whole index",
    _rules.LinearIndexRule: "an index",
    _rules.LinearChoiceRule: "a function that picks an arm",
}


def _family(function: Callable[..., Any], rules: Rules, facts: dict[str, Any]) -> PolicyFamily:
    """Read a policy's name and parameters from its function and check its declarations.

    What the function takes decides which of the rules it states.
    """
    function = plain(function)  # it may have been compiled by numba.njit
    if not inspect.isfunction(function):
        raise TypeError(f"a policy must be a plain function, got {shown(function)}.")
    title = function.__name__
    if not title.isprintable():
        raise ValueError(f"the name of a policy must be one line of text, got {shown(title)}.")
    table = ("table",) if facts.get("table") is not None else ()
    arguments = list(inspect.signature(function).parameters.values())
    names = tuple(argument.name for argument in arguments)
    forms = {(*inputs, *table): (rule, inputs) for rule in rules for inputs in rule.forms}
    state = next((form for form in forms if names[: len(form)] == form), None)
    if state is None:
        given = names[: max(map(len, forms))]
        raise TypeError(
            f"{title} must take the arguments {' or '.join(map(', '.join, forms))} first, in this "
            f"order, got {', '.join(given) or 'none'}."
        )
    rule, inputs = forms[state]
    defaults = {parameter.name: _default(title, parameter) for parameter in arguments[len(state) :]}
    facts = {
        "name": title.lower().replace("_", "-"),
        "label": title,
        "formula": f"{title}{inspect.signature(function)}",
        "reference": "a policy of your own",
        **facts,
    }
    _check_facts(title, rules, facts, defaults)
    declared = {name: facts.pop(name) for name in {*_declarations(*rules)} & facts.keys()}
    for name in sorted(declared.keys() - _declarations(rule)):
        if declared.pop(name):
            (other,) = (_STATED[kind] for kind in rules if kind is not rule)
            raise TypeError(f"{title} declares {name}, which is for policies stated as {other}.")
    facts.update(rule=rule(function, inputs, **declared), defaults=defaults)
    return family_of(facts, inspect.getdoc(function), function.__module__)


def _declarations(*rules: type[_rules.Rule]) -> set[str]:
    """Return what rules of these types can declare."""
    return {field.name for rule in rules for field in fields(rule)} - {"source", "inputs"}


def _default(title: str, parameter: inspect.Parameter) -> float:
    """Return the default value of a policy's parameter."""
    if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
        raise TypeError(f"{title}'s parameter {parameter.name!r} must be positional-or-keyword.")
    if parameter.default is inspect.Parameter.empty:
        raise TypeError(f"{title}'s parameter {parameter.name!r} needs a default value.")
    return to_float(parameter.default, f"the default of {title}'s parameter {parameter.name!r}")


def _check_facts(
    title: str, rules: Rules, facts: dict[str, Any], defaults: Mapping[str, float]
) -> None:
    """Refuse unknown declarations and invalid values."""
    mine = {field.name for field in fields(PolicyFamily)} - {"rule", "defaults"}
    allowed = mine | _declarations(*rules)
    for name in facts.keys() - allowed:
        raise TypeError(
            f"{title} declares {name!r}, which is not one of {', '.join(sorted(allowed))}."
        )
    for name in ("name", "label", "formula", "reference"):
        text = facts.get(name)
        if not isinstance(text, str) or not text or not text.isprintable():
            raise ValueError(f"{title}'s {name} must be one line of text, got {text!r}.")
    declared, known = facts.get("unplayed_index"), get_args(_rules.UnplayedIndex)
    if declared is not None and not (isinstance(declared, str) and declared in known):
        raise ValueError(
            f"{title}'s unplayed_index must be {', '.join(map(repr, known))} or None, "
            f"got {declared!r}."
        )
    for name in ("binary", "needs_sigma", "concave", "check", "stops", "forgets", "fixed_actions"):
        if not isinstance(facts.get(name, False), bool):
            raise ValueError(f"{title}'s {name} must be True or False, got {facts[name]!r}.")
    if facts.get("stops") and facts.get("memory") is None:
        raise TypeError(f"{title} declares stops, so it must declare memory, too.")
    values = {"unplayed_index", "concave", "stops", "forgets", "fixed_actions"}
    for name in sorted({"table"} | _declarations(*rules) - values):
        if facts.get(name) is None:
            continue
        facts[name] = plain(facts[name])
        if not inspect.isfunction(facts[name]):
            raise TypeError(f"{title}'s {name} must be a plain function, got {facts[name]!r}.")
    for name in ("valid", "proved"):
        ranges = facts.get(name, {})
        if not isinstance(ranges, Mapping) or not all(
            isinstance(given, Range) for given in ranges.values()
        ):
            raise TypeError(f"{title}'s {name} must be a dict of ranges, got {ranges!r}.")
        for parameter in ranges.keys() - defaults.keys():
            raise ValueError(f"{title}'s {name} names {parameter!r}, which is not a parameter.")
    for name, binary in (("bounded_form", True), ("variance_form", False)):
        inner = facts.get(name)
        if inner is None:
            continue
        if not isinstance(inner, PolicyFamily) or inner.defaults != defaults:
            raise TypeError(
                f"{title}'s {name} must be a policy with the same parameters, got {inner!r}."
            )
        inner = inner.form(True, binary)
        if inner.table is not facts.get("table"):
            raise TypeError(f"{title}'s {name} must have the same table.")
        same = {key: facts[key] for key in ("name", "label", "formula", "reference")}
        facts[name] = changed(inner, **same)
