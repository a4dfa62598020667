"""Python and the database make the same terms of any text."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsift.domain import _porter2, analyzer
from pgsift.domain.analyzer import ANALYZERS, get_analyzer

# What is assigned by the interpreter's Unicode (newer than the tables or not), and a sample of what is not.
CODE_POINTS = [
    chr(point)
    for point in range(1, 0x110000)
    if not 0xD800 <= point <= 0xDFFF
    and (unicodedata.category(chr(point)) not in ("Cn", "Co") or point % 97 == 0)
]


@pytest.fixture(scope="module")
def database(schema_dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        yield connection


def sql_tokens(database: psycopg.Connection, name: str, texts: list[str]) -> list[list[str]]:
    """The tokens of each text; they hold no space, so they travel as one string."""
    rows = database.execute(
        "SELECT array_to_string(sift.tokenize(t.text, %s), ' ')"
        " FROM unnest(%s::text[]) WITH ORDINALITY AS t(text, position) ORDER BY t.position",
        (name, texts),
    ).fetchall()
    return [row[0].split(" ") if row[0] else [] for row in rows]


def sql_query_terms(database: psycopg.Connection, name: str, texts: list[str]) -> list[list[str]]:
    rows = database.execute(
        "SELECT array_to_string(sift._query_terms(%s, t.text), ' ')"
        " FROM unnest(%s::text[]) WITH ORDINALITY AS t(text, position) ORDER BY t.position",
        (name, texts),
    ).fetchall()
    return [row[0].split(" ") if row[0] else [] for row in rows]


def assert_agreement(
    database: psycopg.Connection, name: str, texts: list[str], *, as_queries: bool = True
) -> None:
    ours = get_analyzer(name)
    for text, tokens in zip(texts, sql_tokens(database, name, texts), strict=True):
        assert ours.tokenize(text) == tokens, ascii(text)
    if as_queries:
        for text, terms in zip(texts, sql_query_terms(database, name, texts), strict=True):
            assert ours.query_terms(text) == terms, ascii(text)


def test_fingerprints_are_equal(database: psycopg.Connection) -> None:
    for name in ANALYZERS:
        row = database.execute("SELECT sift.analyzer_fingerprint(%s)", (name,)).fetchone()
        assert row == (get_analyzer(name).fingerprint,)


def test_every_code_point_alone(database: psycopg.Connection) -> None:
    assert len(CODE_POINTS) > 145_000
    for start in range(0, len(CODE_POINTS), 20_000):
        assert_agreement(database, "standard", CODE_POINTS[start : start + 20_000])


# english is standard with stems: what holds of it in context holds of standard.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == "standard" else []) for name in ANALYZERS]
)
def test_every_code_point_in_context(database: psycopg.Connection, name: str) -> None:
    """Each between letters, alone in a line, after a number, beside a joiner; lines stay apart."""
    texts = [
        "\n".join(f"a{char}b\n{char}\n1{char}2\nX{char}_{char}y" for char in CODE_POINTS[start : start + 64])
        for start in range(0, len(CODE_POINTS), 64)
    ]
    # What a query leaves out does not differ between code points of one kind; one analyzer shows it.
    assert_agreement(database, name, texts, as_queries=name == "identifiers")


@pytest.mark.parametrize("name", ANALYZERS)
def test_hangul_jamo_compose_alike(database: psycopg.Connection, name: str) -> None:
    jamo = [chr(point) for point in range(0x1100, 0x1200)]
    leads = ["\u1100\u1161", "\uac00", "\uac01", "\ud788", "\u1112\u1175"]
    assert_agreement(database, name, [lead + char + "\u11a7" for lead in leads for char in jamo])


# Characters that the rules treat apart, so that random text is made of them and not of the 140,000 others.
_patterns = analyzer._patterns()
_known = [char for char in CODE_POINTS if not _patterns.unknown.match(char)]
POOLS = [
    list("abcxyzABCXYZ"),
    list("0129"),
    list("._/@:&+#>-\\"),
    ["::", "://", "->", "++", "#", "C++", "\u2010", "1.2", "v1.", "the", "ing"],
    [" ", "\n", "\t", ",", "!", "\u3000"],
    [char for char in _known if unicodedata.category(char)[0] == "M"],
    [char for char in _known if unicodedata.category(char)[0] == "N"],
    [char for char in _known if unicodedata.category(char) in ("Lu", "Lt")],
    [char for char in _known if unicodedata.category(char) == "Ll"],
    [char for char in _known if unicodedata.decomposition(char)],
    list(analyzer._folds()),
    [char for char in _known if _patterns.unspaced.match(char)],
    list("船のกี่ไ한국"),
    [chr(point) for point in range(0x1100, 0x1200)],
    CODE_POINTS,
]
texts = st.one_of(
    st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=60),
    st.lists(st.sampled_from(POOLS).flatmap(st.sampled_from), max_size=30).map("".join),
    st.text("abcXYZ019 ._/@:&+#>-\\", max_size=40),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(texts, min_size=1, max_size=20))
@pytest.mark.parametrize("name", ANALYZERS)
def test_any_text(database: psycopg.Connection, name: str, batch: list[str]) -> None:
    assert_agreement(database, name, batch)


@pytest.mark.parametrize("name", ANALYZERS)
def test_many_random_texts(database: psycopg.Connection, name: str) -> None:
    rng = random.Random(f"agreement {name}")
    batch = []
    for _ in range(4000):
        pools = rng.sample(POOLS, rng.randint(1, 5))
        batch.append("".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 30))))
    assert_agreement(database, name, batch)


@settings(max_examples=200, deadline=None)
@given(texts)
def test_identifiers_only_add_to_standard(text: str) -> None:
    standard = get_analyzer("standard").tokenize(text)
    rest = iter(get_analyzer("identifiers").tokenize(text))
    assert all(token in rest for token in standard)  # in this order


@settings(max_examples=200, deadline=None)
@given(texts)
def test_tokens_are_clean(text: str) -> None:
    for name in ANALYZERS:
        for token in get_analyzer(name).tokenize(text):
            assert token
            assert token.split() == [token]
            assert len(token.encode()) <= analyzer.MAX_TOKEN_BYTES
            assert not any(unicodedata.category(char) in ("Cc", "Cs", "Cn", "Zs") for char in token)


@settings(max_examples=100, deadline=None)
@given(texts)
def test_terms_of_a_query_are_terms_of_the_same_text(text: str) -> None:
    for name in ANALYZERS:
        ours = get_analyzer(name)
        assert set(ours.query_terms(text)) <= set(ours.tokenize(text))


UNSPACED = [char for char in _known if _patterns.unspaced.match(char) and len(analyzer._normalize(char)) == 1]
MARKS_OF_UNSPACED = [
    chr(point) for point in (0xE31, 0xE35, 0xE48, 0xEB1, 0xEC8, 0x102D, 0x103A, 0x17C2, 0x17D2)
]
runs = st.text(
    st.one_of(
        st.sampled_from(UNSPACED),
        st.sampled_from("船在印度洋しりとり한국ก"),
        st.sampled_from(MARKS_OF_UNSPACED),
    ),
    min_size=1,
    max_size=20,
).map(analyzer._normalize)


@settings(max_examples=300, deadline=None)
@given(runs, st.data())
def test_a_run_is_found_by_every_part_of_it(run: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(run) - 1))
    part = run[start : data.draw(st.integers(start + 1, len(run)))]
    for name in ANALYZERS:
        ours = get_analyzer(name)
        terms = ours.query_terms(part)
        assert set(terms) <= set(ours.tokenize(f"x {run}, y"))
        assert terms or all(unicodedata.category(char)[0] == "M" for char in part)
        assert len(terms) <= max(1, len(part) - 1)


@settings(max_examples=60, deadline=None)
@given(st.lists(runs, min_size=1, max_size=20))
@pytest.mark.parametrize("name", ANALYZERS)
def test_runs_of_unspaced_scripts(database: psycopg.Connection, name: str, batch: list[str]) -> None:
    assert_agreement(database, name, batch)


def test_stems_of_a_large_vocabulary(database: psycopg.Connection) -> None:
    rng = random.Random(7)
    suffixes = [
        *_porter2.STEP2,
        *_porter2.STEP3,
        *_porter2.STEP4,
        "",
        "s",
        "ies",
        "ied",
        "sses",
        "ed",
        "eed",
        "eedly",
    ]
    suffixes += ["edly", "ing", "ingly", "y", "e", "l", "ll", "us", "ss"]
    roots = [*_porter2.IRREGULAR, *_porter2.R1_PREFIXES, *_porter2.KEEP_EED_AFTER, *_porter2.KEEP_ING_AFTER]
    words = {before + root + suffix for before in ("", "a", "x") for root in roots for suffix in suffixes}
    while len(words) < 40_000:
        letters = "".join(rng.choices("aeiouyyycdghlnrstwxzé", k=rng.randint(1, 7)))
        words.add(letters + rng.choice(suffixes))
    ordered = sorted(words)
    row = database.execute("SELECT sift._stem_english(%s::text[])", (ordered,)).fetchone()
    assert row is not None
    assert row[0] == [_porter2.stem(word) for word in ordered]


HOSTILE = [
    "a" * 300_000,
    "é" * 300_000,
    "船" * 100_000,
    "a." * 50_000,
    "1." * 50_000,
    "aB" * 50_000,
    "a\u0301" * 50_000,
    "\u0301" * 50_000,
    "é-" * 50_000,
    "_" * 100_000 + "x" + "+" * 50_000,
    "(" * 10_000,
    "https://example.org/" + "a/b%20c?d=e&" * 400,
]


@pytest.mark.parametrize("name", ANALYZERS)
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:8]))
def test_hostile_text(database: psycopg.Connection, name: str, text: str) -> None:
    assert_agreement(database, name, [text])
