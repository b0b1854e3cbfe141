"""The directive `command-line`: every command of `ocucb`, with its options, from the program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from ocucb import cli


def described(command: Any, name: str) -> Iterator[str]:
    """Yield the lines of Markdown that describe a command, and those below it."""
    yield f"## `{name}`"
    text, _, examples = (command.help or "").partition("**Example")
    yield text.strip()
    if name != "ocucb":  # the program itself has no options to speak of
        yield from _table(
            "argument", [param for param in command.params if param.opts[0][0] != "-"]
        )
        yield from _table("option", [param for param in command.params if param.opts[0][0] == "-"])
    lines = [line.strip("`") for line in examples.splitlines() if line.startswith("`")]
    if lines:
        yield "\n".join(["```sh", *lines, "```"])
    for below, other in getattr(command, "commands", {}).items():
        yield from described(other, f"{name} {below}")


def _table(kind: str, parameters: list[Any]) -> Iterator[str]:
    rows = [f"| {kind} | meaning |", "|---|---|"]
    for parameter in parameters:
        value = "" if getattr(parameter, "is_flag", False) else parameter.metavar or ""
        names = f"`{value}`" if kind == "argument" else _cell(parameter.opts, value)
        default = (
            parameter.default
            if isinstance(parameter.default, str | int) and parameter.default
            else None
        )
        note = "" if default is None or default is True else f" Default: `{default}`."
        rows.append(f"| {names} | {(parameter.help or '').replace('|', chr(92) + '|')}{note} |")
    if len(rows) > 2:
        yield "\n".join(rows)


def _cell(names: list[str], value: str) -> str:
    """Return the names of an option, the last one with its value."""
    *first, last = [f"`{name}`" for name in names]
    return ", ".join([*first, f"`{names[-1]} {value}`" if value else last])


class CommandLine(SphinxDirective):
    """Describe the whole command line."""

    def run(self) -> list[nodes.Node]:
        """Return sections, one for each command."""
        for path in Path(cli.__file__).parent.glob("*.py"):
            self.env.note_dependency(str(path))
        text = "\n\n".join(described(get_command(cli.app), "ocucb"))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
