from __future__ import annotations

from pathlib import Path
from typing import Any

import documents
import pytest

from pgsift.ingest import sources, syncing
from pgsift.ingest.sources import Item, Options


@pytest.mark.parametrize(("room", "times"), [(1_000_000, 1), (10, 2)])
def test_an_archive_is_read_once_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, times: int
) -> None:
    (tmp_path / "two.zip").write_bytes(documents.zip_file({"a.txt": "about apples", "b.txt": "about bananas"}))
    (tmp_path / "c.txt").write_text("about cherries")
    read: list[str] = []
    expand = sources._expand

    def counted(content: bytes, kind: str, key: str, *rest: Any) -> Any:
        read.append(key)
        return expand(content, kind, key, *rest)

    monkeypatch.setattr(sources, "_expand", counted)
    monkeypatch.setattr(syncing, "KEPT_BYTES", room)
    listing = syncing.list_source(tmp_path, Options())
    assert listing.keys == {"two.zip#a.txt", "two.zip#b.txt", "c.txt"}
    found = [one for one in syncing.read_listed(tmp_path, Options(), listing, None) if isinstance(one, Item)]
    assert {item.document.key: item.document.text for item in found} == {
        "two.zip#a.txt": b"about apples",
        "two.zip#b.txt": b"about bananas",
        "c.txt": b"about cherries",
    }
    assert read == ["two.zip"] * times
    assert not listing.kept
