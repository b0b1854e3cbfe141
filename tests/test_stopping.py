"""Rules to stop: how often the arm that is recommended is wrong, and when they stop."""

from __future__ import annotations

from math import log

import naive
import numpy as np
import pytest

import ocucb
from ocucb.policies import parse_policy
from ocucb.simulation import specify
from policy_table import twin_of

NAMES = ["successive-elimination", "lucb", "top-two-thompson"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rewards", ["gaussian", "bernoulli"])
def test_every_run_stops_when_its_twin_does(name, rewards):
    problem = ocucb.gap(3, 2.5) if rewards == "gaussian" else ocucb.bernoulli([0.9, 0.1, 0.2])
    policy, n, stopped = parse_policy(f"{name}:delta=0.6"), 150, 0
    specification = specify(policy, problem, n, np.array([n]), 1, "step")
    found = specification.outcome(0, 25)
    for run in range(25):
        made = []

        def twin(*args, made=made, **p):
            made.append(twin_of(policy, problem.rewards.unit, problem.rewards.binary)(*args, **p))
            return made[-1]

        arms, _ = naive.play(policy, problem, n, specification._key, run, twin=twin)
        (one,) = made
        if one.decision is None:
            assert found.advice[run, 2] == n
            continue
        stopped += 1
        gap = problem.gaps[one.decision]
        assert found.advice[run, :3].tolist() == [gap > 0, gap, one.stopped]
        assert set(arms[one.stopped :]) == {one.decision}
        assert found.pulls[run].tolist() == np.bincount(arms, minlength=3).tolist()
    assert stopped >= 15


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_mistakes_are_as_rare_as_was_asked(name, delta):
    """And stopping takes at least what theory says it must: Garivier and Kaufmann (2016)."""
    for problem in (ocucb.gap(2, 0.6), ocucb.bernoulli([0.7, 0.4]), ocucb.gap(4, 1.0)):
        one = ocucb.simulate(
            f"{name}:delta={delta}", problem, 8000, 400, rng=1, sampling="plain", checkpoints=[8000]
        )[0]
        assert one.stopped.value > 0.99
        assert one.wrong.value - 2 * one.wrong.stderr <= delta
        if problem.arms == 2 and not problem.rewards.binary:
            least = 8 / 0.6**2 * (1 - 2 * delta) * log((1 - delta) / delta)
            assert one.stopping_time.value + 2 * one.stopping_time.stderr >= least


def test_stopping_times_are_near_the_lower_bound():
    """With delta = 1e-8 and two arms a sigma apart, nobody can stop after fewer than 140 rounds."""
    delta = 1e-8
    least = 8 * log(1 / (2.4 * delta))
    for name, most in (("top-two-thompson", 1.45), ("successive-elimination", 4), ("lucb", 4)):
        one = ocucb.simulate(
            f"{name}:delta={delta}", ocucb.gap(2, 1.0), 3000, 400, rng=1, sampling="plain"
        )[0]
        assert least < one.stopping_time.value < most * least, name
        assert one.stopped.value == 1.0


def test_a_rule_that_is_too_hasty_is_caught():
    """It stops as soon as one arm leads, and is wrong with a known probability, far above 5%."""

    @ocucb.choice_policy(memory=lambda arms: 2, stops=True)
    def hasty(t, horizon, pulls, sums, sigma, memory, stream):
        if memory[0] == 0.0:
            memory[0] = t - 1.0
            memory[1] = 0.0 if sums[0] / pulls[0] > sums[1] / pulls[1] else 1.0
        return int(memory[1])

    one = ocucb.simulate(hasty, ocucb.gap(2, 0.6), 100, 4000, rng=1, sampling="plain")[0]
    assert (one.stopped.value, one.stopping_time.value) == (1.0, 2.0)
    assert abs(one.wrong.value - 0.3357) < 4 * one.wrong.stderr  # of the normal law at 0.6/sqrt(2)


def test_a_declaration_needs_memory():
    with pytest.raises(TypeError, match="declares stops, so it must declare memory"):

        @ocucb.choice_policy(stops=True)
        def forgetful(t, horizon, pulls, sums, sigma, memory, stream):
            return 0


@pytest.mark.parametrize("name", NAMES)
def test_a_live_bandit_stops_too(name):
    bandit = ocucb.Bandit(["a", "b"], name, horizon=500, sigma=1.0, rng=1)
    told = np.random.default_rng(1)
    arms = []
    for _ in range(300):
        arms.append(bandit.ask())
        bandit.tell(arms[-1], told.normal(3.0 if arms[-1] == "a" else 0.0, 1.0))
    assert set(arms[-150:]) == {"a"}
