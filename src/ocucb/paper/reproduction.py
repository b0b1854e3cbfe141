"""The whole reproduction: measure, write data, figures, claims and the page into one folder."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from .._files import check_writable, make_folder, noting, replacing
from .._text import to_count
from ..progress import duration
from ..results import QUANTILES
from ..simulation import to_workers
from ..store import Store
from . import drawing
from .claims import Finding, judge
from .measure import Point, RunContext, estimate, measure, tasks_of
from .page import Report, page
from .panels import FIGURES, Panel, panels, select
from .progress import Display

_FIRST = ("x", "line", "policy", "problem", "horizon", "engine", "N", "mean", "stderr")
_SPREAD = ("deviation", "deviation_stderr")
_COLUMNS = (*_FIRST, *_SPREAD, *(f"q{level:g}" for level in QUANTILES), "seed")


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction found and wrote, and a sentence for each file that could not be."""

    findings: list[Finding]
    files: list[Path]
    full: str
    failures: list[str]


def reproduce(
    names: Iterable[str] = (),
    out: str | os.PathLike[str] = "reproduction",
    *,
    runs: int | None = None,
    scale: float | None = None,
    seed: int = 1,
    moss_constant: float = 2.0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Reproduction:
    """Measure panels of the paper, draw its figures, check its claims.

    Parameters
    ----------
    names : list of str
        Panels and figures ("exp10", "fig2"); everything by default.
    out : path
        The folder for everything. Finished runs are kept there in ``results.db``: stopped and
        started again it goes on where it was, and with more runs it adds to them.
    runs : int, optional
        Runs for each point, instead of each panel's own default.
    scale : float, optional
        Runs as a share of the paper's number in each panel; 1 is the paper's own.
    seed : int
    moss_constant : float
        MOSS's constant in "exp10": 2 in the paper's text, 4 in its author's program.
    workers, executor, progress
        As for `simulate`.
    say : callable
        Told the estimate of the time before it starts.

    Returns
    -------
    Reproduction
        The findings on the paper's claims, and the files.
    """
    every = panels(moss_constant)
    chosen = [every[name] for name in select(names)]
    number = {panel.name: _runs(panel, runs, scale) for panel in chosen}
    threads = to_workers(workers)
    folder = Path(out)
    make_folder(folder)
    figures = [name for name, (_, parts) in FIGURES.items() if number.keys() & set(parts)]
    pictures = [f"{name}.{ending}" for name in figures for ending in drawing.ENDINGS]
    data = [f"{panel.name}.csv" for panel in chosen]
    check_writable(*(folder / name for name in (*data, *pictures, "claims.csv", "index.html")))
    tasks = tasks_of(chosen, number, seed)
    began = time.monotonic()
    with Store(folder / "results.db") as store, Display(progress) as display:
        means = RunContext(threads, executor, store, display)
        a_run, missing = estimate(tasks, means)
        say(
            f"{len(tasks):,} points in {len(chosen)} panels: about "
            f"{duration(missing / threads)} with {threads} workers."
        )
        display.begin(tasks, a_run, missing)
        points = list(measure(tasks, means))
        display.say("drawing")
        spent = time.monotonic() - began
        failures: list[str] = []
        files = [_write_points(folder, panel.name, points, seed, failures) for panel in chosen]
        # What an earlier call measured stays on the page.
        for name in every:
            if name not in number:
                points += _earlier(folder, name, seed)
        files += _write_figures(folder, every, points, failures)
        findings = judge(points)
        files.append(_write_findings(folder, findings, failures))
        full = _full_time(every, points, threads)
        report = Report(points, findings, every, seed, threads, spent, full)
        files.append(folder / "index.html")
        with noting(failures, files[-1]), replacing(files[-1]) as file:
            file.write(page(report, folder))
    return Reproduction(findings, files, full, failures)


def _runs(panel: Panel, runs: int | None, scale: float | None) -> int:
    if runs is not None and scale is not None:
        raise ValueError(f"give either runs or scale, got {runs} and {scale:g}.")
    if runs is not None:
        return to_count(runs, "runs")
    if scale is not None:
        if not 0.0 < scale <= 1e6:
            raise ValueError(f"scale must be greater than 0 and at most 1e6, got {scale:g}.")
        return max(1, round(scale * panel.paper_runs))
    return panel.default_runs


def _full_time(every: dict[str, Panel], points: Sequence[Point], threads: int) -> str:
    """Say how long the paper's own numbers of runs would take, from the runs that were played."""
    seconds: dict[str, float] = {}
    for one in points:
        if one.seconds == one.seconds:
            share = every[one.panel].paper_runs / one.runs
            seconds[one.panel] = seconds.get(one.panel, 0.0) + share * one.seconds / threads
    longest = sorted(seconds, key=lambda name: -seconds[name])[:3]
    return (
        f"At the paper's own N these panels take about {duration(sum(seconds.values()))} with "
        f"{threads} workers; the longest are "
        + ", ".join(f"{name} ({duration(seconds[name])})" for name in longest)
        + "."
    )


def _write_points(
    folder: Path, name: str, points: Sequence[Point], seed: int, failures: list[str]
) -> Path:
    path = folder / f"{name}.csv"
    with noting(failures, path), replacing(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for one in points:
            if one.panel == name:
                what = (one.x, one.line, one.policy, one.problem, one.horizon, one.engine)
                found = (one.runs, one.mean, one.stderr, one.deviation, one.deviation_error)
                writer.writerow((*what, *found, *one.quantiles, seed))
    return path


def _earlier(folder: Path, name: str, seed: int) -> list[Point]:
    """Return the points that an earlier call wrote, if they are all there and of the same seed."""
    points = _read_points(folder / f"{name}.csv", name, seed)
    found = [(one.line, one.x) for one in points]
    for constant in (2.0, 4.0):
        panel = panels(constant)[name]
        if found == [(line.label, x) for line in panel.lines for x in panel.xs]:
            return points
    return []


def _read_points(path: Path, name: str, seed: int) -> list[Point]:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        if tuple(rows[0]) != _COLUMNS or any(row[-1] != str(seed) for row in rows[1:]):
            return []
        return [
            Point(
                panel=name,
                line=row[1],
                x=float(row[0]),
                policy=row[2],
                problem=row[3],
                engine=row[5],
                horizon=int(row[4]),
                runs=int(row[6]),
                mean=float(row[7]),
                stderr=float(row[8]),
                deviation=float(row[9]),
                deviation_error=float(row[10]),
                quantiles=tuple(map(float, row[11:-1])),
                seconds=float("nan"),
            )
            for row in rows[1:]
        ]
    except (OSError, ValueError, IndexError):
        return []


def _write_figures(
    folder: Path, every: dict[str, Panel], points: Sequence[Point], failures: list[str]
) -> list[Path]:
    there = {one.panel for one in points}
    files = []
    for name, (_, parts) in FIGURES.items():
        mine = {part: every[part] for part in parts if part in there}
        if mine:
            files += drawing.write(drawing.draw(name, mine, points), folder, name, failures)
    return files


def _write_findings(folder: Path, findings: Sequence[Finding], failures: list[str]) -> Path:
    path = folder / "claims.csv"
    with noting(failures, path), replacing(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        head = ("claim", "sentence", "verdict", "statistic", "where", "value", "stderr")
        writer.writerow((*head, "side", "threshold", "verdict_of_statistic"))
        for one in findings:
            said = (one.claim.number, one.claim.sentence, one.verdict)
            for test in one.tests:
                number = (test.number.where, test.number.value, test.number.error)
                side = "below" if test.below else "above"
                writer.writerow((*said, test.words, *number, side, test.threshold, test.verdict))
            if not one.tests:
                writer.writerow((*said, *[""] * 7))
    return path
