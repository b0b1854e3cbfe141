"""What a policy is: a rule with a name, and with parameters whose values are still open or fixed.

Calling a `PolicyFamily` with parameters gives a `Policy`, which `simulate` plays. Engines read what
its rule declares (`_rules`), never its name.

A policy may have three forms: one for rewards of which only sigma is known; one for rewards in
[0, 1] (`bounded_form`), which is played on Bernoulli rewards; and one for rewards in [0, 1] that
may be others than 0 and 1 (`variance_form`), which looks at their variance. `PolicyFamily.form`
picks one, and all that follows knows only the form.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._compile import compiling
from .._memo import cached_property
from .._text import remedy, shown, to_float
from .._types import Floats
from .._users import Snapshot
from ._rules import ArmRule, BonusRule, ChoiceRule, GaussianKLRule, MomentKLRule, Rule


@dataclass(frozen=True)
class Range:
    """The allowed values of a parameter, in words and as a test."""

    text: str
    holds: Callable[[float], bool]
    whole: bool = False  # whether only whole numbers are allowed


@dataclass(frozen=True, eq=False)
class PolicyFamily:
    """A policy whose parameters are not fixed yet; call it to fix them.

    Attributes
    ----------
    name : str
        Its name on the command line.
    label : str
        Its name in tables and figures.
    rule : Rule
        How it chooses: a type for each way to state that, with what such a rule declares.
    defaults : dict
        Parameters and their default values, in the order that the rule takes them.
    formula, reference : str
        For readers: the rule in one line, and its source.
    valid, proved : dict of str to Range
        Where a parameter is valid (anything else is an error), and where the regret bound of
        `reference` is proved (anything else gives a warning).
    table : callable or None
        ``table(horizon)``: numbers computed before play, passed to the rule between what the
        engine supplies and its parameters.
    bounded_form : PolicyFamily or None
        The policy as it is played on rewards in [0, 1]; None if it is the same.
    variance_form : PolicyFamily or None
        The policy as it is played on rewards in [0, 1] that may be others than 0 and 1; None if it
        is the same.
    binary : bool
        Whether the policy is only for Bernoulli rewards.
    needs_sigma : bool
        Whether the rule uses sigma; if not, nobody has to know it.
    aliases : tuple of str
        Other names that people type.
    check : bool
        Whether to check on a grid what a user's rule declares, before it is played.

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
    rule: Rule
    defaults: Mapping[str, float]
    formula: str
    reference: str
    valid: Mapping[str, Range] = field(default_factory=dict)
    proved: Mapping[str, Range] = field(default_factory=dict)
    table: Callable[[int], Floats] | None = None
    bounded_form: PolicyFamily | None = None
    variance_form: PolicyFamily | None = None
    binary: bool = False
    needs_sigma: bool = True
    aliases: tuple[str, ...] = ()
    check: bool = True

    @cached_property
    def code(self) -> Snapshot:
        """The rule and what belongs to it, compiled; a user's is frozen at first use."""
        functions = self.rule.functions
        for kind, form in self._stated_forms:  # what it does is part of what this family means
            functions |= {f"{kind} {name}": one for name, one in form.code.functions.items()}
        return Snapshot(functions, self.is_ours)

    @property
    def _stated_forms(self) -> list[tuple[str, PolicyFamily]]:
        """The other forms, unless all that they are follows from the bounded one."""
        forms = []
        if self.bounded_form is not None:
            forms.append(("unit", self.bounded_form))
        if self.variance_form is not None and not isinstance(self.variance_form.rule, MomentKLRule):
            forms.append(("variance", self.variance_form))
        return forms

    @property
    def is_ours(self) -> bool:
        """Whether it is one of this package's, so that its name identifies it."""
        known = known_family(self.name)
        forms = () if known is None else (known, known.bounded_form, known.variance_form)
        return any(self is form for form in forms)

    def retaken(self) -> PolicyFamily:
        """Return the family with a snapshot of now, if it is unknown whether it has changed."""
        if self.code.unknown is None:
            return self
        forms = {"bounded_form": self.bounded_form, "variance_form": self.variance_form}
        inner = {name: None if one is None else changed(one) for name, one in forms.items()}
        return changed(self, **inner)

    @property
    def source(self) -> Callable[..., Any]:
        """The function that states the rule, as Python."""
        return self.rule.source

    @property
    def function(self) -> Callable[..., Any]:
        """The compiled rule."""
        rule: Callable[..., Any] = self.code.compiled["rule"]
        return rule

    def form(self, bounded: bool, binary: bool = True) -> PolicyFamily:
        """Return the form that is played.

        Parameters
        ----------
        bounded : bool
            Whether rewards are known to lie in [0, 1].
        binary : bool, optional
            Whether such rewards are known to be 0 or 1.
        """
        if bounded and not binary and self.variance_form is not None:
            return self.variance_form
        return self.bounded_form if bounded and self.bounded_form is not None else self

    def out_of_bounds(self, arms: int) -> str:
        """Return the error message for a rule that indexed an array out of bounds."""
        return (
            f"{self.label} indexes an array out of bounds: pulls and sums hold {arms} numbers, "
            f"memory holds {self.rule.memory_size(arms)} (declare memory= for more)."
        )

    @property
    def can_forget(self) -> bool:
        """Whether the rule depends on what the arms have paid, and on nothing that it remembers."""
        forms = (self, self.bounded_form, self.variance_form)
        rules = [form.rule for form in forms if form is not None]
        return self.table is None and all(
            isinstance(rule, ArmRule)
            or (isinstance(rule, ChoiceRule) and (rule.memory is None or rule.forgets))
            for rule in rules
        )

    def __call__(self, /, *args: float, forget: float | None = None, **kwargs: float) -> Policy:
        """Return the policy with these parameters and defaults for the others.

        It can forget what is long ago: `forget` is a discount between 0 and 1 for each round, or a
        window of so many rounds.
        """
        if forget is not None and FORGET in self.defaults:
            kwargs, forget = {**kwargs, FORGET: forget}, None
        names = list(self.defaults)
        if len(args) > len(names):
            most = f"{len(names) or 'no'} parameter{'' if len(names) == 1 else 's'}"
            raise TypeError(f"{self.label} takes {most}, got {len(args)}.")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.defaults:
                known = remedy(name, names or ["none"], all_="it has")
                raise TypeError(f"{self.label} has no parameter {shown(name)}; {known}")
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
        if forget is not None:
            forget = self._checked_forget(forget)
        return Policy(self, tuple(values.values()), forget)

    def _checked_forget(self, value: float) -> float:
        if not self.can_forget:
            raise ValueError(
                f"{self.label} cannot forget, since it depends on more than what arms have paid."
            )
        number = to_float(value, f"{self.label}'s forget")
        if not FORGETTING.holds(number):
            raise ValueError(f"{self.label}'s forget must be {FORGETTING.text}, got {number:g}.")
        return number

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
        if known_family(self.name) is self:
            return family_named, (self.name,)
        # Compiled code is not sent: the receiver compiles its own.
        return family_of, (_facts(self), self.__doc__, self.__module__)

    def __repr__(self) -> str:
        return f"<policy {_call(self, self.defaults)}>"


