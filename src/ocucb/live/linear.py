"""`LinearBandit`, for arms with features: ask which to play given these, tell what it paid.

It checks, explains and locks; `ocucb.live.linear_model` decides what to play.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from .._keywords import hinted
from .._text import shown, to_count, to_level
from .._types import Floats
from ..inference.verdict import Verdict, to_margin, verdict_of
from ..policies import Policy, PolicyFamily
from ..policies._families import formula_raised
from ..policies._rules import LinearIndexRule
from .features import to_features
from .linear_model import (
    BAD_FEATURES,
    BY_POLICY,
    OPEN,
    ROUNDS,
    State,
    compile_kernels,
    copy_state,
    new_state,
    play,
    relaid,
)
from .linear_probabilities import chances_of_indices, next_probabilities
from .linear_saving import LinearSaved
from .linear_summary import LinearSummary, evidence_of, summarize
from .names import NAMES, Arm, is_list, to_names
from .open_asks import OpenAsks
from .rules import horizons


class LinearBandit(LinearSaved):
    """A repeated choice among arms with features, whose outcomes a linear model explains.

    A reward is <theta, x> plus noise. If all arms see the same features, the context, each arm has
    weights theta of its own. If each arm has features of its own, all share one theta.

    Parameters
    ----------
    arms : list of str or int
        Distinct names of the arms.
    features : int, list of str, or array
        How many features there are, or their names: each `ask` brings their values. Or an array
        with a row for each arm: the arms' features, which stay the same. There is no intercept
        unless a feature is always 1.
    policy : Policy, PolicyFamily or str, optional
        A policy for arms with features, `LinOCUCB` by default.
    horizon : int, optional
        Rounds that you expect to play, as for `Bandit`.
    shared : bool, optional
        Whether each `ask` brings a row of features for each arm, and all arms share one theta. By
        default it brings one row, and each arm has a theta.
    bounds, sigma, minimize, strict, rng : optional
        As for `Bandit`; one of bounds and sigma is needed.

    Notes
    -----
    A bandit is thread-safe. Open asks narrow an arm's confidence bound but leave its mean alone.

    Examples
    --------
    >>> import ocucb
    >>> features = ["always", "evening"]
    >>> news = ocucb.LinearBandit(["sport", "arts"], features, horizon=1000, bounds=(0, 1), rng=1)
    >>> for evening in [0, 1] * 50:
    ...     x = [1, evening]
    ...     arm = news.ask(x)
    ...     news.tell(arm, 1 if (arm == "arts") == evening else 0, x)
    >>> news.ask([1, 0]), news.ask([1, 1])
    ('sport', 'arts')
    >>> news
    <linear bandit: 2 arms, 2 features, LinOCUCB(alpha=3, psi=2, ridge=1), round 102 of 1,000>
    """

    __slots__ = ("_ask", "_renew", "_tell")

    @hinted
    def __init__(
        self,
        arms: Iterable[Arm],
        features: Any,
        policy: Policy | PolicyFamily | str | None = None,
        horizon: int | None = None,
        *,
        shared: bool = False,
        bounds: tuple[float, float] | None = None,
        sigma: float | None = None,
        minimize: bool = False,
        strict: bool = False,
        rng: Any = None,
    ) -> None:
        super().__init__()
        horizon = self._take_rules(
            arms, policy, horizon, bounds, sigma, minimize, strict, rng, linear=True
        )
        self._features, fixed = to_features(features, bool(shared), len(self._names))
        self._features.check(self.policy)
        self._open = OpenAsks(self._features.shared)
        stream, planned = self._new_stream(), horizons(horizon, 0)[0]
        values = self.policy.arguments(planned)
        self._ask, self._tell, self._renew = compile_kernels(self.policy, values)
        assert self._rules.sigma is not None
        size = (len(self._names), self._features.count, self._features.shared)
        state = new_state(self.policy, values, planned, self._rules.sigma, *size, stream)
        if fixed is not None:
            state.features[:] = fixed
        self._set(state, self._names)

    # Reading

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return list(self._features.names)

    @property
    def arms(self) -> list[Arm]:
        """The active arms, in the order in which features of arms are given."""
        with self._lock:
            return self._names[: len(self)]

    @property
    def retired(self) -> list[Arm]:
        """The retired arms."""
        with self._lock:
            return self._names[len(self) :]

    @property
    def horizon(self) -> int:
        """The number of rounds that the policy plans for."""
        return int(self._state.horizon)

    @property
    def rounds(self) -> int:
        """Rounds so far: asks and unsolicited rewards."""
        return int(self._state.clock[ROUNDS])

    def __repr__(self) -> str:
        arms, d = len(self), self._features.count
        end = f"{self.horizon:,}{' or more' if self._open_horizon else ''}"
        return (
            f"<linear bandit: {arms} arm{'s' if arms > 1 else ''}, {d} feature"
            f"{'s' if d > 1 else ''}, {self.policy!r}, round {self.rounds:,} of {end}>"
        )

    # Playing

    def ask(self, x: Any = None) -> Arm:
        """Decide which arm to play next.

        Parameters
        ----------
        x : array
            The values of the features: a list of numbers, the context; if arms have features of
            their own, a row for each active arm, in order, or a dictionary of such rows. Nothing if
            they stay the same.

        Returns
        -------
        str or int
            The arm. Keep x: `tell` needs it.

        Examples
        --------
        >>> import ocucb
        >>> ads = ocucb.LinearBandit(["red", "green"], features=2, shared=True, sigma=1, rng=1)
        >>> ads.ask({"red": [1, 0.2], "green": [1, 0.9]})
        'green'
        """
        with self._lock:
            return self._names[self._choose(x)]

    def play(self, arm: Arm, x: Any = None) -> None:
        """Record that an arm is played by your own choice: its reward is pending.

        Retired arms can be played, too.

        Parameters
        ----------
        arm : str or int
            Its name.
        x : array
            The context, or the arm's row, as for `tell`.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.LinearBandit(["red", "green"], features=2, sigma=1)
        >>> bandit.play("red", [1, 0.5])
        """
        with self._lock:
            self._play(self._position(arm), self._row(arm, x))

    def _choose(self, x: Any) -> int:
        """Play the policy's choice, and return its position."""
        state = self._state
        features = self._features.matrix(x, state, self._names)
        if state.clock[ROUNDS] >= state.horizon and not self._warned_of_horizon:
            self._warn_of_horizon()
        self._refresh()
        stream, own = state.stream.copy(), self._own.copy()
        try:
            arm = self._ask(state, features, BY_POLICY)
        except Exception as error:
            state.stream[:], self._own[:] = stream, own
            raise self._no_choice(formula_raised(error)) from error
        if arm == BAD_FEATURES:
            raise self._features.wrong(features)
        if arm < 0:
            state.stream[:], self._own[:] = stream, own
            raise self._no_choice("its formula returned NaN or no arm.")
        self._open.add(self._names[arm], features[arm] if self._features.shared else features[0])
        self._plan()
        return arm

    def _play(self, i: int, x: Floats) -> None:
        """Play the arm at this position."""
        self._refresh()
        play(self._state, i, x)
        self._open.add(self._names[i], x)
        self._plan()

    def _refresh(self) -> None:
        """Compute the model afresh if the rounds have doubled: rounding must not add up."""
        if self._state.clock[ROUNDS] >= self._due[0]:
            self._renew(self._state, 0, self._opened(range(self._state.planned.shape[0])))
            self._due[0] *= 2.0

    def _plan(self) -> None:
        """Plan farther if an open horizon is reached: it is a function of the rounds."""
        state = self._state
        if self._open_horizon and state.clock[ROUNDS] >= state.horizon:
            self._state = state._replace(horizon=float(horizons(None, self.rounds)[0]))

    def _decide(self, x: Any, arm: int = BY_POLICY) -> tuple[int, float | None]:
        """Play the policy's choice, or the active arm at this position.

        Returns its position, and the probability with which the policy chooses it, None if not
        known.
        """
        with self._lock:
            if arm == BY_POLICY and isinstance(self.policy.family.rule, LinearIndexRule):
                arm = self._choose(x)  # which leaves what it compared in the state
                chances = chances_of_indices(self._state)
            else:
                chances = self._chances(x)
                if arm == BY_POLICY:
                    arm = self._choose(x)
                else:
                    features = self._features.matrix(x, self._state, self._names)
                    self._play(arm, features[arm] if self._features.shared else features[0])
            return arm, None if chances is None else float(chances[arm])

    @overload
    def tell(self, arm: Arm, reward: float, x: Any = None) -> None: ...
    @overload
    def tell(self, arm: Sequence[Arm], reward: Sequence[float], x: Any = None) -> None: ...
    def tell(self, arm: Any, reward: Any, x: Any = None) -> None:
        """Report the reward of an arm, now or much later.

        It closes an open ask of the arm with the same features. If there is none, the reward is
        extra data and counts as one more round. Retired arms accept rewards too.

        Parameters
        ----------
        arm : str or int, or a list of them
            The arm that was played.
        reward : float, or a list of them
            What it paid. Lists are taken as a whole or, after an error, not at all.
        x : array
            The context that `ask` was given, or the arm's row; with a list of arms, a list of
            these. Nothing if features stay the same.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.LinearBandit(["red", "green"], features=2, sigma=1)
        >>> bandit.tell("red", 0.5, [1, 0.2])
        >>> bandit.tell(["red", "green"], [0.1, 0.9], [[1, 0.3], [1, 0.7]])
        >>> bandit.rounds
        3
        """
        with self._lock:
            if self._positions.find(arm) < 0 and is_list(arm):
                told = self._listed(list(arm), reward, x)
            else:
                told = [(self._position(arm), self._gain(reward), self._row(arm, x))]
            for one in told:
                self._learn(*one)

    def _listed(self, arms: list[Any], rewards: Any, xs: Any) -> list[tuple[int, float, Floats]]:
        given = [rewards] if xs is None else [rewards, xs]
        for values in given:
            if not hasattr(values, "__len__") or len(values) != len(arms):
                raise ValueError(
                    f"a list of {len(arms)} arms needs as many rewards and features, got "
                    f"{shown(values)}."
                )
        xs = [None] * len(arms) if xs is None else xs
        return [
            (self._position(arm), self._gain(reward), self._row(arm, x))
            for arm, reward, x in zip(arms, rewards, xs, strict=True)
        ]

    def _row(self, arm: Any, x: Any) -> Floats:
        """Return the features of an arm."""
        return self._features.row(x, self._state, self._position(arm))

    def _learn(self, i: int, gain: float, x: Floats) -> None:
        asked = self._open.close(self._names[i], x)
        self._tell(self._state, i, x, asked, gain)
        self._plan()

    def cancel(self, arm: Arm, x: Any = None) -> None:
        """Close an open ask whose reward will never arrive.

        The round still counts; the pull does not.

        Parameters
        ----------
        arm : str or int
            The arm.
        x : array
            The context that `ask` was given, or the arm's row.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.LinearBandit(["red", "green"], features=2, sigma=1)
        >>> bandit.cancel(bandit.ask([1, 0.5]), [1, 0.5])
        """
        with self._lock:
            i, row = self._position(arm), self._row(arm, x)
            if not self._open.close(self._names[i], row):
                raise ValueError(f"arm {arm!r} has no open ask with these features to cancel.")
            self._state.counts[OPEN, i] -= 1.0
            one = 0 if self._features.shared else i
            self._renew(self._state, one, self._opened(range(one, one + 1)))

    def _opened(self, sets: range) -> Floats:
        """Return the sum of x x' over open asks, for some sets of weights."""
        owners = [None] if self._features.shared else [self._names[one] for one in sets]
        return np.array([self._open.sum(owner, self._features.count) for owner in owners])

    def _active(self, arm: Any) -> int:
        i = self._position(arm)
        if i >= len(self):
            raise ValueError(f"arm {arm!r} is retired.")
        return i

    # Looking; nothing changes

    def probabilities(self, x: Any = None) -> dict[Arm, float] | None:
        """Return how likely ``ask(x)`` is to choose each active arm, or None if not known.

        Known for policies with an index, for LinMED, for epsilon-greedy, and for Thompson sampling
        with two arms or with weights for each arm.

        Parameters
        ----------
        x : array
            The values of the features, as for `ask`.

        Returns
        -------
        dict or None
            Probabilities by arm.

        Examples
        --------
        >>> import ocucb
        >>> lazy = "lin-epsilon-greedy:epsilon=0.5"
        >>> bandit = ocucb.LinearBandit(["red", "green"], 2, lazy, sigma=1)
        >>> bandit.tell("red", 1.0, [1, 0.2])
        >>> bandit.probabilities([1, 0.5])
        {'red': 0.75, 'green': 0.25}
        """
        with self._lock:
            chances = self._chances(x)
            return None if chances is None else dict(zip(self.arms, chances.tolist(), strict=True))

    def _chances(self, x: Any) -> Floats | None:
        features = self._features.matrix(x, self._state, self._names)
        if not self._features.fit(features):
            raise self._features.wrong(features)
        try:
            state = copy_state(self._state)
            return next_probabilities(self.policy, self._ask, state, features)
        except Exception as error:  # of a user's formula
            raise self._no_choice(formula_raised(error)) from error

    def summary(self, level: float = 0.95) -> LinearSummary:
        """Return what is known about the arms and the weights.

        Parameters
        ----------
        level : float
            Confidence level of the intervals for the weights, which are valid however often you
            look, and all together for the weights of an arm.

        Returns
        -------
        LinearSummary
            Prints as a table.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.LinearBandit(["red"], ["always", "evening"], sigma=0.1, rng=1)
        >>> bandit.tell(["red"] * 4, [0, 1, 0, 1], [[1, 0], [1, 1]] * 2)
        >>> print(bandit.summary())
        arm  pulls  open   mean   share
        red      4     0  0.500  100.0%
        <BLANKLINE>
        arm  feature  weight  95% interval (of an arm)
        red  always    0.182  -0.561–0.561
        red  evening   0.545  0.207–1.793
        round 5 of 1,000 or more, LinOCUCB
        """
        level = to_level(level)
        with self._lock:
            names, state, is_open = list(self._names), copy_state(self._state), self._open_horizon
        return summarize(names, self._features, self._rules, state, is_open, level)

    def verdict(self, x: Any = None, margin: float = 0.0, level: float = 0.95) -> Verdict:
        """Say whether it is certain which arm is best, given the features.

        It may be asked after every round and for any features: with probability `level`, none of
        all these verdicts is wrong, if means are linear.

        Parameters
        ----------
        x : array
            The values of the features, as for `ask`.
        margin, level : float, optional
            As for `Bandit.verdict`.

        Returns
        -------
        Verdict
            Prints as a sentence. Its posterior has the prior N(0, sigma^2 / ridge) for each
            weight; if all arms share their weights, it is not computed.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.LinearBandit(["red", "green"], ["evening"], sigma=1, rng=1)
        >>> bandit.tell(["red", "green"] * 50, [1, 0] * 50, [[1]] * 100)
        >>> bandit.verdict([1]).kind, bandit.verdict([1]).leader
        ('stop', 'red')
        """
        margin, level = to_margin(margin), to_level(level)
        with self._lock:
            names, state = self.arms, copy_state(self._state)
            features = self._features.matrix(x, state, self._names)
        if not self._features.fit(features):
            raise self._features.wrong(features)
        evidence = evidence_of(self._rules, state, features)
        playable = np.ones(len(names), np.bool_)
        rounds, minimize = int(state.clock[ROUNDS]), self._rules.minimize
        return verdict_of(names, evidence, playable, rounds, minimize, margin, level)

    # Changing the rules while it runs

    def extend(self, horizon: int) -> None:
        """Plan for more rounds; of an open horizon: tell it.

        Parameters
        ----------
        horizon : int
            The new number of rounds, larger than the old one, or than the rounds so far if the
            horizon was open.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.LinearBandit(["red", "green"], features=2, horizon=100, sigma=1)
        >>> bandit.extend(500)
        >>> bandit.horizon
        500
        """
        horizon = to_count(horizon, "horizon")
        with self._lock:
            self._check_later(horizon)
            values = self.policy.arguments(horizon)
            self._state = self._state._replace(horizon=float(horizon), values=values)
            self._warned_of_horizon = self._open_horizon = False

    def add(self, arms: Arm | Iterable[Arm], features: Any = None) -> None:
        """Add arms, or reinstate retired ones with everything known about them.

        They come last, so that their features do, too. A policy with its own memory starts afresh.

        Parameters
        ----------
        arms : str or int, or a list of them
            New names, or names of retired arms.
        features : array
            A row for each, if features stay the same.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.LinearBandit(["red"], features=2, sigma=1)
        >>> bandit.add(["green", "blue"])
        >>> bandit.arms
        ['red', 'green', 'blue']
        """
        names = to_names([arms] if isinstance(arms, NAMES) else arms)
        with self._lock:
            active, places = self.arms, [self._positions.find(name) for name in names]
            for name, i in zip(names, places, strict=True):
                if 0 <= i < len(active):
                    raise ValueError(f"arm {name!r} is already active.")
            rows = self._features.more(features, len(names))
            away = [i for i in range(len(active), len(self._names)) if i not in places]
            order = [*range(len(active)), *places, *away]
            self._features.check_size(len(order))
            state = self._relaid(order, len(active) + len(names))
            if rows is not None:
                state.features[len(active) : len(active) + len(names)] = rows
            self._set(state, [*active, *names, *(self._names[i] for i in away)])

    def retire(self, arms: Arm | Iterable[Arm]) -> None:
        """Stop playing arms; what is known about them stays, and rewards may still arrive.

        Parameters
        ----------
        arms : str or int, or a list of them
            Names of active arms; one must remain.

        Examples
        --------
        >>> import ocucb
        >>> bandit = ocucb.LinearBandit(["red", "green"], features=2, sigma=1)
        >>> bandit.retire("red")
        >>> bandit.ask([1, 0.5]), bandit.retired
        ('green', ['red'])
        """
        names = to_names([arms] if isinstance(arms, NAMES) else arms)
        with self._lock:
            going = [self._active(name) for name in names]
            stay = [i for i in range(len(self)) if i not in going]
            if not stay:
                raise ValueError("the last active arm cannot be retired: add another one first.")
            order = [*stay, *going, *range(len(self), len(self._names))]
            self._set(self._relaid(order, len(stay)), [self._names[i] for i in order])

    def _relaid(self, order: list[int], active: int) -> State:
        return relaid(self._state, self.policy, order, active, self._features.shared)
