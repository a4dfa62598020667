"""What a synchronization needs to know of its source, without a database: what is there, by which marks a
change of it is seen, what is gone, and what was moved.

A *folder* is listed first and read afterwards, so that what is gone is known before anything is stored, and a
file that was renamed can be told from a new one. A *feed* is a file of JSON lines; beside what an ingest reads
(:mod:`pgsift.ingest.sources`) a record may have ``version`` (an integer) or ``updated_at`` (a time in ISO
8601), which order the records of one key (without, the later line counts), and ``"deleted": true``, which
takes its document out of the store. These three are no metadata; ``version`` becomes the source version where
there is no other.

A *mark* of a file is its size and time of change; files changed within the last seconds get none, since they
may change again within the resolution of the clock. That of a record is its version or time. With a watermark,
what has the mark it had when it was stored is not read.
"""

from __future__ import annotations

import datetime
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pgsift.errors import InvalidArgument, InvalidDocument, PgsiftError
from pgsift.ingest.formats.detect import SEVERAL
from pgsift.ingest.sources import (
    JSON_LINES,
    Broken,
    Found,
    Item,
    Options,
    Skipped,
    Unread,
    _uri,
    key_in,
    origin_of,
    parse_line,
    read_file,
    read_record,
    walk,
)

Kind = Literal["folder", "feed"]
#: A file changed less than this many nanoseconds ago may change again without its time changing.
FRESH = 2_000_000_000
#: Of what lies in archives, so many bytes are kept from when it is listed to when it is stored; the archives that
#: have more are read twice.
KEPT_BYTES = 64 * 1024 * 1024


def location_of(path: Path) -> str:
    """The URI of a source."""
    return _uri(path)


def kind_of(path: Path, options: Options) -> Kind:
    """Folder or feed; :class:`~pgsift.errors.InvalidArgument` for other files."""
    if path.is_dir():
        return "folder"
    if path.suffix.lower() in JSON_LINES or options.format == "jsonl":
        return "feed"
    raise InvalidArgument(
        f"{path.name!r} is neither a folder nor a file of JSON lines",
        hint="Other files are ingested: pgsift ingest. A feed without the extension .jsonl needs --format jsonl.",
    )


@dataclass(slots=True)
class Listing:
    """What a source holds. ``keys`` are those of its documents; ``unsure`` are prefixes of keys under which
    something may be that could not be read; ``deleted`` are keys that the source says are deleted, with the
    marks of the records that say so; ``entries`` counts everything."""

    kind: Kind
    keys: set[str] = field(default_factory=set)
    unsure: list[str] = field(default_factory=list)
    deleted: dict[str, str | None] = field(default_factory=dict)
    entries: int = 0
    watermark: str | None = None
    skipped: list[Skipped] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    #: Of a folder: its files, their keys and marks. Of a feed: numbers of the lines that count, and their marks.
    files: list[tuple[Path, str, str | None]] = field(default_factory=list)
    lines: dict[int, str | None] = field(default_factory=dict)
    #: What lies in archives, read as they were listed.
    kept: dict[Path, list[Item | Broken]] = field(default_factory=dict)

    def is_unsure(self, key: str) -> bool:
        """Whether the document of a key that was not met may be there."""
        return any(key.startswith(prefix) for prefix in self.unsure)


def list_source(path: Path, options: Options) -> Listing:
    """List a source; files of JSON lines are read for their keys, others are not read."""
    if kind_of(path, options) == "feed":
        return _list_feed(path, options)
    listing = Listing("folder")
    now = time.time_ns()
    latest = 0
    room = KEPT_BYTES
    for found in walk(path, options):
        if isinstance(found, Skipped):
            listing.skipped.append(found)
            listing.entries += 1
            continue
        if isinstance(found, Broken):
            listing.broken.append(found)
            listing.entries += 1
            root = found.origin is not None and found.origin["path"] == found.origin["root"]
            listing.unsure.append(options.prefix if root else f"{found.key}/")
            continue
        key = key_in(found, path, options)
        if found.suffix.lower() in SEVERAL:
            # What lies in it is known when it is read.
            kept: list[Item | Broken] | None = []
            size = 0
            for member in read_file(found, path, options, in_folder=True):
                listing.entries += 1
                if isinstance(member, Item):
                    listing.keys.add(member.document.key)
                    size += len(member.document.text) + len(member.line or b"")
                elif member.key is not None:
                    listing.unsure.append(member.key)
                if kept is not None:
                    kept.append(member)
                    if size > room:
                        kept = None
            if kept is not None:
                listing.kept[found] = kept
                room -= size
            listing.files.append((found, key, None))
            continue
        if found.suffix.lower() in JSON_LINES or options.format == "jsonl":
            _list_lines(found, key, listing)
            listing.files.append((found, key, None))
            continue
        mark = None
        try:
            status = found.stat()
        except OSError:
            pass  # it is met again when it is read
        else:
            latest = max(latest, status.st_mtime_ns)
            if now - status.st_mtime_ns > FRESH:
                mark = f"{status.st_size}:{status.st_mtime_ns}"
        listing.entries += 1
        listing.keys.add(key)
        listing.files.append((found, key, mark))
    if latest:
        listing.watermark = datetime.datetime.fromtimestamp(latest / 1e9, datetime.UTC).isoformat()
    return listing


