"""Bounds of the theory: by hand, their conditions, and beside simulations.

Random tests have fixed seeds. Those that could fail by chance say how often; the others check
inequalities that hold for certain.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import ocucb
from ocucb import theory
from ocucb.theory._quantities import complexities_of, instance
from ocucb.theory._report import STATEMENTS
from ocucb.theory._upper import ocucb_sum

PANEL = [
    ocucb.gap(K=2, gap=0.5),
    ocucb.gap(K=10, gap=0.3),
    ocucb.uniform_arms(K=5),
    ocucb.gaussian([0.0, 0.0, -0.4]),
    ocucb.gaussian([0.0, -0.6, -2.0], sigma=2.0),
    ocucb.moss_failure(K=10),
]


# --- quantities ---------------------------------------------------------------------------------


def test_two_arms_by_hand():
    means, n = [0.0, -0.5], 1000
    assert theory.complexity(means) == 4
    assert theory.complexities(means).tolist() == [math.inf, 8]  # 1/0.25 twice
    assert theory.ocucb_shape(means, n).value == pytest.approx(2 * math.log(125))
    assert theory.ocucb_minimax_shape(means, n).value == pytest.approx(math.sqrt(2000))
    assert theory.aocucb_shape(means, n).value == pytest.approx(2 * math.log(250))
    assert theory.lai_robbins(means, n).value == pytest.approx(4 * math.log(1000))
    assert theory.ucb_bound(means, n).value == pytest.approx(64 * math.log(1000) + 1)
    assert theory.moss_bound(means, n).value == pytest.approx(39 * math.sqrt(2000) + 0.5)
    assert theory.conjectured(means, n) == pytest.approx(2 * math.log(250))
    assert theory.conjectured([0.0, 0.0], n) == 0


def test_three_arms_by_hand():
    means, n = [-0.5, 0.0, -0.25], 10_000
    # 1/Δ² is 4 and 16: H = 20, H_1 = 4 + 4 + 4, H_3 = 16 + 16 + 4.
    assert theory.gaps(means).tolist() == [0.5, 0, 0.25]
    assert theory.complexity(means) == 20
    assert theory.complexities(means).tolist() == [12, math.inf, 36]
    expected = 2 * math.log(n / 12) + 4 * math.log(n / 36)
    assert theory.ocucb_shape(means, n).value == pytest.approx(expected)
    # δ = 0: 2 log(n/4) + 4 log(n/16), far below n/4.
    expected = 2 * math.log(n / 4) + 4 * math.log(n / 16)
    assert theory.aocucb_shape(means, n).value == pytest.approx(expected)


def test_lower_bounds_by_hand():
    assert theory.minimax_lower_bound(3, 1000).value == pytest.approx(math.sqrt(2000) / 27)
    # K = 2, i = 1 or 2: the other gap is 0.5 in both.
    found = theory.unbalanced_lower_shape([0.0, -0.5], 1000).value
    assert found == pytest.approx(2 * math.log(1000 / (4 * math.log(2))))
    # K = 3: i = 1 has gaps 0.2 and 0.4; i = 2 has 0.2, 0.6; i = 3 has 0.4, 0.6.
    logs = []
    for small, large in ((0.2, 0.4), (0.2, 0.6), (0.4, 0.6)):
        H = (small**-2 + large**-2, 2 * large**-2)
        pairs = zip(H, (small, large), strict=True)
        logs.append(sum(math.log(1e4 / h / math.log(3)) / width for h, width in pairs))
    found = theory.unbalanced_lower_shape([0.0, -0.2, -0.4], 10_000).value
    assert found == pytest.approx(min(logs))


def test_several_best_arms_count_in_H_but_cost_nothing():
    assert theory.complexity([0.0, 0.0, -0.5]) == 4
    assert theory.complexities([0.0, 0.0, -0.5]).tolist() == [math.inf, math.inf, 12]
    assert theory.ocucb_shape([0.0, 0.0, -0.5], 1200).value == pytest.approx(2 * math.log(100))
    assert theory.ocucb_shape([0.0, 0.0], 100).value == 0
    found = theory.constants()
    bound = theory.ocucb_bound([0.0, 0.0, -0.5], 1200)
    assert bound.value == pytest.approx(found.C1(2) * 2 * math.log(100))
    one, two = theory.ocucb_bound([0.0, -0.5], 800), theory.ocucb_minimax_bound([0.0, -0.5], 800)
    assert one.value == pytest.approx(found.C1() * 2 * math.log(100))
    assert two.value == pytest.approx(theory.constants(goal="C2").C2 * 40)


def test_large_gaps_add_their_sum():
    small, large = [0.0, -0.5, -1.0], [0.0, -0.5, -1.5]
    for shape in (theory.ocucb_minimax_shape, theory.moss_shape):
        assert shape(small, 300).value == pytest.approx(30)
        assert shape(large, 300).value == pytest.approx(32)
    without = ocucb_sum(instance(large, 300))
    assert theory.ocucb_shape(large, 300).value == pytest.approx(without + 2)
    best = theory.best_constants()
    found = theory.ocucb_bound(large, 300, given=best).value - best.C1() * without
    assert found == pytest.approx(2, rel=1e-6)
    found = theory.ocucb_minimax_bound(large, 300, given=best).value - 30 * best.C2
    assert found == pytest.approx(2, rel=1e-6)
    # 2 log(75) + log(300 * 2.25)/1.5, and the sum of the gaps.
    expected = 2 * math.log(75) + math.log(675) / 1.5 + 2
    assert theory.aocucb_shape(large, 300).value == pytest.approx(expected)
    played = ocucb.simulate("aocucb", ocucb.gaussian([0.0, -100.0]), 10, 5, rng=1, workers=1)
    assert played[0].mean_regret <= theory.aocucb_shape([0.0, -100.0], 10).value
    # In units of sigma: with sigma = 2 these gaps are below 1.
    assert theory.ocucb_minimax_shape(large, 300, sigma=2.0).value == pytest.approx(60)


@pytest.mark.parametrize("key", STATEMENTS)
def test_regret_scales_with_sigma(key):
    means, n = np.array([0.0, -0.5, -0.5]), 10**8
    evaluate = STATEMENTS[key].bound
    one, three = evaluate(means, n, 1.0), evaluate(3.0 * means, n, 3.0)
    assert three.value == pytest.approx(3 * one.value, rel=1e-9)
    assert evaluate(means[::-1], n, 1.0).value == pytest.approx(one.value)
    assert one.source
    assert one.condition
    assert one.value > 0


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0, 2.5]), min_size=1, max_size=9))
def test_complexities_are_their_definition(widths):
    scaled = np.array(widths)
    with np.errstate(divide="ignore"):
        weights = scaled**-2
    naive = np.minimum.outer(weights, weights).sum(axis=1)
    np.testing.assert_allclose(complexities_of(scaled), naive)


def test_limits_behave_as_the_text_says():
    gap = 1e-7
    # Δ → 0: nothing to lose, and AOCUCB's bound knows it (δ = Δ); theorem 1's grows like 1/Δ.
    assert theory.aocucb_shape([0.0, -gap], 1000).value == pytest.approx(1000 * gap)
    assert theory.ocucb_shape([0.0, -gap], 1000).value == pytest.approx(1 / gap)
    assert theory.improved_ucb_bound([0.0, -gap], 1000).value == pytest.approx(1000 * gap)
    # n → ∞: theorem 1 is asymptotically Σ log(n)/Δ_i, half of Lai and Robbins'.
    means, n = [0.0, -0.3, -0.9], 2**53
    logs = math.log(n) * (1 / 0.3 + 1 / 0.9)
    assert theory.ocucb_shape(means, n).value == pytest.approx(logs, rel=0.15)
    ratio = [theory.ocucb_shape(means, 10**k).value / (k * math.log(10)) for k in (3, 6, 9, 15)]
    assert ratio == sorted(ratio)
    assert theory.lai_robbins(means, n).value == pytest.approx(2 * logs)


def test_improved_ucb_chooses_the_best_lambda():
    rng = np.random.default_rng(1)
    for _ in range(40):
        widths = np.concatenate([[0.0], rng.choice([1e-3, 1e-2, 0.05, 0.3, 1.0, 2.0], 4)])
        n = int(10 ** rng.uniform(2, 6))
        scaled = widths[1:] / 2
        best = math.inf
        for lam in [*np.geomspace(math.sqrt(math.e / n), 3, 400), *(scaled - 1e-12), *scaled]:
            if lam >= math.sqrt(math.e / n):
                above, below = scaled[scaled > lam], scaled[scaled <= lam]
                value = (above + (32 * np.log(n * above**2) + 96) / above).sum()
                value += 64 / lam * below.size + n * below.max(initial=0.0)
                best = min(best, value)
        found = theory.improved_ucb_bound(-widths, n).value / 2
        # λ → ∞ makes 64/λ vanish, which the grid cannot reach.
        assert best - 4 * 64 / 3 - 1e-6 <= found <= best + 1e-6


def test_aocucb_chooses_the_best_delta():
    rng = np.random.default_rng(2)
    for _ in range(40):
        widths = np.concatenate([[0.0], rng.uniform(0, 0.2, 4)])
        n = int(10 ** rng.uniform(1, 5))
        values = []
        for delta in [*np.linspace(0, 0.3, 300), *widths]:
            above = widths[widths > delta]
            values.append(n * delta + (theory.log_plus(n * above**2) / above).sum())
        assert theory.aocucb_shape(-widths, n).value == pytest.approx(min(values))


# --- conditions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: theory.balanced_lower_bound(5, 0.1, 1000), "H = 400"),
        (lambda: theory.balanced_lower_bound(5, 0.0, 1000), "greater than 0"),
        (lambda: theory.balanced_lower_bound(1, 0.5, 1000), "at least 2"),
        (lambda: theory.minimax_lower_bound(10, 8), "n >= K - 1 = 9"),
        (lambda: theory.unbalanced_lower_shape([0.0, -0.1], 50), "use a larger horizon"),
        (lambda: theory.unbalanced_lower_shape([0.0, 0.0], 50), "one best arm, got 2 and 2"),
        (lambda: theory.ucb_bound([0.0, -0.1], 50, constant=2.0), "greater than 4, got 2"),
        (lambda: theory.improved_ucb_bound([0.0, -2.5], 50), "at most 2 sigma, got 2.5"),
        (lambda: theory.aocucb_minimax_shape([0.0], 50), "at least 2 arms"),
        (lambda: theory.ocucb_bound([0.0, -1e4], 50), "gaps up to"),
        (lambda: theory.ocucb_shape([0.0, -0.1], 0), "horizon must be at least 1, got 0"),
        (lambda: theory.ocucb_shape([0.0, -0.1], 10, sigma=-1), "sigma must be greater than 0"),
        (lambda: theory.ocucb_shape([0.0, -0.1], 10, sigma=[1, 2]), "one number for all arms"),
        (lambda: theory.log_plus(-1.0), "at least 0, got -1"),
        (lambda: theory.constants(2.0, 2.0), "alpha must be greater than 2"),
        (lambda: theory.constants(3.0, 1.0), "psi must be greater than 1"),
        (lambda: theory.constants(3.0, math.inf), "to 1e250, got alpha=3.0 and psi=inf"),
        (lambda: theory.constants(3.0, 1.00001), "psi from 1.0001 to 1e250"),
        (lambda: theory.constants(3.0, 2.0, c10="mine"), "a number or 'paper', got 'mine'"),
        (lambda: theory.balanced_constant(2.0), "n/H must be at least e, got 2"),
        (lambda: theory.ucb_minimax_bound([0.0, -0.1], 50, constant=2.0), "greater than 4, got 2"),
        (lambda: theory.improved_ucb_minimax_bound([0.0, -2.5], 50), "at most 2 sigma, got 2.5"),
        (lambda: theory.thompson_worst_case_shape([0.0], 50), "at least 2 arms"),
        (lambda: theory.check_lemmas([0.0, 0.0, -1.0], 50), "one best arm and at least one other"),
        (lambda: theory.check_lemmas([0.0, -1.0], 50, runs=1), "runs must be at least 2, got 1"),
        (lambda: theory.constants(2 + 1e-12), "alpha from 2.0001 to 1e12"),
        (lambda: theory.constants(1e300), "alpha from 2.0001 to 1e12"),
        (lambda: theory.constants(3.0, 2.0, gamma=1.5), "between 1 and alpha / 2"),
        (lambda: theory.constants(3.0, 2.0, 1.1, 0.1, 1.0), "omit c3"),
        (lambda: theory.constants(3.0, 2.0, kappa=1e-300), "omit c3, or the others"),
        (lambda: theory.constants(3.0, 2.0, c10=3.0), "greater than 3.69, got 3"),
        (lambda: theory.constants(goal="C3"), "'C1' or 'C2'"),
        (lambda: theory.best_constants(goal="C3"), "'C1' or 'C2'"),
        (lambda: theory.c_gamma(1.0), "greater than 1"),
        (lambda: theory.proof([0.0, -1.0], 100, c9=1.0), "c9 >= e²"),
        (lambda: theory.proof([0.0, -1.0], 100, c6=math.inf), "need finite"),
        (lambda: theory.proof([0.0, -1.0], 100).u_at(0.0), "greater than 0"),
        (lambda: theory.proof([0.0, -1.0], 100).u_at(math.inf), "between 1e-100 and 1e100"),
        (lambda: theory.proof([0.0, -1.0], 100).delta_at(1e-200), "got 1e-200"),
        (lambda: theory.ocucb_shape([0.0, -1e-200, -1.0], 100), "got 1e-200"),
        (lambda: theory.ocucb_shape([0.0, -0.1, -1e99], 100, 1e-50), "got 1e+149"),
        (lambda: theory.minimax_lower_bound(2, 100, 1e300), "sigma must lie between"),
        (lambda: theory.balanced_lower_bound(2, 1e-200, 1000), "got 1e-200"),
        (lambda: theory.improved_ucb_bound([0.0, 0.0, -0.5], 50), "one best arm, got 2"),
        (lambda: theory.necessary(10, -1.0), "at least 0"),
        (lambda: theory.counterexample([2], runs=1), "K must be at least 3"),
        (lambda: theory.plot_counterexample([]), "at least one row"),
        (
            lambda: theory.promise_lower_bound(theory.ucb_shape, [0.0, -1.0], 100),
            "must return an upper bound with an explicit constant, got one of side 'upper'",
        ),
    ],
)
def test_no_number_where_a_condition_fails(call, words):
    with pytest.raises(ValueError, match=r".") as error:
        call()
    assert words in str(error.value)
    assert str(error.value).endswith(".")


# --- lower bounds and measurements --------------------------------------------------------------


def test_families():
    assert theory.balanced_family(2, 0.3).tolist() == [[0.3, 0.0], [0.3, 0.6]]
    family = theory.unbalanced_family([0.0, -0.1, -0.5])
    assert np.allclose(family, [[0, -0.1, -0.5], [0, 0.1, -0.5], [0, -0.1, 0.5]])
    # Raising arm i by twice its gap makes it the best one, by its old gap.
    assert np.allclose(theory.gaps(family[2]), [0.5, 0.6, 0])


def test_thm_lower_constant():
    """c solves 8 c log x = x^(1-2c), and the proof's inequalities follow from it."""
    x = np.geomspace(math.e, 1e6, 400)
    c = np.array([theory.balanced_constant(ratio) for ratio in x])
    np.testing.assert_allclose(8 * c * np.log(x), x ** (1 - 2 * c), rtol=1e-9)
    # whatever the regret r on μ^1 is, one of the two regrets reaches c
    for r in np.linspace(0.0, 0.6, 121):
        other = x ** (1 - 2 * r) / (4 * np.log(x)) - r
        assert (np.maximum(r, other) >= c - 1e-12).all()
    # the paper's case distinction, with aH for H: the best a gives the same
    a = 8 * c
    np.testing.assert_allclose(c, 0.5 * (1 - np.log(a * np.log(x)) / np.log(x)), rtol=1e-9)
    assert c.min() == pytest.approx(0.2023, abs=1e-4)
    assert x[c.argmin()] == pytest.approx(5.36, abs=0.1)
    # one r for all x: as good as the smallest c; the paper's own threshold: a sum of 1/4, so 1/8
    fixed = math.e / (8 + 2 * math.e)
    assert fixed == pytest.approx(c.min(), abs=1e-4)
    assert (x ** (1 - 2 * fixed) / (4 * np.log(x)) - fixed >= fixed - 1e-12).all()
    threshold = np.log(x / np.log(x)) / 2 / np.log(x)
    np.testing.assert_allclose(x ** (1 - 2 * threshold) / (4 * np.log(x)), 1 / 4)
    assert (c[x >= 75] >= 0.25).all()
    assert theory.balanced_constant(74.0) < 0.25
    assert theory.balanced_constant(1e300) == pytest.approx(0.5, abs=0.01)
    assert theory.balanced_lower_bound(2, 1.0, 1000).value == pytest.approx(
        theory.balanced_constant(1000) * math.log(1000)
    )
    # Tsybakov's lemma 2.6 needs its 1/2: two Gaussians half a sigma apart.
    overlap, kl = 2 * norm.cdf(-0.25), 0.125
    assert math.exp(-kl) / 2 <= overlap < math.exp(-kl)


