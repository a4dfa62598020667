"""Near-duplicates: pairs, relations, clusters, increments, deletion, collapse in search, and what hidden documents change: nothing."""

from __future__ import annotations

import itertools
import json
import random
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from pgsift import Store, duplicates
from pgsift.domain.analyzer import get_analyzer

pytest.importorskip("datasketch")

Doc = dict[str, Any]


@pytest.fixture
def store(schema_dsn: str) -> Iterator[Store]:
    with Store(schema_dsn) as opened:
        yield opened


@pytest.fixture
def tenant(store: Store) -> Iterator[str]:
    name = f"dup_{uuid.uuid4().hex[:12]}"
    store.create_tenant(name, analyzer="standard", default_principals=["public"])
    try:
        yield name
    finally:
        store.drop_tenant(name)


def words(number: int, seed: int) -> list[str]:
    chosen = random.Random(seed)
    return [f"w{chosen.randrange(10**6)}" for _ in range(number)]


def changed(text: list[str], number: int, seed: int) -> list[str]:
    """Some words replaced, far from each other."""
    chosen, out = random.Random(seed), list(text)
    for position in chosen.sample(range(0, len(text), 7), number):
        out[position] = f"x{chosen.randrange(10**6)}"
    return out


def document(key: str, text: list[str], **members: Any) -> Doc:
    return {"key": key, "text": " ".join(text), **members}


def clusters(store: Store, tenant: str) -> dict[str, list[tuple[str, str | None, float]]]:
    found: dict[int, list[Any]] = {}
    for member in store.clusters(tenant, k=10_000):
        found.setdefault(member.cluster_id, []).append(member)
    return {
        members[0].key: sorted((m.key, m.relation, m.similarity) for m in members if not m.representative)
        for members in found.values()
    }


def near(store: Store, tenant: str, key: str, *principals: str) -> dict[str, tuple[str, float]]:
    found = store.near_duplicates(tenant, key, principals=principals or ["public"])
    return {item.other_key: (item.relation, item.similarity) for item in found}


def test_pairs_have_their_known_similarity(store: Store, tenant: str) -> None:
    text = words(60, 1)
    store.put_documents(tenant, [
        document("a", text), document("b", [*text[:30], "other", *text[31:]]), document("c", [*text, "more"]),
        document("d", words(60, 2)), document("e", text),
    ])
    report = store.find_duplicates(tenant)
    # 51 of 61 shingles, 56 of 57, and between the changed two 51 of 62.
    assert {k: v[1] for k, v in near(store, tenant, "a").items()} == {"e": 1.0, "c": 56 / 57, "b": 51 / 61}
    assert {k: v[1] for k, v in near(store, tenant, "b").items()} == {"a": 51 / 61, "e": 51 / 61, "c": 51 / 62}
    assert near(store, tenant, "d") == near(store, tenant, "nothing") == {}
    assert (report.documents, report.signed, report.clusters, report.copies) == (5, 5, 1, 1)


def test_relations(store: Store, tenant: str) -> None:
    text = words(80, 3)
    other, third, fourth = ([*text[:position], "x", *text[position + 1 :]] for position in (20, 40, 60))
    at = "2024-01-0{}T00:00:00Z"
    store.put_documents(tenant, [
        document("wire/1", text, title="Pumps fail", source_uri="https://wire.example/2024/01/pumps.html", observed_at=at.format(1)),
        document("wire/2", other, title="Pumps fail", source_uri="https://wire.example/2024/02/pumps.html", observed_at=at.format(2)),
        document("wire/3", fourth, title="Pumps fail", source_uri="https://WIRE.example/other", observed_at=at.format(3)),
        document("daily/1", third, title="Pumps fail", source_uri="https://daily.example/2024/01/pumps.html", observed_at=at.format(4)),
        document("mirror", text, title="Another title", source_uri="https://mirror.example/", observed_at=at.format(5)),
    ])
    store.find_duplicates(tenant, threshold=0.75)
    assert {key: relation for key, (relation, _) in near(store, tenant, "wire/1").items()} == {
        "wire/2": "revision", "wire/3": "revision", "daily/1": "syndicated", "mirror": "copy",
    }
    assert {k: r for k, r, _ in clusters(store, tenant)["wire/1"]} == {
        "wire/2": "revision", "wire/3": "revision", "daily/1": "syndicated", "mirror": "copy",
    }


