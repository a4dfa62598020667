"""One piece of work in the background, for the store that waits (threads) and the one that does not (tasks).

An ingest prepares the next documents while the database stores the last ones. Both classes have the same
methods; the synchronous library is generated from the asynchronous one by dropping ``await``.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")


async def run_in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Run something that computes or blocks without holding up the event loop."""
    return await asyncio.to_thread(function, *arguments)


def run_here(function: Callable[..., T], *arguments: Any) -> T:
    """The synchronous counterpart of :func:`run_in_thread`."""
    return function(*arguments)


#: Held by whoever uses the one connection that a store may have.
AsyncLock = asyncio.Lock
Lock = threading.Lock


class AsyncTasks:
    """At most one coroutine in the background; ``inline`` runs it at once instead."""

    def __init__(self, *, inline: bool) -> None:
        self._inline = inline
        self._task: asyncio.Task[Any] | None = None

    async def start(self, function: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> None:
        """Begin ``function(*arguments)`` when what was begun before has ended; its errors are raised here."""
        await self.wait()
        if self._inline:
            await function(*arguments)
        else:
            self._task = asyncio.create_task(function(*arguments))

    async def wait(self) -> None:
        """Wait until nothing is running; what went wrong is raised here."""
        task, self._task = self._task, None
        if task is not None:
            try:
                await task
            except asyncio.CancelledError:
                # The caller is being cancelled, or the task was: it ends, its transaction rolled back, before
                # we go on.
                if not task.done():
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError, Exception):
                        await task
                raise

    async def close(self) -> None:
        """Wait as :meth:`wait` does and drop errors: another one is under way."""
        with contextlib.suppress(Exception):
            await self.wait()

    async def abandon(self, _cancel: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """End what is running; psycopg cancels the statement of a task that is cancelled."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task


class Tasks:
    """The same with one thread."""

    def __init__(self, *, inline: bool) -> None:
        self._executor = None if inline else ThreadPoolExecutor(1, thread_name_prefix="pgsift-store")
        self._future: Future[Any] | None = None

    def start(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Begin ``function(*arguments)`` when what was begun before has ended; its errors are raised here."""
        self.wait()
        if self._executor is None:
            function(*arguments)
        else:
            self._future = self._executor.submit(function, *arguments)

    def wait(self) -> None:
        """Wait until nothing is running; what went wrong is raised here."""
        if self._future is not None:
            self._future.result()
            self._future = None

    def abandon(self, cancel: Callable[[], None]) -> None:
        """End what is running by calling ``cancel`` until it has ended: a statement that begins just after
        the first call would be missed by it, and might wait for a lock for ever."""
        while self._future is not None and wait([self._future], timeout=0).not_done:
            cancel()
            wait([self._future], timeout=0.5)

    def close(self) -> None:
        """Wait until nothing is running, drop errors and end the thread."""
        if self._executor is not None:
            self._executor.shutdown(wait=True)
        self._future = None
