"""Write docs/sql-api.md from a live database: functions, their arguments and views, with their comments; and
the table of who may call what in docs/security.md.

    python tools/gen_sql_api.py            write the page
    python tools/gen_sql_api.py --check    fail when the page is not what would be written

The schema is read from ``--dsn``; without it, it is installed into a temporary embedded server.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

import psycopg

PAGE = Path(__file__).resolve().parent.parent / "docs" / "sql-api.md"
SECURITY = PAGE.with_name("security.md")

# Order and headings of the page. A function that stands in no group goes under "More", so none is left out.
GROUPS = {
    "Searching": ["search", "lexical_search", "dense_search", "query_terms"],
    "For rankings of one's own": ["lexical_candidates", "term_statistics", "chunks_by_entity", "choose_chunks"],
    "Around a search": ["count_matches", "facets", "related", "cite"],
    "Documents": [
        "put_documents", "delete_documents", "list_documents", "document_states",
    ],
    "Tenants and permissions": [
        "create_tenant", "list_tenants", "drop_tenant", "corpus_statistics", "set_access", "grant_access",
        "revoke_access", "set_default_access", "show_access", "check_access", "add_members", "remove_members",
        "list_members", "map_role",
    ],
    "Models and vectors": [
        "register_model", "list_models", "put_embeddings", "chunks_without_embedding", "known_embeddings",
        "register_token_model", "list_token_models", "put_token_embeddings", "chunks_without_token_embedding",
        "cache_query_embedding",
    ],
    "The analyzer": ["tokenize", "analyzer_fingerprint"],
    "Ingest runs": ["start_run", "finish_run", "add_dead_letter", "list_dead_letters"],
    "Maintenance": [
        "fold_statistics", "pack_postings", "verify_statistics", "repair_statistics", "schema_version",
    ],
}  # fmt: skip

INTRODUCTION = """\
<!-- Written by tools/gen_sql_api.py from the comments in sql/; change them there, then: make docs -->

# SQL reference

Everything is in the schema `sift`. In psql, `\\df sift.[a-z]*` lists these functions, and with `\\df+` their
comments; names that begin with `_` are internal. Call functions with named arguments (`k => 5`): the order of
arguments with a default may change.

*May call* names the roles. `sift_reader` is for people and BI tools, `sift_app` for applications,
`sift_writer` for ingest, `sift_owner` for administration. Errors have SQLSTATEs of their own, listed
[at the end](#errors).
"""

ROUTINES = """
SELECT p.oid::bigint, p.proname::text, pg_catalog.obj_description(p.oid, 'pg_proc'),
       p.provolatile::text, p.proretset,
       pg_catalog.format_type(p.prorettype, NULL),
       coalesce(p.proargnames, '{}'), coalesce(p.proargmodes::text[], '{}'),
       ARRAY(SELECT pg_catalog.format_type(t.type, NULL)
             FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY AS t (type, n)
             ORDER BY t.n),
       ARRAY(SELECT pg_catalog.pg_get_function_arg_default(p.oid, g.n)
             FROM generate_series(1, p.pronargs) AS g (n) ORDER BY g.n),
       ARRAY(SELECT a.grantee::regrole::text FROM aclexplode(p.proacl) AS a
             WHERE a.privilege_type = 'EXECUTE' AND a.grantee::regrole::text LIKE 'sift\\_%' ORDER BY 1)
FROM pg_catalog.pg_proc AS p
WHERE p.pronamespace = 'sift'::regnamespace AND p.proname NOT LIKE '\\_%'
ORDER BY p.proname COLLATE "C"
"""

VIEWS = """
SELECT c.oid::bigint, c.relname::text, pg_catalog.obj_description(c.oid, 'pg_class')
FROM pg_catalog.pg_class AS c
WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind = 'v' AND c.relname NOT LIKE '\\_%'
ORDER BY c.relname COLLATE "C"
"""

COLUMNS = """
SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod),
       pg_catalog.col_description(a.attrelid, a.attnum)
FROM pg_catalog.pg_attribute AS a
WHERE a.attrelid = %s::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


def render(connection: psycopg.Connection) -> str:
    """The page for the schema of this database."""
    sections: dict[str, str] = {}
    undocumented: list[str] = []
    for row in connection.execute(ROUTINES):
        name, comment = row[1], row[2]
        if not comment:
            undocumented.append(f"function sift.{name}")
        sections[name] = _function(*row[1:])
    views = [
        (name, comment, connection.execute(COLUMNS, [oid]).fetchall())
        for oid, name, comment in connection.execute(VIEWS).fetchall()
    ]
    undocumented += [f"view sift.{name}" for name, comment, _ in views if not comment]
    if undocumented:
        raise SystemExit(f"no COMMENT ON: {', '.join(undocumented)}")
    page = [INTRODUCTION]
    grouped = {name for names in GROUPS.values() for name in names}
    groups = GROUPS | {"More": [name for name in sections if name not in grouped]}
    for heading, names in groups.items():
        present = [name for name in names if name in sections]
        if present:
            page.append(f"## {heading}\n")
            page += [sections[name] for name in present]
    if views:
        page.append("## Views\n")
        for name, comment, columns in views:
            page.append(f"### sift.{name}\n\n{_prose(comment)}\n")
            page.append("| column | type | |\n|---|---|---|")
            page += [f"| `{column}` | {kind} | {_cell(note or '')} |" for column, kind, note in columns]
            page.append("")
    page.append(_errors())
    return "\n".join(page).rstrip() + "\n"


