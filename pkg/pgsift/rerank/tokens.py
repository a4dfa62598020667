"""Models of late interaction, which give one vector for each token of a text.

    O. Khattab, M. Zaharia: ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction
    over BERT, SIGIR 2020.

The database stores the vectors of a chunk's tokens and computes the score of a query exactly: the sum over the
query's tokens of the greatest inner product with a token of the chunk (:func:`maxsim`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pgsift.embed._base import is_embeddable, numpy, unit_rows, without_surrogates
from pgsift.errors import InvalidArgument, InvalidVector, ModelUnavailable
from pgsift.rerank._graph import Graph

if TYPE_CHECKING:
    from pgsift.embed._base import Vectors


@runtime_checkable
class TokenEmbedder(Protocol):
    """Anything that turns texts into one vector per token, all of one length.

    ``name`` and ``revision`` say which model with which settings made the vectors; those of two are never
    mixed. ``remote``, where it has one, says whether texts leave for another machine.
    """

    @property
    def name(self) -> str: ...
    @property
    def revision(self) -> str: ...
    @property
    def dimensions(self) -> int: ...

    def embed_document_tokens(self, texts: Sequence[str]) -> Sequence[Vectors]:
        """For each text, none of them blank, float32 of shape ``(tokens, dimensions)``, at least one token."""
        ...

    def embed_query_tokens(self, text: str) -> Vectors:
        """Of a query: float32, shape ``(tokens, dimensions)``."""
        ...


def maxsim(query: Any, document: Any) -> float:
    """The score of late interaction in double precision: Σ over the rows of ``query``, shape ``(q, d)``, of the
    greatest inner product with a row of ``document``, shape ``(t, d)``; equation 3 of the paper."""
    np = numpy()
    products = np.asarray(query, dtype=np.float64) @ np.asarray(document, dtype=np.float64).T
    return float(products.max(axis=1).sum())


class OnnxTokenEmbedder:
    """Token vectors by an ONNX graph whose output has the shape (batch, tokens, dimensions).

    Every token the tokenizer makes counts, those it adds at both ends too; vectors are scaled to length one
    unless ``normalize`` is false. Prefixes are put before the texts.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        name: str | None,
        max_tokens: int,
        normalize: bool,
        query_prefix: str,
        document_prefix: str,
        batch_size: int,
    ) -> None:
        if batch_size < 1:
            raise InvalidArgument(f"batch_size is {batch_size}, must be at least 1")
        self.name = name or graph.name
        self._graph = graph
        self._max_tokens = max_tokens
        self._normalize = normalize
        self._prefixes = {"query": query_prefix, "document": document_prefix}
        self._batch_size = batch_size
        self._revision: str | None = None
        self._dimensions: int | None = None

    @property
    def revision(self) -> str:
        if self._revision is None:
            self._revision = self._graph.revision(
                max_tokens=self._max_tokens, normalize=self._normalize, **self._prefixes
            )
        return self._revision

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            self._dimensions = int(self._vectors(["a"])[0].shape[1])
        return self._dimensions

    def load(self) -> None:
        """Load the model now instead of at the first text; raises what the first text would raise."""
        self._graph.open()

    def embed_document_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        return self._embed(texts, "document")

    def embed_query_tokens(self, text: str) -> Vectors:
        return self._embed([text], "query")[0]

    def _embed(self, texts: Sequence[str], side: str) -> list[Vectors]:
        if isinstance(texts, str):
            raise InvalidArgument("texts is one string, not a sequence of strings", hint="Pass a list.")
        for place, text in enumerate(texts):
            if not is_embeddable(text):
                raise InvalidArgument(f"text {place} of {len(texts)} is blank and has no vectors")
        prefixed = [self._prefixes[side] + without_surrogates(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda place: len(prefixed[place]))
        found: dict[int, Vectors] = {}
        for start in range(0, len(order), self._batch_size):
            places = order[start : start + self._batch_size]
            for place, vectors in zip(places, self._vectors([prefixed[p] for p in places]), strict=True):
                found[place] = vectors
        return [found[place] for place in range(len(texts))]

    def _vectors(self, texts: Sequence[str]) -> list[Vectors]:
        np = numpy()
        opened = self._graph.open()
        output, mask = self._graph.run([opened.tokenizer.encode(text) for text in texts])
        if output.ndim != 3 or output.shape[:2] != mask.shape:
            raise ModelUnavailable(
                f"{self._graph.label}: model {self.name!r} gives an output of shape {output.shape} for tokens of "
                f"shape {mask.shape}, expected one vector for each token",
                hint="Export the token states, with the projection of the model if it has one.",
            )
        result: list[Vectors] = []
        for row, tokens in enumerate(mask.sum(axis=1)):
            own: Vectors = np.ascontiguousarray(output[row, : max(1, int(tokens))], dtype=np.float32)
            if not np.isfinite(own).all():
                raise InvalidVector(f"model {self.name!r} returned NaN or infinity for a token")
            result.append(unit_rows(own) if self._normalize else own)
        return result


def folder(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    max_tokens: int = 256,
    normalize: bool = True,
    query_prefix: str = "",
    document_prefix: str = "",
    batch_size: int = 8,
    threads: int | None = None,
) -> OnnxTokenEmbedder:
    """A folder that holds ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``; extra ``local``.

    Texts are cut after ``max_tokens`` tokens. The revision is a digest of the files and of these settings.
    """
    if not 3 <= max_tokens <= 4096:
        raise InvalidArgument(f"max_tokens is {max_tokens}, must lie between 3 and 4096")

    def truncate(tokenizer: Any) -> None:
        tokenizer.enable_truncation(max_length=max_tokens)

    graph = Graph(
        path,
        what="token embedder",
        outputs=("last_hidden_state", "token_embeddings"),
        export="token states (feature extraction)",
        truncate=truncate,
        threads=threads,
    )
    return OnnxTokenEmbedder(
        graph,
        name=name,
        max_tokens=max_tokens,
        normalize=normalize,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        batch_size=batch_size,
    )
