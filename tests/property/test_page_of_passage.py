"""The page of a passage is the page of its own words, wherever the chunk began: against an oracle that knows the page of
every character."""

from __future__ import annotations

import itertools
import json
from typing import Any

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgsift.domain.analyzer import get_analyzer
from pgsift.domain.windows import windows
from pgsift.ingest.parsers import Parsed

WORDS = ["pump", "valve", "brake", "winch", "tide", "größe", "船", "𝕏ray", "cable", "."]
SPACES = [" ", "\n\n", "\n", "  "]
NUMBERS = itertools.count()
STANDARD = get_analyzer("standard")
COMMON = settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

texts = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(SPACES)), min_size=1, max_size=60).map(
    lambda pieces: "".join(itertools.chain.from_iterable(pieces))
)


@st.composite
def paged(draw: st.DrawFn) -> tuple[Parsed, list[tuple[int, int]]]:
    """A text with pages in any order, some empty, and the spans of chunks that may overlap."""
    text = draw(texts)
    starts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pages = (0, *starts)
    numbers = draw(st.one_of(st.just(()), st.lists(st.integers(1, 6), min_size=len(pages), max_size=len(pages)).map(tuple)))
    cuts = sorted({0, len(text), *draw(st.lists(st.integers(0, len(text)), max_size=4))})
    overlap = draw(st.sampled_from([0, 0, 3, 20]))
    spans = [(max(0, start - overlap), end) for start, end in itertools.pairwise(cuts)]
    return Parsed(text, [], pages=pages, page_numbers=numbers), spans


def page_of_each(parsed: Parsed) -> list[int]:
    """The page of every character, written out."""
    found = []
    for position in range(len(parsed.text) + 1):
        last = max(number for number, start in enumerate(parsed.pages) if start <= position)
        found.append(parsed.page_numbers[last] if parsed.page_numbers else last + 1)
    return found


def stored(conn: psycopg.Connection, parsed: Parsed, spans: list[tuple[int, int]]) -> tuple[str, str]:
    tenant = f"pages{next(NUMBERS)}"
    conn.execute("SELECT sift.create_tenant(%s, 'standard', default_principals => '{public}')", (tenant,))
    chunks: list[dict[str, Any]] = []
    for start, end in spans:
        chunk: dict[str, Any] = {"body": parsed.text[start:end], "start": start, "end": end, "page": parsed.page(start)}
        breaks = parsed.page_breaks(start, end)
        if breaks:
            chunk["page_breaks"] = breaks
        chunks.append(chunk)
    document = {"key": "d", "chunks": chunks, "length": len(parsed.text)}
    conn.execute("SELECT * FROM sift.put_documents(%s, %s::jsonb)", (tenant, json.dumps([document])))
    return tenant, "d"


@COMMON
@given(paged(), st.lists(st.sampled_from(WORDS[:-1]), min_size=1, max_size=3), st.integers(20, 60))
def test_the_page_is_that_of_the_words(
    conn: psycopg.Connection, made: tuple[Parsed, list[tuple[int, int]]], words: list[str], width: int
) -> None:
    parsed, spans = made
    pages = page_of_each(parsed)
    tenant, key = stored(conn, parsed, spans)
    query = " ".join(words)
    terms = STANDARD.query_terms(query)

    hits = conn.execute(
        "SELECT s.char_start, s.body, s.snippet_page, s.page, s.snippet, s.snippet_start FROM sift.search(%s, %s, 100, '{public}',"
        " snippet_width => %s, collapse => false) AS s",
        (tenant, query, width),
    ).fetchall()
    for start, body, snippet_page, page, snippet, snippet_start in hits:
        (window,) = windows(body, terms, STANDARD, count=1, width=width)
        assert (snippet, snippet_start) == (window.text, window.start)
        assert snippet_page == pages[start + window.anchor]
        assert page == pages[start]
    matching = [span for span in spans if any(word in parsed.text[slice(*span)] for word in words)]
    assert len(hits) <= len(spans)
    if any(word in words for word in ("pump", "valve")) and not matching:
        assert not hits

    passages = conn.execute(
        "SELECT e.text, e.char_start, e.char_end, e.page, e.page_end, e.highlights FROM sift.evidence(%s, %s, %s, 3, %s, '{public}') AS e",
        (tenant, key, query, width),
    ).fetchall()
    for _, start, end, page, page_end, highlights in passages:
        marked = [start + low for low, _ in highlights]
        # The word the passage was chosen for is one of those that are marked.
        assert page in ({pages[at] for at in marked} if marked else {pages[start]})
        assert start <= end <= len(parsed.text)
        last = pages[start + highlights[-1][1] - 1] if highlights else page
        assert page_end == max(page, last)


@COMMON
@given(paged())
def test_history_keeps_the_pages(conn: psycopg.Connection, made: tuple[Parsed, list[tuple[int, int]]]) -> None:
    parsed, spans = made
    tenant, key = stored(conn, parsed, spans)
    rows = "SELECT x.chunk_id, x.page, x.page_breaks, x.body FROM sift.{} AS x JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = %s ORDER BY 1"
    before = conn.execute(rows.format("chunks").encode(), (tenant,)).fetchall()
    for (_, page, breaks, body), (start, end) in zip(before, spans, strict=True):
        expected = parsed.page_breaks(start, end)
        assert (page, [tuple(pair) for pair in breaks or []]) == (parsed.page(start), expected)
        assert (breaks is None) == (not expected)
        assert all(0 < at < len(body) for at, _ in expected)
    conn.execute("SELECT sift.delete_documents(%s, ARRAY[%s])", (tenant, key))
    assert conn.execute(rows.format("chunk_history").encode(), (tenant,)).fetchall() == before
