"""Measure what searches find on judged collections, and write docs/quality.md.

    python tools/quality.py COLLECTIONS --results DIR [--dsn DSN] [--cache DIR] [--only NAME …]

COLLECTIONS is a folder with one folder for each collection (corpus.jsonl, queries.jsonl, qrels.tsv). Each
measurement is kept as a JSON file in the folder of --results and not made again while it is there, so that the
command goes on where it was interrupted. The page is made of these files alone, and of the text between the
marks "findings" in the page, which is written by hand and kept.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pgsift import Store
from pgsift.domain.analyzer import get_analyzer
from pgsift.embed import load_embedder
from pgsift.evaluate import MEASURES, MODES, evaluate, keyword_form, load_collection
from pgsift.evaluate.cache import CachedEmbedder
from pgsift.evaluate.sweep import tune

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "quality.md"
NAMES = ("scifact", "stackfaq-answers", "xquad-en", "xquad-zh", "xquad-ar")
MARKS = ("<!-- findings -->", "<!-- end of findings -->")
EMBEDDER = "minilm"
ANALYZER = "english"
LEG_PARTS = ("both", "lexical_only", "dense_only", "neither")
# What is compared by tune, small enough to be measured on all collections.
LISTS = {
    "k1": (0.6, 0.9, 1.2, 1.6, 2.0),
    "b": (0.3, 0.5, 0.75, 0.9),
    "rrf_k": (1.0, 5.0, 10.0, 20.0, 60.0, 100.0),
    "weights": ((1.0, 0.25), (1.0, 0.5), (1.0, 1.0), (0.5, 1.0), (0.25, 1.0)),
    "depth": (50, 100, 200),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(prog="python tools/quality.py", description=__doc__)
    parser.add_argument("collections", type=Path)
    parser.add_argument("--results", type=Path, required=True, help="folder of the measurements")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors")
    parser.add_argument("--dsn", help="server to measure on; default: as pgsift does")
    parser.add_argument("--only", nargs="+", default=list(NAMES), help="these collections alone")
    parser.add_argument(
        "--parts", nargs="+", default=list(PARTS), choices=list(PARTS), help="these parts alone"
    )
    parser.add_argument("--page", action="store_true", help="write the page of the measurements there are")
    options = parser.parse_args(arguments)
    options.results.mkdir(parents=True, exist_ok=True)
    if not options.page:
        embedder: Any = load_embedder(EMBEDDER)
        if options.cache is not None:
            embedder = CachedEmbedder(embedder, options.cache)
        with Store(options.dsn) as store:
            for part in options.parts:
                for name in options.only:
                    path = options.results / f"{name}.{part}.json"
                    if path.exists():
                        continue
                    started = time.perf_counter()
                    result = PARTS[part](store, options.collections / name, embedder)
                    partial = path.with_suffix(".part")
                    partial.write_text(json.dumps(result), encoding="utf-8")
                    partial.replace(path)
                    took = time.perf_counter() - started
                    print(f"{name}, {part}: {took:.0f} s", file=sys.stderr, flush=True)
    found = {
        (name, part): json.loads((options.results / f"{name}.{part}.json").read_text(encoding="utf-8"))
        for name in NAMES
        for part in PARTS
        if (options.results / f"{name}.{part}.json").exists()
    }
    PAGE.write_text(page(found, findings(PAGE)), encoding="utf-8")
    return 0


def whole(store: Store, folder: Path, embedder: Any) -> dict[str, Any]:
    """Documents as one chunk each: the modes, the forms of the queries, what each ranking has."""
    report = evaluate(store, folder, analyzer=ANALYZER, embedder=embedder, forms=True)
    queries = load_collection(folder).judged_queries
    analyzer = get_analyzer(ANALYZER)
    example = next((text for text in queries.values() if keyword_form(text, analyzer) != text), None)
    return report.to_dict() | {
        "example": None if example is None else [example, keyword_form(example, analyzer)]
    }


def split(store: Store, folder: Path, embedder: Any) -> dict[str, Any]:
    """Documents cut as an ingest cuts them, by chunks and as a whole."""
    return evaluate(
        store, folder, analyzer=ANALYZER, embedder=embedder, split=True, units=("chunk", "document")
    ).to_dict()


def tuned(store: Store, folder: Path, embedder: Any) -> dict[str, Any]:
    """What the settings do, one after the other."""
    return tune(store, folder, LISTS, analyzer=ANALYZER, embedder=embedder).to_dict()


PARTS: Mapping[str, Callable[[Store, Path, Any], dict[str, Any]]] = {
    "whole": whole,
    "split": split,
    "tune": tuned,
}


def findings(path: Path) -> str:
    """What stands between the marks of the page."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    start, _, rest = text.partition(MARKS[0])
    inner, end, _ = rest.partition(MARKS[1])
    del start
    return inner.strip() if end else ""


