"""simulate: reproducible, honest about errors, safe at the edges."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ocucb
from helpers import same, wait_until
from ocucb import scheduler, specification
from ocucb._waiting import Interrupts
from ocucb.progress import Compiling
from policy_table import FIRST_SETTINGS, SKIPPING, entry_of


def problem_for(policy: str, means: list[float]) -> ocucb.Problem:
    """Gaussian rewards, unless the policy is made for others."""
    make = ocucb.gaussian if "gaussian" in entry_of(policy).rewards else ocucb.bernoulli
    return make(means)


def horizon_for(policy: str, horizon: int) -> int:
    return max(entry_of(policy).horizons, default=horizon)


@pytest.mark.parametrize("policy", FIRST_SETTINGS)
@pytest.mark.parametrize("sampling", ["plain", "tilted"])
def test_same_bits_for_any_number_of_threads(policy, sampling, monkeypatch):
    # small blocks, so that there are many of them
    monkeypatch.setattr(specification.engines, "block_runs", lambda *args: 16)
    call = policy, problem_for(policy, [0.8, 0.4, 0.4]), horizon_for(policy, 300), 200
    results = [
        ocucb.simulate(*call, rng=5, workers=workers, sampling=sampling) for workers in (1, 2, 7)
    ]
    assert same(results[0], results[1])
    assert same(results[0], results[2])


def test_seeds():
    problem = ocucb.gap()
    one = ocucb.simulate("ocucb", problem, 100, 50, rng=1)
    assert same(one, ocucb.simulate("ocucb", problem, 100, 50, rng=one.seed))
    assert not same(one, ocucb.simulate("ocucb", problem, 100, 50, rng=2))
    fresh = ocucb.simulate("ocucb", problem, 100, 50)
    assert same(fresh, ocucb.simulate("ocucb", problem, 100, 50, rng=fresh.seed))
    generator = np.random.default_rng(3)
    first = ocucb.simulate("ocucb", problem, 100, 50, rng=generator)
    second = ocucb.simulate("ocucb", problem, 100, 50, rng=generator)
    assert not same(first, second)
    assert same(first, ocucb.simulate("ocucb", problem, 100, 50, rng=np.random.default_rng(3)))


def test_a_policy_does_not_depend_on_the_others_it_is_simulated_with():
    problem = ocucb.gap()
    alone = ocucb.simulate("moss", problem, 100, 50, rng=1)
    together = ocucb.simulate(["ucb", "moss"], problem, 100, 50, rng=1)
    assert (alone["moss"].regret == together["moss"].regret).all()


def test_more_runs_contain_the_fewer():
    for least in (100, 200):  # plain, and tilted
        few = ocucb.simulate("ucb", ocucb.gap(), 50, least, rng=1)
        many = ocucb.simulate("ucb", ocucb.gap(), 50, 2 * least - 1, rng=1)
        assert few[0].sampling == many[0].sampling
        assert (many[0].sample[:least] == few[0].sample).all()


def test_statistics_are_those_of_the_runs(monkeypatch):
    monkeypatch.setattr(specification.engines, "block_runs", lambda *args: 64)
    call = "thompson", ocucb.gap(4, 0.5), 200, 500
    result = ocucb.simulate(*call, rng=2, sampling="plain", control_variates=False)[0]
    assert result.sample.size == 500
    assert result.mean_regret == pytest.approx(result.sample.mean(), rel=1e-12)
    assert result.stderr[-1] == pytest.approx(result.sample.std(ddof=1) / np.sqrt(500), rel=1e-12)
    assert result.pulls.sum() == pytest.approx(200)
    assert (result.pulls * ocucb.gap(4, 0.5).gaps).sum() == pytest.approx(result.mean_regret)
    assert (np.diff(result.regret) >= 0).all()
    assert result.quantile(0.5) == np.median(result.sample)


def test_two_standard_errors_cover_the_truth():
    """The bars of 400 small simulations cover the pooled mean about 95 times in 100.

    Binomial(400, 0.95) lies outside [355, 397] with probability below 1e-5.
    """
    problem = ocucb.gap(2, 0.5)
    small = [ocucb.simulate("ucb", problem, 100, 200, rng=seed)[0] for seed in range(400)]
    truth = ocucb.simulate("ucb", problem, 100, 400_000, rng=10**6)[0].mean_regret
    covered = sum(abs(player.mean_regret - truth) < 2 * player.stderr[-1] for player in small)
    assert 355 <= covered <= 397


@pytest.mark.parametrize("policy", FIRST_SETTINGS)
@pytest.mark.parametrize(
    ("means", "horizon", "pulls"),
    [
        ([0.3], 1, [1]),
        ([0.3], 50, [50]),
        ([1, 0.5, 0], 1, [1, 0, 0]),
        ([1, 0.5, 0], 2, [1, 1, 0]),
        ([1, 0.5, 0], 3, [1, 1, 1]),
    ],
)
def test_horizons_up_to_the_number_of_arms(policy, means, horizon, pulls):
    problem = problem_for(policy, means)
    result = ocucb.simulate(policy, problem, horizon, 5, rng=1)[0]
    assert result.pulls.tolist() == pulls
    assert result.checkpoints[-1] == horizon
    assert result.regret[-1] == (result.pulls * problem.gaps).sum()


@pytest.mark.parametrize("policy", FIRST_SETTINGS)
def test_equal_means_have_no_regret(policy):
    horizon = horizon_for(policy, 500)
    result = ocucb.simulate(policy, problem_for(policy, [0.5] * 4), horizon, 20, rng=1)[0]
    assert (result.regret == 0).all()
    assert result.pulls.sum() == pytest.approx(horizon)


@pytest.mark.parametrize("policy", SKIPPING)
@pytest.mark.filterwarnings("ignore:OCUCB with alpha")
def test_huge_and_tiny_gaps(policy):
    huge = ocucb.simulate(policy, ocucb.gap(5, 1e6), 10_000, 50, rng=1)[0]
    assert huge.mean_regret == 4e6  # every bad arm once and never again
    tiny = ocucb.simulate(policy, ocucb.gap(2, 1e-9), 10_000, 50, rng=1)[0]
    assert 0 < tiny.mean_regret < 1e-5


def test_checkpoints():
    result = ocucb.simulate("ucb", ocucb.gap(), 100, 10, rng=1, checkpoints=[50, 1, 10, 10])[0]
    assert result.checkpoints.tolist() == [1, 10, 50, 100]
    assert result.regret[0] == 0
    default = ocucb.simulate("ucb", ocucb.gap(), 10_000, 3, rng=1)[0]
    assert 20 <= default.checkpoints.size <= 32
    ends = ocucb.simulate("ucb", ocucb.gap(), 100, 10, rng=1, checkpoints=[])[0]
    assert (ends.sample == result.sample).all()


def test_memory_does_not_grow_with_runs():
    def peak(runs: int) -> int:
        tracemalloc.start()
        ocucb.simulate("ucb", ocucb.gap(), 20, runs, rng=1)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(100)
    # one number kept for each run would be 6 MB more; blocks in flight differ by a few
    assert peak(1_000_000) < peak(200_000) + 3 * 2**20


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"horizon": 0}, ValueError, "horizon must be at least 1, got 0"),
        ({"horizon": 2.5}, ValueError, "horizon must be a whole number, got 2.5"),
        ({"horizon": 1e300}, ValueError, "horizon must be at most"),
        ({"horizon": 10**400}, ValueError, "horizon must be at most"),
        ({"horizon": 2**53 + 1}, ValueError, "horizon must be at most"),
        (
            {"horizon": -(10**400)},
            ValueError,
            "at least 1, got a negative whole number of about 401 digits",
        ),
        ({"horizon": float("nan")}, ValueError, "horizon must be a whole number, got nan"),
        ({"horizon": None}, TypeError, "horizon must be a whole number, got None"),
        ({"runs": 0}, ValueError, "runs must be at least 1, got 0"),
        ({"runs": -5}, ValueError, "runs must be at least 1, got -5"),
        ({"workers": 0}, ValueError, "workers must be at least 1"),
        ({"sampling": "lucky"}, ValueError, "unknown sampling 'lucky'; choose from auto, plain"),
        ({"seed": 1}, TypeError, r"simulate\(\) has no argument 'seed'; did you mean rng\?"),
        ({"random_state": 1}, TypeError, r"no argument 'random_state'; did you mean rng\?"),
        ({"checkpoint": [9]}, TypeError, r"no argument 'checkpoint'; did you mean checkpoints\?"),
        ({"zzz": 1}, TypeError, "no argument 'zzz'; it has policies, problem, horizon, runs"),
        ({"engine": "stepp"}, ValueError, r"unknown engine 'stepp'; did you mean step\?"),
        ({"engine": "warp"}, ValueError, "unknown engine 'warp'; choose from auto"),
        ({"workers": 10**6}, ValueError, "workers must be at most 1024"),
        ({"checkpoints": "12"}, TypeError, "checkpoints must be a list of rounds, got '12'"),
        ({"checkpoints": 5}, TypeError, "checkpoints must be a list of rounds, got 5"),
        ({"horizon": 10**7, "policies": "gittins"}, ValueError, "Gittins: horizon must be"),
        ({"policies": "bernoulli-gittins"}, ValueError, "plays Bernoulli rewards only, but these"),
        ({"checkpoints": [0]}, ValueError, "a checkpoint must be at least 1"),
        ({"checkpoints": [101]}, ValueError, "at most the horizon 100, got 101"),
        ({"rng": -1}, ValueError, "rng must be at least 0, got -1"),
        ({"rng": "x"}, TypeError, "rng must be a whole number"),
        ({"policies": []}, ValueError, "at least one policy"),
        ({"policies": 7}, TypeError, "a policy must be one such as OCUCB"),
        ({"policies": [None]}, TypeError, "a policy must be one such as OCUCB"),
        ({"problem": [0, -0.3]}, TypeError, r"problem must be a Problem .* with gaussian or bern"),
        ({"problem": "gap:K=2"}, TypeError, "got 'gap:K=2': make one with parse_problem"),
        ({"problem": None}, TypeError, r"problem must be a Problem .*, got None\.$"),
    ],
)
def test_wrong_input(change, error, words):
    call = {"policies": "ucb", "problem": ocucb.gap(), "horizon": 100, "runs": 3, **change}
    policies, problem = call.pop("policies"), call.pop("problem")
    with pytest.raises(error, match=words):
        ocucb.simulate(policies, problem, **call)


def test_interrupt_keeps_what_was_finished(played):
    call = {"problem": ocucb.gap(), "horizon": 10_000, "rng": 1, "engine": "step"}
    call["sampling"] = "plain"  # as "auto" would, with as few runs as may be finished
    ocucb.simulate(["ucb", "thompson"], runs=2, **call)  # compile first
    del played[:]

    def press_control_c():
        wait_until(lambda: len(played) >= 8, "eight blocks begun")  # on at most two threads
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press_control_c)
    thread.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        ocucb.simulate(["ucb", "thompson"], runs=1_000_000, workers=2, **call)
    thread.join()
    assert sum(runs for _, runs in played) < 500_000, "it was not stopped soon"
    result = caught.value.result
    assert len(result) == 1
    assert 0 < result[0].runs < 1_000_000
    again = ocucb.simulate("ucb", runs=result[0].runs, **call)
    assert (again[0].regret == result[0].regret).all()


COMPILING = """
import os, signal
import numba.core.codegen as codegen
import ocucb

