"""Measure search and the detection of languages on collections in several languages, and write docs/languages.md.

    python tools/languages.py [COLLECTIONS] [--check]

The samples of tests/relevance/languages are always measured, those named xquad-LANGUAGE where the folder
COLLECTIONS has them. The table in the page is replaced and the text around it kept. With --check nothing is
written, and the exit code is 1 where the page says something else. Ranked is in memory, by the analyzers and the
formula of the store.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pgsift.domain.analyzer import get_analyzer
from pgsift.domain.query import search_terms
from pgsift.evaluate import Collection, load_collection, score_run
from pgsift.evaluate.memory import lexical_run
from pgsift.ingest.languages import detect

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "tests" / "relevance" / "languages"
PAGE = ROOT / "docs" / "languages.md"
MARKS = ("<!-- figures -->", "<!-- end of figures -->")
NAMES = {"en": "English", "zh": "Chinese", "ar": "Arabic", "de": "German", "hi": "Hindi", "ja": "Japanese",
         "ru": "Russian"}  # fmt: skip
ANALYZERS = ("standard", "english")


def collections(folder: Path | None) -> dict[str, tuple[str, Collection]]:
    """By language, the name of a collection and what it holds."""
    found: dict[str, tuple[str, Collection]] = {}
    for language in NAMES:
        places = [SAMPLES / language]
        if folder is not None:
            places.insert(0, folder / f"xquad-{language}")
        place = next((place for place in places if place.is_dir()), None)
        if place is not None:
            name = "own samples" if place.parent == SAMPLES else place.name
            found[language] = name, load_collection(place)
    return found


def ranked(collection: Collection, analyzer: str) -> tuple[float, float]:
    """recall@10 and nDCG@10 of lexical search."""
    terms = get_analyzer(analyzer)
    scores = score_run(
        collection.qrels, lexical_run(collection, terms.tokenize, lambda query: search_terms(terms, query))
    )
    return tuple(  # type: ignore[return-value]
        sum(scores[measure].values()) / len(collection.qrels) for measure in ("recall@10", "nDCG@10")
    )


def detected(texts: Sequence[str], language: str) -> tuple[float, float]:
    """The shares of texts whose language is told right, and wrong; the rest is not told."""
    found = [detect(text) for text in texts]
    return found.count(language) / len(found), sum(one not in (language, None) for one in found) / len(found)


def figures(folder: Path | None) -> dict[str, dict[str, object]]:
    """Everything that is measured, by language."""
    result: dict[str, dict[str, object]] = {}
    for language, (name, collection) in collections(folder).items():
        result[language] = {
            "collection": name,
            "documents": len(collection.documents),
            "queries": len(collection.queries),
            **{analyzer: ranked(collection, analyzer) for analyzer in ANALYZERS},
            "passages": detected([document.text for document in collection.documents], language),
            "questions": detected(list(collection.queries.values()), language),
        }
    return result


def table(found: Mapping[str, Mapping[str, object]]) -> str:
    """The figures as Markdown."""
    lines = [
        "| language | collection | passages, queries | `standard`: recall@10, nDCG@10 "
        "| `english`: recall@10, nDCG@10 | passages told right, wrong | queries told right, wrong |",
        "|---|---|---|---|---|---|---|",
    ]
    show: Callable[[object], str] = lambda pair: ", ".join(f"{value:.3f}" for value in pair)  # type: ignore[attr-defined] # noqa: E731
    for language, row in found.items():
        cells = [NAMES[language], row["collection"], f"{row['documents']:,}, {row['queries']:,}"]
        cells += [show(row[name]) for name in (*ANALYZERS, "passages", "questions")]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(prog="python tools/languages.py", description=__doc__)
    parser.add_argument("collections", type=Path, nargs="?")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    page = PAGE.read_text(encoding="utf-8")
    begin, end = (page.index(mark) for mark in MARKS)
    new = f"{page[: begin + len(MARKS[0])]}\n\n{table(figures(options.collections))}\n\n{page[end:]}"
    if options.check:
        return int(new != page)
    PAGE.write_text(new, encoding="utf-8")
    print(PAGE.relative_to(ROOT), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
