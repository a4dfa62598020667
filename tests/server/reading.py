"""A store with something of everything in it, and what all of its read functions answer."""

from __future__ import annotations

import datetime
import json
from typing import Any

import psycopg
from psycopg import sql

COLORS = ("red", "green", "blue", "grey")
THINGS = ("apple", "car", "house", "idea", "running foxes")

#: Examples of arguments by name; where the name says nothing, by type.
BY_NAME: dict[str, Any] = {
    "tenant": "t", "query": "red car", "text": "Running foxes", "principals": ["public", "group:hr"], "k": 15,
    "keys": ["doc-1", "doc-2", "none"], "key": "doc-1", "model": "toy", "query_embedding": [1.0, 2.0, 0.5],
    "terms": ["red", "car", "none"], "entity": "e1", "analyzer": "english", "filter": None, "member": "user:1",
    "as_of": None, "at": datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC), "hashes": [b"\x00" * 16],
    "prefix": "doc-", "key_prefix": None, "after": None, "run_id": None, "mode": "hybrid", "unit": "document", "embedding": None,
    "group_name": "group:hr", "principal": "public", "name": "first", "a": "first",
    "chunk_ids": list(range(1, 60)), "scores": [float(number * 7 % 31) for number in range(59)], "sync_source_id": 1, "document_ids": list(range(1, 60)), "windows": 2, "width": 40, "snippet_width": 60, "document": "doc-1", "field": "metadata.number",
}  # fmt: skip
#: Not asked: what the doctor says is of the server it runs on, and a sample.
LEFT_OUT = {"doctor"}


def fill(dsn: str) -> None:
    """Blocks and rows of postings, deletions, vectors, entities, versions, dead letters, two tenants."""
    documents = [
        {
            "key": f"doc-{number}", "title": f"{COLORS[number % 4]} {THINGS[number % 5]}",
            "metadata": {"number": number}, "acl": ["public"] if number % 5 else ["group:hr"],
            "chunks": [
                {"body": f"the {COLORS[number % 4]} {THINGS[number % 5]} number {number % 7}, rare{number}",
                 "embedding": [number % 3 + 1, number % 4, number % 5], "entities": [f"e{number % 3}"]},
                {"body": f"and a second part about {THINGS[number % 3]} in {COLORS[number % 3]}",
                 "embedding": [1, number % 6, 2] if number % 9 else None}
                # Some are found by more than their text, and show more.
                | ({"start": 99, "lead": "  ", "prefix": "red parts", "context_start": 0, "context_end": 150} if number % 4 == 1 else {}),
            ],
        }
        for number in range(200)
    ]  # fmt: skip
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT sift.create_tenant('t', 'english', default_principals => '{public}')")
        connection.execute("SELECT sift.create_tenant('other', 'standard')")
        connection.execute("SELECT sift.register_model('toy', 3)")
        put = "SELECT pg_catalog.count(*) FROM sift.put_documents('t', %s::jsonb, model => 'toy')"
        for part in (documents[:150], documents[150:], [documents[3] | {"title": "a red apple, anew"}]):
            connection.execute(put, [json.dumps(part)])
        # A token model of the name that functions are asked with.
        connection.execute("SELECT sift.register_token_model('toy', 2)")
        connection.execute(
            "SELECT sift.put_token_embeddings('t', 'toy', array_agg(c.chunk_id), array_agg('[[1,0],[0.5,' || c.chunk_id % 7 || ']]'))"
            " FROM sift.chunks AS c WHERE c.chunk_id % 3 > 0"
        )
        connection.execute("SELECT sift.create_manifest('t', 'first')")
        connection.execute("SELECT sift.start_sync('t', 'handbook', 'folder', '/handbook')")
        connection.execute("SELECT sift.delete_documents('t', '{doc-17,doc-18}', 'wrong')")
        connection.execute("SELECT sift.add_dead_letter('t', 'parse', 'unreadable', key => 'bad')")
        connection.execute("SELECT sift.cache_query_embedding('t', 'red car', '{1,2,0.5}', 'toy')")
        connection.execute(
            "SELECT sift.put_term_embeddings('t', 'toy', array_agg(w.term), array_agg(w.vector), (SELECT max(c.chunk_id) FROM sift.chunks AS c))"
            " FROM (VALUES ('red', '[1,0,0.5]'), ('car', '[0,1,0.25]'), ('hous', '[0.3,0.3,0.7]'), ('idea', '[0,0,1]')) AS w (term, vector)"
        )
        connection.execute("SELECT sift.log_query('t', 'red car', '{public}', '{\"k\": 3}', '{1,2,0.5}')")
        connection.execute("SELECT sift.judge('t', 'Red  car', 'doc-1', 2, (SELECT min(c.chunk_id) FROM sift.chunks AS c JOIN sift.documents AS d USING (document_id) WHERE d.key = 'doc-1'), '{public}', 'anna')")
        connection.execute("SELECT pg_catalog.count(*) FROM sift.put_documents('other', '[{\"key\": \"x\", \"text\": \"red\"}]')")