# LLVM calls this when it is done; Python reports what is raised in there, and goes on.
original = codegen.CPUCodeLibrary._object_compiled_hook.__func__

def interrupted(cls, *arguments):
    os.kill(os.getpid(), signal.SIGINT)
    return original(cls, *arguments)

codegen.CPUCodeLibrary._object_compiled_hook = classmethod(interrupted)
try:
    {work}
except KeyboardInterrupt as interruption:
    print("interrupted", getattr(interruption, "result", None))
"""


@pytest.mark.parametrize(
    "work",
    [
        'ocucb.simulate("uniform", ocucb.gap(), 10, 10**9, engine="step")',
        'ocucb.Bandit("ab", "uniform", 10, sigma=1); input()',
    ],
    ids=["simulate", "Bandit"],
)
def test_interrupt_while_compiling(work, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", COMPILING.format(work=work)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "interrupted None\n", done.stderr


LONG = """
import sys, threading, time
import ocucb
from ocucb.specification import Specification

play = Specification.play

def announced(self, first, runs, stop=None):
    print("playing", flush=True)
    return play(self, first, runs, stop)

Specification.play = announced
try:
    ocucb.simulate({policy!r}, {problem}, 10**12, 1, engine={engine!r}, rng=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    ("policy", "engine", "problem"),
    [
        ("ocucb", "step", "ocucb.gap()"),
        ("ucb", "step", "ocucb.gap()"),
        ("thompson", "step", "ocucb.gap()"),
        ("uniform", "step", "ocucb.gap()"),
        ("thompson", "skip", "ocucb.gaussian([0, 0, 0])"),
    ],
)
def test_the_interpreter_ends_after_an_interrupt(policy, engine, problem):
    """A run of hours does not keep Python from ending."""
    script = LONG.format(policy=policy, engine=engine, problem=problem)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "playing\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()


