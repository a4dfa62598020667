"""Chunkers compared: by the documents they find, and by whether what they find holds the answer.

A collection is stored once with each chunker and searched with its queries. Two things are measured. Documents are
ranked by their best chunk and scored by the judgments (:data:`~pgsift.evaluate.metrics.MEASURES`). And for
queries whose answer is known, in ``answers.jsonl``, it is looked up whether the answer stands, character by
character, in what is shown of the first hits: of the chunk, or of its context where its chunker has one.

Larger chunks hold more answers for being larger. So the second is measured over so many hits and over so many
characters: what a reader, or a language model, is given to read.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgsift.embed import Embedder, load_embedder, reads
from pgsift.errors import InvalidArgument, NothingToSearch
from pgsift.evaluate import _checked_modes, _silent
from pgsift.evaluate._store import ScratchTenant
from pgsift.evaluate.collection import Collection, _field, _objects, load_collection
from pgsift.evaluate.metrics import MEASURES, Bootstrap, Estimate, PerQuery, score_run
from pgsift.evaluate.report import _aligned, _interval, _markdown
from pgsift.ingest.chunkers import TextChunker, load_chunker
from pgsift.models import Hit

if TYPE_CHECKING:
    from pgsift.store import Store

#: Numbers of hits, and of characters, in which an answer is looked for.
HITS: tuple[int, ...] = (1, 3, 5, 10)
BUDGET = 2000

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Answer:
    """A query whose answer is known: any of ``answers`` is right. With a ``key`` only where it stands in that
    document."""

    query: str
    answers: tuple[str, ...]
    key: str | None = None


@dataclass(frozen=True, slots=True)
class ChunkerResult:
    """What one chunker scored in one mode.

    ``measures`` are those of documents. ``answered`` has the share of the known answers that are in what is shown
    of the first hits, under ``"1"``, ``"3"``, ``"5"``, ``"10"``, and under ``"characters"`` of the first
    :data:`BUDGET` characters; empty where no answers are known. ``shown`` is the mean number of characters of
    five hits. ``milliseconds`` is the median time of a search for ten chunks, without embedding the query.
    """

    chunker: str
    mode: str
    chunks: int
    tokens: float
    measures: Mapping[str, Estimate]
    answered: Mapping[str, Estimate]
    shown: float
    milliseconds: float
    per_query: Mapping[str, PerQuery]

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Plain dictionaries, strings and numbers, ready for JSON."""
        out: dict[str, Any] = {
            "chunker": self.chunker,
            "mode": self.mode,
            "chunks": self.chunks,
            "tokens": self.tokens,
            "measures": {name: estimate.to_dict() for name, estimate in self.measures.items()},
            "answered": {name: estimate.to_dict() for name, estimate in self.answered.items()},
            "shown": self.shown,
            "milliseconds": self.milliseconds,
        }
        if per_query:
            out["per_query"] = {name: dict(values) for name, values in self.per_query.items()}
        return out


