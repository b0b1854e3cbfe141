"""The log as rows: entries as they were written, or decisions with what became of them.

As lines of JSON, CSV or Parquet, which needs pyarrow.
"""

from __future__ import annotations

import csv
import io
import json
from bisect import bisect_left
from collections.abc import Callable
from typing import Any, Literal

import sqlalchemy as sa

from . import tables
from .errors import Invalid, UnknownBandit
from .stored import context_of, decision_id, times
from .tables import ARMS, LOG, NEWS

MOST_LINES = 10_000  # of the log in one answer

Format = Literal["ndjson", "csv", "parquet"]
TYPES: dict[Format, str] = {
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}

# The columns of both kinds of rows, and what Parquet calls their types.
_WHAT = {"decision": "string", "arm": "string", "propensity": "double", "unit": "string"}
_WHAT |= {"context": "string"}
_EXPIRY = {"expires_at": "double", "expires_at_iso": "string"}
ENTRY = {"seq": "int64", "at": "double", "at_iso": "string", "kind": "string", **_WHAT}
ENTRY |= {"reward": "double", "guard": "double", **_EXPIRY, "change": "string"}
JOINED = {"seq": "int64", "at": "double", "at_iso": "string", **_WHAT, **_EXPIRY}
JOINED |= {"epoch": "int64"}
JOINED |= {
    "outcome": "string",
    "reward": "double",
    "guard": "double",
    "closed_at": "double",
    "closed_at_iso": "string",
}

_outcome = tables.log.alias()
_DECISIONS = (
    sa.select(
        tables.log,
        _outcome.c.kind.label("outcome"),
        _outcome.c.reward.label("paid"),
        _outcome.c.guard.label("measured"),
        _outcome.c.at.label("closed_at"),
    )
    .outerjoin(
        _outcome,
        sa.and_(
            _outcome.c.bandit == tables.log.c.bandit,
            _outcome.c.decision == tables.log.c.seq,
            _outcome.c.decision.is_not(None),
            _outcome.c.kind != "late",
        ),
    )
    .where(
        tables.log.c.bandit == sa.bindparam("bandit"),
        tables.log.c.seq > sa.bindparam("after"),
        tables.log.c.kind == "decision",
    )
    .order_by(tables.log.c.seq)
    .limit(sa.bindparam("limit"))
)
_NAMED = sa.select(tables.bandits.c.id, tables.bandits.c.secret).where(
    tables.bandits.c.name == sa.bindparam("name")
)


def log_rows(
    connection: sa.Connection, name: str, after: int, limit: int, *, joined: bool = False
) -> list[dict[str, Any]]:
    """Return entries of the log after a number; joined, the decisions with their outcomes.

    An outcome is "reward", "default", "expired" or, so far, "open".
    """
    found = connection.execute(_NAMED, {"name": name}).one_or_none()
    if found is None:
        raise UnknownBandit(name)
    secret = bytes.fromhex(found.secret)
    names = [arm.name for arm in connection.execute(ARMS, {"bandit": found.id})]
    values = {"bandit": found.id, "after": after, "limit": limit}
    query, finish = (_DECISIONS, _as_decision) if joined else (LOG, _as_entry)
    began: list[int] = []  # where the second epoch and later ones begin
    if joined:
        news = connection.execute(NEWS, {"bandit": found.id, "after": 0})
        began = [entry.seq for entry in news if entry.kind == "epoch"]
    rows = []
    for entry in connection.execute(query, values).mappings():
        number = entry["seq"] if entry["kind"] == "decision" else entry["decision"]
        what = {
            "decision": None if number is None else decision_id(secret, number),
            "arm": None if entry["arm"] is None else names[entry["arm"]],
            "propensity": entry["propensity"],
            "unit": entry["unit"],
            "context": context_of(entry),
            **times(expires_at=entry["expires_at"]),
        }
        if joined:
            what["epoch"] = 1 + bisect_left(began, entry["seq"])
        rows.append({"seq": entry["seq"], **times(at=entry["at"]), **finish(entry, what)})
    return rows


def _as_entry(entry: Any, what: dict[str, Any]) -> dict[str, Any]:
    change = None if entry["detail"] is None else json.loads(entry["detail"])
    told = {"reward": entry["reward"], "guard": entry["guard"], "change": change}
    return {"kind": entry["kind"], **what, **told}


def _as_decision(entry: Any, what: dict[str, Any]) -> dict[str, Any]:
    outcome = {"outcome": entry["outcome"] or "open", "reward": entry["paid"]}
    return {**what, **outcome, "guard": entry["measured"], **times(closed_at=entry["closed_at"])}


def written(rows: list[dict[str, Any]], form: Format, *, joined: bool) -> bytes:
    """Return rows as a file."""
    return _WRITERS[form](rows, JOINED if joined else ENTRY)


def _ndjson(rows: list[dict[str, Any]], columns: dict[str, str]) -> bytes:
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows).encode()


def _csv(rows: list[dict[str, Any]], columns: dict[str, str]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(_flat(row) for row in rows)
    return text.getvalue().encode()


def _parquet(rows: list[dict[str, Any]], columns: dict[str, str]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Invalid(
            "format parquet needs pyarrow on the server: pip install 'ocucb[parquet]', or use csv."
        ) from None
    schema = pyarrow.schema(
        [(name, pyarrow.type_for_alias(kind)) for name, kind in columns.items()]
    )
    sink = io.BytesIO()
    made = pyarrow.Table.from_pylist([_flat(row) for row in rows], schema)
    pyarrow.parquet.write_table(made, sink)
    return sink.getvalue()


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without objects and lists: these become JSON."""
    return {
        key: json.dumps(one, sort_keys=True) if isinstance(one, dict | list) else one
        for key, one in row.items()
    }


_WRITERS: dict[Format, Callable[[list[dict[str, Any]], dict[str, str]], bytes]] = {
    "ndjson": _ndjson,
    "csv": _csv,
    "parquet": _parquet,
}
