"""The part of `Bandit` that is looked at: what it has learnt, and how likely each arm is next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .._text import to_level
from .._types import Flags, Floats
from ..inference.verdict import Verdict, to_margin, verdict_of
from .decision import State, copy_state
from .names import Arm
from .probabilities import next_probabilities
from .saving import Saved
from .summary import Summary, evidence_of, summarize


class Seen(Saved):
    """The part of `Bandit` that is looked at; looking changes nothing."""

    __slots__ = ()

    if TYPE_CHECKING:  # of `Bandit`
        _ask: Callable[[State], int]
        _rebuild: Callable[[State], None]
        _open_horizon: bool

        @property
        def minimize(self) -> bool: ...
        def _failure(self, error: Exception) -> ValueError: ...

    def summary(self, level: float = 0.95, *, simultaneous: bool = False) -> Summary:
        """Return what is known about the arms, what would be played next, and why.

        Parameters
        ----------
        level : float
            Confidence level of the arms' intervals, which are valid however often you look.
        simultaneous : bool, optional
            Whether all of these intervals should hold together with this level. By default, each
            does by itself.

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
        arm    pulls  open   mean  95% interval (each)  index  share
        red        1     0  0.200  0.005–0.980          2.359  33.3%
        green      2     0  0.700  0.068–0.990          2.227  66.7%
        round 4 of 1,000: OCUCB plays 'red', because its index is the largest.
        """
        level = to_level(level)
        with self._lock:
            names, is_open = list(self._names), self._open_horizon
            ask, rebuild = self._ask, self._rebuild
            state = copy_state(self._state)
        rebuild(state)
        try:
            chosen = ask(copy_state(state))
        except Exception:  # of a user's formula
            chosen = -1
        return summarize(names, self._rules, state, is_open, chosen, level, simultaneous)

    def verdict(self, margin: float = 0.0, level: float = 0.95) -> Verdict:
        """Say whether the experiment may be stopped, and what stopping now would lose.

        It may be asked after every round: with probability `level` it never says "stop" although
        another active arm is better, nor "no difference" although one is better by more than the
        margin. This holds for the arms that are there from the beginning.

        Parameters
        ----------
        margin : float, optional
            A difference that does not matter. With 0, only the best arm ends the experiment.
        level : float, optional
            The confidence of the verdict.

        Returns
        -------
        Verdict
            Prints as a sentence.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.Bandit(["red", "green"], bounds=(0, 1), rng=1)
        >>> bandit.tell(["red"] * 60 + ["green"] * 60, [0, 1] * 30 + [1, 1, 0] * 20)
        >>> bandit.verdict().kind, bandit.verdict(margin=0.2).kind
        ('go on', 'no difference')
        """
        return self._verdict(to_margin(margin), to_level(level))

    def _verdict(self, margin: float, level: float, also: Arm | None = None) -> Verdict:
        """Return the verdict on the active arms, and one that is played by somebody's choice."""
        with self._lock:
            names, arms = list(self._names), self._state.arms.copy()
            rounds = int(self._state.clock["rounds"][0])
        playable: Flags = arms["active"].copy()
        if also is not None:
            playable[names.index(also)] = True
        evidence = evidence_of(self._rules, arms)
        return verdict_of(names, evidence, playable, rounds, self.minimize, margin, level)

    def probabilities(self) -> dict[Arm, float] | None:
        """Return how likely the next `ask` is to choose each active arm, or None if not known.

        What a log of decisions needs for off-policy evaluation. Known for every index policy,
        for randomised ones that state it (Maillard sampling, Tsallis-INF, epsilon-greedy, uniform
        play), and for Thompson sampling with normal and Beta posteriors. Nothing changes.

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
        chances = self._chances(state)
        if chances is None:
            return None
        return dict(zip(names, chances[state.arms["active"]].tolist(), strict=True))

    def _chances(self, state: State) -> Floats | None:
        try:
            return next_probabilities(self._rules.form, state)
        except Exception as error:
            raise self._failure(error) from error
