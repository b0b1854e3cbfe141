"""The first schema.

It is written out here, since a migration does not change when the tables of the program do.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "bandits",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("rules", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("expired_through", sa.BigInteger, nullable=False),
        sa.Column("horizon", sa.BigInteger, nullable=False),
        sa.Column("paused", sa.Boolean, nullable=False),
        sa.Column("rounds", sa.BigInteger, nullable=False),
        sa.Column("stream", sa.String(80), nullable=False),
        sa.Column("memory", sa.Text, nullable=False),
        sa.Column("rewarded_at", sa.BigInteger),
        sa.Column("late", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "arms",
        sa.Column("bandit", sa.Integer, sa.ForeignKey("bandits.id"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("pulls", sa.BigInteger, nullable=False),
        sa.Column("open", sa.BigInteger, nullable=False),
        sa.Column("sum", sa.Double, nullable=False),
        sa.Column("squares", sa.Double, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("decisions", sa.BigInteger, nullable=False),
        sa.Column("expired", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "log",
        sa.Column("bandit", sa.Integer, sa.ForeignKey("bandits.id"), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("arm", sa.Integer),
        sa.Column("decision", sa.BigInteger),
        sa.Column("reward", sa.Double),
        sa.Column("propensity", sa.Double),
        sa.Column("unit", sa.String(200)),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("detail", sa.Text),
    )
    for name, columns, where, unique in (
        ("log_closed", ["bandit", "decision"], "kind <> 'late' AND decision IS NOT NULL", True),
        ("log_late", ["bandit", "decision"], "kind = 'late'", True),
        ("log_unit", ["bandit", "unit", "seq"], "unit IS NOT NULL", False),
    ):
        text = sa.text(where)
        op.create_index(
            name, "log", columns, unique=unique, postgresql_where=text, sqlite_where=text
        )
    op.create_table(
        "requests",
        sa.Column("bandit", sa.Integer, sa.ForeignKey("bandits.id"), primary_key=True),
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("body", sa.String(64), nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
    )
    op.create_table(
        "history",
        sa.Column("bandit", sa.Integer, sa.ForeignKey("bandits.id"), primary_key=True),
        sa.Column("rounds", sa.BigInteger, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("counts", sa.Text, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("label", sa.String(200), nullable=False),
        sa.Column("scope", sa.String(16), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
    )
