from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from pgsift import Chunk, Document, PgsiftError, errors

PUBLIC = ["public"]
DOCUMENTS = [
    {"key": "a", "text": "red apple"},
    {"key": "b", "text": "red red car"},
    {"key": "c", "text": "blue car", "title": "Azure", "metadata": {"year": 2024}},
]


def keys(result: Any) -> list[str]:
    return [hit.key for hit in result]


# Round trip


def test_documents_go_in_and_are_found(store: Any) -> None:
    results = store.put_documents("t", DOCUMENTS)
    assert [(r.key, r.status, r.version, r.chunks) for r in results] == [
        ("a", "created", 1, 1),
        ("b", "created", 1, 1),
        ("c", "created", 1, 1),
    ]
    found = store.search("t", "red", principals=PUBLIC)
    assert keys(found) == ["b", "a"]
    assert found.legs == "lexical"
    hit = found[0]
    assert (hit.rank, hit.body, hit.kind, hit.char_start, hit.char_end, hit.document_version) == (
        1,
        "red red car",
        "text",
        0,
        11,
        1,
    )
    assert found.warnings == ("searched by words alone: the query has no vector, neither given nor cached",)
    json.dumps(found.to_dict())


def test_scores(store: Any) -> None:
    texts = {"a": "red apple", "b": "red red car", "c": "blue car"}
    store.put_documents("t", [{"key": key, "text": text} for key, text in texts.items()])
    found = store.lexical_search("t", "red", principals=PUBLIC)
    assert keys(found) == ["b", "a"]
    assert [hit.score for hit in found] == pytest.approx([0.271903, 0.226898], abs=1e-6)
    assert [(r.key, r.deleted) for r in store.delete("t", ["b", "none"], "test")] == [
        ("b", True),
        ("none", False),
    ]
    found = store.lexical_search("t", "red", principals=PUBLIC)
    assert [(hit.key, round(hit.score, 6)) for hit in found] == [("a", 0.315067)]


def test_the_title_is_indexed_with_the_first_chunk_and_never_shown(store: Any) -> None:
    store.put_documents("t", DOCUMENTS)
    found = store.search("t", "azure", principals=PUBLIC)
    assert keys(found) == ["c"]
    assert (found[0].title, found[0].body) == ("Azure", "blue car")
    store.create_tenant("bare", default_principals=PUBLIC, index_title="none")
    store.put_documents("bare", DOCUMENTS)
    assert keys(store.search("bare", "azure", principals=PUBLIC)) == []


def test_unchanged_and_changed(store: Any) -> None:
    store.put_documents("t", DOCUMENTS)
    assert [r.status for r in store.put_documents("t", DOCUMENTS)] == ["unchanged"] * 3
    changed = store.put_documents("t", [DOCUMENTS[0], {"key": "b", "text": "green"}])
    assert [(r.status, r.version) for r in changed] == [("unchanged", 1), ("replaced", 2)]
    assert keys(store.search("t", "red", principals=PUBLIC)) == ["a"]
    with_acl = store.put_documents("t", [{"key": "a", "text": "red apple", "acl": ["user:1"]}])
    assert [(r.status, r.version) for r in with_acl] == [("updated", 1)]
    assert keys(store.search("t", "red", principals=PUBLIC)) == []
    assert keys(store.search("t", "red", principals=["user:1"])) == ["a"]


def test_lists(store: Any) -> None:
    store.put_documents("t", DOCUMENTS)
    page = store.documents("t", principals=PUBLIC, k=2)
    assert [d.key for d in page] == ["a", "b"]
    rest = store.documents("t", principals=PUBLIC, k=2, after="b")
    assert [(d.key, d.title, d.metadata, d.chunks, d.length) for d in rest] == [
        ("c", "Azure", {"year": 2024}, 1, 8)
    ]
    assert [d.key for d in store.documents("t", principals=PUBLIC, key_prefix="c")] == ["c"]
    states = store.document_states("t", ["a", "zzz"])
    assert [(s.key, s.version, s.chunks, len(s.content_hash)) for s in states] == [("a", 1, 1, 64)]
    stats = store.stats("t")
    assert (stats.documents, stats.chunks, stats.indexed_chunks, stats.total_length) == (3, 3, 3, 8)
    tenant = store.tenant("t")
    assert (tenant.analyzer, tenant.default_principals, tenant.model) == ("english", ["public"], None)
    assert [t.tenant for t in store.tenants()] == ["t"]
    json.dumps([record.to_dict() for record in (*page, *states, stats, tenant)])


