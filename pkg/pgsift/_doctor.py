"""What the doctor knows beside the database: what the SQL of this revision says, and how findings are mended.

Nothing here touches a connection. ``sift.doctor`` looks at data, server and rules; compared here are the
installed functions, tables and their privileges with the frozen SQL of the revision, and each tenant's
analyzer with this client's. A finding that is safe to mend becomes an :class:`Action`. What the database says
of itself only chooses among actions: no text that comes from it is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from pgsift import _replaceable, _resources
from pgsift._calls import Call
from pgsift.domain.analyzer import get_analyzer
from pgsift.errors import UnknownAnalyzer
from pgsift.models import Finding, Model, Severity, Tenant

ROLES = ("sift_owner", "sift_writer", "sift_app", "sift_reader")

#: What runs the files of objects again.
FIX = "pgsift doctor --fix"

_BODY = re.compile(r"\bAS\s+(\$\w*\$)(.*?)\1", re.DOTALL | re.IGNORECASE)
_GRANT = re.compile(
    r"^GRANT\s+[^;]*?\s+ON\s+(?:FUNCTION|TABLE|SEQUENCE)\s+sift\.(?P<name>\w+)[^;]*?"
    r"\sTO\s+(?P<roles>[\w,\s]+);",
    re.MULTILINE | re.IGNORECASE,
)
_OF_MODEL = re.compile(r"sift\.(?P<table>chunk_embeddings_m\d+), model (?P<model>.+)", re.DOTALL)
_SETTING = re.compile(r"\bSET\s+([\w.]+)\s*(?:=|TO)\s*(.+?)\s*(?=\bSET\b|\Z|\n)", re.IGNORECASE)

# Every name and operator is the catalog's, whatever stands before it on the caller's search path.
_GRANTED = """ARRAY(
        SELECT DISTINCT CASE a.grantee WHEN 0::pg_catalog.oid THEN 'PUBLIC'
                             ELSE pg_catalog.pg_get_userbyid(a.grantee)::text END
        FROM pg_catalog.aclexplode({acl}) AS a
        WHERE a.grantee OPERATOR(pg_catalog.<>) {owner})"""

_ACL = "coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))"

_FUNCTIONS = f"""
    SELECT p.proname::text, pg_catalog.pg_get_function_identity_arguments(p.oid), p.prosrc,
           p.prosqlbody IS NOT NULL, p.prosecdef, coalesce(p.proconfig, '{{}}'::pg_catalog.text[]),
           pg_catalog.pg_get_userbyid(p.proowner)::text,
           {_GRANTED.format(acl=_ACL, owner="p.proowner")}
    FROM pg_catalog.pg_proc AS p
    JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
    WHERE n.nspname OPERATOR(pg_catalog.=) 'sift'::pg_catalog.name"""

_RELATIONS = f"""
    SELECT c.relname::text, c.relkind::text, c.relispartition, c.relrowsecurity, c.relforcerowsecurity,
           pg_catalog.pg_get_userbyid(c.relowner)::text,
           {_GRANTED.format(acl="c.relacl", owner="c.relowner")},
           ARRAY(SELECT p.polname::text FROM pg_catalog.pg_policy AS p
                 WHERE p.polrelid OPERATOR(pg_catalog.=) c.oid)
    FROM pg_catalog.pg_class AS c
    JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
    WHERE n.nspname OPERATOR(pg_catalog.=) 'sift'::pg_catalog.name
      AND c.relkind OPERATOR(pg_catalog.=) ANY (ARRAY['r', 'p', 'v', 'm', 'S']::"char"[])"""


@dataclass(frozen=True, slots=True)
class InstalledFunction:
    """A function of the schema as the catalog has it."""

    name: str
    arguments: str
    source: str
    atomic: bool
    definer: bool
    settings: Sequence[str]
    owner: str
    grantees: Sequence[str]


@dataclass(frozen=True, slots=True)
class InstalledRelation:
    """A table, view or sequence of the schema as the catalog has it. ``kind`` is ``pg_class.relkind``."""

    name: str
    kind: str
    partition: bool
    row_security: bool
    forced: bool
    owner: str
    grantees: Sequence[str]
    policies: Sequence[str]


def functions() -> Call[InstalledFunction]:
    """Every function of the schema."""
    return Call(_FUNCTIONS, (), InstalledFunction)


def relations() -> Call[InstalledRelation]:
    """Every table, view and sequence of the schema."""
    return Call(_RELATIONS, (), InstalledRelation)


# --- what the SQL says ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """One object as its file creates it."""

    file: str
    kind: str
    name: str
    text: str
    grants: frozenset[str]

    @property
    def body(self) -> str | None:
        """The body of a function, ``None`` where it has none in dollar quotes."""
        found = _BODY.search(self.text)
        return found.group(2).strip() if found else None

    @property
    def head(self) -> str:
        """What stands between the name of a function and its body: its attributes."""
        start = self.text.upper().index(f"FUNCTION SIFT.{self.name.upper()}")
        found = _BODY.search(self.text, start)
        return re.sub(r"--[^\n]*", "", self.text[start : found.start() if found else None])

    @property
    def definer(self) -> bool:
        return "SECURITY DEFINER" in self.head.upper()

    @property
    def settings(self) -> frozenset[str]:
        """What the function sets for the time of its call, as ``pg_proc.proconfig`` has it."""
        found = _SETTING.findall(self.head.partition("LANGUAGE")[2])
        return frozenset(f"{name.lower()}={value.strip()}" for name, value in found)


def sources() -> tuple[Source, ...]:
    """Every object of the newest revision, in the order of installation."""
    found: list[Source] = []
    order = _replaceable.newest(_replaceable.ORDER_FILE)
    assert order is not None
    for file in _resources.install_order(order):
        path = _replaceable.newest(file)
        assert path is not None, f"no snapshot of {file}"
        text = path.read_text(encoding="utf-8")
        for kind, name in _replaceable.created_objects(text):
            grants = frozenset(
                role.strip()
                for match in _GRANT.finditer(text)
                if match.group("name") == name
                for role in match.group("roles").split(",")
            )
            found.append(Source(file, kind, name, text, grants))
    return tuple(found)


def file_text(name: str) -> str:
    """A file of the newest revision that belongs to no object, such as ``owner.sql``."""
    path = _replaceable.newest(name)
    assert path is not None, f"no snapshot of {name}"
    return path.read_text(encoding="utf-8")


# --- findings -------------------------------------------------------------------------------------


def _finding(check: str, severity: Severity, object: str, text: str, remedy: str, *, safe: bool) -> Finding:
    return Finding(check, severity, None, object, text, remedy, safe)


def schema_version(message: str, hint: str | None) -> Finding:
    """The finding of a schema that is of another revision than this package."""
    remedy = hint or "Run: pgsift db upgrade"
    return _finding("schema_version", "error", "schema sift", message, remedy, safe=False)


def compared(
    installed: Iterable[InstalledFunction], present: Iterable[InstalledRelation], tenants: Iterable[Tenant]
) -> list[Finding]:
    """What differs from the SQL of this revision, and from this client's analyzers."""
    found: list[Finding] = []
    by_name: dict[str, list[InstalledFunction]] = {}
    for function in installed:
        by_name.setdefault(function.name, []).append(function)
    relation_of = {relation.name: relation for relation in present}
    known = set()
    for source in sources():
        known.add(source.name)
        if source.kind == "FUNCTION":
            found += _compared_function(source, by_name.get(source.name, []))
        elif source.name not in relation_of:
            view = source.kind == "VIEW"
            found.append(
                _finding(
                    "definitions", "error", f"sift.{source.name}", f"the {source.kind.lower()} is missing",
                    FIX if view else "restore it from a backup", safe=view,
                )
            )  # fmt: skip
        else:
            found += _compared_relation(source, relation_of[source.name])
    found += [
        _finding(
            "definitions", "warning", f"sift.{name}",
            "the function is not part of pgsift; the remedy moves it out of the schema",
            f"ALTER ROUTINE sift.{_quoted(name)}({function.arguments}) SET SCHEMA public", safe=False,
        )
        for name in sorted(by_name.keys() - known)
        for function in by_name[name]
    ]  # fmt: skip
    for tenant in tenants:
        try:
            ours = get_analyzer(tenant.analyzer).fingerprint
        except UnknownAnalyzer:
            ours = "none of this name"
        if ours != tenant.analyzer_fingerprint:
            found.append(
                Finding(
                    "analyzer", "error", tenant.tenant, f"analyzer {tenant.analyzer}",
                    f"the postings were made by {tenant.analyzer} with the fingerprint "
                    f"{tenant.analyzer_fingerprint}, this client has {ours} and is refused",
                    "install the version of pgsift that the schema is of, or upgrade both", False,
                )
            )  # fmt: skip
    return found


