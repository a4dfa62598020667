"""Does an installed store show anybody what he may not see? Random principals are searched for through the
public functions, as an application would, and what comes back is held against plain set logic over the access
lists.

Nothing is written: every round is one read-only transaction with one snapshot, so that a store in use can be
examined. Whoever may not read the tables (any but their owner and superusers) examines it through what the
functions tell writers of access lists and groups.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import psycopg

from pgsift.errors import NotPermitted, UnknownTenant

EVERYTHING = ["sift:writer"]
PROBES_PER_ROUND = 25
MOST_FINDINGS = 100
LONGEST = 10_000

# The functions that take principals; a test compares this with the schema.
COVERED = frozenset({
    "search", "lexical_search", "dense_search", "list_documents", "chunks_by_entity", "lexical_candidates",
    "list_claims", "list_topics", "document_topics",
    "unranked_documents",
    "evidence", "document_at", "document_history", "document_source", "near_duplicates", "distinct_sources",
    "check_access", "related", "facets", "count_matches", "cite", "query_terms", "choose_chunks", "explain",
    "why_not", "list_judgments", "embed_query", "query_vector_terms",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class AclFinding:
    """Something that came back and should not have, or did not and should have.

    ``principals`` is ``None`` where a database role searched with those it is mapped to; ``role`` names it.
    """

    tenant: str
    function: str
    principals: Sequence[str] | None
    problem: str
    role: str | None = None


@dataclass(slots=True)
class AclReport:
    """What an examination did and found. ``from_tables`` is false where the access lists were read through
    the functions for writers."""

    seed: int
    rounds: int = 0
    calls: int = 0
    from_tables: bool = True
    tenants: list[str] = field(default_factory=list)
    findings: list[AclFinding] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Nothing was found."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"clean": self.clean} | asdict(self)


@dataclass(slots=True)
class Truth:
    """Who may see what in a tenant: key → (allowed, denied), member → groups, and what to ask for: words,
    entities, vectors."""

    tenant: str
    documents: Mapping[str, tuple[frozenset[str], frozenset[str]]]
    groups: Mapping[str, frozenset[str]]
    words: Sequence[str]
    entities: Sequence[str]
    vectors: Sequence[tuple[str, list[float]]]
    chunks: Sequence[tuple[int, str]]
    roles: Mapping[str, frozenset[str]]
    own_scores: bool
    renamed: frozenset[str] = frozenset()  # roles mapped under a former name: they and their members see nothing

    def closure(self, principals: Iterable[str]) -> set[str]:
        """The principals and all groups they belong to, nested ones included."""
        reached: set[str] = set()
        waiting = list(principals)
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting.extend(self.groups.get(name, ()))
        return reached

    def visible(self, principals: Iterable[str]) -> set[str]:
        """The keys these principals may see: allowed by one of them, denied to none."""
        names = self.closure(principals)
        return {
            key for key, (allowed, denied) in self.documents.items() if allowed & names and not denied & names
        }

    def names(self) -> list[str]:
        """Every principal that is in use."""
        found = {"public"}
        for allowed, denied in self.documents.values():
            found |= allowed | denied
        for member, groups in self.groups.items():
            found |= {member} | groups
        for principals in self.roles.values():
            found |= principals
        return sorted(found)


def fuzz(
    dsn: str,
    *,
    tenant: str | None = None,
    seconds: float = 10.0,
    seed: int | None = None,
    rounds: int | None = None,
) -> AclReport:
    """Examine *tenant*, or all there are, for *seconds* or a number of *rounds*.

    The login has to be a writer. The same *seed* asks for the same things of the same store, as far as the
    time reaches.

    :raises NotPermitted: the login is no writer.
    :raises UnknownTenant: there is no such tenant.
    """
    report = AclReport(seed=random.SystemRandom().randrange(2**32) if seed is None else seed)
    chance = random.Random(report.seed)
    until = time.monotonic() + seconds
    with psycopg.connect(dsn, autocommit=True, application_name="pgsift doctor acl") as connection:
        try:
            # Settings are local to a transaction: behind a pooler the session is somebody else's next.
            with connection.transaction():
                connection.execute("SET LOCAL search_path = pg_catalog, pg_temp")
                known = [
                    name
                    for (name,) in connection.execute("SELECT t.tenant FROM sift.list_tenants() AS t").fetchall()
                ]
            application = _becomes(connection, "sift_app")
            report.tenants = known if tenant is None else [tenant]
            if tenant is not None and tenant not in known:
                raise UnknownTenant(f"there is no tenant {tenant!r}")
            while report.tenants and (
                report.rounds < rounds
                if rounds is not None
                else time.monotonic() < until or report.rounds == 0
            ):
                name = report.tenants[report.rounds % len(report.tenants)]
                report.rounds += 1
                with connection.transaction():
                    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                    connection.execute("SET LOCAL search_path = pg_catalog, pg_temp")
                    truth = _truth(connection, name, report, chance)
                    if truth is not None:
                        probe = _Probe(connection, truth, report, chance, application)
                        for _ in range(PROBES_PER_ROUND):
                            probe.principals()
                            if rounds is None and time.monotonic() > until:
                                break
                        probe.roles()
                if len(report.findings) >= MOST_FINDINGS:
                    break
        except psycopg.Error as error:
            if error.sqlstate not in ("42501", "PS008"):
                raise
            raise NotPermitted(
                str(error.diag.message_primary),
                hint="Access is examined by a member of sift_writer or sift_owner.",
            ) from error
    return report


def _becomes(connection: psycopg.Connection, role: str) -> bool:
    """Whether this login may act as *role*; what it asks for others it then asks as that."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(psycopg.sql.SQL("SET LOCAL ROLE {}").format(psycopg.sql.Identifier(role)))
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


