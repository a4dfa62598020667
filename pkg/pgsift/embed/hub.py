"""Models of the sentence-transformers and fastembed libraries, for those who installed the extra.

Both libraries can download models. Here they do so only when told: ``download=True``; otherwise a model that
is not on this machine is an error. Neither may report usage.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgsift.embed._base import BaseEmbedder, digest, numpy, require, unit_rows
from pgsift.embed.onnx import import_onnxruntime
from pgsift.errors import InvalidVector, ModelUnavailable, PgsiftError

if TYPE_CHECKING:
    from pgsift.embed._base import Vectors


class HubEmbedder(BaseEmbedder):
    """A model that another library loads: ``open_model`` gives the function from texts to a matrix.

    Loaded on first use, and used by one thread at a time, since neither library promises more.
    """

    def __init__(
        self,
        *,
        name: str,
        setting: str,
        open_model: Callable[[], Callable[[Sequence[str]], Any]],
        model_revision: str | None,
        normalize: bool,
        metric: str,
        query_prefix: str,
        document_prefix: str,
        dimensions: int | None,
    ) -> None:
        super().__init__(
            name=name,
            metric=metric,
            normalized=normalize,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
        )
        self._setting = setting
        self._open_model = open_model
        self._model_revision = model_revision
        self._dimensions = dimensions
        self._lock = threading.RLock()
        self._model: Callable[[Sequence[str]], Any] | None = None

    @property
    def revision(self) -> str:
        """A digest of what was asked for: model, pinned revision and settings. The files are not hashed."""
        return digest(
            {
                "setting": self._setting,
                "revision": self._model_revision,
                "normalize": self._normalized,
                "query_prefix": self._query_prefix,
                "document_prefix": self._document_prefix,
            }
        )

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            self._dimensions = int(self._matrix(["a"]).shape[1])
        return self._dimensions

    def load(self) -> None:
        """Load the model now instead of at the first text; raises what the first text would raise."""
        with self._lock:
            if self._model is None:
                try:
                    self._model = self._open_model()
                except PgsiftError:
                    raise
                except Exception as error:  # whatever the library raises: no file, no network, a bad name
                    raise ModelUnavailable(
                        f"embedder {self._setting!r}: model {self.name!r} cannot be loaded: {error}",
                        hint="Put the model on this machine first, or allow the download with download=True.",
                    ) from error

    def _matrix(self, texts: Sequence[str]) -> Any:
        np = numpy()
        with self._lock:
            self.load()
            assert self._model is not None
            matrix = np.asarray(self._model(texts), dtype=np.float32)
        if matrix.ndim != 2:
            raise InvalidVector(
                f"model {self.name!r} returned an array of shape {matrix.shape}, expected two axes"
            )
        return matrix

    def _encode(self, texts: Sequence[str]) -> Vectors:
        matrix: Vectors = self._matrix(texts)
        return unit_rows(matrix) if self._normalized else matrix


def sentence_transformers(
    model: str,
    *,
    revision: str | None = None,
    download: bool = False,
    device: str | None = None,
    batch_size: int = 32,
    normalize: bool = True,
    metric: str = "cosine",
    query_prefix: str = "",
    document_prefix: str = "",
    dimensions: int | None = None,
) -> HubEmbedder:
    """A model of the sentence-transformers library; extra ``sentence-transformers``.

    ``model`` is a folder or a hub name, ``revision`` a branch, tag or commit of the hub. Code that comes with
    a model is never run. Prompts stored with the model are not applied: pass prefixes.
    """
    setting = f"sentence-transformers:{model}"

    def open_model() -> Callable[[Sequence[str]], Any]:
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        library = require("sentence_transformers", extra="sentence-transformers", setting=setting)
        refuse_code(model, setting)
        encoder = library.SentenceTransformer(
            model, device=device, revision=revision, local_files_only=not download, trust_remote_code=False
        )
        # A default prompt of the model would come on top of the prefixes, and differ between the two sides.
        encoder.default_prompt_name = None

        def encode(texts: Sequence[str]) -> Any:
            return encoder.encode(
                list(texts), batch_size=batch_size, convert_to_numpy=True, show_progress_bar=False
            )

        return encode

    return HubEmbedder(
        name=setting,
        setting=setting,
        open_model=open_model,
        model_revision=revision,
        normalize=normalize,
        metric=metric,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        dimensions=dimensions,
    )


def refuse_code(model: str, setting: str) -> None:
    """Raise :class:`~pgsift.errors.ModelUnavailable` for a folder whose files name classes that are not the
    library's own: releases 3.4 to 5 of sentence-transformers import these from the folder, whatever
    ``trust_remote_code`` says. A name of the hub is a folder where the working directory has one of that name."""
    folder = Path(model)
    if not folder.exists():
        return
    try:
        modules = _json(folder / "modules.json", [])
        named = [module["type"] for module in modules]
        for part in (folder, *(folder / module.get("path", "") for module in modules)):
            # A part may be made of others, by kind of text.
            for name in ("config.json", "router_config.json"):
                types = _json(part / name, {}).get("types", {})
                named += types.values()
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelUnavailable(
            f"{setting!r}: the files of the folder cannot be read: {error}",
            hint="modules.json lists the parts of the model, as sentence-transformers writes it.",
        ) from error
    foreign = [str(one) for one in named if not str(one).startswith("sentence_transformers.")]
    if foreign:
        raise ModelUnavailable(
            f"{setting!r}: the folder brings code of its own, {foreign[0][:200]!r}, which is not run",
            hint="Use a model that is made of parts of sentence-transformers alone.",
        )


def _json(path: Path, without: Any) -> Any:
    return json.loads(path.read_bytes()) if path.exists() else without


def fastembed(
    model: str,
    *,
    download: bool = False,
    cache_dir: str | None = None,
    batch_size: int = 32,
    threads: int | None = None,
    normalize: bool = True,
    metric: str = "cosine",
    query_prefix: str = "",
    document_prefix: str = "",
    dimensions: int | None = None,
) -> HubEmbedder:
    """A model of the fastembed library; extra ``fastembed``. ``cache_dir`` is where it keeps its models."""
    setting = f"fastembed:{model}"

    def open_model() -> Callable[[Sequence[str]], Any]:
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        import_onnxruntime(setting)  # before fastembed does it, with telemetry on
        library = require("fastembed", extra="fastembed", setting=setting)
        encoder = library.TextEmbedding(
            model_name=model, cache_dir=cache_dir, threads=threads, local_files_only=not download
        )

        def encode(texts: Sequence[str]) -> Any:
            return list(encoder.embed(list(texts), batch_size=batch_size))

        return encode

    return HubEmbedder(
        name=setting,
        setting=setting,
        open_model=open_model,
        model_revision=None,
        normalize=normalize,
        metric=metric,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        dimensions=dimensions,
    )