RIGHTS = """
SELECT p.proname::text, ARRAY(SELECT r.role
                              FROM unnest('{sift_reader,sift_app,sift_writer}'::text[])
                                   WITH ORDINALITY AS r (role, n)
                              WHERE has_function_privilege(r.role, p.oid, 'EXECUTE') ORDER BY r.n)
FROM pg_catalog.pg_proc AS p
WHERE p.pronamespace = 'sift'::regnamespace AND p.proname NOT LIKE '\\_%'
UNION ALL
SELECT c.relname::text, ARRAY(SELECT r.role
                              FROM unnest('{sift_reader,sift_app,sift_writer}'::text[])
                                   WITH ORDINALITY AS r (role, n)
                              WHERE has_table_privilege(r.role, c.oid, 'SELECT') ORDER BY r.n)
FROM pg_catalog.pg_class AS c
WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind = 'v' AND c.relname NOT LIKE '\\_%'
"""


def with_rights(connection: psycopg.Connection, page: str) -> str:
    """docs/security.md with its table of roles and functions, as the grants have it."""
    allowed: dict[tuple[str, ...], list[str]] = {}
    for name, roles in connection.execute(RIGHTS).fetchall():
        allowed.setdefault((*roles, "sift_owner"), []).append(name)
    lines = ["| may be used by | functions and views |", "|---|---|"]
    for group, names in sorted(allowed.items(), key=lambda item: (-len(item[0]), item[0])):
        cells = ", ".join(f"`{role}`" for role in group), ", ".join(f"`{name}`" for name in sorted(names))
        lines.append(f"| {cells[0]} | {cells[1]} |")
    begin = page.index(" -->\n", page.index("<!-- rights: begin")) + 5
    end = page.index("<!-- rights: end -->")
    return page[:begin] + "\n" + "\n".join(lines) + "\n\n" + page[end:]


def _function(
    name: str, comment: str, volatility: str, returns_set: bool, result: str, names: list[str],
    modes: list[str], types: list[str], defaults: list[str | None], roles: list[str],
) -> str:  # fmt: skip
    modes = modes or ["i"] * len(types)
    every = list(zip(names, modes, types, strict=True))
    inputs = [(n, t) for n, m, t in every if m in ("i", "b", "v")]
    columns = [(n, t) for n, m, t in every if m in ("o", "b", "t")]
    lines = [f"### sift.{name}", "", _prose(comment), ""]
    signature = ", ".join(
        f"{n} {t}" + (f" DEFAULT {_default(d)}" if d is not None else "")
        for (n, t), d in zip(inputs, defaults, strict=True)
    )
    call = f"sift.{name}({signature})"
    if len(call) > 110:
        arguments = [
            f"{n} {t}" + (f" DEFAULT {_default(d)}" if d is not None else "")
            for (n, t), d in zip(inputs, defaults, strict=True)
        ]
        call = f"sift.{name}(\n    " + ",\n    ".join(arguments) + ")"
    table = "TABLE" if returns_set else "RECORD"
    returns = table if columns else f"SETOF {result}" if returns_set else result
    lines += ["```sql", f"{call} RETURNS {returns}", "```", ""]
    if columns:
        lines += ["Columns: " + ", ".join(f"`{n}` {t}" for n, t in columns) + ".", ""]
    may = ", ".join(f"`{role}`" for role in roles) or "the owner of the schema only"
    lines += [f"May call: {may}. {'Reads only.' if volatility != 'v' else 'Writes.'}", ""]
    return "\n".join(lines)


def _default(text: str) -> str:
    """A default without the casts PostgreSQL adds, where they say nothing new."""
    value, _, kind = text.partition("::")
    return value.strip("()") if value.upper() == "NULL" or ("::" in text and kind != "") else text


def _prose(text: str) -> str:
    """Paragraphs, and lists where lines begin with a dash; every other line break is a blank."""
    paragraphs = []
    for paragraph in text.strip().split("\n\n"):
        lines: list[str] = []
        for line in paragraph.splitlines():
            if line.startswith("- ") and lines and not lines[-1].startswith("- "):
                lines.append("")
            if line.startswith("- ") or not lines:
                lines.append(" ".join(line.split()))
            else:
                lines[-1] = f"{lines[-1]} {' '.join(line.split())}".strip()
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs).replace("<", "\\<")


def _cell(text: str) -> str:
    return " ".join(_prose(text).split()).replace("|", "\\|")


def _errors() -> str:
    from pgsift import errors

    lines = ["## Errors", "", "| SQLSTATE | in Python | meaning |", "|---|---|---|"]
    found = {
        cls.default_sqlstate: cls
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, errors.PgsiftError) and cls.default_sqlstate is not None
    }
    for state in sorted(found):
        meaning = (found[state].__doc__ or "").strip().partition("\n\n")[0]
        lines.append(f"| `{state}` | `{found[state].__name__}` | {_cell(meaning)} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--dsn", help="a database with the schema installed")
    options = parser.parse_args(arguments)
    if options.dsn:
        with psycopg.connect(options.dsn) as connection:
            text = render(connection)
            rights = with_rights(connection, SECURITY.read_text(encoding="utf-8"))
    else:
        from pgsift import schema, server

        with server.temporary() as running:
            assert running.dsn is not None
            schema.upgrade(running.dsn)
            with psycopg.connect(running.dsn) as connection:
                text = render(connection)
                rights = with_rights(connection, SECURITY.read_text(encoding="utf-8"))
    return max(finish(PAGE, text, check=options.check), finish(SECURITY, rights, check=options.check))


def finish(page: Path, text: str, *, check: bool) -> int:
    """Write the page, or say how it differs."""
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    if not check:
        if text != old:
            page.write_text(text, encoding="utf-8")
        return 0
    if text == old:
        return 0
    difference = difflib.unified_diff(
        old.splitlines(), text.splitlines(), f"docs/{page.name}", "generated", lineterm="", n=1
    )
    sys.stderr.write("\n".join(difference) + f"\ndocs/{page.name} is out of date: make docs\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
