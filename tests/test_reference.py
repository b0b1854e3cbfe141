"""Regret against two C++ programs that share no code with this library.

Every row of the reference file agrees within 4 combined standard errors. Were all rows normal, one
suite of 200 rows in eighty would fail by chance; the seed is fixed. OCUCB with alpha <= 3 has
heavy tails, for which the standard errors themselves are uncertain.
"""

from __future__ import annotations

import csv
import warnings
from math import hypot
from pathlib import Path

import pytest

import ocucb

with open(Path(__file__).parent / "data" / "regret.csv", newline="") as _file:
    ROWS = list(csv.DictReader(_file))

# Nanoseconds that a row may take on one core.
BUDGET = 0.7e9


def _runs(row: dict[str, str], arms: int) -> int:
    """Return how many runs fit the budget, at most those of the reference."""
    lazy = row["policy"].partition(":")[0] in ("ocucb", "aocucb", "moss")
    pull = 8 + arms / 4 if lazy else 30 + 8 * arms
    return int(min(float(row["runs"]), max(30, BUDGET / (pull * float(row["horizon"])))))


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row['policy']} {row['problem']} {row['horizon']}"
)
def test_row(row):
    problem = ocucb.parse_problem(row["problem"])
    horizon = int(row["horizon"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ocucb.simulate(
            row["policy"], problem, horizon, _runs(row, problem.arms), rng=2015, engine="step"
        )[0]
    error = hypot(result.stderr[-1], float(row["stderr"]))
    assert abs(result.mean_regret - float(row["mean_regret"])) < 4 * error


def test_the_file_is_all_there():
    assert len(ROWS) == 200
