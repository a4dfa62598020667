"""Rerankers behind HTTP: Cohere's ``POST /rerank``, which others speak too, and that of
text-embeddings-inference; by the standard library alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from pgsift.embed._base import digest
from pgsift.embed._http import Endpoint, checked_address
from pgsift.errors import InvalidArgument, InvalidVector, ModelUnavailable
from pgsift.rerank._base import BaseReranker

Style = Literal["cohere", "tei"]


class ApiReranker(BaseReranker):
    """A reranker behind an HTTP endpoint.

    ``base_url`` is what stands before ``/rerank`` (``https://api.cohere.com/v2``, ``https://api.jina.ai/v1``,
    ``http://localhost:8080``). Timeouts, retries and the key are those of
    :class:`~pgsift.embed._http.Endpoint`. ``max_characters`` cuts texts before they are sent; servers cut
    on top of it, after their own number of tokens. The server does not say which revision of a model it
    serves; ``revision`` lets the caller say it. Texts leave this process, so ``remote`` is true, wherever the
    server stands.
    """

    remote = True

    def __init__(
        self,
        style: Style,
        model: str | None,
        *,
        base_url: str,
        api_key: str | None,
        revision: str | None,
        max_characters: int | None,
        batch_size: int,
        timeout: float,
        retries: int,
    ) -> None:
        super().__init__(name="tei" if model is None else f"{style}:{model}", batch_size=batch_size)
        url = checked_address(base_url, setting="PGSIFT_RERANK_URL", before="/rerank")
        if retries < 0 or not timeout > 0 or (max_characters is not None and max_characters < 1):
            raise InvalidArgument(
                f"retries {retries}, timeout {timeout}, max_characters {max_characters}: retries must be at least "
                "0, timeout above 0, max_characters at least 1"
            )
        self._style = style
        self._model = model
        self._given_revision = revision
        self._max_characters = max_characters
        self._endpoint = Endpoint(
            url + "/rerank", key=api_key, timeout=timeout, retries=retries, unavailable=self._unavailable
        )

    @property
    def revision(self) -> str:
        return digest(
            {
                "style": self._style,
                "model": self._model,
                "revision": self._given_revision,
                "max_characters": self._max_characters,
            }
        )

    def load(self) -> None:
        """Have the server judge one text, so that a wrong address or key is found now."""
        self.score("a", ["a"])

    def _score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        sent = [text[: self._max_characters] for text in texts]
        if self._style == "cohere":
            body: dict[str, Any] = {
                "model": self._model,
                "query": query,
                "documents": sent,
                "top_n": len(sent),
                "return_documents": False,
            }
        else:
            body = {"query": query, "texts": sent, "truncate": True, "raw_scores": True}
        return self._scores(self._endpoint.post(body), count=len(sent))

    def _scores(self, data: bytes, *, count: int) -> list[float]:
        try:
            answer = json.loads(data)
            results = answer["results"] if isinstance(answer, dict) else answer
            field = "relevance_score" if self._style == "cohere" else "score"
            by_index = {result["index"]: float(result[field]) for result in results}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            start = self._endpoint.redacted(data[:200].decode("utf-8", "replace"))
            raise self._unavailable(f"answered with something that is no list of scores: {start}") from error
        if len(results) != count or set(by_index) != set(range(count)):
            raise InvalidVector(
                f"reranker {self.name!r} returned {len(results)} scores for {count} texts, or wrong indexes",
                hint="Check that the endpoint judges all documents it is sent.",
            )
        return [by_index[index] for index in range(count)]

    def _unavailable(self, what: str) -> ModelUnavailable:
        model = "" if self._model is None else f" (model {self._model!r})"
        return ModelUnavailable(
            f"reranker {self.name!r}{model}: {self._endpoint.host} {what}",
            hint="Check PGSIFT_RERANK_URL (base_url), PGSIFT_RERANK_KEY (api_key) and the model's name.",
        )


def cohere(
    model: str,
    *,
    base_url: str,
    api_key: str | None = None,
    revision: str | None = None,
    max_characters: int | None = None,
    batch_size: int = 100,
    timeout: float = 30.0,
    retries: int = 2,
) -> ApiReranker:
    """A model behind an endpoint that speaks Cohere's ``POST /rerank``."""
    return ApiReranker(
        "cohere",
        model,
        base_url=base_url,
        api_key=api_key,
        revision=revision,
        max_characters=max_characters,
        batch_size=batch_size,
        timeout=timeout,
        retries=retries,
    )


def tei(
    *,
    base_url: str,
    api_key: str | None = None,
    revision: str | None = None,
    max_characters: int | None = None,
    batch_size: int = 32,
    timeout: float = 30.0,
    retries: int = 2,
) -> ApiReranker:
    """The one model that a server of text-embeddings-inference serves, by its raw scores."""
    return ApiReranker(
        "tei",
        None,
        base_url=base_url,
        api_key=api_key,
        revision=revision,
        max_characters=max_characters,
        batch_size=batch_size,
        timeout=timeout,
        retries=retries,
    )
