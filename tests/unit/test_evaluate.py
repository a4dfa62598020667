"""Collections, measures and reports."""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path
from typing import Any

import pytest

from pgsift.errors import InvalidArgument, NothingToSearch
from pgsift.evaluate import MEASURES, Bootstrap, evaluate, load_collection, score_run

np = pytest.importorskip("numpy")
pytest.importorskip("ir_measures")


def write(folder: Path, **files: str) -> Path:
    names = {"corpus": "corpus.jsonl", "queries": "queries.jsonl", "qrels": "qrels.tsv"}
    for key, content in files.items():
        (folder / names[key]).write_text(content, encoding="utf-8", newline="")
    return folder


CORPUS = '{"id": "d1", "title": "One", "text": "first"}\n{"id": "d2", "text": "second\u2028line"}\n'
QUERIES = '{"id": "q1", "text": "first"}\n{"id": "q2", "text": "second"}\n{"id": "q3", "text": "unjudged"}\n'
QRELS = "q1\td1\t1\nq2\td2\t2\nq2\td9\t0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, corpus=CORPUS, queries=QUERIES, qrels=QRELS)


class TestCollection:
    def test_reads(self, folder: Path) -> None:
        collection = load_collection(folder)
        assert collection.name == folder.name
        assert [(d.key, d.title, d.text) for d in collection.documents] == [
            ("d1", "One", "first"),
            ("d2", "", "second\u2028line"),
        ]
        assert collection.queries == {"q1": "first", "q2": "second", "q3": "unjudged"}
        assert collection.qrels == {"q1": {"d1": 1}, "q2": {"d2": 2, "d9": 0}}
        assert list(collection.judged_queries) == ["q1", "q2"]
        assert collection.judgments == 3

    @pytest.mark.parametrize(
        "qrels",
        [
            "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t2\nq2\td9\t0\n",
            "q1 0 d1 1\nq2 0 d2 2\nq2 0 d9 0\n",
            "\r\nq1\td1\t1\r\n\r\nq2\td2\t2\r\nq2\td9\t0",
            "\ufeffq1\t0\td1\t1\nq2\t0\td2\t2\nq2\t0\td9\t0\n",
        ],
    )
    def test_forms_of_judgments(self, folder: Path, qrels: str) -> None:
        write(folder, qrels=qrels)
        assert load_collection(folder).qrels == {"q1": {"d1": 1}, "q2": {"d2": 2, "d9": 0}}

    def test_numbers_as_ids(self, folder: Path) -> None:
        write(
            folder, corpus='{"id": 7, "text": "x"}\n', queries='{"id": 1, "text": "x"}\n', qrels="1\t7\t1\n"
        )
        assert load_collection(folder).documents[0].key == "7"

    @pytest.mark.parametrize(
        ("files", "message"),
        [
            ({"corpus": "{"}, r"corpus\.jsonl, line 1: not JSON"),
            ({"corpus": "\n[1]"}, r"corpus\.jsonl, line 2: list instead of an object"),
            ({"corpus": '{"text": "x"}'}, r"line 1: id is missing"),
            ({"corpus": '{"id": "", "text": "x"}'}, "id is blank"),
            ({"corpus": '{"id": true, "text": "x"}'}, "id is bool"),
            ({"corpus": '{"id": "a"}'}, "text is missing"),
            ({"corpus": '{"id": "a", "text": 5}'}, "text is int"),
            ({"corpus": '{"id": "a", "text": "x", "title": 5}'}, "title is int"),
            ({"corpus": CORPUS + CORPUS}, r"corpus\.jsonl, line 3: id 'd1' occurs twice"),
            ({"corpus": ""}, "holds no document"),
            ({"queries": QUERIES * 2}, r"queries\.jsonl, line 4: id 'q1' occurs twice"),
            ({"qrels": ""}, "holds no judgment"),
            ({"qrels": "query\tdocument\tgrade\n"}, "holds no judgment"),
            ({"qrels": "q1\td1\n"}, r"qrels\.tsv, line 1: 2 columns"),
            ({"qrels": "q1\td1\t1\nq2\td2\tgood\n"}, r"line 2: grade 'good'"),
            ({"qrels": "q8\td1\t1\n"}, r"line 1: query 'q8' is not in queries\.jsonl"),
            ({"qrels": "q1\td1\t1\nq1\td1\t2\n"}, "line 2: query 'q1' and document 'd1' are judged twice"),
        ],
    )
    def test_malformed(self, folder: Path, files: dict[str, str], message: str) -> None:
        write(folder, **files)
        with pytest.raises(InvalidArgument, match=message):
            load_collection(folder)

    @pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
    def test_missing_file(self, folder: Path, name: str) -> None:
        (folder / name).unlink()
        with pytest.raises(InvalidArgument, match=name.replace(".", r"\.")):
            load_collection(folder)

    def test_not_utf8(self, folder: Path) -> None:
        (folder / "queries.jsonl").write_bytes(b'{"id": "q1", "text": "\xff"}')
        with pytest.raises(InvalidArgument, match=r"queries\.jsonl cannot be read"):
            load_collection(folder)

    def test_no_folder(self, folder: Path) -> None:
        with pytest.raises(InvalidArgument, match="is not a folder"):
            load_collection(folder / "absent")


