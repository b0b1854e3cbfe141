"""Skip-ahead against step by step: the same distributions, not only the same means.

Thirteen problems (1 to 100 arms, small and large gaps, short and long horizons, sigma other than 1,
one sigma for each arm) are played on both engines with independent seeds; by policies that share
most of their code with others, five. The regret at two checkpoints and at the end, the pulls of the
first and of the last arm, and the tails are compared, each at level 1e-8 (`helpers.assert_same`).
These are some 1200 comparisons: with random seeds this file would raise a false alarm about once in
80,000 times. The seeds are fixed.

That the comparisons can fail is tested too, by breaking what makes skipping exact.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from math import exp, sqrt

import numpy as np
import pytest

import ocucb
from helpers import (
    Case,
    assert_same,
    find_kernel,
    play,
    standing,
    steep,
    steep_rising,
    weighted_runs,
)
from ocucb import problems
from ocucb._compile import compiled, specialise
from ocucb.engine import Kernel, choose_engine, skip, skip_leader, skip_thompson
from ocucb.importance import Mixture, first_mixture
from ocucb.policies import to_policies
from ocucb.random import normal
from ocucb.rewards import GAUSSIAN
from policy_table import INDEX, SKIPPING, THOROUGH, entry_of, make, reduced

# On Gaussian rewards KL-UCB is UCB, and KL-UCB-switch is MOSS: test_policies compares the formulae.
SAME = ("kl-ucb", "kl-ucb:c=3", "kl-ucb-switch", "bayes-ucb:c=2")
TEXTS = [text for text in SKIPPING if text not in SAME]
FIRST = [text for text in TEXTS if ":" not in text]  # with the parameters that they have
APART = [text for text in THOROUGH if text in INDEX]  # index policies with their own declarations


CASES = {
    "K=1": Case(problems.gaussian([0.3]), 100, 1000),
    "K=2, gap 0.3": Case(problems.gap(2, 0.3), 1000, 12_000),
    "K=2, gap 0.05": Case(problems.gap(2, 0.05), 2000, 10_000),
    "K=2, gap 1, long": Case(problems.gap(2, 1.0), 20_000, 2000),
    "K=2, gap 0.3, short": Case(problems.gap(2, 0.3), 50, 10_000),
    "K=2, sigma 2": Case(problems.gap(2, 1.0, sigma=2.0), 1000, 10_000),
    "K=3, sigma by arm": Case(problems.gaussian([0, -0.2, -0.5], [0.3, 1.0, 2.0]), 1000, 10_000),
    "K=3, equal": Case(problems.gaussian([0.0] * 3), 300, 10_000),
    "K=10, gap 0.5": Case(problems.gap(10, 0.5), 1000, 6000),
    "K=10, uniform": Case(problems.uniform_arms(10), 3000, 3000),
    "K=10, moss-failure": Case(problems.moss_failure(10), 1000, 5000),
    "K=100, uniform": Case(problems.uniform_arms(100, sigma=0.3), 1000, 2000),
    "K=40, few rounds": Case(problems.gap(40, 2.0), 200, 5000),
}


def weighted(policy: ocucb.Policy, case: Case, kernel, seed: int, mixture: Mixture):
    """Return regret, pulls and weights of runs that are drawn from a mixture."""
    key = np.array([seed, 99], dtype=np.uint64)
    n = case.horizon
    call = policy, case.problem, n, np.array([n]), key, 0, case.runs, mixture
    outcome, weights = weighted_runs(kernel, *call)
    return outcome.regret, outcome.pulls, weights


FEW = ("K=1", "K=2, gap 0.3, short", "K=3, sigma by arm", "K=10, gap 0.5", "K=40, few rounds")


@pytest.mark.parametrize(("text", "name"), reduced(TEXTS, CASES, FEW))
def test_same_distribution(text, name):
    policy, case = make(text), CASES[name]
    assert choose_engine(policy, case.problem, case.horizon, "skip").name == "skip"
    assert_same(find_kernel("skip", policy, case.problem, case.horizon), policy, case)


@ocucb.sampling_policy(unplayed_index="constant")
def wide(pulls, t, horizon, arms):
    return 2.0 / sqrt(pulls)


@ocucb.sampling_policy(unplayed_index="nonincreasing")
def collapsing(pulls, t, horizon, arms):
    """Deviations fall a hundredfold while an arm leads: what was true before is of no use."""
    return 3.0 * exp(-5.0 * t / horizon) / sqrt(pulls)


COLLAPSES = {
    "K=10": Case(problems.gap(10, 0.5), 1000, 6000),
    "K=20": Case(problems.gap(20, 0.5), 200, 10_000),
    "K=40": Case(problems.gap(40, 1.0), 200, 10_000),
    "K=40, close": Case(problems.uniform_arms(40, sigma=0.3), 300, 10_000),
}


@pytest.mark.parametrize("name", COLLAPSES)
def test_deviations_that_collapse(name):
    case = COLLAPSES[name]
    engine = find_kernel("skip", collapsing(), case.problem, case.horizon)
    assert_same(engine, collapsing(), case)


@pytest.mark.parametrize("name", ["K=2, gap 0.3", "K=3, sigma by arm", "K=10, gap 0.5"])
@pytest.mark.parametrize("family", [steep, steep_rising, standing, wide], ids=lambda f: f.name)
def test_policies_of_a_user(family, name):
    case = replace(CASES[name], runs=4000)
    policy = family()
    assert_same(find_kernel("skip", policy, case.problem, case.horizon), policy, case)


@compiled
def _forgets_to_survive(height, drift, scale, span, rewards):
    return scale * sqrt(span) * normal(rewards)


@compiled
def _meets_late(height, drift, scale, before, rewards):
    return 2.0 * skip.hitting_time(height, drift, scale, 0.5 * before, rewards)


@compiled
def _half_the_tail(z):
    return 0.5 * skip_thompson.tail_bound(z)


def broken(family: ocucb.PolicyFamily, **parts):
    """Return a skip kernel whose leaders are followed with a wrong part."""
    sampling = family.rule.kind == "sampling"
    module = skip_thompson if sampling else skip
    plan = module.plan(family, GAUSSIAN)
    lead = skip_thompson.lead if sampling else skip.play_leader
    plan.slots[lead.__name__] = specialise(lead, plan.slots | parts)
    return module.ENGINE, Kernel(plan)


@pytest.mark.parametrize(
    ("text", "horizon", "parts"),
    [
        ("ocucb", 4000, {"hitting_time": _meets_late}),
        ("moss", 1000, {"endpoint_given_no_hit": _forgets_to_survive}),
        ("ucb", 4000, {"hitting_time": _meets_late}),
        ("thompson", 4000, {"tail_bound": _half_the_tail}),
    ],
    ids=["late", "MOSS, survivors", "UCB, late", "half the candidates"],
)
def test_a_broken_bound_is_caught(text, horizon, parts):
    """The same comparisons, on engines that are wrong, must fail."""
    policy = make(text)
    case = replace(CASES["K=2, gap 0.3"], horizon=horizon)
    with pytest.raises(AssertionError):
        assert_same(broken(policy.family, **parts), policy, case)


@compiled
def _too_low(mean, pulls, leader_pulls, sigma):
    return mean


def test_challenges_that_are_too_low_are_caught():
    """The leader would play on where another arm challenges it."""
    policy = make("imed")
    plan = skip_leader.plan(policy.family, GAUSSIAN)
    plan.slots["challenge"] = _too_low
    plan.slots["challenge_all"] = specialise(skip_leader.challenge_all, plan.slots)
    kernel = skip_leader.ENGINE, Kernel(plan)
    with pytest.raises(AssertionError):
        assert_same(kernel, policy, replace(CASES["K=2, gap 0.3"], runs=2000))


@cache
def without_leaps(family: ocucb.PolicyFamily):
    plan = skip.plan(family, GAUSSIAN)
    plan.slots["LEAP"] = 1e18
    plan.slots["play_leader"] = specialise(skip.play_leader, plan.slots)
    return skip.ENGINE, Kernel(plan)


@pytest.mark.parametrize("text", APART)
@pytest.mark.parametrize("name", ["K=3, sigma by arm", "K=10, uniform", "K=40, few rounds"])
def test_without_leaps_every_run_is_that_of_the_step_engine(text, name):
    """All but the leaps is exact arithmetic: the same random numbers give the same pulls."""
    policy, case = make(text), replace(CASES[name], runs=500)
    skipped = play(policy, case, without_leaps(policy.family), 3)
    stepped = play(policy, case, find_kernel("step", policy, case.problem, case.horizon), 3)
    assert (skipped[1] == stepped[1]).all()
    assert skipped[0] == pytest.approx(stepped[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("text", APART)
@pytest.mark.parametrize("horizon", [4, 6, 10, 34, 300])
def test_without_leaps_every_tilted_run_is_that_of_the_step_engine(text, horizon):
    """The same component, tilted for as many pulls, and the same weight.

    With few rounds the best arm often meets a mark in the last round, or in the one before.
    """
    policy = make(text)
    case = Case(problems.gaussian([-0.2, 0.3, -0.5], [0.3, 1.0, 2.0]), horizon, 500)
    mixture = first_mixture(case.problem, 300)
    skipped = weighted(policy, case, without_leaps(policy.family), 3, mixture)
    stepping = find_kernel("step", policy, case.problem, case.horizon)
    stepped = weighted(policy, case, stepping, 3, mixture)
    assert (skipped[1] == stepped[1]).all()
    assert skipped[2] == pytest.approx(stepped[2], rel=1e-9)
    assert np.unique(stepped[2]).size > 250


def test_what_cannot_be_skipped_runs_step_by_step():
    clicks, bounded = ocucb.bernoulli([0.5, 0.4]), ocucb.uniform_rewards([0.5, 0.4])

    @ocucb.index_policy
    def silent(pulls, t, horizon, arms):
        return 1.0 / pulls

    @ocucb.index_policy(unplayed_index="constant")
    def whole(mean, pulls, t, horizon, arms, sigma):
        return mean + sigma / sqrt(pulls)

    for policy, problem, words in (
        ("ocucb", bounded, "needs Gaussian rewards or rewards of 0 and 1, but these are uniform."),
        ("thompson", clicks, "needs Gaussian rewards, but these are bernoulli."),
        ("adaucb", clicks, "needs Gaussian rewards, but these are bernoulli."),
        (whole, clicks, "engine: skip-ahead needs an index that is the mean plus a bonus."),
        ("improved-ucb", ocucb.gap(), "does not declare who challenges the leader"),
        ("imed", bounded, "needs Gaussian rewards or rewards of 0 and 1, but these are uniform."),
        ("bayes-ucb", clicks, "engine: skip-ahead needs an index that is the mean plus a bonus."),
        (silent, ocucb.gap(), "does not declare how the index of an unplayed arm changes"),
    ):
        (chosen,) = to_policies(policy)
        with pytest.warns(UserWarning, match=words):
            assert choose_engine(chosen, problem, 50, "skip").name == "step"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert choose_engine(chosen, problem, 50, "auto").name == "step"
    with pytest.warns(UserWarning, match=words):  # simulate asks the same way
        assert ocucb.simulate(silent, ocucb.gap(), 50, 5, rng=1, engine="skip")[0].engine == "step"


@pytest.mark.parametrize("policy", FIRST)
def test_checkpoints_do_not_change_a_run(policy):
    """Skipping passes over checkpoints: what is written there agrees with the end."""
    problem = ocucb.gap(3, 0.4)
    result = ocucb.simulate(policy, problem, 5000, 50, rng=1, engine="skip")[0]
    assert result.engine == "skip"
    assert (np.diff(result.regret) >= 0).all()
    assert result.regret[-1] == pytest.approx(result.pulls @ problem.gaps)
    if make(policy).family.rule.kind != "sampling":  # there a checkpoint takes random numbers
        bare = ocucb.simulate(policy, problem, 5000, 50, rng=1, engine="skip", checkpoints=[])[0]
        assert (bare.sample == result.sample).all()


@pytest.mark.parametrize("policy", [p for p in FIRST if entry_of(p).largest_horizon >= 10**9])
def test_long_horizons_and_many_arms(policy):
    long = ocucb.simulate(policy, ocucb.gap(2, 0.3), 10**9, 5, rng=1, engine="skip")[0]
    assert long.pulls.sum() == pytest.approx(1e9)
    if entry_of(policy).logarithmic:
        assert 10 < long.mean_regret < 600
    many = ocucb.simulate(policy, ocucb.gap(3000, 1.0), 20_000, 1, rng=1, engine="skip")[0]
    assert many.pulls.sum() == 20_000
    assert many.pulls.min() >= 1


@pytest.mark.parametrize("text", THOROUGH)
def test_skip_gives_the_same_bits_for_any_number_of_threads(text):
    policy = make(text)  # 2000 runs are two dozen blocks
    one, two = (
        ocucb.simulate(policy, ocucb.gap(5), 3000, 2000, rng=4, engine="skip", workers=workers)[0]
        for workers in (1, 4)
    )
    assert (one.regret == two.regret).all()
    assert (one.sample == two.sample).all()
