"""Readers and writers at once: what each process of the load does, and what is checked in the end.

Every version of a document carries a mark of its own in its title, its metadata and the body of each of its
chunks, and says how many chunks it has; so a single answer shows whether it holds two versions, or part of
one. The table ``stress.truth`` is written in the transaction of the change itself. A reader looks at it
before and after its statement: a document whose row is the same both times did not change in between, so
the answer must hold exactly that version, to exactly those who may see it.

Run as a program, ``load.py ROLE JSON`` is one process; it prints its result as JSON.
"""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pgsift import Store
from pgsift.domain.analyzer import get_analyzer

TENANT = "stress"
MODEL = "stress-model"
DIMENSIONS = 8
GROUPS = ("public", "group:a", "group:b")
#: What a reader's login is mapped to.
MAPPED = ("public", "group:a")
OWN_KEYS = 30
SHARED_KEYS = 8
SIZES = (1, 2, 9)
WORDS = [f"word{number}" for number in range(50)]
FINGERPRINT = get_analyzer("standard").fingerprint
DEADLOCK, SERIALIZATION = "40P01", "40001"


def prepare(dsn: str) -> None:
    """The tenant, the model and the table of what is true."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            "SELECT sift.create_tenant(%s, 'standard', index_title => 'none', default_principals => '{public}')",
            (TENANT,),
        )
        conn.execute("SELECT sift.register_model(%s, %s)", (MODEL, DIMENSIONS))
        conn.execute("CREATE SCHEMA stress")
        conn.execute(
            "CREATE TABLE stress.truth (key text PRIMARY KEY, epoch bigint NOT NULL, mark text, chunks integer,"
            " vectors boolean, principals text[] NOT NULL)"
        )


def document(key: str, mark: str, chunks: int, rng: random.Random, *, vectors: bool) -> dict[str, Any]:
    """One version of a document, as ``sift.put_documents`` takes it."""
    parts = []
    for part in range(chunks):
        words = " ".join(rng.choices(WORDS, k=10))
        body = f"{mark} part {part} of {chunks} common {term(key)} {words}"
        chunk: dict[str, Any] = {"body": body, "tokens": body}
        if vectors:
            chunk["embedding"] = vector(rng)
        parts.append(chunk)
    return {
        "key": key,
        "title": mark,
        "metadata": {"mark": mark, "of": chunks, "slot": key},
        "chunks": parts,
    }


def term(key: str) -> str:
    """The word that all chunks of a document hold, and no others."""
    return "k" + key.replace("/", "x")


def vector(rng: random.Random) -> list[float]:
    return [rng.uniform(-1, 1) for _ in range(DIMENSIONS)]


# --- writers --------------------------------------------------------------------------------------


class Writer:
    """One writing process: random operations on keys of its own, and on those it shares with the others."""

    def __init__(self, dsn: str, number: int, until: float) -> None:
        self.rng = random.Random(number)
        self.number = number
        self.until = until
        self.conn = psycopg.connect(dsn, autocommit=True)
        self.own = [f"w{number}/{index}" for index in range(OWN_KEYS)]
        self.shared = [f"s/{index}" for index in range(SHARED_KEYS)]
        self.sequence = 0
        #: What has to be there at the end, by key: mark, chunks, principals, whether it has all vectors.
        self.ledger: dict[str, Any] = {}
        #: Versions of shared documents this writer committed: key, document_id, version, mark.
        self.versions: list[tuple[str, int, int, str]] = []
        self.done: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.details: list[str] = []

    def run(self) -> dict[str, Any]:
        operations: list[tuple[int, Callable[[], None]]] = [
            (30, self.replace),
            (12, self.shrink_and_grow),
            (14, self.delete),
            (18, self.change_access),
            (8, self.backfill),
            (5, self.relabel),
            (4, self.repeat),
            (4, self.abandon),
            (3, self.bulk),
            (4, self.several_in_one_transaction),
            (8, self.replace_shared),
            (4, self.delete_shared),
            (4, self.change_access_shared),
        ]
        weights = [weight for weight, _ in operations]
        with self.conn:
            while time.time() < self.until:
                _, operation = self.rng.choices(operations, weights)[0]
                try:
                    operation()
                    self.done[operation.__name__] += 1
                except psycopg.Error as error:
                    self.errors[error.sqlstate or "connection"] += 1
                    self.details.append(f"{operation.__name__}: {error}"[:600])
        return {
            "ledger": self.ledger,
            "versions": self.versions,
            "done": self.done,
            "errors": self.errors,
            "details": self.details[:10],
        }

    def mark(self) -> str:
        self.sequence += 1
        return f"m{self.number}x{self.sequence}"

    def principals(self) -> list[str]:
        return sorted(self.rng.sample(GROUPS, self.rng.randrange(len(GROUPS) + 1)))

    def keys(self, most: int) -> list[str]:
        return self.rng.sample(self.own, self.rng.randint(1, most))

    def put(self, made: Sequence[dict[str, Any]], commits: bool = True) -> None:
        """Store documents with the truth about them, in the transaction under way."""
        rows = self.conn.execute(
            "SELECT key, document_id, version FROM sift.put_documents(%s, %s, %s, %s)",
            (TENANT, json.dumps(made), FINGERPRINT, MODEL),
        ).fetchall()
        assert sorted(row[0] for row in rows) == sorted(one["key"] for one in made)
        for one in sorted(made, key=lambda one: one["key"]):
            vectors = all("embedding" in chunk for chunk in one["chunks"])
            self.tell(one["key"], one["title"], len(one["chunks"]), vectors, one["acl"])
        if commits:
            self.versions += [(row[0], row[1], row[2], self.marks(made)[row[0]]) for row in rows]

    @staticmethod
    def marks(made: Sequence[dict[str, Any]]) -> dict[str, str]:
        return {one["key"]: one["title"] for one in made}

    def tell(self, key: str, mark: str | None, chunks: int, vectors: bool, principals: list[str]) -> None:
        self.conn.execute(
            "INSERT INTO stress.truth AS t VALUES (%s, 1, %s, %s, %s, %s)"
            " ON CONFLICT (key) DO UPDATE SET epoch = t.epoch + 1, mark = excluded.mark,"
            " chunks = excluded.chunks, vectors = excluded.vectors, principals = excluded.principals",
            (key, mark, chunks, vectors, principals),
        )

    def new(self, keys: Sequence[str], sizes: Sequence[int] = SIZES) -> list[dict[str, Any]]:
        made = []
        for key in keys:
            vectors = self.rng.random() < 0.7
            one = document(key, self.mark(), self.rng.choice(sizes), self.rng, vectors=vectors)
            made.append(one | {"acl": self.principals()})
        return made

    def note(self, made: Sequence[dict[str, Any]]) -> None:
        for one in made:
            vectors = all("embedding" in chunk for chunk in one["chunks"])
            self.ledger[one["key"]] = [one["title"], len(one["chunks"]), one["acl"], vectors]

    # Operations on own keys. The ledger is written after the commit.

    def replace(self) -> None:
        made = self.new(self.keys(6))
        with self.conn.transaction():
            self.put(made)
        self.note(made)

    def shrink_and_grow(self) -> None:
        key = self.rng.choice(self.own)
        for size in (9, 2):
            made = self.new([key], [size])
            with self.conn.transaction():
                self.put(made)
            self.note(made)

    def delete(self) -> None:
        keys = self.keys(4)
        with self.conn.transaction():
            self.gone(keys)
        for key in keys:
            self.ledger.pop(key, None)

    def gone(self, keys: Sequence[str]) -> list[str]:
        rows = self.conn.execute(
            "SELECT key, deleted FROM sift.delete_documents(%s, %s, 'stress')", (TENANT, list(keys))
        ).fetchall()
        found = sorted(key for key, deleted in rows if deleted)
        for key in found:
            self.tell(key, None, 0, False, [])
        return found

    def change_access(self) -> None:
        keys, principals = self.keys(5), self.principals()
        with self.conn.transaction():
            self.grant(keys, principals)
        for key in keys:
            if key in self.ledger:
                self.ledger[key][2] = principals

    def grant(self, keys: Sequence[str], principals: list[str]) -> None:
        rows = self.conn.execute(
            "SELECT key FROM sift.set_access(%s, %s, %s)", (TENANT, list(keys), principals)
        ).fetchall()
        for (key,) in sorted(rows):
            # A list that is edited in place locks no document: it may have been deleted since, and there again, by somebody
            # whose note waits to be written, or is written. What counts is what the key has once the note is ours.
            self.conn.execute("SELECT FROM stress.truth WHERE key = %s FOR UPDATE", (key,))
            self.conn.execute(
                "UPDATE stress.truth SET epoch = epoch + 1, principals = %(who)s WHERE key = %(key)s AND EXISTS ("
                "SELECT FROM sift.documents AS d JOIN sift.access_lists AS a ON a.tenant_id = d.tenant_id"
                " AND a.access_list_id = d.access_list_id WHERE d.key = %(key)s AND a.principals @> %(who)s AND a.principals <@ %(who)s)",
                {"who": principals, "key": key},
            )

    def backfill(self) -> None:
        """Vectors for chunks that lack one, of anybody's documents."""
        after = self.rng.randrange(0, 2000)
        rows = self.conn.execute(
            "SELECT chunk_id FROM sift.chunks_without_embedding(%s, %s, 60, %s)", (TENANT, MODEL, after)
        ).fetchall()
        ids = [row[0] for row in rows]
        self.rng.shuffle(ids)
        self.conn.execute(
            "SELECT sift.put_embeddings(%s, %s, %s, %s)",
            (TENANT, MODEL, ids, [json.dumps(vector(self.rng)) for _ in ids]),
        )

    def relabel(self) -> None:
        """Another source, the same content: an update without new chunks."""
        rows = self.conn.execute(
            "SELECT d.key, encode(d.content_hash, 'hex'), d.title, d.metadata FROM sift.documents AS d"
            " WHERE d.key = ANY (%s)",
            (self.keys(4),),
        ).fetchall()
        if rows:
            again = [
                {"key": key, "content_hash": digest, "title": title, "metadata": metadata,
                 "source_version": str(self.rng.random())}
                for key, digest, title, metadata in rows
            ]  # fmt: skip
            answer = self.conn.execute(
                "SELECT status FROM sift.put_documents(%s, %s)", (TENANT, json.dumps(again))
            ).fetchall()
            assert {row[0] for row in answer} == {"updated"}, answer

    def repeat(self) -> None:
        """The same documents twice: the second time costs nothing and changes nothing."""
        made = self.new(self.keys(3))
        with self.conn.transaction():
            self.put(made)
        self.note(made)
        answer = self.conn.execute(
            "SELECT status FROM sift.put_documents(%s, %s, %s, %s)",
            (TENANT, json.dumps(made), FINGERPRINT, MODEL),
        ).fetchall()
        assert {row[0] for row in answer} == {"unchanged"}, answer

    def abandon(self) -> None:
        """Everything at once, and then not."""
        keys = self.keys(6)
        with self.conn.transaction():
            self.grant(keys[1:], self.principals())
            self.put(self.new(keys), commits=False)
            self.gone(keys[:1])
            raise psycopg.Rollback

    def bulk(self) -> None:
        """Enough chunks for a packed block."""
        made = self.new(self.own, [9])
        with self.conn.transaction():
            self.put(made)
        self.note(made)

    def several_in_one_transaction(self) -> None:
        """In the order in which locks are taken within one call: access, then documents, then what is packed.

        In another order two transactions of several calls can each wait for what the other holds.
        """
        keys = self.keys(9)
        part = len(keys) // 3
        granted, put, gone = keys[:part], keys[part : 2 * part], keys[2 * part :]
        made = self.new(put)
        with self.conn.transaction():
            self.grant(granted, ["public"])
            self.put(made)
            self.gone(gone)
        for key in granted:
            if key in self.ledger:
                self.ledger[key][2] = ["public"]
        self.note(made)
        for key in gone:
            self.ledger.pop(key, None)

    # Operations on keys that all writers change.

    def replace_shared(self) -> None:
        made = self.new(self.rng.sample(self.shared, self.rng.randint(1, SHARED_KEYS)))
        with self.conn.transaction():
            self.put(made)

    def delete_shared(self) -> None:
        keys = self.rng.sample(self.shared, self.rng.randint(1, SHARED_KEYS))
        with self.conn.transaction():
            self.gone(keys)

    def change_access_shared(self) -> None:
        keys = self.rng.sample(self.shared, self.rng.randint(1, SHARED_KEYS))
        with self.conn.transaction():
            self.grant(keys, self.principals())


