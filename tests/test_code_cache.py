"""Compiled code on disk: whoever filled the cache, in whatever order, numbers stay the same."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from numba.core.codegen import JITCPUCodegen

import ocucb
from ocucb import _cache_files
from ocucb._cache_files import read_cache_file
from ocucb._code_cache import CodeCache
from ocucb.engine import Kernel, step
from ocucb.rewards import GAUSSIAN

# One process: plays what it is told, in that order, and prints what came out. Whatever is compiled
# is kept in the same way, so that something small does where it is not about kernels.
PLAYS = """
import json, sys
from math import sqrt
import ocucb
from ocucb._compile import specialise
from ocucb.policies._quantiles import beta_tail

@ocucb.sampling_policy(unplayed_index="constant")
def samp(pulls, t, horizon, arms):
    return 2.0 / sqrt(pulls)

def regret(policy, problem, engine):
    one = ocucb.simulate(policy, problem, 500, 200, rng=3, engine=engine)[0]
    return [one.mean_regret.hex(), float(one.stderr[-1]).hex(), *map(float.hex, one.pulls)]

def live(policy):
    bandit = ocucb.Bandit("abcd", policy, 300, bounds=(0, 1), rng=1)
    asked = ""
    for i in range(200):
        asked += bandit.ask()
        bandit.tell(asked[-1], (7 * i % 11 > 4 + "abcd".index(asked[-1])) * 1.0)
    return asked

small = specialise(beta_tail.py_func, {}, keep=True)
gaussian, coins = ocucb.gap(5, 0.5), ocucb.bernoulli([0.6, 0.5, 0.4])
PLAYS = {
    "step": lambda: regret("ocucb", gaussian, "step"),
    "skip": lambda: regret("ocucb", gaussian, "skip"),
    "bernoulli": lambda: regret("ocucb", coins, "step"),
    "thompson": lambda: regret("thompson", gaussian, "step"),
    "user": lambda: regret(samp, gaussian, "step"),
    "live": lambda: live("ocucb"),
    "choice": lambda: regret("epsilon-greedy", coins, "step"),
    "rising": lambda: regret("ucb", gaussian, "skip"),
    "thompson skips": lambda: regret("thompson", gaussian, "skip"),
    "user skips": lambda: regret(samp, gaussian, "skip"),
    "live too": lambda: live("thompson"),
    "small": lambda: small(3.0, 0.5, 0.2),
}
numbers = {name: PLAYS[name]() for name in sys.argv[1:]}

import gc, hashlib
import numpy as np
from numba.core.dispatcher import Dispatcher

def body(function, seen=()):
    # what a function does, down to the last helper, whatever it is called
    if function in seen:
        return "again"
    parts = [function.__code__.co_code.hex(), repr(function.__code__.co_consts)]
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, Dispatcher):
            value = body(value.py_func, (*seen, function))
        elif isinstance(value, np.ndarray):
            value = value.tobytes()
        parts.append(f"{name}={value!r}")
    return hashlib.sha256("\\n".join(parts).encode()).hexdigest()

bodies = [
    (f"{one.py_func.__module__}.{one.py_func.__qualname__}", body(one.py_func))
    for one in gc.get_objects()
    if isinstance(one, Dispatcher)
]
print(json.dumps([numbers, bodies]))
"""
SOME = ["step", "skip", "bernoulli", "thompson", "user", "live"]
ALL = [*SOME, "choice", "rising", "thompson skips", "user skips", "live too"]


Numbers = dict[str, object]
Bodies = list[tuple[str, str]]  # names of compiled functions, and what they do


def play(
    cache: Path, names: list[str], before: str = "", **environment: str
) -> tuple[Numbers, Bodies]:
    """Play in a process of its own that keeps compiled code in `cache`."""
    done = subprocess.run(
        [sys.executable, "-c", before + PLAYS, *names],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    numbers, bodies = json.loads(done.stdout)
    return numbers, bodies


def fill(folder: Path, names: list[str], **environment: str) -> tuple[list[str], Bodies]:
    """Fill a cache by several processes, each with another beginning.

    Returns what came out wrong, and all functions that any of them compiled.
    """
    truth, bodies = play(folder / "alone", names)  # of this package, whatever is tried out
    cache, size = folder / "shared", len(names)
    orders = [[names[i], names[(3 * i + 2) % size]] for i in range(size)]
    orders += [names, names[::-1], names[1::2] + names[::2]]
    wrong = []
    for order in orders:
        found, more = play(cache, order, **environment)
        wrong += [f"{name} in {order}" for name in order if found[name] != truth[name]]
        bodies += more
    return wrong, bodies


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache that several processes filled, what came out wrong, and what was compiled."""
    folder = tmp_path_factory.mktemp("cache")
    return folder / "shared", *fill(folder, SOME)


