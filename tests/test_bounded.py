"""Rewards in [0, 1] other than 0 and 1: the divergence of mean and variance, and who uses it.

Tests of laws are made at level 1e-4; comparisons of means at 4 standard errors, one in 16,000 each.
"""

from __future__ import annotations

import json
import math
import pickle
import warnings

import numpy as np
import pytest
from naive_live import NaiveBandit
from scipy import integrate, optimize, stats

import ocucb
from helpers import invoke, play_steps
from ocucb import problems, testing
from ocucb.policies import FAMILIES
from ocucb.policies._divergence import bernoulli_kl, kl_upper, moment_kl, moment_upper
from ocucb.policies._rules import MomentKLRule
from ocucb.random import REWARDS, normal, start_stream, uniform
from policy_table import make

VARIED = [name for name, family in FAMILIES.items() if family.variance_form is not None]
RATINGS = ocucb.empirical([[0.25, 0.75, 0.75, 1.0, 1.0], [0.0, 0.5, 0.75, 0.75, 1.0], [0.5, 0.5]])


def drawn(problem, arm, count=20_000):
    stream = np.empty(4, np.uint64)
    start_stream(stream, np.array([7, arm], dtype=np.uint64), 0, REWARDS)
    return np.array([problem.reward(arm, stream) for _ in range(count)])


# The divergence


def k_inf(values, chances, q):
    """Honda and Takemura's: the maximum over u of E log(1 - u (X - q))."""

    def loss(u):
        return -float(chances @ np.log(np.maximum(1e-300, 1.0 - u * (values - q))))

    end = 1.0 / (1.0 - q)
    found = optimize.minimize_scalar(loss, bounds=(0.0, end), options={"xatol": 1e-12})
    return max(-found.fun, -loss(0.0), -loss(end * (1.0 - 1e-12)))


def random_laws(count):
    rng = np.random.default_rng(1)
    grid = np.linspace(0.0, 1.0, 21)
    for _ in range(count):
        chances = rng.dirichlet(np.full(21, rng.choice([0.1, 0.5, 2.0])))
        mean = float(chances @ grid)
        if mean < 0.95:
            yield grid, chances, mean, mean + (1.0 - mean) * rng.uniform(0.02, 0.9)