def test_remark_on_the_balanced_family():
    """H and H_j coincide up to constant factors for all of its problems."""
    for K in (2, 3, 10, 200):
        H = (K - 1) / 0.25
        one, other = theory.balanced_family(K, 0.5)[:2]
        finite = theory.complexities(one)[1:]
        assert finite == pytest.approx(H * K / (K - 1))
        finite = np.delete(theory.complexities(other), 1)
        assert (finite >= H / 4).all()
        assert (finite <= 2 * H).all()


def test_worst_case_bounds_are_the_largest_over_problems():
    """No problem of a grid has a larger bound of its own, and some come close."""
    n, K = 10_000, 4
    for worst, one in (
        (theory.ucb_minimax_bound, theory.ucb_bound),
        (theory.improved_ucb_minimax_bound, theory.improved_ucb_bound),
    ):
        largest = 0.0
        for width in np.geomspace(1e-3, 1.9, 60):
            means = [0.0] + (K - 1) * [-width]
            own = min(one(means, n).value, n * width)
            limit = worst(means, n).value
            assert own <= limit * (1 + 1e-9)
            largest = max(largest, own / limit)
        assert largest > 0.4
    assert theory.improved_ucb_minimax_bound([0.0], 100).value == 0
    assert theory.improved_ucb_minimax_bound([0.0, -1.0], 2).value == 2 * 2