class Unlucky:
    """Ctrl-C strikes in its finaliser, where Python would report the exception and drop it."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


class UnluckyPool(ThreadPoolExecutor):
    """Ctrl-C is pressed when it has its first task."""

    pressed = False

    def submit(self, *task):
        future = super().submit(*task)
        if not self.pressed:
            self.pressed = True
            Unlucky()
        return future


@pytest.mark.parametrize("sampling", ["plain", "tilted"])
def test_an_interrupt_in_a_finaliser_is_heeded(sampling, monkeypatch):
    """While runs are played, or those of a pilot: hours of them, if it is not."""
    monkeypatch.setattr(scheduler.futures, "ThreadPoolExecutor", UnluckyPool)
    with pytest.raises(KeyboardInterrupt):
        ocucb.simulate("ucb", ocucb.gap(), 10**12, 1, engine="step", rng=1, sampling=sampling)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_in_a_finaliser_stops_an_executor(played):
    with UnluckyPool(1) as pool, pytest.raises(KeyboardInterrupt):
        ocucb.simulate("ucb", ocucb.gap(), 100, 10**6, executor=pool, rng=1, sampling="plain")
    assert len(played) < 100


def test_an_interrupt_is_not_lost_to_another_error():
    """As if workers had heard Ctrl-C too."""

    def interrupted():
        with Interrupts():
            signal.raise_signal(signal.SIGINT)
            raise RuntimeError("the workers are gone")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_forked_worker_hears_its_first_interrupt():
    with Interrupts():
        child = os.fork()
        if not child:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                os._exit(3)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "wanted", "text"),
    [
        (Terminal, None, "\r\x1b[2Kcompiling OCUCB … 0 s"),
        (io.StringIO, True, "compiling OCUCB …\n"),
        (io.StringIO, None, ""),
        (Terminal, False, ""),
    ],
)
def test_compiling_is_announced_to_whoever_waits(monkeypatch, stream, wanted, text):
    monkeypatch.setattr(Compiling, "patience", 0.001)
    monkeypatch.setattr(sys, "stderr", stream())
    with Compiling(wanted) as note:
        note.begin("OCUCB")
        wait_until(lambda: text in sys.stderr.getvalue(), "an announcement")
    last = sys.stderr.getvalue()
    assert last.endswith("\r\x1b[2K" if text.startswith("\r") else text)
    assert "OCUCB" in last or not text
