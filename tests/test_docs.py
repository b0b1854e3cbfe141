"""Documentation is run: docstring examples, Python and shell blocks of README and docs/."""

from __future__ import annotations

import dataclasses
import doctest
import importlib.util
import inspect
import json
import pkgutil
import re
import shlex
import subprocess
import sys

import pytest

import ocucb
from helpers import ROOT, flaws, public_names
from ocucb import PolicyFamily

# What the build makes is no source; tutorials are notebooks, which have tests of their own.
_OTHERS = {"_build", "auto_gallery", "tutorials"}
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if not _OTHERS & set(page.relative_to(ROOT).parts)
    ),
]
MODULES = [
    info.name
    for info in pkgutil.walk_packages(ocucb.__path__, "ocucb.")
    if info.name != "ocucb.__main__"
]


PUBLIC = public_names()


def examples(module) -> list[doctest.DocTest]:
    """Return the examples of a module; a public one has to import what it uses."""
    found = doctest.DocTestFinder().find(module)
    parser = doctest.DocTestParser()
    for name, family in vars(module).items():  # which doctest does not take for functions
        if isinstance(family, PolicyFamily) and family.__module__ == module.__name__:
            found.append(parser.get_doctest(family.__doc__ or "", {}, name, module.__file__, 0))
    open_to_all = {
        f"{thing.__module__}.{thing.__qualname__}"
        for thing in PUBLIC.values()
        if inspect.isroutine(inspect.unwrap(thing)) or inspect.isclass(thing)
    }
    for example in found:
        parts = example.name.split(".")
        if open_to_all & {".".join(parts[:size]) for size in range(len(parts) + 1)}:
            example.globs = {}
    return found


@pytest.mark.parametrize("name", ["ocucb", *MODULES])
def test_docstring_examples(name, request):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} does not say what it is for"
    more = request.getfixturevalue("service") if name == "ocucb.serve.client" else {}
    runner = doctest.DocTestRunner()
    for example in examples(module):
        example.globs |= more
        runner.run(example)
    assert runner.failures == 0


@pytest.fixture
def service(tmp_path, monkeypatch) -> dict[str, object]:
    """The names that examples of the client use, and a service without a network behind them."""
    from starlette.testclient import TestClient

    from ocucb.serve import client
    from ocucb.serve.app import create_app
    from ocucb.serve.storage import Storage
    from ocucb.serve.tokens import add_token

    class Inside(TestClient):
        def request(self, *given, timeout, **options):  # nothing takes time, and starlette warns
            return super().request(*given, **options)

    storage = Storage(str(tmp_path / "store.db"), create=True)
    app, token = create_app(storage), add_token(storage, "administer", "")
    real = client.httpx.Client

    def connect(base_url, headers, trust_env):
        if base_url != "http://testserver":
            return real(base_url=base_url, headers=headers, trust_env=trust_env)
        return Inside(app, base_url=base_url, headers=headers)

    monkeypatch.setattr(client.httpx, "Client", connect)
    bandit = client.Client("http://testserver", "colours", token)
    bandit.create(["red", "green"])
    yield {"url": "http://testserver", "token": token, "bandit": bandit}
    storage.close()


_DATA = {"ocucb.__version__", "ocucb.theory.DEFAULT_POLICIES"} | {
    f"ocucb.figures.{name}" for name in ocucb.figures.__all__ if name.isupper()
}
_MODULES = {"ocucb.figures", "ocucb.gittins", "ocucb.testing", "ocucb.theory"}


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - _DATA - _MODULES))
def test_public_names_are_documented(name):
    """Types, parameters, results, an example: of functions, classes and policies."""
    one = PUBLIC[name]
    plain = inspect.isclass(one) and (dataclasses.is_dataclass(one) or hasattr(one, "_fields"))
    if plain:  # nobody else makes one, so it has attributes instead of parameters
        documented = re.findall(r"^(\w[\w, ]*) : ", inspect.getdoc(one), re.MULTILINE)
        fields = getattr(one, "_fields", None) or [each.name for each in dataclasses.fields(one)]
        assert set(fields) <= {part for line in documented for part in line.split(", ")}
    assert flaws(name, *(["PR01"] if plain else [])) == []


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


