"""Tutorials as notebooks: beside each page of a tutorial lies an .ipynb, and the page links it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jupytext
from sphinx.application import Sphinx


def is_notebook(app: Sphinx, page: str) -> bool:
    """Tell whether a page is a notebook."""
    if not page.startswith("tutorials/"):
        return False
    return Path(app.env.doc2path(page)).read_text(encoding="utf-8").startswith("---\njupytext")


def link(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Put a link to the notebook at the end of its page."""
    if "body" in context and is_notebook(app, page):
        name = f"{Path(page).name}.ipynb"
        context["body"] += f'<p><a download href="{name}">Download this page as a notebook</a></p>'


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the notebooks beside the pages."""
    if error is None and app.builder.format == "html":
        for page in filter(lambda page: is_notebook(app, page), app.env.found_docs):
            notebook = jupytext.read(Path(app.env.doc2path(page)))
            jupytext.write(notebook, Path(app.outdir) / f"{page}.ipynb")


def set_profile(app: Sphinx) -> None:
    """Give kernels an IPython profile of their own, in which they say nothing but errors."""
    profile = Path(app.doctreedir) / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n")
    os.environ["IPYTHONDIR"] = str(profile.parent)


def setup(app: Sphinx) -> dict[str, Any]:
    """Listen for the beginning, for pages and for the end."""
    app.connect("builder-inited", set_profile)
    app.connect("html-page-context", link)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
