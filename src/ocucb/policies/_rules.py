"""How policies choose: a type for each way to state a rule, with what such a rule can declare.

Some rules look at one arm at a time (`ArmRule`), and the arm with the largest number is played:

- `BonusRule`: the index is ``mean + sigma * bonus(pulls, t, horizon, arms, ...)`` (OCUCB, MOSS).
  ``effective_arms`` in place of ``arms`` is the sum over arms j of ``min(1, sqrt(pulls_j /
  pulls))`` (AdaUCB).
- `BernoulliKLRule`: it is the largest mean whose divergence from the empirical mean, times the
  pulls, is at most ``budget(pulls, t, horizon, arms, ...)`` (KL-UCB). With the divergence of
  Gaussian rewards that is a bonus, ``sqrt(2 * budget / pulls)``: `GaussianKLRule`. With one that
  rewards in [0, 1] have given their variance, it is a `MomentKLRule`.
- `WholeIndexRule`: it is ``index(mean, pulls, t, horizon, arms, sigma, ...)``, with ``variance``
  after the mean if needed (UCB-V).
- `SamplingRule`: the number is drawn anew in every round, from a normal distribution around the
  mean with deviation ``sigma * deviation(pulls, t, horizon, arms, ...)`` (Thompson sampling).

Anything else is a `ChoiceRule`: a function that looks at all arms and picks one; it may take
``squares`` after the sums, the squared deviations from each arm's mean (normal-thompson).

Where arms have features, a `LinearIndexRule` is an index for each arm, ``index(mean, norm, t,
horizon, dimension, arms, sigma, ...)``, from a linear model of the rewards (LinUCB), and a
`LinearChoiceRule` a function that picks an arm given that model (linear Thompson sampling).

The decorators that make them (`_decorators`) say what the declarations mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, NamedTuple

UnplayedIndex = Literal["nonincreasing", "constant", "nondecreasing"]
Inputs = tuple[str, ...]

_BONUS = ("pulls", "t", "horizon", "arms")
_INDEX = ("mean", *_BONUS, "sigma")
_LINEAR = ("mean", "norm", "t", "horizon", "dimension", "arms", "sigma")
_CHOICE = ("t", "horizon", "pulls", "sums", "sigma", "memory", "stream")

# Functions are part of what identifies a user's policy, hence of its random streams: under these
# names, if not under their own.
_KNOWN_AS = {"source": "rule", "memory": "memory_size", "challenger_index": "challenge"}


@dataclass(frozen=True, eq=False)
class Rule:
    """How a policy chooses: a function, and its leading arguments, which the engine supplies."""

    source: Callable[..., Any]
    inputs: Inputs

    forms: ClassVar[tuple[Inputs, ...]]  # what `inputs` can be
    kind: ClassVar[str]  # in messages, and in what identifies it
    variety: ClassVar[str] = "plain"

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """What it consists of, by the names that identify it."""
        facts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {_KNOWN_AS.get(name, name): one for name, one in facts.items() if callable(one)}

    @property
    def identity(self) -> tuple[Any, ...]:
        """What identifies it besides its functions."""
        declared = getattr(self, "unplayed_index", None), getattr(self, "concave", False)
        return (self.kind, self.variety, *declared, self.inputs)

    @property
    def takes_variance(self) -> bool:
        """Whether it depends on the empirical variance of an arm's rewards."""
        return "variance" in self.inputs or "squares" in self.inputs

    @property
    def takes_effective_arms(self) -> bool:
        """Whether it depends on the pulls of the other arms."""
        return "effective_arms" in self.inputs

    @property
    def is_lazy(self) -> bool:
        """Whether it can be played without evaluating every arm in every round."""
        return False

    @property
    def can_stop(self) -> bool:
        """Whether it has a rule to stop."""
        return False

    def memory_size(self, arms: int) -> int:
        """Return how many numbers it remembers."""
        return 0

    def failure(self, reason: str) -> str:
        """Say what the function gave where no arm can be chosen; `reason` if nothing is special."""
        return reason


@dataclass(frozen=True, eq=False)
class ArmRule(Rule):
    """A number for each arm, of which the largest plays.

    `unplayed_index` is about the index (or deviation), apart from the effective arms, if it takes
    these; None if not declared.
    """

    unplayed_index: UnplayedIndex | None = None

    @property
    def unplayed_constant(self) -> bool:
        """Whether nothing changes the index (or deviation) of an unplayed arm."""
        return self.unplayed_index == "constant" and not self.takes_effective_arms


@dataclass(frozen=True, eq=False)
class IndexRule(ArmRule):
    """An index for each arm; ties are broken at random."""

    kind = "index"

    @property
    def never_rises(self) -> bool:
        """Whether the index of an unplayed arm never rises."""
        return self.unplayed_index in ("nonincreasing", "constant")

    @property
    def is_lazy(self) -> bool:
        return self.never_rises


