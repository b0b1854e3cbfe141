"""The progress bar of long simulations, shown on standard error if that is a terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

from ._text import duration
from .scheduler import Job
from .specification import Block

_PATIENCE = 1.0  # seconds before a bar appears: short work stays silent


class Meter:
    """Shows the policy, its finished runs, the rate in pulls per second, and the time left.

    If `wanted` is None, it is shown if standard error is a terminal.
    """

    def __init__(self, wanted: bool | None) -> None:
        people = sys.stderr is not None and sys.stderr.isatty()
        self._wanted = people if wanted is None else wanted
        self._bar: Any = None
        self._job: Job | None = None
        self._opened = self._began = time.monotonic()
        self._played = 0

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def watch(self, job: Job, block: Block, played: bool) -> None:
        """Record a merged block; blocks from a store (not `played`) do not count for the rate."""
        now = time.monotonic()
        if job is not self._job:
            self._job, self._began, self._played, self._task = job, now, 0, None
        self._played += block.moments.runs if played else 0
        if not self._wanted or now - self._opened < _PATIENCE:
            return
        if self._bar is None:
            self._bar = progress_bar("{task.completed:,.0f}/{task.total:,.0f} runs")
            self._bar.start()
        if self._task is None:
            self._task = self._bar.add_task(job.specification.policy.label, rate="", left="")
        assert job.merged is not None
        done = job.merged.runs
        low = high = float(job.runs)
        note = ""
        if job.precision is not None:
            low, high = (done, done) if job.finished else job.runs_needed()
            note = precision_note(job)
        speed = self._played / max(now - self._began, 1e-3)
        left = time_left(low - done, high - done, speed) if self._played else ""
        self._bar.update(
            self._task,
            completed=done,
            total=high,
            rate=f"{speed * job.specification.horizon:.2g} pulls/s",
            left=f"{left}{', ' if left and note else ''}{note}",
        )


def time_left(few: float, many: float, speed: float) -> str:
    """Format the time left for `few` to `many` runs at `speed` runs per second.

    Examples
    --------
    >>> time_left(100, 100, 10), time_left(100, 900, 10), time_left(0, 0, 10)
    ('10 s left', '10 s to 1 min 30 s left', '')
    """
    if many <= 0:
        return ""
    soon, late = duration(max(0.0, few) / speed), duration(many / speed)
    return f"{late} left" if soon == late else f"{soon} to {late} left"


def precision_note(job: Job) -> str:
    """Describe a job's current precision and the range of runs it still needs."""
    assert job.merged is not None
    mean = job.mean.value
    now = f"±{100 * job.half_width / mean:.2g}%" if mean > 0 else ""
    if job.finished:
        return now
    low, high = job.runs_needed()
    if high < 1.3 * low:
        return f"{now}, needs {_short(high)} runs"
    # An uncertain error bar cannot predict when it will be small enough.
    open_end = " or more" if high > 3 * low else ""
    return f"{now}, needs {_short(low)} to {_short(high)} runs{open_end}"


def _short(runs: float) -> str:
    """Format a number with two digits: 1,200 or 1.2 million."""
    if runs >= 1e6:
        return f"{runs / 1e6:.2g} million"
    step = 10 ** max(0, len(str(int(runs))) - 2)
    return f"{round(runs / step) * step:,}"


def progress_bar(count: str) -> Any:
    """Return a bar whose tasks have fields "rate" and "left"; `count` formats the count."""
    # imported only if there is something to show
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(count),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
    )
