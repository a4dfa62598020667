"""The process in which adapters run: ``python -m pgsift.ingest.formats.worker MEMORY_MB``.

It reads requests from standard input and answers on standard output, in frames: the length of a JSON header and
that
of a payload (big-endian, 4 and 8 bytes), the header, the payload. Nothing else is exchanged, and nothing that
comes
back is executed: an adapter that a hostile file has taken over can lie about this file, no more.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib import import_module
from typing import IO, Any

HEAD = struct.Struct(">IQ")
_MEGABYTE = 1024 * 1024


def write_frame(stream: IO[bytes], header: Mapping[str, Any], payload: bytes = b"") -> None:
    """Write one frame."""
    encoded = json.dumps(header).encode()
    stream.write(HEAD.pack(len(encoded), len(payload)))
    stream.write(encoded)
    stream.write(payload)
    stream.flush()


def _read(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


def _limit_process(memory_mb: int) -> None:
    for name, value in (
        ("RLIMIT_AS", memory_mb * _MEGABYTE),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_FSIZE", 0),  # parsers have nothing to write
    ):
        # A system may not know one, or refuse it; time is limited by the caller too.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (value, value))


def _limit_time(seconds: float) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(usage.ru_utime + usage.ru_stime + seconds) + 5, hard))


def _resident() -> int:
    """Bytes of memory in use; of a system that does not tell, the most there were."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _answers(header: Mapping[str, Any], content: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    from pgsift.errors import InvalidDocument, MissingExtra
    from pgsift.ingest.cleaning import clean_text
    from pgsift.ingest.formats import DOCLING, FORMATS, Limits

    spec = FORMATS[header["format"]]
    limits = Limits(**header["limits"])
    try:
        by_docling = limits.parser == "docling" and header["format"] in DOCLING
        adapter = import_module(f"pgsift.ingest.formats.{'docling' if by_docling else spec.module}")
        if spec.several:
            for member in adapter.expand(content, limits, header["format"]):
                answer = asdict(member)
                yield {"type": "member", **answer, "content": None}, answer["content"]
            yield {"type": "end"}, b""
        else:
            named = (header["format"],) if by_docling else ()
            parsed = adapter.read(content, limits, *named)
            yield {"type": "parsed", "parsed": {**asdict(parsed), "text": None}}, parsed.text.encode()
    except InvalidDocument as error:
        yield {"type": "invalid", "message": error.message, "hint": error.hint}, b""
    except MissingExtra as error:
        yield {"type": "missing", "message": error.message, "hint": error.hint}, b""
    except MemoryError:
        yield {"type": "memory"}, b""
    except RecursionError:
        yield {"type": "invalid", "message": f"the {spec.label} is nested too deeply", "hint": None}, b""
    except Exception as error:
        found = clean_text(" ".join(f"{type(error).__name__}: {error}".split()))[0][:300]
        yield {"type": "invalid", "message": f"the {spec.label} cannot be read: {found}", "hint": None}, b""


def main() -> None:
    """Answer requests until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller ends us
    memory_mb = int(sys.argv[1])
    _limit_process(memory_mb)
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    # Libraries that print must not write between the frames.
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    while True:
        try:
            head_length, length = HEAD.unpack(_read(requests, HEAD.size))
            header = json.loads(_read(requests, head_length))
            content = _read(requests, length)
        except EOFError:
            return
        except MemoryError:
            os._exit(99)
        _limit_time(float(header["limits"]["seconds"]))
        try:
            for answer, payload in _answers(header, content):
                write_frame(answers, answer, payload)
        except MemoryError:
            os._exit(99)
        except BrokenPipeError:
            os._exit(0)
        del content
        # What a library keeps would count against the next file.
        retire = _resident() > memory_mb * _MEGABYTE // 3
        write_frame(answers, {"type": "done", "retire": retire})


if __name__ == "__main__":
    main()
