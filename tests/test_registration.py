"""A policy is registered by its file alone, as ARCHITECTURE.md says.

`python tests/test_registration.py` writes the list of policies that type checkers read.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ocucb
from helpers import ROOT
from ocucb.policies import FAMILIES, NAMES

STUB = ROOT / "src" / "ocucb" / "policies" / "_names.pyi"

POLICY = '''"""A policy of a stranger."""

from math import sqrt

from ._decorators import above, index_policy


@index_policy(
    name="half-root",
    label="Half root",
    formula="mean + sigma * width / sqrt(T)",
    reference="a test",
    valid={"width": above(0)},
    unplayed_index="constant",
)
def HalfRoot(pulls: float, t: float, horizon: float, arms: float, width: float = 0.5) -> float:
    """Add a multiple of the standard error."""
    return width / sqrt(pulls)
'''

PROGRAM = """
import json, sys
import pytest
import ocucb
from ocucb.league import entrants
sys.path += sys.argv[1:]
import policy_facts, test_policies
from ocucb import *

with pytest.raises(AssertionError, match="write its slow twin in tests/policy_table.py"):
    test_policies.test_every_policy_has_an_entry()
result = ocucb.simulate("half-root:width=1", ocucb.gap(), 200, runs=10, rng=1)[0]
bandit = ocucb.Bandit(["a", "b"], "half-root", horizon=10, sigma=1, rng=1)
bandit.tell("a", 1.0)
print(json.dumps({
    "python": repr(HalfRoot(width=2)),
    "names": "HalfRoot" in dir(ocucb),
    "engine": result.engine,
    "live": bandit.ask(),
    "league": [entrants.origin(e) for e in entrants.registered() if e.label == "Half root"],
    "reference": ".. autofunction:: ocucb.HalfRoot" in policy_facts.entries(),
    "others": len(ocucb.policies.FAMILIES),
}))
"""


def stub() -> str:
    """Return what type checkers are told: every policy is a family."""
    lines = [
        "# The policies of this folder, for type checkers: `python tests/test_registration.py`",
        "from ._families import PolicyFamily\n",
        *(f"{name}: PolicyFamily" for name in sorted(NAMES)),
    ]
    return "\n".join(lines) + "\n"


def test_type_checkers_see_every_policy():
    assert STUB.read_text() == stub(), "run python tests/test_registration.py"


def test_all_is_what_can_be_had():
    assert set(NAMES) < set(ocucb.__all__) == set(dir(ocucb))
    assert all(hasattr(ocucb, name) for name in ocucb.__all__)
    with pytest.raises(AttributeError, match="'ocucb' has no attribute 'HalfRoot'"):
        ocucb.HalfRoot  # noqa: B018


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("gausian", "gaussian"), ("Bernoulli", "bernoulli"), ("beta", "beta_rewards")],
)
def test_a_name_that_ocucb_lacks_has_a_hint(typed, meant):
    with pytest.raises(AttributeError, match=f"'{typed}'; did you mean {meant}\\?$"):
        getattr(ocucb, typed)
    with pytest.raises(AttributeError, match=r"no attribute '_gaussian'$"):
        ocucb._gaussian  # noqa: B018


def test_a_new_policy_is_one_file(tmp_path):
    """Names, command line, engines, live use, league, reference: all find it; a twin is missed."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(ocucb.__file__).parent, tmp_path / "ocucb", ignore=ignored)
    (tmp_path / "ocucb" / "policies" / "half_root.py").write_text(POLICY)
    caches = {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    environment = {**os.environ, **caches, "PYTHONPATH": str(tmp_path)}

    def run(*arguments: object) -> str:
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        ).stdout

    places = ROOT / "tests", ROOT / "docs" / "_extensions"
    assert json.loads(run("-c", PROGRAM, *places)) == {
        "python": "HalfRoot(width=2)",
        "names": True,
        "engine": "skip",
        "live": "b",
        "league": ["ours"],
        "reference": True,
        "others": len(FAMILIES) + 1,
    }
    listed = run("-m", "ocucb", "policies")
    assert "half-root\n    mean + sigma * width / sqrt(T)\n    width = 0.5; must be > 0" in listed


if __name__ == "__main__":
    STUB.write_text(stub())
