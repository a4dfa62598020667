"""Databases as they are found: the extension elsewhere, hostile search paths, dumps, modest installers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from catalog import describe
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from pgsift import schema, server
from pgsift.errors import MissingExtra, NotPermitted

DOCUMENTS = [
    {
        "key": f"doc-{number}",
        "title": f"{color} {thing}",
        "metadata": {"number": number},
        "acl": ["public"] if number % 5 else ["group:hr"],
        "chunks": [
            {
                "body": f"the {color} {thing} number {number % 7} stands beside a {other}",
                "embedding": [float(number % 3 + 1), float(number % 4), float(number % 5)],
            }
        ],
    }
    for number, (color, thing, other) in enumerate(
        (color, thing, other)
        for color in ("red", "green", "blue")
        for thing in ("apple", "car", "house", "idea")
        for other in ("dog", "cat", "bird")
    )
]

SEARCHES: list[dict[str, Any]] = [
    {"query": "red car"},
    {"query": "the green house beside a bird", "k": 25},
    {"query": "blue idea 3", "filter": json.dumps({"metadata.number": {"$gt": 4}})},
    {"query": "apple", "principals": ["public", "group:hr"]},
    {"query": "cat", "query_embedding": [1.0, 2.0, 0.5]},
    {"query": None, "query_embedding": [1.0, 0.0, 3.0], "mode": "dense"},
    {"query": "dog", "query_embedding": [2.0, 1.0, 1.0], "per_document": 1, "weights": [1.0, 2.0]},
]
CASTS = {
    "query": "text",
    "mode": "text",
    "filter": "jsonb",
    "query_embedding": "real[]",
    "principals": "text[]",
}
CASTS |= {"principals": "text[]", "weights": "double precision[]"}


def execute(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def fill(dsn: str) -> None:
    """A tenant with documents, some for everybody and some not, and a model of three dimensions."""
    with psycopg.connect(dsn) as connection:
        connection.execute("SELECT sift.create_tenant('t', 'english')")
        connection.execute("SELECT sift.register_model('toy', 3)")
        for start in range(0, len(DOCUMENTS), 10):
            connection.execute(
                "SELECT pg_catalog.count(*) FROM sift.put_documents('t', %s::jsonb, model => 'toy')",
                [json.dumps(DOCUMENTS[start : start + 10])],
            )
        connection.execute("SELECT sift.delete_documents('t', ARRAY['doc-3', 'doc-17'])")


def answers(dsn: str) -> list[list[tuple[Any, ...]]]:
    """The rows of every search, with all their numbers."""
    found = []
    with psycopg.connect(dsn) as connection:
        for options in SEARCHES:
            named = {"principals": ["public"]} | options
            call = sql.SQL("SELECT * FROM sift.search(tenant => 't', {})").format(
                sql.SQL(", ").join(
                    sql.SQL("{} => %s::{}").format(sql.Identifier(name), sql.SQL(CASTS.get(name, "integer")))
                    for name in named
                )
            )
            found.append(connection.execute(call, list(named.values())).fetchall())
    assert all(found), [len(rows) for rows in found]
    return found


@pytest.fixture
def expected(dsn: str) -> list[list[tuple[Any, ...]]]:
    """What the searches return in an ordinary database."""
    fill(dsn)
    return answers(dsn)


HOSTILE = """
CREATE SCHEMA evil;
CREATE FUNCTION evil.ln(float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT 0::float8 $$;
CREATE FUNCTION evil.ln(numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$ SELECT 0::numeric $$;
CREATE FUNCTION evil.lower(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'hijacked'::text $$;
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT '1999-01-01'::timestamptz $$;
CREATE FUNCTION evil.format(text, text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'hijacked'::text $$;
CREATE AGGREGATE evil.count(*) (SFUNC = pg_catalog.int8inc, STYPE = bigint, INITCOND = '1000000');
CREATE AGGREGATE evil.count("any") (SFUNC = pg_catalog.int8inc_any, STYPE = bigint, INITCOND = '1000000');
CREATE FUNCTION evil.no(integer, integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT false $$;
CREATE FUNCTION evil.no(bigint, bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT false $$;
CREATE FUNCTION evil.no(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT false $$;
CREATE FUNCTION evil.far(extensions.vector, extensions.vector) RETURNS double precision
    LANGUAGE sql IMMUTABLE AS $$ SELECT 7::float8 $$;
CREATE FUNCTION evil.sum(double precision, double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE AS $$ SELECT -1::float8 $$;
CREATE OPERATOR evil.= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = evil.no);
CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.no);
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.no);
CREATE OPERATOR evil.+ (LEFTARG = double precision, RIGHTARG = double precision, FUNCTION = evil.sum);
CREATE OPERATOR evil.<=> (LEFTARG = extensions.vector, RIGHTARG = extensions.vector, FUNCTION = evil.far);
CREATE TABLE evil.tenants (mine text);
"""


@pytest.mark.parametrize(
    "search_path", ["''", "evil, extensions, public, pg_catalog", "evil, pg_catalog, extensions"]
)
def test_extension_elsewhere_and_a_hostile_search_path(
    new_database: Callable[[], str], expected: list[list[tuple[Any, ...]]], search_path: str
) -> None:
    dsn = new_database()
    name = conninfo_to_dict(dsn)["dbname"]
    execute(dsn, "CREATE SCHEMA extensions", "CREATE EXTENSION vector SCHEMA extensions")
    execute(dsn, *HOSTILE.strip().removesuffix(";").split(";\n"))
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("ALTER DATABASE {} SET search_path = {}").format(
                sql.Identifier(str(name)), sql.SQL(search_path)
            )
        )
    schema.upgrade(dsn)
    assert schema.status(dsn).vector_schema == "extensions"
    assert schema.check(dsn) == []
    fill(dsn)
    assert answers(dsn) == expected


def program(name: str, dsn: str) -> str:
    """A program of the wheel, where the server is not older: pg_dump writes what its own version reads."""
    try:
        found = server.program(name)
    except MissingExtra:
        pytest.skip(f"no {name}")
    with psycopg.connect(dsn) as connection:
        if connection.info.server_version // 10000 < int(server._major(found.parent)):
            pytest.skip(f"{name} is newer than the server")
    return str(found)


@pytest.mark.parametrize("schema_only", [False, True], ids=["whole database", "schema sift alone"])
def test_dump_and_restore(
    dsn: str, new_database: Callable[[], str], expected: list[list[tuple[Any, ...]]], schema_only: bool
) -> None:
    target = new_database()
    if schema_only:
        execute(target, "CREATE EXTENSION vector")
    dump = subprocess.run(
        [program("pg_dump", dsn), "-d", dsn, *(["--schema", "sift"] if schema_only else [])],
        check=True, capture_output=True,
    )  # fmt: skip
    restored = subprocess.run(
        [program("psql", dsn), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", target],
        input=dump.stdout,
        capture_output=True,
    )
    assert restored.returncode == 0, restored.stderr.decode()
    assert answers(target) == expected
    assert describe(target, "sift") == describe(dsn, "sift")
    assert schema.check(target) == []
    # It goes on living: numbers continue, documents change, revisions come and go.
    execute(target, 'SELECT sift.put_documents(\'t\', \'[{"key": "later", "text": "a red car"}]\')')
    schema.downgrade(target, "base")
    schema.upgrade(target)


def test_definitions_alone_are_restored(dsn: str, new_database: Callable[[], str]) -> None:
    target = new_database()
    dump = subprocess.run(
        [program("pg_dump", dsn), "-d", dsn, "--schema-only"], check=True, capture_output=True
    ).stdout
    subprocess.run(
        [program("psql", dsn), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", target],
        input=dump,
        check=True,
        capture_output=True,
    )
    assert describe(target, "sift") == describe(dsn, "sift")


@pytest.mark.parametrize("vector_schema", ["public", "extensions"])
def test_installer_without_create_on_the_database(
    new_database: Callable[[], str],
    make_login: Callable[..., str],
    dsn: str,  # noqa: ARG001 - an installed database, so that the roles exist
    expected: list[list[tuple[Any, ...]]],
    vector_schema: str,
) -> None:
    """An administrator made the extension, the roles and an empty schema; owning that one is enough."""
    database = new_database()
    if vector_schema != "public":
        execute(database, f"CREATE SCHEMA {vector_schema}")
        execute(database, f"GRANT USAGE ON SCHEMA {vector_schema} TO PUBLIC")
    execute(database, f"CREATE EXTENSION vector SCHEMA {vector_schema}")
    installer = make_login(database)
    user = conninfo_to_dict(installer)["user"]
    execute(database, f'CREATE SCHEMA sift AUTHORIZATION "{user}"')
    assert schema.upgrade(installer) == schema.head()
    assert schema.check(installer) == []
    fill(database)
    assert answers(database) == expected
    assert schema.downgrade(installer, "base") is None
    with psycopg.connect(database) as connection:
        # It could not be made again, so it stays, empty.
        assert connection.execute("SELECT to_regnamespace('sift')").fetchone() == ("sift",)
    assert [key for key in describe(database, "sift") if not key.startswith("schema")] == []
    assert schema.upgrade(installer) == schema.head()


def test_installer_who_belongs_to_the_owner(
    new_database: Callable[[], str], make_login: Callable[..., str], expected: list[list[tuple[Any, ...]]]
) -> None:
    """A member of sift_owner with CREATE on the database: the objects go to sift_owner."""
    database = new_database()
    execute(database, "CREATE EXTENSION vector")
    installer = make_login(database, "sift_owner")
    name, user = (conninfo_to_dict(installer)[key] for key in ("dbname", "user"))
    execute(database, f'GRANT CREATE ON DATABASE "{name}" TO "{user}"')
    schema.upgrade(installer)
    assert schema.check(installer) == []
    fill(installer)
    assert answers(database) == expected
    schema.downgrade(installer, "base")
    assert describe(database, "sift") == {}


def test_what_is_missing_is_named(new_database: Callable[[], str], make_login: Callable[..., str]) -> None:
    database = new_database()
    installer = make_login(database)
    execute(database, f'CREATE SCHEMA sift AUTHORIZATION "{conninfo_to_dict(installer)["user"]}"')
    with pytest.raises(NotPermitted, match="extension"):
        schema.upgrade(installer)
    assert schema.current(installer) is None


def test_an_old_server_encoding_is_refused(server_dsn: str) -> None:
    from pgsift.errors import PgsiftError

    with psycopg.connect(server_dsn, autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE sift_latin1 TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'"
        )
    try:
        dsn = psycopg.conninfo.make_conninfo(server_dsn, dbname="sift_latin1")
        with pytest.raises(PgsiftError, match="encoded in UTF8") as caught:
            schema.upgrade(dsn)
        assert caught.value.hint is not None and "ENCODING" in caught.value.hint
    finally:
        with psycopg.connect(server_dsn, autocommit=True) as connection:
            connection.execute("DROP DATABASE sift_latin1 WITH (FORCE)")
