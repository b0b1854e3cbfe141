"""Weights in results: merging, tails, stores, workers, precision, short horizons, refusals."""

from __future__ import annotations

import json
import math
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from itertools import pairwise
from math import log, sqrt
from multiprocessing import get_context

import numpy as np
import pytest

import ocucb
from helpers import agree, same
from ocucb import importance, specification
from ocucb.engine import Outcome
from ocucb.importance import PLAIN, first_mixture
from ocucb.policies import parse_policy
from ocucb.random import uniform
from ocucb.results import Estimate, Moments, bin_edges
from ocucb.scheduler import tilt
from ocucb.simulation import specify
from ocucb.specification import Specification, run_blocks


def test_control_variates_that_say_the_same():
    """One that the others leave nothing of is not used, and has no coefficient."""
    outcome = tilted_specification().outcome(0, 600)
    weights = np.linspace(0.5, 1.5, 600)
    twice, once = outcome.luck.copy(), outcome.luck.copy()
    twice[..., 0], once[..., 0] = 1.0 + 1e-7 * twice[..., 1], 0.0
    found, expected = (
        Moments.of(outcome._replace(luck=luck), weights, np.array([0.0, 0.5])).curve()
        for luck in (twice, once)
    )
    assert found.regret == pytest.approx(expected.regret, rel=1e-9)
    assert found.stderr == pytest.approx(expected.stderr, rel=1e-9)


CALL = {"policies": "ocucb", "problem": ocucb.gap(2, 0.5), "horizon": 500, "rng": 3}


def tilted_specification() -> Specification:
    times = np.array([100, 500])
    plain = specify(parse_policy("ocucb"), ocucb.gap(2, 0.5), 500, times, 3, "step")
    return tilt(plain, 1, always=True)


def test_merging_in_any_split_equals_one_block():
    spec = tilted_specification()
    outcome = spec.outcome(0, 600)
    pulls = outcome.pulls[:, spec.mixture.arm]
    weights = importance.run_weights(spec.mixture, spec.problem, outcome.noise, pulls)
    gaps = spec.problem.gaps

    def part(a: int, b: int) -> Moments:
        rows = Outcome(*(array[a:b] for array in outcome))
        return Moments.of(rows, weights[a:b], gaps, a)

    whole = part(0, 600)
    y, w = outcome.regret[:, -1], weights
    known = np.column_stack([w - 1.0, w[:, None] * outcome.luck[:, -1]])
    design = np.column_stack([np.ones(600), known])  # the mean is the intercept, and so its error
    (mean, *slopes), *_ = np.linalg.lstsq(design, w * y)
    residuals = w * y - mean - known @ slopes
    variance = (residuals**2).sum() / (600 - 4)
    error = sqrt(variance * np.linalg.inv(design.T @ design)[0, 0])
    curve = whole.curve()
    assert curve.corrected
    assert curve.regret[-1] == pytest.approx(mean, rel=1e-12)
    assert curve.stderr[-1] == pytest.approx(error, rel=1e-9)
    assert whole.weight.value == pytest.approx(w.mean(), rel=1e-12)
    for cuts in ([0, 1, 600], [0, 64, 128, 599, 600], [0, 300, 600], range(0, 601, 50)):
        merged = part(cuts[0], cuts[1])
        for a, b in pairwise(cuts[1:]):
            merged = merged.merged(part(a, b))
        assert merged.runs == 600
        assert merged.curve().regret == pytest.approx(curve.regret, rel=1e-12)
        assert merged.curve().stderr == pytest.approx(curve.stderr, rel=1e-9)
        assert merged.pulls == pytest.approx(whole.pulls, rel=1e-12)
        assert merged.kurtosis == pytest.approx(whole.kurtosis, rel=1e-9)
        assert merged.weight == pytest.approx(whole.weight, rel=1e-9)
        assert merged.deviation(250.0) == pytest.approx(whole.deviation(250.0), rel=1e-9)
        assert merged.failure(125.0) == pytest.approx(whole.failure(125.0), rel=1e-9)
        assert merged.histogram == pytest.approx(whole.histogram, rel=1e-12)
        assert (merged.sample == y).all()
        assert (merged.weights == w).all()
        assert (merged.luck[:, :2] == outcome.luck[:, -1]).all()


