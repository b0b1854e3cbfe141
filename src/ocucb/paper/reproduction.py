"""The whole reproduction: measure, then write data, figures, claims and page into one folder."""

from __future__ import annotations

import csv
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from .._files import check_writable, make_folder, noting, replacing
from .._text import to_count
from .._waiting import Interrupts
from ..reports import pictures
from ..reports.measure import RunContext
from ..reports.progress import Display
from ..results import QUANTILES
from ..simulation import to_workers
from ..store import Store
from . import drawing
from .claims import Finding
from .measure import Point, Task, measure, tasks_again, tasks_of, with_mixtures, work_points
from .page import Report, page
from .panels import FIGURES, PRECISION, Panel, moss_constant_of, panels, select
from .sentences import judge, places_to_measure_again

_FIRST = ("x", "line", "policy", "problem", "horizon", "engine", "N")
_SAMPLING = ("sampling", "effective_runs", "mean_weight", "precision")
_SPREAD = ("deviation", "deviation_stderr")
_FOUND = ("mean", "stderr", *_SPREAD)
_COLUMNS = (*_FIRST, *_SAMPLING, *_FOUND, *(f"q{level:g}" for level in QUANTILES), "seed")


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
    precision: float = PRECISION,
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
    precision : float
        Largest standard error of a point, as a share of its panel's axis; four times as much for
        curves with α = 1 and in "exp10". Runs are tilted where this pays.
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
    if not 0.0 < precision < 1.0:
        raise ValueError(f"precision must be between 0 and 1, got {precision:g}.")
    wanted = precision if runs is None and scale is None else math.nan
    threads = to_workers(workers)
    folder = Path(out)
    make_folder(folder)
    figures = [name for name, (_, parts) in FIGURES.items() if runs_of.keys() & set(parts)]
    drawn = [f"{name}.{ending}" for name in figures for ending in pictures.ENDINGS]
    data = [f"{panel.name}.csv" for panel in chosen]
    others = ("again.csv", "claims.csv", "index.html")
    runs_kept = folder / "results.db"
    check_writable(*(folder / name for name in (*data, *drawn, *others)), store=runs_kept)
    began = time.monotonic()
    with Store(runs_kept) as store, Display(progress) as display:

        def measured(tasks: list[Task]) -> list[Point]:
            with Interrupts() as interrupts:
                context = RunContext(threads, executor, store, display, interrupts)
                return measure(with_mixtures(tasks, context), context, say)

        points = measured(tasks_of(chosen, runs_of, seed, wanted))
        for panel in chosen:
            if panel.work:
                points += work_points(panel, min(runs_of[panel.name], panel.full_runs), seed)
        failures: list[str] = []
        files = [_write_points(folder, panel.name, points, seed, failures) for panel in chosen]
        # Panels measured by an earlier call stay on the page.
        for name in every:
            if name not in runs_of:
                points += _earlier(folder, name, seed)
        # Which may be with another constant of MOSS.
        known = panels(moss_constant_of(one.policy for one in points if one.panel == "exp10"))
        again = measured(tasks_again(known, places_to_measure_again(points), points, seed))
        files.append(_write_again(folder, again, seed, failures))
        display.say("drawing")
        spent = time.monotonic() - began
        files += _write_figures(folder, every, points, failures)
        findings = judge(points, again)
        files.append(_write_findings(folder, findings, failures))
        report = Report(points, findings, every, seed, threads, spent)
        files.append(folder / "index.html")
        with noting(failures, files[-1]), replacing(files[-1]) as file:
            file.write(page(report, folder))
    return Reproduction(findings, files, failures)


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


def _write_points(
    folder: Path, name: str, points: Sequence[Point], seed: int, failures: list[str]
) -> Path:
    path = folder / f"{name}.csv"
    with noting(failures, path), replacing(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows(_row(one, seed) for one in points if one.panel == name)
    return path


def _write_again(folder: Path, again: Sequence[Point], seed: int, failures: list[str]) -> Path:
    path = folder / "again.csv"
    with noting(failures, path), replacing(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("panel", *_COLUMNS))
        writer.writerows((one.panel, *_row(one, seed)) for one in again)
    return path


def _row(one: Point, seed: int) -> tuple[object, ...]:
    what = (one.x, one.line, one.policy, one.problem, one.horizon, one.engine)
    how = (one.runs, one.sampling, one.effective_runs, one.mean_weight, one.precision)
    found = (one.mean, one.stderr, one.deviation, one.deviation_error)
    return (*what, *how, *found, *one.quantiles, seed)


def _earlier(folder: Path, name: str, seed: int) -> list[Point]:
    """Return the points that an earlier call wrote, if they are complete and of the same seed.

    They may have another constant of MOSS, which their names, the legend and the page then state.
    """
    points = read_points(folder / f"{name}.csv", name, seed)
    try:
        panel = panels(moss_constant_of(one.policy for one in points))[name]
    except ValueError:  # no such policy: the file is damaged
        return []
    expected = [(line.label, x) for line in panel.lines for x in panel.xs]
    return points if [(one.line, one.x) for one in points] == expected else []


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
    return Point(
        panel=name,
        line=row[1],
        x=float(row[0]),
        policy=row[2],
        problem=row[3],
        engine=row[5],
        horizon=int(row[4]),
        runs=int(row[6]),
        sampling=row[7],
        effective_runs=float(row[8]),
        mean_weight=float(row[9]),
        precision=float(row[10]),
        mean=float(row[11]),
        stderr=float(row[12]),
        deviation=float(row[13]),
        deviation_error=float(row[14]),
        quantiles=tuple(map(float, row[15:-1])),
        seconds=float("nan"),
    )


def _write_figures(
    folder: Path, every: dict[str, Panel], points: Sequence[Point], failures: list[str]
) -> list[Path]:
    there = {one.panel for one in points}
    files = []
    for name, (_, parts) in FIGURES.items():
        mine = {part: every[part] for part in parts if part in there}
        if mine:
            files += pictures.write(drawing.draw(name, mine, points), folder, name, failures)
    return files


def _write_findings(folder: Path, findings: Sequence[Finding], failures: list[str]) -> Path:
    path = folder / "claims.csv"
    with noting(failures, path), replacing(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        head = ("claim", "quote", "source", "verdict", "answer", "statistic", "where", "value")
        writer.writerow((*head, "stderr", "side", "surely", "never", "verdict_of_statistic"))
        for one in findings:
            claim = (one.claim.number, one.claim.quote, one.claim.source, one.verdict, one.words)
            for criterion in one.criteria:
                estimate = criterion.estimate
                side = "below" if criterion.below else "above"
                found = (criterion.statistic, estimate.where, estimate.value, estimate.error)
                limits = (side, criterion.surely, criterion.never, criterion.verdict)
                writer.writerow((*claim, *found, *limits))
            if not one.criteria:
                writer.writerow((*claim, *[""] * 8))
    return path
