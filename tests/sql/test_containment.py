"""Texts that stand whole in longer ones, and how many independent sources a set of documents has."""

from __future__ import annotations

import itertools
import random
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from pgsift import Store, duplicates
from pgsift.domain.analyzer import get_analyzer
from pgsift.errors import InvalidArgument

pytest.importorskip("datasketch")

Doc = dict[str, Any]


@pytest.fixture
def store(schema_dsn: str) -> Iterator[Store]:
    with Store(schema_dsn) as opened:
        yield opened


@pytest.fixture(params=["tenant", "visible"])
def tenant(store: Store, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"con_{uuid.uuid4().hex[:12]}"
    store.create_tenant(name, analyzer="standard", default_principals=["public"])
    store.set_tenant(name, statistics=request.param)
    try:
        yield name
    finally:
        store.drop_tenant(name)


def words(number: int, seed: int) -> list[str]:
    """Words of a small vocabulary, as texts have them: every word is in many documents."""
    chosen = random.Random(seed)
    return [f"w{int(chosen.paretovariate(0.6)) % 3000}" for _ in range(number)]


def document(key: str, text: list[str], size: int = 120, **members: Any) -> Doc:
    """In chunks of ``size`` words, so that what is contained is cut where it happens to be."""
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    chunks, position = [], 0
    for part in parts:
        body = " ".join(part)
        chunks.append({"body": body, "start": position, "end": position + len(body)})
        position += len(body) + 1
    return {"key": key, "chunks": chunks, **members}


def near(store: Store, tenant: str, key: str, *principals: str) -> dict[str, tuple[str, float]]:
    found = store.near_duplicates(tenant, key, principals=principals or ["public"])
    return {item.other_key: (item.relation, item.similarity) for item in found}


def shared(part: list[str], whole: list[str]) -> float:
    """The share of the part's shingles that stand in the whole."""
    first, second = duplicates.shingles(part), duplicates.shingles(whole)
    return len(first & second) / len(first)


def changed(text: list[str], number: int, seed: int) -> list[str]:
    chosen, out = random.Random(seed), list(text)
    for position in chosen.sample(range(0, len(text), 7), number):
        out[position] = f"x{chosen.randrange(10**6)}"
    return out


def test_what_is_contained_is_found_from_both_sides_with_its_share(store: Store, tenant: str) -> None:
    """Pieces of 40 to 300 words, whole or with words changed, in pages of ten to a hundred times their length, among
    pages of the same words without them. Every pair is told iff its share reaches the criterion, whichever is asked for."""
    chosen = random.Random(3)
    texts: dict[str, list[str]] = {}
    for number in range(12):
        piece = words(chosen.randint(40, 300), 100 + number)
        texts[f"piece{number}"] = piece
        page = words(chosen.choice([1500, 4000]), 200 + number)
        at = chosen.randrange(len(page))
        quoted = changed(piece, number % 4, number) if number % 2 else piece
        texts[f"page{number}"] = [*page[:at], *quoted, *page[at:]]
    for number in range(12):
        texts[f"other{number}"] = words(2500, 300 + number)
    store.put_documents(tenant, [document(key, text) for key, text in texts.items()])
    store.find_duplicates(tenant)
    criterion = 2 * 0.8 / 1.8
    wanted: dict[str, dict[str, tuple[str, float]]] = {key: {} for key in texts}
    for (a, first), (b, second) in itertools.combinations(texts.items(), 2):
        part, whole = ((a, first), (b, second)) if len(first) < len(second) else ((b, second), (a, first))
        share = shared(part[1], whole[1])
        if share >= criterion:
            wanted[part[0]][whole[0]] = ("contains", pytest.approx(share))
            wanted[whole[0]][part[0]] = ("contained", pytest.approx(share))
    assert sum(len(found) for found in wanted.values()) >= 16
    assert any(share[1] != 1.0 for found in wanted.values() for share in found.values())
    assert {key: near(store, tenant, key) for key in texts} == wanted


def test_containment_begins_where_near_duplicates_of_one_size_end(store: Store, tenant: str) -> None:
    text = words(400, 1)
    whole = [*text, *words(60, 2)]
    store.put_documents(tenant, [document("a", text), document("b", whole), document("c", [*text, *words(900, 3)])])
    store.find_duplicates(tenant)
    similarity = duplicates.jaccard(duplicates.shingles(text), duplicates.shingles(whole))
    assert similarity >= 0.8
    assert near(store, tenant, "a") == {
        "b": ("syndicated", pytest.approx(similarity)), "c": ("contains", 1.0),
    }


def test_short_texts_are_contained_in_nothing(store: Store, tenant: str) -> None:
    text = words(200, 4)
    store.put_documents(tenant, [document("a", text[20:39]), document("b", text), document("c", text[20:40])])
    store.find_duplicates(tenant)
    assert near(store, tenant, "b") == {"c": ("contained", 1.0)}


def test_anchors_are_the_same_in_the_database_and_go_with_the_text(store: Store, tenant: str, schema_dsn: str) -> None:
    text = ["grüße", "naïve", "日本", *words(60, 5)]
    store.put_documents(tenant, [document("a", text)])
    store.find_duplicates(tenant)
    tokens = get_analyzer("standard").tokenize(" ".join(text))
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        sql = (
            "SELECT array_agg(a.anchor ORDER BY a.anchor) FROM sift.signature_anchors AS a"
            " JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = %s"
        )
        assert connection.execute(sql, (tenant,)).fetchone() == (duplicates.anchors(duplicates.shingles(tokens)),)
        assert connection.execute(
            "SELECT array_agg(h.anchor) FROM (SELECT sift._anchor(s) AS anchor FROM sift._shingles(%s) AS s ORDER BY 1 LIMIT 8) AS h",
            (tokens,),
        ).fetchone() == (duplicates.anchors(duplicates.shingles(tokens)),)
        store.delete(tenant, ["a"])
        assert connection.execute(sql, (tenant,)).fetchone() == (None,)


def test_what_is_hidden_changes_nothing(store: Store, tenant: str) -> None:
    """The same answers with hidden documents around, which contain what is visible or are contained in it, and without them."""
    piece, page = words(80, 6), words(1000, 7)
    visible = [
        document("piece", piece), document("page", [*page, *piece]), document("copy", piece), document("other", words(500, 8)),
    ]
    hidden = [
        document(f"secret{number}", [*words(700, 20 + number), *piece, *words(50, 40 + number)], acl=["group:hr"])
        for number in range(12)
    ]
    hidden += [document("secret-part", page[100:190], acl=["group:hr"]), document("secret-copy", piece, acl=["group:hr"])]
    keys = ["piece", "page", "copy", "other", "secret0", "secret-copy", "absent"]

    def answers() -> Any:
        return (
            [near(store, tenant, key) for key in keys],
            store.distinct_sources(tenant, keys, principals=["public"]),
        )

    store.put_documents(tenant, visible)
    store.find_duplicates(tenant)
    alone = answers()
    assert alone[0][0] == {"copy": ("copy", 1.0), "page": ("contains", 1.0)}
    store.put_documents(tenant, hidden)
    store.find_duplicates(tenant)
    assert answers() == alone
    seen = near(store, tenant, "piece", "public", "group:hr")
    assert sum(relation == "contains" for relation, _ in seen.values()) == 13


def related(first: list[str], second: list[str], threshold: float) -> tuple[bool, float]:
    """Whether two texts count as one source, and their share, written down plainly."""
    if first == second:
        return True, 1.0
    if min(len(first), len(second)) < duplicates.MIN_TOKENS:
        return False, 0.0
    a, b = duplicates.shingles(first), duplicates.shingles(second)
    similarity = duplicates.jaccard(a, b)
    if similarity >= threshold:
        return True, similarity
    share = len(a & b) / min(len(a), len(b))
    return share >= 2 * threshold / (1 + threshold), share


@pytest.mark.parametrize("seed", range(3))
def test_distinct_sources_equal_the_rule_written_down_plainly(store: Store, tenant: str, seed: int) -> None:
    chosen = random.Random(seed)
    texts: dict[str, list[str]] = {}
    for number in range(40):
        kind = chosen.random()
        source = chosen.choice(list(texts.values())) if texts else []
        if texts and kind < 0.15:
            text = list(source)
        elif texts and kind < 0.4:
            text = changed(source, min(2, len(source) // 7), chosen.randrange(10**6))
        elif texts and kind < 0.6:
            text = [*words(chosen.randint(30, 400), chosen.randrange(10**6)), *source]
        else:
            text = words(chosen.randint(15, 150), chosen.randrange(10**6))
        texts[f"k{number}"] = text
    store.put_documents(tenant, [document(key, text) for key, text in texts.items()])
    with psycopg.connect(store._dsn or "") as connection:
        ids = dict(connection.execute(
            "SELECT d.key, d.document_id FROM sift.documents AS d JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = %s", (tenant,)
        ).fetchall())
    keys = [*texts, "absent", "k0"]
    chosen.shuffle(keys)
    order = list(dict.fromkeys(key for key in keys if key in texts))
    by_size = sorted(order, key=lambda key: (-len(duplicates.shingles(texts[key])), ids[key]))
    leader: dict[str, tuple[str, float]] = {}
    for position, whole in enumerate(by_size):
        if whole in leader:
            continue
        for part in by_size[position + 1 :]:
            if part not in leader:
                found, share = related(texts[whole], texts[part], 0.8)
                if found:
                    leader[part] = (whole, share)
    numbers: dict[str, int] = {}
    for key in order:
        numbers.setdefault(leader.get(key, (key, 0.0))[0], len(numbers) + 1)
    wanted = [
        (key, numbers[leader.get(key, (key, 0.0))[0]], *leader.get(key, (None, None))) for key in order
    ]
    got = store.distinct_sources(tenant, keys, principals=["public"])
    assert [(item.key, item.source, item.counts_with, item.similarity) for item in got] == [
        (key, number, whole, share if share is None else pytest.approx(share)) for key, number, whole, share in wanted
    ]
    assert len(numbers) < len(order) - 5
    assert all((item.relation is None) == (item.counts_with is None) for item in got)
    # Whatever the order, the same groups.
    again = store.distinct_sources(tenant, sorted(keys), principals=["public"])
    assert {item.key: item.counts_with for item in again} == {item.key: item.counts_with for item in got}


def test_ten_copies_are_not_ten_witnesses(store: Store, tenant: str) -> None:
    """With a search, and without a run that looked for near-duplicates."""
    text = ["turbine", *words(60, 9)]
    copies = [document(f"copy{number}", [*text, f"site{number}"]) for number in range(9)]
    page = document("page", [*words(400, 10), *text], 600)
    store.put_documents(tenant, [*copies, page, document("other", ["turbine", *words(70, 11)])])
    result = store.search(tenant, "turbine", k=20, principals=["public"], mode="lexical", sources=True)
    assert len(result) == 11
    assert result.distinct_sources == 2
    assert result.sources is not None
    assert {item.key: item.counts_with for item in result.sources} == {
        **{f"copy{number}": "page" for number in range(9)}, "page": None, "other": None,
    }
    assert result.to_dict()["distinct_sources"] == 2
    plain = store.search(tenant, "turbine", k=20, principals=["public"], mode="lexical")
    assert (plain.sources, plain.distinct_sources) == (None, None)
    assert plain.hits == result.hits
    assert "sources" not in plain.to_dict()
    none = store.search(tenant, "turbine", principals=["nobody"], mode="lexical", sources=True)
    assert none.distinct_sources == 0


def test_what_is_refused(store: Store, tenant: str) -> None:
    assert store.distinct_sources(tenant, [], principals=["public"]) == []
    with pytest.raises(InvalidArgument, match="at most 1000"):
        store.distinct_sources(tenant, [f"k{number}" for number in range(1001)], principals=["public"])
    with pytest.raises(InvalidArgument, match="as_of"):
        store.search(tenant, "turbine", principals=["public"], as_of="2024-01-01", sources=True)
