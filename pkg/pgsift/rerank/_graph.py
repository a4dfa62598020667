"""An ONNX graph over tokens in a local folder, loaded once: what the cross-encoder and the token embedder
share."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgsift.embed._base import digest, numpy, require
from pgsift.embed.onnx import _abandoned, _file_sha256, _instances, default_threads, open_session
from pgsift.errors import InvalidArgument, ModelUnavailable


@dataclass(frozen=True)
class Opened:
    """A graph ready to run."""

    session: Any
    tokenizer: Any
    inputs: tuple[str, ...]
    output: str


class Graph:
    """``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json`` of a folder.

    Loaded on first use, once, under a lock; a forked child loads its own copy. ``what`` (``reranker``,
    ``token embedder``) and the setting begin every message. ``truncate`` is called with the tokenizer.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        what: str,
        outputs: Sequence[str],
        export: str,
        truncate: Callable[[Any], None],
        threads: int | None,
    ) -> None:
        if threads is not None and threads < 1:
            raise InvalidArgument(f"threads is {threads}, must be at least 1")
        self.root = Path(path).expanduser()
        self.setting = f"onnx:{self.root}"
        self.label = f"{what} {self.setting!r}"
        self.name = f"onnx:{self.root.resolve().name}"
        self._what = what
        self._outputs = outputs
        self._export = export
        self._truncate = truncate
        self._threads = threads or default_threads()
        candidates = (self.root / "model.onnx", self.root / "onnx" / "model.onnx")
        model = next((path for path in candidates if path.is_file()), None)
        self._tokenizer = self.root / "tokenizer.json"
        if model is None or not self._tokenizer.is_file():
            missing = "model.onnx" if model is None else "tokenizer.json"
            raise ModelUnavailable(
                f"{self.label}: {missing} of the model is not in the folder {str(self.root)!r}",
                hint="The folder must hold model.onnx and tokenizer.json.",
            )
        self._model = model
        self._lock = threading.Lock()
        self._opened: Opened | None = None
        _instances.add(self)

    def revision(self, **settings: object) -> str:
        """A digest of the files and of the settings."""
        # Weights above two gigabytes lie beside the graph, as model.onnx_data or model.onnx.data.
        weights = sorted(path for path in self._model.parent.glob("model.onnx*") if path.is_file())
        files = [[path.name, _file_sha256(path)] for path in weights]
        return digest({"model": files, "tokenizer": _file_sha256(self._tokenizer), **settings})

    def open(self) -> Opened:
        """The graph, loaded now unless it is already."""
        opened = self._opened
        if opened is None:
            with self._lock:
                opened = self._opened
                if opened is None:
                    opened = self._opened = self._load()
        return opened

    def _forget(self) -> None:
        # Not released: the destructor of a session waits for its threads, and the child has none of them.
        _abandoned.append(self._opened)
        self._opened = None
        self._lock = threading.Lock()

    def _load(self) -> Opened:
        tokenizers = require("tokenizers", extra="local", setting=self.setting, what=self._what)
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(self._tokenizer))
            tokenizer.no_padding()
            self._truncate(tokenizer)
        except Exception as error:  # tokenizers raises bare Exception
            raise ModelUnavailable(
                f"{self.label}: tokenizer.json of model {self.name!r} cannot be read: {error}",
                hint="The file must be one that the tokenizers library wrote.",
            ) from error
        session, inputs = open_session(
            str(self._model), label=self.label, setting=self.setting, name=self.name, threads=self._threads,
            export=self._export,
        )  # fmt: skip
        outputs = [item.name for item in session.get_outputs()]
        output = next((name for name in self._outputs if name in outputs), outputs[0])
        return Opened(session, tokenizer, inputs, output)

    def run(self, encodings: Sequence[Any]) -> tuple[Any, Any]:
        """The output for a batch of encodings of the tokenizer, and the mask: int64, shape (batch, tokens), 1
        where a token is, 0 in the padding."""
        np = numpy()
        opened = self.open()
        width = max(1, max(len(encoding.ids) for encoding in encodings))
        feed = {
            name: np.zeros((len(encodings), width), dtype=np.int64)
            for name in ("input_ids", "attention_mask", "token_type_ids")
        }
        for row, encoding in enumerate(encodings):
            feed["input_ids"][row, : len(encoding.ids)] = encoding.ids
            feed["token_type_ids"][row, : len(encoding.ids)] = encoding.type_ids
            feed["attention_mask"][row, : len(encoding.ids)] = 1
        try:
            (output,) = opened.session.run([opened.output], {name: feed[name] for name in opened.inputs})
        except Exception as error:  # onnxruntime's own, and whatever the graph does with these numbers
            raise ModelUnavailable(
                f"{self.label}: model {self.name!r} cannot be run: {error}",
                hint=f"Export the model as {self._export}.",
            ) from error
        return output, feed["attention_mask"]