def reference(grades: dict[str, int], ranking: list[str]) -> dict[str, float]:
    """The measures from their definitions."""
    relevant = {key for key, grade in grades.items() if grade > 0}
    gains = [max(0, grades.get(key, 0)) for key in ranking[:10]]
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:10]

    def dcg(values: list[int]) -> float:
        return sum(value / math.log2(place + 2) for place, value in enumerate(values))

    first = next((place for place, key in enumerate(ranking[:10], start=1) if key in relevant), None)
    return {
        "nDCG@10": dcg(gains) / dcg(ideal) if ideal else 0.0,
        "recall@10": len(relevant & set(ranking[:10])) / len(relevant) if relevant else 0.0,
        "recall@100": len(relevant & set(ranking[:100])) / len(relevant) if relevant else 0.0,
        "MRR@10": 1 / first if first else 0.0,
    }


class TestMeasures:
    def test_by_hand(self) -> None:
        scores = score_run({"q": {"a": 1, "b": 1}}, {"q": ["x", "a", "y", "b"]})
        assert scores["MRR@10"]["q"] == pytest.approx(0.5)
        assert scores["recall@10"]["q"] == pytest.approx(1)
        gained = 1 / math.log2(3) + 1 / math.log2(5)
        assert scores["nDCG@10"]["q"] == pytest.approx(gained / (1 + 1 / math.log2(3)))

    def test_equal_the_definitions(self) -> None:
        generator = random.Random(7)
        documents = [f"d{number}" for number in range(150)]
        qrels, run = {}, {}
        for number in range(60):
            judged = generator.sample(documents, generator.randint(1, 20))
            qrels[f"q{number}"] = {key: generator.choice([0, 1, 1, 2, 3]) for key in judged}
            run[f"q{number}"] = generator.sample(documents, generator.randint(0, 150))
        scores = score_run(qrels, run)
        assert set(scores) == set(MEASURES)
        for query in qrels:
            expected = reference(qrels[query], run[query])
            assert {measure: scores[measure][query] for measure in MEASURES} == pytest.approx(
                expected, abs=1e-9
            )

    def test_only_the_given_order_counts(self) -> None:
        # By name trec_eval would put b before a among equals; a thousand ranks must also stay apart.
        assert score_run({"q": {"a": 1}}, {"q": ["a", "b"]})["MRR@10"]["q"] == 1
        assert score_run({"q": {"b": 1}}, {"q": ["a", "b"]})["MRR@10"]["q"] == 0.5
        long = [f"d{number:05}" for number in range(20_000)]
        assert score_run({"q": {long[99]: 1}}, {"q": long})["recall@100"]["q"] == 1
        assert score_run({"q": {long[100]: 1}}, {"q": long})["recall@100"]["q"] == 0

    def test_cutoffs(self) -> None:
        ranking = [f"d{number}" for number in range(200)]
        tenth = score_run({"q": {"d9": 1}}, {"q": ranking})
        assert {measure: tenth[measure]["q"] for measure in MEASURES} == pytest.approx(
            {"nDCG@10": 1 / math.log2(11), "recall@10": 1, "recall@100": 1, "MRR@10": 0.1}
        )
        eleventh = score_run({"q": {"d10": 1}}, {"q": ranking})
        assert {measure: eleventh[measure]["q"] for measure in MEASURES} == {
            "nDCG@10": 0,
            "recall@10": 0,
            "recall@100": 1,
            "MRR@10": 0,
        }

    def test_a_query_that_found_nothing_counts_as_zero(self) -> None:
        scores = score_run({"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": ["a"], "q2": []})
        assert scores["nDCG@10"] == {"q1": 1, "q2": 0}
        assert score_run({"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": ["a"]})["recall@10"] == {"q1": 1, "q2": 0}

    def test_queries_without_judgments_do_not_count(self) -> None:
        assert score_run({"q1": {"a": 1}}, {"q1": ["a"], "q9": ["a"]})["MRR@10"] == {"q1": 1}

    def test_a_ranking_with_repeats_is_refused(self) -> None:
        with pytest.raises(InvalidArgument, match="'q' holds a document twice"):
            score_run({"q": {"a": 1}}, {"q": ["a", "b", "a"]})


