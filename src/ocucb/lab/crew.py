"""Who plays for all visitors: a few threads that serve whoever has had the least.

A lane is an executor, so whatever takes executors can be played on it. Closing a lane stops, at
once, what it is playing.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from .._types import Flags
from ..scheduler import Here

T = TypeVar("T")
HALF_LIFE = 10.0  # seconds in which half of what a visitor has had is forgotten


class Account:
    """How many seconds of a processor a visitor has had lately."""

    def __init__(self) -> None:
        self._seconds, self._when = 0.0, time.monotonic()

    @property
    def recent(self) -> float:
        """What counts of it now."""
        return float(self._seconds * 0.5 ** ((time.monotonic() - self._when) / HALF_LIFE))

    def add(self, seconds: float) -> None:
        """Charge some seconds."""
        self._seconds, self._when = self.recent + seconds, time.monotonic()


class Lane(Here):
    """The part of a crew that plays for one page."""

    def __init__(self, crew: Crew, account: Account) -> None:
        self._crew, self.account = crew, account
        self.seconds = 0.0  # of a processor, so far
        self.waiting: deque[tuple[Future[Any], Callable[..., Any], tuple[Any, ...], Flags]] = (
            deque()
        )
        self.stops: dict[int, Flags] = {}
        self.closed = False

    def submit(self, task: Callable[..., T], /, *arguments: Any, **named: Any) -> Future[T]:
        """Have a task done whose last argument tells it to stop."""
        future: Future[T] = Future()
        *_, stop = arguments
        with self._crew.changed:
            if self.closed:
                future.cancel()
                return future
            self.stops[id(stop)] = stop
            self.waiting.append((future, task, arguments, stop))
            self._crew.changed.notify()
        return future

    def close(self) -> None:
        """Drop what is waiting, and stop what is being played."""
        with self._crew.changed:
            self.closed = True
            left = list(self.waiting)
            self.waiting.clear()
            for stop in self.stops.values():
                stop[0] = True
            self._crew.lanes.discard(self)
        for future, *_ in left:
            future.cancel()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave it open: `close` ends it."""


class Crew:
    """Threads that serve lanes."""

    def __init__(self, threads: int) -> None:
        self.changed = threading.Condition()
        self.lanes: set[Lane] = set()
        self._ended = False
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def lane(self, account: Account) -> Lane:
        """Return a lane of one's own."""
        made = Lane(self, account)
        with self.changed:
            self.lanes.add(made)
        return made

    def end(self) -> None:
        """Close all lanes and let the threads go."""
        for lane in list(self.lanes):
            lane.close()
        with self.changed:
            self._ended = True
            self.changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _next(self) -> Lane | None:
        ready = [lane for lane in self.lanes if lane.waiting]
        return min(ready, key=lambda lane: (lane.account.recent, lane.seconds), default=None)

    def _work(self) -> None:
        while True:
            with self.changed:
                while (lane := self._next()) is None:
                    if self._ended:
                        return
                    self.changed.wait()
                future, task, arguments, _ = lane.waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            began = time.thread_time()
            try:
                result = task(*arguments)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
            seconds = time.thread_time() - began
            with self.changed:
                lane.seconds += seconds
                lane.account.add(seconds)
