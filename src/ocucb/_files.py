"""Atomic writes: a file appears whole or not at all, and one sentence says why if it cannot."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

if sys.platform != "win32":
    import fcntl

_DRAFT = re.compile(r"\.ocucb-[0-9a-f]{16}")
_OLD = 3600.0  # seconds; without locks, a draft older than this is taken for abandoned


@contextmanager
def replacing(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """Open a temporary file that replaces `path` if the context exits without an error.

    A reader sees either the old file or the complete new one. Symbolic links are followed, and
    anything but a regular file (a pipe, /dev/stdout) is written to directly. Drafts left behind by
    killed processes are removed.
    """
    text: dict[str, Any] = {} if mode == "wb" else {"encoding": "utf-8", "newline": ""}
    target = _target(path)
    if target is None:
        with open(path, mode, **text) as file:
            yield file
        return
    _sweep(target.parent)
    draft, descriptor = _draft(target.parent)
    # The lock lasts until the last descriptor is closed, which must be after the rename.
    # (Windows has no such locks, and cannot rename an open file.)
    lock = None if sys.platform == "win32" else os.dup(descriptor)
    try:
        with open(descriptor, mode, **text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(draft, target.stat().st_mode & 0o777)
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)


def check_writable(
    *paths: str | os.PathLike[str] | None, store: str | os.PathLike[str] | None = None
) -> None:
    """Raise, before any work is done, if a file could not be written after it.

    Nor may one file be written twice, or in place of `store`. The ValueError is one sentence.
    """
    kept = None if store is None else _place(store)
    taken = set()
    for path in paths:
        if path is None:
            continue
        try:
            target = _target(path)
            if target is not None:
                draft, descriptor = _draft(target.parent)
                os.close(descriptor)
                draft.unlink()
        except OSError as error:
            raise ValueError(unwritable(path, error)) from None
        if target is None:
            continue  # a pipe or /dev/stdout takes any number of texts
        place = _place(target)
        if place == kept:
            raise ValueError(f"{os.fspath(path)} is the store itself; choose another name.")
        if place in taken:
            raise ValueError(
                f"{os.fspath(path)} is named for two outputs; give each a file of its own."
            )
        taken.add(place)


def _place(path: str | os.PathLike[str]) -> object:
    """Return what two names share if they are names of the same file."""
    try:
        found = os.stat(path)
    except OSError:  # it will be created
        return os.path.realpath(path)
    return found.st_dev, found.st_ino


def make_folder(path: Path) -> None:
    """Create a folder and its parents, or raise as `check_writable` does."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ValueError(f"{path} must be a folder, but is a file; choose another name.") from None
    except OSError as error:
        raise ValueError(unwritable(path, error)) from None


def unwritable(path: str | os.PathLike[str], error: OSError) -> str:
    """Return one sentence that says why a file cannot be written."""
    return f"{os.fspath(path)} cannot be written: {error.strerror or error}."


@contextmanager
def noting(failures: list[str], path: str | os.PathLike[str]) -> Iterator[None]:
    """Add a failure to write to `failures` instead of raising, so that others are still written."""
    try:
        yield
    except BrokenPipeError:
        pass  # the reader has seen enough
    except OSError as error:
        failures.append(unwritable(path, error))


def _target(path: str | os.PathLike[str]) -> Path | None:
    """Return the regular file that `path` refers to, or None if it refers to something else.

    Raises what would make writing fail, as far as that can be known in advance.
    """
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        kind = stat.S_IFREG  # it will be created
    else:
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, "it is a folder", os.fspath(path))
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    if not stat.S_ISREG(kind):
        return None
    target = Path(os.path.realpath(path))
    if target.is_dir():  # of an empty name
        raise IsADirectoryError(errno.EISDIR, "it is a folder", os.fspath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(target.parent))
    return target


def _draft(folder: Path) -> tuple[Path, int]:
    """Create a file in a folder and return it with a descriptor that holds its lock."""
    while True:
        draft = folder / f".ocucb-{os.urandom(8).hex()}"
        # 0o666 and the umask give it the permissions of any new file
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        if sys.platform != "win32":
            with suppress(OSError):  # without locks, nobody sweeps either
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        if draft.exists():
            return draft, descriptor
        os.close(descriptor)  # it was swept away before it was locked


def _sweep(folder: Path) -> None:
    """Remove the drafts of killed processes, and no others."""
    try:
        names = os.listdir(folder)
    except PermissionError:  # files may be created here but not listed
        return
    for name in filter(_DRAFT.fullmatch, names):
        with suppress(OSError):  # being written, already gone, or not ours to remove
            _remove_if_abandoned(folder / name)


def _remove_if_abandoned(draft: Path) -> None:
    if sys.platform == "win32":
        if time.time() - draft.stat().st_mtime > _OLD:
            draft.unlink()
        return
    descriptor = os.open(draft, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its writer is alive
        draft.unlink()
    finally:
        os.close(descriptor)
