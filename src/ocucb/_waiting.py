"""Waiting for threads, and Ctrl-C and forks meanwhile.

Python raises KeyboardInterrupt wherever the main thread happens to be. In the bookkeeping of a lock
this may leave the lock locked, so that a thread waits forever; in a finaliser, or in a callback
from the compiler, Python reports and drops it; just before the main thread falls asleep, it is
not noticed. So while others work for the main thread, Ctrl-C only sets flags, and the main thread
sleeps in naps and looks at them in between.

A forked process has one thread, and the locks as they were: what another thread held stays locked.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np

from ._types import Flags

T = TypeVar("T")

NAP = 0.25  # seconds


def at_fork(**calls: Callable[[], None]) -> None:
    """Register what `os.register_at_fork` takes, where there is such a thing."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**calls)


class Interrupts:
    """Holds back Ctrl-C within the context, until `check` or the end of the context.

    A second Ctrl-C is not held back. In a thread other than the main one, or if the user has
    installed a handler, nothing is held back.
    """

    def __init__(self) -> None:
        self._pressed = False
        self._process = os.getpid()
        self._flags: list[Flags] = []
        self._before: Any = None

    def new_flag(self) -> Flags:
        """Return a flag that tells kernels to stop and that Ctrl-C sets."""
        flag = np.zeros(1, dtype=np.bool_)
        self._flags.append(flag)
        return flag

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed."""
        if self._pressed:
            raise KeyboardInterrupt

    def _heed(self, *arguments: Any) -> None:
        if self._pressed or os.getpid() != self._process:  # a forked worker has its own life
            signal.default_int_handler(*arguments)
        self._pressed = True
        for flag in self._flags:
            flag[0] = True
        if self._before is not signal.default_int_handler:  # that of a context around this one
            self._before(*arguments)

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            outer = getattr(before, "__self__", None)
            if isinstance(outer, Interrupts):
                self._pressed = outer._pressed
            if before is signal.default_int_handler or isinstance(outer, Interrupts):
                self._before = before
                signal.signal(signal.SIGINT, self._heed)
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        # whatever else went wrong, as workers do that heard Ctrl-C too
        if kind is None or not issubclass(kind, KeyboardInterrupt):
            self.check()


def outcome_of(future: Future[T], interrupts: Interrupts) -> T:
    """Wait for a future and return its result."""
    while not wait([future], NAP).done:
        interrupts.check()
    return future.result()


def interruptible(work: Callable[[], T]) -> T:
    """Run work that compiles in another thread, and wait for it or for Ctrl-C.

    Meanwhile the garbage collector rests: it would take a tenth of the time, to save some 20 MB per
    kernel.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    collecting = gc.isenabled()
    with Interrupts() as interrupts:
        helper = ThreadPoolExecutor(1)
        gc.disable()
        try:
            return outcome_of(helper.submit(work), interrupts)
        finally:
            if collecting:
                gc.enable()
            helper.shutdown(wait=False, cancel_futures=True)
