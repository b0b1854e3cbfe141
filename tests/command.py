"""The command line, run in the process of the tests: nothing is imported or compiled anew."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import pytest

from ocucb.cli import app


class Done(NamedTuple):
    """A command that has ended (typer's own runner loses standard error with click 8.1)."""

    exit_code: Any
    stdout: str
    stderr: str


def invoke(*words: Any) -> Done:
    """Run a command and return what it said."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        app([str(word) for word in words])
    return Done(end.value.code, out.getvalue(), err.getvalue())
