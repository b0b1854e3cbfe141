"""Tables that are dear to compute, kept in the user's cache directory.

A file holds a digest and the table's bytes. The digest covers the table's name too, so a file that
is cut short, damaged, of another version or put under another name is not recognised and the
table is computed again. A file appears under its name only when it is complete (written
aside, then renamed), so processes that build the same table at once do no harm. A directory that
cannot be read or written costs the time of a rebuild and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

Array = NDArray[np.float64]

_DIGEST_SIZE = hashlib.sha256().digest_size
_memory: dict[str, Array] = {}
_lock = threading.Lock()


def table(name: str, build: Callable[[], Array]) -> Array:
    """Return the table called `name`: from memory, else from the cache file, else from `build`.

    Parameters
    ----------
    name : str
        Names the content and the version of the method that computes it.
    build : callable
        Computes the table, a one-dimensional array.
    """
    with _lock:  # threads that want the same table wait for the one that builds it
        if name not in _memory:
            path = user_cache_path("ocucb") / f"{name}.table"
            found = _read(path, name)
            if found is None:
                found = build()
                _write(path, name, found)
            _memory[name] = found
        return _memory[name]


def forget() -> None:
    """Drop the tables held in memory; the files stay."""
    _memory.clear()


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + content).digest()


def _read(path: Path, name: str) -> Array | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    content = data[_DIGEST_SIZE:]
    if data[:_DIGEST_SIZE] != _digest(name, content):
        return None
    return np.frombuffer(content, dtype="<f8").astype(np.float64)


def _write(path: Path, name: str, values: Array) -> None:
    content = values.astype("<f8").tobytes()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(prefix=f"{name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest(name, content) + content)
            os.replace(aside, path)
        except OSError:
            os.unlink(aside)
            raise
