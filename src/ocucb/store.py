"""A store: finished blocks of simulations in one SQLite file, so that no run is played twice.

A block is keyed by its specification's identity, its first run and its number of runs, so the
same block is never stored twice. Blocks are committed in batches a few times a second,
synchronously: committed blocks survive a kill or a power cut.
"""

from __future__ import annotations

import os
import sqlite3
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from ._text import shown
from ._types import Floats
from .results import Description, Moments, SimulationResult, Stored, result_of
from .results.moments import FORMAT
from .specification import Block, Specification

_APPLICATION = 0x6F637563  # "ocuc", in the file's header
_BEGINNING = b"SQLite format 3\0"
_PAUSE = 0.25  # seconds between commits: a synchronous one may take ten milliseconds
_CHECKED = 2**28  # bytes: files up to this size are checked for damage when opened
_PATIENCE = 60.0  # seconds to wait for another process

_TABLES = (
    """create table simulations (
        id integer primary key autoincrement,
        identity text not null unique,
        policy text not null,
        label text not null,
        engine text not null,
        problem text not null,
        means blob not null,
        rewards text not null,
        sigma real not null,
        horizon integer not null,
        checkpoints blob not null,
        seed text not null,
        version text not null,
        sampling text not null,
        prior integer not null,
        largest_gap real not null,
        failure_cost real not null,
        stops integer not null,
        change integer not null
    )""",
    """create table blocks (
        simulation integer not null references simulations,
        first integer not null,
        runs integer not null,
        moments blob not null,
        checksum integer not null,
        seconds real not null,
        finished real not null,
        unique (simulation, first, runs)
    )""",
)

# Parts of sweeps, created with the first of them: what is added up of their runs.
_SUMS = """create table if not exists sums (
    identity text not null,
    first integer not null,
    runs integer not null,
    numbers blob not null,
    checksum integer not null,
    seconds real not null,
    unique (identity, first, runs)
)"""
_HAS_SUMS = "select count(*) from sqlite_master where name = 'sums'"


# What holds for every row that ocucb writes: SQLite itself lets any column hold anything.
_SOUND = {
    "simulations": [
        *(f"typeof({name}) = 'text'" for name in ("identity", "policy", "label", "engine")),
        *(f"typeof({name}) = 'text'" for name in ("problem", "rewards", "seed", "version")),
        "sampling in ('plain', 'tilted') and typeof(prior) = 'integer' and prior in (0, 1)",
        "typeof(stops) = 'integer' and stops in (0, 1)",
        "typeof(change) = 'integer' and change >= 0",
        *(
            f"typeof({name}) = 'real' and {name} >= 0 and {name} < 9e999"
            for name in ("largest_gap", "failure_cost")
        ),
        "typeof(means) = 'blob' and length(means) > 0 and length(means) % 8 = 0",
        "typeof(checkpoints) = 'blob' and length(checkpoints) > 0 and length(checkpoints) % 8 = 0",
        "typeof(sigma) = 'real' and sigma > 0 and sigma < 9e999",
        "typeof(horizon) = 'integer' and horizon > 0",
        "length(seed) between 1 and 4300 and seed not glob '*[^0-9]*'",
    ],
    "blocks": [
        "typeof(first) = 'integer' and first >= 0",
        "typeof(runs) = 'integer' and runs > 0",
        "typeof(moments) = 'blob' and typeof(checksum) = 'integer'",
        "typeof(seconds) = 'real' and seconds >= 0 and seconds < 9e999",
        "typeof(finished) = 'real' and abs(finished) < 9e999",
    ],
}


class StoreError(RuntimeError):
    """A store cannot be used; the message is one sentence that says why and what to do.

    Where `simulate` had finished runs by then, `result` holds them.

    Attributes
    ----------
    result : SimulationResult or None
        The finished runs, if there are any.

    Examples
    --------
    >>> import ocucb
    >>> try:
    ...     ocucb.Store("missing.db", read_only=True)
    ... except ocucb.StoreError as error:
    ...     print(error)
    there is no store missing.db; simulate with --store creates one.
    """

    result: SimulationResult | None = None