def _compared_function(source: Source, present: Sequence[InstalledFunction]) -> list[Finding]:
    name = f"sift.{source.name}"
    if not present:
        return [_finding("definitions", "error", name, "the function is missing", FIX, safe=True)]
    if len(present) > 1:
        others = [function for function in present if function.source.strip() != source.body]
        remedy = f"drop those that are not of {source.file}"
        if len(others) == len(present) - 1:
            remedy = "; ".join(f"DROP FUNCTION {name}({function.arguments})" for function in others)
        return [
            _finding(
                "definitions", "error", name,
                f"the function exists {len(present)} times with different arguments", remedy, safe=False,
            )
        ]  # fmt: skip
    (function,) = present
    differences = []
    if source.body is not None and not function.atomic and function.source.strip() != source.body:
        differences.append("its body")
    if function.definer != source.definer:
        differences.append(f"it runs with the rights of its {'owner' if function.definer else 'caller'}")
    if frozenset(function.settings) != source.settings:
        differences.append(f"its settings ({', '.join(function.settings) or 'none'})")
    found = []
    if differences:
        text = f"the function is not the one of this revision: {', '.join(differences)}"
        found.append(_finding("definitions", "error", name, text, FIX, safe=True))
    return found + _compared_grants(source, function.owner, function.grantees)