@pytest.mark.parametrize(("first", "second", "title", "expected"), [
    ("lease-v1.txt", "lease-v2.txt", None, "revision"),
    ("lease.txt", "lease (2).txt", None, "revision"),
    ("lease 2024-05-01.txt", "lease_20240601.txt", None, "revision"),
    ("lease.txt", "rent.txt", None, "syndicated"),
    ("a/lease.txt", "a/rent.txt", "Lease of 2024", "revision"),
    ("a/lease.txt", "b/rent.txt", "Lease of 2024", "syndicated"),
])
def test_relations_by_key_where_no_source_is_told(conn: psycopg.Connection, first: str, second: str, title: str | None, expected: str) -> None:
    for a, b in ((first, second), (second, first)):
        assert conn.execute(
            "SELECT sift._relation(false, %s, NULL, %s::text, %s, NULL, %s::text)", (a, title, b, title)
        ).fetchone() == (expected,)


def test_the_title_is_no_part_of_the_text(store: Store, tenant: str) -> None:
    text = words(12, 4)
    store.put_documents(tenant, [document("a", text, title="One title"), document("b", text, title="Quite another"), document("c", text)])
    store.find_duplicates(tenant)
    assert near(store, tenant, "a") == {"b": ("copy", 1.0), "c": ("copy", 1.0)}


def test_short_texts_are_copies_or_nothing_and_empty_ones_nothing(store: Store, tenant: str) -> None:
    text = words(19, 5)
    store.put_documents(tenant, [
        document("a", text), document("b", text), document("c", [*text[:-1], "x"]), document("e", ["..."]), document("f", ["..."]),
        {"key": "g", "text": ""}, {"key": "h", "text": ""},
    ])
    report = store.find_duplicates(tenant)
    assert clusters(store, tenant) == {"a": [("b", "copy", 1.0)]}
    assert report.compared == 0
    assert store.find_duplicates(tenant).signed == 0


def corpus(seed: int, size: int) -> list[Doc]:
    """Documents with planted families: copies, near copies below and above the threshold, chains, in any order of time."""
    chosen = random.Random(seed)
    out: list[Doc] = []
    texts: list[list[str]] = []
    for number in range(size):
        kind = chosen.random()
        if texts and kind < 0.15:
            text = chosen.choice(texts)
        elif texts and kind < 0.5:
            source = chosen.choice(texts)
            text = changed(source, chosen.randint(1, 3), chosen.randrange(10**6))
        else:
            text = words(chosen.randint(21, 90), chosen.randrange(10**6))
        texts.append(text)
        out.append(document(f"k{number}/{chosen.choice('ab')}", text, observed_at=f"2024-01-{chosen.randint(1, 28):02}T00:00:00Z"))
    return out


def expected(documents: list[tuple[int, str, Doc]], threshold: float) -> dict[str, dict[str, float]]:
    """The rule, written down plainly: every pair is counted, then documents are taken in the order of time."""
    analyzer = get_analyzer("standard")
    tokens = {key: analyzer.tokenize(document["text"]) for _, key, document in documents}
    sets = {key: duplicates.shingles(value) for key, value in tokens.items()}

    def similarity(a: str, b: str) -> float:
        if tokens[a] == tokens[b]:
            return 1.0
        if min(len(tokens[a]), len(tokens[b])) < duplicates.MIN_TOKENS:
            return 0.0
        return duplicates.jaccard(sets[a], sets[b])

    order = [key for _, key, _ in sorted(documents, key=lambda item: (item[2]["observed_at"], item[0]))]
    found: dict[str, dict[str, float]] = {}
    taken: set[str] = set()
    for position, key in enumerate(order):
        if key in taken:
            continue
        members = {other: similarity(key, other) for other in order[position + 1 :] if other not in taken}
        members = {other: value for other, value in members.items() if value >= threshold}
        taken |= members.keys()
        if members:
            found[key] = members
    return found


