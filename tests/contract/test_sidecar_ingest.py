"""Ingest with a bibliography beside the files, and the languages of what is stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pgsift import Document, errors
from pgsift.ingest import languages

PUBLIC = ["public"]
ALL = {"principals": PUBLIC}

REFS = r"""
@article{gravel1931,
  title = {Gravel in the {\"O}l Pump}, author = {M{\"u}ller, Anna and Doe, Jane}, year = 1931, journal = {Pumps},
  doi = {10.1000/gravel}, file = {:sub/one.txt:TXT}, language = {english},
}
@book{knots2010, title = {Knots and Ropes}, author = {Roe, R.}, year = 2010}
@book{named, title = {The Named One}, type = {report}}
@book{lost, title = {Nobody Has It}}
@book{broken, title = {never closed, year = 2000}
"""
GERMAN = "Ein deutscher Text über Seile und Knoten, der lang genug ist, um als solcher erkannt zu werden."


class Lengths:
    """Vectors that tell how long a text is."""

    name, revision, dimensions, metric = "lengths", "1", 2, "cosine"
    query_prefix = document_prefix = ""
    max_tokens, remote = 512, False

    def embed_documents(self, texts: Any) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    embed_queries = embed_documents


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "papers"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "one.txt").write_text("The pump makes the noise of gravel in a tin when it cavitates.")
    (root / "knots.md").write_text(f"# Knots, and ropes!\n\n{GERMAN}\n", encoding="utf-8")
    (root / "named.txt").write_text("A text that is found by the name of its file and by nothing else.")
    (root / "own.txt").write_text("A text of which the bibliography says nothing at all, in plain English.")
    (root / "refs.bib").write_text(REFS, encoding="utf-8")
    return root


def stored(store: Any) -> dict[str, Any]:
    return {document.key: document for document in store.documents("t", **ALL)}


@pytest.fixture(autouse=True)
def _extras() -> None:
    for module in ("pybtex", "pylatexenc", "py3langid"):
        pytest.importorskip(module)


def test_entries_give_keys_and_metadata(store: Any, folder: Path) -> None:
    report = store.ingest("t", folder, bibliography=folder / "refs.bib", prefix="p/", acl=PUBLIC)
    assert (report.created, report.failed) == (4, 0)
    found = report.bibliography
    assert (found.entries, found.matched) == (4, 3)
    assert (found.files_without_entry, found.files) == (1, ("p/own.txt",))
    assert (found.entries_without_file, found.citekeys) == (1, ("lost",))
    assert len(found.problems) == 1 and "'broken'" in found.problems[0]
    assert report.languages == {"en": 3, "de": 1}

    documents = stored(store)
    assert set(documents) == {"p/gravel1931", "p/knots2010", "p/named", "p/own.txt"}
    gravel = documents["p/gravel1931"]
    assert (gravel.title, gravel.language) == ("Gravel in the Öl Pump", "en")
    assert gravel.metadata["authors"] == ["Anna Müller", "Jane Doe"]
    assert (gravel.metadata["year"], gravel.metadata["doi"], gravel.metadata["journal"]) == (
        1931, "10.1000/gravel", "Pumps",
    )  # fmt: skip
    assert gravel.source_uri == (folder / "sub" / "one.txt").as_uri()
    assert documents["p/knots2010"].title == "Knots and Ropes" and documents["p/knots2010"].language == "de"
    # Titles are never made up.
    assert documents["p/own.txt"].title is None

    (citation,) = store.cite("t", ["p/gravel1931"], **ALL)
    assert citation.csl == {
        "id": "p/gravel1931", "type": "article-journal", "title": "Gravel in the Öl Pump",
        "author": [{"family": "Müller", "given": "Anna"}, {"family": "Doe", "given": "Jane"}],
        "issued": {"date-parts": [[1931]]}, "container-title": "Pumps", "DOI": "10.1000/gravel", "language": "en",
    }  # fmt: skip
    hits = store.search("t", "Knoten", filter="metadata.year = 2010 AND language = 'de'", **ALL)
    assert [hit.key for hit in hits] == ["p/knots2010"]
    assert not list(store.search("t", "Knoten", filter="language = 'en'", **ALL))


def test_a_changed_bibliography_changes_metadata_and_embeds_nothing(store: Any, folder: Path) -> None:
    bibliography = folder / "refs.bib"
    first = store.ingest("t", folder, bibliography=bibliography, embedder=Lengths(), acl=PUBLIC)
    again = store.ingest("t", folder, bibliography=[bibliography], embedder=Lengths(), acl=PUBLIC)
    assert (first.vectors_computed, again.unchanged) == (4, 4)
    bibliography.write_text(REFS.replace("1931, journal", "1932, journal"), encoding="utf-8")
    changed = store.ingest("t", folder, bibliography=bibliography, embedder=Lengths(), acl=PUBLIC)
    assert (changed.unchanged, changed.replaced + changed.updated) == (3, 1)
    assert changed.vectors_computed == 0
    assert stored(store)["gravel1931"].metadata["year"] == 1932


def test_sync_and_rebuild_keep_it(store: Any, folder: Path) -> None:
    options = {"bibliography": folder / "refs.bib", "keep_source": True, "acl": PUBLIC}
    report = store.sync("t", folder, **options)
    assert report.reconciled and report.ingest.created == 4 and report.ingest.bibliography.matched == 3
    before = stored(store)
    rebuilt = store.rebuild("t")
    assert (rebuilt.unchanged, rebuilt.rebuilt, rebuilt.failed) == (4, 0, 0)
    again = store.sync("t", folder, **options)
    assert again.reconciled and again.ingest.unchanged == 4
    after = stored(store)
    assert {key: (one.title, one.metadata, one.language) for key, one in before.items()} == {
        key: (one.title, one.metadata, one.language) for key, one in after.items()
    }
    # A citekey that is another is another document; with a watermark a changed bibliography is seen too.
    (folder / "refs.bib").write_text(REFS.replace("{named,", "{renamed,").replace("The Named", "A Named"))
    renamed = store.sync("t", folder, watermark=True, **options)
    assert renamed.reconciled
    assert set(stored(store)) == {"gravel1931", "knots2010", "named.txt", "own.txt"}


def test_dead_letters_are_read_again_with_their_entries(store: Any, folder: Path) -> None:
    (folder / "named.txt").unlink()
    (folder / "named.txt").symlink_to(folder / "later.txt")
    report = store.ingest("t", folder, bibliography=folder / "refs.bib", acl=PUBLIC)
    assert [failure.key for failure in report.failures] == ["named"]
    (folder / "later.txt").write_text("What the link leads to is there now, and can be read by anybody.")
    store.retry_dead_letters("t")
    assert stored(store)["named"].title == "The Named One"


def test_csl_json(store: Any, folder: Path) -> None:
    items = [{"id": "own", "type": "report", "title": "Its Own", "language": "fr"}]
    (folder / "refs.json").write_text(json.dumps(items))
    report = store.ingest("t", folder / "own.txt", bibliography=str(folder / "refs.json"), acl=PUBLIC)
    assert report.bibliography.matched == 1
    # What is said wins over what the text looks like.
    assert (stored(store)["own"].title, stored(store)["own"].language) == ("Its Own", "fr")


def test_a_bibliography_that_is_none_is_refused(store: Any, folder: Path) -> None:
    with pytest.raises(errors.InvalidArgument):
        store.ingest("t", folder, bibliography=folder / "absent.bib")
    with pytest.raises(errors.InvalidArgument):
        store.ingest("t", folder, bibliography=folder / "own.txt")
    assert store.documents("t", **ALL) == []


# Languages


def test_who_says_the_language(store: Any, tmp_path: Path) -> None:
    english = "This is plain English, and long enough to be told from other languages."
    (tmp_path / "said.md").write_text(f"---\nlanguage: pt_br\n---\n\n{english}\n")
    (tmp_path / "plain.txt").write_text(english)
    (tmp_path / "short.txt").write_text("OK 12")
    (tmp_path / "lines.jsonl").write_text(
        json.dumps({"id": "a", "text": english, "language": "deu"})
        + "\n"
        + json.dumps({"id": "b", "text": GERMAN})
    )
    store.ingest("t", tmp_path, acl=PUBLIC)
    tags = {key: document.language for key, document in stored(store).items()}
    assert tags == {
        "said.md": "pt-BR", "plain.txt": "en", "short.txt": None, "lines.jsonl#a": "de", "lines.jsonl#b": "de",
    }  # fmt: skip
    # The language given is that of those who say nothing; of them all are changed.
    store.ingest("t", tmp_path, acl=PUBLIC, language="en_GB")
    tags = {key: document.language for key, document in stored(store).items()}
    assert tags == {
        "said.md": "pt-BR", "plain.txt": "en-GB", "short.txt": "en-GB", "lines.jsonl#a": "de",
        "lines.jsonl#b": "en-GB",
    }  # fmt: skip
    assert {hit.key for hit in store.search("t", "plain", filter={"language": "en"}, **ALL)} == {"plain.txt"}
    facets = {facet.value: facet.documents for facet in store.facets("t", "language", **ALL)}
    assert facets == {"en-GB": 3, "de": 1, "pt-BR": 1}
    with pytest.raises(errors.InvalidArgument):
        store.ingest("t", tmp_path, language="no language")


def test_without_the_extra_no_language_is_made_up(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_classifier", lambda: None)
    documents = [Document("a", GERMAN, acl=PUBLIC), Document("b", GERMAN, acl=PUBLIC, language="de")]
    report = store.ingest("t", documents)
    assert report.languages == {"de": 1, "und": 1}
    assert stored(store)["a"].language is None


def test_a_rebuild_finds_languages_that_were_not_found(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(languages, "_classifier", lambda: None)
        store.ingest("t", [Document("a", GERMAN, acl=PUBLIC)], keep_source=True, chunk_size=20)
    assert stored(store)["a"].language is None
    assert store.rebuild("t").rebuilt == 1
    assert stored(store)["a"].language == "de"
    assert store.rebuild("t").unchanged == 1


def test_an_entry_takes_no_file_out_of_the_rule_of_its_path(store: Any, tmp_path: Path) -> None:
    root = tmp_path / "all"
    (root / "hr").mkdir(parents=True)
    for name in ("hr/pay2026.txt", "hr/own2026.txt", "hr/second.txt", "menu2026.txt"):
        (root / name).write_text(f"What stands in {name} is a sum of money.")
    citekeys = ("pay2026", "own2026", "second", "menu2026")
    (root / "refs.json").write_text(
        json.dumps([{"id": name, "title": f"T {name}", "type": "report"} for name in citekeys])
    )

    def seen(*principals: str) -> set[str]:
        return {document.key for document in store.documents("t", principals=principals)}

    store.set_default_access("t", PUBLIC)
    store.set_access("t", key_prefix="hr/", principals=["group:hr"])
    store.set_access("t", key_prefix="second", principals=["group:hr"])  # as under hr/
    store.put_documents("t", [Document(key="own2026", text="It has a list of its own.", acl=["group:board"])])
    before = store.ingest("t", root)
    assert before.failed == 0
    report = store.ingest("t", root, bibliography=root / "refs.json")
    assert (report.bibliography.matched, report.bibliography.files_without_entry) == (3, 1)
    assert (report.bibliography.files, report.bibliography.citekeys) == (("hr/pay2026.txt",), ("pay2026",))
    assert "'hr/pay2026.txt' keeps its path" in report.bibliography.problems[0]
    assert seen("public") == {"menu2026.txt", "menu2026"}
    assert seen("group:board") == {"own2026"}
    assert {"hr/pay2026.txt", "second"} <= seen("group:hr")
    # Whoever says who may see them has the citekeys.
    given = store.ingest("t", root, bibliography=root / "refs.json", acl=["group:hr"])
    assert given.bibliography.matched == 4
    assert "pay2026" in seen("group:hr")


def test_an_entry_takes_no_file_from_the_list_its_document_has(store: Any, tmp_path: Path) -> None:
    root = tmp_path / "all"
    root.mkdir()
    (root / "a.txt").write_text("The sum of money is nine.")
    (root / "refs.json").write_text(json.dumps([{"id": "a", "title": "A", "type": "report"}]))
    store.set_default_access("t", PUBLIC)
    store.ingest("t", root, acl=["group:hr"])
    report = store.sync("t", root, bibliography=root / "refs.json")
    assert report.ingest.bibliography.matched == 0
    assert [document.key for document in store.documents("t", principals=["public", "group:hr"])] == ["a.txt"]
    assert not store.documents("t", **ALL)
