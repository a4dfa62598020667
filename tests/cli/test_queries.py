"""The page about queries, the vocabulary, and what the commands tell of a query."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import psycopg
import pytest

from pgsift import Store
from pgsift.errors import InvalidArgument
from pgsift_cli.app import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/queries.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def place(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    monkeypatch.delenv("PGSIFT_TENANT", raising=False)
    with Store(dsn) as store:
        store.create_tenant("default", default_principals=["public"])
        store.put_documents(
            "default",
            [
                {"key": "stop", "text": "The emergency stop of the winch: report it, keep the reports."},
                {"key": "ferry", "text": "The emergency stop of the ferry, far from the winch."},
                {"key": "esd", "text": "An emergency shutdown of the winch."},
                {"key": "hidden", "text": "winchester", "acl": ["group:hr"]},
            ],
        )
    return dsn


def test_the_page_works(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "vocabulary.toml").write_text(_blocks("toml")[0], encoding="utf-8")
    commands = [line for block in _blocks("sh") for line in block.splitlines()]
    assert len(commands) == 10
    for line in commands:
        code = main(shlex.split(line)[1:])
        # A query that only excludes is the one that is refused.
        assert code == 0, line
    capsys.readouterr()
    with psycopg.connect(place, autocommit=True) as connection:
        queries = [line for block in _blocks("sql") for line in block.splitlines()]
        assert len(queries) == 6
        for query in queries:
            assert connection.execute(query.encode()).fetchall(), query
    printed = io.StringIO()
    for block in _blocks("python"):
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "queries.md", "exec"), {})
    assert printed.getvalue().startswith("['stop', 'ferry']") or printed.getvalue().startswith("['ferry', 'stop']")
    linked = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert linked
    assert all((ROOT / "docs" / target).exists() for target in linked)


@pytest.mark.usefixtures("place")
def test_search_tells_what_it_left_out_and_added(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "v.toml").write_text('[acronyms]\nESD = "emergency shutdown"\n', encoding="utf-8-sig")
    assert main(["vocabulary", "import", "v.toml"]) == 0
    assert capsys.readouterr().out == "1 acronyms\n"
    assert main(["search", "What does the ESD do?", "--embedder", "none"]) == 0
    err = capsys.readouterr().err
    assert "note: added to the query for ESD: emergenc, shutdown" in err
    assert (
        "note: left out of the query: What (question word), does (question word), do (question word), "
        "the (stopword)"
    ) in err
    assert (
        main(
            ["search", "What does the ESD do?", "--embedder", "none", "--keep-questions", "--no-expand", "--json"]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["hits"] == []
    assert main(["search", '"of the ferry"', "--embedder", "none", "--json"]) == 0
    assert [hit["key"] for hit in json.loads(capsys.readouterr().out)["hits"]] == ["ferry"]
    assert main(["search", "--embedder", "none", "--json", "--plain", "--", "-ferry"]) == 0
    assert [hit["key"] for hit in json.loads(capsys.readouterr().out)["hits"]] == ["ferry"]
    assert main(["search", "--embedder", "none", "--", "-ferry"]) == 2
    assert "only says what to leave out" in capsys.readouterr().err


@pytest.mark.usefixtures("place")
def test_query_terms_tells_prefixes_to_those_who_see_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query-terms", "winch*", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [term["term"] for term in shown] == ["winch"]
    assert main(["query-terms", "winch*", "--json", "--as", "group:hr"]) == 0
    assert [term["term"] for term in json.loads(capsys.readouterr().out)] == ["winchest"]


@pytest.mark.parametrize(
    "content",
    [
        "x = 1",
        "[acronyms]\nMRI = 1",
        "[acronyms]\nMRI = []",
        "[acronyms]\nMRI = [1]",
        "[acronyms",
        "acronyms = 1",
        "[other]\nA = 'b'",
        "[acronyms]\n[acronyms.MRI]\nx = 'y'",
    ],
)
@pytest.mark.usefixtures("place")
def test_a_file_that_is_no_vocabulary(content: str, tmp_path: Path) -> None:
    (tmp_path / "v.toml").write_text(content, encoding="utf-8")
    assert main(["vocabulary", "import", "v.toml"]) == 2
    assert main(["vocabulary", "import", "none.toml"]) == 2


def test_the_vocabulary(place: str) -> None:
    with Store(place) as store:
        assert (
            store.set_acronyms(
                "default",
                {"ESD": "emergency shutdown", "CI": ["confidence interval", "a ci", "confidence interval"]},
            )
            == 2
        )
        assert [(item.acronym, item.expansion) for item in store.acronyms("default")] == [
            ("CI", "a ci"), ("CI", "confidence interval"), ("ESD", "emergency shutdown"),
        ]  # fmt: skip

        def added(query: str) -> list[str]:
            return [term.term for term in store.query_terms("default", query) if term.reason == "added"]

        assert added("ESD") == added("(ESD)?") == added("ESD/x") == ["emergenc", "shutdown"]
        assert added("esd") == added("ESDs") == added('"ESD"') == added("+ESD") == added("x -ESD") == []
        assert added("emergency ESD emergencies") == ["shutdown"]
        assert added("CI") == ["confid", "interval"]
        assert added("CI shutdown ESD") == ["confid", "interval", "emergenc"]
        assert {hit.key for hit in store.search("default", "ESD", principals=["public"])} == {
            "esd",
            "stop",
            "ferry",
        }
        assert not store.search("default", "ESD", principals=["public"], expand=False)
        store.set_tenant("default", expand=False)
        assert not store.search("default", "ESD", principals=["public"])
        assert store.search("default", "ESD", principals=["public"], expand=True)
        assert store.tenant("default").expand is False
        assert store.set_acronyms("default", {"ESD": "other"}) == 1
        assert store.remove_acronyms("default", ["CI", "none"]) == 1
        assert [(item.acronym, item.expansion) for item in store.acronyms("default")] == [("ESD", "other")]
        assert store.set_acronyms("default", {"AB": "x y z words"}, replace=True) == 1
        assert [item.acronym for item in store.acronyms("default")] == ["AB"]
        for wrong in (
            {"M": "one character"}, {"two words": "x y"}, {"": "x"}, {"MRI": ""}, {"MRI": "the"}, {"MRI": []},
            {"MRI": [1]}, {"MRI": None},
            {"x" * 101: "long"}, {"MRI": "x" * 501}, {"MRI": ["word"] * 17}, {" MRI": "a b c", "MRI ": "second"},
        ):  # fmt: skip
            with pytest.raises(InvalidArgument) as caught:
                store.set_acronyms("default", wrong)  # type: ignore[arg-type]
            assert caught.value.hint
        assert [item.acronym for item in store.acronyms("default")] == ["AB"]
        store.drop_tenant("default")
        store.create_tenant("default")
        assert store.acronyms("default") == []


def test_questions_are_an_option(place: str) -> None:
    with Store(place) as store:

        def terms(query: str, **options: bool) -> list[str]:
            return [term.term for term in store.query_terms("default", query, **options) if term.kept]  # type: ignore[arg-type]

        assert terms("What does a winch do?") == ["winch"]
        assert terms("What does a winch do?", strip_questions=False) == ["what", "doe", "winch", "do"]
        assert terms("What does it do?") == ["what", "doe", "do"]
        assert terms("what winch do") == ["what", "winch", "do"]
        store.set_tenant("default", strip_questions=False)
        assert terms("What does a winch do?") == ["what", "doe", "winch", "do"]
        assert terms("What does a winch do?", strip_questions=True) == ["winch"]
        warnings = store.search(
            "default", "What of the zebra?", principals=["public"], strip_questions=True
        ).warnings
        assert "left out of the query: What (question word)" in warnings


class Recorder:
    """An embedder that notes what it is given."""

    name = "recorder"
    revision = ""
    dimensions = 2
    metric = "cosine"
    query_prefix = ""
    document_prefix = ""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.5] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        return [1.0, 0.25]


def test_the_embedder_is_given_the_text_without_operators(place: str) -> None:
    recorder = Recorder()
    with Store(place) as store:
        store.register_model("recorder", 2)
        store.put_documents("default", [{"key": "v", "text": "red car"}], embedder=recorder)  # type: ignore[arg-type]
        asked = {
            '+red "car" -blue stop*': "red car stop", "red car": "red car", "What is \"red\"?": "What is \"red\"?",
        }  # fmt: skip
        for query, text in asked.items():
            recorder.asked.clear()
            hits = store.search("default", query, principals=["public"], embedder=recorder)  # type: ignore[arg-type]
            assert recorder.asked == [text]
            store.cache_query_embedding("default", query, embedder=recorder)  # type: ignore[arg-type]
            again = store.search("default", query, principals=["public"], model="recorder")
            assert {hit.query_vector for hit in hits} == {"given"}
            assert {hit.query_vector for hit in again} == {"cached"}
            assert [hit.to_dict() | {"query_vector": "given"} for hit in again] == [hit.to_dict() for hit in hits]
        recorder.asked.clear()
        store.search("default", '+red "car"', principals=["public"], embedder=recorder, plain=True)  # type: ignore[arg-type]
        assert recorder.asked == ['+red "car"']
