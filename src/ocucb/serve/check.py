"""Replay: a fresh machine that applies the log in order must make every decision again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from . import tables
from .errors import Refused
from .machine import Machine
from .models import Change
from .storage import Storage
from .stored import context_of, load, rules_of
from .tables import LOG

_CHUNK = 5000  # entries of the log in memory at a time


@dataclass(frozen=True)
class Checked:
    """What the replay of one bandit found: entries, and the first difference in one sentence."""

    name: str
    decisions: int
    rewards: int
    problem: str | None


def check(storage: Storage, name: str | None = None) -> Iterator[Checked]:
    """Replay one bandit, or all, and compare with what is stored.

    Everything is read in one transaction, so it may run while the service does.
    """
    with storage.reading() as connection:
        query = sa.select(tables.bandits).order_by(tables.bandits.c.name)
        if name is not None:
            query = query.where(tables.bandits.c.name == name)
        rows = connection.execute(query).mappings().all()
        if name is not None and not rows:
            raise ValueError(f"there is no bandit {name!r} in {storage.place}.")
        for row in rows:
            try:
                yield _replayed(connection, row)
            except (IndexError, Refused, TypeError, ValueError) as error:
                yield Checked(row["name"], 0, 0, f"the log cannot be replayed: {error}")


def _replayed(connection: sa.Connection, row: Any) -> Checked:
    machine = Machine(rules_of(row), row["seed"])
    counts = Counter[str]()
    decided, expired = [0] * len(machine.names), [0] * len(machine.names)
    open_arms: dict[int, tuple[int, Any]] = {}  # arm and context of each open decision
    corrected = None
    followed: list[tuple[str, Any]] = []  # what the machine did by itself, and the log must say
    due = 1
    at = row["created_at"]

    def problem(text: str) -> Checked:
        return Checked(row["name"], counts["decision"], counts["reward"], text)

    for entry in _entries(connection, row["id"]):
        seq, kind = entry["seq"], entry["kind"]
        if seq != due:
            return problem(f"entry {due} of the log is missing.")
        if entry["at"] < at and kind != "clock":
            return problem(f"entry {seq} is earlier than the one before it.")
        due, at = due + 1, entry["at"]
        counts[kind] += 1
        if followed or kind in ("verdict", "guard"):
            told = (kind, json.loads(entry["detail"])) if kind in ("verdict", "guard") else None
            wanted = followed.pop(0) if followed else None
            if told != wanted:
                return problem(f"entry {seq} should be {_said(wanted)}, and is {_said(told)}.")
        elif kind == "decision":
            context = machine.checked(context_of(entry))
            arm, propensity = machine.choose(seq, context)
            # null: an earlier version may not have known it
            known = propensity if entry["propensity"] is not None else None
            if (arm, known) != (entry["arm"], entry["propensity"]):
                return problem(
                    f"decision {seq} was arm {entry['arm']} with propensity "
                    f"{entry['propensity']}, and is {arm} with {propensity} when replayed."
                )
            open_arms[seq] = arm, context
            decided[arm] += 1
        elif kind in ("change", "epoch"):
            machine.change(Change.model_validate_json(entry["detail"]))
            more = [0] * (len(machine.names) - len(decided))
            decided, expired = decided + more, expired + more
        elif kind == "prior":
            machine.add_prior(entry["arm"], json.loads(entry["detail"]))
        elif kind in ("reward", "default", "expired"):
            arm, context = open_arms.pop(entry["decision"], (-1, None))
            if arm != entry["arm"]:
                return problem(f"entry {seq} closes decision {entry['decision']}, not an open one.")
            if kind == "expired":
                machine.cancel(arm, context)
            else:
                followed = machine.reward(arm, entry["reward"], entry["guard"], context)
            if kind != "reward":
                expired[entry["arm"]] += 1
        elif kind == "clock":
            corrected = seq
        elif kind != "late":
            return problem(f"entry {seq} is of the unknown kind {kind!r}.")
    if followed:
        return problem(f"the log ends without {_said(followed[0])}.")
    if due != row["version"] + 1:
        return problem(f"the log ends with entry {due - 1}, the state with {row['version']}.")
    try:
        stored = load(connection, row)
    except (TypeError, ValueError) as error:
        return problem(f"the stored state cannot be read: {error}")
    if repr(stored.machine.state()) != repr(machine.state()):  # repr tells 0.0 from -0.0
        return problem("the stored state differs from the replayed one.")
    if (stored.decisions, stored.expired) != (decided, expired):
        return problem("the stored counts of decisions differ from those of the log.")
    if row["corrected"] != corrected:
        return problem(
            f"the clock was last corrected by entry {corrected}, not by {row['corrected']}."
        )
    if row["due"] is None and open_arms and machine.rules.expiry is not None:
        return problem("there are open decisions, and none of them would ever expire.")
    return Checked(row["name"], counts["decision"], counts["reward"], None)


def _said(told: tuple[str, Any] | None) -> str:
    if told is None:
        return "another entry"
    kind, done = told
    return f"the {kind} on {done.get('leader' if kind == 'verdict' else 'arm')!r}"


def _entries(connection: sa.Connection, bandit: int) -> Iterator[Any]:
    entries, last = None, 0
    while entries is None or len(entries) == _CHUNK:
        values = {"bandit": bandit, "after": last, "limit": _CHUNK}
        entries = connection.execute(LOG, values).mappings().all()
        yield from entries
        last = entries[-1]["seq"] if entries else 0