def test_numbers_do_not_depend_on_who_filled_the_cache(filled):
    _, wrong, _ = filled
    assert not wrong


def kept_files(cache: Path) -> list[Path]:
    return [path for path in cache.glob("ocucb/compiled/*/*") if path.name != "last-used"]


def symbol(name: str) -> str:
    """Return how the symbols of a function begin, of which a counter and types follow."""
    parts = [re.sub(r"\W", lambda match: f"_{ord(match[0]):02x}", part) for part in name.split(".")]
    return "_ZN" + "".join(f"{len(part)}{part}" for part in parts) + "B"


def weak_symbols(cache: Path) -> set[str]:
    """Return the weak functions in the files of a cache, of which the linker takes any."""
    found = set()
    for path in kept_files(cache):
        (_, _, (code, _)), *_ = pickle.loads(path.read_bytes()[32:])
        for symbol in ELFFile(io.BytesIO(code)).get_section_by_name(".symtab").iter_symbols():
            if (symbol["st_info"]["bind"], symbol["st_info"]["type"]) == ("STB_WEAK", "STT_FUNC"):
                found.add(symbol.name)
    return found


def with_two_bodies(cache: Path, bodies: Bodies) -> list[str]:
    """Return the weak symbols that stand for functions which do different things."""
    known: dict[str, set[str]] = {}
    for name, body in bodies:
        known.setdefault(symbol(name), set()).add(body)
    ours = [name for name in weak_symbols(cache) if name.startswith("_ZN5ocucb")]
    assert len(ours) > 10
    homes = {name: [start for start in known if name.startswith(start)] for name in ours}
    assert all(homes.values()), "a symbol that no function has"
    return [
        name for name, starts in homes.items() if any(len(known[place]) > 1 for place in starts)
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF files")
def test_no_symbol_has_two_bodies(filled):
    """The linker takes one weak symbol for all of the same name."""
    cache, _, bodies = filled
    assert len(kept_files(cache)) > len(SOME)
    assert not with_two_bodies(cache, bodies)


@pytest.mark.slow
def test_numbers_do_not_depend_on_who_filled_the_cache_for_every_kernel(tmp_path):
    wrong, bodies = fill(tmp_path, ALL)
    assert not wrong
    assert not with_two_bodies(tmp_path / "shared", bodies)


@pytest.mark.slow
def test_without_names_of_their_own_kernels_are_mixed_up(tmp_path):
    """The tests above fail for a copy of the package whose kernels have plain names."""
    copy = tmp_path / "ocucb"
    shutil.copytree(Path(ocucb.__file__).parent, copy)
    source = (copy / "_compile.py").read_text()
    naked = source.replace("-{digest}", "")
    assert naked != source
    (copy / "_compile.py").write_text(naked)
    wrong, bodies = fill(tmp_path, SOME, PYTHONPATH=str(tmp_path))
    assert wrong
    assert with_two_bodies(tmp_path / "shared", bodies)


def test_a_file_holds_what_its_name_says(filled):
    cache, _, _ = filled
    for path in kept_files(cache):
        assert read_cache_file(path, "another name") is None


def test_a_users_function_is_not_kept(filled):
    cache, _, _ = filled
    names = {path.name.partition("-")[0] for path in kept_files(cache)}
    assert names == {
        "play_runs", "ask", "tell", "rebuild", "build_tree", "replace", "lower", "highest"
    }  # fmt: skip
    # those of step, skip, bernoulli and thompson, none of samp
    assert len([path for path in kept_files(cache) if path.name.startswith("play_runs")]) == 4


def _play_last(values, game, run, work, done, outcome, row, stop):
    return False


def test_an_engine_from_outside_is_not_kept():
    """The name of the cache covers the sources of this package alone."""
    plan = step.plan(ocucb.OCUCB, GAUSSIAN)
    for play_run, kept in ((plan.play_run, True), (_play_last, False)):
        kernel = Kernel(plan._replace(play_run=play_run))
        assert isinstance(kernel._play_runs._cache, CodeCache) is kept


def test_only_what_python_calls_becomes_machine_code(monkeypatch):
    """Parts of a kernel are linked into it; a policy of one's own is compiled in every process."""
    made = []
    add = JITCPUCodegen._add_module

    def noted(codegen, module):
        made.append(module.name)
        return add(codegen, module)

    monkeypatch.setattr(JITCPUCodegen, "_add_module", noted)

    @ocucb.index_policy(unplayed_index="nonincreasing")
    def fresh(pulls, t, horizon, arms):
        return 3.0 / pulls**0.5

    ocucb.simulate(fresh, ocucb.gap(), 100, runs=10, rng=1, sampling="plain", engine="skip")
    kernels = [name for name in made if name.startswith("play_")]
    assert [name.partition("-")[0] for name in kernels] == ["play_runs"]


def test_sources_that_change_while_a_process_runs(tmp_path):
    """Code of the old sources is not kept where code of the new ones is looked for.

    The new source is as long as the old one, so that only its time tells them apart.
    """
    shutil.copytree(Path(ocucb.__file__).parent, tmp_path / "ocucb")
    edit = """
import pathlib
from ocucb.policies import _quantiles
path = pathlib.Path(_quantiles.__file__)
text = path.read_text()
assert "power = 0.5 * log(" in text
path.write_text(text.replace("power = 0.5 * log(", "power = 1.5 * log("))
"""
    cache, copy = tmp_path / "cache", {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    old, _ = play(cache, ["small"], before=edit, **copy)
    new, _ = play(cache, ["small"], **copy)
    assert new != old == play(tmp_path / "ours", ["small"])[0]


def test_several_processes_starting_at_once(tmp_path):
    """Processes that compile into one empty cache at the same time agree."""
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: play(tmp_path, ["small"])[0], range(3)))
    assert all(answer == answers[0] for answer in answers)
    assert play(tmp_path, ["small"])[0] == answers[0]


