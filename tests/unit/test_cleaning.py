from __future__ import annotations

import datetime
import decimal
import enum
import json
import os
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsift.errors import InvalidArgument, InvalidDocument
from pgsift.ingest.cleaning import checked_name, clean_file_name, clean_json, clean_text

# Everything a Python string may hold, the two things PostgreSQL refuses more often than chance would have it.
HOSTILE = st.text(
    st.one_of(
        st.characters(exclude_categories=()), st.sampled_from("\0\ud800\udc00\udfff\ufffe\x1b %s:'\"\\")
    )
)


@pytest.mark.parametrize(
    ("text", "expected", "changes"),
    [
        ("plain", "plain", 0),
        ("", "", 0),
        ("a\0b\0", "a b ", 2),
        ("é\0", "é ", 1),
        ("x\ud800y", "x\ufffdy", 1),
        ("\udc00\ud800", "\ufffd\ufffd", 2),
        ("\ud83d\ude00", "😀", 1),
        ("\x1b[0m\x7f\x01", "\x1b[0m\x7f\x01", 0),
        ("\ufffe\U0010ffff", "\ufffe\U0010ffff", 0),
    ],
)
def test_clean_text(text: str, expected: str, changes: int) -> None:
    assert clean_text(text) == (expected, changes)


@given(HOSTILE)
def test_clean_text_is_encodable_and_stable(text: str) -> None:
    cleaned, changes = clean_text(text)
    assert "\0" not in cleaned
    cleaned.encode("utf-8")
    assert clean_text(cleaned) == (cleaned, 0)
    assert (cleaned == text) == (changes == 0)


@given(HOSTILE)
def test_words_around_nul_stay_apart(text: str) -> None:
    cleaned, _ = clean_text(f"red\0{text}\0apple")
    assert cleaned.startswith("red ")
    assert cleaned.endswith(" apple")


@given(HOSTILE)
def test_a_name_is_kept_or_refused(name: str) -> None:
    try:
        name.encode()
        fits = "\0" not in name
    except UnicodeEncodeError:
        fits = False
    if fits:
        assert checked_name(name, "key") == name
    else:
        with pytest.raises(InvalidArgument, match=r"key .* holds"):
            checked_name(name, "key")


def test_file_names_stay_different() -> None:
    first, second = (os.fsdecode(name) for name in (b"a\xff.txt", b"a\xfe.txt"))
    assert clean_file_name(first) == ("a\\xff.txt", 1)
    assert clean_file_name(second) == ("a\\xfe.txt", 1)
    assert clean_file_name("naïve.md") == ("naïve.md", 0)


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "expected", "changes"),
    [
        (None, None, 0),
        (True, True, 0),
        (float("nan"), "NaN", 1),
        (float("inf"), "Infinity", 1),
        ({"a": [float("-inf")]}, {"a": ["-Infinity"]}, 1),
        (decimal.Decimal("1e400"), "1E+400", 1),
        (decimal.Decimal("-1e-400"), "-1E-400", 1),
        (decimal.Decimal(0), 0.0, 0),
        (decimal.Decimal("1.5"), 1.5, 0),
        (decimal.Decimal("NaN"), "NaN", 1),
        (datetime.date(2024, 2, 29), "2024-02-29", 0),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001", 0),
        (Path("a/b"), str(Path("a/b")), 0),
        (Colour.RED, "red", 0),
        ((1, "x\0"), [1, "x "], 1),
        ({3, 1}, [1, 3], 0),
        ({"k\0": {"\ud800": ["\0"]}}, {"k ": {"\ufffd": [" "]}}, 3),
        ({"a ": 1, "a\0": 2}, {"a ": 1, "a _": 2}, 2),
        ({1: "one"}, {"1": "one"}, 0),
    ],
)
def test_clean_json(value: Any, expected: Any, changes: int) -> None:
    assert clean_json(value) == (expected, changes)


def test_clean_json_takes_numpy() -> None:
    np = pytest.importorskip("numpy")
    assert clean_json({"a": np.float32(0.5), "b": np.arange(3)}) == ({"a": 0.5, "b": [0, 1, 2]}, 0)


def test_clean_json_refuses() -> None:
    nested: Any = "end"
    for _ in range(250):
        nested = [nested]
    for value in (object(), b"bytes", nested, 10**5000):
        with pytest.raises(InvalidDocument):
            clean_json({"value": value})


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.floats(), HOSTILE),
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(HOSTILE, inner, max_size=4)),
        max_leaves=15,
    )
)
def test_clean_json_always_has_a_json_form(value: Any) -> None:
    cleaned, _ = clean_json(value)
    text = json.dumps(cleaned, allow_nan=False, ensure_ascii=False)
    assert "\\u0000" not in text
    text.encode("utf-8")
