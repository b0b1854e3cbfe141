"""Means corrected for luck: exact where they can be enumerated, error bars that cover, traps.

`test_importance_results.py` compares corrected means and errors with numpy's least squares. Here
comparisons with a truth allow 4 standard errors (false alarms: 6e-5 each, 20 of them).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import ocucb
from helpers import agree, enumerated
from ocucb.policies import parse_policy
from ocucb.results import Estimate, control_variates


@pytest.mark.parametrize("engine", ["step", "skip"])
@pytest.mark.parametrize(
    ("text", "means", "n"),
    [
        ("ucb:constant=0.5", [0.5, 0.6], 11),
        ("ucb:constant=2", [0.3, 0.8, 0.4], 9),  # gaps differ: four sums
        ("moss:constant=0.5", [0.6, 0.5, 0.6], 9),  # two arms are best
    ],
)
def test_exact_values_of_plain_runs(text, means, n, engine):
    policy, problem = parse_policy(text), ocucb.bernoulli(means)
    outcomes = enumerated(policy, problem, n)
    exact = sum(chance * np.dot(pulls, problem.gaps) for (pulls, _), chance in outcomes.items())
    one, bare = (
        ocucb.simulate(
            policy, problem, n, 60_000, rng=4, sampling="plain", engine=engine, control_variates=use
        )[0]
        for use in (True, False)
    )
    assert (one.control_variates, bare.control_variates) == (True, False)
    assert (one.sample == bare.sample).all()
    assert bare.mean_regret == pytest.approx(bare.sample.mean(), rel=1e-12)
    assert one.stderr[-1] < 0.99 * bare.stderr[-1]
    assert agree(Estimate(one.mean_regret, one.stderr[-1]), exact)
    assert agree(Estimate(bare.mean_regret, bare.stderr[-1]), exact)


@dataclass(frozen=True)
class Case:
    policy: str
    problem: ocucb.Problem
    horizon: int
    runs: int  # so many that failures which they have not shown hardly widen the error
    gain: float  # the least by which the correction must shorten the variance, on average


CASES = {
    "two arms": Case("ucb", ocucb.gap(2, 1.0), 50, 2000, 1.6),
    "two best arms": Case("ucb", ocucb.gaussian([1.0, 1.0, 0.0, 0.0]), 50, 2000, 2.0),
    "gaps differ": Case("ucb", ocucb.gaussian([2.0, 1.5, 1.0, 0.5, 0.0]), 100, 2000, 2.4),
    "coins": Case("ucb", ocucb.bernoulli([0.9, 0.5, 0.3]), 100, 2000, 2.0),
    "ratings": Case("ucb", ocucb.beta_rewards([0.7, 0.2], 0.1), 60, 4000, 1.6),
}


@pytest.mark.parametrize("name", CASES)
def test_bars_of_corrected_plain_runs_cover(name):
    """200 simulations; fewer than 164 cover with probability 1e-7 if 93% should.

    At the horizon and at an earlier checkpoint, of which the first decides whether to correct.
    """
    case = CASES[name]
    call = case.policy, case.problem, case.horizon
    options = {"sampling": "plain", "checkpoints": [case.horizon // 5]}
    truth = ocucb.simulate(*call, 200_000, rng=1, control_variates=False, **options)[0]
    misses, gains = [], []
    for seed in range(200):
        one = ocucb.simulate(*call, case.runs, rng=1000 + seed, workers=1, **options)[0]
        misses.append((one.regret - truth.regret) / np.hypot(one.stderr, truth.stderr))
        gains.append(one.effective_runs / one.runs)
    covered = (np.abs(misses) < 2.0).sum(axis=0)
    print(name, covered, np.square(misses).mean(axis=0), np.mean(gains), min(gains))
    assert (covered >= 164).all()
    assert (np.square(misses).mean(axis=0) < 1.5).all()
    assert np.mean(gains) > case.gain


def test_runs_without_a_failure_are_not_trusted():
    """Luck explains them so well that the error would be far too small: they are left alone."""
    for seed in range(20):
        one = ocucb.simulate(
            "ocucb", ocucb.gap(2, 0.3), 10_000, 200, rng=seed, sampling="plain", checkpoints=[]
        )[0]
        assert not one.control_variates
        assert one.mean_regret == pytest.approx(one.sample.mean(), rel=1e-12)


def test_few_runs_are_not_corrected():
    """Arms that are all alike cannot be confused, so failures do not widen the error."""
    few, enough = (
        control_variates.curve(np.array([runs]), *_related(), np.zeros(1)).corrected
        for runs in (control_variates.FEWEST_FITTED - 1.0, float(control_variates.FEWEST_FITTED))
    )
    assert (few, enough) == (False, True)


def _related() -> tuple[np.ndarray, np.ndarray]:
    """Means and products of one point whose first sum of noise explains most of the regret."""
    products = np.diag([4.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    products[0, 2] = products[2, 0] = 1.9
    return np.array([[3.0, 1.0, 0.1, 0.0, 0.0, 0.0]]), control_variates.packed(products[None])


def test_policies_that_do_not_listen_are_not_corrected():
    """Pulls that do not depend on rewards vary by chance alone: there is nothing to explain."""
    for seed in range(5):
        one = ocucb.simulate("uniform", ocucb.gap(2, 0.5), 1000, 300, rng=seed, sampling="plain")[0]
        assert not one.control_variates
        assert one.mean_regret == pytest.approx(one.sample.mean(), rel=1e-12)
