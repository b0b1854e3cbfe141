"""What a policy is, and the four ways to state one.

`index_policy`
    A bonus: the arm with the largest ``mean + sigma * bonus(pulls, t, horizon, arms, ...)`` is
    played (OCUCB, UCB, MOSS). It may take ``effective_arms`` in place of ``arms``, the sum over
    arms j of ``min(1, sqrt(pulls_j / pulls))`` (AdaUCB). Or the whole index: ``index(mean, pulls,
    t, horizon, arms, sigma, ...)``, with ``variance`` after the mean if needed.
`kl_policy`
    A budget: an arm's index is the largest mean whose divergence from its empirical mean, times its
    pulls, is at most ``budget(pulls, t, horizon, arms, ...)`` (KL-UCB).
`sampling_policy`
    A deviation: in every round each arm's index is drawn from a normal distribution around its mean
    with standard deviation ``sigma * deviation(pulls, t, horizon, arms, ...)`` (Thompson sampling).
`choice_policy`
    Anything else: a function that looks at all arms and picks one (explore-then-commit).

Each decorator turns one function into a `PolicyFamily`; calling that with parameters gives a
`Policy`, which `simulate` plays. Engines read a policy's declarations, never its name.

A policy may have two forms: one for rewards of which only sigma is known, and one for rewards in
[0, 1] (`unit_form`), which is played where rewards are 0 and 1. `PolicyFamily.form` picks one, and
all that follows knows only the form. A budget has both: the divergence of Gaussian rewards gives
``mean + sigma * sqrt(2 * budget / pulls)``, a bonus; that of rewards of 0 and 1 is inverted.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args, overload

import numpy as np
import numpy.typing as npt

from .._compile import compiling
from .._memo import cached_property
from .._text import shown, to_float
from .._types import Floats
from .._users import Snapshot, plain

Kind = Literal["index", "sampling", "choice"]
Unplayed = Literal["nonincreasing", "constant", "nondecreasing"]
# What the number that an index policy's function returns means: a bonus or index as it stands, or a
# budget for the divergence of Gaussian rewards, or for that of rewards of 0 and 1.
Reading = Literal["plain", "gaussian budget", "bernoulli budget"]

# The leading arguments of a policy's function, which the engine supplies.
_BONUS = ("pulls", "t", "horizon", "arms")
_BONUS_OF_EFFECTIVE_ARMS = ("pulls", "t", "horizon", "effective_arms")
_INDEX = ("mean", "pulls", "t", "horizon", "arms", "sigma")
_INDEX_OF_VARIANCE = ("mean", "variance", *_INDEX[1:])
_CHOICE = ("t", "horizon", "pulls", "sums", "sigma", "memory", "stream")
_INPUTS: dict[Kind, tuple[tuple[str, ...], ...]] = {
    "index": (_BONUS, _BONUS_OF_EFFECTIVE_ARMS, _INDEX, _INDEX_OF_VARIANCE),
    "sampling": (_BONUS,),
    "choice": (_CHOICE,),
}


@dataclass(frozen=True)
class Range:
    """The allowed values of a parameter, in words and as a test."""

    text: str
    holds: Callable[[float], bool]


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
        f"a whole number >= {low}", lambda value: value >= low and float(value).is_integer()
    )


@dataclass(frozen=True, eq=False)
class PolicyFamily:
    """A policy whose parameters are not fixed yet; call it to fix them.

    Attributes
    ----------
    name : str
        Its name on the command line.
    label : str
        Its name in tables and figures.
    kind : {"index", "sampling", "choice"}
        What `function` returns: an index or bonus, a deviation, or an arm.
    source : callable
        The rule, a plain function.
    inputs : tuple of str
        The leading arguments of the rule, which the engine supplies.
    defaults : dict
        Parameters and their default values, in the order that `function` takes them.
    formula, reference : str
        For readers: the rule in one line, and its source.
    valid, proved : dict of str to Range
        Where a parameter is valid (anything else is an error), and where the regret bound of
        `reference` is proved (anything else gives a warning).
    unplayed_index : {"nonincreasing", "constant", "nondecreasing"} or None
        How an arm's index (or deviation) changes with t while the arm is not played, apart from
        the effective arms, if it takes these; None if not declared.
    reading : {"plain", "gaussian budget", "bernoulli budget"}
        What the returned number means (see `kl_policy`).
    unit_form : PolicyFamily or None
        The policy as it is played on rewards in [0, 1]; None if it is the same.
    lowest_mean : callable or None
        For a whole index that rises with the mean: ``lowest_mean(level, pulls, t, horizon, arms,
        sigma, *parameters)``, a mean above which the index is above `level`; the lower, the faster.
        It must not fall with pulls.
    challenge : callable or None
        For a choice policy that plays the arm with the largest mean unless another one challenges
        it: ``challenge(mean, pulls, leader_pulls, sigma, *parameters)``, the mean of a leader with
        that many pulls above which the arm does not. At least the arm's mean; never falls with
        `leader_pulls`.
    probabilities : callable or None
        For a choice policy: ``probabilities(t, horizon, pulls, sums, sigma, memory, *parameters)``
        writes the probability of each arm into the first entries of `memory`.
    concave : bool
        ``pulls * bonus`` is concave while the arm is played, up to `concave_until` (see
        `index_policy`).
    concave_until : callable or None
        ``concave_until(horizon, arms, *parameters)``: pulls beyond which the bonus is zero.
    memory : callable or None
        ``memory(arms)``: how many numbers a choice policy remembers; they start at zero.
    table : callable or None
        ``table(horizon)``: numbers computed before play, passed to `function` between what the
        engine supplies and its parameters.
    binary : bool
        Whether the policy is only for rewards of 0 and 1.
    check : bool
        Whether to check `unplayed_index`, `concave`, `concave_until` and the sign of a budget on a
        grid before a user's policy is played.

    Examples
    --------
    >>> import ocucb
    >>> ocucb.OCUCB.name, ocucb.OCUCB.defaults
    ('ocucb', {'alpha': 3.0, 'psi': 2.0})
    >>> ocucb.OCUCB(alpha=2.5)
    OCUCB(alpha=2.5, psi=2)
    """

    name: str
    label: str
    kind: Kind
    source: Callable[..., Any]
    inputs: tuple[str, ...]
    defaults: Mapping[str, float]
    formula: str
    reference: str
    valid: Mapping[str, Range] = field(default_factory=dict)
    proved: Mapping[str, Range] = field(default_factory=dict)
    unplayed_index: Unplayed | None = None
    concave: bool = False
    concave_until: Callable[..., float] | None = None
    reading: Reading = "plain"
    unit_form: PolicyFamily | None = None
    lowest_mean: Callable[..., float] | None = None
    challenge: Callable[..., float] | None = None
    probabilities: Callable[..., None] | None = None
    memory: Callable[[int], int] | None = None
    table: Callable[[int], Floats] | None = None
    binary: bool = False
    check: bool = True

    @cached_property
    def code(self) -> Snapshot:
        """The rule and what belongs to it, compiled; a user's is frozen at first use."""
        parts = {
            "rule": self.source,
            "concave_until": self.concave_until,
            "memory_size": self.memory,
            "lowest_mean": self.lowest_mean,
            "challenge": self.challenge,
            "probabilities": self.probabilities,
        }
        if self.unit_form is not None:  # what it does is part of what this family means
            parts |= {f"unit {name}": one for name, one in self.unit_form.code.functions.items()}
        functions = {name: part for name, part in parts.items() if part is not None}
        return Snapshot(functions, self.is_ours)

    @property
    def is_ours(self) -> bool:
        """Whether it is one of this package's, so that its name identifies it."""
        known = FAMILIES.get(self.name)
        return known is not None and (self is known or self is known.unit_form)

    def retaken(self) -> PolicyFamily:
        """Return the family with a snapshot of now, if it is unknown whether it has changed."""
        if self.code.unknown is None:
            return self
        return _with(self, unit_form=None if self.unit_form is None else _with(self.unit_form))

    @property
    def function(self) -> Callable[..., Any]:
        """The compiled rule."""
        rule: Callable[..., Any] = self.code.compiled["rule"]
        return rule

    @property
    def has_bonus(self) -> bool:
        """Whether the index is the mean plus a bonus."""
        whole = "mean" in self.inputs or self.reading == "bernoulli budget"
        return self.kind == "index" and not whole

    @property
    def takes_variance(self) -> bool:
        """Whether the index depends on the empirical variance of the arm's rewards."""
        return "variance" in self.inputs

    @property
    def takes_effective_arms(self) -> bool:
        """Whether the bonus depends on the pulls of the other arms."""
        return "effective_arms" in self.inputs

    @property
    def unplayed_constant(self) -> bool:
        """Whether nothing changes the index (or deviation) of an unplayed arm."""
        return self.unplayed_index == "constant" and not self.takes_effective_arms

    @property
    def never_rises(self) -> bool:
        """Whether the index of an unplayed arm never rises."""
        return self.kind == "index" and self.unplayed_index in ("nonincreasing", "constant")

    @property
    def is_lazy(self) -> bool:
        """Whether it can be played without evaluating every arm in every round."""
        return self.never_rises and not self.takes_variance

    def form(self, unit: bool) -> PolicyFamily:
        """Return the form that is played, given whether rewards are known to lie in [0, 1]."""
        return self.unit_form if unit and self.unit_form is not None else self

    def out_of_bounds(self, arms: int) -> str:
        """Return the error message for a rule that indexed an array out of bounds."""
        memory = 0 if self.memory is None else self.memory(arms)
        return (
            f"{self.label} indexes an array out of bounds: pulls and sums hold {arms} numbers, "
            f"memory holds {memory} (declare memory= for more)."
        )

    def __call__(self, /, *args: float, **kwargs: float) -> Policy:
        """Return the policy with these parameters and defaults for the others."""
        names = list(self.defaults)
        if len(args) > len(names):
            raise TypeError(
                f"{self.label} takes {_count(len(names), 'parameter')}, got {len(args)}."
            )
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.defaults:
                raise TypeError(
                    f"{self.label} has no parameter {shown(name)}; "
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
        number = to_float(value, f"{self.label}'s {name}")
        if number - number != 0:
            raise ValueError(f"{self.label}'s {name} must be finite, got {number}.")
        valid = self.valid.get(name)
        if valid is not None and not valid.holds(number):
            raise ValueError(f"{self.label}'s {name} must be {valid.text}, got {number:g}.")
        return number

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...] | str:
        # Another process looks up our families by name, with their compiled code.
        if FAMILIES.get(self.name) is self:
            return family_named, (self.name,)
        # Compiled code is not sent: the receiver compiles its own.
        return _family_of, (_facts(self), self.__doc__, self.__module__)

    def __repr__(self) -> str:
        return f"<policy {_call(self, self.defaults)}>"


