"""Claims and entities: the page about them, and the commands."""

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
from pgsift.errors import InvalidDocument
from pgsift.models import Chunk, Document
from pgsift_cli.app import main

PAGE = (Path(__file__).resolve().parents[2] / "docs/claims.md").read_text(encoding="utf-8")


@pytest.fixture
def place(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    monkeypatch.delenv("PGSIFT_TENANT", raising=False)
    Path("claims.jsonl").write_text(
        '{"key": "pumps", "body": "Every week, strainers were cleaned.", "supports": [2]}\n', encoding="utf-8"
    )
    Path("mentions.jsonl").write_text(
        '{"key": "pumps", "ordinal": 2, "entities": ["strainer", "pump"]}\n', encoding="utf-8"
    )
    return dsn


def test_the_page_works(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its blocks one after the other, each as the reader would run it."""
    printed = io.StringIO()
    answers: list[list[tuple[object, ...]]] = []
    with psycopg.connect(place, autocommit=True) as connection:
        for language, block in re.findall(r"^```(sh|sql|python)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
            if language == "sql":
                for query in block.splitlines():
                    answers.append(connection.execute(query.encode()).fetchall())
                    assert answers[-1], query
            elif language == "sh":
                for line in block.splitlines():
                    assert main(shlex.split(line)[1:]) == 0, line
            else:
                with contextlib.redirect_stdout(printed):
                    exec(compile(block, "claims.md", "exec"), {})
    assert answers[1] == [("created", "fulltext")]
    assert answers[2][0][1:] == ("claim", "Cavitation raises the risk of failure (RR 2.04).", "fulltext")
    assert answers[3][0][0].startswith("Among 12,500 pumps")  # type: ignore[attr-defined]
    assert answers[4:6] == [[(3,)], [("pumps", 0), ("pumps", 1)]]
    assert "claim Cavitation raises the risk of failure (RR 2.04). cavitation doubled" in printed.getvalue()
    assert printed.getvalue().endswith("[2]\n")
    out = capsys.readouterr().out
    assert "1 created, 0 unchanged" in out and "claim, fulltext, by chunks 1" in out and "strainer" in out


def test_the_command_line(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(place) as store:
        store.create_tenant("default", default_principals=["public"])
        chunks = [{"body": f"part {n} of 4"} for n in range(3)]
        store.put_documents("default", [{"key": "pumps", "chunks": chunks}])
        store.put_documents("default", [{"key": "hidden", "text": "secret 7", "acl": ["group:hr"]}])
    line = {"key": "pumps", "body": "In all 4 parts.", "supports": [0]}
    Path("claims.jsonl").write_text(f"\n{json.dumps(line)}\n", encoding="utf-8")
    assert main(["claims", "add", "claims.jsonl", "--json"]) == 0
    (claim,) = json.loads(capsys.readouterr().out)["claims"]
    assert (claim["key"], claim["status"], claim["source_level"]) == ("pumps", "created", "fulltext")
    assert main(["claims", "add", "claims.jsonl"]) == 0 and capsys.readouterr().out == "0 created, 1 unchanged\n"
    assert main(["claims", "list", "pumps", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["claims"]
    assert listed["chunk_id"] == claim["chunk_id"] and [s["body"] for s in listed["sources"]] == ["part 0 of 4"]
    for key in ("hidden", "absent"):
        assert main(["claims", "list", key, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"key": key, "claims": []}
    assert main(["entities", "add", "mentions.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"added": 2}
    assert main(["entities", "search", "strainer", "--json"]) == 0
    (chunk,) = json.loads(capsys.readouterr().out)["chunks"]
    assert (chunk["key"], chunk["ordinal"], chunk["body"]) == ("pumps", 2, "part 2 of 4")
    assert main(["entities", "list", "--json"]) == 0
    assert [e["value"] for e in json.loads(capsys.readouterr().out)["entities"]] == ["pump", "strainer"]
    assert main(["entities", "remove", "mentions.jsonl"]) == 0 and capsys.readouterr().out == "2 removed\n"
    assert main(["entities", "search", "strainer", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chunks"] == []
    assert main(["search", "part", "--strategy", "claims", "--json"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)["hits"]
    assert hit["body"] == "In all 4 parts." and [s["ordinal"] for s in hit["claim"]["sources"]] == [0]
    assert main(["search", "part", "--claims-k", "0", "--json"]) == 0
    assert {hit["kind"] for hit in json.loads(capsys.readouterr().out)["hits"]} == {"text"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no json", "line 1 is not JSON"),
        ("[]", "line 1 is not an object with a key"),
        ('{"body": "x", "supports": [0]}', "line 1 is not an object with a key"),
    ],
)
def test_lines_that_are_refused(place: str, line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(place) as store:
        store.create_tenant("default")
    Path("claims.jsonl").write_text(line, encoding="utf-8")
    assert main(["claims", "add", "claims.jsonl"]) == 2
    assert message in capsys.readouterr().err
    assert main(["claims", "add", "absent.jsonl"]) == 2


def test_claims_through_the_pipeline(place: str) -> None:
    """Chunks of a document given to the store, cleaned and tokenized by the client."""
    with Store(place) as store:
        store.create_tenant("default", default_principals=["public"])
        source = Chunk("A ratio\x00 of 1.5 was found.", kind="abstract")
        claim = Chunk("1.50 it is", "claim", supports=[0], evidence_span="ratio\x00 of", effect={"value": 1.5})
        store.put_documents("default", [Document("d", chunks=[source, claim])])
        (found,) = store.claims("default", "d", principals=["public"])
        assert (found.source_level, found.effect) == ("abstract", {"value": 1.5})
        # A claim is part of what the document is.
        again = store.put_documents("default", [Document("d", chunks=[source])])
        assert again[0].status == "replaced" and store.claims("default", "d", principals=["public"]) == []
        with pytest.raises(InvalidDocument, match="the number 2 of the claim"):
            store.put_claims("default", "d", [{"body": "2", "supports": [0]}])
        with pytest.raises(InvalidDocument, match="chunk 0: supports must be a list of numbers"):
            store.put_documents("default", [Document("d", chunks=[Chunk("x", "claim", supports=["0"])])])  # type: ignore[list-item]
