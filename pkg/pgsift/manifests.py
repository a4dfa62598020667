"""Two manifests compared without a database: files, perhaps of two stores.

The database compares its own by ``sift.compare_manifests``; the same pairs give the same changes here.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pgsift.models import ManifestChange

_EACH = 1000


def compare(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[ManifestChange]:
    """What changed from one manifest to another; each a mapping with ``summary`` and ``documents``, as
    ``pgsift manifest show --documents --json`` prints it."""
    changes: list[ManifestChange] = []
    one, two = _settings(a["summary"]), _settings(b["summary"])
    for name in sorted(one.keys() | two.keys(), key=str.encode):
        if one.get(name) != two.get(name):
            changes.append(ManifestChange("setting", "changed", name, one.get(name), two.get(name)))

    old = {document["key"]: document for document in a["documents"]}
    new = {document["key"]: document for document in b["documents"]}
    gone = {key: old[key] for key in old.keys() - new.keys()}
    come = {key: new[key] for key in new.keys() - old.keys()}
    documents: list[ManifestChange] = []
    for before, after in _moved(gone, come):
        documents.append(
            ManifestChange("document", "moved", after["key"], _told(before, True), _told(after, True))
        )
        del gone[before["key"]], come[after["key"]]
    documents += [ManifestChange("document", "added", key, None, _told(come[key])) for key in come]
    documents += [ManifestChange("document", "removed", key, _told(gone[key]), None) for key in gone]
    for key in old.keys() & new.keys():
        before, after = old[key], new[key]
        if before["content_hash"] != after["content_hash"]:
            documents.append(ManifestChange("document", "changed", key, _told(before), _told(after)))
        elif before["access_hash"] != after["access_hash"]:
            documents.append(ManifestChange("document", "access", key, _told(before), _told(after)))
    documents.sort(key=lambda change: (change.change, change.name.encode()))
    return changes + documents


def _settings(summary: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **summary["settings"],
        "schema": summary["schema"],
        **{f"model {name}": value for name, value in summary["models"].items()},
    }


def _moved(
    gone: Mapping[str, Mapping[str, Any]], come: Mapping[str, Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Pairs of the same document under another key, or of the one content of its hash."""
    by_id = {d["document_id"]: d for d in gone.values() if d["document_id"] is not None}
    pairs = [(by_id[d["document_id"]], d) for d in come.values() if d["document_id"] in by_id]
    taken = {key for before, after in pairs for key in (before["key"], after["key"])}
    hashes_gone = Counter(d["content_hash"] for d in gone.values())
    hashes_come = Counter(d["content_hash"] for d in come.values())
    by_hash = {
        d["content_hash"]: d
        for d in gone.values()
        if d["key"] not in taken and d["content_hash"] is not None and hashes_gone[d["content_hash"]] == 1
    }
    for after in come.values():
        digest = after["content_hash"]
        if after["key"] not in taken and digest in by_hash and hashes_come[digest] == 1:
            pairs.append((by_hash[digest], after))
    return pairs


def _told(document: Mapping[str, Any], with_key: bool = False) -> dict[str, Any]:
    names = ("version", "content_hash", "access_hash")
    return {name: document[name] for name in (("key", *names) if with_key else names)}


def documents_digest(documents: Iterable[Mapping[str, Any]]) -> str:
    """The digest ``documents`` of a list of documents, in hexadecimal, as the database makes it
    (``sift._manifest_summary``): so that a file can be checked."""
    outer = hashlib.sha256()
    ordered = sorted(documents, key=lambda document: str(document["key"]).encode())
    for start in range(0, len(ordered), _EACH):
        inner = hashlib.sha256()
        for document in ordered[start : start + _EACH]:
            inner.update(document["key"].encode() + b"\0" + str(document["version"]).encode() + b"\0")
            inner.update(bytes.fromhex(document["content_hash"]))
        outer.update(inner.digest())
    return outer.hexdigest()
