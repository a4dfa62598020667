"""Sources of documents: files, folders, JSON lines, standard input, and documents made by the caller.

:func:`read` turns any of them into a stream of :class:`Item`, :class:`Broken` and :class:`Skipped`, and
never stops for one bad file.

The key of a file is its path relative to the root it was found under (the folder given, or the folder of
the file given), with ``/`` on every system, after the prefix. The key of a JSON line is its ``id`` after
the prefix; of a file found in a folder it is the file's key, ``#`` and the ``id``, since several files of a
folder may count from 1. A byte of a file name that is not UTF-8 is written ``\\xNN``.

Hidden files are left alone, and so are links that lead out of the folder given, since whoever can write into
it must not be able to publish what lies elsewhere; links to files within it are followed, linked folders are
not.

A JSON line is an object with ``id`` (or ``key``, ``_id``) and ``text``, and optionally ``title``,
``metadata``, ``acl``, ``format``, ``source_uri``, ``source_version``, ``language``, ``license``,
``classification``, ``observed_at``, ``valid_from``, ``valid_to``, ``retain_until``, ``chunks`` in the
place of ``text``. Other members are taken into the metadata, except those whose name looks like a
misspelt ``acl``, lest a slip publishes a document, and vectors, which belong to chunks: they are refused.
A number that no double holds comes into the metadata as text.

A document given as a mapping has the fields of :class:`~pgsift.models.Document`; a member of another name is
refused.
"""

from __future__ import annotations

import builtins
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from pgsift.errors import InvalidArgument, InvalidDocument, PgsiftError
from pgsift.ingest.checking import FORMATS, checked_document, checked_key
from pgsift.ingest.cleaning import checked_name, clean_file_name, clean_text
from pgsift.ingest.formats import Limits, Member
from pgsift.ingest.formats.detect import SEVERAL, detect, without_bytes
from pgsift.ingest.formats.pool import pool
from pgsift.ingest.languages import normalized
from pgsift.ingest.parsers import EXTENSIONS, Parsed
from pgsift.models import Acl, Document

if TYPE_CHECKING:
    from pgsift.ingest.bibliography import Assignment

#: What :func:`read` takes: a path, ``"-"`` for standard input, a document or its mapping, or an iterable of
#: these.
Source = str | os.PathLike[str] | Document | Mapping[str, Any]

JSON_LINES = frozenset({".jsonl", ".ndjson"})
#: What standard input is called.
STDIN = "stdin"

_MEMBERS = frozenset(Document.__dataclass_fields__)
_ACCESS = re.compile(
    r"_*(acls?|acces|allow|principal|permission|visib|grant|readers?|groups?|roles?)", re.IGNORECASE
)
_VECTORS = frozenset({"embedding", "embeddings"})


@dataclass(frozen=True, slots=True)
class Item:
    """A document as read, with the number of bytes read for it and the characters cleaned from its key;
    where it can be read again, and the mark by which a change is seen (:mod:`pgsift.ingest.syncing`)."""

    document: Document
    bytes: int
    cleaned: int = 0
    origin: Mapping[str, str] | None = None
    mark: str | None = None
    #: The classification of a document that does not say its own.
    classification: str | None = None
    #: The language of a document that does not say its own, as a BCP 47 tag.
    language: str | None = None
    #: What the document was parsed into already, where it was.
    parsed: Parsed | None = None
    #: The bytes of the JSON line it was made of, without the line's end.
    line: builtins.bytes | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """A source that could not be read, for the dead letters."""

    key: str | None
    source_uri: str | None
    reason: str
    bytes: int = 0
    stage: str = "read"
    hint: str | None = None
    origin: Mapping[str, str] | None = None
    #: The key of its document, where it is known and ``key`` says where the source stands.
    document_key: str | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was left alone: ``hidden``, ``symlink`` (out of the folder), ``repeated`` (a file given before),
    ``empty``, or the extension."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A document that is taken to be unchanged by its mark."""

    key: str


#: What a stream of sources holds.
Found = Item | Broken | Skipped | Unread


