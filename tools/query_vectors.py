"""Measure how well the database approximates the vectors of queries, and write docs/query-vectors.md.

    python tools/query_vectors.py COLLECTIONS --results DIR [--dsn DSN] [--cache DIR] [--only NAME …] [--page]

COLLECTIONS is a folder with one folder for each collection (corpus.jsonl, queries.jsonl, qrels.tsv). The
vectors are made by the database: the collection is stored in a tenant of its own, the vectors of its terms are
made, and sift.embed_query is asked for each judged query; no judged query takes part in making a vector of a
term. The rankings are computed of them in memory, exactly, as python -m pgsift.evaluate.tune does. Each
measurement is kept as a JSON file in the folder of --results and not made again while it is there; --page
writes the tables of those there are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pgsift import Store
from pgsift.domain.analyzer import get_analyzer
from pgsift.domain.query import search_terms
from pgsift.embed import load_embedder
from pgsift.evaluate import MEASURES, Bootstrap, load_collection, score_run
from pgsift.evaluate._store import ScratchTenant
from pgsift.evaluate.cache import CachedEmbedder
from pgsift.evaluate.memory import (
    Runs,
    dense_run,
    document_positions,
    document_texts,
    fuse_runs,
    lexical_run,
)

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "query-vectors.md"
MARKS = ("<!-- measured -->", "<!-- end of measured -->")
NAMES = ("scifact", "stackfaq-answers", "xquad-en", "pubmedqa")
EMBEDDERS = ("minilm", "static")
ANALYZER = "english"
#: Shares of the model's own dense weight that an approximated vector is tried with, and that of searches.
SHARES = (0.25, 0.5, 1.0)
DEFAULT_SHARE = 0.25


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(prog="python tools/query_vectors.py", description=__doc__)
    parser.add_argument("collections", type=Path)
    parser.add_argument("--results", type=Path, required=True, help="folder of the measurements")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors")
    parser.add_argument("--dsn", help="server to measure on; default: as pgsift does")
    parser.add_argument("--only", nargs="+", default=list(NAMES), help="these collections alone")
    parser.add_argument("--embedders", nargs="+", default=list(EMBEDDERS), help="these embedders alone")
    parser.add_argument("--page", action="store_true", help="write the page of the measurements there are")
    options = parser.parse_args(arguments)
    options.results.mkdir(parents=True, exist_ok=True)
    if not options.page:
        with Store(options.dsn) as store:
            for spec in options.embedders:
                embedder: Any = load_embedder(spec)
                if options.cache is not None:
                    embedder = CachedEmbedder(embedder, options.cache)
                for name in options.only:
                    path = options.results / f"{name}.{spec}.json"
                    if not path.exists():
                        path.write_text(
                            json.dumps(measure(store, options.collections / name, embedder)), encoding="utf-8"
                        )
                        print(path.name, file=sys.stderr, flush=True)
    found = {
        (spec, name): json.loads((options.results / f"{name}.{spec}.json").read_text(encoding="utf-8"))
        for spec in EMBEDDERS
        for name in NAMES
        if (options.results / f"{name}.{spec}.json").exists()
    }
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    PAGE.write_text(f"{before}{MARKS[0]}\n\n{tables(found)}\n\n{MARKS[1]}{after}", encoding="utf-8")
    return 0


def measure(store: Store, folder: Path, embedder: Any) -> dict[str, Any]:
    """What searches find with approximated vectors, beside those without and with the model's."""
    collection = load_collection(folder)
    queries = collection.judged_queries
    analyzer = get_analyzer(ANALYZER)
    with ScratchTenant(store, analyzer=ANALYZER, embedder=embedder) as tenant:
        tenant.put(collection.documents, _silent)
        fit = store.fit_terms(tenant.name, embedder=embedder)
        (model,) = [model for model in store.models() if model.model == embedder.name]
        made: dict[str, Any] = {}
        used: set[str] = set()
        terms = known = 0
        for key, text in queries.items():
            made[key] = store.embed_query(tenant.name, text, principals=tenant.principals)
            told = store.query_vector_terms(tenant.name, text, principals=tenant.principals)
            fitted = sum(term.fitted for term in told)
            terms += len(told)
            known += fitted
            # As sift.search decides it.
            if made[key] is not None and 2 * fitted >= len(told):
                used.add(key)
    texts = document_texts(collection)
    documents = dict(zip(texts, embedder.embed_documents(list(texts.values())), strict=True))
    own = {key: _unit(embedder.embed_query(text)) for key, text in queries.items()}
    near = [0.0 if made[key] is None else float(_unit(made[key]) @ own[key]) for key in queries]
    positions = document_positions(collection)
    lexical = lexical_run(collection, analyzer.tokenize, lambda text: search_terms(analyzer, text))
    dense = dense_run(documents, own)
    approximated = dense_run(documents, {key: np.asarray(made[key]) for key in queries if key in used})

    def hybrid(vectors: Runs, share: float) -> Runs:
        legs = [(lexical, model.lexical_weight), (vectors, share * model.dense_weight)]
        return fuse_runs(legs, positions=positions)

    runs = {
        "lexical": lexical,
        "hybrid, approximated": hybrid(approximated, DEFAULT_SHARE),
        "hybrid": hybrid(dense, 1),
        "dense, approximated": approximated,
        "dense": dense,
    } | {f"share {share:g}": hybrid(approximated, share) for share in SHARES}
    bootstrap = Bootstrap(list(queries))
    scores = {label: score_run(collection.qrels, run) for label, run in runs.items()}
    return {
        "documents": len(collection.documents),
        "queries": len(queries),
        "terms": fit.terms,
        "query_terms": terms,
        "known_terms": known,
        "used": len(used),
        "cosine": {"median": float(np.median(near)), "p5": float(np.percentile(near, 5))},
        "modes": {
            label: {measure: sum(values.values()) / len(values) for measure, values in score.items()}
            for label, score in scores.items()
        },
        "difference": {
            measure: bootstrap.difference(
                scores["hybrid, approximated"][measure], scores["lexical"][measure]
            ).to_dict()
            for measure in MEASURES
        },
    }


