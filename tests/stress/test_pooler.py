"""A pool of psycopg behind a real PgBouncer in transaction mode, and: nothing is left behind in a session.

Behind such a pooler each transaction may meet another session of the server, so whatever a call relied on
outside its transaction would be missing or, worse, somebody else's.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import os
import pwd
import random
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import feed
import load
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from server_process import wait_for

from pgsift import AsyncStore, Store
from pgsift.errors import OutOfResources, PgsiftError, ServerUnavailable

State = dict[str, Any]


def session_state(conn: psycopg.Connection[Any]) -> State:
    """All that a session can carry over from one call to the next."""
    settings = {
        name: (setting, source)
        for name, setting, source in conn.execute("SELECT name, setting, source FROM pg_settings")
        # The server's process loads pgvector and plpgsql, and with them the names of their settings.
        if not (source == "default" and "." in name)
    }
    row = conn.execute(
        "SELECT current_user, session_user, current_schemas(true)::text,"
        " (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_cursors WHERE name <> ''),"
        " (SELECT count(*) FROM pg_listening_channels()),"
        " (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'),"
        " (SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND pg_table_is_visible(oid)),"
        " (SELECT setting FROM pg_settings WHERE name = 'search_path')"
    ).fetchone()
    return {"settings": settings, "rest": row}


def same(before: State, after: State, what: str) -> None:
    """Fails with what differs."""
    names = before["settings"].keys() | after["settings"].keys()
    changed = {
        name: (before["settings"].get(name), after["settings"].get(name))
        for name in names
        if before["settings"].get(name) != after["settings"].get(name)
    }
    assert (changed, after["rest"]) == ({}, before["rest"]), what


@pytest.fixture
def stocked(dsn: str) -> str:
    """A database with a tenant, documents, vectors, and a person's role mapped."""
    with Store(dsn, embedder=feed.Toy()) as store:
        store.create_tenant("default", default_principals=["public"])
        store.put_documents("default", [{"key": f"d{n}", "text": f"the winch {n}"} for n in range(20)])
    return dsn


# --- nothing left behind --------------------------------------------------------------------------

#: Arguments by name; what is not listed is filled by type.
ARGUMENTS: dict[str, Any] = {
    "tenant": "default", "query": "winch", "key": "d1", "keys": ["d1", "d2"], "principals": ["public"],
    "documents": '[{"key": "new", "text": "a boat"}]', "k": 5, "model": "toy", "mode": "hybrid", "unit": "document",
    "filter": '{"kind": "text"}', "analyzer": "english", "role_name": "nobody-in-particular",
    "query_embedding": [0.5] * 8, "embedding": [0.5] * 8, "dimensions": 8, "key_prefix": "d",
    "weights": [1.0, 1.0], "terms": ["winch"], "text": "the winch", "chunk_ids": [1],
    "embeddings": ["[1,2,3,4,5,6,7,8]"], "stage": "read", "reason": "of a test", "rrf_k": 60.0,
    "metric": "cosine", "ids": [1], "entity": "x", "depth": 50, "min_score": 0.0, "max_distance": 2.0, "per_document": 3,
    "mmr": 0.5, "token_budget": 100, "query_token_embeddings": None, "token_model": None, "scores": [1.0],
    "purge": True, "collapse": True, "exist_ok": True, "steps": 1, "windows": 2, "width": 100, "snippet_width": 100, "rows": "{}", "strategy": "merged", "claims": '[{"body": "winch", "supports": [0]}]',
    "mentions": '[{"ordinal": 0, "entities": ["x"]}]', "values": ["d1"],
    "judgment": 1, "judgment_id": 1, "document": "d1", "versions": [1, 1], "field": "kind", "bucket": None, "chunk": None, "members": ["user:1"], "group_name": "group:x",
    "acronym": "CFD", "acronyms": '[{"acronym": "CFD", "expansion": "fluid dynamics"}]',
}  # fmt: skip
BY_TYPE: dict[str, Any] = {
    "text": "x", "text[]": ["x"], "integer": 1, "bigint": 1, "bigint[]": [1], "boolean": True,
    "double precision": 1.0, "double precision[]": [1.0, 1.0], "real[]": [0.5] * 8, "jsonb": "{}",
    "bytea": b"x" * 32, "bytea[]": [b"x" * 32], "name": "x", "timestamp with time zone": "2026-01-01",
    "interval": "1 day", "date": "2026-01-01", "real": 1.0, "smallint": 1, "oid": 1, "integer[]": [1],
}  # fmt: skip