def _list_lines(path: Path, key: str, listing: Listing) -> None:
    """The keys in a file of JSON lines that lies in a folder."""
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines):
                if number == 0:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if not line.strip():
                    continue
                listing.entries += 1
                try:
                    listing.keys.add(f"{key}#{parse_line(line)[0]}")
                except (ValueError, RecursionError, PgsiftError):
                    listing.unsure.append(f"{key}#")
    except OSError:
        listing.entries += 1
        listing.unsure.append(f"{key}#")


Order = tuple[int, Any, int]


def _take_marks(record: dict[str, Any], number: int) -> tuple[Order, str | None, bool]:
    """The order of a record among those of its key, its mark, and whether it is a deletion; the three members
    are taken out of it."""
    version, when, deleted = (record.pop(name, None) for name in ("version", "updated_at", "deleted"))
    if deleted is not None and not isinstance(deleted, bool):
        raise InvalidDocument("deleted must be true or false", hint='Write "deleted": true.')
    if version is not None:
        if isinstance(version, float) and version.is_integer():
            version = int(version)
        if isinstance(version, bool) or not isinstance(version, int):
            raise InvalidDocument(
                "version must be an integer",
                hint="A time goes into updated_at, anything else into source_version.",
            )
        record.setdefault("source_version", str(version))
        return (2, version, number), f"version {version}", bool(deleted)
    if when is not None:
        try:
            moment = datetime.datetime.fromisoformat(when)
        except (TypeError, ValueError):
            raise InvalidDocument(
                "updated_at must be a time in ISO 8601", hint='For example "2024-05-31T16:30:00Z".'
            ) from None
        moment = moment.replace(tzinfo=moment.tzinfo or datetime.UTC).astimezone(datetime.UTC)
        return (1, moment, number), f"updated {moment.isoformat()}", bool(deleted)
    return (0, 0, number), None, bool(deleted)


def _list_feed(path: Path, options: Options) -> Listing:
    listing = Listing("feed")
    latest: dict[str, tuple[Order, str | None, bool]] = {}
    superseded = deletions = 0
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if not line.strip():
                    continue
                listing.entries += 1
                try:
                    key, record = parse_line(line)
                    found = _take_marks(record, number)
                except (ValueError, RecursionError, PgsiftError):
                    listing.unsure.append(options.prefix)
                    listing.lines[number] = None  # read again to say what is wrong with it
                    continue
                if key in latest:
                    superseded += 1
                if key not in latest or latest[key][0] < found[0]:
                    latest[key] = found
    except OSError as error:
        listing.unsure.append(options.prefix)
        listing.entries += 1
        listing.broken.append(
            Broken(
                options.prefix + path.name,
                _uri(path),
                f"the file cannot be read: {error.strerror}",
                origin=origin_of(path, path, options.prefix),
            )
        )
        return listing
    orders = []
    for key, (order, mark, deleted) in latest.items():
        orders.append(order[:2])
        if deleted:
            deletions += 1
            listing.deleted[options.prefix + key] = mark
        else:
            listing.keys.add(options.prefix + key)
            listing.lines[order[2]] = mark
    listing.skipped = [Skipped("superseded")] * superseded + [Skipped("deleted")] * deletions
    if orders:
        kind, value = max(orders)
        if kind:
            listing.watermark = str(value) if kind == 2 else value.isoformat()
    return listing


