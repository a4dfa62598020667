"""Rerankers: a tiny cross-encoder, made here, in a local folder; HTTP endpoints on this machine; a stand-in for
sentence-transformers. That scores come out right is tested, not that they are of use."""

from __future__ import annotations

import importlib.util
import json
import random
import socket
import sys
import threading
import types
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import tiny_onnx

from pgsift.embed import _http
from pgsift.errors import InvalidArgument, InvalidVector, MissingExtra, ModelUnavailable
from pgsift.rerank import Reranker, TokenEmbedder, checked_scores, is_remote, load_reranker, load_token_embedder
from pgsift.rerank.tokens import maxsim

needs_onnx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("onnxruntime", "tokenizers", "numpy")),
    reason="the extra 'local' is not installed",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_onnx.save_folder(tmp_path_factory.mktemp("models") / "tiny", tiny_onnx.cross_encoder())


# --- ONNX -----------------------------------------------------------------------------------------


@needs_onnx
def test_a_folder_is_a_cross_encoder(folder: Path) -> None:
    reranker = load_reranker(f"onnx:{folder}", batch_size=3)
    assert isinstance(reranker, Reranker)
    chance = random.Random(4)
    texts = [" ".join(chance.choices([*tiny_onnx.WORDS, "unknown"], k=chance.randint(0, 12))) for _ in range(20)]
    for query in ("pump", "the old winch", "red crane of the harbour"):
        assert reranker.score(query, texts) == [tiny_onnx.equal_pairs(query, text) for text in texts]
    assert reranker.score("pump", []) == []
    assert not is_remote(reranker)


@needs_onnx
def test_a_score_does_not_depend_on_its_batch(folder: Path) -> None:
    texts = ["pump " * n + "winch" for n in range(9)]
    alone = [load_reranker(f"onnx:{folder}").score("pump winch", [text])[0] for text in texts]
    for size in (1, 2, 9):
        assert load_reranker(f"onnx:{folder}", batch_size=size).score("pump winch", texts) == alone


@needs_onnx
def test_the_identity_stands_for_files_and_settings(folder: Path, tmp_path: Path) -> None:
    identity = load_reranker(f"onnx:{folder}").identity
    assert identity.startswith("onnx:tiny@")
    assert load_reranker(f"onnx:{folder}", batch_size=1).identity == identity
    assert load_reranker(f"onnx:{folder}", max_tokens=100).identity != identity
    other = tiny_onnx.save_folder(tmp_path / "tiny", tiny_onnx.cross_encoder(labels=2))
    assert load_reranker(f"onnx:{other}").identity != identity


@needs_onnx
def test_long_pairs_are_cut(folder: Path) -> None:
    long = "pump " * 600
    assert load_reranker(f"onnx:{folder}", max_tokens=16).score("pump", [long]) == [1.0 + 16 - 4]
    # A query longer than the limit is cut too, and is no error.
    assert load_reranker(f"onnx:{folder}", max_tokens=16).score(long, ["pump"])[0] > 1


@needs_onnx
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "model.onnx").unlink(), "model.onnx of the model is not in the folder"),
        (lambda f: (f / "tokenizer.json").unlink(), "tokenizer.json of the model is not in the folder"),
        (lambda f: (f / "model.onnx").write_bytes(b"no model"), "cannot load model 'onnx:bad'"),
        (lambda f: (f / "tokenizer.json").write_text("{}"), "tokenizer.json of model 'onnx:bad' cannot be read"),
        (lambda f: (f / "model.onnx").write_bytes(tiny_onnx.cross_encoder(labels=2)), "expected one number each"),
    ],
)
def test_what_cannot_be_loaded_names_setting_and_model(
    tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    folder = tiny_onnx.save_folder(tmp_path / "bad", tiny_onnx.cross_encoder())
    damage(folder)
    with pytest.raises(ModelUnavailable) as caught:
        load_reranker(f"onnx:{folder}").score("pump", ["pump"])
    assert message in caught.value.message
    assert f"reranker 'onnx:{folder}'" in caught.value.message
    assert caught.value.hint


def test_a_missing_package_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = load_reranker(f"onnx:{folder}")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"reranker .*tiny.* needs the package 'tokenizers'"):
        reranker.score("pump", ["pump"])


