"""Kinds of reward added as ARCHITECTURE.md says: one that ocucb lacks, and exponential ones."""

from __future__ import annotations

import math
import warnings
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy import stats

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


def constructor(kind):
    def make(means):
        vector = np.array(means, dtype=np.float64)
        return ocucb.Problem(vector, np.ones(vector.size), kind, 2.0, kind.name)

    return make


@pytest.fixture(params=["poisson", "exponential"])
def new_kind(request, monkeypatch):
    """A kind that ocucb does not have, and one that has come as it would."""
    if request.param == POISSON.name:
        monkeypatch.setitem(rewards.KINDS, POISSON.name, POISSON)
        monkeypatch.setitem(problems.KINDS, POISSON.name, constructor(POISSON))
    return request.param


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


@pytest.mark.parametrize("mean", [0.02, 1.0, 30.0])
def test_exponential_rewards_have_their_law(mean):
    """Kolmogorov and Smirnov's test: a false alarm in one of 10,000 seeds."""
    problem = ocucb.exponential_rewards([mean])
    stream = np.array([7, 0, 1, 0], dtype=np.uint64)
    drawn = [problem.reward(0, stream) for _ in range(20_000)]
    assert stats.kstest(drawn, stats.expon(scale=mean).cdf).pvalue > 1e-4
    assert problem.sigma == problem.rewards.deviation(mean, 1.0) == mean


@pytest.mark.parametrize("means", [[1.0, 0.0], [-1.0], [math.nan]])
def test_means_of_exponential_rewards_are_above_0(means):
    with pytest.raises(ValueError, match=r"above 0, got|finite|number"):
        ocucb.exponential_rewards(means)


def test_theorems_about_subgaussian_rewards_do_not_cover_exponential_ones():
    found = theory.report(ocucb.exponential_rewards([2.0, 1.0]), 1000)
    assert "proved for sigma-subgaussian rewards, and these are exponential" in found.table()
    assert "UCB, constant 8: it is proved" in found.table()
    with pytest.raises(ValueError, match="exponential"):
        ocucb.prior(lambda means, stream: None, K=2, rewards="exponential")
