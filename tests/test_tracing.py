"""A trace is a run of `simulate`, round by round."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import ocucb
from ocucb.simulation import specify

GAUSSIAN = ocucb.gaussian([0.0, -0.3, 0.0])
CLICKS = ocucb.bernoulli([0.6, 0.4, 0.5, 0.2])
ARMS = ocucb.sphere(d=2, K=4)


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        ("ocucb", GAUSSIAN),
        ("ucb", CLICKS),
        ("thompson", GAUSSIAN),
        ("softmax", CLICKS),
        ("lin-ucb", ARMS),
    ],
)
def test_it_is_a_run_that_simulate_plays(policy, problem):
    """In one go, with a checkpoint in every round, the run has the same regret, to the last bit."""
    rounds = np.arange(1, 121)
    whole = specify(ocucb.parse_policy(policy), problem, 120, rounds, 5, "step").outcome(0, 3)
    for run in range(3):
        one = ocucb.trace(policy, problem, 120, run=run, rng=5)
        assert one.regret.tolist() == whole.regret[run].tolist()
        assert one.pulls[-1].tolist() == whole.pulls[run].tolist()
        optimal = one.best[one.arms].astype(float)
        assert optimal.tolist() == whole.optimal[run].tolist()


def test_its_parts_agree():
    """Counted again, slowly, from arms and rewards alone."""
    one = ocucb.trace("moss", CLICKS, 150, rng=2)
    pulls, sums = np.zeros(4), np.zeros(4)
    regret = 0.0
    for t, (arm, reward) in enumerate(zip(one.arms, one.rewards, strict=True)):
        assert reward in (0.0, 1.0)
        pulls[arm] += 1
        sums[arm] += reward
        regret += CLICKS.gaps[arm]
        assert one.pulls[t].tolist() == pulls.tolist()
        assert one.regret[t] == pytest.approx(regret)
        played = pulls > 0
        assert one.means[t][played].tolist() == (sums[played] / pulls[played]).tolist()
        assert np.isnan(one.means[t][~played]).all()
    assert one.best.tolist() == [True, False, False, False]
    assert {0.0, 1.0} == set(one.rewards)


def test_fewer_rounds_than_arms():
    one = ocucb.trace("ucb", ocucb.gap(K=5), 3, rng=1)
    assert one.arms.tolist() == [0, 1, 2]
    assert one.pulls[-1].tolist() == [1, 1, 1, 0, 0]
    assert one.regret.tolist() == [0.0, 0.3, 0.6]
    assert "..." not in repr(one)
    assert repr(one).count("\n") == 5


def test_what_people_see(tmp_path):
    one = ocucb.trace("ucb", CLICKS, 200, rng=1)
    text = repr(one)
    assert "UCB on means 0.6, 0.4, 0.5, 0.2, run 0 of seed 1" in text
    assert text.count("\n") == 1 + 8 + 1 + 3 + 1
    one.to_csv(tmp_path / "trace.csv")
    with open(tmp_path / "trace.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["arm"]) for row in rows] == one.arms.tolist()
    figure = one.plot(tmp_path / "trace.png")
    above, below = figure.axes
    drawn = sum(line.get_xdata().size for line in above.get_lines())
    assert drawn == 200
    assert below.get_lines()[0].get_ydata().tolist() == one.regret.tolist()
    assert above.get_xlim() == below.get_xlim()
    assert one.plot(ax=above) is figure


@ocucb.index_policy
def broken(pulls, t, horizon, arms):
    return 0.0 if t < 20 else float("nan")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("ucb", "two", 100), "problem must be a Problem such as"),
        (("ucb", ocucb.prior("normal", K=3), 100), "problem must be a Problem such as"),
        (("ucb", CLICKS, 0), "horizon must be at least 1, got 0"),
        (("ucb", CLICKS, 10**7), "horizon times arms must be at most 10,000,000, got 40,000,000"),
        (("bernoulli-gittins", GAUSSIAN, 100), "plays Bernoulli rewards only"),
        (("ucb", ocucb.contexts([1.0, 0.5], 3), 100), "a trace is of arms whose means stay"),
        (("lin-ucb", GAUSSIAN, 100), "plays arms with features only"),
        ((broken, GAUSSIAN, 100), "could not choose an arm in run 0"),
    ],
)
def test_wrong_input_is_one_sentence(given, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence) as raised:
        ocucb.trace(*given, rng=1)
    assert "\n" not in str(raised.value)


def test_several_policies_are_refused():
    with pytest.raises(ValueError, match="a trace is of one policy, got 2"):
        ocucb.trace(["ucb", "moss"], GAUSSIAN, 100)
