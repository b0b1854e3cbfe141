"""Files that save time and hold nothing that could not be worked out again.

A file is a digest and then content. The digest covers the content and what it is, so a file that is
cut short, damaged, of another version or put under another name is not recognised. It appears
under its name only when it is complete, so processes that write the same thing at once do no harm.

Each version has a folder of its own; one that nobody has used for a month is removed.
"""

from __future__ import annotations

import functools
import hashlib
import platform
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path

import llvmlite
import llvmlite.binding
import numba
import numpy as np

from ._files import replacing

_DAY = 86_400.0  # seconds
_MONTH = 30 * _DAY
_USED = "last-used"  # a file in each folder, as old as its last use

_DIGEST_SIZE = hashlib.sha256().digest_size


def read_kept(path: Path, name: str) -> bytes | None:
    """Return the content called `name` that was kept at `path`; None if it is not there whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    content = data[_DIGEST_SIZE:]
    return content if data[:_DIGEST_SIZE] == _digest(name, content) else None


def write_kept(path: Path, name: str, content: bytes) -> None:
    """Keep content for the next process; where that is impossible, nothing happens."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, "wb") as file:
            file.write(_digest(name, content) + content)


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + content).digest()


@functools.cache
def version_folder(root: Path, version: str) -> Path:
    """Return the folder of a version below `root`; the first call of a process tidies up there."""
    here = root / version
    with suppress(OSError):
        here.mkdir(parents=True, exist_ok=True)
        _tidy(here)
    return here


def _tidy(here: Path) -> None:
    """Note that a version is in use, and remove versions that have not been for a month."""
    mark = here / _USED
    if mark.exists() and time.time() - mark.stat().st_mtime < _DAY:
        return
    mark.touch()
    for other in here.parent.iterdir():
        mark = other / _USED
        used = mark.stat().st_mtime if mark.exists() else other.stat().st_mtime
        if other != here and time.time() - used > _MONTH:
            shutil.rmtree(other, ignore_errors=True)


@functools.cache
def surroundings() -> str:
    """Name what the last bit of a number may depend on: versions, and the processor."""
    processor = llvmlite.binding.get_host_cpu_name()
    features = llvmlite.binding.get_host_cpu_features().flatten()
    versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
    facts = (*versions, np.__version__, platform.machine(), processor, features)
    return "\n".join(map(str, facts))
