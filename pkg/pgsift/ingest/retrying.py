"""What dead letters say about reading their sources again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from pgsift.ingest.formats import Limits
from pgsift.ingest.sources import Found, Options, read_file, walk
from pgsift.models import DeadLetter, IngestReport


@dataclass(slots=True)
class Task:
    """Sources to be read again with the options of one run. ``paths`` are files or folders with the root
    their keys are relative to; a ``feed`` is the whole of a synchronized file, and the only one then."""

    options: Options
    model: str | None
    chunker: str | None
    context_prefix: bool | None
    keep_source: bool
    sync: str | None
    feed: bool
    paths: list[tuple[Path, Path]] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    bibliography: Sequence[str] | None = None

    def read(self) -> Iterator[Found]:
        """The documents of the sources."""
        for path, root in self.paths:
            within = path != root
            if path.is_dir():
                for found in walk(root, self.options, path):
                    if isinstance(found, Path):
                        yield from read_file(found, root, self.options, in_folder=True)
                    else:
                        yield found
            else:
                yield from read_file(path, root if within else path.parent, self.options, in_folder=within)


def path_of(uri: str) -> Path:
    """The path of a file URI."""
    return Path(os.fsdecode(unquote_to_bytes(urlsplit(uri).path)))


def tasks(letters: Iterable[DeadLetter]) -> tuple[list[Task], list[int]]:
    """What to read again, and the numbers of letters that came from no file."""
    found: dict[str, Task] = {}
    seen: dict[str, set[tuple[Path, Path]]] = {}
    not_retried: list[int] = []
    for letter in letters:
        if letter.origin is None or letter.parameters is None:
            not_retried.append(letter.dead_letter_id)
            continue
        told: Mapping[str, Any] = letter.parameters
        place = (path_of(letter.origin["path"]), path_of(letter.origin["root"]))
        feed = told.get("sync") is not None and place[0] == place[1] and not place[0].is_dir()
        group = json.dumps([told, str(place[0]) if feed else None], sort_keys=True)
        if group not in found:
            found[group] = Task(
                Options(
                    prefix=told.get("prefix") or "",
                    format=told.get("format"),
                    acl=told.get("acl"),
                    classification=told.get("classification"),
                    language=told.get("language"),
                    limits=Limits(**(told.get("limits") or {})),
                ),
                told.get("model"),
                (told.get("chunking") or {}).get("chunker"),
                (told.get("chunking") or {}).get("context_prefix"),
                bool(told.get("keep_source")),
                told.get("sync"),
                feed,
                bibliography=told.get("bibliography"),
            )
            seen[group] = set()
        task = found[group]
        task.ids.append(letter.dead_letter_id)
        if place not in seen[group]:
            seen[group].add(place)
            task.paths.append(place)
    return list(found.values()), not_retried


def merged(reports: Sequence[IngestReport]) -> IngestReport:
    """The reports of several runs as one, with the number of the last run."""
    values: dict[str, Any] = {"tenant": reports[-1].tenant, "run_id": reports[-1].run_id}
    for item in fields(IngestReport):
        if item.name in values:
            continue
        parts = [getattr(report, item.name) for report in reports]
        if item.name == "bibliography":
            # Folders that are synchronized one after the other find the files of one bibliography each.
            values[item.name] = next((part for part in reversed(parts) if part is not None), None)
            continue
        if isinstance(parts[0], Mapping):
            total: dict[str, int] = {}
            for part in parts:
                for name, count in part.items():
                    total[name] = total.get(name, 0) + count
            values[item.name] = total
        elif isinstance(parts[0], int | float):
            values[item.name] = sum(parts)
        else:
            values[item.name] = tuple(value for part in parts for value in part)[:100]
    return IngestReport(**values)