def formula_raised(error: Exception) -> str:
    """Say what a rule raised: the end of a sentence."""
    return f"its formula raised {type(error).__name__}" + f": {error}".rstrip(": .") + "."


# This package's policies by name, filled in by `ocucb.policies`.
FAMILIES: dict[str, PolicyFamily] = {}


def family_named(name: str) -> PolicyFamily:
    """Return the family called `name` on the command line."""
    if name not in FAMILIES:
        raise ValueError(f"unknown policy {shown(name)}; choose from {', '.join(FAMILIES)}.")
    return FAMILIES[name]


def _call(family: PolicyFamily, parameters: Mapping[str, float]) -> str:
    """Return the Python expression that makes a policy."""
    inside = ", ".join(f"{name}={_written(value)}" for name, value in parameters.items())
    return f"{family.source.__name__}({inside})"


def _written(value: float) -> str:
    """Write a parameter with six digits, or with as many as tell it from all others."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value).removesuffix(".0")


def _facts(family: PolicyFamily) -> dict[str, Any]:
    return {one.name: getattr(family, one.name) for one in fields(family)}


def _with(family: PolicyFamily, **changes: Any) -> PolicyFamily:
    """Return a family with some facts changed."""
    return _family_of(_facts(family) | changes, family.__doc__, family.__module__)


def _family_of(facts: dict[str, Any], doc: str | None, module: str) -> PolicyFamily:
    """Return a family with the docstring and module of the function that states it."""
    family = PolicyFamily(**facts)
    call = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value)
        for name, value in family.defaults.items()
    ]
    object.__setattr__(family, "__doc__", doc)
    object.__setattr__(family, "__module__", module)
    object.__setattr__(family, "__signature__", inspect.Signature(call))  # what help shows
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

    Examples
    --------
    >>> import ocucb
    >>> policy = ocucb.OCUCB(alpha=2.5)
    >>> policy.name, policy.label
    ('ocucb:alpha=2.5,psi=2', 'OCUCB(alpha=2.5)')
    """

    family: PolicyFamily
    values: tuple[float, ...]

    @property
    def name(self) -> str:
        """The policy as written on the command line: ``ocucb:alpha=2,psi=2``."""
        inside = ",".join(f"{k}={v!r}".removesuffix(".0") for k, v in self.parameters.items())
        return f"{self.family.name}:{inside}" if inside else self.family.name

    @property
    def label(self) -> str:
        """The policy as in a figure's legend: only parameters that differ from their defaults."""
        unusual = [
            f"{name}={_written(value)}"
            for name, value in self.parameters.items()
            if value != self.family.defaults[name]
        ]
        return f"{self.family.label}({', '.join(unusual)})" if unusual else self.family.label

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name."""
        return dict(zip(self.family.defaults, self.values, strict=True))

    def on(self, unit: bool) -> Policy:
        """Return the policy in the form that is played (see `PolicyFamily.form`)."""
        return Policy(self.family.form(unit), self.values)

    def retaken(self) -> Policy:
        """Return the policy with its family as it is now (see `PolicyFamily.retaken`)."""
        return Policy(self.family.retaken(), self.values)

    def bonus(self, pulls: float, t: float, horizon: float, arms: float) -> float:
        """Return what an index policy adds to an arm's mean, in units of sigma.

        Parameters
        ----------
        pulls : float
            The arm's pulls before round t, at least 1.
        t : float
            The round, counted from 1.
        horizon : float
            Number of rounds.
        arms : float
            Number of arms, or of effective arms.

        Returns
        -------
        float

        Examples
        --------
        >>> from ocucb import OCUCB
        >>> round(OCUCB().bonus(pulls=4, t=100, horizon=1000, arms=2), 6)
        1.498933
        """
        if not self.family.has_bonus:
            raise TypeError(f"{self.label} is not stated as a bonus.")
        state = (float(pulls), float(t), float(horizon), float(arms))
        arguments = self.arguments(int(horizon))
        with compiling:  # an engine that compiles the rule allows no other compilation
            answer: float = self.family.function(*state, *arguments)
        if self.family.reading == "plain":
            return answer
        if not answer >= 0.0:
            raise ValueError(f"{self.label}'s budget must be at least 0, got {answer:g}.")
        return math.sqrt(2.0 * answer / pulls)

    def probabilities(
        self,
        t: float,
        horizon: float,
        pulls: npt.ArrayLike,
        sums: npt.ArrayLike,
        sigma: float,
        memory: npt.ArrayLike | None = None,
    ) -> Floats:
        """Return the probability with which a randomised policy plays each arm in round t.

        Parameters
        ----------
        t, horizon : float
            The round, counted from 1, and the number of rounds.
        pulls, sums : list of float
            Pulls and summed rewards of each arm; every arm has been played.
        sigma : float
            Rewards are sigma-subgaussian.
        memory : list of float, optional
            What the policy remembers, if anything; it is left as it is.

        Returns
        -------
        numpy.ndarray
            One probability per arm.

        Examples
        --------
        >>> from ocucb import KLMaillard
        >>> play = KLMaillard().on(unit=True)  # on rewards in [0, 1]
        >>> play.probabilities(t=6, horizon=100, pulls=[2, 3], sums=[1, 2], sigma=0.5).round(4)
        array([0.4706, 0.5294])
        """
        function = self.family.code.compiled.get("probabilities")
        if function is None:
            raise TypeError(f"{self.label} does not state probabilities.")
        counts, totals = (np.array(given, dtype=np.float64) for given in (pulls, sums))
        size = 0 if self.family.memory is None else self.family.memory(counts.size)
        buffer = np.zeros(max(size, counts.size))
        if memory is not None:
            buffer[:size] = memory
        function(
            float(t), float(horizon), counts, totals, float(sigma), buffer,
            *self.arguments(int(horizon)),
        )  # fmt: skip
        return buffer[: counts.size]

    def arguments(self, horizon: int) -> tuple[Any, ...]:
        """Return the rule's arguments besides the state of play."""
        if self.family.table is None:
            return self.values
        try:
            table = self.family.table(horizon)
        except ValueError as error:
            raise ValueError(f"{self.label}: {error}") from None
        if not self.is_ours:
            table = self._checked_table(table)
        return (table, *self.values)

    def _checked_table(self, given: Any) -> Floats:
        try:
            table = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            table = np.empty(())
        if table.ndim != 1:
            raise TypeError(
                f"{self.label}'s table must return a list of numbers, got {shown(given)}."
            )
        table.flags.writeable = False  # runs share it
        return table

    @property
    def is_ours(self) -> bool:
        """Whether the policy is part of this package, so that its name identifies it."""
        return self.family.is_ours

    def identity(self, arguments: tuple[Any, ...]) -> str:
        """Return an identifier for all that a user's policy does; ours are known by name.

        Parameters
        ----------
        arguments : tuple
            The return value of `arguments`.
        """
        family = self.family
        digest = hashlib.sha256(family.code.identity.encode())
        for form in (family, family.unit_form):
            if form is not None:
                facts = (form.kind, form.reading, form.unplayed_index, form.concave, form.inputs)
                digest.update(f"form {facts} {form.binary}".encode())
        if family.table is not None:
            digest.update(np.ascontiguousarray(arguments[0]).tobytes())
        return f"{self.name} {digest.hexdigest()}"

    def __repr__(self) -> str:
        return _call(self.family, self.parameters)


