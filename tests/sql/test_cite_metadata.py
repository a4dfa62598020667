"""Records of references from what people write into metadata."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest


def csl(conn: psycopg.Connection, metadata: dict[str, Any]) -> dict[str, Any]:
    conn.execute("SELECT sift.create_tenant('t', default_principals => '{public}', exist_ok => true)")
    batch = json.dumps([{"key": "k", "text": "x", "metadata": metadata}])
    conn.execute("SELECT sift.put_documents('t', %s::jsonb)", (batch,))
    row = conn.execute("SELECT c.csl FROM sift.cite('t', '{k}', '{public}') AS c").fetchone()
    assert row is not None
    record: dict[str, Any] = row[0]
    return record


@pytest.mark.parametrize(
    ("metadata", "parts"),
    [
        ({"date": "2020-05-31T10:00Z"}, [2020, 5, 31]),
        ({"date": "2020/05/31"}, [2020, 5, 31]),
        ({"date": 2020}, [2020]),
        ({"date": "2024-02-29"}, [2024, 2, 29]),
        ({"date": "2023-02-29"}, [2023, 2]),
        ({"date": "1900-02-29"}, [1900, 2]),
        ({"date": "2023-04-31"}, [2023, 4]),
        ({"date": "2023-13-01"}, [2023]),
        ({"date": "31/12/2020"}, None),
        ({"date": "31-12-2020"}, None),
        ({"date": "05/06/07"}, None),
        ({"date": "31/12/2020", "year": "2020", "month": "Dec"}, [2020, 12]),
        ({"date": "20200531"}, None),
        ({"year": -44}, [-44]),
        ({"year": "2020a"}, None),
    ],
)
def test_dates(conn: psycopg.Connection, metadata: dict[str, Any], parts: list[int] | None) -> None:
    assert csl(conn, metadata).get("issued") == (None if parts is None else {"date-parts": [parts]})


@pytest.mark.parametrize(
    ("authors", "names"),
    [
        ("Doe, Jane; Roe, Richard", [{"family": "Doe", "given": "Jane"}, {"family": "Roe", "given": "Richard"}]),
        ("Jane Doe and Richard Roe;", [{"family": "Doe", "given": "Jane"}, {"family": "Roe", "given": "Richard"}]),
        (["van der Berg"], [{"family": "van der Berg"}]),
        (["Jan van der Berg"], [{"family": "van der Berg", "given": "Jan"}]),
        ("{World Health Organization}", [{"literal": "World Health Organization"}]),
        ([" ", None, 7, []], None),
    ],
)
def test_names(conn: psycopg.Connection, authors: object, names: list[dict[str, str]] | None) -> None:
    assert csl(conn, {"authors": authors}).get("author") == names


@pytest.mark.parametrize(
    "record",
    [
        {"author": "me", "title": ["A title"], "issued": {"date-parts": [["x"]]}},
        {"author": [None, 5, "me", {"family": None}, {"given": "G"}], "editor": {"family": "E"}, "issued": "2020"},
        {"author": [[{"family": "F"}]], "issued": {"date-parts": {}}, "container-title": [], "type": ["book"]},
        {"author": True, "issued": {"date-parts": [[]]}, "page": {"a": 1}, "publisher": [[]]},
        {"author": {}, "issued": {"date-parts": [2020, "05"]}, "DOI": None, "volume": 3},
    ],
)
def test_whatever_a_record_holds_becomes_bibtex(conn: psycopg.Connection, record: dict[str, Any]) -> None:
    """A record given as metadata is handed on as it is; what is no name or no text in it is left out of BibTeX."""
    pybtex = pytest.importorskip("pybtex.database")
    from pgsift.citations import bibtex

    given = csl(conn, {"csl": record})
    assert given == {**record, "id": "k"}
    entries = pybtex.parse_string(bibtex([given, {"id": "after", "title": "x^2"}]), "bibtex").entries
    assert list(entries) == ["k", "after"] and entries["after"].fields["title"] == r"x\textasciicircum{}2"
    assert "None" not in bibtex([given]) and "[" not in bibtex([given])


def test_bibtex_of_names_and_dates_in_odd_shapes() -> None:
    pybtex = pytest.importorskip("pybtex.database")
    from pgsift.citations import bibtex

    item = {
        "id": "k", "title": ["A title"], "author": ["me", {"given": "G"}, {"family": "F", "given": "H"}],
        "editor": {"family": "E"}, "issued": {"date-parts": [["2020", "05"]]},
    }  # fmt: skip
    entry = pybtex.parse_string(bibtex([item]), "bibtex").entries["k"]
    assert [str(person) for person in entry.persons["author"]] == ["{me}", "{G}", "F, H"]
    assert [str(person) for person in entry.persons["editor"]] == ["E"]
    assert dict(entry.fields) == {"title": "A title", "year": "2020", "month": "may"}
