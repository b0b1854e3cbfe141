"""Problems: what they know about themselves, and rewards that have the law they claim."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import ocucb
from ocucb import problems
from ocucb.instances import parse_problem
from ocucb.random import REWARDS, start_stream, uniform


def rewards(problem, arm, count=40_000):
    state = np.empty(4, np.uint64)
    start_stream(state, np.array([1, arm], dtype=np.uint64), 0, REWARDS)
    mean, scale = problem.means[arm], problem.scales[arm]
    return np.array([problem.rewards.draw(mean, scale, state) for _ in range(count)])


def test_what_a_problem_knows():
    problem = ocucb.gaussian([0.2, 0.7, 0.4], sigma=[1, 2, 0.5])
    assert problem.arms == 3
    assert problem.best_arm == 1
    assert problem.gaps == pytest.approx([0.5, 0, 0.3])
    assert problem.sigma == 2
    with pytest.raises(ValueError, match="read-only"):
        problem.means[0] = 1


def test_rewards_have_their_distribution():
    """Kolmogorov-Smirnov or binomial, false alarm 1e-5 each."""
    gaussian = ocucb.gaussian([0.3, -2.0], sigma=[1.5, 0.1])
    for arm in range(2):
        law = stats.norm(gaussian.means[arm], gaussian.scales[arm])
        assert stats.kstest(rewards(gaussian, arm), law.cdf).pvalue > 1e-5
    coins = ocucb.bernoulli([0.3, 1.0, 0.0])
    assert stats.binomtest(int(rewards(coins, 0).sum()), 40_000, 0.3).pvalue > 1e-5
    assert rewards(coins, 1, 1000).min() == 1
    assert rewards(coins, 2, 1000).max() == 0
    even = ocucb.uniform_rewards([0.5], halfwidth=0.25)
    assert stats.kstest(rewards(even, 0), stats.uniform(0.25, 0.5).cdf).pvalue > 1e-5


@pytest.mark.parametrize(
    ("make", "halfwidth"),
    [
        (lambda: ocucb.gaussian([0.0], sigma=1.7), None),
        (lambda: ocucb.bernoulli([0.3]), None),
        (lambda: ocucb.uniform_rewards([0.0], halfwidth=0.8), 0.8),
    ],
)
def test_sigma_bounds_the_moment_generating_function(make, halfwidth):
    """E exp(s X) <= exp(s^2 sigma^2 / 2), exactly, for the law of the noise."""
    problem = make()
    s = np.linspace(-6, 6, 1201)
    s = s[s != 0]
    mean, scale = problem.means[0], problem.scales[0]
    if problem.rewards.name == "gaussian":
        mgf = np.exp(s**2 * scale**2 / 2)
    elif problem.rewards.name == "bernoulli":
        mgf = mean * np.exp(s * (1 - mean)) + (1 - mean) * np.exp(-s * mean)
    else:
        mgf = np.sinh(s * halfwidth) / (s * halfwidth)
    assert (mgf <= np.exp(s**2 * problem.sigma**2 / 2) * (1 + 1e-12)).all()


def test_instances_of_the_paper():
    assert problems.gap(3, 0.25).means.tolist() == [0, -0.25, -0.25]
    failure = problems.moss_failure(5)
    assert failure.means.tolist() == [0, -0.05, -1, -1, -1]
    assert failure.paper_horizon == 125
    assert problems.uniform_arms(4).means.tolist() == [0, -0.25, -0.5, -0.75]
    counterexample = problems.conjecture(10)
    assert counterexample.means[:3].tolist() == [0.5, 0.4, 0]
    assert counterexample.paper_horizon == 100
    # section 2.1: H = 4 (K - 2) + K^2
    gaps = counterexample.gaps[1:]
    assert (1 / gaps**2).sum() == pytest.approx(4 * 8 + 100)


def test_custom_rewards():
    def coin(mean, scale, stream):
        return mean + (scale if uniform(stream) < 0.5 else -scale)

    problem = ocucb.custom_rewards(coin, [0.0, -0.5], sigma=1.0)
    assert sorted(set(rewards(problem, 1, 100))) == [-1.5, 0.5]
    result = ocucb.simulate("ocucb", problem, 2000, 200, rng=1)
    assert result[0].engine == "step"
    assert result[0].mean_regret < 100


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ocucb.gaussian([]), ValueError, "at least one arm, got none"),
        (lambda: ocucb.gaussian([0, float("nan")]), ValueError, "finite, got nan for arm 2"),
        (lambda: ocucb.gaussian([float("inf"), 0]), ValueError, "finite, got inf for arm 1"),
        (lambda: ocucb.gaussian([[0, 1]]), ValueError, "list of numbers"),
        (lambda: ocucb.gaussian("ab"), TypeError, "must be numbers"),
        (lambda: ocucb.gaussian([0, 1], sigma=0), ValueError, "sigma must be greater than 0"),
        (lambda: ocucb.gaussian([0, 1], sigma=-1), ValueError, "got -1"),
        (lambda: ocucb.gaussian([0, 1], sigma=[1, 1, 1]), ValueError, "each of 2 arms, got 3"),
        (lambda: ocucb.bernoulli([0.5, 1.2]), ValueError, r"\[0, 1\], got 1.2 for arm 2"),
        (lambda: ocucb.uniform_rewards([0], halfwidth=0), ValueError, "halfwidth must be greater"),
        (lambda: ocucb.gaussian([1e200, 0]), ValueError, "between -1e100 and 1e100, got 1e[+]200"),
        (lambda: ocucb.gaussian([10**400, 0]), ValueError, "between -1e100 and 1e100"),
        (lambda: ocucb.gaussian([0, 1], sigma=1e-200), ValueError, "at least 1e-100, got 1e-200"),
        (lambda: problems.gap(gap=10**400), ValueError, "between -1e100 and 1e100"),
        (lambda: problems.gap(gap="a"), TypeError, "gap must be numbers, got 'a'"),
        (lambda: problems.gap(K=1e15), ValueError, "K must be at most 100000000"),
        (lambda: problems.gap(0, 0.3), ValueError, "K must be at least 1, got 0"),
        (lambda: problems.gap(2.5, 0.3), ValueError, "K must be a whole number, got 2.5"),
        (lambda: problems.gap(2, -1), ValueError, "gap must be at least 0, got -1"),
        (lambda: problems.moss_failure(1), ValueError, "at least 2, got 1"),
        (lambda: parse_problem("nope:K=2"), ValueError, "unknown problem 'nope'"),
        (lambda: parse_problem("gap:K=2,width=1"), ValueError, "no parameter 'width'; it has K"),
        (lambda: ocucb.custom_rewards(3, [0], sigma=1), TypeError, "must be a plain function"),
        (lambda: ocucb.custom_rewards(abs, [0], sigma=1), TypeError, "must be a plain function"),
    ],
)
def test_wrong_problems(call, error, words):
    with pytest.raises(error, match=words):
        call()
