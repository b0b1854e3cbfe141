"""Moments: each statistic is declared once, and stored, restored and merged accordingly."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from ocucb.engine import ADVICE, Outcome
from ocucb.results.moments import SAMPLE_SIZE, TERMS, Moments

RUNS, CHECKPOINTS, ARMS = 100, 3, 2


def block(first: int = 0) -> Moments:
    rng = np.random.default_rng(1)
    pulls = rng.multinomial(20, [0.5, 0.5], RUNS)
    regret = np.cumsum(rng.exponential(1.0, (RUNS, CHECKPOINTS)), axis=1)
    outcome = Outcome(regret, pulls, np.zeros((RUNS, 0)), rng.normal(size=(*regret.shape, 2)))
    outcome = outcome._replace(advice=rng.uniform(0.0, 1.0, (RUNS, len(ADVICE))))
    outcome = outcome._replace(optimal=rng.integers(0, 2, regret.shape).astype(float))
    return Moments.of(outcome, rng.uniform(0.5, 1.5, RUNS), np.array([0.0, 0.5]), first)


@pytest.mark.parametrize("first", [0, SAMPLE_SIZE - 40, SAMPLE_SIZE])
def test_moments_are_restored_from_their_numbers(first):
    moments = block(first)
    assert len(moments.sample) == min(RUNS, SAMPLE_SIZE - first)
    again = Moments.from_numbers(moments.numbers(), first, RUNS, CHECKPOINTS, ARMS)
    for field in fields(Moments):
        before, after = getattr(moments, field.name), getattr(again, field.name)
        assert type(before) is type(after), field.name
        assert np.shape(before) == np.shape(after), field.name
        assert np.array_equal(before, after), field.name


@pytest.mark.parametrize("change", [lambda x: x[:-1], lambda x: np.append(x, 0.0), lambda x: x[:0]])
def test_numbers_of_another_size_are_refused(change):
    numbers = change(block().numbers())
    assert Moments.from_numbers(numbers, 0, RUNS, CHECKPOINTS, ARMS) is None


def test_a_term_is_averaged_by_its_declaration_alone():
    """For a term that control variates do not explain, as weights are all 1."""
    pulls = np.array([[9, 1]] * 30 + [[1, 9]] * 10)
    parts = [
        Moments.of(
            Outcome(
                part @ [[0.0], [0.5]],
                part,
                np.zeros((20, 0)),
                np.zeros((20, 1, 2)),
                advice=np.zeros((20, len(ADVICE))),
                optimal=np.zeros((20, 1)),
            ),
            np.ones(20),
            np.array([0.0, 0.5]),
        )
        for part in (pulls[:20], pulls[20:])
    ]
    share, stderr = parts[0].merged(parts[1]).estimate("failure")
    assert share == pytest.approx(0.25)
    assert stderr == pytest.approx(np.repeat([0, 1], [30, 10]).std(ddof=1) / np.sqrt(40))


def test_another_centre_moves_the_excess_and_nothing_else():
    moments = block()
    moved = moments._centred_at(moments.centre + 2.0)
    for row, name in enumerate(TERMS):
        same = moved.term_means[row] == moments.term_means[row]
        assert same == ("excess" not in name), name
    back = moved._centred_at(moments.centre)
    assert back.term_means == pytest.approx(moments.term_means, abs=1e-12)
    assert back.term_products == pytest.approx(moments.term_products, abs=1e-9)