def test_weights_of_one_leave_plain_formulae():
    one = ocucb.simulate(**CALL, runs=500, sampling="plain", control_variates=False)[0]
    assert one.sampling == "plain"
    assert (one.weights == 1.0).all()
    assert one.weight == (1.0, 0.0)
    assert one.effective_runs == one.runs == 500
    assert one.mean_regret == pytest.approx(one.sample.mean(), rel=1e-12)
    assert one.deviation.value == pytest.approx(one.sample.std(ddof=1), rel=1e-12)
    centred = one.sample - one.sample.mean()
    spread = ((centred**2 - centred.var()) ** 2).sum() / 499 / 500  # of the variance
    typical = (centred**4).sum() / (centred**2).sum()
    seen = math.hypot(sqrt(spread), 4 * typical / 500) / (2 * one.sample.std())
    worst = (one.worst - one.mean_regret) ** 2
    unseen = (sqrt(one.sample.var() + 3 * worst / 500) - one.sample.std()) / 2
    assert one.deviation.stderr == pytest.approx(math.hypot(seen, unseen), rel=2e-3)
    assert one.histogram[0].sum() == 500
    edges, values, errors = one.tail_curve()
    for b in (100, 200, 300):
        above = (one.sample > edges[b]).mean()
        assert values[b] == pytest.approx(above)
        assert errors[b] == pytest.approx(math.hypot(sqrt(above * (1 - above) / 499), 1.5 / 500))


def test_tail():
    one = ocucb.simulate(**CALL, runs=2000, sampling="tilted")[0]
    edges, values, errors = one.tail_curve()
    assert edges[0] == one.worst == 250.0
    assert (edges == bin_edges(250.0)).all()
    assert (np.diff(values) >= 0.0).all()
    assert ((values >= 0.0) & (values <= 1.0)).all()
    assert (errors >= 0.0).all()
    assert one.tail(0.0) == one.tail(1e-300) == pytest.approx((1.0, 0.0), abs=0.005)
    assert one.tail(250.0) == one.tail(math.inf) == (0.0, 0.0)
    # a failure is a regret above half the worst one; 125 is an edge
    assert one.tail(125.0) == pytest.approx(one.failure, rel=1e-6)
    for x in (-1.0, math.nan):
        with pytest.raises(ValueError, match="x must be a regret, at least 0"):
            one.tail(x)
    for level in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="level must be at least 0 and below 1"):
            one.cvar(level)
    assert agree(one.cvar(0.0), one.mean_regret, one.stderr[-1])
    assert one.quantile(0.9) < one.cvar(0.9).value < one.cvar(0.99).value <= one.worst
    assert one.effective_runs == pytest.approx((one.deviation.value / one.stderr[-1]) ** 2)
    assert one.effective_runs > 2 * one.runs


def test_footer_and_json_say_how_it_was_obtained(tmp_path):
    result = ocucb.simulate(**CALL, runs=1000)
    one = result[0]
    footer = result.table().splitlines()[-1]
    assert footer.startswith("Runs are worth so many plain ones: OCUCB ")
    assert f"mean weight {one.weight.value:.3f} ± " in footer
    told = json.loads(json.dumps(one.to_dict(), allow_nan=False))
    assert told["sampling"] == "tilted"
    assert told["effective_runs"] == one.effective_runs
    assert told["mean_weight"] == {"value": one.weight.value, "stderr": one.weight.stderr}
    result.save(tmp_path / "r.json")
    back = ocucb.SimulationResult.load(tmp_path / "r.json")
    assert same(back, result)
    assert back[0].to_dict() == one.to_dict()
    assert back[0].tail(50.0) == one.tail(50.0)
    assert back[0].cvar() == one.cvar()
    assert "tilted" not in ocucb.simulate(**CALL, runs=100).table()


@pytest.mark.parametrize("engine", ["step", "skip"])
def test_same_bits_for_any_workers_and_from_a_store(engine, tmp_path, monkeypatch, played):
    monkeypatch.setattr(specification.engines, "block_runs", lambda *args: 64)
    call = {**CALL, "engine": engine, "sampling": "tilted"}
    one = ocucb.simulate(**call, runs=1000, workers=1)
    assert same(one, ocucb.simulate(**call, runs=1000, workers=4))
    with ThreadPoolExecutor(2) as executor:
        assert same(one, ocucb.simulate(**call, runs=1000, executor=executor))
    path = tmp_path / "r.db"
    ocucb.simulate(**call, runs=512, store=path)
    del played[:]
    assert same(one, ocucb.simulate(**call, runs=1000, store=path))
    assert min(first for first, _ in played) == 512
    del played[:]
    assert same(one, ocucb.simulate(**call, runs=1000, store=path))
    assert not played
    with ocucb.Store(path, read_only=True) as store:
        (kept,) = store.contents()
    assert kept.result.sampling == "tilted"
    assert kept.result.effective_runs == one[0].effective_runs
    # plain runs are others, in the same store
    plain = ocucb.simulate(**{**call, "sampling": "plain"}, runs=1000, store=path)
    assert not same(one, plain)
    assert same(plain, ocucb.simulate(**{**call, "sampling": "plain"}, runs=1000))


def test_same_bits_in_other_processes():
    call = {**CALL, "runs": 1000}
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as executor:
        for sampling in ("plain", "tilted"):
            here = ocucb.simulate(**call, sampling=sampling)
            assert same(here, ocucb.simulate(**call, sampling=sampling, executor=executor))


class Gone(ThreadPoolExecutor):
    """An executor whose workers have died."""

    def submit(self, *task):
        raise BrokenProcessPool("a process died")


