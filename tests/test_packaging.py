"""What is published: a wheel that works and is typed, and sources that are complete."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from helpers import ROOT

CLIENT = """
import ocucb


def best(horizon: int) -> str:
    problem = ocucb.gap(K=2, gap=0.3)
    result: ocucb.SimulationResult = ocucb.simulate(["ocucb", "ucb"], problem, horizon, 20, rng=1)
    return min(result, key=lambda one: one.mean_regret).label


bandit = ocucb.Bandit(["a", "b"], "ocucb", horizon=100, bounds=(0, 1))
arm = bandit.ask()
bandit.tell(arm, 1.0)
print(ocucb.__file__, best(500))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and a source distribution, built without a network."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_a_wheel_works_and_is_typed(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("py.typed", "serve/pages/base.html", "serve/migrations/env.py"):
        assert f"ocucb/{part}" in names
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*command, "--target", tmp_path, wheel], check=True, timeout=300)
    (tmp_path / "client.py").write_text(CLIENT)
    here = {**os.environ, "PYTHONPATH": str(tmp_path), "MYPYPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "client.py"], cwd=tmp_path, env=here, capture_output=True, text=True
    )
    assert done.stdout.startswith(str(tmp_path)), done.stderr
    strict = [sys.executable, "-m", "mypy", "--strict", "client.py"]
    done = subprocess.run(strict, cwd=tmp_path, env=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_sources_are_complete(built, tmp_path):
    """Whatever git keeps is in the archive, and tests run from it."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    (place,) = tmp_path.iterdir()
    for name in ("Makefile", "ARCHITECTURE.md", "docs/conf.py", "tests/data/numerics.json"):
        assert (place / name).exists()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/test_problems.py",
    ]
    here = {**os.environ, "PYTHONPATH": str(place / "src")}
    done = subprocess.run(command, cwd=place, env=here, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout
