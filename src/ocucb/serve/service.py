"""The rules of the service: ids, safe repeats, expiry, one writer per bandit.

A refusal has the HTTP status of its answer; otherwise nothing here knows of HTTP.

Requests that wait for the same bandit share a transaction (group commit): lock the bandit's row,
reload it if another process has moved it, close decisions that expired, carry out the requests one
after the other, append to the log, store what changed, commit, answer. A request that is refused
changes nothing; one that fails is tried again alone, so it cannot take others down.

Times in the log do not decrease, so decisions expire in the order in which they were made. But a
clock that was ahead must not stop expiry until the time has caught up: if the log is ahead of the
clock by more than `MOST_LEAD`, an entry of kind "clock" says so, the time goes back, and decisions
that were made before expire as if they had been made then, at the latest.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, Counter, Histogram
from pydantic import ValidationError

from ..random import to_seed
from . import storage as tables
from .machine import ArmState, Machine, MachineState
from .models import MOST_ITEMS, Change, DecisionsRequest, Refused, RewardItem, Rules, refusal_of
from .storage import PATIENCE, Storage, StoreUnavailable

MOST_LEAD = 60_000_000  # microseconds: more than clocks of servers that share a store may differ
SMALLEST_FLOOR = 1e-9  # below, traffic cannot be split: decisions have 53 random bits
MOST_WAITING = 10_000  # requests in the queue of one bandit
POINTS_PER_DOUBLING = 64  # points of the curves that are kept in each doubling of the rounds
_LEAST_PATIENCE = 0.05  # seconds, for a request that has waited too long already
_LOG_COLUMNS = [column.name for column in tables.log.columns]


# Statements are built once: that takes longer than the database needs to carry them out.


def _some(name: str) -> Any:
    return sa.bindparam(name, expanding=True)


_log = tables.log.c
_here: Any = sa.bindparam("bandit")
_LOCK = (
    sa.select(tables.bandits).where(tables.bandits.c.name == sa.bindparam("name")).with_for_update()
)
_REQUESTS = sa.select(tables.requests).where(
    tables.requests.c.bandit == _here, tables.requests.c.key.in_(_some("keys"))
)
_UNITS = (
    sa.select(_log.unit, sa.func.max(_log.seq))
    .where(_log.bandit == _here, _log.unit.in_(_some("units")))
    .group_by(_log.unit)
)
_DECISIONS = sa.select(_log.seq, _log.arm, _log.propensity, _log.expires_at).where(
    _log.bandit == _here, _log.seq.in_(_some("seqs")), _log.kind == "decision"
)
_OUTCOMES = sa.select(_log.decision, _log.kind, _log.reward).where(
    _log.bandit == _here,
    _log.decision.in_(_some("seqs")),
    _log.decision.is_not(None),
    _log.kind != "late",
)
_LATES = sa.select(_log.decision).where(
    _log.bandit == _here, _log.decision.in_(_some("seqs")), _log.kind == "late"
)
_TIME = sa.select(_log.at).where(_log.bandit == _here, _log.seq == sa.bindparam("entry"))
_NEXT_TO_EXPIRE = (
    sa.select(_log.seq, _log.arm, _log.expires_at)
    .where(_log.bandit == _here, _log.seq > sa.bindparam("after"), _log.kind == "decision")
    .order_by(_log.seq)
    .limit(1000)
)
_due = tables.bandits.c.due
_now: Any = sa.bindparam("now")
_DUE = sa.select(tables.bandits.c.name).where(_due <= _now)
_AHEAD = sa.select(tables.bandits.c.name).where(
    _due > _now, tables.bandits.c.at > _now + sa.literal(MOST_LEAD)
)
_UPDATE_BANDIT = tables.bandits.update().where(tables.bandits.c.id == _here)
_UPDATE_ARM = tables.arms.update().where(
    tables.arms.c.bandit == sa.bindparam("here"), tables.arms.c.position == sa.bindparam("there")
)
_INSERT_LOG, _INSERT_REQUEST = tables.log.insert(), tables.requests.insert()


@dataclass
class _Loaded:
    """A bandit in memory, as it was stored at `version`."""

    machine: Machine
    version: int
    arms: tuple[ArmState, ...]
    decisions: list[int]
    expired: list[int]


@dataclass
class _Work:
    """A request that waits for its turn."""

    run: Callable[[_Turn], Any]
    key: str | None = None
    unit: str | None = None
    decisions: tuple[str, ...] = ()
    size: int = 1
    since: float = field(default_factory=time.monotonic)
    future: Future[Any] = field(default_factory=Future)


class _Lane:
    """The requests that wait for one bandit, in order."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: deque[_Work] = deque()
        self.busy = False
        self.loaded: _Loaded | None = None


