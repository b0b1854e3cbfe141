"""Recommendations: the arm that a run ends with, how often it is wrong, and what that costs."""

from __future__ import annotations

import json
import math

import naive
import numpy as np
import pytest
from scipy import integrate, stats

import ocucb
from helpers import agree, enumerated
from ocucb import scheduler
from ocucb.policies import parse_policy
from ocucb.results import UNSEEN
from ocucb.simulation import specify

EXACT = [
    ("ocucb:alpha=3,psi=2", [0.7, 0.4], 12),
    ("ucb:constant=0.5", [0.5, 0.6], 11),
    ("aocucb", [0.2, 0.6, 0.4], 9),
]


def truth(text: str, means: list[float], n: int) -> tuple[float, float]:
    """Return the probability of a wrong recommendation and the simple regret, by enumeration."""
    problem = ocucb.bernoulli(means)
    wrong = lost = 0.0
    for (T, S), chance in enumerated(parse_policy(text), problem, n).items():
        found = [s / pulls for s, pulls in zip(S, T, strict=True)]
        gaps = [gap for gap, mean in zip(problem.gaps, found, strict=True) if mean == max(found)]
        wrong += chance * sum(gap > 0 for gap in gaps) / len(gaps)
        lost += chance * sum(gaps) / len(gaps)
    return wrong, lost


@pytest.mark.parametrize(("text", "means", "n"), EXACT)
@pytest.mark.parametrize("engine", ["step", "skip"])
@pytest.mark.parametrize("sampling", ["plain", "tilted"])
def test_exact_values(text, means, n, engine, sampling, monkeypatch):
    """On rewards of 0 and 1, where several means are often the same; the broad mixture."""
    monkeypatch.setattr(scheduler, "improved", lambda mixture, problem, pilot: (mixture, 2.0))
    wrong, lost = truth(text, means, n)
    one = ocucb.simulate(
        text, ocucb.bernoulli(means), n, 60_000, rng=4, sampling=sampling, engine=engine
    )[0]
    assert (one.sampling, one.engine) == (sampling, engine)
    assert agree(one.wrong, wrong)
    assert agree(one.simple_regret, lost)
    assert 2 * one.wrong.stderr < 0.03 * wrong
    assert one.stopped == (0.0, 0.0)
    assert one.stopping_time == (n, 0.0)


@pytest.mark.parametrize("engine", ["step", "skip"])
def test_the_last_reward_counts(engine):
    """After three rounds with two arms, the leader's mean is of two rewards, of which one is new.

    Without it, a recommendation would be wrong with probability 0.36.
    """
    gap = 0.5

    def wrong_if(best: float, other: float) -> float:
        density = stats.norm.pdf(best) * stats.norm.pdf(other + gap)
        if best > other:  # the best arm leads: its mean must fall below the other's
            return density * stats.norm.cdf(2 * other - best)
        return density * stats.norm.sf(2 * best - other + gap)

    exact, _ = integrate.dblquad(wrong_if, -7.0, 7.0, -7.0, 7.0, epsabs=1e-4)
    problem = ocucb.gap(2, gap)
    one = ocucb.simulate("greedy", problem, 3, 100_000, rng=1, engine=engine, sampling="plain")[0]
    assert agree(one.wrong, exact)
    assert 0.36 - exact > 10 * one.wrong.stderr


@pytest.mark.parametrize("name", ["ucb", "thompson", "imed", "adaucb", "kl-ucb"])
@pytest.mark.parametrize("rewards", ["gaussian", "bernoulli"])
def test_engines_agree(name, rewards):
    """Ten comparisons at four standard errors fail by chance with probability 0.1%."""
    problem = ocucb.gap(3, 0.4) if rewards == "gaussian" else ocucb.bernoulli([0.6, 0.4, 0.3])
    step, skip = (
        ocucb.simulate(name, problem, 150, 15_000, rng=2, engine=engine, sampling="plain")[0]
        for engine in ("step", "skip")
    )
    assert agree(skip.wrong, *step.wrong)
    assert agree(skip.simple_regret, *step.simple_regret)
    assert step.wrong.value > 20 * UNSEEN / step.runs


