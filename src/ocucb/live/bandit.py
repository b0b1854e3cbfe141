"""`Bandit`, the object people hold: ask which arm to play, tell what it paid.

It checks, explains and locks; `ocucb.live.decision` decides what to play.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from .._keywords import hinted
from .._text import shown, to_count
from .._types import Floats, Words
from ..policies import Policy, PolicyFamily
from ..policies._declarations import check_declarations
from ..policies._families import formula_raised
from ..policies._rules import ChoiceRule
from .decision import State, compile_kernels, new_arms, new_state
from .looking import Seen
from .names import NAMES, Arm, Positions, is_list, to_names
from .probabilities import chance_of_choice
from .rules import horizons
from .tree import Records


class Bandit(Seen):
    """A repeated choice that learns from its outcomes.

    Parameters
    ----------
    arms : list of str or int
        Distinct names of the arms.
    policy : Policy, PolicyFamily or str, optional
        The policy that chooses: ``ocucb.OCUCB()``, ``"moss"``, or a policy of your own. Without
        one, `KLOCUCB`; if neither bounds nor sigma are given, `OCUCBNormal`.
    horizon : int, optional
        Rounds that you expect to play, n: a planning horizon, not a limit (see `ask` and `extend`).
        Without one, it is open: 1,000 at first, and n^1.5 whenever n is reached.
    bounds : (low, high), optional
        Rewards lie between these; sigma is then half the width.
    sigma : float, optional
        Instead of bounds: rewards are sigma-subgaussian, for example normal with this standard
        deviation. Without either, sigma is unknown, and the policy must be one that does not need
        it.
    minimize : bool, optional
        Rewards are losses: smaller is better.
    strict : bool, optional
        Reject rewards outside the bounds instead of warning once.
    rng : int, numpy Generator or None, optional
        Seed for everything random: ties and randomised policies. None draws a fresh seed.

    Notes
    -----
    A bandit is thread-safe. Open asks count as pulls in the bonus but not in the mean: see
    docs/live.md.

    Examples
    --------
    >>> import ocucb
    >>> bandit = ocucb.Bandit(["red", "green"])
    >>> bandit.ask()
    'red'
    >>> bandit.tell("red", 0.2)
    >>> bandit.ask()
    'green'
    >>> bandit.tell("green", 0.7)
    >>> bandit
    <bandit: 2 arms, OCUCBNormal(alpha=3, psi=2), round 2 of 1,000 or more>

    Whoever knows more gets more:

    >>> clicks = ocucb.Bandit(["red", "green"], horizon=5000, bounds=(0, 1), rng=1)
    >>> clicks.tell(["red", "green"], [0, 1])
    >>> clicks.ask()
    'green'
    """

    __slots__ = ("_ask", "_rebuild", "_rounds", "_tell")

    @hinted
    def __init__(
        self,
        arms: Iterable[Arm],
        policy: Policy | PolicyFamily | str | None = None,
        horizon: int | None = None,
        *,
        bounds: tuple[float, float] | None = None,
        sigma: float | None = None,
        minimize: bool = False,
        strict: bool = False,
        rng: Any = None,
    ) -> None:
        super().__init__()
        horizon = self._take_rules(arms, policy, horizon, bounds, sigma, minimize, strict, rng)
        self._positions = Positions(self._names)
        values = self.policy.arguments(horizons(horizon, 0)[0])
        self._ask, self._tell, self._rebuild = compile_kernels(self._rules.form, values)
        arms, stream = new_arms(len(self._names)), self._new_stream()
        self._set_state(self._new_state(values, horizon, arms, 0, stream))

    def _new_state(
        self,
        values: tuple[Any, ...],
        horizon: int | None,
        arms: Records,
        rounds: int,
        stream: Words,
    ) -> State:
        form, sigma = self._rules.form, self._rules.sigma
        planned = horizons(horizon, rounds)
        for end in planned:  # so that nothing can be wrong when an open horizon grows
            check_declarations(form, end, int(arms["active"].sum()))
        sigma = 0.0 if sigma is None else sigma  # no rule depends on it then
        state = new_state(form.family, values, planned[0], sigma, arms, rounds, stream)
        self._rebuild(state)
        return state

    def _set_state(self, state: State) -> None:
        self._state, self._rounds = state, state.clock["rounds"]  # a view: quick to read

    # Reading

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
        """Rounds so far: asks and unsolicited rewards."""
        return int(self._rounds.item())

    def __len__(self) -> int:
        return int(self._state.clock["active"].item())

    def __repr__(self) -> str:
        arms = f"{len(self)} arm{'s' if len(self) > 1 else ''}"
        end = f"{self.horizon:,}{' or more' if self._open_horizon else ''}"
        return f"<bandit: {arms}, {self.policy!r}, round {self.rounds:,} of {end}>"

    # Playing

    @overload
    def ask(self) -> Arm: ...
    @overload
    def ask(self, count: int) -> list[Arm]: ...
    def ask(self, count: int | None = None) -> Arm | list[Arm]:
        """Decide which arm to play next.

        Arms that were never played come first, in order. Beyond a horizon that you gave, every
        round is played like the last one, with a warning the first time.

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
            before = self._state
            stream, memory = before.stream.copy(), before.memory.copy()
            chosen: list[int] = []
            try:
                for _ in range(count):
                    chosen.append(self._choose())
            except BaseException:
                self._take_back(before, chosen, stream, memory)
                raise
            return [self._names[i] for i in chosen]

    def _choose(self) -> int:
        state = self._state
        if not self._warned_of_horizon and self._rounds.item() >= state.horizon:
            self._warn_of_horizon()
        stream, memory = state.stream.copy(), state.memory.copy()
        try:
            arm = self._ask(state)
        except Exception as error:
            self._take_back(state, [], stream, memory)
            raise self._failure(error) from error
        if arm < 0:
            self._take_back(state, [], stream, memory)
            reason = self._rules.form.family.rule.failure("NaN or no arm")
            raise self._no_choice(f"its formula returned {reason}.")
        self._grow()
        return arm

    def _grow(self) -> None:
        """Plan farther if an open horizon is reached: it is a function of the rounds."""
        if self._open_horizon and self._rounds.item() >= self._state.horizon:
            self._set_state(self._with_arms(self._state.arms))

    def _failure(self, error: Exception) -> ValueError:
        """Return what to say where the policy's formula raised an error."""
        if isinstance(error, IndexError):
            return ValueError(self.policy.family.out_of_bounds(len(self)))
        return self._no_choice(formula_raised(error))

    def _take_back(self, state: State, chosen: list[int], stream: Words, memory: Floats) -> None:
        """Undo decisions that could not be completed; `state` was there before them."""
        rounds = self.rounds - len(chosen)
        for i in chosen:
            state.arms["open"][i] -= 1.0
        state.clock["rounds"] = rounds
        state.stream[:], state.memory[:] = stream, memory
        self._rebuild(state)
        self._set_state(state)

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
            i = self._positions.find(arm)
            if i < 0 and is_list(arm):
                self._tell_all(list(arm), reward)
            else:
                self._add(i if i >= 0 else self._position(arm), self._gain(reward))

    def _tell_all(self, arms: Any, rewards: Any) -> None:
        try:
            rewards = list(rewards)
        except TypeError:
            wrong = f"a list of arms needs a list of rewards, got {shown(rewards)}."
            raise TypeError(wrong) from None
        if len(arms) != len(rewards):
            counts = f"{len(arms)} arms and {len(rewards)} rewards"
            raise ValueError(f"there must be one reward for each arm, got {counts}.")
        positions = [self._position(arm) for arm in arms]
        gains = [self._gain(reward) for reward in rewards]
        for i, gain in zip(positions, gains, strict=True):
            self._add(i, gain)

    def _add(self, i: int, gain: float) -> None:
        """Close an open ask of arm i, if any, with what its reward adds to the sum."""
        if self._rules.minimize and self._rules.zero > 0.0:
            # Saved sums are of losses, pulls - sum: round so that the way back gives this sum.
            count, total = (float(self._state.arms[name][i]) for name in ("observed", "sum"))
            count += 1.0
            gain = count - (count - (total + gain)) - total
        self._note(i, 0.0, 1.0, gain)

    def _note(self, i: int, asks: float, rewards: float, gain: float) -> None:
        """Open an ask of arm i, or close one."""
        self._tell(self._state, i, asks, rewards, gain)
        self._grow()

    def play(self, arm: Arm) -> None:
        """Record that an arm is played by your own choice: its reward is pending, as after an ask.

        For a fixed share of traffic, or a fallback. Retired arms can be played, too.

        Parameters
        ----------
        arm : str or int
            Its name.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit("abc", "moss", horizon=100, sigma=1)
        >>> bandit.play("b")
        >>> bandit.ask(2)
        ['a', 'c']
        """
        with self._lock:
            self._note(self._position(arm), 1.0, 0.0, 0.0)

    def _decide(self, arm: int = -1) -> tuple[int, float | None]:
        """Play the policy's choice, or the active arm at this position.

        Returns its position and the probability with which the policy chooses it, None if not
        known: `probabilities` and then `ask` or `play`, but each arm is evaluated once.
        """
        with self._lock:
            if arm >= 0:
                self._rebuild(self._state)
                chances = self._chances(self._state)
                self._note(arm, 1.0, 0.0, 0.0)
            elif isinstance(self._rules.form.family.rule, ChoiceRule):
                chances = self._chances(self._state)
                arm = self._choose()
            else:
                state = self._state  # `ask` leaves there what it compared
                arm = self._choose()
                return arm, chance_of_choice(self._rules.form, state, arm)
            return arm, None if chances is None else float(chances[arm])

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
            self._note(i, 0.0, 0.0, 0.0)

    # Changing the rules while it runs

    def extend(self, horizon: int) -> None:
        """Plan for more rounds; of an open horizon: tell it.

        Indices are then computed for the new horizon. A policy with its own memory (improved UCB,
        explore-then-commit) starts afresh with what is known about the arms.

        Parameters
        ----------
        horizon : int
            The new number of rounds, larger than the old one, or than the rounds so far if the
            horizon was open.

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
            self._check_later(horizon)
            values = self.policy.arguments(horizon)
            self._ask, self._tell, self._rebuild = compile_kernels(self._rules.form, values)
            arms, stream = self._state.arms, self._state.stream
            self._set_state(self._new_state(values, horizon, arms, self.rounds, stream))
            self._warned_of_horizon = self._open_horizon = False

    def add(self, arms: Arm | Iterable[Arm]) -> None:
        """Add arms, or reinstate retired ones with everything known about them.

        New arms are played once before any other, in order. K in the policy's formula grows, and a
        policy with its own memory starts afresh with what is known about the arms.

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
            state, names = self._with_arms(grown), self._names + new
            positions = self._positions.extended(names)
            # one after the other, with nothing in between that could be interrupted
            self._names, self._positions, self._state = names, positions, state
            self._rounds = state.clock["rounds"]

    def retire(self, arms: Arm | Iterable[Arm]) -> None:
        """Stop playing arms; what is known about them stays, and rewards may still arrive.

        K in the policy's formula shrinks, and a policy with its own memory starts afresh.

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
        state, horizon = self._state, None if self._open_horizon else self.horizon
        return self._new_state(state.values, horizon, arms, self.rounds, state.stream)
