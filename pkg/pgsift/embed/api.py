"""Embeddings from any HTTP endpoint that speaks OpenAI's ``POST /embeddings``, by the standard library
alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pgsift.embed._base import BaseEmbedder, checked_vectors, digest, numpy, unit_rows
from pgsift.embed._http import Endpoint, checked_address
from pgsift.errors import InvalidArgument, InvalidVector, ModelUnavailable

if TYPE_CHECKING:
    from pgsift.embed._base import Vectors


class ApiEmbedder(BaseEmbedder):
    """A model behind an OpenAI-compatible endpoint.

    ``base_url`` is what stands before ``/embeddings`` (``https://api.openai.com/v1``). The key goes into the
    ``Authorization`` header and nowhere else. ``timeout`` is in seconds, per request; a request that fails
    for a passing reason (no connection, timeout, status 408, 425, 429, 500, 502, 503, 504) is tried again
    ``retries`` times, after the server's ``Retry-After`` or with doubling waits. ``dimensions`` is sent along
    when given, for models that can shorten their vectors; otherwise it is what the first answer has.

    The server does not say which revision of a model it serves; ``revision`` lets the caller say it, and
    changing it separates old vectors from new. Texts leave this process, so ``remote`` is true, wherever the
    server stands.
    """

    remote = True

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        revision: str | None = None,
        dimensions: int | None = None,
        batch_size: int = 64,
        timeout: float = 60.0,
        retries: int = 4,
        normalize: bool = True,
        metric: str = "cosine",
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        super().__init__(
            name=f"openai:{model}",
            metric=metric,
            normalized=normalize,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
        )
        url = checked_address(base_url, setting="PGSIFT_EMBED_URL", before="/embeddings")
        if batch_size < 1 or retries < 0 or not timeout > 0 or (dimensions is not None and dimensions < 1):
            raise InvalidArgument(
                f"batch_size {batch_size}, retries {retries}, timeout {timeout}, dimensions {dimensions}: "
                "batch_size and dimensions must be at least 1, retries at least 0, timeout above 0"
            )
        self._model = model
        self._endpoint = Endpoint(
            url + "/embeddings", key=api_key, timeout=timeout, retries=retries, unavailable=self._unavailable
        )
        self._given_revision = revision
        self._asked_dimensions = dimensions
        self._dimensions = dimensions
        self._batch_size = batch_size
        self._lock = threading.Lock()

    @property
    def revision(self) -> str:
        return digest(
            {
                "model": self._model,
                "revision": self._given_revision,
                "dimensions": self._asked_dimensions,
                "normalize": self._normalized,
                "query_prefix": self._query_prefix,
                "document_prefix": self._document_prefix,
            }
        )

    @property
    def dimensions(self) -> int:
        """The length of the vectors; unless it was given, the first use asks the server."""
        with self._lock:
            if self._dimensions is None:
                self._dimensions = len(self._request(["a"])[0])
            return self._dimensions

    def load(self) -> None:
        """Ask the server for one vector, so that a wrong address or key is found now."""
        self.embed_query("a")

    def _encode(self, texts: Sequence[str]) -> Vectors:
        np = numpy()
        dimensions = self.dimensions
        batches = []
        for start in range(0, len(texts), self._batch_size):
            batch = texts[start : start + self._batch_size]
            batches.append(
                checked_vectors(self._request(batch), count=len(batch), dimensions=dimensions, name=self.name)
            )
        matrix: Vectors = np.concatenate(batches)
        return unit_rows(matrix) if self._normalized else matrix

    def _request(self, texts: Sequence[str]) -> list[list[float]]:
        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._asked_dimensions is not None:
            body["dimensions"] = self._asked_dimensions
        return self._vectors(self._endpoint.post(body), count=len(texts))

    def _vectors(self, data: bytes, *, count: int) -> list[list[float]]:
        try:
            items = json.loads(data)["data"]
            by_index = {item.get("index", place): item["embedding"] for place, item in enumerate(items)}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            start = self._endpoint.redacted(data[:200].decode("utf-8", "replace"))
            raise self._unavailable(
                f"answered with something that is no list of embeddings: {start}"
            ) from error
        if set(by_index) != set(range(count)):
            raise InvalidVector(
                f"model {self.name!r} returned {len(items)} vectors for {count} texts, or wrong indexes",
                hint="Check that the endpoint takes a list of texts as 'input'.",
            )
        vectors = [by_index[index] for index in range(count)]
        if not all(isinstance(vector, list) and vector for vector in vectors):
            raise InvalidVector(f"model {self.name!r} returned embeddings that are not lists of numbers")
        return vectors

    def _unavailable(self, what: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"embedder {self.name!r}: {self._endpoint.host} {what}",
            hint="Check PGSIFT_EMBED_URL (base_url), PGSIFT_EMBED_KEY (api_key) and the model's name.",
        )
