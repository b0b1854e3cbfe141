"""Files that appear whole or not at all, and what is said of those that cannot be written."""

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
_OLD = 3600.0  # seconds; where drafts cannot be locked, nobody is still writing such an old one


@contextmanager
def replacing(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` that takes its place when all went well.

    A reader finds the old file or the whole new one, never a part. A link is followed, and what is
    no regular file (a pipe, /dev/stdout) is written to as it is. What a killed process left behind
    is removed.
    """
    text: dict[str, Any] = {} if mode == "wb" else {"encoding": "utf-8", "newline": ""}
    target = _target(path)
    if target is None:
        with open(path, mode, **text) as file:
            yield file
        return
    _sweep(target.parent)
    draft, descriptor = _draft(target.parent)
    # The lock lasts until the last descriptor is closed: past the moment when the file is renamed.
    # (Windows knows no such lock, and renames no file that is open.)
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


def check_writable(*paths: str | os.PathLike[str] | None) -> None:
    """Refuse, before any work is done, files that could not be written after it.

    Raises
    ------
    ValueError
        One sentence with the file and the reason.
    """
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


def make_folder(path: Path) -> None:
    """Make a folder, if need be with those above it, or refuse as `check_writable` does."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ValueError(f"{path} is a file and must be a folder; choose another name.") from None
    except OSError as error:
        raise ValueError(unwritable(path, error)) from None


def unwritable(path: str | os.PathLike[str], error: OSError) -> str:
    """Say in one sentence that a file cannot be written, and why."""
    return f"{os.fspath(path)} cannot be written: {error.strerror or error}."


@contextmanager
def noting(failures: list[str], path: str | os.PathLike[str]) -> Iterator[None]:
    """Add a file that cannot be written to `failures`, so that the others still can be."""
    try:
        yield
    except BrokenPipeError:
        pass  # whoever reads it has seen enough
    except OSError as error:
        failures.append(unwritable(path, error))


def _target(path: str | os.PathLike[str]) -> Path | None:
    """Return the regular file that `path` leads to, or None if it leads to something else.

    What makes it impossible to write there is found out now, as far as can be.
    """
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        kind = stat.S_IFREG  # it is to be made
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
    """Make a new file in a folder and return it with a descriptor that holds its lock."""
    while True:
        draft = folder / f".ocucb-{os.urandom(8).hex()}"
        # made like any new file, so that it gets the permissions that a new file gets
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        if sys.platform != "win32":
            with suppress(OSError):  # a file system without locks, where nobody sweeps either
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        if draft.exists():
            return draft, descriptor
        os.close(descriptor)  # somebody swept it away before it was locked


def _sweep(folder: Path) -> None:
    """Remove the drafts of processes that were killed, and of no other."""
    try:
        names = os.listdir(folder)
    except PermissionError:  # files may be made here, and not be looked for
        return
    for name in filter(_DRAFT.fullmatch, names):
        with suppress(OSError):  # it is being written, gone by now, or not ours to remove
            _remove_if_abandoned(folder / name)


def _remove_if_abandoned(draft: Path) -> None:
    if sys.platform == "win32":
        if time.time() - draft.stat().st_mtime > _OLD:
            draft.unlink()
        return
    descriptor = os.open(draft, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its writer lives
        draft.unlink()
    finally:
        os.close(descriptor)
