"""The whole league: play, then write data, figures and page into one folder."""

from __future__ import annotations

import csv
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from .._files import check_writable, make_folder, noting, replacing
from .._keywords import hinted
from .._text import remedy, shown, to_count
from .._waiting import Interrupts, interruptible
from ..policies import Policy
from ..priors import AnyProblem, Prior
from ..problems import Problem
from ..reports import pictures
from ..reports.measure import RunContext, measure
from ..reports.progress import Display
from ..simulation import to_workers
from ..store import Store
from . import drawing
from .advice import answer
from .entrants import registered, suits
from .measure import BUDGET, PRECISION, Cell, Key, Skipped, Task, make_task, read_cell
from .page import Report, page
from .pairs import PAIR_COLUMNS, pair_rows
from .problems import CONTESTS, Contest, contest_of, select
from .questions import QUESTIONS, Cells
from .standings import Player, Standings
from .tables import CELL_COLUMNS, PLAYER_COLUMNS, ROW_COLUMNS, cell_row, player_row, standing_rows
from .trial import examine

_SHARED = BUDGET / 3.0  # for one instance of a worst case
_LARGE = 4.0 * BUDGET  # for a question: horizons are long, and failures are what it is about
_DATA = ("cells.csv", "league.csv", "pairs.csv", "skipped.csv", "policies.csv")


@dataclass(frozen=True)
class League:
    """What the league found and wrote.

    Attributes
    ----------
    standings : Standings
    answer : str
        Which policy one should use, in a paragraph.
    files : list of Path
        The files, the page last.
    failures : list of str
        One sentence for each file that could not be written.
    """

    standings: Standings
    answer: str
    files: list[Path]
    failures: list[str]