def test_every_run_recommends_what_its_twin_does():
    problem, n, runs = ocucb.gaussian([0.5, 0.0, 0.2], sigma=[1.0, 0.5, 2.0]), 12, 40
    specification = specify(parse_policy("ucb"), problem, n, np.array([5, n]), 1, "step")
    found = specification.outcome(0, runs).advice
    for run in range(runs):
        arms, gains = naive.play(parse_policy("ucb"), problem, n, specification._key, run)
        means = [np.mean([g for a, g in zip(arms, gains, strict=True) if a == i]) for i in range(3)]
        gap = problem.gaps[int(np.argmax(means))]
        assert found[run, :3].tolist() == [gap > 0, gap, n]


def test_with_a_prior_every_run_has_its_own_best_arm():
    """With two arms and a normal prior, equal shares are wrong with a known probability.

    The difference of the true means, of deviation d, and that of the sample means, of deviation
    sqrt(d^2 + v), have different signs with probability atan(sqrt(v) / d) / pi.
    """
    n, sd = 40, 0.3
    prior = ocucb.prior("normal", K=2, sd=sd)
    one = ocucb.simulate("explore-then-commit:m=20", prior, n, 40_000, rng=1)[0]
    exact = math.atan(math.sqrt(2 / 20) / (sd * math.sqrt(2.0))) / math.pi
    assert agree(one.wrong, exact)
    assert 0.0 < one.simple_regret.value < one.wrong.value


def test_arms_that_nobody_can_tell_apart():
    """If all are best, none is wrong; an arm that was never played is not recommended."""
    same = ocucb.simulate("ucb", ocucb.gaussian([1.0, 1.0]), 50, 100, rng=1)[0]
    assert (same.wrong, same.simple_regret) == ((0.0, 0.0), (0.0, 0.0))
    short = ocucb.simulate("ucb", ocucb.gaussian([0.0, 1.0, 5.0]), 2, 300, rng=1)[0]
    assert short.wrong.value == 1.0
    assert 4.0 < short.simple_regret.value < 5.0


def test_what_was_not_seen_counts():
    plain = ocucb.simulate("ucb", ocucb.gap(2, 5.0), 100, 500, rng=3, sampling="plain")[0]
    assert plain.wrong == (0.0, UNSEEN / 500)
    assert plain.simple_regret == (0.0, 5.0 * UNSEEN / 500)
    tilted = ocucb.simulate("ucb", ocucb.gap(2, 5.0), 100, 500, rng=3, sampling="tilted")[0]
    assert UNSEEN / 500 < tilted.wrong.stderr <= 4 * UNSEEN / 500


@pytest.mark.parametrize("sampling", ["plain", "tilted"])
def test_bars_cover(sampling):
    """150 simulations of a rare and a common mistake; 95% would be below 88% with chance 0.03%."""
    for text, means, n in (("ucb:constant=0.5", [0.5, 0.6], 11), ("ocucb", [0.9, 0.1], 10)):
        wrong, lost = truth(text, means, n)
        hits = np.zeros(2)
        for seed in range(150):
            one = ocucb.simulate(
                text, ocucb.bernoulli(means), n, 250, rng=seed, sampling=sampling, workers=1
            )[0]
            pairs = ((one.wrong, wrong), (one.simple_regret, lost))
            hits += [abs(found.value - exact) <= 2 * found.stderr for found, exact in pairs]
        assert (hits >= 0.88 * 150).all(), (text, wrong, hits)


def test_tables_files_and_stores_have_it(tmp_path):
    call = {"policies": "ucb", "problem": ocucb.gap(2, 0.5), "horizon": 60, "rng": 1}
    call["sampling"] = "plain"
    store = tmp_path / "runs.db"
    ocucb.simulate(runs=100, store=store, **call)
    result = ocucb.simulate(runs=300, store=store, **call)
    result.save(tmp_path / "result.json")
    again = ocucb.SimulationResult.load(tmp_path / "result.json")
    (kept,) = ocucb.Store(store).contents()
    for restored in (again[0], kept.result):
        for name in ("wrong", "simple_regret", "stopped", "stopping_time"):
            assert getattr(restored, name) == getattr(result[0], name), name
    header, row, *_ = result.table().splitlines()
    assert "wrong" in header
    assert f"{100 * result[0].wrong.value:.3g}%" in row
    rows = result.rows()
    assert rows[-1]["wrong"] == result[0].wrong.value
    assert rows[-1]["simple_regret"] == result[0].simple_regret.value
    assert rows[0]["wrong"] is None
    value = json.loads(json.dumps(result[0].to_dict()))["wrong"]["value"]
    assert value == result[0].wrong.value
