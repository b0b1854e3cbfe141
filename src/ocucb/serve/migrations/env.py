"""What Alembic runs: the migrations, on the connection and in the transaction that it is given."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
