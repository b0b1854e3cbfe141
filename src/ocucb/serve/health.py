"""Whether the store can be written to: tried whenever somebody asks, but not for each of many."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from .storage import PATIENCE, Storage, StoreUnavailable

_KEPT = 0.1  # seconds for which an answer is given to others, too
_MOST_SECONDS = PATIENCE + 0.5  # then the answer is no, whatever the store is doing


class Probe:
    """Writes to the store to see whether that works: one thread, one attempt at a time.

    Parameters
    ----------
    storage : Storage
        The store.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._pool = ThreadPoolExecutor(1, "ocucb-health")
        self._lock = threading.Lock()
        self._attempt: Future[Exception | None] | None = None
        self._ended = 0.0

    def close(self) -> None:
        """Try nothing any more."""
        self._pool.shutdown(wait=False)

    async def problem(self) -> Exception | None:
        """Return why the store cannot be written to, or None if it can."""
        attempt = asyncio.wrap_future(self._current())
        await asyncio.wait([attempt], timeout=_MOST_SECONDS)
        if not attempt.done():
            return StoreUnavailable("the store takes too long to write.")
        return attempt.result()

    def _current(self) -> Future[Exception | None]:
        """Return an attempt that is under way or has just ended, or begin one."""
        with self._lock:
            attempt = self._attempt
            if attempt is None or (attempt.done() and time.monotonic() > self._ended + _KEPT):
                attempt = self._attempt = self._pool.submit(self._try)
            return attempt

    def _try(self) -> Exception | None:
        try:
            self._storage.check_writable()
        except Exception as error:
            return error
        finally:
            self._ended = time.monotonic()
        return None
