"""`LinearBandit` as a machine plays it: arms keep their numbers, and models are stored as bytes.

State is stored with every transaction, so what changes must be small: if each arm has weights of
its own, their model is stored with the arm. Of open asks only sums are kept, since the log knows
which of them a reward belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._types import Floats
from ..inference.verdict import Verdict
from ..live import LinearBandit
from ..live.linear_model import LARGEST_FEATURE, OBSERVED, OPEN, ROUNDS, SUM, parts
from ..live.linear_summary import LinearSummary
from ..live.open_asks import SummedAsks
from ..policies import parse_policy
from ..policies._rules import LinearRule
from .errors import Invalid
from .models import Rules

Context = list[float] | dict[str, list[float]]  # a row, or one for each arm
MOST_NUMBERS = 500_000  # of a matrix for each set of weights: 4 MB

_NUMBER = np.dtype("<f8")


def check_size(rules: Rules, arms: int) -> None:
    """Refuse models that would take too long to store."""
    given = rules.features
    d = 0 if given is None else given if isinstance(given, int) else len(given)
    sets = 1 if rules.shared else arms
    if sets * d * d > MOST_NUMBERS:
        raise Invalid(
            f"{arms:,} arms with {d} features each are too many to be stored; use fewer, or shared."
        )


def check_policy(rules: Rules) -> None:
    """Refuse a policy that does not fit what arms have."""
    if rules.policy is None:
        return
    policy, has_features = parse_policy(rules.policy), rules.features is not None
    rule = policy.family.rule
    if isinstance(rule, LinearRule) != has_features:
        advice = "does not look at features: leave them out"
        if not has_features:
            advice = "needs features: give them"
        raise Invalid(f"policy: {policy.label} {advice}, or choose another policy.")
    if isinstance(rule, LinearRule) and rule.fixed_actions:
        raise Invalid(f"policy: {policy.label} needs features that stay the same; choose another.")


class ContextBandit(LinearBandit):
    """A bandit whose arms have features, and are numbered in the order in which they came."""

    __slots__ = ("_order", "_sums")

    def __init__(self, arms: Sequence[str], features: Any, *given: Any, **named: Any) -> None:
        super().__init__(arms, features, *given, **named)
        self._warned_of_horizon = True  # *health* says so
        self._order = list(self._names)
        self._sums = self._open = SummedAsks(self._features.shared)  # type: ignore[assignment]

    # Playing

    def checked(self, context: Context | None, others: Iterable[str] = ()) -> Context:
        """Return a context as it is logged, or say what is wrong with it.

        If arms share their weights, it has the features of the active arms, and of `others`.
        """
        d, shared = self._features.count, self._features.shared
        if isinstance(context, dict) != shared or context is None:
            what = "an object with a list of " if shared else "a list of "
            each = " for each active arm" if shared else ""
            got = {type(None): "none", list: "a list", dict: "an object"}[type(context)]
            raise Invalid(f"context must be {what}{d} number{'s' * (d > 1)}{each}, got {got}.")
        if not isinstance(context, dict):
            self._check_row("context", context)
            return context
        wanted = [*self.arms, *others]
        for unknown in context.keys() - set(self._order):
            raise Invalid(f"context: unknown arm {unknown!r}.")
        for name in map(str, wanted):
            if name not in context:
                raise Invalid(f"context: the features of arm {name!r} are missing.")
            self._check_row(f"context.{name}", context[name])
        return {str(name): context[str(name)] for name in wanted}

    def _check_row(self, where: str, row: list[float]) -> None:
        d = self._features.count
        if len(row) != d:
            raise Invalid(f"{where} must have {d} number{'s' * (d > 1)}, got {len(row)}.")
        for feature, value in zip(self._features.names, row, strict=True):
            if not abs(value) <= LARGEST_FEATURE:
                raise Invalid(
                    f"{where}: feature {feature!r} must lie between {-LARGEST_FEATURE:g} and "
                    f"{LARGEST_FEATURE:g}, got {value:g}; rescale features."
                )

    def choose(self, arm: int, context: Context) -> tuple[int, float | None]:
        """Play the policy's choice, or, unless it is negative, this active arm.

        Returns its number, and the probability with which the policy chooses it.
        """
        x = self._given(context)
        where = (arm,) if arm < 0 else (self._positions.find(self._order[arm]),)
        i, chance = self._decide(x, *where)
        return self._order.index(str(self._names[i])), chance

    def _given(self, context: Context) -> Any:
        """Return the features as `ask` takes them."""
        if isinstance(context, dict):
            return np.array([context[str(name)] for name in self.arms])
        return np.array(context)

    def row(self, arm: str, context: Context) -> Floats:
        """Return the features of an arm."""
        return np.array(context[arm] if isinstance(context, dict) else context)

    def known(self, context: Context) -> dict[Any, float] | None:
        """Return the probabilities of the policy's choice."""
        return self.probabilities(self._given(context))

    def judged(self, context: Context, margin: float, level: float) -> Verdict:
        """Return the verdict on the active arms."""
        return self.verdict(self._given(context), margin, level)

    # Arms

    def add(self, arms: Any, features: Any = None) -> None:
        """Add arms, or reinstate retired ones."""
        super().add(arms, features)
        self._order += [str(name) for name in self._names if name not in self._order]
        self._arrange()

    def retire(self, arms: Any) -> None:
        """Stop playing arms."""
        super().retire(arms)
        self._arrange()

    def _arrange(self) -> None:
        """Sort active arms, and retired ones, as `from_parts` does."""
        active = self.arms
        names: list[Any] = [name for name in self._order if name in active]
        names += [name for name in self._order if name not in active]
        order = [self._positions.find(name) for name in names]
        self._set(self._relaid(order, len(active)), names)

    # State

    def to_parts(self) -> dict[str, Any]:
        """Return what changes, arm by arm; models are left to `to_bytes`."""
        with self._lock:
            state, places = self._state, self._places()
            counts = state.counts[:, places]
            return {
                "arms": list(self._order),
                "horizon": None if self._open_horizon else self.horizon,
                "pulls": counts[OBSERVED].astype(np.int64),
                "open": counts[OPEN].astype(np.int64),
                "sums": self._rules.reflected(counts[OBSERVED], counts[SUM]),
                "squares": np.zeros(len(places)),
                "active": np.array(places) < len(self),
                "rounds": self.rounds,
                "stream": state.stream.copy(),
                "memory": self._own.copy(),
            }

    def _places(self) -> list[int]:
        return [self._positions.find(name) for name in self._order]

    def to_bytes(self) -> tuple[bytes, tuple[bytes | None, ...]]:
        """Return what is stored of the model as a whole, and with each arm."""
        with self._lock:
            state, model, d = self._state, parts(self._state), self._features.count
            lower = np.tril_indices(d)
            owners = [None] if self._features.shared else self._order
            places = [0] if self._features.shared else self._places()
            pending = np.array([self._sums.sum(owner, d) for owner in owners])
            numbers = np.hstack(
                [
                    model.weights[places],
                    model.response[places],
                    model.log_dets[places, None],
                    state.planned_log_dets[places, None],
                    *(
                        matrices[:, *lower]
                        for matrices in (
                            model.gram[places],
                            model.inverse[places],
                            state.planned[places],
                            pending,
                        )
                    ),
                ]
            ).astype(_NUMBER)
            due = self._due.astype(_NUMBER).tobytes()
        if self._features.shared:
            return due + numbers.tobytes(), (None,) * len(self._order)
        return due, tuple(row.tobytes() for row in numbers)

    @classmethod
    def from_parts(
        cls,
        arms: Sequence[str],
        features: Any,
        *,
        pulls: Sequence[int],
        open: Sequence[int],
        sums: Sequence[float],
        squares: Sequence[float],
        active: Sequence[bool],
        rounds: int,
        stream: Sequence[int],
        memory: Sequence[float],
        model: bytes | None,
        models: Sequence[bytes | None],
        **rules: Any,
    ) -> ContextBandit:
        """Return the bandit that had this state."""
        there = [i for i, on in enumerate(active) if on]
        gone = [i for i, on in enumerate(active) if not on]
        if any(squares) or not there:
            raise ValueError("some arm must be active, and none has squares.")
        bandit = cls([arms[i] for i in there + gone], features, **rules)
        bandit._order = list(arms)
        if gone:
            order = list(range(len(arms)))
            bandit._set(bandit._relaid(order, len(there)), bandit._names)
        state, places = bandit._state, bandit._places()
        state.counts[OBSERVED, places] = pulls
        state.counts[OPEN, places] = open
        state.counts[SUM, places] = bandit._rules.reflected(np.array(pulls), np.array(sums))
        state.clock[ROUNDS] = rounds
        state.stream[:] = stream
        bandit._own[:] = memory
        bandit._take_bytes(model, models)
        bandit._plan()
        return bandit

    def _take_bytes(self, model: bytes | None, models: Sequence[bytes | None]) -> None:
        state, found, d = self._state, parts(self._state), self._features.count
        lower = np.tril_indices(d)
        size, m = 2 * d + 2 + 4 * lower[0].size, state.planned.shape[0]
        shared = self._features.shared
        text = b"".join([model or b"", *(one or b"" for one in models)])
        numbers = np.frombuffer(text, _NUMBER)
        if numbers.size != 1 + m * size:
            raise ValueError("the model must have a number for each weight and pair of features.")
        self._due[:] = numbers[0]
        rows = numbers[1:].reshape(m, size)
        places = [0] if shared else self._places()
        at = [d, 2 * d, 2 * d + 1, 2 * d + 2]
        weights, response, dets, planned, triangles = np.split(rows, at, axis=1)
        found.weights[places], found.response[places] = weights, response
        found.log_dets[places] = dets[:, 0]
        state.planned_log_dets[places] = planned[:, 0]
        pending = np.empty((m, d, d))
        for matrices, part in zip(
            (found.gram, found.inverse, state.planned, pending),
            np.split(triangles, 4, axis=1),
            strict=True,
        ):
            here = range(m) if matrices is pending else places
            for one, row in zip(here, part, strict=True):
                matrices[one][lower] = row
                matrices[one][lower[::-1]] = row
        owners = [None] if shared else self._order
        self._sums.sums = dict(zip(owners, pending, strict=True))

    def rows(self, found: LinearSummary) -> list[dict[str, Any]]:
        """Return what is known of each arm, in order."""
        facts = zip(
            found.arms, found.pulls.tolist(), found.open.tolist(), found.mean.tolist(),
            found.retired.tolist(), strict=True,
        )  # fmt: skip
        unknown = dict.fromkeys(("low", "high", "index"), float("nan"))
        by_name = {
            arm: {"arm": arm, "pulls": pulls, "open": still, "mean": mean, "retired": gone}
            for arm, pulls, still, mean, gone in facts
        }
        return [{**by_name[name], **unknown} for name in self._order]
