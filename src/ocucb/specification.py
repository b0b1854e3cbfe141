"""A simulation split into blocks of runs, which any machine can play.

A `Specification` holds everything that the numbers depend on. A block is a pure function of
(specification, first run, number of runs) that returns small statistics, its `Moments`. Where
blocks begin depends only on the specification, and blocks are always merged in order, so it does
not matter which thread, process or machine played them, or when.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import cloudpickle
import numpy as np

from . import engine as engines
from ._compile import translate_numba_errors
from ._memo import cached_property
from ._text import shown
from ._types import Counts, Flags, Floats, Words
from ._users import is_ours
from ._version import __version__
from ._waiting import at_fork
from .engine import NUMERICS, Engine, Kernel, Outcome, Rows
from .importance import PLAIN, Mixture, Pilot, failure_cost, run_weights
from .laws import Drawn
from .policies import LinearRule, Policy
from .policies._families import formula_raised
from .priors import AnyProblem, Prior
from .problems import Problem
from .random import stream_key
from .results import Description, Moments

_SMALLEST = 64  # runs in the first blocks
_ROOM = 4  # times as much as pulls take, for the problems of runs


@dataclass(frozen=True, eq=False)
class Specification:
    """One policy on one problem, or on one for each run, drawn from a prior.

    All that determines the outcome of runs 0, 1, 2 and so on.
    """

    policy: Policy
    problem: AnyProblem
    horizon: int
    checkpoints: Counts  # rounds after which regret is measured; the last is the horizon
    seed: int
    engine: str  # the name of one that can play it
    mixture: Mixture = PLAIN  # what runs are drawn from

    def __reduce__(self) -> tuple[Any, ...]:
        return Specification, tuple(getattr(self, field.name) for field in fields(self))

    def drawn_from(self, mixture: Mixture) -> Specification:
        """Return the specification with another mixture; a user's table is not made again."""
        other = replace(self, mixture=mixture)
        vars(other).update(_arguments=self._arguments, _engine=self._engine)
        return other

    @cached_property
    def description(self) -> Description:
        """What is played, in plain values."""
        return Description(
            policy=self.policy.name,
            label=self.policy.label,
            engine=self.engine,
            problem=self.problem.name,
            means=self.problem.means,
            rewards=self.problem.rewards.name,
            sigma=self.problem.sigma,
            horizon=self.horizon,
            checkpoints=self.checkpoints,
            seed=self.seed,
            version=__version__,
            sampling=self.mixture.sampling,
            prior=isinstance(self.problem, Prior),
            largest_gap=self.problem.largest_gap,
            failure_cost=failure_cost(self.problem, self.horizon),
            stops=self._form.family.rule.can_stop,
            change=0 if isinstance(self.problem, Prior) else self.problem.last_change(self.horizon),
        )

    @cached_property
    def _facts(self) -> tuple[object, ...]:
        """What a run depends on besides the seed and its number, for streams and stores alike."""
        policy, problem = self.policy, self.problem
        who = policy.name if policy.is_ours else policy.identity(self._arguments)
        facts = (who, problem.identity, problem.sigma, self.horizon, self.engine)
        return facts if self.mixture.arm < 0 else (*facts, self.mixture.identity)

    @cached_property
    def identity(self) -> str:
        """A hash of everything that affects the numbers, and of nothing else."""
        who, problem, _, horizon, engine, *mixture = self._facts
        # Ours are known by where they used to be defined, so that old stores resume.
        rewards = self.problem.rewards
        place = f"{rewards.sample.__module__}.{rewards.sample.__qualname__}"
        if is_ours(rewards.sample):
            place = f"ocucb.problems._draw_{rewards.name}"
        # stores depend on the order of these
        what = (who, problem, self.problem.sigma.hex(), horizon, self.checkpoints.tolist())
        how = (self.seed, engine, self._largest, place, *mixture)
        text = "\n".join(map(str, (f"numerics {NUMERICS}", *what, *how)))
        return hashlib.sha256(text.encode()).hexdigest()

    def check(self) -> None:
        """Refuse a user's functions whose meaning has changed since first use."""
        self.policy.family.code.check(self.policy.label)
        self.problem.rewards.code.check(f"the sampler {self.problem.rewards.name}")
        if isinstance(self.problem, Prior):
            for code in self.problem.codes:
                code.check(f"the {self.problem.name}")

    @property
    def unknown(self) -> str | None:
        """Something that is referred to whose versions cannot be told apart, or None."""
        more = self.problem.codes if isinstance(self.problem, Prior) else []
        for code in (self.policy.family.code, self.problem.rewards.code, *more):
            if code.unknown is not None:
                return shown(code.unknown)
        return None

    def check_identity(self, who: str = "a store") -> None:
        """Refuse anything whose versions a store, or other processes, could not tell apart."""
        if self.unknown is not None:
            raise ValueError(
                f"{who} cannot tell {self.unknown} from another version of it: use plain "
                f"functions, numbers and arrays in a formula, or do without {who}."
            )

    @property
    def _form(self) -> Policy:
        """The policy as it is played on these rewards."""
        rewards = self.problem.rewards
        return self.policy.on(rewards.unit, rewards.binary)

    @cached_property
    def _engine(self) -> Engine:
        return engines.engine_named(self.engine, self.policy, self.problem.typical, self.horizon)

    @cached_property
    def _largest(self) -> int:
        cost = self._engine.cost(self.policy, self.problem.typical, self.horizon)
        arms = self.problem.arms
        if isinstance(self.problem, Prior):
            arms *= _ROOM
        return engines.block_runs(cost, arms, self.checkpoints.size)

    def block_from(self, first: int) -> int:
        """Return the number of runs in the block that begins with run `first`.

        The first blocks are small, and later ones have at most an eighth of the runs before them:
        a longer simulation finds most runs of a shorter one in whole blocks.

        >>> import ocucb
        >>> spec = Specification(ocucb.UCB(), ocucb.gap(), 100, np.array([100]), 1, "step")
        >>> spec.block_from(0), spec.block_from(512), spec.block_from(1024), spec.block_from(10**6)
        (64, 64, 128, 8192)
        """
        eighth = 1 << max(0, (first >> 3).bit_length() - 1)
        return min(max(_SMALLEST, eighth), self._largest)

    def play(self, first: int, runs: int, stop: Flags | None = None) -> Moments:
        """Play runs; once ``stop[0]`` is true, `Stopped` is raised promptly."""
        spread = self._spread
        outcome, gaps = self._outcome(first, runs, stop, spread is not None)
        pulls = outcome.pulls[:, self.mixture.arm]
        weights = run_weights(self.mixture, self.problem, outcome.noise, pulls)
        return Moments.of(outcome, weights, gaps, first, self.problem.largest_gap, spread)

    @cached_property
    def _spread(self) -> Floats | None:
        """The standard deviation of one reward of each arm; None if it is not known, or changes."""
        problem, deviation = self.problem, self.problem.rewards.deviation
        if deviation is None or problem.rewards.rounds or not isinstance(problem, Problem):
            return None
        arms = zip(problem.means.tolist(), problem.scales.tolist(), strict=True)
        return np.array([deviation(mean, scale) for mean, scale in arms])

    def outcome(
        self, first: int, runs: int, stop: Flags | None = None, by_arm: bool = False
    ) -> Outcome:
        """Play runs and return the outcome of each, with the noise of each arm if asked for.

        With a prior, the pulls of a run are those of its best arm, its second best and so on, and
        there is no noise of arms.
        """
        return self._outcome(first, runs, stop, by_arm)[0]

    def _outcome(
        self, first: int, runs: int, stop: Flags | None, by_arm: bool = False
    ) -> tuple[Outcome, Floats]:
        """Return the outcome with the gaps of the arms whose pulls it has: of all runs, or each."""
        stop = np.zeros(1, dtype=np.bool_) if stop is None else stop
        if isinstance(self.problem, Problem):
            played = self._played(self.problem, first, runs, stop, by_arm=by_arm)
            return played, self.problem.gaps
        prior, drawn = self.problem, self.problem.drawn(self.seed, first, runs)
        whole = engines.new_outcome(runs, self._game(prior.typical))
        whole = whole._replace(pulls=np.zeros((runs, prior.arms), np.int64))
        order, gaps = drawn.ranked()
        for arms, places in drawn.by_arms() if runs else [(prior.typical.arms, drawn.arms)]:
            its_problem = prior.problem(drawn, places[0]) if runs else prior.typical
            rows = self._rows(drawn, arms, places, first)
            found = self._played(its_problem, first, places.size, stop, rows)
            for name in ("regret", "luck", "advice", "optimal"):
                getattr(whole, name)[places] = getattr(found, name)
            ranks = order[places, :arms]
            whole.pulls[places, :arms] = np.take_along_axis(found.pulls, ranks, axis=1)
        return whole, gaps

    def _rows(self, drawn: Drawn, arms: int, places: Counts, first: int) -> Rows:
        """Return the runs at some places of a block, which have so many arms."""
        means, scales = (part[places, :arms] for part in (drawn.means, drawn.scales))
        gaps = means.max(axis=1, keepdims=True, initial=-np.inf) - means
        heard = means if self._engine.sums_rewards else np.zeros(means.shape)
        for array in (heard, scales, gaps):
            array.flags.writeable = False
        return Rows(first + places, heard, scales, gaps, drawn.sigma[places])

    def _game(self, problem: Problem) -> engines.Game:
        how = self.checkpoints, self.mixture, self.policy.forget
        game = engines.new_game(self._engine, problem, self.horizon, *how)
        if isinstance(self.problem, Prior):  # whose problems differ, whatever this one is like
            widths = engines.luck_widths(problem.arms, self.checkpoints)
            game = game._replace(widths=widths)
        return game

    def _played(
        self,
        problem: Problem,
        first: int,
        runs: int,
        stop: Flags,
        rows: Rows | None = None,
        by_arm: bool = False,
    ) -> Outcome:
        """Play runs on a problem, or `rows` of such on problems with as many arms."""
        game = self._game(problem)
        outcome = engines.new_outcome(runs, game, by_arm)
        kernel, arguments = self._kernel, self._arguments  # whose errors are not the formula's
        with self._formula_errors(problem):
            kernel(arguments, game, self._key, first, outcome, stop, rows)
        if stop[0]:
            raise Stopped
        self._check_outcome(problem, outcome, first, rows)
        return outcome

    def round_by_round(self, number: int) -> tuple[Floats, Floats, Floats]:
        """Play one run, and return the regret after each round, and arms' pulls and summed rewards.

        These two have a row for each round.
        """
        assert isinstance(self.problem, Problem)
        game, arms = self._game(self.problem), self.problem.arms
        kernel, arguments, stop = self._kernel, self._arguments, np.zeros(1, dtype=np.bool_)
        run = kernel.start(game, self._key, number)
        regret, (pulls, sums) = np.empty(self.horizon), np.zeros((2, self.horizon, arms))
        linear = isinstance(self.policy.family.rule, LinearRule)
        first = 1 if linear else min(arms, self.horizon)  # others play each arm once, all at once
        for last in (first, *range(first + 1, self.horizon + 1)):
            rounds = np.arange(1 if last == first else last, last + 1)
            part = game._replace(checkpoints=rounds)
            outcome = engines.new_outcome(1, part)
            with self._formula_errors(self.problem):
                kernel.play_on(arguments, part, run, outcome, stop)
            self._check_outcome(self.problem, outcome, number, None)
            regret[rounds - 1], pulls[last - 1], sums[last - 1] = outcome.regret, *run[1::-1]
        for t in range(first - 1):
            pulls[t, : t + 1], sums[t, : t + 1] = 1.0, sums[first - 1, : t + 1]
        return regret, pulls, sums

    @contextmanager
    def _formula_errors(self, problem: Problem) -> Iterator[None]:
        """Say in one sentence what a policy's formula raised."""
        try:
            yield
        except IndexError:
            raise ValueError(self.policy.family.out_of_bounds(problem.arms)) from None
        except (ArithmeticError, AssertionError, RuntimeError, ValueError) as error:
            raise ValueError(
                f"{self.policy.label} could not choose an arm: {formula_raised(error)}"
            ) from error

    def _check_outcome(
        self, problem: Problem, outcome: Outcome, first: int, rows: Rows | None
    ) -> None:
        """Refuse what a formula or a sampler must not give."""
        failed = ~np.isfinite(outcome.regret).all(axis=1)
        if failed.any():
            rewards, row = problem.rewards, int(failed.argmax())
            run = first + row if rows is None else int(rows.numbers[row])
            if not is_ours(rewards.sample) and np.isinf(outcome.regret[row]).any():
                raise ValueError(
                    f"the rewards that {rewards.name} gave in run {run}, or their sum, are "
                    "not finite."
                )
            reason = "a value that is not a number, or an arm that does not exist"
            if not self._engine.takes_infinite:
                reason = 'a value that is not finite (engine="step" accepts infinite ones)'
            raise ValueError(
                f"{self.policy.label} could not choose an arm in run {run}: its formula "
                f"gave {self.policy.family.rule.failure(reason)}."
            )

    def unseen(self, runs: int) -> float:
        """Return the standard error of the mean regret owing to failures that no run has shown.

        Runs that stop by their own standard error would stop too soon where it is small because
        none of them failed. Mixtures see to it that some tilted ones do.
        """
        return float(self.description.unseen(runs)[-1])

    @cached_property
    def _arguments(self) -> tuple[Any, ...]:
        return self.policy.arguments(self.horizon)

    @cached_property
    def _key(self) -> Words:
        """The words from which the runs' streams start."""
        return stream_key(self.seed, *self._facts)

    @cached_property
    def _kernel(self) -> Kernel:
        return engines.kernel_of(self.policy.family, self.problem.rewards, self._engine)

    @cached_property
    def package(self) -> bytes:
        """The specification, pickled for any process with the same ocucb."""
        self.check_identity("an executor")
        return packed(self, self.policy.label)

    def prepare(self) -> None:
        """Compile what is needed, so that errors surface before play."""
        with translate_numba_errors(f"{self.policy.label} on {self.problem.rewards.name} rewards"):
            self.outcome(0, 0)


