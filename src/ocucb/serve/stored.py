"""A bandit as rows: how it is inserted, loaded and identified."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from pydantic import ValidationError

from . import tables
from .machine import ArmState, Machine, MachineState
from .models import Change, Rules, invalid
from .tables import ARMS, INSERT_ARM

_COLUMNS = (  # of `MachineState`
    "policy", "epoch", "horizon", "open_horizon", "paused", "archived", "rounds", "stream", "model",
)  # fmt: skip
_EMPTY_ENTRY = dict.fromkeys(column.name for column in tables.log.columns)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Stored:
    """A bandit in memory, as it is stored at `version`; no other ever has its `secret`."""

    machine: Machine
    secret: str
    version: int
    arms: tuple[ArmState, ...]
    decisions: list[int]
    expired: list[int]

    def counts(self, arms: Sequence[ArmState]) -> list[tuple[int, int, float]]:
        """Return decisions, pulls and summed rewards of all arms: a point of the curves."""
        return [(n, arm.pulls, arm.sum) for n, arm in zip(self.decisions, arms, strict=True)]

    def arm_columns(self, i: int, arm: ArmState) -> dict[str, Any]:
        """Return the new state of arm i as columns of `tables.arms`."""
        return {**arm._asdict(), "decisions": self.decisions[i], "expired": self.expired[i]}


def log_row(bandit: int, seq: int, at: int, kind: str, columns: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of the log as a row."""
    return {**_EMPTY_ENTRY, **columns, "bandit": bandit, "seq": seq, "at": at, "kind": kind}


def insert(
    connection: sa.Connection,
    name: str,
    machine: Machine,
    at: int,
    prior: Sequence[dict[str, Any]] = (),
) -> None:
    """Store a new bandit, which has been told of data from elsewhere."""
    state = machine.state()
    row = {
        "name": name,
        "rules": canonical(machine.rules),
        "seed": machine.seed,
        "secret": secrets.token_hex(32),
        "created_at": at,
        "version": len(prior),
        "at": at,
        "expired_through": 0,
        "late": 0,
        **bandit_columns(state),
    }
    key = connection.execute(tables.bandits.insert(), row).inserted_primary_key
    assert key is not None
    rows = [
        {"bandit": key[0], "position": i, **arm._asdict(), "decisions": 0, "expired": 0}
        for i, arm in enumerate(state.arms)
    ]
    connection.execute(INSERT_ARM, rows)
    if prior:
        entries = [log_row(key[0], i, at, "prior", one) for i, one in enumerate(prior, 1)]
        connection.execute(tables.INSERT_LOG, entries)


def load(connection: sa.Connection, row: Any) -> Stored:
    """Return the bandit of a row of `tables.bandits`."""
    found = connection.execute(ARMS, {"bandit": row["id"]}).mappings().all()
    state = MachineState(
        **{name: row[name] for name in _COLUMNS},
        memory=tuple(json.loads(row["memory"])),
        arms=tuple(ArmState(*(arm[name] for name in ArmState._fields)) for arm in found),
    )
    return Stored(
        machine=Machine.restored(rules_of(row), row["seed"], state),
        secret=row["secret"],
        version=row["version"],
        arms=state.arms,
        decisions=[arm["decisions"] for arm in found],
        expired=[arm["expired"] for arm in found],
    )


def bandit_columns(state: MachineState) -> dict[str, Any]:
    """Return the state of a machine, without its arms, as columns of `tables.bandits`."""
    columns = state._asdict()
    del columns["arms"]
    return {**columns, "memory": json.dumps(state.memory)}


def rules_of(row: Any) -> Rules:
    """Return the rules of a stored bandit."""
    try:
        return Rules.model_validate_json(row["rules"])
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_context=False)) from None


def canonical(model: Rules | Change) -> str:
    """Return a model as JSON in one form: equal models have equal texts."""
    return json.dumps(model.model_dump(), sort_keys=True, separators=(",", ":"))


def decision_id(secret: bytes, seq: int) -> str:
    """Return the public id of a decision: its number, and a code that nobody else can compute."""
    code = hashlib.blake2b(str(seq).encode(), key=secret, digest_size=8).hexdigest()
    return f"{seq:x}-{code}"


def context_of(entry: Any) -> Any:
    """Return the context of a decision in the log, or None."""
    return None if entry["context"] is None else json.loads(entry["context"])


def times(**given: int | None) -> dict[str, Any]:
    """Return times in microseconds as seconds since 1970 and, beside them, as ISO 8601 has them.

    >>> times(at=1_500_000)
    {'at': 1.5, 'at_iso': '1970-01-01T00:00:01.500000Z'}
    """
    said: dict[str, Any] = {}
    for name, at in given.items():
        said[name] = None if at is None else at / 1e6
        said[f"{name}_iso"] = None if at is None else _iso(at)
    return said


def _iso(at: int) -> str:
    when = (_EPOCH + timedelta(microseconds=at)).replace(tzinfo=None)
    return f"{when.isoformat(timespec='microseconds')}Z"
