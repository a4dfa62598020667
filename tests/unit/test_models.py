from __future__ import annotations

import dataclasses
import datetime
import inspect
import json
from typing import Any

import pytest

from pgsift import models
from pgsift.models import Hit, IngestReport, Record, SearchResult


def hit(rank: int = 1, **changes: Any) -> Hit:
    values: dict[str, Any] = dict(
        rank=rank,
        score=0.5,
        lexical_rank=1,
        lexical_score=2.0,
        dense_rank=None,
        distance=None,
        chunk_id=7,
        document_id=3,
        key="a",
        title=None,
        kind="text",
        section=None,
        page=None,
        char_start=0,
        char_end=4,
        document_version=1,
        body="text",
        metadata={"year": 2024},
        duplicates=0,
        legs="lexical",
        dense_path=None,
    )
    return Hit(**values | changes)


def test_a_result_is_a_sequence_of_hits() -> None:
    first, second = hit(1), hit(2, legs="lexical")
    result = SearchResult([first, second], query="q", warnings=["w"])
    assert len(result) == 2
    assert result[0] is first
    assert result[-1] is second
    assert result[1:] == (second,)
    assert list(result) == [first, second]
    assert first in result
    assert (result.legs, result.dense_path, result.warnings) == ("lexical", None, ("w",))
    assert result == SearchResult([hit(1), hit(2)], query="q", warnings=["w"])
    assert result != SearchResult([hit(1)], query="q")
    assert result != [first, second]


def test_an_empty_result() -> None:
    result = SearchResult([])
    assert not result
    assert result.legs is None
    assert json.loads(json.dumps(result.to_dict()))["hits"] == []


RECORDS = [
    value
    for _, value in inspect.getmembers(models, inspect.isclass)
    if issubclass(value, Record) and value is not Record and value.__module__ == models.__name__
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_records_are_frozen_and_slotted(record: type[Record]) -> None:
    assert dataclasses.is_dataclass(record)
    assert all("__slots__" in vars(cls) for cls in record.__mro__[:-1])
    assert record.__doc__
    # A field of several is an empty one; of anything else, nothing.
    required = {
        item.name: () if str(item.type).startswith("Sequence") else None
        for item in dataclasses.fields(record)
        if item.default is dataclasses.MISSING
    }
    made = record(**required)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, dataclasses.fields(record)[0].name, 1)
    assert json.dumps(made.to_dict())


def test_to_dict_is_ready_for_json() -> None:
    moment = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
    letter = models.DeadLetter(1, None, "k", None, "read", "why", 1, moment, moment, None, None)
    assert letter.to_dict()["created_at"] == "2024-02-29T12:00:00+00:00"
    report = IngestReport(
        "t", 1, created=2, unchanged=1, failures=(models.Failure("k", None, "read", "why"),)
    )
    assert report.documents == 3
    assert report.to_dict()["failures"] == [
        {"key": "k", "source_uri": None, "stage": "read", "reason": "why", "origin": None}
    ]
    assert json.loads(json.dumps(hit().to_dict()))["metadata"] == {"year": 2024}
