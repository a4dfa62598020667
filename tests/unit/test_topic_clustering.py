"""Topics without a database: clustering, the cache of vectors, the pictures."""

from __future__ import annotations

import datetime
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pgsift import topics
from pgsift.errors import InvalidArgument
from pgsift.models import DocumentTopic, Model, Topic, TopicRun, TopicsReport
from pgsift.topic_pictures import page, write_png

np = pytest.importorskip("numpy")

MODEL = Model("m", "r", 4, "cosine", "vector", "", "", 1.0, 1.0, "", None, "none", "")
NOW = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"a\" 'b' ]]> <!-- \u2028 $x^2$"


def report(*found: tuple[int, str, str | None]) -> TopicsReport:
    """Documents by topic, key and title, and topics to match."""
    documents = [
        DocumentTopic(topic, key, title, i, NOW, 1.0, 0.25, float(i % 7), float(i // 7))
        for i, (topic, key, title) in enumerate(found)
    ]
    numbers = sorted({one.topic for one in documents}, key=lambda n: (n < 0, n))
    listed = [
        Topic(
            number,
            sum(one.topic == number for one in documents),
            0.5,
            [f"term{number}", HOSTILE],
            [2.0, 1.0],
            [one.key for one in documents if one.topic == number][:3],
            [one.title for one in documents if one.topic == number][:3],
        )
        for number in numbers
    ]
    outliers = sum(one.topic < 0 for one in documents)
    run = TopicRun(1, NOW, "anna", "m", {}, len(documents), sum(n >= 0 for n in numbers), outliers, 0)
    return TopicsReport(run, listed, documents, 0, 0, 0, 1.0)


class Page(HTMLParser):
    """The elements of a page, their attributes, and the text of the scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and self.scripts and self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.text += data


def test_the_page_is_safe_with_hostile_titles_and_loads_nothing() -> None:
    text = page(report((0, "a", HOSTILE), (0, HOSTILE, None), (-1, "c", "plain")), title=HOSTILE)
    found = Page(text)
    names = [name for name, _ in found.tags]
    assert names.count("script") == 2
    assert "img" not in names and "link" not in names and "iframe" not in names
    for name, attributes in found.tags:
        assert not any(attribute.startswith("on") for attribute in attributes), name
        assert not {"src", "srcset", "action"} & attributes.keys(), name
        assert attributes.get("href", "#map") == "#map"
    data = json.loads(found.scripts[0])
    assert data["documents"][0]["t"] == HOSTILE
    assert HOSTILE in found.text
    policy = next(a["content"] or "" for _, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy
    assert "@import" not in text and "url(" not in text
    # Addresses are in the names of no namespace either: nothing could be fetched.
    assert re.findall(r"https?://", text) == []


def test_the_policy_allows_what_the_page_has() -> None:
    import base64
    import hashlib

    text = page(report((0, "a", "t")))
    for element in ("style", "script"):
        content = re.findall(rf"<{element}>(.*?)</{element}>", text, re.S)
        assert len(content) == 1
        digest = base64.b64encode(hashlib.sha256(content[0].encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in text


def test_every_document_is_drawn_and_listed() -> None:
    found = Page(page(report(*((i % 15 - 1, f"k{i}", None) for i in range(60)))))
    circles = [a for name, a in found.tags if name == "circle"]
    assert sorted(int(a["data-n"] or "") for a in circles) == list(range(60))
    for circle in circles:
        assert 0 <= float(circle["cx"] or "") <= 1000 and 0 <= float(circle["cy"] or "") <= 700
    links = [a for name, a in found.tags if name == "a"]
    assert sorted(int(a["data-n"] or "") for a in links) == list(range(60))


def test_pages_of_nothing_and_of_one_place() -> None:
    assert "There is no topic" in page(report())
    same = report((0, "a", "x"), (0, "b", "y"))
    for one in (same, report((-1, "a", None), (-1, "b", None))):
        assert '="nan"' not in page(one)


@pytest.mark.slow
def test_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for found in (report(), report(*((i % 30 - 1, f"k{i}", HOSTILE) for i in range(90)))):
        write_png(found, tmp_path / "t.png")
        content = (tmp_path / "t.png").read_bytes()
        assert content.startswith(b"\x89PNG") and len(content) > 10_000


def test_json_of_a_report(tmp_path: Path) -> None:
    topics.write_json(report((0, "a", "Ä"), (-1, "b", None)), tmp_path / "t.json")
    content = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert content["topics"][0]["terms"][0] == {"term": "term0", "weight": 2.0}
    assert content["topics"][0]["representatives"] == [{"key": "a", "title": "Ä"}]
    assert [one["topic"] for one in content["documents"]] == [0, -1]
    assert content["run"]["documents"] == 2


def test_the_cache_keeps_what_it_was_given_and_nothing_else(tmp_path: Path) -> None:
    cache = topics.VectorCache(tmp_path / "new", "t", MODEL)
    assert cache.read() == {}
    vectors = {bytes([i]) * 32: np.arange(4, dtype=np.float32) + i for i in range(3)}
    cache.write(vectors)
    assert {key: value.tolist() for key, value in cache.read().items()} == {
        key: value.tolist() for key, value in vectors.items()
    }
    cache.write({b"\x09" * 32: np.ones(4, dtype=np.float32)})
    assert list(cache.read()) == [b"\x09" * 32]
    assert cache.path.stat().st_mode & 0o077 == 0
    assert cache.path.parent.stat().st_mode & 0o077 == 0
    assert [path.suffix for path in cache.path.parent.iterdir()] == [".npz"]
    # Another tenant or model is another file.
    others = [topics.VectorCache(tmp_path / "new", "u", MODEL)]
    others.append(
        topics.VectorCache(tmp_path / "new", "t", Model("m", "r2", *list(MODEL.to_dict().values())[2:]))
    )
    assert len({cache.path, *(other.path for other in others)}) == 3


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"x" * 100, b"\x93NUMPY"])
def test_a_broken_cache_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    cache = topics.VectorCache(tmp_path, "t", MODEL)
    cache.path.write_bytes(content)
    assert cache.read() == {}
    np.savez(cache.path, hashes=np.zeros((2, 32), np.uint8), vectors=np.zeros((2, 5), np.float32))
    assert cache.read() == {}
    whole = cache.path.read_bytes()
    cache.path.write_bytes(whole[: len(whole) // 2])
    assert cache.read() == {}


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    topics.VectorCache(tmp_path / "file" / "below", "t", MODEL).write({b"\x00" * 32: np.ones(4, np.float32)})


def test_rows_of_length_one() -> None:
    rows, directed = topics.unit(np.array([[3, 4], [0, 0], [1e-30, 0]], dtype=np.float32))
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 0], [1, 0]]
    assert directed.tolist() == [True, False, True]


def test_distances_to_the_centre() -> None:
    vectors = np.array([[1, 0], [0, 1], [0, 1], [1, 0], [-1, 0]], dtype=np.float32)
    found = topics.centre_distances(vectors, np.array([0, 0, -1, 1, 1], dtype=np.int32))
    assert found[:2].tolist() == pytest.approx([1 - 0.5**0.5] * 2)
    assert np.isnan(found[2])
    # Opposite vectors have no mean direction.
    assert found[3:].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("settings", [{"seed": -1}, {"neighbors": 1}, {"min_size": 1}])
def test_settings_that_mean_nothing(settings: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument):
        topics.check(**({"seed": 1, "neighbors": None, "min_size": None} | settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [0, 1])
def test_one_document_has_no_topics(number: int) -> None:
    with pytest.raises(InvalidArgument, match="at least two documents"):
        topics.cluster(np.ones((number, 3), dtype=np.float32))


def blobs(sizes: tuple[int, ...], dimensions: int = 16) -> object:
    """Points around as many axes, of length 1."""
    random = np.random.default_rng(7)
    rows = [
        np.eye(dimensions)[axis] + 0.05 * random.standard_normal(dimensions)
        for axis, size in enumerate(sizes)
        for _ in range(size)
    ]
    return topics.unit(np.asarray(rows, dtype=np.float32))[0]


@pytest.mark.slow
def test_clusters_of_any_number_of_documents() -> None:
    """All that needs UMAP in one test: loading it takes longer than the rest."""
    pytest.importorskip("umap")
    for number in (*range(2, 9), 11, 15):
        for vectors in (blobs((number,)), blobs((1,) * number), np.repeat(blobs((1,)), number, axis=0)):  # type: ignore[call-overload]
            found = topics.cluster(vectors)
            assert len(found.labels) == len(found.positions) == number
            assert np.isfinite(found.positions).all()
            assert ((found.strengths >= 0) & (found.strengths <= 1)).all()
            assert (np.isnan(found.distances) == (found.labels == -1)).all()
    # More wanted than there are: all outliers, and no error.
    assert set(topics.cluster(blobs((6,)), min_size=50).labels.tolist()) == {-1}
    vectors = blobs((30, 20, 25))
    one, same = topics.cluster(vectors, seed=3), topics.cluster(vectors, seed=3)
    assert one.labels.tolist() == same.labels.tolist()
    assert one.positions.tolist() == same.positions.tolist()
    # Three heaps far from each other are three topics.
    groups = [set(one.labels[start:end].tolist()) for start, end in ((0, 30), (30, 50), (50, 75))]
    assert [len(group) for group in groups] == [1, 1, 1] and len(set.union(*groups)) == 3