def stored(store: Store, tenant: str, documents: list[Doc]) -> list[tuple[int, str, Doc]]:
    with psycopg.connect(store._dsn or "") as connection:
        ids = dict(connection.execute(
            "SELECT d.key, d.document_id FROM sift.documents AS d JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = %s", (tenant,)
        ).fetchall())
    return [(ids[document["key"]], document["key"], document) for document in documents if document["key"] in ids]


def similarities(store: Store, tenant: str) -> dict[str, dict[str, float]]:
    return {key: {other: value for other, _, value in members} for key, members in clusters(store, tenant).items()}


@pytest.mark.parametrize("seed", range(4))
def test_clusters_equal_the_rule_written_down_plainly(store: Store, tenant: str, seed: int) -> None:
    documents = corpus(seed, 120)
    store.put_documents(tenant, documents)
    store.find_duplicates(tenant, threshold=0.7)
    wanted = expected(stored(store, tenant, documents), 0.7)
    assert len(wanted) > 5
    assert similarities(store, tenant) == wanted


@pytest.mark.parametrize("seed", range(3))
def test_many_small_runs_give_what_one_run_gives(store: Store, tenant: str, seed: int) -> None:
    """Documents come, change, change their date and go between the runs."""
    chosen = random.Random(seed)
    documents = {document["key"]: document for document in corpus(100 + seed, 90)}
    waiting, there = list(documents.values()), []
    chosen.shuffle(waiting)
    while waiting:
        batch, waiting = waiting[:15], waiting[15:]
        store.put_documents(tenant, batch)
        there += batch
        for gone in chosen.sample(there, 4):
            store.delete(tenant, [gone["key"]])
            there.remove(gone)
        for touched in chosen.sample(there, 4):
            if chosen.random() < 0.5:
                touched["text"] = chosen.choice(there)["text"]
            else:
                touched["observed_at"] = f"2024-02-{chosen.randint(1, 28):02}T00:00:00Z"
                touched["source_version"] = str(chosen.random())
        store.put_documents(tenant, there)
        store.find_duplicates(tenant, threshold=0.7)
        assert similarities(store, tenant) == expected(stored(store, tenant, there), 0.7)
    incremental = clusters(store, tenant)
    pairs = {document["key"]: near(store, tenant, document["key"]) for document in there}
    # All over again: another threshold, and back.
    assert store.find_duplicates(tenant, threshold=0.9).signed == len(there)
    assert similarities(store, tenant) == expected(stored(store, tenant, there), 0.9)
    assert store.find_duplicates(tenant, threshold=0.7).signed == len(there)
    assert clusters(store, tenant) == incremental
    assert {document["key"]: near(store, tenant, document["key"]) for document in there} == pairs


def crowd(seed: int, size: int, families: int = 2) -> list[Doc]:
    """Forms: texts that all resemble the others of their family, in any order of time."""
    chosen = random.Random(seed)
    bases = [words(150, chosen.randrange(10**6)) for _ in range(families)]
    return [
        document(
            f"k{number}/{chosen.choice('ab')}", changed(chosen.choice(bases), 1, chosen.randrange(10**6)),
            observed_at=f"2024-01-{chosen.randint(1, 28):02}T00:00:00Z",
        )
        for number in range(size)
    ]


