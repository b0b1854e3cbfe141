"""The progress bar of a sweep, shown on standard error if that is a terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

from ..progress import progress_bar, time_left
from .cloud import Cloud

_PATIENCE = 1.0  # seconds before a bar appears


class SweepMeter:
    """Shows the policy, its finished runs per point, and the time left.

    If `wanted` is None, it is shown if standard error is a terminal.
    """

    def __init__(self, wanted: bool | None) -> None:
        people = sys.stderr is not None and sys.stderr.isatty()
        self._wanted = people if wanted is None else wanted
        self._bar: Any = None
        self._task: Any = None
        self._cloud: Cloud | None = None
        self._opened = self._began = time.monotonic()
        self._done = self._played = 0

    def __enter__(self) -> SweepMeter:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, cloud: Cloud, total: int, runs: int, played: bool) -> None:
        """Record runs at each point; those from a store (not `played`) do not count for the rate.

        `total` is the number of runs, or the most that a precision may take.
        """
        now = time.monotonic()
        if cloud is not self._cloud:
            self._cloud, self._task, self._began = cloud, None, now
            self._done = self._played = 0
        self._done += runs
        self._played += runs if played else 0
        if not self._wanted or now - self._opened < _PATIENCE:
            return
        if self._bar is None:
            self._bar = progress_bar("{task.completed:,.0f}/{task.total:,.0f} runs per point")
            self._bar.start()
        if self._task is None:
            self._task = self._bar.add_task(cloud.label, rate="", left="")
        speed = self._played / max(now - self._began, 1e-3)
        left = time_left(0.0, total - self._done, speed) if self._played else ""
        rate = f"{speed * cloud.pulls:.2g} pulls/s"
        self._bar.update(self._task, completed=self._done, total=total, rate=rate, left=left)