def public_functions(conn: psycopg.Connection[Any]) -> list[tuple[str, list[str], list[str], int]]:
    """Name, argument names, argument types, and number of defaults of every public function."""
    return conn.execute(
        "SELECT p.proname, coalesce(p.proargnames[1:p.pronargs], '{}'),"
        " ARRAY(SELECT format_type(t.oid, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS t (oid, n) ORDER BY n),"
        " p.pronargdefaults FROM pg_proc AS p WHERE p.pronamespace = 'sift'::regnamespace"
        " AND NOT starts_with(p.proname, '_') AND p.prokind = 'f' ORDER BY p.proname = 'drop_tenant', p.proname"
    ).fetchall()


@pytest.mark.parametrize("role", ["postgres", "sift_reader"])
def test_no_function_leaves_anything_behind(stocked: str, make_login: Callable[..., str], role: str) -> None:
    """Every public function, with required arguments alone and with all, whether it succeeds or refuses; in a
    transaction of its own and within one that is rolled back."""
    dsn = stocked
    if role != "postgres":
        dsn = make_login(stocked, role)
        with Store(stocked) as store:
            store.map_role("default", str(conninfo_to_dict(dsn)["user"]), ["public"])
    succeeded: set[str] = set()
    with psycopg.connect(dsn, autocommit=True) as conn:
        functions = public_functions(conn)
        conn.execute("SET search_path = 'pg_temp'")
        conn.execute("SET work_mem = '3MB'")
        before = session_state(conn)
        for name, names, types, defaults in functions:
            required = len(names) - defaults
            for given in sorted({required, min(required + 1, len(names)), len(names)}):
                arguments = ", ".join(
                    f'"{arg}" => %({arg})s::{kind}' for arg, kind in zip(names[:given], types[:given], strict=True)
                )
                values = {
                    arg: ARGUMENTS.get(arg, BY_TYPE.get(kind))
                    for arg, kind in zip(names[:given], types[:given], strict=True)
                }
                call = f"SELECT * FROM sift.{name}({arguments})".encode()
                for rolled_back in (True, False):
                    try:
                        with conn.transaction(force_rollback=rolled_back):
                            conn.execute(call, values).fetchall()
                        succeeded.add(name)
                    except psycopg.Error as error:
                        assert error.sqlstate not in ("42601", "42883"), (name, error)
                    same(before, session_state(conn), name)
    if role == "postgres":
        refused = {function[0] for function in functions} - succeeded
        assert len(succeeded) > 0.8 * len(functions), f"never succeeded: {sorted(refused)}"
    else:
        assert {"search", "lexical_search", "list_documents"} <= succeeded


