"""Rerankers: a query and texts in, one score per text out; and models of late interaction.

:func:`load_reranker` makes one from a short specification:

==============================  ============================================  =========================
specification                   model                                         extra
==============================  ============================================  =========================
``onnx:FOLDER``                 a cross-encoder: ``model.onnx`` and           ``local``
                                ``tokenizer.json`` in the folder
``sentence-transformers:NAME``  a cross-encoder that library loads            ``sentence-transformers``
``cohere:MODEL``                an HTTP endpoint that speaks Cohere's         none
                                ``POST /rerank`` (Jina, vLLM, LiteLLM do)
``tei``                         an HTTP endpoint of text-embeddings-          none
                                inference, ``POST /rerank``
==============================  ============================================  =========================

:func:`load_token_embedder` makes a :class:`TokenEmbedder`, which gives one vector per token, of ``onnx:FOLDER``.

There is no silent fall-back: a package that is missing is :class:`~pgsift.errors.MissingExtra`, a model that
cannot be loaded or does not answer :class:`~pgsift.errors.ModelUnavailable`, and both name the setting and
the model. Only ``cohere:`` and ``tei`` use the network; sentence-transformers does with ``download=True``.
No ranking is better because a model was at work: measure one with ``pgsift evaluate`` before it is used.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
from collections.abc import Callable
from typing import Any

from pgsift.embed._base import require
from pgsift.errors import InvalidArgument
from pgsift.rerank._base import Reranker, checked_scores, is_remote
from pgsift.rerank.tokens import TokenEmbedder

__all__ = [
    "Reranker",
    "TokenEmbedder",
    "checked_scores",
    "is_remote",
    "load_reranker",
    "load_token_embedder",
]


def load_reranker(spec: str, **options: Any) -> Reranker:
    """The reranker a specification names; the table above lists them, each factory its options.

    Only cheap checks happen here; the model is loaded at its first use or by ``.load()``. The HTTP rerankers
    take ``base_url`` and ``api_key`` from the environment (``PGSIFT_RERANK_URL``, ``PGSIFT_RERANK_KEY``)
    when they are not given.

    Raises :class:`~pgsift.errors.InvalidArgument` for an unknown specification or option.
    """
    kind, colon, name = spec.partition(":")
    if kind in ("onnx", "sentence-transformers", "cohere") and name:
        factory = {"onnx": _onnx, "sentence-transformers": _hub, "cohere": _cohere}[kind]()
        made: Reranker = _made("reranker", spec, factory, options, name)
        return made
    if kind == "tei" and not colon:
        served: Reranker = _made("reranker", spec, _tei(), options)
        return served
    raise InvalidArgument(
        f"unknown reranker {spec!r}",
        hint="Use onnx:FOLDER, sentence-transformers:NAME, cohere:MODEL or tei.",
    )


def load_token_embedder(spec: str, **options: Any) -> TokenEmbedder:
    """The model of late interaction that a specification names: ``onnx:FOLDER``."""
    kind, _, name = spec.partition(":")
    if kind != "onnx" or not name:
        raise InvalidArgument(f"unknown token embedder {spec!r}", hint="Use onnx:FOLDER.")
    if importlib.util.find_spec("numpy") is None:
        require("numpy", extra="local", setting=spec, what="token embedder")
    from pgsift.rerank.tokens import folder

    embedder: TokenEmbedder = _made("token embedder", spec, folder, options, name)
    return embedder


def _onnx() -> Callable[..., Reranker]:
    from pgsift.rerank.onnx import folder

    return folder


def _hub() -> Callable[..., Reranker]:
    from pgsift.rerank.hub import sentence_transformers

    return sentence_transformers


def _cohere() -> Callable[..., Reranker]:
    from pgsift.rerank.api import cohere

    def made(model: str, **options: Any) -> Reranker:
        return cohere(model, **_address(f"cohere:{model}", options))

    made.__signature__ = inspect.signature(cohere)  # type: ignore[attr-defined]
    return made


def _tei() -> Callable[..., Reranker]:
    from pgsift.rerank.api import tei

    def made(**options: Any) -> Reranker:
        return tei(**_address("tei", options))

    made.__signature__ = inspect.signature(tei)  # type: ignore[attr-defined]
    return made


def _address(spec: str, options: dict[str, Any]) -> dict[str, Any]:
    url = options.get("base_url") or os.environ.get("PGSIFT_RERANK_URL")
    if not url:
        raise InvalidArgument(
            f"reranker {spec!r} has no address",
            hint="Set PGSIFT_RERANK_URL or base_url to what stands before /rerank.",
        )
    key = options.get("api_key")
    return {
        **options,
        "base_url": url,
        "api_key": key if key is not None else os.environ.get("PGSIFT_RERANK_KEY"),
    }


def _made(what: str, spec: str, factory: Callable[..., Any], options: dict[str, Any], *names: str) -> Any:
    parameters = inspect.signature(factory).parameters
    known = {name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY}
    unknown = sorted(set(options) - known)
    if unknown:
        raise InvalidArgument(
            f"{what} {spec!r} has no option {unknown[0]!r}", hint=f"Its options: {', '.join(sorted(known))}."
        )
    return factory(*names, **options)
