"""Inverses of the divergence, quantiles and draws that policies use, against scipy and decimals."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import exp, expm1, log

import numpy as np
import pytest
from scipy import special, stats

import ocucb
from ocucb.policies._declarations import false_declaration
from ocucb.policies._divergence import bernoulli_kl, kl_lower, kl_upper
from ocucb.policies._quantiles import beta_quantile, normal_quantile
from ocucb.random import beta, proportional
from policy_table import make

MEANS = [0.0, 1e-9, 1e-4, 0.02, 0.3, 0.5, 0.77, 0.98, 1 - 1e-6, 1.0]
BUDGETS = [1e-12, 1e-7, 1e-3, 0.05, 0.4, 2.0, 9.0, 30.0]


def exact_kl(p: Decimal, q: Decimal) -> Decimal:
    first = p * (p / q).ln() if p else Decimal(0)
    return first + (1 - p) * ((1 - p) / (1 - q)).ln() if p < 1 else first


def bisected(holds, low: Decimal, high: Decimal) -> Decimal:
    """Return where a condition that holds at `low` ceases to hold."""
    for _ in range(110):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@pytest.mark.parametrize("mean", MEANS)
def test_inverses_of_the_divergence(mean):
    """Relative error below 1e-12 with 50 digits as the judge, at means of 0 and 1 too."""
    with localcontext() as context:
        context.prec = 50
        p = Decimal(mean)
        for x in BUDGETS:
            budget = Decimal(x)
            upper = Decimal(1)
            if p < 1:
                upper = bisected(lambda q: exact_kl(p, q) <= budget, p or Decimal(10) ** -40, upper)  # noqa: B023
            assert kl_upper(mean, x) == pytest.approx(float(upper), rel=1e-12)
            if 0 < p < 1:
                lower = Decimal(0)
                if exact_kl(lower, p) > budget:
                    lower = 1 - bisected(lambda q: exact_kl(1 - q, p) <= budget, 1 - p, Decimal(1))  # noqa: B023
                assert kl_lower(mean, x) == pytest.approx(float(lower), rel=1e-12, abs=1e-300)


def test_edges_of_the_divergence():
    assert kl_upper(0.3, 0.0) == kl_lower(0.3, 0.0) == 0.3
    assert kl_upper(1.0, 5.0) == kl_lower(1.0, 5.0) == 1.0
    assert kl_upper(0.0, 0.7) == -expm1(-0.7)
    assert kl_lower(0.0, 0.7) == 0.0
    assert kl_upper(0.4, 1e4) == 1.0
    assert np.isnan(kl_upper(0.3, np.nan))
    for p, q in [(0.2, 0.5), (0.5, 0.2), (1e-8, 2e-8), (0.9, 0.99)]:
        expected = special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)
        assert bernoulli_kl(p, q) == pytest.approx(expected, rel=1e-7)
    assert bernoulli_kl(0.4, 0.4) == bernoulli_kl(0.0, 0.0) == bernoulli_kl(1.0, 1.0) == 0.0


def test_normal_quantiles():
    for t in [2.0, 2.5, 3.0, 10.0, 1e3, 1e7, 1e15]:
        expected = stats.norm.isf(1 / t)
        assert normal_quantile(1 / t) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("pulls", [1, 2, 7, 100, 10**4, 10**6])
def test_beta_quantiles(pulls):
    for hits in {0, 1, pulls // 3, pulls // 2, pulls - 1, pulls}:
        for t in [2.0, 3.0, 50.0, 1e5, 1e9]:
            a, b = 1.0 + hits, 1.0 + pulls - hits
            found = beta_quantile(a, b, 1 / t)
            assert found == pytest.approx(stats.beta.isf(1 / t, a, b), rel=3e-12)


def test_beta_variates():
    """Kolmogorov and Smirnov, at level 1e-6 each: a false alarm in 250,000."""
    stream = np.array([1, 2, 3, 4], dtype=np.uint64)
    for a, b in [(1.0, 1.0), (1.0, 30.0), (2.5, 1.5), (400.0, 90.0)]:
        sample = [beta(stream, a, b) for _ in range(4000)]
        assert stats.kstest(sample, stats.beta(a, b).cdf).pvalue > 1e-6


def test_proportional_draws():
    """Chi-square with 2 degrees of freedom; 27.6 is exceeded once in a million times."""
    stream, weights = np.array([1, 2, 3, 4], dtype=np.uint64), np.array([2.0, 0.0, 1.0, 5.0])
    found = np.bincount([proportional(weights, stream) for _ in range(8000)], minlength=4)
    expected = 1000 * weights
    assert found[1] == 0
    assert (((found - expected) ** 2)[expected > 0] / expected[expected > 0]).sum() < 27.6
    assert proportional(np.array([0.0, np.nan]), stream) == -1


@pytest.mark.parametrize("text", ["kl-ucb", "kl-ucb:c=3", "kl-ucb-plus", "kl-ucb-plus-plus"])
@pytest.mark.parametrize(("horizon", "arms"), [(300, 2), (10_000, 10), (10**6, 300)])
def test_budgets_are_bent_as_declared(text, horizon, arms):
    """Concave or convex while an arm is played: what chords on rewards of 0 and 1 rely on."""
    assert false_declaration(make(text).on(bounded=True), horizon, arms) is None


@pytest.mark.parametrize("text", ["kl-ucb", "kl-ucb-plus", "kl-ucb-plus-plus"])
def test_chords_lie_above_the_border(text):
    """At every pull on the way, for many levels and lengths; only rounding may differ."""
    policy, n, K, rng = make(text), 10_000.0, 10.0, np.random.default_rng(1)
    budget, values = policy.family.source, policy.values
    for _ in range(3000):
        T = float(rng.integers(1, 1200))
        t = T + K + float(rng.integers(0, rng.choice([3, 3000])))
        reach, level = 1.0 + T // 4, rng.choice([rng.random(), 0.02 * rng.random()])
        ends = [budget(T + k * reach, t + k * reach, n, K, *values) for k in (0, 1, 2)]
        start = T * kl_lower(level, max(0.0, min(ends[0], 2 * ends[1] - ends[2])) / T)
        end = (T + reach) * kl_lower(level, ends[1] / (T + reach))
        s = np.unique(np.linspace(1, reach, 5).round())
        border = [
            (T + more) * kl_lower(level, budget(T + more, t + more, n, K, *values) / (T + more))
            for more in s
        ]
        chord = start + (end - start) * s / reach
        assert (np.array(border) <= chord + 1e-11 * T).all()


def test_a_budget_that_is_bent_both_ways_is_caught():
    @ocucb.kl_policy(unplayed_index="constant", concave=True)
    def bell(pulls, t, horizon, arms):
        return 0.1 + exp(-((pulls / 20.0) ** 2))

    with pytest.raises(ValueError, match="its budget is neither concave nor convex from"):
        ocucb.simulate(bell, ocucb.bernoulli([0.6, 0.5]), 1000, 5, rng=1)


def test_probabilities():
    """Of a bandit's next ask, against how often it is asked."""
    bandit = ocucb.Bandit("abc", "kl-maillard", horizon=9999, bounds=(0, 1), rng=1)
    assert bandit.probabilities() == {"a": 1.0, "b": 0.0, "c": 0.0}
    bandit.tell(list("aaabbbbc"), [1, 0, 1, 0, 1, 0, 0, 0])
    weights = [1.0, exp(-4 * bernoulli_kl(0.25, 2 / 3)), 1 / 3]
    expected = np.array(weights) / sum(weights)
    assert list(bandit.probabilities().values()) == pytest.approx(expected.tolist())
    found = np.zeros(3)
    for _ in range(600):
        arm = bandit.ask()
        bandit.cancel(arm)
        found["abc".index(arm)] += 1
    assert stats.chisquare(found, 600 * expected).pvalue > 1e-6
    waiting = ocucb.Bandit("ab", "maillard", horizon=100, sigma=1, rng=1)
    waiting.tell(["a", "b"], [0.0, 1.0])
    arm = waiting.ask()  # an open ask counts as a pull that paid the mean
    pulls = [1 + (arm == name) for name in "ab"]
    weight = exp(-0.5 * pulls[0])
    assert waiting.probabilities()["a"] == pytest.approx(weight / (1 + weight))
    with pytest.raises(TypeError, match="OCUCB does not state probabilities"):
        ocucb.OCUCB().probabilities(3, 100, [1, 1], [0, 0], sigma=1)


