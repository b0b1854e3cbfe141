"""A `LinearBandit` taken apart and rebuilt: as a JSON document, as a file, pickled or copied."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .. import _document
from .._document import (
    damaged,
    is_count,
    is_flag,
    is_number,
    is_whole,
    take,
    take_floats,
    take_list,
)
from .._text import shown
from .._types import Floats
from ..policies import Policy
from .base import BaseBandit
from .document import facts_of, rules_of, saved_policy, stream_and_memory, words_of
from .features import Features
from .linear_model import ACTIVE, OBSERVED, OPEN, ROUNDS, SUM, State, copy_state, parts
from .names import Arm, Positions
from .open_asks import OpenAsks

B = TypeVar("B", bound="LinearSaved")

_VERSION = 1
STEPS: tuple[_document.Step, ...] = ()  # from each older format to the next


class LinearSaved(BaseBandit):
    """The part of `LinearBandit` that takes it apart and rebuilds it."""

    __slots__ = ("_due", "_features", "_open", "_own", "_state")

    if TYPE_CHECKING:  # set by `LinearBandit`
        _features: Features
        _open: OpenAsks

    def _set(self, state: State, names: list[Arm]) -> None:
        """Take a state, and the names of its arms; active arms come first."""
        model = parts(state)
        self._own, self._due = model.own, model.due  # views: quick to read
        self._names, self._positions, self._state = names, Positions(names), state

    def __len__(self) -> int:
        return int(self._state.clock[ACTIVE])

    def to_dict(self) -> dict[str, Any]:
        """Return rules and state as numbers, strings and lists: what `save` writes.

        Of symmetric matrices, the lower triangles.

        Examples
        --------
        >>> import ocucb
        >>> ocucb.LinearBandit("ab", features=2, sigma=1).to_dict()["sums"]
        [0.0, 0.0]
        """
        with self._lock:
            state, names = copy_state(self._state), list(self._names)
            asks = list(self._open)
            is_open, active = self._open_horizon, len(self)
        rules, features, model = self._rules, self._features, parts(state)
        lower = np.tril_indices(features.count)
        matrices = {"gram": model.gram, "inverse": model.inverse, "planned": state.planned}
        others = {
            "weights": model.weights,
            "response": model.response,
            "log_dets": model.log_dets,
            "planned_log_dets": state.planned_log_dets,
        }
        return {
            **facts_of("linear-bandit", _VERSION, rules, None if is_open else int(state.horizon)),
            **words_of(state.stream, model.own),
            "features": list(features.names),
            "shared": features.shared,
            "fixed": state.features.tolist() if features.fixed else None,
            "rounds": int(state.clock[ROUNDS]),
            "renewal": float(model.due[0]),
            "arms": names,
            "active": active,
            "pulls": [int(count) for count in state.counts[OBSERVED].tolist()],
            "sums": state.counts[SUM].tolist(),
            "open": [[arm, x.tolist(), count] for arm, x, count in asks],
            **{name: values[:, *lower].tolist() for name, values in matrices.items()},
            **{name: values.tolist() for name, values in others.items()},
        }

    @classmethod
    def _restored(cls: type[B], document: Any, policy: Any, source: str) -> B:
        document = _document.opened(document, "linear-bandit", _VERSION, source, STEPS)
        policy = saved_policy(document, policy, source, cls.__name__)
        try:
            bandit = cls(**_rules_of(document, policy))
            bandit._take(document)
        except (TypeError, ValueError) as error:
            raise damaged(source, error) from None
        return bandit

    def _take(self, document: dict[str, Any]) -> None:
        """Take the state of a document whose rules this bandit has."""
        K, d, m = len(self._names), self._features.count, self._state.planned.shape[0]
        state = self._state
        rounds = take(document, "rounds", is_whole, "a whole number from 0 to 2^53")
        active = take(document, "active", is_count, f"a whole number from 1 to {K}")
        if active > K:
            raise _document.Damaged(f"'active' must be at most {K}")
        if active < K:  # a policy's memory has the size for active arms
            state = self._relaid(list(range(K)), active)  # type: ignore[attr-defined]
        model, lower = parts(state), np.tril_indices(d)
        for name, place in (
            ("gram", model.gram), ("inverse", model.inverse), ("planned", state.planned)
        ):  # fmt: skip
            values = _table(document, name, m, lower[0].size)
            place[:, *lower] = values
            place[:, *lower[::-1]] = values
            if not (np.diagonal(place, axis1=1, axis2=2) > 0.0).all():
                raise _document.Damaged(f"{name!r} must be positive definite")
        model.weights[:], model.response[:] = (
            _table(document, name, m, d) for name in ("weights", "response")
        )
        model.log_dets[:] = take_floats(document, "log_dets", m)
        state.planned_log_dets[:] = take_floats(document, "planned_log_dets", m)
        model.due[:] = take(document, "renewal", is_number, "a number")
        state.stream[:], model.own[:] = stream_and_memory(document, model.own.size)
        if not state.stream.any():
            raise _document.Damaged("'stream' must not be all zeros")
        state.counts[OBSERVED] = take_list(document, "pulls", K, is_whole, "whole numbers")
        state.counts[SUM] = take_floats(document, "sums", K)
        state.clock[:] = rounds, active
        asks = OpenAsks(self._features.shared)
        for ask in take(document, "open", _is_list, "a list"):
            if not (_is_list(ask) and len(ask) == 3 and is_count(ask[2]) and _is_list(ask[1])):
                raise _document.Damaged("'open' must hold arms, features and counts")
            x = self._features.row(None if self._features.fixed else ask[1], state, 0)
            i = self._positions.find(ask[0])
            if i < 0:
                raise _document.Damaged(f"'open' names {shown(ask[0])}, which is no arm")
            if self._features.fixed:
                x = state.features[i]
            asks.add(self._names[i], x, ask[2])
            state.counts[OPEN, i] += ask[2]
        if rounds < state.counts[[OBSERVED, OPEN]].sum():
            raise _document.Damaged("'rounds' must be at least the pulls and open asks of all arms")
        self._open = asks
        self._set(state, self._names)
        self._plan()  # type: ignore[attr-defined]

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self).from_dict, policy=self._rules.policy), (self.to_dict(),)


def _rules_of(document: dict[str, Any], policy: Policy | None) -> dict[str, Any]:
    """Return the arguments of a bandit with a document's rules."""
    names = take_list(document, "features", None, lambda x: type(x) is str, "names")
    fixed = take(document, "fixed", lambda x: x is None or _is_list(x), "null or a list of lists")
    return {
        **rules_of(document, policy),
        "features": names if fixed is None else fixed,
        "shared": take(document, "shared", is_flag, "true or false"),
    }


def _table(document: dict[str, Any], name: str, rows: int, columns: int) -> Floats:
    """Return a list of lists as an array."""
    lists = take_list(document, name, rows, _is_list, "lists")
    parts_ = [take_floats({name: row}, name, columns) for row in lists]
    return np.array(parts_)


def _is_list(value: Any) -> bool:
    return type(value) is list
