"""Expensive tables, kept in memory and in the user's cache directory.

If the directory cannot be read or written, tables are simply rebuilt.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
from platformdirs import user_cache_path

from .._cache_files import read_cache_file, surroundings, version_folder, write_cache_file
from .._types import Floats
from .._waiting import at_fork

_memory: dict[str, Floats] = {}
_lock = threading.Lock()


def _renew_lock() -> None:
    """In a forked process: the thread that builds a table is not there to release the lock."""
    global _lock
    _lock = threading.Lock()


at_fork(after_in_child=_renew_lock)


def table(name: str, build: Callable[[], Floats]) -> Floats:
    """Return the table called `name`, from memory, the cache file or `build`, in this order.

    The name identifies the content and the version of the method that computes it.
    """
    with _lock:  # threads that want the same table wait for the one that builds it
        if name not in _memory:
            path = folder() / f"{name}.table"
            content = read_cache_file(path, name)
            if content is None:
                _memory[name] = build()
                write_cache_file(path, name, _memory[name].astype("<f8").tobytes())
            else:
                _memory[name] = np.frombuffer(content, dtype="<f8").astype(np.float64)
        return _memory[name]


def folder() -> Path:
    """Return the folder for tables computed with these software versions and processor."""
    version = hashlib.sha256(f"{surroundings()}\n{scipy.__version__}".encode()).hexdigest()[:16]
    return version_folder(user_cache_path("ocucb") / "tables", version)


def forget() -> None:
    """Drop the tables held in memory; the files stay."""
    _memory.clear()
