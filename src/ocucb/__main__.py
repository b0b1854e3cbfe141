"""Entry point of ``ocucb`` and ``python -m ocucb``: handles Ctrl-C even during imports."""

from __future__ import annotations

import os
import signal
from typing import NoReturn


def stop(*_: object) -> NoReturn:
    """Report that Ctrl-C came before there was anything to show, and exit at once."""
    os.write(2, b"Stopped: nothing was finished.\n")
    os._exit(130)  # threads may be in the middle of a long run


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else: set by our caller
        signal.signal(signal.SIGINT, stop)
    from .cli import main as run

    run()


if __name__ == "__main__":
    main()