@dataclass(frozen=True, eq=False)
class WholeIndexRule(IndexRule):
    """The index itself."""

    lowest_mean: Callable[..., float] | None = None

    forms = (_INDEX, ("mean", "variance", *_INDEX[1:]))


@dataclass(frozen=True, eq=False)
class ConfidenceRule(IndexRule):
    """An upper confidence bound, stated by how far it lies above the mean."""

    concave: bool = False
    concave_until: Callable[..., float] | None = None

    forms = (_BONUS, (*_BONUS[:-1], "effective_arms"))


@dataclass(frozen=True, eq=False)
class BonusRule(ConfidenceRule):
    """The mean plus a bonus, which the function states in units of sigma."""


@dataclass(frozen=True, eq=False)
class GaussianKLRule(BonusRule):
    """The mean plus the bonus that follows from a budget for the divergence of Gaussian rewards."""

    variety = "gaussian budget"

    def failure(self, reason: str) -> str:
        return f"a negative budget, or {reason}"


@dataclass(frozen=True, eq=False)
class BernoulliKLRule(ConfidenceRule):
    """The largest mean that a budget for the divergence of Bernoulli rewards allows."""

    variety = "bernoulli budget"

    def failure(self, reason: str) -> str:
        return f"a negative budget, or {reason}"


@dataclass(frozen=True, eq=False)
class MomentKLRule(BernoulliKLRule):
    """The largest mean that such a budget allows rewards in [0, 1] with the arm's variance."""

    variety = "moment budget"

    @property
    def takes_variance(self) -> bool:
        return True


KLRule = GaussianKLRule | BernoulliKLRule


@dataclass(frozen=True, eq=False)
class SamplingRule(ArmRule):
    """A normal sample around each mean, whose deviation the function states in units of sigma."""

    forms = (_BONUS,)
    kind = "sampling"

    def failure(self, reason: str) -> str:
        return "a deviation that is negative or not finite"


@dataclass(frozen=True, eq=False)
class ChoiceRule(Rule):
    """A function that looks at all arms and picks one."""

    memory: Callable[[int], int] | None = None
    challenger_index: Callable[..., float] | None = None
    probabilities: Callable[..., None] | None = None
    stops: bool = False
    forgets: bool = False

    forms = (_CHOICE, (*_CHOICE[:4], "squares", *_CHOICE[4:]))
    kind = "choice"

    @property
    def identity(self) -> tuple[Any, ...]:
        return (*super().identity, *("stops",) * self.stops)

    @property
    def can_stop(self) -> bool:
        return self.stops

    def memory_size(self, arms: int) -> int:
        return 0 if self.memory is None else self.memory(arms)


@dataclass(frozen=True, eq=False)
class LinearRule(Rule):
    """A rule that looks at features, through a regularised least-squares model of the rewards."""

    fixed_actions: bool = False  # whether features must be the same in every round

    def memory_size(self, arms: int, dimension: int = 1) -> int:
        return 0


@dataclass(frozen=True, eq=False)
class LinearIndexRule(LinearRule):
    """An index for each arm; ties are broken at random."""

    forms = (_LINEAR, (*_LINEAR[:2], "log_det", *_LINEAR[2:]))
    kind = "linear index"


@dataclass(frozen=True, eq=False)
class LinearChoiceRule(LinearRule):
    """A function that looks at the model and picks an arm."""

    memory: Callable[[int, int], int] | None = None
    probabilities: Callable[..., None] | None = None

    forms = (("t", "horizon", "model", "sigma", "memory", "stream"),)
    kind = "linear choice"

    def memory_size(self, arms: int, dimension: int = 1) -> int:
        return 0 if self.memory is None else self.memory(arms, dimension)


class Model(NamedTuple):
    """What a `LinearChoiceRule` is told: a linear model of the rewards.

    There is one set of weights for all arms, or one for each arm (then `inverse`, `weights` and
    `log_dets` have an entry for each, and `features` a single row: the context that arms share).

    Attributes
    ----------
    features : ndarray
        The features of each arm in this round.
    means : ndarray
        The reward that the model expects of each arm.
    norms : ndarray
        ``sqrt(x @ inverse @ x)`` of each arm with features x: sigma times this is the standard
        error of its mean.
    inverse : ndarray
        The inverse of ``V = ridge * I + sum of x x'`` over rounds.
    weights : ndarray
        The estimate of theta: the inverse times the sum of reward * x.
    log_dets : ndarray
        ``log det V - dimension * log ridge``.
    solved : ndarray
        The inverse times each arm's features.
    pulls, sums : ndarray
        Pulls and summed rewards of each arm.
    """

    features: Any
    means: Any
    norms: Any
    inverse: Any
    weights: Any
    log_dets: Any
    solved: Any
    pulls: Any
    sums: Any