@hinted
def play_league(
    names: Iterable[str] = (),
    out: str | os.PathLike[str] = "league",
    *,
    policies: Iterable[Policy] = (),
    only: Iterable[Policy] | None = None,
    problems: Iterable[tuple[AnyProblem, int]] = (),
    runs: int | None = None,
    precision: float = PRECISION,
    seed: int = 1,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> League:
    """Play every policy on the problems of the league, and answer the paper's open questions.

    Parameters
    ----------
    names : list of str
        Problems and questions ("two", "frontier"); all of them by default, unless you give
        problems of your own.
    out : path
        The folder for everything. Finished runs are kept there in ``results.db``, so that an
        interrupted league resumes where it stopped.
    policies : list of Policy
        Policies that play too, beside those of this package. The answer names them, tables have
        them in bold, figures with a star, and the frontier includes them.
    only : list of Policy, optional
        Who plays instead of all policies of this package.
    problems : list of (Problem or Prior, int), optional
        Problems of your own, each with its horizon.
    runs : int, optional
        Plain runs per cell, instead of as many as `precision` asks for.
    precision : float
        Two standard errors of a mean, as a share of it. Slow policies may get fewer runs than this
        takes; the page says where.
    seed : int
    workers, executor, progress
        As in `simulate`.
    say : callable
        Called with the estimated time before each round of runs.

    Returns
    -------
    League

    Examples
    --------
    >>> import ocucb, tempfile
    >>> pair = [ocucb.OCUCB(), ocucb.UCB()]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = play_league(["short-2"], folder, only=pair, runs=1000)
    >>> done.standings.table(done.standings.contests)[0].player.label
    'OCUCB'
    >>> print(done.answer.partition(" (")[0])
    Gaussian rewards, on short-2 alone, horizon known: OCUCB
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = play_league(
    ...         [], folder, only=pair, runs=1000, problems=[(ocucb.gap(K=3, gap=0.4), 500)]
    ...     )
    >>> [contest.title for contest in done.standings.contests]
    ['gap:K=3,gap=0.4, n = 500']
    """
    if not 0.0 < precision < 1.0:
        raise ValueError(f"precision must be between 0 and 1, got {precision:g}.")
    if runs is not None:
        runs = to_count(runs, "runs")
    contests, questions = _selected(names, problems)
    own = list(policies)
    entrants = _entrants([*(registered() if only is None else only), *own])
    threads = to_workers(workers)
    folder = Path(out)
    make_folder(folder)
    figures = [*(["ratios"] if contests else []), *questions]
    drawn = [f"{name}.{ending}" for name in figures for ending in pictures.ENDINGS]
    runs_kept = folder / "results.db"
    check_writable(*(folder / name for name in (*drawn, *_DATA, "index.html")), store=runs_kept)
    began = time.monotonic()
    with Store(runs_kept) as store, Display(progress) as display:
        display.say("preparing")
        made = _tasks(contests, questions, entrants, own, seed, precision, runs)
        tasks = [task for task in made if isinstance(task, Task)]
        skipped = [task for task in made if isinstance(task, Skipped)]
        with Interrupts() as interrupts:
            context = RunContext(threads, executor, store, display, interrupts)
            cells = measure(tasks, context, read_cell, say, "cells")
        players = _examined(entrants, own, contests, display)
        display.say("drawing")
        report = Report(
            standings=Standings(
                players,
                contests,
                _by_key(cells),
                general=only is None and contests == list(CONTESTS.values()),
            ),
            cells=cells,
            skipped=skipped,
            questions=questions,
            answers=Cells(_by_key(cells), own),
            seed=seed,
            workers=threads,
            seconds=time.monotonic() - began,
            precision=precision,
            runs=runs,
        )
        failures: list[str] = []
        files = write_report(folder, report, failures)
    return League(report.standings, answer(report.standings), files, failures)


def _selected(
    names: Iterable[str], problems: Iterable[tuple[AnyProblem, int]]
) -> tuple[list[Contest], list[str]]:
    """Return the contests and questions that were asked for; all if nothing was."""
    given, own = list(names), [_own(pair) for pair in problems]
    if not given and not own:
        return list(CONTESTS.values()), list(QUESTIONS)
    for name in given:
        if name not in CONTESTS and name not in QUESTIONS:
            choice = remedy(name, [*CONTESTS, *QUESTIONS])
            raise ValueError(f"no problem or question is called {name!r}; {choice}")
    known = [name for name in given if name in CONTESTS]
    contests = [*(select(known) if known else []), *own]
    named: dict[tuple[str, int], AnyProblem] = {}
    for problem, horizon in (instance for contest in contests for instance in contest.instances):
        if named.setdefault((problem.name, horizon), problem).identity != problem.identity:
            raise ValueError(f"two problems are called {problem.name!r}; rename one of them.")
    once = {contest.name: contest for contest in contests}
    return list(once.values()), [name for name in QUESTIONS if name in given]


def _own(pair: Any) -> Contest:
    """Return a problem of the caller's as a contest, or say what is wrong with it."""
    try:
        problem, horizon = pair
    except (TypeError, ValueError):
        problem, horizon = pair, None
    if not isinstance(problem, Problem | Prior) or horizon is None:
        raise TypeError(
            f"problems must be pairs such as (gap(K=2, gap=0.3), 10_000), got {shown(pair)}."
        )
    return contest_of(problem, to_count(horizon, "horizon"))


def _entrants(policies: Sequence[Policy]) -> list[Policy]:
    """Return the policies, or say that two have the same name."""
    for name, count in Counter(policy.name for policy in policies).items():
        if count > 1:
            raise ValueError(f"two policies are called {name!r}; give yours another name.")
    return list(policies)


def _tasks(
    contests: Sequence[Contest],
    questions: Sequence[str],
    entrants: Sequence[Policy],
    own: Sequence[Policy],
    seed: int,
    precision: float,
    runs: int | None,
) -> list[Task | Skipped]:
    """Return every cell, once, in the order of contests and questions."""
    found: dict[Key, Task | Skipped] = {}
    plays = [
        # the instances of a worst case share a budget
        (contest.name, policy, *instance, BUDGET if len(contest.instances) == 1 else _SHARED)
        for contest in contests
        for policy in entrants
        if suits(policy, contest)
        for instance in contest.instances
    ]
    plays += [(name, *play, _LARGE) for name in questions for play in QUESTIONS[name].plays(own)]
    for place, policy, problem, horizon, budget in plays:
        key = policy.name, problem.name, horizon
        if key not in found:
            task = make_task(place, policy, problem, horizon, seed, precision, runs, budget)
            found[key] = task
    return list(found.values())


def _by_key(cells: Iterable[Cell]) -> dict[Key, Cell]:
    return {cell.key: cell for cell in cells}


def _examined(
    policies: Sequence[Policy],
    own: Sequence[Policy],
    contests: Sequence[Contest],
    display: Display,
) -> list[Player]:
    """Return the policies that play in some contests, after a trial."""
    players = []
    for policy in policies:
        suited = [contest for contest in contests if suits(policy, contest)]
        if suited:
            display.say(f"trying {policy.label}")
            bounded = all(contest.kind in ("clicks", "ratings") for contest in suited)
            trial = partial(examine, policy, bounded=bounded, own=policy in own)
            players.append(interruptible(trial))
    return players


def write_report(folder: Path, report: Report, failures: list[str]) -> list[Path]:
    """Write data, figures and page, and return the files, the page last; note failures."""
    files = [folder / name for name in _DATA]
    for path, table in zip(files, _tables(report), strict=True):
        with noting(failures, path), replacing(path) as file:
            csv.writer(file, lineterminator="\n").writerows(table)
    if report.standings.best:
        files += pictures.write(drawing.ratio_map(report.standings), folder, "ratios", failures)
    for name in report.questions:
        files += pictures.write(drawing.draw(name, report.answers), folder, name, failures)
    path = folder / "index.html"
    files.append(path)
    with noting(failures, path), replacing(path) as file:
        file.write(page(report, folder))
    return files


def _tables(report: Report) -> list[list[Sequence[Any]]]:
    """Return the rows of all data files."""
    return [
        [CELL_COLUMNS, *(cell_row(cell, report.seed) for cell in report.cells)],
        [ROW_COLUMNS, *standing_rows(report.standings)],
        [PAIR_COLUMNS, *pair_rows(report.standings)],
        [("place", "policy", "reason"), *map(astuple, report.skipped)],
        [PLAYER_COLUMNS, *map(player_row, report.standings.players)],
    ]
