"""Where everything is kept: tables, connections and transactions, on SQLite or PostgreSQL.

Storage is the source of truth; what a process holds in memory is a cache. `log` is append-only:
replayed in the order of `seq`, it gives the state in `bandits` and `arms`. The schema is versioned
by Alembic (`migrations/`): a newer store is refused, an older one is migrated in a transaction.
"""

from __future__ import annotations

import re
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
)

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
    # decision, reward, default (the default reward), expired, late (ignored) or change
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


class StoreUnavailable(Exception):
    """The database cannot be reached, or refuses to work now; nothing was changed."""


class Storage:
    """A database that holds bandits, opened and migrated.

    Parameters
    ----------
    url : str
        ``postgresql://…``, ``sqlite:///path``, or the path of an SQLite file.
    versions : sequence of path
        Folders with migrations.
    create : bool
        Whether to create an SQLite file that is not there.
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
            raise ValueError(f"there is no store {self.place}; `ocucb serve` creates one.")
        self._writing = threading.Lock()  # SQLite has one writer: threads need not poll for it
        try:
            if self.is_sqlite:
                self.writer = _sqlite_engine(self._url, read_only=False)
                self.reader = _sqlite_engine(self._url, read_only=True)
            else:
                self.writer = _postgresql_engine(self._url)
                self.reader = self.writer.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            self._migrate(versions)
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise ValueError(f"{self.place} cannot be used as a store: {_reason(error)}") from None

    @property
    def place(self) -> str:
        """The store, without a password."""
        return str(self._url.database) if self.is_sqlite else self._url.render_as_string()

    def close(self) -> None:
        """Close all connections."""
        self.writer.dispose()
        self.reader.dispose()

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Begin a transaction that is committed, durably, if the context exits without an error."""
        with self._translated():
            if self.is_sqlite:
                with self._writing, self.writer.begin() as connection:
                    yield connection
            else:
                with self.writer.begin() as connection:
                    yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Begin a read-only transaction, which sees one state of the store and blocks nobody."""
        with self._translated(), self.reader.begin() as connection:
            yield connection

    def check_writable(self) -> None:
        """Raise `StoreUnavailable` if nothing could be written now."""
        with self.writing() as connection:  # on SQLite it holds the lock of the writer
            if not self.is_sqlite:
                setting = sa.text("SELECT current_setting('transaction_read_only')")
                if connection.execute(setting).scalar() != "off":
                    raise StoreUnavailable("the database is read-only.")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.IntegrityError:
            raise
        except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as error:
            raise StoreUnavailable(f"the store cannot be used now: {_reason(error)}") from error
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            raise StoreUnavailable(f"the store cannot be used now: {_reason(error)}") from error

    # The version of the schema

    def _migrate(self, versions: tuple[Path, ...]) -> None:
        """Bring the schema up to date, or refuse a store of a later version."""
        config = Config()
        config.set_main_option("script_location", _quoted(MIGRATIONS))
        config.set_main_option("path_separator", "newline")
        config.set_main_option("version_locations", "\n".join(map(_quoted, versions)))
        script = ScriptDirectory.from_config(config)
        known = {revision.revision for revision in script.walk_revisions()}
        with self.writer.begin() as connection:
            if not self.is_sqlite:  # of several processes that start at once, one migrates
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
    """Tell whether a store is an SQLite file that is not there yet."""
    place = _to_url(url)
    return place.get_backend_name() == "sqlite" and not Path(str(place.database)).exists()


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


def _sqlite_engine(url: sa.URL, *, read_only: bool) -> sa.Engine:
    folder = Path(str(url.database)).parent
    if not folder.is_dir():
        raise ValueError(f"{url.database} cannot be written: {folder} is not a folder.")
    engine = sa.create_engine(url, connect_args={"timeout": 10.0}, pool_size=8, max_overflow=8)

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
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine


def _postgresql_engine(url: sa.URL) -> sa.Engine:
    limits = (
        "-c statement_timeout=30s -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s"
    )
    return sa.create_engine(
        url,
        pool_size=8,
        max_overflow=8,
        pool_timeout=10,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 5, "options": limits},
    )
