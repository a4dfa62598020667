"""pgsift rebuild."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pgsift.ingest.chunker import Chunker

Cli = Callable[..., Any]  # see conftest.py


def test_documents_are_made_anew_from_what_was_kept(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("a winch")
    (tmp_path / "b.txt").write_text("a crane")
    with monkeypatch.context() as patched:
        patched.setattr(Chunker, "name", property(lambda _self: "old/1"))
        assert (
            cli("ingest", str(tmp_path / "a.txt"), "--embedder", "none", "--keep-source", "--acl", "group:hr").code
            == 0
        )
        assert cli("ingest", str(tmp_path / "b.txt"), "--embedder", "none").code == 0
    shown = cli("rebuild", "--embedder", "none", "--json").json
    assert (shown["documents"], shown["rebuilt"], shown["without_source_keys"]) == (2, 1, ["b.txt"])
    again = cli("rebuild", "--embedder", "none")
    assert (again.code, "rebuilt:   0" in again.out, "no source: 1\n\tb.txt" in again.out) == (0, True, True)
    gone = cli("rebuild", "a.txt", "absent.txt", "--embedder", "none")
    assert (gone.code, "no document absent.txt" in gone.err) == (3, True)
    history = cli("history", "a.txt", "--as", "group:hr", "--json").json
    assert "old/1" in str(history) and Chunker().name in str(history)