def formula_raised(error: Exception) -> str:
    """Say what a rule raised: the end of a sentence."""
    return f"its formula raised {type(error).__name__}" + f": {error}".rstrip(": .") + "."


FORGET = "forget"  # the option that every policy has whose rule allows it
FORGETTING = Range(
    "a discount between 0 and 1, or a window of 2 rounds or more",
    lambda value: 0.0 < value < 1.0 or (2.0 <= value < 2.0**53 and value == math.floor(value)),
)

# This package's policies by name, filled in by `ocucb.policies`: those that play any problem, and
# those that need arms with features.
FAMILIES: dict[str, PolicyFamily] = {}
LINEAR: dict[str, PolicyFamily] = {}


def known_family(name: str) -> PolicyFamily | None:
    """Return this package's family called `name` on the command line, if there is one."""
    return FAMILIES.get(name, LINEAR.get(name))


def spelled(name: str) -> str:
    """Return the name of a policy without what does not matter when it is typed.

    >>> spelled("KL-UCB+"), spelled("kl_ucb plus")
    ('klucbplus', 'klucbplus')
    """
    whole = name.casefold().replace("+", "plus").replace("\N{GREEK SMALL LETTER EPSILON}", "eps")
    return re.sub(r"[\W_]+", "", whole)


def family_spelled(name: str) -> PolicyFamily | None:
    """Return the family with a name, label or Python name that is spelled alike, or None."""
    if (family := known_family(name)) is not None:
        return family
    wanted = spelled(name)
    for family in (*FAMILIES.values(), *LINEAR.values()):
        if wanted in map(spelled, names_of(family)):
            return family
    return None


def names_of(family: PolicyFamily) -> tuple[str, ...]:
    """Return all names of a family: on the command line, in tables, in Python, and aliases."""
    return (family.name, family.label, family.source.__name__, *family.aliases)


def family_named(name: str) -> PolicyFamily:
    """Return the family called `name`, on the command line or in tables."""
    family = family_spelled(name)
    if family is None:
        raise ValueError(
            f"unknown policy {shown(name)}; {remedy(name, {**FAMILIES, **LINEAR}, spelled)}"
        )
    return family


def _call(family: PolicyFamily, parameters: Mapping[str, float]) -> str:
    """Return the Python expression that makes a policy."""
    inside = ", ".join(f"{name}={_written(value)}" for name, value in parameters.items())
    return f"{family.source.__name__}({inside})"