def write(dsn: str, number: int = 0) -> None:
    """One document more, which needs numbers from nearly every sequence."""
    document = {"key": f"later-{number}", "acl": [f"user:{number}"], "chunks": [{"body": "a red car, later", "embedding": [1, 1, 1]}]}
    with psycopg.connect(dsn, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT p.status FROM sift.put_documents('t', %s::jsonb, model => 'toy') AS p", [json.dumps([document])]
        ).fetchall()
        assert rows == [("created",)]
        connection.execute("SELECT sift.start_run('t', 'later')")
        found = connection.execute(
            "SELECT s.key FROM sift.search('t', 'later', principals => ARRAY[%s]) AS s", [f"user:{number}"]
        ).fetchall()
        assert found == [(f"later-{number}",)]


def read_functions(connection: psycopg.Connection) -> dict[str, list[tuple[str, str]]]:
    """Every public function that only reads, with names and types of its arguments."""
    rows = connection.execute(
        """
        SELECT p.proname::text,
               ARRAY(SELECT p.proargnames[i]::text FROM generate_series(1, p.pronargs::integer) AS i),
               ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n) ORDER BY a.n)
        FROM pg_proc AS p
        WHERE p.pronamespace = 'sift'::regnamespace AND p.provolatile <> 'v' AND NOT starts_with(p.proname, '_')
        ORDER BY p.proname"""
    ).fetchall()
    return {name: list(zip(names or [], types, strict=True)) for name, names, types in rows if name not in LEFT_OUT}


def answers(dsn: str) -> dict[str, Any]:
    """What each of them answers: its rows, or the error that it raises."""
    found: dict[str, Any] = {}
    with psycopg.connect(dsn, autocommit=True) as connection:
        for name, arguments in read_functions(connection).items():
            given = [(argument, kind, BY_NAME.get(argument)) for argument, kind in arguments]
            # The same name may stand for a number elsewhere: how many terms, not which.
            given = [item for item in given if item[2] is not None and (item[0], item[1]) != ("terms", "integer")]
            call = sql.SQL("SELECT * FROM sift.{}({})").format(
                sql.Identifier(name),
                sql.SQL(", ").join(
                    sql.SQL("{} => %s::{}").format(sql.Identifier(argument), sql.SQL(kind))  # type: ignore[arg-type]
                    for argument, kind, _ in given
                ),
            )
            try:
                found[name] = connection.execute(call, [value for *_, value in given]).fetchall()
                if name == "show_models":  # sizes on disk, last, are those of a table's past
                    found[name] = [row[:-2] for row in found[name]]
            except psycopg.Error as error:
                found[name] = (error.sqlstate, str(error))
        for options in (
            "query => 'the green house', k => 40, principals => '{public}'",
            "query => 'red', principals => '{public}', filter => '{\"metadata.number\": {\"$gt\": 40}}'",
            "query_embedding => '{1,0,3}', mode => 'dense', principals => '{public,group:hr}', k => 30",
            "query => 'idea', query_embedding => '{2,1,1}', per_document => 1, principals => '{sift:writer}'",
            "query => 'foxes', principals => '{nobody}'",
            "query => 'red car', query_token_embeddings => '{{1,0.5},{0.2,1}}', principals => '{public}', mmr => 0.6, token_budget => 90",
        ):
            found[options] = connection.execute(f"SELECT * FROM sift.search('t', {options})".encode()).fetchall()
    return found


def check_meaningful(found: dict[str, Any]) -> None:
    """The comparison is of something: functions answer, and with rows."""
    errors = {name: rows for name, rows in found.items() if isinstance(rows, tuple)}
    assert errors == {}, errors
    assert sum(bool(rows) for rows in found.values()) >= 20, {name: len(rows) for name, rows in found.items()}
