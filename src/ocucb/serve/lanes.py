"""One writer per bandit: requests wait in the bandit's lane, and those that wait share a commit.

A group's transaction (`Turn`) is committed before any of its requests is answered. A request that
is refused changes nothing; one that fails is tried again alone, so that it takes no other down.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from prometheus_client import CollectorRegistry, Histogram

from .errors import Overloaded, Refused, StoreUnavailable
from .metrics import Events
from .models import MOST_ITEMS
from .storage import PATIENCE, Storage
from .stored import Stored
from .turn import Turn, Work

MOST_WAITING = 10_000  # requests in one lane
_LEAST_PATIENCE = 0.05  # seconds, for a request that has waited too long already

T = TypeVar("T")


class Lane:
    """The requests that wait for one bandit, in order."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: deque[Work] = deque()
        self.busy = False
        self.stored: Stored | None = None


class Lanes:
    """A lane for each bandit that somebody asks for, and the threads that empty them."""

    def __init__(
        self, storage: Storage, clock: Callable[[], int], registry: CollectorRegistry
    ) -> None:
        self._storage, self._clock = storage, clock
        self.open: dict[str, Lane] = {}
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(8, "ocucb-serve")
        self._events = Events(registry)
        self._groups = Histogram(
            "ocucb_group_size",
            "Requests that shared a transaction.",
            buckets=[2**i for i in range(9)],
            registry=registry,
        )

    def close(self) -> None:
        """Finish what was begun; nothing new is taken."""
        self._pool.shutdown(wait=True)

    def submit(self, name: str, work: Work) -> Future[Any]:
        """Put a request in the lane of a bandit; the future is done once it is committed."""
        with self._lock:
            lane = self.open.setdefault(name, Lane())
            with lane.lock:
                if len(lane.waiting) >= MOST_WAITING:
                    raise Overloaded(f"too many requests wait for bandit {name!r}; try again.")
                lane.waiting.append(work)
                if not lane.busy:
                    lane.busy = True
                    self._pool.submit(self._drain, name, lane)
        return work.future

    def _drain(self, name: str, lane: Lane) -> None:
        """Carry out all that waits in a lane."""
        while True:
            with lane.lock:
                group: list[Work] = []
                size = 0
                while lane.waiting and size < 2 * MOST_ITEMS:
                    work = lane.waiting.popleft()
                    if work.future.set_running_or_notify_cancel():  # nobody can cancel it now
                        group.append(work)
                        size += work.size
                if not group:
                    lane.busy = False
                    break
            self._commit(name, lane, group)
        if lane.stored is None:  # there is no such bandit, or its store fails: keep nothing
            with self._lock, lane.lock:
                if not lane.busy and self.open.get(name) is lane:
                    del self.open[name]

    def _commit(self, name: str, lane: Lane, group: list[Work]) -> None:
        """Carry out requests in one transaction, and answer them once it is committed."""
        patience = max(_LEAST_PATIENCE, group[0].since + PATIENCE - time.monotonic())
        try:
            with self._storage.writing(patience) as connection:
                turn = Turn(connection, name, lane.stored, self._clock())
                answers = turn.run(group)
        except BaseException as error:
            lane.stored = None  # it may be half-way
            if len(group) > 1 and not isinstance(error, StoreUnavailable | Refused):
                for work in group:
                    self._commit(name, lane, [work])
                return
            for work in group:
                work.future.set_exception(error)
            return
        lane.stored = None if turn.deleted else turn.stored
        self._groups.observe(len(group))
        self._events.count(name, turn.counts.items())
        for work, answer in zip(group, answers, strict=True):
            if isinstance(answer, Refused):
                work.future.set_exception(answer)
            else:
                work.future.set_result(answer)


# Waiting for a lane in an event loop


async def result_of(future: Future[T]) -> T:
    """Return the result of a future of another thread, as `asyncio.wrap_future` would.

    That one wakes the event loop for every result; here those of a group wake it once.
    """
    loop = asyncio.get_running_loop()
    arrivals = _arrivals.setdefault(loop, _Arrivals())
    waiting = loop.create_future()
    future.add_done_callback(lambda _: arrivals.add(waiting, loop))
    try:
        await waiting
    except asyncio.CancelledError:
        future.cancel()
        raise
    return future.result()


class _Arrivals:
    """Futures of an event loop whose results have arrived, and that do not know it yet."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._called = False

    def add(self, waiting: asyncio.Future[None], loop: asyncio.AbstractEventLoop) -> None:
        """Wake one soon; may be called from any thread."""
        self._waiting.append(waiting)
        if not self._called and not loop.is_closed():
            self._called = True
            loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._called = False  # first, so that whoever arrives from now on calls again
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():  # it may have been cancelled
                waiting.set_result(None)


_arrivals: WeakKeyDictionary[asyncio.AbstractEventLoop, _Arrivals] = WeakKeyDictionary()
