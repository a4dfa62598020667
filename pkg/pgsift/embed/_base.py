"""The embedder protocol, and what every adapter shares: input checks, output checks, optional imports.

Nothing here imports numpy at module level: ``import pgsift`` must work where only the core is installed.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

from pgsift.errors import InvalidArgument, InvalidVector, MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Metric = Literal["cosine", "ip", "l2"]

METRICS: tuple[str, ...] = get_args(Metric)


@runtime_checkable
class Embedder(Protocol):
    """Anything that turns texts into vectors of one fixed length.

    ``name`` and ``revision`` say which model made a vector; two embedders with one :attr:`identity` make
    comparable vectors, two with different ones never do. ``metric`` is the distance the vectors are meant
    for: ``cosine``, ``ip`` (inner product) or ``l2``. ``normalized`` promises rows of length one. An embedder
    may also have a ``pooling``, how the vector of a text is made of those of its tokens.
    ``query_prefix`` and ``document_prefix`` are put before a text by the methods themselves; callers pass
    bare texts.
    """

    @property
    def name(self) -> str: ...
    @property
    def revision(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def metric(self) -> Metric: ...
    @property
    def query_prefix(self) -> str: ...
    @property
    def document_prefix(self) -> str: ...
    @property
    def normalized(self) -> bool: ...
    @property
    def identity(self) -> str: ...
    @property
    def remote(self) -> bool:
        """Whether texts leave for another machine; documents may be kept from it
        (:meth:`pgsift.Store.set_tenant`)."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of documents: float32, shape ``(len(texts), dimensions)``, row i for text i.

        Raises :class:`~pgsift.errors.InvalidArgument` when a text is blank; see :func:`is_embeddable`.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """Vector of one query: float32, shape ``(dimensions,)``; blank text is refused as above."""
        ...


