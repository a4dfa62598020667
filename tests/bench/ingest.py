"""``make bench-ingest``: what an ingest takes, by its parts.

    python tests/bench/ingest.py                  everything, ten minutes or so
    python tests/bench/ingest.py --files 1000     fewer files
    python tests/bench/ingest.py pdf-1 chunks     some of it

Each figure comes from a process of its own, whose memory and that of its workers is looked at twenty times a
second (the sum of what each has resident, so that pages they share count more than once). Beside wall-clock time
stands processor time, of the client, of its workers, and of its session at the server, since a machine may have
other work; what is computed from processor time alone is what one idle core could do. Documents are made by this
program with a fixed seed: two-column PDFs of about 500 words a page, and Markdown files of 500 words, four chunks.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT), str(ROOT.parent)]

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def words(count: int, seed: int) -> str:
    """Paragraphs of so many words of a vocabulary of 20,000, common ones often."""
    chosen = random.Random(seed)
    parts = []
    for number in range(count):
        rank = min(19_999, int(chosen.paretovariate(0.7)) + chosen.randrange(30))
        word = ""
        while rank:
            rank, digit = divmod(rank, 70)
            word += "bdfgklmnprstvz"[digit % 14] + "aeiou"[digit // 14]
        parts.append((word or "a") + (".\n\n" if number % 60 == 59 else "." if number % 12 == 11 else ""))
    return " ".join(parts)


def make_pdfs(folder: Path, count: int, pages: int) -> None:
    from documents import two_column_pdf

    for number in range(count):
        (folder / f"{number:03}.pdf").write_bytes(two_column_pdf(pages))


def make_texts(folder: Path, count: int) -> None:
    for number in range(count):
        part = folder / f"{number // 1000:02}"
        part.mkdir(exist_ok=True)
        (part / f"{number:05}.md").write_text(f"# Title {number}\n\n{words(500, number)}\n")


def server_seconds(pid: int) -> float | None:
    """Processor time of a session, where the server runs here."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / TICKS


def ingest(dsn: str, folder: str, embedder: str | None, workers: int | None) -> dict[str, Any]:
    """One ingest into a new tenant, in this process; what it took."""
    from pgsift import Store, load_embedder
    from pgsift.ingest.formats import Limits
    from pgsift.ingest.formats.pool import pool

    model = None if embedder is None else load_embedder(embedder)
    if model is not None:
        model.embed_documents(["warm"])
    tenant = f"bench_{os.getpid()}"
    with Store(dsn, embedder=model) as store:
        store.create_tenant(tenant)
        used = resource.getrusage(resource.RUSAGE_SELF)
        began = time.perf_counter()
        report = store.ingest(tenant, folder, limits=Limits(workers=workers, seconds=900))
        wall = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_SELF)
        server = None if store._own is None else server_seconds(store._own.info.backend_pid)
        store.drop_tenant(tenant)
    pool().close()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert not report.failed, report.failures[:3]
    return {
        "documents": report.created,
        "chunks": report.chunks,
        "wall": wall,
        "client": after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime,
        "workers": children.ru_utime + children.ru_stime,
        "server": server,
    }


def resident(root: int) -> int:
    """Bytes that a process and those it started have resident."""
    parents: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    total, found = 0, [root]
    while found:
        process = found.pop()
        found += parents.get(process, [])
        try:
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
        except OSError:
            continue
    return total


def measured(dsn: str, folder: Path, embedder: str | None, workers: int | None) -> dict[str, Any]:
    """The same in a process of its own, with the most memory it had."""
    command = [
        sys.executable, __file__, "--one", json.dumps([dsn, str(folder), embedder, workers])
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.05):
            peak = max(peak, resident(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    out, _ = process.communicate()
    done.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"the ingest ended with {process.returncode}")
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result | {"peak_mb": peak / 1e6}


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="pdf-1, pdf-2, long-pdf, chunks, vectors, files")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--dsn", help="a database with pgsift in it; default: a server made for it")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(ingest(*json.loads(options.one))))
        return
    wanted = set(options.parts) or {"pdf-1", "pdf-2", "long-pdf", "chunks", "vectors", "files"}
    from engines import Pgsift, any_server
    from run import create_database

    with contextlib.ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        dsn = options.dsn
        if dsn is None:
            dsn = create_database(stack.enter_context(any_server())[0], "ingest")
            Pgsift(dsn)
        rows = []
        for part, embedder, workers in (
            ("pdf-1", None, 1),
            ("pdf-2", None, 2),
            ("long-pdf", None, None),
            ("chunks", None, None),
            ("vectors", "minilm", None),
            ("files", None, None),
        ):
            if part not in wanted:
                continue
            folder = base / part
            folder.mkdir()
            pages = 0
            if part in ("pdf-1", "pdf-2"):
                pages = 400
                make_pdfs(folder, 20, 20)
            elif part == "long-pdf":
                # In one column: the library that makes the others takes minutes for so many pages.
                from documents import prose, simple_pdf

                pages = 600
                (folder / "long.pdf").write_bytes(simple_pdf(*(prose(500, number) for number in range(pages))))
            else:
                make_texts(folder, {"chunks": 2000, "vectors": 200, "files": options.files}[part])
            one = measured(dsn, folder, embedder, workers)
            processor = one["client"] + one["workers"] + (one["server"] or 0)
            amount, what = (pages, "pages") if pages else (one["chunks"], "chunks")
            server = "" if one["server"] is None else f"{one['server']:.1f}"
            row = [part, f"{one['documents']:,}", f"{amount:,} {what}", f"{one['wall']:.1f}"]
            row += [f"{one['client']:.1f}", f"{one['workers']:.1f}", server]
            row += [f"{amount / one['wall']:,.0f}", f"{amount / processor:,.0f}", f"{one['peak_mb']:,.0f}"]
            rows.append(row)
            print(" | ".join(rows[-1]), flush=True)
        head = ["part", "files", "amount", "wall s", "client CPU s", "workers CPU s", "server CPU s"]
        head += ["per s", "per CPU s", "peak MB"]
        print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        for row in rows:
            print("| " + " | ".join(row) + " |")
        print(f"\nload average at the end: {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
