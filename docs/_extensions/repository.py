"""Files outside docs/ on the site: some are pages, the others can be downloaded.

On a forge a page links to ``../CHANGELOG.md``; here that is a page of its own. Its source in docs/
is a line that says where the text is, and this module reads it from there.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
PAGES = {
    ROOT / "ARCHITECTURE.md": "about/architecture",
    ROOT / "CHANGELOG.md": "about/changelog",
    ROOT / "CONTRIBUTING.md": "about/contributing",
    ROOT / "README.md": "index",
    ROOT / "bench" / "table.md": "about/benchmarks",
    ROOT / "tests" / "README.md": "about/tests",
}
LINK = re.compile(r"\]\((?!https?:|/|#)([^)#\s]+)")


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Take the text from where it is, and let its links lead to where things are on the site."""
    path = Path(app.env.doc2path(page))
    other = next((file for file, name in PAGES.items() if name == page != "index"), None)
    if other is not None:
        source[0] = other.read_text(encoding="utf-8")
        app.env.note_dependency(str(other))
    folder = (other or path).parent

    def on_site(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / link[1]))
        if target in PAGES:
            return f"](/{PAGES[target]}.md"
        return f"](/{os.path.relpath(target, DOCS)}" if target.exists() else link[0]

    source[0] = LINK.sub(on_site, source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Listen for pages."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