@pytest.mark.parametrize("seed", range(2))
def test_of_texts_that_all_resemble_each_other_few_pairs_are_compared_and_the_result_is_the_same(
    store: Store, tenant: str, schema_dsn: str, seed: int
) -> None:
    """More documents share a band than are compared with each other. They come in small runs and in the wrong order of time, and go
    until few are left; each time clusters and pairs are those of the rule."""
    documents = crowd(seed, 160)
    documents.sort(key=lambda item: item["observed_at"], reverse=True)
    there: list[Doc] = []
    compared = 0
    for start in range(0, len(documents), 40):
        store.put_documents(tenant, documents[start : start + 40])
        there += documents[start : start + 40]
        compared += store.find_duplicates(tenant).compared
        assert similarities(store, tenant) == expected(stored(store, tenant, there), 0.8)
    sizes = [1 + len(members) for members in similarities(store, tenant).values()]
    assert sum(sizes) == 160 and len(sizes) == 2
    for item in random.Random(seed).sample(there, 5):
        assert len(near(store, tenant, item["key"])) + 1 in sizes
    with psycopg.connect(schema_dsn) as connection:
        rows = connection.execute(
            "SELECT count(*) FROM sift.similar_texts AS x JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = %s", (tenant,)
        ).fetchone()[0]  # type: ignore[index]
    assert 160 * 32 < rows < sum(size * (size - 1) for size in sizes)
    # The representatives and those all were compared with go first.
    for start in range(0, 120, 40):
        store.delete(tenant, [item["key"] for item in documents[start : start + 40]])
        del there[:40]
        store.find_duplicates(tenant)
        assert similarities(store, tenant) == expected(stored(store, tenant, there), 0.8)
        for item in there[:3]:
            assert len(near(store, tenant, item["key"])) in {len(members) for members in similarities(store, tenant).values()}


def test_planted_near_copies_are_found(store: Store, tenant: str) -> None:
    """Recall and precision on pairs whose truth was planted."""
    documents, truth = [], set()
    for number in range(150):
        text = words(55, 10_000 + number)
        documents.append(document(f"{number}", text))
        if number % 3 == 0:
            documents.append(document(f"{number}n", [*text[:20], "planted", *text[21:]]))  # 46 of 56 shingles: 0.82
            truth.add(frozenset((f"{number}", f"{number}n")))
        if number % 5 == 0:
            documents.append(document(f"{number}f", changed(text, 4, number)))  # about 35 of 67: 0.5, no near copy
    store.put_documents(tenant, documents)
    store.find_duplicates(tenant)
    found = {frozenset((doc["key"], other)) for doc in documents for other in near(store, tenant, doc["key"])}
    assert found - truth == set()
    # Each of the 50 pairs is missed with a probability below 0.2 %.
    assert len(found & truth) >= len(truth) - 1


def rows(connection: psycopg.Connection, tenant: str) -> dict[str, int]:
    tables = ("document_signatures", "signature_bands", "document_clusters", "similar_texts", "signature_settings")
    return {
        table: connection.execute(
            f"SELECT count(*) FROM sift.{table} AS x JOIN sift.tenants AS t USING (tenant_id) WHERE t.name = %s", (tenant,)  # type: ignore[arg-type]
        ).fetchone()[0]  # type: ignore[index]
        for table in tables
    }


def test_deletion_and_replacement_leave_nothing_of_the_text(store: Store, tenant: str, schema_dsn: str) -> None:
    text = words(60, 7)
    store.put_documents(tenant, [document("a", text), document("b", text), document("c", words(60, 8))])
    made_by = store.find_duplicates(tenant)
    assert made_by.clusters == 1
    bands = duplicates.banding(0.8)[0]
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        assert rows(connection, tenant) == {
            "document_signatures": 3, "signature_bands": 3 * bands, "document_clusters": 2, "similar_texts": 0, "signature_settings": 1,
        }
        store.delete(tenant, ["a"])
        store.put_documents(tenant, [document("b", words(60, 9))])
        assert rows(connection, tenant)["document_signatures"] == 1
        assert rows(connection, tenant)["signature_bands"] == bands
        assert rows(connection, tenant)["document_clusters"] == 0
        assert near(store, tenant, "b") == {}
        assert store.find_duplicates(tenant).signed == 1
        store.drop_tenant(tenant)
        for table in ("document_signatures", "signature_bands", "document_clusters", "similar_texts", "signature_settings"):
            assert connection.execute(
                f"SELECT count(*) FROM sift.{table} AS x WHERE NOT EXISTS (SELECT FROM sift.tenants AS t WHERE t.tenant_id = x.tenant_id)"  # type: ignore[arg-type]
            ).fetchone() == (0,)


