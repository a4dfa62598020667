"""The page about chunkers works as it stands; chunkers on a real document, through the command."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsift import Document, Store
from pgsift.errors import InvalidArgument
from pgsift_cli.app import main

Cli = Callable[..., Any]  # see conftest.py
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/chunkers.md").read_text(encoding="utf-8")
REAL = ROOT / "demo/corpus/public/visiting.md"


def collection(folder: Path) -> Path:
    """Three documents, two queries, two answers."""
    folder.mkdir(parents=True)
    manual = "## Care\n\nOil the drum. Check the brake.\n\n## Faults\n\nThe drum slips when wet.\n"
    rows: dict[str, list[dict[str, Any]]] = {
        "corpus.jsonl": [
            {"id": "winch", "title": "Winches", "text": manual, "format": "markdown"},
            {"id": "crane", "title": "Cranes", "text": "The hook is red. The brake is new."},
            {"id": "tide", "text": "High water at nine."},
        ],
        "queries.jsonl": [{"id": "q1", "text": "drum slips"}, {"id": "q2", "text": "crane hook"}],
        "answers.jsonl": [
            {"query": "q1", "answer": "drum slips when wet", "key": "winch"},
            {"query": "colour of the hook", "answers": ["green", "red"]},
        ],
    }
    for name, lines in rows.items():
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "qrels.tsv").write_text("q1\twinch\t1\nq2\tcrane\t1\n")
    return folder


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_works(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    monkeypatch.delenv("PGSIFT_TENANT", raising=False)
    shutil.copytree(ROOT / "demo/corpus/public", tmp_path / "demo/corpus/public")
    collection(tmp_path / "collections/manuals")
    monkeypatch.chdir(tmp_path)
    with Store(dsn) as store:
        store.create_tenant("default", default_principals=["public"])
    for block in blocks("sh"):
        for line in block.splitlines():
            assert main(shlex.split(line)[1:]) == 0, line
    said = capsys.readouterr()
    # A sentence was found; what stands around it was printed.
    assert "Only the operator touches the brake lever" in said.out
    assert "the drum takes the hand with it" in said.out
    assert "known answers in what is shown" in said.out and "in the prefix" in said.out
    with psycopg.connect(dsn, autocommit=True) as connection:
        for block in blocks("sql"):
            for query in re.findall(r"[^;]+;", block):
                assert connection.execute(query.encode()).fetchall(), query
        assert connection.execute(
            "SELECT body, context FROM sift.search('default', '\"winches care\" brake', principals => '{public}')"
        ).fetchall() == [("Check the brake.", "Oil the drum. Check the brake.")]
    printed = io.StringIO()
    for block in blocks("python"):
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "chunkers.md", "exec"), {})
    assert " | - " in printed.getvalue() or " | ## " in printed.getvalue()


@pytest.mark.parametrize(
    "chunker",
    ["structure:target=25", "window:words=40,overlap=9", "sentence_window", "parent:target=25", "page:longest=50"],
)
def test_spans_contexts_and_lengths_of_a_real_document(
    cli: Cli, tenant: str, schema_dsn: str, chunker: str
) -> None:
    assert cli("ingest", str(REAL), "--chunker", "structure:target=100000", "--embedder", "none").code == 0
    with psycopg.connect(schema_dsn) as connection:

        def asked(query: str) -> list[Any]:
            return connection.execute(query.encode(), {"tenant": tenant}).fetchall()

        of = "FROM sift.{} AS x JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = %(tenant)s"
        length = asked(f"SELECT x.doc_length {of.format('document_lengths')}")
        cut = cli("ingest", str(REAL), "--chunker", chunker, "--embedder", "none", "--json").json
        assert (cut["replaced"], cut["unchanged"]) == (1, 0) and cut["chunks"] > 2
        again = cli("ingest", str(REAL), "--chunker", chunker, "--embedder", "none", "--json").json
        assert (again["replaced"], again["unchanged"], again["tokens"]) == (0, 1, 0)
        prefixed = cli(
            "ingest", str(REAL), "--chunker", chunker, "--context-prefix", "--embedder", "none", "--json"
        ).json
        assert prefixed["replaced"] == 1 and prefixed["tokens"] > cut["tokens"]
        # Neither overlaps nor prefixes make the document longer.
        assert asked(f"SELECT x.doc_length {of.format('document_lengths')}") == length
        text = REAL.read_text(encoding="utf-8")
        rows = asked(
            f"SELECT x.body, x.char_start, x.char_end, x.prefix, x.tokens {of.format('chunks')} ORDER BY x.ordinal"
        )
        for body, start, end, prefix, tokens in rows:
            assert text[start:end] == body
            if prefix is not None:
                assert prefix not in body and prefix.split()[-1].lower().rstrip("s") in tokens
        assert any(prefix and prefix.startswith("Visiting Tidewell Station") for *_, prefix, _ in rows[1:])
        assert rows[0][3] is None or not rows[0][3].startswith("Visiting")
        hits = cli("search", "winch pier visitors", "--mode", "lexical", "--json").json["hits"]
        assert hits
        for hit in hits:
            assert text[hit["char_start"] : hit["char_end"]] == hit["body"]
            if hit["context"] is not None:
                start, shown = hit["context_start"], hit["context"]
                assert text[start : start + len(shown)] == shown and hit["body"] in shown
            if hit["context_of"] is not None:
                assert hit["context"] is None and hit["body"] in hits[hit["context_of"] - 1]["context"]
        assert any(hit["context"] for hit in hits) == (chunker.startswith(("sentence", "parent")))
        assert asked("SELECT check_name FROM sift.doctor(%(tenant)s) WHERE severity = 'error'") == []


def test_the_tenant_says_what_cuts_and_a_run_may_say_otherwise(cli: Cli, tenant: str, schema_dsn: str) -> None:
    assert cli("tenants", "set", tenant, "--chunker", "window:words=40", "--json").code != 0
    shown = cli("tenants", "set", tenant, "--chunker", "page", "--context-prefix", "--json").json
    assert (shown["chunker"], shown["context_prefix"]) == ("page", True)
    assert "chunker page; prefixes" in cli("tenants", "set", tenant, "--context-prefix").out

    def chunker_of() -> str:
        with Store(schema_dsn) as store:
            history = store.document_history(tenant, REAL.name, principals=["sift:writer"])
            return str(max(history, key=lambda one: one.version).chunker)

    assert cli("ingest", str(REAL), "--embedder", "none", "--keep-source").code == 0
    assert chunker_of() == "page/1 longest=600 prefix/1"
    anew = ("rebuild", "--embedder", "none", "--chunker", "parent", "--no-context-prefix", "--json")
    assert cli(*anew).json["rebuilt"] == 1
    assert chunker_of() == "parent/1 target=60 longest=600"
    assert cli(*anew).json["rebuilt"] == 0
    with Store(schema_dsn) as store:
        with pytest.raises(InvalidArgument, match="unknown chunker"):
            store.set_tenant(tenant, chunker="paragraphs")
        with pytest.raises(InvalidArgument, match="another chunker is named too"):
            store.ingest(tenant, REAL, chunker="page", chunk_size=50)
        store.set_tenant(tenant, chunker=None, context_prefix=False)
        assert store.tenant(tenant).chunker is None
    assert cli("ingest", str(REAL), "--embedder", "none", "--chunker", "nothing").code == 2
    with (
        psycopg.connect(schema_dsn) as connection,
        pytest.raises(psycopg.Error, match="chunker must name a chunker") as refused,
    ):
        connection.execute("SELECT sift.set_tenant(%s, '{\"chunker\": \"No: such\"}')", (tenant,))
    assert refused.value.sqlstate == "PS002"


def test_chunkers_are_compared(cli: Cli, tmp_path: Path) -> None:
    folder = collection(tmp_path / "manuals")
    told = cli(
        "evaluate", str(folder), "--embedder", "none", "--chunker", "structure:target=4",
        "--chunker", "sentence_window", "--context-prefix", "--json", "--per-query",
    ).json  # fmt: skip
    assert (told["documents"], told["queries"], told["answers"]) == (3, 2, 2)
    small, _, window, prefixed = told["chunkers"]
    assert [one["chunker"] for one in told["chunkers"]] == [
        "structure/3 target=4", "structure/3 target=4, prefix",
        "sentence_window/1 around=2 longest=150", "sentence_window/1 around=2 longest=150, prefix",
    ]  # fmt: skip
    # Five words of a sentence do not fit into a piece of four.
    assert small["per_query"]["answered 1"] == {"0": 0.0, "1": 1.0}
    assert window["per_query"]["answered 1"] == {"0": 1.0, "1": 1.0}
    assert window["measures"]["recall@10"]["mean"] == prefixed["measures"]["recall@10"]["mean"] == 1.0
    assert window["chunks"] == 6 and prefixed["tokens"] > window["tokens"]
    assert cli("evaluate", str(folder), "--chunker", "window", "--split").code == 2
    assert cli("evaluate", str(folder), "--answers", str(folder / "answers.jsonl")).code == 2
    (folder / "answers.jsonl").write_text('{"query": "q1", "answer": " "}\n')
    wrong = cli("evaluate", str(folder), "--embedder", "none", "--chunker", "window")
    assert wrong.code != 0 and "answers.jsonl, line 1" in wrong.err


def test_dead_letters_are_read_again_with_their_chunker(
    cli: Cli, tenant: str, schema_dsn: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\x00\xff")
    window = ("--chunker", "window:words=3,overlap=1", "--context-prefix")
    assert cli("ingest", str(tmp_path), "--embedder", "none", *window).code == 7
    (tmp_path / "a.txt").write_text("one two three four five")
    assert cli("dead-letters", "retry", "--all").code == 0
    with Store(schema_dsn) as store:
        (version,) = store.document_history(tenant, "a.txt", principals=["sift:writer"])
    assert version.chunker == "window/1 words=3 overlap=1 prefix/1"


class Noting:
    """A model that notes what it embeds."""

    revision, dimensions, metric, query_prefix, document_prefix = "1", 2, "cosine", "", ""

    def __init__(self, name: str) -> None:
        self.name = name
        self.texts: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, float(len(text))]


def test_what_is_embedded_is_the_same_whenever_it_is(tenant: str, schema_dsn: str) -> None:
    document = Document("a", "# T\n\n## A\n\none two three.\n\nfour five six.", format="markdown")
    with Store(schema_dsn) as store:
        now, later = Noting(f"{tenant} now"), Noting(f"{tenant} later")
        ways: dict[str, Any] = {"chunker": "structure:target=4", "context_prefix": True}
        store.put_documents(tenant, document, embedder=now, **ways)
        assert now.texts == ["T\n## A\n\none two three.", "T > A\nfour five six."]
        assert store.embed_missing(tenant, embedder=later) == 2
        assert later.texts == now.texts
        with psycopg.connect(schema_dsn) as connection:
            hashes = connection.execute(
                "SELECT count(*), count(DISTINCT e.text_hash) FROM sift.chunk_embeddings AS e"
                " JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = %s",
                (tenant,),
            ).fetchone()
        assert hashes == (4, 2)
