"""What a release needs: one version everywhere, workflows that run what exists, true metadata."""

from __future__ import annotations

import re
import runpy
import shutil
import tomllib

import pytest

import ocucb
from helpers import ROOT

yaml = pytest.importorskip("yaml", reason="needs the packages of ocucb[docs]")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
METADATA = runpy.run_path(str(ROOT / ".ci" / "metadata.py"))
SUPPORTED = re.findall(
    r"3\.\d+", re.findall(r'^SUPPORTED="(.*)"', (ROOT / ".ci/pythons").read_text(), re.M)[0]
)


def test_the_supported_pythons_are_the_same_everywhere():
    classifiers = " ".join(PROJECT["classifiers"])
    assert re.findall(r"Python :: (3\.\d+)", classifiers) == SUPPORTED
    assert PROJECT["requires-python"] == f">={SUPPORTED[0]}"
    tests = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    assert tests["jobs"]["all"]["strategy"]["matrix"]["python"] == SUPPORTED
    assert ".ci/run" in [step.get("run") for step in tests["jobs"]["all"]["steps"]]
    lowest = re.compile(r"Python (3\.\d+) (?:or|and) later")
    for page in ("README.md", "CONTRIBUTING.md", "docs/install.md", "docs/about/stability.md"):
        found = lowest.findall((ROOT / page).read_text(encoding="utf-8"))
        assert set(found) <= {SUPPORTED[0]}, page


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_exists(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for name, job in workflow["jobs"].items():
        for line in (step["run"] for step in job["steps"] if "run" in step):
            program, *words = line.split()
            if program == "make":
                asked = [word for word in words if "=" not in word]
                assert set(asked) <= {*targets, ".venv/.ready"}, (name, line)
            elif program.startswith("."):
                assert program.startswith(".venv/") or (ROOT / program).exists(), (name, line)
        for step in job["steps"]:  # a name without a version could change at any time
            assert "uses" not in step or re.search(r"@(v\d|release/v\d)", step["uses"])


def test_only_the_job_that_uploads_may_ask_for_a_token():
    jobs = yaml.safe_load((ROOT / ".github/workflows/publish.yml").read_text("utf-8"))["jobs"]
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    assert jobs["publish"]["needs"] == "build"


@pytest.fixture
def sources(tmp_path):
    """A copy of the files that say which version this is."""
    for name in ("CHANGELOG.md", "CITATION.cff", "pyproject.toml", "src/ocucb/_version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_metadata_are_complete_but_for_what_only_people_know():
    """Addresses and the day; of the version, nothing is ever missing."""
    for sentence in METADATA["lacking"]():
        assert re.match(r"addresses are missing|CHANGELOG.md has no date", sentence)


def test_what_is_missing_is_named(sources):
    lacking = METADATA["lacking"]
    addresses = "\n".join(f'{name} = "https://example.org"' for name in METADATA["URLS"])
    edit(sources / "pyproject.toml", "[project.urls]\n", f"[project.urls]\n{addresses}\n")
    edit(sources / "CHANGELOG.md", "(unreleased)", "(2030-01-31)")
    assert list(lacking(sources)) == [
        "CITATION.cff does not name the repository (repository-code:)"
    ]
    edit(sources / "CITATION.cff", "\nlicense:", "\nrepository-code: https://example.org\nlicense:")
    assert list(lacking(sources)) == []
    edit(sources / "src/ocucb/_version.py", f'"{ocucb.__version__}"', '"9.9.9"')
    assert list(lacking(sources)) == [
        "the first heading of CHANGELOG.md is not about version 9.9.9",
        "CITATION.cff is not about version 9.9.9",
    ]
    edit(sources / "pyproject.toml", 'Issues = "https://example.org"\n', "")
    assert "pyproject.toml: Issues" in next(iter(lacking(sources)))


def test_the_changelog_begins_with_this_version():
    headings = re.findall(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == ocucb.__version__
    assert headings[-1] == "0.1.0"


def test_nobody_is_invented():
    """No people, addresses or hosts but those of the paper and of public documents."""
    assert PROJECT["authors"] == [{"name": "the ocucb authors"}]
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "RELEASING.md", "CITATION.cff"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.findall(r"\S+@\S+\.\S+|https?://\S+", text) == []