class Store:
    """Finished blocks in an SQLite file.

    Parameters
    ----------
    path : path
        The file; it is created if it does not exist.
    read_only : bool, optional
        Open an existing file and change nothing.

    Examples
    --------
    >>> import ocucb, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = folder.name + "/results.db"
    >>> first = ocucb.simulate("ucb", ocucb.gap(), 100, runs=1000, rng=1, store=path)
    >>> more = ocucb.simulate("ucb", ocucb.gap(), 100, runs=2000, rng=1, store=path)
    >>> with ocucb.Store(path) as store:
    ...     [(each.result.label, each.result.runs) for each in store.contents()]
    [('UCB', 2000)]
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        try:
            self.path = Path(path)
        except TypeError:
            got = shown(path)
            raise TypeError(f"a store must be a path such as 'results.db', got {got}.") from None
        self._pending: list[tuple[Specification, Block]] = []
        self._pending_sums: list[tuple[str, int, int, bytes, int, float]] = []
        self._committed = time.monotonic()
        self._numbers: dict[str, int] = {}
        self._checked: set[str] = set()
        if read_only and not self.path.exists():
            raise StoreError(f"there is no store {self.path}; simulate with --store creates one.")
        if not self.path.parent.is_dir():
            raise StoreError(f"the folder of {str(self.path)!r} does not exist; create it first.")
        if self.path.exists() and not self.path.is_file():
            raise StoreError(f"{self.path} is not a file; name one, for example results.db.")
        with self._translate_errors():
            if self._is_foreign():
                raise StoreError(
                    f"{self.path} is not an ocucb store, or its header is damaged; it was left "
                    "unchanged: choose another file."
                )
            self._database = self._connection(read_only)
            self._database.execute(f"pragma busy_timeout = {int(1000 * _PATIENCE)}")
            try:
                if read_only:
                    self._check()
                else:
                    self._set_up()
            except BaseException:
                self._database.close()
                raise

    _REMOVED = "{} was deleted in the meantime; run again to recreate it."

    def _removed(self) -> bool:
        return hasattr(self, "_database") and not self.path.exists()

    def _is_foreign(self) -> bool:
        if not self.path.exists():
            return False
        with open(self.path, "rb") as file:
            return file.read(len(_BEGINNING)) not in (b"", _BEGINNING)

    def _connection(self, read_only: bool) -> sqlite3.Connection:
        address = self.path.absolute().as_uri()
        mode = "rwc"
        if read_only:
            # In a read-only folder, SQLite cannot create the file that readers of a write-ahead
            # log share. Without a log, it need not.
            log = Path(f"{self.path}-wal")
            alone = not os.access(self.path.parent, os.W_OK)
            empty = not log.exists() or log.stat().st_size == 0
            mode = "ro&immutable=1" if alone and empty else "ro"
        return sqlite3.connect(f"{address}?mode={mode}", uri=True, isolation_level=None)

    def _set_up(self) -> None:
        """Create the tables in a new file; in any case, make sure the file can be written."""
        database = self._database
        if not self._is_empty():
            self._check()
        database.execute("pragma synchronous = full")
        # If nothing can be written, this fails before anything is played.
        with self._transaction():
            if self._is_empty():
                for table in _TABLES:
                    database.execute(table)
                database.execute(f"pragma application_id = {_APPLICATION}")
                database.execute(f"pragma user_version = {FORMAT}")
        self._write_ahead()  # only now, so that the header is in the file itself, not the log

    def _is_empty(self) -> bool:
        return not self._database.execute("select count(*) from sqlite_master").fetchone()[0]

    def _write_ahead(self) -> None:
        """Switch to a write-ahead log; processes that start simultaneously must take turns."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                self._database.execute("pragma journal_mode = wal")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _check(self) -> None:
        database = self._database
        if self._is_empty():
            raise StoreError(f"{self.path} is empty; simulate with --store to fill it.")
        if database.execute("pragma application_id").fetchone()[0] != _APPLICATION:
            raise StoreError(
                f"{self.path} is not an ocucb store; it was left unchanged: choose another file."
            )
        version = database.execute("pragma user_version").fetchone()[0]
        if version != FORMAT:
            age = "a newer" if version > FORMAT else "an older"
            raise StoreError(
                f"{self.path} was written by {age} ocucb (format {version}; this version reads "
                f"{FORMAT}); use that version, or choose another file."
            )
        if self.path.stat().st_size <= _CHECKED:
            found = database.execute("pragma quick_check(1)").fetchone()[0]
            if found != "ok":
                raise sqlite3.DatabaseError(found)
            for name, sound in _SOUND.items():
                odd = database.execute(
                    f"select rowid from {name} where not ({' and '.join(sound)}) limit 1"
                ).fetchone()
                if odd is not None:
                    raise sqlite3.DatabaseError(f"row {odd[0]} of {name} is invalid")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("begin immediate")
        try:
            yield
            self._database.execute("commit")
        except BaseException:
            self._numbers.clear()  # rows created in this transaction are gone
            if self._database.in_transaction:
                self._database.execute("rollback")
            raise

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn SQLite's errors into sentences that say what to do."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise  # closed, or used from another thread: a bug in the calling program
        except sqlite3.Error as error:
            reason = " ".join(str(error).split())
            if self._removed():
                remedy = self._REMOVED.format(self.path)
            elif "full" in reason or "I/O" in reason:
                remedy = (
                    f"{self.path} cannot grow ({reason}); committed runs are safe: free some disk "
                    "space and run again to resume."
                )
            elif "readonly" in reason or "unable to open" in reason:
                remedy = (
                    f"{self.path} cannot be written ({reason}); choose another file, change its "
                    "permissions, or copy it (and the files beside it) to a writable folder."
                )
            elif "locked" in reason:
                remedy = (
                    f"{self.path} has been locked by another process for "
                    f"{_PATIENCE:g} seconds; wait for that process and run again."
                )
            else:
                remedy = (
                    f"{self.path} is damaged ({reason}); it was left unchanged: move it away and "
                    f"run again, or rescue its contents with: sqlite3 {self.path} .recover"
                )
            raise StoreError(remedy) from error
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error.strerror}.") from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Also translate errors from rows ocucb cannot have written: large files go unchecked."""
        with self._translate_errors():
            try:
                yield
            except (OverflowError, TypeError, ValueError, zlib.error) as error:
                raise sqlite3.DatabaseError(f"invalid row: {error}") from error

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if not issubclass(kind or Exception, StoreError):
                self.flush()
        finally:
            self._database.close()

    def get(self, specification: Specification, first: int, runs: int) -> Block | None:
        """Return a block, or None if it is missing or damaged."""
        with self._reading():
            self._check_simulation(specification)
            row = self._database.execute(
                "select moments, checksum, seconds from blocks join simulations on simulation = id "
                "where identity = ? and first = ? and runs = ?",
                (specification.identity, first, runs),
            ).fetchone()
            if row is None:
                return None
            packed, checksum, seconds = row
            sizes = specification.checkpoints.size, specification.problem.arms
            moments = _unpacked(packed, checksum, specification.identity, first, runs, *sizes)
            if moments is not None:
                return Block(first, moments, float(seconds))
        warnings.warn(
            f"{self.path}: replaying a damaged block of {specification.policy.label}.", stacklevel=2
        )
        return None

    def _check_simulation(self, specification: Specification) -> None:
        """Check that what is stored about a simulation, if anything, matches its identity."""
        if specification.identity in self._checked:
            return
        row = self._database.execute(
            "select means = :means and sigma = :sigma and horizon = :horizon and "
            "prior = :prior and largest_gap = :largest_gap and "
            "checkpoints = :checkpoints and seed = :seed from simulations where "
            "identity = :identity",
            _columns(specification),
        ).fetchone()
        if row is not None and not row[0]:
            raise ValueError(f"{specification.policy.label} does not match its identity")
        self._checked.add(specification.identity)

    def runs(self, specification: Specification) -> int:
        """Return the number of stored runs of a simulation, without checking the blocks."""
        with self._reading():
            row = self._database.execute(
                "select max(first + runs) from blocks join simulations on simulation = id "
                "where identity = ?",
                (specification.identity,),
            ).fetchone()
            return int(row[0] or 0)

    @property
    def holds_runs(self) -> bool:
        """Whether the store holds any finished block."""
        with self._translate_errors():
            found = self._database.execute("select exists (select 1 from blocks)").fetchone()
            return bool(found[0])

    def add(self, specification: Specification, block: Block) -> None:
        """Add a finished block, to be committed shortly."""
        self._pending.append((specification, block))
        self.flush_when_due()

    def flush_when_due(self) -> None:
        """Commit pending blocks, unless the last commit was only just now."""
        pending = self._pending or self._pending_sums
        if pending and time.monotonic() - self._committed >= _PAUSE:
            self.flush()

    def flush(self) -> None:
        """Commit pending blocks."""
        if not self._pending and not self._pending_sums:
            return
        now = time.time()
        with self._translate_errors(), self._transaction():
            for specification, block in self._pending:
                packed, place = _packed(block.moments), (block.first, block.moments.runs)
                checksum = zlib.crc32(packed, _place(specification.identity, *place))
                number = self._number(specification)
                # "or replace": a replayed block replaces a damaged one.
                self._database.execute(
                    "insert or replace into blocks values (?, ?, ?, ?, ?, ?, ?)",
                    (number, *place, packed, checksum, block.seconds, now),
                )
            if self._pending_sums:
                self._database.execute(_SUMS)
                self._database.executemany(
                    "insert or replace into sums values (?, ?, ?, ?, ?, ?)", self._pending_sums
                )
        self._pending.clear()
        self._pending_sums.clear()
        self._committed = time.monotonic()
        if self._removed():
            raise StoreError(self._REMOVED.format(self.path))

    def _number(self, specification: Specification) -> int:
        """Return the row id of a simulation, inserting the row if necessary."""
        identity = specification.identity
        if identity not in self._numbers:
            row = _columns(specification)
            self._database.execute(
                f"insert or ignore into simulations values (null{', ?' * len(row)})",
                tuple(row.values()),
            )
            self._numbers[identity] = self._database.execute(
                "select id from simulations where identity = ?", (identity,)
            ).fetchone()[0]
        return self._numbers[identity]

    def get_sums(
        self, identity: str, first: int, runs: int, shape: tuple[int, int]
    ) -> tuple[Floats, float] | None:
        """Return a part of a sweep and the seconds it took, or None if it is missing or damaged."""
        with self._reading():
            if not self._database.execute(_HAS_SUMS).fetchone()[0]:
                return None
            row = self._database.execute(
                "select numbers, checksum, seconds from sums "
                "where identity = ? and first = ? and runs = ?",
                (identity, first, runs),
            ).fetchone()
            if row is None:
                return None
            packed, checksum, seconds = row
            if zlib.crc32(packed, _place(identity, first, runs)) == checksum:
                numbers = np.frombuffer(zlib.decompress(packed), dtype="<f8").astype(np.float64)
                return numbers.reshape(shape), float(seconds)
        warnings.warn(f"{self.path}: replaying a damaged part of a sweep.", stacklevel=2)
        return None

    def add_sums(self, identity: str, first: int, runs: int, sums: Floats, seconds: float) -> None:
        """Add a finished part of a sweep, to be committed shortly."""
        packed = zlib.compress(sums.astype("<f8").tobytes(), 1)
        checksum = zlib.crc32(packed, _place(identity, first, runs))
        self._pending_sums.append((identity, first, runs, packed, checksum, seconds))
        self.flush_when_due()

    def contents(self, samples: bool = True) -> list[Stored]:
        """Return every simulation in the store, with its runs up to the first gap.

        Each has one policy, its `result`, and the time when it was `finished`. Warns if a damaged
        block causes a gap.

        Parameters
        ----------
        samples : bool, optional
            Keep the regrets of single runs, for quantiles and the errors of tails: a megabyte per
            simulation.
        """
        with self._reading():
            simulations = self._database.execute("select * from simulations order by id").fetchall()
            found = (self._stored(samples, *row) for row in simulations)
            return [stored for stored in found if stored is not None]

    def _stored(self, samples: bool, number: int, identity: str, *columns: Any) -> Stored | None:
        played = _described(columns)
        rounds = played.checkpoints
        if rounds[-1:].tolist() != [played.horizon] or (np.diff(rounds, prepend=0) <= 0).any():
            raise ValueError(f"the checkpoints of {played.label} do not end with its horizon")
        blocks = self._database.execute(
            "select first, runs, moments, checksum, seconds, finished from blocks "
            "where simulation = ? order by first, runs desc",
            (number,),
        )
        chain: list[Moments] = []
        due, spent, newest = 0, 0.0, 0.0
        there, damaged = 0, False
        for first, runs, packed, checksum, seconds, finished in blocks:
            there = max(there, first + runs)
            if first != due:
                continue  # a shorter version of a block that we have, or one after a gap
            sizes = rounds.size, played.means.size
            moments = _unpacked(packed, checksum, identity, first, runs, *sizes)
            if moments is None:
                damaged = True
                continue
            chain.append(moments)
            due, spent, newest = due + runs, spent + seconds, max(newest, finished)
        if damaged:
            warnings.warn(
                f"{self.path}: a block of {played.label} on {played.problem} is damaged, so "
                f"{due:,} of its {there:,} runs are shown; simulate again to restore the rest.",
                stacklevel=2,
            )
        if not chain:
            return None
        result = result_of(played, reduce(Moments.merged, chain), spent)
        if not samples:
            few = {name: getattr(result[0], name)[:0] for name in ("sample", "weights")}
            result = replace(result, policies=[replace(result[0], **few)])
        return Stored(**vars(result), finished=newest)


