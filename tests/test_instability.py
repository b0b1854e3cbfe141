"""Instability: how much pulls vary, how often textbook intervals hold, SLE-UCB."""

from __future__ import annotations

import json
import math
from itertools import accumulate

import numpy as np
import pytest

import ocucb
from helpers import agree, enumerated
from ocucb.engine import ADVICE, Outcome
from ocucb.policies import parse_policy
from ocucb.results import Moments
from policy_table import SLEUCB as Twin
from policy_table import twin_of

Estimate = ocucb.Estimate
CASES = [("ucb:constant=0.5", [0.5, 0.6], 11), ("aocucb", [0.2, 0.6, 0.4], 9)]


def truth(text: str, means: list[float], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each arm's deviation of pulls, and its interval's coverage, by enumeration."""
    problem, sd = ocucb.bernoulli(means), np.sqrt(np.array(means) * (1 - np.array(means)))
    states = enumerated(parse_policy(text), problem, n)
    T, S = (np.array([state[part] for state in states]) for part in (0, 1))
    chance = np.array([*states.values()])[:, None]
    mean = (chance * T).sum(axis=0)
    held = np.abs(S / T - means) <= 1.96 * sd / np.sqrt(T)
    return np.sqrt((chance * (T - mean) ** 2).sum(axis=0)), (chance * held).sum(axis=0)


@pytest.mark.parametrize(("text", "means", "n"), CASES)
@pytest.mark.parametrize("sampling", ["plain", "tilted"])
def test_exact_values(text, means, n, sampling):
    deviation, coverage = truth(text, means, n)
    one = ocucb.simulate(
        text, ocucb.bernoulli(means), n, 20_000, rng=4, sampling=sampling, engine="step"
    )[0]
    assert one.sampling == sampling
    pairs = [(one.pulls_deviation, one.pulls_deviation_stderr, deviation)]
    pairs += [(one.coverage, one.coverage_stderr, coverage)]
    for found, errors, exact in pairs:
        assert (errors < 0.03 * exact).all()
        for value, error, true in zip(found, errors, exact, strict=True):
            assert agree(Estimate(value, error), true)
    assert one.instability.value == one.pulls_deviation.max()


def some_runs(runs: int, seed: int, share: float = 1e-5) -> tuple[Outcome, np.ndarray]:
    """Two arms with pulls of about 10^9, and weights."""
    rng = np.random.default_rng(seed)
    first = np.rint(1e9 * (0.3 + share * rng.normal(size=runs))).astype(np.int64)
    pulls, zeros = np.stack([first, 10**9 - first], axis=1), np.zeros((runs, 1))
    noise = rng.normal(size=(runs, 2)) * np.sqrt(pulls)
    outcome = Outcome(zeros, pulls, zeros[:, :0], np.zeros((runs, 1, 2)), arm_noise=noise)
    outcome = outcome._replace(advice=np.zeros((runs, len(ADVICE))), optimal=zeros)
    return outcome, rng.uniform(0.5, 1.5, runs)


def reduced(outcome: Outcome, weights: np.ndarray, which: slice = slice(None)) -> Moments:
    rows = [part[which] if part.size else part for part in outcome]
    gaps, spread = np.array([0.0, 0.5]), np.ones(2)
    return Moments.of(Outcome(*rows), weights[which], gaps, spread=spread)


def test_blocks_merge_to_the_whole_without_cancellation():
    """Deviations are a hundred-thousandth of the pulls: fourth powers cancel to 20 digits."""
    outcome, weights = some_runs(1000, 1)
    parts = reduced(outcome, weights, slice(1))
    for cut in (slice(1, 17), slice(17, 400), slice(400, 1000)):
        parts = parts.merged(reduced(outcome, weights, cut))
    T = outcome.pulls[:, 0] - 3e8
    mean = np.average(T, weights=weights)
    variance = np.average((T - mean) ** 2, weights=weights)
    error = np.sqrt((weights**2 * ((T - mean) ** 2 - variance) ** 2).sum()) / weights.sum()
    expected = math.sqrt(variance * 1000 / 999)
    for moments in (parts, reduced(outcome, weights)):
        deviation, errors = moments.pulls_deviation()
        assert deviation == pytest.approx([expected] * 2, rel=1e-9)
        assert errors == pytest.approx([error / 2 / expected] * 2, rel=1e-6)
        held = np.abs(outcome.arm_noise) <= 1.959964 * np.sqrt(outcome.pulls)
        share, error_of_share = moments.coverage()
        assert share == pytest.approx(np.average(held, axis=0, weights=weights))
        off = weights[:, None] * (held - share)
        assert error_of_share == pytest.approx(np.sqrt((off**2).sum(axis=0)) / weights.sum())


def test_bars_cover():
    """Of 400 sets of 300 weighted runs, 95% are within two errors; 91% has chance 0.1%."""
    hits = np.zeros(2)
    for seed in range(400):
        moments = reduced(*some_runs(300, seed))
        (deviation, *_), (error, *_) = moments.pulls_deviation()
        (share, *_), (error_of_share, *_) = moments.coverage()
        hits += abs(deviation - 1e4) <= 2 * error, abs(share - 0.95) <= 2 * error_of_share
    assert (hits >= 0.91 * 400).all(), hits


def test_what_is_not_known_is_nan(tmp_path):
    """With a prior, and where the deviation of rewards is not known; also in files."""
    prior = ocucb.simulate("ucb", ocucb.prior("normal", K=2), 50, 40, rng=1)
    other = ocucb.simulate("ucb", ocucb.uniform_rewards([0.5, 0.2]), 50, 40, rng=1)
    single = ocucb.simulate("ucb", ocucb.gap(2, 0.5), 50, 1, rng=1)
    short = ocucb.simulate("ucb", ocucb.gap(3, 0.5), 2, 40, rng=1)
    assert np.isnan(prior[0].coverage).all()
    assert (prior[0].pulls_deviation > 0).all()
    assert np.isnan(other[0].coverage).all()
    assert np.isnan(single[0].pulls_deviation).all()
    assert np.isnan(short[0].coverage).tolist() == [False, False, True]
    assert short[0].instability == (0.0, 0.0)
    for number, result in enumerate((prior, single)):
        path = tmp_path / f"{number}.json"
        result.save(path)
        again = ocucb.SimulationResult.load(path)[0]
        for name in ("pulls_deviation", "coverage", "coverage_stderr"):
            assert np.array_equal(getattr(again, name), getattr(result[0], name), equal_nan=True)
    assert json.loads(json.dumps(single[0].to_dict()))["pulls_deviation"] == [None, None]


# SLE-UCB: what its proof rests on


def told(twin, rewards, n):
    """Play arms with given rewards; return how often each was played."""
    T, S = [1] * len(rewards), [arm[0] for arm in rewards]
    for t in range(len(rewards) + 1, n + 1):
        arm = twin(t, T, S)
        S[arm] += rewards[arm][T[arm]]
        T[arm] += 1
    return T


def choices(alpha: float, width: float, K: int, n: int):
    policy, memory = ocucb.SLEUCB(alpha=alpha, width=width), np.zeros(5 * K)
    stream = np.array([1, 2, 3, 4], dtype=np.uint64)
    function = policy.family.rule.source

    def choose(t, T, S):
        return function(
            float(t), float(n), np.array(T, float), np.array(S), 1.0, memory, stream,
            **policy.parameters,
        )  # fmt: skip

    return choose


@pytest.mark.parametrize("alpha", [1.0, 40.0])
def test_pulls_are_those_of_the_largest_indices_of_all(alpha):
    """The index of an arm falls with every pull, so order does not matter (lemma 6.1 there)."""
    rng, n, K, width = np.random.default_rng(3), 300, 3, 0.02
    for _ in range(5):
        rewards = rng.normal(size=(K, n)) + np.array([[0.0], [0.1], [0.3]])
        iota = math.sqrt(math.log(K * n))
        B = 1 + 4 * iota
        beta = width * B * iota
        ranked = []
        for arm in range(K):
            sums = accumulate(np.clip(rewards[arm], -B, B))
            bounds = [total / s + beta / math.sqrt(s) for s, total in enumerate(sums, 1)]
            for T, U in enumerate(accumulate(bounds, min), 1):
                ranked.append((U + alpha * beta * math.sqrt(K / n) * math.log(n / T), arm))
        top = [arm for _, arm in sorted(ranked, reverse=True)[: n - K]]
        expected = [1 + top.count(arm) for arm in range(K)]
        assert told(choices(alpha, width, K, n), rewards.tolist(), n) == expected


def test_the_envelope_alone_changes_nothing():
    """An arm waits with the lowest bound that it has had: without alpha, UCB with a fixed level."""
    rng, n, K = np.random.default_rng(5), 400, 3
    iota = math.sqrt(math.log(K * n))
    beta = 0.02 * (1 + 4 * iota) * iota

    def plain(t, T, S):
        return int(np.argmax([s / pulls + beta / math.sqrt(pulls) for s, pulls in zip(S, T)]))  # noqa: B905

    for _ in range(10):
        rewards = (rng.normal(size=(K, n)) * 0.7).tolist()
        assert told(choices(1e-12, 0.02, K, n), rewards, n) == told(plain, rewards, n)


def test_large_rewards_are_clipped():
    """One reward of 10^6 does not keep an arm in the lead."""
    rewards = [[1e6] + [0.0] * 99, [0.0] * 100]
    played = told(choices(1.0, 0.02, 2, 100), rewards, 100)
    assert played[0] < 80
    assert twin_of(ocucb.SLEUCB(), False) is Twin


def test_sle_ucb_is_stable_and_ocucb_is_not():
    """Bounds of the theorem, on two arms that are equal or differ; OCUCB's instability stays.

    Equal shares would have 95%. Fails by chance less than once in 10^6 times.
    """
    n = 1000
    iota = math.sqrt(math.log(2 * n))
    beta = 8 * (1 + 4 * iota) * iota
    for gap in (0.0, 0.5):
        problem = ocucb.gaussian([0.0, -gap])
        one = ocucb.simulate("sle-ucb", problem, n, 200, rng=1, sampling="plain")[0]
        assert one.mean_regret <= (5 + math.log(4)) * beta * math.sqrt(2 * n)
        assert one.instability.value <= 2 * math.sqrt(n) + 18 * n / beta
        assert one.instability.value < 0.01 * n
    equal = ocucb.gaussian([0.0, 0.0])
    for horizon in (1000, 10**6):
        one = ocucb.simulate("ocucb", equal, horizon, 2000, rng=1, sampling="plain")[0]
        assert 0.3 * horizon < one.instability.value < 0.45 * horizon
        assert (one.coverage < 0.92).all()
