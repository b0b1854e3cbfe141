"""The smaller recipes of "Extending it" in ARCHITECTURE.md, each followed by the letter."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ocucb
from helpers import invoke
from ocucb import laws
from ocucb.league import problems as league
from ocucb.results import simulation_result


def test_a_problem_of_the_league_is_an_entry(monkeypatch):
    mine = league._one("mine", "of mine", "two arms, n = 30", ocucb.gap(2, 0.5), 30)
    monkeypatch.setitem(league.CONTESTS, "mine", mine)
    assert league.select(["mine"]) == [mine]
    refused = invoke("league", "nobody's")
    assert refused.exit_code
    assert "mine" in refused.stderr


def test_a_prior_is_a_function_and_an_entry(monkeypatch, here):
    """It is drawn from in Python, and on the command line, where it is found by its name."""

    def ladder(means, stream, step=0.5):
        for i in range(means.size):
            means[i] = -step * i

    monkeypatch.setitem(laws.LAWS, "ladder", laws.Kind(ladder, "gaussian"))
    call = "ucb", ocucb.prior("ladder:K=3,step=0.25"), 100, 10
    assert call[1].problems(1, rng=1)[0].means.tolist() == [0.0, -0.25, -0.5]
    result = ocucb.simulate(*call, rng=1)[0]
    words = "simulate --prior ladder:K=3,step=0.25 -p ucb -n 100 -r 10 --seed 1 --json"
    status, out, _ = here(*words.split())
    assert status == 0
    assert json.loads(out)[0]["mean_regret"] == result.mean_regret
    with pytest.raises(ValueError, match=r"unknown prior 'lader'; did you mean ladder\?"):
        ocucb.prior("lader")


def test_a_column_is_an_entry(monkeypatch, tmp_path):
    monkeypatch.setitem(simulation_result._TABLE, "worst", lambda player: f"{player.worst:g}")
    monkeypatch.setitem(simulation_result.COLUMNS, "worst", lambda result, player, i: player.worst)
    result = ocucb.simulate("ucb", ocucb.gap(2, 0.25), 100, 10, rng=1)
    header, row, *_ = result.table().splitlines()
    assert header.split()[-1] == "worst"
    assert row.split()[-1] == "25"
    assert "<th>worst</th>" in result._repr_html_()
    assert result.rows()[0]["worst"] == 25.0
    result.to_csv(tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text().splitlines()[0].endswith(",worst")


def in_a_copy(tmp_path: Path, changes: dict[str, list[tuple[str, str]]], *arguments: str) -> str:
    """Run Python with a copy of the package in which texts are replaced."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(ocucb.__file__).parent, tmp_path / "ocucb", ignore=ignored)
    for place, replacements in changes.items():
        path = tmp_path / "ocucb" / place
        text = path.read_text() if path.exists() else ""
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tmp_path, env=environment, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_stored_statistic_is_a_term_and_a_field(tmp_path):
    """It is measured, kept in a store, merged, saved and loaded."""
    changes = {
        "results/moments.py": [
            ("FORMAT = 8", "FORMAT = 9"),
            (
                '    "failure": lambda runs:',
                '    "first": lambda runs: runs.pulls[:, 0],\n    "failure": lambda runs:',
            ),
        ],
        "results/policy_result.py": [
            ("FORMAT = 7", "FORMAT = 8"),
            (
                "    failure: Estimate = field(metadata=files.ESTIMATE)\n",
                "    failure: Estimate = field(metadata=files.ESTIMATE)\n"
                "    first: Estimate = field(metadata=files.ESTIMATE)\n",
            ),
            ("        failure=", '        first=merged.estimate("first"),\n        failure='),
        ],
    }
    program = """
import json, ocucb
call = {"policies": "ucb", "problem": ocucb.gap(), "horizon": 100, "rng": 1, "store": "a.db"}
call |= {"engine": "step", "sampling": "plain"}
ocucb.simulate(runs=100, **call)
result = ocucb.simulate(runs=200, **call)
result.save("a.json")
(kept,) = ocucb.Store("a.db").contents()
found = [kept.result, result[0], ocucb.SimulationResult.load("a.json")[0]]
print(json.dumps([[each.first.value, float(each.pulls[0])] for each in found]))
"""
    (first, pulls), *others = json.loads(in_a_copy(tmp_path, changes, "-c", program))
    assert abs(first - pulls) < 1e-9
    assert others == [[first, pulls]] * 2


COMMAND = '''"""A command of a stranger."""


def mine() -> None:
    """Say hello."""
    print("hello")
'''


def test_a_command_is_a_function_that_is_listed(tmp_path):
    listed = "    results,\n    policies,"
    changes = {
        "cli/mine.py": [
            ("", COMMAND),
        ],
        "cli/__init__.py": [
            ("from .policies import", "from .mine import mine\nfrom .policies import"),
            (listed, f"mine, {listed}"),
        ],
    }
    assert in_a_copy(tmp_path, changes, "-m", "ocucb", "mine") == "hello\n"
