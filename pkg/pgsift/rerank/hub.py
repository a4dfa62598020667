"""Cross-encoders of the sentence-transformers library, for those who installed the extra."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

from pgsift.embed._base import digest, require
from pgsift.embed.hub import refuse_code
from pgsift.errors import ModelUnavailable, PgsiftError
from pgsift.rerank._base import BaseReranker


class HubReranker(BaseReranker):
    """A cross-encoder that sentence-transformers loads, on first use; used by one thread at a time."""

    def __init__(
        self,
        model: str,
        *,
        revision: str | None,
        download: bool,
        device: str | None,
        max_tokens: int | None,
        batch_size: int,
    ) -> None:
        super().__init__(name=f"sentence-transformers:{model}", batch_size=batch_size)
        self._path = model
        self._model_revision = revision
        self._download = download
        self._device = device
        self._max_tokens = max_tokens
        self._lock = threading.RLock()
        self._model: Any = None

    @property
    def revision(self) -> str:
        """A digest of what was asked for: model, pinned revision and length. The files are not hashed."""
        return digest(
            {"setting": self.name, "revision": self._model_revision, "max_tokens": self._max_tokens}
        )

    def load(self) -> None:
        """Load the model now instead of at the first text; raises what the first text would raise."""
        with self._lock:
            if self._model is not None:
                return
            try:
                os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
                library = require(
                    "sentence_transformers", extra="sentence-transformers", setting=self.name, what="reranker"
                )
                refuse_code(self._path, self.name)
                self._model = library.CrossEncoder(
                    self._path,
                    device=self._device,
                    revision=self._model_revision,
                    local_files_only=not self._download,
                    trust_remote_code=False,
                    max_length=self._max_tokens,
                )
            except PgsiftError:
                raise
            except Exception as error:  # whatever the library raises: no file, no network, a bad name
                raise ModelUnavailable(
                    f"reranker {self.name!r}: model {self._path!r} cannot be loaded: {error}",
                    hint="Put the model on this machine first, or allow the download with download=True.",
                ) from error

    def _score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        with self._lock:
            self.load()
            scores = self._model.predict(
                [(query, text) for text in texts],
                batch_size=self._batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        if getattr(scores, "ndim", 1) != 1:
            raise ModelUnavailable(
                f"reranker {self.name!r}: model {self._path!r} gives {scores.shape[-1]} numbers for each text",
                hint="Use a cross-encoder with a single label.",
            )
        return [float(score) for score in scores]


def sentence_transformers(
    model: str,
    *,
    revision: str | None = None,
    download: bool = False,
    device: str | None = None,
    max_tokens: int | None = None,
    batch_size: int = 32,
) -> HubReranker:
    """A cross-encoder of the sentence-transformers library; extra ``sentence-transformers``.

    ``model`` is a folder or a hub name, ``revision`` a branch, tag or commit of the hub; ``max_tokens`` bounds
    query and text together and is the model's own where it is left out. Code that comes with a model is
    never run.
    """
    return HubReranker(
        model,
        revision=revision,
        download=download,
        device=device,
        max_tokens=max_tokens,
        batch_size=batch_size,
    )
