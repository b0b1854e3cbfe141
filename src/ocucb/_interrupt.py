"""What Ctrl-C does on the command line; imported before everything else."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


def stop(*_: object) -> NoReturn:
    """Say that there is nothing to show, and exit at once."""
    os.write(2, b"Interrupted before any run finished.\n")
    os._exit(130)  # threads may be in the middle of a long run


@contextmanager
def on_interrupt(handler: Any) -> Iterator[None]:
    """Call `handler` on Ctrl-C within the context, unless our caller ignores Ctrl-C."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