def test_access(store: Any) -> None:
    store.put_documents("t", DOCUMENTS)
    assert [(r.key, r.changed) for r in store.set_access("t", ["a"], ["group:hr"])] == [("a", True)]
    assert keys(store.search("t", "red", principals=PUBLIC)) == ["b"]
    assert sorted(keys(store.search("t", "red", principals=["public", "group:hr"]))) == ["a", "b"]
    for principals in (None, [], ["group:unknown"]):
        assert keys(store.search("t", "red", principals=principals)) == []
    store.set_default_access("t", ["group:new"])
    store.put_documents("t", [{"key": "d", "text": "red flag"}, {"key": "e", "text": "red tape", "acl": []}])
    assert keys(store.search("t", "red", principals=["group:new"])) == ["d"]


def test_groups_denies_and_prefixes(store: Any) -> None:
    allow_hr = {"allow": ["group:hr"], "deny": ["user:9"]}
    store.put_documents("t", [{"key": "hr/a", "text": "red a", "acl": allow_hr}])
    store.ingest("t", [Document("hr/b", "red b", acl=allow_hr), {"key": "hr/c", "text": "red c", "acl": []}])
    assert store.add_members("t", "group:hr", ["user:1", "user:9", "group:pay"]) == 3
    assert store.add_members("t", "group:pay", ["user:2"]) == 1
    for person, seen in (("user:1", ["hr/a", "hr/b"]), ("user:2", ["hr/a", "hr/b"]), ("user:9", [])):
        assert sorted(keys(store.search("t", "red", principals=[person]))) == seen
    assert [m.member for m in store.members("t", "group:hr") if not m.direct] == ["user:2"]
    assert [(m.of_group, m.member) for m in store.members("t")][-1] == ("group:pay", "user:2")

    granted = store.grant_access("t", key_prefix="hr/", principals=["group:audit"], denied=["user:1"])
    assert [(r.key, r.changed) for r in granted] == [("hr/a", True), ("hr/b", True), ("hr/c", True)]
    assert store.check_access("t", "hr/a", ["user:1"]).to_dict() == {
        "visible": False,
        "reason": "denied",
        "granted_by": ["group:hr"],
        "denied_by": ["user:1"],
    }
    assert store.check_access("t", "hr/c", ["group:audit"]).visible
    store.revoke_access("t", ["hr/c"], ["group:audit"])
    assert not store.check_access("t", "hr/c", ["group:audit"]).visible
    shown = {entry.name: entry for entry in store.show_access("t", key_prefix="hr/")}
    assert (shown["hr/"].kind, list(shown["hr/"].denied)) == ("prefix", ["user:1"])
    assert (list(shown["hr/c"].principals), shown["hr/c"].origin) == ([], "document")

    store.set_access("t", key_prefix="hr/", principals=["group:hr"])
    assert {entry.origin for entry in store.show_access("t", ["hr/a", "hr/b", "hr/c"])} == {"prefix hr/"}
    store.set_default_access("t", ["group:staff"], denied=["user:9"])
    store.grant_access("t", principals=["user:3"], on_default=True)
    assert [(e.kind, list(e.principals), list(e.denied)) for e in store.show_access("t")] == [
        ("default", ["group:staff", "user:3"], ["user:9"]),
        ("prefix", ["group:hr"], []),
    ]
    assert store.remove_members("t", "group:pay", ["user:2", "user:3"]) == 1
    assert keys(store.search("t", "red", principals=["user:2"])) == []


@pytest.mark.parametrize("acl", [{"denny": ["a"]}, {"allow": "a"}, {}, "public", [1]])
def test_an_acl_of_another_shape_is_not_ingested(store: Any, acl: Any) -> None:
    report = store.ingest("t", [{"key": "a", "text": "red", "acl": acl}])
    assert (report.created, report.failed) == (0, 1)