def test_workers_that_die_in_the_pilot_are_one_sentence():
    words = r"^lost all workers \(BrokenProcessPool: a process died\); .* again\.$"
    with pytest.raises(RuntimeError, match=words):
        ocucb.simulate(**CALL, runs=1000, sampling="tilted", executor=Gone())


def test_the_pilot_is_part_of_the_specification():
    """The mixture depends on the seed and on nothing that a machine may differ in."""
    specs = [tilted_specification() for _ in range(2)]
    assert specs[0].identity == specs[1].identity
    assert specs[0].identity != replace(specs[0], mixture=PLAIN).identity
    mixture = specs[0].mixture
    assert mixture.shares.sum() == 1.0
    assert (mixture.shares * 1024 == np.round(mixture.shares * 1024)).all()
    assert mixture.shares[0] >= 0.3
    assert (mixture.lengths[0], mixture.shifts[0]) == (0, 0.0)
    assert mixture.marks.tolist() == sorted(set(mixture.lengths[1:].tolist()))
    other = replace(specs[0], mixture=first_mixture(specs[0].problem, 500))
    assert other.identity != specs[0].identity
    (block,) = run_blocks(specs[0], [(0, 64)])
    assert block.moments.weights.max() <= 1.0 / mixture.shares[0]


def test_precision():
    found = ocucb.simulate(**CALL, precision=0.05, sampling="tilted")[0]
    plain = ocucb.simulate(**CALL, precision=0.05, sampling="plain")[0]
    for result in (found, plain):
        assert 2.0 * result.stderr[-1] <= 0.05 * result.mean_regret
    assert found.runs < plain.runs / 2


def test_auto():
    for runs, expected in ((199, "plain"), (200, "tilted")):
        assert ocucb.simulate(**CALL, runs=runs)[0].sampling == expected
    with pytest.raises(ValueError, match="unknown sampling 'biased'; choose from auto, plain, til"):
        ocucb.simulate(**CALL, runs=10, sampling="biased")


def _laplace(mean, scale, stream):
    x = uniform(stream) - 0.5
    return mean - scale * math.copysign(1.0, x) * log(1.0 - 2.0 * abs(x))


@pytest.mark.parametrize(
    ("policy", "problem", "horizon", "words"),
    [
        ("ocucb", ocucb.gaussian([0, 0, -1]), 100, "several arms are best, so none of them can"),
        ("ocucb", ocucb.gaussian([0.3]), 100, "nothing is chosen"),
        ("ocucb", ocucb.gap(3), 3, "nothing is chosen"),
        ("ocucb", ocucb.bernoulli([0.5, 1.0]), 100, "the best arm always pays the same"),
        ("ocucb", ocucb.uniform_rewards([0, 1]), 100, "uniform rewards have no likelihood ratio"),
        (
            "ocucb",
            ocucb.custom_rewards(_laplace, [0, 1], 1.0),
            100,
            "_laplace rewards have no likelihood ratio for another mean",
        ),
        (
            "ocucb:alpha=4",
            ocucb.gap(2, 1e6),
            100,
            "the pilot found no variation, or that it would do harm",
        ),
    ],
)
def test_what_is_not_tilted_says_why(policy, problem, horizon, words):
    call = policy, problem, horizon, 1000
    with pytest.warns(UserWarning, match=f"is sampled without tilting: {words}") as told:
        asked = ocucb.simulate(*call, rng=1, sampling="tilted")
    assert told[0].filename == __file__
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ocucb.simulate(*call, rng=1)
    assert found[0].sampling == "plain"
    assert same(asked, found)
    assert same(found, ocucb.simulate(*call, rng=1, sampling="plain"))


@pytest.mark.parametrize("runs", [1, 2, 3, 10, 63])
def test_few_tilted_runs(runs, tmp_path):
    """A control variate fitted to few runs would extrapolate, with bars of no length."""
    result = ocucb.simulate(**CALL, runs=runs, sampling="tilted")
    one = result[0]
    assert one.sampling == "tilted"
    assert one.mean_regret == pytest.approx((one.weights * one.sample).mean())
    if runs > 1:
        error = (one.weights * one.sample).std(ddof=1) / sqrt(runs)
        assert one.stderr[-1] == pytest.approx(error)
    result.table()
    result.save(tmp_path / "r.json")
    assert ocucb.SimulationResult.load(tmp_path / "r.json").table() == result.table()


def test_short_horizons():
    """Best arms that meet a mark in the last round but one, and lengths of half the horizon."""
    for n in (3, 4, 5, 9, 10):
        for engine in ("step", "skip"):
            call = "ocucb", ocucb.gap(2, 0.5), n, 20_000
            tilted, plain = (
                ocucb.simulate(*call, rng=1, sampling=sampling, engine=engine)[0]
                for sampling in ("tilted", "plain")
            )
            assert agree(tilted.weight, 1.0)
            mean = Estimate(tilted.mean_regret, tilted.stderr[-1])
            assert agree(mean, plain.mean_regret, plain.stderr[-1])