@dataclass(frozen=True)
class Block:
    """A finished block: its first run, its outcome, and the seconds it took."""

    first: int
    moments: Moments
    seconds: float


class Stopped(Exception):
    """Raised in place of a block that is no longer wanted."""


Spans = list[tuple[int, int]]  # first run and number of runs of each block


def run_blocks(
    specification: Specification, spans: Spans, stop: Flags | None = None
) -> list[Block]:
    """Play blocks in this process."""
    blocks = []
    for first, runs in spans:
        began = time.perf_counter()
        moments = specification.play(first, runs, stop)
        blocks.append(Block(first, moments, time.perf_counter() - began))
    return blocks


def run_pilot(
    specification: Specification, first: int, runs: int, stop: Flags | None = None
) -> Pilot:
    """Play runs for the choice of a mixture."""
    outcome = specification.outcome(first, runs, stop)
    arm_pulls = outcome.pulls[:, specification.mixture.arm]
    return Pilot(outcome.regret[:, -1], outcome.noise, arm_pulls, outcome.luck[:, -1])


class Packable(Protocol):
    """What can be packed: a specification, or something made of several."""

    @property
    def identity(self) -> str:
        """A hash of everything that affects the numbers."""

    def prepare(self) -> None:
        """Compile what is needed."""


def packed(played: Packable, label: str) -> bytes:
    """Return what is played, pickled for any process with the same ocucb."""
    try:
        inside = cloudpickle.dumps(played)
    except Exception as error:  # pickling may run a user's code
        raise TypeError(f"{label} cannot be sent to other processes: {error}") from error
    package = pickle.dumps((NUMERICS, __version__, label, played.identity, inside))
    _keep(package, played)  # for executors whose workers are threads of this process
    return package