def test_damaged_and_unwritable_caches(tmp_path):
    """A damaged file in the cache, or no place for one, costs time only; the file is mended."""
    cache = tmp_path / "cache"
    good, _ = play(cache, ["small"])
    (file,) = kept_files(cache)
    whole = file.read_bytes()
    middle = len(whole) // 2
    for harm in (
        whole[:middle],
        b"",
        whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
    ):
        file.write_bytes(harm)
        assert play(cache, ["small"])[0] == good
        (mended,) = kept_files(cache)
        assert len(mended.read_bytes()) > len(whole) // 2
        assert mended.read_bytes() != harm
    (tmp_path / "file").write_text("not a folder")
    assert play(tmp_path / "file" / "cache", ["small"])[0] == good


def test_versions_that_nobody_uses_go_away(tmp_path):
    """Versions that take turns keep their code; one that was left alone for a month does not."""
    now = time.time()

    def use(version: str) -> None:
        _cache_files.version_folder.cache_clear()
        (_cache_files.version_folder(tmp_path, version) / "code").touch()

    def age(version: str, days: float) -> None:
        os.utime(tmp_path / version / "last-used", (now - 86400 * days,) * 2)

    for version in ("old", "older", "this", "that"):
        use(version)
    age("old", 29)
    age("older", 31)
    for _ in range(3):
        for version in ("this", "that"):
            age(version, 2)
            use(version)
    assert {path.name for path in tmp_path.iterdir()} == {"old", "this", "that"}
    assert (tmp_path / "old" / "code").exists()
    # looked through once a day at most
    age("old", 31)
    use("this")
    assert (tmp_path / "old").exists()
    age("this", 2)
    use("this")
    assert not (tmp_path / "old").exists()
    _cache_files.version_folder.cache_clear()