def test_probabilities_of_tsallis_inf():
    """After one draw: the estimated loss of the arm that was drawn is its loss / probability."""
    bandit = ocucb.Bandit("ab", "tsallis-inf", horizon=100, bounds=(0, 1), rng=1)
    bandit.tell(["a", "b"], [1, 1])
    assert list(bandit.probabilities().values()) == [0.5, 0.5]
    arm = bandit.ask()
    bandit.tell(arm, 0)
    chance = bandit.probabilities()[arm]
    eta, other = 2 / np.sqrt(2), 1 - chance
    # the two weights are 4 / (eta (2 - x))^2 and 4 / (eta x)^2 for one x < 0
    assert 2 / np.sqrt(chance) - 2 / np.sqrt(other) == pytest.approx(2 * eta)


@pytest.mark.parametrize("place", [0.0, 64.0])
def test_tsallis_inf_does_not_depend_on_where_rewards_lie(place):
    """A guess would have 45; found are 13 and 14, with standard errors of 0.7."""
    problem = ocucb.gaussian([place + 0.3, place], 0.5)
    assert ocucb.simulate("tsallis-inf", problem, 300, 200, rng=1)[0].mean_regret < 25


@pytest.mark.parametrize("name", ["kl-maillard", "imed"])
def test_a_reward_above_1_starves_nobody(name):
    bandit = ocucb.Bandit("ab", name, horizon=100, bounds=(0, 1), rng=1)
    with pytest.warns(UserWarning, match="outside the bounds"):
        bandit.tell(["a", "b"], [1.0001, 0.9])
    played = set()
    for _ in range(60):
        arm = bandit.ask()
        played.add(arm)
        bandit.tell(arm, 0.95 if arm == "a" else 0.9)
    assert played == {"a", "b"}


@pytest.mark.parametrize("name", ["kl-ucb", "imed", "bayes-ucb", "kl-maillard", "tsallis-inf"])
def test_losses_between_0_and_1(name):
    """Minimising x is maximising 1 - x, in the form for [0, 1]."""
    one = ocucb.Bandit("ab", name, horizon=50, bounds=(0, 1), rng=1)
    other = ocucb.Bandit("ab", name, horizon=50, bounds=(0, 1), rng=1, minimize=True)
    for k in range(30):
        arm = one.ask()
        assert other.ask() == arm
        reward = (0.0, 0.25, 1.0, 0.5)[k % 4]
        one.tell(arm, reward)
        other.tell(arm, 1.0 - reward)


def test_log_of_a_log():
    assert make("kl-ucb:c=3").bonus(4, 2, 100, 2) == pytest.approx((log(2) / 2) ** 0.5)
