"""How often the best arm is played in a round, and the average reward so far."""

from __future__ import annotations

import html
from dataclasses import replace

import numpy as np
import pytest

import ocucb
from ocucb.results import Moments
from ocucb.simulation import specify

ROUNDS = np.arange(1, 201)
PROBLEM = ocucb.gaussian([0.0, -0.3, -0.5, 0.0])


@pytest.mark.parametrize("engine", ["step", "skip"])
def test_an_optimal_action_adds_no_regret(engine):
    """In every round: regret that is written down separately says which rounds these are."""
    specification = specify(ocucb.UCB(), PROBLEM, 200, ROUNDS, 1, engine)
    found = specification.outcome(0, 40)
    added = np.diff(found.regret, axis=1, prepend=0.0)
    assert (found.optimal == (added < 0.1)).all()
    assert 0.5 < found.optimal.mean() < 0.9


def test_with_a_prior_each_run_has_best_arms_of_its_own():
    prior = ocucb.prior([ocucb.gap(2, 0.4), ocucb.gaussian([-1.0, -0.7, 0.0])])
    found = specify(ocucb.MOSS(), prior, 200, ROUNDS, 1, "step").outcome(0, 40)
    added = np.diff(found.regret, axis=1, prepend=0.0)
    assert (found.optimal == (added < 0.1)).all()


def test_plain_runs_are_averaged():
    runs = 300
    result = ocucb.simulate(
        "ucb", PROBLEM, 200, runs, rng=1, engine="step", sampling="plain", checkpoints=ROUNDS
    )[0]
    found = specify(ocucb.UCB(), PROBLEM, 200, ROUNDS, 1, "step").outcome(0, runs).optimal
    assert result.optimal == pytest.approx(found.mean(axis=0))
    errors = np.hypot(found.std(axis=0, ddof=1) / np.sqrt(runs), 1.5 / runs)
    assert result.optimal_stderr == pytest.approx(errors)
    assert list(result.optimal[:4]) == [1.0, 0.0, 0.0, 1.0]  # each arm once, in order


def test_tilted_runs_agree_with_plain_ones():
    """Errors are of 5 standard ones of either: false alarms are below 1e-5 in all."""
    problem, how = ocucb.gap(2, 0.5), {"checkpoints": [10, 30, 100], "rng": 1}
    tilted, plain = (
        ocucb.simulate("greedy", problem, 100, runs, sampling=sampling, **how)[0]
        for runs, sampling in ((2000, "tilted"), (20_000, "plain"))
    )
    assert tilted.sampling == "tilted"
    both = np.hypot(tilted.optimal_stderr, plain.optimal_stderr)
    assert (np.abs(tilted.optimal - plain.optimal) < 5 * both).all()
    assert (both < 0.02).all()
    # the mean weight is corrected for, so where nothing else varies, nothing does
    outcome = specify(ocucb.UCB(), problem, 100, np.array([50, 100]), 1, "step").outcome(0, 200)
    weights = np.random.default_rng(1).uniform(0.1, 2.0, 200)
    always = outcome._replace(optimal=np.ones((200, 2)))
    values, errors = Moments.of(always, weights, problem.gaps).optimal()
    assert values == pytest.approx(1.0, abs=1e-12)
    assert errors == pytest.approx(1.5 * weights.max() / 200)


def test_average_reward_is_what_regret_leaves():
    result = ocucb.simulate(["ucb", "moss"], ocucb.bernoulli([0.7, 0.4]), 500, 100, rng=1)
    values, errors = result.average_reward("moss")
    moss = result["moss"]
    assert values == pytest.approx(0.7 - moss.regret / moss.checkpoints)
    assert errors == pytest.approx(moss.stderr / moss.checkpoints)
    row = result.rows()[-1]
    assert row["average_reward"] == values[-1]
    assert (row["optimal"], row["optimal_stderr"]) == (moss.optimal[-1], moss.optimal_stderr[-1])
    bayes = ocucb.simulate("ucb", ocucb.prior("normal", K=2), 100, 10, rng=1)
    assert bayes.rows()[0]["average_reward"] is None
    with pytest.raises(ValueError, match="the best mean differs from run to run"):
        bayes.average_reward()


def test_unequal_sigmas_are_shown_everywhere():
    result = ocucb.simulate("ucb", ocucb.gaussian([0, -1], [1, 0.5]), 50, 10, rng=1)
    for text in (result.table(), repr(result), result._repr_html_()):
        assert "sigma 1, 0.5" in text
        assert "told sigma = 1, the largest of the arms" in text
    row = result.to_dataframe().iloc[0]
    told = [row[name] for name in ("sigma", "sigmas", "rewards", "seed")]
    assert told == [1, "1, 0.5", "gaussian", 1]
    assert ocucb.simulate("ucb", ocucb.gap(), 50, 10, rng=1).rows()[0]["sigmas"] == ""


def test_notebooks_show_what_the_text_says():
    problem = replace(ocucb.gap(2, 0.3), name="<b>mine & yours</b>")
    result = ocucb.simulate(["ucb", "moss", "greedy"], problem, 100, 200, rng=1)
    shown = result._repr_html_()
    assert "&lt;b&gt;mine &amp; yours&lt;/b&gt;" in shown
    assert "<b>" not in shown
    notes = result.table().splitlines()[len(result) + 1 :]
    worth = [note for note in notes if "plain ones" in note]
    assert len(worth) == 1, "one line for all policies"
    assert all(player.label in worth[0] for player in result if player.control_variates)
    for note in notes:
        assert html.escape(note) in shown