def page(found: Mapping[tuple[str, str], Any], kept: str) -> str:
    """The page, of the measurements there are."""
    names = [name for name in NAMES if any(key[0] == name for key in found)]
    wholes = {name: found[name, "whole"] for name in names if (name, "whole") in found}
    splits = {name: found[name, "split"] for name in names if (name, "split") in found}
    tunes = {name: found[name, "tune"] for name in names if (name, "tune") in found}
    settings = next(iter(wholes.values()))["settings"] if wholes else {}
    level, resamples = settings.get("level", 0.95), settings.get("resamples", 2000)
    parts = [
        "# What searches find",
        "Measured with the command `make quality COLLECTIONS=…`, which writes this page; only the section on "
        "hybrid "
        "searches that lose to one of their rankings is written by hand. Everything goes through the "
        "database: each "
        "collection is stored in a tenant of its own, searched with every judged query, and removed.",
        f"Analyzer `{settings.get('analyzer')}`, embedder `{settings.get('embedder')}`, settings of a new "
        f"tenant, 100 "
        "documents asked for. **No cross-encoder is at hand, so there is no row for hybrid + rerank:** "
        "`pgsift evaluate "
        "--rerank MODEL` adds it where there is one. In brackets stands the "
        f"{level:.0%} percentile bootstrap interval over queries ({resamples:,} resamples, seed "
        f"{settings.get('seed')}); differences are paired, query by query.",
        "The embedder is an English one. Queries that are mostly of other letters are searched by words "
        "alone, so on "
        "xquad-zh and xquad-ar hybrid is lexical but for a few queries (decision 0005); the row dense is what "
        "the "
        "model makes of a script that it does not read.",
    ]
    if wholes:
        parts += [
            "## Documents as a whole",
            "Each document is one chunk, as other systems measure it.",
            _table(
                ["collection", "mode", *MEASURES, "ms"],
                (
                    [
                        name if number == 0 else "",
                        mode,
                        *(_estimate(one["measures"][measure]) for measure in MEASURES),
                        f"{one['milliseconds']:.1f}",
                    ]
                    for name, result in wholes.items()
                    for number, (mode, one) in enumerate(result["modes"].items())
                ),
            ),
            "Median milliseconds of one search for 100 documents, on a machine that did other work too. "
            "Hybrid less "
            "each of its rankings:",
            _differences(wholes, ("nDCG@10", "recall@100")),
            "## Where hybrid loses",
            losses(wholes),
            f"{MARKS[0]}\n\n{kept}\n\n{MARKS[1]}" if kept else f"{MARKS[0]}\n{MARKS[1]}",
            "## What each ranking has",
            "Of the relevant documents (pairs of query and document, grade above 0), those among the first "
            "100 of both "
            "rankings, of one alone (its own contribution), of neither. The union is the oracle: the mean "
            "recall of both "
            "rankings together, which no fusion can exceed; beside it what the hybrid keeps within 100 ranks.",
            _table(
                ["collection", "relevant", "both", "lexical alone", "dense alone", "neither", "union", "hybrid"],
                (
                    [
                        name,
                        f"{legs['relevant']:,}",
                        *(f"{legs[part]['share']:.2%}" for part in LEG_PARTS),
                        _estimate(legs["union_recall"]),
                        _estimate(legs["hybrid_recall"]),
                    ]
                    for name, result in wholes.items()
                    for legs in result["legs"].values()
                ),
            ),
            "## Questions and keywords",
            "The queries as they are, and in keyword form: without the words that make a question one, "
            "without words of "
            "which the analyzer keeps nothing (stopwords, single letters), without punctuation; the other "
            "words as they "
            "were typed. A query of which nothing would go stays as it is, as nearly all Chinese ones do. "
            "*Kept* and *stripped* say whether the search leaves out the words of questions "
            "(`strip_questions`; the "
            "default is to). Vectors are of the query as it is put, so stripping does not change them.",
            _table(
                ["collection", "a query", "its keyword form"],
                (
                    [name, *(_cell(text) for text in result["example"])]
                    for name, result in wholes.items()
                    if result.get("example")
                ),
            ),
            _table(
                ["collection", "queries (questions)", "form", *(f"{mode} nDCG@10" for mode in MODES)],
                (
                    [
                        name if number == 0 else "",
                        f"{result['queries']:,} ({result['questions']:,})" if number == 0 else "",
                        form,
                        *(_estimate(result["forms"][mode][form]["measures"]["nDCG@10"]) for mode in MODES),
                    ]
                    for name, result in wholes.items()
                    for number, form in enumerate(result["forms"]["lexical"])
                ),
            ),
            "## Duplicates",
            "Share of the first ten hits whose text stands above them in the same ranking, or one with a "
            "Jaccard "
            "similarity of 0.8 of the runs of five tokens (texts of 20 tokens at least). Searched without "
            "`collapse`, since "
            "judgments tell copies apart.",
            _table(
                ["collection", *MODES],
                (
                    [name, *(f"{result['modes'][mode]['duplicates']:.2%}" for mode in MODES)]
                    for name, result in wholes.items()
                ),
            ),
        ]
    if splits:
        parts += [
            "## Chunks and documents as units",
            "Documents are cut as `pgsift ingest` cuts them. Unit chunk: a document stands where its best "
            "chunk does. "
            "Unit document: BM25 over all of it, and its nearest chunk.",
            _table(
                ["collection", "mode, unit", *MEASURES],
                (
                    [
                        name if number == 0 else "",
                        mode if ", " in mode else f"{mode}, chunk",
                        *(_estimate(one["measures"][measure]) for measure in MEASURES),
                    ]
                    for name, result in splits.items()
                    for number, (mode, one) in enumerate(result["modes"].items())
                ),
            ),
        ]
    if tunes:
        parts += [
            "## Settings",
            "`pgsift tune` on each collection, hybrid: k1, b, rrf_k, weights and depth, one after the other "
            "and everything "
            "else as in a new tenant. The best of each for nDCG@10 and recall@100, with the paired difference "
            "to the "
            "current setting, and whether it lies beyond the interval for all comparisons together "
            "(Bonferroni). Chosen "
            "and measured on the same queries.",
            _table(
                ["collection", "measure", "best", "mean", "to current", "beyond"],
                (
                    [
                        name if number == 0 else "",
                        measure,
                        best["label"],
                        f"{best['mean']:.4f}",
                        "" if best["label"] == "current" else _estimate(best["difference"], signed=True),
                        "yes" if best["differs"] else "no",
                    ]
                    for name, result in tunes.items()
                    for number, (measure, best) in enumerate(
                        (measure, result["best"][measure]) for measure in ("nDCG@10", "recall@100")
                    )
                ),
            ),
        ]
        for name, result in tunes.items():
            parts += [
                f"### {name}",
                _table(
                    ["setting", *MEASURES, "nDCG@10 to current"],
                    (
                        [
                            row["label"],
                            *(f"{row['measures'][measure]['mean']:.4f}" for measure in MEASURES),
                            ""
                            if row["differences"] is None
                            else _estimate(row["differences"]["nDCG@10"], signed=True),
                        ]
                        for row in result["rows"]
                    ),
                ),
            ]
    return "\n\n".join(map(_wrapped, parts)) + "\n"