def test_what_is_outdated_is_not_stored(store: Store, tenant: str, schema_dsn: str) -> None:
    """A document that was replaced or deleted between reading and storing its signature."""
    store.put_documents(tenant, [document("a", words(30, 1)), document("b", words(30, 2)), document("c", words(30, 3))])
    made_by = duplicates.scheme(0.8)
    with psycopg.connect(schema_dsn, autocommit=True) as connection:
        connection.execute("SELECT sift.start_signatures(%s, 0.8, %s)", (tenant, made_by.name))
        read = connection.execute("SELECT * FROM sift.documents_without_signature(%s)", (tenant,)).fetchall()
        store.put_documents(tenant, [document("a", words(30, 4))])
        store.delete(tenant, ["b"])
        signed = json.dumps(duplicates.signatures([(d, v, t.split(" ")) for d, v, t in read], made_by))
        stored = connection.execute("SELECT * FROM sift.put_signatures(%s, %s, %s)", (tenant, made_by.name, signed)).fetchone()
        assert stored == (1, 0, 0)
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("SELECT sift.put_signatures(%s, 'another', %s)", (tenant, signed))
        assert caught.value.sqlstate == "PS011"
        for bad in ('{}', '[1]', '[{"document_id": 1, "version": 1}]'):
            with pytest.raises(psycopg.Error) as caught:
                connection.execute("SELECT sift.put_signatures(%s, %s, %s)", (tenant, made_by.name, bad))
            assert caught.value.sqlstate == "PS002"
    assert store.find_duplicates(tenant).signed == 1


