"""Bounds, constants and the quantities of the proof.

Random tests have fixed seeds. Those that could fail by chance say how often; the others check
inequalities that hold for certain.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import exp1, kl_div
from scipy.stats import binom, norm

import ocucb
from helpers import invoke
from ocucb import theory
from ocucb.theory._constants import _FAILURE, _SPREAD, _WORST_CASE, _slack
from ocucb.theory._lemmas import _algorithm, _concentration
from ocucb.theory._proof import Proof
from ocucb.theory._quantities import complexities_of, instance
from ocucb.theory._report import STATEMENTS
from ocucb.theory._tail import _crossing
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


# --- constants ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize(
    ("alpha", "psi"), [(2.1, 2.0), (3.0, 2.0), (3.0, 1.2), (6.0, 100.0), (50.0, 1e12)]
)
def test_every_constraint_holds(alpha, psi, tight):
    found = theory.constants(alpha, psi, tight=tight)
    assert [line for line in found.constraints() if not line.holds] == []
    assert len(found.constraints()) == 18
    fixed = theory.constants(alpha, psi, 1 + 0.1 * (alpha / 2 - 1), tight=tight)
    assert all(line.holds for line in fixed.constraints())
    assert fixed.C1() >= found.C1() * (1 - 1e-6)


def test_given_constants_are_kept():
    best = theory.constants(3.0, 2.0)
    found = theory.constants(3.0, 2.0, c3=400.0)
    assert found.c3 == 400
    assert all(line.holds for line in found.constraints())
    assert best.C1() < found.C1() < 4 * best.C1()
    same = theory.constants(3.0, 2.0, best.gamma, best.kappa, c10=best.c10)
    assert same.C1() == pytest.approx(best.C1())
    assert same.c10 == best.c10


@pytest.mark.parametrize(
    ("name", "factor", "label"),
    [
        ("c6", 0.9, "Const1"),
        ("c7", 0.9, "Const2"),
        ("c_gamma", 0.9, "Const3"),
        ("c4", 0.9, "Const4"),
        ("c5", 0.01, "Const5"),
        ("psi", 0.4, "Const6"),
        ("c8", 0.9, "Const7"),
        ("gamma", 2.0, "Const8"),
        ("c2", 0.9, "Const9"),
        ("kappa", 0.99, "Const10"),
        ("c3", 0.5, "Const11"),
        ("c9", 0.9, "Const12"),
        ("c9", 0.001, "Const13"),
        ("c9", 0.9, "Const14"),
        ("c7", 1.1, "Const14"),
        ("c10", 0.9, "Const14"),
    ],
)
@pytest.mark.parametrize("tight", [True, False])
def test_a_wrong_constant_is_noticed(name, factor, label, tight):
    # For small α it is c_2 that c_9 and c_10 are chosen for, for large α it is c_7.
    found = theory.constants(20.0 if label == "Const14" else 3.0, 2.0, tight=tight)
    wrong = replace(found, **{name: factor * getattr(found, name)})
    assert label in [line.label for line in wrong.constraints() if not line.holds]


@pytest.mark.parametrize(
    ("name", "value", "label"),
    [
        ("c6", 0.9, "lemma 13, t = K + 1"),
        ("c7", 0.9, "lemma 13, t = K + 1"),
        ("c1", 0.9, "lemma 13 (d)"),
        ("c2", 0.9, "lemma 13 (d)"),
        ("c9", 7.3, "lemma 5"),
        ("c10", 3.6, "lemma 15"),
        ("c8", 2.7, "lemma 15"),
    ],
)
def test_what_the_proof_needs_without_a_label(name, value, label):
    wrong = replace(theory.constants(3.0, 2.0), **{name: value})
    assert label in [line.label for line in wrong.constraints() if not line.holds]


@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize("name", ["c1", "c2", "c3", "c4", "c6", "c7", "c8", "c9", "c10"])
def test_no_constant_can_be_smaller(name, tight):
    """Two millionths less of any one and a constraint breaks: nothing is left on the table."""
    for alpha in (3.0, 20.0):
        found = theory.constants(alpha, 2.0, tight=tight)
        less = replace(found, **{name: (1 - 2e-6) * getattr(found, name)})
        assert not all(line.holds for line in less.constraints())


def test_the_papers_own_c9_and_c10():
    """Its appendix: c_9 = max(32γc_2, 16α, 2γc_1/(c_3 c_4)²), c_10 = max(c_2, c_7ψ, c_1ψ)."""
    for psi in (2.0, 1.5):
        found = theory.constants(3.0, psi, c10="paper", tight=False)
        c = found
        third = 2 * c.gamma * c.c1 / (c.c3 * c.c4) ** 2
        assert c.c9 == pytest.approx(max(32 * c.gamma * c.c2, 16 * c.alpha, third))
        assert c.c10 == pytest.approx(max(c.c2, c.c7 * psi, c.c1 * psi))
        assert all(line.holds for line in found.constraints())
        assert found.C1() > theory.constants(3.0, psi, tight=False).C1()
    assert theory.constants(c10="paper", tight=False).C1() == pytest.approx(9.547e34, rel=1e-3)


def test_psi_between_1_and_2():
    """No jump at 2, and no bound as ψ falls to 1; what the cap of δ changes."""
    for tight in (True, False):
        C1 = [
            theory.constants(3.0, psi, tight=tight).C1() for psi in (1.01, 1.1, 1.5, 1.999999, 2.0)
        ]
        assert sorted(C1, reverse=True) == C1
        assert C1[-2] == pytest.approx(C1[-1], rel=1e-4)
        assert C1[0] > 1e4 * C1[-1]
    found = theory.constants(3.0, 1.25)
    proof = theory.proof([0.0, -0.5], 100, found)
    assert proof.most == 0.8
    assert proof.delta(1e9) == 0.8
    # statement 1 of lemma 13 where δ is capped
    assert found.psi * proof.problem.horizon * proof.delta(1e9) >= proof.problem.horizon
    assert theory.ocucb_bound([0.0, -0.5], 800, psi=1.25).value == pytest.approx(
        found.C1() * 2 * math.log(100)
    )


@pytest.mark.parametrize("most", [0.5, 0.6, 0.8, 0.95])
def test_regularity_lemmas_with_another_cap(most):
    """P{β > b} <= q most^b: the same blocks for β/L, of which each step is half as likely."""
    L = math.log(2) / math.log(1 / most)
    levels = L * np.arange(1, 40)
    assert most**levels == pytest.approx(0.5 ** np.arange(1, 40))
    for q in (1e-3, 0.1):
        # at most half of a block has β > 1, which is as likely as 2 most q allows for b = 1
        assert most * q <= 2 * most * q * 0.5 * (1 + 1e-12)
        assert (q * most**levels <= 2 * most * q * 0.5 ** np.arange(1, 40) * (1 + 1e-9)).all()
        assert _failing_blocks(2 * most * q) <= _FAILURE[True] * 2 * most * q
    psi = 1 / most
    found = theory.constants(3.0, psi)
    assert found.failure == pytest.approx(2 * most * _FAILURE[True])
    assert found.spread == pytest.approx(L * _SPREAD[True])


def test_c_gamma_near_1():
    """Its integral takes over from the sum, and agrees with it."""
    for gamma in (1.0009, 1.0005):
        terms = 2.0 ** (3 - gamma ** np.arange(20_000))
        assert theory.c_gamma(gamma) == pytest.approx(terms.sum(), rel=1e-12)
        terms = 2 / 0.8**2 * 0.8 ** (gamma ** np.arange(40_000))
        assert theory.c_gamma(gamma, 0.8) == pytest.approx(terms.sum(), rel=1e-12)
    terms = 2 / 0.8**2 * 0.8 ** (1.5 ** np.arange(60))
    assert theory.c_gamma(1.5, 0.8) == pytest.approx(terms.sum(), rel=1e-12)
    assert theory.c_gamma(1 + 1e-12) == pytest.approx(8 * exp1(math.log(2)) * 1e12, rel=1e-3)


def test_largest_gap_is_where_u_is_2():
    found = theory.constants(3.0, 2.0)
    assert theory.proof([0.0, -found.largest_gap], 100, found).u[1] == pytest.approx(2)


def test_the_papers_own_choice_of_c2_breaks_its_constraint():
    found = theory.constants(3.0, 2.0)
    a, g = math.sqrt(3.0), math.sqrt(2 * found.gamma)
    papers = ((a + g) / (a - g)) ** 2
    assert a - a / math.sqrt(papers) - g - g / math.sqrt(papers) == pytest.approx(0, abs=1e-12)
    wrong = replace(found, c2=papers)
    assert "Const9" in [line.label for line in wrong.constraints() if not line.holds]


@pytest.mark.parametrize("tight", [True, False])
def test_three_limits_of_the_constants(tight):
    def both(alpha, psi):
        found = theory.constants(alpha, psi, tight=tight)
        return np.array([found.C1(), found.C2])

    psi = 1e11 if tight else 1e26
    at = both(13.0, psi)
    assert (both(1e6, psi) > 1e3 * at).all()
    assert (both(1e9, psi) > 1e2 * both(1e6, psi)).all()
    assert (both(2.1, psi) > 1e3 * at).all()
    assert (both(2.01, psi) > 1e3 * both(2.1, psi)).all()
    # In ψ they grow like log ψ, once ψ is so large that failures cost nothing.
    slow = [both(13.0, psi) for psi in (1e60, 1e120, 1e240)]
    assert (slow[1] > 1.3 * slow[0]).all()
    assert (slow[2] > 1.5 * slow[1]).all()


@pytest.mark.parametrize(
    ("tight", "C1", "C2"), [(True, 175_720, 131_880), (False, 3.869e6, 2.769e6)]
)
def test_smallest_constants(tight, C1, C2):
    one = theory.best_constants(tight=tight)
    two = theory.best_constants(tight=tight, goal="C2")
    assert all(line.holds for found in (one, two) for line in found.constraints())
    assert one.C1() == pytest.approx(C1, rel=1e-3)
    assert pytest.approx(C2, rel=1e-3) == two.C2
    # Nothing nearby is better.
    for alpha in (0.8, 1.25):
        for psi in (0.1, 10.0):
            near = theory.constants(alpha * one.alpha, psi * one.psi, tight=tight)
            assert near.C1() > one.C1()


def _failing_blocks(q: float) -> float:
    """Bound the chance that one of the dyadic blocks of lemmas 9 and 10 is bad.

    Block k has 2^k arms; it is bad at level b if more than a share θ_b of them has β > b, which
    each has with probability at most q 2^-b; θ_1 = θ_2 = 1/2 and θ_b = 2^(-b/2) after that.
    """
    b, k = np.meshgrid(np.arange(1, 80), np.arange(55))
    most = 2.0**k * np.where(b == 1, 0.5, 2.0 ** (-b / 2))
    b, k, most = (x[most < 1000] for x in (b, k, most))  # beyond, a chance is 0
    return float(binom.sf(np.floor(most + 1e-9), 2**k, q * 2.0**-b).sum())


def test_regularity_lemmas_with_exact_binomials():
    """Both lemmas hold, though the Chernoff bound that the paper proves them with does not."""
    spread = 1 + 2 * (0.5 + sum(2.0 ** (-b / 2) for b in range(2, 200)))
    assert spread == pytest.approx(_SPREAD[True])
    assert spread < _SPREAD[False]
    for q in (1e-4, 0.01, 0.1, 0.2, 0.3, 1 / _FAILURE[True]):
        assert _failing_blocks(q) <= _FAILURE[True] * q  # and beyond 1/2.5 it says nothing
    assert _failing_blocks(0.3) > 2 * 0.3  # nor is 2.5 far too large
    mu, epsilon = 0.01, 0.5
    assert mu > math.exp(-(epsilon**2) / (3 * mu))  # P{X >= μ + ε} = μ for one Bernoulli variable


def test_worst_case_sum_of_theorem_2():
    """Σ (1/Δ_i) log⁺(n/H_i) <= (1 + 3/e²) sqrt(nK) if no gap is below sqrt(K/n)."""
    rng = np.random.default_rng(3)
    largest = 0.0
    for _ in range(3000):
        K = int(rng.integers(2, 30))
        n = int(10 ** rng.uniform(2, 8)) + K
        widths = math.sqrt(K / n) * np.exp(rng.exponential(rng.choice([0.01, 0.3, 1.0]), K))
        widths[0] = 0.0
        problem = instance(-widths, n)
        largest = max(largest, ocucb_sum(problem) / math.sqrt(n * K))
    assert 0.9 < largest <= 1  # what is proved is 1 + 3/e²
    h = quad(lambda x: x**-0.5 * _sup(x**-0.5), 0, 1, points=[math.e**-2, 4 / math.e**2])[0]
    assert h == pytest.approx(_WORST_CASE, rel=1e-6)


def _sup(y0: float) -> float:
    """Return sup {max(1, log y²) / y : y >= y0}."""
    return max(max(1.0, 2 * math.log(y0)) / y0, 2 / math.e if y0 <= math.e else 0.0)


# --- the proof ----------------------------------------------------------------------------------


@st.composite
def proofs(draw):
    widths = draw(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=7))
    best = draw(st.integers(1, 2))
    found = theory.proof(
        [0.0] * best + [-width for width in widths],
        10 ** draw(st.integers(2, 12)),
        gamma=draw(st.floats(1.05, 4.0)),
        c6=10 ** draw(st.floats(-3, 3)),
        c9=draw(st.floats(7.5, 1000.0)),
        c10=10 ** draw(st.floats(0.45, 6)),
    )
    return replace(found, most=draw(st.sampled_from([0.5, 0.5, 0.7, 0.95])))


wide = st.floats(0.003, 3.0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(proofs(), wide)
def test_mutual_definition_is_solved(proof, gap):
    n, K = proof.problem.horizon, proof.problem.arms
    for width, u in [*zip(proof.problem.gaps, proof.u, strict=True), (gap, proof.u_at(gap))]:
        if width > 0:
            delta = min(proof.most, proof.c6 / n * sum(min(other, u) for other in proof.u))
            assert u == pytest.approx(proof.c9 / width**2 * math.log(proof.c10 / delta), rel=1e-9)
            assert proof.delta_at(width) == pytest.approx(delta, rel=1e-9)
        else:
            assert u == math.inf
    assert proof.delta(1.0) == pytest.approx(min(proof.most, proof.c6 * K / n))
    k = proof.k_star(gap)
    target = math.log(1 / proof.delta_at(gap)) / gap**2
    assert proof.gamma ** (k + 1) >= target * (1 - 1e-9)
    assert k == 0 or proof.gamma**k < target


@settings(max_examples=100, deadline=None, derandomize=True)
@given(proofs(), wide, wide, st.floats(1, 1e6), st.floats(1, 1e3))
def test_lemmas_of_part_0_and_technical_lemmas(proof, gap, other, T, ratio):
    close = 1 + 1e-9
    # lemma 4
    assert proof.delta(T) <= proof.delta(T + 1)
    assert proof.delta(T * ratio) <= proof.delta(T) * ratio * close
    # lemma 5
    assert proof.delta_tilde(gap) <= proof.delta_tilde_bound(gap) * close
    # lemmas 17 and 18, for any two gaps
    small, large = sorted([gap, other])
    assert proof.delta_at(small) <= proof.delta_at(large) * (large / small) ** 2 * close
    assert proof.u_at(large) <= proof.u_at(small) * close
    assert proof.u_at(small) <= proof.u_at(large) * (large / small) ** 2 * close
    # lemma 3, with the term that it needs where c_6 c_9 log(2 c_10) is below 1
    widths, u = proof.problem.suboptimal, proof.u[proof.problem.best_arms :]
    extra = max(0.0, -math.log(proof.c6 * proof.c9 * math.log(proof.c10 / proof.most)))
    right = proof.c9 * (1 + math.log(proof.c10) + extra) * ocucb_sum(proof.problem)
    assert (widths * u).sum() <= right * close


def test_delta3_as_printed_fails_when_c6_is_tiny():
    proof = theory.proof([0.0, -1.0], 1e6, c6=1e-9, c9=8.0, c10=2.0)
    printed = 8.0 * (1 + math.log(2.0)) * ocucb_sum(proof.problem)
    assert proof.u[1] > printed
    # Which happens to OCUCB's constants once ψ is large: the logarithm's constant grows with ψ.
    found = theory.constants(13.0, 1e20)
    assert found.log_factor > 1 + math.log(found.c10)


@pytest.mark.parametrize("tight", [True, False])
def test_lem_int_and_lem_expect(tight):
    """The integral over δ̃ is below c_11 Σ Δ_i u_i (without the failure event's factor)."""
    found = theory.constants(13.0, 1e11, tight=tight)
    for widths, n in (([0.5], 1e6), ([0.1, 0.1, 0.9], 1e8), ([0.02, 0.3, 1.0], 1e10)):
        proof = theory.proof([0.0, *(-w for w in widths)], n, found)
        left = _lost(proof, found, widths[0])
        right = found.c11() / _FAILURE[tight] * (proof.problem.suboptimal * proof.u[1:]).sum()
        assert left <= right
        assert left > right / 60  # the constant is not idle
        for i, width in enumerate(widths, start=1):
            tail = quad(lambda x, proof=proof: proof.u_at(1 / x) / x**2, 1e-9, 1 / width)[0]
            limit = found.c9 / width * (2 + math.log(found.c10 / proof.delta_at(width)))
            assert tail <= limit * (1 + 1e-6)
            u = proof.u[i]
            middle = quad(
                lambda x, proof=proof, u=u: u * math.log(proof.u_at(x) / u), 1e-4 * width, width
            )[0]
            assert middle <= 2 * width * u


def _lost(proof: Proof, found: theory.Constants, smallest: float) -> float:
    """Return n E[Δ̃ 1{c_8 Δ̃ >= smallest}] over P{F}/δ̃ as lemma 15 has it, by quadrature."""
    lowest = smallest / found.c8
    integral = quad(
        lambda x: math.exp(x) * proof.delta_tilde_bound(math.exp(x)),
        math.log(lowest),
        math.log(1e5),
        limit=400,
    )[0]
    scale = found.c5 / (found.c6 * found.c_gamma * (2 * found.gamma - 1) / (found.gamma - 1))
    total: float = lowest * proof.delta_tilde_bound(lowest) + integral
    return scale * proof.problem.horizon * total


@pytest.mark.parametrize("tight", [True, False])
def test_what_failure_costs_is_in_both_constants(tight):
    """c_8 times the integral, with all best arms in C_1, and with gaps raised in C_2."""
    found = theory.constants(13.0, 1e11, tight=tight)
    logs, failure = found.c9 * found.log_factor, _FAILURE[tight] * found.c8
    for best in (1, 500):
        proof = theory.proof(best * [0.0] + [-0.1, -0.9], 1e8, found)
        cost = (proof.problem.suboptimal * proof.u[best:]).sum()
        paid = (found.C1(best) / logs - found.pulls(1 + best)) * cost
        assert paid / 30 < failure * _lost(proof, found, 0.1) <= paid
    proof = theory.proof([0.0, 0.0, -1e-4, -0.02], 40_000, found)
    raised = np.maximum(proof.problem.gaps, 0.01)  # sqrt(K/n)
    cost = sum(width * proof.u_at(width) for width in raised)
    paid = ((found.C2 - 1) / (_WORST_CASE * logs) - found.pulls(1)) * cost
    assert paid / 30 < failure * _lost(proof, found, 0.01) <= paid


def test_condition_c4_does_the_work_of_c2():
    """Σ β_j Δ_j u_j over the large gaps is at most 2 (1 + best arms) S Σ Δ_j u_j, S from (C4)."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        K, best = int(rng.integers(2, 9)), int(rng.integers(1, 3))
        widths = np.sort(np.concatenate([np.zeros(best), 10 ** rng.uniform(-2, 0, K - 1)]))
        proof = theory.proof(-widths, 10 ** int(rng.integers(2, 9)), c6=10 ** rng.uniform(-3, 2))
        u, gaps = proof.u, proof.problem.gaps
        beta = 1 + rng.pareto(0.7, u.size)
        # The ratio is monotone between the u_i, and constant beyond them.
        S = max(
            (beta * np.minimum(u, T)).sum() / np.minimum(u, T).sum()
            for T in [*u[best:], 2 * u[best], 1e300]
        )
        cost = (gaps * np.where(gaps > 0, u, 0))[best:]
        most = 2 * (1 + best) * S
        for first in range(cost.size):
            assert (beta[best:] * cost)[first:].sum() <= most * cost.sum() + 1e-9
    # Which is what the constants charge, with 1 more for ⌈βu⌉.
    for tight in (True, False):
        found = theory.best_constants(tight=tight)
        rest = found.C1(3) / (found.c9 * found.log_factor) - found.c8 * found.c11(3)
        assert found.pulls(4) == 1 + 2 * 4 * _SPREAD[tight]
        assert rest == pytest.approx(found.pulls(4), rel=1e-6)


@pytest.mark.parametrize("tight", [True, False])
def test_slack_covers_both_gaps(tight):
    """Lemma 11 (h): the larger of s Δ_i and s Δ̃ is at least Δ_i + 2 c_4 Δ̃, for c_4 >= sqrt(2)."""
    for c4 in (1.4143, 2.0, 10.0):
        slack = _slack(c4, tight)
        ratio = np.geomspace(1e-4, 1e4, 801)  # Δ_i over Δ̃, 1 among them
        missing = ratio + 2 * c4 - slack * np.maximum(ratio, 1)
        assert missing.max() <= 1e-9
        assert not tight or missing.max() >= -1e-9


def test_beta_is_its_definition():
    rng = np.random.default_rng(5)
    proof = theory.proof([0.0, -0.5], 300)
    means = 3 * np.cumsum(rng.standard_normal((50, 40)), axis=1) / np.arange(1, 41)
    found = proof.beta(means, 0.2)
    assert (found > 1).any()
    assert (found == 1).any()
    t = np.arange(1, 41)
    logs = np.array([math.log(1 / proof.delta(s)) for s in t])

    def inside(beta, path):
        width = np.sqrt(2 * proof.gamma * beta / t * logs) + math.sqrt(2) * proof.gamma * 0.2
        return (np.abs(path) <= width).all()

    for beta, path in zip(found, means, strict=True):
        assert inside(beta * (1 + 1e-9), path)
        assert beta == 1 or not inside(beta * (1 - 1e-9), path)


@pytest.mark.parametrize(("gamma", "gap", "horizon"), [(1.1, 0.6, 10_000), (2.0, 0.3, 1000)])
def test_lem_conc_and_lem_beta_one_by_simulation(gamma, gap, horizon):
    """P{β > b} <= δ̃ 2^-b, with the walk tilted towards the boundary: plainly it is never seen.

    The estimate's relative standard error is below 50 %, and the lemma is loose by a factor of more
    than a thousand: it cannot fail by chance.
    """
    proof = Proof(instance([0.0, -1.0], horizon), gamma, 1.0, 1.0, 1.4)
    rng = np.random.default_rng(6)
    runs, steps = 20_000, 40
    t = np.arange(1, steps + 1)
    plain = np.cumsum(rng.standard_normal((runs, steps)), axis=1)
    logs = np.array([math.log(1 / proof.delta(s)) for s in t])
    bound = proof.delta_tilde(gap)
    assert bound < 2
    for b in (1.0, 1.5, 2.0):
        edge = t * (np.sqrt(2 * gamma * b / t * logs) + math.sqrt(2) * gamma * gap)
        drift = (edge / t)[(edge**2 / t).argmin()]  # where the edge is easiest to reach
        walk = plain + drift * t
        over = walk >= edge
        hit = np.flatnonzero(over.any(axis=1))
        when = over[hit].argmax(axis=1)
        weights = np.zeros(runs)
        weights[hit] = np.exp(-drift * walk[hit, when] + drift**2 * (when + 1) / 2)
        chance, error = 2 * weights.mean(), 2 * weights.std() / math.sqrt(runs)
        assert 0 < error < 0.5 * chance
        assert 1000 * chance <= bound * 2**-b


# --- the lemmas at work -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lemmas():
    return theory.check_lemmas([0.0, -1.0, -1.0], 4000, runs=100, rng=1)


def test_every_lemma_keeps_its_promise(lemmas):
    assert [one.lemma for one in lemmas.checks if not one.holds] == []
    assert {one.kind for one in lemmas.checks} == {"algebra", "probability", "constant"}
    assert lemmas["4"].generosity == pytest.approx(1, rel=0.2)
    assert "generous by" in lemmas.table()
    assert len(lemmas.plot().axes) == 2


def test_lemmas_in_the_documentation(lemmas):
    """The table of docs/proof.md, to two digits; integers may round differently elsewhere."""
    page = (Path(__file__).parent.parent / "docs" / "proof.md").read_text(encoding="utf-8")
    rows = page.partition("<!-- lemmas -->")[2].partition("<!-- end of lemmas -->")[0]
    cells = [
        [cell.strip() for cell in row.split("|")[1:-1]] for row in rows.splitlines()[3:] if row
    ]
    assert [row[:2] for row in cells] == [[one.lemma, one.says] for one in lemmas.checks]
    for row, one in zip(cells, lemmas.checks, strict=True):
        assert float(row[2]) == pytest.approx(one.promised, rel=0.02)
        assert float(row[3].partition(" ± ")[0]) == pytest.approx(one.found, rel=0.02)


def test_probabilities_of_the_lemmas_are_right():
    """Importance sampling against plain walks, where the boundary is close enough for these.

    With γ close to 1, a large c_6 and a small gap, 1% of the walks leave. Within four standard
    errors, which six numbers exceed in one of 2,500 seeds.
    """
    p = Proof(instance([0.0, -0.05, -1.0], 300), 1.01, 60.0, 8.0, 1.5)
    checks = {one.lemma: one for one in _concentration(p, 0.05, 4000, np.random.default_rng(1))}
    rng = np.random.default_rng(2)
    runs = 20_000
    walks = rng.standard_normal((runs, 3, 300)).cumsum(axis=2) / np.arange(1, 301)
    beta = np.concatenate([p.beta(part, 0.05) for part in np.array_split(walks, 20)])
    events = theory.failure_events(p, beta, 0.05)
    plain = {
        "6": beta[:, 0] > 2,
        "7": beta[:, 0] > 1,
        "8": events["C2"],
        "9": events["C3"],
        "10": events["C4"],
        "F": np.any(list(events.values()), axis=0),
    }
    assert plain["7"].mean() > 0.003
    for lemma, event in plain.items():
        error = math.hypot(checks[lemma].error, math.sqrt(event.mean() / runs))
        assert abs(checks[lemma].found - event.mean()) <= 4 * error + 1e-12, lemma


def test_failure_events_are_their_definition():
    """A slow twin, with T on a fine grid."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        K = int(rng.integers(2, 6))
        widths = np.concatenate([[0.0], np.sort(10 ** rng.uniform(-1, 0, K - 1))])
        p = theory.proof(-widths, 10_000, c6=10 ** rng.uniform(-2, 1))
        beta = np.where(rng.random((20, K)) < 0.5, 1.0, 1 + 200 * rng.random((20, K)) ** 4)
        gap = float(rng.choice(widths[1:]))
        found = theory.failure_events(p, beta, gap)
        grid, slack = np.geomspace(1, 1e3 * p.u[1], 300), 1.01  # between the points of the grid
        for r, b in enumerate(beta):
            assert found["C1"][r] == (b[0] > 1)
            far = [i for i in range(1, K) if widths[i] >= gap]
            cost = sum(p.u[i] * widths[i] for i in far)
            assert found["C2"][r] == (sum(b[i] * p.u[i] * widths[i] for i in far) > 2 * cost)
            sums = [
                (sum(min(u, T) for u, x in zip(p.u, b, strict=True) if x == 1),
                 sum(x * min(u, T) for u, x in zip(p.u, b, strict=True)),
                 sum(min(u, T) for u in p.u))
                for T in grid
            ]  # fmt: skip
            assert found["C3"][r] >= any(slack * good < total / 5 for good, _, total in sums)
            assert found["C4"][r] >= any(spread > slack * 67 * total for _, spread, total in sums)
            assert found["C3"][r] <= any(good < slack * total / 5 for good, _, total in sums)
            assert found["C4"][r] <= any(slack * spread > 67 * total for _, spread, total in sums)


def test_the_lemmas_play_ocucb():
    """The same pulls as a plain loop with the same rewards."""
    p = theory.proof([0.0, -0.5], 60, c6=0.01, c9=8.0, c10=1.5)
    noise = np.random.default_rng(4).standard_normal((3, 2, 60))
    streams = np.random.default_rng(4)
    checks, walk = _algorithm(p, 3, streams, 3.0, 2.0)
    np.testing.assert_allclose(walk, noise[0, 0].cumsum() / np.arange(1, 61))
    most, n = 0.0, 60
    for run in noise:
        pulls, sums = [1, 1], [run[0, 0], run[1, 0] - 0.5]
        for t in range(3, n + 1):
            index = [
                s / T + math.sqrt(3 / T * math.log(2 * n / t))
                for s, T in zip(sums, pulls, strict=True)
            ]
            arm = int(np.argmax(index))
            sums[arm] += run[arm, pulls[arm]] - 0.5 * arm
            pulls[arm] += 1
        # Δ̃ is 0 here, and β is 1 for both
        means = run.cumsum(axis=1) / np.arange(1, n + 1)
        assert (p.beta(means, 0.0) == 1).all()
        most = max(most, 8.0 * (pulls[1] - 1) / p.u[1])
    found = {one.lemma: one for one in checks}
    assert found["12, 13"].found == pytest.approx(most)


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
    c = np.array([theory.balanced_constant(one) for one in x])
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
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert "conjecture (order)" in labels
    assert "OCUCB, measured" in labels


# --- report and command line --------------------------------------------------------------------


def test_import_is_lazy():
    code = "import sys, ocucb; assert not {'numba', 'ocucb.theory', 'scipy'} & set(sys.modules)"
    code += "; ocucb.theory.complexity([0, -1]); assert ocucb.gittins.__doc__"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_command_prints_every_bound():
    done = invoke("theory", "--means", "0,-0.1,-0.5", "--horizon", "1e5")
    assert done.exit_code == 0, done.stderr
    assert "H   = 104" in done.stdout
    assert "H_i = inf, 204, 12" in done.stdout
    assert "     80.00  shape  OCUCB, theorem 1 (ocucb): this problem\n" in done.stdout
    assert "  276.31  limit  Lai and Robbins (consistent policies)" in done.stdout
    assert "  equal gaps: the paper's theorem 19 covers only one best arm" in done.stdout
    for statement in STATEMENTS.values():
        assert f" {statement.title}" in done.stdout


def test_command_with_json_plot_and_measurement(tmp_path):
    path = tmp_path / "theory.png"
    words = "--means 0,-0.5 -n 1e4 --simulate --runs 20 --seed 1 --json -p ocucb -p moss:constant=4"
    done = invoke("theory", *words.split(), "--plot", path)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["H"] == 4
    assert found["H_i"] == [None, 8]
    assert [one["policy"] for one in found["measured"]] == [
        "ocucb:alpha=3,psi=2",
        "moss:constant=4",
    ]
    values = {one["statement"]: one for one in found["bounds"]}
    assert values["moss_bound"]["value"] == pytest.approx(39 * math.sqrt(2e4) + 0.5)
    assert values["moss_bound"]["kind"] == "bound"
    assert values["moss_bound"]["title"] == "MOSS, constant 4"
    assert values["moss_bound"]["rewards"] == "subgaussian"
    assert values["lai_robbins"]["rewards"] == "gaussian"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_shapes_are_never_drawn():
    report = theory.report(ocucb.gap(2, 0.5), 10_000, policies=["ocucb"], runs=5, rng=1, curve=True)
    figure = report.plot()
    labels = figure.legends[0].get_texts()
    assert [text.get_text() for text in labels] == [
        "trivial bound $n\\Delta_{\\max}$",
        "UCB, constant 8: proven to lie here",
        "MOSS, constant 4: proven to lie here",
        "Lai and Robbins, as $n \\to \\infty$",
        "lower bound for the worst problem",
        "OCUCB, measured",
    ]
    assert list(report.curve) == report.horizons()
    ceiling = figure.axes[0].lines[0].get_ydata()
    assert list(ceiling) == [0.5 * n for n in report.horizons()]
    # What is drawn of a bound never exceeds what is possible, nor what is proved.
    for line, key in ((1, "ucb_bound"), (3, "moss_bound")):
        drawn = figure.axes[0].lines[line].get_ydata()
        proved = [report.at(n)[key].value for n in report.horizons()]
        assert drawn == pytest.approx(np.minimum(proved, ceiling))


def test_tails_of_policies_that_state_a_budget_are_those_of_the_bonus():
    problem = ocucb.gap(2, 0.3)
    for budget, bonus in (("kl-ucb", "ucb"), ("kl-ucb-switch", "moss")):
        assert theory.tail_exponent(budget) == theory.tail_exponent(bonus) == 1.0
        estimates = [theory.tail_estimate(one, problem, 1000, 150.0) for one in (budget, bonus)]
        assert estimates[0] == pytest.approx(estimates[1])
    # log log terms do not count; a bonus that grows like a power of n beats every power
    for name in ("ucb-asymptotic", "bayes-ucb:c=2", "kl-ucb:c=3", "kl-ucb-plus-plus", "adaucb"):
        assert theory.tail_exponent(name) == 1.0
    assert theory.tail_exponent("light-tailed") == math.inf


def test_lai_robbins_has_the_divergence_of_the_rewards():
    means, n = [0.3, 0.5, 0.45, 0.5], 10_000
    kl = [kl_div(p, 0.5) + kl_div(1 - p, 0.5) for p in (0.3, 0.45)]
    value = (0.2 / kl[0] + 0.05 / kl[1]) * math.log(n)
    assert theory.lai_robbins(means, n, rewards="bernoulli").value == pytest.approx(value)
    found = theory.report(ocucb.bernoulli(means), n).statements["lai_robbins"]
    assert found.value == pytest.approx(value)
    assert found.covers(ocucb.bernoulli([0.5, 0.4]))
    assert not found.covers(ocucb.gaussian([0.5, 0.4]))
    assert theory.lai_robbins([1.0, 0.5], n, rewards="bernoulli").value == 0.0  # found out at once
    with pytest.raises(ValueError, match="rewards must be 'gaussian' or 'bernoulli', got 'uni"):
        theory.lai_robbins(means, n, rewards="uniform")
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], got 1\.5"):
        theory.lai_robbins([0.5, 1.5], n, rewards="bernoulli")


