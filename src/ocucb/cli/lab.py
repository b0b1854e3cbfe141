"""`ocucb lab`."""

from __future__ import annotations

from typing import Annotated

import typer

from .shared import option


def lab(
    host: Annotated[
        str, option("ADDRESS", "Address to listen on; others than loopback need --public.")
    ] = "127.0.0.1",
    port: Annotated[int, option("N", "Port; 0 picks a free one.")] = 8001,
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="For a page that anybody may open: limits for each visitor, fair shares of the "
            "processor, bounded memory.",
        ),
    ] = False,
) -> None:
    """Open a page on which one understands bandits by playing with them.

    Prints the page's address. Drag the means of the arms, slide the parameters of policies, and
    watch regret, tails and shares sharpen; every figure comes with the Python and the command that
    give the same numbers.

    **Examples**

    `ocucb lab`

    `ocucb lab --public --host 0.0.0.0 --port 80`
    """
    try:
        from ..lab import commands
    except ImportError as error:
        raise ValueError(
            f"ocucb lab needs more packages ({error.name}): pip install 'ocucb[serve]'."
        ) from None
    commands.lab(host, port, public)
