from __future__ import annotations

import inspect
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pgsift
from pgsift import _calls, models, vectors
from pgsift.errors import InvalidArgument, InvalidFilter, InvalidVector
from pgsift.store import Store
from pgsift.store_async import AsyncStore

ROOT = Path(__file__).parents[2]

SEARCH: dict[str, Any] = dict(
    k=10,
    principals=None,
    filter=None,
    query_embedding=None,
    mode="hybrid",
    model=None,
    depth=None,
    rrf_k=None,
    weights=None,
    per_document=None,
    collapse=True,
    min_score=None,
    max_distance=None,
)


def test_a_statement_names_and_types_every_argument() -> None:
    call = _calls.delete_documents("acme", ["a", "b"], None)
    assert call.statement == (
        'SELECT "key", "deleted" FROM sift.delete_documents("tenant" => %s::text, "keys" => %s::text[], '
        '"reason" => %s::text, "purge" => %s::boolean)'
    )
    assert call.parameters == ("acme", ["a", "b"], None, False)
    assert call.row("a", True) == models.DeleteResult("a", True)


def calls() -> Iterator[tuple[str, Callable[..., _calls.Call[Any]]]]:
    for name, function in inspect.getmembers(_calls, inspect.isfunction):
        if (
            function.__module__ == "pgsift._calls"
            and "Call[" in str(inspect.signature(function).return_annotation)
            and name[0] != "_"
        ):
            yield name, function


SQL_FUNCTIONS = {path.stem for path in (ROOT / "sql" / "functions").glob("*.sql")}


CATALOG = ("schema_installed", "vector_schema")  # read the catalogs of PostgreSQL


@pytest.mark.parametrize("name", [name for name, _ in calls() if name not in CATALOG])
def test_calls_name_functions_and_arguments_that_exist(name: str) -> None:
    """Statements against the SQL sources: no argument or function is misspelt."""
    source = inspect.getsource(getattr(_calls, name))
    match = re.search(r'_call\(\s*"(\w+)"', source)
    assert match is not None
    assert match[1] in SQL_FUNCTIONS
    sql = (ROOT / "sql" / "functions" / f"{match[1]}.sql").read_text(encoding="utf-8")
    signature = sql[sql.index("FUNCTION sift.") :].split("LANGUAGE", 1)[0]
    for argument in re.findall(r"\b(\w+)=\(", source):
        assert re.search(
            rf'[( ,"\n]{argument}"?\s+(text|integer|bigint|double|jsonb|real|boolean|name|bytea|timestamptz)',
            signature,
        ), argument


def test_text_is_cleaned() -> None:
    call = _calls.search("acme", "a\0b\ud800", **SEARCH)
    assert call.parameters[:2] == ("acme", "a b\ufffd")


UNFIT = ("\0", "a\0b", "ab\0", "\0ab", "a\ud800", "\udfff", "\ud83d\ude00")


@pytest.mark.parametrize("unfit", UNFIT)
@pytest.mark.parametrize(
    ("what", "call"),
    [
        ("tenant", lambda bad: _calls.corpus_statistics(bad)),
        ("tenant", lambda bad: _calls.query_terms(bad, "x")),
        ("tenant", lambda bad: _calls.drop_tenant(bad)),
        ("tenant", lambda bad: _calls.search(bad, "x", **SEARCH)),
        ("keys", lambda bad: _calls.delete_documents("t", ["a", bad], None)),
        ("keys", lambda bad: _calls.document_states("t", [bad], None)),
        ("principals", lambda bad: _calls.search("t", "x", **{**SEARCH, "principals": ["public", bad]})),
        ("principals", lambda bad: _calls.set_access("t", ["a"], [bad], None, None)),
        ("denied", lambda bad: _calls.set_access("t", ["a"], ["b"], [bad], None)),
        ("key_prefix", lambda bad: _calls.set_access("t", None, ["b"], None, bad)),
        ("key", lambda bad: _calls.check_access("t", bad, None)),
        ("role_name", lambda bad: _calls.map_role("t", bad, ["a"])),
        ("principals", lambda bad: _calls.map_role("t", "r", [bad])),
        ("group_name", lambda bad: _calls.add_members("t", bad, ["a"])),
        ("members", lambda bad: _calls.add_members("t", "g", [bad])),
        ("model", lambda bad: _calls.search("t", "x", **{**SEARCH, "model": bad})),
        ("model", lambda bad: _calls.known_embeddings("t", bad, [])),
    ],
)
def test_names_are_refused_and_not_altered(what: str, call: Callable[[str], Any], unfit: str) -> None:
    """A name without the character that does not fit may be another's."""
    with pytest.raises(InvalidArgument, match=rf"\b{what} ") as caught:
        call(unfit)
    assert caught.value.hint
    str(caught.value).encode()


