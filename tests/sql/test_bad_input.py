"""What is wrong is refused, by the name of the document and the member, with a hint; and what only looks wrong is stored whole."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgsift import _resources

SQL = _resources.sql_directory()


@pytest.fixture
def store(conn: psycopg.Connection) -> psycopg.Connection:
    conn.execute("SELECT sift.create_tenant('t', 'standard', default_principals => '{public}')")
    conn.execute("SELECT sift.create_tenant('other', 'standard')")
    conn.execute("SELECT sift.register_model('m', 3)")
    return conn


def refused(conn: psycopg.Connection, state: str, statement: str, *values: Any) -> psycopg.errors.Diagnostic:
    """What the statement is refused with; a hint is always there."""
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        conn.execute(statement, values)
    assert caught.value.sqlstate == state, caught.value
    if state.startswith("PS"):
        assert caught.value.diag.message_hint
    return caught.value.diag


def put(conn: psycopg.Connection, *documents: Any, **options: Any) -> list[tuple[Any, ...]]:
    extra = "".join(f", {name} => %s" for name in options)
    return conn.execute(
        f"SELECT key, status, chunks FROM sift.put_documents('t', %s::jsonb{extra})",
        [json.dumps(documents), *options.values()],
    ).fetchall()


def malformed(conn: psycopg.Connection, document: Any, **options: Any) -> psycopg.errors.Diagnostic:
    """What a batch with this document, between two good ones, is refused with."""
    good = [{"key": f"good {i}", "text": "fine words", "length": 10} for i in range(2)]
    extra = "".join(f", {name} => %s" for name in options)
    said = refused(conn, "PS012", f"SELECT sift.put_documents('t', %s::jsonb{extra})",
                   json.dumps([good[0], document, good[1]]), *options.values())
    assert conn.execute("SELECT count(*) FROM sift.documents").fetchone() == (0,)
    return said


def chunk(**members: Any) -> dict[str, Any]:
    """A document with a good chunk and one that is not."""
    return {"key": "a", "chunks": [{"body": "fine"}, {"body": "fine"} | members]}


def stored(conn: psycopg.Connection, table: str, column: str) -> list[Any]:
    return [row[0] for row in conn.execute(f"SELECT {column} FROM sift.{table} ORDER BY 1")]


# --- documents


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (7, "document 2 of the batch is not an object, but a number"),
        (None, "document 2 of the batch is not an object, but null"),
        ([{"key": "a"}], "document 2 of the batch is not an object, but an array"),
        ({"text": "x"}, 'document 2 of the batch has no "key"'),
        ({"key": None}, 'document 2 of the batch has no "key"'),
        ({"key": ""}, 'the document "": "key" must have 1 to 2000 bytes'),
        ({"key": {"a": 1}}, 'the document {"a": 1}: "key" must be a string, not an object'),
        ({"key": 5}, 'the document 5: "key" must be a string, not a number'),
        ({"key": "a", "acls": ["public"]}, 'the document "a" has the unknown member "acls"'),
        ({"key": "a", "Acl": ["public"]}, 'the document "a" has the unknown member "Acl"'),
        ({"key": "a", "embedding": [1, 2, 3]}, 'the document "a" has the unknown member "embedding"'),
        ({"key": "a", "acl": "public"}, 'the document "a": "acl" must be an array or an object, not a string'),
        ({"key": "a", "acl": [1]}, 'the document "a": "acl" may hold nothing but strings'),
        ({"key": "a", "acl": [["a"]]}, 'the document "a": "acl" may hold nothing but strings'),
        ({"key": "a", "acl": [None]}, 'the document "a": "acl" may hold nothing but strings'),
        ({"key": "a", "acl": {"alow": ["a"]}}, 'the document "a": "acl" may have the members allow and deny and no others'),
        ({"key": "a", "acl": {"allow": "a"}}, 'the document "a": "acl" must have arrays as allow and deny'),
        ({"key": "a", "acl": {"allow": ["a"], "deny": [["b"]]}}, 'the document "a": "acl" may hold nothing but strings'),
        ({"key": "a", "text": 5}, 'the document "a": "text" must be a string, not a number'),
        ({"key": "a", "text": ["x"]}, 'the document "a": "text" must be a string, not an array'),
        ({"key": "a", "title": {"a": 1}}, 'the document "a": "title" must be a string, not an object'),
        ({"key": "a", "license": True}, 'the document "a": "license" must be a string, not a boolean'),
        ({"key": "a", "classification": 3}, 'the document "a": "classification" must be a string, not a number'),
        ({"key": "a", "metadata": []}, 'the document "a": "metadata" must be an object, not an array'),
        ({"key": "a", "chunks": "x"}, 'the document "a": "chunks" must be an array, not a string'),
        ({"key": "a", "content_hash": "ab"}, 'the document "a": "content_hash" must be a sha256 of 64 hexadecimal digits'),
        ({"key": "a", "content_hash": "g" * 64}, 'the document "a": "content_hash" must be a sha256 of 64 hexadecimal digits'),
        ({"key": "a", "length": -5}, 'the document "a": "length" must be a whole number from 0 to 999999999'),
        ({"key": "a", "length": 1.5}, 'the document "a": "length" must be a whole number from 0 to 999999999'),
        ({"key": "a", "length": "5"}, 'the document "a": "length" must be a number, not a string'),
        ({"key": "a", "text": "fine words", "length": 9}, 'the document "a": "length" is 9, but its text has 10 characters'),
        ({"key": "a", "text": "lost", "chunks": []}, 'the document "a" has both a "text" and "chunks"'),
        ({"key": "a", "text": "lost", "chunks": [{"body": "x"}]}, 'the document "a" has both a "text" and "chunks"'),
        ({"key": "a", "observed_at": "yesterday"}, 'the document "a": "observed_at" must be a date or time in ISO 8601'),
        ({"key": "a", "observed_at": "now"}, 'the document "a": "observed_at" must be a date or time in ISO 8601'),
        ({"key": "a", "valid_to": "infinity"}, 'the document "a": "valid_to" must be a date or time in ISO 8601'),
        ({"key": "a", "valid_from": "02/03/2024"}, 'the document "a": "valid_from" must be a date or time in ISO 8601'),
        ({"key": "a", "retain_until": "2024-02-30"}, 'the document "a": "retain_until" must be a date or time in ISO 8601'),
        ({"key": "a", "observed_at": 2024}, 'the document "a": "observed_at" must be a string, not a number'),
        ({"key": "a", "valid_from": "2024-05-31T23:30:00-01:00", "valid_to": "2024-06-01"},
         'the document "a": "valid_from" (2024-05-31T23:30:00-01:00) is after "valid_to" (2024-06-01)'),
        ({"key": "good 0"}, 'the key "good 0" stands twice in one batch'),
    ],
)  # fmt: skip
def test_a_document_of_a_wrong_shape_is_named(store: psycopg.Connection, document: Any, message: str) -> None:
    assert malformed(store, document).message_primary == message


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"key": "a", "chunks": ["x"]}, 'chunk 1 of the document "a" is not an object, but a string'),
        ({"key": "a", "chunks": [[{"body": "x"}]]}, 'chunk 1 of the document "a" is not an object, but an array'),
        ({"key": "a", "chunks": [{"kind": "text"}]}, 'chunk 1 of the document "a" has no "body"'),
        ({"key": "a", "chunks": [{"text": "x"}]}, 'chunk 1 of the document "a" has the unknown member "text"'),
        (chunk(embeding=[1, 0, 0]), 'chunk 2 of the document "a" has the unknown member "embeding"'),
        (chunk(body=None), 'chunk 2 of the document "a": "body" must be a string, not null'),
        (chunk(body={"x": 1}), 'chunk 2 of the document "a": "body" must be a string, not an object'),
        (chunk(kind="poem"), 'chunk 2 of the document "a": "kind" must be one of text, abstract, title, section_header, table, figure,'
                             " reference, claim"),
        (chunk(section="abc"), 'chunk 2 of the document "a": "section" must be an array, not a string'),
        (chunk(section=["a", 1]), 'chunk 2 of the document "a": "section" may hold nothing but strings'),
        (chunk(page=-1), 'chunk 2 of the document "a": "page" must be a whole number from 1 to 999999999'),
        (chunk(page=0), 'chunk 2 of the document "a": "page" must be a whole number from 1 to 999999999'),
        (chunk(page=1.0), 'chunk 2 of the document "a": "page" must be a whole number from 1 to 999999999'),
        (chunk(page=2**31), 'chunk 2 of the document "a": "page" must be a whole number from 1 to 999999999'),
        (chunk(page="1"), 'chunk 2 of the document "a": "page" must be a number, not a string'),
        (chunk(start=-1), 'chunk 2 of the document "a": "start" must be a whole number from 0 to 999999999'),
        (chunk(end=2.5), 'chunk 2 of the document "a": "end" must be a whole number from 0 to 999999999'),
        (chunk(start=5, end=1), 'chunk 2 of the document "a": it ends at character 1, before its start at 5'),
        (chunk(start=6, end=10) | {"length": 9}, 'chunk 2 of the document "a": it ends at character 10 of a text whose "length" is 9'),
        (chunk(start=6) | {"length": 9}, 'chunk 2 of the document "a": it ends at character 10 of a text whose "length" is 9'),
        (chunk(tokens={"a": 1}), 'chunk 2 of the document "a": "tokens" must be a string, not an object'),
        (chunk(tokens=["a"]), 'chunk 2 of the document "a": "tokens" must be a string, not an array'),
        (chunk(tokens="a  b"), 'chunk 2 of the document "a": "tokens" must be tokens joined by one blank each'),
        (chunk(tokens=" a"), 'chunk 2 of the document "a": "tokens" must be tokens joined by one blank each'),
        (chunk(tokens="a "), 'chunk 2 of the document "a": "tokens" must be tokens joined by one blank each'),
        (chunk(tokens="a\nb"), 'chunk 2 of the document "a": "tokens" must be tokens joined by one blank each'),
        (chunk(tokens="fine " + "x" * 257), 'chunk 2 of the document "a": "tokens" has a token of more than 256 bytes'),
        (chunk(tokens="印" * 86), 'chunk 2 of the document "a": "tokens" has a token of more than 256 bytes'),
        (chunk(embedding=[1, 0, 0]), 'chunk 2 of the document "a" brings an "embedding", and no model is named'),
        (chunk(embedding="[1,0,0]"), 'chunk 2 of the document "a": "embedding" must be an array, not a string'),
        (chunk(embedding={"0": 1}), 'chunk 2 of the document "a": "embedding" must be an array, not an object'),
        (chunk(embedding_hash="ab"), 'chunk 2 of the document "a": "embedding_hash" must be a sha256 of 64 hexadecimal digits'),
        (chunk(entities="Acme"), 'chunk 2 of the document "a": "entities" must be an array, not a string'),
        (chunk(entities=[None]), 'chunk 2 of the document "a": "entities" may hold nothing but strings'),
        (chunk(entities=["Acme", ""]), 'chunk 2 of the document "a": "entities" must be names of 1 to 1000 bytes each'),
        (chunk(entities=["x" * 1001]), 'chunk 2 of the document "a": "entities" must be names of 1 to 1000 bytes each'),
        (chunk(entities=["印" * 334]), 'chunk 2 of the document "a": "entities" must be names of 1 to 1000 bytes each'),
    ],
)  # fmt: skip
def test_a_chunk_of_a_wrong_shape_is_named(store: psycopg.Connection, document: Any, message: str) -> None:
    assert malformed(store, document).message_primary == message


def test_a_misspelt_member_gets_a_suggestion(store: psycopg.Connection) -> None:
    assert str(malformed(store, {"key": "a", "acls": ["x"]}).message_hint).startswith('Did you mean "acl"?')
    assert str(malformed(store, chunk(embeding=[1])).message_hint).startswith('Did you mean "embedding"?')
    assert "member of a chunk" in str(malformed(store, {"key": "a", "embedding": [1]}).message_hint)
    assert "member of a document" in str(malformed(store, chunk(title="x")).message_hint)


def test_numbers_written_as_a_float_are_refused_wherever_they_reach(store: psycopg.Connection) -> None:
    said = malformed(store, {"key": "a", "text": "x", "length": 1.0})
    assert said.message_primary == 'the document "a": "length" must be a whole number from 0 to 999999999'
    assert malformed(store, chunk(start=0.0, end=4)).message_primary == (
        'chunk 2 of the document "a": "start" must be a whole number from 0 to 999999999')


def test_the_limits_themselves_are_stored(store: psycopg.Connection) -> None:
    fingerprint = store.execute("SELECT sift.analyzer_fingerprint('standard')").fetchone()
    assert fingerprint is not None
    longest = "x" * 2000
    document = {
        "key": longest, "title": None, "acl": {"allow": ["public"], "deny": []}, "metadata": None, "length": 14, "content_hash": "Ab" * 32,
        "valid_from": "2024-06-01", "valid_to": "2024-06-01T00:00:00Z", "retain_until": None, "classification": "internal",
        "chunks": [
            {"body": "fine words", "start": 4, "end": 14, "page": 1, "section": [], "entities": ["e" * 1000, "印" * 333], "embedding": None,
             "tokens": "fine " + "w" * 256 + " " + "印" * 85, "embedding_hash": None, "kind": None},
            {"body": "", "start": 14, "tokens": "", "embedding": [1, 0, 0], "embedding_hash": "0f" * 32, "kind": "section_header"}],
    }  # fmt: skip
    assert put(store, document, fingerprint=fingerprint[0], model="m") == [(longest, "created", 2)]
    assert stored(store, "chunks", "doc_length") == [0, 3]
    assert stored(store, "chunk_entities", "octet_length(entity)") == [999, 1000]
    assert put(store, {"key": "b", "text": None, "chunks": None}) == [("b", "created", 0)]


def test_every_limit_is_counted_in_bytes(store: psycopg.Connection) -> None:
    assert put(store, {"key": "印" * 666, "text": "x"}) == [("印" * 666, "created", 1)]
    said = refused(store, "PS012", "SELECT sift.put_documents('t', %s::jsonb)", json.dumps([{"key": "印" * 667}]))
    assert str(said.message_primary).endswith('"key" must have 1 to 2000 bytes')


def test_a_quick_look_and_a_thorough_one_agree(store: psycopg.Connection) -> None:
    """The quick look stops nothing that is right, and each of its passes lets right documents through."""
    right = [{"key": "a", "acl": [], "length": 5, "chunks": [{"body": "fiver", "end": 5}]}, {"key": "b", "text": "x"}, {"key": "印" * 300},
             {"key": "c", "acl": {"deny": ["x"]}, "valid_from": "2024-01-01", "valid_to": "2024-01-02T00:00:00+14:00"}]
    for thorough in (False, True):
        store.execute("SELECT sift._check_documents(%s, false, %s)", (Jsonb(right), thorough))


def test_vectors_in_another_form_are_refused_by_name(store: psycopg.Connection) -> None:
    for vector in (["1", "0", "0"], [[1, 0, 0]], [1, 0], [None, 1, 0], [True, 1, 0]):
        said = refused(store, "PS005", "SELECT sift.put_documents('t', %s::jsonb, model => 'm')", json.dumps([chunk(embedding=vector)]))
        assert 'chunk 2 of "a"' in str(said.message_primary)
    put(store, {"key": "a", "text": "x"})
    ids = stored(store, "chunks", "chunk_id")
    for text in ("{1,0,0}", '["1","0","0"]', "1,0,0", ""):
        said = refused(store, "PS005", "SELECT sift.put_embeddings('t', 'm', %s::bigint[], %s)", ids, [text])
        assert "[0.1,0.2]" in str(said.message_primary)


def test_hashes_of_vectors_are_whole(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "text": "x"})
    ids = stored(store, "chunks", "chunk_id")
    for given in (b"x", b"x" * 16, b"x" * 33):
        said = refused(store, "PS002", "SELECT sift.put_embeddings('t', 'm', %s::bigint[], '{\"[1,0,0]\"}', %s)", ids, [given])
        assert f"{len(given)} bytes" in str(said.message_primary)
    row = store.execute("SELECT sift.put_embeddings('t', 'm', %s::bigint[], '{\"[1,0,0]\"}', %s)", (ids, [b"x" * 32])).fetchone()
    assert row == (1,)


def test_text_that_jsonb_cannot_hold_never_arrives(store: psycopg.Connection) -> None:
    refused(store, "22P05", """SELECT sift.put_documents('t', '[{"key": "a", "text": "\\u0000"}]')""")
    refused(store, "22P02", """SELECT sift.put_documents('t', '[{"key": "a", "text": "\\ud800"}]')""")


# --- dates


@pytest.mark.parametrize(("zone", "style"), [("UTC", "ISO, MDY"), ("Asia/Tokyo", "SQL, DMY"), ("America/St_Johns", "German, YMD")])
def test_a_date_means_the_same_in_every_session(store: psycopg.Connection, zone: str, style: str) -> None:
    store.execute("SELECT set_config('timezone', %s, true), set_config('datestyle', %s, true)", (zone, style))
    put(store, {"key": "a", "text": "fine", "observed_at": "2024-05-31", "valid_to": "2024-05-31T16:30:00.123456",
                "valid_from": "2024-05-31T16:30:00.123456+02:00", "retain_until": "0001-01-01T00:00+05"})  # fmt: skip
    assert put(store, {"key": "b", "text": "fine", "valid_from": "1850-07-01"}) == [("b", "created", 1)]
    # The same document again is the same document.
    assert put(store, {"key": "b", "text": "fine", "valid_from": "1850-07-01T00:00:00Z"}) == [("b", "unchanged", 1)]
    epochs = store.execute("SELECT extract(epoch FROM observed_at), extract(epoch FROM valid_to), extract(epoch FROM valid_from),"
                           " extract(epoch FROM retain_until) FROM sift.documents WHERE key = 'a'").fetchone()  # fmt: skip
    moment = datetime(2024, 5, 31, tzinfo=UTC).timestamp()
    assert epochs is not None
    assert (float(epochs[0]), float(epochs[3])) == (moment, datetime(1, 1, 1, tzinfo=UTC).timestamp() - 5 * 3600)
    assert str(epochs[1]) == f"{int(moment) + 16 * 3600 + 1800}.123456"
    assert str(epochs[2]) == f"{int(moment) + 14 * 3600 + 1800}.123456"
    found = store.execute("SELECT key FROM sift.lexical_search('t', 'fine', 10, '{public}', %s)",
                          (Jsonb({"observed_at": "2024-05-31"}),)).fetchall()  # fmt: skip
    assert found == [("a",)]


# --- runs


def test_a_run_of_another_tenant_or_of_nobody_is_refused(store: psycopg.Connection) -> None:
    theirs = store.execute("SELECT sift.start_run('other')").fetchone()
    ours = store.execute("SELECT sift.start_run('t')").fetchone()
    assert theirs is not None and ours is not None
    for run in (theirs[0], 99999, -1):
        for call in ("sift.put_documents('t', '[{\"key\": \"a\"}]', run_id => %s)", "sift.add_dead_letter('t', 'parse', 'x', run_id => %s)",
                     "sift.finish_run('t', %s)"):
            assert str(run) in str(refused(store, "PS002", f"SELECT {call}", run).message_primary)
    put(store, {"key": "a"}, run_id=ours[0])
    store.execute("SELECT sift.add_dead_letter('t', 'parse', 'x', run_id => %s)", ours)
    assert stored(store, "documents", "run_id") == stored(store, "dead_letters", "run_id") == [ours[0]]


# --- tenants and models


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("k1 => 2", ["k1 is 1.2, not 2"]),
        ("b => 0.5, index_title => 'none'", ["b is 0.75, not 0.5", 'index_title is "first", not "none"']),
        ("analyzer => 'english'", ['analyzer is "standard", not "english"']),
        ("default_principals => '{hr,public}'", ['default_principals is ["public"], not ["hr","public"]']),
        ("default_principals => '{}'", ['default_principals is ["public"], not []']),
    ],
)
def test_exist_ok_is_not_for_other_settings(store: psycopg.Connection, settings: str, said: list[str]) -> None:
    settings = settings if "analyzer" in settings else f"{settings}, analyzer => 'standard'"
    message = str(refused(store, "PS011", f"SELECT sift.create_tenant('t', exist_ok => true, {settings})").message_primary)
    assert [part for part in said if part not in message] == []
    assert len(said) == message.count(", not ")


def test_exist_ok_with_the_same_settings_is_the_same_tenant(store: psycopg.Connection) -> None:
    first = store.execute("SELECT tenant_id FROM sift.tenants WHERE name = 't'").fetchone()
    for more in ("", ", default_principals => '{public,public}'", ", k1 => 1.2, b => 0.75, index_title => 'first'"):
        again = store.execute(f"SELECT sift.create_tenant('t', 'standard', exist_ok => true{more})").fetchone()
        assert again == first
    refused(store, "PS011", "SELECT sift.create_tenant('t', 'standard')")
    refused(store, "PS011", "SELECT sift.create_tenant('t', 'standard', exist_ok => NULL)")


@pytest.mark.parametrize("settings", ["k1 => 1e308", "k1 => 1e-320", "k1 => -1", "k1 => 'NaN'", "k1 => NULL", "b => 1.5", "b => 1e-320",
                                      "b => NULL", "index_title => 'last'", "tenant => ''"])  # fmt: skip
def test_settings_that_cannot_rank_are_refused(store: psycopg.Connection, settings: str) -> None:
    tenant = "" if "tenant" in settings else "tenant => 'x', "
    refused(store, "PS002", f"SELECT sift.create_tenant({tenant}{settings})")


@pytest.mark.parametrize(("k1", "b"), [(1e-100, 1e-100), (1e100, 1.0), (0.0, 0.0)])
def test_the_most_extreme_settings_still_rank(store: psycopg.Connection, k1: float, b: float) -> None:
    store.execute("SELECT sift.create_tenant('x', 'standard', %s, %s)", (k1, b))
    store.execute("""SELECT sift.put_documents('x', '[{"key": "a", "text": "fox fox hen"}, {"key": "b", "text": "hen"}]')""")
    found = store.execute("SELECT key, score > 0 FROM sift.lexical_search('x', 'fox', 10, '{sift:writer}')").fetchall()
    assert found == [("a", True)]


@pytest.mark.parametrize("weights", [("0", "0"), ("1e200", "1"), ("1", "1e-200"), ("'NaN'", "1"), ("1", "'Infinity'"), ("NULL", "1")])
def test_weights_a_search_would_refuse_are_refused_at_once(store: psycopg.Connection, weights: tuple[str, str]) -> None:
    refused(store, "PS002", "SELECT sift.register_model('x', 3, lexical_weight => {}, dense_weight => {})".format(*weights))
    refused(store, "PS002", "SELECT * FROM sift.search('t', 'x', weights => ARRAY[{}, {}]::double precision[])".format(*weights))


def test_the_most_extreme_weights_still_fuse(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.register_model('x', 3, lexical_weight => 1e100, dense_weight => 1e-100)")
    put(store, {"key": "a", "chunks": [{"body": "fine", "embedding": [1, 0, 0]}]}, model="x")
    found = store.execute("SELECT key, legs FROM sift.search('t', 'fine', principals => '{public}', query_embedding => '{1,0,0}')").fetchall()
    assert found == [("a", "lexical+dense")]


def test_the_type_of_vectors_can_be_named_without_quotes(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.register_model('h', 3, vector_type => 'halfvec')")
    assert store.execute("SELECT m.precision FROM sift.list_models() AS m WHERE m.model = 'h'").fetchone() == ("halfvec",)
    assert "halfvec" in str(refused(store, "PS002", "SELECT sift.register_model('x', 3, vector_type => 'half')").message_primary)


# --- queries


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "dense"])
@pytest.mark.parametrize("vector", ["{NaN,0,0}", "{0,0,0}", "{1,0}", "{Infinity,0,0}", "{NULL,0,0}"])
def test_a_bad_query_vector_is_refused_in_every_mode(store: psycopg.Connection, mode: str, vector: str) -> None:
    put(store, {"key": "a", "chunks": [{"body": "fine", "embedding": [1, 0, 0]}]}, model="m")
    refused(store, "PS005", "SELECT * FROM sift.search('t', 'fine', principals => '{public}', mode => %s, query_embedding => %s)", mode, vector)


def test_a_good_query_vector_changes_nothing_of_a_lexical_search(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "chunks": [{"body": "fine", "embedding": [1, 0, 0]}]}, model="m")
    found = store.execute("SELECT key, legs FROM sift.search('t', 'fine', principals => '{public}', mode => 'lexical',"
                          " query_embedding => '{1,0,0}')").fetchall()  # fmt: skip
    assert found == [("a", "lexical")]


def test_a_leg_without_weight_is_named(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "chunks": [{"body": "fine", "embedding": [1, 0, 0]}]}, model="m")
    said = refused(store, "PS003", "SELECT * FROM sift.search('t', 'fine', principals => '{public}', weights => '{0,1}')")
    assert "the weight of the lexical leg is 0" in str(said.message_primary) and "no query vector" in str(said.message_primary)
    said = refused(store, "PS003", "SELECT * FROM sift.search('t', '', principals => '{public}', weights => '{1,0}',"
                                   " query_embedding => '{1,0,0}')")  # fmt: skip
    assert "the weight of the dense leg is 0" in str(said.message_primary) and "no searchable term" in str(said.message_primary)


def test_a_depth_that_is_given_is_a_hard_limit(store: psycopg.Connection) -> None:
    put(store, {"key": "big", "chunks": [{"body": f"pump pump {i}x"} for i in range(30)]},
        *({"key": f"small{i}", "text": f"pump {i}y and some more words"} for i in range(20)))  # fmt: skip
    search = "SELECT key FROM sift.search('t', 'pump', 10, '{public}', per_document => 2"
    assert store.execute(f"{search}, depth => 10)").fetchall() == [("big",), ("big",)]
    deep = store.execute(f"{search})").fetchall()
    assert len(deep) == 10 and deep.count(("big",)) == 2
    comment = store.execute("SELECT obj_description('sift.search'::regproc, 'pg_proc')").fetchone()
    assert comment is not None and "a hard limit" in comment[0]


def test_terms_and_keys_that_are_none_give_no_row(store: psycopg.Connection) -> None:
    put(store, {"key": "a", "text": "fox"})
    assert store.execute("SELECT term, df FROM sift.term_statistics('t', '{NULL,\"\",fox,fox}')").fetchall() == [("fox", 1)]
    assert store.execute("SELECT * FROM sift.delete_documents('t', '{NULL,a,zz}')").fetchall() == [("a", True), ("zz", False)]


def test_the_text_form_of_a_vector_is_explained_where_it_is_asked_for(store: psycopg.Connection) -> None:
    refused(store, "22P02", "SELECT * FROM sift.search('t', query_embedding => '[1,2,3]')")
    for name in ("search", "dense_search"):
        comment = store.execute("SELECT obj_description(%s::regproc, 'pg_proc')", (f"sift.{name}",)).fetchone()
        assert comment is not None and "'{1,2,3}'" in comment[0] and "'[1,2,3]'::vector::real[]" in comment[0]
    put(store, {"key": "a", "chunks": [{"body": "fine", "embedding": [1, 2, 3]}]}, model="m")
    for form in ("'{1,2,3}'", "'[1,2,3]'::vector::real[]"):
        found = store.execute(
            f"SELECT key FROM sift.search('t', principals => '{{public}}', query_embedding => {form})"
        ).fetchall()
        assert found == [("a",)]


# --- hostile words, in SQL from end to end


def test_words_too_long_for_an_index(store: psycopg.Connection) -> None:
    """A word of 300,000 characters, a URL of 5,000, and words of four bytes a character: cut at 256 bytes, counted, found."""
    word = "QmFzZTY0" * 37_500
    url = "https://example.org/" + "a/" * 10 + "p" * 5000
    wide = "𝔸" * 3000
    put(store, {"key": "word", "text": f"before {word} behind"}, {"key": "url", "text": url}, {"key": "wide", "title": wide, "text": "ж" * 4000})
    assert max(stored(store, "chunk_terms", "octet_length(term)")) <= 256
    assert stored(store, "chunks", "doc_length")[-1] >= 3
    for query, key in ((word, "word"), ("behind", "word"), ("p" * 5000, "url"), ("ж" * 4000, "wide")):
        found = store.execute("SELECT key FROM sift.lexical_search('t', %s, 10, '{public}')", (query,)).fetchall()
        assert found == [(key,)], key


@pytest.mark.parametrize(
    ("text", "found", "missed"),
    [
        ("getUserByEmail", ["getUserByEmail", "user email", "getuserbyemail"], ["mail"]),
        ("liquidity_pool_day", ["liquidity_pool_day", "pool", "liquidity day"], ["liquid"]),
        ("ERR_CONN_RESET", ["ERR_CONN_RESET", "err_conn_reset", "conn reset"], ["res"]),
        ("v1.18.6", ["v1.18.6", "1.18.6"], ["1.18.60", "1.18"]),
        ("v1.18.60", ["1.18.60"], ["1.18.6"]),
        ("CVE-2026-1234", ["CVE-2026-1234", "cve", "2026"], ["CVE2026"]),
        ("10.0.0.1", ["10.0.0.1"], ["10.0.0.10"]),
        ("foo@bar.com", ["foo@bar.com", "foo", "bar.com"], ["oo@ba"]),
        ("thyroid/metabolic", ["thyroid/metabolic", "thyroid", "metabolic"], ["meta"]),
        ("a programmer of C++ and c", ["C++"], []),
    ],
)
def test_identifiers_are_found_whole_and_by_their_parts(
    store: psycopg.Connection, text: str, found: list[str], missed: list[str]
) -> None:
    store.execute("SELECT sift.create_tenant('code', 'identifiers', default_principals => '{public}')")
    store.execute("SELECT sift.put_documents('code', %s)", (Jsonb([{"key": "a", "text": f"see {text} there"}]),))

    def hits(query: str) -> bool:
        rows = store.execute("SELECT key FROM sift.lexical_search('code', %s, 10, '{public}')", (query,)).fetchall()
        return rows == [("a",)]

    assert [query for query in found if not hits(query)] == []
    assert [query for query in missed if hits(query)] == []


def test_cplusplus_does_not_match_every_c(store: psycopg.Connection) -> None:
    store.execute("SELECT sift.create_tenant('code', 'identifiers', default_principals => '{public}')")
    store.execute("SELECT sift.put_documents('code', %s)", (Jsonb([{"key": "c", "text": "plain c code"}, {"key": "cpp", "text": "modern C++ code"}]),))
    found = store.execute("SELECT key FROM sift.lexical_search('code', 'C++', 10, '{public}')").fetchall()
    assert found == [("cpp",)]


# --- the sources


def test_every_error_says_what_to_do() -> None:
    """Each RAISE of an error of our own, in every file of sql/, has a hint, and its code is written there."""
    without = []
    count = 0
    for path in sorted(SQL.rglob("*.sql")):
        text = path.read_text(encoding="utf-8")
        for raised in re.finditer(r"\bRAISE\s+EXCEPTION\b(.*?);\s*\n", text, re.DOTALL):
            count += 1
            code = re.search(r"ERRCODE\s*=\s*'(\w+)'", raised[1])
            if code is None or (code[1].startswith("PS") and not re.search(r"\bHINT\s*=\s*\S", raised[1])):
                without.append(f"{path.name}:{text.count(chr(10), 0, raised.start()) + 1}")
    assert without == []
    assert count > 80


ARRAYS = ["{{%s,%s}}", "{{%s},{%s}}", "{NULL,%s}", "{NULL}", "{}", "[5:5]={%s}"]


def test_arrays_in_odd_shapes_have_errors_of_their_own(store: psycopg.Connection) -> None:
    """Nested, empty, with NULL, or counted from 5: each is taken or refused by name, by every function for others."""
    plain = {
        "text": "x", "integer": "1", "bigint": "1", "double precision": "0.5", "boolean": "true", "jsonb": "{}",
        "timestamp with time zone": "2020-01-01", "bytea": "x", "real": "1", "name": "sift_reader", "date": "2020-01-01",
    }  # fmt: skip
    functions = store.execute(
        "SELECT p.proname, p.proargnames[1:p.pronargs], ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) AS t),"
        r" p.pronargs - p.pronargdefaults FROM pg_proc AS p WHERE p.pronamespace = 'sift'::regnamespace AND p.proname NOT LIKE '\_%'"
    ).fetchall()
    asked = 0
    for name, arguments, types, required in functions:
        kinds = dict(zip(arguments or (), types, strict=True))
        for odd in (a for a, kind in kinds.items() if kind.endswith("[]")):
            given = {
                a: ("{" + plain[k[:-2]] + "}" if k.endswith("[]") else {"tenant": "t", "analyzer": "english"}.get(a) or plain[k])
                for n, (a, k) in enumerate(kinds.items())
                if n < required or a == "principals"
            }
            for form in ARRAYS:
                given[odd] = form.replace("%s", plain[kinds[odd][:-2]])
                call = ", ".join(f"{a} => %s::{kinds[a]}" for a in given)
                try:
                    with store.transaction(force_rollback=True):
                        store.execute(f"SELECT * FROM sift.{name}({call})".encode(), list(given.values())).fetchall()
                except psycopg.Error as error:
                    assert error.sqlstate and error.sqlstate.startswith("PS") and error.diag.message_hint, (name, odd, given[odd], error)
                asked += 1
    assert asked > 300


def test_nested_principals_count_one_by_one(store: psycopg.Connection) -> None:
    store.execute("SELECT * FROM sift.put_documents('t', '[{\"key\": \"k\", \"text\": \"winch\", \"acl\": [\"b\"]}]')")
    for groups in (False, True):
        if groups:
            store.execute("SELECT sift.add_members('t', 'group:x', '{y}')")
        for principals, seen in (("{{a},{b}}", 1), ("{{a,NULL}}", 0), ("{NULL,b}", 1)):
            row = store.execute("SELECT count(*) FROM sift.search('t', 'winch', principals => %s)", (principals,)).fetchone()
            assert row == (seen,)
