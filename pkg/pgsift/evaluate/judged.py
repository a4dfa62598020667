"""A judged collection of one's own: judgments of a tenant, its queries and documents, in the files that
:func:`~pgsift.evaluate.collection.load_collection` reads."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from pgsift.errors import InvalidArgument
from pgsift.models import Judgment, Record

if TYPE_CHECKING:
    from pgsift.store import Store

_PAGE = 1000


@dataclass(frozen=True, slots=True)
class JudgedCollection(Record):
    """What was written. ``judgments`` counts pairs of query and document; ``left_out`` the judgments of passages
    that are not in their documents any more."""

    folder: str
    queries: int
    judgments: int
    documents: int
    judges: int
    left_out: int


def export_judgments(
    store: Store,
    tenant: str,
    folder: str | os.PathLike[str],
    *,
    principals: Iterable[str] | None = None,
    judged_by: str | None = None,
    judged_only: bool = False,
    progress: Callable[[int], None] | None = None,
) -> JudgedCollection:
    """Write ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv`` into a new or empty folder.

    A document's grade is what a judge gave it as a whole, else the best that the judge gave to a passage of it;
    of several judges the lower median counts (``judged_by`` is one alone). The corpus is all that the principals
    may see, or with ``judged_only`` the judged documents, among which searches look better than they are.
    ``progress`` is called with the number of documents written.

    Raises :class:`~pgsift.errors.InvalidArgument` where there is no judgment, or something in the folder.
    """
    root = Path(folder)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise InvalidArgument(
            f"{str(root)!r} exists and is not an empty folder", hint="Name a folder that is not there yet."
        )
    who = None if principals is None else list(principals)
    judgments = list(_all_judgments(store, tenant, who, judged_by))
    holding = [one for one in judgments if one.place in ("document", "passage", "text")]
    if not holding:
        raise InvalidArgument(
            "there is no judgment that these principals may see",
            hint="pgsift browse and pgsift judgments add make some; list them with pgsift judgments list.",
        )
    queries, qrels = _grades(holding)
    judged = {key for grades in qrels.values() for key in grades}
    root.mkdir(parents=True, exist_ok=True)
    with (root / "corpus.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        count = 0
        for key in sorted(judged) if judged_only else _keys(store, tenant, who):
            document = store.document_at(tenant, key, principals=who)
            if document is None:
                continue  # deleted since it was listed
            row = {"id": _id(key), "title": document.title or "", "text": (document.text or "").strip()}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
            if progress is not None:
                progress(count)
    with (root / "queries.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for name, text in queries.items():
            file.write(json.dumps({"id": name, "text": text}, ensure_ascii=False) + "\n")
    with (root / "qrels.tsv").open("w", encoding="utf-8", newline="\n") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        for name, grades in qrels.items():
            for key, grade in sorted(grades.items()):
                file.write(f"{name}\t{_id(key)}\t{grade}\n")
    return JudgedCollection(
        folder=str(root),
        queries=len(queries),
        judgments=sum(map(len, qrels.values())),
        documents=count,
        judges=len({one.judged_by for one in holding}),
        left_out=len(judgments) - len(holding),
    )


def _grades(judgments: Iterable[Judgment]) -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    """Texts of the queries by their names in the order in which they were first judged, and grades by query and
    key."""
    names: dict[str, str] = {}
    texts: dict[str, str] = {}
    given: dict[tuple[str, str], dict[str, list[Judgment]]] = {}
    for one in sorted(judgments, key=lambda judgment: judgment.judgment_id):
        form = " ".join(unicodedata.normalize("NFKC", one.query).casefold().split())
        name = names.setdefault(form, f"q{len(names) + 1}")
        texts[name] = one.query
        given.setdefault((name, one.key), {}).setdefault(one.judged_by, []).append(one)
    qrels: dict[str, dict[str, int]] = {name: {} for name in texts}
    for (name, key), judges in given.items():
        each = sorted(
            max(one.grade for one in ([one for one in all_ if one.place == "document"] or all_))
            for all_ in judges.values()
        )
        qrels[name][key] = each[(len(each) - 1) // 2]
    return texts, qrels


def _all_judgments(store: Store, tenant: str, who: list[str] | None, judge: str | None) -> Iterator[Judgment]:
    below: int | None = None
    while True:
        page = store.judgments(tenant, principals=who, judged_by=judge, k=_PAGE, below=below)
        yield from page
        if len(page) < _PAGE:
            return
        below = page[-1].judgment_id


def _keys(store: Store, tenant: str, who: list[str] | None) -> Iterator[str]:
    after: str | None = None
    while True:
        page = store.documents(tenant, principals=who, k=_PAGE, after=after)
        yield from (document.key for document in page)
        if len(page) < _PAGE:
            return
        after = page[-1].key


def _id(key: str) -> str:
    """A key as the files hold it: quoted where it has white space that would be lost, and to tell those apart from
    keys that are written so."""
    plain = key == key.strip() and not any(char in key for char in "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029%")
    return key if plain else quote(key, safe="/:@")