@pytest.mark.parametrize("k", ["10", 1.5, True, 2**31])
def test_k_must_be_an_integer(k: Any) -> None:
    with pytest.raises(InvalidArgument, match="k "):
        _calls.search("t", "q", **{**SEARCH, "k": k})


def test_numpy_numbers_are_numbers() -> None:
    np = pytest.importorskip("numpy")
    call = _calls.search(
        "t", "q", **{**SEARCH, "k": np.int64(3), "min_score": np.float32(0.5), "weights": np.array([1, 2])}
    )
    assert call.parameters[2] == 3
    assert 0.5 in call.parameters
    assert [1.0, 2.0] in call.parameters


@pytest.mark.parametrize("principals", ["public", [1], [None], 5])
def test_principals_must_be_a_list_of_strings(principals: Any) -> None:
    with pytest.raises(InvalidArgument, match="principals"):
        _calls.search("t", "q", **{**SEARCH, "principals": principals})


def test_weights_must_be_numbers() -> None:
    for weights in ("ab", 5, [None]):
        with pytest.raises(InvalidArgument, match="weights"):
            _calls.search("t", "q", **{**SEARCH, "weights": weights})


def test_filters() -> None:
    assert _calls.filter_json(None) is None
    assert _calls.filter_json({}) is None
    for blank in ("", "  ", "\n"):
        with pytest.raises(InvalidFilter, match="empty") as caught:
            _calls.filter_json(blank)
        assert caught.value.hint
    assert json.loads(_calls.filter_json({"kind": "table"}) or "") == {"kind": "table"}
    with pytest.raises(InvalidFilter):
        _calls.filter_json({"nonsense": 1})


def test_filter_expressions() -> None:
    pytest.importorskip("pgsift.filters")
    assert json.loads(_calls.filter_json("metadata.year >= 2020") or "") == {"metadata.year": {"$gte": 2020}}
    with pytest.raises(InvalidFilter):
        _calls.filter_json("year >= (SELECT 1)")


# Vectors


def test_vectors_are_accepted_as_they_come() -> None:
    np = pytest.importorskip("numpy")
    pgvector = pytest.importorskip("pgvector")
    expected = [1.0, 0.5, 0.0]
    for given_vector in (
        [1, 0.5, 0],
        (1.0, 0.5, 0.0),
        iter([1.0, 0.5, 0.0]),
        np.array(expected),
        np.array(expected, dtype=np.float16),
        np.array(expected, dtype=np.float32),
        pgvector.Vector(expected),
        pgvector.HalfVector(expected),
        pgvector.SparseVector(expected),
        [np.float32(1), np.float64(0.5), np.int64(0)],
        [1.0, 0.5, 1e-300],
    ):
        assert vectors.as_floats(given_vector, dimensions=3) == expected


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ([1.0, math.nan], "element 2 of the vector is nan"),
        ([math.inf], "element 1 of the vector is inf"),
        ([1e39], "element 1"),
        ([], "empty"),
        ("[1,2]", "not str"),
        (5, "not int"),
        ([[1.0], [2.0]], "flat"),
        ([None], "flat"),
        ({"a": 1}, "flat"),
    ],
)
def test_vectors_that_are_none(vector: Any, message: str) -> None:
    with pytest.raises(InvalidVector, match=re.escape(message)):
        vectors.as_floats(vector)


def test_wrong_length_names_both_numbers() -> None:
    with pytest.raises(InvalidVector, match="3 dimensions, the model has 384"):
        vectors.as_floats([1, 2, 3], dimensions=384)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_vector_text_keeps_every_bit(values: list[float]) -> None:
    text = vectors.vector_text(values)
    expected = [0.0 if abs(value) < vectors.MIN_REAL else value for value in values]
    assert [float(part) for part in text[1:-1].split(",")] == expected


