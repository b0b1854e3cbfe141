"""Can the server do its work? It can write to the store, and what it needs is compiled."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor

from .errors import StoreUnavailable
from .storage import PATIENCE, Storage

_KEPT = 0.1  # seconds for which an answer is given to others, too
_MOST_SECONDS = PATIENCE + 0.5  # then the answer is no, whatever the store is doing


class Probe:
    """Writes to the store, once for many who ask together; all must share an event loop."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._pool = ThreadPoolExecutor(1, "ocucb-health")
        self._attempt: Future[Exception | None] | None = None
        self._ended = 0.0

    def close(self) -> None:
        """Begin no more attempts."""
        self._pool.shutdown(wait=False)

    async def problem(self) -> Exception | None:
        """Return why the store cannot be written to, or None if it can."""
        attempt = self._attempt
        if attempt is None or (attempt.done() and time.monotonic() > self._ended + _KEPT):
            attempt = self._attempt = self._pool.submit(self._try)
        await asyncio.wait([asyncio.wrap_future(attempt)], timeout=_MOST_SECONDS)
        if not attempt.done():
            return StoreUnavailable("the store takes too long to write.")
        return attempt.result()

    def _try(self) -> Exception | None:
        try:
            self._storage.check_writable()
        except Exception as error:
            return error
        finally:
            self._ended = time.monotonic()
        return None
