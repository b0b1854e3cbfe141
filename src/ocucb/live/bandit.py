"""`Bandit`, the public object: ask which arm to play, tell what it paid, save and resume.

`Bandit` checks, explains, locks and saves; `ocucb.live.decision` decides what to play.
"""

from __future__ import annotations

import json
import os
import threading
import time
import warnings
import weakref
from collections.abc import Iterable, Sequence
from math import inf, isfinite
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from .._document import damaged, read_json
from .._files import replacing
from .._text import LARGEST_COUNT, is_truth, shown, to_count, to_float
from .._types import Floats, Words
from .._waiting import at_fork
from ..policies import Policy, PolicyFamily, to_policies
from ..policies._base import formula_raised
from ..policies._declarations import check_declarations
from ..random import CHOICES, start_stream, stream_key, to_seed
from .decision import State, compile_kernels, copy_state, new_arms, new_state
from .document import to_document, to_parts
from .names import NAMES, Arm, Positions, is_list, to_names
from .probabilities import next_probabilities
from .summary import Summary, summarize
from .tree import Records

_LARGEST_REWARD = 1e100  # sums of these stay far from overflow
_PLACE = "between -1e100 and 1e100"
_PATIENCE = 10.0  # seconds that a fork waits for other threads
_MOST_ROUNDS = 10**12  # that anybody lives to see, whatever the horizon


