"""Reranking through the store: the order of the steps, what is judged, what the cap promotes, token vectors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny_onnx

from pgsift.errors import AlreadyExists, InvalidArgument, InvalidVector
from pgsift.rerank import load_reranker, load_token_embedder
from pgsift.rerank.tokens import maxsim


class Judge:
    """Judges a text by the number after its last ``#``, and keeps what it was asked."""

    identity = "judge@1"

    def __init__(self, *, remote: bool = False) -> None:
        self.remote = remote
        self.asked: list[tuple[str, list[str]]] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((query, list(texts)))
        return [float(text.rpartition("#")[2]) for text in texts]


def put(store: Any, documents: dict[str, list[str]], **fields: Any) -> None:
    store.put_documents(
        "t",
        [
            {"key": key, "chunks": [{"body": body} for body in bodies], **fields}
            for key, bodies in documents.items()
        ],
    )


def shown(result: Any) -> list[tuple[int, str, float | None, int | None]]:
    return [(hit.rank, hit.body, hit.rerank_score, hit.former_rank) for hit in result]


def search(store: Any, query: str = "walrus", **options: Any) -> Any:
    return store.search("t", query, principals=["public"], **options)


def test_over_fetch_collapse_rerank_cap_truncate(store: Any) -> None:
    # Lexical order: all of "long" before "short". One text stands three times.
    put(store, {
        "long": [f"walrus walrus walrus #{n}" for n in (1, 2, 3, 4, 5)],
        "copy": ["walrus walrus walrus #1"],
        "short": [f"walrus and some filler words around it #{n}" for n in (9, 0)],
        "last": ["walrus and yet more of the filler words that make a text long #3.5"],
    })  # fmt: skip
    judge = Judge()
    page = search(store, k=4, per_document=2, rerank=judge)
    ((query, texts),) = judge.asked
    assert query == "walrus"
    # Over-fetched without a cap, and collapsed before it was judged: the copy was not, all others were.
    assert sorted(texts) == sorted({hit.body for hit in search(store, k=100, per_document=None, collapse=False)})
    assert len(texts) == 8
    # The best is one the cap and k would never have let through before; of "long", the two best by the judge;
    # "last" is promoted past its third and fourth.
    assert [(rank, body.rpartition("#")[2], score) for rank, body, score, _ in shown(page)] == [
        (1, "9", 9.0), (2, "5", 5.0), (3, "4", 4.0), (4, "3.5", 3.5),
    ]  # fmt: skip
    former = {hit.body: hit.rank for hit in search(store, k=100, per_document=None)}
    assert all(hit.former_rank == former[hit.body] for hit in page)
    assert former[page[0].body] > 4
    uncapped = search(store, k=4, per_document=None, rerank=Judge())
    assert [hit.rerank_score for hit in uncapped] == [9.0, 5.0, 4.0, 3.5]
    assert [hit.rerank_score for hit in search(store, k=5, per_document=None, rerank=Judge())][4] == 3.0
    second = search(store, k=2, skip=2, per_document=2, rerank=Judge())
    assert [(hit.rank, hit.rerank_score) for hit in second] == [(3, 4.0), (4, 3.5)]


def test_the_text_judged_is_the_text_shown(store: Any) -> None:
    put(store, {"a": ["walrus\n  with | odd   white space #1", "walrus é #2"]}, title="A title that is not judged")
    judge = Judge()
    page = search(store, rerank=judge)
    assert sorted(judge.asked[0][1]) == sorted(hit.body for hit in page)


def test_what_is_not_judged_comes_after(store: Any) -> None:
    put(store, {f"d{n}": [f"walrus {'filler ' * n}#{n}"] for n in range(8)})
    before = [hit.body for hit in search(store, k=8)]
    judge = Judge()
    page = search(store, k=6, rerank=judge, rerank_depth=3)
    assert judge.asked[0][1] == before[:3]
    assert [hit.body for hit in page] == [before[2], before[1], before[0], *before[3:6]]
    assert [hit.rerank_score for hit in page] == [2.0, 1.0, 0.0, None, None, None]
    assert [hit.former_rank for hit in page] == [3, 2, 1, 4, 5, 6]


