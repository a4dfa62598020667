"""``python -m pgsift.evaluate.tune FOLDER…``: what weights, depth and rrf_k do to judged collections.

Everything is computed in memory, exactly, from one ranking per leg: BM25 with an analyzer, cosine with an
embedder. The output is Markdown. Vectors can be kept in a folder (``--cache``), one file per embedder and
collection, since embedding is nearly all of the work.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pgsift.domain.analyzer import get_analyzer
from pgsift.embed import Embedder, load_embedder
from pgsift.evaluate.collection import Collection, load_collection
from pgsift.evaluate.memory import (
    Runs,
    dense_run,
    document_positions,
    document_texts,
    fuse_runs,
    lexical_run,
)
from pgsift.evaluate.metrics import MEASURES, Bootstrap, PerQuery, score_run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = dict[str, NDArray[np.float32]]

WEIGHTS: tuple[tuple[float, float], ...] = (
    (1, 0.1),
    (1, 0.25),
    (1, 0.5),
    (1, 0.75),
    (1, 1),
    (0.75, 1),
    (0.5, 1),
    (0.25, 1),
    (0.05, 1),
)
DEPTHS: tuple[int, ...] = (50, 100, 200, 500, 1000)
CONSTANTS: tuple[float, ...] = (1, 5, 10, 20, 40, 60, 100)


@dataclass(frozen=True)
class Row:
    """One line of a sweep: what was run, and each measure's mean."""

    label: str
    means: Mapping[str, float]
    per_query: Mapping[str, PerQuery]


def measured(label: str, collection: Collection, run: Runs) -> Row:
    """A run with the mean of each measure over the judged queries."""
    per_query = score_run(collection.qrels, run)
    means = {measure: sum(values.values()) / len(values) for measure, values in per_query.items()}
    return Row(label=label, means=means, per_query=per_query)


def sweep_weights(
    collection: Collection,
    lexical: Runs,
    dense: Runs,
    *,
    weights: Sequence[tuple[float, float]] = WEIGHTS,
    depth: int = 100,
    rrf_k: float = 60,
) -> list[Row]:
    """Both legs alone, then their fusion at each pair of weights (lexical, dense)."""
    positions = document_positions(collection)
    rows = [measured("lexical", collection, lexical), measured("dense", collection, dense)]
    for left, right in weights:
        run = fuse_runs([(lexical, left), (dense, right)], rrf_k=rrf_k, depth=depth, positions=positions)
        rows.append(measured(f"{left:g} : {right:g}", collection, run))
    return rows


def sweep_depth(
    collection: Collection,
    lexical: Runs,
    dense: Runs,
    *,
    weights: tuple[float, float] = (1, 1),
    depths: Sequence[int] = DEPTHS,
    rrf_k: float = 60,
) -> list[Row]:
    """The fusion of the first ``depth`` ranks of each leg, for each depth."""
    legs = [(lexical, weights[0]), (dense, weights[1])]
    positions = document_positions(collection)
    return [
        measured(f"depth {depth}", collection, fuse_runs(legs, rrf_k=rrf_k, depth=depth, positions=positions))
        for depth in depths
    ]


def sweep_constant(
    collection: Collection,
    lexical: Runs,
    dense: Runs,
    *,
    weights: tuple[float, float] = (1, 1),
    constants: Sequence[float] = CONSTANTS,
    depth: int = 100,
) -> list[Row]:
    """The fusion with each ``rrf_k``: the smaller it is, the more a first rank counts against a tenth."""
    legs = [(lexical, weights[0]), (dense, weights[1])]
    positions = document_positions(collection)
    return [
        measured(
            f"rrf_k {constant:g}",
            collection,
            fuse_runs(legs, rrf_k=constant, depth=depth, positions=positions),
        )
        for constant in constants
    ]


