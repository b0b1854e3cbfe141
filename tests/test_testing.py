"""The published checks: ours pass them, and each fails on something that is broken."""

from __future__ import annotations

import dataclasses
import itertools
from math import log, sqrt
from typing import Any

import numpy as np
import pytest

import ocucb
import ocucb.engine
from helpers import standing
from ocucb import testing
from ocucb.engine import ENGINES
from ocucb.engine.base import Engine, Plan
from ocucb.engine.formulas import index_of
from ocucb.engine.run import run_slots
from ocucb.policies._rules import IndexRule
from ocucb.rewards import BERNOULLI, GAUSSIAN

SKIP, BINARY, LEADER, THOMPSON, *_, STEP = ENGINES
NORMAL = ocucb.gaussian([0.5, 0.0, -0.2])


# Ours


@pytest.mark.parametrize("name", ["moss", "kl-ucb", "ucb-v", "thompson", "imed"])
def test_our_policies(name):
    testing.check_policy(name)


@pytest.mark.parametrize(
    "problem",
    [NORMAL, ocucb.bernoulli([0.6, 0.3]), ocucb.uniform_rewards([0.6, 0.3])],
    ids=lambda problem: problem.rewards.name,
)
def test_our_rewards(problem):
    testing.check_rewards(problem)


@pytest.mark.parametrize(
    ("engine", "name", "problem"),
    [
        (SKIP, "moss", NORMAL),
        (SKIP, "ucb", NORMAL),
        (BINARY, "moss", ocucb.bernoulli([0.6, 0.3])),
        (LEADER, "imed", NORMAL),
        (THOMPSON, "thompson", NORMAL),
        (STEP, "moss", NORMAL),
    ],
)
def test_our_engines(engine, name, problem):
    testing.check_engine(engine, name, problem)


def test_our_store(tmp_path):
    testing.check_store(lambda: ocucb.Store(tmp_path / "results.db"))


# An engine as ARCHITECTURE.md says, with a choice of flaws

FORGETS_TILT, STAYS, IGNORES_STOP = 1, 2, 3
flaw: Any = None  # filled in by `specialise`, as the next two
index: Any = None
pull: Any = None


def play_largest(values, game, run, work, done, outcome, row, stop):
    """Evaluate every arm in every round; the first of the largest plays."""
    n, arms, t = float(game.horizon), game.means.size, run.rounds[0]
    if flaw == FORGETS_TILT and game.tilted >= 0:
        run.drawn[game.tilted] = game.means[game.tilted]
    best = 0
    while done < game.checkpoints.size and (flaw == IGNORES_STOP or not stop[0]):
        t += 1.0
        if flaw != STAYS or t % 4.0 == 0.0:
            best, top = -1, -np.inf
            for i in range(arms):
                T = run.pulls[i]
                mine = index(run.sums[i] / T, 0.0, T, t, n, float(arms), game.sigma, values)
                if mine > top:
                    best, top = i, mine
        if best < 0:
            return False
        done = pull(game, run, best, t, done, outcome, row)
    return True


def toy(mistake=0):
    def plan(family, rewards):
        slots = run_slots(rewards) | {"index": index_of(family), "flaw": mistake}
        return Plan(play_largest, slots)

    return Engine(
        "toy", IndexRule, lambda *game: None, lambda policy, problem, horizon: 9.0 * horizon, plan
    )


def test_an_engine_is_how_it_chooses_and_three_answers(monkeypatch):
    engine = toy()
    testing.check_engine(engine, standing, NORMAL)
    monkeypatch.setattr(ocucb.engine, "ENGINES", (*ENGINES, engine))
    played = ocucb.simulate(standing, NORMAL, 100, 10, rng=1, engine="toy")[0]
    assert played.engine == "toy"


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (FORGETS_TILT, "tilted runs: the mean weight is .* instead of 1"),
        (STAYS, "toy engine, (early|later|final) regret"),
        (IGNORES_STOP, "plays on when told to stop"),
    ],
)
def test_broken_engines_fail(mistake, sentence):
    with pytest.raises(AssertionError, match=sentence):
        testing.check_engine(toy(mistake), standing, NORMAL)


def test_an_engine_must_be_able_to_play():
    with pytest.raises(AssertionError, match="the skip engine does not play Thompson"):
        testing.check_engine(SKIP, "thompson", NORMAL)
    with pytest.raises(AssertionError, match="skip-ahead needs Gaussian rewards"):
        testing.check_engine(SKIP, "moss", ocucb.uniform_rewards([0.6, 0.3]))


def test_a_leap_over_a_mark_fails(monkeypatch):
    """As if a kernel had asked nobody how far it may leap."""
    match = testing._matches(ocucb.MOSS(), NORMAL)[0]

    def play(game, first, runs):
        outcome = type(match).play(match, game, first, runs)
        outcome.noise[7, 1] = np.nan
        return outcome

    monkeypatch.setattr(match, "play", play)
    with pytest.raises(AssertionError, match="a leap passed a mark"):
        testing._check_tilted(match, np.zeros(9))


