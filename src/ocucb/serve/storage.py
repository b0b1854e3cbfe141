"""Where everything is kept: tables, connections and transactions, on SQLite or PostgreSQL.

Storage is the source of truth; what a process holds in memory is a cache. `log` is append-only:
replayed in the order of `seq`, it gives the state in `bandits` and `arms`. The schema is versioned
by Alembic (`migrations/`): a newer store is refused, an older one is migrated in a transaction.

Nobody waits long: who cannot write within `PATIENCE` is told that the store is unavailable. So is
everybody once the files of an SQLite store were removed or replaced: SQLite would go on writing to
files that nobody can see any more.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

MIGRATIONS = Path(__file__).parent / "migrations"
PATIENCE = 2.0  # seconds to wait for others who write
_MIGRATION_PATIENCE = 10.0
_PROBE = 2**16  # bytes: more than a decision takes

metadata = sa.MetaData()

bandits = sa.Table(
    "bandits",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(100), nullable=False, unique=True),
    sa.Column("rules", sa.Text, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("secret", sa.String(64), nullable=False),  # authenticates the ids of decisions
    sa.Column("created_at", sa.BigInteger, nullable=False),  # all times in microseconds
    sa.Column("version", sa.BigInteger, nullable=False),  # seq of the last entry in the log
    sa.Column("at", sa.BigInteger, nullable=False),  # its time: times never decrease
    sa.Column("expired_through", sa.BigInteger, nullable=False),  # all decisions so far are closed
    sa.Column("horizon", sa.BigInteger, nullable=False),
    sa.Column("paused", sa.Boolean, nullable=False),
    sa.Column("rounds", sa.BigInteger, nullable=False),
    sa.Column("stream", sa.String(80), nullable=False),
    sa.Column("memory", sa.Text, nullable=False),
    sa.Column("rewarded_at", sa.BigInteger),
    sa.Column("late", sa.BigInteger, nullable=False),
    sa.Column("due", sa.BigInteger),  # when the first open decision expires, at the earliest
    sa.Column("corrected", sa.BigInteger),  # seq of the last entry at which the time went back
)
_DUE = sa.text("due IS NOT NULL")
sa.Index("bandits_due", bandits.c.due, postgresql_where=_DUE, sqlite_where=_DUE)

arms = sa.Table(
    "arms",
    metadata,
    sa.Column("bandit", sa.ForeignKey("bandits.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("pulls", sa.BigInteger, nullable=False),
    sa.Column("open", sa.BigInteger, nullable=False),
    sa.Column("sum", sa.Double, nullable=False),
    sa.Column("squares", sa.Double, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("decisions", sa.BigInteger, nullable=False),
    sa.Column("expired", sa.BigInteger, nullable=False),  # closed without a reward
)

log = sa.Table(
    "log",
    metadata,
    sa.Column("bandit", sa.ForeignKey("bandits.id"), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    # decision, reward, default (the default reward), expired, late (ignored), change, or clock
    # (it was ahead)
    sa.Column("kind", sa.String(8), nullable=False),
    sa.Column("arm", sa.Integer),
    sa.Column("decision", sa.BigInteger),  # of an outcome: the seq of its decision
    sa.Column("reward", sa.Double),
    sa.Column("propensity", sa.Double),
    sa.Column("unit", sa.String(200)),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("detail", sa.Text),
)

# A decision is closed once, and one reward after that is kept: the database sees to it.
_CLOSED = sa.text("kind <> 'late' AND decision IS NOT NULL")
_LATE = sa.text("kind = 'late'")
_UNIT = sa.text("unit IS NOT NULL")
for _name, _columns, _where, _unique in (
    ("log_closed", (log.c.bandit, log.c.decision), _CLOSED, True),
    ("log_late", (log.c.bandit, log.c.decision), _LATE, True),
    ("log_unit", (log.c.bandit, log.c.unit, log.c.seq), _UNIT, False),
):
    sa.Index(_name, *_columns, unique=_unique, postgresql_where=_where, sqlite_where=_where)

requests = sa.Table(
    "requests",
    metadata,
    sa.Column("bandit", sa.ForeignKey("bandits.id"), primary_key=True),
    sa.Column("key", sa.String(64), primary_key=True),  # digest of the Idempotency-Key
    sa.Column("body", sa.String(64), nullable=False),  # digest of what was asked for
    sa.Column("first", sa.BigInteger, nullable=False),  # seq of the first decision
    sa.Column("count", sa.Integer, nullable=False),
)

history = sa.Table(
    "history",
    metadata,
    sa.Column("bandit", sa.ForeignKey("bandits.id"), primary_key=True),
    sa.Column("rounds", sa.BigInteger, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("counts", sa.Text, nullable=False),  # JSON: of each arm, decisions, pulls and sum
)

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("label", sa.String(200), nullable=False),
    sa.Column("scope", sa.String(16), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("revoked_at", sa.BigInteger),
)

probe = sa.Table(
    "probe",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("filling", sa.LargeBinary, nullable=False),
)


class StoreUnavailable(Exception):
    """The store cannot be reached, or refuses to work now; nothing was acknowledged."""


class Storage:
    """A database that holds bandits, opened and migrated.

    Parameters
    ----------
    url : str
        ``postgresql://…``, ``sqlite:///path``, or the path of an SQLite file.
    versions : sequence of path
        Folders with migrations.
    create : bool
        Whether to make a store where there is none yet.
    """

    def __init__(
        self,
        url: str,
        versions: tuple[Path, ...] = (MIGRATIONS / "versions",),
        *,
        create: bool = True,
    ) -> None:
        self._url = _to_url(url)
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        if not create and is_missing(url):
            raise self._no_store()
        self._writing = threading.Lock()  # SQLite has one writer: threads need not poll for it
        self._until = time.monotonic() + _MIGRATION_PATIENCE  # whoever has it gives up then
        self._files: dict[str, tuple[int, int]] = {}
        try:
            if self.is_sqlite:
                if create:
                    self._make_file()
                self.writer = self._sqlite_engine(read_only=False)
                self.reader = self._sqlite_engine(read_only=True)
            else:
                self.writer = _postgresql_engine(self._url)
                self.reader = self.writer.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            self._migrate(versions, create=create)
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise ValueError(f"{self.place} cannot be used as a store: {_reason(error)}") from None
        if self.is_sqlite:
            self._remember_files()

    def _no_store(self) -> ValueError:
        return ValueError(f"there is no store {self.place}; `ocucb serve` creates one.")

    @property
    def place(self) -> str:
        """The store, without a password."""
        return str(self._url.database) if self.is_sqlite else self._url.render_as_string()

    def close(self) -> None:
        """Close all connections."""
        self.writer.dispose()
        self.reader.dispose()

    @contextmanager
    def writing(self, patience: float = PATIENCE) -> Iterator[sa.Connection]:
        """Begin a transaction that is committed, durably, if the context exits without an error.

        Whoever cannot write within `patience` seconds gets `StoreUnavailable`.
        """
        with self._translated():
            if self.is_sqlite:
                with self._alone(patience), self.writer.begin() as connection:
                    yield connection
                    self._check_files()
                self._check_files()  # or it was committed where nobody can see it
            else:
                with self.writer.begin() as connection:
                    if patience < 0.75 * PATIENCE:  # else the limit of the connection will do
                        limit = f"SET LOCAL lock_timeout = {round(1000 * patience)}"
                        connection.exec_driver_sql(limit)
                    yield connection

    @contextmanager
    def _alone(self, patience: float) -> Iterator[None]:
        """Wait until no other thread writes."""
        until = time.monotonic() + patience
        if not self._writing.acquire(timeout=patience):
            raise StoreUnavailable("the store cannot be used now: another request takes too long.")
        try:
            self._until = until
            yield
        finally:
            self._writing.release()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Begin a read-only transaction, which sees one state of the store and blocks nobody."""
        self._check_files()
        with self._translated(), self.reader.begin() as connection:
            yield connection

    def check_writable(self) -> None:
        """Write, and raise `StoreUnavailable` if that is not possible now.

        What is written takes more room than a decision, so a disk that is full is noticed; it
        replaces what was written the last time.
        """
        row = {"id": secrets.randbits(62), "filling": os.urandom(_PROBE)}
        with self.writing() as connection:
            connection.execute(probe.insert(), row)
            connection.execute(probe.delete().where(probe.c.id != row["id"]))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.IntegrityError:
            raise
        except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as error:
            raise StoreUnavailable(f"the store cannot be used now: {_reason(error)}") from error
        except DBAPIError as error:
            read_only = getattr(error.orig, "sqlstate", None) == "25006"
            if not error.connection_invalidated and not read_only:
                raise
            raise StoreUnavailable(f"the store cannot be used now: {_reason(error)}") from error

    # The files of SQLite

    def _make_file(self) -> None:
        """Create the file if need be: connections only open what is there."""
        folder = Path(self.place).parent
        if not folder.is_dir():
            raise ValueError(f"{self.place} cannot be written: {folder} is not a folder.")
        sqlite3.connect(self.place).close()

    def _sqlite_engine(self, *, read_only: bool) -> sa.Engine:
        address = f"file:{_percent(self.place)}?mode=rw"

        def connect() -> sqlite3.Connection:
            made = sqlite3.connect(address, uri=True, timeout=PATIENCE, check_same_thread=False)
            try:
                self._check_files()  # before anything is written to another one
            except StoreUnavailable:
                made.close()
                raise
            return made

        engine = sa.create_engine(
            self._url, creator=connect, pool_size=8, max_overflow=8, pool_timeout=PATIENCE
        )

        @sa.event.listens_for(engine, "connect")
        def _set_up(connection: Any, record: Any) -> None:
            connection.isolation_level = None  # transactions begin where we say
            cursor = connection.cursor()
            names = [name for (name,) in cursor.execute("SELECT name FROM sqlite_master")]
            if not names or "alembic_version" in names:  # else it is refused, and stays as it is
                cursor.execute("PRAGMA journal_mode = WAL")  # readers and the writer do not wait
            cursor.execute("PRAGMA synchronous = FULL")  # what is acknowledged survives a power cut
            cursor.execute("PRAGMA foreign_keys = ON")
            if read_only:
                cursor.execute("PRAGMA query_only = ON")
            cursor.close()

        @sa.event.listens_for(engine, "begin")
        def _begin(connection: sa.Connection) -> None:
            if read_only:
                connection.exec_driver_sql("BEGIN")
                return
            left = max(0, round(1000 * (self._until - time.monotonic())))
            plain: Any = connection.connection.driver_connection
            plain.execute(f"PRAGMA busy_timeout = {left}")
            connection.exec_driver_sql("BEGIN IMMEDIATE")

        return engine

    def _remember_files(self) -> None:
        """Note which files these are; SQLite keeps both as long as a connection is open."""
        log = f"{os.path.realpath(self.place)}-wal"  # links are followed first
        found = {path: _identity(path) for path in (self.place, log)}
        self._files = {path: one for path, one in found.items() if one is not None}

    def _check_files(self) -> None:
        for path, known in self._files.items():
            if _identity(path) != known:
                raise StoreUnavailable(
                    f"{path} was removed or replaced; put it back, or restart the server."
                )

    # The version of the schema

    def _migrate(self, versions: tuple[Path, ...], *, create: bool) -> None:
        """Bring the schema up to date, or refuse a store of a later version."""
        config = Config()
        config.set_main_option("script_location", _quoted(MIGRATIONS))
        config.set_main_option("path_separator", "newline")
        config.set_main_option("version_locations", "\n".join(map(_quoted, versions)))
        script = ScriptDirectory.from_config(config)
        known = {revision.revision for revision in script.walk_revisions()}
        with self.writer.begin() as connection:
            if not self.is_sqlite:  # of several processes that start at once, one migrates
                limit = f"SET LOCAL lock_timeout = {round(1000 * _MIGRATION_PATIENCE)}"
                connection.exec_driver_sql(limit)
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7236728)"))
            present = MigrationContext.configure(connection).get_current_revision()
            if present == script.get_current_head():
                return
            tables = sa.inspect(connection).get_table_names()
            # a database of PostgreSQL may be shared, a file is not
            if present is None and (tables if self.is_sqlite else "bandits" in tables):
                raise ValueError(
                    f"{self.place} has tables that ocucb did not make; use another one."
                )
            if present is None and not create:
                raise self._no_store()
            if present is not None and present not in known:
                raise ValueError(
                    f"{self.place} has schema {present}, which is newer than this ocucb knows; "
                    "use the version that wrote it, or a later one."
                )
            if present is not None and self.is_sqlite:
                self._back_up(present)
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def _back_up(self, present: str) -> None:
        """Copy an SQLite store, as it was before it is migrated, to a file beside it."""
        target = Path(f"{self._url.database}.{present}.backup")
        with (
            sqlite3.connect(f"file:{_percent(self._url.database)}?mode=ro", uri=True) as source,
            sqlite3.connect(target) as copy,
        ):
            source.backup(copy)
        source.close()
        copy.close()