def read_listed(
    path: Path,
    options: Options,
    listing: Listing,
    marks: dict[str, str | None] | None,
    *,
    anew: bool = False,
) -> Iterator[Found]:
    """What a listing found, read. With ``marks`` those of stored documents by key: what has the mark it had,
    or a record that is older, is not read; with ``anew`` older records alone are not."""
    yield from listing.skipped
    yield from listing.broken
    if listing.kind == "feed":
        yield from _read_feed(path, options, listing, marks, is_older if anew else _is_known)
        return
    for file, key, mark in listing.files:
        if marks is not None and mark is not None and marks.get(key) == mark:
            yield Unread(key)
            continue
        kept = listing.kept.pop(file, None)
        for found in read_file(file, path, options, in_folder=True) if kept is None else kept:
            yield replace(found, mark=mark) if isinstance(found, Item) else found


def _read_feed(
    path: Path,
    options: Options,
    listing: Listing,
    marks: dict[str, str | None] | None,
    is_settled: Callable[[str | None, str | None], bool],
) -> Iterator[Found]:
    uri, origin = _uri(path), origin_of(path, path, options.prefix)
    if not listing.lines:
        return
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if number not in listing.lines:
                    continue
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                place, length = f"{options.prefix}{path.name}:{number}", len(line)
                if length > options.max_bytes:
                    yield Broken(
                        place,
                        uri,
                        options.too_large("the line"),
                        length,
                        origin=origin,
                    )
                    continue
                try:
                    key, record = parse_line(line)
                    _, mark, _ = _take_marks(record, number)
                except (ValueError, RecursionError) as error:
                    yield Broken(place, uri, f"the line is not JSON: {error}"[:300], length, origin=origin)
                    continue
                except PgsiftError as error:
                    yield Broken(place, uri, error.message, length, hint=error.hint, origin=origin)
                    continue
                if marks is not None and is_settled(mark, marks.get(options.prefix + key)):
                    yield Unread(options.prefix + key)
                    continue
                for found in read_record(key, record, place, line, length, uri, options, origin):
                    yield replace(found, mark=mark) if isinstance(found, Item) else found
    except OSError as error:
        yield Broken(
            options.prefix + path.name,
            uri,
            f"the file cannot be read: {error.strerror or error}",
            origin=origin,
        )


def _is_known(mark: str | None, stored: str | None) -> bool:
    """Whether a record is not later than what is stored."""
    return mark is not None and (mark == stored or is_older(mark, stored))


def is_older(mark: str | None, stored: str | None) -> bool:
    """Whether a record is earlier than what is stored; of marks that do not compare none is."""
    if mark is None or stored is None:
        return False
    kind, _, value = mark.partition(" ")
    before, _, known = stored.partition(" ")
    if kind != before:
        return False
    return int(value) < int(known) if kind == "version" else value < known


@dataclass(slots=True)
class SyncTarget:
    """A source as the store knows it. ``members`` are the keys, content hashes and marks of its documents
    before the run; ``gone`` are those that were not met."""

    source_id: int
    name: str
    members: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    #: New keys and old ones.
    moves: dict[str, str] = field(default_factory=dict)
    _by_hash: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def set_gone(self, keys: set[str]) -> None:
        """Note what is gone, to be found by its content."""
        self.gone = set(keys)
        for key in sorted(keys):
            self._by_hash[self.members[key][0]].append(key)

    def is_news(self, key: str, mark: str | None) -> bool:
        """Whether the store does not know this mark of a document that it has."""
        return key not in self.members or self.members[key][1] != mark

    def take_moved(self, key: str, content_hash: str) -> str | None:
        """The key under which a document of this content was and is not any more. Of several the one whose
        path ends alike for longest; ``None`` where two end equally, since either may be meant."""
        found = self._by_hash.get(content_hash)
        if not found:
            return None
        if len(found) > 1:
            scores = [_common_end(key, old) for old in found]
            best = max(scores)
            if scores.count(best) > 1:
                return None
            old = found[scores.index(best)]
        else:
            old = found[0]
        found.remove(old)
        self.gone.discard(old)
        return old


def _common_end(a: str, b: str) -> int:
    """How many parts of two paths are the same, from the end."""
    count = 0
    for one, two in zip(reversed(a.split("/")), reversed(b.split("/")), strict=False):
        if one != two:
            break
        count += 1
    return count
