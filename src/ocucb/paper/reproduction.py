"""The whole reproduction: measure, then write data, figures, claims and page into one folder."""

from __future__ import annotations

import csv
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._files import check_writable, make_folder, noting, replacing
from .._text import shown, to_count
from .._waiting import Interrupts
from ..reports import pictures
from ..reports.measure import RunContext
from ..reports.progress import Display
from ..results import QUANTILES
from ..simulation import to_workers
from ..store import Store
from . import as_printed, drawing
from .claims import Finding
from .measure import Point, Task, measure, tasks_again, tasks_of, with_mixtures, work_points
from .page import Report, page
from .panels import (
    FIGURES,
    PAPER,
    PAPERS,
    PRECISION,
    Panel,
    moss_constant_of,
    panels,
    select,
)
from .sentences import judge, places_to_measure_again
from .sharing import with_shared_runs

_SAME = ("sampling", "effective_runs", "mean_weight", "precision", "mean", "stderr", "deviation")
# columns of data files, and what they are called in a point; quantiles and the seed follow
_FIELDS = {
    **{name: name for name in ("x", "line", "policy", "problem", "horizon", "engine")},
    "N": "runs",
    **{name: name for name in _SAME},
    "deviation_stderr": "deviation_error",
}
_TYPES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("line", "policy", "problem", "engine", "sampling"), str),
    **dict.fromkeys(("horizon", "runs"), int),  # the others are floats
    "precision": lambda text: PAPER if text == "paper" else float(text),
}
_COLUMNS = (*_FIELDS, *(f"q{level:g}" for level in QUANTILES), "seed")


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction found and wrote.

    Attributes
    ----------
    findings : list of Finding
        The verdicts on the paper's claims.
    files : list of Path
        The files, the page last.
    failures : list of str
        One sentence for each file that could not be written.
    """

    findings: list[Finding]
    files: list[Path]
    failures: list[str]


def reproduce(
    names: Iterable[str] = (),
    out: str | os.PathLike[str] = "reproduction",
    *,
    runs: int | None = None,
    scale: float | None = None,
    precision: float | str = PRECISION,
    seed: int = 1,
    moss_constant: float = 2.0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Reproduction:
    """Measure the panels of the paper, draw its figures and check its claims.

    Parameters
    ----------
    names : list of str
        Panels and figures ("exp10", "fig2"); all of them by default.
    out : path
        The folder for everything. Finished runs are kept there in ``results.db``, so that an
        interrupted reproduction resumes where it stopped, and one with more runs adds to them.
    runs : int, optional
        Plain runs per point, instead of as many as `precision` asks for.
    scale : float, optional
        The same as a fraction of the paper's number; 1 is the paper's own. For our own panels, a
        fraction of 100,000.
    precision : float or "paper"
        Largest standard error of a point, as a share of its panel's axis; 3.75 times as much for
        curves with α = 1 and in "exp10". Or that of as many plain runs as the paper has, panel by
        panel; our own panels then have the default. Runs are tilted, and count for several points,
        where this pays.
    seed : int
    moss_constant : float
        MOSS's constant in "exp10": 2 in the paper's text, 4 in its author's program.
    workers, executor, progress
        As for `simulate`.
    say : callable
        Called with the estimated time before runs are played.

    Returns
    -------
    Reproduction
        The findings on the paper's claims, and the files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = reproduce(["psi"], folder, runs=2)
    ...     done.files[0].name
    'psi.csv'
    """
    every = panels(moss_constant)
    chosen = [every[name] for name in select(names)]
    runs_of = {panel.name: _runs(panel, runs, scale) for panel in chosen}
    share = _share(precision)
    wanted = share if runs is None and scale is None else math.nan
    threads = to_workers(workers)
    folder = Path(out)
    make_folder(folder)
    figures = [name for name, (_, parts) in FIGURES.items() if runs_of.keys() & set(parts)]
    figures += [f"{name}-paper" for name in figures if name in PAPERS]
    drawn = [f"{name}.{ending}" for name in figures for ending in pictures.ENDINGS]
    data = [f"{panel.name}.csv" for panel in chosen]
    others = ("again.csv", "claims.csv", "index.html")
    runs_kept = folder / "results.db"
    check_writable(*(folder / name for name in (*data, *drawn, *others)), store=runs_kept)
    began, processor = time.monotonic(), time.process_time()
    with Store(runs_kept) as store, Display(progress) as display:

        def measured(tasks: list[Task]) -> list[Point]:
            with Interrupts() as interrupts:
                context = RunContext(threads, executor, store, display, interrupts)
                points = measure(with_mixtures(tasks, context), context, say)
                return with_shared_runs(tasks, points, context, say)

        points = measured(tasks_of(chosen, runs_of, seed, wanted))
        for panel in chosen:
            if panel.work:
                points += work_points(panel, min(runs_of[panel.name], panel.full_runs), seed)
        failures: list[str] = []
        files = []
        for panel in chosen:
            rows = [_row(point, seed) for point in points if point.panel == panel.name]
            path = folder / f"{panel.name}.csv"
            files.append(_write_table(path, [_COLUMNS, *rows], failures))
        # Panels measured by an earlier call stay on the page.
        for name in every:
            if name not in runs_of:
                points += _earlier(folder, name, seed)
        # Which may be with another constant of MOSS.
        known = panels(moss_constant_of(p.policy for p in points if p.panel == "exp10"))
        again = measured(tasks_again(known, places_to_measure_again(points), points, seed))
        rows = [(point.panel, *_row(point, seed)) for point in again]
        table = [("panel", *_COLUMNS), *rows]
        files.append(_write_table(folder / "again.csv", table, failures))
        display.say("drawing")
        spent = time.monotonic() - began, time.process_time() - processor
        files += _write_figures(folder, every, points, failures)
        findings = judge(points, again)
        files.append(_write_table(folder / "claims.csv", _finding_rows(findings), failures))
        report = Report(points, findings, every, seed, threads, *spent)
        files.append(folder / "index.html")
        with noting(failures, files[-1]), replacing(files[-1]) as file:
            file.write(page(report, folder))
    return Reproduction(findings, files, failures)


def _share(precision: float | str) -> float:
    """Return the share of an axis, or `PAPER`."""
    if precision == "paper":
        return PAPER
    if isinstance(precision, str) or not 0.0 < precision < 1.0:
        raise ValueError(f'precision must be between 0 and 1, or "paper", got {shown(precision)}.')
    return precision


def _runs(panel: Panel, runs: int | None, scale: float | None) -> int:
    if runs is not None and scale is not None:
        raise ValueError(f"pass either runs or scale, got both: {runs} and {scale:g}.")
    if runs is not None:
        return to_count(runs, "runs")
    if scale is not None:
        if not 0.0 < scale <= 1e6:
            raise ValueError(f"scale must be greater than 0 and at most 1e6, got {scale:g}.")
        return max(1, round(scale * panel.full_runs))
    return panel.fewest_runs


def _write_table(path: Path, rows: Iterable[Sequence[object]], failures: list[str]) -> Path:
    with noting(failures, path), replacing(path) as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return path


def _row(point: Point, seed: int) -> tuple[object, ...]:
    found = {field: getattr(point, field) for field in _FIELDS.values()}
    if point.precision == PAPER:
        found["precision"] = "paper"
    return (*found.values(), *point.quantiles, seed)


def _earlier(folder: Path, name: str, seed: int) -> list[Point]:
    """Return the points that an earlier call wrote, if they are complete and of the same seed.

    They may have another constant of MOSS, which their names, the legend and the page then state.
    """
    points = read_points(folder / f"{name}.csv", name, seed)
    try:
        panel = panels(moss_constant_of(point.policy for point in points))[name]
    except ValueError:  # no such policy: the file is damaged
        return []
    expected = [(line.label, x) for line in panel.lines for x in panel.xs]
    return points if [(point.line, point.x) for point in points] == expected else []


def read_points(path: Path, name: str, seed: int) -> list[Point]:
    """Return the points of a panel's file; none if it is damaged or has another seed.

    In ``again.csv``, whose points belong to several panels, each row states its own; `name` is "".
    """
    columns = _COLUMNS if name else ("panel", *_COLUMNS)
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        if tuple(rows[0]) != columns or any(row[-1] != str(seed) for row in rows[1:]):
            return []
        return [_point(name, row) if name else _point(row[0], row[1:]) for row in rows[1:]]
    except (OSError, ValueError, IndexError):
        return []


def _point(name: str, row: Sequence[str]) -> Point:
    pairs = zip(_FIELDS.values(), row[: len(_FIELDS)], strict=True)  # a short row is damaged
    found: dict[str, Any] = {field: _TYPES.get(field, float)(text) for field, text in pairs}
    quantiles = tuple(map(float, row[len(_FIELDS) : -1]))
    return Point(panel=name, **found, quantiles=quantiles, seconds=math.nan)


def _write_figures(
    folder: Path, every: dict[str, Panel], points: Sequence[Point], failures: list[str]
) -> list[Path]:
    there = {point.panel for point in points}
    files = []
    for name, (_, parts) in FIGURES.items():
        mine = {part: every[part] for part in parts if part in there}
        if mine:
            files += pictures.write(drawing.draw(name, mine, points), folder, name, failures)
        if mine and name in PAPERS:
            printed = as_printed.draw(name, list(mine.values()), points)
            files += pictures.write(printed, folder, f"{name}-paper", failures)
    return files


def _finding_rows(findings: Sequence[Finding]) -> Iterator[Sequence[object]]:
    """Yield the rows of claims.csv."""
    head = ("claim", "quote", "source", "verdict", "answer", "statistic", "where", "value")
    yield (*head, "stderr", "side", "surely", "never", "verdict_of_statistic")
    for finding in findings:
        claim = finding.claim
        said = (claim.number, claim.quote, claim.source, finding.verdict, finding.words)
        for c in finding.criteria:
            found = (c.statistic, c.estimate.where, c.estimate.value, c.estimate.error)
            limits = ("below" if c.below else "above", c.surely, c.never, c.verdict)
            yield (*said, *found, *limits)
        if not finding.criteria:
            yield (*said, *[""] * 8)
