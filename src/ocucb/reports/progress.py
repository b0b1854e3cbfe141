"""The progress bar of a whole report: what is played, rate, time left."""

from __future__ import annotations

import time
from collections.abc import Sequence

from .._text import duration
from ..progress import ProgressBar


class Display(ProgressBar):
    """A bar that measures estimated time rather than points."""

    patience = 0.0

    def __init__(self, wanted: bool | None = None) -> None:
        super().__init__(wanted, "{task.percentage:.0f}%")

    def say(self, text: str) -> None:
        """Show a description of the current step."""
        self.show(0, text)

    def begin(self, labels: Sequence[str], a_run: Sequence[float], total: float) -> None:
        """Start counting: each task's label and estimated seconds per run, and all seconds."""
        self._labels, self._a_run, self._total = labels, a_run, total
        self._began, self._pulls, self._work = time.monotonic(), 0.0, 0.0
        self.show(0, "", total=total, completed=0.0)

    def advance(self, number: int, runs: int, rounds: float, played: bool) -> None:
        """Record runs of the task with this number; only those that are played take time.

        `rounds` is the number of rounds in one run.
        """
        if played:
            self._work = min(self._total, self._work + self._a_run[number] * runs)
            self._pulls += float(runs) * rounds
        spent = time.monotonic() - self._began
        left = spent * (self._total - self._work) / self._work if self._work > 0.0 else 0.0
        self.show(
            0,
            self._labels[number],
            completed=self._work,
            rate=f"{self._pulls / max(spent, 1e-3):.1e} pulls/s" if self._pulls else "",
            left=f"{duration(left)} left" if self._pulls else "",
        )