def remotely(task: Callable[..., Any], package: bytes, *arguments: Any) -> Any:
    """Call a function such as those above with what was packed: what executors run."""
    return task(_unpacked(package), *arguments)


_RECEIVED: dict[bytes, Packable] = {}
_RECEIVING = threading.Lock()


def _renew_lock() -> None:
    """In a forked process: the thread that held the lock is not there to release it."""
    global _RECEIVING
    _RECEIVING = threading.Lock()


at_fork(after_in_child=_renew_lock)


def _unpacked(package: bytes) -> Packable:
    """Return what is in a package, compiled when its first block arrives."""
    with _RECEIVING:
        known = _RECEIVED.get(package)
    if known is not None:
        return known
    numerics, version, label, identity, inside = pickle.loads(package)
    if numerics != NUMERICS:
        raise RuntimeError(
            f"a worker has ocucb {__version__} but was sent work by ocucb {version}, which "
            "gives different numbers; install the same version everywhere."
        )
    played: Packable = pickle.loads(inside)
    if played.identity != identity:
        raise RuntimeError(
            f"a worker finds another version of {label} than the one it was sent: its code must "
            "be the same everywhere, including the values of globals."
        )
    played.prepare()
    _keep(package, played)
    return played


def _keep(package: bytes, played: Packable) -> None:
    with _RECEIVING:
        while len(_RECEIVED) >= 64:
            del _RECEIVED[next(iter(_RECEIVED))]
        _RECEIVED[package] = played