class TestBootstrap:
    def test_interval_holds_the_mean_and_is_reproducible(self) -> None:
        values = {f"q{number}": float(number % 2) for number in range(200)}
        first = Bootstrap(list(values), seed=1).estimate(values)
        assert first.mean == 0.5
        assert first.low < 0.5 < first.high
        # The standard error of 200 fair coins is 0.0354, so the interval is about 0.139 wide.
        assert first.high - first.low == pytest.approx(0.139, abs=0.02)
        assert Bootstrap(list(values), seed=1).estimate(values) == first
        assert Bootstrap(list(values), seed=2).estimate(values) != first

    def test_a_constant_has_no_spread(self) -> None:
        estimate = Bootstrap(["a", "b"]).estimate({"a": 0.25, "b": 0.25})
        assert (estimate.low, estimate.mean, estimate.high) == (0.25, 0.25, 0.25)

    def test_differences_are_paired(self) -> None:
        generator = random.Random(3)
        base = {f"q{number}": generator.random() for number in range(100)}
        better = {query: value + 0.01 for query, value in base.items()}
        difference = Bootstrap(list(base)).difference(better, base)
        assert (difference.low, difference.high) == pytest.approx((0.01, 0.01))

    @pytest.mark.parametrize("options", [{"resamples": 0}, {"level": 0}, {"level": 1}])
    def test_bad_settings(self, options: dict[str, Any]) -> None:
        with pytest.raises(InvalidArgument):
            Bootstrap(["q"], **options)

    def test_no_queries(self) -> None:
        with pytest.raises(InvalidArgument, match="no query"):
            Bootstrap([])


class FakeStore:
    """A store of word sets: finds documents that share a word with the query, in the order of their keys."""

    def __init__(self) -> None:
        self.embedder: Any = None
        self.tenants: dict[str, dict[str, set[str]]] = {}
        self.searches: list[dict[str, Any]] = []
        self.embedders: list[Any] = []
        self.folded: list[str] = []
        self.fail = False

    def create_tenant(self, tenant: str, *, analyzer: str) -> int:
        assert analyzer in ("english", "standard")
        self.tenants[tenant] = {}
        return 1

    def drop_tenant(self, tenant: str) -> bool:
        return self.tenants.pop(tenant, None) is not None

    def put_documents(self, tenant: str, documents: Any, *, chunker: Any, context_prefix: bool) -> None:
        assert chunker is None
        assert not context_prefix
        self.embedders.append(self.embedder)
        for document in documents:
            assert [name.partition(":")[0] for name in document.acl] == ["evaluate"]
            (chunk,) = document.chunks
            self.tenants[tenant][document.key] = set(f"{document.title} {chunk.body}".lower().split())

    def fold_statistics(self, tenant: str) -> None:
        self.folded.append(tenant)

    def search(self, tenant: str, query: str, **options: Any) -> list[Any]:
        if self.fail:
            raise RuntimeError("the server went away")
        self.searches.append({"query": query, **options})
        words = set(query.split())
        if words == {"the"}:
            raise NothingToSearch("nothing is left of the query")

        class Hit:
            def __init__(self, key: str) -> None:
                self.key = self.body = key

        found = [Hit(key) for key, terms in sorted(self.tenants[tenant].items()) if terms & words]
        return found[: options["k"]]


class FakeEmbedder:
    name = "fake"
    identity = "fake@1"

    def embed_query(self, text: str) -> list[float]:
        return [float(len(text))]


