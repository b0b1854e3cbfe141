"""Kinds of reward: sums at once, divergence, likelihood ratios and bounds, beside slow twins.

Chi-square and Kolmogorov-Smirnov tests are made at level 1e-4, some forty of them: a suite in 250
would fail by chance; seeds are fixed.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from scipy import integrate, stats

import ocucb
from ocucb.random import binomial, start_stream, uniform
from ocucb.rewards import BERNOULLI, EXPONENTIAL, GAUSSIAN, KINDS, UNIFORM

LEVEL = 1e-4
TILTABLE = [kind for kind in KINDS.values() if kind.log_likelihood_ratio]


def stream(run: int) -> np.ndarray:
    state = np.empty(4, np.uint64)
    start_stream(state, np.array([5, 6], dtype=np.uint64), run, 0)
    return state


def chi_square(sample: np.ndarray, law) -> float:
    """Return the p-value of a sample of whole numbers in up to 40 cells of a distribution."""
    inner = np.unique(law.ppf(np.linspace(0, 1, 41)[1:-1]))
    expected = np.diff(np.concatenate([[0.0], law.cdf(inner), [1.0]])) * sample.size
    found = np.bincount(np.searchsorted(inner, sample), minlength=inner.size + 1)
    often = expected > 5.0
    assert found[~often].sum() <= expected[~often].sum() + 20
    total = ((found - expected)[often] ** 2 / expected[often]).sum()
    return float(stats.chi2(max(1, often.sum() - 1)).sf(total))


@numba.njit
def fill(state, count, p, out):
    for i in range(out.size):
        out[i] = binomial(state, count, p)


@pytest.mark.parametrize(
    ("count", "p"),
    [
        (1, 0.3), (5, 0.5), (20, 0.02), (1000, 0.005), (19, 0.5),  # by inversion
        (20, 0.5), (21, 0.5), (40, 0.3), (100, 0.9), (200, 0.93), (1000, 0.5),  # by rejection
        (10**5, 0.001), (10**6, 0.3), (10**9, 0.2), (10**12, 0.5), (300, 0.98), (7, 0.999),
    ],
)  # fmt: skip
def test_binomial_numbers(count, p):
    out = np.empty(100_000)
    fill(stream(count % 1000), float(count), p, out)
    assert (out == np.floor(out)).all()
    assert 0 <= out.min() <= out.max() <= count
    assert chi_square(out, stats.binom(count, p)) > LEVEL


def test_binomial_numbers_of_huge_counts():
    """Near 2^53 a density that is not compared with care would be noise."""
    count, p = 2.0**53, 0.4
    out = np.empty(50_000)
    fill(stream(1), count, p, out)
    law = stats.norm(count * p, math.sqrt(count * p * (1 - p)))
    assert stats.kstest(out, law.cdf).pvalue > LEVEL


@pytest.mark.parametrize("count", [0, 1, 30, 10**6])
def test_sure_things(count):
    state = stream(1)
    assert binomial(state, float(count), 0.0) == 0.0
    assert binomial(state, float(count), 1.0) == count


@numba.njit
def wrong(state, count, p, out):
    for i in range(out.size):
        out[i] = binomial(state, count + 1.0, p)


@pytest.mark.parametrize(("count", "p"), [(20, 0.5), (19, 0.5)])
def test_a_trial_too_many_is_caught(count, p):
    out = np.empty(100_000)
    wrong(stream(2), float(count), p, out)
    assert chi_square(np.minimum(out, count), stats.binom(count, p)) < LEVEL


def test_uniform_rewards_cannot_be_tilted():
    assert UNIFORM.log_likelihood_ratio is None


@pytest.mark.parametrize("other", [-0.5, 0.2, 0.9])
def test_divergence_of_gaussian_rewards(other):
    p, q = stats.norm(0.2, 0.7), stats.norm(other, 0.7)
    slow = integrate.quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), -8, 8)[0]
    assert GAUSSIAN.divergence(0.2, other, 0.7) == pytest.approx(slow, abs=1e-9)


@pytest.mark.parametrize("mean", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("other", [0.0, 0.02, 0.4, 1.0])
def test_divergence_of_bernoulli_rewards(mean, other):
    slow = stats.entropy([mean, 1 - mean], [other, 1 - other])
    assert BERNOULLI.divergence(mean, other, 0.5) == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize("other", [0.01, 0.7, 40.0])
def test_divergence_of_exponential_rewards(other):
    p, q = stats.expon(scale=0.7), stats.expon(scale=other)
    slow = integrate.quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), 0, 40)[0]
    assert EXPONENTIAL.divergence(0.7, other, 1.0) == pytest.approx(slow, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("kind", TILTABLE, ids=lambda kind: kind.name)
def test_the_likelihood_ratio_is_that_of_the_densities(kind):
    draw, state = kind.draw, stream(5)
    mean, tilted, scale = 0.6, 0.35, 0.8
    rewards = [draw(tilted, scale, state) for _ in range(25)]
    law = {
        "gaussian": lambda m: stats.norm(m, scale).logpdf,
        "bernoulli": lambda m: stats.bernoulli(m).logpmf,
        "exponential": lambda m: stats.expon(scale=m).logpdf,
    }[kind.name]
    logs = [law(m)(rewards).sum() for m in (mean, tilted)]
    ratio = kind.log_likelihood_ratio(sum(rewards) - 25 * mean, 25.0, mean, tilted, scale)
    assert ratio == pytest.approx(logs[0] - logs[1], rel=1e-10)


@pytest.mark.parametrize("kind", TILTABLE, ids=lambda kind: kind.name)
def test_weights_have_mean_one_and_give_the_mean_back(kind):
    """Drawn with a tilted mean and weighted, four rewards have their sum's true expectation."""
    draw, state = kind.draw, stream(6)
    mean, tilted, scale = 0.5, 0.3, 0.5
    sums = np.array([sum(draw(tilted, scale, state) for _ in range(4)) for _ in range(20_000)])
    ratio = kind.log_likelihood_ratio
    weights = np.exp(ratio(sums - 4 * mean, 4.0, mean, tilted, scale))
    for values, expected in ((weights, 1.0), (weights * sums, 4 * mean)):
        assert abs(values.mean() - expected) < 4 * values.std() / math.sqrt(values.size)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_rewards_stay_within_their_bounds(kind):
    state = stream(7)
    low, high = kind.bounds(0.4, 0.3)
    rewards = [kind.draw(0.4, 0.3, state) for _ in range(2000)]
    assert low <= min(rewards) <= max(rewards) <= high
    assert kind.binary == (set(rewards) == {0.0, 1.0})
    if math.isfinite(high - low):
        assert max(rewards) - min(rewards) > 0.99 * (high - low)


def test_what_a_user_draws_promises_nothing():
    def coin(mean, scale, stream):
        return mean + (scale if uniform(stream) < 0.5 else -scale)

    kind = ocucb.custom_rewards(coin, [0, -0.3], sigma=1.0).rewards
    assert kind.divergence is kind.log_likelihood_ratio is kind.bounds is None
    assert not kind.binary
    assert not kind.brownian