def test_scripts_without_spaces_are_found_however_they_came(store: Any) -> None:
    """Tokens made by Python (ingest) and by the database (put_documents), terms by the database."""
    ships = Document("zh", "红海早过了，船在印度洋面上开驶着")
    store.ingest("t", [ships, Document("tool", "docker compose")])
    store.put_documents("t", [{"key": "ja", "text": "今日は成語しりとりをした"}])
    assert [(t.term, t.kept) for t in store.query_terms("t", "船 印度洋")] == [
        ("船", True), ("印度", True), ("度洋", True),
    ]  # fmt: skip
    expected = {"印度洋": ["zh"], "船 docker": ["tool", "zh"], "しりとり": ["ja"], "火星": []}
    for query, found in expected.items():
        assert sorted(keys(store.lexical_search("t", query, principals=PUBLIC))) == found, query


def test_statistics_can_be_folded_and_postings_packed(store: Any) -> None:
    for document in DOCUMENTS:
        store.put_documents("t", [document])
    before = store.search("t", "red car", principals=PUBLIC)
    assert store.fold_statistics("t")[0].tenant_name == "t"
    assert store.pack_postings("t", purge=True)[0].packed == 3
    assert store.search("t", "red car", principals=PUBLIC) == before


def test_query_terms_and_warnings(store: Any) -> None:
    store.put_documents("t", DOCUMENTS)
    assert [(t.term, t.kept, t.reason) for t in store.query_terms("t", "the cars")] == [
        ("the", False, "stopword"),
        ("car", True, None),
    ]
    assert store.search("t", "the zebra", principals=PUBLIC).warnings == (
        "left out of the query: the (stopword)",
    )
    reported = store.search("t", "the car", principals=PUBLIC, report_terms=True)
    assert "left out of the query: the (stopword)" in reported.warnings


def test_drop(store: Any) -> None:
    store.put_documents("t", DOCUMENTS)
    assert store.drop_tenant("t") is True
    assert store.drop_tenant("t") is False
    with pytest.raises(errors.UnknownTenant):
        store.search("t", "red", principals=PUBLIC)


# Filters


def test_filters_as_mapping_and_as_expression(store: Any) -> None:
    store.put_documents("t", DOCUMENTS)
    assert keys(store.search("t", "car", principals=PUBLIC, filter={"metadata.year": {"$gte": 2020}})) == [
        "c"
    ]
    pytest.importorskip("pgsift.filters")
    assert keys(store.search("t", "car", principals=PUBLIC, filter="metadata.year >= 2020")) == ["c"]
    assert keys(store.lexical_search("t", "car", principals=PUBLIC, filter="key <> 'c'")) == ["b"]
    with pytest.raises(errors.InvalidFilter):
        store.search("t", "car", principals=PUBLIC, filter="nonsense >= 2020")


# Bad input


@pytest.mark.parametrize(
    "query",
    [
        "a & b | !c",
        "foo:*",
        "')",
        '"unbalanced',
        "C:\\x",
        "%s",
        ":name",
        "$1",
        "😀",
        "(" * 10_000,
        "a\0b",
        "x\ud800",
        "%(name)s",
    ],
)
def test_any_query_text_is_only_text(store: Any, query: str) -> None:
    store.put_documents("t", DOCUMENTS)
    try:
        store.search("t", query, principals=PUBLIC)
    except errors.NothingToSearch:
        assert not any(term.kept for term in store.query_terms("t", query))