class Service:
    """Decisions, rewards and changes, on a storage.

    Parameters
    ----------
    storage : Storage
        Where everything is kept.
    clock : callable
        Returns the time in microseconds.
    registry : CollectorRegistry, optional
        Where metrics are counted.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        clock: Callable[[], int] = tables.now,
        registry: CollectorRegistry | None = None,
    ) -> None:
        self.storage, self.clock = storage, clock
        self._lanes: dict[str, _Lane] = {}
        self._lock, self._creating = threading.Lock(), threading.Lock()
        self._pool = ThreadPoolExecutor(8, "ocucb-serve")
        self._compared = 0  # when the log was last compared with the clock
        self.registry = registry or CollectorRegistry()
        self._events = Counter(
            "ocucb_events", "Entries of the log.", ["kind"], registry=self.registry
        )
        self._groups = Histogram(
            "ocucb_group_size",
            "Requests that shared a transaction.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
            registry=self.registry,
        )

    def close(self) -> None:
        """Finish what was begun; nothing new is taken."""
        self._pool.shutdown(wait=True)

    # Calls

    def create(self, name: str, rules: Rules) -> bool:
        """Create a bandit; return False if the same one exists already."""
        asked = _canonical(rules)
        if (known := self._rules_of(name)) is None:
            if 0.0 < rules.floor < SMALLEST_FLOOR:
                raise Refused(
                    422, f"floor must be 0 or at least {SMALLEST_FLOOR:g}, got {rules.floor:g}."
                )
            seed = rules.seed if rules.seed is not None else to_seed(None)
            try:
                with self._creating:  # compiling a policy once is enough
                    machine = Machine(rules, seed)
            except (TypeError, ValueError) as error:
                raise Refused(422, str(error)) from None
            try:
                with self.storage.writing() as connection:
                    _insert_bandit(connection, name, asked, machine, self.clock())
                return True
            except sa.exc.IntegrityError:  # another process was faster
                known = self._rules_of(name)
        if known != asked:
            raise Refused(
                409,
                f"bandit {name!r} exists with other rules; use PATCH to change arms, horizon or "
                "pause, or another name.",
            )
        return False

    def _rules_of(self, name: str) -> str | None:
        with self.storage.reading() as connection:
            query = sa.select(tables.bandits.c.rules).where(tables.bandits.c.name == name)
            rules: str | None = connection.execute(query).scalar()
        return rules

    def decide(
        self, name: str, request: DecisionsRequest, key: str | None = None
    ) -> Future[list[dict[str, Any]]]:
        """Make decisions; the same key gives the same ones again."""
        body = _digest(request.model_dump_json())
        digest = None if key is None else _digest(key)

        def run(turn: _Turn) -> list[dict[str, Any]]:
            return turn.decide(request, digest, body)

        return self._submit(name, _Work(run, key=digest, unit=request.unit, size=request.count))

    def reward(self, name: str, items: list[RewardItem]) -> Future[list[str]]:
        """Take rewards; return what became of each."""
        ids = tuple(item.decision for item in items)
        return self._submit(
            name, _Work(lambda turn: turn.reward(items), decisions=ids, size=len(items))
        )

    def change(self, name: str, change: Change) -> Future[None]:
        """Add or retire arms, extend the horizon, pause or resume."""
        return self._submit(name, _Work(lambda turn: turn.change(change)))

    def sweep(self) -> None:
        """Close decisions that have expired, in all bandits; look for a clock that was ahead."""
        now = self.clock()
        queries = [_DUE]
        if not self._compared <= now < self._compared + MOST_LEAD:
            queries.append(_AHEAD)
            self._compared = now
        with self.storage.reading() as connection:
            found = [connection.execute(query, {"now": now}).scalars().all() for query in queries]
        failure: Exception | None = None
        for name in chain(*found):  # one by one, so that no request waits behind many
            try:
                self._submit(name, _Work(lambda turn: None)).result()
            except StoreUnavailable:
                raise
            except Exception as error:  # the others can be swept
                failure = error
        if failure is not None:
            raise failure

    # One writer a bandit

    def _submit(self, name: str, work: _Work) -> Future[Any]:
        with self._lock:
            lane = self._lanes.setdefault(name, _Lane())
            with lane.lock:
                if len(lane.waiting) >= MOST_WAITING:
                    raise Refused(503, f"too many requests wait for bandit {name!r}; try again.")
                lane.waiting.append(work)
                if not lane.busy:
                    lane.busy = True
                    self._pool.submit(self._drain, name, lane)
        return work.future

    def _drain(self, name: str, lane: _Lane) -> None:
        """Carry out all that waits in a lane."""
        while True:
            with lane.lock:
                group: list[_Work] = []
                size = 0
                while lane.waiting and size < 2 * MOST_ITEMS:
                    work = lane.waiting.popleft()
                    if work.future.set_running_or_notify_cancel():  # nobody can cancel it now
                        group.append(work)
                        size += work.size
                if not group:
                    lane.busy = False
                    break
            self._carry_out(name, lane, group)
        if lane.loaded is None:  # there is no such bandit, or its store fails: keep nothing
            with self._lock, lane.lock:
                if not lane.busy and self._lanes.get(name) is lane:
                    del self._lanes[name]

    def _carry_out(self, name: str, lane: _Lane, group: list[_Work]) -> None:
        """Carry out requests in one transaction, and answer them once it is committed."""
        patience = max(_LEAST_PATIENCE, group[0].since + PATIENCE - time.monotonic())
        try:
            with self.storage.writing(patience) as connection:
                turn = _Turn(connection, name, lane.loaded, self.clock())
                answers = turn.run(group)
        except BaseException as error:
            lane.loaded = None  # it may be half-way
            if len(group) > 1 and not isinstance(error, StoreUnavailable | Refused):
                for work in group:
                    self._carry_out(name, lane, [work])
                return
            for work in group:
                work.future.set_exception(error)
            return
        lane.loaded = turn.loaded
        self._groups.observe(len(group))
        for kind, count in turn.counts.items():
            self._events.labels(kind).inc(count)
        for work, answer in zip(group, answers, strict=True):
            if isinstance(answer, Refused):
                work.future.set_exception(answer)
            else:
                work.future.set_result(answer)


class _Turn:
    """One transaction on one bandit."""

    def __init__(
        self, connection: sa.Connection, name: str, loaded: _Loaded | None, clock: int
    ) -> None:
        self._connection = connection
        row = connection.execute(_LOCK, {"name": name}).mappings().one_or_none()
        if row is None:
            raise no_such_bandit(name)
        if loaded is None or loaded.version != row["version"]:
            loaded = load(connection, row)
        self.loaded = loaded
        self.machine = loaded.machine
        self._row = row
        self._id: int = row["id"]
        self._secret = bytes.fromhex(row["secret"])
        self._lead: int = row["at"] - clock
        self._at = clock if self._lead > MOST_LEAD else max(clock, row["at"])
        self._seq: int = row["version"]
        self._due: int | None = row["due"]
        self._corrected: int | None = row["corrected"]
        self._expired_through: int = row["expired_through"]
        self._rewarded_at: int | None = row["rewarded_at"]
        self._late: int = row["late"]
        self._rows: list[dict[str, Any]] = []
        self._decided: dict[int, Any] = {}  # by seq
        self._closed: dict[int, Any] = {}  # outcomes by the seq of their decision
        self._lates: set[int] = set()
        self._requests: dict[str, Any] = {}
        self._new_requests: list[dict[str, Any]] = []
        self._units: dict[str, int] = {}  # the seq of the last decision of each
        self.counts: dict[str, int] = {}

    def run(self, group: list[_Work]) -> list[Any]:
        """Carry out requests; the answer to one may be a refusal."""
        self._correct()
        self._expire()
        self._fetch(group)
        answers: list[Any] = []
        for work in group:
            try:
                answers.append(work.run(self))
            except Refused as refusal:
                answers.append(refusal)
        self._store()
        return answers

    def _append(self, kind: str, **columns: Any) -> int:
        self._seq += 1
        row = dict.fromkeys(_LOG_COLUMNS)
        row.update(columns, bandit=self._id, seq=self._seq, at=self._at, kind=kind)
        self._rows.append(row)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return self._seq

    # Reading what the requests need, all at once

    def _fetch(self, group: list[_Work]) -> None:
        keys = {work.key for work in group if work.key is not None}
        units = {work.unit for work in group if work.unit is not None}
        ids = {one for work in group for one in work.decisions}
        named = {seq for one in ids if (seq := self._seq_of(one)) is not None}
        if keys:
            for row in self._select(_REQUESTS, keys=keys).mappings():
                self._requests[row["key"]] = row
        if units:
            rows: Any = self._select(_UNITS, units=units)
            self._units = dict(rows.all())
        wanted = named | set(self._units.values())
        for request in self._requests.values():
            wanted.update(range(request["first"], request["first"] + request["count"]))
        if wanted:
            found = self._select(_DECISIONS, seqs=wanted).mappings()
            self._decided = {row["seq"]: row for row in found}
            self._closed |= self._outcomes(named | set(self._units.values()))
        lapsed = [seq for seq in named if self._closed.get(seq, _OPEN)["kind"] in _LAPSED]
        if lapsed:
            self._lates = set(self._select(_LATES, seqs=lapsed).scalars())

    def _select(self, statement: Any, **values: Any) -> sa.CursorResult[Any]:
        values = {k: list(v) if isinstance(v, set) else v for k, v in values.items()}
        return self._connection.execute(statement, {"bandit": self._id, **values})

    def _outcomes(self, seqs: Iterable[int]) -> dict[int, Any]:
        rows = self._select(_OUTCOMES, seqs=list(seqs)).mappings()
        return {row["decision"]: row for row in rows}

    # Ids

    def _id_of(self, seq: int) -> str:
        return decision_id(self._secret, seq)

    def _seq_of(self, text: str) -> int | None:
        """Return the seq of a decision, or None for an id that we did not make."""
        head, _, _ = text.partition("-")
        try:
            seq = int(head, 16)
        except ValueError:
            return None
        if not 0 < seq <= self._seq:
            return None
        same = hmac.compare_digest(self._id_of(seq).encode(), text.encode("utf-8", "replace"))
        return seq if same else None

    # Requests

    def decide(self, request: DecisionsRequest, key: str | None, body: str) -> list[dict[str, Any]]:
        """Make decisions, or find those that were made for this key, or for this unit."""
        if key is not None and (known := self._requests.get(key)) is not None:
            if known["body"] != body:
                raise Refused(
                    422,
                    "Idempotency-Key was used for another request; use a new key for each request.",
                )
            return self._answer(known["first"], known["count"])
        if self.machine.paused:
            raise Refused(409, f"bandit {self._row['name']!r} is paused; resume it with PATCH.")
        unit = request.unit
        if unit is not None and unit in self._units and self._units[unit] not in self._closed:
            first = self._units[unit]
        else:
            first = self._seq + 1
            for _ in range(request.count):
                self._decide_once(unit)
        if key is not None:
            row = {"bandit": self._id, "key": key, "body": body, "first": first}
            row["count"] = request.count
            self._requests[key] = row
            self._new_requests.append(row)
        return self._answer(first, request.count)

    def _decide_once(self, unit: str | None) -> None:
        arm, propensity = self.machine.decide(self._seq + 1)
        expires_at = self._at + self._expiry() if self.machine.rules.expiry else None
        seq = self._append(
            "decision", arm=arm, propensity=propensity, unit=unit, expires_at=expires_at
        )
        self._decided[seq] = self._rows[-1]
        self.loaded.decisions[arm] += 1
        if self._due is None:
            self._due = expires_at
        if unit is not None:
            self._units[unit] = seq

    def _answer(self, first: int, count: int) -> list[dict[str, Any]]:
        rows = [self._decided[seq] for seq in range(first, first + count)]
        names = self.machine.names
        return [
            {
                "id": self._id_of(row["seq"]),
                "arm": names[row["arm"]],
                "propensity": row["propensity"],
                "expires_at": None if row["expires_at"] is None else row["expires_at"] / 1e6,
            }
            for row in rows
        ]

    def reward(self, items: list[RewardItem]) -> list[str]:
        """Take rewards, all of them or, where one is invalid, none."""
        for i, item in enumerate(items):
            self.machine.check_reward(item.reward, f"{i}.reward")
        return [self._reward_once(item) for item in items]

    def _reward_once(self, item: RewardItem) -> str:
        seq = self._seq_of(item.decision)
        decision = None if seq is None else self._decided.get(seq)
        if seq is None or decision is None:
            return "unknown"
        reward = item.reward + 0.0  # no negative zero: SQLite does not keep it
        outcome = self._closed.get(seq)
        if outcome is None:
            self.machine.reward(decision["arm"], reward)
            self._append("reward", arm=decision["arm"], decision=seq, reward=reward)
            self._closed[seq] = self._rows[-1]
            self._rewarded_at = self._at
            return "accepted"
        if outcome["kind"] in _LAPSED:
            if seq not in self._lates:
                self._append("late", arm=decision["arm"], decision=seq, reward=reward)
                self._lates.add(seq)
                self._late += 1
            return "expired"
        return "duplicate" if outcome["reward"] == reward else "conflict"

    def change(self, change: Change) -> None:
        """Change arms, horizon or pause."""
        done = self.machine.change(change)
        if done is not None:
            self._append("change", detail=_canonical(done))
        added = len(self.machine.names) - len(self.loaded.decisions)
        self.loaded.decisions.extend([0] * added)
        self.loaded.expired.extend([0] * added)

    # Expiry

    def _correct(self) -> None:
        """Note that the clock was ahead, if it was by too much."""
        if self._lead > MOST_LEAD:
            self._corrected = self._append("clock", detail=json.dumps({"ahead": self._lead / 1e6}))
            if self._due is not None:
                self._due = min(self._due, self._at + self._expiry())

    def _expiry(self) -> int:
        return round((self.machine.rules.expiry or 0.0) * 1e6)

    def _expire(self) -> None:
        """Close what is due: decisions expire in the order in which they were made."""
        while self._due is not None and self._due <= self._at:
            rows = self._select(_NEXT_TO_EXPIRE, after=self._expired_through).all()
            times = self._times_of_expiry(rows)
            due = [row for row, when in zip(rows, times, strict=True) if when <= self._at]
            closed = self._outcomes([row.seq for row in due]) if due else {}
            for row in due:
                if row.seq not in closed:
                    self._lapse(row.seq, row.arm)
            if due:
                self._expired_through = due[-1].seq
            if len(due) < len(rows):
                self._due = times[len(due)]
            elif not rows:
                self._due = None

    def _times_of_expiry(self, rows: Sequence[Any]) -> list[int]:
        """Return when decisions expire; those that a clock which was ahead has dated, sooner."""
        corrected = self._corrected
        if corrected is None or not rows or rows[0].seq > corrected:
            return [row.expires_at for row in rows]
        at = self._select(_TIME, entry=corrected).scalar()
        latest = (self._at if at is None else at) + self._expiry()  # None: it is not stored yet
        return [
            min(row.expires_at, latest) if row.seq < corrected else row.expires_at for row in rows
        ]

    def _lapse(self, seq: int, arm: int) -> None:
        default = self.machine.rules.default_reward
        if default is None:
            self.machine.cancel(arm)
            self._append("expired", arm=arm, decision=seq)
        else:
            self.machine.reward(arm, default)
            self._append("default", arm=arm, decision=seq, reward=default + 0.0)
        self._closed[seq] = self._rows[-1]
        self.loaded.expired[arm] += 1

    # Writing

    def _store(self) -> None:
        """Write what is new; the transaction is committed by whoever began it."""
        connection, loaded = self._connection, self.loaded
        if not self._rows and not self._new_requests:
            before = self._row["expired_through"], self._row["due"]
            if (self._expired_through, self._due) != before:
                self._update(expired_through=self._expired_through, due=self._due)
            return
        if self._rows:
            connection.execute(_INSERT_LOG, self._rows)
        if self._new_requests:
            connection.execute(_INSERT_REQUEST, self._new_requests)
        state = self.machine.state()
        self._store_arms(state)
        self._update(
            version=self._seq,
            at=self._at,
            expired_through=self._expired_through,
            horizon=state.horizon,
            paused=state.paused,
            rounds=state.rounds,
            stream=state.stream,
            memory=json.dumps(state.memory),
            rewarded_at=self._rewarded_at,
            late=self._late,
            due=self._due,
            corrected=self._corrected,
        )
        self._store_point(state)
        loaded.version, loaded.arms = self._seq, state.arms

    def _update(self, **values: Any) -> None:
        self._connection.execute(_UPDATE_BANDIT, {"bandit": self._id, **values})

    def _store_arms(self, state: MachineState) -> None:
        loaded = self.loaded
        touched = {row["arm"] for row in self._rows}
        changed, new = [], []
        for position, arm in enumerate(state.arms):
            if position >= len(loaded.arms):
                new.append(_arm_row(self._id, position, arm, loaded))
            elif position in touched or arm != loaded.arms[position]:
                changed.append(_arm_row(self._id, position, arm, loaded))
        if changed:
            for row in changed:
                row["here"], row["there"] = row.pop("bandit"), row.pop("position")
            self._connection.execute(_UPDATE_ARM, changed)
        if new:
            self._connection.execute(tables.arms.insert(), new)

    def _store_point(self, state: MachineState) -> None:
        """Keep a point of the curves now and then: as many in each doubling of the rounds."""
        before, rounds = self._row["rounds"], state.rounds
        stride = 1 << max(0, (rounds // POINTS_PER_DOUBLING).bit_length() - 1)
        if rounds // stride > before // stride:
            counts = [
                [decided, arm.pulls, arm.sum]
                for decided, arm in zip(self.loaded.decisions, state.arms, strict=True)
            ]
            self._connection.execute(
                tables.history.insert(),
                {
                    "bandit": self._id,
                    "rounds": rounds,
                    "at": self._at,
                    "counts": json.dumps(counts),
                },
            )


_OPEN = {"kind": "open"}
_LAPSED = ("expired", "default")


def no_such_bandit(name: str) -> Refused:
    """Return the refusal for a name that nobody has created."""
    return Refused(404, f"there is no bandit {name!r}; create it with PUT /v1/bandits/{name}.")


def decision_id(secret: bytes, seq: int) -> str:
    """Return the public id of a decision: its number, and a code that nobody else can compute."""
    code = hashlib.blake2b(str(seq).encode(), key=secret, digest_size=8).hexdigest()
    return f"{seq:x}-{code}"


def load(connection: sa.Connection, row: Any) -> _Loaded:
    """Return a bandit as it is stored."""
    table = tables.arms
    query = sa.select(table).where(table.c.bandit == row["id"]).order_by(table.c.position)
    found = connection.execute(query).mappings().all()
    names = ArmState._fields
    state = MachineState(
        horizon=row["horizon"],
        paused=row["paused"],
        rounds=row["rounds"],
        stream=row["stream"],
        memory=tuple(json.loads(row["memory"])),
        arms=tuple(ArmState(*(arm[name] for name in names)) for arm in found),
    )
    return _Loaded(
        machine=Machine.restored(rules_of(row), row["seed"], state),
        version=row["version"],
        arms=state.arms,
        decisions=[arm["decisions"] for arm in found],
        expired=[arm["expired"] for arm in found],
    )


def rules_of(row: Any) -> Rules:
    """Return the rules of a stored bandit."""
    try:
        return Rules.model_validate_json(row["rules"])
    except ValidationError as error:
        raise refusal_of(error) from None


def _insert_bandit(
    connection: sa.Connection, name: str, rules: str, machine: Machine, at: int
) -> None:
    state = machine.state()
    row = {
        "name": name,
        "rules": rules,
        "seed": machine.seed,
        "secret": secrets.token_hex(32),
        "created_at": at,
        "version": 0,
        "at": at,
        "expired_through": 0,
        "horizon": state.horizon,
        "paused": state.paused,
        "rounds": state.rounds,
        "stream": state.stream,
        "memory": json.dumps(state.memory),
        "rewarded_at": None,
        "late": 0,
        "due": None,
        "corrected": None,
    }
    number = connection.execute(tables.bandits.insert(), row).inserted_primary_key
    assert number is not None
    zeros = [0] * len(state.arms)
    loaded = _Loaded(machine, 0, state.arms, zeros, zeros)
    rows = [_arm_row(number[0], i, arm, loaded) for i, arm in enumerate(state.arms)]
    connection.execute(tables.arms.insert(), rows)


def _arm_row(bandit: int, position: int, arm: ArmState, loaded: _Loaded) -> dict[str, Any]:
    return {
        "bandit": bandit,
        "position": position,
        **arm._asdict(),
        "decisions": loaded.decisions[position],
        "expired": loaded.expired[position],
    }


def _canonical(model: Rules | Change) -> str:
    """Return a model as JSON in one form: equal models have equal texts."""
    return json.dumps(model.model_dump(), sort_keys=True, separators=(",", ":"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