@dataclass(frozen=True, slots=True)
class Options:
    """How sources are read. ``format`` and ``key`` are for standard input; ``acl``, ``classification`` and
    ``language`` are for documents that bring none."""

    prefix: str = ""
    format: str | None = None
    key: str | None = None
    acl: Acl | None = None
    classification: str | None = None
    limits: Limits = field(default_factory=Limits)
    language: str | None = None
    #: Which file has which entry of a bibliography.
    bibliography: Assignment | None = None

    @property
    def max_bytes(self) -> int:
        """The size up to which a file, standard input or a line is read."""
        return self.limits.file_bytes

    def too_large(self, what: str) -> str:
        """Why ``what`` is not read, and what to do."""
        return (
            f"{what} has more than {self.max_bytes:,} bytes. Divide it, or read it from Python with "
            "limits=Limits(file_bytes=...)."
        )

    def __post_init__(self) -> None:
        if self.language is not None:
            tag = normalized(self.language)
            if tag is None:
                raise InvalidArgument(
                    f"unknown language {self.language[:100]!r}",
                    hint="Write its BCP 47 tag, such as de, pt-BR or zh-Hans.",
                )
            object.__setattr__(self, "language", tag)
        checked_name(self.prefix, "prefix")
        if self.key is not None:
            checked_name(self.key, "key")
            if self.format == "jsonl":
                raise InvalidArgument(
                    "key names one document, and each JSON line has its own", hint="Leave key out."
                )
        known = FORMATS | {"jsonl", *SEVERAL.values()}
        if self.format is not None and self.format not in known:
            raise InvalidArgument(
                f"unknown format {self.format!r}", hint=f"Use one of {', '.join(sorted(known))}."
            )


def check(sources: Any) -> None:
    """Refuse what can be no source before anything is read: :class:`~pgsift.errors.InvalidArgument`.

    An empty path among them, which an unset variable of a shell makes, would be the current directory.
    """
    if isinstance(sources, bytes) or not isinstance(sources, str | os.PathLike | Document | Iterable):
        raise InvalidArgument(
            f"a source is a path, '-' or a Document, not {type(sources).__name__}",
            hint="See pgsift.ingest.sources.",
        )
    for source in sources if isinstance(sources, list | tuple) else [sources]:
        if isinstance(source, str | os.PathLike):
            _check_path(os.fspath(source))


def _check_path(name: str) -> None:
    if name == "-":
        return
    if not name.strip():
        raise InvalidArgument("a path is empty", hint="The current directory is written: .")
    if "\0" in name:
        raise InvalidArgument(f"the path {name!r:.200} holds a NUL character")
    if not os.path.lexists(name):
        raise InvalidArgument(
            f"there is no file or folder {clean_file_name(name)[0]!r}",
            hint="Paths are relative to the current directory.",
        )


def given_roots(sources: Source | Iterable[Source]) -> list[str]:
    """The URIs of the files and folders among the sources."""
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    if isinstance(sources, list | tuple):
        return [
            _uri(Path(source))
            for source in sources
            if isinstance(source, str | os.PathLike) and source != "-"
        ]
    return []


def are_paths(sources: Any) -> bool:
    """Whether all sources are files and folders: none is made by the caller's code, nor waits for another
    program, as standard input may."""
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    return isinstance(sources, list | tuple) and all(
        isinstance(source, str | os.PathLike) and os.fspath(source) != "-" for source in sources
    )


def folders_and_rest(sources: Any) -> tuple[list[str], list[Any]]:
    """The folders among the sources, and the other sources."""
    check(sources)
    given = list(sources) if isinstance(sources, list | tuple) else [sources]
    folders = [
        os.fspath(source)
        for source in given
        if isinstance(source, str | os.PathLike) and source != "-" and Path(source).is_dir()
    ]
    return folders, [
        source
        for source in given
        if not (isinstance(source, str | os.PathLike) and os.fspath(source) in folders)
    ]


def is_standard_input(sources: Source | Iterable[Source]) -> bool:
    """Whether standard input is all that is read."""
    return sources == "-" or (isinstance(sources, list | tuple) and list(sources) == ["-"])


