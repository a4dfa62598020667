"""The characters of plain text in an encoding that nobody declared."""

from __future__ import annotations

import codecs
import re

from pgsift.errors import InvalidDocument

# By how many web pages have them, of those that are not UTF-8.
_COMMON = ("cp1252", "cp1251", "cp932", "gb18030", "euc_kr", "cp1250", "cp1256", "cp1254", "cp1253", "cp1255")
#: Of fewer bytes than this no encoding is found: they would fit a dozen.
_LEAST = 32
_CODING = re.compile(rb"coding[:=]\s*([-\w.]+)")


def decoded(content: bytes, declared: str | None = None) -> tuple[str, str]:
    """The text and its encoding: that of its byte order mark, UTF-8 where it is that, the one that is declared
    (by the caller, or as editors do in the first two lines, ``coding: latin-1``), else the one that
    charset-normalizer finds.

    Raises :class:`~pgsift.errors.InvalidDocument` for bytes that are no text, and where nothing is found.
    """
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if content.startswith(mark):
            try:
                return content.decode(encoding), encoding.removesuffix("-sig")
            except UnicodeDecodeError as error:
                raise InvalidDocument(
                    f"not {encoding.removesuffix('-sig')}, though its byte order mark says so: "
                    f"{error.reason} at byte {error.start}",
                    hint="Save it as UTF-8.",
                ) from None
    problem: UnicodeDecodeError
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        problem = error
    for name in (declared, _stated(content)):
        if name:
            try:
                return content.decode(name), codecs.lookup(name).name
            except (UnicodeDecodeError, LookupError):
                continue
    return _found(content, problem)


def _stated(content: bytes) -> str | None:
    for line in content[:1000].splitlines()[:2]:
        found = _CODING.search(line)
        if found:
            return found.group(1).decode("ascii", "replace")
    return None


def _found(content: bytes, problem: UnicodeDecodeError) -> tuple[str, str]:
    reason = f"not UTF-8: {problem.reason} at byte {problem.start}"
    if len(content) < _LEAST:
        raise InvalidDocument(
            f"{reason}, and too short to tell which encoding it is",
            hint="Save it as UTF-8, or as UTF-16 with a byte order mark.",
        )
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        raise InvalidDocument(
            reason,
            hint="Save it as UTF-8, or let its encoding be found: pip install 'pgsift[charset]'.",
        ) from None
    controls = len(re.findall(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", content[:65536]))
    wide = content[:4096].count(0) * 3 > len(content[:4096])
    if controls > len(content[:65536]) / 20 and not wide:
        raise InvalidDocument(f"{reason}, and no text in another encoding: it looks like binary data")
    matches = list(from_bytes(content[:1_000_000]))
    if not matches:
        raise InvalidDocument(
            f"{reason}, and no other encoding fits",
            hint="Save it as UTF-8, or as UTF-16 with a byte order mark.",
        )
    # A few bytes fit several encodings about equally; of these the most common is the likeliest.
    best = matches[0]
    likely = {
        name
        for match in matches
        if match.chaos <= best.chaos + 0.02 and match.coherence >= best.coherence - 0.05
        for name in (match.encoding, *match.could_be_from_charset)
    }
    encoding: str = next((name for name in _COMMON if name in likely), best.encoding)
    try:
        return content.decode(encoding), encoding
    except UnicodeDecodeError as error:
        raise InvalidDocument(
            f"{reason}, and not {encoding} either: {error.reason} at byte {error.start}",
            hint="Save it as UTF-8.",
        ) from None
