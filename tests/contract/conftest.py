"""Both stores behind one face: every test here runs against ``Store`` and ``AsyncStore``."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import psycopg_pool
import pytest

from pgsift import AsyncStore, Store

StoreFactory = Callable[..., Any]


class Awaited:
    """An asynchronous object whose methods are run to their end: it is tested as the synchronous one."""

    def __init__(self, inner: Any, runner: asyncio.Runner) -> None:
        self.inner = inner
        self.runner = runner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.inner, name)
        if not callable(value):
            return value

        def call(*arguments: Any, **options: Any) -> Any:
            result = value(*arguments, **options)
            return self.runner.run(_awaited(result)) if inspect.isawaitable(result) else result

        return call


async def _awaited(result: Any) -> Any:
    return await result


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> str:
    """Which of the two stores the test runs against."""
    return str(request.param)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """The event loop of the asynchronous store."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def connect(colour: str, runner: asyncio.Runner) -> Iterator[Callable[..., Any]]:
    """A function that opens a connection for the store, as an application would."""
    opened: list[Any] = []

    def open_connection(dsn: str, **options: Any) -> Any:
        if colour == "sync":
            connection: Any = psycopg.connect(dsn, **options)
        else:
            connection = Awaited(runner.run(psycopg.AsyncConnection.connect(dsn, **options)), runner)
        opened.append(connection)
        return connection

    yield open_connection
    for connection in opened:
        connection.close()


@pytest.fixture
def make_store(colour: str, runner: asyncio.Runner) -> Iterator[StoreFactory]:
    """A function that makes a store of the colour; a connection of ``connect`` may be passed."""
    opened: list[Any] = []

    def make(dsn: str | None = None, **options: Any) -> Any:
        connection = options.get("connection")
        if isinstance(connection, Awaited):
            options["connection"] = connection.inner
        store: Any = (
            Store(dsn, **options) if colour == "sync" else Awaited(AsyncStore(dsn, **options), runner)
        )
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def make_pool(colour: str, runner: asyncio.Runner) -> Iterator[Callable[..., Any]]:
    """A function that opens a connection pool of the colour."""
    opened: list[Any] = []

    def make(dsn: str) -> Any:
        if colour == "sync":
            pool: Any = psycopg_pool.ConnectionPool(dsn, min_size=1, max_size=3, open=True)
            opened.append(pool)
            return pool

        async def opening() -> Any:
            pool = psycopg_pool.AsyncConnectionPool(dsn, min_size=1, max_size=3, open=False)
            await pool.open()
            return pool

        pool = runner.run(opening())
        opened.append(Awaited(pool, runner))
        return pool

    yield make
    for pool in opened:
        pool.close()


@pytest.fixture
def store(make_store: StoreFactory, dsn: str) -> Any:
    """A store on a database of its own with a tenant ``t`` whose documents are for ``public``."""
    made = make_store(dsn)
    made.create_tenant("t", default_principals=["public"])
    return made
