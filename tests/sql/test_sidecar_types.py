"""Types of sidecar bibliographies are those that sift.cite makes of metadata."""

from __future__ import annotations

import psycopg

from pgsift.ingest.bibliography import TYPES


def test_types_are_those_of_citations(conn: psycopg.Connection) -> None:
    rows = conn.execute(
        "SELECT t.kind, sift._csl('k', NULL, NULL, NULL, jsonb_build_object('type', t.kind)) ->> 'type' "
        "FROM unnest(%s::text[]) AS t (kind)",
        (list(TYPES),),
    ).fetchall()
    # What the database does not know by name is a document there.
    assert {kind: found for kind, found in rows if found not in ("document", TYPES[kind])} == {}
    assert dict(rows)["inproceedings"] == "paper-conference"
