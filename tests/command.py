"""The command line, run in the process of the tests: nothing is imported or compiled anew."""

from __future__ import annotations

import inspect
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from ocucb.cli import app

# Before version 8.2, click mixes standard output and standard error unless it is told not to.
_MIXES = "mix_stderr" in inspect.signature(CliRunner).parameters
_RUNNER = CliRunner(mix_stderr=False) if _MIXES else CliRunner()


def invoke(*words: Any) -> Result:
    """Run a command and return its output and its status."""
    return _RUNNER.invoke(app, [str(word) for word in words])
