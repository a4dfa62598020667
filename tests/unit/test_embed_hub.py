"""The adapters of two libraries that need not be installed: what they ask of it, what they make of it.

The doubles take exactly the parameters the adapters pass, by name, as the libraries' references give them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pgsift.embed import load_embedder
from pgsift.errors import InvalidVector, ModelUnavailable

np = pytest.importorskip("numpy")


class Recorder:
    calls: list[dict[str, Any]]

    def __init__(self) -> None:
        self.calls = []
        self.fail: Exception | None = None
        self.rows: Any = None

    def vectors(self, texts: list[str]) -> Any:
        if self.rows is not None:
            return self.rows
        return np.array([[len(text), 1.0, 2.0] for text in texts])


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def sentence_transformers(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    class SentenceTransformer:
        default_prompt_name: str | None = "query"

        def __init__(
            self,
            model_name_or_path: str,
            *,
            device: str | None,
            revision: str | None,
            local_files_only: bool,
            trust_remote_code: bool,
        ) -> None:
            if recorder.fail:
                raise recorder.fail
            recorder.calls.append(
                {
                    "model": model_name_or_path,
                    "device": device,
                    "revision": revision,
                    "local_files_only": local_files_only,
                    "trust_remote_code": trust_remote_code,
                }
            )

        def encode(
            self, sentences: list[str], *, batch_size: int, convert_to_numpy: bool, show_progress_bar: bool
        ) -> Any:
            assert isinstance(sentences, list)
            assert self.default_prompt_name is None
            assert convert_to_numpy
            assert not show_progress_bar
            recorder.calls.append({"texts": sentences, "batch_size": batch_size})
            return recorder.vectors(sentences)

    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    return recorder


@pytest.fixture
def fastembed(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    class TextEmbedding:
        def __init__(
            self, *, model_name: str, cache_dir: str | None, threads: int | None, local_files_only: bool
        ) -> None:
            if recorder.fail:
                raise recorder.fail
            recorder.calls.append(
                {
                    "model": model_name,
                    "cache_dir": cache_dir,
                    "threads": threads,
                    "local_files_only": local_files_only,
                }
            )

        def embed(self, documents: list[str], *, batch_size: int) -> Iterator[Any]:
            recorder.calls.append({"texts": documents, "batch_size": batch_size})
            yield from recorder.vectors(documents)

    module = ModuleType("fastembed")
    module.TextEmbedding = TextEmbedding  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fastembed", module)
    return recorder


def test_sentence_transformers(sentence_transformers: Recorder) -> None:
    embedder = load_embedder(
        "sentence-transformers:org/model",
        revision="abc",
        query_prefix="q: ",
        document_prefix="d: ",
        batch_size=7,
    )
    assert sentence_transformers.calls == []  # loaded on first use
    vectors = embedder.embed_documents(["a", "bcd"])
    assert vectors.shape == (2, 3)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    embedder.embed_query("x")
    opened, *encoded = sentence_transformers.calls
    assert opened == {
        "model": "org/model",
        "device": None,
        "revision": "abc",
        "local_files_only": True,
        "trust_remote_code": False,
    }
    # The dimensions are asked once, with a text of our own.
    texts = [call["texts"] for call in encoded]
    assert sorted(texts) == [["a"], ["d: a", "d: bcd"], ["q: x"]]
    assert {call["batch_size"] for call in encoded} == {7}


def test_sentence_transformers_downloads_only_when_told(sentence_transformers: Recorder) -> None:
    load_embedder("sentence-transformers:m", download=True).embed_query("x")
    assert sentence_transformers.calls[0]["local_files_only"] is False


def test_fastembed(fastembed: Recorder) -> None:
    embedder = load_embedder("fastembed:org/model", cache_dir="models", threads=2, normalize=False)
    vectors = embedder.embed_documents(["a", "bcd"])
    assert vectors.tolist() == [[1, 1, 2], [3, 1, 2]]
    assert fastembed.calls[0] == {
        "model": "org/model",
        "cache_dir": "models",
        "threads": 2,
        "local_files_only": True,
    }
    assert load_embedder("fastembed:m", dimensions=3).embed_query("x").shape == (3,)


def test_fastembed_downloads_only_when_told(fastembed: Recorder) -> None:
    load_embedder("fastembed:m", download=True).embed_query("x")
    assert fastembed.calls[0]["local_files_only"] is False


@pytest.mark.parametrize("library", ["sentence_transformers", "fastembed"])
class TestBoth:
    def spec(self, library: str) -> str:
        return f"{library.replace('_', '-')}:org/model"

    def test_a_model_that_cannot_be_loaded(
        self, library: str, request: pytest.FixtureRequest, recorder: Recorder
    ) -> None:
        request.getfixturevalue(library)
        recorder.fail = OSError("org/model is not a local folder")
        with pytest.raises(ModelUnavailable, match="not a local folder") as caught:
            load_embedder(self.spec(library)).embed_query("x")
        assert repr(self.spec(library)) in caught.value.message
        assert "download=True" in str(caught.value.hint)

    def test_wrong_shapes(self, library: str, request: pytest.FixtureRequest, recorder: Recorder) -> None:
        request.getfixturevalue(library)
        recorder.rows = [1.0, 2.0, 3.0]
        with pytest.raises(InvalidVector, match="two axes"):
            load_embedder(self.spec(library)).embed_query("x")
        recorder.rows = [[1.0, 2.0, 3.0]]
        with pytest.raises(InvalidVector, match=r"\(1, 3\), expected \(2, 3\)"):
            load_embedder(self.spec(library)).embed_documents(["x", "y"])

    def test_given_dimensions_are_checked(
        self, library: str, request: pytest.FixtureRequest, recorder: Recorder
    ) -> None:
        del recorder
        request.getfixturevalue(library)
        with pytest.raises(InvalidVector, match=r"\(1, 3\), expected \(1, 4\)"):
            load_embedder(self.spec(library), dimensions=4).embed_query("x")

    def test_identity_follows_the_settings(self, library: str) -> None:
        spec = self.spec(library)
        identities = {
            load_embedder(spec, **options).identity
            for options in ({}, {"query_prefix": "q"}, {"document_prefix": "d"}, {"normalize": False})
        }
        assert len(identities) == 4
        assert load_embedder(spec, batch_size=3).identity in identities


OWN = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
FOREIGN = {"idx": 1, "name": "1", "path": "1_Evil", "type": "evil.Evil"}
EVIL = {"types": {"a": "evil.Evil"}}
ROUTER = {"idx": 1, "name": "1", "path": "1_Router", "type": "sentence_transformers.models.Router"}


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"modules.json": [OWN, FOREIGN]}, "brings code of its own, 'evil.Evil'"),
        ({"modules.json": [OWN, ROUTER], "1_Router/router_config.json": EVIL}, "code of its own"),
        ({"modules.json": [OWN, ROUTER], "1_Router/config.json": EVIL}, "code of its own"),
        ({"modules.json": {"type": "evil.Evil"}}, "cannot be read"),
        ({"modules.json": [{"path": ""}]}, "cannot be read"),
        ({"modules.json": [OWN, ROUTER], "1_Router/router_config.json": {"types": {"a": OWN["type"]}}}, None),
        ({"config.json": {"model_type": "bert"}}, None),
    ],
)
def test_a_folder_that_brings_code_is_refused(
    sentence_transformers: Recorder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, Any],
    says: str | None,
) -> None:
    for name, value in files.items():
        (tmp_path / "org/model" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "org/model" / name).write_text(json.dumps(value))
    monkeypatch.chdir(tmp_path)  # where the name of the hub is that of a folder
    for name in ("org/model", str(tmp_path / "org/model")):
        embedder = load_embedder(f"sentence-transformers:{name}")
        if says is None:
            assert embedder.embed_documents(["a"]).shape == (1, 3)
        else:
            with pytest.raises(ModelUnavailable, match=says):
                embedder.embed_documents(["a"])
    assert bool(sentence_transformers.calls) == (says is None)
