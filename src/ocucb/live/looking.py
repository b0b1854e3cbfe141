"""The part of `Bandit` that is looked at: what it has learnt, and how likely each arm is next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .._text import to_float
from .._types import Floats
from .decision import State, copy_state
from .names import Arm
from .probabilities import next_probabilities
from .saving import Saved
from .summary import Summary, summarize


class Seen(Saved):
    """The part of `Bandit` that is looked at; looking changes nothing."""

    __slots__ = ()

    if TYPE_CHECKING:  # of `Bandit`
        _ask: Callable[[State], int]
        _rebuild: Callable[[State], None]
        _open_horizon: bool

        def _failure(self, error: Exception) -> ValueError: ...

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
            names, is_open = list(self._names), self._open_horizon
            ask, rebuild = self._ask, self._rebuild
            state = copy_state(self._state)
        rebuild(state)
        try:
            chosen = ask(copy_state(state))
        except Exception:  # of a user's formula
            chosen = -1
        return summarize(names, self._rules, state, is_open, chosen, level)

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
        chances = self._chances(state)
        if chances is None:
            return None
        return dict(zip(names, chances[state.arms["active"]].tolist(), strict=True))

    def _chances(self, state: State) -> Floats | None:
        try:
            return next_probabilities(self._rules.form, state)
        except Exception as error:
            raise self._failure(error) from error
