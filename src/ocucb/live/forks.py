"""Locks that a fork takes first, so that the child has every bandit in one piece, and unlocked."""

from __future__ import annotations

import threading
import time
import weakref

from .._waiting import at_fork

_PATIENCE = 10.0  # seconds that a fork waits for other threads


class Locked:
    """Whatever changes under a lock, and is saved under another one."""

    __slots__ = ("__weakref__", "_lock", "_saving")

    def __init__(self) -> None:
        self._renew_locks()
        _ALIVE[id(self)] = self

    def _renew_locks(self) -> None:
        self._lock, self._saving = threading.RLock(), threading.RLock()


_ALIVE: weakref.WeakValueDictionary[int, Locked] = weakref.WeakValueDictionary()
_FORKING = threading.RLock()
_HELD: list[threading.RLock] = []  # by the thread that forks


def _living() -> list[Locked]:
    # at once, as other threads may create some meanwhile
    return [alive for reference in _ALIVE.valuerefs() if (alive := reference()) is not None]


def _before_fork() -> None:
    """Wait until no other thread changes anything."""
    _FORKING.acquire()
    deadline = time.monotonic() + _PATIENCE
    for alive in _living():
        lock = alive._lock
        if lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            _HELD.append(lock)


def _after_fork() -> None:
    while _HELD:
        _HELD.pop().release()
    _FORKING.release()


def _after_fork_in_child() -> None:
    """Other threads are gone, and cannot release what they hold."""
    _after_fork()
    for alive in _living():
        alive._renew_locks()


at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