def store_calls() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every public method of the store with values for its required arguments."""
    special: dict[str, Any] = {
        "sources": [{"key": "new", "text": "a boat"}], "documents": [{"key": "new", "text": "a boat"}],
        "query_embedding": [0.5] * 8, "embedding": [0.5] * 8, "embedder": feed.Toy(),
        "principals": ["public"], "keys": ["d1"], "members": ["user:1"], "group": "group:x",
    }  # fmt: skip
    for name, method in inspect.getmembers(Store, inspect.isfunction):
        if name.startswith("_") or name == "close":
            continue
        arguments = {}
        for parameter in list(inspect.signature(method).parameters.values())[1:]:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if parameter.default is parameter.empty or parameter.name in ("query_embedding", "embedder"):
                value = special.get(parameter.name, ARGUMENTS.get(parameter.name, "x"))
                arguments[parameter.name] = value
            elif parameter.name == "principals":
                arguments["principals"] = ["public"]
        yield name, arguments


def test_no_method_leaves_anything_behind(stocked: str) -> None:
    """Every method of the store on a connection of the caller's: settings, role, prepared statements, and
    the transaction, which stays the caller's."""
    succeeded = set()
    with psycopg.connect(stocked, prepare_threshold=1) as conn:
        conn.execute("SET search_path = 'pg_temp'")
        conn.commit()
        store = Store(connection=conn, embedder=feed.Toy())
        names = []
        for name, arguments in store_calls():
            names.append(name)
            conn.execute("SELECT 1", prepare=False)
            before = session_state_unprepared(conn)
            for _ in range(2):
                try:
                    with conn.transaction():
                        getattr(store, name)(**arguments)
                    succeeded.add(name)
                except PgsiftError:
                    pass
                assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS, name
            same(before, session_state_unprepared(conn), name)
            conn.rollback()
        with psycopg.connect(stocked) as other:
            row = other.execute("SELECT count(*) FROM sift.documents").fetchone()
            assert row == (20,), "the caller rolled everything back"
    assert len(succeeded) > 0.75 * len(names), f"never succeeded: {sorted(set(names) - succeeded)}"


def session_state_unprepared(conn: psycopg.Connection[Any]) -> State:
    threshold, conn.prepare_threshold = conn.prepare_threshold, None
    try:
        return session_state(conn)
    finally:
        conn.prepare_threshold = threshold


# --- PgBouncer ------------------------------------------------------------------------------------