def test_a_sampler_without_bounds_is_noted_where_they_would_help():
    """A KL policy would play its Gaussian form on rewards in [0, 1], and nobody would know why."""

    def coin(mean, scale, stream):
        return 1.0 if uniform(stream) < mean else 0.0

    unknown = ocucb.custom_rewards(coin, [0.5, 0.4], sigma=0.5)
    with pytest.warns(UserWarning, match=r"KL-UCB plays as on Gaussian .* pass bounds=\(0, 1\)"):
        ocucb.simulate("kl-ucb", unknown, 50, runs=2, rng=1)
    told = ocucb.custom_rewards(coin, [0.5, 0.4], bounds=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ocucb.simulate("kl-ucb", told, 50, runs=2, rng=1)
        ocucb.simulate("ucb", unknown, 50, runs=2, rng=1)


def test_the_divergence_lies_between_those_of_clicks_and_of_all_that_is_known():
    for values, chances, mean, q in random_laws(300):
        variance = float(chances @ (values - mean) ** 2)
        found = moment_kl(mean, variance, q)
        assert bernoulli_kl(mean, q) <= found * (1 + 1e-9)
        assert found <= k_inf(values, chances, q) * (1 + 1e-7)


def test_no_law_with_the_same_moments_has_a_smaller_divergence():
    """A linear program finds the law that makes E log(1 - u (X - q)) smallest, on a fine grid."""
    grid = np.linspace(0.0, 1.0, 401)
    for values, chances, mean, q in random_laws(25):
        variance = float(chances @ (values - mean) ** 2)
        a = mean - variance / (1.0 - mean)
        p, level = (mean - a) / (1.0 - a), (q - a) / (1.0 - a)
        u = (level - p) / (level * (1.0 - level)) / (1.0 - a)  # the best against rewards a and 1
        least = optimize.linprog(
            np.log(1.0 - u * (grid - q)),
            A_eq=[np.ones(grid.size), grid, grid**2],
            b_eq=[1.0, mean, variance + mean**2],
        ).fun
        assert least == pytest.approx(moment_kl(mean, variance, q), rel=1e-3)


@pytest.mark.parametrize("mean", [0.0, 1e-6, 0.2, 0.9, 1.0])
@pytest.mark.parametrize("budget", [0.0, 1e-6, 0.1, 3.0])
def test_the_index_inverts_the_divergence(mean, budget):
    for share in (0.0, 1e-6, 0.3, 0.999):
        variance = share * mean * (1.0 - mean)
        index = moment_upper(mean, variance, budget)
        assert mean * (1 - 1e-12) <= index <= 1.0
        if mean < index < 1.0 - 1e-6:  # nearer to 1, rounding decides
            assert moment_kl(mean, variance, index) == pytest.approx(budget, rel=1e-6)


@pytest.mark.parametrize("mean", [0.0, 0.013, 0.5, 2 / 3, 1.0])
def test_rewards_of_0_and_1_have_the_index_of_clicks_bit_by_bit(mean):
    for budget in (0.0, 0.01, 2.0):
        for rounding in (1.0, 1.0 + 1e-13, 1.0 - 1e-13):
            variance = rounding * mean * (1.0 - mean)
            assert moment_upper(mean, variance, budget) == kl_upper(mean, budget)


def test_equal_rewards_keep_an_index_above_their_mean():
    """Nothing has varied so far, but a reward of 1 may still come: no collapse to the mean."""
    for pulls in (1, 2, 10):
        index = moment_upper(0.3, 0.0, 3.0 / pulls)
        assert index == pytest.approx(1.0 - 0.7 * math.exp(-3.0 / pulls))


def test_rewards_outside_their_bounds_break_nothing():
    for mean, variance in ((1.2, 0.1), (-0.3, 0.4), (0.5, 7.0)):
        assert moment_upper(mean, variance, 0.5) == kl_upper(mean, 0.5)


# Kinds of reward


@pytest.mark.parametrize(("mean", "concentration"), [(0.7, 10), (0.5, 2), (0.2, 0.3), (0.01, 1)])
def test_beta_rewards_have_their_law(mean, concentration):
    problem = ocucb.beta_rewards([mean], concentration)
    law = stats.beta(mean * concentration, (1 - mean) * concentration)
    found = drawn(problem, 0)
    assert stats.kstest(found, law.cdf).pvalue > 1e-4
    assert problem.rewards.deviation(mean, concentration) == pytest.approx(law.std())


@pytest.mark.parametrize("other", [0.3, 0.5, 0.8])
def test_divergence_of_beta_rewards(other):
    p, q = stats.beta(0.5 * 6, 0.5 * 6), stats.beta(other * 6, (1 - other) * 6)
    slow = integrate.quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), 0, 1)[0]
    found = ocucb.beta_rewards([0.5], 6).rewards.divergence(0.5, other, 6.0)
    assert found == pytest.approx(slow, abs=1e-7)


def test_empirical_rewards_have_their_law():
    arrays = [[0.1, 0.1, 0.4, 0.9], [0.2, 0.3], [0.5]]
    problem = ocucb.empirical(arrays)
    assert problem.means == pytest.approx([0.375, 0.25, 0.5])
    assert problem.rewards.bounds(0.3, 1.0) == (0.0, 1.0)
    for arm, values in enumerate(arrays):
        kinds, counts = np.unique(values, return_counts=True)
        found, times = np.unique(drawn(problem, arm), return_counts=True)
        assert found.tolist() == kinds.tolist()
        if kinds.size > 1:
            assert stats.chisquare(times, 20_000 * counts / counts.sum()).pvalue > 1e-4


def test_what_empirical_rewards_tell_policies():
    wide = ocucb.empirical([[0.0, 30.0], [5.0, 10.0, 12.0]])
    assert not wide.rewards.unit
    assert (wide.sigma, wide.rewards.bounds(0, 1)) == (15.0, (0.0, 30.0))
    assert ocucb.empirical([[0.2, 0.4], [0.3]]).sigma == 0.5
    clicks = ocucb.empirical([[0, 1, 1, 0], [0, 0, 1]])
    assert clicks.rewards is ocucb.bernoulli([0.5, 1 / 3]).rewards
    assert clicks.means.tolist() == [0.5, 1 / 3]