def run(program, examples, folder) -> str:
    if not examples:
        return ""
    done = subprocess.run(
        [sys.executable, "-c", program, *examples],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def name_of(page) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_blocks_run(page, tmp_path):
    """And estimates that a page shows, as README.md does, are those that its lines print."""
    text, estimate = page.read_text(), r"Estimate\(value=(\S+), stderr=(\S+)\)$"
    printed = run(PYTHON, re.findall(r"```python\n(.*?)```", text, re.DOTALL), tmp_path)
    shown = re.findall(rf"^    {estimate}", text, re.MULTILINE)
    found = re.findall(rf"^{estimate}", printed, re.MULTILINE) if shown else []
    for pair, other in zip(shown, found, strict=True):
        assert [*map(float, pair)] == pytest.approx([*map(float, other)], rel=1e-6)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_shell_lines_run(page, tmp_path):
    """Indented lines that start with `ocucb` work as they stand (with fewer runs where many)."""
    lines = []
    for line in re.findall(r"^    (ocucb .*)$", page.read_text(), re.MULTILINE):
        words = shlex.split(line, comments=True)
        many = words[1] in ("simulate", "reproduce") or "--simulate" in words
        lines.append(line.partition(" #")[0] + (" --runs 20" if many else ""))
    run(SHELL, lines, tmp_path)


def test_commands_for_tokens_run(tmp_path):
    """Those of docs/service.md; the others there start servers: test_serve_process.py."""
    page = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    lines = re.findall(r"^ocucb serve (?:token|tokens|revoke) ?.*$", page, re.MULTILINE)
    checks = re.findall(r"^ocucb serve check .*$", page, re.MULTILINE)
    assert lines
    run(SHELL, lines, tmp_path)
    command = [sys.executable, "-m", *shlex.split(checks[0])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, "the store has tokens, but no bandits"
    assert "there are no bandits" in done.stderr


# Fences that are not run: what is no program, and programs that other tests run.
_NOT_RUN = {
    "bibtex": {"docs/about/citing.md"},
    "cpp": {"docs/coming-from.md"},
    "ini": {"docs/howto/production.md"},
    "js": {"docs/service.md"},
    "py": {"docs/coming-from.md", "docs/service.md"},
    "sh": {"docs/service.md", "docs/howto/logs.md"},
    "text": {name_of(page) for page in PAGES},  # commands that take hours or several machines
}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_that_are_not_run_are_known(page):
    for language in re.findall(r"^```(\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert language == "python" or name_of(page) in _NOT_RUN[language], language


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"], ids=name_of
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def script(name: str):
    """Return a script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "scripts" / f"{name}.py")
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


def test_the_page_of_file_formats_names_every_key(tmp_path):
    from ocucb import results, store

    page = (ROOT / "docs" / "reference" / "file-formats.md").read_text(encoding="utf-8")
    csv, saved, live, linear, kept = re.split(r"^## ", page, flags=re.MULTILINE)[1:6]
    for column in (*results.COLUMNS, "rewards", "sigma", "seed"):
        assert f"`{column}`" in csv
    ocucb.simulate("ucb", ocucb.gap(), 10, runs=2, rng=1).save(tmp_path / "result.json")
    document = json.loads((tmp_path / "result.json").read_text())
    bandit = ocucb.Bandit("ab", "ucb", horizon=10, sigma=1.0).to_dict()
    more = ocucb.LinearBandit("ab", 2, sigma=1.0).to_dict()
    for section, keys in ((saved, document), (live, {**bandit, "squares": []}), (linear, more)):
        assert f'"{keys["format"]}"`, {keys["format_version"]} |' in section
        assert [key for key in keys if f"`{key}`" not in section] == []
    assert f"{store._APPLICATION:#x}" in kept
    assert f"(`user_version`) {results.moments.FORMAT}" in kept
    columns = re.findall(r"^        (\w+) .*not null", "".join(store._TABLES), re.MULTILINE)
    assert [name for name in columns if f"`{name}`" not in kept and name != "simulation"] == []


def test_the_version_to_cite_is_this_one():
    for place in ("CITATION.cff", "docs/about/citing.md"):
        text = (ROOT / place).read_text(encoding="utf-8")
        assert re.findall(r"^ *version\W+([\d.]+\d)", text, re.MULTILINE) == [ocucb.__version__]


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


def test_the_table_and_the_picture_of_drift_can_be_made(tmp_path):
    drift = script("drift_tables")
    drift.HORIZON, drift.CHANGE, drift.RUNS = 60, 21, 2
    drift.PLAYERS = drift.DRAWN = ["ucb", f"ucb:forget={drift.SHORT:g}"]
    results = drift.played()
    assert drift.table(results).count("|") == 9 * 4
    drift.picture(results).savefig(tmp_path / "drift.png")


def test_the_table_of_horizons_can_be_made(capsys):
    horizons = script("live_horizon")
    horizons.HORIZON, horizons.RUNS = 30, 2
    horizons.main()
    assert capsys.readouterr().out.count("|") == 45


@pytest.mark.parametrize("name", ["run", "weights", "luck", "bars", "tails"])
def test_pictures_of_rare_failures_can_be_drawn(name, tmp_path):
    pictures = script("rare_failures_pictures")
    pictures.ROUNDS, pictures.SIMULATIONS, pictures.RUNS, pictures.TAIL_RUNS = 1000, 2, 20, 50
    pictures.PICTURES[name]().savefig(tmp_path / "picture.png")


@pytest.mark.parametrize("name", ["clicks", "alpha", "headlines", "variance", "price"])
def test_the_tables_of_one_idea_can_be_made(name, monkeypatch, capsys):
    tables = script("one_idea_tables")
    short = [(title, problem, 120) for title, problem, _ in tables.LEAGUE[:1] + tables.HARD[:1]]
    made = tables.played
    facts = {"RUNS": 2, "HEADLINES": 2, "LEAGUE": short[:1], "HARD": short[1:]}
    facts["played"] = lambda policy, problem, n, runs: made(policy, problem, 120, 2)
    for fact, value in facts.items():
        monkeypatch.setattr(tables, fact, value)
    tables.main([name])
    rows = capsys.readouterr().out.strip().splitlines()
    assert len({row.count("|") for row in rows}) == 1
    assert len(rows) >= 6
