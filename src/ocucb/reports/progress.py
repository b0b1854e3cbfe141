"""The progress bar of a whole report: what is played, rate, time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from .._text import duration
from ..progress import progress_bar


class Display:
    """A progress bar on standard error, which measures estimated time rather than points.

    If `wanted` is None, it is shown if standard error is a terminal.
    """

    def __init__(self, wanted: bool | None = None) -> None:
        people = sys.stderr is not None and sys.stderr.isatty()
        shown = people if wanted is None else wanted
        self._bar: Any = progress_bar("{task.percentage:.0f}%") if shown else None
        self._task: Any = None

    def __enter__(self) -> Display:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("", total=None, rate="", left="")
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        """Show a description of the current step."""
        if self._bar is not None:
            self._bar.update(self._task, description=text)

    def begin(self, labels: Sequence[str], a_run: Sequence[float], total: float) -> None:
        """Start counting: each task's label and estimated seconds per run, and all seconds."""
        self._labels, self._a_run, self._total = labels, a_run, total
        self._began, self._pulls, self._work = time.monotonic(), 0.0, 0.0
        if self._bar is not None:
            self._bar.update(self._task, total=total, completed=0.0)

    def advance(self, number: int, runs: int, rounds: float, played: bool) -> None:
        """Record runs of the task with this number; only those that are played take time.

        `rounds` is the number of rounds in one run.
        """
        if self._bar is None:
            return
        if played:
            self._work = min(self._total, self._work + self._a_run[number] * runs)
            self._pulls += float(runs) * rounds
        spent = time.monotonic() - self._began
        left = spent * (self._total - self._work) / self._work if self._work > 0.0 else 0.0
        self._bar.update(
            self._task,
            description=self._labels[number],
            completed=self._work,
            rate=f"{self._pulls / max(spent, 1e-3):.1e} pulls/s" if self._pulls else "",
            left=f"{duration(left)} left" if self._pulls else "",
        )
