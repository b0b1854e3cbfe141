"""The policies in the reference: all of them, each with its rule, source and name in a terminal."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ocucb import PolicyFamily, policies


def add_notes(
    app: Sphinx, what: str, name: str, found: object, options: Any, lines: list[str]
) -> None:
    """Add a section to the docstring of a policy."""
    if isinstance(found, PolicyFamily):
        rule = f"Rule: ``{found.formula}``"
        source = f"Source: {found.reference}. On the command line: ``{found.name}``."
        lines += ["", "Notes", "-----", rule, "", source]


def entries() -> list[str]:
    """Return the lines that describe every policy, by name."""
    return [f".. autofunction:: ocucb.{name}" for name in sorted(policies.NAMES, key=str.lower)]


class Policies(SphinxDirective):
    """The directive `policies`: every policy of the package."""

    def run(self) -> list[nodes.Node]:
        """Return one entry for each policy."""
        return self.parse_text_to_nodes("\n".join(entries()))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive, and listen for docstrings before numpydoc does."""
    app.add_directive("policies", Policies)
    app.connect("autodoc-process-docstring", add_notes, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