def test_empirical_rewards_are_told_apart_and_travel():
    """Another order is another problem, with streams of its own; a copy is the same one."""
    one, other = ocucb.empirical([[0.1, 0.5]] * 2), ocucb.empirical([[0.5, 0.1]] * 2)
    assert one.identity != other.identity
    copy = pickle.loads(pickle.dumps(RATINGS))
    assert copy.identity == RATINGS.identity
    regrets = [
        ocucb.simulate("kl-ucb", problem, 200, 40, rng=1, workers=workers, progress=False)[0].sample
        for problem, workers in ((RATINGS, 1), (RATINGS, 2), (copy, 1))
    ]
    assert (regrets[0] == regrets[1]).all()
    assert (regrets[0] == regrets[2]).all()


@pytest.mark.parametrize(
    "problem", [ocucb.beta_rewards([0.6, 0.3], 0.7), RATINGS], ids=["beta", "empirical"]
)
def test_kinds_in_the_unit_interval_pass_the_published_checks(problem):
    testing.check_rewards(problem)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ocucb.beta_rewards([0.5, 1.0]), ValueError, "between 0 and 1, got 1 for arm 2"),
        (lambda: ocucb.beta_rewards([0.5], 0), ValueError, "concentration must be greater than 0"),
        (lambda: ocucb.empirical(3), TypeError, "a list of lists of rewards, got 3"),
        (lambda: ocucb.empirical([]), ValueError, "at least one arm, got none"),
        (lambda: ocucb.empirical([[1.0], []]), ValueError, "one reward, got none for arm 2"),
        (lambda: ocucb.empirical([[1.0], ["a"]]), TypeError, "rewards of arm 2 must be numbers"),
        (lambda: ocucb.empirical([[2.0, 2.0], [2.0]]), ValueError, "must not all be the same"),
        (lambda: ocucb.empirical([[2.0, math.nan]]), ValueError, "rewards of arm 1 must be finite"),
    ],
)
def test_wrong_problems(call, error, words):
    with pytest.raises(error, match=words):
        call()


# Samplers


def noisy(mean, scale, stream):
    return mean + scale * normal(stream)


def deaf(mean, scale, stream):
    return normal(stream)


def told(arm, mean, scale, stream):
    return mean + 0.1 * (arm + 1) * (uniform(stream) - 0.5)


def skewed(mean, scale, stream):
    """Mean `mean`, but mostly 0: revenue."""
    return 1000.0 * mean if uniform(stream) < 0.001 else 0.0


def wild(mean, scale, stream):
    """Symmetric around the mean, without a variance."""
    return mean + normal(stream) / (1e-9 + abs(normal(stream)))


def tried(sample, means, **facts):
    problem = ocucb.custom_rewards(sample, means, **facts)
    return ocucb.simulate("greedy", problem, 20, 2, rng=1, progress=False)


@pytest.mark.parametrize(("means", "arm"), [([0.0, -0.3], 2), ([0.25, 0.0], 1)])
def test_a_sampler_that_ignores_its_mean_is_found_out(means, arm):
    with pytest.raises(ValueError, match=f"deaf drew for arm {arm} average .*check=False"):
        tried(deaf, means, sigma=1.0)
    tried(deaf, means, sigma=1.0, check=False)
    tried(deaf, [0.0, 0.0], sigma=1.0)


def test_correct_samplers_are_not_accused():
    """True by theorems, with probability 1 - 1e-6, if noise is subgaussian or symmetric."""
    tried(noisy, np.linspace(-3, 3, 300), sigma=1.0)
    tried(wild, [0.0, 1.0, 5.0], sigma=1.0)
    tried(skewed, [0.1, 0.2], sigma=50.0, check=True)
    tried(noisy, [1e13, -1e13], sigma=1.0)


@pytest.mark.parametrize(("sample", "fewest"), [(noisy, 5), (wild, 0)])
def test_false_alarms_are_as_rare_as_they_should_be(sample, fewest, monkeypatch):
    """With an allowed rate of 1/2, two normal arms exceed the limit of 2.04 in 8% of 200 seeds.

    Fewer than 5 or more than 40 alarms would be a chance of 1e-4.
    """
    from ocucb import samplers

    monkeypatch.setattr(samplers, "_FALSE_ALARM", 0.5)
    problem, key = ocucb.custom_rewards(sample, [0.0, 1.0], sigma=1.0), samplers.stream_key
    alarms = 0
    for seed in range(200):
        monkeypatch.setattr(samplers, "stream_key", lambda _, what, seed=seed: key(seed, what))
        try:
            samplers._try.__wrapped__(problem)
        except ValueError:
            alarms += 1
    assert fewest <= alarms <= 40