class BaseEmbedder:
    """Shared half of the adapters: they fill in the attributes and :meth:`_encode`.

    ``lexical_weight`` and ``dense_weight`` are the weights of the legs with which the model is registered:
    measured on judged collections (docs/decisions/0005-default-weights.md), or 1 and 1. ``scripts`` are the
    scripts the model was trained on, as Unicode's character names begin (``LATIN``); ``None`` is any.
    """

    lexical_weight: float = 1.0
    dense_weight: float = 1.0
    scripts: frozenset[str] | None = None
    remote: bool = False
    #: How the vector of a text is made of those of its tokens; empty where it is not known.
    pooling: str = ""
    #: Whether the vector of a token depends on the words around it.
    contextual: bool = True

    def __init__(
        self,
        *,
        name: str,
        metric: str = "cosine",
        normalized: bool = False,
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        self._name = name
        self._metric = checked_metric(metric)
        self._normalized = normalized
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix

    @property
    def name(self) -> str:
        return self._name

    @property
    def revision(self) -> str:
        raise NotImplementedError

    @property
    def dimensions(self) -> int:
        raise NotImplementedError

    @property
    def metric(self) -> Metric:
        return self._metric

    @property
    def query_prefix(self) -> str:
        return self._query_prefix

    @property
    def document_prefix(self) -> str:
        return self._document_prefix

    @property
    def normalized(self) -> bool:
        return self._normalized

    @property
    def identity(self) -> str:
        """``name@revision``: equal exactly when vectors may be compared and cached for one another."""
        return f"{self.name}@{self.revision}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>"

    def _encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of cleaned, prefixed, non-blank texts, in their order; at least one text."""
        raise NotImplementedError

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._document_prefix)

    def embed_query(self, text: str) -> Vectors:
        vectors = self._embed([text], self._query_prefix)
        row: Vectors = vectors[0]
        return row

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        np = numpy()
        if isinstance(texts, str):
            raise InvalidArgument(
                "texts is one string, not a sequence of strings", hint="Pass a list: embed_documents([text])."
            )
        for position, text in enumerate(texts):
            if not isinstance(text, str):
                raise InvalidArgument(f"text {position} is {type(text).__name__}, not str")
            if not is_embeddable(text):
                raise InvalidArgument(
                    f"text {position} of {len(texts)} is blank and has no vector",
                    hint="Leave blank texts out; pgsift.embed.is_embeddable tells them.",
                )
        if not len(texts):
            nothing: Vectors = np.zeros((0, self.dimensions), dtype=np.float32)
            return nothing
        vectors = self._encode([prefix + without_surrogates(text) for text in texts])
        return checked_vectors(vectors, count=len(texts), dimensions=self.dimensions, name=self._name)


class NamedEmbedder:
    """An embedder under another name: its vectors are those of another model, stored or indexed otherwise.
    ``embedder`` is the name it has itself. All else is as it is."""

    def __init__(self, embedder: Embedder, name: str) -> None:
        self._wrapped = embedder
        self.name = name

    @property
    def embedder(self) -> str:
        return self._wrapped.name

    @property
    def identity(self) -> str:
        return f"{self.name}@{self._wrapped.revision}"

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "_wrapped":  # before it is set: copying, unpickling
            raise AttributeError(attribute)
        return getattr(self._wrapped, attribute)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} of {self._wrapped!r}>"


def is_embeddable(text: str | None) -> bool:
    """Whether a text has a vector at all: it holds at least one character that is not white space."""
    return text is not None and bool(text) and not text.isspace()


def reads(embedder: object, text: str) -> bool:
    """Whether the model was trained on what most letters of the text are written in.

    The vectors of other texts are as good as random, and fusing their ranking in would spoil a good lexical
    one. A text without letters, and a model that does not tell its ``scripts``, read as fine.
    """
    scripts: frozenset[str] | None = getattr(embedder, "scripts", None)
    if scripts is None:
        return True
    letters = [c for c in unicodedata.normalize("NFKC", text) if c.isalpha()]
    known = sum(unicodedata.name(c, "").partition(" ")[0] in scripts for c in letters)
    return 2 * known >= len(letters)


def without_surrogates(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD; tokenizers take only what UTF-8 can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def checked_metric(metric: str) -> Metric:
    """The metric, or :class:`~pgsift.errors.InvalidArgument` naming it."""
    for known in get_args(Metric):
        if metric == known:
            result: Metric = known
            return result
    raise InvalidArgument(f"unknown metric {metric!r}", hint=f"Use one of: {', '.join(METRICS)}.")


def checked_vectors(vectors: object, *, count: int, dimensions: int, name: str) -> Vectors:
    """``vectors`` as C-contiguous float32 of shape ``(count, dimensions)``, every number finite.

    Raises :class:`~pgsift.errors.InvalidVector` naming both shapes, or the first bad row.
    """
    np = numpy()
    try:
        array: Vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidVector(
            f"model {name!r} returned something that is no matrix of numbers: {error}"
        ) from error
    if array.shape != (count, dimensions):
        raise InvalidVector(
            f"model {name!r} returned vectors of shape {array.shape}, expected {(count, dimensions)}",
            hint="Check the model's name and the option 'dimensions'.",
        )
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise InvalidVector(f"model {name!r} returned NaN or infinity for text {int(np.argmin(finite))}")
    return array


def unit_rows(vectors: Vectors) -> Vectors:
    """Each row divided by its Euclidean length; a row of zeros stays as it is."""
    np = numpy()
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = vectors / np.where(lengths > 0, lengths, np.float32(1))
    return scaled


def digest(parts: Mapping[str, Any]) -> str:
    """Twelve hexadecimal digits that stand for a model's files and settings together: its revision."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


_WITHOUT = {
    "embedder": "To do without vectors: --embedder none.",
    "reranker": "To do without: leave --rerank out.",
}


def require(module: str, *, extra: str, setting: str, what: str = "embedder") -> ModuleType:
    """Import an optional module, or raise :class:`~pgsift.errors.MissingExtra` naming the extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(
            f"{what} {setting!r} needs the package {package!r}, which cannot be imported: {error}",
            hint=f"Install it: pip install 'pgsift[{extra}]'. {_WITHOUT.get(what, '')}".rstrip(),
        ) from error


def numpy() -> Any:
    """The numpy module, imported on first use because it is optional."""
    return require("numpy", extra="local", setting="numpy arrays")
