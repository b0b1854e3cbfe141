"""Tokens that are limited to some bandits, or to a rate; bandits that are archived."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add columns; until now nothing was limited or archived."""
    op.add_column("tokens", sa.Column("bandits", sa.Text))
    op.add_column("tokens", sa.Column("rate", sa.Double))
    column = sa.Column("archived", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("bandits", column)
