"""How likely Thompson sampling plays each arm: against 30 digits, slow twins and frequencies."""

from __future__ import annotations

from math import log

import mpmath
import numpy as np
import pytest
from scipy import integrate, special, stats

import ocucb
from ocucb import Bandit
from ocucb.policies._largest import largest_of_beta, largest_of_normal


def found(function, one, two):
    one, two = np.array(one, dtype=float), np.array(two, dtype=float)
    chances = np.empty(one.size)
    function(one, two, chances, 0.0)
    return chances


def exact_normal(means, spreads, i):
    def integrand(x):
        others = [
            mpmath.ncdf(x, mean, spread)
            for j, (mean, spread) in enumerate(zip(means, spreads, strict=True))
            if j != i
        ]
        return mpmath.npdf(x, means[i], spreads[i]) * mpmath.fprod(others)

    with mpmath.workdps(30):
        steps = (-10, -4, -1, 1, 4, 10)
        points = {
            mpmath.mpf(mean) + step * mpmath.mpf(spread)
            for mean, spread in zip(means, spreads, strict=True)
            for step in steps
        }
        return float(mpmath.quad(integrand, sorted(points)))


def exact_beta(a, b, i):
    def integrand(y):  # x = 1 / (1 + exp(-y))
        x = 1 / (1 + mpmath.exp(-y))
        value = x ** a[i] * (1 - x) ** b[i] / mpmath.beta(a[i], b[i])
        for j in range(len(a)):
            if j != i:
                value *= mpmath.betainc(a[j], b[j], 0, x, regularized=True)
        return value

    with mpmath.workdps(30):
        points = sorted(
            mpmath.log(mpmath.mpf(p) / q)
            + step * mpmath.sqrt(1 / mpmath.mpf(p) + 1 / mpmath.mpf(q))
            for p, q in zip(a, b, strict=True)
            for step in (-12, -5, 0, 5, 12)
        )
        return float(mpmath.quad(integrand, [points[0] - 60, *points, points[-1] + 60]))


@pytest.mark.parametrize(
    ("means", "spreads"),
    [
        ([0.0, 0.1, 0.3], [1.0, 0.5, 0.2]),
        ([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]),
        ([0.0, 1.0, 5.0], [0.3, 0.1, 2.0]),
        ([0.0, 10.0, 10.5], [1.0, 1.0, 0.01]),  # the first: 3e-26
        ([0.0, 9.0], [1.0, 1.0]),  # the first: 1e-10
        ([3.0, 0.0, -1.0], [0.001, 1.0, 3.0]),
    ],
)
def test_normal_samples(means, spreads):
    """Relative error below 1e-8, with 30 digits as the judge."""
    chances = found(largest_of_normal, means, spreads)
    for i, chance in enumerate(chances):
        exact = exact_normal(means, spreads, i)
        assert chance == pytest.approx(exact, rel=1e-8, abs=1e-30), i
    assert chances.sum() == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1, 1], [1, 1]),
        ([3, 10, 30], [40, 90, 200]),
        ([1, 1, 4], [900, 30, 100]),
        ([5, 60], [500, 400]),  # the first: 4e-16
        ([1.3, 2.7], [4.5, 8.1]),
    ],
)
def test_beta_samples(a, b):
    """The same, without hits, with few and many of them, and with parts of them."""
    chances = found(largest_of_beta, a, b)
    for i, chance in enumerate(chances):
        assert chance == pytest.approx(exact_beta(a, b, i), rel=1e-8), i
    assert chances.sum() == pytest.approx(1.0, abs=1e-10)


def slow_normal(means, spreads, i):
    def integrand(x):
        logs = special.log_ndtr((x - means) / spreads)
        density = stats.norm.logpdf(x, means[i], spreads[i])
        return np.exp(density + logs.sum() - logs[i])

    low, high = (means - 12 * spreads).max(), (means + 9 * spreads).max()
    return integrate.quad(integrand, low, high, epsabs=0, epsrel=1e-10, limit=2000)[0]


def slow_beta(a, b, i):
    def integrand(x):
        below = special.betainc(a, b, x)
        return stats.beta.pdf(x, a[i], b[i]) * np.delete(below, i).prod()

    middle = a / (a + b)
    reach = 9 * np.sqrt(middle * (1 - middle) / (a + b))
    low, high = max(0.0, (middle - reach).max()), min(1.0, (middle + 2 * reach).max())
    return integrate.quad(integrand, low, high, epsabs=0, epsrel=1e-10, limit=2000)[0]


