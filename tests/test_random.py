"""The random numbers: moments, the whole distribution, tails to 1e-6, independence of streams.

Seeds are fixed, so these tests always give the same answer; the stated false-alarm rates say how
often a correct generator would have failed with a random seed. Together: below 1e-4.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ocucb._compile import compiled
from ocucb.random import (
    CHOICES,
    REWARDS,
    below,
    coins,
    largest,
    normal,
    ones,
    start_stream,
    uniform,
    word,
)

KEY = np.array([0x0123456789ABCDEF, 0xFEDCBA9876543210], dtype=np.uint64)


@compiled
def _normals(out, key, run, stream):
    state = np.empty(4, np.uint64)
    start_stream(state, key, run, stream)
    for i in range(out.size):
        out[i] = normal(state)


@compiled
def _uniforms(out, key, run, stream):
    state = np.empty(4, np.uint64)
    start_stream(state, key, run, stream)
    for i in range(out.size):
        out[i] = uniform(state)


@compiled
def _first_words(out, key, runs):
    state = np.empty(4, np.uint64)
    for run in range(runs):
        for stream in range(2):
            start_stream(state, key, run, stream)
            for i in range(out.shape[2]):
                out[run, stream, i] = word(state)


@pytest.fixture(scope="module")
def normals() -> np.ndarray:
    out = np.empty(20_000_000)
    _normals(out, KEY, 0, REWARDS)
    return out


def test_xoshiro_against_its_definition():
    """The recurrence in Python's unbounded integers, masked to 64 bits."""
    mask = 2**64 - 1

    def rotate(x, k):
        return ((x << k) | (x >> (64 - k))) & mask

    s = [1, 2, 3, 4]
    state = np.array(s, dtype=np.uint64)
    for _ in range(1000):
        expected = (rotate((s[0] + s[3]) & mask, 23) + s[0]) & mask
        t = (s[1] << 17) & mask
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        assert int(word(state)) == expected


def test_normal_moments(normals):
    """Four standardised moments within 5 standard deviations (false alarm 2e-6)."""
    n = normals.size
    exact = {1: (0, 1), 2: (1, 2), 3: (0, 15), 4: (3, 96)}
    for power, (mean, variance) in exact.items():
        z = ((normals**power).mean() - mean) / np.sqrt(variance / n)
        assert abs(z) < 5, power


def test_normal_distribution(normals):
    """Kolmogorov-Smirnov on 20 million numbers, and chi-square on 1000 equal cells."""
    assert stats.kstest(normals, "norm").pvalue > 1e-5
    cells = np.searchsorted(stats.norm.ppf(np.arange(1, 1000) / 1000), normals)
    assert stats.chisquare(np.bincount(cells, minlength=1000)).pvalue > 1e-5


def test_normal_tails(normals):
    """Both tails from 1e-1 down to 1e-6, where 20 numbers are expected; false alarm 1e-5 in all."""
    for level in (1e-1, 1e-2, 1e-3, 2e-4, 1e-4, 1e-5, 1e-6):
        z = stats.norm.isf(level)
        for count in ((normals > z).sum(), (normals < -z).sum()):
            assert stats.binomtest(int(count), normals.size, level).pvalue > 1e-6, level


def test_normal_beyond_the_last_layer(normals):
    """The tail that the ziggurat draws in its own way has the right shape."""
    edge = 3.6541528853610088
    tail = np.abs(normals[np.abs(normals) > edge])
    probability = 2 * stats.norm.sf(edge)
    assert stats.binomtest(tail.size, normals.size, probability).pvalue > 1e-5
    conditional = stats.norm.sf(tail) / stats.norm.sf(edge)
    assert stats.kstest(conditional, "uniform").pvalue > 1e-5


def test_uniform():
    out = np.empty(5_000_000)
    _uniforms(out, KEY, 0, CHOICES)
    assert out.min() >= 0
    assert out.max() < 1
    assert stats.kstest(out, "uniform").pvalue > 1e-5
    pairs = np.histogram2d(out[::2], out[1::2], bins=32)[0]
    assert stats.chisquare(pairs.ravel()).pvalue > 1e-5


