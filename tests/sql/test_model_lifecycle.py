"""A second model beside the first: registered, kept, activated, dropped; and indexes of signs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

KEYS = [f"d{i}" for i in range(6)]


def documents(first: int = 0, last: int = 6, **models: int) -> str:
    """Documents that bring a vector of each model, a number of dimensions by its name."""
    return json.dumps(
        [
            {
                "key": f"d{i}",
                "chunks": [
                    {
                        "body": f"text {i} of the corpus",
                        "embeddings": {
                            name: [float(1 + (i * 7 + n * 3) % 5) for n in range(size)]
                            for name, size in models.items()
                        },
                    }
                ],
            }
            for i in range(first, last)
        ]
    )


@pytest.fixture
def tenant(conn: psycopg.Connection) -> psycopg.Connection:
    """A tenant whose documents have vectors of the model ``old``; ``new`` is registered."""
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    conn.execute("SELECT sift.register_model('old', 3), sift.register_model('new', 4)")
    conn.execute("SELECT sift.put_documents('t', %s::jsonb)", (documents(old=3),))
    return conn


def refusal(conn: psycopg.Connection, sqlstate: str, statement: str, *values: Any) -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        conn.execute(statement, values or None)
    assert caught.value.sqlstate == sqlstate, caught.value
    assert caught.value.diag.message_hint
    return caught.value.diag


def value(conn: psycopg.Connection, statement: str, *values: Any) -> Any:
    row = conn.execute(statement, values or None).fetchone()
    return None if row is None else row[0]


def states(conn: psycopg.Connection) -> dict[str, tuple[str, int, int]]:
    found = conn.execute(
        "SELECT s.model, s.state, s.vectors, s.missing FROM sift.show_models('t') AS s"
    ).fetchall()
    return {model: (state, vectors, missing) for model, state, vectors, missing in found}


def fill(conn: psycopg.Connection, model: str = "new", size: int = 4) -> int:
    ids = [
        i for (i,) in conn.execute("SELECT w.chunk_id FROM sift.chunks_without_embedding('t', %s) AS w", (model,))
    ]
    vectors = ["[" + ",".join(str(1 + (i + n) % 4) for n in range(size)) + "]" for i in ids]
    return int(value(conn, "SELECT sift.put_embeddings('t', %s, %s::bigint[], %s)", model, ids, vectors))


def search(conn: psycopg.Connection, arguments: str) -> list[str]:
    return [
        key
        for (key,) in conn.execute(
            f"SELECT s.key FROM sift.search('t', principals => '{{public}}', {arguments}) AS s"
        )
    ]


# --- identity


@pytest.mark.parametrize(
    "said",
    ["revision => 'r2'", "metric => 'ip'", "vector_type => 'halfvec'", "query_prefix => 'q: '", "document_prefix => 'p: '",
     "pooling => 'cls'", "normalized => true", "quantization => 'binary'", "embedder => 'static'", "dense_weight => 0.5"],
)  # fmt: skip
def test_another_model_under_the_same_name_is_refused_naming_the_difference(
    tenant: psycopg.Connection, said: str
) -> None:
    message = refusal(tenant, "PS011", f"SELECT sift.register_model('new', 4, {said})").message_primary
    name, _, asked = said.partition(" => ")
    assert message is not None and name in message and asked.strip("'") in message
    assert message.count(";") == 0  # that alone


def test_what_a_model_is_made_of_is_listed(conn: psycopg.Connection) -> None:
    arguments = "'m', 8, 'r1', 'ip', 'halfvec', 'q: ', 'p: ', pooling => 'cls', normalized => true"
    for _ in range(2):
        conn.execute(f"SELECT sift.register_model({arguments}, quantization => 'binary', embedder => 'onnx:m')")
    row = conn.execute(
        "SELECT m.pooling, m.normalized, m.quantization, m.embedder FROM sift.list_models() AS m WHERE m.model = 'm'"
    ).fetchall()
    assert row == [("cls", True, "binary", "onnx:m")]
    refusal(conn, "PS002", "SELECT sift.register_model('n', 8, metric => 'l2', quantization => 'binary')")
    refusal(conn, "PS002", "SELECT sift.register_model('n', 8, quantization => 'scalar')")


# --- several vectors at once


def test_documents_bring_vectors_of_several_models(tenant: psycopg.Connection) -> None:
    tenant.execute("SELECT sift.put_documents('t', %s::jsonb)", (documents(4, 8, old=3, new=4),))
    assert states(tenant) == {"old": ("active", 8, 0), "new": ("retired", 4, 4)}
    assert value(
        tenant,
        "SELECT v.models FROM sift.document_versions AS v WHERE v.key = 'd7' ORDER BY v.document_id DESC LIMIT 1",
    ) == ["new", "old"]
    said = refusal(
        tenant, "PS012", "SELECT sift.put_documents('t', %s::jsonb)",
        '[{"key": "x", "chunks": [{"body": "b", "embeddings": {"new": 7}}]}]',
    ).message_primary  # fmt: skip
    assert said is not None and "embeddings" in said
    refusal(
        tenant, "PS006", "SELECT sift.put_documents('t', %s::jsonb)",
        '[{"key": "x", "chunks": [{"body": "b", "embeddings": {"nosuch": [7]}}]}]',
    )  # fmt: skip


# --- kept, activated


def test_a_switch_and_the_way_back(tenant: psycopg.Connection) -> None:
    tenant.execute("SELECT sift.keep_model('t', 'new')")
    assert states(tenant) == {"old": ("active", 6, 0), "new": ("kept", 0, 6)}
    assert value(tenant, "SELECT t.kept_models FROM sift.list_tenants() AS t WHERE t.tenant = 't'") == [
        "old",
        "new",
    ]
    said = refusal(tenant, "PS013", "SELECT sift.activate_model('t', 'new')")
    assert said.message_primary == '6 chunks of the tenant "t" have no vector of the model "new"'
    assert said.message_hint is not None and "pgsift models backfill new --tenant t" in said.message_hint
    assert fill(tenant) == 6
    assert value(tenant, "SELECT sift.activate_model('t', 'new')") == "old"
    assert states(tenant) == {"new": ("active", 6, 0), "old": ("kept", 6, 0)}
    assert value(tenant, "SELECT sift.activate_model('t', 'new')") == "new"
    assert value(tenant, "SELECT sift.activate_model('t', 'old')") == "new"
    assert states(tenant) == {"old": ("active", 6, 0), "new": ("kept", 6, 0)}
    tenant.execute("SELECT sift.keep_model('t', 'new', false)")
    assert states(tenant)["new"] == ("retired", 6, 0)
    refusal(tenant, "PS011", "SELECT sift.keep_model('t', 'old', false)")
    for statement in ("keep_model('t', 'nosuch')", "activate_model('t', 'nosuch')", "show_models('t', 'nosuch')"):
        refusal(tenant, "PS006", f"SELECT sift.{statement}")
    for statement in ("keep_model('t', NULL)", "activate_model('t', NULL)"):
        refusal(tenant, "PS002", f"SELECT sift.{statement}")


def test_missing_vectors_can_be_allowed(tenant: psycopg.Connection) -> None:
    assert value(tenant, "SELECT sift.activate_model('t', 'new', allow_missing => true)") == "old"
    assert states(tenant) == {"new": ("active", 0, 6), "old": ("kept", 6, 0)}
    # Fused, the words find them; alone, the vectors would find nothing.
    assert len(search(tenant, "query => 'corpus', query_embedding => '{1,0,0,0}'")) == 6
    refusal(
        tenant,
        "PS013",
        "SELECT * FROM sift.search('t', principals => '{public}', mode => 'dense', query_embedding => '{1,0,0,0}')",
    )


def test_what_is_kept_from_remote_embedders_does_not_stop_a_switch_unless_it_is_found_today(
    tenant: psycopg.Connection,
) -> None:
    tenant.execute(
        """SELECT sift.put_documents('t', '[{"key": "s", "text": "secret", "classification": "secret"}]')"""
    )
    fill(tenant)
    tenant.execute(
        "DELETE FROM sift.chunk_embeddings AS e USING sift.chunks AS c WHERE c.chunk_id = e.chunk_id AND c.body = 'secret'"
    )
    assert states(tenant)["new"][2] == 1
    refusal(tenant, "PS013", "SELECT sift.activate_model('t', 'new')")
    tenant.execute("""SELECT sift.set_tenant('t', '{"remote_classifications": ["public"]}')""")
    tenant.execute("UPDATE sift.documents SET classification = 'public' WHERE key <> 's'")
    assert value(tenant, "SELECT s.withheld FROM sift.show_models('t', 'new') AS s") == 1
    with tenant.transaction(force_rollback=True):
        assert value(tenant, "SELECT sift.activate_model('t', 'new')") == "old"
    fill(tenant, "old", 3)
    said = refusal(tenant, "PS013", "SELECT sift.activate_model('t', 'new')").message_primary
    assert said is not None and "kept from remote embedders" in said


def test_blank_texts_are_not_missing(tenant: psycopg.Connection) -> None:
    tenant.execute("""SELECT sift.put_documents('t', '[{"key": "blank", "chunks": [{"body": " \\u2003\\n"}]}]')""")
    fill(tenant)
    tenant.execute(
        "DELETE FROM sift.chunk_embeddings AS e USING sift.chunks AS c WHERE c.chunk_id = e.chunk_id AND c.body ~ '^\\s*$'"
    )
    assert states(tenant)["new"][2] == 0


def test_a_model_without_vectors_is_named_beside_those_that_have_some(tenant: psycopg.Connection) -> None:
    vector = "query_embedding => '{1,0,0,0}'::real[], model => 'new'"
    for more in ("", ", query => 'corpus'", ", mode => 'dense'"):
        said = refusal(
            tenant, "PS013", f"SELECT * FROM sift.search('t', principals => '{{public}}', {vector}{more})"
        ).message_primary
        assert said is not None and '"new"' in said and '"old"' in said
    assert len(search(tenant, f"query => 'corpus', mode => 'lexical', {vector}")) == 6
    fill(tenant)
    assert len(search(tenant, vector)) == 6


def test_invisible_vectors_are_not_told_of(tenant: psycopg.Connection) -> None:
    """Whether a hidden document has a vector of the model decides nothing, nor is a model named for its sake."""
    call = (
        "SELECT s.key FROM sift.search('t', 'corpus', principals => %s, query_embedding => '{1,0,0,0}',"
        " model => 'new') AS s"
    )
    hidden = json.dumps(
        [
            {
                "key": "h",
                "acl": ["group:x"],
                "chunks": [{"body": "hidden", "embeddings": {"new": [1, 2, 3, 4], "other": [1, 2]}}],
            }
        ]
    )
    tenant.execute("SELECT sift.register_model('other', 2)")

    def answer(principals: list[str]) -> tuple[str | None, str | None]:
        try:
            with tenant.transaction():
                return None, str(tenant.execute(call, (principals,)).fetchall())
        except psycopg.Error as error:
            return error.sqlstate, error.diag.message_primary

    before = {who: answer([who]) for who in ("public", "nobody")}
    assert before["public"][0] == "PS013" and before["nobody"] == (None, "[]")
    tenant.execute("SELECT sift.put_documents('t', %s::jsonb)", (hidden,))
    assert {who: answer([who]) for who in ("public", "nobody")} == before
    assert answer(["group:x"]) == (None, "[('h',)]")


# --- rights


@pytest.mark.parametrize("role", ["sift_reader", "sift_app", "sift_writer"])
def test_who_may_do_what(tenant: psycopg.Connection, role: str) -> None:
    calls = {
        "SELECT sift.keep_model('t', 'new')": {"sift_writer"},
        "SELECT sift.activate_model('t', 'new', true)": {"sift_writer"},
        "SELECT * FROM sift.show_models('t')": {"sift_writer"},
        "SELECT * FROM sift.chunks_without_embedding('t', 'new')": {"sift_writer"},
        "SELECT * FROM sift.queries_without_embedding('t', 'new')": {"sift_writer"},
        "SELECT sift.drop_model('new')": set(),
    }
    for call, allowed in calls.items():
        tenant.execute(f"SET LOCAL ROLE {role}")
        try:
            with tenant.transaction(force_rollback=True):
                tenant.execute(call)
            refused = False
        except psycopg.errors.InsufficientPrivilege:
            refused = True
        tenant.execute("RESET ROLE")
        assert refused is (role not in allowed), call


# --- dropped


def test_nothing_is_left_of_a_dropped_model(tenant: psycopg.Connection) -> None:
    fill(tenant)
    tenant.execute("SELECT sift.keep_model('t', 'new')")
    tenant.execute("SELECT sift.cache_query_embedding('t', 'how', '{1,0,0,0}', 'new')")
    tenant.execute("SELECT * FROM sift.delete_documents('t', '{d0}')")
    number = value(tenant, "SELECT m.model_id FROM sift.embedding_models AS m WHERE m.name = 'new'")
    tables = ("vector_history", "query_embeddings", "embedding_stats", "tenant_models", "chunk_embeddings")
    for table in tables:
        assert value(tenant, f"SELECT count(*) FROM sift.{table} AS x WHERE x.model_id = {number}") > 0, table
    refusal(tenant, "PS011", "SELECT sift.drop_model('old')")
    assert value(tenant, "SELECT sift.drop_model('new')") is True
    assert value(tenant, "SELECT sift.drop_model('new')") is False
    for table in tables:
        assert value(tenant, f"SELECT count(*) FROM sift.{table} AS x WHERE x.model_id = {number}") == 0, table
    assert value(tenant, f"SELECT to_regclass('sift.chunk_embeddings_m{number}')") is None
    found = tenant.execute(
        "SELECT d.* FROM sift.doctor('t') AS d WHERE d.severity = 'error' OR d.object ~ 'model|embedding'"
    ).fetchall()
    assert found == []
    # The name is free again, for whatever model.
    assert value(tenant, "SELECT sift.register_model('new', 2)") > number
    assert states(tenant) == {"old": ("active", 5, 0)}
    assert len(search(tenant, "query => 'corpus', query_embedding => '{1,0,0}'")) == 5


@pytest.fixture
def committed(dsn: str) -> Iterator[str]:
    with psycopg.connect(dsn) as setup:
        setup.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
        setup.execute("SELECT sift.register_model('old', 3), sift.register_model('new', 4)")
        setup.execute("SELECT sift.put_documents('t', %s::jsonb)", (documents(last=40, old=3, new=4),))
    yield dsn


def test_a_drop_gives_way_to_a_long_reader_and_keeps_nobody_waiting_long(committed: str) -> None:
    with psycopg.connect(committed) as reader, psycopg.connect(committed, autocommit=True) as other:
        reader.execute("SELECT count(*) FROM sift.chunk_embeddings")
        result: list[Any] = []

        def drop() -> None:
            with psycopg.connect(committed, autocommit=True) as owner:
                result.append(value(owner, "SELECT sift.drop_model('new')"))

        thread = threading.Thread(target=drop)
        thread.start()
        slowest = 0.0
        try:
            for _ in range(60):
                begun = time.monotonic()
                assert len(search(other, "query => 'corpus', query_embedding => '{1,0,0}', k => 40")) == 40
                slowest = max(slowest, time.monotonic() - begun)
                other.execute("SELECT sift.put_documents('t', %s::jsonb)", (documents(50, 51, old=3),))
                time.sleep(0.03)
            assert thread.is_alive()
        finally:
            reader.rollback()
            thread.join(30)
        assert result == [True]
        # One attempt lasts half a second; a machine under load may add to that, a wait for the reader would not end.
        assert slowest < 20


def test_a_writer_that_comes_too_late_is_told(committed: str) -> None:
    """Who stores vectors of the model finishes first, who comes later finds no model."""
    with psycopg.connect(committed) as early, psycopg.connect(committed) as late:
        early.execute("SELECT sift.put_documents('t', %s::jsonb)", (documents(60, 61, new=4),))
        done: list[Any] = []

        def drop() -> None:
            with psycopg.connect(committed, autocommit=True) as owner:
                done.append(value(owner, "SELECT sift.drop_model('new')"))

        thread = threading.Thread(target=drop)
        thread.start()
        time.sleep(0.4)
        assert thread.is_alive()
        early.commit()
        thread.join(30)
        assert done == [True]
        with pytest.raises(psycopg.Error) as caught:
            late.execute("SELECT sift.put_documents('t', %s::jsonb)", (documents(70, 71, new=4),))
        assert caught.value.sqlstate == "PS006"
        late.rollback()
        for table in ("embedding_stats", "query_embeddings", "vector_history", "tenant_models"):
            assert value(late, f"SELECT count(*) FROM sift.{table} AS x WHERE x.model_id = 2") == 0


def test_a_drop_of_the_model_that_is_just_being_activated(committed: str) -> None:
    with psycopg.connect(committed) as switcher, psycopg.connect(committed, autocommit=True) as owner:
        switcher.execute("SELECT sift.activate_model('t', 'new')")
        failed: list[str | None] = []

        def drop() -> None:
            try:
                owner.execute("SELECT sift.drop_model('new')")
            except psycopg.Error as error:
                failed.append(error.sqlstate)

        thread = threading.Thread(target=drop)
        thread.start()
        time.sleep(0.3)
        switcher.commit()
        thread.join(30)
        assert failed == ["PS011"]


def test_readers_see_one_model_or_the_other(committed: str) -> None:
    """Vectors of the two models have different lengths: a statement that mixed them would fail, or answer neither as one does nor
    as the other."""
    with psycopg.connect(committed, autocommit=True) as setup:
        setup.execute("SELECT sift.cache_query_embedding('t', 'text corpus', '{5,1,1}', 'old')")
        setup.execute("SELECT sift.cache_query_embedding('t', 'text corpus', '{1,1,5,1}', 'new')")
        answers = {
            model: tuple(
                setup.execute(
                    "SELECT s.key, s.distance FROM sift.search('t', 'text corpus', 10, '{public}', model => %s) AS s",
                    (model,),
                ).fetchall()
            )
            for model in ("old", "new")
        }
    assert answers["old"] != answers["new"]
    stop = threading.Event()
    seen: set[Any] = set()
    failures: list[BaseException] = []

    def read() -> None:
        try:
            with psycopg.connect(make_conninfo(committed), autocommit=True) as connection:
                while not stop.is_set():
                    seen.add(
                        tuple(
                            connection.execute(
                                "SELECT s.key, s.distance FROM sift.search('t', 'text corpus', 10, '{public}') AS s"
                            ).fetchall()
                        )
                    )
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    with psycopg.connect(committed, autocommit=True) as switcher:
        for turn in range(20):
            switcher.execute("SELECT sift.activate_model('t', %s)", ("new" if turn % 2 == 0 else "old",))
            time.sleep(0.05)
    stop.set()
    for reader in readers:
        reader.join(30)
    assert failures == []
    assert seen == set(answers.values())