def _compared_relation(source: Source, relation: InstalledRelation) -> list[Finding]:
    found = _compared_grants(source, relation.owner, relation.grantees)
    if source.kind == "TABLE":
        forced = re.search(r"\bFORCE ROW LEVEL SECURITY", source.text) is not None
        if relation.forced != forced:
            found.append(
                _finding(
                    "row_security", "error", f"sift.{source.name}",
                    f"row-level security is {'' if relation.forced else 'not '}forced upon the owner",
                    f"ALTER TABLE sift.{source.name} {'' if forced else 'NO '}FORCE ROW LEVEL SECURITY",
                    safe=True,
                )
            )  # fmt: skip
        policies = set(re.findall(r"\bCREATE POLICY (\w+)", source.text))
        for policy in sorted(set(relation.policies) - policies):
            found.append(
                _finding(
                    "row_security", "error", f"sift.{source.name}",
                    f"the policy {policy} is not part of pgsift and may open rows to others",
                    f"DROP POLICY {_quoted(policy)} ON sift.{source.name}", safe=False,
                )
            )  # fmt: skip
        for policy in sorted(policies - set(relation.policies)):
            found.append(
                _finding(
                    "row_security", "error", f"sift.{source.name}", f"the policy {policy} is missing",
                    f"run its statement in {source.file} again", safe=False,
                )
            )  # fmt: skip
    return found


def _compared_grants(source: Source, owner: str, grantees: Sequence[str]) -> list[Finding]:
    expected, actual = source.grants - {owner}, set(grantees) - {owner}
    found = []
    if missing := sorted(expected - actual):
        found.append(
            _finding(
                "grants", "error", f"sift.{source.name}", f"{', '.join(missing)} may not use it, and should",
                FIX, safe=True,
            )
        )  # fmt: skip
    extra = sorted(actual - expected - {"PUBLIC"})
    if source.kind in ("TABLE", "SEQUENCE") or (not expected and not set(extra) & set(ROLES)):
        return found  # sift.doctor reports these
    kind = "FUNCTION" if source.kind == "FUNCTION" else "TABLE"
    if extra:
        ours = set(extra) <= set(ROLES)
        found.append(
            _finding(
                "grants", "error" if ours else "warning", f"sift.{source.name}",
                f"{', '.join(extra)} may use it, which the SQL of this revision does not say; it may be meant",
                f"REVOKE ALL ON {kind} sift.{source.name} FROM "
                + ", ".join(_quoted(role) for role in extra),
                safe=ours,
            )
        )  # fmt: skip
    return found


