"""Print, one a line, what the metadata of a release lack: nothing if they are complete."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
URLS = ("Repository", "Documentation", "Issues", "Changelog")


def lacking(root: Path = ROOT) -> Iterator[str]:
    """Yield what is to be done before a release, a sentence each."""
    text = {
        name: (root / name).read_text(encoding="utf-8")
        for name in ("CHANGELOG.md", "CITATION.cff", "pyproject.toml", "src/ocucb/_version.py")
    }
    project = tomllib.loads(text["pyproject.toml"])["project"]
    (version,) = re.findall(r'__version__ = "(.+)"', text["src/ocucb/_version.py"])
    absent = [name for name in URLS if name not in project["urls"]]
    if absent:
        yield f"addresses are missing in [project.urls] of pyproject.toml: {', '.join(absent)}"
    heading = re.search(r"^## (\S+) \((.+)\)$", text["CHANGELOG.md"], re.MULTILINE)
    if heading is None or heading[1] != version:
        yield f"the first heading of CHANGELOG.md is not about version {version}"
    elif not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[2]):
        yield f"CHANGELOG.md has no date for version {version}, but ({heading[2]})"
    if f"\nversion: {version}\n" not in text["CITATION.cff"]:
        yield f"CITATION.cff is not about version {version}"
    if "\nrepository-code:" not in text["CITATION.cff"] and "Repository" in project["urls"]:
        yield "CITATION.cff does not name the repository (repository-code:)"


if __name__ == "__main__":
    for sentence in lacking(*map(Path, sys.argv[1:])):
        print(sentence)