def losses(wholes: Mapping[str, Any]) -> str:
    """Which hybrid searches are below a ranking of theirs, by the means."""
    lines = []
    for name, result in wholes.items():
        for one in result["differences"]:
            for measure in ("nDCG@10", "recall@100"):
                if one["measures"][measure]["mean"] < -0.00005:
                    beyond = "beyond" if one["measures"][measure]["high"] < 0 else "within"
                    lines.append(
                        f"- {name}: {measure} of hybrid less that of {one['baseline']} is "
                        f"{_estimate(one['measures'][measure], signed=True)}: {beyond} the interval."
                    )
    return "\n".join(lines) if lines else "Nowhere."


def _differences(results: Mapping[str, Any], measures: Iterable[str]) -> str:
    return _table(
        ["collection", "difference", *measures],
        (
            [
                name if number == 0 else "",
                f"hybrid - {one['baseline']}",
                *(_estimate(one["measures"][measure], signed=True) for measure in measures),
            ]
            for name, result in results.items()
            for number, one in enumerate(result["differences"])
        ),
    )


def _wrapped(part: str) -> str:
    """A paragraph in lines; tables, lists, headings and what was written by hand as they are."""
    if part.startswith(("|", "-", "#", "<")):
        return part
    return textwrap.fill(part, width=118, break_long_words=False, break_on_hyphens=False)


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heading) + " |", "|---" * len(heading) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def _estimate(value: Mapping[str, float], *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    return f"{value['mean']:{sign}.4f} [{value['low']:{sign}.3f}, {value['high']:{sign}.3f}]"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
