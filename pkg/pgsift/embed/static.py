"""Static word embeddings (wordllama, 256 dimensions): a table of token vectors, averaged. Extra ``static``.

The weights and the tokenizer are read from the installed ``wordllama`` package, which is found but not
imported: its import sets up the logging of the whole process, and its loader downloads what it does not find.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pgsift.embed._base import BaseEmbedder, digest, numpy, require, unit_rows
from pgsift.embed.onnx import package_file, verified
from pgsift.errors import ModelUnavailable

if TYPE_CHECKING:
    from pgsift.embed._base import Vectors

PACKAGE = "wordllama"
WEIGHTS = ("weights", "l2_supercat_256.safetensors")
TOKENIZER = ("tokenizers", "l2_supercat_tokenizer_config.json")
WEIGHTS_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
TOKENIZER_SHA256 = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
DIMENSIONS = 256


@dataclass(frozen=True)
class _Loaded:
    table: Any  # float32, (vocabulary, 256)
    tokenizer: Any


class StaticEmbedder(BaseEmbedder):
    """The mean of a text's token vectors, scaled to length one: about a hundred times faster than a
    transformer.

    The same text has the same bits in every batch, since each is summed alone. Texts are never cut.
    """

    # Measured: at equal weights the fusion is worse than BM25 alone on two of four English collections.
    dense_weight = 0.25
    pooling = "mean"
    contextual = False

    def __init__(self) -> None:
        super().__init__(name="wordllama", metric="cosine", normalized=True)
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def revision(self) -> str:
        return digest(
            {"weights": WEIGHTS_SHA256, "tokenizer": TOKENIZER_SHA256, "pooling": self.pooling, "normalize": True}
        )

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    def load(self) -> None:
        """Load the table now instead of at the first text; raises what the first text would raise."""
        self._model()

    def _model(self) -> _Loaded:
        loaded = self._loaded
        if loaded is None:
            with self._lock:
                loaded = self._loaded
                if loaded is None:
                    loaded = self._loaded = _load()
        return loaded

    def _encode(self, texts: Sequence[str]) -> Vectors:
        np = numpy()
        loaded = self._model()
        sums = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            ids = loaded.tokenizer.encode(text, add_special_tokens=False).ids
            if ids:
                known = np.minimum(np.asarray(ids, dtype=np.int64), len(loaded.table) - 1)
                sums[row] = loaded.table[known].mean(axis=0, dtype=np.float32)
        return unit_rows(sums)


def _load() -> _Loaded:
    setting = "static"
    weights = package_file(PACKAGE, *WEIGHTS, wheel=PACKAGE, extra="static", setting=setting)
    config = package_file(PACKAGE, *TOKENIZER, wheel=PACKAGE, extra="static", setting=setting)
    verified(weights, WEIGHTS_SHA256, what=WEIGHTS[1], setting=setting)
    verified(config, TOKENIZER_SHA256, what=TOKENIZER[1], setting=setting)
    safetensors = require("safetensors.numpy", extra="static", setting=setting)
    tokenizers = require("tokenizers", extra="static", setting=setting)
    try:
        table = safetensors.load(weights)["embedding.weight"].astype("float32")
        tokenizer = tokenizers.Tokenizer.from_str(config.decode("utf-8"))
    except Exception as error:  # both libraries raise bare Exception for a file they cannot read
        raise ModelUnavailable(
            f"embedder {setting!r}: the files of {PACKAGE!r} cannot be read: {error}",
            hint=f"Reinstall it: pip install --force-reinstall {PACKAGE}",
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return _Loaded(table=table, tokenizer=tokenizer)