def test_errors_have_a_class_and_a_hint(store: Any) -> None:
    store.put_documents("t", DOCUMENTS)
    cases: list[tuple[type[PgsiftError], Callable[[], Any]]] = [
        (errors.UnknownTenant, lambda: store.search("nobody", "x", principals=PUBLIC)),
        (errors.UnknownTenant, lambda: store.ingest("nobody", [])),
        (errors.UnknownTenant, lambda: store.put_documents("nobody", DOCUMENTS)),
        (errors.NothingToSearch, lambda: store.search("t", "the", principals=PUBLIC)),
        (errors.NothingToSearch, lambda: store.search("t", "", principals=PUBLIC)),
        (errors.NothingToSearch, lambda: store.search("t", None, principals=PUBLIC)),
        (errors.InvalidArgument, lambda: store.search("t", "x", principals=PUBLIC, k=-1)),
        (errors.InvalidArgument, lambda: store.search("t", "x", principals=PUBLIC, mode="fuzzy")),
        (errors.InvalidArgument, lambda: store.search("t", "x", principals=PUBLIC, weights=(math.nan, 1))),
        (errors.InvalidArgument, lambda: store.search("t", "x", principals=PUBLIC, depth=2)),
        (errors.InvalidArgument, lambda: store.search("t", "x", principals="public")),
        (errors.InvalidVector, lambda: store.search("t", "x", principals=PUBLIC, query_embedding=[math.nan])),
        (errors.UnknownModel, lambda: store.search("t", "x", principals=PUBLIC, query_embedding=[1.0])),
        (errors.UnknownAnalyzer, lambda: store.create_tenant("u", analyzer="klingon")),
        (errors.AlreadyExists, lambda: store.create_tenant("t")),
        (errors.InvalidDocument, lambda: store.put_documents("t", [{"text": "no key"}])),
        (errors.InvalidDocument, lambda: store.put_documents("t", [{"key": "x", "text": 5}])),
        (errors.InvalidDocument, lambda: store.put_documents("t", [{"key": "x", "acls": ["public"]}])),
        (errors.InvalidDocument, lambda: store.put_documents("t", [DOCUMENTS[0], DOCUMENTS[0]])),
        (errors.InvalidDocument, lambda: store.put_documents("t", [{"key": "k" * 2001, "text": "x"}])),
        (errors.InvalidArgument, lambda: store.put_documents("t", DOCUMENTS, chunk_size=0)),
        (errors.InvalidArgument, lambda: store.ingest("t", "/no/such/file")),
        (errors.InvalidArgument, lambda: store.ingest("t", [], sync=True)),
        (errors.InvalidArgument, lambda: store.ingest("t", [], format="klingon")),
        (errors.InvalidArgument, lambda: store.embed_missing("t")),
    ]
    for expected, call in cases:
        with pytest.raises(expected) as caught:
            call()
        assert type(caught.value) is expected
        assert caught.value.message
    assert keys(store.search("t", "red", principals=PUBLIC, k=0)) == []


def test_one_refused_document_refuses_all(store: Any) -> None:
    with pytest.raises(errors.InvalidArgument):
        store.put_documents("t", [*DOCUMENTS, {"key": "bad", "text": "x", "acl": ["sift:writer"]}])
    assert store.stats("t").documents == 0


def test_hostile_text_is_cleaned_everywhere(store: Any) -> None:
    store.put_documents(
        "t",
        [
            Document(
                "key",
                "bo\0dy \ud800 word",
                title="ti\0tle",
                metadata={"k\0": ["v\0", {"\ud800": math.nan}]},
                source_uri="u\0",
                license="l\ud800",
                source_version="1\0",
            )
        ],
    )
    hit = store.search("t", "word", principals=PUBLIC)[0]
    assert (hit.key, hit.title, hit.body) == ("key", "ti tle", "bo dy \ufffd word")
    assert hit.metadata == {"k ": ["v ", {"\ufffd": "NaN"}]}


def test_a_word_of_300_kb(store: Any) -> None:
    store.put_documents("t", [{"key": "w", "text": "before " + "Q" * 300_000 + " after"}])
    assert keys(store.search("t", "after", principals=PUBLIC)) == ["w"]
    assert len(store.search("t", "before", principals=PUBLIC)[0].body) == 300_013


def test_scripts_without_spaces(store: Any) -> None:
    store.put_documents(
        "t",
        [
            {"key": "zh", "text": "红海早过了，船在印度洋面上开驶着"},
            {"key": "ja", "text": "今日は成語しりとりをした"},
        ],
    )
    assert keys(store.search("t", "印度洋", principals=PUBLIC)) == ["zh"]
    assert keys(store.search("t", "しりとり", principals=PUBLIC)) == ["ja"]
    assert keys(store.search("t", "不在", principals=PUBLIC)) == []


# Chunks and vectors of the caller's


def vector_documents() -> list[Document]:
    return [
        Document(
            "x", chunks=[Chunk("north wind", section=["Air"], page=3, start=10, end=20, embedding=[1, 0, 0])]
        ),
        Document(
            "y", chunks=[Chunk("south wind", embedding=(0.0, 1.0, 0.0), kind="abstract", entities=["wind"])]
        ),
        Document("z", chunks=[Chunk("no vector of wind")]),
    ]


