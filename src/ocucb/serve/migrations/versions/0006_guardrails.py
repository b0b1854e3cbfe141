"""Guardrails: a second metric of every decision, and what is known of it by arm."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add columns; nothing has been measured so far."""
    op.add_column("log", sa.Column("guard", sa.Double))
    for name, kind in (
        ("measured", sa.BigInteger),
        ("guard_sum", sa.Double),
        ("guard_squares", sa.Double),
    ):
        op.add_column("arms", sa.Column(name, kind, nullable=False, server_default="0"))
