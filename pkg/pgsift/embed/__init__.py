"""Embedders: text in, vectors out.

:func:`load_embedder` makes one from a short specification:

==============================  ============================================  =========================
specification                   model                                         extra
==============================  ============================================  =========================
``minilm``, the default         all-MiniLM-L6-v2, English, 384 dimensions     ``local``
``static`` or ``wordllama``     static word vectors, 256 dimensions, fast     ``static``
``onnx:FOLDER``                 ``model.onnx`` and ``tokenizer.json`` in it   ``local``
``sentence-transformers:NAME``  what that library loads                       ``sentence-transformers``
``fastembed:NAME``              what that library loads                       ``fastembed``
``openai:MODEL``                an OpenAI-compatible HTTP endpoint            ``local`` (for numpy)
==============================  ============================================  =========================

There is no silent fall-back: a package that is missing is :class:`~pgsift.errors.MissingExtra`, a model that
cannot be loaded :class:`~pgsift.errors.ModelUnavailable`, and both name the setting. Only ``openai:`` uses
the network; the two hub libraries do with ``download=True``.

What is embedded of a chunk is :func:`embedding_text`; a blank text has no vector (:func:`is_embeddable`), and
embedding one is :class:`~pgsift.errors.InvalidArgument`. Anything that satisfies :class:`Embedder` will do in
place of these.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from pgsift.embed._base import Embedder, Metric, NamedEmbedder, is_embeddable, reads, require
from pgsift.errors import InvalidArgument, PgsiftError

if TYPE_CHECKING:
    from pgsift.models import Model

__all__ = [
    "DEFAULT_EMBEDDER",
    "Embedder",
    "Metric",
    "embedding_text",
    "is_embeddable",
    "load_embedder",
    "load_model",
    "named",
    "properties_of",
    "reads",
]

DEFAULT_EMBEDDER = "minilm"


def embedding_text(title: str | None, body: str | None, prefix: str | None = None) -> str:
    """The text that is embedded for a chunk: title, prefix, body, each on a line, without those that are blank. A
    prefix that begins with the title stands for both."""
    if title and prefix and prefix.startswith(title):
        title = None
    parts = [part for part in (title, prefix, body) if part is not None and is_embeddable(part)]
    return "\n".join(parts)


def load_embedder(spec: str = DEFAULT_EMBEDDER, **options: Any) -> Embedder:
    """The embedder a specification names; the table above lists them, each factory its options.

    Only cheap checks happen here; the model is loaded at its first use or by ``.load()``. ``openai:`` takes
    ``base_url`` and ``api_key`` from the environment (``PGSIFT_EMBED_URL``, ``PGSIFT_EMBED_KEY``) when they
    are not given.

    Raises :class:`~pgsift.errors.InvalidArgument` for an unknown specification or option, and
    :class:`~pgsift.errors.MissingExtra` where numpy is missing, which no embedder does without.
    """
    kind, _, name = spec.partition(":")
    # Here, where the setting is known by its name: every embedder returns numpy arrays.
    if importlib.util.find_spec("numpy") is None:
        require("numpy", extra="static" if kind in ("static", "wordllama") else "local", setting=spec)
    if kind in ("minilm", "static", "wordllama") and not name:
        return _call(spec, _plain(kind), options)
    if kind in ("onnx", "sentence-transformers", "fastembed", "openai") and name:
        return _call(spec, _named(kind), options, name)
    raise InvalidArgument(
        f"unknown embedder {spec!r}",
        hint="Use minilm, static, onnx:FOLDER, sentence-transformers:NAME, fastembed:NAME or openai:MODEL.",
    )


def properties_of(embedder: Embedder) -> dict[str, Any]:
    """What makes the vectors of a model comparable, as far as the embedder decides it: arguments of
    :meth:`pgsift.Store.register_model`."""
    return {
        "revision": embedder.revision,
        "dimensions": embedder.dimensions,
        "metric": embedder.metric,
        "query_prefix": embedder.query_prefix,
        "document_prefix": embedder.document_prefix,
        "pooling": str(getattr(embedder, "pooling", "")),
        "normalized": getattr(embedder, "normalized", None),
    }


def named(embedder: Embedder, name: str) -> Embedder:
    """The embedder under another name, for a model whose vectors are stored or indexed in another way."""
    return embedder if embedder.name == name else cast("Embedder", NamedEmbedder(embedder, name))


def load_model(model: Model) -> Embedder:
    """The embedder of a registered model, under the model's name.

    Raises what :func:`load_embedder` raises, naming the model.
    """
    try:
        return named(load_embedder(model.embedder), model.model)
    except PgsiftError as error:
        raise type(error)(
            f"the embedder of the model {model.model!r} cannot be loaded here: {error.message}", hint=error.hint
        ) from error


def _plain(kind: str) -> Callable[..., Embedder]:
    if kind == "minilm":
        from pgsift.embed.onnx import minilm

        return minilm
    from pgsift.embed.static import StaticEmbedder

    return StaticEmbedder


def _named(kind: str) -> Callable[..., Embedder]:
    if kind == "onnx":
        from pgsift.embed.onnx import folder

        return folder
    if kind == "openai":
        return _openai
    from pgsift.embed import hub

    return hub.sentence_transformers if kind == "sentence-transformers" else hub.fastembed


def _openai(
    model: str, *, base_url: str | None = None, api_key: str | None = None, **options: Any
) -> Embedder:
    from pgsift.embed.api import ApiEmbedder

    url = base_url or os.environ.get("PGSIFT_EMBED_URL")
    if not url:
        raise InvalidArgument(
            f"embedder 'openai:{model}' has no address",
            hint="Set PGSIFT_EMBED_URL or base_url to what stands before /embeddings.",
        )
    key = api_key if api_key is not None else os.environ.get("PGSIFT_EMBED_KEY")
    known = set(inspect.signature(ApiEmbedder).parameters)
    _refuse_unknown(f"openai:{model}", options, known)
    return ApiEmbedder(model, base_url=url, api_key=key, **options)


def _call(spec: str, factory: Callable[..., Embedder], options: dict[str, Any], *names: str) -> Embedder:
    parameters = inspect.signature(factory).parameters
    if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        _refuse_unknown(spec, options, {n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY})
    return factory(*names, **options)


def _refuse_unknown(spec: str, options: dict[str, Any], known: set[str]) -> None:
    unknown = sorted(set(options) - known)
    if unknown:
        raise InvalidArgument(
            f"embedder {spec!r} has no option {unknown[0]!r}",
            hint=f"Its options: {', '.join(sorted(known)) or 'none'}.",
        )