def test_the_cap_promotes_from_beyond_what_was_judged(store: Any) -> None:
    flood = [f"walrus walrus #{n}" for n in range(30)]
    put(store, {"flood": flood, "other": ["walrus among many other words #99"]})
    judge = Judge()
    page = search(store, k=3, per_document=2, rerank=judge, rerank_depth=5)
    assert len(judge.asked) == 1
    assert len(judge.asked[0][1]) == 5
    assert [hit.key for hit in page] == ["flood", "flood", "other"]
    assert page[2].rerank_score is None
    # A depth that is given is a limit: what lies beyond is not looked at.
    assert [hit.key for hit in search(store, k=3, per_document=2, rerank=judge, depth=10)] == ["flood", "flood"]


def test_budget_and_mmr_after_the_judge(store: Any) -> None:
    words = ["same words here"] * 3 + ["other text", "yet another"]
    put(store, {f"d{n}": [f"walrus {words[n]} x{n} #{10 - n}"] for n in range(5)})
    page = search(store, k=5, rerank=Judge(), token_budget=20)
    bodies = [hit.body for hit in page]
    assert sum(-(-len(body) // 4) for body in bodies) <= 20
    assert 0 < len(page) < 5
    plain = search(store, k=3, rerank=Judge())
    assert [hit.rerank_score for hit in plain] == [10.0, 9.0, 8.0]
    varied = search(store, k=3, rerank=Judge(), mmr=0.3)
    assert varied[0].rerank_score == 10.0
    assert {hit.rerank_score for hit in varied[1:]} == {6.0, 7.0}
    relevant = search(store, k=5, rerank=Judge(), mmr=1.0)
    assert [hit.body for hit in relevant] == [hit.body for hit in search(store, k=5, rerank=Judge())]


def test_texts_that_are_kept_from_remote_models_are_not_sent(store: Any) -> None:
    store.set_tenant("t", remote_classifications=["public"])
    put(store, {"open": ["walrus in the open #1"]}, classification="public")
    put(store, {"closed": ["walrus, secret #5"], "none": ["walrus, unmarked #6"]})
    put(store, {"secret": ["walrus, marked #7"]}, classification="secret")
    judge = Judge(remote=True)
    page = search(store, rerank=judge)
    assert [texts for _, texts in judge.asked] == [["walrus in the open #1"]]
    assert page[0].key == "open"
    assert {hit.key for hit in page if hit.may_be_sent} == {"open"}
    assert [hit.rerank_score for hit in page] == [1.0, None, None, None]
    assert any("3 hits were not judged" in warning for warning in page.warnings)
    here = search(store, rerank=Judge())
    assert [hit.key for hit in here] == ["secret", "none", "closed", "open"]


def test_without_a_judge_nothing_is_reranked(store: Any) -> None:
    put(store, {"a": ["walrus #1"], "b": ["walrus walrus #2"]})
    for hit in search(store):
        assert (hit.rerank_score, hit.former_rank, hit.may_be_sent) == (None, None, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": "  "}, "nothing to judge"),
        ({"rerank_depth": 0}, "rerank_depth must lie between"),
        ({"rerank_depth": 100_000}, "rerank_depth must lie between"),
        ({"rerank_depth": 2.5}, "rerank_depth must be an integer"),
        ({"per_document": 0}, "per_document must be at least 1"),
        ({"mmr": 1.5}, "mmr must lie between 0 and 1"),
        ({"mmr": float("nan")}, "mmr must lie between 0 and 1"),
        ({"token_budget": 0}, "token_budget must be at least 1"),
        ({"k": -1}, "must not be negative"),
        ({"mmr": 0.5, "as_of": "2030-01-01"}, "does not go with as_of"),
    ],
)
def test_bad_options(store: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        search(store, **{"rerank": Judge(), **options})


def test_a_judge_that_fails_ends_the_search(store: Any) -> None:
    put(store, {"a": ["walrus #1"]})

    class Bad:
        identity = "bad@1"

        def score(self, query: str, texts: Sequence[str]) -> list[float]:
            return [float("nan")] * len(texts) if query else []

    with pytest.raises(InvalidVector, match="reranker 'bad@1' returned nan for text 0"):
        search(store, rerank=Bad())


# --- with models from a folder --------------------------------------------------------------------


def local() -> None:
    for name in ("numpy", "onnxruntime", "tokenizers"):
        pytest.importorskip(name)


def test_a_cross_encoder_from_a_folder(store: Any, tmp_path: Path) -> None:
    local()
    folder = tiny_onnx.save_folder(tmp_path / "tiny", tiny_onnx.cross_encoder())
    crane = "pump crane crane crane and a great many words"
    put(store, {"a": ["pump pump of the boat"], "b": [crane], "c": ["the crane"]})
    page = search(store, "pump crane", rerank=load_reranker(f"onnx:{folder}"))
    assert [(hit.key, hit.rerank_score) for hit in page] == [("b", 5.0), ("a", 3.0), ("c", 2.0)]


def test_token_vectors_follow_the_chunks(store: Any, tmp_path: Path) -> None:
    local()
    # 5 is pump, 6 is winch.
    table = [[float(n == 5), float(n == 6), 0.1 * (n % 3)] for n in range(len(tiny_onnx.VOCABULARY))]
    folder = tiny_onnx.save_folder(tmp_path / "late", tiny_onnx.token_encoder(table))
    embedder = load_token_embedder(f"onnx:{folder}", normalize=False)
    documents = [{"key": "a", "text": "boat pump boat"}, {"key": "b", "text": "boat winch winch"}]
    report = store.ingest("t", documents, token_embedder=embedder)
    assert report.created == 2
    assert store.embed_tokens("t", embedder) == 0
    assert [(model.model, model.dimensions) for model in store.token_models()] == [("onnx:late", 3)]
    before = {hit.key: hit.rerank_score for hit in search(store, "boat", token_embedder=embedder)}
    # [CLS] boat [SEP] of the query against each token: computed by hand from the table.
    rows = {"a": [2, 9, 5, 9, 3], "b": [2, 9, 6, 6, 3]}
    for key, ids in rows.items():
        expected = maxsim([table[q] for q in (2, 9, 3)], [table[d] for d in ids])
        assert before[key] == pytest.approx(expected, abs=1e-3)
    # Replaced, the chunk has none until they are made; it comes after those that have.
    store.put_documents("t", [{"key": "b", "text": "boat winch pump"}])
    page = search(store, "boat", token_embedder=embedder)
    assert [(hit.key, hit.rerank_score is None) for hit in page] == [("a", False), ("b", True)]
    assert store.embed_tokens("t", embedder) == 1
    page = search(store, "pump winch", token_embedder=embedder)
    assert [hit.key for hit in page] == ["b", "a"]
    assert [hit.former_rank for hit in page] == [1, 2]
    assert page[0].rerank_score == pytest.approx(2.0 + 0.04 * 2, abs=0.05)

    other = load_token_embedder(f"onnx:{folder}", normalize=True)
    with pytest.raises(AlreadyExists, match="token model 'onnx:late' is registered with revision"):
        store.embed_tokens("t", other)
    # Vectors may be passed as they are.
    vectors = embedder.embed_query_tokens("pump winch")
    again = search(store, "pump winch", query_token_embeddings=vectors)
    assert again == search(store, "pump winch", query_token_embeddings=json.loads(json.dumps(vectors.tolist())))
    assert [hit.rerank_score for hit in again] == [hit.rerank_score for hit in page]
    with pytest.raises(InvalidVector, match=r"have 2 dimensions, the model .* has 3"):
        search(store, "pump", query_token_embeddings=[[1.0, 2.0]])
