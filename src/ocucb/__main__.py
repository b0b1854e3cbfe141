"""Where ``ocucb`` and ``python -m ocucb`` begin: Ctrl-C is heard before anything is imported."""

from __future__ import annotations

import os
import signal
from typing import NoReturn


def stop(*_: object) -> NoReturn:
    """Say that Ctrl-C came before there was anything to show, and end at once."""
    os.write(2, b"Stopped: nothing was finished.\n")
    os._exit(130)  # threads may be in the middle of a long run


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else: our caller's wish
        signal.signal(signal.SIGINT, stop)
    from .cli import main as run

    run()


if __name__ == "__main__":
    main()