def test_blank_queries_and_bad_texts_are_refused(folder: Path) -> None:
    reranker = load_reranker(f"onnx:{folder}")
    for query in ("", "  \n"):
        with pytest.raises(InvalidArgument, match="blank"):
            reranker.score(query, ["pump"])
    with pytest.raises(InvalidArgument, match="one string"):
        reranker.score("pump", "pump")
    with pytest.raises(InvalidArgument, match="text 1 is int"):
        reranker.score("pump", ["pump", 3])  # type: ignore[list-item]
    # A lone surrogate, which no tokenizer takes, is a character like another.
    assert reranker.score("pump \ud800", ["\udfff pump"])[0] >= 2


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("onnx", {}, "unknown reranker 'onnx'"),
        ("onnx:", {}, "unknown reranker"),
        ("tei:x", {}, "unknown reranker"),
        ("bm25", {}, "unknown reranker"),
        ("sentence-transformers:x", {"speed": 1}, "no option 'speed'"),
        ("cohere:x", {"base_url": "file:///etc/passwd"}, "not an http or https address"),
        ("cohere:x", {"base_url": "http://x", "timeout": 0}, "timeout above 0"),
        ("cohere:x", {"base_url": "http://x", "batch_size": 0}, "batch_size is 0"),
        ("cohere:x", {"base_url": "http://x", "top": 3}, "no option 'top'"),
        ("tei", {}, "has no address"),
    ],
)
def test_bad_specifications(
    spec: str, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGSIFT_RERANK_URL", raising=False)
    with pytest.raises(InvalidArgument, match=message):
        load_reranker(spec, **options)


# --- HTTP -----------------------------------------------------------------------------------------


class Judge:
    """A server that answers from a queue; when that is empty, with the number of characters of each text, the
    best first, as such servers do."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, dict(self.headers), body))
                status, headers, data = outer.answers.pop(0) if outer.answers else (200, {}, outer.scores(body))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v2"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def scores(self, body: dict[str, Any]) -> bytes:
        cohere = "documents" in body
        texts = body["documents" if cohere else "texts"]
        field = "relevance_score" if cohere else "score"
        ranked: list[dict[str, Any]] = [{"index": i, field: float(len(text))} for i, text in enumerate(texts)]
        ranked.sort(key=lambda result: -result[field])
        return json.dumps({"results": ranked} if cohere else ranked).encode()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def judge() -> Iterator[Judge]:
    server = Judge()
    yield server
    server.close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    noted: list[float] = []
    monkeypatch.setattr(_http.time, "sleep", noted.append)
    return noted


def test_the_endpoint_of_cohere(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSIFT_RERANK_URL", judge.url + "/")
    monkeypatch.setenv("PGSIFT_RERANK_KEY", "secret")
    reranker = load_reranker("cohere:rerank-x", batch_size=2)
    assert isinstance(reranker, Reranker)
    assert is_remote(reranker)
    assert reranker.identity.startswith("cohere:rerank-x@")
    assert reranker.score("q", ["aaa", "b", "cc"]) == [3.0, 1.0, 2.0]
    assert [path for path, _, _ in judge.requests] == ["/v2/rerank"] * 2
    assert judge.requests[0][1]["Authorization"] == "Bearer secret"
    assert judge.requests[0][2] == {
        "model": "rerank-x", "query": "q", "documents": ["aaa", "b"], "top_n": 2, "return_documents": False,
    }  # fmt: skip


def test_the_endpoint_of_text_embeddings_inference(judge: Judge) -> None:
    reranker = load_reranker("tei", base_url=judge.url, max_characters=2)
    assert reranker.score("q", ["aaa", "b"]) == [2.0, 1.0]
    assert judge.requests[0][2] == {"query": "q", "texts": ["aa", "b"], "truncate": True, "raw_scores": True}
    assert "Authorization" not in judge.requests[0][1]


def test_passing_failures_are_tried_again(judge: Judge, waits: list[float]) -> None:
    judge.answers += [(503, {}, b"starting"), (429, {"Retry-After": "7"}, b"later")]
    reranker = load_reranker("tei", base_url=judge.url)
    assert reranker.score("q", ["aaa"]) == [3.0]
    assert waits[1] >= 7


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ((401, {}, b"bad key secret"), ModelUnavailable, "answered 401"),
        ((302, {"Location": "http://elsewhere.invalid/"}, b""), ModelUnavailable, "answered 302"),
        ((200, {}, b"no json"), ModelUnavailable, "no list of scores"),
        ((200, {}, b'{"results": [{"index": 0}]}'), ModelUnavailable, "no list of scores"),
        ((200, {}, b'{"results": []}'), InvalidVector, "0 scores for 1 texts"),
        ((200, {}, b'{"results": [{"index": 5, "relevance_score": 1}]}'), InvalidVector, "wrong indexes"),
        ((200, {}, b'{"results": [{"index": 0, "relevance_score": NaN}]}'), InvalidVector, "returned nan"),
    ],
)
def test_bad_answers(
    judge: Judge, answer: tuple[int, dict[str, str], bytes], error: type[Exception], message: str
) -> None:
    judge.answers.append(answer)
    reranker = load_reranker("cohere:m1", base_url=judge.url, api_key="secret", retries=0)
    with pytest.raises(error, match=message) as caught:
        reranker.score("q", ["aaa"])
    assert "cohere:m1" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_nobody_there_and_too_slow(waits: list[float]) -> None:
    gone = load_reranker("cohere:m1", base_url="http://127.0.0.1:9/v1", retries=1)
    with pytest.raises(ModelUnavailable, match=r"reranker 'cohere:m1' \(model 'm1'\).*cannot be reached"):
        gone.score("q", ["aaa"])
    assert len(waits) == 1
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        slow = load_reranker("tei", base_url=address, timeout=0.2, retries=0)
        with pytest.raises(ModelUnavailable, match=r"reranker 'tei': .*cannot be reached: .*timed out"):
            slow.score("q", ["aaa"])


# --- sentence-transformers ------------------------------------------------------------------------


def test_a_cross_encoder_of_sentence_transformers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[tuple[str, dict[str, Any]]] = []

    class CrossEncoder:
        def __init__(self, name: str, **options: Any) -> None:
            if name == "absent":
                raise OSError("no such model")
            made.append((name, options))

        def predict(self, pairs: list[tuple[str, str]], **_: Any) -> list[float]:
            return [tiny_onnx.equal_pairs(query, text) for query, text in pairs]

    library = types.ModuleType("sentence_transformers")
    library.CrossEncoder = CrossEncoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    reranker = load_reranker("sentence-transformers:some/model", revision="abc", batch_size=2)
    assert made == []
    assert reranker.score("the pump", ["pump", "the the", "boat"]) == [2.0, 3.0, 1.0]
    ((name, options),) = made
    assert name == "some/model"
    assert options["local_files_only"] is True
    assert options["trust_remote_code"] is False
    assert reranker.identity != load_reranker("sentence-transformers:some/model").identity
    with pytest.raises(ModelUnavailable, match="model 'absent' cannot be loaded: no such model"):
        load_reranker("sentence-transformers:absent").score("q", ["a"])
    (tmp_path / "modules.json").write_text('[{"path": "", "type": "evil.Evil"}]')
    with pytest.raises(ModelUnavailable, match="brings code of its own"):
        load_reranker(f"sentence-transformers:{tmp_path}").score("q", ["a"])


# --- token vectors --------------------------------------------------------------------------------


@needs_onnx
def test_a_folder_gives_a_vector_for_each_token(tmp_path: Path) -> None:
    import numpy as np

    table = np.random.default_rng(3).normal(size=(len(tiny_onnx.VOCABULARY), 5)).astype(np.float32)
    folder = tiny_onnx.save_folder(tmp_path / "late", tiny_onnx.token_encoder(table.tolist()))
    embedder = load_token_embedder(f"onnx:{folder}", query_prefix="the ", batch_size=2)
    assert isinstance(embedder, TokenEmbedder)
    assert embedder.name == "onnx:late"
    assert embedder.dimensions == 5
    texts = ["pump", "the old winch of the harbour", "red boat"]
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    for text, vectors in zip(texts, embedder.embed_document_tokens(texts), strict=True):
        ids = [2, *(tiny_onnx.VOCABULARY[word] for word in text.split()), 3]
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, unit[ids], rtol=1e-6)
    query = embedder.embed_query_tokens("pump")
    np.testing.assert_allclose(query, unit[[2, VOCABULARY["the"], VOCABULARY["pump"], 3]], rtol=1e-6)
    raw = load_token_embedder(f"onnx:{folder}", normalize=False)
    np.testing.assert_array_equal(raw.embed_query_tokens("pump"), table[[2, VOCABULARY["pump"], 3]])
    assert raw.revision != embedder.revision
    with pytest.raises(InvalidArgument, match="blank"):
        embedder.embed_document_tokens(["pump", " "])


VOCABULARY = tiny_onnx.VOCABULARY


@needs_onnx
def test_a_graph_without_token_states_is_refused(folder: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"token embedder .*expected one vector for each token"):
        load_token_embedder(f"onnx:{folder}").embed_query_tokens("pump")
    with pytest.raises(InvalidArgument, match="unknown token embedder"):
        load_token_embedder("colbert")


def test_maxsim_by_hand() -> None:
    pytest.importorskip("numpy")
    # Of (1, 0) the best is 0.9, of (0, 2) it is 2 * 0.5.
    assert maxsim([[1, 0], [0, 2]], [[0.9, 0.1], [-1, 0.5], [0.2, 0.3]]) == pytest.approx(1.9)


@pytest.mark.parametrize(
    "scores",
    [None, 5, ["x", 1], [[1], [2]], [10**400, 1], [float("nan"), 1], [float("inf"), 1], [1], [1, 2, 3], {}],
)
def test_what_is_no_list_of_scores_is_refused(scores: Any) -> None:
    with pytest.raises(InvalidVector, match="'judge@1'") as caught:
        checked_scores(scores, count=2, name="judge@1")
    assert caught.value.hint


def test_the_loaders_stand_beside_the_store() -> None:
    import pgsift

    assert pgsift.load_reranker is load_reranker and pgsift.load_token_embedder is load_token_embedder
