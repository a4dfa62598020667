"""Backfills and several models at one ingest, by the library: resumed, beside writers, within the rules."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg
import pytest

from pgsift import Document, Store, errors
from pgsift.embed import Metric, embedding_text, named
from pgsift.models import BackfillProgress


class Toy:
    """Vectors that are a function of the text, and a count of the texts."""

    metric: Metric = "cosine"
    query_prefix = document_prefix = ""
    normalized = False
    pooling = "mean"

    def __init__(
        self, name: str, dimensions: int = 4, *, remote: bool = False, before: Callable[[int], None] | None = None
    ) -> None:
        self.name = name
        self.revision = "r1"
        self.dimensions = dimensions
        self.remote = remote
        self.before = before
        self.texts: Counter[str] = Counter()

    @property
    def identity(self) -> str:
        return f"{self.name}@{self.revision}"

    def vector(self, text: str) -> list[float]:
        digest = hashlib.sha256(text.encode()).digest()
        return [1.0 + byte for byte in digest[: self.dimensions]]

    def embed_documents(self, texts: Sequence[str]) -> Any:
        if self.before is not None:
            self.before(sum(self.texts.values()))
        if any("refuse" in text for text in texts):
            raise errors.InvalidArgument("this text is too much")
        self.texts.update(texts)
        return np.array([self.vector(text) for text in texts], dtype=np.float32)

    def embed_query(self, text: str) -> Any:
        return np.array(self.vector(text), dtype=np.float32)


def state(store: Any, model: str) -> tuple[str, int, int]:
    (found,) = store.tenant_models("t", model)
    return found.state, found.vectors, found.missing


def write(store: Any, first: int, last: int, **options: Any) -> None:
    store.put_documents(
        "t", [Document(key=f"d{i}", title=f"T{i}", text=f"text number {i}") for i in range(first, last)], **options
    )


@contextmanager
def told(store: Any) -> Iterator[psycopg.Connection]:
    inner = getattr(store, "inner", store)
    with psycopg.connect(inner.dsn if hasattr(inner, "dsn") else inner._dsn) as connection:
        yield connection


def assert_right(store: Any, model: str, toy: Toy) -> None:
    """Every chunk has the vector of its own text, and the counts are those of a recount."""
    with told(store) as connection:
        rows = connection.execute(
            "SELECT d.title, c.body, e.embedding::real[], e.text_hash FROM sift.chunk_embeddings AS e"
            " JOIN sift.chunks AS c USING (tenant_id, chunk_id)"
            " JOIN sift.documents AS d USING (tenant_id, document_id)"
            " JOIN sift.embedding_models AS m USING (model_id) WHERE m.name = %s",
            (model,),
        ).fetchall()
        assert rows
        for title, body, vector, text_hash in rows:
            text = embedding_text(title, body)
            assert vector == toy.vector(text)
            assert text_hash == hashlib.sha256(text.encode()).digest()[:16]
        assert connection.execute("SELECT * FROM sift._vector_errors(sift._tenant_id('t'))").fetchall() == []


def test_a_backfill(store: Any) -> None:
    old, new = Toy("old", 3), Toy("new")
    write(store, 0, 30, embedder=old)
    store.cache_query_embedding("t", "what is it", embedder=old)
    seen: list[BackfillProgress] = []
    report = store.backfill("t", embedder=new, batch=8, progress=seen.append)
    assert (report.stored, report.computed, report.reused, report.queries) == (30, 30, 0, 1)
    assert (report.missing, report.failed, report.gone, report.withheld) == (0, 0, 0, 0)
    assert [(one.done, one.total) for one in seen] == [(0, 30), (8, 30), (16, 30), (24, 30), (30, 30)]
    assert seen[0].seconds_left is None and seen[-1].seconds_left == 0 and seen[2].rate > 0
    assert state(store, "new") == ("kept", 30, 0)
    assert_right(store, "new", new)
    again = store.backfill("t", embedder=new)
    assert (again.stored, again.computed, again.queries) == (0, 0, 0)
    assert store.activate_model("t", "new") == "old"
    assert store.search("t", "what is it", principals=["public"])[0].distance is not None
    assert store.tenant("t").kept_models == ["new", "old"]
    assert store.drop_model("nosuch") is False
    with pytest.raises(errors.AlreadyExists):
        store.drop_model("new")
    store.keep_model("t", "old", False)
    assert store.drop_model("old") is True


def test_it_need_not_be_kept(store: Any) -> None:
    write(store, 0, 3, embedder=Toy("old", 3))
    store.backfill("t", embedder=Toy("new"), keep=False, queries=False)
    assert state(store, "new") == ("retired", 3, 0)


def test_interrupted_it_goes_on_and_embeds_nothing_twice(store: Any) -> None:
    write(store, 0, 40)

    def stop(done: int) -> None:
        if done >= 16:
            raise KeyboardInterrupt

    first = Toy("new", before=stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        store.backfill("t", embedder=first, batch=8)
    done = caught.value.backfill_report  # type: ignore[attr-defined]
    assert (done.stored, done.missing) == (16, 24)
    assert state(store, "new") == ("active", 16, 24)
    second = Toy("new")
    report = store.backfill("t", embedder=second, batch=8)
    assert (report.stored, report.missing) == (24, 0)
    assert max((first.texts + second.texts).values()) == 1
    assert_right(store, "new", second)


def test_texts_an_embedder_does_not_take(store: Any) -> None:
    write(store, 0, 5)
    store.put_documents("t", [Document(key="bad", text="refuse me")])
    report = store.backfill("t", embedder=Toy("new"))
    assert (report.stored, report.failed, report.missing) == (5, 1, 1)
    assert "this text is too much" in report.failures[0]


def test_chunks_that_go_meanwhile_are_passed_over(store: Any, dsn: str) -> None:
    write(store, 0, 20)

    def change(done: int) -> None:
        if done == 0:
            with Store(dsn) as other:
                other.delete("t", ["d3"])
                other.put_documents("t", [Document(key="d5", title="T5", text="another text")])

    new = Toy("new", before=change)
    report = store.backfill("t", embedder=new)
    # The new text of d5 is found by the second look.
    assert (report.stored, report.gone, report.missing) == (19, 2, 0)
    assert new.texts["T5\nanother text"] == 1
    assert_right(store, "new", new)


def test_a_rate_is_kept(store: Any) -> None:
    write(store, 0, 12)
    began = time.monotonic()
    store.backfill("t", embedder=Toy("new"), rate=20)
    # Twelve at twenty a second: no sooner, however slow the machine.
    assert time.monotonic() - began >= 12 / 20 - 0.01
    for wrong in ({"rate": 0}, {"rate": float("nan")}, {"batch": 0}):
        with pytest.raises(errors.InvalidArgument):
            store.backfill("t", embedder=Toy("new"), **wrong)
    with pytest.raises(errors.InvalidArgument):
        store.backfill("t")
    with pytest.raises(errors.UnknownTenant):
        store.backfill("nosuch", embedder=Toy("other"))
    assert [model.model for model in store.models()] == ["new"]


def test_a_remote_embedder_gets_no_more_than_at_ingest(store: Any) -> None:
    store.set_tenant("t", remote_classifications=["open"], remote_retained=False)
    for key, classification, until in (
        ("a", "open", None),
        ("b", "secret", None),
        ("c", None, None),
        ("d", "open", "2099-01-01"),
    ):
        store.put_documents(
            "t", [Document(key=key, text=f"text {key}", classification=classification, retain_until=until)]
        )
    far = Toy("far", remote=True)
    report = store.backfill("t", embedder=far)
    assert set(far.texts) == {"text a"}
    assert (report.stored, report.missing, report.withheld) == (1, 0, 3)
    near = Toy("near")
    assert store.backfill("t", embedder=near).stored == 4
    # One ingest with both: the local one gets all.
    far.texts.clear()
    report = store.ingest(
        "t",
        [
            Document(key="e", text="text e", classification="secret"),
            Document(key="f", text="text f", classification="open"),
        ],
        embedder=[far, near],
    )
    assert report.withheld == 1
    assert set(far.texts) == {"text f"} and {"text e", "text f"} <= set(near.texts)


def test_one_ingest_keeps_several_models(store: Any) -> None:
    old, new = Toy("old", 3), Toy("new")
    report = store.ingest("t", [Document(key="a", title="A", text="one text")], embedder=[old, new])
    assert (report.created, report.vectors_computed, report.models_left) == (1, 2, ())
    assert (state(store, "old"), state(store, "new")) == (("active", 1, 0), ("retired", 1, 0))
    store.keep_model("t", "new")
    report = store.ingest("t", [Document(key="b", text="two texts")], embedder=old)
    assert report.models_left == ("new",)
    assert state(store, "new") == ("kept", 1, 1)
    write(store, 0, 2, embedder=[old, new])
    assert state(store, "new") == ("kept", 3, 1)
    assert_right(store, "old", old)
    assert_right(store, "new", new)
    with pytest.raises(errors.InvalidArgument):
        store.ingest("t", [], embedder=[old, Toy("old")])


def test_another_identity_is_refused(store: Any) -> None:
    write(store, 0, 1, embedder=Toy("new"))
    for attribute, value in (
        ("pooling", "cls"),
        ("revision", "r2"),
        ("normalized", True),
        ("query_prefix", "q: "),
    ):
        other = Toy("new")
        setattr(other, attribute, value)
        with pytest.raises(errors.AlreadyExists, match=attribute):
            store.backfill("t", embedder=other)


def test_one_embedder_behind_two_models(store: Any) -> None:
    """Stored or indexed in another way, the vectors are the same: they are copied, not made anew."""
    toy = Toy("toy", 8)
    write(store, 0, 10, embedder=toy)
    small = named(toy, "toy-small")
    store.register_model(
        "toy-small",
        8,
        revision="r1",
        pooling="mean",
        normalized=False,
        precision="halfvec",
        quantization="binary",
        embedder="toy",
    )
    report = store.backfill("t", embedder=small)
    assert (report.stored, report.computed, report.reused) == (10, 0, 10)
    assert max(toy.texts.values()) == 1


def test_a_backfill_beside_writers(store: Any, dsn: str) -> None:
    """Documents are stored, replaced and deleted by several writers while two backfills run: nothing fails,
    every vector is that of its text, and in the end none is missing."""
    old, new = Toy("old", 3), Toy("new")
    write(store, 0, 60, embedder=old)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            with Store(dsn) as other:
                for step in range(8):
                    first = (seed * 13 + step * 7) % 55
                    if step % 3 == 2:
                        other.delete("t", [f"d{first}", f"d{first + 1}"])
                        continue
                    other.put_documents(
                        "t",
                        [
                            Document(key=f"d{i}", title=f"T{i}", text=f"text {seed} {step}")
                            for i in range(first, first + 4)
                        ],
                        embedder=[old, new] if step % 2 else old,
                    )
        except BaseException as error:
            failures.append(error)

    def backfill() -> None:
        try:
            with Store(dsn) as other:
                other.backfill("t", embedder=Toy("new"), batch=5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    threads += [threading.Thread(target=backfill) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    store.backfill("t", embedder=new)
    assert state(store, "new")[2] == 0
    assert_right(store, "old", old)
    assert_right(store, "new", new)
