"""Alembic's entry into the migrations. ``pgsift.schema`` runs it, its DSN in ``config.attributes``."""

from __future__ import annotations

import psycopg
from alembic import context
from sqlalchemy import create_engine
from sqlalchemy.engine import Connection
from sqlalchemy.pool import NullPool

SCHEMA = "sift"

# Chosen once: upgrades of one database wait for each other. Install time only; nothing else takes it.
LOCK_KEY = 8_316_295_520_941_077_363

# Existence first: CREATE … IF NOT EXISTS demands the privilege even where there is nothing to create.
CREATE_SCHEMA = """\
DO $$
BEGIN
    IF pg_catalog.to_regnamespace('sift') IS NULL THEN
        CREATE SCHEMA sift;
    END IF;
END
$$;"""

# Names that the sources leave to the session (types of pgvector) are found wherever the extension is;
# nothing else is.
PIN_SEARCH_PATH = """\
DO $$
BEGIN
    PERFORM pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', 'pg_catalog', (
        SELECT pg_catalog.quote_ident(n.nspname)
        FROM pg_catalog.pg_extension AS e
        JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
        WHERE e.extname = 'vector'), 'pg_temp'), false);
END
$$;"""

# The version table and the schema outlive the last downgrade, because alembic writes to the one in the
# other. The schema stays when it could not be made again, or when somebody keeps something in it.
DROP_SCHEMA = """\
DO $$
BEGIN
    DROP TABLE IF EXISTS sift.alembic_version;
    IF pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.relnamespace = 'sift'::regnamespace)
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = 'sift'::regnamespace)
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_type AS t WHERE t.typnamespace = 'sift'::regnamespace) THEN
        DROP SCHEMA sift;
    END IF;
END
$$;"""


def configure(**options: object) -> None:
    context.configure(
        target_metadata=None,
        version_table="alembic_version",
        version_table_schema=SCHEMA,
        transaction_per_migration=True,
        **options,  # type: ignore[arg-type]
    )


def run_offline() -> None:
    """Print the statements instead of running them."""
    configure(dialect_name="postgresql", literal_binds=True)
    going_down = context.config.attributes.get("direction") == "down"
    output = context.get_context().impl.static_output
    output("-- Run with: psql -X -v ON_ERROR_STOP=1 -f FILE")
    output("SET statement_timeout = 0;\nSET client_min_messages = warning;")
    if not going_down:
        output(CREATE_SCHEMA)
    output(PIN_SEARCH_PATH)
    with context.begin_transaction():
        context.run_migrations()
    if going_down and context.config.attributes.get("to_base"):
        output(DROP_SCHEMA)


def run_online() -> None:
    dsn: str = context.config.attributes["dsn"]
    engine = create_engine(
        # The driver reads the DSN itself, in either of its forms; nothing is taken apart and put together
        # again.
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(dsn, client_encoding="utf8", application_name="pgsift db"),
        poolclass=NullPool,
    )
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("SET statement_timeout = 0")
            connection.exec_driver_sql("SET lock_timeout = 0")
            connection.exec_driver_sql("SET client_min_messages = warning")
            connection.exec_driver_sql(f"SELECT pg_catalog.pg_advisory_lock({LOCK_KEY})")
            # A statement that waits for a table makes every later one wait behind it, so waits are short;
            # the caller tries again.
            connection.exec_driver_sql(
                f"SET lock_timeout = {int(context.config.attributes['lock_timeout_ms'])}"
            )
            going_down = context.config.attributes.get("direction") == "down"
            if not going_down:
                _execute(connection, CREATE_SCHEMA)
            _execute(connection, PIN_SEARCH_PATH)
            connection.commit()  # or alembic would take our transaction for its own
            configure(connection=connection)
            with context.begin_transaction():
                context.run_migrations()
            connection.commit()
            if going_down and not context.get_context().get_current_heads():
                _execute(connection, DROP_SCHEMA)
                connection.commit()
            # Behind a pooler the session is somebody else's next.
            connection.exec_driver_sql(f"SELECT pg_catalog.pg_advisory_unlock({LOCK_KEY})")
            for setting in ("statement_timeout", "lock_timeout", "client_min_messages", "search_path"):
                connection.exec_driver_sql(f"RESET {setting}")
            connection.commit()
    finally:
        engine.dispose()


def _execute(connection: Connection, statements: str) -> None:
    connection.exec_driver_sql(statements, execution_options={"no_parameters": True})


if context.is_offline_mode():
    run_offline()
else:
    run_online()