@pytest.fixture
def pgbouncer(stocked: str, directory: Path) -> Iterator[Callable[..., str]]:
    """A function that starts a PgBouncer in transaction mode in front of the database; its DSN."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed (Debian: apt-get install pgbouncer)")
    running: list[subprocess.Popen[bytes]] = []

    def start(pool_size: int = 3, max_clients: int = 100) -> str:
        target = conninfo_to_dict(stocked)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = " ".join(
            f"{name}='{target[name]}'" for name in ("host", "port", "user", "password", "dbname") if name in target
        )
        (directory / "users.txt").write_text(f'"{target["user"]}" "secret"\n')
        configuration = directory / "pgbouncer.ini"
        configuration.write_text(
            f"[databases]\nsift = {server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
            f"unix_socket_dir =\nauth_type = any\nauth_file = {directory / 'users.txt'}\npool_mode = transaction\n"
            f"default_pool_size = {pool_size}\nmax_client_conn = {max_clients}\nserver_reset_query =\n"
            f"ignore_startup_parameters = extra_float_digits\nlogfile =\npidfile =\n"
        )
        options: dict[str, Any] = {}
        if os.geteuid() == 0:  # it refuses to run as root; the socket's directory may be closed to others
            owner = Path(target["host"]).stat().st_uid if str(target["host"]).startswith("/") else 0
            options = {"user": owner or pwd.getpwnam("nobody").pw_uid}
        (directory / "users.txt").chmod(0o644)
        configuration.chmod(0o644)
        with (directory / "pgbouncer.log").open("wb") as log:
            running.append(
                subprocess.Popen(
                    [program, str(configuration)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                    **options,
                )
            )  # fmt: skip

        def ready() -> bool:
            assert running[-1].poll() is None, (directory / "pgbouncer.log").read_text()
            try:
                psycopg.connect(dsn, connect_timeout=5).close()
            except psycopg.OperationalError:
                return False
            return True

        dsn = make_conninfo("", host="127.0.0.1", port=port, dbname="sift", user=str(target["user"]), sslmode="disable")
        wait_for(ready, 30)
        return dsn

    try:
        yield start
    finally:
        for process in running:
            process.terminate()
            process.wait(20)


def test_a_pool_behind_pgbouncer(pgbouncer: Callable[..., str], stocked: str) -> None:
    """Twelve threads on one store, a pool of eight client connections, three sessions of the server: puts,
    searches and deletes, with psycopg's own preparing of statements left on."""
    dsn = pgbouncer(pool_size=3)
    with ConnectionPool(dsn, min_size=2, max_size=8, open=True) as pool:
        store = Store(pool=pool, embedder=feed.Toy())

        def work(number: int) -> int:
            rng = random.Random(number)
            found = 0
            for turn in range(15):
                key = f"thread{number}"
                words = " ".join(rng.choices(load.WORDS, k=8))
                store.put_documents("default", {"key": key, "text": f"{key} turn{turn} {words}"})
                hits = store.search("default", key, principals=["public"], filter={"key": key})
                assert [hit.key for hit in hits] == [key] and f"turn{turn}" in hits[0].body
                found += len(store.lexical_search("default", "winch", principals=["public"]))
                if turn % 5 == 4:
                    assert store.delete("default", [key])[0].deleted
            return found

        with ThreadPoolExecutor(12) as executor:
            assert list(executor.map(work, range(12))) == [150] * 12
        report = store.ingest("default", [{"key": f"many{n}", "text": f"sail {n}"} for n in range(300)])
        assert (report.created, report.failed) == (300, 0)
        assert store.embed_missing("default") == 0
    # What the sessions of the server look like after all that: as a new one.
    sessions = set()
    with psycopg.connect(stocked, autocommit=True) as new, psycopg.connect(dsn, autocommit=True) as used:
        new.prepare_threshold = used.prepare_threshold = None
        for _ in range(6):
            with used.transaction():
                row = used.execute("SELECT pg_backend_pid()").fetchone()
                assert row is not None
                sessions.add(row[0])
                state = session_state(used)
            fresh = session_state(new)
            assert state["rest"] == fresh["rest"]
            # What the pooler sets for its client, and the state of a transaction under way.
            ours = {"application_name", "client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings"}
            differing = {
                name
                for name in state["settings"].keys() | fresh["settings"].keys()
                if state["settings"].get(name, ("",))[0] != fresh["settings"].get(name, ("",))[0]
            }
            assert differing <= ours, differing
    assert load.compare_derived(stocked, "default") == []


def test_asyncio_behind_pgbouncer(pgbouncer: Callable[..., str]) -> None:
    dsn = pgbouncer(pool_size=2)

    async def use() -> None:
        async with AsyncConnectionPool(dsn, min_size=1, max_size=6, open=False) as pool:
            store = AsyncStore(pool=pool)
            counts = await asyncio.gather(
                *(store.search("default", "winch", k=20, principals=["public"]) for _ in range(40))
            )
            assert [len(hits) for hits in counts] == [20] * 40

    asyncio.run(use())


def test_a_store_of_its_own_behind_pgbouncer(pgbouncer: Callable[..., str]) -> None:
    """A DSN that leads to the pooler: the store's one connection is a client of it."""
    dsn = pgbouncer(pool_size=2)
    with Store(dsn) as first, Store(dsn) as second:
        for turn, store in zip(range(12), itertools.cycle((first, second)), strict=False):
            assert len(store.search("default", "winch", k=20, principals=["public"])) == 20
            assert store.put_documents("default", {"key": "x", "text": f"turn {turn}"})[0].version == turn + 1


def test_pgbouncer_takes_no_more_clients(pgbouncer: Callable[..., str]) -> None:
    dsn = pgbouncer(max_clients=2)
    with psycopg.connect(dsn), psycopg.connect(dsn), Store(dsn) as store:
        with pytest.raises((OutOfResources, ServerUnavailable)) as caught:
            store.tenants()
        assert isinstance(caught.value, OutOfResources) and "\n" not in caught.value.message