def describe(sources: Source | Iterable[Source]) -> str:
    """A short name of the sources, for the record of a run."""
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    if isinstance(sources, list | tuple):
        names = [_name(s) if isinstance(s, str | os.PathLike) else "documents" for s in sources[:20]]
        return printable(", ".join(dict.fromkeys(names)))[:1000]
    return "documents"


def printable(name: str) -> str:
    """A file name as a text that can be stored."""
    return clean_file_name(name)[0]


def _name(source: str | os.PathLike[str]) -> str:
    name = os.fspath(source)
    return STDIN if name == "-" else name


def total_bytes(sources: Source | Iterable[Source]) -> int | None:
    """Bytes of the files that will be read; ``None`` where they cannot be known beforehand."""
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    if not isinstance(sources, list | tuple):
        return None
    total = 0
    for source in sources:
        if not isinstance(source, str | os.PathLike) or source == "-":
            return None
        path = Path(source)
        found = walk(path) if path.is_dir() else [path]
        for file in found:
            if isinstance(file, Path):
                try:
                    total += file.stat().st_size
                except OSError:
                    continue
    return total


def read(sources: Source | Iterable[Source], options: Options) -> Iterator[Found]:
    """Every document of the sources, in a fixed order.

    Raises :class:`~pgsift.errors.InvalidArgument` when a path given does not exist; what is wrong with a
    file found under it, or with one document, is a :class:`Broken`.
    """
    if isinstance(sources, str | os.PathLike | Document | Mapping):
        sources = [sources]
    met: set[tuple[str, str]] = set()
    for source in sources:
        if isinstance(source, Document | Mapping):
            yield _given(source, options)
        elif isinstance(source, str | os.PathLike):
            yield from _path(os.fspath(source), options, met)
        else:
            raise InvalidArgument(
                f"a source is a path, '-' or a Document, not {type(source).__name__}",
                hint="See pgsift.ingest.sources.",
            )


def _path(name: str, options: Options, met: set[tuple[str, str]]) -> Iterator[Found]:
    """What a path holds, without the files that were ``met`` under the same key: a folder and a file of it may
    both be given."""
    _check_path(name)
    if name == "-":
        yield from _stream(sys.stdin.buffer, options)
        return
    path = Path(name)
    in_folder = path.is_dir()
    for found in walk(path, options) if in_folder else [path]:
        if not isinstance(found, Path):
            yield found
            continue
        root = path if in_folder else path.parent
        of_lines = found.suffix.lower() in JSON_LINES or options.format == "jsonl"
        # Keys of lines do not name a file that is given by itself.
        key = "" if of_lines and not in_folder else key_in(found, root, options)
        identity = (os.path.abspath(found), key)
        if identity in met:
            yield Skipped("repeated")
            continue
        met.add(identity)
        yield from read_file(found, root, options, in_folder=in_folder)


