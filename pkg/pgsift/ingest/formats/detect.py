"""What a file is: its content decides, where it tells; else its name does.

Formats that begin with bytes of their own (PDF, ZIP and what is made of it, OLE, RTF, images, …) are known by
them,
whatever the file is called. A file whose name says that it is one of these and that has no such bytes is taken
for a
web page if it looks like one, for text if it is text, and refused otherwise.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator

from pgsift.errors import InvalidDocument
from pgsift.ingest.formats import BINARY, FORMATS
from pgsift.ingest.parsers import EXTENSIONS

#: Files that hold several documents, by extension. JSON lines are read by :mod:`pgsift.ingest.sources` itself.
SEVERAL = {
    ".csv": "csv",
    ".tsv": "csv",
    ".eml": "eml",
    ".mbox": "mbox",
    ".mbx": "mbox",
    ".zip": "zip",
}
_PARTS = {
    b"word/document.xml": "docx",
    b"ppt/presentation.xml": "pptx",
    b"xl/workbook.xml": "xlsx",
    b"xl/workbook.bin": "xlsb",
}
_MIMETYPES = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.text-template": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
    b"application/vnd.oasis.opendocument.presentation": "odp",
}
_OTHERS = (
    (b"{\\rtf", "an RTF document", "Save it as .docx or .odt."),
    (b"\x89PNG\r\n", "a PNG image", None),
    (b"\xff\xd8\xff", "a JPEG image", None),
    (b"GIF8", "a GIF image", None),
    (b"II*\0", "a TIFF image", None),
    (b"MM\0*", "a TIFF image", None),
    (b"\x1f\x8b", "a gzip archive", "Unpack it, or pack it as ZIP."),
    (b"BZh", "a bzip2 archive", "Unpack it, or pack it as ZIP."),
    (b"\xfd7zXZ\0", "an xz archive", "Unpack it, or pack it as ZIP."),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "Unpack it, or pack it as ZIP."),
    (b"Rar!\x1a\x07", "a RAR archive", "Unpack it, or pack it as ZIP."),
    (b"\x7fELF", "a program", None),
    (b"SQLite format 3\0", "an SQLite database", None),
    (b"%!PS", "a PostScript file", "Save it as PDF."),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)[\s>]", re.I | re.S
)


def without_bytes() -> InvalidDocument:
    """What is wrong with a file that has none: an upload or a copy that did not come to its end, most often."""
    return InvalidDocument("the file has no bytes", hint="It may not have been copied to its end.")


def detect(content: bytes, suffix: str) -> str:
    """The format of a file by its content and the extension of its name (lower case, with the dot): one of
    :data:`~pgsift.ingest.parsers.Format`, of :data:`~pgsift.ingest.formats.FORMATS`, or ``text``.

    Raises :class:`~pgsift.errors.InvalidDocument` for what is known not to be readable.
    """
    named = EXTENSIONS.get(suffix) or SEVERAL.get(suffix) or "text"
    if not content and named in FORMATS:
        raise without_bytes()
    if b"%PDF-" in content[:1024] and (named in BINARY or content.lstrip()[:5] == b"%PDF-"):
        return "pdf"
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _zipped(content)
    if content.startswith(_OLE):
        raise _ole(content)
    for start, what, hint in _OTHERS:
        if content.startswith(start) and not (named == "text" and start in (b"BZh", b"GIF8", b"II*\0")):
            raise InvalidDocument(f"the content is {what}, which is not read", hint=hint)
    if named not in BINARY:
        return named
    if _HTML.match(content[:4096]):
        return "html"
    if _is_text(content):
        return "text"
    raise InvalidDocument(
        f"the name says {FORMATS[named].label}, and the content is neither that nor anything known",
        hint="It may be damaged, or not have been copied from its beginning.",
    )


def _is_text(content: bytes) -> bool:
    sample = content[:65536]
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(sample) - 4:
            return False
    return not re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", sample)


def _zipped(content: bytes) -> str:
    if content[30:38] == b"mimetype":
        length = int.from_bytes(content[18:22], "little")
        found = _MIMETYPES.get(content[38 : 38 + length].strip()) if length < 200 else None
        if found is not None:
            return _readable(found)
    for name, offset in _entries(content):
        if name in _PARTS:
            return _readable(_PARTS[name])
        if name == b"META-INF/container.xml":
            return "epub"
        # It should stand first, and does not in what some programs write.
        if name == b"mimetype" and (found := _MIMETYPES.get(_small(content, offset))) is not None:
            return _readable(found)
    return "zip"


def _small(content: bytes, offset: int, most: int = 200) -> bytes:
    """The beginning of a file in a ZIP archive, whose own header stands there."""
    if content[offset : offset + 4] != b"PK\x03\x04" or offset + 30 > len(content):
        return b""
    (method,) = struct.unpack_from("<H", content, offset + 8)
    size, name, extra = struct.unpack_from("<I4xHH", content, offset + 18)
    begin = offset + 30 + name + extra
    if method == 0:
        return content[begin : begin + min(size, most)].strip()
    try:
        return zlib.decompressobj(-15).decompress(content[begin : begin + 2 * most], most).strip()
    except zlib.error:
        return b""


def _readable(format: str) -> str:
    if format not in FORMATS:
        raise InvalidDocument(
            f"the content is a file of the kind {format.upper()}, which is not read",
            hint="Save it as .xlsx, .pptx or PDF.",
        )
    return format


def _entries(content: bytes, most: int = 3000) -> Iterator[tuple[bytes, int]]:
    """Names in the directory of a ZIP archive, as far as it can be followed, and where the files begin."""
    end = content.rfind(b"PK\x05\x06", max(len(content) - 66_000, 0))
    if end < 0 or end + 22 > len(content):
        return
    _, _, _, _, size, offset, _ = struct.unpack_from("<HHHHIIH", content, end + 4)
    # Something may stand before the archive.
    position = offset if content[offset : offset + 4] == b"PK\x01\x02" else end - size
    for _ in range(most):
        if position < 0 or content[position : position + 4] != b"PK\x01\x02" or position + 46 > len(content):
            return
        name, extra, comment = struct.unpack_from("<HHH", content, position + 28)
        (begin,) = struct.unpack_from("<I", content, position + 42)
        yield content[position + 46 : position + 46 + name], begin
        position += 46 + name + extra + comment


def _ole(content: bytes) -> InvalidDocument:
    if "EncryptedPackage".encode("utf-16-le") in content:
        return InvalidDocument(
            "the file is encrypted and opens with a password only", hint="Save it without a password."
        )
    for stream, what in (
        ("WordDocument", "a Word document"),
        ("PowerPoint Document", "a presentation"),
        ("Workbook", "a workbook"),
        ("__substg1.0_", "an Outlook message"),
    ):
        if stream.encode("utf-16-le") in content:
            return InvalidDocument(
                f"the content is {what} of the old binary kind, which is not read",
                hint="Save it as .docx, .pptx or .xlsx, a message as .eml.",
            )
    return InvalidDocument("the content is an OLE file of a kind that is not read")
