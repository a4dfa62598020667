"""ZIP archives, opened with their limits checked first.

``zipfile`` gives no more bytes of a file than the directory says, so what the directory says is what can come.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

from pgsift.errors import InvalidDocument
from pgsift.ingest.formats import Limits

#: Below this many bytes no ratio is too large.
_SMALL = 4 * 1024 * 1024


def opened(content: bytes, limits: Limits, what: str) -> zipfile.ZipFile:
    """The archive. Raises :class:`~pgsift.errors.InvalidDocument` for one that is broken, encrypted, or over the
    limits when unpacked."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError) as error:
        raise InvalidDocument(
            f"the {what} is broken: {error}", hint="It may not have been copied to its end."
        ) from None
    if len(entries) > limits.archive_files:
        raise InvalidDocument(
            f"the {what} holds {len(entries):,} files, more than {limits.archive_files:,}",
            hint="Unpack it, where that is right.",
        )
    total = sum(entry.file_size for entry in entries)
    if total > limits.archive_bytes:
        raise InvalidDocument(
            f"the {what} unpacks to {total:,} bytes, more than {limits.archive_bytes:,}",
            hint="It may be a decompression bomb. Unpack it, where that is right.",
        )
    for entry in entries:
        if entry.flag_bits & 1:
            raise InvalidDocument(
                f"the {what} is encrypted and opens with a password only", hint="Save it without a password."
            )
        if entry.file_size > _SMALL and entry.file_size > limits.archive_ratio * max(entry.compress_size, 1):
            raise InvalidDocument(
                f"a file in the {what} unpacks to {entry.file_size // max(entry.compress_size, 1):,} times its "
                f"size, more than {limits.archive_ratio:,}: a decompression bomb"
            )
    if total > _SMALL and total > limits.archive_ratio * max(len(content), 1):
        # Entries may share their bytes.
        raise InvalidDocument(
            f"the {what} unpacks to {total // max(len(content), 1):,} times its size, more than "
            f"{limits.archive_ratio:,}: a decompression bomb"
        )
    return archive


def xml(archive: zipfile.ZipFile, name: str, what: str) -> Any:
    """The root of an XML file in an archive, without what entities could bring in; ``None`` where there is no such
    file."""
    try:
        content = archive.read(name)
    except KeyError:
        return None
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, ValueError) as error:
        raise InvalidDocument(f"the {what} is broken: {name}: {error}") from None
    return parse_xml(content, f"{what}: {name}")


def parse_xml(content: bytes, what: str, *, lenient: bool = False) -> Any:
    """The root of an XML document; entities are not resolved and nothing is fetched."""
    import zlib

    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=lenient)
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError, zlib.error) as error:
        raise InvalidDocument(f"the {what} is not well-formed XML: {error}") from None
    if root is None:
        raise InvalidDocument(f"the {what} holds no XML")
    return root