def walk(
    root: Path, options: Options | None = None, folder: Path | None = None
) -> Iterator[Path | Skipped | Broken]:
    """Files of a folder at every depth, sorted by name; a linked folder is not entered, so there are no
    circles, and a link out of the root is not followed. ``folder`` is where in it to begin."""
    folder = folder or root
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        prefix = options.prefix if options is not None else ""
        yield Broken(
            prefix + clean_file_name(folder.relative_to(root).as_posix())[0],
            _uri(folder),
            f"the folder cannot be read: {error.strerror}",
            origin=origin_of(folder, root, prefix),
        )
        return
    for entry in entries:
        if entry.name.startswith("."):
            yield Skipped("hidden")
        elif entry.is_dir(follow_symlinks=False):
            yield from walk(root, options, Path(entry.path))
        elif _leads_to_folder(entry) or (entry.is_symlink() and not _is_within(entry.path, root)):
            yield Skipped("symlink")
        else:
            path = Path(entry.path)
            suffix = path.suffix.lower()
            if suffix in EXTENSIONS or suffix in JSON_LINES or suffix in SEVERAL:
                yield path
            else:
                yield Skipped(clean_text(clean_file_name(suffix)[0])[0] or "no extension")


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _is_within(path: str, root: Path) -> bool:
    """Whether what a link leads to lies in the folder, though it may not be there."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _uri(path: Path) -> str:
    return clean_text(path.absolute().as_uri())[0]


def origin_of(path: Path, root: Path, prefix: str) -> dict[str, str]:
    """How the dead letters remember where to read something again: the file and the folder or file given, as
    URIs, and the prefix."""
    return {"path": _uri(path), "root": _uri(root), "prefix": prefix}


def key_of(path: Path, root: Path, prefix: str) -> str:
    """The key of a file that was found under a root."""
    return prefix + clean_file_name(path.relative_to(root).as_posix())[0]


def key_in(path: Path, root: Path, options: Options) -> str:
    """The key of a file that was found under a root: the citekey where it has an entry in a bibliography."""
    match = None if options.bibliography is None else options.bibliography.match(path)
    return key_of(path, root, options.prefix) if match is None else options.prefix + match.key


def read_file(
    path: Path, root: Path, options: Options, *, in_folder: bool = False
) -> Iterator[Item | Broken]:
    """The document of a file, or those of its JSON lines. ``root`` is what the key is relative to."""
    origin = origin_of(path, root if in_folder else path, options.prefix)
    cleaned = clean_file_name(path.relative_to(root).as_posix())[1]
    key = key_in(path, root, options)
    uri = _uri(path)
    suffix = path.suffix.lower()
    try:
        # What is given by itself may be a pipe; one that lies in a folder would be waited for for ever.
        if (suffix in JSON_LINES or options.format == "jsonl") and (not in_folder or path.is_file()):
            with path.open("rb") as lines:
                yield from read_lines(
                    lines, key, uri, replace(options, prefix=f"{key}#") if in_folder else options, origin
                )
            return
        if not path.is_file():
            raise InvalidDocument(
                "a link that leads nowhere" if path.is_symlink() and not path.exists() else "not a regular file"
            )
        if path.stat().st_size > options.max_bytes:
            raise InvalidDocument(options.too_large("the file"))
        content = path.read_bytes()
    except OSError as error:
        yield Broken(key, uri, f"the file cannot be read: {error.strerror or error}", origin=origin)
        return
    except InvalidDocument as error:
        yield Broken(key, uri, error.message, origin=origin)
        return
    try:
        if not content:
            raise without_bytes()
        kind = options.format or detect(content, suffix)
    except InvalidDocument as error:
        yield Broken(key, uri, error.message, len(content), hint=error.hint, origin=origin)
        return
    if kind in SEVERAL.values():
        yield from _expand(content, kind, key, uri, options, origin, options.limits.archive_depth)
        return
    document = Document(key, content, kind, acl=options.acl, source_uri=uri)
    parsed = None
    if options.bibliography is not None:
        match = options.bibliography.match(path)
        parsed = options.bibliography.take_parsed(path, content)
        if match is not None:
            document = replace(document, **match.said())
    yield Item(
        document,
        len(content),
        cleaned,
        origin,
        classification=options.classification,
        language=options.language,
        parsed=parsed,
    )


def _expand(
    content: bytes,
    kind: str,
    key: str,
    uri: str | None,
    options: Options,
    origin: Mapping[str, str] | None,
    depth: int,
) -> Iterator[Item | Broken]:
    """The documents of a file that holds several: ``key#name`` of each, also of those in archives and mails
    that lie in it. The text of a mail itself has the key of its file."""
    try:
        for number, member in enumerate(pool().expand(content, kind, options.limits)):
            name, cleaned = clean_file_name(member.name)
            place = f"{key}#{name}" if name else key
            size = len(member.content) + (len(content) if number == 0 else 0)
            if member.error is not None:
                yield Broken(place, uri, member.error, size, origin=origin)
            elif member.record is not None:
                record = dict(member.record)
                yield from _record(place, record, size, uri, options, origin, cleaned)
            else:
                yield from _member(member, place, size, cleaned, uri, options, origin, depth)
    except PgsiftError as error:
        yield Broken(key, uri, error.message, len(content), hint=error.hint, origin=origin)


def _record(
    key: str,
    record: dict[str, Any],
    size: int,
    uri: str | None,
    options: Options,
    origin: Mapping[str, str] | None,
    cleaned: int,
) -> Iterator[Item | Broken]:
    record["key"] = key
    if uri is not None:
        record.setdefault("source_uri", uri)
    found = _given(record, replace(options, prefix=""), size)
    if isinstance(found, Broken):
        yield replace(found, source_uri=uri, origin=origin)
    else:
        yield replace(found, origin=origin, cleaned=cleaned)


def _member(
    member: Member,
    key: str,
    size: int,
    cleaned: int,
    uri: str | None,
    options: Options,
    origin: Mapping[str, str] | None,
    depth: int,
) -> Iterator[Item | Broken]:
    suffix = member.suffix or PurePosixPath(member.name).suffix.lower()
    try:
        if not member.content and not member.metadata:  # a mail without words says who wrote it, and of what
            raise without_bytes()
        kind = detect(member.content, suffix)
    except InvalidDocument as error:
        yield Broken(key, uri, error.message, size, hint=error.hint, origin=origin)
        return
    if kind in SEVERAL.values():
        if depth <= 0:
            yield Broken(
                key,
                uri,
                f"archives and mails lie more than {options.limits.archive_depth} deep in each other",
                size,
                hint="Unpack it.",
                origin=origin,
            )
        else:
            yield from _expand(member.content, kind, key, uri, options, origin, depth - 1)
        return
    document = Document(
        key, member.content, kind, metadata=member.metadata, acl=options.acl, source_uri=uri
    )
    yield Item(
        document, size, cleaned, origin, classification=options.classification, language=options.language
    )


def _stream(stream: IO[bytes], options: Options) -> Iterator[Item | Broken]:
    if options.format == "jsonl":
        yield from read_lines(stream, options.prefix + STDIN, None, options, None)
        return
    content = stream.read(options.max_bytes + 1)
    key = options.prefix + (options.key or STDIN)
    if not content.strip():
        raise InvalidArgument(
            "standard input is empty",
            hint="What was to write into it may have failed; nothing was stored for it.",
        )
    if len(content) > options.max_bytes:
        yield Broken(key, None, options.too_large("standard input"))
    else:
        try:
            kind = options.format or detect(content, "")
        except InvalidDocument as error:
            yield Broken(key, None, error.message, len(content), hint=error.hint)
            return
        if kind in SEVERAL.values():
            yield from _expand(content, kind, key, None, options, None, options.limits.archive_depth)
            return
        document = Document(key, content, kind, acl=options.acl)
        yield Item(
            document, len(content), classification=options.classification, language=options.language
        )


def read_lines(
    stream: IO[bytes], name: str, uri: str | None, options: Options, origin: Mapping[str, str] | None
) -> Iterator[Item | Broken]:
    """The documents of JSON lines; a line that is none is called ``name:number``."""
    number = 0
    while line := stream.readline(options.max_bytes + 1):
        number += 1
        length = len(line)
        place = f"{name}:{number}"
        if length > options.max_bytes and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = stream.readline(options.max_bytes)
                length += len(line)
            yield Broken(place, uri, options.too_large("the line"), length, origin=origin)
            continue
        if number == 1 and line.startswith(b"\xef\xbb\xbf"):
            line = line[3:]
        if not line.strip():
            continue
        try:
            key, record = parse_line(line)
        except (ValueError, RecursionError) as error:
            # RecursionError: nested too deeply. ValueError: not JSON, not UTF-8, or a number of too many
            # digits.
            yield Broken(place, uri, f"the line is not JSON: {_short(error)}", length, origin=origin)
        except PgsiftError as error:
            yield Broken(place, uri, error.message, length, hint=error.hint, origin=origin)
        else:
            yield from read_record(key, record, place, line, length, uri, options, origin)


def _number(text: str) -> float | Decimal:
    """A number of JSON; one that a double cannot hold as it is, for :func:`clean_json` to deal with."""
    value = float(text)
    if math.isinf(value) or (
        value == 0 and any(digit in "123456789" for digit in text.lower().partition("e")[0])
    ):
        return Decimal(text)
    return value


def _short(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8: {error.reason} at byte {error.start}"
    return clean_text(str(error))[0][:300]


def parse_line(line: bytes) -> tuple[str, dict[str, Any]]:
    """The id of a JSON line and its other members. Raises ValueError, RecursionError or
    :class:`~pgsift.errors.InvalidDocument`."""
    record = json.loads(line.decode("utf-8"), parse_float=_number)
    if not isinstance(record, dict):
        raise InvalidDocument("the line is not a JSON object")
    key = next((record.pop(name) for name in ("id", "key", "_id") if record.get(name) is not None), None)
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    if not isinstance(key, str) or not key:
        raise InvalidDocument("the line has no id: a string or an integer")
    return key, record


def read_record(
    key: str,
    record: dict[str, Any],
    place: str,
    line: bytes,
    length: int,
    uri: str | None,
    options: Options,
    origin: Mapping[str, str] | None,
) -> Iterator[Item | Broken]:
    """The document of a JSON line. ``line`` are its bytes without a byte order mark, ``length`` is how many
    were read for it."""
    record["key"] = key
    if uri is not None:
        record.setdefault("source_uri", uri)
    item = _given(record, options, length)
    if isinstance(item, Broken):
        yield Broken(
            place,
            uri,
            f"document {key[:200]!r}: {item.reason}",
            length,
            hint=item.hint,
            origin=origin,
            document_key=options.prefix + key,
        )
    else:
        yield replace(item, origin=origin, line=line.rstrip(b"\r\n"))


def _given(
    source: Document | Mapping[str, Any], options: Options, length: int | None = None
) -> Item | Broken:
    """A document made by the caller, checked and with the prefix and the default access filled in; of a JSON
    line where its length is given."""
    uri: Any = None
    key: Any = None
    try:
        if isinstance(source, Document):
            key, uri = source.key, source.source_uri
            document = checked_document(source)
        else:
            key, uri = source.get("key"), source.get("source_uri")
            document = document_of(source, others=length is not None)
        name = checked_key(options.prefix + document.key)
        acl = document.acl if document.acl is not None else options.acl
        if (name, acl) != (document.key, document.acl):
            document = replace(document, key=name, acl=acl)
        return Item(
            document,
            len(document.text) if length is None else length,
            classification=options.classification,
            language=options.language,
        )
    except PgsiftError as error:
        return Broken(
            options.prefix + key if isinstance(key, str) else None,
            clean_text(uri)[0] if isinstance(uri, str) else None,
            error.message,
            length or 0,
            hint=error.hint,
        )


def document_of(source: Mapping[str, Any], *, others: bool = False) -> Document:
    """The document a mapping describes: the fields of :class:`~pgsift.models.Document`, ``chunks`` as
    mappings or :class:`~pgsift.models.Chunk`. With ``others``, members of other names are taken into the
    metadata.

    Raises :class:`~pgsift.errors.InvalidDocument` naming the member that is missing, unknown or of the
    wrong type.
    """
    values: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in source.items():
        if name in _MEMBERS:
            if value is not None:
                values[name] = value
        elif _ACCESS.match(str(name)):
            raise InvalidDocument(
                f"unknown member {str(name)[:100]!r}",
                hint="Who may see a document is said by acl, a list of principals.",
            )
        elif name in _VECTORS:
            raise InvalidDocument(
                f"{name} is no member of a document",
                hint='A vector belongs to a chunk: {"chunks": [{"body": "…", "embedding": […]}]}.',
            )
        elif others:
            extra[str(name)] = value
        else:
            raise InvalidDocument(
                f"unknown member {str(name)[:100]!r}",
                hint=f"Members are {', '.join(Document.__dataclass_fields__)}; what else is known goes into "
                "metadata.",
            )
    key = checked_key(values.pop("key", None))
    for name in ("title", "source_version"):
        value = values.get(name)
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            values[name] = str(value)
    metadata = values.get("metadata", {})
    if extra and isinstance(metadata, Mapping):
        for name in extra:
            if name in metadata and extra[name] != metadata[name]:
                raise InvalidDocument(
                    f"the member {name[:100]!r} stands beside another of that name in metadata",
                    hint="Both would become the same metadata: rename one.",
                )
        values["metadata"] = {**extra, **metadata}
    return checked_document(Document(key, **values))
