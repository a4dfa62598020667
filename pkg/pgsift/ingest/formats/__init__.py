"""Formats of files that need a library to be read: one small adapter each, run in a process of its own.

An adapter is a module with ``read(content: bytes, limits: Limits) -> Parsed`` (documents) or ``expand(content:
bytes, limits: Limits, format: str) -> Iterator[Member]`` (files that hold several documents). It is imported
and called in a worker (:mod:`~pgsift.ingest.formats.worker`) that has limits of time and memory, so that a
hostile or broken file costs no more than itself; :mod:`~pgsift.ingest.formats.pool` is the caller's side.
Adapters raise :class:`~pgsift.errors.InvalidDocument` with what is wrong with the file.

:data:`FORMATS` names them with the extra of the package that installs what they need.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from pgsift.errors import MissingExtra


@dataclass(frozen=True, slots=True)
class Spec:
    """A format: the module of its adapter, the version of what it makes, the extra that installs its library
    (``None``: none is needed), the distributions whose version decides what comes out, what it is called, and its
    media type. ``several`` says that it holds several documents."""

    module: str
    version: int
    extra: str | None
    packages: tuple[str, ...]
    label: str
    media_type: str
    several: bool = False


_OOXML = "application/vnd.openxmlformats-officedocument"

FORMATS: Mapping[str, Spec] = {
    "pdf": Spec("pdf", 2, "pdf", ("pypdfium2",), "PDF", "application/pdf"),
    "docx": Spec("docx", 1, "office", ("python-docx",), "Word document", f"{_OOXML}.wordprocessingml.document"),
    "pptx": Spec("pptx", 1, "office", ("python-pptx",), "presentation", f"{_OOXML}.presentationml.presentation"),
    "xlsx": Spec("xlsx", 1, "office", ("openpyxl",), "workbook", f"{_OOXML}.spreadsheetml.sheet"),
    "odt": Spec("odt", 1, "office", ("lxml",), "OpenDocument text", "application/vnd.oasis.opendocument.text"),
    "epub": Spec("epub", 1, "epub", ("lxml",), "EPUB", "application/epub+zip"),
    "rst": Spec("rst", 1, "rst", ("docutils",), "reStructuredText", "text/x-rst"),
    "latex": Spec("latex", 1, "latex", ("pylatexenc",), "LaTeX", "application/x-tex"),
    "eml": Spec("mail", 1, None, (), "mail", "message/rfc822", several=True),
    "mbox": Spec("mail", 1, None, (), "mailbox", "application/mbox", several=True),
    "csv": Spec("table", 1, None, (), "CSV file", "text/csv", several=True),
    "zip": Spec("archive", 1, None, (), "ZIP archive", "application/zip", several=True),
}

#: Formats that docling reads where it is asked for (:attr:`Limits.parser`).
DOCLING = frozenset({"pdf", "docx", "pptx", "xlsx"})
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*")

#: Formats that are bytes, and known by them.
BINARY = frozenset({"pdf", "docx", "pptx", "xlsx", "odt", "epub", "zip"})


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may cost, and how it is read. ``seconds`` and ``memory_mb`` hold for its parser; ``workers``
    is how many parsers run at a time (``None``: one for each core, up to four). ``file_bytes`` is the size up to
    which a file, standard input or a line of JSON lines is read. Those named ``archive`` are for
    files that are archives inside, which most office formats are: bytes and number of the files in them, how many
    times its packed size a file may have, and how deep archives and mails may lie in each other. ``ocr`` says
    which pages of a PDF are recognized, those without text (``auto``), all (``force``) or none, in
    ``ocr_languages``, as Tesseract calls them or as BCP 47 tags. ``parser`` is ``docling`` where it is to read
    what it can (:data:`DOCLING`), else empty."""

    seconds: float = 120
    memory_mb: int = 2048
    workers: int | None = None
    file_bytes: int = 64 * 1024 * 1024
    archive_bytes: int = 512 * 1024 * 1024
    archive_files: int = 10_000
    archive_ratio: int = 200
    archive_depth: int = 3
    ocr: Literal["off", "auto", "force"] = "off"
    ocr_languages: tuple[str, ...] = ("eng",)
    parser: Literal["", "docling"] = ""

    def __post_init__(self) -> None:
        # As it comes from JSON: from a worker's pipe, and from the record of a run.
        object.__setattr__(self, "ocr_languages", tuple(self.ocr_languages))
        if self.ocr not in ("off", "auto", "force"):
            raise ValueError(f"ocr must be off, auto or force, not {self.ocr!r}")
        if not self.ocr_languages or not all(map(_LANGUAGE.fullmatch, self.ocr_languages)):
            raise ValueError(f"ocr_languages must name languages, such as eng or de, not {self.ocr_languages!r}")
        if self.parser not in ("", "docling"):
            raise ValueError(f"parser must be docling or empty, not {self.parser!r}")
        for name, least in (
            ("seconds", 0.001),
            ("memory_mb", 128),
            ("workers", 1),
            ("file_bytes", 1),
            ("archive_bytes", 1),
            ("archive_files", 1),
            ("archive_ratio", 1),
            ("archive_depth", 0),
        ):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise ValueError(f"{name} must be at least {least}, not {value}")


@dataclass(frozen=True, slots=True)
class Member:
    """One document of a file that holds several: its name in there, and its content with the extension that says
    what it is (empty: what its name says); or a record, as a JSON line has it; or why it cannot be read.
    ``metadata`` is what the file says about the content."""

    name: str
    content: bytes = b""
    suffix: str = ""
    record: Mapping[str, Any] | None = None
    error: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def needs(format: str) -> Iterator[None]:
    """Around the imports of an adapter: what is missing is told with how to install it."""
    spec = FORMATS[format]
    try:
        yield
    except ImportError as error:
        raise MissingExtra(
            f"{spec.label}s need the extra {spec.extra!r} ({error.name or error} is missing)",
            hint=f"Install it: pip install 'pgsift[{spec.extra}]'",
        ) from None