# --- readers --------------------------------------------------------------------------------------

Truth = dict[str, tuple[int, str | None, int, bool, frozenset[str]]]
#: key, title, body, metadata, version
Row = tuple[str, str, str, dict[str, Any] | None, int | None]


class Reader:
    """One reading process. It searches in every way, and holds each answer against the truth."""

    def __init__(self, dsn: str, reader_dsn: str, number: int, until: float) -> None:
        self.rng = random.Random(1000 + number)
        self.until = until
        self.conn = psycopg.connect(dsn, autocommit=True)
        self.mapped = psycopg.connect(reader_dsn, autocommit=True)
        self.store = Store(connection=self.conn)
        self.done: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.details: list[str] = []

    def run(self) -> dict[str, Any]:
        reads = [
            self.read_lexical_all, self.read_lexical_one, self.read_hybrid_all, self.read_dense_one,
            self.read_dense_top, self.read_list, self.read_as_reader, self.read_my_chunks, self.read_by_store,
        ]  # fmt: skip
        with self.conn, self.mapped:
            while time.time() < self.until:
                read = self.rng.choice(reads)
                try:
                    read()
                    self.done[read.__name__] += 1
                except psycopg.Error as error:
                    self.errors[error.sqlstate or "connection"] += 1
                    self.details.append(f"{read.__name__}: {error}"[:600])
        return {"done": self.done, "errors": self.errors, "wrong": self.wrong, "details": self.details[:10]}

    def truth(self) -> Truth:
        rows = self.conn.execute("SELECT key, epoch, mark, chunks, vectors, principals FROM stress.truth")
        return {row[0]: (row[1], row[2], row[3], row[4], frozenset(row[5])) for row in rows}

    def somebody(self) -> list[str]:
        return self.rng.sample(GROUPS, self.rng.randrange(len(GROUPS) + 1))

    def key(self) -> str:
        return self.rng.choice([*self.truth(), "w0/0"])

    def fault(self, kind: str, what: str) -> None:
        self.wrong[kind] += 1
        self.details.append(f"{kind}: {what}"[:600])

    def judge(
        self,
        ask: Callable[[], Sequence[Row]],
        principals: Sequence[str],
        *,
        of: str | None = None,
        complete: bool = True,
        vectors: bool = False,
    ) -> None:
        """Ask, and compare with the truth. ``of``: the answer is about this document alone. ``complete``:
        it holds every chunk there is to see, or those with a vector under ``vectors``."""
        before = self.truth()
        found: dict[str, list[Row]] = {}
        for row in ask():
            found.setdefault(row[0], []).append(row)
        after = self.truth()
        for key, rows in found.items():
            marks = {row[2].split(" ", 1)[0] for row in rows} | {row[1] for row in rows}
            marks |= {row[3]["mark"] for row in rows if row[3] is not None}
            if len(marks) != 1 or len({row[4] for row in rows}) != 1:
                self.fault("torn", f"{key} came back as {sorted(marks)}")
            parts = sorted(int(row[2].split(" ", 4)[2]) for row in rows)
            size = int(rows[0][2].split(" ", 6)[4])
            if (complete and not vectors and parts != list(range(size))) or len(set(parts)) < len(parts):
                self.fault("torn", f"{key} {sorted(marks)} came back with the parts {parts} of {size}")
            known, now = before.get(key), after.get(key)
            if known is not None and known == now:
                if known[1] is None:
                    self.fault("undead", f"{key} {sorted(marks)} is deleted")
                elif not known[4] & set(principals):
                    self.fault("forbidden", f"{key} {sorted(marks)} for {principals}: {sorted(known[4])}")
                elif {known[1]} != marks:
                    self.fault("stale", f"{key} came back as {sorted(marks)}, it is {known[1]}")
                elif vectors and complete and known[3] and len(parts) != size:
                    self.fault("torn", f"{key} came back with {len(parts)} vectors of {size}")
        if complete:
            for key in after if of is None else {of} & after.keys():
                known = before.get(key)
                if key in found or known is None or known != after[key] or known[1] is None:
                    continue
                if known[4] & set(principals) and (known[3] or not vectors):
                    self.fault("missing", f"{key} {known[1]} did not come back for {principals}")

    def rows(self, conn: psycopg.Connection, call: str, *values: Any) -> list[Row]:
        query = f"SELECT key, title, body, metadata, document_version FROM sift.{call}"
        return conn.execute(query.encode(), values).fetchall()

    def read_lexical_all(self) -> None:
        who = self.somebody()
        call = "lexical_search(%s, 'common', 10000, %s)"
        self.judge(lambda: self.rows(self.conn, call, TENANT, who), who)

    def read_lexical_one(self) -> None:
        who, key = self.somebody(), self.key()
        call = "lexical_search(%s, %s, 100, %s)"
        self.judge(lambda: self.rows(self.conn, call, TENANT, term(key), who), who, of=key)

    def read_hybrid_all(self) -> None:
        who = self.somebody()
        call = (
            "search(%s, 'common', 10000, %s, query_embedding => %s::real[], depth => 10000, collapse => false, per_document => NULL)"
        )
        self.judge(lambda: self.rows(self.conn, call, TENANT, who, vector(self.rng)), who)

    def read_dense_one(self) -> None:
        who, key = self.somebody(), self.key()
        call = "dense_search(%s, %s::real[], 100, %s, filter => %s::jsonb, model => %s)"
        only = json.dumps({"metadata.slot": key})
        self.judge(
            lambda: self.rows(self.conn, call, TENANT, vector(self.rng), who, only, MODEL),
            who,
            of=key,
            vectors=True,
        )

    def read_dense_top(self) -> None:
        who = self.somebody()
        call = "dense_search(%s, %s::real[], 20, %s, model => %s)"
        self.judge(
            lambda: self.rows(self.conn, call, TENANT, vector(self.rng), who, MODEL), who, complete=False
        )

    def read_list(self) -> None:
        """The list says how many chunks a document has; they are made into rows here, to be judged alike."""
        who = self.somebody()

        def ask() -> list[Row]:
            listed = self.conn.execute(
                "SELECT key, title, metadata, version, chunks FROM sift.list_documents(%s, %s, k => 10000)",
                (TENANT, who),
            ).fetchall()
            return [
                (key, title, f"{title} part {part} of {metadata['of']} x", metadata, version)
                for key, title, metadata, version, chunks in listed
                for part in range(chunks)
            ]

        self.judge(ask, who)

    def read_as_reader(self) -> None:
        call = "lexical_search(%s, 'common', 10000)"
        self.judge(lambda: self.rows(self.mapped, call, TENANT), MAPPED)

    def read_my_chunks(self) -> None:
        query = "SELECT key, title, body, NULL, NULL FROM sift.my_chunks WHERE tenant = %s"
        self.judge(lambda: self.mapped.execute(query.encode(), (TENANT,)).fetchall(), MAPPED)

    def read_by_store(self) -> None:
        who = self.somebody()

        def ask() -> list[Row]:
            hits = self.store.search(
                TENANT, "common", k=10000, depth=10000, principals=who, collapse=False, per_document=None
            )
            return [
                (hit.key, hit.title or "", hit.body, dict(hit.metadata), hit.document_version) for hit in hits
            ]

        self.judge(ask, who)