def _written(value: float) -> str:
    """Write a parameter with six digits, or with as many as tell it from all others."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value).removesuffix(".0")


def _facts(family: PolicyFamily) -> dict[str, Any]:
    return {field.name: getattr(family, field.name) for field in fields(family)}


def changed(family: PolicyFamily, **changes: Any) -> PolicyFamily:
    """Return a family with some facts changed."""
    return family_of(_facts(family) | changes, family.__doc__, family.__module__)


def family_of(facts: dict[str, Any], doc: str | None, module: str) -> PolicyFamily:
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


@dataclass(frozen=True)
class Policy:
    """A policy with its parameters: what `simulate` plays.

    Attributes
    ----------
    family : PolicyFamily
        The rule.
    values : tuple of float
        Its parameters, in the order of ``family.defaults``.
    forget : float or None
        What it forgets: the discount of each round, below 1, or the window; None if nothing.

    Examples
    --------
    >>> import ocucb
    >>> policy = ocucb.OCUCB(alpha=2.5)
    >>> policy.name, policy.label
    ('ocucb:alpha=2.5,psi=2', 'OCUCB(alpha=2.5)')
    """

    family: PolicyFamily
    values: tuple[float, ...]
    forget: float | None = None

    @property
    def name(self) -> str:
        """The policy as written on the command line: ``ocucb:alpha=2,psi=2``."""
        inside = ",".join(f"{k}={v!r}".removesuffix(".0") for k, v in self.parameters.items())
        return f"{self.family.name}:{inside}" if inside else self.family.name

    @property
    def label(self) -> str:
        """The policy as in a figure's legend: only parameters that differ from their defaults."""
        mine, usual = self.parameters, self.family.defaults
        unusual = [f"{key}={_written(mine[key])}" for key in mine if mine[key] != usual.get(key)]
        return f"{self.family.label}({', '.join(unusual)})" if unusual else self.family.label

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters by name, with `forget` if it forgets."""
        mine = dict(zip(self.family.defaults, self.values, strict=True))
        return mine if self.forget is None else {**mine, FORGET: self.forget}

    def changed(self, changes: Mapping[str, float]) -> Policy:
        """Return the policy with other values of some parameters, taken as they are."""
        mine = self.parameters | dict(changes)
        values = tuple(mine[name] for name in self.family.defaults)
        return Policy(self.family, values, mine.get(FORGET) if self.forget is not None else None)

    def on(self, bounded: bool, binary: bool = True) -> Policy:
        """Return the policy in the form that is played (see `PolicyFamily.form`)."""
        return replace(self, family=self.family.form(bounded, binary))

    def retaken(self) -> Policy:
        """Return the policy with its family as it is now (see `PolicyFamily.retaken`)."""
        return replace(self, family=self.family.retaken())

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

        Examples
        --------
        >>> from ocucb import OCUCB
        >>> round(OCUCB().bonus(pulls=4, t=100, horizon=1000, arms=2), 6)
        1.498933
        """
        if not isinstance(self.family.rule, BonusRule):
            raise TypeError(f"{self.label} is not stated as a bonus.")
        state = (float(pulls), float(t), float(horizon), float(arms))
        arguments = self.arguments(int(horizon))
        with compiling:  # an engine that compiles the rule allows no other compilation
            answer: float = self.family.function(*state, *arguments)
        if not isinstance(self.family.rule, GaussianKLRule):
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
        >>> play = KLMaillard().on(bounded=True)  # on rewards in [0, 1]
        >>> play.probabilities(t=6, horizon=100, pulls=[2, 3], sums=[1, 2], sigma=0.5).round(4)
        array([0.4706, 0.5294])
        """
        function = self.family.code.compiled.get("probabilities")
        if function is None:
            raise TypeError(f"{self.label} does not state probabilities.")
        counts, totals = (np.array(given, dtype=np.float64) for given in (pulls, sums))
        size = self.family.rule.memory_size(counts.size)
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
            got = shown(given)
            raise TypeError(f"{self.label}'s table must return a list of numbers, got {got}.")
        table.flags.writeable = False  # runs share it
        return table

    @property
    def is_ours(self) -> bool:
        """Whether the policy is part of this package, so that its name identifies it."""
        return self.family.is_ours

    def identity(self, arguments: tuple[Any, ...]) -> str:
        """Return an identifier for all that a user's policy does, given its `arguments`."""
        family = self.family
        digest = hashlib.sha256(family.code.identity.encode())
        for form in (family, *(form for _, form in family._stated_forms)):
            digest.update(f"form {form.rule.identity} {form.binary}".encode())
        if family.table is not None:
            digest.update(np.ascontiguousarray(arguments[0]).tobytes())
        return f"{self.name} {digest.hexdigest()}"

    def __repr__(self) -> str:
        return _call(self.family, self.parameters)