def test_moss_pays_for_the_smallest_gap():
    """At exp10's problems its shape grows like K², OCUCB's like K log K."""
    for K in (100, 1000):
        problem = ocucb.moss_failure(K)
        n = K**3
        # K/Δ = 4K², and log⁺(n Δ²/K) = 1
        assert theory.moss_problem_shape(problem.means, n).value == pytest.approx(4 * K**2)
        assert theory.ocucb_shape(problem.means, n).value < 60 * K
    assert theory.moss_problem_shape([0.0, 0.0], 100).value == 0


@pytest.mark.parametrize(("K", "gap", "n"), [(2, 0.5, 2000), (5, 0.3, 20_000)])
def test_no_policy_beats_thm_lower_on_its_family(K, gap, n):
    """Regret on the worse of two members exceeds the bound by far more than five errors."""
    bound = theory.balanced_lower_bound(K, gap, n).value
    for policy in ("ocucb", "moss:constant=4", "ucb:constant=8"):
        worst = max(
            ocucb.simulate(policy, ocucb.gaussian(row), n, 200, rng=1, workers=1)[0].mean_regret
            for row in theory.balanced_family(K, gap)[:2]
        )
        assert worst >= bound


def test_no_policy_beats_the_worst_case():
    """The hard problem has gaps near sqrt((K-1)/n); regret there is several times the bound."""
    K, n = 5, 5000
    bound = theory.minimax_lower_bound(K, n).value
    problem = ocucb.gap(K=K, gap=2 * math.sqrt((K - 1) / n))
    for policy in ("ocucb", "moss:constant=4", "ucb:constant=8"):
        result = ocucb.simulate(policy, problem, n, 200, rng=1, workers=1)[0]
        assert result.mean_regret - 5 * result.stderr[-1] >= bound


