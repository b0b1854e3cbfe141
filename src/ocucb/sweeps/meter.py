"""The progress bar of a sweep, shown on standard error if that is a terminal."""

from __future__ import annotations

import time

from ..progress import ProgressBar, time_left
from .cloud import Cloud


class SweepMeter(ProgressBar):
    """Shows the policy, its finished runs per point, and the time left."""

    def __init__(self, wanted: bool | None) -> None:
        super().__init__(wanted, "{task.completed:,.0f}/{task.total:,.0f} runs per point")
        self._cloud: Cloud | None = None
        self._began = time.monotonic()
        self._done = self._played = 0

    def advance(self, cloud: Cloud, total: int, runs: int, played: bool) -> None:
        """Record runs at each point; those from a store (not `played`) do not count for the rate.

        `total` is the number of runs, or the most that a precision may take.
        """
        now = time.monotonic()
        if cloud is not self._cloud:
            self._cloud, self._began = cloud, now
            self._done = self._played = 0
        self._done += runs
        self._played += runs if played else 0
        speed = self._played / max(now - self._began, 1e-3)
        left = time_left(0.0, total - self._done, speed) if self._played else ""
        rate = f"{speed * cloud.pulls:.2g} pulls/s"
        self.show(id(cloud), cloud.label, completed=self._done, total=total, rate=rate, left=left)