# --- what should be -------------------------------------------------------------------------------

_DOCUMENTS = """
    SELECT d.key, a.principals, a.denied
    FROM sift.documents AS d
    JOIN sift.access_lists AS a ON a.tenant_id = d.tenant_id AND a.access_list_id = d.access_list_id
    WHERE d.tenant_id = %s"""
_SAMPLE = """
    SELECT c.tokens FROM sift.chunks AS c
    WHERE c.tenant_id = %s AND c.tokens <> '' AND c.chunk_id >= %s
    ORDER BY c.chunk_id LIMIT 40"""


def _truth(
    connection: psycopg.Connection, tenant: str, report: AclReport, chance: random.Random
) -> Truth | None:
    try:
        with connection.transaction():
            connection.execute("SET LOCAL row_security = off")
            return _from_tables(connection, tenant, chance)
    except psycopg.errors.InsufficientPrivilege:
        report.from_tables = False
        return _from_functions(connection, tenant)


def _from_tables(connection: psycopg.Connection, tenant: str, chance: random.Random) -> Truth | None:
    row = connection.execute(
        "SELECT t.tenant_id, t.statistics FROM sift.tenants AS t WHERE t.name = %s", (tenant,)
    ).fetchone()
    if row is None:
        return None  # dropped meanwhile
    number, statistics = row
    documents = {
        key: (frozenset(allowed), frozenset(denied))
        for key, allowed, denied in connection.execute(_DOCUMENTS, (number,)).fetchall()
    }
    groups: dict[str, set[str]] = {}
    for member, group in connection.execute(
        "SELECT g.member, g.group_name FROM sift.principal_groups AS g WHERE g.tenant_id = %s", (number,)
    ).fetchall():
        groups.setdefault(member, set()).add(group)
    roles: dict[str, set[str]] = {}
    for role, principal in connection.execute(
        "SELECT m.role_name::text, m.principal FROM sift.role_principals AS m"
        " JOIN pg_catalog.pg_roles AS r ON r.oid = m.role_id AND r.rolname = m.role_name"
        " WHERE m.tenant_id = %s", (number,)
    ).fetchall():  # fmt: skip
        roles.setdefault(role, set()).add(principal)
    renamed = frozenset(
        role for (role,) in connection.execute(
            "SELECT DISTINCT r.rolname::text FROM sift.role_principals AS m"
            " JOIN pg_catalog.pg_roles AS r ON r.oid = m.role_id AND r.rolname <> m.role_name"
            " WHERE m.tenant_id = %s", (number,)
        ).fetchall()
    )  # fmt: skip
    (low, high) = connection.execute(
        "SELECT coalesce(min(c.chunk_id), 0), coalesce(max(c.chunk_id), 0)"
        " FROM sift.chunks AS c WHERE c.tenant_id = %s",
        (number,),
    ).fetchone() or (0, 0)
    words = {
        word
        for (tokens,) in connection.execute(
            _SAMPLE, (number, chance.randint(low, max(low, high - 20)))
        ).fetchall()
        for word in tokens.split(" ")
    }
    entities = [
        entity for (entity,) in connection.execute(
            "SELECT DISTINCT e.entity FROM"
            " (SELECT m.entity FROM sift.chunk_entities AS m WHERE m.tenant_id = %s LIMIT 1000) AS e",
            (number,)
        ).fetchall()
    ]  # fmt: skip
    vectors = [
        (model, [float(x) for x in text.strip("[]").split(",")])
        for model, text in connection.execute(
            "SELECT m.name, coalesce(e.embedding::text, e.half_embedding::text)"
            " FROM sift.embedding_models AS m CROSS JOIN LATERAL"
            " (SELECT v.embedding, v.half_embedding FROM sift.chunk_embeddings AS v"
            "  WHERE v.tenant_id = %s AND v.model_id = m.model_id"
            "  ORDER BY v.chunk_id LIMIT 10) AS e", (number,)
        ).fetchall()
    ]  # fmt: skip
    chunks = connection.execute(
        "SELECT s.chunk_id, d.key FROM"
        " (SELECT c.chunk_id, c.document_id FROM sift.chunks AS c WHERE c.tenant_id = %s AND c.chunk_id >= %s"
        "  ORDER BY c.chunk_id LIMIT 100) AS s"
        " JOIN sift.documents AS d ON d.tenant_id = %s AND d.document_id = s.document_id",
        (number, chance.randint(low, max(low, high - 20)), number),
    ).fetchall()
    return Truth(
        tenant, documents, {m: frozenset(g) for m, g in groups.items()}, sorted(words), sorted(entities),
        vectors, chunks,
        {role: frozenset(p) for role, p in roles.items()}, statistics == "visible", renamed,
    )  # fmt: skip


