"""What several test files use: processes, policies, kernels called by hand, and waiting.

Fixtures are in conftest.py; what a policy needs to be tested is in policy_table.py.
"""

from __future__ import annotations

import csv
import ctypes
import hashlib
import io
import multiprocessing
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from math import exp, hypot, log, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

import ocucb
from ocucb import importance
from ocucb.cli import app
from ocucb.engine import Engine, Outcome, engine_named, kernel_of, new_game, new_outcome
from ocucb.gittins import _bernoulli, _gaussian
from ocucb.importance import PLAIN, Mixture
from ocucb.results import Estimate
from policy_table import TABLE

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"

with open(DATA / "regret.csv", newline="") as _file:
    REFERENCE = list(csv.DictReader(_file))  # regrets by independent programs, see data/README.md


# Policies of users with various declarations


@ocucb.index_policy(unplayed_index="nonincreasing")
def steep(pulls, t, horizon, arms):
    """Not concave times pulls: it must do with the looser line."""
    return 3.0 * exp(-pulls / 20.0) + sqrt(log(2.0 * horizon / t)) / pulls


@ocucb.index_policy(unplayed_index="nondecreasing")
def steep_rising(pulls, t, horizon, arms):
    return (1.0 + log(t)) / pulls


@ocucb.index_policy(unplayed_index="constant")
def standing(pulls, t, horizon, arms, width=2.0):
    return width / sqrt(pulls)


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "ocucb", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


class Done(NamedTuple):
    """A command that has ended (typer's own runner loses standard error with click 8.1)."""

    exit_code: Any
    stdout: str
    stderr: str


