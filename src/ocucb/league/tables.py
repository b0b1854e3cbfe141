"""The league as rows of data files, and back."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..reports.estimates import Uncertain
from .measure import Cell
from .problems import KINDS
from .standings import Player, Row, Standings

# files that are kept from earlier may lack the last two
_ESTIMATES = ("mean", "deviation", "failure", "disaster", "instability", "coverage")
_CELL = ("place", "policy", "label", "problem", "horizon", "engine", "sampling", "runs")
_MORE = ("effective_runs", "median", "disaster_bound", "disasters", "reached")
CELL_COLUMNS = (
    *_CELL,
    *(column for name in _ESTIMATES for column in (name, f"{name}_stderr")),
    *_MORE,
    "seed",
)
# of league.csv, each with what it says of a row; the kind of rewards comes first
_ROW: dict[str, Callable[[Row], Any]] = {
    "policy": lambda row: row.player.name,
    "needs_horizon": lambda row: row.player.needs_horizon,
    "problems": lambda row: row.played,
    "of": lambda row: row.contests,
    "worst_ratio": lambda row: row.worst.value,
    "worst_ratio_stderr": lambda row: row.worst.error,
    "worst_problem": lambda row: row.worst.where,
    "mean_ratio": lambda row: row.mean.value,
    "mean_ratio_stderr": lambda row: row.mean.error,
    "mean_ratio_jackknife": lambda row: row.spread,
    "deviation": lambda row: row.deviation,
    "instability": lambda row: row.instability,
    "coverage": lambda row: row.coverage,
    "disaster": lambda row: row.disaster.value,
    "disaster_stderr": lambda row: row.disaster.error,
    "disaster_bound": lambda row: row.disaster_bound,
    "disaster_problem": lambda row: row.disaster.where,
    "short": lambda row: row.few_runs,
}
ROW_COLUMNS = ("rewards", *_ROW)
PLAYER_COLUMNS = ("policy", "label", "needs_horizon", "defaults", "seconds")


def player_row(player: Player) -> list[Any]:
    """Return a row of policies.csv."""
    return [player.name, player.label, player.needs_horizon, player.defaults, player.seconds]


def read_players(path: Path) -> list[Player]:
    """Return the policies of a file that a league wrote."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Player(row["policy"], row["label"], horizon, float(row["seconds"]), row["defaults"])
        for row in rows
        for horizon in [row["needs_horizon"] == "True"]
    ]


def cell_row(cell: Cell, seed: int) -> list[Any]:
    """Return a row of cells.csv."""
    estimates: list[Uncertain] = [getattr(cell, name) for name in _ESTIMATES]
    return [
        *(getattr(cell, name) for name in _CELL),
        *(number for estimate in estimates for number in (estimate.value, estimate.error)),
        *(getattr(cell, name) for name in _MORE),
        seed,
    ]


def read_cells(path: Path) -> list[Cell]:
    """Return the cells of a file that a league wrote."""

    def cell(row: dict[str, str]) -> Cell:
        facts: dict[str, Any] = {name: row[name] for name in _CELL}
        facts |= {name: int(row[name]) for name in ("horizon", "runs")}
        facts |= {name: float(row[name]) for name in _MORE if name != "reached"}
        for name in _ESTIMATES:
            value, stderr = (float(row.get(key, "nan")) for key in (name, f"{name}_stderr"))
            facts[name] = Uncertain(value, stderr)
        return Cell(**facts, reached=row["reached"] == "True", seconds=math.nan)

    with open(path, encoding="utf-8", newline="") as file:
        return [cell(row) for row in csv.DictReader(file)]


def standing_rows(standings: Standings) -> Iterator[Sequence[Any]]:
    """Yield the rows of league.csv."""
    for kind in KINDS:
        for row in standings.table(standings.of_kind(kind)):
            yield (kind, *(read(row) for read in _ROW.values()))
