"""Cache files: they save time and hold nothing that cannot be recomputed.

A file consists of a digest and content. The digest covers the content and its name, so a file that
is truncated, damaged, renamed or from another version is not recognised. Files appear only when
complete, so concurrent processes can safely write the same one.

Each version has its own folder, which is deleted after a month without use.
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
_USED = "last-used"  # a file in each folder, touched when the folder is used

_DIGEST_SIZE = hashlib.sha256().digest_size


def read_cache_file(path: Path, name: str) -> bytes | None:
    """Return the content called `name` from `path`; None if it is missing or damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    content = data[_DIGEST_SIZE:]
    return content if data[:_DIGEST_SIZE] == _digest(name, content) else None


def write_cache_file(path: Path, name: str, content: bytes) -> None:
    """Keep content for the next process; do nothing if that is impossible."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, "wb") as file:
            file.write(_digest(name, content) + content)


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + content).digest()


@functools.cache
def version_folder(root: Path, version: str) -> Path:
    """Return the folder of a version under `root`; the first call in a process tidies up there."""
    here = root / version
    with suppress(OSError):
        here.mkdir(parents=True, exist_ok=True)
        _tidy(here)
    return here


def _tidy(here: Path) -> None:
    """Mark a version as in use, and delete versions that have been unused for a month."""
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
    """Name everything the last bit of a number may depend on: versions and the processor."""
    processor = llvmlite.binding.get_host_cpu_name()
    features = llvmlite.binding.get_host_cpu_features().flatten()
    versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
    facts = (*versions, np.__version__, platform.machine(), processor, features)
    return "\n".join(map(str, facts))
