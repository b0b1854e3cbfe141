"""Bandits for arms with features: their models, and the contexts of decisions."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add columns; until now no arm had features."""
    op.add_column("log", sa.Column("context", sa.Text))
    op.add_column("bandits", sa.Column("model", sa.LargeBinary))
    op.add_column("arms", sa.Column("model", sa.LargeBinary))