def _columns(specification: Specification) -> dict[str, Any]:
    """Return the row of a simulation, without its id, in the order of the table."""
    played = specification.description
    return {
        "identity": specification.identity,
        **played._asdict(),
        "means": played.means.astype("<f8").tobytes(),
        "checkpoints": played.checkpoints.astype("<i8").tobytes(),
        "seed": str(played.seed),
        "prior": int(played.prior),
        "stops": int(played.stops),
    }


def _described(columns: tuple[Any, ...]) -> Description:
    """Return what was played, from the columns after the identity."""
    row = Description(*columns)
    return row._replace(
        means=np.frombuffer(row.means, dtype="<f8").astype(np.float64),
        checkpoints=np.frombuffer(row.checkpoints, dtype="<i8").astype(np.int64),
        seed=int(row.seed),
        prior=bool(row.prior),
        stops=bool(row.stops),
    )


def _packed(moments: Moments) -> bytes:
    """Pack moments into bytes: regrets are sums of a few gaps, which compress well."""
    return zlib.compress(moments.numbers().astype("<f8").tobytes(), 1)


def _place(identity: str, first: int, runs: int) -> int:
    """Return the checksum's starting value: one block cannot pass for another."""
    return zlib.crc32(f"{identity} {first} {runs}".encode())


def _unpacked(
    packed: bytes, checksum: int, identity: str, first: int, runs: int, checkpoints: int, arms: int
) -> Moments | None:
    """Return the moments packed by `_packed`, or None if a bit has changed since."""
    if zlib.crc32(packed, _place(identity, first, runs)) != checksum:
        return None
    numbers = np.frombuffer(zlib.decompress(packed), dtype="<f8").astype(np.float64)
    moments = Moments.from_numbers(numbers, first, runs, checkpoints, arms)
    if moments is None:
        raise ValueError(f"the block of {runs} runs starting at run {first} has the wrong size")
    return moments