@pytest.mark.parametrize("K", [10, 1000])
def test_many_arms(K):
    """Beside scipy's quadrature; all of them add up to 1."""
    rng = np.random.default_rng(K)
    pulls = rng.integers(3, 3000, K).astype(float)
    rates = rng.uniform(0.05, 0.15, K)
    hits = np.round(pulls * rates)
    for function, slow, one, two in (
        (largest_of_normal, slow_normal, rates, 0.5 / np.sqrt(pulls)),
        (largest_of_beta, slow_beta, 1.0 + hits, 1.0 + pulls - hits),
    ):
        chances = found(function, one, two)
        assert chances.sum() == pytest.approx(1.0, abs=1e-9)
        order = np.argsort(chances)
        for i in order[[-1, -2, K // 2, 2 * K // 3]]:
            if chances[i] > 1e-15:
                assert chances[i] == pytest.approx(slow(one, two, i), rel=1e-8)


def test_many_pulls():
    """Two betas with 10^8 pulls are normal to 7 digits; their difference decides."""
    for pulls in (1e5, 1e6, 1e8):
        hits = np.array([0.05, 0.05 + 0.1 / np.sqrt(pulls)]) * pulls
        chances = found(largest_of_beta, 1.0 + hits, 1.0 + pulls - hits)
        p = (1.0 + hits) / (2.0 + pulls)
        gap = (p[0] - p[1]) / np.sqrt((p * (1 - p)).sum() / pulls)
        assert chances[0] == pytest.approx(stats.norm.cdf(gap), rel=0.3 / np.sqrt(pulls))
        assert chances.sum() == pytest.approx(1.0, abs=1e-10)


CASES = [
    ("thompson", {"sigma": 2.0}),
    ("thompson", {"bounds": (0, 1)}),
    ("oc-thompson", {"sigma": 2.0}),
    ("oc-thompson", {"bounds": (0, 1)}),
    ("beta-thompson", {"bounds": (0, 1)}),
]


@pytest.mark.parametrize(("text", "known"), CASES)
def test_probabilities_are_how_often_arms_are_asked(text, known):
    """Chi-square at 1e-6 for each; an open ask and a retired arm included."""
    bandit = Bandit("abcde", text, 10**6, rng=1, **known)
    bandit.tell(list("aaabbbbcddeeee"), [1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1])
    bandit.play("a")
    bandit.retire("e")
    chances = bandit.probabilities()
    assert list(chances) == list("abcd")
    assert sum(chances.values()) == pytest.approx(1.0, abs=1e-10)
    counts = dict.fromkeys(chances, 0)
    for _ in range(2000):
        arm = bandit.ask()
        bandit.cancel(arm)
        counts[arm] += 1
    expected = [2000 * chance for chance in chances.values()]
    assert stats.chisquare(list(counts.values()), expected).pvalue > 1e-6


@pytest.mark.parametrize(("text", "known"), CASES)
def test_a_decision_has_the_probability_of_its_arm(text, known):
    bandit = Bandit("abcd", text, 300, rng=2, **known)
    rng = np.random.default_rng(3)
    for _ in range(60):
        chances = bandit.probabilities()
        i, chance = bandit._decide()
        assert chance == pytest.approx(chances["abcd"[i]], rel=1e-12)
        if rng.random() < 0.8:
            bandit.tell("abcd"[i], float(rng.random() < 0.3 + 0.1 * i))


def test_closed_forms():
    bandit = Bandit("abc", "beta-thompson", 100, bounds=(0, 1), rng=1)
    bandit.tell(list("abc"), [1, 0, 0])
    # a of Beta(2, 1), others of Beta(1, 2): the integral of 2 x (2 x - x^2)^2
    assert bandit.probabilities()["a"] == pytest.approx(2 * (4 / 4 - 4 / 5 + 1 / 6), rel=1e-10)
    policy = ocucb.OCThompson()
    bandit = Bandit("ab", policy, 100, bounds=(0, 1), rng=1)
    bandit.tell(list("aabb"), [1, 0, 0, 0])
    w = min(1.0, 0.3 * log(2 * 100 / 5))
    expected = found(largest_of_beta, [1 + 1 / w, 1.0], [1 + 1 / w, 1 + 2 / w])
    assert list(bandit.probabilities().values()) == pytest.approx(expected.tolist(), rel=1e-12)
    assert w == 1.0
    late = Bandit("ab", policy, 5, bounds=(0, 1), rng=1)
    late.tell(list("aabb"), [1, 0, 0, 0])
    w = 0.3 * log(2)
    expected = found(largest_of_beta, [1 + 1 / w, 1.0], [1 + 1 / w, 1 + 2 / w])
    assert list(late.probabilities().values()) == pytest.approx(expected.tolist(), rel=1e-12)
