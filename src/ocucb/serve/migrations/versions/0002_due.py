"""When the first open decision expires, when the time went back, and a table to try to write to."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add columns and a table; bandits with an expiry are due, so that somebody looks at them."""
    op.add_column("bandits", sa.Column("due", sa.BigInteger))
    op.add_column("bandits", sa.Column("corrected", sa.BigInteger))
    some = sa.text("due IS NOT NULL")
    op.create_index("bandits_due", "bandits", ["due"], postgresql_where=some, sqlite_where=some)
    op.create_table(
        "probe",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("filling", sa.LargeBinary, nullable=False),
    )
    connection = op.get_bind()
    update = sa.text("UPDATE bandits SET due = 0 WHERE id = :id")
    for number, rules in connection.execute(sa.text("SELECT id, rules FROM bandits")).all():
        if json.loads(rules)["expiry"] is not None:
            connection.execute(update, {"id": number})
