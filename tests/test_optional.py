"""Without the optional packages all else works, and what needs one names the extra to install."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import metadata

import pytest

import ocucb

# Python does not import what stands as None in its list of modules.
WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(["dask", "distributed", "loky", "pandas"]))
service = "alembic fastapi httpx prometheus_client psycopg sqlalchemy starlette uvicorn"
sys.modules.update(dict.fromkeys(service.split()))
"""
EXTRAS = metadata("ocucb").get_all("Provides-Extra")


def without(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_every_module_can_be_imported():
    done = without("""
import importlib, pkgutil, ocucb
for module in pkgutil.walk_packages(ocucb.__path__, "ocucb."):
    optional = module.name.startswith(("ocucb.serve.", "ocucb.lab."))
    if module.name != "ocucb.__main__" and not optional:
        importlib.import_module(module.name)
""")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "line",
    ["simulate --means 0,-1 -n 10 -r 2 --dask tcp://127.0.0.1:1", "reproduce --dask tcp://none:1"],
)
def test_dask_names_its_extra(line):
    done = without("from ocucb.cli import main\nmain()", *line.split())
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "Error: --dask needs Dask: pip install 'ocucb[dask]'.\n"
    assert "dask" in EXTRAS


@pytest.mark.parametrize("line", ["serve", "serve check", "lab"])
def test_the_service_names_its_extra(line, tmp_path):
    done = without(
        f"import os\nos.chdir({str(tmp_path)!r})\n" + "from ocucb.cli import main\nmain()",
        *line.split(),
    )
    assert done.returncode == 2
    assert done.stdout == ""
    name = line.partition(" ")[0]
    needs = rf"Error: ocucb {name} needs more packages \(\w+\): pip install 'ocucb\[serve\]'\.\n"
    assert re.fullmatch(needs, done.stderr)
    assert list(tmp_path.iterdir()) == []
    assert "serve" in EXTRAS


def test_data_frames_name_their_extra(monkeypatch):
    result = ocucb.simulate(["uniform"], ocucb.gaussian([0, -1]), 10, runs=2, rng=1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError) as caught:
        result.to_dataframe()
    needs = "to_dataframe needs pandas: pip install 'ocucb[pandas]', or use to_csv."
    assert str(caught.value) == needs
    assert caught.value.__suppress_context__  # no second traceback about the import
    assert "pandas" in EXTRAS
