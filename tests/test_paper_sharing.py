"""Runs that the points of a line share: right means, honest errors, goals that are reached.

Comparisons allow 4 standard errors: a true one fails with probability 6e-5. Seeds are fixed.
"""

from __future__ import annotations

import csv
import math
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import cloudpickle
import numpy as np
import pytest

import ocucb
from ocucb.paper import exchange, panels, reproduce
from ocucb.paper.claims import mean_of
from ocucb.paper.exchange import Exchange
from ocucb.paper.measure import measure, tasks_of, with_mixtures
from ocucb.paper.sharing import with_shared_runs
from ocucb.pooling import TERMS
from ocucb.reports.estimates import Uncertain, average
from ocucb.reports.measure import RunContext
from ocucb.reports.progress import Display
from ocucb.simulation import specify
from ocucb.store import Store
from ocucb.sweeps.estimates import curve_of

PLAIN = {"rng": 2, "sampling": "plain", "checkpoints": []}


def exchanged(policy, K, seed=1):
    problem = ocucb.moss_failure(K)
    horizon = K**3
    found = ocucb.policies.parse_policy(policy)
    return Exchange(specify(found, problem, horizon, np.array([horizon]), seed, "auto"))


def off(policy, K, runs, plain_runs):
    """How many standard errors lie between mirrored runs and plain ones, and the gain."""
    plain = ocucb.simulate(policy, ocucb.moss_failure(K), K**3, plain_runs, **PLAIN)[0]
    (value,), (error,) = curve_of(exchanged(policy, K).play(0, runs))
    z = (value - plain.mean_regret) / math.hypot(error, plain.stderr[-1])
    return z, (plain.deviation.value / error) ** 2 / runs


@pytest.mark.parametrize(
    ("policy", "K", "gain"), [("moss", 30, 5), ("ocucb", 30, 2), ("moss", 6, 1)]
)
def test_mirrored_runs_have_the_mean_of_plain_ones(policy, K, gain):
    """Also where luck alone gains something: with few arms, the game is over soon."""
    z, found = off(policy, K, 1500, 10_000)
    assert abs(z) < 4.0
    assert found > gain


@pytest.mark.parametrize("wrong", [lambda x: math.exp(-x), lambda x: 1.0])
def test_wrong_odds_of_a_mirror_image_are_noticed(monkeypatch, wrong):
    """The other sign, and none at all."""

    class Mistaken:
        exp = staticmethod(wrong)

    monkeypatch.setattr(exchange, "math", Mistaken)
    assert abs(off("moss", 30, 1500, 10_000)[0]) > 5.0


def test_luck_of_mirrored_runs_is_fair_and_their_bars_cover():
    """The noise has the mean 0. Of 200 intervals of two standard errors, some 191 cover.

    With a coverage of 95.4%, fewer than 180 or all 200 would do so once in 5,000 times. The truth
    is the mean of all.
    """
    one = exchanged("moss", 12)
    stop = np.zeros(1, dtype=np.bool_)
    terms = np.array([one._terms(number, stop) for number in range(2000)])
    assert terms.shape == (2000, TERMS)
    luck = terms[:, 2:4]
    assert (np.abs(luck.mean(axis=0)) < 4.0 * luck.std(axis=0) / 2000**0.5).all()
    found = [curve_of(one.play(64 * i, 64)) for i in range(200)]
    values, errors = (np.array(part)[:, 0] for part in zip(*found, strict=True))
    covered = np.abs(values - values.mean()) < 2.0 * errors
    assert 180 <= covered.sum() < 200


def test_a_worker_elsewhere_plays_the_same(tmp_path):
    """What is played says all that it depends on, and arrives whole."""
    one = exchanged("ocucb", 12)
    there = pickle.loads(cloudpickle.dumps(one))
    assert there.identity == one.identity
    assert (there.play(5, 40) == one.play(5, 40)).all()
    assert exchanged("ocucb", 12, seed=2).identity != one.identity
    panel = lines_of("exp2", (0.4, 0.5, 0.6), ["OCUCB"])
    here = shared(panel, 0.002, folder_of(tmp_path, 1))[1]
    with ThreadPoolExecutor(2) as executor:
        elsewhere = shared(panel, 0.002, folder_of(tmp_path, 2), executor=executor)[1]
    assert [replace(p, seconds=0.0) for p in here] == [replace(p, seconds=0.0) for p in elsewhere]


def lines_of(panel_name, xs, labels, **more):
    panel = panels()[panel_name]
    lines = tuple(line for line in panel.lines if line.label in labels)
    return replace(panel, xs=xs, lines=lines, **more)


def shared(panel, precision, folder, seed=1, executor=None):
    """Return the points of a panel, measured on their own, and with runs that they share."""
    with Store(folder / "results.db") as store:
        context = RunContext(2, executor, store, Display(False))
        tasks = tasks_of([panel], {panel.name: panel.fewest_runs}, seed, precision)
        points = measure(with_mixtures(tasks, context), context)
        return points, with_shared_runs(tasks, points, context)


@pytest.mark.parametrize(
    ("panel", "sampling"),
    [
        (lines_of("exp4", (0.3, 0.4, 0.5, 0.7, 0.9), ["OCUCB(alpha=2)", "OCUCB"]), "pooled"),
        (lines_of("exp8", (100, 1000, 5000), ["UCB", "OCUCB", "Thompson sampling"]), "shared"),
    ],
)
def test_shared_runs_have_the_means_of_runs_of_their_own(panel, sampling, tmp_path):
    """At every point, and as precise as wanted; first runs tell everything else."""
    own, found = shared(panel, 0.002, tmp_path)
    alone = {line.label for line in panel.lines if panel.name == "exp8"} & {"OCUCB"}
    for before, point in zip(own, found, strict=True):
        if point.line in alone:
            assert point == before
            continue
        assert point.sampling == sampling
        assert point.correlated
        assert point.stderr <= 0.002 * panel.top
        assert point.deviation == before.deviation
        assert point.quantiles == before.quantiles
        assert point.effective_runs == pytest.approx((point.deviation / point.stderr) ** 2)
        line = next(line for line in panel.lines if line.label == point.line)
        policy, problem, horizon = line.at(point.x)
        true = ocucb.simulate(policy, problem, horizon, 2000, rng=9, checkpoints=[])[0]
        assert abs(point.mean - true.mean_regret) < 4.0 * math.hypot(point.stderr, true.stderr[-1])


def test_points_that_need_more_runs_go_on_alone(tmp_path):
    """Where failures weigh, more runs are played; what was played before them is kept."""
    panel = lines_of("exp1", tuple(x / 20 for x in range(1, 21)), ["OCUCB"])
    own, found = shared(panel, 0.002, tmp_path)
    runs = {point.runs for point in found}
    assert min(runs) == panel.fewest_runs < max(runs)
    assert all(count % 32 == 0 for count in runs)
    assert [point.x for point in found] == [point.x for point in own] == list(panel.xs)


def test_shared_errors_cover(tmp_path):
    """On 40 seeds, at points that stop early and late: 95.4% of 240 intervals, or 209 at least.

    That is with neighbours whose errors are alike: as if there were 60 intervals, of which fewer
    than 52 cover once in 200 times. The truth is the mean of all.
    """
    panel = lines_of("exp4", (0.2, 0.3, 0.5, 0.8, 1.2, 1.6), ["OCUCB"])
    found = [shared(panel, 0.004, folder_of(tmp_path, seed), seed)[1] for seed in range(40)]
    means, errors = (
        np.array([[getattr(point, name) for point in points] for points in found])
        for name in ("mean", "stderr")
    )
    covered = np.abs(means - means.mean(axis=0)) < 2.0 * errors
    assert 209 <= covered.sum() < 240


def folder_of(folder, seed):
    mine = folder / str(seed)
    mine.mkdir()
    return mine


def test_errors_of_shared_runs_do_not_average_out(tmp_path):
    """The mean of points that share runs has the mean of their errors; others have less."""
    panel = lines_of("exp4", (0.4, 0.6, 0.8), ["OCUCB"])
    own, found = shared(panel, 0.01, tmp_path)
    errors = [point.stderr for point in found]
    assert mean_of(found).error == pytest.approx(sum(errors) / 3)
    assert mean_of(own).error == pytest.approx(math.hypot(*(p.stderr for p in own)) / 3)
    ratio = mean_of(found) / mean_of(own)
    assert ratio.common < ratio.error
    both = average([ratio, ratio])
    assert ratio.common < both.error < ratio.error
    assert average([Uncertain(1.0, math.nan)]).error != 0.0


def test_as_precise_as_the_paper(tmp_path, monkeypatch):
    """Every point has the standard error of the paper's number of plain runs; the page says so."""
    chosen = {
        "exp2": lines_of("exp2", (0.4, 0.5), ["OCUCB"], full_runs=20_000),
        "exp8": lines_of("exp8", (100, 500), ["UCB", "MOSS"], full_runs=20_000),
        "exp10": lines_of("exp10", (5, 10), ["OCUCB", "MOSS"]),
        "improved": lines_of("improved", (1.0,), ["UCB"]),
    }
    module = sys.modules["ocucb.paper.reproduction"]
    monkeypatch.setattr(module, "panels", lambda constant=2.0: chosen)
    monkeypatch.setattr(module, "select", lambda names: list(chosen))
    monkeypatch.setattr(module, "places_to_measure_again", lambda points: [])
    monkeypatch.setattr(module, "judge", lambda *points: [])
    reproduce([], tmp_path, precision="paper", progress=False)
    for name, panel in chosen.items():
        with open(tmp_path / f"{name}.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            assert row["precision"] == "paper"
            goal = float(row["deviation"]) / panel.full_runs**0.5
            assert float(row["stderr"]) <= (0.002 * panel.top if panel.ours else goal)
    page = (tmp_path / "index.html").read_text()
    assert "ocucb reproduce exp2 --precision paper --seed 1<" in page
    assert "times those of the paper's runs" in page
    assert "100% of them mirrored" in page
