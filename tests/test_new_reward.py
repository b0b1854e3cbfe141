"""A kind of reward that ocucb does not have, added as ARCHITECTURE.md says."""

from __future__ import annotations

import math
import warnings
from math import exp, log, sqrt

import numpy as np
import pytest

import ocucb
from helpers import agree, invoke
from ocucb import problems, rewards, testing, theory
from ocucb.random import uniform
from ocucb.results import Estimate
from ocucb.rewards import Rewards


def draw_poisson(mean, scale, stream):
    count, left = 0.0, uniform(stream)
    while left > exp(-mean):
        left *= uniform(stream)
        count += 1.0
    return count


def draw_exponential(mean, scale, stream):
    return -mean * log(1.0 - uniform(stream))


POISSON = Rewards(
    "poisson",
    draw_poisson,
    divergence=lambda mean, other, scale: mean * log(mean / other) + other - mean,
    log_likelihood_ratio=lambda noise, count, mean, tilted, scale: (
        (count * mean + noise) * np.log(mean / tilted) - count * (mean - tilted)
    ),
    deviation=lambda mean, scale: sqrt(mean),
    bounds=lambda mean, scale: (0.0, math.inf),
)

EXPONENTIAL = Rewards(
    "exponential",
    draw_exponential,
    divergence=lambda mean, other, scale: log(other / mean) + mean / other - 1.0,
    log_likelihood_ratio=lambda noise, count, mean, tilted, scale: (
        (count * mean + noise) * (1.0 / tilted - 1.0 / mean) - count * np.log(mean / tilted)
    ),
    deviation=lambda mean, scale: mean,
    bounds=lambda mean, scale: (0.0, math.inf),
)


def constructor(kind):
    def make(means):
        vector = np.array(means, dtype=np.float64)
        return ocucb.Problem(vector, np.ones(vector.size), kind, 2.0, kind.name)

    return make


@pytest.fixture(params=[POISSON, EXPONENTIAL], ids=lambda kind: kind.name)
def new_kind(request, monkeypatch):
    kind = request.param
    monkeypatch.setitem(rewards.KINDS, kind.name, kind)
    monkeypatch.setitem(problems.KINDS, kind.name, constructor(kind))
    return kind.name


@pytest.mark.parametrize("name", ["ocucb:alpha=1", "thompson", "epsilon-greedy"])
def test_a_new_kind_of_reward_needs_its_entry_and_constructor_alone(name, new_kind):
    """It is played plain and tilted, on each engine that can, and "auto" may tilt it.

    18 comparisons at 4 standard errors: a false alarm in one of 850 seeds.
    """
    problem = problems.of_kind(new_kind, [1.0, 2.0, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small alpha
        plain, tilted, auto = (
            ocucb.simulate(name, problem, 200, runs, rng=runs, sampling=sampling)[0]
            for runs, sampling in ((4000, "plain"), (2000, "tilted"), (1000, "auto"))
        )
        with pytest.warns(UserWarning, match="runs on the step engine"):
            ocucb.simulate(name, problem, 200, 2, engine="skip")
    assert (plain.sampling, tilted.sampling) == ("plain", "tilted")
    assert agree(tilted.weight, 1.0)
    for result in (tilted, auto):
        found = Estimate(float(result.regret[-1]), float(result.stderr[-1]))
        assert agree(found, plain.mean_regret, float(plain.stderr[-1]))


def test_a_new_kind_of_reward_passes_the_published_checks(new_kind):
    testing.check_rewards(problems.of_kind(new_kind, [1.0, 2.0]))


def test_theorems_and_the_command_line_know_a_new_kind_of_reward(new_kind):
    divergence = rewards.KINDS[new_kind].divergence(1.0, 2.0, 1.0)
    found = theory.report(problems.of_kind(new_kind, [1.0, 2.0]), 1000).statements["lai_robbins"]
    assert found.value == pytest.approx(log(1000) / divergence, rel=1e-12)
    done = invoke("simulate", "-p", "ucb", "--means", "1,2", "-n", "50", "--rewards", new_kind)
    assert done.exit_code == 0
    assert f"{new_kind} rewards" in done.stdout
