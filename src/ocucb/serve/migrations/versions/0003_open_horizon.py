"""Whether nobody told the horizon; until now, everybody had to."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add a column, which is false for all that is there."""
    column = sa.Column("open_horizon", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("bandits", column)
