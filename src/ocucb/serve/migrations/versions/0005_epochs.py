"""Changes of policy; an index of the entries of the log that tell of what changed by itself."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add columns, and an index; every bandit so far is in its first epoch."""
    op.add_column("bandits", sa.Column("policy", sa.Text))
    op.add_column("bandits", sa.Column("epoch", sa.Integer, nullable=False, server_default="1"))
    some = sa.text("kind IN ('epoch', 'guard', 'verdict')")
    op.create_index("log_news", "log", ["bandit", "seq"], postgresql_where=some, sqlite_where=some)
