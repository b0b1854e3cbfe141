"""What `Bandit` and `LinearBandit` share: rules, names of arms, rewards as they come in, files."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._document import read_json
from .._files import replacing
from .._text import shown, to_count, to_float
from .._types import Words
from ..policies import Policy, PolicyFamily
from ..random import CHOICES, start_stream, stream_key
from .forks import Locked
from .names import Arm, Positions, to_names
from .rules import PLACE, FirstRewards, Rules, to_rules

B = TypeVar("B", bound="BaseBandit")


class BaseBandit(Locked):
    """Rules that never change, arms that have names, and a state that is saved and loaded."""

    __slots__ = (
        "_first_rewards", "_names", "_open_horizon", "_positions", "_rules", "_warned_of_bounds",
        "_warned_of_horizon",
    )  # fmt: skip

    if TYPE_CHECKING:  # of `Bandit` and `LinearBandit`
        _positions: Positions

        @property
        def horizon(self) -> int: ...
        @property
        def rounds(self) -> int: ...
        def to_dict(self) -> dict[str, Any]: ...
        @classmethod
        def _restored(cls: type[B], document: Any, policy: Any, source: str) -> B: ...

    def _take_rules(
        self, arms: Any, policy: Any, horizon: int | None, *rules: Any, linear: bool = False
    ) -> int | None:
        """Take what a new bandit is given, and return its horizon: None if it is open."""
        self._names: list[Arm] = to_names(arms)
        self._open_horizon = horizon is None
        if horizon is not None:
            horizon = to_count(horizon, "horizon")
        self._rules: Rules = to_rules(policy, horizon, *rules, linear=linear)
        self._first_rewards: FirstRewards | None = self._rules.first_rewards(horizon)
        self._warned_of_bounds = self._warned_of_horizon = False
        return horizon

    def _new_stream(self) -> Words:
        """Return the random stream of the policy's choices, at its beginning."""
        stream: Words = np.empty(4, dtype=np.uint64)
        start_stream(stream, stream_key(self.seed, "live"), 0, CHOICES)
        return stream

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(getattr(type(self), name, None), property):
            advice = "create a new bandit, or use extend, add and retire"
            raise AttributeError(f"{name} of a bandit cannot be set; {advice}.")
        object.__setattr__(self, name, value)

    # Reading

    @property
    def policy(self) -> Policy:
        """Who chooses."""
        return self._rules.policy

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The bounds of the rewards, if any were given."""
        return self._rules.bounds

    @property
    def sigma(self) -> float | None:
        """Rewards are sigma-subgaussian; None if nobody knows."""
        return self._rules.sigma

    @property
    def minimize(self) -> bool:
        """Whether rewards are losses."""
        return self._rules.minimize

    @property
    def strict(self) -> bool:
        """Whether rewards outside the bounds are rejected."""
        return self._rules.strict

    @property
    def seed(self) -> int:
        """``rng=seed`` repeats the choices, given the same rewards (and features)."""
        return self._rules.seed

    @property
    def open_horizon(self) -> bool:
        """Whether nobody told the horizon, so that it grows whenever it is reached."""
        return self._open_horizon

    # Checks

    def _position(self, arm: Any) -> int:
        i = self._positions.find(arm)
        if i < 0:
            some = ", ".join(map(repr, self._names[:5])) + (", …" if len(self._names) > 5 else "")
            raise ValueError(f"unknown arm {shown(arm)}; this bandit has {some}.")
        return i

    def _gain(self, reward: Any) -> float:
        """Return what a reward adds to the sum that is maximised."""
        rules = self._rules
        if type(reward) is not float:
            reward = to_float(reward, "reward", PLACE)
        if not rules.low <= reward <= rules.high:
            warning = rules.warning(reward)
            if not rules.binary and not self._warned_of_bounds:
                warnings.warn(warning, stacklevel=3)
                self._warned_of_bounds = True
        if rules.binary and reward not in (0.0, 1.0):
            raise ValueError(f"{self.policy.label} takes rewards of 0 and 1, got {reward!r}.")
        if self._first_rewards is not None:
            enough, odd = self._first_rewards.add(reward)
            if odd is not None:
                warnings.warn(odd, stacklevel=3)
            if enough:
                self._first_rewards = None
        gain: float = rules.zero - reward if rules.minimize else reward
        return gain

    def _warn_of_horizon(self) -> None:
        """Say once that the next round, which `ask` is about to play, lies beyond the horizon."""
        warnings.warn(
            f"round {self.rounds + 1} lies beyond the horizon {self.horizon}, and is played "
            "like the last one before it; extend(horizon) sets a new one.",
            stacklevel=4,
        )
        self._warned_of_horizon = True

    def _no_choice(self, reason: str) -> ValueError:
        """Return what to say where the policy's formula failed."""
        return ValueError(
            f"{self.policy.label} could not choose an arm in round {self.rounds + 1}: {reason}"
        )

    def _check_later(self, horizon: int) -> None:
        """Refuse a new horizon that is not later than the present one."""
        present = self.rounds if self._open_horizon else self.horizon
        if horizon <= present:
            what = "rounds so far" if self._open_horizon else "present one"
            raise ValueError(f"the new horizon must be above the {what}, {present}, got {horizon}.")

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a JSON file that `load` reads.

        Parameters
        ----------
        path : path
            The file. It is replaced atomically: if the process is killed at any moment, the old
            file or the new one is there.

        Examples
        --------
        >>> import ocucb, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> ocucb.Bandit("ab", "ucb", horizon=100, sigma=1).save(folder.name + "/bandit.json")
        """
        with self._saving:  # so that of two threads that save, the later state stays
            text = json.dumps(self.to_dict(), allow_nan=False)
            with replacing(path) as file:
                file.write(text + "\n")

    @classmethod
    def load(
        cls: type[B], path: str | os.PathLike[str], *, policy: Policy | PolicyFamily | None = None
    ) -> B:
        """Read a file that `save` wrote; the bandit continues as if never interrupted.

        Parameters
        ----------
        path : path
            The file; it is never changed.
        policy : Policy or PolicyFamily, optional
            The policy, if it is one of your own: the file holds only its name.

        Examples
        --------
        >>> import ocucb, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> ocucb.Bandit("ab", "ucb", horizon=100, sigma=1).save(folder.name + "/bandit.json")
        >>> ocucb.Bandit.load(folder.name + "/bandit.json")
        <bandit: 2 arms, UCB(constant=2), round 0 of 100>
        """
        return cls._restored(read_json(path), policy, str(path))

    @classmethod
    def from_dict(
        cls: type[B], document: dict[str, Any], *, policy: Policy | PolicyFamily | None = None
    ) -> B:
        """Return the bandit whose `to_dict` gave `document`.

        Parameters
        ----------
        document : dict
            What `to_dict` returned.
        policy : Policy or PolicyFamily, optional
            The policy, if it is one of your own.

        Examples
        --------
        >>> import ocucb
        >>> saved = ocucb.Bandit("ab", "ucb", horizon=100, sigma=1).to_dict()
        >>> ocucb.Bandit.from_dict(saved)
        <bandit: 2 arms, UCB(constant=2), round 0 of 100>
        """
        return cls._restored(document, policy, "this dictionary")