def _silent(done: int, total: int) -> None:
    del done, total


def _unit(vector: Any) -> Any:
    array = np.asarray(vector, dtype=np.float64)
    return array / np.linalg.norm(array)


def tables(found: Mapping[tuple[str, str], Any]) -> str:
    """The measurements as Markdown."""
    parts = []
    for spec in EMBEDDERS:
        results = {name: found[spec, name] for name in NAMES if (spec, name) in found}
        if not results:
            continue
        parts.append(f"### {spec}")
        parts.append(
            _table(
                ["collection", "terms with a vector", "of the queries' terms", "cosine, median", "5th percentile"],
                [
                    [
                        name,
                        f"{one['terms']:,}",
                        f"{one['known_terms'] / one['query_terms']:.1%}",
                        f"{one['cosine']['median']:.3f}",
                        f"{one['cosine']['p5']:.3f}",
                    ]
                    for name, one in results.items()
                ],
            )
        )
        labels = ("lexical", "hybrid, approximated", "hybrid", "dense, approximated", "dense")
        parts.append(
            _table(
                ["nDCG@10 / recall@100", *results],
                [[label, *(_pair(one["modes"][label]) for one in results.values())] for label in labels]
                + [
                    [
                        "approximated less lexical, nDCG@10",
                        *(
                            f"{d['mean']:+.4f} [{d['low']:+.3f}, {d['high']:+.3f}]"
                            for d in (one["difference"]["nDCG@10"] for one in results.values())
                        ),
                    ]
                ],
            )
        )
        parts.append(
            _table(
                ["approximated, share of the dense weight", *results],
                [
                    [f"{share:g}", *(_pair(one["modes"][f"share {share:g}"]) for one in results.values())]
                    for share in SHARES
                ],
            )
        )
    return "\n\n".join(parts)


def _pair(measures: Mapping[str, float]) -> str:
    return f"{measures['nDCG@10']:.4f} / {measures['recall@100']:.4f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


if __name__ == "__main__":
    raise SystemExit(main())
