"""Progress of long work, shown on standard error if that is a terminal."""

from __future__ import annotations

import sys
import time
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from ._text import duration
from .scheduler import Job
from .specification import Block

if TYPE_CHECKING:
    from typing import Self


class ProgressBar:
    """A bar that lasts as long as the work, and stays away from short work.

    If `wanted` is None, it is shown if standard error is a terminal. `count` formats the count.
    """

    patience = 1.0  # seconds before it appears

    def __init__(self, wanted: bool | None, count: str) -> None:
        people = sys.stderr is not None and sys.stderr.isatty()
        self.wanted = people if wanted is None else wanted
        self._count = count
        self._bar: Any = None
        self._tasks: dict[Any, Any] = {}
        self._opened = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def due(self) -> bool:
        """Whether there is anybody to show something to, and it is time to."""
        return self.wanted and time.monotonic() - self._opened >= self.patience

    def show(self, line: Any, label: str, **values: Any) -> None:
        """Show `label`, `completed`, `total`, `rate` and `left` of a line, once the bar is due."""
        if not self.due:
            return
        if self._bar is None:
            self._bar = _bar(self._count)
            self._bar.start()
        if line not in self._tasks:
            first = {"total": None, "rate": "", "left": "", **values}
            self._tasks[line] = self._bar.add_task(label, **first)
        self._bar.update(self._tasks[line], description=label, **values)


class Compiling:
    """Says what is being compiled and for how long, if anybody waits for it.

    If `wanted` is None, it is said if standard error is a terminal, where the line disappears in
    the end; elsewhere there is one line for each policy.
    """

    patience = 0.5  # seconds before it is said

    def __init__(self, wanted: bool | None) -> None:
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._wanted = self._terminal if wanted is None else wanted
        self._label, self._over = "", Event()
        self._speaker = Thread(target=self._speak, daemon=True)

    def __enter__(self) -> Self:
        if self._wanted:
            self._speaker.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        if self._wanted:
            self._speaker.join()

    def begin(self, label: str) -> None:
        """Note what is compiled from now on."""
        self._label = label

    def _speak(self) -> None:
        began, said = time.monotonic(), ""
        while not self._over.wait(self.patience):
            seconds = time.monotonic() - began
            if self._terminal:
                said = f"compiling {self._label} … {seconds:.0f} s"
                print(f"\r\x1b[2K{said}", end="", file=sys.stderr, flush=True)
            elif said != self._label:
                said = self._label
                print(f"compiling {said} …", file=sys.stderr, flush=True)
        if self._terminal and said:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


class Meter(ProgressBar):
    """Shows the policy, its finished runs, the rate in pulls per second, and the time left."""

    def __init__(self, wanted: bool | None) -> None:
        super().__init__(wanted, "{task.completed:,.0f}/{task.total:,.0f} runs")
        self._job: Job | None = None
        self._began = time.monotonic()
        self._played = 0

    def watch(self, job: Job, block: Block, played: bool) -> None:
        """Record a merged block; blocks from a store (not `played`) do not count for the rate."""
        now = time.monotonic()
        if job is not self._job:
            self._job, self._began, self._played = job, now, 0
        self._played += block.moments.runs if played else 0
        if not self.due:
            return
        assert job.merged is not None
        done = job.merged.runs
        low = high = float(job.runs)
        note = ""
        if job.precision is not None:
            low, high = (done, done) if job.finished else job.runs_needed()
            note = precision_note(job)
        speed = self._played / max(now - self._began, 1e-3)
        left = time_left(low - done, high - done, speed) if self._played else ""
        self.show(
            id(job),
            job.specification.policy.label,
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


def _bar(count: str) -> Any:
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
