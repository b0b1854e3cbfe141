"""Three newcomers, each from an empty home: a student, a researcher, an engineer.

They type what README.md and the first pages say, with small mistakes that people make, and look at
what comes back. `bench/run.py` has the times; nothing here measures one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def at_home(tmp_path):
    """Run a program as somebody who has just installed ocucb; compiled code is the tests' own."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("NUMBA_CACHE_DIR",) if name in os.environ}
    cache = os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command],
            cwd=home, capture_output=True, text=True, timeout=600,
            env={
                "HOME": str(home), "XDG_CACHE_HOME": str(cache), "PATH": os.environ["PATH"],
                "MPLBACKEND": "agg", **kept,
            },
        )  # fmt: skip

    run.home = home
    return run


def test_the_student_sees_a_policy_work(at_home):
    """The first command of README.md, as it stands; a name that is wrong; a picture."""
    first = re.findall(r"^    ocucb (.*)$", README, re.MULTILINE)[0].split()
    done = at_home("-m", "ocucb", *first)
    assert (done.returncode, done.stderr) == (0, "")
    assert "OCUCB" in done.stdout
    done = at_home("-m", "ocucb", *["ocubc" if word == "ocucb" else word for word in first])
    assert done.returncode == 2
    assert done.stderr == "Error: unknown policy 'ocubc'; did you mean ocucb?\n"
    done = at_home("-m", "ocucb", *first, "--plot", "regret.png")
    assert done.returncode == 0
    assert (at_home.home / "regret.png").stat().st_size > 10_000


HOMEWORK = """
import ocucb

problem = ocucb.bernoulli([0.9, 0.8])
result = ocucb.simulate(["ucb1", "UCB"], problem, 2000, runs=300, rng=1)
textbook, lattimore = result
assert [one.label for one in result] == ["UCB1", "UCB"], result
assert textbook.mean_regret > 1.5 * lattimore.mean_regret  # its bonus is twice as large
assert 0.5 < textbook.optimal[-1] < lattimore.optimal[-1] < 1.0
shown = ocucb.trace("ucb1", problem, 50, rng=1)
shown.plot("trace.png")
print(shown)
for wrong in (
    lambda: ocucb.simulate("ucb1", problem, 10, seed=1),
    lambda: ocucb.simulate("ucb1", [0.9, 0.8], 10),
    lambda: ocucb.bernouli([0.9]),
):
    try:
        wrong()
    except (AttributeError, TypeError) as error:
        print(error)
"""


def test_the_student_does_homework(at_home):
    """Names of textbooks, % optimal action, a single run; three mistakes, each with its remedy."""
    done = at_home("-c", HOMEWORK)
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("did you mean rng?", "gaussian or bernoulli", "did you mean bernoulli?", "round"):
        assert words in done.stdout
    assert (at_home.home / "trace.png").stat().st_size > 5_000


RESEARCHER = """
from math import log, sqrt

import ocucb


@ocucb.index_policy(unplayed_index="nonincreasing")
def mine(pulls, t, horizon, arms, alpha=3.0):
    return sqrt(alpha / pulls * log(2 * horizon / t))


problem = ocucb.gap(K=2, gap=0.5)
result = ocucb.simulate([mine, "ocucb"], problem, 2000, runs=400, rng=1)
again = ocucb.simulate([mine, "ocucb"], problem, 2000, runs=400, rng=1)
(own, built_in) = result
error = (own.stderr[-1] ** 2 + built_in.stderr[-1] ** 2) ** 0.5
assert abs(own.mean_regret - built_in.mean_regret) < 5 * error  # the same formula, other streams
assert own.mean_regret == again[0].mean_regret
result.to_csv("regret.csv")
result.save("result.json")
assert ocucb.SimulationResult.load("result.json")[0].mean_regret == own.mean_regret
print(result.table())
"""


def test_the_researcher_compares_a_formula_with_ours(at_home):
    done = at_home("-c", RESEARCHER)
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout
    assert (at_home.home / "regret.csv").read_text().count("\n") > 2


ENGINEER = """
import ocucb

bandit = ocucb.Bandit(["red", "green"], bounds=(0, 1), rng=1)
for visitor in range(20):
    arm = bandit.ask()
    bandit.tell(arm, float(visitor % 3 == 0))
bandit.save("colours.json")
"""
NEXT_DAY = """
import ocucb

bandit = ocucb.Bandit.load("colours.json")
chances = bandit.probabilities()
assert abs(sum(chances.values()) - 1) < 1e-12, chances
arms = bandit.ask(5)  # a batch
bandit.tell(arms, [1.0, 0.0, 1.0, 0.0, 1.0])
try:
    bandit.tell("blue", 1.0)
except ValueError as error:
    print(error)
print(bandit.summary())
"""


def test_the_engineer_lets_it_decide_and_continues_the_next_day(at_home):
    for program in (ENGINEER, NEXT_DAY):
        done = at_home("-c", program)
        assert done.returncode == 0, done.stderr
    assert "blue" in done.stdout
    assert "red" in done.stdout
    assert "green" in done.stdout
