"""ARCHITECTURE.md is true: files and names exist, and walks go as told. CI runs what one runs."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys

import pytest

from helpers import ROOT
from ocucb import cli
from ocucb.paper.panels import panels

PAGE = (ROOT / "ARCHITECTURE.md").read_text()


def steps(title: str) -> list[list[str]]:
    """Return the names, such as cli.simulate, in each step of a walk."""
    _, _, rest = PAGE.partition(f"## The walk of {title}\n")
    _, *found = re.split(r"^\d+\. ", rest.partition("\n## ")[0], flags=re.MULTILINE)
    return [re.findall(r"`([\w.]+\.\w+)`", step) for step in found]


SIMULATION, DECISION = steps("`ocucb simulate`"), steps("a decision over HTTP")
REPRODUCTION = steps("`ocucb reproduce`")
WALKS = (SIMULATION, DECISION, REPRODUCTION)


@pytest.mark.parametrize("name", [name for walk in WALKS for step in walk for name in step])
def test_names_of_the_walks_exist(name):
    pkgutil.resolve_name(f"ocucb.{name}")


def test_every_step_of_a_walk_names_something():
    for walk in WALKS:
        assert walk
        assert all(walk)


def test_the_walk_of_the_reproduction_is_in_the_order_of_its_calls(tmp_path, capsys):
    """The functions that steps begin with are called one after the other."""
    calls = []

    def note(frame, event, argument):
        if event == "call":
            calls.append(f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}")

    arguments = ["reproduce", "psi", "--runs", "2", "--out", str(tmp_path)]
    panels.cache_clear()  # another test of this process may have had them described
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        cli.app(arguments, standalone_mode=False)
    finally:
        sys.setprofile(before)
    left = iter(calls)
    assert [step[0] for step in REPRODUCTION if f"ocucb.{step[0]}" not in left] == []


def test_the_walk_of_a_decision_goes_down_to_the_bandit():
    """Each step but the last, the way back, begins in the module that the one before it calls."""
    modules = [step[0].removeprefix("serve.").partition(".")[0] for step in DECISION]
    order = "protocol middleware authentication routes service lanes turn machine live storage"
    assert modules == order.split()
    sources = {name: (ROOT / f"src/ocucb/serve/{name}.py").read_text() for name in modules[2:8]}
    for caller, called in (("service", "lanes"), ("lanes", "turn"), ("machine", "live")):
        assert re.search(rf"^from \.+{called} import ", sources[caller], re.MULTILINE), called


def test_the_map_of_the_tests_is_complete():
    page = (ROOT / "tests" / "README.md").read_text()
    for path in (ROOT / "tests").glob("*.py"):
        assert f"`{path.name}`" in page, path.name


def test_files_of_the_map_exist():
    """Those of the package are named from within it."""
    cells = re.findall(r"^\| (`[^|]*`) \|", PAGE, re.MULTILINE)
    for place in (place for cell in cells for place in cell.strip("`").split("`, `")):
        outside = place.startswith(("tests/", "docs/", "bench/", "deploy/", "."))
        assert (ROOT / ("" if outside else "src/ocucb") / place).exists(), place


def test_the_picture_shows_rooms_that_exist():
    picture = (ROOT / "docs" / "pictures" / "architecture.svg").read_text()
    shown = " ".join(re.findall(r'class="name"[^>]*>([^<]*)<', picture)).split()
    layers = PAGE.partition("## Layers")[2].split("```")[1].split()
    assert {*shown} <= {*layers}
    packages = {path.parent.name for path in (ROOT / "src" / "ocucb").glob("*/__init__.py")}
    assert packages - {*shown} <= {"gittins", "reports"}, "small rooms that serve others"


@pytest.mark.parametrize(
    ("place", "call"), [(".pre-commit-config.yaml", "entry: make "), (".ci/run", " *make ")]
)
def test_hooks_and_ci_call_make(place, call):
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    called = re.findall(rf"^ *{call}([a-z ]+)", (ROOT / place).read_text(), re.MULTILINE)
    assert called
    assert {target for words in called for target in words.split()} <= {*targets}


NO_SKIPS = """
import sys, pytest
sys.modules.update(dict.fromkeys(["distributed", "jupytext", "river"]))
sys.exit(pytest.main([*sys.argv[1:], "--no-skips", "--continue-on-collection-errors", "-rEfs"]))
"""


def test_no_skips_turns_missing_packages_into_failures():
    """Of a whole file and of a test; not where tests compare with another library."""
    names = [
        "tutorials.py",
        "workers.py::test_dask_on_the_command_line",
        "peers.py::test_blocks_run[river]",
    ]
    done = subprocess.run(
        [sys.executable, "-c", NO_SKIPS, *(str(ROOT / "tests" / f"test_{name}") for name in names)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 1
    summary = done.stdout.partition("short test summary")[2]
    assert re.search(r"^ERROR .*test_tutorials", summary, re.MULTILINE)
    assert re.search(r"^(ERROR|FAILED) .*test_workers", summary, re.MULTILINE)
    assert re.search(r"^SKIPPED .*test_peers", summary, re.MULTILINE)