def test_writers_and_runs_at_once_end_in_the_right_state(store: Store, tenant: str, schema_dsn: str) -> None:
    """Two runs look for near-duplicates while two writers replace and delete: nobody deadlocks, nothing is missed in the end."""
    documents = corpus(900, 80)
    store.put_documents(tenant, documents)
    stop, failures = threading.Event(), []

    def work(action: Any) -> None:
        try:
            with Store(schema_dsn) as own:
                while not stop.is_set():
                    action(own)
        except Exception as error:
            failures.append(error)
            stop.set()

    def write(seed: int) -> Any:
        chosen = random.Random(seed)

        def action(own: Store) -> None:
            some = chosen.sample(documents, 12)
            own.delete(tenant, [item["key"] for item in some[:6]])
            own.put_documents(tenant, [{**item, "text": chosen.choice(documents)["text"]} for item in some])

        return action

    actions = [lambda own: own.find_duplicates(tenant, threshold=0.7)] * 2 + [write(1), write(2)]
    threads = [threading.Thread(target=work, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    stop.wait(4)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    store.put_documents(tenant, documents)
    store.find_duplicates(tenant, threshold=0.7)
    assert similarities(store, tenant) == expected(stored(store, tenant, documents), 0.7)


# Search


def keys(store: Store, tenant: str, query: str, *principals: str, **options: Any) -> list[tuple[str, int]]:
    found = store.search(tenant, query, principals=principals or ["public"], mode="lexical", collapse_clusters=True, **options)
    return [(hit.key, hit.duplicates) for hit in found]


def test_search_shows_one_of_a_cluster_and_fills_the_page(store: Store, tenant: str) -> None:
    documents = []
    for family in range(6):
        text = words(59, family)
        documents += [document(f"{family}/{number}", ["pump", *(changed(text, 1, number) if number else text)]) for number in range(4)]
    for single in range(3):
        documents.append(document(f"single/{single}", ["pump", *words(59, 50 + single)]))
    store.put_documents(tenant, documents)
    store.find_duplicates(tenant, threshold=0.6)
    hits = keys(store, tenant, "pump", k=20)
    assert sorted(key.split("/")[0] for key, _ in hits) == ["0", "1", "2", "3", "4", "5", "single", "single", "single"]
    assert {duplicates for key, duplicates in hits if not key.startswith("single")} == {3}
    assert {duplicates for key, duplicates in hits if key.startswith("single")} == {0}
    for k in range(1, 10):
        assert len(keys(store, tenant, "pump", k=k)) == min(k, 9)
    assert len(store.search(tenant, "pump", principals=["public"], mode="lexical", k=50)) == 27


def test_of_one_document_several_chunks_stay(store: Store, tenant: str) -> None:
    parts = [["pump", *words(40, number)] for number in range(3)]
    both = [{"key": key, "chunks": [{"body": " ".join(part)} for part in parts[:number]]} for key, number in (("a", 3), ("b", 3))]
    both[1]["chunks"][2]["body"] += " more"  # type: ignore[index]
    store.put_documents(tenant, both)
    store.find_duplicates(tenant)
    assert [key for key, _ in keys(store, tenant, "pump", collapse=False)] == ["a", "a", "a"]
    assert keys(store, tenant, "pump", collapse=False, per_document=1) == [("a", 3)]


def test_what_gives_way_resembles_what_is_shown(store: Store, tenant: str) -> None:
    """In a chain the middle gives way to the first; the last resembles only the middle, and stays."""
    first = words(80, 11)
    middle = [*first[:20], "m", *first[21:]]
    last = [*middle[:60], "l", *middle[61:]]
    store.put_documents(tenant, [
        document("a", ["pump", "pump", "pump", *first]), document("b", ["pump", "pump", *middle]), document("c", ["pump", *last])])
    store.find_duplicates(tenant, threshold=0.8)
    # Nine tenths of the shorter one's runs stand in the other: no near-duplicate at this threshold, but nearly contained.
    found = near(store, tenant, "a")
    assert (found["b"][0], found["c"][0], len(found)) == ("syndicated", "contained", 2)
    assert near(store, tenant, "c")["b"][0] == "syndicated"
    assert keys(store, tenant, "pump") == [("a", 1), ("c", 0)]


def test_the_past_knows_no_near_duplicates(store: Store, tenant: str) -> None:
    store.put_documents(tenant, [document("a", words(30, 1))])
    from pgsift.errors import InvalidArgument

    with pytest.raises(InvalidArgument, match="collapse_clusters"):
        store.search(tenant, "w1", principals=["public"], mode="lexical", collapse_clusters=True, as_of="2999-01-01")


@pytest.mark.parametrize("seed", [0, 1, 4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 5))])
def test_hidden_documents_change_nothing(store: Store, seed: int) -> None:
    """Two tenants, one with hidden documents among the others, of which many are near-duplicates of visible ones and tie them
    together: near_duplicates, and which documents search shows and what they stand for, are the same."""
    chosen = random.Random(seed)
    # In the last two so many share a band that not every pair is compared beforehand.
    documents = corpus(300 + seed, 70) if seed < 4 else crowd(300 + seed, 240, families=3)
    for number, item in enumerate(documents):
        # The last ones rank first: nothing was compared with these but what came first.
        item["text"] = "pump " * (1 + (number >= 150)) + item["text"]
        item["acl"] = ["group:hidden"] if chosen.random() < 0.5 else ["public"]
    visible = [item for item in documents if item["acl"] == ["public"]]
    names = [f"dup_{uuid.uuid4().hex[:12]}" for _ in range(2)]
    try:
        for name, content in zip(names, (documents, visible), strict=True):
            store.create_tenant(name, analyzer="standard")
            step = 1 if seed < 4 else 30
            for start in range(0, len(content), step):
                store.put_documents(name, content[start : start + step])
            store.find_duplicates(name, threshold=0.7)
        full, part = names
        tied = 0
        for item in documents:
            seen = near(store, full, item["key"])
            assert seen == near(store, part, item["key"])
            tied += len(near(store, full, item["key"], "sift:writer")) > len(seen) > 0
        assert tied
        for k, per_document in itertools.product((3, 10, 100), (None, 1)):
            # Scores are of all documents of the tenant, and differ; the order of equal term frequencies and lengths does not.
            answers = [
                keys(store, name, "pump", k=k, per_document=per_document, collapse=False) for name in (full, part)
            ]
            assert answers[0] == answers[1]
            assert len(answers[0]) > 2
    finally:
        for name in names:
            store.drop_tenant(name)


def test_only_writers_see_clusters(role_dsn: Any) -> None:
    for role in ("sift_reader", "sift_app"):
        with psycopg.connect(role_dsn(role), autocommit=True) as connection:
            for call in (
                "list_clusters('x')", "cluster_documents('x')", "documents_without_signature('x')", "start_signatures('x', 0.8, 'y')",
                "put_signatures('x', 'y', '[]')",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(f"SELECT * FROM sift.{call}")  # type: ignore[arg-type]