def test_a_sampler_may_be_told_the_arm():
    problem = ocucb.custom_rewards(told, [0.3, 0.5, 0.4], sigma=0.5)
    for arm in range(3):
        reach = np.abs(drawn(problem, arm, 500) - problem.means[arm]).max()
        assert 0.045 * (arm + 1) < reach <= 0.05 * (arm + 1)
    result = ocucb.simulate("ocucb", problem, 500, 50, rng=1, progress=False)
    assert result[0].mean_regret < 20
    testing.check_rewards(problem)


def test_bounds_of_a_sampler():
    problem = ocucb.custom_rewards(told, [0.3, 0.5], bounds=(0, 1))
    assert problem.rewards.unit
    assert problem.sigma == 0.5
    assert problem.identity != ocucb.custom_rewards(told, [0.3, 0.5], sigma=0.5).identity
    assert not ocucb.custom_rewards(told, [0.3, 0.5], bounds=(0, 2)).rewards.unit
    assert ocucb.custom_rewards(told, [0.3], sigma=0.1, bounds=(0, 1)).sigma == 0.1
    with pytest.raises(ValueError, match=r"told gave 0\.\d+ for arm 2, outside the bounds 0.2 and"):
        tried(told, [0.3, 0.3], bounds=(0.2, 0.36))


@pytest.mark.parametrize(
    ("facts", "error", "words"),
    [
        ({}, TypeError, r"give sigma, or bounds=\(low, high\)"),
        ({"bounds": (1, 0)}, ValueError, "the lower one first"),
        ({"bounds": 3}, ValueError, "two numbers"),
        ({"bounds": (0.4, 1)}, ValueError, "bounds 0.4 and 1, got 0.3 for arm 1"),
        ({"sigma": 1, "check": "no"}, TypeError, "check must be True or False, got 'no'"),
    ],
)
def test_wrong_facts_about_a_sampler(facts, error, words):
    with pytest.raises(error, match=words):
        ocucb.custom_rewards(told, [0.3, 0.5], **facts)


# Who plays how


def test_policies_look_at_the_variance_where_rewards_are_known_to_lie_in_the_unit_interval():
    family = FAMILIES["kl-ucb"]
    assert isinstance(family.form(True, binary=False).rule, MomentKLRule)
    assert family.form(True) is family.bounded_form
    assert family.form(False, binary=False) is family
    assert FAMILIES["ocucb"].form(True, binary=False) is FAMILIES["ocucb"]
    assert FAMILIES["kl-maillard"].form(True, binary=False) is FAMILIES["kl-maillard"].bounded_form
    assert "imed" in VARIED


@pytest.mark.parametrize("name", VARIED)
@pytest.mark.parametrize(
    "problem", [ocucb.beta_rewards([0.6, 0.5, 0.2], 3), RATINGS], ids=["beta", "ratings"]
)
def test_a_live_bandit_plays_what_is_simulated(name, problem):
    testing._check_live(make(name), problem)


@pytest.mark.parametrize("name", VARIED)
def test_clicks_are_played_alike_by_the_form_for_clicks_and_the_one_for_other_rewards(name):
    """A bandit does not know that rewards are 0 and 1; the simulator does."""
    testing._check_live(make(name), ocucb.bernoulli([0.6, 0.5, 0.2]))


@pytest.mark.parametrize("name", ["kl-ucb", "kl-ucb-plus", "kl-moss", "kl-adaucb", "imed"])
@pytest.mark.parametrize("arms", [3, 100])
def test_a_bandit_with_late_rewards_against_the_model(name, arms):
    rng = np.random.default_rng(4)
    bandit = ocucb.Bandit(range(arms), make(name), 3000, bounds=(0, 1), rng=2)
    words = bandit.to_dict()["stream"]
    model = NaiveBandit(list(range(arms)), make(name), 3000, 0.5, words, unit=True)
    waiting = []
    for _ in range(300):
        arm = bandit.ask()
        assert arm == model.ask()
        waiting.append(arm)
        while len(waiting) > 5 or (waiting and rng.random() < 0.6):
            paid = waiting.pop(int(rng.integers(len(waiting))))
            reward = float(rng.beta(1 + paid % 3, 2))
            bandit.tell(paid, reward)
            model.tell(paid, reward)


