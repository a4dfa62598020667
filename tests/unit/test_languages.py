"""Languages of documents: tags, and what texts look like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pgsift.ingest import languages
from pgsift.ingest.chunker import Block
from pgsift.ingest.languages import detect, normalized

SAMPLES = Path(__file__).parents[1] / "relevance" / "languages"


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        ("de", "de"), ("EN_us.UTF-8", "en-US"), ("deu", "de"), ("ger", "de"), ("ngerman", "de"), ("Deutsch", "de"),
        ("American", "en-US"), ("ZH-hans-cn", "zh-Hans-CN"), ("de-1996", "de-1996"), ("日本語", "ja"),
        ("iw", "he"), ("en-a-BBB-x-a", "en-a-bbb-x-a"), ("gsw", "gsw"), ("und", None), ("mul", None), ("C", None),
        ("", None), ("x-default", None), ("en; de", None), ("klingon", None), (None, None), (7, None),
    ],
)  # fmt: skip
def test_tags(value: object, tag: str | None) -> None:
    assert normalized(value) == tag


def read(name: str) -> list[str]:
    with (SAMPLES / name).open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


@pytest.mark.parametrize("language", ["de", "hi", "ja", "ru"])
def test_passages_of_some_lines_are_recognized(language: str) -> None:
    pytest.importorskip("py3langid")
    assert {detect(text) for text in read(f"{language}/corpus.jsonl")} == {language}
    # Questions of some words: unknown rather than wrong.
    assert {detect(text) for text in read(f"{language}/queries.jsonl")} <= {language, None}


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "OK", "Hello", "12 34 56", "A-12; 3.5 bar", "https://example.org/the/way/home?for=you",
        "| a | b |\n| --- | --- |\n| 1 | 2 |", "0.1 0.2 0.3\n" * 500, "def f(x): return x + 1",
    ],
)  # fmt: skip
def test_what_has_no_language_has_none(text: str) -> None:
    assert detect(text) is None


def test_a_text_in_several_languages_is_of_the_one_most_of_it_is_in() -> None:
    pytest.importorskip("py3langid")
    german, russian, japanese = (" ".join(read(f"{name}/corpus.jsonl")) for name in ("de", "ru", "ja"))
    assert detect(german + "\n\n" + russian[:500]) == "de"
    assert detect(german[:400] + "\n\n" + 3 * russian) == "ru"
    third = min(len(german), len(russian), len(japanese))
    assert detect("\n\n".join((german[:third], russian[:third], japanese[:third]))) is None


def test_code_and_tables_do_not_count() -> None:
    pytest.importorskip("py3langid")
    prose = " ".join(read("de/corpus.jsonl")[:3])
    code = "for the people in this house and all of their friends\n" * 40
    text = code + "\n\n" + prose
    assert detect(text) == "en"
    assert detect(text, [Block(0, len(code), "code"), Block(len(code) + 2, len(text), "paragraph")]) == "de"


def test_without_the_extra_nothing_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_classifier", lambda: None)
    assert detect("This is plain English text, and long enough for everybody.") is None
