"""Vectors of single terms, of which the database approximates those of queries (docs/query-vectors.md).

A term is what an analyzer makes of a word, so what is embedded for it is a *form*: a word that becomes this term.
A model that reads words in their surroundings is given the form in each of :data:`CONTEXTS`; of each vector the
common component is taken away, which is that of the same context around common words, and the mean of what
remains, scaled to length one, is the term's vector. Where the vector of a text is the mean of those of its tokens
(an embedder that says ``contextual = False``), it is the form's own vector.

S. Arora, Y. Liang, T. Ma: A Simple but Tough-to-Beat Baseline for Sentence Embeddings, ICLR 2017.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from pgsift.domain.analyzer import get_analyzer
from pgsift.embed._base import Embedder, numpy
from pgsift.errors import InvalidArgument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: What a form is embedded in: alone, and asked for.
CONTEXTS: tuple[str, ...] = ("{}", "what is {}?")
#: How many common words the common component is the mean of.
COMMON_WORDS = 1000


@cache
def common_words() -> tuple[str, ...]:
    """English words of at least two letters, roughly the most frequent first: those of the vocabulary that comes
    with the default model."""
    data = resources.files("pgsift.embed").joinpath("minilm_data", "vocab.txt").read_text(encoding="utf-8")
    return tuple(word for word in data.split("\n") if len(word) > 1 and word.isascii() and word.isalpha())


@cache
def _neutral_forms(analyzer: str) -> dict[str, str]:
    forms: dict[str, str] = {}
    for word in common_words():
        tokens = get_analyzer(analyzer).tokenize(word)
        # The term itself where it is a word, then the shortest, then the most frequent.
        if len(tokens) == 1:
            term = tokens[0]
            if word == term or term not in forms or (forms[term] != term and len(word) < len(forms[term])):
                forms[term] = word
    return forms


def neutral_form(analyzer: str, term: str) -> str:
    """A form of a term that no corpus has a say in: the shortest common word that becomes it, or the term."""
    return _neutral_forms(analyzer).get(term, term)


def count_forms(analyzer: str, texts: Iterable[str], counts: dict[str, Counter[str]]) -> None:
    """Count, by term, the forms that occur in texts."""
    terms = get_analyzer(analyzer)
    words = get_analyzer("standard") if analyzer == "english" else terms
    for text in texts:
        found = terms.tokenize(text)
        # Token by token, english is the stem of what standard makes.
        for term, word in zip(found, found if words is terms else words.tokenize(text), strict=True):
            counts.setdefault(term, Counter())[word] += 1


def frequent_form(forms: Counter[str]) -> str:
    """The most frequent form; of equals the shortest, then the first in order."""
    return min(forms, key=lambda form: (-forms[form], len(form), form))


class TermVectors:
    """Vectors of forms by an embedder, as this module says; what is common is embedded once, when first needed.

    Raises :class:`~pgsift.errors.InvalidArgument` for an embedder whose vectors differ in length and are not
    compared by cosine: a sum of terms tells the direction of a query's vector, not its length.
    """

    def __init__(self, embedder: Embedder) -> None:
        if embedder.metric != "cosine" and not getattr(embedder, "normalized", False):
            raise InvalidArgument(
                f"the vectors of {embedder.name!r} are compared by {embedder.metric} and have different lengths",
                hint="The vector of a query can be approximated for models that compare by cosine, or whose "
                "vectors have length one.",
            )
        self._embedder = embedder
        self._contextual = bool(getattr(embedder, "contextual", True))
        self._common: list[NDArray[np.float64]] | None = None

    def vectors(self, forms: Sequence[str]) -> NDArray[np.float64]:
        """Vectors of length one, shape ``(len(forms), dimensions)``; a row of zeros where nothing is left of a
        form when the common component is gone."""
        if not forms:
            raise InvalidArgument("there is no form to embed")
        if not self._contextual:
            return self._embed(forms)
        if self._common is None:
            words = common_words()[:COMMON_WORDS]
            self._common = [self._embed([c.format(word) for word in words]).mean(axis=0) for c in CONTEXTS]
        parts = [
            _unit(self._embed([context.format(form) for form in forms]) - common)
            for context, common in zip(CONTEXTS, self._common, strict=True)
        ]
        return _unit(numpy().mean(parts, axis=0))

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        embedder = self._embedder
        rows: object
        if embedder.query_prefix == embedder.document_prefix:
            rows = embedder.embed_documents(texts)
        else:
            # As queries are; only documents can be embedded many at a time.
            rows = numpy().stack([embedder.embed_query(text) for text in texts])
        return _unit(numpy().asarray(rows, dtype="float64"))


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = numpy().linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float64] = rows * (lengths > 1e-9) / numpy().maximum(lengths, 1e-9)
    return unit
