"""The schema: what is stored about bandits, their arms, their log and the tokens; and statements.

`log` is append-only: replayed in the order of `seq`, it gives the state in `bandits` and `arms`. A
change of a table needs a migration (`migrations/`).
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

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
    # nobody told the horizon: it is a function of the rounds
    sa.Column("open_horizon", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("archived", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("policy", sa.Text),  # since the last epoch began; null: that of the rules
    sa.Column("epoch", sa.Integer, nullable=False, server_default="1"),
    sa.Column("model", sa.LargeBinary),  # of arms with features, as `contexts.py` lays it out
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
    # of the guardrail's metric: number of values, their sum and squared deviations
    sa.Column("measured", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("guard_sum", sa.Double, nullable=False, server_default="0"),
    sa.Column("guard_squares", sa.Double, nullable=False, server_default="0"),
    sa.Column("model", sa.LargeBinary),  # of its weights, if it has its own
)

log = sa.Table(
    "log",
    metadata,
    sa.Column("bandit", sa.ForeignKey("bandits.id"), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    # decision, reward, default (the default reward), expired, late (ignored), change, epoch
    # (another policy), prior (data from elsewhere), verdict, guard (an arm violates its
    # guardrail), or clock (it was ahead)
    sa.Column("kind", sa.String(8), nullable=False),
    sa.Column("arm", sa.Integer),
    sa.Column("decision", sa.BigInteger),  # of an outcome: the seq of its decision
    sa.Column("reward", sa.Double),
    sa.Column("propensity", sa.Double),
    sa.Column("unit", sa.String(200)),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("detail", sa.Text),
    sa.Column("guard", sa.Double),  # the guardrail's metric, with a reward
    sa.Column("context", sa.Text),  # of a decision, if arms have features: JSON
)

# A decision is closed once, and one reward after that is kept: the database sees to it.
_CLOSED = sa.text("kind <> 'late' AND decision IS NOT NULL")
_LATE = sa.text("kind = 'late'")
_UNIT = sa.text("unit IS NOT NULL")
IS_NEWS = sa.text("kind IN ('epoch', 'guard', 'verdict')")  # as the index has it, to the letter
for _name, _columns, _where, _unique in (
    ("log_closed", (log.c.bandit, log.c.decision), _CLOSED, True),
    ("log_late", (log.c.bandit, log.c.decision), _LATE, True),
    ("log_unit", (log.c.bandit, log.c.unit, log.c.seq), _UNIT, False),
    ("log_news", (log.c.bandit, log.c.seq), IS_NEWS, False),
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
    sa.Column("bandits", sa.Text),  # patterns of names, with commas between them; null: all
    sa.Column("rate", sa.Double),  # requests per second; null: any
)

probe = sa.Table(
    "probe",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("filling", sa.LargeBinary, nullable=False),
)

# Statements, built once: building one takes longer than running it.
_MOST_EXPIRED = 1000  # decisions that are looked at together

_bandit: Any = sa.bindparam("bandit")
_now: Any = sa.bindparam("now")
_later = log.c.seq > sa.bindparam("after")


def _any_of(name: str) -> Any:
    return sa.bindparam(name, expanding=True)


def _entries(*columns: Any) -> sa.Select[Any]:
    """Select columns of a bandit's log."""
    return sa.select(*columns).where(log.c.bandit == _bandit)


LOCK_BANDIT = sa.select(bandits).where(bandits.c.name == sa.bindparam("name")).with_for_update()
RULES = sa.select(bandits.c.rules).where(bandits.c.name == sa.bindparam("name"))
ARMS = sa.select(arms).where(arms.c.bandit == _bandit).order_by(arms.c.position)
REQUESTS = sa.select(requests).where(
    requests.c.bandit == _bandit, requests.c.key.in_(_any_of("keys"))
)
LOG = _entries(log).where(_later).order_by(log.c.seq).limit(sa.bindparam("limit"))
LAST_OF_UNITS = (
    _entries(log.c.unit, sa.func.max(log.c.seq))
    .where(log.c.unit.in_(_any_of("units")))
    .group_by(log.c.unit)
)
DECISIONS = _entries(log.c.seq, log.c.arm, log.c.propensity, log.c.expires_at, log.c.context).where(
    log.c.seq.in_(_any_of("seqs")), log.c.kind == "decision"
)
OUTCOMES = _entries(log.c.decision, log.c.kind, log.c.reward, log.c.guard).where(
    log.c.decision.in_(_any_of("seqs")), log.c.decision.is_not(None), log.c.kind != "late"
)
LATE_REWARDS = _entries(log.c.decision).where(
    log.c.decision.in_(_any_of("seqs")), log.c.kind == "late"
)
TIME_OF_ENTRY = _entries(log.c.at).where(log.c.seq == sa.bindparam("entry"))
NEXT_TO_EXPIRE = (
    _entries(log.c.seq, log.c.arm, log.c.expires_at, log.c.context)
    .where(_later, log.c.kind == "decision")
    .order_by(log.c.seq)
    .limit(_MOST_EXPIRED)
)
NEWS = _entries(log).where(_later, IS_NEWS).order_by(log.c.seq)
DUE = sa.select(bandits.c.name).where(bandits.c.due <= _now)
AHEAD = sa.select(bandits.c.name).where(
    bandits.c.due > _now, bandits.c.at > sa.bindparam("latest", type_=sa.BigInteger)
)
UPDATE_BANDIT = bandits.update().where(bandits.c.id == _bandit)
UPDATE_ARM = arms.update().where(
    arms.c.bandit == sa.bindparam("here"), arms.c.position == sa.bindparam("there")
)
DELETE = [
    *(table.delete().where(table.c.bandit == _bandit) for table in (log, requests, history, arms)),
    bandits.delete().where(bandits.c.id == _bandit),
]
INSERT_LOG, INSERT_REQUEST, INSERT_ARM = log.insert(), requests.insert(), arms.insert()
