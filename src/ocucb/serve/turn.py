"""One transaction on one bandit: close what has expired, carry out requests, store what changed.

Times in the log do not decrease, so decisions expire in the order in which they were made. But a
clock that was ahead must not stop expiry until time has caught up: if the log is ahead of the clock
by more than `MOST_LEAD`, an entry of kind "clock" says so, time goes back, and earlier decisions
expire no later than if they had been made then.
"""

from __future__ import annotations

import hmac
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from . import tables
from .contexts import Context
from .errors import Conflict, KeyReused, Refused, UnknownBandit
from .machine import MachineState
from .models import Change, DecisionsRequest, Prior, RewardItem
from .stored import (
    Stored,
    bandit_columns,
    canonical,
    context_of,
    decision_id,
    load,
    log_row,
    times,
)

MOST_LEAD = 60_000_000  # microseconds: clocks of servers that share a store differ by less
POINTS_PER_DOUBLING = 64  # points of the curves that are kept in each doubling of the rounds
_CONSTANT = ("id", "name", "rules", "seed", "secret", "created_at")
_CHANGING = [col.name for col in tables.bandits.columns if col.name not in _CONSTANT]
_OPEN = {"kind": "open"}
_LAPSED = ("expired", "default")


@dataclass
class Work:
    """A request that waits for its turn, and what must be read from the store for it."""

    run: Callable[[Turn], Any]
    key: str | None = None
    unit: str | None = None
    decisions: tuple[str, ...] = ()
    size: int = 1
    since: float = field(default_factory=time.monotonic)
    future: Future[Any] = field(default_factory=Future)


