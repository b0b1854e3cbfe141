"""Regret against two C++ programs that share no code with this library.

Every row of the reference file agrees within 4 combined standard errors, on both engines. Were all
of the 400 comparisons normal and independent, one would fail by chance in one suite of forty
(400 · 6.3e-5); the seed is fixed. OCUCB with alpha <= 3 has heavy tails, for which the standard
errors of plain runs are uncertain: where at least 1000 runs fit the budget, ours are tilted, and
the spread that they find is taken for both programs.
"""

from __future__ import annotations

import warnings
from math import hypot, log, sqrt

import pytest

import ocucb
from helpers import REFERENCE
from policy_table import TABLE

BUDGET = {"step": 0.06e9, "skip": 0.15e9}  # nanoseconds that a row may take on one core


def _runs(row: dict[str, str], arms: int, engine: str) -> int:
    """Return how many runs fit the budget, at most those of the reference."""
    horizon = float(row["horizon"])
    lazy = row["policy"].partition(":")[0] in ("ocucb", "aocucb", "moss")
    cost = (8 + arms / 4 if lazy else 20 + 3 * arms) * horizon
    if engine == "skip":
        cost = min(cost, 2000 * arms * log(horizon))
    if row["policy"].startswith(("ocucb:alpha=1", "ocucb:alpha=2")):
        cost /= 6
    return int(min(float(row["runs"]), max(50, BUDGET[engine] / cost)))


@pytest.mark.parametrize(
    "row", REFERENCE, ids=lambda row: f"{row['policy']} {row['problem']} {row['horizon']}"
)
@pytest.mark.parametrize("engine", BUDGET)
def test_row(row, engine):
    problem = ocucb.parse_problem(row["problem"])
    horizon = int(row["horizon"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ocucb.simulate(
            row["policy"],
            problem,
            horizon,
            _runs(row, problem.arms, engine),
            rng=2015,
            engine=engine,
        )[0]
    assert result.engine == engine
    theirs, runs = float(row["stderr"]), float(row["runs"])
    if result.sampling == "tilted":
        # Its spread is the true one, also of their runs.
        error = hypot(result.stderr[-1], result.deviation.value / sqrt(runs))
    else:
        # The spread comes from the larger sample: few runs may hold none of the rare disasters.
        error = hypot(theirs, theirs * sqrt(runs / result.runs))
    assert abs(result.mean_regret - float(row["mean_regret"])) < 4 * error


def test_the_file_is_all_there():
    assert len(REFERENCE) == 200
    families = {row["policy"].partition(":")[0] for row in REFERENCE}
    assert families == {name for name, entry in TABLE.items() if entry.reference}
