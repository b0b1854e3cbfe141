"""What a policy is, and the three ways to state one.

`index_policy`
    A bonus. The arm with the largest ``mean + sigma * bonus(pulls, t, horizon, arms, ...)`` is
    played: OCUCB, UCB, MOSS.
`sampling_policy`
    A deviation. Each arm's index is drawn afresh in every round from a normal distribution with
    standard deviation ``sigma * deviation(pulls, t, horizon, arms, ...)`` around its mean:
    Thompson sampling.
`choice_policy`
    Anything else: a function that looks at all arms and names one: explore-then-commit.

Each decorator turns one function into a `PolicyFamily`; calling that with parameters gives a
`Policy`, which `simulate` plays. Engines read the declarations made here and never a policy's name.
"""

from __future__ import annotations

import hashlib
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, get_args, overload

import numpy as np
import numpy.typing as npt

from .._users import Snapshot, is_ours, plain

Kind = Literal["index", "sampling", "choice"]
Unplayed = Literal["nonincreasing", "constant", "nondecreasing"]

# How many leading arguments of a policy's function belong to the engine.
_STATE = {
    "index": ("pulls", "t", "horizon", "arms"),
    "sampling": ("pulls", "t", "horizon", "arms"),
    "choice": ("t", "horizon", "pulls", "sums", "sigma", "memory", "stream"),
}


@dataclass(frozen=True)
class Range:
    """The values that a parameter may have, in words and as a test."""

    text: str
    holds: Callable[[float], bool]


def above(low: float) -> Range:
    """All numbers above `low`."""
    return Range(f"> {low:g}", lambda value: value > low)


def at_least(low: float) -> Range:
    """All numbers from `low` on."""
    return Range(f">= {low:g}", lambda value: value >= low)


def between(low: float, high: float) -> Range:
    """All numbers from `low` to `high`, both included."""
    return Range(f"between {low:g} and {high:g}", lambda value: low <= value <= high)


def whole_from(low: int) -> Range:
    """All whole numbers from `low` on."""
    return Range(
        f"a whole number >= {low}", lambda value: value >= low and float(value).is_integer()
    )