def invoke(*words: Any) -> Done:
    """Run the command line in this process: nothing is imported or compiled anew."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        app([str(word) for word in words])
    return Done(end.value.code, out.getvalue(), err.getvalue())


def background(target: Callable[..., object], *args: object) -> multiprocessing.Process:
    """Start a process that has everything compiled already."""
    process = multiprocessing.get_context("fork").Process(target=target, args=args)
    process.start()
    return process


def killed_after(blocks: int, begun: ctypes.c_int, target: Callable[[], object]) -> bool:
    """Kill a process once it has begun so many blocks (see the fixture); tell if it was alive."""
    begun.value = 0
    child = background(target)
    wait_until(lambda: begun.value >= blocks or not child.is_alive(), f"{blocks} blocks begun")
    alive = child.is_alive()
    child.kill()
    child.join()
    return alive


def run_with_folder(folder: Path, mount: str, script: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a private view of the file system, in which `folder` is mounted anew."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare(1) of Linux to mount a small or read-only file system")
    command = ["unshare", "-rm", "sh", "-c", f'{mount} && exec "{sys.executable}" -c "$1"']
    command += ["sh", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip(f"needs the right to mount file systems: {done.stderr.strip()}")
    return done


def wait_until(condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Return as soon as a condition holds; fail if it does not within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.005)


def same(a: ocucb.SimulationResult, b: ocucb.SimulationResult) -> bool:
    """Tell whether two simulations have the same numbers to the last bit."""
    return all(
        x.policy == y.policy
        and (x.regret == y.regret).all()
        and (x.stderr == y.stderr).all()
        and (x.pulls == y.pulls).all()
        and (x.sample == y.sample).all()
        and (x.weights == y.weights).all()
        and (x.histogram == y.histogram).all()
        and (x.sampling, x.weight, x.deviation) == (y.sampling, y.weight, y.deviation)
        and (x.failure, x.wrong, x.simple_regret) == (y.failure, y.wrong, y.simple_regret)
        and (x.stopped, x.stopping_time) == (y.stopped, y.stopping_time)
        for x, y in zip(a, b, strict=True)
    )


State = tuple[tuple[int, ...], tuple[int, ...]]  # pulls and sums of the arms


def enumerated(policy: ocucb.Policy, problem: ocucb.Problem, n: int) -> dict[State, float]:
    """Return the probability of each state that an index policy may end in on rewards of 0 and 1.

    Sequences with the same pulls and sums are followed together; ties are broken evenly.
    """
    K, sigma, p = problem.arms, problem.sigma, policy.parameters
    twin = TABLE[policy.family.name].twin
    states = {((0,) * K, (0,) * K): 1.0}
    for t in range(1, n + 1):
        after: dict[State, float] = defaultdict(float)
        for (T, S), chance in states.items():
            arms = [t - 1]
            if t > K:
                index = [S[i] / T[i] + sigma * twin(T[i], t, n, K, **p) for i in range(K)]
                arms = [i for i in range(K) if index[i] == max(index)]
            for arm in arms:
                for reward, likely in ((1, problem.means[arm]), (0, 1.0 - problem.means[arm])):
                    pulls = tuple(T[i] + (i == arm) for i in range(K))
                    sums = tuple(S[i] + reward * (i == arm) for i in range(K))
                    after[pulls, sums] += chance * likely / len(arms)
        states = after
    return states


Playing = tuple[Engine, Callable[..., None]]  # an engine and a kernel of it


def agree(found: Estimate, truth: float, error: float = 0.0) -> bool:
    """Tell whether an estimate is within 4 standard errors of the truth, which may have one too."""
    return abs(found.value - truth) <= 4.0 * hypot(found.stderr, error) + 1e-12


def call_kernel(
    playing: Playing,
    policy: ocucb.Policy,
    problem: ocucb.Problem,
    horizon: int,
    checkpoints: np.ndarray,
    key: np.ndarray,
    first: int,
    runs: int,
    mixture: Mixture = PLAIN,
) -> tuple[np.ndarray, np.ndarray]:
    """Play runs with a kernel; return their regret at the checkpoints, and the final pulls."""
    call = playing, policy, problem, horizon, checkpoints, key, first, runs, mixture
    outcome, _ = weighted_runs(*call)
    return outcome.regret, outcome.pulls


def weighted_runs(
    playing: Playing,
    policy: ocucb.Policy,
    problem: ocucb.Problem,
    horizon: int,
    checkpoints: np.ndarray,
    key: np.ndarray,
    first: int,
    runs: int,
    mixture: Mixture,
) -> tuple[Outcome, np.ndarray]:
    """Play runs drawn from a mixture; return all that the kernel writes, and the weights."""
    engine, kernel = playing
    game = new_game(engine, problem, horizon, checkpoints, mixture, policy.forget)
    outcome = new_outcome(runs, game)
    stop = np.zeros(1, dtype=np.bool_)
    kernel(policy.arguments(horizon), game, key, first, outcome, stop)
    pulls = outcome.pulls[:, mixture.arm]
    return outcome, importance.run_weights(mixture, problem, outcome.noise, pulls)


def find_kernel(name: str, policy: ocucb.Policy, problem: ocucb.Problem, horizon: int) -> Playing:
    """Return an engine and its kernel."""
    engine = engine_named(name, policy, problem, horizon)
    return engine, kernel_of(policy.family, problem.rewards, engine)


@dataclass(frozen=True)
class Case:
    """What two engines play to be compared."""

    problem: ocucb.Problem
    horizon: int
    runs: int


def play(
    policy: ocucb.Policy, case: Case, kernel: Callable[..., None], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Play a case; return the regret at three times, and the final pulls."""
    problem = case.problem
    checkpoints = np.array([case.horizon // 7, case.horizon // 2, case.horizon])
    key = np.array([seed, 99], dtype=np.uint64)
    regret, pulls = call_kernel(
        kernel, policy, problem, case.horizon, checkpoints, key, 0, case.runs
    )
    assert (pulls.sum(axis=1) == case.horizon).all()
    assert regret[:, -1] == pytest.approx(pulls @ problem.gaps, rel=1e-9, abs=1e-9)
    return regret, pulls


def cells(a: np.ndarray, b: np.ndarray) -> float:
    """Chi-square of two samples in cells between common quantiles."""
    both = np.concatenate([a, b])
    inner = np.unique(np.quantile(both, np.linspace(0, 1, 16)[1:-1], method="higher"))
    table = np.array(
        [np.bincount(np.searchsorted(inner, x), minlength=inner.size + 1) for x in (a, b)]
    )
    table = table[:, table.sum(axis=0) > 0]
    return 1.0 if table.shape[1] < 2 else float(stats.chi2_contingency(table).pvalue)


def tails(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """Fisher's test on the number of runs in the tails: runs that keep a wrong leader are there."""
    both = np.concatenate([a, b])
    answers = {}
    for level in (0.01, 0.99, 0.998):
        border = np.quantile(both, level)
        beyond = [(x < border).sum() if level < 0.5 else (x > border).sum() for x in (a, b)]
        table = [[beyond[0], a.size - beyond[0]], [beyond[1], b.size - beyond[1]]]
        answers[f"tail {level}"] = float(stats.fisher_exact(table).pvalue)
    return answers


Played = tuple[np.ndarray, np.ndarray]  # regret and pulls of each run


def compare(one: Played, other: Played) -> dict[str, float]:
    """Return p-values of all comparisons of two simulations."""
    (regret_a, pulls_a), (regret_b, pulls_b) = one, other
    answers = {
        "early regret": cells(regret_a[:, 0], regret_b[:, 0]),
        "regret half-way": float(stats.ks_2samp(regret_a[:, 1], regret_b[:, 1]).pvalue),
        "regret": cells(regret_a[:, 2], regret_b[:, 2]),
        "regret, KS": float(stats.ks_2samp(regret_a[:, 2], regret_b[:, 2]).pvalue),
        "pulls of the first arm": cells(pulls_a[:, 0], pulls_b[:, 0]),
        "pulls of the last arm": cells(pulls_a[:, -1], pulls_b[:, -1]),
    }
    return answers | tails(regret_a[:, 2], regret_b[:, 2])


def assert_same(skip_kernel: Callable[..., None], policy: ocucb.Policy, case: Case) -> None:
    """Compare a kernel with the step engine, each comparison at level 1e-8."""
    skipped = play(policy, case, skip_kernel, 1)
    stepped = play(policy, case, find_kernel("step", policy, case.problem, case.horizon), 2)
    wrong = {what: p for what, p in compare(skipped, stepped).items() if p < 1e-8}
    assert not wrong


def play_steps(
    policy: ocucb.Policy,
    problem: ocucb.Problem,
    horizon: int,
    key: np.ndarray,
    first: int,
    runs: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Play on the step engine; return regret after every round, and the final pulls."""
    kernel = find_kernel("step", policy, problem, horizon)
    every = np.arange(1, horizon + 1)
    return call_kernel(kernel, policy, problem, horizon, every, key, first, runs)


def gittins_fingerprint() -> str:
    """Return a digest of two tables of Gittins indices that are built anew."""
    _gaussian._rung.cache_clear()
    _gaussian._points.cache_clear()
    tables = _gaussian.build(8), _bernoulli.build(140, 1.0, 1.0)
    return hashlib.sha256(b"".join(table.tobytes() for table in tables)).hexdigest()


def read_on_desk_and_phone(browser: Any, page: Path, pictures: int) -> Iterator[None]:
    """Open a page at two widths; check that nothing is missing, broken or too wide."""
    for width, height in ((1280, 900), (390, 844)):
        # in headless mode a window cannot be as narrow as a phone, a device can
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        browser.get(page.as_uri())
        assert [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"] == []
        found = browser.find_elements("tag name", "img")
        assert len(found) == pictures
        for picture in found:
            assert browser.execute_script("return arguments[0].naturalWidth", picture) > 100
            assert picture.is_displayed()
            assert 100 < picture.size["width"] <= width
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, "one would have to scroll sideways"
        yield
    assert 'src="http' not in page.read_text()


def public_names() -> dict[str, Any]:
    """Return everything that the reference must describe, by its full name."""
    from ocucb import random
    from ocucb.serve import client

    found = {
        f"{module.__name__}.{name}": getattr(module, name)
        for module in (ocucb, ocucb.figures, ocucb.gittins, ocucb.testing, ocucb.theory)
        for name in module.__all__
    }
    page = (ROOT / "docs" / "reference" / "writing-policies.md").read_text()
    for name in re.findall(r"autofunction:: ocucb\.random\.(\w+)", page):
        found[f"ocucb.random.{name}"] = getattr(random, name)
    return found | {
        f"{client.__name__}.{name}": one
        for name, one in vars(client).items()
        if not name.startswith("_") and getattr(one, "__module__", "") == client.__name__
    }


# What numpydoc's own checks call: no docstring; no summary; parameters that are missing, unknown,
# in another order or without a type; no example. What is returned is in the summary, and its type
# in the signature.
_FLAWS = {"GL08", "SS01", "PR01", "PR02", "PR03", "PR04", "EX01"}


def flaws(name: str, *allowed: str) -> list[tuple[str, ...]]:
    """Return what is wrong with the docstring of a name."""
    validate = pytest.importorskip("numpydoc.validate").validate
    found = validate(name)["errors"]
    return [(name, *error) for error in found if error[0] in _FLAWS - set(allowed)]
