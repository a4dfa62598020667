"""ZIP: its files, those that would be read in a folder; hidden ones and folders of metadata that macOS adds are
left out. Nothing is written to a disk, so a name cannot lead out of anywhere; one that tries is refused all the
same, since it would become a key."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator

from pgsift.errors import InvalidDocument
from pgsift.ingest.formats import Limits, Member
from pgsift.ingest.formats.detect import SEVERAL
from pgsift.ingest.formats.zipped import opened
from pgsift.ingest.parsers import EXTENSIONS


def expand(content: bytes, limits: Limits, format: str) -> Iterator[Member]:
    """The files of the archive."""
    del format
    archive = opened(content, limits, "ZIP archive")
    found = told = 0
    met: set[str] = set()
    for entry in archive.infolist():
        name = entry.filename.replace("\\", "/")
        if entry.is_dir() or name.endswith("/"):
            continue
        found, told = found + 1, told + 1
        parts = name.split("/")
        if any(part.startswith(".") and part not in (".", "..") for part in parts) or parts[0] == "__MACOSX":
            told -= 1
            continue
        if ".." in parts or name.startswith("/") or re.match(r"[A-Za-z]:", name) or "\0" in entry.orig_filename:
            yield Member(name, error="the name of the file leads out of the archive")
            continue
        if name in met:
            yield Member(name, error="the name stands twice in the archive; the first file was kept")
            continue
        met.add(name)
        if entry.external_attr >> 16 & 0o170000 == 0o120000:
            yield Member(name, error="the file is a link")
            continue
        suffix = "." + parts[-1].rpartition(".")[2].lower() if "." in parts[-1] else ""
        if suffix not in EXTENSIONS and suffix not in SEVERAL:
            told -= 1
            continue
        try:
            yield Member(name, archive.read(entry))
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            yield Member(name, error=f"the file in the archive is broken: {' '.join(str(error).split())[:200]}")
    if not found:
        raise InvalidDocument("the ZIP archive holds no file")
    if not told:
        raise InvalidDocument(
            f"the ZIP archive holds {found:,} files, and none of a format that is read",
            hint="See docs/formats.md.",
        )