def test_vectors_of_the_caller(store: Any) -> None:
    np = pytest.importorskip("numpy")
    store.register_model("three", 3)
    store.put_documents("t", vector_documents(), model="three")
    found = store.search("t", "wind", principals=PUBLIC, query_embedding=np.array([1.0, 0.1, 0.0]))
    assert found.legs == "lexical+dense"
    assert keys(found)[0] == "x"
    assert (found[0].section, found[0].page, found[0].char_start, found[0].char_end) == ("Air", 3, 10, 20)
    dense = store.dense_search("t", [1, 0, 0], principals=PUBLIC)
    assert keys(dense) == ["x", "y"]
    assert dense[0].distance == pytest.approx(0.0, abs=1e-7)
    assert dense.dense_path == "exact"
    assert [m.to_dict()["dimensions"] for m in store.models()] == [3]
    store.cache_query_embedding("t", "wind", [0, 1, 0])
    assert keys(store.search("t", "wind", principals=PUBLIC, mode="dense"))[0] == "y"
    # Ranks 1 and 1 at rrf_k 60.
    both = store.search("t", "north", principals=PUBLIC, query_embedding=[1, 0, 0])
    assert both[0].score == pytest.approx(2 / 61)


def test_vectors_need_a_model(store: Any) -> None:
    with pytest.raises(errors.InvalidDocument, match="no model"):
        store.put_documents("t", vector_documents())
    with pytest.raises(errors.UnknownModel):
        store.put_documents("t", vector_documents(), model="three")


@pytest.mark.parametrize("bad", [[1.0], [math.nan, 0, 0], [0, 0, 0], [math.inf, 0, 0], "text", [1e39, 0, 0]])
def test_bad_vectors_are_refused(store: Any, bad: Any) -> None:
    store.register_model("three", 3)
    with pytest.raises(errors.InvalidVector):
        store.put_documents("t", [Document("x", chunks=[Chunk("wind", embedding=bad)])], model="three")
    assert store.stats("t").documents == 0
    store.put_documents("t", vector_documents(), model="three")
    with pytest.raises(errors.InvalidVector):
        store.search("t", "wind", principals=PUBLIC, query_embedding=bad)


# Connections


def test_inside_the_callers_transaction(make_store: Any, connect: Any, dsn: str) -> None:
    connection = connect(dsn)
    store = make_store(connection=connection)
    store.create_tenant("t", default_principals=PUBLIC)
    store.put_documents("t", DOCUMENTS)
    report = store.ingest(
        "t", [{"key": "d", "text": "red ink"}, {"key": "bad", "text": "x", "acl": ["sift:writer"]}]
    )
    assert (report.created, report.failed) == (1, 1)
    with pytest.raises(errors.NothingToSearch):
        connection_savepoint(connection, lambda: store.search("t", "the", principals=PUBLIC))
    assert sorted(keys(store.search("t", "red", principals=PUBLIC))) == ["a", "b", "d"]
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
    with psycopg.connect(dsn, autocommit=True) as other:
        assert other.execute("SELECT count(*) FROM sift.tenants").fetchone() == (0,)
    connection.rollback()
    assert store.tenants() == []


def connection_savepoint(connection: Any, call: Callable[[], Any]) -> None:
    connection.execute("SAVEPOINT s")
    try:
        call()
    finally:
        connection.execute("ROLLBACK TO SAVEPOINT s")


def test_the_caller_commits(make_store: Any, connect: Any, dsn: str) -> None:
    connection = connect(dsn)
    store = make_store(connection=connection)
    # Those with a dot belong to modules, which bring them when they are loaded.
    settings = "SELECT jsonb_object_agg(name, setting) FROM pg_catalog.pg_settings WHERE name NOT LIKE '%.%'"
    before = fetch(connection, settings)
    connection.commit()
    store.create_tenant("t", default_principals=PUBLIC)
    connection.commit()
    # A fresh, idle connection: the ingest must not commit by itself.
    store.ingest("t", [dict(document) for document in DOCUMENTS])
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
    connection.commit()
    assert fetch(connection, settings) == before
    assert fetch(connection, "SELECT count(*) FROM pg_catalog.pg_prepared_statements") == (0,)
    store.close()
    assert fetch(connection, "SELECT 1") == (1,)
    with psycopg.connect(dsn) as other:
        assert other.execute("SELECT count(*) FROM sift.documents").fetchone() == (3,)


def fetch(connection: Any, statement: str) -> Any:
    cursor = connection.execute(statement)
    fetched = cursor.fetchone()
    return connection.runner.run(fetched) if hasattr(fetched, "__await__") else fetched