@pytest.mark.parametrize("problem", PANEL, ids=lambda problem: problem.name)
def test_measured_regret_lies_between(problem):
    """Every measurement is at least five standard errors inside its bounds.

    OCUCB's bound is far away, MOSS must pay nothing at this horizon, and UCB 0 to 6.
    """
    n = 100_000
    promised = {
        "ucb:constant=8": theory.ucb_bound,
        "moss:constant=4": theory.moss_bound,
        "ocucb": theory.ocucb_bound,
        "improved-ucb": theory.improved_ucb_bound,
    }
    if np.count_nonzero(problem.gaps == 0) > 1:
        del promised["improved-ucb"]
    for policy, upper in promised.items():
        runs = 5 if policy == "improved-ucb" else 200
        result = ocucb.simulate(policy, problem, n, runs, rng=1, workers=1)[0]
        error = 5 * result.stderr[-1]
        most = upper(problem.means, n, problem.sigma)
        assert (most.side, most.kind) == ("upper", "bound")
        assert result.mean_regret + error <= most.value
        if policy == "ucb:constant=8":
            least = theory.promise_lower_bound(upper, problem.means, n, problem.sigma)
            assert (least.side, least.kind) == ("lower", "bound")
            assert least.value <= result.mean_regret - error


def test_a_promise_costs_something():
    """The formula on a finer grid of ε, with UCB's bounds B and B' by hand."""
    gap = 1.0
    for n in (1700, 10**8):  # the first is so small that only ε > 1 gives anything
        B = 32 * math.log(n) + 2
        by_hand = []
        for epsilon in np.geomspace(0.05, 2.0, 300):
            raised = 32 * math.log(n) / epsilon + 2 * epsilon
            log = math.log(n * min(1, epsilon) / (4 * (B + raised)))
            by_hand.append(2 / (1 + epsilon) ** 2 * log)
        found = theory.promise_lower_bound(theory.ucb_bound, [0.0, -gap], n).value
        assert 0 < 0.998 * max(by_hand) <= found <= max(by_hand) * (1 + 1e-3)
    assert found <= theory.lai_robbins([0.0, -gap], n).value
    twice = theory.promise_lower_bound(theory.moss_bound, [0.0, -gap, -gap], 10**10).value
    assert twice > 1.5 * theory.promise_lower_bound(theory.moss_bound, [0.0, -gap], 10**10).value
    result = ocucb.simulate("ucb:constant=8", ocucb.gap(2, gap), n, 50, rng=1, workers=1)[0]
    assert found < result.mean_regret < B
    assert theory.promise_lower_bound(theory.moss_bound, [0.0, -gap], 100).value == 0
    # With a gap of 1.5 improved UCB promises nothing once an arm is raised by more than 2 sigma in
    # all; what is left is ε up to 1/3.
    found = theory.promise_lower_bound(theory.improved_ucb_bound, [0.0, -0.3, -1.5], 1e8).value
    assert 0 < found < theory.lai_robbins([0.0, -0.3, -1.5], 1e8).value


