"""The rules every SQL object follows, read from the catalogs and from the files."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from pgsift import _resources

ROLES = ("sift_owner", "sift_writer", "sift_app", "sift_reader")
SQL = _resources.sql_directory()
FILES = sorted(path for path in SQL.rglob("*.sql") if path.parent != SQL)


def rows(conn: psycopg.Connection, statement: str) -> list[tuple[object, ...]]:
    return conn.execute(statement).fetchall()


FUNCTIONS = """
    SELECT p.oid::regprocedure::text, p.proname, p.prosecdef, p.prosqlbody IS NOT NULL, l.lanname,
           coalesce(array_to_string(p.proconfig, ' '), ''), obj_description(p.oid, 'pg_proc'), p.oid
    FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
    WHERE p.pronamespace = 'sift'::regnamespace
"""


def test_every_function_has_a_pinned_search_path_or_a_parsed_body(conn: psycopg.Connection) -> None:
    functions = rows(conn, FUNCTIONS)
    assert len(functions) > 30
    bad = [
        name
        for name, _, _, atomic, language, config, _, _ in functions
        if not (atomic or (language == "plpgsql" and "search_path=pg_catalog, pg_temp" in str(config)))
    ]
    assert bad == []


def test_public_functions_are_documented_and_have_one_signature(conn: psycopg.Connection) -> None:
    functions = rows(conn, FUNCTIONS)
    undocumented = [name for name, *_, comment, _ in functions if not comment]
    names = [str(proname) for _, proname, *_ in functions if not str(proname).startswith("_")]
    assert undocumented == []
    assert sorted(names) == sorted(set(names))


def asks_for_proof(conn: psycopg.Connection, oid: object) -> bool:
    """Whether an internal function takes who calls and the proof, and begins by checking it."""
    (arguments, source), = conn.execute(
        "SELECT p.proargnames[1:2], p.prosrc FROM pg_proc AS p WHERE p.oid = %s AND p.prosecdef", (oid,)
    ).fetchall() or [(None, "")]
    return arguments == ["caller", "proof"] and re.search(
        r"DECLARE\s+(?:--[^\n]*\s+|\w+ +CONSTANT [^;]*;\s+)*v_tenant_id +integer := sift\._enter\(tenant, caller, proof\);"
        r"|BEGIN\s+PERFORM sift\._check_caller\(caller, proof\);",
        source,
    ) is not None


def test_public_functions_are_granted_to_roles_and_internal_ones_to_nobody(conn: psycopg.Connection) -> None:
    """An internal function is granted only where it demands the proof of who calls."""
    for name, proname, *_, oid in rows(conn, FUNCTIONS):
        public = conn.execute(
            "SELECT EXISTS (SELECT FROM pg_proc AS p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner)))"
            " AS a WHERE p.oid = %s AND a.grantee = 0)",
            (oid,),
        ).fetchone()
        assert public == (False,), f"PUBLIC may execute {name}"
        granted = [
            role
            for role in ROLES
            if conn.execute("SELECT has_function_privilege(%s, %s, 'EXECUTE')", (role, oid)).fetchone() == (True,)
        ]
        # The owner of the objects executes everything by right.
        owner = conn.execute("SELECT pg_get_userbyid(proowner) FROM pg_proc WHERE oid = %s", (oid,)).fetchone()
        granted = [role for role in granted if owner != (role,)]
        if str(proname).startswith("_"):
            assert granted == [] or asks_for_proof(conn, oid), f"{name} is internal"
        else:
            assert granted or owner == ("sift_owner",), f"nobody may execute {name}"


def test_readers_meet_no_definer_function_that_does_not_know_them(conn: psycopg.Connection) -> None:
    """What runs with the owner's rights for readers demands a proof of who calls, unless it says nothing of any tenant; what runs with
    their own rights touches no table. Functions for applications and writers alone are guarded by EXECUTE, which the server checks
    against the role the call runs as."""
    nothing_of_tenants = {"list_models", "list_token_models", "schema_version", "tokenize", "analyzer_fingerprint"}
    for name, proname, definer, atomic, _, _, _, oid in rows(conn, FUNCTIONS):
        (source,), = conn.execute("SELECT p.prosrc FROM pg_proc AS p WHERE p.oid = %s", (oid,)).fetchall()
        (reachable,), = conn.execute(
            "SELECT EXISTS (SELECT FROM pg_proc AS p, aclexplode(p.proacl) AS a WHERE p.oid = %s"
            " AND a.grantee = 'sift_reader'::regrole)", (oid,)
        ).fetchall()
        tables = set(re.findall(r"(?:FROM|JOIN) sift\.(\w+)(?!\w*\()", str(source))) - {"_caller"}
        if not reachable:
            assert definer or str(proname).startswith("_") or not tables, f"{name} would run with the rights of its caller"
        elif definer:
            assert asks_for_proof(conn, oid) or proname in nothing_of_tenants, f"{name} trusts whoever calls"
        else:
            assert not tables, f"{name} reaches for {tables}"
            assert atomic or "sift._caller AS c" in str(source) or not re.search(r"sift\._\w+\(", str(source)) or (
                proname in ("tokenize", "analyzer_fingerprint", "schema_version")
            ), f"{name} does not say who calls"


def test_definer_functions_send_no_messages_of_the_server(conn: psycopg.Connection) -> None:
    """Where debug_print_plan and its like are on, a caller is sent the plans of what runs inside, with the estimates of all tenants."""
    assert [
        name for name, _, definer, _, _, config, _, _ in rows(conn, FUNCTIONS)
        if definer and "client_min_messages=warning" not in str(config)
    ] == []


def test_tables_are_private_and_guarded(conn: psycopg.Connection) -> None:
    tables = rows(
        conn,
        "SELECT c.oid::regclass::text, c.relrowsecurity, c.relpersistence, obj_description(c.oid, 'pg_class'), c.relispartition"
        " FROM pg_class AS c WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind IN ('r', 'p')"
        " AND c.relname <> 'alembic_version'",
    )
    assert len(tables) > 12
    assert [name for name, guarded, *_ in tables if not guarded] == []
    assert [name for name, _, persistence, *_ in tables if persistence != "p"] == []
    assert [name for name, _, _, comment, partition in tables if not comment and not partition] == []
    for name, *_ in tables:
        for role in ("sift_writer", "sift_app", "sift_reader"):
            allowed = conn.execute(
                "SELECT has_table_privilege(%s, %s, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')", (role, name)
            ).fetchone()
            assert allowed == (False,), f"{role} reaches {name}"


def test_tenant_id_leads_every_key(conn: psycopg.Connection) -> None:
    keys = rows(
        conn,
        """
        SELECT k.conrelid::regclass::text, k.conname, k.contype,
               (SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = k.conrelid AND a.attnum = k.conkey[1])
        FROM pg_constraint AS k
        WHERE k.connamespace = 'sift'::regnamespace AND k.contype IN ('p', 'u', 'f')
          AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = k.conrelid AND a.attname = 'tenant_id')
        """,
    )
    assert len(keys) > 15
    # The list of tenants itself is looked up by name; it is a reference table where the rest is sharded.
    bad = [key for key in keys if key[3] != "tenant_id" and key[1] != "tenants_name_key"]
    assert bad == []


def test_nothing_that_cannot_be_sharded(conn: psycopg.Connection) -> None:
    assert rows(conn, "SELECT tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid"
                " WHERE c.relnamespace = 'sift'::regnamespace AND NOT t.tgisinternal") == []
    assert rows(conn, "SELECT rulename FROM pg_rules WHERE schemaname = 'sift'") == []
    assert rows(conn, "SELECT i.inhrelid::regclass FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid"
                " WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind = 'r' AND NOT c.relispartition") == []
    identities = rows(
        conn,
        "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute AS a JOIN pg_class AS c"
        " ON c.oid = a.attrelid WHERE c.relnamespace = 'sift'::regnamespace AND a.attidentity <> ''",
    )
    assert identities
    assert [row for row in identities if row[2] != "bigint"] == []


def test_volatility_is_truthful(conn: psycopg.Connection) -> None:
    """A function that writes is volatile; one that only reads is not, so that it may be used anywhere in a query."""
    writes = re.compile(r"\b(INSERT INTO|UPDATE sift|DELETE FROM|nextval|FOR UPDATE|CREATE TABLE|CREATE INDEX)\b")
    for name, source, volatility in rows(
        conn,
        "SELECT p.proname, p.prosrc, p.provolatile FROM pg_proc AS p WHERE p.pronamespace = 'sift'::regnamespace"
        " AND p.prosqlbody IS NULL",
    ):
        code = re.sub(r"--[^\n]*", "", str(source))
        if writes.search(code):
            assert volatility == "v", f"{name} writes"
    read = ("search", "lexical_search", "dense_search", "list_documents", "document_states", "corpus_statistics",
            "query_terms", "_search", "_lexical_leg", "_dense_leg", "_visible_lists")
    for name in read:
        assert rows(conn, f"SELECT p.provolatile FROM pg_proc AS p WHERE p.oid = 'sift.{name}'::regproc") == [("s",)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_one_object_per_file_and_named_after_it(path: Path) -> None:
    text = path.read_text()
    code = re.sub(r"--[^\n]*", "", text)
    assert text.startswith("--"), "begins with a header comment"
    assert text.rstrip().endswith(";") and text.endswith("\n")
    if path.parent.name in ("functions", "internal"):
        assert re.findall(r"CREATE OR REPLACE FUNCTION sift\.(\w+)", code) == [path.stem]
        assert f"COMMENT ON FUNCTION sift.{path.stem}(" in code
        assert f"REVOKE ALL ON FUNCTION sift.{path.stem}(" in code
        assert (path.parent.name == "internal") == path.stem.startswith("_")
    elif path.parent.name == "tables":
        assert re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?sift\.(\w+)", code) == [path.stem]
        assert f"REVOKE ALL ON TABLE sift.{path.stem} FROM PUBLIC" in code


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_numeric_literal_makes_arithmetic_numeric(path: Path) -> None:
    code = re.sub(r"--[^\n]*|'(?:[^']|'')*'", "", path.read_text())
    bare = [m.group(0) for m in re.finditer(r"(?<![\w.$])\d+\.\d+(?!\d*::(?:double precision|real))(?![\d.])", code)]
    assert bare == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_string_depends_on_standard_conforming_strings(path: Path) -> None:
    # A body is parsed in the session of whoever calls it, so a backslash stands in E'…' only. A literal may be continued on the
    # next line, and then keeps the kind of its beginning.
    literal = r"'(?:[^']|'')*'"
    code = re.sub(r"--[^\n]*(?=\n)", "", path.read_text())
    plain = [m.group(0) for m in re.finditer(rf"(\bE)?{literal}(?:[ \t]*\n\s*{literal})*", code) if m.group(1) is None]
    assert [text for text in plain if "\\" in text] == []


def test_install_order_names_every_file() -> None:
    listed = [str(name) for name in _resources.install_order(SQL / "install.sql")]
    assert len(listed) == len(set(listed))
    present = {str(path.relative_to(SQL)) for path in SQL.rglob("*.sql")} - {"install.sql"}
    assert set(listed) == present