def _family(function: Callable[..., Any], kind: Kind, facts: dict[str, Any]) -> PolicyFamily:
    """Read a policy's name and parameters from its function and check its declarations."""
    function = plain(function)  # it may have been compiled by numba.njit
    if not inspect.isfunction(function):
        raise TypeError(f"a policy must be a plain function, got {shown(function)}.")
    title = function.__name__
    if not title.isprintable():
        raise ValueError(f"the name of a policy must be one line of text, got {shown(title)}.")
    table = ("table",) if facts.get("table") is not None else ()
    arguments = list(inspect.signature(function).parameters.values())
    names = tuple(argument.name for argument in arguments)
    forms = [form + table for form in _INPUTS[kind]]
    state = next((form for form in forms if names[: len(form)] == form), None)
    if state is None:
        given = names[: max(map(len, forms))]
        raise TypeError(
            f"{title} must take the arguments {' or '.join(map(', '.join, forms))} first, in this "
            f"order, got {', '.join(given) or 'none'}."
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
    inputs = state[: len(state) - len(table)]
    if "mean" in inputs and (facts.get("concave") or facts.get("concave_until")):
        raise TypeError(f"{title} declares concave, which is for policies stated as a bonus.")
    facts.update(kind=kind, source=function, inputs=inputs, defaults=defaults)
    return _family_of(facts, inspect.getdoc(function), function.__module__)


def _default(title: str, parameter: inspect.Parameter) -> float:
    """Return the default value of a policy's parameter."""
    if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
        raise TypeError(f"{title}'s parameter {parameter.name!r} must be positional-or-keyword.")
    if parameter.default is inspect.Parameter.empty:
        raise TypeError(f"{title}'s parameter {parameter.name!r} needs a default value.")
    return to_float(parameter.default, f"the default of {title}'s parameter {parameter.name!r}")


def _check_facts(title: str, facts: dict[str, Any], defaults: Mapping[str, float]) -> None:
    """Refuse unknown declarations and invalid values."""
    read = {"kind", "source", "inputs", "defaults", "reading"}  # from the function and decorator
    allowed = {one.name for one in fields(PolicyFamily)} - read
    for name in facts.keys() - allowed:
        raise TypeError(
            f"{title} declares {name!r}, which is not one of {', '.join(sorted(allowed))}."
        )
    for name in ("name", "label", "formula", "reference"):
        text = facts.get(name)
        if not isinstance(text, str) or not text or not text.isprintable():
            raise ValueError(f"{title}'s {name} must be one line of text, got {text!r}.")
    declared = facts.get("unplayed_index")
    if declared is not None and not (isinstance(declared, str) and declared in get_args(Unplayed)):
        raise ValueError(
            f"{title}'s unplayed_index must be {', '.join(map(repr, get_args(Unplayed)))} or None, "
            f"got {declared!r}."
        )
    for name in ("binary", "concave", "check"):
        if not isinstance(facts.get(name, False), bool):
            raise ValueError(f"{title}'s {name} must be True or False, got {facts[name]!r}.")
    functions = ("concave_until", "memory", "table", "lowest_mean", "challenge", "probabilities")
    for name in functions:
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
            raise ValueError(f"{title}'s {name} names {parameter!r}, which is not a parameter.")
    unit = facts.get("unit_form")
    if unit is not None:
        if not isinstance(unit, PolicyFamily) or unit.defaults != defaults:
            raise TypeError(
                f"{title}'s unit_form must be a policy with the same parameters, got {unit!r}."
            )
        unit = unit.form(True)
        if unit.table is not facts.get("table"):
            raise TypeError(f"{title}'s unit_form must have the same table.")
        same = {key: facts[key] for key in ("name", "label", "formula", "reference")}
        facts["unit_form"] = _with(unit, **same)


Decorator = Callable[[Callable[..., Any]], PolicyFamily]


@overload
def index_policy(function: Callable[..., float], /) -> PolicyFamily: ...
@overload
def index_policy(**facts: Any) -> Decorator: ...
def index_policy(
    function: Callable[..., float] | None = None, /, **facts: Any
) -> PolicyFamily | Decorator:
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
        Any attribute of `PolicyFamily`. Engines use

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
    return _decorate(function, "index", facts)


@overload
def kl_policy(function: Callable[..., float], /) -> PolicyFamily: ...
@overload
def kl_policy(**facts: Any) -> Decorator: ...
def kl_policy(
    function: Callable[..., float] | None = None, /, **facts: Any
) -> PolicyFamily | Decorator:
    """Make an index policy out of a budget for the Kullback-Leibler divergence.

    An arm's index is the largest q with ``pulls * kl(mean, q) <= budget``. On rewards of 0 and 1,
    kl is the divergence of such rewards; otherwise that of Gaussian ones, so the index is
    ``mean + sigma * sqrt(2 * budget / pulls)``.

    Parameters
    ----------
    function : callable
        ``budget(pulls, t, horizon, arms, ...)``, at least 0, or else an error; see `index_policy`.
    **facts : dict
        As for `index_policy`. `unplayed_index` is about the index; `concave` also says that while
        the arm is played the budget is concave throughout, or convex throughout.

    Returns
    -------
    PolicyFamily or callable
        The family; a decorator, if only facts are given.

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
    if function is None:
        return lambda late: kl_policy(late, **facts)
    family = _with(_family(function, "index", facts), reading="gaussian budget")
    if "mean" in family.inputs:
        raise TypeError(f"{family.label} is a budget, which does not depend on the mean.")
    if family.unit_form is not None:
        return family
    return _with(family, unit_form=_with(family, reading="bernoulli budget"))


@overload
def sampling_policy(function: Callable[..., float], /) -> PolicyFamily: ...
@overload
def sampling_policy(**facts: Any) -> Decorator: ...
def sampling_policy(
    function: Callable[..., float] | None = None, /, **facts: Any
) -> PolicyFamily | Decorator:
    """Make a policy out of a standard deviation: it plays the arm with the largest sample.

    In every round a fresh normal sample is drawn for each arm, around its mean.

    Parameters
    ----------
    function : callable
        ``deviation(pulls, t, horizon, arms, ...)``, in units of sigma; see `index_policy`.
    **facts : dict
        As for `index_policy`; `unplayed_index` is about the deviation.

    Returns
    -------
    PolicyFamily or callable
        The family; a decorator, if only facts are given.

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
    return _decorate(function, "sampling", facts)


@overload
def choice_policy(function: Callable[..., int], /) -> PolicyFamily: ...
@overload
def choice_policy(**facts: Any) -> Decorator: ...
def choice_policy(
    function: Callable[..., int] | None = None, /, **facts: Any
) -> PolicyFamily | Decorator:
    """Make a policy out of a function that picks the arm to play.

    Parameters
    ----------
    function : callable
        ``choose(t, horizon, pulls, sums, sigma, memory, stream, ...)`` returns the number of an
        arm, from 0. It is called from round K + 1 on; `pulls` and `sums` hold the pulls and summed
        rewards of the K arms, `memory` is its own array of ``memory(K)`` numbers (zero when a run
        starts), and `stream` is for `ocucb.random.uniform` and the like.
    **facts : dict
        Any attribute of `PolicyFamily`, above all `memory`, `challenge` and `probabilities`.

    Returns
    -------
    PolicyFamily or callable
        The family; a decorator, if only facts are given.

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
    return _decorate(function, "choice", facts)


def _decorate(
    function: Callable[..., Any] | None, kind: Kind, facts: dict[str, Any]
) -> PolicyFamily | Decorator:
    if function is None:
        return lambda late: _family(late, kind, facts)
    return _family(function, kind, facts)
