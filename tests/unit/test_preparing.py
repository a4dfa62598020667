"""Documents between the reader and the database: in order, few at a time, and given up at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import documents
import pytest

from pgsift.domain.analyzer import get_analyzer
from pgsift.ingest import pipeline
from pgsift.ingest.chunkers import chosen_chunker
from pgsift.ingest.formats import Limits
from pgsift.ingest.formats.pool import pool
from pgsift.ingest.sources import Broken, Found, Item
from pgsift.models import Document


def preparing(stream: Iterator[Found], tally: pipeline.Tally, **limits: float) -> pipeline.Preparing:
    """What is under test, without a database: every document counts as changed."""
    preparer = pipeline.Preparer(
        get_analyzer("english"), chosen_chunker("structure"), limits=Limits(workers=2, **limits)  # type: ignore[arg-type]
    )
    return pipeline.Preparing(preparer, stream, tally, embed=False)


def test_order_is_kept_and_little_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pypdfium2")
    monkeypatch.setattr(pipeline, "GROUP_DOCUMENTS", 2)
    monkeypatch.setattr(pipeline, "BATCH_CHUNKS", 3)
    read = 0

    def stream() -> Iterator[Found]:
        nonlocal read
        for number in range(60):
            read += 1
            key = f"{number:02}"
            if number % 10 == 3:
                yield Broken(key, None, "broken on purpose")
            elif number % 3:
                yield Item(Document(key, f"Text {number}."), 10)
            else:
                yield Item(Document(key, documents.simple_pdf(f"Page {number}."), "pdf"), 1000)

    tally = pipeline.Tally()
    work = preparing(stream(), tally)
    keys: list[str] = []
    while (step := work.step()) is not None:
        work.add(step.group)
        keys += [document.key for document in step.prepared]
        # A group (of four times the documents, without an embedder), and what is parsed ahead.
        assert read - len(keys) - tally.counts["failed"] <= 8 + 8 + 4
    assert keys == [f"{number:02}" for number in range(60) if number % 10 != 3]
    assert tally.counts["failed"] == 6
    work.close()


def test_closing_ends_a_parser_at_work() -> None:
    pytest.importorskip("pypdfium2")
    slow = documents.slow_pdf()
    tally = pipeline.Tally()
    found = (Item(Document(f"{n}.pdf", slow, "pdf"), len(slow)) for n in range(3))
    work = preparing(found, tally, seconds=600)
    first = work.step()
    assert first is not None and len(first.group) == 3
    work.add(first.group)
    thread = threading.Thread(target=work.step)
    thread.start()
    deadline = time.monotonic() + 30
    while not pool()._busy and time.monotonic() < deadline:
        time.sleep(0.01)
    assert pool()._busy
    work.close()
    thread.join(60)
    assert not thread.is_alive()
    # What was given up did not fail.
    assert tally.counts["failed"] == 0 and tally.take_pending() == []
    assert work.step() is None
