"""Documents as callers make them: each field of the wrong type is refused by its name."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsift.errors import InvalidArgument, InvalidDocument
from pgsift.ingest.checking import checked_document
from pgsift.ingest.sources import Broken, Item, Options, document_of, read
from pgsift.models import Chunk, Document

WRONG: list[tuple[str, dict[str, Any]]] = [
    *(
        (name, {name: value})
        for name in ("title", "source_uri", "source_version", "language", "license")
        for value in (5, b"x", ["a"], {"a": 1}, True)
    ),
    *(
        (name, {name: value})
        for name in ("observed_at", "valid_from", "valid_to")
        for value in (5, b"x", ["2024"], datetime.time(1), datetime.timedelta(1))
    ),
    *(("text", {"text": value}) for value in (5, None, bytearray(b"x"), ["x"], {"a": 1})),
    *(("format", {"format": value}) for value in (5, None, "pdf", ["text"])),
    *(("metadata", {"metadata": value}) for value in (5, None, "x", [("a", 1)])),
    *(("acl", {"acl": value}) for value in (5, "public", b"x", [5], [["a"]], [None], {}, {"read": ["a"]})),
    *(("acl", {"acl": {"allow": value}}) for value in (5, "public", [5])),
    *(("chunks", {"text": "", "chunks": value}) for value in (5, "x", b"x", {"body": "x"})),
    *(("chunk 0", {"text": "", "chunks": [value]}) for value in (5, "a", None, ["x"])),
    *(("chunk 0: body", {"text": "", "chunks": [Chunk(value)]}) for value in (5, None, b"x", ["x"])),
    ("chunk 0 has no body", {"text": "", "chunks": [{"section": ["a"]}]}),
    *(
        (f"chunk 1: {name}", {"text": "", "chunks": [{"body": "a"}, {"body": "x", name: value}]})
        for name in ("section", "entities")
        for value in ("abc", 5, [5], [None], {"a": 1})
    ),
    *(
        (f"chunk 0: {name}", {"text": "", "chunks": [{"body": "x", name: value}]})
        for name in ("page", "start", "end")
        for value in ("1", 1.5, True, [1], -1, 2**31)
    ),
    *(("kind", {"text": "", "chunks": [{"body": "x", "kind": value}]}) for value in (5, "poem", ["text"])),
    ("'embeding'", {"text": "", "chunks": [{"body": "x", "embeding": [1.0]}]}),
    ("text and chunks", {"text": "lost words", "chunks": []}),
    ("text and chunks", {"text": b"lost words", "chunks": [{"body": "x"}]}),
    *(("principal", {"acl": [value]}) for value in ("group:h\0r", "user:\ud800")),
    ("principal", {"acl": {"allow": [], "deny": ["group:h\0r"]}}),
]


@pytest.mark.parametrize(("named", "fields"), WRONG)
def test_a_wrong_field_is_named(named: str, fields: dict[str, Any]) -> None:
    given = {"text": "x", **fields}
    with pytest.raises(InvalidDocument) as caught:
        checked_document(Document(key="k", **given))
    assert named in caught.value.message
    # Among others, the document alone is broken.
    found = list(read([Document("a", "x"), Document(key="k", **given), Document("b", "x")], Options()))
    assert [type(one) for one in found] == [Item, Broken, Item]
    assert isinstance(found[1], Broken)
    assert (found[1].key, found[1].reason) == ("k", caught.value.message)


@pytest.mark.parametrize("key", [None, "", 5, b"k", {"a": 1}, "a\0b", "\ud800", "k" * 2001, "é" * 1001])
def test_a_wrong_key_is_refused(key: Any) -> None:
    with pytest.raises(InvalidDocument, match="key"):
        checked_document(Document(key, "x"))
    with pytest.raises(InvalidDocument, match="key"):
        document_of({"key": key, "text": "x"})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("acll", "acl"),
        ("embeding", "Members are"),
        ("texts", "Members are"),
        ("extra", "metadata"),
        ("embedding", "belongs to a chunk"),
    ],
)
def test_unknown_members_are_refused_by_name(name: str, hint: str) -> None:
    with pytest.raises(InvalidDocument, match=name) as caught:
        document_of({"key": "k", "text": "x", name: [1.0]})
    assert hint in (caught.value.hint or "")


def test_of_json_lines_other_members_are_metadata() -> None:
    found = document_of({"key": "k", "text": "x", "extra": 1, "metadata": {"n": 2}}, others=True)
    assert found.metadata == {"extra": 1, "n": 2}
    with pytest.raises(InvalidDocument, match="'n' stands beside"):
        document_of({"key": "k", "text": "x", "n": 1, "metadata": {"n": 2}}, others=True)
    with pytest.raises(InvalidDocument, match="embedding"):
        document_of({"key": "k", "text": "x", "embedding": [1.0]}, others=True)


def test_what_is_right_is_kept() -> None:
    document = Document(
        "k",
        title="T",
        acl={"allow": ["a"], "deny": None},  # type: ignore[dict-item]
        observed_at=datetime.date(2024, 2, 29),
        chunks=({"body": "x", "section": ["s"], "page": 1, "start": None}, Chunk("y")),  # type: ignore[arg-type]
    )
    found = checked_document(document)
    assert found.acl == {"allow": ("a",)}
    assert found.chunks == (Chunk("x", section=("s",), page=1), Chunk("y"))
    assert checked_document(Document("k", "x", acl=(n for n in ("a", "b")))).acl == ("a", "b")  # type: ignore[arg-type]
    plain = Document("k", "x", acl=("a",))
    assert checked_document(plain) is plain


ANYTHING = st.one_of(
    st.sampled_from(
        [None, True, 0, -1, 5, 2**31, 1.5, math.nan, "", "x", "a\0", "\ud800", b"", b"x", "html"]
    ),
    st.sampled_from(
        [[], ["x"], [5], [None], ["a\0"], [["x"]], (), range(3), object(), Chunk("x"), Document("x")]
    ),
    st.sampled_from([{}, {"x": 1}, {"allow": ["x"]}, {"deny": "x"}, {"body": "x"}, {5: 5}]),
    st.sampled_from([datetime.date(2024, 2, 29), datetime.time(1)]),
    st.text(st.characters(exclude_categories=()), max_size=3),
)
CHUNKS = st.fixed_dictionaries({}, optional=dict.fromkeys(Chunk.__dataclass_fields__, ANYTHING))


@given(
    st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(Document.__dataclass_fields__, ANYTHING),
            "chunks": st.one_of(ANYTHING, st.lists(st.one_of(CHUNKS, ANYTHING), max_size=3)),
        },
    )
)
def test_whatever_is_given_is_a_document_or_refused(fields: dict[str, Any]) -> None:
    """No other error escapes, with the fields in a mapping or in a document."""
    for source in (fields, Document(**{"key": "k", **fields})):
        for options in (Options(), Options(prefix="p/", acl=("a",))):
            (found,) = read([source], options)
            assert isinstance(found, Item | Broken)
            if isinstance(found, Item):
                assert checked_document(found.document) == found.document


@pytest.mark.parametrize("sources", [None, 5, b"path", object(), [b"path"], [5]])
def test_what_is_no_source_is_refused(sources: Any) -> None:
    from pgsift.ingest.sources import check

    with pytest.raises(InvalidArgument, match="a source is"):
        check(sources)
        list(read(sources, Options()))


@pytest.mark.parametrize("path", ["", "  ", ["", "x"], ("-", "\n")])
def test_an_empty_path_is_not_the_current_directory(path: Any) -> None:
    from pgsift.ingest.sources import check

    with pytest.raises(InvalidArgument, match="empty"):
        check(path)
