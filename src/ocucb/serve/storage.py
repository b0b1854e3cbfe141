"""Where everything is kept: connections and transactions, on SQLite or PostgreSQL.

Storage is the source of truth; what a process holds in memory is a cache. The schema is versioned
by Alembic (`migrations/`): a newer store is refused, an older one is migrated in a transaction.

Nobody waits long: whoever cannot write within `PATIENCE` gets `StoreUnavailable`. So does everybody
once the files of an SQLite store have been removed or replaced: SQLite would go on writing to files
that nobody can see any more.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from .errors import StoreUnavailable
from .tables import probe

MIGRATIONS = Path(__file__).parent / "migrations"
PATIENCE = 2.0  # seconds to wait for others who write
_MIGRATION_PATIENCE = 10.0
_PROBE = 2**16  # bytes: more than a decision takes


class Storage:
    """A database that holds bandits, opened and migrated.

    `url` is ``postgresql://…``, ``sqlite:///path``, or the path of an SQLite file; `versions` are
    folders with migrations; where there is no store yet, one is made if `create`.
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
        except (DBAPIError, sa.exc.TimeoutError) as error:
            passing = (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError)
            if not isinstance(error, passing) and not (
                error.connection_invalidated
                or getattr(error.orig, "sqlstate", None) == "25006"  # it is read-only
            ):
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
        address = f"file:{quote(self.place)}?mode=rw"

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
                self.back_up(Path(f"{self.place}.{present}.backup"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def back_up(self, target: Path) -> None:
        """Copy an SQLite store as it is now, while others write to it, to another file."""
        with (
            closing(sqlite3.connect(f"file:{quote(self.place)}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)


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


def _reason(error: Exception) -> str:
    """Return the first line of what the database said."""
    text = str(getattr(error, "orig", None) or error).strip()
    return f"{text.splitlines()[0].rstrip('.') if text else type(error).__name__}."


def _identity(path: str) -> tuple[int, int] | None:
    """Return what tells a file from any other that exists, or None if there is none."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    return None


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