# --- mending --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Action:
    """One thing ``--fix`` does. Either *function* of the store with *tenant*, or *statements*.

    Statements run one by one, in a transaction of their own each, since VACUUM and CONCURRENTLY bear no
    other; those of a *file* run together, with the search path of an installation.
    """

    check_name: str
    object: str
    text: str
    function: str | None = None
    tenant: str | None = None
    statements: tuple[sql.Composed | sql.SQL, ...] = ()
    files: tuple[str, ...] = ()


#: Files are run with pgvector's types in reach and nobody else's objects, as migrations run them.
INSTALLING_PATH = """\
SELECT pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', 'pg_catalog', (
    SELECT pg_catalog.quote_ident(n.nspname)
    FROM pg_catalog.pg_extension AS e
    JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
    WHERE e.extname OPERATOR(pg_catalog.=) 'vector'::pg_catalog.name), 'pg_temp'), true)"""

RIGHTS = frozenset({"definitions", "extension_schema", "grants", "row_security"})

#: Which function of the store mends what is wrong in a tenant.
OF_TENANT = {
    "statistics": "repair",
    "vector_counts": "repair",
    "postings": "repair",
    "orphans": "repair",
    "access_copies": "repair",
    "pending_statistics": "fold_statistics",
    "pending_packing": "pack_postings",
    "dead_postings": "purge_postings",
}


