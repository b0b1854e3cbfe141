"""The command line: parse, call, print. Everything heavy is imported inside the commands.

To add a command, write it in the file of its group, or in a new one, and list it here.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from . import serve
from .analyse import analyse
from .lab import lab
from .plan import plan
from .policies import gittins, policies
from .reports import league, reproduce
from .results import results
from .shared import report_errors, standard_output
from .simulate import simulate
from .sweep import sweep
from .theory import theory
from .trace import trace
from .tune import tune

app = typer.Typer(
    name="ocucb",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Finite-armed stochastic bandits: simulate policies, reproduce the paper *Optimally "
        "Confident UCB*, compute its bounds, and serve decisions.\n\n"
        "Try: `ocucb simulate --policy ocucb --policy ucb --means 0,-0.3 --horizon 1e4`"
    ),
)

for _command in (
    simulate,
    trace,
    sweep,
    tune,
    plan,
    results,
    policies,
    gittins,
    reproduce,
    league,
    theory,
    analyse,
    lab,
):
    app.command()(report_errors(_command))
app.add_typer(serve.app, name="serve")


def _version(wanted: bool) -> None:
    if wanted:
        from .._version import __version__

        print(f"ocucb {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± shows a question mark
    with standard_output():
        app()
