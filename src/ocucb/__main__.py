"""Entry point of ``ocucb`` and ``python -m ocucb``: handles Ctrl-C even during imports."""

from __future__ import annotations

import signal

from ._interrupt import stop


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else: set by our caller
        signal.signal(signal.SIGINT, stop)
    from .cli import main as run

    run()


if __name__ == "__main__":
    main()
