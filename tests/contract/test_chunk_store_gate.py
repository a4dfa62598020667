"""The gate: a method that reads from a chunk store has a mutation-isolation and a tenant-isolation test."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pgsift.chunk_store import PostgresChunkStore
from pgsift.domain.memory import InMemoryChunkStore
from pgsift.domain.ports import ChunkStore, read_methods, writes

PROOFS = ("mutation_isolation", "tenant_isolation")
SUITE = Path(__file__).with_name("test_chunk_store_compliance.py")


def suite() -> ModuleType:
    """The compliance suite, imported under a name of its own: its tests are not collected twice."""
    name = "_chunk_store_compliance"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, SUITE)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def calls(test: Any) -> set[str]:
    """Names of the methods a test calls."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(test)))
    return {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }


def missing(port: type, tests: dict[str, Any]) -> list[str]:
    """What a port lacks: every reading method, with the proof there is no test of."""
    proved = {
        test.__proves__
        for name, test in tests.items()
        if name.startswith("test_") and hasattr(test, "__proves__") and test.__proves__[1] in calls(test)
    }
    return [
        f"{method}: {proof}"
        for method in read_methods(port)
        for proof in PROOFS
        if (proof, method) not in proved
    ]


def test_every_reading_method_has_both_tests() -> None:
    assert read_methods() == ("get_by_entity", "lexical_candidates")
    assert missing(ChunkStore, vars(suite())) == []


def test_no_proof_is_of_something_else() -> None:
    proofs = [test.__proves__ for test in vars(suite()).values() if hasattr(test, "__proves__")]
    assert {proof for proof, _ in proofs} == set(PROOFS)
    assert {method for _, method in proofs} == set(read_methods())


@pytest.mark.parametrize("adapter", [InMemoryChunkStore, PostgresChunkStore])
def test_an_adapter_has_the_methods_of_the_port_and_no_others(adapter: type) -> None:
    def public(one: type) -> set[str]:
        return {name for name in dir(one) if not name.startswith("_")}

    assert public(adapter) == public(ChunkStore), "a method beside the port would pass by the gate"
    for name in public(adapter):
        expected = inspect.signature(getattr(ChunkStore, name))
        assert inspect.signature(getattr(adapter, name)) == expected


# The gate itself: it must refuse.


class Extended(ChunkStore):
    def count_chunks(self, tenant: str) -> int:
        raise NotImplementedError

    @writes
    def drop_tenant(self, tenant: str) -> None:
        raise NotImplementedError


def test_a_new_reading_method_is_refused_until_it_has_both_tests() -> None:
    tests = dict(vars(suite()))
    assert missing(Extended, tests) == ["count_chunks: mutation_isolation", "count_chunks: tenant_isolation"]

    def test_tenant(store: Any) -> None:
        assert store.count_chunks("acme") == 0

    test_tenant.__proves__ = ("tenant_isolation", "count_chunks")  # type: ignore[attr-defined]
    tests["test_tenant"] = test_tenant
    assert missing(Extended, tests) == ["count_chunks: mutation_isolation"]


def test_a_test_that_does_not_call_the_method_is_no_proof() -> None:
    def test_idle(store: Any) -> None:
        assert store is not None

    tests = dict(vars(suite()))
    for proof in PROOFS:
        test_idle.__proves__ = (proof, "count_chunks")  # type: ignore[attr-defined]
        tests["test_idle"] = test_idle
        assert f"count_chunks: {proof}" in missing(Extended, tests)


def test_a_helper_is_no_test() -> None:
    def helper(store: Any) -> None:
        store.count_chunks("acme")

    helper.__proves__ = ("tenant_isolation", "count_chunks")  # type: ignore[attr-defined]
    assert "count_chunks: tenant_isolation" in missing(Extended, {**vars(suite()), "helper": helper})