@dataclass(frozen=True, eq=False)
class PolicyFamily:
    """A policy whose parameters are still open; call it to fix them.

    Attributes
    ----------
    name : str
        How the command line calls it.
    kind : {"index", "sampling", "choice"}
        Which of the three forms `function` has.
    source : callable
        The rule, a plain function.
    defaults : dict
        Parameters and their default values, in the order in which `function` takes them.
    formula, reference : str
        For readers: the rule in one line, and where it comes from.
    valid, proved : dict of str to Range
        Where a parameter makes sense (anything else is an error), and where the regret bound of
        `reference` is proved (anything else is worth a warning).
    unplayed_index : {"nonincreasing", "constant", "nondecreasing"} or None
        What an arm's index (or deviation) does with t while the arm is not played; None when
        nobody has said.
    concave : bool
        ``pulls * bonus`` is concave while the arm is played, as far as `concave_until` (see
        `index_policy`).
    concave_until : callable or None
        Pulls from which on the bonus is zero, as ``concave_until(horizon, arms, *parameters)``.
    memory : callable or None
        Numbers that a choice policy remembers, as ``memory(arms)``; they start at zero.
    table : callable or None
        Numbers that are worked out before play, as ``table(horizon)``; `function` gets them after
        what belongs to the engine and before its parameters.
    rewards : str or None
        The only kind of reward that the policy is meant for.
    check : bool
        Check `unplayed_index`, `concave` and `concave_until` on a grid before a policy of your own
        is played.
    """

    name: str
    label: str
    kind: Kind
    source: Callable[..., Any]
    defaults: Mapping[str, float]
    formula: str
    reference: str
    valid: Mapping[str, Range] = field(default_factory=dict)
    proved: Mapping[str, Range] = field(default_factory=dict)
    unplayed_index: Unplayed | None = None
    concave: bool = False
    concave_until: Callable[..., float] | None = None
    memory: Callable[[int], int] | None = None
    table: Callable[[int], npt.NDArray[np.float64]] | None = None
    rewards: str | None = None
    check: bool = True

    @cached_property
    def code(self) -> Snapshot:
        """The rule and what belongs to it, compiled; a user's as it was when first used."""
        parts = {"rule": self.source, "concave_until": self.concave_until, "memory": self.memory}
        return Snapshot({name: part for name, part in parts.items() if part is not None})

    @property
    def function(self) -> Callable[..., Any]:
        """The compiled rule."""
        rule: Callable[..., Any] = self.code.compiled["rule"]
        return rule

    def out_of_bounds(self, arms: int) -> str:
        """Say what a rule may have done that looked for what an array does not hold."""
        memory = 0 if self.memory is None else self.memory(arms)
        return (
            f"{self.label} looks beyond the end of an array: pulls and sums hold {arms} numbers, "
            f"memory holds {memory} (declare memory= for more)."
        )

    def __call__(self, /, *args: float, **kwargs: float) -> Policy:
        """Return the policy with these parameters; the others keep their defaults."""
        names = list(self.defaults)
        if len(args) > len(names):
            raise TypeError(
                f"{self.label} takes {_count(len(names), 'parameter')}, got {len(args)}."
            )
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.defaults:
                raise TypeError(
                    f"{self.label} has no parameter {name!r}; "
                    + (f"it has {', '.join(names)}." if names else "it has none.")
                )
            if name in given:
                raise TypeError(f"{self.label} got parameter {name!r} twice.")
            given[name] = value
        values = {name: self._checked(name, given.get(name, self.defaults[name])) for name in names}
        for name, proved in self.proved.items():
            if not proved.holds(values[name]):
                warnings.warn(
                    f"{self.label} with {name} = {values[name]:g}: its regret bound is proved "
                    f"for {name} {proved.text}.",
                    stacklevel=2,
                )
        return Policy(self, tuple(values.values()))

    def _checked(self, name: str, value: float) -> float:
        try:
            number = float(value)
        except OverflowError:
            raise ValueError(f"{self.label}'s {name} must be finite, got {value}.") from None
        except (TypeError, ValueError):
            raise TypeError(f"{self.label}'s {name} must be a number, got {value!r}.") from None
        if number - number != 0:
            raise ValueError(f"{self.label}'s {name} must be finite, got {number}.")
        valid = self.valid.get(name)
        if valid is not None and not valid.holds(number):
            raise ValueError(f"{self.label}'s {name} must be {valid.text}, got {number:g}.")
        return number

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...] | str:
        # Another process finds one of ours by its name, with its compiled code.
        from . import FAMILIES, family_named

        if FAMILIES.get(self.name) is self:
            return family_named, (self.name,)
        # Compiled code stays here: it is made anew from what arrives.
        facts = {one.name: getattr(self, one.name) for one in fields(self)}
        return _family_of, (facts, self.__doc__, self.__module__)

    def __repr__(self) -> str:
        return f"<policy {_call(self, self.defaults)}>"


def _call(family: PolicyFamily, parameters: Mapping[str, float]) -> str:
    """Return the Python that makes a policy."""
    inside = ", ".join(f"{name}={value:g}" for name, value in parameters.items())
    return f"{family.source.__name__}({inside})"