def test_counterexample():
    """At K = 10, 40, 160 regret grows like K log K, which the conjecture's order does not."""
    rows = theory.counterexample([10, 40, 160], runs=40, rng=1, workers=1)
    for row in rows:
        K = row["K"]
        assert row["conjectured"] == pytest.approx(3 * K - 4)
        # H_2 = 2K² + 4(K-2) > n; H_i = 4K for the others.
        assert row["theorem1"] == pytest.approx(K + 2 * (K - 2) * max(1, math.log(K / 4)))
        other = theory.ocucb_shape([1.0, 0.5, 0.5 - 1 / K] + (K - 3) * [0.0], K**2).value
        assert row["necessary"] == pytest.approx(theory.necessary(K, other))
    for policy in range(3):
        ratio = [row["measured"][policy].mean_regret / row["conjectured"] for row in rows]
        assert ratio[1] > 1.5 * ratio[0]
        assert ratio[2] > 1.3 * ratio[1]
    x = theory.necessary(2000, 15_000.0)
    assert 2000**2 / 8 * math.exp(-x / 1998) == pytest.approx(x + 15_000)
    assert theory.necessary(10, 100.0) == 0
    # Enough arms, and even the conjectured order itself is too little.
    assert theory.necessary(10**5, 10**5 * math.log(10**5)) > 3 * 10**5
    figure = theory.plot_counterexample(rows)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "conjecture (order)" in labels
    assert "OCUCB, measured" in labels
