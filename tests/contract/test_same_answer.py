"""The same query gives the same rows, numbers and order through psql, Store, AsyncStore and the CLI."""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg import sql

from pgsift import AsyncStore, Document, Store, server
from pgsift.errors import MissingExtra
from pgsift.models import Chunk, Hit
from pgsift_cli.app import main

TENANT = "same answer"
MODEL = "same-answer-model"
DIMENSIONS = 4
WORDS = [
    "winch",
    "boat",
    "seal",
    "turbine",
    "gear",
    "oil",
    "tide",
    "cable",
    "pump",
    "diver",
    "船",
    "潮流",
    "Größe",
]
COLUMNS = list(Hit.__dataclass_fields__)


@dataclass(frozen=True)
class Question:
    """A search, in terms that all four understand."""

    query: str
    k: int = 10
    principals: tuple[str, ...] = ("public",)
    mode: str = "hybrid"
    filter: dict[str, Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)


QUESTIONS = [
    Question("winch"),
    Question("the winch and the boat", k=50),
    Question("winch boat oil", mode="lexical", k=7),
    Question("winch boat oil", mode="dense"),
    Question("turbine", principals=("public", "group:a")),
    Question("turbine", principals=("group:nobody",)),
    Question("潮流", principals=("public", "group:a", "group:b")),
    Question("GRÖSSE größe", k=3),
    Question("gear", filter={"metadata.year": {"$gte": 2021}}),
    Question("gear oil pump", options={"per_document": 1, "depth": 40, "rrf_k": 7.5, "weights": (0.3, 1.7)}),
    Question("cable", options={"min_score": 0.7, "max_distance": 0.4}),
    Question("'; DROP TABLE sift.chunks; -- \" $1 %s \\ \N{PILE OF POO} winch"),
    Question("winch", k=0),
]


def vector(seed: int) -> list[float]:
    return [((seed * (step + 3)) % 17 - 8) / 8 + 0.01 for step in range(DIMENSIONS)]


@pytest.fixture(scope="module")
def filled(schema_dsn: str) -> Iterator[str]:
    """The DSN of a database with documents, some of them alike, and the vectors of all questions."""
    with Store(schema_dsn) as store:
        store.create_tenant(TENANT, default_principals=["public"])
        store.register_model(MODEL, DIMENSIONS)
        store.put_documents(
            TENANT,
            [
                Document(
                    f"doc/{number:03}",
                    title=f"{WORDS[number % 5]} {number % 7}",
                    metadata={"year": 2018 + number % 6},
                    acl=[None, ["group:a"], ["group:a", "group:b"], []][number % 4] if number % 4 else None,
                    chunks=[
                        Chunk(
                            " ".join(
                                WORDS[(number * step + part) % len(WORDS)] for step in range(1, 4 + part)
                            ),
                            section=["First", "Second"][: number % 3],
                            embedding=vector(number % 23 + part),
                        )
                        for part in range(1 + number % 3)
                    ],
                )
                for number in range(120)
            ],
            model=MODEL,
        )
        for number, question in enumerate(QUESTIONS):
            store.cache_query_embedding(TENANT, question.query, vector(number + 2), model=MODEL)
        try:
            yield schema_dsn
        finally:
            store.drop_tenant(TENANT)


def by_store(dsn: str, question: Question) -> list[dict[str, Any]]:
    with Store(dsn) as store:
        result = store.search(
            TENANT, question.query, k=question.k, principals=question.principals, filter=question.filter,
            mode=question.mode, **question.options,
        )  # fmt: skip
        return [hit.to_dict() for hit in result]


def by_async_store(dsn: str, question: Question) -> list[dict[str, Any]]:
    async def ask() -> list[dict[str, Any]]:
        async with AsyncStore(dsn) as store:
            result = await store.search(
                TENANT, question.query, k=question.k, principals=question.principals, filter=question.filter,
                mode=question.mode, **question.options,
            )  # fmt: skip
            return [hit.to_dict() for hit in result]

    return asyncio.run(ask())


def by_cli(dsn: str, question: Question) -> list[dict[str, Any]]:
    arguments = ["search", "--dsn", dsn, "--tenant", TENANT, "--json", "--embedder", "none"]
    arguments += ["-k", str(question.k), "--mode", question.mode]
    for name in question.principals:
        arguments += ["--as", name]
    if question.filter is not None:
        arguments += ["--filter", json.dumps(question.filter)]
    for name, value in question.options.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        arguments += [f"--{name.replace('_', '-')}", text]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main([*arguments, "--", question.query]) == 0
    hits: list[dict[str, Any]] = json.loads(printed.getvalue())["hits"]
    return hits


def psql_program() -> str | None:
    try:
        return str(server.program("psql"))
    except (FileNotFoundError, MissingExtra):
        return shutil.which("psql")


def by_psql(dsn: str, question: Question) -> list[dict[str, Any]]:
    program = psql_program()
    if program is None:
        pytest.skip("there is no psql here")
    given = {
        "tenant": TENANT, "query": question.query, "k": question.k, "mode": question.mode,
        "principals": list(question.principals),
        # The store and the command line show snippets unless told otherwise; plain SQL asks for them.
        "snippet_width": 300, **question.options,
    }  # fmt: skip
    arguments = [
        sql.SQL("{} => {}").format(
            sql.Identifier(name), sql.Literal(list(value) if isinstance(value, tuple) else value)
        )
        for name, value in given.items()
    ]
    if question.filter is not None:
        arguments.append(sql.SQL("filter => {}").format(sql.Literal(json.dumps(question.filter))))
    statement = sql.SQL(
        "SELECT coalesce(json_agg(row_to_json(s) ORDER BY s.rank), '[]') FROM sift.search({}) AS s"
    ).format(sql.SQL(", ").join(arguments))
    with psycopg.connect(dsn) as connection:
        text = statement.as_string(connection)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    result = subprocess.run(
        [program, "-XAtq", "-v", "ON_ERROR_STOP=1", dsn], input=text + ";\n", check=True, capture_output=True,
        text=True, env=kept | {"PGCLIENTENCODING": "utf8"},
    )  # fmt: skip
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{question.mode}-{question.query[:20]}")
def test_same_answer(filled: str, question: Question) -> None:
    expected = by_store(filled, question)
    assert all(list(row) == COLUMNS for row in expected)
    assert by_async_store(filled, question) == expected
    assert by_cli(filled, question) == expected
    assert by_psql(filled, question) == expected


def test_the_questions_are_worth_asking(filled: str) -> None:
    answers = [by_store(filled, question) for question in QUESTIONS]
    assert sum(bool(answer) for answer in answers) >= 10
    assert any(row["legs"] == "lexical+dense" for answer in answers for row in answer)
    assert max(map(len, answers)) > 20
    # Ties, whose order has to be the same everywhere.
    pairs = [pair for answer in answers for pair in itertools.pairwise(answer)]
    for figure in ("lexical_score", "distance"):
        assert any(first[figure] == second[figure] is not None for first, second in pairs), figure
    # And rows that differ with the permissions.
    public, some = (
        by_store(filled, Question("turbine", k=100, principals=who))
        for who in (("public",), ("public", "group:a"))
    )
    assert 0 < len(public) < len(some)