def embedded(
    collection: Collection, embedder: Embedder, *, cache: Path | None = None
) -> tuple[Vectors, Vectors]:
    """Vectors of the documents and of the judged queries, by key, from the cache where it has them."""
    documents = document_texts(collection)
    queries = collection.judged_queries
    return (
        _cached(cache, embedder, documents, embedder.embed_documents),
        _cached(cache, embedder, queries, lambda texts: _stack(embedder.embed_query(t) for t in texts)),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, sweep, print."""
    options = _parser().parse_args(arguments)
    analyzers = {name: get_analyzer(name) for name in options.analyzer}
    embedder = load_embedder(options.embedder)
    deepest = max(options.depth, *options.depths)
    print(f"embedder {embedder.identity}, rrf_k {options.rrf_k:g}, depth {options.depth}\n")
    for folder in options.folders:
        collection = load_collection(folder)
        started = time.perf_counter()
        documents, queries = embedded(collection, embedder, cache=options.cache)
        print(f"{collection.name}: vectors in {time.perf_counter() - started:.1f} s", file=sys.stderr)
        dense = dense_run(documents, queries, depth=deepest)
        bootstrap = Bootstrap(list(collection.qrels), seed=0)
        for name, analyzer in analyzers.items():
            lexical = lexical_run(collection, analyzer.tokenize, analyzer.query_terms, depth=deepest)
            rows = sweep_weights(
                collection,
                _cut(lexical, options.depth),
                _cut(dense, options.depth),
                depth=options.depth,
                rrf_k=options.rrf_k,
            )
            print(f"### {collection.name}, {name}\n")
            print(_table("lexical : dense", rows, bootstrap, "lexical"))
            left, right = options.weights
            rows = sweep_depth(
                collection, lexical, dense, weights=(left, right), depths=options.depths, rrf_k=options.rrf_k
            )
            print(_table(f"{left:g} : {right:g}", rows, bootstrap, "depth 100"))
            rows = sweep_constant(collection, lexical, dense, weights=(left, right), depth=options.depth)
            print(_table(f"{left:g} : {right:g}", rows, bootstrap, "rrf_k 60"))
            print(_complement(collection, _cut(lexical, options.depth), _cut(dense, options.depth)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pgsift.evaluate.tune", description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="a judged collection")
    parser.add_argument("--embedder", default="minilm", help="as load_embedder takes it (default: minilm)")
    parser.add_argument("--analyzer", nargs="+", default=["standard", "english"], help="analyzers to compare")
    parser.add_argument(
        "--depth", type=int, default=100, help="ranks of each leg that are fused (default: 100)"
    )
    parser.add_argument("--depths", type=int, nargs="+", default=list(DEPTHS), help="depths to compare")
    parser.add_argument("--rrf-k", type=float, default=60, help="constant of the fusion (default: 60)")
    parser.add_argument(
        "--weights",
        type=float,
        nargs=2,
        default=[1, 1],
        help="while the others vary (default: 1 1)",
    )
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    return parser


def _cut(runs: Runs, depth: int) -> Runs:
    return {query: ranking[:depth] for query, ranking in runs.items()}


def _table(heading: str, rows: Sequence[Row], bootstrap: Bootstrap, baseline: str) -> str:
    """A Markdown table; the last column is the paired difference of nDCG@10 to ``baseline``'s row."""
    lines = [f"| {heading} | " + " | ".join(MEASURES) + f" | nDCG@10 to {baseline} |"]
    lines.append("|---" * (len(MEASURES) + 2) + "|")
    reference = next((row for row in rows if row.label == baseline), None)
    for row in rows:
        difference = ""
        if reference is not None and row is not reference:
            shift = bootstrap.difference(row.per_query["nDCG@10"], reference.per_query["nDCG@10"])
            difference = f"{shift.mean:+.4f} [{shift.low:+.4f}, {shift.high:+.4f}]"
        cells = " | ".join(f"{row.means[measure]:.4f}" for measure in MEASURES)
        lines.append(f"| {row.label} | {cells} | {difference} |")
    return "\n".join(lines) + "\n"


def _complement(collection: Collection, lexical: Runs, dense: Runs) -> str:
    """What each leg has that the other lacks: the most that any fusion of these two rankings can find."""
    both = only_lexical = only_dense = neither = 0
    for query, grades in collection.qrels.items():
        relevant = {key for key, grade in grades.items() if grade > 0}
        left, right = relevant & set(lexical.get(query, ())), relevant & set(dense.get(query, ()))
        both += len(left & right)
        only_lexical += len(left - right)
        only_dense += len(right - left)
        neither += len(relevant - left - right)
    total = both + only_lexical + only_dense + neither
    return (
        f"Of {total:,} relevant documents both legs have {both / total:.1%}, the lexical leg alone "
        f"{only_lexical / total:.1%}, the dense leg alone {only_dense / total:.1%}, "
        f"neither {neither / total:.1%}.\n"
    )


def _cached(
    cache: Path | None,
    embedder: Embedder,
    texts: Mapping[str, str],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
) -> Vectors:
    import numpy as np

    keys = list(texts)
    if cache is None:
        matrix = embed(list(texts.values()))
        return dict(zip(keys, matrix, strict=True))
    # The name of the file stands for everything that made it, so that no entry can be stale.
    content = hashlib.sha256(
        "\x00".join([embedder.identity, *texts.values()]).encode("utf-8", "surrogatepass")
    )
    path = cache / f"{content.hexdigest()[:32]}.npy"
    if path.exists():
        matrix = np.load(path, allow_pickle=False)
    else:
        matrix = embed(list(texts.values()))
        cache.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        with partial.open("wb") as file:
            np.save(file, matrix)
        partial.replace(path)
    return dict(zip(keys, matrix, strict=True))


def _stack(vectors: Iterable[NDArray[np.float32]]) -> NDArray[np.float32]:
    import numpy as np

    stacked: NDArray[np.float32] = np.stack(list(vectors))
    return stacked


if __name__ == "__main__":
    sys.exit(main())