def _from_functions(connection: psycopg.Connection, tenant: str) -> Truth | None:
    row = connection.execute(
        "SELECT t.statistics FROM sift.list_tenants() AS t WHERE t.tenant = %s", (tenant,)
    ).fetchone()
    if row is None:
        return None
    titles: dict[str, str] = dict(connection.execute(
        "SELECT d.key, coalesce(d.title, d.key)"
        " FROM sift.list_documents(%s, %s::text[], k => 2000000000) AS d", (tenant, EVERYTHING)
    ).fetchall())  # fmt: skip
    documents = {
        key: (frozenset(allowed or ()), frozenset(denied or ()))
        for key, allowed, denied in connection.execute(
            "SELECT s.name, s.principals, s.denied FROM sift.show_access(%s, %s::text[]) AS s",
            (tenant, list(titles))
        ).fetchall()
        if key in titles
    }  # fmt: skip
    groups: dict[str, set[str]] = {}
    for group, member in connection.execute(
        "SELECT m.of_group, m.member FROM sift.list_members(%s) AS m WHERE m.direct", (tenant,)
    ).fetchall():
        groups.setdefault(member, set()).add(group)
    words = sorted(
        {word for title in list(titles.values())[:1000] for word in title.split() if word.isalnum()}
    )
    return Truth(
        tenant,
        documents,
        {m: frozenset(g) for m, g in groups.items()},
        words,
        [],
        [],
        [],
        {},
        row[0] == "visible",
    )