@pytest.mark.parametrize("name", ["kl-ucb", "kl-ucb-plus", "imed"])
def test_the_variance_saves_regret(name):
    """Beta rewards with a fifth of the variance of clicks: less than half the regret."""
    problem = ocucb.beta_rewards([0.6, 0.5, 0.5], concentration=9)
    policy, key = make(name), np.array([1, 2], dtype=np.uint64)
    regret, _ = play_steps(policy, problem, 2000, key, first=0, runs=100)
    plain = ocucb.Policy(policy.family.bounded_form, policy.values)
    blind, _ = play_steps(plain, problem, 2000, key, first=0, runs=100)
    saved = 0.5 * blind[:, -1] - regret[:, -1]
    assert saved.mean() > 4 * saved.std() / 10


def test_a_choice_may_see_squared_deviations():
    @ocucb.choice_policy
    def steadiest(t, horizon, pulls, sums, squares, sigma, memory, stream):
        best = 0
        for i in range(pulls.size):
            if squares[i] / pulls[i] < squares[best] / pulls[best]:
                best = i
        return best if t > 60 else int(t) % pulls.size

    problem = ocucb.gaussian([0.0, 1.0, 0.5], sigma=[1.0, 3.0, 0.2])
    result = ocucb.simulate(steadiest, problem, 1000, 50, rng=1, progress=False)[0]
    assert (result.pulls > [15, 15, 900]).all()
    bandit = ocucb.Bandit(range(3), steadiest, 1000, sigma=1.0, rng=1)
    rng = np.random.default_rng(1)
    played = []
    for _ in range(100):
        arm = bandit.ask()
        played.append(arm)
        bandit.tell(arm, rng.normal(0, problem.scales[arm]))
    assert set(played[60:]) == {2}


def test_a_user_may_declare_a_form_that_looks_at_the_variance():
    @ocucb.index_policy
    def wide(mean, variance, pulls, t, horizon, arms, sigma, c=1.0):
        return mean + c * math.sqrt(variance / pulls)

    @ocucb.index_policy(variance_form=wide)
    def narrow(pulls, t, horizon, arms, c=1.0):
        return c / pulls

    assert narrow.form(True, binary=False).rule.takes_variance
    assert narrow.form(True).rule is narrow.rule
    other = ocucb.index_policy(narrow.source)
    arguments = (1.0,)
    assert narrow().identity(arguments) != other().identity(arguments)
    with pytest.raises(TypeError, match="variance_form must be a policy with the same parameters"):
        ocucb.index_policy(variance_form=make("ucb").family)(narrow.source)


# What was saved before policies looked at the variance


@pytest.mark.parametrize("minimize", [False, True])
def test_a_bandit_saved_without_squares_counts_rewards_as_clicks(minimize):
    bandit = ocucb.Bandit("abc", "kl-ucb", 100, bounds=(0, 1), minimize=minimize, rng=1)
    for reward in (0.2, 0.7, 0.4, 1.0, 0.0, 0.3):
        bandit.tell(bandit.ask(), reward)
    document = json.loads(json.dumps(bandit.to_dict()))
    squares = document.pop("squares")
    old = {**document, "format_version": 2}
    restored = ocucb.Bandit.from_dict(old)
    parts = {**bandit.to_parts(), "squares": None}
    for bandit in (restored, ocucb.Bandit.from_parts(**parts)):
        found = bandit.to_dict()
        pulls, sums = np.array(found["pulls"]), np.array(found["sums"])
        assert found["squares"] == pytest.approx(sums * (1 - sums / pulls))
        assert (np.array(found["squares"]) > np.array(squares)).any()
    with pytest.raises(ValueError, match="squares"):
        ocucb.Bandit.from_dict(document)


# The command line


def test_beta_rewards_on_the_command_line():
    call = ("simulate", "-p", "kl-ucb", "--means", "0.6,0.5", "-n", "50", "--rewards", "beta")
    assert "beta rewards" in invoke(*call).stdout
    problem = problems.of_kind("beta", [0.6, 0.5], sigma=[0.1, 0.2])
    spread = [
        problem.rewards.deviation(*pair) for pair in zip(problem.means, problem.scales, strict=True)
    ]
    assert spread == pytest.approx([0.1, 0.2])
    done = invoke(*call, "--sigma", "0.5")
    assert done.exit_code == 2
    assert "Beta rewards with mean 0.6 must be below 0.4899, got 0.5" in done.stderr