# Broken policies


@ocucb.index_policy(unplayed_index="constant", check=False)
def rising(pulls, t, horizon, arms):
    return sqrt(log(t) / pulls)


@ocucb.index_policy
def negative(pulls, t, horizon, arms):
    return sqrt(-1.0 / pulls)


def test_broken_policies_fail():
    with pytest.raises(AssertionError, match='rising declares unplayed_index="constant", but'):
        testing.check_policy(rising)
    with pytest.raises(AssertionError, match="negative could not choose an arm"):
        testing.check_policy(negative)


@pytest.mark.parametrize(("wrong", "sentence"), [(1, "number of workers"), (2, "pickled copy")])
def test_numbers_that_are_not_the_same_everywhere_fail(wrong, sentence, monkeypatch):
    calls, simulate = itertools.count(), ocucb.simulate
    monkeypatch.setattr(
        testing,
        "simulate",
        lambda *a, rng, **b: simulate(*a, rng=rng + (next(calls) == wrong), **b),
    )
    with pytest.raises(AssertionError, match=sentence):
        testing.check_policy("moss")


def test_a_bandit_that_is_not_the_simulator_fails(monkeypatch):
    tell = ocucb.Bandit.tell
    monkeypatch.setattr(
        ocucb.Bandit, "tell", lambda self, arm, reward: tell(self, arm, reward + arm)
    )
    with pytest.raises(AssertionError, match="MOSS: Bandit and simulate part in round"):
        testing.check_policy("moss")


# Broken kinds of reward


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"sample": lambda mean, scale, stream: mean + 0.5}, "the mean is 1 instead of 0.5"),
        ({"deviation": lambda mean, scale: 1.1 * scale}, "the variance is"),
        ({"bounds": lambda mean, scale: (-2.0, 2.0)}, r"outside \[-2, 2\]"),
        ({"binary": True}, "neither 0 nor 1"),
        ({"divergence": lambda mean, other, scale: 1.0}, "from themselves is 1"),
        (
            {"divergence": lambda mean, other, scale: (mean - other) ** 2},
            "the mean log-likelihood ratio, the divergence, is .* instead of 0.04",
        ),
        (
            {"log_likelihood_ratio": lambda noise, *rest: 1.5 * ratio(noise, *rest)},
            "the mean likelihood ratio is",
        ),
    ],
)
def test_broken_rewards_fail(change, sentence):
    kind = dataclasses.replace(GAUSSIAN, **change)
    with pytest.raises(AssertionError, match=sentence):
        testing.check_rewards(dataclasses.replace(NORMAL, rewards=kind))


ratio = GAUSSIAN.log_likelihood_ratio


def test_rewards_that_are_not_what_they_say_fail():
    with pytest.raises(AssertionError, match=r"exceeds sigma = 0\.9"):
        testing.check_rewards(dataclasses.replace(NORMAL, sigma=0.9))
    clicks = dataclasses.replace(BERNOULLI, brownian=True)
    with pytest.raises(AssertionError, match="not normal"):
        testing.check_rewards(dataclasses.replace(ocucb.bernoulli([0.6, 0.3]), rewards=clicks))


# Broken stores


class Dropping(ocucb.Store):
    def add(self, specification, block):
        if block.first != 64:
            super().add(specification, block)


class SeedBlind(ocucb.Store):
    def get(self, specification, first, runs):
        return super().get(dataclasses.replace(specification, seed=1), first, runs)


class CountingTwice(ocucb.Store):
    def runs(self, specification):
        return 2 * super().runs(specification)


class Replaying(ocucb.Store):
    def get(self, specification, first, runs):
        found = super().get(specification, first, runs)
        return found and dataclasses.replace(found, seconds=0.0)


class Closing(ocucb.Store):
    def __exit__(self, *error):
        self._pending.clear()
        super().__exit__(*error)


@pytest.mark.parametrize(
    ("store", "sentence"),
    [
        (Dropping, "the block from run 64 on was added, but is lost"),
        (SeedBlind, "takes a simulation for one with another seed"),
        (CountingTwice, r"128 runs were added, but the store counts \[256, 128\]"),
        (Replaying, "are played again"),
        (Closing, "the block from run 0 on was added, but is lost"),
    ],
)
def test_broken_stores_fail(store, sentence, tmp_path):
    with pytest.raises(AssertionError, match=sentence):
        testing.check_store(lambda: store(tmp_path / "results.db"))


def test_a_store_must_be_empty(tmp_path):
    ocucb.simulate("ucb", NORMAL, 10, 10, rng=1, store=tmp_path / "results.db")
    with pytest.raises(AssertionError, match="the store is not empty"):
        testing.check_store(lambda: ocucb.Store(tmp_path / "results.db"))