# The two stores


def public(cls: type) -> dict[str, Any]:
    return {name: value for name, value in vars(cls).items() if not name.startswith("_")}


def test_both_stores_have_the_same_public_methods() -> None:
    assert public(Store).keys() == public(AsyncStore).keys()
    for name, value in public(AsyncStore).items():
        twin = public(Store)[name]
        if not callable(value):
            continue
        assert inspect.iscoroutinefunction(value), name
        assert not inspect.iscoroutinefunction(twin), name
        ours = [(p.name, p.kind, p.default) for p in inspect.signature(value).parameters.values()]
        theirs = [(p.name, p.kind, p.default) for p in inspect.signature(twin).parameters.values()]
        assert ours == theirs, name
        assert value.__doc__ and twin.__doc__, name


def test_the_synchronous_files_are_generated() -> None:
    result = subprocess.run(
        [sys.executable, ROOT / "tools" / "async_to_sync.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


def test_a_stale_file_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import async_to_sync  # type: ignore[import-not-found,unused-ignore]

    monkeypatch.setattr(async_to_sync, "PACKAGE", tmp_path)
    for source in async_to_sync.FILES:
        (tmp_path / source).write_text(
            'async def f(x: AsyncStore) -> None:\n    """await AsyncStore."""\n    await x.g()\n'
        )
    assert async_to_sync.main([]) == 0
    assert (
        (tmp_path / "store.py")
        .read_text()
        .endswith('def f(x: Store) -> None:\n    """Store."""\n    x.g()\n')
    )
    assert async_to_sync.main(["--check"]) == 0
    (tmp_path / "store.py").write_text("edited")
    assert async_to_sync.main(["--check"]) == 1
    assert "store.py" in capsys.readouterr().err


def test_exported_names() -> None:
    assert pgsift.__all__ == sorted(pgsift.__all__)
    for name in pgsift.__all__:
        assert getattr(pgsift, name) is not None
    assert set(pgsift.__all__) <= set(dir(pgsift))
    with pytest.raises(AttributeError, match="nonsense"):
        pgsift.nonsense  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, pgsift\n"
        "print(sorted({'psycopg', 'numpy', 'alembic', 'sqlglot', 'trafilatura'} & set(sys.modules)))\n"
        "pgsift.Store\n"
        "print(sorted({'numpy', 'alembic', 'sqlglot', 'trafilatura', 'onnxruntime'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["[]", "[]"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"dsn": "a", "pool": object()},
        {"connection": object()},
        {"pool": object()},
        {"dsn": "a", "connection": object()},
    ],
)
@pytest.mark.parametrize("store", [Store, AsyncStore])
def test_arguments_of_the_constructor(store: type, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        store(**arguments)


def test_row_types_have_the_columns_of_their_functions() -> None:
    """Field names of the records stand in the RETURNS TABLE of the SQL sources."""
    for function, record in (
        ("search", models.Hit),
        ("lexical_search", models.Hit),
        ("dense_search", models.Hit),
        ("list_tenants", models.Tenant),
        ("put_documents", models.PutResult),
        ("document_states", models.DocumentState),
        ("list_documents", models.DocumentInfo),
        ("list_dead_letters", models.DeadLetter),
        ("corpus_statistics", models.Stats),
        ("list_models", models.Model),
        ("query_terms", models.QueryTerm),
        ("chunks_without_embedding", models.ChunkText),
        ("set_access", models.AccessResult),
        ("grant_access", models.AccessResult),
        ("revoke_access", models.AccessResult),
        ("show_access", models.AccessEntry),
        ("check_access", models.AccessCheck),
        ("list_members", models.Member),
        ("fold_statistics", models.FoldResult),
        ("pack_postings", models.PackResult),
    ):
        sql = (ROOT / "sql" / "functions" / f"{function}.sql").read_text(encoding="utf-8")
        table = re.search(r"RETURNS TABLE \((.*?)\)\s*LANGUAGE", sql, re.DOTALL)
        assert table is not None, function
        columns = [
            line.split()[0].strip('"') for line in table[1].replace("\n", " ").split(",") if line.split()
        ]
        assert [item.name for item in fields(record)] == columns, function
