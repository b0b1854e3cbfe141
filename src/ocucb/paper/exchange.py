"""Two good arms that change places: how exp10 averages over a coin toss without tossing it often.

In exp10, which of two nearly equal arms a policy settles on is almost a coin toss, and decides most
of the regret. A run is played until the toss is under way, and then played on twice: as it is, and
as its mirror image, in which the two arms have exchanged all their rewards. Policies treat all arms
alike, so the mirror image is a run, too, and exactly

    r = p(mirror image) / p(run) = exp(gap (N_2 - N_1) - gap^2 (T_1 + T_2) / 2),        sigma = 1

times as likely, where N is the noise of an arm and T its pulls. Given that one of the two happened,
it was the mirror image with probability r / (1 + r). So the mean of

    (regret + r regret of the mirror image) / (1 + r)

is the mean regret, whenever the runs part, if that does not depend on what happened. Where one of
the two settles on the better arm, the other nearly always settles on the worse, so little varies.
The noise of the two arms up to there, averaged likewise, has the mean 0: two control variates.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._memo import cached_property
from .._types import Counts, Flags, Floats, Words
from ..engine import Engine, Game, Kernel, engine_named, kernel_of, new_game, new_outcome
from ..engine.run import Run, branch
from ..pooling import TERMS, Sums
from ..problems import Problem
from ..random import stream_key
from ..specification import Specification, Stopped, packed

_NUMERICS = 1  # increment whenever a seed gives other numbers: stores keep the two apart
_PARTING = 8  # rounds before a run and its mirror image part, times K^2
_MIRRORS = 2**40  # is added to the number of a run for the streams of its mirror image


@dataclass(frozen=True, eq=False)
class Exchange:
    """A policy that treats arms alike, on a Gaussian problem whose first two arms are the best."""

    source: Specification

    def __reduce__(self) -> tuple[Any, ...]:
        return Exchange, (self.source,)

    points = 1

    @cached_property
    def identity(self) -> str:
        """A hash of everything that affects the numbers, and of nothing else."""
        facts = f"exchange {_NUMERICS} {self.parting} {self.source.identity}"
        return hashlib.sha256(facts.encode()).hexdigest()

    @cached_property
    def package(self) -> bytes:
        """It, pickled for any process with the same ocucb."""
        return packed(self, self.source.policy.label)

    @property
    def parting(self) -> int:
        """The round after which a run and its mirror image part."""
        arms, horizon = self.source.problem.arms, self.source.horizon
        return max(arms, min(_PARTING * arms**2, horizon // 2))

    @property
    def pulls(self) -> int:
        """Rounds of a run and its mirror image."""
        return 2 * self.source.horizon - self.parting

    def only(self, points: Counts) -> Exchange:
        """Return it for some points: there is but one."""
        return self

    def chart(self) -> None:
        """Compute what pooling needs to know: nothing."""

    def unseen(self, runs: int) -> Floats:
        """Return the standard error owing to failures that no run has shown.

        A run and its mirror image are about as likely to fail, and count about half each: they see
        as much as two plain runs.
        """
        return self.source.description.unseen(2 * runs)

    def prepare(self) -> None:
        """Compile what is needed, so that errors surface before play."""
        self.source.prepare()

    def play(self, first: int, runs: int, stop: Flags | None = None) -> Floats:
        """Play runs with their mirror images, and return a row of sums: see `pooling`."""
        stop = np.zeros(1, dtype=np.bool_) if stop is None else stop
        sums = Sums(1)
        for number in range(first, first + runs):
            sums.add(self._terms(number, stop)[None, None])
        return sums.rows()

    def _terms(self, number: int, stop: Flags) -> Floats:
        """Return the regret and the control variates of a run, averaged with its mirror image."""
        problem, trunk = self._problem, self._trunk
        run = self._kernel.start(trunk, self._key, number)
        self._played_on(run, trunk, stop)
        mirror = branch(run, self._key, _MIRRORS + number)
        means, unheard = problem.means[:2], problem.means[:2] - trunk.means[:2]
        pulls = run.pulls[:2].copy()
        rewards = run.sums[:2] + pulls * unheard
        noise, gap = rewards - pulls * means, float(means[0] - means[1])
        odds = (gap * (noise[1] - noise[0]) - 0.5 * gap**2 * pulls.sum()) / problem.sigma**2
        share = 1.0 / (1.0 + math.exp(-odds))  # of the mirror image
        mirror.pulls[:2] = pulls[::-1]
        mirror.sums[:2] = rewards[::-1] - pulls[::-1] * unheard
        its_noise = rewards[::-1] - pulls[::-1] * means
        here, there = (self._played_on(played, self._whole, stop) for played in (run, mirror))
        terms = np.ones(TERMS)
        terms[0] = here + share * (there - here)
        terms[3], terms[2] = noise + share * (its_noise - noise)
        return terms

    def _played_on(self, run: Run, game: Game, stop: Flags) -> float:
        """Play a run to the end of a game, and return its regret there."""
        outcome = new_outcome(1, game)
        self._kernel.play_on(self._values, game, run, outcome, stop)
        if stop[0]:
            raise Stopped
        return float(outcome.regret[0, -1])

    @property
    def _problem(self) -> Problem:
        assert isinstance(self.source.problem, Problem)
        return self.source.problem

    @cached_property
    def _engine(self) -> Engine:
        source = self.source
        return engine_named(source.engine, source.policy, self._problem, source.horizon)

    @cached_property
    def _kernel(self) -> Kernel:
        return kernel_of(self.source.policy.family, self._problem.rewards, self._engine)

    @cached_property
    def _values(self) -> Any:
        return self.source.policy.arguments(self.source.horizon)

    @cached_property
    def _key(self) -> Words:
        return stream_key(self.source.seed, self.identity)

    @cached_property
    def _trunk(self) -> Game:
        return self._game(self.parting)

    @cached_property
    def _whole(self) -> Game:
        return self._game(self.source.horizon)

    def _game(self, until: int) -> Game:
        return new_game(self._engine, self._problem, self.source.horizon, np.array([until]))
