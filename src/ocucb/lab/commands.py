"""What `ocucb lab` does: check the address, listen, serve."""

from __future__ import annotations

import logging
import warnings

from ..serve.commands import is_loopback, listening, serve_until_told
from .app import PRIVATE, PUBLIC, create_lab


def lab(host: str, port: int, public: bool) -> None:
    """Serve the page until told to stop (SIGTERM or Ctrl-C)."""
    if not 0 <= port <= 65535:
        raise ValueError(f"--port must lie between 0 and 65535, got {port}.")
    if not public and not is_loopback(host):
        raise ValueError(
            f"{host} can be reached from other machines; add --public, which limits what "
            "visitors may take."
        )
    with listening(host, port) as listener:
        warnings.simplefilter("ignore", UserWarning)  # what they say is on the page
        logging.basicConfig(level=logging.WARNING)
        address = f"[{host}]" if ":" in host else host
        print(f"Page: http://{address}:{listener.getsockname()[1]}/", flush=True)
        app = create_lab(PUBLIC if public else PRIVATE)
        serve_until_told(app, listener, grace=1)