# --- beside them ----------------------------------------------------------------------------------


def maintain(dsn: str, until: float) -> dict[str, Any]:
    """What goes on in a database beside its users: folding, packing, vacuuming, rebuilding the index of the
    vectors, in place and as a new one."""
    done: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    details: list[str] = []
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute(
            "SELECT c.relname, pg_get_indexdef(i.indexrelid), t.relname FROM pg_index AS i"
            " JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_class AS t ON t.oid = i.indrelid"
            " JOIN pg_am AS a ON a.oid = c.relam"
            " WHERE a.amname = 'hnsw' AND t.relname LIKE 'chunk_embeddings%%'"
        ).fetchone()
        assert row is not None
        index, definition, _ = row
        second = definition.replace(f"INDEX {index} ", f"INDEX CONCURRENTLY {index}_new ")
        assert second != definition
        tables = [
            name
            for (name,) in conn.execute(
                "SELECT c.relname FROM pg_class AS c"
                " WHERE c.relnamespace = 'sift'::regnamespace AND c.relkind = 'r'"
            )
        ]
        rng = random.Random(7)
        steps: list[tuple[str, list[str]]] = [
            ("fold", [f"SELECT count(*) FROM sift.fold_statistics('{TENANT}')"]),
            ("pack", [f"SELECT count(*) FROM sift.pack_postings('{TENANT}')"]),
            ("fold all", ["SELECT count(*) FROM sift.fold_statistics()"]),
            ("purge", [f"SELECT count(*) FROM sift.pack_postings('{TENANT}', true)"]),
            ("vacuum", [f'VACUUM (ANALYZE) sift."{rng.choice(tables)}"' for _ in range(8)]),
            ("vacuum vectors", ["VACUUM sift.chunk_embeddings"]),
            ("reindex", [f"REINDEX INDEX CONCURRENTLY sift.{index}"]),
            (
                "new index",
                [
                    second,
                    f"DROP INDEX CONCURRENTLY sift.{index}",
                    f"ALTER INDEX sift.{index}_new RENAME TO {index}",
                ],
            ),
        ]
        while time.time() < until:
            for name, statements in steps:
                if time.time() > until and name != "fold":
                    break
                for statement in statements:
                    try:
                        conn.execute(statement.encode())
                    except psycopg.Error as error:
                        errors[error.sqlstate or "connection"] += 1
                        details.append(f"{statement}: {error}"[:600])
                done[name] += 1
    return {"done": done, "errors": errors, "details": details[:10]}


