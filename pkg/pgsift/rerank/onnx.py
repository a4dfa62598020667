"""A cross-encoder from a local folder, by onnxruntime and tokenizers alone; extra ``local``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pgsift.embed._base import require
from pgsift.errors import InvalidArgument, ModelUnavailable
from pgsift.rerank._base import BaseReranker
from pgsift.rerank._graph import Graph


class OnnxReranker(BaseReranker):
    """A cross-encoder as an ONNX graph: query and text go in as a pair, one number per pair comes out.

    The graph takes ``input_ids`` (and ``attention_mask`` and ``token_type_ids`` where it declares them), int64,
    shape (batch, tokens). Its output ``logits``, or the first, has the shape (batch, 1) or (batch,): the
    score, as it is. A classifier of several classes is refused.
    """

    def __init__(self, graph: Graph, *, max_tokens: int, batch_size: int, name: str | None) -> None:
        super().__init__(name=name or graph.name, batch_size=batch_size)
        self._graph = graph
        self._max_tokens = max_tokens
        self._revision: str | None = None

    @property
    def revision(self) -> str:
        if self._revision is None:
            self._revision = self._graph.revision(max_tokens=self._max_tokens)
        return self._revision

    def load(self) -> None:
        """Load the model now instead of at the first text; raises what the first text would raise."""
        self._graph.open()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        # Texts of nearly one length go together, so that little is padded.
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            return super().score(query, texts)
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        scores = [0.0] * len(texts)
        sorted_scores = super().score(query, [texts[place] for place in order])
        for place, score in zip(order, sorted_scores, strict=True):
            scores[place] = score
        return scores

    def _score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        opened = self._graph.open()
        output, _ = self._graph.run([opened.tokenizer.encode(query, text) for text in texts])
        if output.shape not in ((len(texts), 1), (len(texts),)):
            raise ModelUnavailable(
                f"{self._graph.label}: model {self.name!r} gives an output of shape {output.shape} for "
                f"{len(texts)} pairs, expected one number each",
                hint="Use a cross-encoder with a single label.",
            )
        return [float(number) for number in output.reshape(-1)]


def folder(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    max_tokens: int = 512,
    batch_size: int = 16,
    threads: int | None = None,
) -> OnnxReranker:
    """A folder that holds ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``.

    A pair of more than ``max_tokens`` tokens loses tokens at the end of the longer of the two. The revision is
    a digest of the files and of these settings.
    """
    if max_tokens < 8:
        raise InvalidArgument(f"max_tokens is {max_tokens}, must be at least 8")

    def truncate(tokenizer: Any) -> None:
        tokenizer.enable_truncation(max_length=max_tokens, strategy="longest_first")

    graph = Graph(
        path,
        what="reranker",
        outputs=("logits",),
        export="a sequence classifier with one label",
        truncate=truncate,
        threads=threads,
    )
    require("numpy", extra="local", setting=graph.setting, what="reranker")
    return OnnxReranker(graph, max_tokens=max_tokens, batch_size=batch_size, name=name)
