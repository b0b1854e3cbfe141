"""Below each policy in the reference: its rule, its source and its name on the command line."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

from ocucb import PolicyFamily


def add_notes(
    app: Sphinx, what: str, name: str, found: object, options: Any, lines: list[str]
) -> None:
    """Add a section to the docstring of a policy."""
    if isinstance(found, PolicyFamily):
        rule = f"Rule: ``{found.formula}``"
        source = f"Source: {found.reference}. On the command line: ``{found.name}``."
        lines += ["", "Notes", "-----", rule, "", source]


def setup(app: Sphinx) -> dict[str, Any]:
    """Listen for docstrings, before numpydoc does."""
    app.connect("autodoc-process-docstring", add_notes, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
