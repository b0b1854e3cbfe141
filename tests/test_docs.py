"""Documentation is run: docstring examples, Python and shell blocks of README and docs/."""

from __future__ import annotations

import doctest
import importlib.util
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import ocucb

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [
    info.name
    for info in pkgutil.walk_packages(ocucb.__path__, "ocucb.")
    if info.name != "ocucb.__main__"
]


@pytest.mark.parametrize("name", ["ocucb", *MODULES])
def test_docstring_examples(name):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} does not say what it is for"
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", sorted(set(ocucb.__all__) - {"__version__"}))
def test_public_names_are_documented(name):
    assert (getattr(ocucb, name).__doc__ or "").strip()


# One process for all blocks, and one for all lines, of a page: starting takes longest.
PYTHON = """
import sys
for block in sys.argv[1:]:
    exec(compile(block, block, "exec"), {"__name__": "__main__"})
"""
SHELL = """
import shlex, sys
from ocucb.cli import app
for line in sys.argv[1:]:
    try:
        app(shlex.split(line, comments=True)[1:])
    except SystemExit as end:
        if end.code:
            sys.exit(f"{line}: status {end.code}")
"""


def run(program, examples, folder):
    done = subprocess.run(
        [sys.executable, "-c", program, *examples],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, tmp_path):
    run(PYTHON, re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shell_lines_run(page, tmp_path):
    """Indented lines that start with `ocucb` work as they stand (with fewer runs where many)."""
    lines = []
    for line in re.findall(r"^    (ocucb .*)$", page.read_text(), re.MULTILINE):
        words = shlex.split(line, comments=True)
        many = words[1] in ("simulate", "reproduce") or "--simulate" in words
        lines.append(line.partition(" #")[0] + (" --runs 20" if many else ""))
    run(SHELL, lines, tmp_path)


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def script(name: str):
    """Return a script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_notation_names_what_exists():
    page = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    rows = page.partition("## Notation")[2].partition("##")[0]
    names = re.findall(r"`(theory\.[\w.]+|ocucb\.\w+|PolicyResult\.\w+)`", rows)
    assert len(names) > 20
    for name in names:
        found = ocucb.results if name.startswith("PolicyResult") else ocucb
        for part in name.removeprefix("ocucb.").split("."):
            fields = getattr(found, "__dataclass_fields__", {})
            found = fields[part] if part in fields else getattr(found, part)


def test_thinner_grids_keep_what_claims_are_about():
    from ocucb.paper import panels

    seeds = script("claims_seeds")
    for panel in panels().values():
        thinner = seeds.thinner(panel)
        assert set(thinner.xs) <= set(panel.xs)
        assert thinner.xs[-1] == panel.xs[-1] or panel.name == "constants"
    assert seeds.thinner(panels()["exp6"]).xs[0] == 5000
    assert {2.0, 16.0} <= set(seeds.thinner(panels()["psi"]).xs)


def test_the_picture_of_skip_ahead_can_be_drawn(tmp_path):
    picture = script("skip_ahead_picture")
    picture.HORIZON = 2000
    picture.play()
    picture.draw().savefig(tmp_path / "skip-ahead.png")
    assert {kind for kind, *_ in picture.events} == {"jumped", "met", "stepped"}


def test_the_table_of_delays_can_be_made(capsys):
    delays = script("live_delay")
    delays.HORIZON, delays.RUNS = 30, 2
    delays.main()
    assert capsys.readouterr().out.count("|") == 30


@pytest.mark.parametrize("name", ["run", "weights", "bars", "tails"])
def test_pictures_of_rare_failures_can_be_drawn(name, tmp_path):
    pictures = script("rare_failures_pictures")
    pictures.ROUNDS, pictures.SIMULATIONS, pictures.RUNS, pictures.TAIL_RUNS = 1000, 2, 20, 50
    pictures.PICTURES[name]().savefig(tmp_path / "picture.png")
