"""Row-level security is the second line: whoever was granted the tables by mistake reads and changes nothing of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

TABLES = """
    SELECT c.relname::text, EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id')
    FROM pg_class AS c
    WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> 'alembic_version'
    ORDER BY c.relname
"""
# Tables that belong to the installation, not to a tenant.
OF_NO_TENANT = {"secrets", "embedding_models", "token_models"}
VALUES = {
    "text": "'public'", "name": "'x'", "text[]": "'{public}'", "jsonb": "'{}'", "bytea": "'x'", "boolean": "true", "real[]": "'{1,0,0}'",
    "timestamp with time zone": "now()", "bigint[]": "'{1}'", "integer[]": "'{1}'", "jsonb[]": "'{}'", "bytea[]": "'{}'",
    "vector": "'[1,0,0]'", "halfvec": "'[1,0,0]'", "halfvec[]": "ARRAY['[1,0,0]'::halfvec]", "character varying(32)": "'x'",
}  # fmt: skip


@pytest.fixture
def filled(dsn: str) -> Iterator[psycopg.Connection]:
    """A superuser's connection to a store in which every table of the schema holds a row of tenant 1, made from the catalogs,
    so that a table of tomorrow is tried as well."""
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("SELECT sift.create_tenant('a'), sift.register_model('m', 3)")
        (model,) = admin.execute("SELECT model_id FROM sift.embedding_models").fetchone() or (0,)
        for table, constraint in admin.execute(
            "SELECT conrelid::regclass::text, conname FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid"
            " WHERE k.connamespace = 'sift'::regnamespace AND k.contype IN ('c', 'f') AND NOT c.relispartition"
        ).fetchall():
            admin.execute(sql.SQL("ALTER TABLE {} DROP CONSTRAINT IF EXISTS {}").format(sql.SQL(table), sql.Identifier(constraint)))
        for name, _ in admin.execute(TABLES).fetchall():
            table = sql.Identifier("sift", name)
            if (admin.execute(sql.SQL("SELECT count(*) FROM {}").format(table)).fetchone() or (0,))[0]:
                continue
            columns = admin.execute(
                "SELECT a.attname::text, format_type(a.atttypid, NULL) FROM pg_attribute AS a WHERE a.attrelid = %s::regclass"
                " AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attnotnull AND a.attidentity = ''", (f"sift.{name}",)
            ).fetchall()
            values = [str(model) if column == "model_id" else VALUES.get(kind.split(".")[-1], "1") for column, kind in columns]
            admin.execute(sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                table, sql.SQL(", ").join(sql.Identifier(column) for column, _ in columns), sql.SQL(", ").join(map(sql.SQL, values))))
        yield admin


@pytest.mark.parametrize("role", ["sift_reader", "sift_app", "sift_writer", None])
def test_a_grant_by_mistake_shows_and_changes_nothing(filled: psycopg.Connection, make_login: Callable[..., str], dsn: str, role: str | None) -> None:
    login = make_login(dsn, *([role] if role else []))
    name = sql.Identifier(str(conninfo_to_dict(login)["user"]))
    filled.execute("SELECT sift.map_role('a', %s, '{public}')", (conninfo_to_dict(login)["user"],))
    filled.execute(sql.SQL("GRANT USAGE ON SCHEMA sift TO {0}; GRANT ALL ON ALL TABLES IN SCHEMA sift TO {0}").format(name))
    tables = filled.execute(TABLES).fetchall()
    assert len(tables) > 24
    assert {table for table, of_tenant in tables if not of_tenant} == OF_NO_TENANT
    with psycopg.connect(login, autocommit=True) as connection:
        for table, _ in tables:
            relation = sql.Identifier("sift", table)
            (held,) = filled.execute(sql.SQL("SELECT count(*) FROM {}").format(relation)).fetchone() or (0,)
            assert held > 0, table
            (column,) = filled.execute(
                "SELECT attname::text FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
                " AND attgenerated = '' AND attidentity <> 'a' ORDER BY attnum LIMIT 1", (f"sift.{table}",)
            ).fetchone() or ("",)
            for form in (
                "SELECT 1 FROM {0}", "SELECT 1 FROM ONLY {0}", "SELECT 1 FROM {0} FOR UPDATE", "DELETE FROM {0} RETURNING 1",
                "UPDATE {0} SET {1} = {1} RETURNING 1",
            ):
                statement = sql.SQL(form).format(relation, sql.Identifier(column))
                connection.execute("SET row_security = on")
                assert connection.execute(statement).fetchall() == [], f"{form} {table}"
                connection.execute("SET row_security = off")
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement)
            rows = sql.SQL("INSERT INTO {0} OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_recordset(NULL::{0}, %s::jsonb)").format(relation)
            copied = filled.execute(sql.SQL("SELECT jsonb_agg(to_jsonb(t))::text FROM {} AS t").format(relation)).fetchone()
            connection.execute("SET row_security = on")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(rows, copied)
            (still,) = filled.execute(sql.SQL("SELECT count(*) FROM {}").format(relation)).fetchone() or (0,)
            assert still == held
        # The functions work as ever beside it.
        if role == "sift_reader":
            assert connection.execute("SELECT count(*) FROM sift.my_documents").fetchone() is not None


def test_no_policy_opens_a_table(filled: psycopg.Connection) -> None:
    assert filled.execute("SELECT polname FROM pg_policy WHERE polrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'sift'::regnamespace)").fetchall() == []
