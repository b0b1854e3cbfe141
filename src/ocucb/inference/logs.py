"""Logged decisions, with rewards and propensities: from the service, a CSV or a data frame."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._text import shown
from .._types import Floats

_CERTAIN = 1.0 - 1e-12
_COUNTED = ("reward", "default")  # kinds of the service's entries that bring a reward


@dataclass(frozen=True, eq=False)
class Log:
    """Decisions that could have gone another way, in order, and how many were left out.

    A decision whose propensity is 1 says nothing about other arms, and that it was certain was
    known before: the others remain a fair sample of rounds.
    """

    arms: list[str]
    arm: npt.NDArray[np.int64]  # positions in `arms`
    reward: Floats
    propensity: Floats
    without_reward: int = 0
    without_propensity: int = 0
    certain: int = 0


def read_log(source: Any, arm: str, reward: str, propensity: str) -> Log:
    """Return the log in a file, a data frame or a dictionary of columns."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.suffix.lower() == ".csv":
            columns = _of_csv(path, (arm, reward, propensity))
        elif path.suffix.lower() in (".ndjson", ".jsonl"):
            columns = _of_service(path)
            arm, reward, propensity = "arm", "reward", "propensity"
        else:
            raise ValueError(f"{path} must end in .csv, .ndjson or .jsonl.")
        where = str(path)
    elif isinstance(source, Mapping) or hasattr(source, "columns"):
        columns, where = source, "the log"
    else:
        raise TypeError(f"log must be a file, a data frame or columns, got {shown(source)}.")
    for name in (arm, reward, propensity):
        if name not in columns:
            some = ", ".join(map(str, list(columns)[:8]))
            raise ValueError(f"{where} has no column {name!r}; it has {some}.")
    names = [str(name) for name in columns[arm]]
    return _checked(names, columns[reward], columns[propensity], where)


def _of_csv(path: Path, wanted: tuple[str, ...]) -> dict[str, list[Any]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    found = [name for name in wanted if name in (reader.fieldnames or ())]
    if found != list(wanted):
        return {name: [] for name in reader.fieldnames or ()}
    return {name: [row[name] for row in rows] for name in wanted}


def _of_service(path: Path) -> dict[str, list[Any]]:
    """Join decisions and rewards of a log as ``GET /v1/bandits/{name}/log`` returns it."""
    decisions: dict[str, dict[str, Any]] = {}
    rewards: dict[str, float] = {}
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
                kind, one = entry["kind"], entry["decision"]
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"{path}, line {number}: not an entry of the log.") from None
            if kind == "decision":
                decisions[one] = entry
            elif kind in _COUNTED:
                rewards[one] = entry["reward"]
    return {
        "arm": [entry["arm"] for entry in decisions.values()],
        "propensity": [entry["propensity"] for entry in decisions.values()],
        "reward": [rewards.get(decision) for decision in decisions],
    }


def _numbers(values: Any, what: str, where: str) -> Floats:
    """Return numbers, nan where there are none."""
    try:
        return np.array(
            [np.nan if value is None or value == "" else float(value) for value in values],
            dtype=float,
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} of {where} must be numbers: {error}.") from None


def _checked(names: list[str], rewards: Any, propensities: Any, where: str) -> Log:
    reward = _numbers(rewards, "rewards", where)
    propensity = _numbers(propensities, "propensities", where)
    if not len(names) == reward.size == propensity.size:
        raise ValueError(f"{where} must have as many rewards and propensities as decisions.")
    if np.isinf(reward).any():
        raise ValueError(f"rewards of {where} must be finite.")
    for wrong in propensity[(propensity <= 0.0) | (propensity > 1.0)][:1]:
        raise ValueError(f"propensities of {where} must lie between 0 and 1, got {wrong:g}.")
    arms = list(dict.fromkeys(names))
    place = {name: i for i, name in enumerate(arms)}
    arm = np.array([place[name] for name in names], dtype=np.int64)
    rewarded, known = ~np.isnan(reward), ~np.isnan(propensity)
    certain = rewarded & known & (propensity >= _CERTAIN)
    used = rewarded & known & ~certain
    if not used.any():
        raise ValueError(
            f"{where} has no decision with a reward and a propensity below 1; give every arm a "
            "floor, or let a randomised policy choose."
        )
    return Log(
        arms,
        arm[used],
        reward[used],
        propensity[used],
        without_reward=int((~rewarded).sum()),
        without_propensity=int((rewarded & ~known).sum()),
        certain=int(certain.sum()),
    )
