"""Workers that parse: started when needed, used again, ended when they take too long or die.

A worker serves one file at a time. How many run is decided by the callers, which take one each: the ingest
parses as many files at a time as :attr:`Limits.workers` says.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from pgsift.errors import InvalidDocument, MissingExtra
from pgsift.ingest.chunker import Block
from pgsift.ingest.formats import FORMATS, Limits, Member
from pgsift.ingest.formats.worker import HEAD, write_frame
from pgsift.ingest.parsers import Parsed

_PACKAGES = str(Path(__file__).resolve().parents[3])


class _Died(Exception):
    """The worker ended before it had answered; the text says how."""


class _Late(Exception):
    """The worker did not answer in time."""


class _Worker:
    def __init__(self, memory_mb: int) -> None:
        paths = [_PACKAGES, *filter(None, [os.environ.get("PYTHONPATH")])]
        self.memory_mb = memory_mb
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pgsift.ingest.formats.worker", str(memory_mb)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Threads of numeric libraries take address space, and parsers have no use for them.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
            bufsize=0,
        )
        self.buffer = bytearray()

    def send(self, header: Mapping[str, Any], payload: bytes) -> None:
        assert self.process.stdin is not None
        try:
            with os.fdopen(os.dup(self.process.stdin.fileno()), "wb") as stream:
                write_frame(stream, header, payload)
        except OSError:
            raise _Died(self.ending()) from None

    def receive(self, seconds: float) -> tuple[dict[str, Any], bytes]:
        deadline = time.monotonic() + seconds
        lengths = HEAD.unpack(self._take(HEAD.size, deadline))
        header = json.loads(self._take(lengths[0], deadline))
        return header, self._take(lengths[1], deadline)

    def _take(self, size: int, deadline: float) -> bytes:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        while len(self.buffer) < size:
            ready, _, _ = select.select([descriptor], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise _Late
            part = os.read(descriptor, 1 << 20)
            if not part:
                raise _Died(self.ending())
            self.buffer += part
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken

    def ending(self) -> str:
        """How the process ended, in words."""
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "it stopped answering"
        if code == 99:
            return "memory"
        if code < 0:
            with contextlib.suppress(ValueError):
                return signal.Signals(-code).name
        return f"exit code {code}"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class Pool:
    """Workers by their limit of memory. Safe to use from several threads."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        #: Workers that serve, and the threads they serve; archives in archives take several.
        self._busy: list[tuple[int, _Worker]] = []
        self._lock = threading.Lock()
        self._owner = os.getpid()

    def _acquire(self, memory_mb: int) -> _Worker:
        with self._lock:
            if os.getpid() != self._owner:
                # After a fork the pipes are the parent's.
                self._idle, self._busy, self._owner = [], [], os.getpid()
            for worker in self._idle:
                if worker.memory_mb == memory_mb:
                    self._idle.remove(worker)
                    if worker.process.poll() is None:
                        return worker
                    worker.end()
                    break
        return _Worker(memory_mb)

    def _release(self, worker: _Worker) -> None:
        with self._lock:
            self._idle.append(worker)
            surplus = self._idle[:-8]
            del self._idle[:-8]
        for one in surplus:
            one.end()

    def close(self) -> None:
        """End the workers that are idle."""
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.end()

    def abandon(self, threads: Collection[int]) -> None:
        """End the workers that serve these threads: what they wait for fails."""
        with self._lock:
            workers = [worker for thread, worker in self._busy if thread in threads]
        for worker in workers:
            worker.process.kill()

    def _messages(self, content: bytes, format: str, limits: Limits) -> Iterator[tuple[dict[str, Any], bytes]]:
        spec = FORMATS[format]
        worker = self._acquire(limits.memory_mb)
        busy = (threading.get_ident(), worker)
        with self._lock:
            self._busy.append(busy)
        usable = False
        try:
            worker.send({"format": format, "limits": asdict(limits)}, content)
            while True:
                header, payload = worker.receive(limits.seconds)
                if header["type"] == "done":
                    usable = not header["retire"]
                    return
                yield header, payload
        except _Late:
            raise InvalidDocument(
                f"reading the {spec.label} took longer than {limits.seconds:g} seconds and was stopped",
                hint="Give it more time (--parse-seconds), or mend the file.",
            ) from None
        except _Died as error:
            how = str(error)
            if how == "memory":
                raise _out_of_memory(spec.label, limits) from None
            if how == "SIGXCPU":
                raise InvalidDocument(
                    f"reading the {spec.label} took longer than {limits.seconds:g} seconds and was stopped",
                    hint="Give it more time (--parse-seconds), or mend the file.",
                ) from None
            raise InvalidDocument(
                f"the parser of the {spec.label} crashed ({how})",
                hint="The file is broken, hostile or too large for the memory a parser has (--parse-memory).",
            ) from None
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._busy.remove(busy)
            if usable:
                self._release(worker)
            else:
                worker.end()

    def _checked(self, header: dict[str, Any], label: str, limits: Limits) -> dict[str, Any]:
        kind = header["type"]
        if kind == "invalid":
            raise InvalidDocument(header["message"], hint=header["hint"])
        if kind == "missing":
            raise MissingExtra(header["message"], hint=header["hint"])
        if kind == "memory":
            raise _out_of_memory(label, limits)
        return header

    def parse(self, content: bytes, format: str, limits: Limits) -> Parsed:
        """A document, parsed in a worker.

        Raises :class:`~pgsift.errors.InvalidDocument` for what cannot be read within the limits, and
        :class:`~pgsift.errors.MissingExtra` where the library for it is not installed.
        """
        parsed: Parsed | None = None
        failure: Exception | None = None
        for header, payload in self._messages(content, format, limits):
            try:
                values = self._checked(header, FORMATS[format].label, limits)["parsed"]
                values["text"] = payload.decode()
                values["blocks"] = [Block(*block) for block in values["blocks"]]
                values["pages"], values["page_numbers"] = tuple(values["pages"]), tuple(values["page_numbers"])
                parsed = Parsed(**values)
            except (InvalidDocument, MissingExtra) as error:
                failure = error
        if failure is not None:
            raise failure
        assert parsed is not None
        return parsed

    def expand(self, content: bytes, format: str, limits: Limits) -> Iterator[Member]:
        """The documents of a file that holds several, one by one as the caller takes them. Raises what
        :meth:`parse` raises, perhaps after some."""
        known = {item.name for item in fields(Member)}
        failure: Exception | None = None
        for header, payload in self._messages(content, format, limits):
            try:
                values = self._checked(header, FORMATS[format].label, limits)
            except (InvalidDocument, MissingExtra) as error:
                failure = error
                continue
            if values["type"] == "member":
                values = {name: value for name, value in values.items() if name in known}
                yield Member(**{**values, "content": payload})
        if failure is not None:
            raise failure


def _out_of_memory(label: str, limits: Limits) -> InvalidDocument:
    return InvalidDocument(
        f"reading the {label} took more than {limits.memory_mb:,} MB of memory and was stopped",
        hint="Give it more memory (--parse-memory), or mend the file.",
    )


_POOL = Pool()
atexit.register(_POOL.close)


def pool() -> Pool:
    """The workers of this process."""
    return _POOL


def workers(limits: Limits) -> int:
    """How many files are parsed at a time."""
    return limits.workers or min(os.cpu_count() or 1, 4)
