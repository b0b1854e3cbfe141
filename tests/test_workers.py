"""Blocks on any executor, in any order, with workers that die: always the same bits."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from math import log, sqrt

import numpy as np
import pytest

import ocucb
from helpers import run, same
from ocucb import specification
from ocucb.progress import precision_note
from ocucb.scheduler import FEWEST_RUNS, Job, run_jobs
from ocucb.specification import Specification

PROBLEM = ocucb.gap(2, 0.3)
CALL = {"policies": ["ocucb", "thompson"], "problem": PROBLEM, "horizon": 2000, "rng": 1}


class Scrambled:
    """The least that an executor can be, finishing in an order of its own: the newest first."""

    def __init__(self):
        self.waiting = []

    def submit(self, function, *arguments):
        future = Future()
        self.waiting.append((future, function, arguments))
        if len(self.waiting) == 5:
            self.finish()
        else:
            threading.Timer(0.2, self.finish).start()
        return future

    def finish(self):
        while self.waiting:
            try:
                future, function, arguments = self.waiting.pop()
            except IndexError:
                return
            future.set_result(pickle.loads(pickle.dumps(function(*arguments))))


@ocucb.index_policy(unplayed_index="nonincreasing")
def mine(pulls, t, horizon, arms, constant=3.0):
    return sqrt(constant / pulls * log(2.0 * horizon / t))


def loky(workers):
    import loky

    return loky.ProcessPoolExecutor(workers, timeout=60)


@pytest.mark.parametrize(
    ("make", "policy"),
    [(ThreadPoolExecutor, mine(constant=2.5)), (ProcessPoolExecutor, mine()), (loky, "ocucb")],
)
def test_any_executor(make, policy):
    call = {**CALL, "policies": policy, "runs": 3000}
    with make(2) as executor:
        assert same(ocucb.simulate(**call, workers=1), ocucb.simulate(**call, executor=executor))


def test_any_order(tmp_path):
    here = ocucb.simulate(**CALL, runs=2500)
    scrambled = ocucb.simulate(**CALL, runs=2500, executor=Scrambled(), store=tmp_path / "r.db")
    assert same(here, scrambled)
    assert same(here, ocucb.simulate(**CALL, runs=2500, store=tmp_path / "r.db"))


def test_packages_hold_everything():
    """What another process makes of a package plays the same runs."""

    def steady(mean, scale, stream):
        return mean + scale * (2.0 * ocucb.random.uniform(stream) - 1.0)

    strange = ocucb.custom_rewards(steady, [0, -0.3], 1.0)
    for policy, problem in (
        (ocucb.OCUCB(), PROBLEM),
        (mine(), ocucb.bernoulli([0.5, 0.3])),
        (ocucb.EpsilonGreedy(), strange),
    ):
        there = Specification(policy, problem, 300, np.array([100, 300]), 4, "step")
        package = there.package
        specification._RECEIVED.clear()
        arrived = specification._unpacked(package)
        assert arrived is not there
        ours, theirs = there.play(5, 40), arrived.play(5, 40)
        assert (ours.curve_means == theirs.curve_means).all()
        assert (ours.sample == theirs.sample).all()
        assert arrived.identity == there.identity


def test_workers_with_another_version(monkeypatch):
    package = Specification(ocucb.UCB(), PROBLEM, 300, np.array([300]), 4, "step").package
    specification._RECEIVED.clear()
    monkeypatch.setattr(specification, "NUMERICS", -1)
    with pytest.raises(RuntimeError, match="install the same version everywhere"):
        specification.remotely(specification.run_blocks, package, [(0, 10)])


def test_a_broken_pool_says_so(tmp_path):
    with ProcessPoolExecutor(1) as executor:
        executor.submit(int).result()
        for pid in executor._processes:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(RuntimeError, match=r"lost all workers .* to resume from the store"):
            ocucb.simulate(**CALL, runs=5000, executor=executor, store=tmp_path / "r.db")


def test_no_executor():
    with pytest.raises(TypeError, match="executor must be"):
        ocucb.simulate(**CALL, runs=10, executor=3)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
    ) as started:
        yield started


def test_dask_on_the_command_line(cluster):
    words = "simulate -p moss --means 0,-0.3 -n 1e3 --runs 600 --seed 1 --json".split()
    here = run(*words)
    there = run(*words, "--dask", cluster.scheduler_address)
    assert there.returncode == 0, there.stderr
    (mine,), (theirs,) = json.loads(here.stdout), json.loads(there.stdout)
    del mine["seconds"], theirs["seconds"]
    assert mine == theirs


def test_dask_with_a_worker_killed_in_the_middle(cluster, tmp_path):
    """A real scheduler, two worker processes; one is killed after some of the blocks."""
    from distributed import Client

    call = {**CALL, "policies": "ucb", "horizon": 10_000, "engine": "step", "runs": 8000}
    expected = ocucb.simulate(**call)
    with Client(cluster) as client:
        victim, survivor = client.run(os.getpid).values()
        inside = client.get_executor()

        class Killing:
            submitted = 0

            def submit(self, *work):
                self.submitted += 1
                if self.submitted == 10:
                    os.kill(victim, signal.SIGKILL)
                return inside.submit(*work)

        executor = Killing()
        found = ocucb.simulate(**call, executor=executor, workers=2, store=tmp_path / "r.db")
        assert same(expected, found)
        assert executor.submitted > 12
        assert survivor in client.run(os.getpid).values()
        assert victim not in client.run(os.getpid).values()
    assert same(expected, ocucb.simulate(**call, store=tmp_path / "r.db"))


def test_no_scheduler():
    done = run(*"simulate --means 0,-1 -n 10 --dask tcp://127.0.0.1:1".split())
    assert done.returncode == 2
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1'" in done.stderr


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_precision(workers):
    """It stops at the first block after which the bar is small enough, for each policy."""
    call = {**CALL, "precision": 0.008}
    found = ocucb.simulate(**call, workers=workers)
    assert same(found, ocucb.simulate(**call, workers=3))
    for player in found:
        assert 2 * player.stderr[-1] <= 0.008 * player.mean_regret
        spec = Specification(
            ocucb.parse_policy(player.policy), PROBLEM, 2000, player.checkpoints, 1, player.engine
        )
        before, first = 0, 0
        while first < player.runs:
            before, first = first, first + spec.block_from(first)
        assert first == player.runs
        if before >= FEWEST_RUNS:
            fewer = ocucb.simulate(player.policy, PROBLEM, 2000, before, rng=1)[0]
            assert 2 * fewer.stderr[-1] > 0.008 * fewer.mean_regret
    assert found[0].runs != found[1].runs


@pytest.mark.parametrize("workers", [1, 16])
def test_precision_plays_little_more_than_it_needs(workers, played):
    """What waits in line when it is precise enough is not played; what is being played may end."""
    with ThreadPoolExecutor(2) as executor:
        call = {"executor": executor, "workers": workers, "engine": "step"}
        found = ocucb.simulate("ocucb", PROBLEM, 20_000, precision=0.05, rng=1, **call)
    assert sum(runs for _, runs in played) <= 3 * found[0].runs


def test_precision_has_a_ceiling():
    with pytest.warns(
        UserWarning, match=r"UCB: 1,500 runs give the mean regret to .*%, not to 0.1"
    ):
        found = ocucb.simulate("ucb", PROBLEM, 500, 1500, precision=0.001, rng=1)
    assert found[0].runs == 1500
    nothing = ocucb.simulate("ucb", ocucb.gaussian([0, 0]), 500, precision=0.001, rng=1)
    assert nothing[0].runs == 1024  # no regret: any bar is small enough
    assert ocucb.simulate("ucb", ocucb.gaussian([0, 0]), 10, 1, precision=0.1)[0].runs == 1
    for wrong in (0, 1, -1, float("nan")):
        with pytest.raises(ValueError, match="precision must lie between 0 and 1"):
            ocucb.simulate("ucb", PROBLEM, 500, precision=wrong)
    with pytest.raises(TypeError, match="precision must be a number"):
        ocucb.simulate("ucb", PROBLEM, 500, precision="much")


def test_precision_on_the_command_line():
    words = "simulate -p ucb --means 0,-0.5 -n 1e3 --seed 1 --json --precision".split()
    percent, share = run(*words, "2%"), run(*words, "0.02")
    (one,), (other,) = json.loads(percent.stdout), json.loads(share.stdout)
    assert one["runs"] == other["runs"] > 1000
    assert 2 * one["stderr"] <= 0.02 * one["mean_regret"]
    assert "must lie between 0 and 1" in run(*words, "200%").stderr


def jobs_after(runs, policy, horizon, seeds, precision):
    """Jobs that have played so many runs, as one sees them on the way to a precision."""
    specifications = [
        Specification(policy, ocucb.gap(2, 0.5), horizon, np.array([horizon]), seed, "skip")
        for seed in seeds
    ]
    done = list(run_jobs([Job(specification, runs) for specification in specifications], threads=2))
    for job in done:
        job.runs, job.precision = 10**9, precision
    return done


@pytest.mark.filterwarnings("ignore:OCUCB with alpha")
def test_estimates_of_runs_needed_are_honest_about_tails():
    """The range covers the number that 100,000 runs foretell, with light and with heavy tails.

    A range of two errors covers 57 of 60 on average, and fewer than 48 with probability 1e-5.
    """
    # both are fast to play; the first hardly ever fails
    for policy, width in ((ocucb.OCUCB(alpha=12), 1.0), (ocucb.OCUCB(alpha=1), 1.8)):
        (truth,) = jobs_after(100_000, policy, 2000, [1], 0.002)
        mean, error = truth.mean
        goal = 0.001 * mean
        seen = 100_000 * (error**2 - truth.specification.unseen(100_000) ** 2) / goal**2
        unseen = truth.specification.unseen(1) / goal
        needed = 0.5 * (seen + np.sqrt(seen**2 + 4 * unseen**2))
        ranges = [job.runs_needed() for job in jobs_after(4000, policy, 2000, range(2, 62), 0.002)]
        assert sum(low <= needed <= high for low, high in ranges) >= 48
        assert np.median([high / low for low, high in ranges]) > width
    assert " to " in precision_note(jobs_after(4000, ocucb.OCUCB(alpha=1), 2000, [2], 0.002)[0])


def test_notes_on_precision():
    (job,) = jobs_after(100_000, ocucb.UCB(), 100, [1], 0.001)
    assert precision_note(job).endswith(" runs")
    assert " to " not in precision_note(job)
    (few,) = jobs_after(100, ocucb.UCB(), 100, [1], 0.001)
    assert "needs 1,000 to 1e+03 million runs or more" in precision_note(few)