class Turn:
    """One transaction on one bandit."""

    def __init__(
        self, connection: sa.Connection, name: str, stored: Stored | None, clock: int
    ) -> None:
        self._connection = connection
        row = connection.execute(tables.LOCK_BANDIT, {"name": name}).mappings().one_or_none()
        if row is None:
            raise UnknownBandit(name)
        known = None if stored is None else (stored.secret, stored.version)
        if stored is None or known != (row["secret"], row["version"]):
            stored = load(connection, row)
        self.stored = stored
        self.machine = stored.machine
        self._before, self._row = row, dict(row)
        self._id: int = row["id"]
        self._secret = bytes.fromhex(row["secret"])
        self._lead: int = row["at"] - clock
        self._at = clock if self._lead > MOST_LEAD else max(clock, row["at"])
        self._expiry = round((self.machine.rules.expiry or 0.0) * 1e6)
        self._seq: int = row["version"]
        self._entries: list[dict[str, Any]] = []
        self._decided: dict[int, Any] = {}  # by seq
        self._closed: dict[int, Any] = {}  # outcomes by the seq of their decision
        self._lates: set[int] = set()
        self._requests: dict[str, Any] = {}
        self._new_requests: list[dict[str, Any]] = []
        self._units: dict[str, int] = {}  # the seq of the last decision of each
        self.counts: Counter[str] = Counter()  # new entries by kind
        self.deleted = False

    def run(self, group: list[Work]) -> list[Any]:
        """Carry out requests; the answer to one may be a refusal."""
        self._correct_time()
        self._expire()
        self._fetch(group)
        answers: list[Any] = []
        for work in group:
            try:
                if self.deleted:
                    raise UnknownBandit(self._row["name"])
                answers.append(work.run(self))
            except Refused as refusal:
                answers.append(refusal)
        if self.deleted:
            for statement in tables.DELETE:
                self._select(statement)
        else:
            self._store()
        return answers

    def _append(self, kind: str, **columns: Any) -> dict[str, Any]:
        self._seq += 1
        self.counts[kind] += 1
        entry = log_row(self._id, self._seq, self._at, kind, columns)
        self._entries.append(entry)
        return entry

    # What the requests need from the store, read at once

    def _fetch(self, group: list[Work]) -> None:
        keys = {work.key for work in group if work.key is not None}
        units = {work.unit for work in group if work.unit is not None}
        ids = {decision for work in group for decision in work.decisions}
        named = {seq for text in ids if (seq := self._seq_of(text)) is not None}
        if keys:
            found = self._select(tables.REQUESTS, keys=list(keys)).mappings()
            self._requests = {row["key"]: row for row in found}
        if units:
            rows: Any = self._select(tables.LAST_OF_UNITS, units=list(units))
            self._units = dict(rows.all())
        last = named | set(self._units.values())
        wanted = last.union(
            *(
                range(request["first"], request["first"] + request["count"])
                for request in self._requests.values()
            )
        )
        if wanted:
            found = self._select(tables.DECISIONS, seqs=list(wanted)).mappings()
            self._decided = {row["seq"]: row for row in found}
            self._closed |= self._outcomes(last)
        lapsed = [seq for seq in named if self._closed.get(seq, _OPEN)["kind"] in _LAPSED]
        if lapsed:
            self._lates = set(self._select(tables.LATE_REWARDS, seqs=lapsed).scalars())

    def _select(self, statement: Any, **values: Any) -> sa.CursorResult[Any]:
        return self._connection.execute(statement, {"bandit": self._id, **values})

    def _outcomes(self, seqs: Iterable[int]) -> dict[int, Any]:
        rows = self._select(tables.OUTCOMES, seqs=list(seqs)).mappings()
        return {row["decision"]: row for row in rows}

    def _seq_of(self, text: str) -> int | None:
        """Return the seq of a decision, or None for an id that we did not make."""
        try:
            seq = int(text.partition("-")[0], 16)
        except ValueError:
            return None
        if not 0 < seq <= self._seq:
            return None
        ours = decision_id(self._secret, seq).encode()
        return seq if hmac.compare_digest(ours, text.encode("utf-8", "replace")) else None

    # Requests

    def make_decisions(
        self, request: DecisionsRequest, key: str | None, body: str
    ) -> list[dict[str, Any]]:
        """Make decisions, or find those that were made for this key or are open for this unit."""
        if (known := self._known(key, body)) is not None:
            return self._answer(known["first"], known["count"])
        if self.machine.archived:
            raise Conflict(f"bandit {self._row['name']!r} is archived; bring it back with PATCH.")
        if self.machine.paused:
            raise Conflict(f"bandit {self._row['name']!r} is paused; resume it with PATCH.")
        context, unit = self.machine.checked(request.context), request.unit
        if unit is not None and unit in self._units and self._units[unit] not in self._closed:
            first = self._units[unit]
        else:
            first = self._seq + 1
            for _ in range(request.count):
                self._make_decision(unit, context)
        self._remember(key, body, first, request.count)
        return self._answer(first, request.count)

    def _known(self, key: str | None, body: str) -> Any:
        """Return the request that came with a key before, if any."""
        known = None if key is None else self._requests.get(key)
        if known is not None and known["body"] != body:
            raise KeyReused(
                "Idempotency-Key was used for another request; use a new key for each request."
            )
        return known

    def _remember(self, key: str | None, body: str, first: int, count: int) -> None:
        if key is not None:
            row = {"key": key, "body": body, "first": first, "count": count}
            self._requests[key] = row
            self._new_requests.append({"bandit": self._id, **row})

    def _make_decision(self, unit: str | None, context: Context | None) -> None:
        arm, propensity = self.machine.choose(self._seq + 1, context)
        expires_at = None if self.machine.rules.expiry is None else self._at + self._expiry
        entry = self._append(
            "decision",
            arm=arm,
            propensity=propensity,
            unit=unit,
            expires_at=expires_at,
            context=None if context is None else json.dumps(context),
        )
        self._decided[self._seq] = entry
        self.stored.decisions[arm] += 1
        if self._row["due"] is None:
            self._row["due"] = expires_at
        if unit is not None:
            self._units[unit] = self._seq

    def _answer(self, first: int, count: int) -> list[dict[str, Any]]:
        rows = [self._decided[seq] for seq in range(first, first + count)]
        names = self.machine.names
        return [
            {
                "id": decision_id(self._secret, row["seq"]),
                "arm": names[row["arm"]],
                "propensity": row["propensity"],
                **times(expires_at=row["expires_at"]),
            }
            for row in rows
        ]

    def take_rewards(self, items: list[RewardItem]) -> list[str]:
        """Take rewards, all of them or, if one is invalid, none."""
        for i, item in enumerate(items):
            self.machine.check_reward(item.reward, f"rewards[{i}].reward")
            if item.guard is not None:
                self.machine.check_guard(item.guard, f"rewards[{i}].guard")
        return [self._take_reward(item) for item in items]

    def _take_reward(self, item: RewardItem) -> str:
        seq = self._seq_of(item.decision)
        decision = None if seq is None else self._decided.get(seq)
        if seq is None or decision is None:
            return "unknown"
        reward = item.reward + 0.0  # no negative zero: SQLite does not keep it
        guard = None if item.guard is None else item.guard + 0.0
        outcome = self._closed.get(seq)
        if outcome is None:
            self._closed[seq] = self._append(
                "reward", arm=decision["arm"], decision=seq, reward=reward, guard=guard
            )
            self._row["rewarded_at"] = self._at
            self._reward(decision["arm"], reward, guard, context_of(decision))
            return "accepted"
        if outcome["kind"] in _LAPSED:
            if seq not in self._lates:
                self._append("late", arm=decision["arm"], decision=seq, reward=reward)
                self._lates.add(seq)
                self._row["late"] += 1
            return "expired"
        same = (outcome["reward"], outcome["guard"]) == (reward, guard)
        return "duplicate" if same else "conflict"

    def make_change(self, change: Change) -> None:
        """Change arms, policy, horizon or pause."""
        done = self.machine.change(change)
        if done is not None:
            kind = "change" if done.policy is None else "epoch"
            self._append(kind, detail=canonical(done))
        added = len(self.machine.names) - len(self.stored.decisions)
        self.stored.decisions.extend([0] * added)
        self.stored.expired.extend([0] * added)

    def take_prior(self, items: list[Prior], key: str | None, body: str) -> None:
        """Take data from elsewhere, all of it or none, and not twice with the same key."""
        if self._known(key, body) is None:
            first = self._seq + 1
            for told in self.machine.tell_prior(items, "prior"):
                self._append("prior", **told)
            self._remember(key, body, first, len(items))

    def delete(self) -> None:
        """Delete the bandit and its log, if it has been archived."""
        if not self.machine.archived:
            name = self._row["name"]
            raise Conflict(f"bandit {name!r} is in use; archive it with PATCH, then delete it.")
        self.deleted = True

    # Expiry

    def _correct_time(self) -> None:
        """Note that the clock was ahead, if it was too far ahead."""
        if self._lead > MOST_LEAD:
            self._append("clock", detail=json.dumps({"ahead": self._lead / 1e6}))
            self._row["corrected"] = self._seq
            if self._row["due"] is not None:
                self._row["due"] = min(self._row["due"], self._at + self._expiry)

    def _expire(self) -> None:
        """Close the decisions that are due, in the order in which they were made."""
        while self._row["due"] is not None and self._row["due"] <= self._at:
            rows = self._select(tables.NEXT_TO_EXPIRE, after=self._row["expired_through"]).all()
            times = self._expiry_times(rows)
            due = [row for row, when in zip(rows, times, strict=True) if when <= self._at]
            closed = self._outcomes([row.seq for row in due]) if due else {}
            for row in due:
                if row.seq not in closed:
                    self._lapse(row.seq, row.arm, context_of(row._mapping))
            if due:
                self._row["expired_through"] = due[-1].seq
            if len(due) < len(rows):
                self._row["due"] = times[len(due)]
            elif not rows:
                self._row["due"] = None

    def _expiry_times(self, rows: Sequence[Any]) -> list[int]:
        """Return when decisions expire; those dated by a clock that was ahead expire sooner."""
        corrected = self._row["corrected"]
        if corrected is None or not rows or rows[0].seq > corrected:
            return [row.expires_at for row in rows]
        at = self._select(tables.TIME_OF_ENTRY, entry=corrected).scalar()
        latest = (self._at if at is None else at) + self._expiry  # None: it is not stored yet
        return [
            min(row.expires_at, latest) if row.seq < corrected else row.expires_at for row in rows
        ]

    def _lapse(self, seq: int, arm: int, context: Context | None) -> None:
        default = self.machine.rules.default_reward
        if default is None:
            self.machine.cancel(arm, context)
            entry = self._append("expired", arm=arm, decision=seq)
        else:
            entry = self._append("default", arm=arm, decision=seq, reward=default + 0.0)
            self._reward(arm, default, None, context)
        self._closed[seq] = entry
        self.stored.expired[arm] += 1

    def _reward(
        self, arm: int, reward: float, guard: float | None, context: Context | None
    ) -> None:
        """Tell the machine of a reward, and the log of what it did by itself."""
        for kind, done in self.machine.reward(arm, reward, guard, context):
            self._append(kind, detail=json.dumps(done, sort_keys=True))

    # Writing

    def _store(self) -> None:
        """Write what is new; whoever began the transaction commits it."""
        if self._entries or self._new_requests:
            state = self.machine.state()
            self._row.update(bandit_columns(state), version=self._seq, at=self._at)
            if self._entries:
                self._connection.execute(tables.INSERT_LOG, self._entries)
            if self._new_requests:
                self._connection.execute(tables.INSERT_REQUEST, self._new_requests)
            self._store_arms(state)
            self._store_point(state)
            self.stored.version, self.stored.arms = self._seq, state.arms
        changed = {name: self._row[name] for name in _CHANGING}
        if any(self._before[name] != value for name, value in changed.items()):
            self._select(tables.UPDATE_BANDIT, **changed)

    def _store_arms(self, state: MachineState) -> None:
        known = self.stored.arms
        touched = {entry["arm"] for entry in self._entries}
        changed, new = [], []
        for i, arm in enumerate(state.arms):
            if i >= len(known):
                new.append({"bandit": self._id, "position": i, **self.stored.arm_columns(i, arm)})
            elif i in touched or arm != known[i]:
                changed.append({"here": self._id, "there": i, **self.stored.arm_columns(i, arm)})
        if changed:
            self._connection.execute(tables.UPDATE_ARM, changed)
        if new:
            self._connection.execute(tables.INSERT_ARM, new)

    def _store_point(self, state: MachineState) -> None:
        """Keep a point of the curves now and then: equally many in each doubling of the rounds."""
        before, rounds = self._before["rounds"], state.rounds
        stride = 1 << max(0, (rounds // POINTS_PER_DOUBLING).bit_length() - 1)
        if rounds // stride > before // stride:
            counts = json.dumps(self.stored.counts(state.arms))
            point = {"bandit": self._id, "rounds": rounds, "at": self._at, "counts": counts}
            self._connection.execute(tables.history.insert(), point)