# --- processes ------------------------------------------------------------------------------------


def start(role: str, **parameters: Any) -> subprocess.Popen[str]:
    """One process of the load."""
    return subprocess.Popen(
        [sys.executable, str(Path(__file__)), role, json.dumps(parameters)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def go(processes: Sequence[subprocess.Popen[str]], seconds: float) -> None:
    """Let all begin together, once each has said that it is ready, for so many seconds."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()[1][-4000:]
    until = time.time() + seconds
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(f"{until}\n")
        process.stdin.flush()


def results(processes: Sequence[subprocess.Popen[str]], patience: float) -> list[dict[str, Any]]:
    """What the processes print, once all have ended; one that failed is an error with its words."""
    found = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=patience)
            assert process.returncode == 0, err[-4000:]
            found.append(json.loads(out))
    finally:
        for process in processes:
            process.kill()
    return found


def run(dsn: str, reader_dsn: str, seconds: float, *, writers: int, readers: int) -> dict[str, Any]:
    """Load for some seconds; the sum of what all processes say, and the deadlocks PostgreSQL counted."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        before = deadlocks(conn)
    processes = [start("writer", dsn=dsn, number=number) for number in range(writers)]
    processes += [
        start("reader", dsn=dsn, reader_dsn=reader_dsn, number=number) for number in range(readers)
    ]
    processes.append(start("maintenance", dsn=dsn))
    go(processes, seconds)
    answers = results(processes, seconds + 120)
    total: dict[str, Any] = {"details": [], "ledger": {}, "versions": []}
    for name in ("done", "errors", "wrong"):
        total[name] = sum((Counter(answer.get(name, {})) for answer in answers), Counter())
    for answer in answers:
        total["details"] += answer["details"]
        total["ledger"] |= answer.get("ledger", {})
        total["versions"] += answer.get("versions", [])
    total["written"] = sum(answer["done"].total() for answer in map(_counted, answers[:writers]))
    total["read"] = sum(answer["done"].total() for answer in map(_counted, answers[writers:-1]))
    total["maintained"] = _counted(answers[-1])["done"].total()
    with psycopg.connect(dsn, autocommit=True) as conn:
        total["deadlocks"] = deadlocks(conn) - before
    return total


def _counted(answer: dict[str, Any]) -> dict[str, Any]:
    return {"done": Counter(answer["done"])}


def deadlocks(conn: psycopg.Connection) -> int:
    row = conn.execute(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ).fetchone()
    assert row is not None
    return int(row[0])


# --- what must be there in the end ----------------------------------------------------------------


def compare_with_ledger(dsn: str, ledger: dict[str, Any], versions: Sequence[Any]) -> list[str]:
    """Where the store differs from what its writers committed, document by document."""
    faults = []
    with psycopg.connect(dsn, autocommit=True) as conn:
        stored = {
            row[0]: row
            for row in conn.execute(
                "SELECT d.key, d.title, d.document_id, d.version, a.principals,"
                " ARRAY(SELECT c.body FROM sift.chunks AS c WHERE c.tenant_id = d.tenant_id"
                "       AND c.document_id = d.document_id ORDER BY c.ordinal),"
                " (SELECT count(*) FROM sift.chunks AS c JOIN sift.chunk_embeddings AS e"
                "  ON e.tenant_id = c.tenant_id AND e.chunk_id = c.chunk_id"
                "  WHERE c.tenant_id = d.tenant_id AND c.document_id = d.document_id)"
                " FROM sift.documents AS d JOIN sift.access_lists AS a"
                " ON a.tenant_id = d.tenant_id AND a.access_list_id = d.access_list_id"
            )
        }
        truth = conn.execute("SELECT key, mark, chunks, vectors, principals FROM stress.truth").fetchall()
    expected = {row[0]: (row[1], row[2], sorted(row[4]), row[3]) for row in truth if row[1] is not None}
    own = {key: (mark, chunks, sorted(who), vectors) for key, (mark, chunks, who, vectors) in ledger.items()}
    for key in own.keys() | {key for key in expected if key.startswith("w")}:
        if own.get(key) != expected.get(key):
            faults.append(f"{key}: the writer noted {own.get(key)}, the transaction {expected.get(key)}")
    for key in expected.keys() | stored.keys():
        if key not in stored:
            faults.append(f"{key} is lost: {expected[key]}")
        elif key not in expected:
            faults.append(f"{key} is there, and was deleted")
        else:
            mark, chunks, who, vectors = expected[key]
            _, title, _, _, principals, bodies, embedded = stored[key]
            heads = [f"{mark} part {part} of {chunks}" for part in range(chunks)]
            if title != mark or [" ".join(body.split(" ")[:5]) for body in bodies] != heads:
                faults.append(f"{key} is {title} with {len(bodies)} chunks, not {mark} with {chunks}")
            if sorted(principals) != who:
                faults.append(f"{key} is for {principals}, not {who}")
            if vectors and embedded != chunks:
                faults.append(f"{key} has {embedded} vectors of {chunks}")
    by_version: dict[tuple[int, int], str] = {}
    for key, document_id, version, mark in versions:
        if by_version.setdefault((document_id, version), mark) != mark:
            faults.append(f"{key}: two writers were told they wrote version {version}")
    for key, (_, title, document_id, version, *_) in stored.items():
        if by_version.get((document_id, version)) != title:
            faults.append(f"{key}: version {version} is {title}, written was {by_version.get((document_id, version))}")
    return faults


def compare_derived(dsn: str, tenant: str = TENANT, *, as_it_is: bool = False) -> list[str]:
    """Where statistics, postings, vectors or rankings do not fit the chunks: as it is, and after folding, packing
    and purging too."""
    faults = []
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute("SELECT tenant_id FROM sift.tenants WHERE name = %s", (tenant,)).fetchone()
        assert row is not None
        tenant_id = row[0]
        for query, what in (
            ("SELECT count(*) FROM sift.chunks AS c LEFT JOIN sift.documents AS d USING (tenant_id, document_id)"
             " WHERE d.key IS NULL OR d.access_list_id <> c.access_list_id", "chunks without their document"),
            ("SELECT count(*) FROM sift.chunk_embeddings AS e LEFT JOIN sift.chunks AS c"
             " USING (tenant_id, chunk_id) WHERE c.body IS NULL OR c.access_list_id <> e.access_list_id",
             "vectors without their chunk"),
            ("SELECT count(*) FROM (SELECT model_id, access_list_id, sum(n) FROM ("
             " SELECT model_id, access_list_id, count(*) AS n FROM sift.chunk_embeddings GROUP BY 1, 2 UNION ALL"
             " SELECT model_id, access_list_id, -sum(vectors) FROM sift.embedding_stats GROUP BY 1, 2) AS x"
             " GROUP BY 1, 2 HAVING sum(n) <> 0) AS y", "counts of vectors"),
            ("SELECT count(*) FROM (SELECT document_id, count(*), max(ordinal) + 1 FROM sift.chunks"
             " GROUP BY 1 HAVING count(*) <> max(ordinal) + 1) AS x", "documents with a gap"),
            ("SELECT count(*) FROM sift.documents AS d LEFT JOIN sift.document_versions AS v"
             " USING (tenant_id, document_id, version) WHERE v.key IS NULL OR v.content_hash <> d.content_hash",
             "documents without their version"),
        ):  # fmt: skip
            wrong = conn.execute(query.encode()).fetchone()
            if wrong != (0,):
                faults.append(f"{what}: {wrong}")
        for step in ("nothing",) if as_it_is else ("nothing", "fold_statistics", "pack_postings", "purge"):
            if step != "nothing":
                call = "pack_postings(%s, true)" if step == "purge" else f"{step}(%s)"
                conn.execute(f"SELECT count(*) FROM sift.{call}".encode(), (tenant,))
            errors = conn.execute("SELECT * FROM sift.verify_statistics(%s)", (tenant,)).fetchall()
            faults += [f"verify after {step}: {error}" for error in errors[:5]]
            for principals in (["public"], ["group:a", "group:b"], ["sift:writer"]):
                for terms in (["common"], ["word1", "word2", "word3"], ["part", "word7"]):
                    legs = [
                        conn.execute(
                            sql.SQL(
                                "SELECT x.* FROM sift.{}(%s, %s, ARRAY(SELECT a.access_list_id FROM sift.access_lists AS a"
                                " WHERE a.tenant_id = %s AND (a.principals && %s::text[] OR %s)), NULL, NULL, 50,"
                                " 1.2, 0.75) AS x"
                            ).format(sql.Identifier(leg)),
                            (tenant_id, terms, tenant_id, principals, principals == ["sift:writer"]),
                        ).fetchall()
                        for leg in ("_lexical_leg", "_lexical_exhaustive")
                    ]
                    if legs[0] != legs[1]:
                        faults.append(f"ranking of {terms} for {principals} after {step}")
        if as_it_is:
            return faults
        # Nothing is left of what was deleted.
        for query, what in (
            ("SELECT count(*) FROM sift.chunk_terms AS w LEFT JOIN sift.chunks AS c USING (tenant_id, chunk_id)"
             " WHERE c.body IS NULL", "rows of postings without a chunk"),
            ("SELECT count(*) FROM (SELECT k.tenant_id, unnest(k.chunk_ids) AS chunk_id FROM sift.packed_chunks AS k)"
             " AS k LEFT JOIN sift.chunks AS c USING (tenant_id, chunk_id) WHERE c.body IS NULL",
             "packed chunks that are gone"),
        ):  # fmt: skip
            wrong = conn.execute(query.encode()).fetchone()
            if wrong != (0,):
                faults.append(f"{what}: {wrong}")
    return faults


# --- throughput -----------------------------------------------------------------------------------


def texts(number: int, documents: int) -> Iterator[dict[str, Any]]:
    """Documents of about 4,000 characters in words whose frequencies fall as those of a language do."""
    rng = random.Random(number)
    words = [f"{''.join(rng.choices('aeioulnrst', k=rng.randint(3, 9)))}{rank % 100}" for rank in range(20_000)]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    for index in range(documents):
        text = "\n\n".join(" ".join(rng.choices(words, weights, k=90)) + "." for _ in range(7))
        yield {"key": f"t{number}/{index}", "title": f"document {index}", "text": text}


def write_much(dsn: str, tenant: str, number: int, documents: int, until: float) -> dict[str, Any]:
    """One writer of the throughput measurement: the library's ingest, without vectors."""
    made = list(texts(number, documents))
    with Store(dsn) as store:
        store.tenant(tenant)
        time.sleep(max(0.0, until - time.time()))  # the others make their texts
        begun = time.time()
        report = store.ingest(tenant, made)
        return {"begun": begun, "ended": time.time(), "documents": report.created, "chunks": report.chunks}


def throughput(dsn: str, writers: int, documents: int) -> tuple[float, float]:
    """Documents and chunks per second of so many writing processes, each with its share of the documents."""
    tenant = f"throughput{writers}"
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT sift.create_tenant(%s, 'english')", (tenant,))
    share = documents // writers
    processes = [
        start("throughput", dsn=dsn, tenant=tenant, number=number, documents=share) for number in range(writers)
    ]
    go(processes, 5)
    answers = results(processes, 600)
    assert sum(answer["documents"] for answer in answers) == share * writers
    taken = max(answer["ended"] for answer in answers) - min(answer["begun"] for answer in answers)
    with psycopg.connect(dsn, autocommit=True) as conn:
        assert conn.execute("SELECT * FROM sift.verify_statistics(%s)", (tenant,)).fetchall() == []
    return share * writers / taken, sum(answer["chunks"] for answer in answers) / taken


@contextlib.contextmanager
def reader_login(dsn: str, make_login: Callable[..., str]) -> Iterator[str]:
    """A login with sift_reader that stands for MAPPED."""
    login = make_login(dsn, "sift_reader")
    name = psycopg.conninfo.conninfo_to_dict(login)["user"]
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SELECT sift.map_role(%s, %s, %s)", (TENANT, name, list(MAPPED)))
    yield make_conninfo(login)


ROLES: dict[str, Callable[..., Any]] = {
    "writer": lambda **parameters: Writer(**parameters).run(),
    "reader": lambda **parameters: Reader(**parameters).run(),
    "maintenance": maintain,
    "throughput": write_much,
}

if __name__ == "__main__":
    print("ready", flush=True)
    until = float(sys.stdin.readline())
    json.dump(ROLES[sys.argv[1]](until=until, **json.loads(sys.argv[2])), sys.stdout)
