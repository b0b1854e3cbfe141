"""One progress display for the whole reproduction: panel, policy, rate, time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..blocks import Block
    from ..conduct import Job
    from .run import Task


class Display:
    """A bar on standard error; its length is the estimated time, not the number of points.

    Parameters
    ----------
    wanted : bool or None
        None shows it when standard error is a terminal.
    """

    def __init__(self, wanted: bool | None = None) -> None:
        people = sys.stderr is not None and sys.stderr.isatty()
        self._bar: Any = _bar() if (people if wanted is None else wanted) else None
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
        """Show what is being done."""
        if self._bar is not None:
            self._bar.update(self._task, description=text)

    def begin(self, tasks: Sequence[Task], seconds: Sequence[float]) -> None:
        """Start to count, with the estimated time of each task."""
        self._tasks, self._seconds = tasks, seconds
        self._began, self._pulls, self._work = time.monotonic(), 0.0, 0.0
        self._total = sum(seconds)
        if self._bar is not None:
            self._bar.update(self._task, total=self._total, completed=0.0)

    def advance(self, number: int, job: Job, block: Block) -> None:
        """Take note of a block of the task with this number."""
        task = self._tasks[number]
        self._work += self._seconds[number] * block.moments.runs / task.runs
        self._pulls += float(block.moments.runs) * job.specification.horizon
        if self._bar is None:
            return
        spent = time.monotonic() - self._began
        left = spent * (self._total / max(self._work, 1e-9) - 1.0)
        self._bar.update(
            self._task,
            description=f"{task.panel.name}, {task.line.label}",
            completed=self._work,
            rate=f"{self._pulls / max(spent, 1e-9):.1e} pulls/s",
            left=f"{duration(left)} left",
        )


def duration(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> duration(75), duration(7300)
    ('1 min 15 s', '2 h 1 min')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
    )