def is_missing(url: str) -> bool:
    """Tell whether a store is an SQLite file that is not there yet, or has nothing in it."""
    place = _to_url(url)
    if place.get_backend_name() != "sqlite":
        return False
    path = Path(str(place.database))
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def now() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1000


def _to_url(text: str) -> sa.URL:
    """Return the address of a database; a plain path is an SQLite file."""
    if "://" not in text:
        return sa.URL.create("sqlite", database=str(Path(text).absolute()))
    try:
        url = sa.make_url(text)
    except (SQLAlchemyError, ValueError):
        raise ValueError(f"store must be a path or an address, got {_masked(text)!r}.") from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database not in (None, "", ":memory:"):
        return url.set(database=str(Path(str(url.database)).absolute()))
    raise ValueError(
        "store must be the path of an SQLite file or postgresql://user@host/database, "
        f"got {_masked(text)!r}."
    )


def _masked(text: str) -> str:
    return re.sub(r"//[^@/]*@", "//***@", text)


def _quoted(path: Path) -> str:
    return str(path).replace("%", "%%")


def _percent(path: Any) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _reason(error: Exception) -> str:
    """Return the first line of what the database said."""
    text = str(getattr(error, "orig", None) or error).strip()
    return f"{text.splitlines()[0].rstrip('.') if text else type(error).__name__}."


def _identity(path: str) -> tuple[int, int] | None:
    """Return what tells a file from any other that exists, or None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _postgresql_engine(url: sa.URL) -> sa.Engine:
    limits = (
        f"-c statement_timeout=30s -c lock_timeout={round(1000 * PATIENCE)} "
        "-c idle_in_transaction_session_timeout=60s"
    )
    return sa.create_engine(
        url,
        pool_size=8,
        max_overflow=8,
        pool_timeout=PATIENCE,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 2, "options": limits},
    )
