"""ARCHITECTURE.md tells the truth: files and names exist, and the walk is one module a step."""

from __future__ import annotations

import pkgutil
import re

import pytest

from helpers import ROOT

PAGE = (ROOT / "ARCHITECTURE.md").read_text()
_, _, _rest = PAGE.partition("## The walk of `ocucb simulate`\n")
_, *_steps = re.split(r"^\d+\. ", _rest.partition("\n## ")[0], flags=re.MULTILINE)
STEPS = [re.findall(r"`([\w.]+\.\w+)`", step) for step in _steps]  # names such as cli.simulate


@pytest.mark.parametrize("name", [name for step in STEPS for name in step])
def test_names_of_the_walk_exist(name):
    assert callable(pkgutil.resolve_name(f"ocucb.{name}")), name


def test_the_walk_visits_each_module_once():
    visited = [{name.partition(".")[0] for name in step} for step in STEPS]
    assert all(len(modules) == 1 for modules in visited), visited
    modules = [module for step in visited for module in step]
    assert len(modules) == len(set(modules)) >= 8
    order = ["__main__", "cli", "problems", "simulation", "policies", "engine", "specification"]
    assert modules[: len(order)] == order


def test_the_map_of_the_tests_is_complete():
    page = (ROOT / "tests" / "README.md").read_text()
    for path in (ROOT / "tests").glob("*.py"):
        assert f"`{path.name}`" in page, path.name


def test_files_of_the_map_exist():
    for place in re.findall(r"^\| `((?:src|tests|docs|bench)/[^`]*)`", PAGE, re.MULTILINE):
        assert (ROOT / place).exists(), place


@pytest.mark.parametrize("place", [".pre-commit-config.yaml", ".github/workflows/test.yml"])
def test_hooks_and_workflow_only_call_make(place):
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    calls = re.findall(r"(?:run|entry): (.*)", (ROOT / place).read_text())
    assert calls
    assert all(re.match(r"make (\w+)", call)[1] in targets for call in calls)