@dataclass(frozen=True, slots=True)
class ChunkerReport:
    """Chunkers compared on one collection."""

    collection: str
    documents: int
    words: float
    queries: int
    answers: int
    settings: Mapping[str, Any]
    results: Sequence[ChunkerResult]

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers, ready for JSON."""
        return {
            "collection": self.collection,
            "documents": self.documents,
            "words": self.words,
            "queries": self.queries,
            "answers": self.answers,
            "settings": dict(self.settings),
            "chunkers": [result.to_dict(per_query=per_query) for result in self.results],
        }

    def rows(self) -> list[tuple[str, ...]]:
        """The table of documents: a heading row, then one for each chunker and mode."""
        rows: list[tuple[str, ...]] = [("chunker", "mode", "chunks", "tokens", *MEASURES, "ms")]
        for one in self.results:
            measures = (_interval(one.measures[measure]) for measure in MEASURES)
            rows.append(
                (
                    one.chunker,
                    one.mode,
                    f"{one.chunks:,}",
                    f"{one.tokens:.0f}",
                    *measures,
                    f"{one.milliseconds:.1f}",
                )
            )
        return rows

    def answer_rows(self) -> list[tuple[str, ...]]:
        """The table of answers: a heading row, then one for each chunker and mode."""
        hits = [f"{count} hit{'s' if count > 1 else ''}" for count in HITS]
        rows: list[tuple[str, ...]] = [
            ("chunker", "mode", *hits, f"{BUDGET:,} characters", "characters of 5 hits")
        ]
        for one in self.results:
            cells = (_interval(one.answered[name]) for name in (*map(str, HITS), "characters"))
            rows.append((one.chunker, one.mode, *cells, f"{one.shown:,.0f}"))
        return rows

    def _about(self) -> str:
        settings = "  ".join(f"{key}={value}" for key, value in self.settings.items() if value is not None)
        return (
            f"{self.collection}: {self.documents:,} documents of {self.words:,.0f} words on average, "
            f"{self.queries:,} judged queries, {self.answers:,} known answers\n{settings}"
        )

    def to_table(self) -> str:
        """The report as aligned lines of text."""
        lines = [*self._about().split("\n"), "", *_aligned(self.rows())]
        if self.answers:
            lines += ["", "known answers in what is shown of the first", "", *_aligned(self.answer_rows())]
        return "\n".join([*lines, "", f"in brackets: the {self.settings['level']:.0%} interval over queries"])

    def to_markdown(self) -> str:
        """The tables as Markdown."""
        parts = [self._about().replace("\n", "; "), _markdown(self.rows())]
        if self.answers:
            parts += ["Known answers in what is shown of the first", _markdown(self.answer_rows())]
        return "\n\n".join(parts) + "\n"


def load_answers(path: str | os.PathLike[str], collection: Collection) -> list[Answer]:
    """Known answers: one object a line, with ``query``, the id of a query of the collection or its text;
    ``answer`` or ``answers``, one or several; and ``key``, where only the document of that id has it.

    Raises :class:`~pgsift.errors.InvalidArgument` naming file and line.
    """
    keys = {document.key for document in collection.documents}
    found: list[Answer] = []
    for where, row in _objects(Path(path)):
        query = _field(row, "query", where)
        given = row.get("answers", row.get("answer"))
        answers = [given] if isinstance(given, str) else given
        if not isinstance(answers, list) or not all(isinstance(one, str) and one.strip() for one in answers):
            raise InvalidArgument(f"{where}: answer is no string, or a blank one, and answers no list of strings")
        if not answers:
            raise InvalidArgument(f"{where}: there is no answer")
        key = row.get("key")
        if key is not None and key not in keys:
            raise InvalidArgument(f"{where}: there is no document {str(key)[:100]!r} in the collection")
        found.append(Answer(collection.queries.get(query, query), tuple(answers), key))
    if not found:
        raise InvalidArgument(f"{path} holds no answer")
    return found


def compare_chunkers(
    store: Store,
    collection: str | os.PathLike[str] | Collection,
    chunkers: Sequence[str | TextChunker],
    *,
    context_prefix: bool = False,
    answers: str | os.PathLike[str] | Sequence[Answer] | None = None,
    modes: Sequence[str] | None = None,
    analyzer: str = "english",
    embedder: Embedder | str | None = None,
    k: int = 100,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> ChunkerReport:
    """Compare chunkers on a judged collection.

    With ``context_prefix`` each is measured with prefixes of title and section too. ``answers`` is a file as
    :func:`load_answers` reads it, or what it gives; left out, ``answers.jsonl`` of the collection's folder is read
    where there is one. ``modes``, ``analyzer``, ``embedder`` and ``k`` (how many documents are ranked) are
    those of :func:`pgsift.evaluate.evaluate`.

    Raises :class:`~pgsift.errors.InvalidArgument` for a chunker that is not known, and what ``evaluate`` raises.
    """
    if isinstance(chunkers, str) or not chunkers:
        raise InvalidArgument("no chunker to measure", hint="Name some, such as structure and window.")
    loaded = [load_chunker(one) if isinstance(one, str) else one for one in chunkers]
    if isinstance(embedder, str):
        embedder = load_embedder(embedder)
    embedder = embedder or store.embedder
    chosen = _checked_modes(modes, embedder)
    if not isinstance(collection, Collection):
        folder = Path(collection)
        collection = load_collection(folder)
        if answers is None and (folder / "answers.jsonl").exists():
            answers = folder / "answers.jsonl"
    if isinstance(answers, str | os.PathLike):
        answers = load_answers(answers, collection)
    known = list(answers or ())
    if not any(mode != "lexical" for mode in chosen):
        embedder = None
    queries = collection.judged_queries
    vectors: dict[str, Any] = {}
    progress = progress or _silent
    if embedder is not None:
        texts = list(dict.fromkeys([*queries.values(), *(one.query for one in known)]))
        for number, text in enumerate(texts, start=1):
            vectors[text] = embedder.embed_query(text)
            progress("embed queries", number, len(texts))
    judged = Bootstrap(list(queries), resamples=resamples, level=level, seed=seed)
    numbers = [str(number) for number in range(len(known))]
    answered = Bootstrap(numbers, resamples=resamples, level=level, seed=seed) if known else None
    results: list[ChunkerResult] = []
    for chunker in loaded:
        for prefix in (False, True) if context_prefix else (False,):
            name = f"{chunker.name}, prefix" if prefix else chunker.name
            with ScratchTenant(
                store, analyzer=analyzer, embedder=embedder, split=True, chunker=chunker, context_prefix=prefix
            ) as tenant:
                tenant.put(collection.documents, partial(progress, f"ingest {name}"))
                chunks, tokens = tenant.size()
                for mode in chosen:
                    searched = _Searched(tenant, mode, embedder, vectors)
                    label = f"{name}: {mode}"
                    rankings: dict[str, list[str]] = {}
                    for number, (query, text) in enumerate(queries.items(), start=1):
                        rankings[query] = [hit.key for hit in searched.find(text, k=k, per_document=1)]
                        progress(label, number, len(queries))
                    per_query: dict[str, PerQuery] = dict(score_run(collection.qrels, rankings))
                    measures = {measure: judged.estimate(per_query[measure]) for measure in MEASURES}
                    found, shown, seconds = _find_answers(searched, known, label, progress)
                    results.append(
                        ChunkerResult(
                            name,
                            mode,
                            chunks,
                            tokens,
                            measures,
                            {column: answered.estimate(values) for column, values in found.items()}
                            if answered is not None
                            else {},
                            shown,
                            1000 * statistics.median(seconds or searched.seconds),
                            per_query | {f"answered {column}": values for column, values in found.items()},
                        )
                    )
    words = sum(len(document.text.split()) for document in collection.documents) / len(collection.documents)
    return ChunkerReport(
        collection.name,
        len(collection.documents),
        words,
        len(queries),
        len(known),
        {
            "analyzer": analyzer,
            "embedder": embedder.identity if embedder is not None else None,
            "k": k,
            "resamples": resamples,
            "level": level,
            "seed": seed,
        },
        results,
    )


class _Searched:
    """Searches of one chunker in one mode, with their times."""

    def __init__(
        self, tenant: ScratchTenant, mode: str, embedder: Embedder | None, vectors: Mapping[str, Any]
    ) -> None:
        self._tenant, self._mode, self._embedder, self._vectors = tenant, mode, embedder, vectors
        self.seconds: list[float] = []

    def find(self, text: str, *, k: int, per_document: int | None) -> Sequence[Hit]:
        vector = None
        if self._mode == "dense" or (self._mode == "hybrid" and reads(self._embedder, text)):
            vector = self._vectors[text]
        started = time.perf_counter()
        try:
            hits = self._tenant.search(text, k=k, mode=self._mode, vector=vector, per_document=per_document)
        except NothingToSearch:
            hits = []
        self.seconds.append(time.perf_counter() - started)
        return hits


def _find_answers(
    searched: _Searched, known: Sequence[Answer], label: str, progress: Progress
) -> tuple[dict[str, PerQuery], float, list[float]]:
    """Whether each answer was found, for each number of hits and within the budget; the mean number of characters
    of five hits; and the times."""
    columns = (*map(str, HITS), "characters")
    found: dict[str, PerQuery] = {column: {} for column in columns}
    lengths: list[int] = []
    before = len(searched.seconds)
    for number, one in enumerate(known):
        hits = searched.find(one.query, k=max(HITS), per_document=None)
        pieces = [(hit.key, shown(hit)) for hit in hits]
        lengths.append(sum(len(text) for _, text in pieces[:5]))
        places = [
            place
            for place, (key, text) in enumerate(pieces, start=1)
            if one.key in (None, key) and any(answer in text for answer in one.answers)
        ]
        for count in HITS:
            found[str(count)][str(number)] = float(bool(places) and places[0] <= count)
        found["characters"][str(number)] = float(_within(pieces, one))
        progress(f"{label}, answers", number + 1, len(known))
    if not known:
        return {}, 0.0, []
    return found, statistics.fmean(lengths), searched.seconds[before:]


def shown(hit: Hit) -> str:
    """What a reader is given of a hit: its context, else its body; nothing where a better hit shows it already."""
    if hit.context_of is not None:
        return ""
    return hit.body if hit.context is None else hit.context


def _within(pieces: Sequence[tuple[str, str]], one: Answer) -> bool:
    left = BUDGET
    for key, text in pieces:
        if left <= 0:
            return False
        if one.key in (None, key) and any(answer in text[:left] for answer in one.answers):
            return True
        left -= len(text)
    return False