@pytest.mark.parametrize("horizon", [0, -5, 2.5])
def test_a_report_needs_a_horizon(horizon):
    with pytest.raises(ValueError, match="horizon must be"):
        theory.report(ocucb.gap(), horizon)


@pytest.mark.parametrize(
    "problem",
    [
        ocucb.gaussian([0.0]),
        ocucb.gaussian([1.0, 1.0]),
        ocucb.gap(3, 5.0),
        ocucb.gaussian([0.0, -1e-99, -1.0]),
        ocucb.gaussian([0.0, -1e99], sigma=1e95),
    ],
)
def test_report_of_odd_problems(problem, tmp_path):
    report = theory.report(problem, 2)
    assert "Regret is at most" in report.table()
    json.dumps(report.to_dict(), allow_nan=False)
    report.plot().savefig(tmp_path / "odd.png")


def test_what_is_proved_for_gaussian_rewards_needs_them():
    report = theory.report(ocucb.bernoulli([0.5, 0.1]), 10_000)
    statements = report.statements
    for key in ("ucb_shape", "balanced_lower_bound", "ucb_promise_lower_bound"):
        assert statements[key] == "it is proved for Gaussian rewards, and these are bernoulli."
    assert statements["moss_bound"].value == pytest.approx(19.5 * math.sqrt(2e4) + 0.4)
    gaussian = theory.report(ocucb.gaussian([0.5, 0.1]), 10_000).statements
    assert gaussian["lai_robbins"].covers(ocucb.gaussian([0.0, -1.0]))
    assert gaussian["lai_robbins"].needs.startswith("Gaussian rewards, regret o(n^a)")
    assert gaussian["moss_bound"].needs == "sigma-subgaussian rewards, constant 4"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--means 0,-0.1", "Error: --horizon is missing"),
        ("--horizon 10", "Error: specify the arms either with --means"),
        ("--means 0,x --horizon 10", "Error: --means must be a number"),
        ("--means 0,-1 --horizon 0", "Error: --horizon must be at least 1, got 0."),
        ("--means 0,-1 --horizon 10 --policy ucb", "Error: --policy needs --simulate."),
        ("--means 0,-1 --horizon 10 --runs 5", "Error: --runs needs --simulate."),
        ("--means 0,-1 --horizon 10 --seed 0", "Error: --seed needs --simulate."),
        ("--means 0,-1e-200 --horizon 10", "Error: a gap over sigma must lie between 1e-100"),
        ("--means 0,-1 --horizon 10 --plot a.txt", "Error: cannot draw to 'a.txt'"),
        (
            "--means 0,-1 --horizon 10 --plot no/a.png",
            "Error: no/a.png cannot be written: the folder",
        ),
        ("--means 0,-1 --horizon 10 --sigma 1,2", "Error: sigma must be one number"),
    ],
)
def test_wrong_input_gives_one_sentence(words, sentence):
    done = invoke("theory", *words.split())
    assert done.exit_code == 2
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("policy", "exponent"),
    [
        ("ucb", 1.0),
        ("ucb:constant=5", 2.5),
        ("moss:constant=4", 2.0),
        ("ocucb:alpha=3", 1.5),
        ("aocucb", 1.0),
        ("thompson", 1.0),
    ],
)
def test_tail_exponent(policy, exponent):
    assert theory.tail_exponent(policy) == exponent
    # the policy believes in twice the noise that the best arm has
    noisy = ocucb.gaussian([0.0, -1.0], [0.5, 1.0])
    assert theory.tail_exponent(policy, noisy) == pytest.approx(4.0 * exponent)


