"""The progress bar of long simulations, on standard error and for people only."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .blocks import Block
    from .conduct import Job

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
        self._tasks: dict[int, Any] = {}

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def watch(self, job: Job, block: Block) -> None:
        """Take note of a block that was merged."""
        if not self._wanted or time.monotonic() - self._began < _PATIENCE:
            return
        assert job.merged is not None
        if self._bar is None:
            self._bar = _bar()
            self._bar.start()
        if id(job) not in self._tasks:
            self._tasks[id(job)] = self._bar.add_task(
                job.specification.policy.label,
                total=job.runs,
                horizon=job.specification.horizon,
                note="",
            )
        facts: dict[str, Any] = {"completed": job.merged.runs}
        if job.precision is not None:
            facts["total"] = job.merged.runs if job.finished else sum(job.runs_needed()) / 2
            facts["note"] = precision_note(job)
        self._bar.update(self._tasks[id(job)], **facts)


def precision_note(job: Job) -> str:
    """Say how precise a job is by now, and between which numbers of runs it will end."""
    assert job.merged is not None
    mean = float(job.merged.mean[-1])
    now = f"±{100 * job.bar / mean:.2g}%" if mean > 0 else ""
    if job.finished:
        return now
    low, high = job.runs_needed()
    if high < 1.3 * low:
        return f"{now}, needs {_short(high)} runs"
    # A bar that is not known well cannot say when it will be small enough.
    return (
        f"{now}, needs {_short(low)} to {_short(high)} runs{' or more' if high > 3 * low else ''}"
    )


def _short(runs: float) -> str:
    """Return a number in two digits: 1,200 or 1.2 million."""
    if runs >= 1e6:
        return f"{runs / 1e6:.2g} million"
    step = 10 ** max(0, len(str(int(runs))) - 2)
    return f"{round(runs / step) * step:,}"


def _bar() -> Any:
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

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} runs"),
        Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
    )
