"""A schema that somebody prepared before the installation is refused; what is not ours never comes to belong to sift_owner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from pgsift import _resources, schema
from pgsift.errors import PgsiftError

EVIL = """
    CREATE FUNCTION sift.evil(q text) RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER AS $$BEGIN RETURN QUERY EXECUTE q; END$$;
    REVOKE ALL ON FUNCTION sift.evil FROM PUBLIC;
"""


def install(dsn: str) -> None:
    directory: Path = _resources.sql_directory()
    with psycopg.connect(dsn) as connection:
        for name in _resources.install_order(directory / "install.sql"):
            connection.execute((directory / name).read_bytes())


WAYS = [pytest.param(install, id="install.sql"), pytest.param(schema.upgrade, id="db upgrade")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("prepared", "problem"),
    [
        ("{as_attacker} CREATE SCHEMA sift; " + EVIL + "GRANT USAGE ON SCHEMA sift TO PUBLIC; RESET ROLE", "belongs to"),
        ("{as_attacker} CREATE SCHEMA sift; RESET ROLE", "belongs to"),
        ("CREATE SCHEMA sift; GRANT USAGE ON SCHEMA sift TO {attacker}", "may usage"),
        ("CREATE SCHEMA sift; GRANT CREATE ON SCHEMA sift TO PUBLIC", "everybody may create"),
        ("CREATE SCHEMA sift; GRANT USAGE ON SCHEMA sift TO sift_reader WITH GRANT OPTION", "sift_reader may usage"),
        ("CREATE SCHEMA sift; GRANT CREATE ON SCHEMA sift TO sift_app", "sift_app may create"),
        ("CREATE SCHEMA sift; GRANT ALL ON SCHEMA sift TO {attacker}; {as_attacker} " + EVIL + "RESET ROLE; REVOKE ALL ON SCHEMA sift FROM {attacker}",
         "holds function sift.evil"),
        ("CREATE SCHEMA sift; CREATE TYPE sift.mood AS ENUM ('good')", "holds type sift.mood"),
        ("CREATE SCHEMA sift; CREATE TABLE sift.alembic_version (version_num varchar(32)); GRANT INSERT ON sift.alembic_version TO {attacker}",
         "holds table sift.alembic_version"),
        ("CREATE SCHEMA sift; CREATE OPERATOR sift.= (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq)", "holds operator sift.="),
        ("CREATE SCHEMA sift; CREATE COLLATION sift.c FROM \"C\"", "holds collation sift.c"),
    ],
)
def test_a_prepared_schema_is_refused(
    empty_dsn: str,
    dsn: str,  # noqa: ARG001 - an installed database, so that the roles exist
    make_login: Callable[..., str],
    prepared: str,
    problem: str,
    way: Callable[[str], object],
) -> None:
    attacker = str(conninfo_to_dict(make_login(empty_dsn))["user"])
    with psycopg.connect(empty_dsn, autocommit=True) as admin:
        admin.execute(
            sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(sql.Identifier(str(admin.info.dbname)), sql.Identifier(attacker))
        )
        admin.execute(prepared.format(as_attacker=f"SET ROLE {attacker};", attacker=attacker).encode())
        with pytest.raises((psycopg.Error, PgsiftError), match=problem) as caught:
            way(empty_dsn)
        assert getattr(caught.value, "sqlstate", None) == "PS011"
        owned = admin.execute(
            "SELECT count(*) FROM pg_proc AS p WHERE p.pronamespace = 'sift'::regnamespace AND pg_get_userbyid(p.proowner) = 'sift_owner'"
        ).fetchone()
        assert owned == (0,)


@pytest.mark.parametrize("way", WAYS)
def test_an_empty_schema_of_the_installer_will_do(empty_dsn: str, way: Callable[[str], object]) -> None:
    with psycopg.connect(empty_dsn, autocommit=True) as admin:
        admin.execute("CREATE SCHEMA sift")
        way(empty_dsn)
        assert admin.execute("SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'sift'").fetchone() == ("sift_owner",)


def test_owner_sql_takes_nothing_that_is_not_the_installers(dsn: str, make_login: Callable[..., str]) -> None:
    """It is run again by migrations, when others may have got in."""
    attacker = str(conninfo_to_dict(make_login(dsn))["user"])
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(f"GRANT CREATE, USAGE ON SCHEMA sift TO {attacker}".encode())
        admin.execute(f"SET ROLE {attacker}; {EVIL} CREATE TABLE sift.theirs (x int); CREATE VIEW sift.peek AS SELECT 1; RESET ROLE".encode())
        problems = schema.check(dsn)
        assert any("sift.evil is not part of pgsift" in problem for problem in problems)
        assert any(f"{attacker} may create and usage in the schema" in problem for problem in problems)
        admin.execute((_resources.sql_directory() / "owner.sql").read_bytes())
        for catalog, column, owner in (("pg_proc", "proname", "proowner"), ("pg_class", "relname", "relowner")):
            rows = admin.execute(
                f"SELECT {column}, {owner}::regrole::text FROM {catalog} WHERE {column} IN ('evil', 'theirs', 'peek')".encode()
            ).fetchall()
            assert rows and {who for _, who in rows} == {attacker}
