"""What visitors may take: limits for each and for all, and how the processor is shared."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from .crew import Account

_REMEMBERED = 4096  # visitors


class Busy(Exception):
    """The page must wait; the message says why."""


class Visitors:
    """Who is here.

    A visitor may have `each` streams open, and begin `rate` a second on average; all of them
    together may have `most`.
    """

    def __init__(self, each: int, most: int, rate: float) -> None:
        self._each, self._most, self._rate = each, most, rate
        self._lock = threading.Lock()
        self._open: dict[str, int] = {}
        self._known: OrderedDict[str, tuple[Account, list[float]]] = OrderedDict()

    @contextmanager
    def visit(self, name: str) -> Iterator[Account]:
        """Let a visitor in for one stream, or raise `Busy`."""
        with self._lock:
            account, tokens = self._known.pop(name, (Account(), [10.0 * self._rate, 0.0]))
            self._known[name] = account, tokens
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            now = time.monotonic()
            tokens[0] = min(10.0 * self._rate, tokens[0] + self._rate * (now - tokens[1]))
            tokens[1] = now
            if tokens[0] < 1.0:
                raise Busy("you change things faster than this lab allows; wait a moment.")
            if self._open.get(name, 0) >= self._each:
                raise Busy("too many of your pages are playing; close one.")
            if sum(self._open.values()) >= self._most:
                raise Busy("the lab is full; try again in a minute.")
            tokens[0] -= 1.0
            self._open[name] = self._open.get(name, 0) + 1
        try:
            yield account
        finally:
            with self._lock:
                self._open[name] -= 1
                if not self._open[name]:
                    del self._open[name]

    @property
    def streams(self) -> int:
        """How many are open."""
        with self._lock:
            return sum(self._open.values())