# --- what is --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Probe:
    """The questions of one round, all in one snapshot."""

    connection: psycopg.Connection
    truth: Truth
    report: AclReport
    chance: random.Random
    application: bool
    role: str | None = None

    def principals(self) -> None:
        """Ask for one random set of principals through every function, a random question each."""
        who = self.somebody()
        self.ask(who, self.truth.visible(who))

    def roles(self) -> None:
        """Ask as a database role that is mapped, where this login may become it."""
        for role in self.chance.sample(sorted(self.truth.roles), min(2, len(self.truth.roles))):
            try:
                with self.connection.transaction():
                    (principals, reads) = self.connection.execute(
                        "SELECT array_agg(r.rolname::text), bool_or(r.rolname = 'sift_reader')"
                        " FROM pg_catalog.pg_roles AS r"
                        " WHERE pg_has_role(%s, r.oid, 'USAGE')", (role,)
                    ).fetchone() or ([], False)  # fmt: skip
                    mapped = {p for name in principals for p in self.truth.roles.get(name, ())}
                    if self.truth.renamed.intersection(principals):
                        mapped = set()
                    trusted = {"sift_app", "sift_writer", "sift_owner"} & set(principals)
                    if not reads or trusted or self.superuser(role):
                        continue
                    self.connection.execute(
                        psycopg.sql.SQL("SET LOCAL ROLE {}").format(psycopg.sql.Identifier(role))
                    )
                    self.role = role
                    visible = self.truth.visible(mapped)
                    self.ask(None, visible)
                    for view in ("my_documents", "my_chunks", "my_topics"):
                        rows = self.call(
                            view,
                            None,
                            f"SELECT DISTINCT v.key FROM sift.{view} AS v WHERE v.tenant = %s",
                            (self.truth.tenant,),
                        )
                        keys = {row[0] for row in rows or ()}
                        self.compare(view, None, keys, visible if view == "my_documents" else keys & visible)
                    self.connection.execute("RESET ROLE")
            except psycopg.errors.InsufficientPrivilege:
                continue
            finally:
                self.role = None

    def superuser(self, role: str) -> bool:
        return self.connection.execute(
            "SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.rolname = %s", (role,)
        ).fetchone() != (False,)

    def somebody(self) -> list[str]:
        """Principals in use, in combination, and such as nobody has."""
        used = self.truth.names()
        strange = [
            "user:nobody-of-this-name",
            "PUBLIC",
            "public ",
            "%",
            "*",
            "sift:reader",
            "group:",
            "{public}",
            "public,group:hr",
        ]
        strange += [name.upper() for name in used[:3]] + [f" {name}" for name in used[:3]]
        strange = [name for name in strange if name not in used]
        who = self.chance.sample(used, min(len(used), self.chance.choice((0, 1, 1, 1, 2, 3, 5))))
        return who + self.chance.sample(strange, self.chance.choice((0, 0, 1, 2)))

    def call(
        self, function: str, who: list[str] | None, statement: str, parameters: Sequence[Any]
    ) -> list[tuple[Any, ...]] | None:
        self.report.calls += 1
        try:
            with self.connection.transaction():
                if self.application and self.role is None and who != EVERYTHING:
                    self.connection.execute("SET LOCAL ROLE sift_app")
                rows = self.connection.execute(statement.encode(), parameters).fetchall()
                if self.application and self.role is None:
                    self.connection.execute("RESET ROLE")
                return rows
        except psycopg.errors.InsufficientPrivilege:
            raise
        except psycopg.Error as error:
            if error.sqlstate == "PS001" and self.role is not None and not self.truth.roles.get(self.role):
                return None
            if error.sqlstate in ("PS006", "PS013") and function in ("embed_query", "query_vector_terms"):
                return None  # the tenant's terms have no vectors
            self.found(function, who, f"failed with {error.sqlstate}: {error.diag.message_primary}")
            return None

    def found(self, function: str, who: list[str] | None, problem: str) -> None:
        finding = AclFinding(self.truth.tenant, function, who, problem, self.role)
        if finding not in self.report.findings and len(self.report.findings) < MOST_FINDINGS:
            self.report.findings.append(finding)

    def compare(self, function: str, who: list[str] | None, keys: Iterable[str], expected: set[str]) -> None:
        """Keys that came back against those that should have: the first of either kind is reported."""
        got = set(keys)
        for key in sorted(got - expected)[:1]:
            self.found(
                function,
                who,
                f"shows the document {key!r}, and {len(got - expected) - 1} more, that may not be seen",
            )
        for key in sorted(expected - got)[:1]:
            self.found(
                function,
                who,
                f"does not show the document {key!r}, nor {len(expected - got) - 1} more, that may be seen",
            )

    def ask(self, who: list[str] | None, visible: set[str]) -> None:
        """One question to every function. *who* is None for a role that is mapped."""
        truth, tenant = self.truth, self.truth.tenant
        self.listing(who, visible)
        if truth.words:
            self.ranked(who, visible)
        if truth.vectors and self.chance.random() < 0.5:
            self.nearest(who, visible)
        if truth.entities:
            entity = self.chance.choice(truth.entities)
            self.same(
                "chunks_by_entity",
                who,
                visible,
                "SELECT c.key, c.chunk_id, c.body, c.metadata::text"
                " FROM sift.chunks_by_entity(%s, %s, %s::text[]) AS c",
                lambda p: (tenant, entity, p),
            )
        if truth.words:
            self.counted(who, visible, self.chance.choice(truth.words))
        if self.role is None:
            # Which documents are judged is known to nobody here: none that is told may be hidden.
            rows = self.call(
                "list_judgments",
                who,
                "SELECT j.key FROM sift.list_judgments(%s, %s::text[], k => 1000) AS j WHERE j.place <> 'gone'",
                (tenant, who),
            )
            judged = {key for (key,) in rows or ()}
            self.compare("list_judgments", who, judged, judged & visible)
        if truth.chunks:
            self.chosen(who, visible)
        if truth.documents:
            self.single(who, visible, self.chance.choice(sorted(truth.documents)))

    def chosen(self, who: list[str] | None, visible: set[str]) -> None:
        """Of chunks that are named, those come back that may be seen."""
        keys = dict(self.truth.chunks)
        rows = self.call(
            "choose_chunks",
            who,
            "SELECT c.chunk_id FROM sift.choose_chunks(%s, %s::bigint[], %s::double precision[], 1000, %s::text[],"
            " per_document => NULL) AS c",
            (self.truth.tenant, list(keys), [0.0] * len(keys), who),
        )
        if rows is not None:
            self.compare("choose_chunks", who, (keys[row[0]] for row in rows), set(keys.values()) & visible)

    def listing(self, who: list[str] | None, visible: set[str]) -> None:
        rows = self.call(
            "list_documents",
            who,
            "SELECT d.key FROM sift.list_documents(%s, %s::text[], k => 2000000000) AS d",
            (self.truth.tenant, who),
        )
        if rows is not None:
            self.compare("list_documents", who, (key for (key,) in rows), visible)
        self.same(
            "unranked_documents",
            who,
            visible,
            "SELECT d.key, d.title, d.chunks, d.kinds"
            " FROM sift.unranked_documents(%s, %s::text[], k => 2000000000) AS d",
            lambda p: (self.truth.tenant, p),
        )

    def oracle(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]] | None:
        """What a writer is told of everything. Not while acting as somebody else."""
        return (
            None if self.role is not None else self.call("as sift:writer", EVERYTHING, statement, parameters)
        )

    def same(
        self,
        function: str,
        who: list[str] | None,
        visible: set[str],
        statement: str,
        parameters: Callable[[list[str] | None], tuple[Any, ...]],
    ) -> None:
        """The answer is a writer's, the rows of invisible documents left out. The first column is the key."""
        rows = self.call(function, who, statement, parameters(who))
        if rows is None:
            return
        hidden = sorted({row[0] for row in rows} - visible)
        if hidden:
            self.found(
                function,
                who,
                f"shows the document {hidden[0]!r}, and {len(hidden) - 1} more, that may not be seen",
            )
        every = self.oracle(statement, parameters(EVERYTHING))
        if (
            every is not None
            and len(every) < LONGEST
            and not hidden
            and rows != [row for row in every if row[0] in visible]
        ):
            self.found(
                function,
                who,
                "differs from what a writer sees of these documents: in rows, order, text, scores or counts",
            )

    def ranked(self, who: list[str] | None, visible: set[str]) -> None:
        words = " ".join(
            self.chance.sample(self.truth.words, min(len(self.truth.words), self.chance.randint(1, 3)))
        )
        if not any(
            kept
            for _, kept in self.call(
                "query_terms",
                who,
                "SELECT q.term, q.kept FROM sift.query_terms(%s, %s) AS q",
                (self.truth.tenant, words),
            )
            or ()
        ):
            return
        tenant, k = self.truth.tenant, self.chance.choice((1, 3, 10, 1000))
        hits = (
            "SELECT s.key, s.chunk_id, {score}s.body, s.title, s.metadata::text"
            " FROM sift.{name}(%s, %s, {k}, %s::text[], collapse => false) AS s"
        )
        score = "" if self.truth.own_scores else "s.lexical_score, "
        # All of them are a writer's, in order and score for score; a few are the first of all.
        statement = hits.format(score=score, name="lexical_search", k=LONGEST)
        if self.truth.own_scores:
            statement = f"SELECT * FROM ({statement}) AS h ORDER BY 1, 2"
        self.same("lexical_search", who, visible, statement, lambda p: (tenant, words, p))
        if not self.truth.own_scores:
            # Documents as a whole.
            self.same(
                "lexical_search",
                who,
                visible,
                f"SELECT s.key, s.chunk_id, s.lexical_score, s.body FROM sift.lexical_search(%s, %s, {LONGEST},"
                " %s::text[], unit => 'document') AS s",
                lambda p: (tenant, words, p),
            )
        every = self.call(
            "lexical_search",
            who,
            hits.format(score=score, name="lexical_search", k=LONGEST),
            (tenant, words, who),
        )
        few = self.call(
            "lexical_search", who, hits.format(score=score, name="lexical_search", k=k), (tenant, words, who)
        )
        if every is not None and few is not None and few != every[:k]:
            self.found("lexical_search", who, f"the best {k} are not the first of all")
        # Copies that may not be seen are not counted.
        counted = self.call(
            "search",
            who,
            "SELECT s.key, s.duplicates FROM"
            " sift.search(%s, %s, %s, %s::text[], mode => 'lexical', per_document => NULL) AS s",
            (tenant, words, LONGEST, who),
        )
        if every is not None and counted is not None:
            self.compare("search", who, (row[0] for row in counted), {row[0] for row in counted} & visible)
            if len(every) < LONGEST and sum(1 + row[1] for row in counted) != len(every):
                self.found("search", who, "counts copies that may not be seen")
        terms = words.split()
        self.same(
            "lexical_candidates", who, visible,
            "SELECT c.key, c.chunk_id, c.doc_length, c.matched, c.frequencies::text"
            " FROM sift.lexical_candidates(%s, %s::text[], 1000000, %s::text[]) AS c",
            lambda p: (tenant, terms, p),
        )  # fmt: skip

    def nearest(self, who: list[str] | None, visible: set[str]) -> None:
        model, vector = self.chance.choice(self.truth.vectors)
        rows = self.call(
            "dense_search",
            who,
            "SELECT s.key, s.chunk_id FROM"
            " sift.dense_search(%s, %s::real[], 50, %s::text[], model => %s, collapse => false) AS s",
            (self.truth.tenant, vector, who, model),
        )
        if rows is not None:
            self.compare("dense_search", who, (row[0] for row in rows), {row[0] for row in rows} & visible)
        rows = self.call(
            "search",
            who,
            "SELECT s.key FROM"
            " sift.search(%s, %s, 20, %s::text[], query_embedding => %s::real[], model => %s) AS s",
            (self.truth.tenant, self.chance.choice(self.truth.words or ["x"]), who, vector, model),
        )
        if rows is not None:
            self.compare("search", who, (row[0] for row in rows), {row[0] for row in rows} & visible)

    def counted(self, who: list[str] | None, visible: set[str], word: str) -> None:
        """What is counted is what may be seen: the values of the field key are keys, each of one document."""
        tenant = self.truth.tenant
        rows = self.call(
            "facets",
            who,
            "SELECT x.value, x.documents FROM sift.facets(%s, 'key', %s, NULL, %s::text[]) AS x",
            (tenant, f"{word} word", who),
        )
        counts = self.call(
            "count_matches",
            who,
            "SELECT x.documents FROM sift.count_matches(%s, %s, %s::text[]) AS x",
            (tenant, f"{word} word", who),
        )
        begun = word[:2]
        terms = self.call(
            "query_terms",
            who,
            "SELECT x.term FROM sift.query_terms(%s, %s, principals => %s::text[]) AS x WHERE x.kept",
            (tenant, f"{begun}*", who),
        )
        if terms and not visible and len(terms) > 1:
            self.found("query_terms", who, f"tells words that begin with {begun!r}, where nothing may be seen")
        fitted = self.call(
            "query_vector_terms",
            who,
            "SELECT x.term FROM sift.query_vector_terms(%s, %s, principals => %s::text[]) AS x WHERE x.fitted",
            (tenant, word, who),
        )
        vector = self.call(
            "embed_query",
            who,
            "SELECT sift.embed_query(%s, %s, principals => %s::text[]) IS NOT NULL",
            (tenant, word, who),
        )
        # A word with a vector is one that a search finds.
        if (fitted or vector == [(True,)]) and not self.call(
            "lexical_search",
            who,
            "SELECT x.key FROM sift.lexical_search(%s, %s, 1, %s::text[], strip_questions => false) AS x",
            (tenant, word, who),
        ):
            self.found("embed_query", who, f"has a vector of {word!r}, which no document holds that may be seen")
        if rows is not None:
            self.compare("facets", who, (row[0] for row in rows), {row[0] for row in rows} & visible)
        placed = self.call(
            "document_topics",
            who,
            "SELECT x.key FROM sift.document_topics(%s, principals => %s::text[]) AS x",
            (tenant, who),
        )
        topics = self.call(
            "list_topics",
            who,
            "SELECT x.documents, x.keys FROM sift.list_topics(%s, %s::text[]) AS x",
            (tenant, who),
        )
        if placed is not None and topics is not None:
            self.compare("document_topics", who, (row[0] for row in placed), {row[0] for row in placed} & visible)
            named = {key for _, keys in topics for key in keys}
            self.compare("list_topics", who, named, named & visible)
            if sum(number for number, _ in topics) != len(placed):
                self.found("list_topics", who, "counts documents that may not be seen")
        if counts is not None and counts[0][0] > len(visible):
            self.found("count_matches", who, f"counts {counts[0][0]} documents, where {len(visible)} may be seen")

    def single(self, who: list[str] | None, visible: set[str], key: str) -> None:
        """Functions that are asked about one document: an invisible one answers as an absent one."""
        tenant = self.truth.tenant
        absent = key + "\u2060no such document"
        statements = {
            "evidence": "SELECT x.text FROM sift.evidence(%s, %s, '', principals => %s::text[]) AS x",
            "list_claims": "SELECT x.* FROM sift.list_claims(%s, %s, %s::text[]) AS x",
            "document_at": "SELECT x.* FROM sift.document_at(%s, %s, NULL, %s::text[]) AS x",
            "document_history": "SELECT x.* FROM sift.document_history(%s, %s, %s::text[]) AS x",
            "document_source": "SELECT x.* FROM sift.document_source(%s, %s, NULL, %s::text[]) AS x",
            "near_duplicates": "SELECT x.other_key FROM sift.near_duplicates(%s, %s, %s::text[]) AS x",
            "distinct_sources": "SELECT x.* FROM sift.distinct_sources(%s, ARRAY[%s], %s::text[]) AS x",
            "cite": "SELECT x.csl FROM sift.cite(%s, ARRAY[%s], %s::text[]) AS x",
            "related": "SELECT x.key FROM sift.related(%s, %s, principals => %s::text[]) AS x",
        }
        # These search, and take longer than the others together.
        if self.chance.random() < 0.25:
            statements |= {
                "explain": "SELECT x.name FROM sift.explain(%s, 'word', key => %s, principals => %s::text[]) AS x",
                "why_not": "SELECT x.reason FROM sift.why_not(%s, 'word', %s, principals => %s::text[]) AS x",
            }
        if who is not None:
            # Writers are told why a document may not be seen; applications are not.
            columns = "x.*" if self.application else "x.visible"
            statements["check_access"] = f"SELECT {columns} FROM sift.check_access(%s, %s, %s::text[]) AS x"
        for function, statement in statements.items():
            rows = self.call(function, who, statement, (tenant, key, who))
            if rows is None:
                continue
            nothing = self.call(function, who, statement, (tenant, absent, who))
            if key not in visible and rows != nothing:
                self.found(function, who, f"tells of the document {key!r}, which may not be seen")
            if (
                key in visible
                and function in ("document_at", "document_history", "distinct_sources", "check_access", "cite")
                and rows == nothing
            ):
                self.found(function, who, f"tells nothing of the document {key!r}, which may be seen")
            if function in ("near_duplicates", "related"):
                self.compare(function, who, (row[0] for row in rows), {row[0] for row in rows} & visible)
