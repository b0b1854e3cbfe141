"""The league as rows of data files, and back."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..reports.estimates import Uncertain
from .measure import Cell
from .standings import Player, Standings

_ESTIMATES = ("mean", "deviation", "failure", "disaster")
_CELL = ("place", "policy", "label", "problem", "horizon", "engine", "sampling", "runs")
_MORE = ("effective_runs", "median", "disaster_bound", "disasters", "reached")
CELL_COLUMNS = (
    *_CELL,
    *(name for one in _ESTIMATES for name in (one, f"{one}_stderr")),
    *_MORE,
    "seed",
)
ROW_COLUMNS = (
    "rewards",
    "policy",
    "needs_horizon",
    "problems",
    "of",
    "worst_ratio",
    "worst_ratio_stderr",
    "worst_problem",
    "mean_ratio",
    "mean_ratio_stderr",
    "mean_ratio_jackknife",
    "deviation",
    "disaster",
    "disaster_stderr",
    "disaster_bound",
    "disaster_problem",
    "short",
)


PLAYER_COLUMNS = ("policy", "label", "needs_horizon", "defaults", "seconds")


def player_row(player: Player) -> list[Any]:
    """Return a row of policies.csv."""
    return [player.name, player.label, player.needs_horizon, player.defaults, player.seconds]


def read_players(path: Path) -> list[Player]:
    """Return the policies of a file that a league wrote."""
    with open(path, encoding="utf-8", newline="") as file:
        return [
            Player(
                row["policy"],
                row["label"],
                row["needs_horizon"] == "True",
                float(row["seconds"]),
                row["defaults"],
            )
            for row in csv.DictReader(file)
        ]


def cell_row(cell: Cell, seed: int) -> list[Any]:
    """Return a row of cells.csv."""
    estimates: list[Uncertain] = [getattr(cell, name) for name in _ESTIMATES]
    return [
        *(getattr(cell, name) for name in _CELL),
        *(number for one in estimates for number in (one.value, one.error)),
        *(getattr(cell, name) for name in _MORE),
        seed,
    ]


def read_cells(path: Path) -> list[Cell]:
    """Return the cells of a file that a league wrote."""

    def cell(row: dict[str, str]) -> Cell:
        facts: dict[str, Any] = {name: row[name] for name in _CELL}
        facts |= {name: int(row[name]) for name in ("horizon", "runs")}
        facts |= {name: float(row[name]) for name in _MORE if name != "reached"}
        for one in _ESTIMATES:
            facts[one] = Uncertain(float(row[one]), float(row[f"{one}_stderr"]))
        return Cell(**facts, reached=row["reached"] == "True", seconds=math.nan)

    with open(path, encoding="utf-8", newline="") as file:
        return [cell(row) for row in csv.DictReader(file)]


def standing_rows(standings: Standings) -> Iterator[Sequence[Any]]:
    """Yield the rows of league.csv."""
    for rewards, clicks in (("gaussian", False), ("clicks", True)):
        contests = [one for one in standings.contests if one.clicks == clicks]
        for row in standings.table(contests) if contests else []:
            yield (
                rewards,
                row.player.name,
                row.player.needs_horizon,
                row.played,
                row.contests,
                row.worst.value,
                row.worst.error,
                row.worst.where,
                row.mean.value,
                row.mean.error,
                row.spread,
                row.deviation,
                row.disaster.value,
                row.disaster.error,
                row.disaster_bound,
                row.disaster.where,
                row.few_runs,
            )
