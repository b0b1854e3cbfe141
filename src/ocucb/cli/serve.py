"""`ocucb serve`: decisions over HTTP, and the tokens for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .shared import Text, deliver, option, report_errors

app = typer.Typer(no_args_is_help=False)

_PLACE = "An SQLite file, created if necessary, or postgresql://user@host/database."
_Store = Annotated[
    str, typer.Option(metavar="PLACE", help=_PLACE, envvar="OCUCB_STORE", show_envvar=True)
]


def _commands() -> Any:
    """Return the module with what `ocucb serve` does."""
    try:
        from ..serve import commands
    except ImportError as error:
        raise ValueError(
            f"ocucb serve needs more packages ({error.name}): pip install 'ocucb[serve]'."
        ) from None
    return commands


@app.callback(invoke_without_command=True)
@report_errors
def serve(
    context: typer.Context,
    store: _Store = "ocucb.db",
    host: Annotated[
        str,
        option(
            "ADDRESS",
            "Address to listen on; addresses other than loopback require an existing token.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, option("N", "Port; 0 picks a free one.")] = 8000,
    log_level: Annotated[str, option("NAME", "Log level: debug, info, warning or error.")] = "info",
    allow_origin: Annotated[
        list[str] | None,
        option("ORIGIN", "A site whose pages may call the service (CORS); may be repeated."),
    ] = None,
) -> None:
    """Serve decisions over HTTP, with a page to watch them.

    Prints the address of the page and, the first time, a token. Several servers may share one
    PostgreSQL database.

    **Examples**

    `ocucb serve`

    `ocucb serve --store postgresql://ocucb@db/bandits --host 0.0.0.0`
    """
    if context.invoked_subcommand is None:
        _commands().serve(store, host, port, log_level, allow_origin or [])
        return
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":  # else it would be ignored
            raise ValueError(
                f"--{name.replace('_', '-')} stands before {context.invoked_subcommand!r}, "
                "whose options come after it."
            )


@app.command("check")
@report_errors
def check_store(
    name: Annotated[
        Text, typer.Argument(metavar="BANDIT", help="Only this bandit. Default: all.")
    ] = None,
    store: _Store = "ocucb.db",
) -> None:
    """Replay the log of every bandit and compare decisions and state, bit for bit.

    Exits with status 1 if anything differs, and 2 if there is nothing to check. The server may be
    running.

    **Example**

    `ocucb serve check --store ocucb.db`
    """
    found = _commands().check_store(store, name)
    lines = [
        f"{bandit.name}: {bandit.decisions:,} decisions and {bandit.rewards:,} rewards, "
        + (bandit.problem or "all as stored.")
        for bandit in found
    ]
    deliver("\n".join(lines))
    if any(bandit.problem for bandit in found):
        raise typer.Exit(1)


@app.command("backup")
@report_errors
def back_up(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The copy; must not exist yet.")],
    store: _Store = "ocucb.db",
) -> None:
    """Copy an SQLite store to a file while servers use it; for PostgreSQL there is pg_dump.

    **Example**

    `ocucb serve backup /backups/ocucb-monday.db --store ocucb.db`
    """
    _commands().back_up(store, target)


@app.command("token")
@report_errors
def make_token(
    scope: Annotated[
        str, option("NAME", "decide (ask, tell, read) or administer (all).")
    ] = "decide",
    label: Annotated[str, option("TEXT", "A note on who uses it.")] = "",
    bandit: Annotated[
        list[str] | None,
        option("NAME", "Only for this bandit, or for names that begin so: 'shop-*'; repeatable."),
    ] = None,
    rate: Annotated[
        float | None, option("R", "The most requests per second, on each server. Default: any.")
    ] = None,
    store: _Store = "ocucb.db",
) -> None:
    """Create a token and print it; only a digest is kept, so it cannot be shown again.

    **Example**

    `ocucb serve token --scope decide --label shop --bandit 'shop-*' --rate 200`
    """
    deliver(_commands().make_token(store, scope, label, bandit or [], rate))


@app.command("tokens")
@report_errors
def show_tokens(store: _Store = "ocucb.db") -> None:
    """List the tokens: number, scope, label, limits, state.

    **Example**

    `ocucb serve tokens`
    """
    deliver(_commands().token_table(store))


@app.command("revoke")
@report_errors
def revoke(
    number: Annotated[
        int, typer.Argument(metavar="NUMBER", help="As listed by `ocucb serve tokens`.")
    ],
    store: _Store = "ocucb.db",
) -> None:
    """Revoke a token; running servers refuse it within a second.

    **Example**

    `ocucb serve revoke 2`
    """
    _commands().revoke(store, number)
