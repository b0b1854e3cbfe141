"""The layers of ARCHITECTURE.md: modules import only from lower ones, and never in a ring.

Imports inside functions and under TYPE_CHECKING count: whoever reads a module follows them too.
"""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter

import pytest

from helpers import ROOT
from ocucb._code_cache import NO_KERNELS

SOURCE = ROOT / "src" / "ocucb"
_, _, _rest = (ROOT / "ARCHITECTURE.md").read_text().partition("## Layers\n")
LAYERS = re.findall(r"```\n(.*?)```", _rest, re.DOTALL)[0].split()  # the lowest first


def name_of(path) -> str:
    parts = ("ocucb", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in SOURCE.rglob("*.py")}


def imported(module: str) -> set[str]:
    """Return the modules of this package that a module names in its import statements."""
    path, found = MODULES[module], set()
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            inside = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else base for name in inside]
        else:
            continue
        found.update(name for name in names if name in MODULES)
    return found - {module}


def layer(module: str) -> int:
    """Return the height of a module; what imports everything, the package itself, is on top."""
    _, _, rest = module.partition(".")
    return LAYERS.index(rest.partition(".")[0]) if rest else len(LAYERS)


def test_every_module_has_a_layer():
    tops = {module.split(".")[1] for module in MODULES if module != "ocucb"}
    assert tops == set(LAYERS)
    assert len(LAYERS) == len(set(LAYERS))


@pytest.mark.parametrize("module", sorted(set(MODULES) - {"ocucb"}))
def test_imports_come_from_below(module):
    own = module.split(".")[1]
    upwards = {
        other
        for other in imported(module)
        if other == "ocucb" or (other.split(".")[1] != own and layer(other) > layer(module))
    }
    assert not upwards


def test_no_imports_in_a_ring():
    try:
        TopologicalSorter({module: imported(module) for module in MODULES}).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


@pytest.mark.parametrize(
    ("room", "doors"), [("paper", {"cli"}), ("theory", {"cli", "lab", "paper"})]
)
def test_the_paper_and_its_proof_are_rooms_of_their_own(room, doors):
    """Nothing imports them but the command line and, of theorems, the reproduction and the lab."""
    guests = {
        module.split(".")[1]
        for module in MODULES.keys() - {"ocucb"}
        for other in imported(module)
        if other.split(".")[1:2] == [room]
    }
    assert guests - {room} == doors


def test_compiled_code_is_named_after_all_that_it_is_made_from():
    """Whatever makes kernels, and whatever that imports, counts for the name of their folder."""
    makes = re.compile(
        r"^import numba|^from [.]+_compile import .*(compiled|inlined|_part|specialise)", re.M
    )
    waiting = {name for name, path in MODULES.items() if makes.search(path.read_text())}
    assert {"ocucb.engine.step", "ocucb.live.tree", "ocucb.policies.maillard"} <= waiting
    reached = set()
    while waiting:
        reached |= waiting
        waiting = set().union(*map(imported, waiting)) - reached
    assert not {name for name in reached if name.split(".")[1] in NO_KERNELS}
    assert set(LAYERS) >= NO_KERNELS


def test_imports_are_found():
    """All of the ways to write one, on modules that are known to have them."""
    assert "ocucb.random" in imported("ocucb.engine.step")
    assert "ocucb.engine.step" in imported("ocucb.engine")
    assert "ocucb.simulation" in imported("ocucb.cli.simulate"), "it stands inside a function"
