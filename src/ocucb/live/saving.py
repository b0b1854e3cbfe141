"""A bandit taken apart and rebuilt: as arrays, as a dictionary, as a file, pickled or copied."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from .._document import damaged
from .._text import LARGEST_COUNT, is_truth, shown, to_count
from .._types import Floats, Words
from ..policies import Policy, PolicyFamily
from .base import BaseBandit
from .decision import State, copy_state, new_arms
from .document import largest_squares, to_document, to_parts
from .names import Arm
from .rules import LARGEST_REWARD, Rules
from .tree import Records

B = TypeVar("B", bound="Saved")


class Saved(BaseBandit):
    """The part of `Bandit` that takes it apart and rebuilds it."""

    __slots__ = ("_state",)

    if TYPE_CHECKING:  # of `Bandit`
        _state: State

        def _new_state(
            self, values: Any, horizon: int | None, arms: Records, rounds: int, stream: Words
        ) -> State: ...
        def _set_state(self, state: State) -> None: ...

    def to_parts(self) -> dict[str, Any]:
        """Return rules and state as numbers and arrays: the arguments of `from_parts`.

        Examples
        --------
        >>> import ocucb
        >>> ocucb.Bandit("ab", "ocucb", horizon=1000, bounds=(0, 1)).to_parts()["sums"]
        array([0., 0.])
        """
        with self._lock:
            state, names = copy_state(self._state), list(self._names)
            is_open = self._open_horizon
        rules, arms = self._rules, state.arms
        return {
            "arms": names,
            "policy": rules.policy,
            "horizon": None if is_open else int(state.horizon),
            "bounds": rules.bounds,
            "sigma": rules.sigma if rules.bounds is None else None,
            "minimize": rules.minimize,
            "strict": rules.strict,
            "rng": rules.seed,
            "pulls": arms["observed"].astype(np.int64),
            "open": arms["open"].astype(np.int64),
            "sums": rules.reflected(arms["observed"], arms["sum"]),
            "squares": arms["squares"],
            "active": arms["active"],
            "rounds": int(state.clock["rounds"][0]),
            "stream": state.stream,
            "memory": state.memory,
        }

    @classmethod
    def from_parts(
        cls: type[B],
        arms: Iterable[Arm],
        policy: Policy | PolicyFamily | str | None = None,
        horizon: int | None = None,
        *,
        pulls: npt.ArrayLike,
        open: npt.ArrayLike,
        sums: npt.ArrayLike,
        active: npt.ArrayLike,
        rounds: int,
        stream: npt.ArrayLike,
        memory: npt.ArrayLike | None = None,
        squares: npt.ArrayLike | None = None,
        **rules: Any,
    ) -> B:
        """Return the bandit whose `to_parts` gave these parts, for example from a database.

        Parameters
        ----------
        arms, policy, horizon : as for Bandit
            The names of all arms, retired ones included; who chooses; the planning horizon, None
            if it is open.
        pulls, open : array of int
            Rewards observed of each arm, and asks still open.
        sums : array of float
            Sum of the rewards (or losses) observed of each arm.
        active : array of bool
            False for retired arms.
        rounds : int
            Rounds so far: at least the pulls and open asks of all arms.
        stream : array of int
            The four words of 64 bits from which random numbers continue.
        memory : array of float, optional
            What a choice policy remembers. Without it, the policy starts afresh with what is known
            about the arms.
        squares : array of float, optional
            Sum of the squared deviations from each arm's mean: for a policy that takes the
            variance, for intervals if there are bounds, or if sigma is unknown. If there are
            bounds, the largest possible ones are assumed otherwise.
        **rules : dict
            As for `Bandit`: bounds, sigma, minimize, strict, rng.

        Examples
        --------
        >>> import ocucb
        >>> ocucb.Bandit.from_parts(
        ...     ["red", "green"], "ocucb", horizon=1000, bounds=(0, 1), rng=1,
        ...     pulls=[3, 5], open=[0, 1], sums=[1.0, 4.5], active=[True, True],
        ...     rounds=9, stream=[1, 2, 3, 4],
        ... )
        <bandit: 2 arms, OCUCB(alpha=3, psi=2), round 9 of 1,000>
        """
        bandit = cls(arms, policy, horizon, **rules)  # type: ignore[call-arg]
        known = _known(bandit._rules, len(bandit._names), pulls, open, sums, squares, active)
        rounds = to_count(rounds, "rounds", least=0)
        if rounds < known["observed"].sum() + known["open"].sum():
            raise ValueError("rounds must be at least the pulls and open asks of all arms.")
        words = _array(stream, "stream", np.uint64, 4)
        if not words.any():
            raise ValueError("stream must not be all zeros.")
        told = None if bandit._open_horizon else int(bandit._state.horizon)
        state = bandit._new_state(bandit._state.values, told, known, rounds, words)
        if memory is not None:
            state.memory[:] = _array(memory, "memory", np.float64, state.memory.size)
        if bandit._rules.policy.is_ours and not np.isfinite(state.memory).all():
            raise ValueError("memory must hold finite numbers.")
        bandit._set_state(state)
        if bandit._first_rewards is not None:
            totals = bandit._rules.reflected(known["observed"], known["sum"])
            bandit._first_rewards = bandit._first_rewards.after(
                known["observed"], totals, known["squares"]
            )
        return bandit

    def to_dict(self) -> dict[str, Any]:
        """Return rules and state as numbers, strings and lists: what `save` writes.

        Examples
        --------
        >>> import ocucb
        >>> ocucb.Bandit("ab", "ocucb", horizon=1000, bounds=(0, 1)).to_dict()["sums"]
        [0.0, 0.0]
        """
        return to_document(self.to_parts(), self._rules)

    @classmethod
    def _restored(cls: type[B], document: Any, policy: Any, source: str) -> B:
        parts = to_parts(document, policy, source)
        try:
            return cls.from_parts(**parts)
        except (TypeError, ValueError) as error:
            raise damaged(source, error) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self).from_parts, **self.to_parts()), ()


def _known(
    rules: Rules, size: int, pulls: Any, pending: Any, sums: Any, squares: Any, active: Any
) -> Records:
    """Return what is known about the arms, or say what is wrong with it."""
    arms, form = new_arms(size), rules.form.family
    arms["observed"], arms["open"] = _counts(pulls, "pulls", size), _counts(pending, "open", size)
    totals = _array(sums, "sums", np.float64, size)
    if not (np.abs(totals) <= LARGEST_REWARD * arms["observed"]).all():
        raise ValueError("sums must be finite, and 0 where there are no pulls.")
    if rules.binary and not _are_counts(totals, arms["observed"]):
        raise ValueError("sums must be numbers of successes, at most the pulls.")
    arms["sum"] = rules.reflected(arms["observed"], totals)
    if squares is not None:
        arms["squares"] = _array(squares, "squares", np.float64, size)
        if not ((arms["squares"] >= 0.0) & np.isfinite(arms["squares"])).all():
            raise ValueError("squares must be finite and at least 0.")
    elif form.rule.takes_variance and form is not rules.policy.family.variance_form:
        raise ValueError(f"{rules.policy.label} takes the variance: pass squares=.")
    elif rules.bounds is not None:
        arms["squares"] = largest_squares(arms["observed"], totals, *rules.bounds)
    elif rules.sigma is None:
        raise ValueError("sigma is unknown, so that intervals need the variance: pass squares=.")
    arms["active"] = _array(active, "active", np.bool_, size)
    if not arms["active"].any():
        raise ValueError("at least one arm must be active.")
    return arms


def _array(values: Any, what: str, kind: type[np.generic], size: int) -> npt.NDArray[Any]:
    """Return an array of its own with `size` elements of one kind."""
    try:
        if kind is not np.bool_ and (is_truth(values) or is_truth(np.asarray(values))):
            raise TypeError
        array = np.array(values, dtype=kind)
    except (OverflowError, TypeError, ValueError):
        raise TypeError(f"{what} must be a list of numbers, got {shown(values)}.") from None
    if array.shape != (size,):
        raise ValueError(f"{what} must hold {size} numbers, got an array of shape {array.shape}.")
    return array


def _counts(values: Any, what: str, size: int) -> Floats:
    counts = _array(values, what, np.float64, size)
    if not _are_counts(counts, float(LARGEST_COUNT)):
        raise ValueError(f"{what} must hold whole numbers from 0 to 2^53.")
    return counts


def _are_counts(values: Floats, most: Floats | float) -> bool:
    return bool(((values >= 0) & (values <= most) & (values == np.rint(values))).all())