class TestEvaluate:
    def test_lexical_alone_without_an_embedder(self, folder: Path) -> None:
        store = FakeStore()
        report = evaluate(store, folder)  # type: ignore[arg-type]
        assert list(report.modes) == ["lexical"]
        assert report.mean("lexical", "nDCG@10") == 1
        assert (report.documents, report.queries, report.judgments) == (2, 2, 3)
        assert store.tenants == {}
        assert len(store.folded) == 1
        (first, second) = store.searches
        assert (first["query"], second["query"]) == ("first", "second")
        assert first["query_embedding"] is None
        assert first["model"] is None
        assert first["k"] == 100
        (principal,) = first["principals"]
        assert re.fullmatch("evaluate:[0-9a-f]{32}", principal)
        assert second["principals"] == [principal]
        assert first["collapse"] is False

    def test_all_modes_with_an_embedder(self, folder: Path) -> None:
        store = FakeStore()
        embedder = FakeEmbedder()
        stages: list[tuple[str, int, int]] = []
        report = evaluate(
            store,  # type: ignore[arg-type]
            folder,
            embedder=embedder,  # type: ignore[arg-type]
            weights=(1, 0.5),
            depth=200,
            rrf_k=10,
            progress=lambda *step: stages.append(step),
        )
        assert list(report.modes) == ["lexical", "dense", "hybrid"]
        assert set(report.differences) == {("hybrid", "lexical"), ("hybrid", "dense")}
        assert store.embedders == [embedder]
        assert store.embedder is None
        hybrid = [search for search in store.searches if search["mode"] == "hybrid"]
        assert [search["query_embedding"] for search in hybrid] == [[5.0], [6.0]]
        assert hybrid[0]["model"] == "fake"
        assert (hybrid[0]["weights"], hybrid[0]["depth"], hybrid[0]["rrf_k"]) == ((1, 0.5), 200, 10)
        assert ("ingest", 2, 2) in stages
        assert ("embed queries", 2, 2) in stages
        assert ("hybrid", 2, 2) in stages

    def test_the_stores_own_embedder(self, folder: Path) -> None:
        store = FakeStore()
        store.embedder = FakeEmbedder()
        assert list(evaluate(store, folder).modes) == ["lexical", "dense", "hybrid"]  # type: ignore[arg-type]
        store.embedders.clear()
        evaluate(store, folder, modes=["lexical"])  # type: ignore[arg-type]
        assert store.embedders == [None]  # nothing is embedded that is not searched for
        assert store.embedder is not None

    def test_nothing_is_left_after_a_failure(self, folder: Path) -> None:
        store = FakeStore()
        store.fail = True
        store.embedder = FakeEmbedder()
        with pytest.raises(RuntimeError, match="went away"):
            evaluate(store, folder)  # type: ignore[arg-type]
        assert store.tenants == {}
        assert store.embedder is not None

    def test_a_query_of_stopwords_counts_as_empty(self, folder: Path) -> None:
        write(folder, queries='{"id": "q1", "text": "the"}\n{"id": "q2", "text": "second"}\n')
        report = evaluate(FakeStore(), folder)  # type: ignore[arg-type]
        assert report.modes["lexical"].empty == 1
        assert report.mean("lexical", "recall@100") == 0.5

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"modes": ["fuzzy"]}, "unknown mode 'fuzzy'"),
            ({"modes": "lexical"}, "must be a sequence"),
            ({"modes": []}, "must be a sequence"),
            ({"modes": ["dense"]}, "mode 'dense' needs an embedder"),
            ({"k": 0}, "k is 0"),
            ({"embedder": "nonsense"}, "unknown embedder"),
            ({"resamples": 0}, "resamples is 0"),
        ],
    )
    def test_bad_arguments(self, folder: Path, options: dict[str, Any], message: str) -> None:
        store = FakeStore()
        with pytest.raises(InvalidArgument, match=message):
            evaluate(store, folder, **options)  # type: ignore[arg-type]
        assert store.tenants == {}

    def test_report_as_dictionary_and_table(self, folder: Path) -> None:
        report = evaluate(FakeStore(), folder, embedder=FakeEmbedder(), weights=(1, 1))  # type: ignore[arg-type]
        plain = json.loads(json.dumps(report.to_dict(per_query=True)))
        assert plain["collection"] == folder.name
        assert plain["settings"]["embedder"] == "fake@1"
        assert plain["settings"]["weights"] == [1, 1]
        assert plain["modes"]["lexical"]["measures"]["nDCG@10"] == {"mean": 1, "low": 1, "high": 1}
        assert plain["modes"]["dense"]["per_query"]["MRR@10"] == {"q1": 1, "q2": 1}
        assert {item["baseline"] for item in plain["differences"]} == {"lexical", "dense"}
        assert "per_query" not in report.to_dict()["modes"]["lexical"]
        table = report.to_table().splitlines()
        assert table[0] == f"{folder.name}: 2 documents, 2 queries, 3 judgments"
        assert table[3].split() == ["mode", *MEASURES, "ms"]
        assert table[4].startswith("lexical")
        assert "1.0000 [1.000, 1.000]" in table[4]
        assert "hybrid - dense" in report.to_table()
        assert "+0.0000" in report.to_table()
