"""The numbers of a seed: those on record, with any checkpoints. As a program it records them."""

from __future__ import annotations

import json
import warnings

import pytest

import ocucb
from helpers import DATA
from ocucb import engine
from ocucb.policies import FAMILIES

NUMERICS = DATA / "numerics.json"


@pytest.mark.parametrize("name", FAMILIES)
def test_numbers_are_those_of_this_numerical_version(name):
    """When this fails on purpose, raise `engine.NUMERICS`: old stores hold other numbers.

    Then write the new ones with ``python tests/test_numbers.py``.
    """
    known = json.loads(NUMERICS.read_text())
    assert known["numerics"] == engine.NUMERICS
    rows = {row: pair for row, pair in known["numbers"].items() if row.split()[0] == name}
    # Other versions of scipy give other last bits of tables, and luck depends on these.
    rel = 1e-9 if FAMILIES[name].table is None else 1e-8
    assert numbers(name) == {row: pytest.approx(pair, rel=rel) for row, pair in rows.items()}


def numbers(name: str) -> dict[str, list[float]]:
    found, family = {}, FAMILIES[name]
    for problem in (ocucb.gap(4, 0.5), ocucb.bernoulli([0.6, 0.4, 0.3])):
        if problem.rewards.binary or not family.binary:
            skips = ("index", "sampling") if problem.rewards.brownian else ("index",)
            skipping = family.rule.kind in skips or "challenge" in family.rule.functions
            for which in ("step", "skip") if skipping else ("step",):
                for sampling in ("plain", "tilted"):
                    one = ocucb.simulate(
                        name, problem, 400, 700, rng=3, engine=which, sampling=sampling
                    )[0]
                    row = f"{name} {problem.rewards.name} {which}"
                    row += " tilted" if sampling == "tilted" else ""
                    found[row] = [one.mean_regret, float(one.stderr[-1])]
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_checkpoints_do_not_change_what_is_played(name):
    """Nor what the pilot finds; but sampling policies on skip-ahead draw afresh at each of them.

    As docs/simulation.md says, under Seeds.
    """
    family = FAMILIES[name]
    for problem in (ocucb.gap(4, 0.5), ocucb.bernoulli([0.6, 0.4, 0.3])):
        for which in ("step", "skip"):
            for sampling in ("plain", "tilted"):
                if family.binary and not problem.rewards.binary:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # where the step engine plays instead
                    one, *others = (
                        ocucb.simulate(
                            name,
                            problem,
                            400,
                            65,
                            rng=3,
                            engine=which,
                            sampling=sampling,
                            checkpoints=checkpoints,
                        )[0]
                        for checkpoints in (None, [], [5, 6, 7, 150, 399], range(1, 400))
                    )
                draws = (one.engine, family.rule.kind) == ("skip", "sampling")
                for other in others:
                    same_runs = (
                        (one.sample == other.sample).all()
                        and (one.weights == other.weights).all()
                        and (one.pulls == other.pulls).all()
                    )
                    assert same_runs == (not draws)
                    if not draws:
                        assert other.mean_regret == pytest.approx(one.mean_regret, rel=1e-13)
                        assert other.stderr[-1] == pytest.approx(
                            one.stderr[-1], rel=1e-9, abs=1e-7 * one.mean_regret
                        )


if __name__ == "__main__":
    found = {row: pair for name in FAMILIES for row, pair in numbers(name).items()}
    text = json.dumps({"numerics": engine.NUMERICS, "numbers": found}, indent=1)
    NUMERICS.write_text(text + "\n")
