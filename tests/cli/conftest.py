"""The command run in this process, against a tenant of its own on the shared database."""

from __future__ import annotations

import io
import json
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from pgsift import Store
from pgsift_cli.app import main


@dataclass(frozen=True)
class Outcome:
    """What a run of the command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which has to be one JSON document."""
        return json.loads(self.out)


Cli = Callable[..., Outcome]


@pytest.fixture
def tenant(schema_dsn: str) -> Iterator[str]:
    """A tenant that is gone after the test, whose documents are for the public."""
    name = f"cli_{uuid.uuid4().hex[:12]}"
    with Store(schema_dsn) as store:
        store.create_tenant(name, default_principals=["public"])
        try:
            yield name
        finally:
            store.drop_tenant(name)


@pytest.fixture
def cli(
    schema_dsn: str, tenant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Cli:
    """``cli("search", "x", input="…")`` runs ``pgsift search x``."""
    monkeypatch.setenv("PGSIFT_DSN", schema_dsn)
    monkeypatch.setenv("PGSIFT_TENANT", tenant)
    monkeypatch.delenv("PGSIFT_HOME", raising=False)

    def run(*arguments: str, input: str | bytes = "") -> Outcome:
        content = input.encode() if isinstance(input, str) else input
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
        capsys.readouterr()
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    return run


@pytest.fixture
def put(schema_dsn: str, tenant: str) -> Callable[..., None]:
    """``put({"key": …, "text": …}, …)`` stores documents."""

    def store_them(*documents: dict[str, Any]) -> None:
        with Store(schema_dsn) as store:
            store.put_documents(tenant, documents)

    return store_them
