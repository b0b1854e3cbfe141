"""The progress bar of long simulations, on standard error and for people only."""

from __future__ import annotations

import sys
import time
from typing import Any

_PATIENCE = 1.0  # seconds before a bar appears: short work stays silent


class Meter:
    """Shows how many runs of which policy are done, the rate in pulls, and the time left.

    Parameters
    ----------
    wanted : bool or None
        None shows it when standard error is a terminal.
    """

    def __init__(self, wanted: bool | None) -> None:
        people = sys.stderr is not None and sys.stderr.isatty()
        self._wanted = people if wanted is None else wanted
        self._bar: Any = None
        self._began = time.monotonic()

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def start(self, label: str, runs: int, horizon: int) -> None:
        """Begin with the next policy."""
        self._label, self._runs, self._horizon, self._done = label, runs, horizon, 0
        self._task: Any = None
        if self._bar is not None:
            self._add_task()

    def advance(self, runs: int) -> None:
        """Say that so many more runs are done."""
        self._done += runs
        if not self._wanted:
            return
        if self._bar is None:
            if time.monotonic() - self._began < _PATIENCE:
                return
            self._open()
        self._bar.update(self._task, completed=self._done)

    def _open(self) -> None:
        # rich is imported only when there is something to show
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            ProgressColumn,
            Task,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.text import Text

        class Rate(ProgressColumn):
            def render(self, task: Task) -> Text:
                speed = task.finished_speed or task.speed
                return Text(f"{speed * task.fields['horizon']:.2g} pulls/s" if speed else "")

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f} runs"),
            Rate(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._bar.start()
        self._add_task()

    def _add_task(self) -> None:
        self._task = self._bar.add_task(
            self._label, total=self._runs, completed=self._done, horizon=self._horizon
        )