class Bandit:
    """A repeated choice that learns from its outcomes.

    Parameters
    ----------
    arms : list of str or int
        Distinct names of the arms.
    policy : Policy, PolicyFamily or str
        The policy that chooses: ``ocucb.OCUCB()``, ``"moss"``, or a policy of your own.
    horizon : int
        Rounds that you expect to play, n: a planning horizon, not a limit (see `ask` and `extend`).
    bounds : (low, high), optional
        Rewards lie between these; sigma is then half the width.
    sigma : float, optional
        Instead of bounds: rewards are sigma-subgaussian, for example normal with this standard
        deviation.
    minimize : bool, optional
        Rewards are losses: smaller is better.
    strict : bool, optional
        Reject rewards outside the bounds instead of warning once.
    rng : int, numpy Generator or None, optional
        Seed for everything random: ties and randomised policies. None draws a fresh seed.

    Attributes
    ----------
    policy : Policy
    bounds : (float, float) or None
    sigma : float
    minimize, strict : bool
    seed : int
        ``rng=seed`` repeats the choices, given the same rewards.

    Notes
    -----
    A bandit is thread-safe. Open asks count as pulls in the bonus but not in the mean: see
    docs/live.md.

    Examples
    --------
    >>> import ocucb
    >>> bandit = ocucb.Bandit(["red", "green"], ocucb.OCUCB(), horizon=1000, bounds=(0, 1), rng=1)
    >>> bandit.ask()
    'red'
    >>> bandit.tell("red", 0.2)
    >>> bandit.ask()
    'green'
    >>> bandit.tell("green", 0.7)
    >>> bandit.ask()
    'green'
    """

    __slots__ = (
        "__weakref__",
        "_ask",
        "_binary",
        "_bounds",
        "_form",
        "_high",
        "_lock",
        "_low",
        "_minimize",
        "_names",
        "_policy",
        "_positions",
        "_rebuild",
        "_rounds",
        "_saving",
        "_seed",
        "_sigma",
        "_state",
        "_strict",
        "_tell",
        "_warned_of_bounds",
        "_warned_of_horizon",
        "_zero",
    )

    def __init__(
        self,
        arms: Iterable[Arm],
        policy: Policy | PolicyFamily | str,
        horizon: int,
        *,
        bounds: tuple[float, float] | None = None,
        sigma: float | None = None,
        minimize: bool = False,
        strict: bool = False,
        rng: Any = None,
    ) -> None:
        names = to_names(arms)
        (given,) = to_policies([policy])
        self._policy = given.retaken()
        horizon = to_count(horizon, "horizon")
        self._bounds, self._sigma = _scale(bounds, sigma)
        self._minimize, self._strict = bool(minimize), bool(strict)
        rounds = min(horizon, _MOST_ROUNDS)
        farthest = min(_LARGEST_REWARD, self.sigma * 2.0**53 / rounds)
        self._low, self._high = self.bounds or (-farthest, farthest)
        if max(-self._low, self._high) > farthest:
            raise ValueError(
                f"rounding swamps rewards between {self._low!r} and {self._high!r} in sums of "
                f"{rounds:,}; subtract a constant from bounds and rewards."
            )
        unit = self.bounds == (0.0, 1.0)
        self._form = self.policy.on(unit)
        self._binary = self._form.family.binary
        if self._binary and not unit:
            raise ValueError(f"{self.policy.label} needs rewards of 0 and 1: pass bounds=(0, 1).")
        # When minimizing, a loss x is kept as the reward zero - x.
        self._zero = 1.0 if self._binary or self._form != self.policy else 0.0
        self._seed = to_seed(rng)
        stream = np.empty(4, dtype=np.uint64)
        start_stream(stream, stream_key(self.seed, "live"), 0, CHOICES)
        self._lock, self._saving = threading.RLock(), threading.RLock()
        self._warned_of_bounds = self._warned_of_horizon = False
        self._names = names
        self._positions = Positions(names)
        values = self.policy.arguments(horizon)
        self._ask, self._tell, self._rebuild = compile_kernels(self._form, values)
        self._set_state(self._new_state(values, horizon, new_arms(len(names)), 0, stream))
        _ALIVE[id(self)] = self

    def _new_state(
        self, values: tuple[Any, ...], horizon: int, arms: Records, rounds: int, stream: Words
    ) -> State:
        check_declarations(self._form, horizon, int(arms["active"].sum()))
        state = new_state(self._form.family, values, horizon, self.sigma, arms, rounds, stream)
        self._rebuild(state)
        return state

    def _set_state(self, state: State) -> None:
        self._state, self._rounds = state, state.clock["rounds"]  # a view: quick to read

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(getattr(Bandit, name, None), property):
            raise AttributeError(
                f"{name} of a bandit cannot be set; create a new bandit, or use extend, add and "
                "retire."
            )
        object.__setattr__(self, name, value)

    # Reading

    @property
    def policy(self) -> Policy:
        """Who chooses."""
        return self._policy

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The bounds of the rewards, if any were given."""
        return self._bounds

    @property
    def sigma(self) -> float:
        """Rewards are sigma-subgaussian."""
        return self._sigma

    @property
    def minimize(self) -> bool:
        """Whether rewards are losses."""
        return self._minimize

    @property
    def strict(self) -> bool:
        """Whether rewards outside the bounds are rejected."""
        return self._strict

    @property
    def seed(self) -> int:
        """``rng=seed`` repeats the choices, given the same rewards."""
        return self._seed

    @property
    def arms(self) -> list[Arm]:
        """The active arms, in order."""
        return self._where(active=True)

    @property
    def retired(self) -> list[Arm]:
        """The retired arms, in order."""
        return self._where(active=False)

    def _where(self, active: bool) -> list[Arm]:
        with self._lock:
            flags = self._state.arms["active"].tolist()
            return [name for name, flag in zip(self._names, flags, strict=True) if flag == active]

    @property
    def horizon(self) -> int:
        """The number of rounds that the policy plans for."""
        return int(self._state.horizon)

    @property
    def rounds(self) -> int:
        """Rounds so far: asks, and rewards that nobody had asked for."""
        return int(self._rounds.item())

    def __len__(self) -> int:
        return int(self._state.clock["active"].item())

    def __repr__(self) -> str:
        arms = f"{len(self)} arm{'s' if len(self) > 1 else ''}"
        return f"<bandit: {arms}, {self.policy!r}, round {self.rounds:,} of {self.horizon:,}>"

    # Playing

    @overload
    def ask(self) -> Arm: ...
    @overload
    def ask(self, count: int) -> list[Arm]: ...
    def ask(self, count: int | None = None) -> Arm | list[Arm]:
        """Decide which arm to play next.

        Arms that were never played come first, in order. Beyond the horizon every round is played
        like the last one, with a warning the first time.

        Parameters
        ----------
        count : int, optional
            Make this many decisions at once.

        Returns
        -------
        str or int, or a list of them
            The arm; with a count, a list of arms, which may repeat.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit("abc", "moss", horizon=100, sigma=1)
        >>> bandit.ask(5)[:3]
        ['a', 'b', 'c']
        """
        with self._lock:
            if count is None:
                return self._names[self._choose()]
            count = to_count(count, "count")
            stream, memory = self._state.stream.copy(), self._state.memory.copy()
            chosen: list[int] = []
            try:
                for _ in range(count):
                    chosen.append(self._choose())
            except BaseException:
                self._take_back(chosen, stream, memory)
                raise
            return [self._names[i] for i in chosen]

    def _choose(self) -> int:
        state = self._state
        if not self._warned_of_horizon and self._rounds.item() >= state.horizon:
            warnings.warn(
                f"round {self.rounds + 1} lies beyond the horizon {self.horizon}, and is played "
                "like the last one before it; extend(horizon) sets a new one.",
                stacklevel=3,
            )
            self._warned_of_horizon = True
        stream, memory = state.stream.copy(), state.memory.copy()
        try:
            arm = self._ask(state)
        except Exception as error:
            self._take_back([], stream, memory)
            raise self._failure(error) from error
        if arm < 0:
            self._take_back([], stream, memory)
            family, reason = self._form.family, "something that is not a number, or no arm"
            if family.reading != "plain":
                reason = f"a negative budget, or {reason}"
            if family.kind == "sampling":
                reason = "a deviation that is negative or not finite"
            raise ValueError(
                f"{self.policy.label} could not choose an arm in round {self.rounds + 1}: its "
                f"formula gave {reason}."
            )
        return arm

    def _failure(self, error: Exception) -> ValueError:
        """Return what to say where the policy's formula raised an error."""
        if isinstance(error, IndexError):
            return ValueError(self.policy.family.out_of_bounds(len(self)))
        return ValueError(
            f"{self.policy.label} could not choose an arm in round {self.rounds + 1}: "
            f"{formula_raised(error)}"
        )

    def _take_back(self, chosen: list[int], stream: Words, memory: Floats) -> None:
        """Undo decisions that could not be completed."""
        state = self._state
        for i in chosen:
            state.arms["open"][i] -= 1.0
        state.clock["rounds"] -= len(chosen)
        state.stream[:], state.memory[:] = stream, memory
        self._rebuild(state)

    @overload
    def tell(self, arm: Arm, reward: float) -> None: ...
    @overload
    def tell(self, arm: Sequence[Arm], reward: Sequence[float]) -> None: ...
    def tell(self, arm: Any, reward: Any) -> None:
        """Report the reward of an arm.

        It closes one of the arm's open asks; which one makes no difference. If none is open, the
        reward is extra data and counts as one more pull. Retired arms accept rewards too.

        Parameters
        ----------
        arm : str or int, or a list of them
            The arm that was played.
        reward : float, or a list of them
            What it paid. Lists are taken as a whole or, after an error, not at all.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit("abc", "moss", horizon=100, sigma=1)
        >>> bandit.tell("b", 0.5)
        >>> bandit.tell(["a", "c"], [0.1, 0.2])
        >>> bandit.rounds
        3
        """
        with self._lock:
            try:
                i = self._positions.find(arm)
            except TypeError:  # it has no hash, perhaps it is a list
                i = -1
            if i >= 0:
                self._add(i, self._gain(reward))
            elif is_list(arm):
                self._tell_all(list(arm), reward)
            else:
                self._position(arm)  # says what is wrong

    def _tell_all(self, arms: Any, rewards: Any) -> None:
        try:
            rewards = list(rewards)
        except TypeError:
            raise TypeError(
                f"a list of arms needs a list of rewards, got {shown(rewards)}."
            ) from None
        if len(arms) != len(rewards):
            raise ValueError(
                f"there must be one reward for each arm, got {len(arms)} arms and "
                f"{len(rewards)} rewards."
            )
        positions = [self._position(arm) for arm in arms]
        gains = [self._gain(reward) for reward in rewards]
        for i, gain in zip(positions, gains, strict=True):
            self._add(i, gain)

    def _add(self, i: int, gain: float) -> None:
        """Close an open ask of arm i, if any, with what its reward adds to the sum."""
        if self._minimize and self._zero > 0.0:
            # Saved sums are of losses, pulls - sum: round so that the way back gives this sum.
            count, total = (float(self._state.arms[name][i]) for name in ("observed", "sum"))
            count += 1.0
            gain = count - (count - (total + gain)) - total
        self._tell(self._state, i, 1.0, gain)

    def play(self, arm: Arm) -> None:
        """Record that an arm is played by your own choice: its reward is pending, as after an ask.

        For a fixed share of traffic, or a fallback. Retired arms can be played, too.

        Parameters
        ----------
        arm : str or int
            The arm.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit("abc", "moss", horizon=100, sigma=1)
        >>> bandit.play("b")
        >>> bandit.ask(2)
        ['a', 'c']
        """
        with self._lock:
            i = self._position(arm)
            self._state.arms["open"][i] += 1.0
            self._state.clock["rounds"] += 1
            self._rebuild(self._state)

    def cancel(self, arm: Arm) -> None:
        """Close an open ask whose reward will never arrive.

        The round still counts; the pull does not.

        Parameters
        ----------
        arm : str or int
            The arm.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit("abc", "moss", horizon=100, sigma=1)
        >>> bandit.cancel(bandit.ask())
        >>> bandit.ask()
        'a'
        """
        with self._lock:
            i = self._position(arm)
            if self._state.arms["open"][i] == 0:
                raise ValueError(f"arm {arm!r} has no open ask to cancel.")
            self._tell(self._state, i, 0.0, 0.0)

    def _position(self, arm: Any) -> int:
        try:
            i = self._positions.find(arm)
        except TypeError:  # it has no hash
            i = -1
        if i < 0:
            some = ", ".join(map(repr, self._names[:5])) + (", …" if len(self._names) > 5 else "")
            raise ValueError(f"unknown arm {shown(arm)}; this bandit has {some}.")
        return i

    def _gain(self, reward: Any) -> float:
        """Return what a reward adds to the sum that is maximised."""
        if type(reward) is not float:
            reward = to_float(reward, "reward", _PLACE)
        if not self._low <= reward <= self._high:
            if not abs(reward) <= _LARGEST_REWARD:
                size = "finite" if not isfinite(reward) else _PLACE
                raise ValueError(f"reward must be {size}, got {reward}.")
            place = f"reward {reward!r} lies outside the bounds {self._low:g} and {self._high:g}"
            advice = "such rewards are taken as they are"
            if self.bounds is None:
                place = f"rounding swamps rewards as large as {reward!r} with sigma {self.sigma:g}"
                advice = "subtract a constant from all rewards"
            if self._strict:
                raise ValueError(f"{place}; {advice}." if self.bounds is None else f"{place}.")
            if not self._binary and not self._warned_of_bounds:
                warnings.warn(f"{place}; {advice}.", stacklevel=3)
                self._warned_of_bounds = True
        if self._binary and reward not in (0.0, 1.0):
            raise ValueError(f"{self.policy.label} takes rewards of 0 and 1, got {reward!r}.")
        gain: float = self._zero - reward if self._minimize else reward
        return gain

    # Changing the rules while it runs

    def extend(self, horizon: int) -> None:
        """Plan for more rounds.

        From here on, indices are computed for the new horizon. A policy with its own memory
        (improved UCB, explore-then-commit) starts afresh with what is known about the arms.

        Parameters
        ----------
        horizon : int
            The new number of rounds, larger than the old one.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit("abc", "moss", horizon=100, sigma=1)
        >>> bandit.extend(500)
        >>> bandit.horizon
        500
        """
        horizon = to_count(horizon, "horizon")
        with self._lock:
            if horizon <= self.horizon:
                raise ValueError(
                    f"the new horizon must be above the present one, {self.horizon}, got {horizon}."
                )
            values = self.policy.arguments(horizon)
            self._ask, self._tell, self._rebuild = compile_kernels(self._form, values)
            arms, stream = self._state.arms, self._state.stream
            self._set_state(self._new_state(values, horizon, arms, self.rounds, stream))
            self._warned_of_horizon = False

    def add(self, arms: Arm | Iterable[Arm]) -> None:
        """Add arms, or reinstate retired ones with everything known about them.

        New arms are played once before any other, in order. K in the policy's formula is the
        number of active arms, so it grows. A policy with its own memory starts afresh with
        what is known about the arms.

        Parameters
        ----------
        arms : str or int, or a list of them
            New names, or names of retired arms.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit(["red"], "moss", horizon=100, sigma=1)
        >>> bandit.add(["green", "blue"])
        >>> bandit.arms
        ['red', 'green', 'blue']
        """
        names = to_names([arms] if isinstance(arms, NAMES) else arms)
        with self._lock:
            new = [name for name in names if self._positions.find(name) < 0]
            old = [i for name in names if (i := self._positions.find(name)) >= 0]
            known = self._state.arms
            for i in old:
                if known["active"][i]:
                    raise ValueError(f"arm {self._names[i]!r} is already active.")
            grown = np.concatenate([known, new_arms(len(new))])
            grown["active"][old] = True
            state = self._with_arms(grown)
            names = self._names + new
            positions = self._positions.extended(names)
            # one after the other, with nothing in between that could be interrupted
            self._names, self._positions, self._state = names, positions, state
            self._rounds = state.clock["rounds"]

    def retire(self, arms: Arm | Iterable[Arm]) -> None:
        """Stop playing arms; what is known about them stays, and rewards may still arrive.

        K in the policy's formula shrinks. A policy with its own memory starts afresh with what
        is known about the arms.

        Parameters
        ----------
        arms : str or int, or a list of them
            Names of active arms; one must remain.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit(["red", "green"], "moss", horizon=100, sigma=1)
        >>> bandit.retire("red")
        >>> bandit.ask(), bandit.retired
        ('green', ['red'])
        """
        names = to_names([arms] if isinstance(arms, NAMES) else arms)
        with self._lock:
            positions = [self._position(name) for name in names]
            remaining = self._state.arms.copy()
            for i in positions:
                if not remaining["active"][i]:
                    raise ValueError(f"arm {self._names[i]!r} is already retired.")
            remaining["active"][positions] = False
            if not remaining["active"].any():
                raise ValueError("the last active arm cannot be retired: add another one first.")
            self._set_state(self._with_arms(remaining))

    def _with_arms(self, arms: Records) -> State:
        """Return the state with other arms."""
        state = self._state
        return self._new_state(state.values, self.horizon, arms, self.rounds, state.stream)

    # Looking

    def summary(self, level: float = 0.95) -> Summary:
        """Return what is known about the arms, what would be played next, and why.

        Parameters
        ----------
        level : float
            Confidence level of the arms' intervals, each valid however often you look.

        Returns
        -------
        Summary
            Prints as a table, renders as one in a notebook, and has a `plot`. Looking changes
            nothing: the next `ask` returns the arm that is named here.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit(["red", "green"], "ocucb", horizon=1000, bounds=(0, 1))
        >>> bandit.tell(["red", "green", "green"], [0.2, 0.5, 0.9])
        >>> print(bandit.summary())
        arm    pulls  open   mean  95% interval  index  share
        red        1     0  0.200  0.000–1.000   2.359  33.3%
        green      2     0  0.700  0.000–1.000   2.227  66.7%
        round 4 of 1,000: OCUCB plays 'red', because its index is the largest.
        """
        level = to_float(level, "level", "between 0 and 1")
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, got {level:g}.")
        with self._lock:
            names = list(self._names)
            ask, rebuild = self._ask, self._rebuild
            state = copy_state(self._state)
        rebuild(state)
        try:
            chosen = ask(copy_state(state))
        except Exception:  # of a user's formula
            chosen = -1
        return summarize(
            names,
            self.policy,
            state,
            chosen,
            level=level,
            bounds=self.bounds,
            minimize=self.minimize,
            zero=self._zero,
        )

    def probabilities(self) -> dict[Arm, float] | None:
        """Return how likely the next `ask` is to choose each active arm, or None if not known.

        What a log of decisions needs for off-policy evaluation. Known for every index policy,
        for randomised ones that state it (Maillard sampling, Tsallis-INF, epsilon-greedy, uniform
        play), and for Thompson sampling with two arms. Nothing changes.

        Returns
        -------
        dict or None
            Probabilities by arm.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit(["red", "green"], "maillard", horizon=1000, sigma=1, rng=1)
        >>> bandit.tell(["red", "green"], [2.0, 0.0])
        >>> {arm: round(chance, 4) for arm, chance in bandit.probabilities().items()}
        {'red': 0.8808, 'green': 0.1192}
        """
        with self._lock:
            state, rebuild = copy_state(self._state), self._rebuild
            names = [self._names[i] for i in np.flatnonzero(state.arms["active"])]
        rebuild(state)
        try:
            chances = next_probabilities(self._form, state)
        except Exception as error:
            raise self._failure(error) from error
        if chances is None:
            return None
        return dict(zip(names, chances[state.arms["active"]].tolist(), strict=True))

    # Saving

    def to_parts(self) -> dict[str, Any]:
        """Return rules and state as numbers and arrays: the arguments of `from_parts`.

        Returns
        -------
        dict

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit(["red", "green"], "ocucb", horizon=1000, bounds=(0, 1), rng=1)
        >>> bandit.tell("green", 0.25)
        >>> bandit.to_parts()["sums"]
        array([0.  , 0.25])
        """
        with self._lock:
            state, names = copy_state(self._state), list(self._names)
        pulls = state.arms["observed"]
        return {
            "arms": names,
            "policy": self.policy,
            "horizon": int(state.horizon),
            "bounds": self.bounds,
            "sigma": self.sigma if self.bounds is None else None,
            "minimize": self.minimize,
            "strict": self.strict,
            "rng": self.seed,
            "pulls": pulls.astype(np.int64),
            "open": state.arms["open"].astype(np.int64),
            "sums": self._reflected(pulls, state.arms["sum"]),
            "squares": state.arms["squares"],
            "active": state.arms["active"],
            "rounds": int(state.clock["rounds"][0]),
            "stream": state.stream,
            "memory": state.memory,
        }

    @classmethod
    def from_parts(
        cls,
        arms: Iterable[Arm],
        policy: Policy | PolicyFamily | str,
        horizon: int,
        *,
        pulls: npt.ArrayLike,
        open: npt.ArrayLike,
        sums: npt.ArrayLike,
        active: npt.ArrayLike,
        rounds: int,
        stream: npt.ArrayLike,
        memory: npt.ArrayLike = (),
        squares: npt.ArrayLike | None = None,
        **rules: Any,
    ) -> Bandit:
        """Return the bandit whose `to_parts` gave these parts, for example from a database.

        Parameters
        ----------
        arms : list of str or int
            As for `Bandit`.
        policy : Policy, PolicyFamily or str
            As for `Bandit`.
        horizon : int
            As for `Bandit`.
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
            What a choice policy remembers.
        squares : array of float, optional
            Sum of the squared deviations from each arm's mean, for a policy that takes the
            variance.
        **rules : dict
            As for `Bandit`: bounds, sigma, minimize, strict, rng.

        Returns
        -------
        Bandit

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
        bandit = cls(arms, policy, horizon, **rules)
        size = len(bandit._names)
        counts, pending = _counts(pulls, "pulls", size), _counts(open, "open", size)
        totals = _array(sums, "sums", np.float64, size)
        if not (np.abs(totals) <= _LARGEST_REWARD * counts).all():
            raise ValueError("sums must be finite, and 0 where there are no pulls.")
        if bandit._binary and not _are_counts(totals, counts):
            raise ValueError("sums must be numbers of successes, at most the pulls.")
        rounds = to_count(rounds, "rounds", least=0)
        if rounds < counts.sum() + pending.sum():
            raise ValueError("rounds must be at least the pulls and open asks of all arms.")
        words = _array(stream, "stream", np.uint64, 4)
        if not words.any():
            raise ValueError("stream must not be all zeros.")
        known = new_arms(size)
        known["observed"], known["open"] = counts, pending
        known["sum"] = bandit._reflected(counts, totals)
        if squares is not None:
            known["squares"] = _array(squares, "squares", np.float64, size)
            if not ((known["squares"] >= 0.0) & np.isfinite(known["squares"])).all():
                raise ValueError("squares must be finite and at least 0.")
        elif bandit._form.family.takes_variance:
            raise ValueError(f"{bandit.policy.label} takes the variance: pass squares=.")
        known["active"] = _array(active, "active", np.bool_, size)
        if not known["active"].any():
            raise ValueError("at least one arm must be active.")
        state = bandit._new_state(bandit._state.values, bandit.horizon, known, rounds, words)
        state.memory[:] = _array(memory, "memory", np.float64, state.memory.size)
        if bandit.policy.is_ours and not np.isfinite(state.memory).all():
            raise ValueError("memory must hold finite numbers.")
        bandit._set_state(state)
        return bandit

    def _reflected(self, pulls: Floats, sums: Floats) -> Floats:
        """Turn sums of losses into sums of rewards, or back, if losses are minimised."""
        return self._zero * pulls - sums if self.minimize else sums

    def to_dict(self) -> dict[str, Any]:
        """Return rules and state as numbers, strings and lists: what `save` writes.

        Returns
        -------
        dict

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit(["red", "green"], "ocucb", horizon=1000, bounds=(0, 1), rng=1)
        >>> bandit.tell("green", 0.25)
        >>> bandit.to_dict()["sums"]
        [0.0, 0.25]
        """
        return to_document(self.to_parts(), self.sigma)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a JSON file that `load` reads.

        The file is replaced atomically: if the process is killed at any moment, the old file or
        the new one is there.

        Parameters
        ----------
        path : path
            The file; it is replaced in one step.

        Examples
        --------
        >>> import ocucb, os, tempfile
        >>> bandit = ocucb.Bandit(["red", "green"], "ocucb", horizon=1000, bounds=(0, 1), rng=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bandit.save(os.path.join(folder, "colours.json"))
        ...     again = ocucb.Bandit.load(os.path.join(folder, "colours.json"))
        >>> again.ask() == bandit.ask()
        True
        """
        with self._saving:  # so that of two threads that save, the later state stays
            text = json.dumps(self.to_dict(), allow_nan=False)
            with replacing(path) as file:
                file.write(text + "\n")

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, policy: Policy | PolicyFamily | None = None
    ) -> Bandit:
        """Read a file that `save` wrote; the bandit continues as if never interrupted.

        Parameters
        ----------
        path : path
            The file; it is never changed.
        policy : Policy or PolicyFamily, optional
            The policy, if it is one of your own: the file holds only its name.

        Returns
        -------
        Bandit

        Examples
        --------
        >>> import ocucb, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> bandit = ocucb.Bandit("ab", "ucb", horizon=100, sigma=1)
        >>> bandit.tell("a", 0.5)
        >>> bandit.save(folder.name + "/bandit.json")
        >>> ocucb.Bandit.load(folder.name + "/bandit.json").rounds
        1
        """
        return cls._restored(read_json(path), policy, str(path))

    @classmethod
    def from_dict(
        cls, document: dict[str, Any], *, policy: Policy | PolicyFamily | None = None
    ) -> Bandit:
        """Return the bandit whose `to_dict` gave `document`.

        Parameters
        ----------
        document : dict
            What `to_dict` returned.
        policy : Policy or PolicyFamily, optional
            The policy, if it is one of your own.

        Returns
        -------
        Bandit

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit(["red", "green"], "ocucb", horizon=1000, bounds=(0, 1), rng=1)
        >>> ocucb.Bandit.from_dict(bandit.to_dict())
        <bandit: 2 arms, OCUCB(alpha=3, psi=2), round 0 of 1,000>
        """
        return cls._restored(document, policy, "this dictionary")

    @classmethod
    def _restored(cls, document: Any, policy: Any, source: str) -> Bandit:
        parts = to_parts(document, policy, source)
        try:
            return cls.from_parts(**parts)
        except (TypeError, ValueError) as error:
            raise damaged(source, error) from None

    def __deepcopy__(self, memo: dict[int, Any]) -> Bandit:
        return _from_parts(self.to_parts())  # with the very same policy

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_parts, (self.to_parts(),)