def test_a_callers_connection_with_other_row_factory(make_store: Any, connect: Any, dsn: str) -> None:
    connection = connect(dsn, row_factory=psycopg.rows.dict_row, autocommit=True)
    store = make_store(connection=connection)
    store.create_tenant("t", default_principals=PUBLIC)
    store.put_documents("t", DOCUMENTS)
    assert keys(store.search("t", "blue", principals=PUBLIC)) == ["c"]


def test_on_a_pool(make_store: Any, make_pool: Any, dsn: str) -> None:
    store = make_store(pool=make_pool(dsn))
    store.create_tenant("t", default_principals=PUBLIC)
    assert store.ingest("t", DOCUMENTS).created == 3
    assert keys(store.search("t", "red", principals=PUBLIC)) == ["b", "a"]


def test_a_lost_connection_is_opened_again(store: Any, dsn: str) -> None:
    store.put_documents("t", DOCUMENTS)
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute(
            "SELECT pg_catalog.pg_terminate_backend(a.pid) FROM pg_catalog.pg_stat_activity AS a"
            " WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()"
        )
    with pytest.raises(errors.ServerUnavailable):
        store.stats("t")
    assert store.stats("t").documents == 3


def test_no_server_is_said_plainly(make_store: Any) -> None:
    with pytest.raises(errors.ServerUnavailable) as caught:
        make_store("host=/nonexistent dbname=x").tenants()
    assert caught.value.hint
    with pytest.raises(errors.InvalidArgument, match="connection string"):
        make_store("not a dsn").tenants()


def test_an_uninstalled_schema_is_refused_with_the_command(
    make_store: Any, connect: Any, empty_dsn: str
) -> None:
    with pytest.raises(errors.SchemaVersionMismatch) as caught:
        make_store(empty_dsn).tenants()
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("Run: pgsift db upgrade --dsn ")
    assert psycopg.conninfo.conninfo_to_dict(empty_dsn)["dbname"] in caught.value.hint
    # The caller's transaction goes on.
    connection = connect(empty_dsn)
    with pytest.raises(errors.SchemaVersionMismatch):
        make_store(connection=connection).tenants()
    assert fetch(connection, "SELECT 1") == (1,)


def test_a_schema_of_another_version_is_refused(make_store: Any, dsn: str) -> None:
    with psycopg.connect(dsn) as other:
        other.execute("UPDATE sift.alembic_version SET version_num = '0000'")
    with pytest.raises(errors.SchemaVersionMismatch, match="revision 0000") as caught:
        make_store(dsn).tenants()
    assert "pgsift db upgrade --dsn" in (caught.value.hint or "")
    with psycopg.connect(dsn) as other:
        other.execute("UPDATE sift.alembic_version SET version_num = '9999'")
    with pytest.raises(errors.SchemaVersionMismatch) as caught:
        make_store(dsn).tenants()
    assert "pip install" in (caught.value.hint or "")


def test_the_password_is_not_in_the_hint(make_store: Any, empty_dsn: str) -> None:
    with pytest.raises(errors.SchemaVersionMismatch) as caught:
        make_store(psycopg.conninfo.make_conninfo(empty_dsn, password="hunter2")).tenants()
    assert "hunter2" not in (caught.value.hint or "") + str(caught.value)


def test_dsn_from_the_environment(make_store: Any, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    assert make_store().tenants() == []


def test_the_context_manager_closes(colour: str, runner: Any, dsn: str) -> None:
    from pgsift import AsyncStore, Store

    if colour == "sync":
        with Store(dsn) as store:
            assert store.tenants() == []
            own = store._own
    else:

        async def use() -> Any:
            async with AsyncStore(dsn) as store:
                assert await store.tenants() == []
                return store._own

        own = runner.run(use())
    assert own is not None
    assert own.closed


def test_an_application_role_may_search(store: Any, make_store: Any, make_login: Any, dsn: str) -> None:
    store.put_documents("t", DOCUMENTS)
    app = make_store(make_login(dsn, "sift_app"))
    assert keys(app.search("t", "red", principals=PUBLIC)) == ["b", "a"]
    with pytest.raises(errors.NotPermitted):
        app.delete("t", ["a"])
    reader_dsn = make_login(dsn, "sift_reader")
    reader = make_store(reader_dsn)
    store.map_role("t", psycopg.conninfo.conninfo_to_dict(reader_dsn)["user"], PUBLIC)
    assert keys(reader.search("t", "red")) == ["b", "a"]
    with pytest.raises(errors.NotPermitted):
        reader.search("t", "red", principals=["group:hr"])
