"""Error bars cover: of tails, failures and deviations, whether or not what is rare was seen.

Truths are from 2,000,000 plain runs and 500,000 tilted ones with other seeds (whichever is more
precise), good to a few percent of the bars. A bar is two standard errors, nominally 95%.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import ocucb
from ocucb.importance import failure_cost
from ocucb.results import UNSEEN

PAIR = ocucb.gap(K=2, gap=0.3)
SETTINGS = {  # policy, problem, horizon; deviation, probability of failure, tails
    "OCUCB": ("ocucb", PAIR, 10_000, 61.7, 4.095e-4, {50: 0.0331, 100: 9.6e-4, 1000: 4.095e-4}),
    "MOSS": ("moss", PAIR, 10_000, 25.87, 4.58e-5, {50: 0.0914, 100: 1.51e-3, 200: 1.24e-4}),
    "Gittins": (
        "gittins", ocucb.gap(K=2, gap=1.0), 1000, 26.45, 6.89e-4, {20.5: 7.06e-3, 200: 7.17e-4},
    ),
    "alpha = 1": (
        "ocucb:alpha=1", ocucb.gap(K=2, gap=2.0), 10_000, 73.6, 1.36e-5, {11: 7.9e-3, 100: 1.62e-5},
    ),
}  # fmt: skip
SLOW = {
    "n = 1e9": ("ocucb", PAIR, 10**9, 1830.0, 3.7e-11, {150: 0.0488, 200: 0.0033}),
    "UCB": ("ucb", PAIR, 10_000, 25.54, 1.825e-5, {200: 3.57e-4, 1000: 3.04e-5}),
    "Thompson": ("thompson", PAIR, 10_000, 52.85, 2.69e-4, {100: 0.01297, 200: 3.65e-3}),
    "short Thompson": (
        "thompson", ocucb.gap(K=2, gap=1.0), 1000, 10.74, 7.5e-5, {50: 2.54e-3, 100: 7.55e-4},
    ),
    "ten arms": ("ocucb", ocucb.gap(K=10, gap=0.3), 10_000, 241.9, 7.024e-3, {300: 0.01768}),
}  # fmt: skip


def covered(setting, runs: int, times: int) -> dict[str, float]:
    """Return how often each estimate is within two standard errors of the truth."""
    policy, problem, horizon, deviation, failure, tails = setting
    hits: dict[str, int] = {}
    for seed in range(times):
        call = {"rng": 1000 + seed, "checkpoints": [horizon], "workers": 1}
        one = ocucb.simulate(policy, problem, horizon, runs, **call)[0]
        found = {"deviation": (one.deviation, deviation), "failure": (one.failure, failure)}
        found |= {f"tail({x:g})": (one.tail(x), truth) for x, truth in tails.items()}
        for name, (estimate, truth) in found.items():
            hits[name] = hits.get(name, 0) + (abs(estimate.value - truth) <= 2 * estimate.stderr)
    return {name: count / times for name, count in hits.items()}


@pytest.mark.filterwarnings("ignore:OCUCB with alpha")
@pytest.mark.parametrize("name", SETTINGS)
def test_bars_of_a_few_hundred_runs_cover(name):
    """100 simulations; one that covers in 95% has fewer than 88 hits with probability 0.4%."""
    for what, share in covered(SETTINGS[name], 200, 100).items():
        assert share >= 0.88, (what, share)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:OCUCB with alpha")
@pytest.mark.parametrize("runs", [200, 500, 1000])
@pytest.mark.parametrize("name", [*SETTINGS, *SLOW])
def test_bars_cover(name, runs):
    """400 simulations cover at least 92%, a probability of 4e-11 from 200 runs excepted."""
    for what, share in covered((SETTINGS | SLOW)[name], runs, 400).items():
        least = 0.83 if (name, runs, what) == ("n = 1e9", 200, "failure") else 0.92
        assert share >= least, (what, share)


def test_counts_cover_every_poisson_mean():
    """The bar k ± 2 sqrt(k + 1.5^2) covers in at least 93% of the cases, whatever the mean."""
    counts = np.arange(400)
    half = 2.0 * np.sqrt(counts + UNSEEN**2)
    for mean in np.geomspace(1e-3, 200.0, 2000):
        chance = scipy.stats.poisson.pmf(counts, mean)
        assert chance[np.abs(counts - mean) <= half].sum() > 0.93


def test_nothing_seen_is_no_zero():
    """In 500 plain runs of OCUCB without a failure, the probability of one is below 3/N."""
    one = ocucb.simulate("ocucb", PAIR, 10_000, 500, rng=3, sampling="plain")[0]
    assert one.failure == (0.0, 1.5 / 500)
    assert one.tail(2000.0) == (0.0, 1.5 / 500)
    # a failure may have the worst regret, 3000
    assert (one.deviation.value + 2 * one.deviation.stderr) ** 2 > 3 / 500 * 2900**2
    assert one.cvar(0.95).stderr > 1.5 * 2900 / 0.05 / 500


def test_a_precision_is_not_met_by_runs_that_have_not_failed():
    """Two best arms, so runs stay plain; one that settles on the third costs 300."""
    problem, share = ocucb.gaussian([0.0, 0.0, -0.3]), 0.02
    one = ocucb.simulate("ucb", problem, 1000, precision=share, rng=1)[0]
    assert one.sampling == "plain"
    assert 2 * one.stderr[-1] < share * one.mean_regret  # from the 1000th run on
    assert one.runs >= 2 * UNSEEN * 300 / (share * one.mean_regret) > 2000
    with pytest.warns(UserWarning, match=r"UCB: 1,000 runs .* to [\d.]+%, not to 2%; allow more"):
        ocucb.simulate("ucb", problem, 1000, 1000, precision=share, rng=1)


def test_the_cost_of_a_failure_is_that_of_the_nearest_worse_arm():
    near = 0.9 / math.sqrt(10_000)  # too near to tell apart
    assert failure_cost(ocucb.gaussian([0.0, -near, -0.5, -2.0]), 10_000) == 5000.0
    assert failure_cost(ocucb.gaussian([0.0, -near]), 10_000) == pytest.approx(10_000 * near)
    assert failure_cost(ocucb.gaussian([1.0, 1.0]), 10_000) == 0.0
    assert failure_cost(ocucb.moss_failure(2000), 2000**3) == pytest.approx(2000**2 / 4)


def test_the_table_says_when_runs_are_too_few():
    words = "With fewer than 200 plain runs, error bars can miss rare failures."
    few, enough = (ocucb.simulate("ucb", PAIR, 100, runs, rng=1).table() for runs in (199, 200))
    assert few.endswith(words)
    assert words not in enough
