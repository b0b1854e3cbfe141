"""A bandit that lives: ask which arm to play, tell what it paid, stop and go on at any time.

`Bandit` checks, explains, locks and saves; what to play is decided by the kernels of
`ocucb.engine.online`, which say how. Policies know nothing of either.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from math import inf, isfinite
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from numba.core.errors import NumbaError

from . import __version__
from ._compile import entry_point, interruptible, numba_message
from ._files import replacing
from ._names import Arm, Positions, to_names
from ._text import LARGEST_COUNT, to_count
from .engine.online import ACTIVE, ARMS, OPEN, ROUNDS, SUM, TOLD, kernels_of, tree_for
from .policies import FAMILIES, Policy, PolicyFamily, parse_policy, to_policies
from .policies._declarations import check_declarations
from .random import CHOICES, start_stream, stream_key, to_seed
from .summary import Summary, explain, interval

_FORMAT = "ocucb-bandit"
_VERSION = 1
_LARGEST_REWARD = 1e100  # sums of these stay far from overflow
_NAMES = (str, int, np.integer)


class Bandit:
    """A choice that is made again and again, and learned from.

    Parameters
    ----------
    arms : list of str or int
        Names of the arms, all different.
    policy : Policy, PolicyFamily or str
        Who chooses: ``ocucb.OCUCB()``, ``"moss"``, or a policy of your own.
    horizon : int
        Rounds that you expect to play, n. It is a promise, not a wall: see `ask` and `extend`.
    bounds : (low, high), optional
        Rewards lie between these; sigma is then half the width.
    sigma : float, optional
        Instead of bounds: rewards are sigma-subgaussian, for example normal with this standard
        deviation.
    minimize : bool
        Rewards are losses: the smaller the better.
    strict : bool
        Refuse a reward outside the bounds, instead of warning once.
    rng : int, numpy Generator or None
        Seed of what is random: ties, and randomised policies. None takes a new one.

    Attributes
    ----------
    policy : Policy
    bounds : (float, float) or None
    sigma : float
    minimize, strict : bool
    seed : int
        ``rng=seed`` makes the same choices again, given the same rewards.

    Notes
    -----
    Any number of threads may share a bandit. Open asks count as pulls in the bonus, not in the
    mean: see docs/live.md.

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
        "_ask",
        "_bounds",
        "_high",
        "_lock",
        "_low",
        "_minimize",
        "_names",
        "_policy",
        "_positions",
        "_rebuild",
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
        (self._policy,) = to_policies([policy])
        horizon = to_count(horizon, "horizon")
        self._bounds, self._sigma = _scale(bounds, sigma)
        self._minimize, self._strict = bool(minimize), bool(strict)
        self._low, self._high = self.bounds or (-_LARGEST_REWARD, _LARGEST_REWARD)
        self._zero = 0.0  # minimizing, a loss counts as this minus the loss
        if self.policy.family.rewards == "bernoulli":
            if self.bounds != (0.0, 1.0):
                raise ValueError(
                    f"{self.policy.label} is made for rewards of 0 and 1: give bounds=(0, 1)."
                )
            self._zero = 1.0
        self._seed = to_seed(rng)
        stream = np.empty(4, dtype=np.uint64)
        start_stream(stream, stream_key(self.seed, "live"), 0, CHOICES)
        self._lock, self._saving = threading.RLock(), threading.RLock()
        self._warned_of_bounds = self._warned_of_horizon = False
        self._names = names
        self._positions = Positions(names)
        arguments = self.policy.arguments(horizon)
        if not self.policy.is_ours:
            check_declarations(self.policy, arguments, horizon, len(names))
        self._ask, self._tell, self._rebuild = _compile(self.policy, arguments)
        table = np.zeros((len(names), 4))
        table[:, ACTIVE] = 1.0
        self._state = self._build(arguments, horizon, table, 0, stream)

    def _build(
        self,
        arguments: tuple[Any, ...],
        horizon: int,
        table: npt.NDArray[np.float64],
        rounds: int,
        stream: npt.NDArray[np.uint64],
        memory: npt.NDArray[np.float64] | None = None,
    ) -> tuple[Any, ...]:
        """Return what the kernels work on; without `memory` a choice policy starts afresh."""
        state = _state(self.policy.family, arguments, horizon, self.sigma, table, stream, memory)
        state[_CLOCK][ROUNDS] = rounds
        self._rebuild(*state)
        return state

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(getattr(Bandit, name, None), property):
            raise AttributeError(
                f"{name} of a bandit cannot be set; make a new bandit, or use extend, add and "
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
        """Between these lie the rewards, if that was said."""
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
        """Whether a reward outside the bounds is refused."""
        return self._strict

    @property
    def seed(self) -> int:
        """With ``rng=seed`` the same choices are made again, given the same rewards."""
        return self._seed

    @property
    def arms(self) -> list[Arm]:
        """The arms that may be asked for, in order."""
        with self._lock:
            active = self._state[_ARMS][:, ACTIVE].tolist()
            return [name for name, on in zip(self._names, active, strict=True) if on]

    @property
    def retired(self) -> list[Arm]:
        """The arms that were retired, in order."""
        with self._lock:
            active = self._state[_ARMS][:, ACTIVE].tolist()
            return [name for name, on in zip(self._names, active, strict=True) if not on]

    @property
    def horizon(self) -> int:
        """Rounds that were promised."""
        return int(self._state[_HORIZON])

    @property
    def rounds(self) -> int:
        """Rounds so far: asks, and rewards that nobody had asked for."""
        return int(self._state[_CLOCK].item(ROUNDS))

    def __len__(self) -> int:
        return int(self._state[_CLOCK].item(ARMS))

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
            Ask for so many decisions at once.

        Returns
        -------
        str or int, or a list of them
            The arm; for a count, a list of arms, in which one arm may stand several times.

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
            stream, memory = self._state[_STREAM].copy(), self._state[_MEMORY].copy()
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
        if not self._warned_of_horizon and state[_CLOCK].item(ROUNDS) >= state[_HORIZON]:
            warnings.warn(
                f"round {self.rounds + 1} lies beyond the horizon {self.horizon}, and is played "
                "like the last one before it; extend(horizon) sets a new one.",
                stacklevel=3,
            )
            self._warned_of_horizon = True
        stream, memory = state[_STREAM].copy(), state[_MEMORY].copy()
        try:
            arm = self._ask(*state)
        except IndexError:
            state[_STREAM][:], state[_MEMORY][:] = stream, memory
            raise ValueError(self.policy.family.out_of_bounds(len(self))) from None
        if arm < 0:
            raise ValueError(
                f"{self.policy.label} could not choose an arm in round {self.rounds + 1}: its "
                "formula gave something that is not a number, or no arm."
            )
        return arm

    def _take_back(
        self,
        chosen: list[int],
        stream: npt.NDArray[np.uint64],
        memory: npt.NDArray[np.float64],
    ) -> None:
        """Undo the decisions of a group that could not be finished."""
        for i in chosen:
            self._state[_ARMS][i, OPEN] -= 1.0
        self._state[_CLOCK][ROUNDS] -= len(chosen)
        self._state[_STREAM][:] = stream
        self._state[_MEMORY][:] = memory
        self._rebuild(*self._state)

    @overload
    def tell(self, arm: Arm, reward: float) -> None: ...
    @overload
    def tell(self, arm: Sequence[Arm], reward: Sequence[float]) -> None: ...
    def tell(self, arm: Any, reward: Any) -> None:
        """Report the reward of an arm.

        It closes one of the arm's open asks, whichever: they are all alike. Where none is open,
        it is extra data and counts as one more pull. Retired arms take rewards too.

        Parameters
        ----------
        arm : str or int, or a list of them
            The arm that was played.
        reward : float, or a list of them
            What it paid. With lists, either all rewards are taken or, after an error, none.

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
                self._tell(*self._state, i, 1.0, self._gain(reward))
            elif isinstance(arm, _NAMES) or not _is_list(arm):
                self._position(arm)  # says what is wrong
            else:
                self._tell_all(list(arm), reward)

    def _tell_all(self, arms: Any, rewards: Any) -> None:
        try:
            rewards = list(rewards)
        except TypeError:
            raise TypeError(f"a list of arms needs a list of rewards, got {rewards!r}.") from None
        if len(arms) != len(rewards):
            raise ValueError(
                f"there must be one reward for each arm, got {len(arms)} arms and "
                f"{len(rewards)} rewards."
            )
        places = [self._position(arm) for arm in arms]
        gains = [self._gain(reward) for reward in rewards]
        for i, gain in zip(places, gains, strict=True):
            self._tell(*self._state, i, 1.0, gain)

    def cancel(self, arm: Arm) -> None:
        """Close an open ask of an arm whose reward will never come.

        The round stays counted; the pull does not.

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
            if self._state[_ARMS][i, OPEN] == 0:
                raise ValueError(f"arm {arm!r} has no open ask that could be cancelled.")
            self._tell(*self._state, i, 0.0, 0.0)

    def _position(self, arm: Any) -> int:
        try:
            i = self._positions.find(arm)
        except TypeError:  # it has no hash
            i = -1
        if i < 0:
            some = ", ".join(map(repr, self._names[:5])) + (", …" if len(self._names) > 5 else "")
            raise ValueError(f"unknown arm {arm!r}; this bandit has {some}.")
        return i

    def _gain(self, reward: Any) -> float:
        """Return what a reward adds to a sum that is to be made large."""
        if type(reward) is not float:
            reward = _number(reward, "reward")
        if not self._low <= reward <= self._high:
            if not abs(reward) <= _LARGEST_REWARD:
                size = "finite" if not isfinite(reward) else "between -1e100 and 1e100"
                raise ValueError(f"reward must be {size}, got {reward}.")
            place = f"reward {reward!r} lies outside the bounds {self._low:g} and {self._high:g}"
            if self._strict:
                raise ValueError(f"{place}.")
            if self._zero == 0.0 and not self._warned_of_bounds:
                warnings.warn(f"{place}; such rewards are taken as they are.", stacklevel=3)
                self._warned_of_bounds = True
        if self._zero == 1.0 and reward not in (0.0, 1.0):
            raise ValueError(f"{self.policy.label} takes rewards of 0 and 1, got {reward!r}.")
        gain: float = self._zero - reward if self._minimize else reward
        return gain

    # Changing the rules while it runs

    def extend(self, horizon: int) -> None:
        """Promise more rounds.

        Indices are worked out for the new horizon from here on. A policy with a memory of its own
        (improved UCB, explore-then-commit) starts afresh with what is known about the arms.

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
            arguments = self.policy.arguments(horizon)
            self._ask, self._tell, self._rebuild = _compile(self.policy, arguments)
            table, stream = self._state[_ARMS], self._state[_STREAM]
            self._state = self._build(arguments, horizon, table, self.rounds, stream)
            self._warned_of_horizon = False

    def add(self, arms: Arm | Iterable[Arm]) -> None:
        """Add arms, or bring back retired ones with all that is known about them.

        New arms are played once before any other, in order. K in the policy's formula is the
        number of arms that are not retired, so it grows. A policy with a memory of its own starts
        afresh with what is known about the arms.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit(["red"], "moss", horizon=100, sigma=1)
        >>> bandit.add(["green", "blue"])
        >>> bandit.arms
        ['red', 'green', 'blue']
        """
        names = to_names([arms] if isinstance(arms, _NAMES) else arms)
        with self._lock:
            new = [name for name in names if self._positions.find(name) < 0]
            old = [i for name in names if (i := self._positions.find(name)) >= 0]
            table = self._state[_ARMS]
            for i in old:
                if table[i, ACTIVE]:
                    raise ValueError(f"arm {self._names[i]!r} is there already.")
            grown = np.zeros((len(table) + len(new), 4))
            grown[: len(table)] = table
            grown[len(table) :, ACTIVE] = 1.0
            grown[old, ACTIVE] = 1.0
            state = self._rearranged(grown)
            names = self._names + new
            positions = self._positions.extended(names)
            # one after the other, with nothing in between that could be interrupted
            self._names, self._positions, self._state = names, positions, state

    def retire(self, arms: Arm | Iterable[Arm]) -> None:
        """Stop asking for arms; what is known about them stays, and open rewards may still come.

        K in the policy's formula shrinks. A policy with a memory of its own starts afresh with what
        is known about the arms.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit(["red", "green"], "moss", horizon=100, sigma=1)
        >>> bandit.retire("red")
        >>> bandit.ask(), bandit.retired
        ('green', ['red'])
        """
        names = to_names([arms] if isinstance(arms, _NAMES) else arms)
        with self._lock:
            places = [self._position(name) for name in names]
            table = self._state[_ARMS].copy()
            for i in places:
                if not table[i, ACTIVE]:
                    raise ValueError(f"arm {self._names[i]!r} is retired already.")
            table[places, ACTIVE] = 0.0
            if not table[:, ACTIVE].any():
                raise ValueError("the last arm cannot be retired: add another one first.")
            self._state = self._rearranged(table)

    def _rearranged(self, table: npt.NDArray[np.float64]) -> tuple[Any, ...]:
        """Return the state with other arms."""
        arguments, stream = self._state[0], self._state[_STREAM]
        return self._build(arguments, self.horizon, table, self.rounds, stream)

    # Looking

    def summary(self, level: float = 0.95) -> Summary:
        """Return what is known about the arms, what would be played next, and why.

        Parameters
        ----------
        level : float
            How often the confidence interval of an arm covers its mean, however often one looks.

        Returns
        -------
        Summary
            Prints as a table, renders as one in a notebook, and has a `plot`. Nothing changes by
            looking: the next `ask` gives the arm that is named here.

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
        level = _number(level, "level")
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, got {level:g}.")
        with self._lock:
            names = list(self._names)
            ask, rebuild = self._ask, self._rebuild
            state = tuple(
                part.copy() if isinstance(part, np.ndarray) else part for part in self._state
            )
        rebuild(*state)
        table, index = state[_ARMS].copy(), state[_CEILINGS].copy()
        rounds = int(state[_CLOCK][ROUNDS])
        chosen = ask(*state)
        why = explain(self.policy, table, index, chosen, self.minimize)
        told = table[:, TOLD]
        mean = np.full(len(names), np.nan)
        np.divide(table[:, SUM], told, out=mean, where=told > 0)
        index[(told == 0) | (table[:, ACTIVE] == 0) | (self.policy.family.kind != "index")] = np.nan
        if self.minimize:
            mean, index = self._zero - mean, self._zero - index
        low, high = interval(mean, told, self.sigma, level)
        if self.bounds is not None:
            low, high = np.clip(low, *self.bounds), np.clip(high, *self.bounds)
        pulls = told + table[:, OPEN]
        return Summary(
            arms=names,
            pulls=told.astype(np.int64),
            open=table[:, OPEN].astype(np.int64),
            mean=mean,
            low=low,
            high=high,
            index=index,
            share=pulls / max(1.0, pulls.sum()),
            retired=table[:, ACTIVE] == 0,
            level=level,
            policy=self.policy.label,
            round=rounds + 1,
            horizon=int(state[_HORIZON]),
            minimize=self.minimize,
            next_arm=names[chosen] if chosen >= 0 else None,
            why=why,
        )

    # Keeping

    def to_dict(self) -> dict[str, Any]:
        """Return the whole state as numbers, strings and lists: what `save` writes.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit(["red", "green"], "ocucb", horizon=1000, bounds=(0, 1), rng=1)
        >>> bandit.tell("green", 0.25)
        >>> bandit.to_dict()["sums"]
        [0.0, 0.25]
        """
        with self._lock:
            table = self._state[_ARMS].copy()
            names, rounds, horizon = list(self._names), self.rounds, self.horizon
            stream, memory = self._state[_STREAM].tolist(), self._state[_MEMORY].tolist()
        sums = table[:, SUM]
        if self.minimize:
            sums = self._zero * table[:, TOLD] - sums
        return {
            "format": _FORMAT,
            "format_version": _VERSION,
            "version": __version__,
            "policy": self.policy.name,
            "own_policy": not _is_known(self.policy),
            "horizon": horizon,
            "bounds": None if self.bounds is None else list(self.bounds),
            "sigma": self.sigma,
            "minimize": self.minimize,
            "strict": self.strict,
            "seed": self.seed,
            "rounds": rounds,
            "stream": [f"{word:016x}" for word in stream],
            "memory": [x if isfinite(x) else str(x) for x in memory],
            "arms": names,
            "pulls": table[:, TOLD].astype(np.int64).tolist(),
            "open": table[:, OPEN].astype(np.int64).tolist(),
            "sums": sums.tolist(),
            "retired": [name for name, on in zip(names, table[:, ACTIVE], strict=True) if not on],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a JSON file that `load` reads.

        The file appears in one piece: whenever the process is killed, there is the old file or
        the new one.

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
        """Read a file that `save` wrote; the bandit goes on as if it had not stopped.

        Parameters
        ----------
        path : path
            The file; it is never changed.
        policy : Policy or PolicyFamily, optional
            The policy, if it is one of your own: the file knows its name only.
        """
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError):
            raise ValueError(
                f"{path} is not a bandit that ocucb saved, or it is damaged: it is not whole JSON."
            ) from None
        return _read(cls, document, policy, str(path))

    @classmethod
    def from_dict(
        cls, document: dict[str, Any], *, policy: Policy | PolicyFamily | None = None
    ) -> Bandit:
        """Return the bandit whose `to_dict` gave `document`.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit(["red", "green"], "ocucb", horizon=1000, bounds=(0, 1), rng=1)
        >>> ocucb.Bandit.from_dict(bandit.to_dict())
        <bandit: 2 arms, OCUCB(alpha=3, psi=2), round 0 of 1,000>
        """
        return _read(cls, document, policy, "this dictionary")

    def __copy__(self) -> Bandit:
        return Bandit.from_dict(self.to_dict(), policy=self.policy)

    def __deepcopy__(self, memo: dict[int, Any]) -> Bandit:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _revived, (self.to_dict(), self.policy)


def _revived(document: dict[str, Any], policy: Policy) -> Bandit:
    return Bandit.from_dict(document, policy=policy)


# Places in the tuple that the kernels are called with.
_HORIZON, _ARMS, _CEILINGS, _CLOCK, _STREAM, _MEMORY = 1, 3, 4, 6, 7, 8


def _state(
    family: PolicyFamily,
    arguments: tuple[Any, ...],
    horizon: float,
    sigma: float,
    table: npt.NDArray[np.float64],
    stream: npt.NDArray[np.uint64],
    memory: npt.NDArray[np.float64] | None = None,
) -> tuple[Any, ...]:
    """Return the arguments of the kernels: the policy, then the state of play."""
    if memory is None:
        size = family.memory(int(table[:, ACTIVE].sum())) if family.memory else 0
        memory = np.zeros(size)
    ceilings = np.full(len(table), -np.inf)
    tree = tree_for(family, len(table))
    clock = np.zeros(5, dtype=np.int64)
    return (arguments, float(horizon), sigma, table, ceilings, tree, clock, stream, memory)


def _compile(
    policy: Policy, arguments: tuple[Any, ...]
) -> tuple[Callable[..., int], Callable[..., None], Callable[..., None]]:
    """Return the policy's kernels; they are compiled now, by playing one arm once."""

    def tried() -> Any:
        ask, tell, rebuild = kernels_of(policy.family)
        table = np.array([[0.0, 0.0, 0.0, 1.0]])
        state = _state(policy.family, arguments, 1.0, 1.0, table, np.ones(4, dtype=np.uint64))
        rebuild(*state)
        told = (*state, ask(*state), 1.0, 0.0)
        tell(*told)
        return entry_point(ask, *state), entry_point(tell, *told), rebuild

    policy.family.code.check(policy.label)
    try:
        return interruptible(tried)  # type: ignore[no-any-return]
    except NumbaError as error:
        raise TypeError(
            f"{policy.label} cannot be compiled by numba: {numba_message(error)}"
        ) from error


def _is_list(value: Any) -> bool:
    """Tell whether something may hold arms: in order, so no dictionary and no set."""
    if isinstance(value, Mapping | Set):
        return False
    try:
        iter(value)
    except TypeError:
        return False
    return True


def _number(value: Any, what: str) -> float:
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        return float(value)
    except OverflowError:
        raise ValueError(f"{what} must be between -1e100 and 1e100, got {value}.") from None
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be a number, got {value!r}.") from None


def _scale(bounds: Any, sigma: Any) -> tuple[tuple[float, float] | None, float]:
    """Return checked bounds and sigma, of which exactly one is given."""
    if (bounds is None) == (sigma is None):
        raise ValueError(
            "give either bounds=(low, high) or sigma=, so that the policy knows how far rewards "
            f"scatter; got {'neither' if bounds is None else 'both'}."
        )
    if bounds is None:
        sigma = _number(sigma, "sigma")
        if not 1e-100 <= sigma <= 1e100:
            limits = "at least 1e-100 and at most 1e100"
            size = limits if 0 < sigma < inf else "greater than 0 and finite"
            raise ValueError(f"sigma must be {size}, got {sigma:g}.")
        return None, sigma
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise TypeError(f"bounds must be a pair (low, high), got {bounds!r}.") from None
    low, high = _number(low, "a bound"), _number(high, "a bound")
    if not (-inf < low < high < inf):
        raise ValueError(f"bounds must be finite, the lower one first, got {low:g} and {high:g}.")
    if not (low >= -_LARGEST_REWARD and high <= _LARGEST_REWARD and high - low >= 2e-100):
        raise ValueError(
            "bounds must lie between -1e100 and 1e100 and at least 2e-100 apart, got "
            f"{low:g} and {high:g}."
        )
    return (low, high), (high - low) / 2


def _is_known(policy: Policy) -> bool:
    """Tell whether a policy is one of the library's, which its name is enough to find."""
    return FAMILIES.get(policy.family.name) is policy.family


class _Damaged(Exception):
    """What is wrong with a document."""


def _read(cls: type[Bandit], document: Any, policy: Any, source: str) -> Bandit:
    """Return the bandit of a document, or say in one sentence what is wrong with it."""
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise ValueError(f"{source} is not a bandit that ocucb saved.")
    if document.get("format_version") != _VERSION:
        raise ValueError(
            f"{source} was saved in format {document.get('format_version')!r}, and this ocucb "
            f"reads format {_VERSION}; a newer ocucb may read it."
        )
    name = document.get("policy")
    if policy is not None:
        (policy,) = to_policies([policy])
        if policy.name != name:
            raise ValueError(f"{source} was saved with policy {name!r}, not {policy.name!r}.")
    elif document.get("own_policy") is True:
        raise ValueError(
            f"{source} was saved with a policy of your own, {name!r}: "
            "give it as Bandit.load(path, policy=...)."
        )
    try:
        return _restored(cls, document, policy)
    except _Damaged as error:
        raise ValueError(f"{source} is damaged: {error}.") from None


def _restored(cls: type[Bandit], document: dict[str, Any], policy: Policy | None) -> Bandit:
    missing = _KEYS - document.keys()
    if missing:
        raise _Damaged(f"{min(missing)!r} is missing")
    names, retired = document["arms"], document["retired"]
    if not (isinstance(names, list) and isinstance(retired, list)):
        raise _Damaged("'arms' and 'retired' must be lists")
    pulls, opened = _counts(document, "pulls"), _counts(document, "open")
    sums = _floats(document, "sums")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # parameters were warned about when they were chosen
            policy = policy or parse_policy(document["policy"])
        bounds, sigma = document["bounds"], document["sigma"]
        bandit = cls(
            names,
            policy,
            document["horizon"],
            bounds=bounds,
            sigma=sigma if bounds is None else None,
            minimize=document["minimize"],
            strict=document["strict"],
            rng=document["seed"],
        )
        gone = [bandit._position(name) for name in retired]
    except (AttributeError, TypeError, ValueError) as error:
        raise _Damaged(str(error).rstrip(".")) from None
    if not len(names) == pulls.size == opened.size == sums.size:
        raise _Damaged("'arms', 'pulls', 'open' and 'sums' differ in length")
    if any(isinstance(flag, bool) is False for flag in (document["minimize"], document["strict"])):
        raise _Damaged("'minimize' and 'strict' must be true or false")
    if len(set(gone)) == len(names):
        raise _Damaged("all arms are retired")
    if (np.abs(sums) > _LARGEST_REWARD * pulls).any():
        raise _Damaged("'sums' holds what so few pulls cannot pay")
    if bandit._zero == 1.0 and ((sums != np.rint(sums)) | (sums < 0) | (sums > pulls)).any():
        raise _Damaged("'sums' must count successes")
    rounds = _counts({"rounds": [document["rounds"]]}, "rounds")[0]
    if rounds < pulls.sum() + opened.sum():
        raise _Damaged("'rounds' is less than the pulls of all arms")
    try:
        stream = np.array([int(word, 16) for word in document["stream"]], dtype=np.uint64)
    except (OverflowError, TypeError, ValueError):
        stream = np.empty(0, dtype=np.uint64)
    if stream.size != 4 or not stream.any():
        raise _Damaged("'stream' must be four words of 64 bits")
    table = np.zeros((len(names), 4))
    table[:, TOLD], table[:, OPEN] = pulls, opened
    table[:, SUM] = bandit._zero * pulls - sums if bandit.minimize else sums
    table[:, ACTIVE] = 1.0
    table[gone, ACTIVE] = 0.0
    fresh = _state(policy.family, (), 1, 1.0, table, stream)
    memory = _floats(document, "memory", finite=_is_known(policy))
    if memory.size != fresh[_MEMORY].size:
        raise _Damaged("'memory' has the wrong length")
    bandit._state = bandit._build(
        bandit._state[0], bandit.horizon, table, int(rounds), stream, memory
    )
    return bandit


_KEYS = frozenset(
    "policy own_policy horizon bounds sigma minimize strict seed rounds stream memory "
    "arms pulls open sums retired".split()
)


def _counts(document: dict[str, Any], key: str) -> npt.NDArray[np.int64]:
    """Return a list of whole numbers."""
    values = document[key]
    if not isinstance(values, list) or not all(
        type(value) is int and 0 <= value <= LARGEST_COUNT for value in values
    ):
        raise _Damaged(f"{key!r} must hold whole numbers from 0 to 2^53")
    return np.array(values, dtype=np.int64)


def _floats(document: dict[str, Any], key: str, finite: bool = True) -> npt.NDArray[np.float64]:
    """Return a list of numbers, which only if not `finite` may be spelled "nan" or "inf"."""
    try:
        kinds = (float, int) if finite else (float, int, str)
        if not all(type(value) in kinds for value in document[key]):
            raise TypeError
        values = np.array([float(value) for value in document[key]], dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        values = np.array([np.nan])
    if finite and not np.isfinite(values).all():
        raise _Damaged(f"{key!r} must hold finite numbers")
    return values
