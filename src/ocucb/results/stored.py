"""What a store holds, as a list: text, CSV, or grouped by problem for figures."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from .._text import duration, table_of
from .files import write_csv
from .policy_result import PolicyResult, mean_with_error
from .simulation_result import COLUMNS, SimulationResult, joined


@dataclass(frozen=True, eq=False)
class Stored(SimulationResult):
    """One policy in a store: its result so far, and when its last block was finished."""

    finished: float

    @property
    def result(self) -> PolicyResult:
        """The policy's result."""
        return self.policies[0]

    def __repr__(self) -> str:
        return listing([self])


_TABLE: dict[str, Callable[[Stored], str]] = {
    "policy": lambda stored: stored.result.label,
    "problem": lambda stored: f"{stored.problem} ({stored.rewards})",
    "horizon": lambda stored: f"{stored.result.horizon:,}",
    "seed": lambda stored: str(stored.seed),
    "runs": lambda stored: f"{stored.result.runs:,}",
    "mean regret": lambda stored: mean_with_error(stored.result)[0],
    "± 2 s.e.": lambda stored: mean_with_error(stored.result)[1],
    "engine": lambda stored: stored.result.engine,
    "age": lambda stored: duration(time.time() - stored.finished),
}


def listing(found: list[Stored]) -> str:
    """Return simulations as text, one line each."""
    if not found:
        return "no simulations found"
    return table_of(found, _TABLE, left=("policy", "problem", "± 2 s.e.", "engine"))


def to_csv(found: list[Stored], path: str | os.PathLike[str]) -> None:
    """Write the regret of simulations at their checkpoints to a CSV file."""
    write_csv(path, COLUMNS, [row for result in together(found) for row in result.rows()])


def together(found: list[Stored]) -> list[SimulationResult]:
    """Group simulations as `simulate` does: policies on the same problem together."""
    groups: dict[tuple[object, ...], list[Stored]] = {}
    for stored in found:
        place = (stored.problem, stored.rewards, stored.sigma, stored.seed, stored.result.horizon)
        groups.setdefault((*place, stored.means.tobytes()), []).append(stored)
    return [joined(group) for group in groups.values()]