def plan(
    findings: Iterable[Finding],
    installed: Iterable[InstalledFunction],
    present: Iterable[InstalledRelation],
    models: Iterable[Model],
    vector_schema: str | None,
    done: Set[str] = frozenset(),
) -> list[Action]:
    """What is to be done next about the findings that are safe to mend, each thing once; *done* are the texts
    of what was done or tried before."""
    functions_of: dict[str, list[InstalledFunction]] = {}
    for function in installed:
        functions_of.setdefault(function.name, []).append(function)
    relation_of = {relation.name: relation for relation in present}
    source_of = {source.name: source for source in sources()}
    model_of = {model.model: model for model in models}
    actions: dict[tuple[Any, ...], Action] = {}

    def add(action: Action) -> None:
        actions.setdefault((action.function, action.tenant, action.text, action.files), action)

    rights: list[Finding] = []
    for finding in findings:
        if not finding.safe_fix:
            continue
        check, target = finding.check_name, finding.object
        name = _bare(target)
        if finding.tenant_name is not None and check in OF_TENANT:
            method = OF_TENANT[check]
            words = f"{method} {finding.tenant_name}"
            add(Action(check, target, words, method, finding.tenant_name))
        elif check == "extension_schema" and vector_schema is not None:
            add(
                _statement(
                    check, target, "GRANT USAGE ON SCHEMA {} TO sift_owner", sql.Identifier(vector_schema)
                )
            )
        elif check in RIGHTS:
            rights.append(finding)
        elif check in ("dead_rows", "visibility_map"):
            add(_statement(check, target, "VACUUM (ANALYZE) {}", sql.Identifier("sift", name)))
        elif check == "planner_statistics":
            add(_statement(check, target, "ANALYZE {}", sql.Identifier("sift", name)))
        elif check == "autovacuum":
            form = "ALTER TABLE {} RESET (autovacuum_enabled)"
            add(_statement(check, target, form, sql.Identifier("sift", name)))
        elif check == "indexes" and (of_model := _OF_MODEL.fullmatch(target)) is not None:
            model = model_of.get(json.loads(of_model.group("model")))
            if model is not None and vector_schema is not None:
                add(_hnsw(check, target, of_model.group("table"), model, vector_schema))
        elif check == "indexes":
            add(_statement(check, target, "REINDEX INDEX CONCURRENTLY {}", sql.Identifier("sift", name)))

    again: list[str] = []
    for finding in rights:
        name = _bare(finding.object)
        source = source_of.get(name)
        relation = relation_of.get(name)
        if finding.check_name == "grants":
            expected = source.grants if source is not None else frozenset[str]()
            if finding.object == "sift":  # the schema itself
                add(_statement("grants", "sift", "REVOKE ALL ON SCHEMA sift FROM PUBLIC"))
                again.append("roles.sql")
                continue
            if relation is not None:
                kind = sql.SQL("SEQUENCE" if relation.kind == "S" else "TABLE")
                for role in sorted({"PUBLIC", *relation.grantees} - expected - {relation.owner}):
                    form, what = "REVOKE ALL ON {} {} FROM {}", sql.Identifier("sift", name)
                    add(_statement("grants", finding.object, form, kind, what, _role(role)))
                if expected:
                    for match in _GRANT.finditer(source.text if source is not None else ""):
                        add(_statement("grants", finding.object, match.group(0).rstrip(";")))
                continue
            for function in functions_of.get(name, []):
                signature = sql.SQL("{}({})").format(
                    sql.Identifier("sift", name), sql.SQL(function.arguments)
                )
                for role in sorted({"PUBLIC", *function.grantees} - expected - {function.owner}):
                    if role in (*ROLES, "PUBLIC") or not expected:
                        form = "REVOKE ALL ON FUNCTION {} FROM {}"
                        add(_statement("grants", finding.object, form, signature, _role(role)))
        if finding.check_name == "row_security" and relation is not None:
            forced = source is not None and re.search(r"\bFORCE ROW LEVEL SECURITY", source.text) is not None
            table = sql.Identifier("sift", name)
            add(_statement("row_security", finding.object, "ALTER TABLE {} ENABLE ROW LEVEL SECURITY", table))
            if relation.forced != forced:
                form = f"ALTER TABLE {{}} {'' if forced else 'NO '}FORCE ROW LEVEL SECURITY"
                add(_statement("row_security", finding.object, form, table))
            continue
        if source is not None and (
            source.kind == "FUNCTION" or (source.kind == "VIEW" and finding.check_name == "definitions")
        ):
            again.append(source.file)
    if again:
        files = (*dict.fromkeys(again), "owner.sql")
        add(Action("definitions", "schema sift", f"ran again: {', '.join(files)}", files=files))
    left = [action for action in actions.values() if action.text not in done]
    # Where rights are wrong, what else was found may follow from that: they come first, then all is looked at
    # again.
    return [action for action in left if action.check_name in RIGHTS] or left


def _bare(object: str) -> str:
    """The name in ``sift.search(text, integer)``, ``sift.chunks (body)`` or ``sift."odd name"``."""
    name = object.removeprefix("sift.")
    if name.startswith('"'):
        return name[1:].partition('"')[0]
    return re.split(r"[ (]", name, maxsplit=1)[0]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _role(name: str) -> sql.Composable:
    return sql.SQL("PUBLIC") if name == "PUBLIC" else sql.Identifier(name)


def _statement(check: str, object: str, form: str, *parts: sql.Composable) -> Action:
    statement = sql.SQL(form).format(*parts) if parts else sql.SQL(form)
    return Action(check, object, statement.as_string(None), statements=(statement,))


def _hnsw(check: str, object: str, table: str, model: Model, vector_schema: str) -> Action:
    column = "half_embedding" if model.precision == "halfvec" else "embedding"
    return _statement(
        check, object, "CREATE INDEX CONCURRENTLY {} ON {} USING hnsw (({}::{}({})) {})",
        sql.Identifier(f"{table}_hnsw_idx"), sql.Identifier("sift", table), sql.Identifier(column),
        sql.Identifier(vector_schema, model.precision), sql.Literal(int(model.dimensions)),
        sql.Identifier(vector_schema, f"{model.precision}_{model.metric}_ops"),
    )  # fmt: skip
