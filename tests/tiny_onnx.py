"""Tiny ONNX models for tests, written byte by byte: the format is protocol buffers, and a few messages of it are
enough. Field numbers are those of onnx.proto, IR version 8, operators of opset 13.

``cross_encoder`` counts the pairs of equal tokens of query and text; ``token_encoder`` looks a vector up for each
token. What they give can be computed by hand; they know nothing of language.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

INT64, FLOAT = 7, 1
WORDS = ("pump", "winch", "crane", "seal", "boat", "harbour", "the", "of", "is", "old", "new", "red", "blue")
VOCABULARY = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _tensor(name: str, shape: Sequence[int], kind: int, values: Sequence[float]) -> bytes:
    raw = struct.pack(f"<{len(values)}{'q' if kind == INT64 else 'f'}", *values)
    return b"".join(_field(1, size) for size in shape) + _field(2, kind) + _field(8, name) + _field(9, raw)


def _node(operator: str, inputs: Sequence[str], output: str, **attributes: int) -> bytes:
    parts = [_field(1, name) for name in inputs] + [_field(2, output), _field(3, output), _field(4, operator)]
    # AttributeProto: name, i, type INT
    parts += [_field(5, _field(1, key) + _field(3, value) + _field(20, 2)) for key, value in attributes.items()]
    return b"".join(parts)


def _value(name: str, kind: int, dimensions: Sequence[int | str]) -> bytes:
    shape = b"".join(_field(1, _field(1 if isinstance(size, int) else 2, size)) for size in dimensions)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, shape)))


def _model(nodes: Sequence[bytes], initializers: Sequence[bytes], inputs: Sequence[bytes], output: bytes) -> bytes:
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, "tiny")
    graph += b"".join(_field(5, tensor) for tensor in initializers)
    graph += b"".join(_field(11, value) for value in inputs) + _field(12, output)
    return _field(1, 8) + _field(8, _field(1, "") + _field(2, 13)) + _field(7, graph)


_INPUTS = [_value(name, INT64, ["batch", "tokens"]) for name in ("input_ids", "attention_mask", "token_type_ids")]


def cross_encoder(*, labels: int = 1) -> bytes:
    """A graph that gives for each pair, shape (batch, labels), how many pairs of a token of the query and a token
    of the text are equal, and 1 more for the separators, of which each has one."""
    nodes = [
        _node("Unsqueeze", ["input_ids", "two"], "left"),
        _node("Unsqueeze", ["input_ids", "one"], "right"),
        _node("Equal", ["left", "right"], "same"),
        _node("Cast", ["same"], "equal", to=FLOAT),
        _node("Sub", ["attention_mask", "token_type_ids"], "first"),
        _node("Cast", ["first"], "first_float", to=FLOAT),
        _node("Unsqueeze", ["first_float", "two"], "rows"),
        _node("Cast", ["token_type_ids"], "second_float", to=FLOAT),
        _node("Unsqueeze", ["second_float", "one"], "columns"),
        _node("Mul", ["equal", "rows"], "of_query"),
        _node("Mul", ["of_query", "columns"], "of_both"),
        _node("ReduceSum", ["of_both", "both"], "count", keepdims=0),
        _node("Unsqueeze", ["count", "one"], "single"),
        _node("Concat", ["single"] * labels, "logits", axis=1),
    ]
    constants = [
        _tensor("one", [1], INT64, [1]), _tensor("two", [1], INT64, [2]), _tensor("both", [2], INT64, [1, 2]),
    ]  # fmt: skip
    return _model(nodes, constants, _INPUTS, _value("logits", FLOAT, ["batch", labels]))


def token_encoder(table: Sequence[Sequence[float]]) -> bytes:
    """A graph that gives row ``i`` of the table for token ``i``: shape (batch, tokens, dimensions)."""
    width = len(table[0])
    flat = [number for row in table for number in row]
    return _model(
        [_node("Gather", ["table", "input_ids"], "last_hidden_state")],
        [_tensor("table", [len(table), width], FLOAT, flat)],
        _INPUTS[:1],
        _value("last_hidden_state", FLOAT, ["batch", "tokens", width]),
    )


def save_folder(folder: Path, model: bytes) -> Path:
    """The model with a tokenizer of whole words beside it."""
    import tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    tokenizer: Any = tokenizers.Tokenizer(tokenizers.models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", VOCABULARY["[CLS]"]), ("[SEP]", VOCABULARY["[SEP]"])],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def equal_pairs(query: str, text: str) -> float:
    """What the cross-encoder gives, computed here."""
    ids = [[VOCABULARY.get(word, 1) for word in words.lower().split()] for words in (query, text)]
    return 1.0 + sum(a == b for a in ids[0] for b in ids[1])