def _family_of(facts: dict[str, Any], doc: str | None, module: str) -> PolicyFamily:
    """Return a family that presents itself as the function that states it."""
    family = PolicyFamily(**facts)
    object.__setattr__(family, "__doc__", doc)
    object.__setattr__(family, "__module__", module)
    return family


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class Policy:
    """A policy with its parameters: what `simulate` plays.

    Attributes
    ----------
    family : PolicyFamily
        The rule.
    values : tuple of float
        Its parameters, in the order of ``family.defaults``.
    """

    family: PolicyFamily
    values: tuple[float, ...]

    @property
    def name(self) -> str:
        """The policy as one writes it on the command line: ``ocucb:alpha=2,psi=2``."""
        inside = ",".join(f"{k}={v!r}".removesuffix(".0") for k, v in self.parameters.items())
        return f"{self.family.name}:{inside}" if inside else self.family.name

    @property
    def label(self) -> str:
        """The policy as a figure's legend calls it: parameters only where they differ."""
        unusual = [
            f"{name}={value:g}"
            for name, value in self.parameters.items()
            if value != self.family.defaults[name]
        ]
        return f"{self.family.label}({', '.join(unusual)})" if unusual else self.family.label

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name."""
        return dict(zip(self.family.defaults, self.values, strict=True))

    def bonus(self, pulls: float, t: float, horizon: float, arms: float) -> float:
        """Return what an index policy adds to the mean of an arm, in units of sigma.

        Examples
        --------
        >>> from ocucb import OCUCB
        >>> round(OCUCB().bonus(pulls=4, t=100, horizon=1000, arms=2), 6)
        1.498933
        """
        if self.family.kind != "index":
            raise TypeError(f"{self.label} is no index policy: it has no bonus.")
        answer: float = self.family.function(
            float(pulls), float(t), float(horizon), float(arms), *self.arguments(int(horizon))
        )
        return answer

    def arguments(self, horizon: int) -> tuple[Any, ...]:
        """Return what the rule is called with besides the state of play."""
        if self.family.table is None:
            return self.values
        try:
            table = self.family.table(horizon)
        except ValueError as error:
            raise ValueError(f"{self.label}: {error}") from None
        if not self.is_ours:
            table = self._checked_table(table)
        return (table, *self.values)

    def _checked_table(self, given: Any) -> npt.NDArray[np.float64]:
        try:
            table = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            table = np.empty(())
        if table.ndim != 1:
            raise TypeError(f"{self.label}'s table must return a list of numbers, got {given!r}.")
        table.flags.writeable = False  # it is not only this run's
        return table

    @property
    def is_ours(self) -> bool:
        """Whether the policy is one of the library's, which its name is enough to find."""
        return is_ours(self.family.source)

    def identity(self, arguments: tuple[Any, ...]) -> str:
        """Return a name for all that a user's policy does; one of ours is known by its own.

        Parameters
        ----------
        arguments : tuple
            What `arguments` returned.
        """
        family = self.family
        digest = hashlib.sha256(family.code.identity.encode())
        digest.update(f"{family.kind} {family.unplayed_index} {family.concave}".encode())
        if family.table is not None:
            digest.update(np.ascontiguousarray(arguments[0]).tobytes())
        return f"{self.name} {digest.hexdigest()}"

    def __repr__(self) -> str:
        return _call(self.family, self.parameters)


def _family(function: Callable[..., Any], kind: Kind, facts: dict[str, Any]) -> PolicyFamily:
    """Read name and parameters off a policy's function and check what is declared."""
    function = plain(function)  # numba.njit may have been there before
    if not inspect.isfunction(function):
        raise TypeError(f"a policy must be stated as a plain function, got {function!r}.")
    title = function.__name__
    if not title.isprintable():
        raise ValueError(f"the name of a policy must be one line of text, got {title!r}.")
    state = _STATE[kind] + (("table",) if facts.get("table") is not None else ())
    arguments = list(inspect.signature(function).parameters.values())
    given = tuple(argument.name for argument in arguments[: len(state)])
    if given != state:
        raise TypeError(
            f"{title} must take the arguments {', '.join(state)} first, in this order, got "
            f"{', '.join(given) or 'none'}."
        )
    defaults = {one.name: _default(title, one) for one in arguments[len(state) :]}
    facts = {
        "name": title.lower().replace("_", "-"),
        "label": title,
        "formula": f"{title}{inspect.signature(function)}",
        "reference": "a policy of your own",
        **facts,
    }
    _check_facts(title, facts, defaults)
    facts.update(kind=kind, source=function, defaults=defaults)
    return _family_of(facts, inspect.getdoc(function), function.__module__)


def _default(title: str, parameter: inspect.Parameter) -> float:
    """Return the default value of a policy's parameter."""
    if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
        raise TypeError(f"{title}'s parameter {parameter.name!r} must be an ordinary one.")
    if parameter.default is inspect.Parameter.empty:
        raise TypeError(f"{title}'s parameter {parameter.name!r} needs a default value.")
    try:
        if isinstance(parameter.default, str | bytes):
            raise TypeError
        return float(parameter.default)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"the default of {title}'s parameter {parameter.name!r} must be a number, got "
            f"{parameter.default!r}."
        ) from None


