"""What a database contains, as text that can be compared: one line or definition per object."""

from __future__ import annotations

import psycopg

# Every name comes out qualified, since the queries run with pg_catalog alone on the search path.
_QUERIES = {
    "schema": """
        SELECT n.nspname, concat_ws(E'\\n', 'owner ' || pg_get_userbyid(n.nspowner), obj_description(n.oid, 'pg_namespace'),
            (SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS a))
        FROM pg_namespace AS n WHERE n.nspname = ANY (%(schemas)s)""",
    "relation": """
        SELECT c.oid::regclass::text, concat_ws(E'\\n', c.relkind, c.relpersistence,
            'owner ' || pg_get_userbyid(c.relowner), 'rls ' || c.relrowsecurity || c.relforcerowsecurity, c.reloptions::text,
            pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid), obj_description(c.oid, 'pg_class'),
            (SELECT string_agg(a::text, ' ' ORDER BY a::text)
             FROM unnest(coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))) AS a),
            CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END,
            CASE WHEN c.relkind IN ('i', 'I') THEN pg_get_indexdef(c.oid) END)
        FROM pg_class AS c WHERE c.relnamespace = ANY (%(schemas)s::regnamespace[]) AND c.relkind <> 't'""",
    "column": """
        SELECT c.oid::regclass::text || '.' || a.attname, concat_ws(E'\\n',
            row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum), format_type(a.atttypid, a.atttypmod), a.attnotnull,
            'identity ' || a.attidentity::text, 'generated ' || a.attgenerated::text, 'storage ' || a.attstorage::text,
            'compression ' || a.attcompression::text, a.attstattarget, a.attcollation::regcollation::text,
            pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum), a.attacl::text)
        FROM pg_class AS c
        JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = ANY (%(schemas)s::regnamespace[]) AND c.relkind <> 't'""",
    "constraint": """
        SELECT c.conrelid::regclass::text || '.' || c.conname,
            concat_ws(E'\\n', pg_get_constraintdef(c.oid), c.convalidated, obj_description(c.oid, 'pg_constraint'))
        FROM pg_constraint AS c WHERE c.connamespace = ANY (%(schemas)s::regnamespace[])""",
    "routine": """
        SELECT p.oid::regprocedure::text, concat_ws(E'\\n', 'owner ' || pg_get_userbyid(p.proowner), pg_get_functiondef(p.oid),
            obj_description(p.oid, 'pg_proc'),
            (SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(coalesce(p.proacl, acldefault('f', p.proowner))) AS a))
        FROM pg_proc AS p WHERE p.pronamespace = ANY (%(schemas)s::regnamespace[]) AND p.prokind IN ('f', 'p')
          AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
        """,
    "sequence": """
        SELECT s.seqrelid::regclass::text,
            concat_ws(' ', s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle)
        FROM pg_sequence AS s JOIN pg_class AS c ON c.oid = s.seqrelid WHERE c.relnamespace = ANY (%(schemas)s::regnamespace[])""",
    "policy": """
        SELECT p.polrelid::regclass::text || '.' || p.polname, concat_ws(E'\\n', p.polcmd, p.polpermissive,
            (SELECT string_agg(pg_get_userbyid(r), ' ' ORDER BY pg_get_userbyid(r)) FROM unnest(p.polroles) AS r WHERE r <> 0),
            pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
        FROM pg_policy AS p JOIN pg_class AS c ON c.oid = p.polrelid WHERE c.relnamespace = ANY (%(schemas)s::regnamespace[])""",
    "type": """
        SELECT t.oid::regtype::text, concat_ws(E'\\n', t.typtype, format_type(t.typbasetype, t.typtypmod), obj_description(t.oid, 'pg_type'),
            (SELECT string_agg(e.enumlabel, ' ' ORDER BY e.enumsortorder) FROM pg_enum AS e WHERE e.enumtypid = t.oid))
        FROM pg_type AS t WHERE t.typnamespace = ANY (%(schemas)s::regnamespace[]) AND t.typtype IN ('e', 'd', 'r')
          AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e')""",
    "statistics": """
        SELECT s.stxnamespace::regnamespace || '.' || s.stxname, pg_get_statisticsobjdef(s.oid)
        FROM pg_statistic_ext AS s WHERE s.stxnamespace = ANY (%(schemas)s::regnamespace[])""",
    "trigger": """
        SELECT t.tgrelid::regclass::text || '.' || t.tgname, pg_get_triggerdef(t.oid)
        FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
        WHERE c.relnamespace = ANY (%(schemas)s::regnamespace[]) AND NOT t.tgisinternal""",
    "default privilege": """
        SELECT coalesce(d.defaclnamespace::regnamespace::text, '') || d.defaclobjtype::text || pg_get_userbyid(d.defaclrole), d.defaclacl::text
        FROM pg_default_acl AS d""",
}

_SCHEMAS = """
    SELECT n.nspname FROM pg_namespace AS n
    WHERE n.nspname NOT LIKE 'pg\\_%%' AND n.nspname <> 'information_schema' AND n.nspname <> ALL (%(without)s)"""


def describe(dsn: str, *schemas: str, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Every object of the *schemas*, or with none named of all but the system's and those in *without*.

    Keys are like ``"routine sift.search(text, …)"``, values hold all that can differ: definition, owner, privileges, comment.
    """
    found: dict[str, str] = {}
    with psycopg.connect(dsn) as connection:
        connection.execute("SET search_path = pg_catalog")
        names = list(schemas) or [
            name for (name,) in connection.execute(_SCHEMAS, {"without": list(without)})
        ]
        present = connection.execute(
            "SELECT coalesce(array_agg(n.nspname::text), '{}') FROM pg_namespace AS n WHERE n.nspname = ANY (%s)",
            [names],
        ).fetchone()
        assert present is not None
        for kind, query in _QUERIES.items():
            for name, definition in connection.execute(query.encode(), {"schemas": present[0]}):
                key = f"{kind} {name}"
                assert key not in found, f"two objects are called {key}"
                found[key] = definition
    return found