def test_tail_estimate_agrees_with_one_step_and_two():
    """By hand: P(X1 < -a) + P(X1 >= -a, X1 + X2 < -b)."""
    a, b = 1.7, 2.9
    second, _ = quad(lambda x: norm.pdf(x) * norm.cdf(-b - x), -a, 9.0)
    assert _crossing(np.array([a])) == pytest.approx(norm.cdf(-a), rel=1e-2)
    assert _crossing(np.array([a, b])) == pytest.approx(norm.cdf(-a) + second, rel=1e-2)


@pytest.mark.parametrize(
    ("policy", "arms", "gap", "regret", "measured"),
    [  # importance sampling, n = 10^4, 40,000 to 300,000 runs; errors of a few percent
        ("ocucb", 2, 0.3, 1500.0, 4.08e-4),
        ("ocucb", 2, 0.5, 2500.0, 5.77e-5),
        ("ocucb", 10, 0.3, 1500.0, 7.07e-3),
        ("ucb:constant=1", 2, 0.3, 300.0, 6.75e-3),
        ("ucb:constant=1", 2, 0.3, 2500.0, 1.46e-3),
    ],
)
def test_tail_estimate_is_close_to_what_is_measured(policy, arms, gap, regret, measured):
    estimate = theory.tail_estimate(policy, ocucb.gap(arms, gap), 10_000, regret)
    assert measured < estimate < 1.7 * measured


def test_tail_estimate_falls_like_its_exponent():
    """In the limit of small gaps over sqrt(log x), which is slow: the slope is a little steeper."""
    problem, n = ocucb.gap(2, 0.1), 10**9
    p, q = (theory.tail_estimate("ucb:constant=4", problem, n, x) for x in (1e6, 1e7))
    slope = math.log10(p / q)
    assert 2.0 < slope < 2.5


def test_tails_that_are_not_known():
    two = ocucb.gap(2, 0.3)
    assert theory.tail_estimate("ucb", two, 100, 30.0) == 0.0
    for policy, problem, regret, words in (
        ("uniform", two, 1.0, "not known"),
        ("gittins", two, 1.0, "not known"),
        ("thompson", two, 1.0, "no bonus"),
        ("ucb", ocucb.bernoulli([0.5, 0.4]), 1.0, "Gaussian rewards"),
        ("ucb", ocucb.gaussian([0.0, 0.0]), 1.0, "one best arm"),
        ("ucb", ocucb.gaussian([0.0, -0.1, -0.2]), 1.0, "one gap"),
        ("ucb", two, -1.0, "at least 0"),
    ):
        with pytest.raises(ValueError, match=words):
            theory.tail_estimate(policy, problem, 100, regret)