def _check_facts(title: str, facts: dict[str, Any], defaults: Mapping[str, float]) -> None:
    """Refuse what is not a declaration, or has a value that nobody knows."""
    allowed = {one.name for one in fields(PolicyFamily)} - {"kind", "source", "defaults"}
    for name in facts.keys() - allowed:
        raise TypeError(
            f"{title} declares {name!r}, which is not one of {', '.join(sorted(allowed))}."
        )
    for name in ("name", "label", "formula", "reference", "rewards"):
        text = facts.get(name)
        if name == "rewards" and text is None:
            continue
        if not isinstance(text, str) or not text or not text.isprintable():
            raise ValueError(f"{title}'s {name} must be one line of text, got {text!r}.")
    declared = facts.get("unplayed_index")
    if declared is not None and not (isinstance(declared, str) and declared in get_args(Unplayed)):
        raise ValueError(
            f"{title}'s unplayed_index must be {', '.join(map(repr, get_args(Unplayed)))} or None, "
            f"got {declared!r}."
        )
    for name in ("concave", "check"):
        if not isinstance(facts.get(name, False), bool):
            raise ValueError(f"{title}'s {name} must be True or False, got {facts[name]!r}.")
    for name in ("concave_until", "memory", "table"):
        if facts.get(name) is None:
            continue
        facts[name] = plain(facts[name])
        if not inspect.isfunction(facts[name]):
            raise TypeError(f"{title}'s {name} must be a plain function, got {facts[name]!r}.")
    for name in ("valid", "proved"):
        ranges = facts.get(name, {})
        if not isinstance(ranges, Mapping) or not all(
            isinstance(one, Range) for one in ranges.values()
        ):
            raise TypeError(f"{title}'s {name} must be a dict of ranges, got {ranges!r}.")
        for parameter in ranges.keys() - defaults.keys():
            raise ValueError(f"{title}'s {name} names {parameter!r}, which is no parameter of it.")


Decorator = Callable[[Callable[..., Any]], PolicyFamily]


@overload
def index_policy(function: Callable[..., float], /) -> PolicyFamily: ...
@overload
def index_policy(**facts: Any) -> Decorator: ...
def index_policy(
    function: Callable[..., float] | None = None, /, **facts: Any
) -> PolicyFamily | Decorator:
    """Make an index policy out of a bonus.

    In each round the policy plays the arm with the largest ``mean + sigma * bonus``, after it has
    played every arm once; ties are broken at random.

    Parameters
    ----------
    function : callable
        ``bonus(pulls, t, horizon, arms, ...)``: pulls of the arm before round t, the round
        (counted from 1), the horizon, the number of arms, then parameters with default values.
        It gets floats, returns a float, and must be something that numba can compile.
    **facts
        Any of the attributes of `PolicyFamily`. Engines make use of

        unplayed_index : {"nonincreasing", "constant", "nondecreasing"}
            What the bonus does as t grows and the arm waits; with it you also say that the bonus
            does not rise with pulls. Without it every arm is looked at in every round.
        concave : bool
            ``pulls * bonus`` is never negative, and concave while the arm is played, that is,
            while pulls and t grow together (up to `concave_until`, where one is given).
        concave_until : callable
            ``concave_until(horizon, arms, ...)``: pulls from which on the bonus is zero.

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
    return _decorate(function, "index", facts)


@overload
def sampling_policy(function: Callable[..., float], /) -> PolicyFamily: ...
@overload
def sampling_policy(**facts: Any) -> Decorator: ...
def sampling_policy(
    function: Callable[..., float] | None = None, /, **facts: Any
) -> PolicyFamily | Decorator:
    """Make a policy out of a standard deviation: it plays the arm whose fresh sample is largest.

    `function` has the form ``deviation(pulls, t, horizon, arms, ...)``; see `index_policy`.
    """
    return _decorate(function, "sampling", facts)


@overload
def choice_policy(function: Callable[..., int], /) -> PolicyFamily: ...
@overload
def choice_policy(**facts: Any) -> Decorator: ...
def choice_policy(
    function: Callable[..., int] | None = None, /, **facts: Any
) -> PolicyFamily | Decorator:
    """Make a policy out of a function that names the arm to play.

    `function` has the form ``choose(t, horizon, pulls, sums, sigma, memory, stream, ...)``. It is
    asked from round K + 1 on; `pulls` and `sums` hold the pulls and summed rewards of the K
    arms, `memory` is an array of ``memory(K)`` numbers of its own (zero when a run starts), and
    `stream` is for `ocucb.random.uniform` and its sisters.
    """
    return _decorate(function, "choice", facts)


def _decorate(
    function: Callable[..., Any] | None, kind: Kind, facts: dict[str, Any]
) -> PolicyFamily | Decorator:
    if function is None:
        return lambda late: _family(late, kind, facts)
    return _family(function, kind, facts)