_ALIVE: weakref.WeakValueDictionary[int, Bandit] = weakref.WeakValueDictionary()
_FORKING = threading.RLock()
_HELD: list[threading.RLock] = []  # by the thread that forks


def _living() -> list[Bandit]:
    # at once, as other threads may create bandits meanwhile
    return [bandit for one in _ALIVE.valuerefs() if (bandit := one()) is not None]


def _before_fork() -> None:
    """Wait until no other thread changes a bandit, so that a child has each in one piece."""
    _FORKING.acquire()
    deadline = time.monotonic() + _PATIENCE
    for bandit in _living():
        lock = bandit._lock
        if lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            _HELD.append(lock)


def _after_fork() -> None:
    while _HELD:
        _HELD.pop().release()
    _FORKING.release()


def _after_fork_in_child() -> None:
    """Other threads are gone, and cannot release what they hold."""
    _after_fork()
    for bandit in _living():
        bandit._lock, bandit._saving = threading.RLock(), threading.RLock()


at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


def _from_parts(parts: dict[str, Any]) -> Bandit:
    return Bandit.from_parts(**parts)


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


def _scale(bounds: Any, sigma: Any) -> tuple[tuple[float, float] | None, float]:
    """Return checked bounds and sigma, of which exactly one is given."""
    if (bounds is None) == (sigma is None):
        raise ValueError(
            "give either bounds=(low, high) or sigma=, so that the policy knows how much rewards "
            f"vary; got {'neither' if bounds is None else 'both'}."
        )
    if bounds is None:
        sigma = to_float(sigma, "sigma", _PLACE)
        if not 1e-100 <= sigma <= 1e100:
            limits = "at least 1e-100 and at most 1e100"
            size = limits if 0 < sigma < inf else "greater than 0 and finite"
            raise ValueError(f"sigma must be {size}, got {sigma:g}.")
        return None, sigma
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise TypeError(f"bounds must be a pair (low, high), got {shown(bounds)}.") from None
    low, high = (to_float(one, "a bound", _PLACE) for one in (low, high))
    if not (-inf < low < high < inf):
        raise ValueError(f"bounds must be finite, the lower one first, got {low:g} and {high:g}.")
    if not (low >= -_LARGEST_REWARD and high <= _LARGEST_REWARD and high - low >= 2e-100):
        raise ValueError(
            "bounds must lie between -1e100 and 1e100 and at least 2e-100 apart, got "
            f"{low:g} and {high:g}."
        )
    return (low, high), (high - low) / 2