def test_streams_of_different_runs_are_unrelated():
    """First numbers of 200,000 neighbouring runs: uniform, and no correlation along runs.

    Correlations of n pairs have standard deviation 1/sqrt(n); false alarm of 16 tests 1e-5.
    """
    out = np.empty((200_000, 2, 4), dtype=np.uint64)
    _first_words(out, KEY, 200_000)
    numbers = (out >> np.uint64(11)) * 2.0**-53
    for stream in range(2):
        for place in range(4):
            column = numbers[:, stream, place]
            assert stats.kstest(column, "uniform").pvalue > 1e-5
            lag = np.corrcoef(column[:-1], column[1:])[0, 1]
            assert abs(lag) * np.sqrt(column.size) < 5
    across = np.corrcoef(numbers.reshape(len(numbers), -1).T)[np.triu_indices(8, 1)]
    assert np.abs(across).max() * np.sqrt(len(numbers)) < 5


def test_blocks_of_normals_are_independent():
    """Means of the first 100 normals of 50,000 runs behave like 50,000 independent ones."""
    block = np.empty(100)
    means = np.empty(50_000)
    for run in range(means.size):
        _normals(block, KEY, run, REWARDS)
        means[run] = block.sum() / 10
    assert stats.kstest(means, "norm").pvalue > 1e-5
    assert abs(np.corrcoef(means[:-1], means[1:])[0, 1]) * np.sqrt(means.size) < 5
    assert abs(means.mean()) * np.sqrt(means.size) < 5


def test_streams_never_meet():
    """No word appears twice among the first words of many runs, keys and streams."""
    seen = []
    for key in ([0, 0], [0, 1], [1, 0], [2**64 - 1, 1]):
        out = np.empty((20_000, 2, 4), dtype=np.uint64)
        _first_words(out, np.array(key, dtype=np.uint64), 20_000)
        seen.append(out.ravel())
    words = np.concatenate(seen)
    assert np.unique(words).size == words.size  # a collision by chance: 1e-8


def test_below_and_largest():
    state = np.empty(4, np.uint64)
    start_stream(state, KEY, 0, CHOICES)
    counts = np.bincount([below(state, 7) for _ in range(70_000)], minlength=7)
    assert counts.size == 7
    assert stats.chisquare(counts).pvalue > 1e-5
    picks = np.bincount(
        [largest(np.array([1.0, 3.0, 2.0, 3.0, 3.0]), state) for _ in range(30_000)], minlength=5
    )
    assert picks[[0, 2]].tolist() == [0, 0]
    assert stats.chisquare(picks[[1, 3, 4]]).pvalue > 1e-5
    assert largest(np.array([1.0, np.nan]), state) == -1
    assert largest(np.array([-np.inf, 1.0]), state) == 1


@pytest.mark.parametrize("p", [0.5, 0.6, 0.03, 0.999, 2.0**-53, 1 - 2.0**-53])
@pytest.mark.parametrize("count", [1, 7, 64])
def test_coins(count, p):
    """Sums are binomial, places are alike, and neighbours independent: false alarm 3e-5 each."""
    state, size = np.empty(4, np.uint64), 20_000
    start_stream(state, KEY, count, REWARDS)
    words = np.array([coins(state, float(count), p) for _ in range(size)], dtype=np.uint64)
    bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert not bits[:, count:].any()
    sums = bits.sum(axis=1).astype(int)
    assert [ones(word) for word in words[:100]] == sums[:100].tolist()
    expected = size * stats.binom(count, p).pmf(np.arange(count + 1))
    often = expected >= 5
    found = np.bincount(sums, minlength=count + 1)
    cells = zip(found[often], expected[often], strict=True)
    chi = sum((seen - mean) ** 2 / mean for seen, mean in cells)
    assert stats.chi2(max(1, often.sum() - 1)).sf(chi) > 1e-5
    deviation = np.sqrt(size * p * (1 - p))
    by_place = bits[:, :count].sum(axis=0)
    assert np.abs(by_place - size * p).max() <= 6 * deviation + 1
    if count > 1 and 0.01 < p < 0.99:
        one, other = (bits[:, i].astype(float) for i in (0, 1))
        assert abs(np.corrcoef(one, other)[0, 1]) * np.sqrt(size) < 5


def test_coins_that_are_sure():
    state = np.empty(4, np.uint64)
    start_stream(state, KEY, 0, REWARDS)
    assert coins(state, 64.0, 0.0) == 0
    assert coins(state, 64.0, 1.0) == 2**64 - 1
    assert coins(state, 3.0, 1.0) == 7
