"""Mail by the standard library: a message is a document, and so is each of its attachments of a format that is
read.

The text is that of the plain part, else of the HTML part; the subject is the title, sender, recipients, date
and message id are metadata. In a mailbox messages are named by their ids, or numbers where they have none. An
attached message is a message.
"""

from __future__ import annotations

import email
import email.policy
import email.utils
import re
from collections.abc import Iterator
from email.message import Message
from typing import Any

from pgsift.errors import InvalidDocument
from pgsift.ingest.formats import Limits, Member
from pgsift.ingest.formats.charset import decoded
from pgsift.ingest.formats.detect import SEVERAL
from pgsift.ingest.parsers import EXTENSIONS

_FROM = re.compile(rb"^From [^\n]*\d{4}[^\n]*\r?\n(?=[\x21-\x39\x3b-\x7e]+:)", re.MULTILINE)
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_DEPTH = 20
_TYPES = {
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/html": ".html",
    "text/csv": ".csv",
    "application/pdf": ".pdf",
    "application/zip": ".zip",
    "application/x-zip-compressed": ".zip",
    "message/rfc822": ".eml",
}


def expand(content: bytes, limits: Limits, format: str) -> Iterator[Member]:
    """The message or messages, and their attachments."""
    if format == "mbox":
        yield from _mailbox(content, limits)
    else:
        yield from _message(content, "", limits)


def _mailbox(content: bytes, limits: Limits) -> Iterator[Member]:
    starts = [match.span() for match in _FROM.finditer(content)]
    if not starts:
        raise InvalidDocument(
            "the mailbox holds no message: none of its lines begins one", hint="A single message is .eml."
        )
    if len(starts) > 100 * limits.archive_files:
        raise InvalidDocument(
            f"the mailbox holds {len(starts):,} messages, more than {100 * limits.archive_files:,}"
        )
    met: set[str] = set()
    for number, (_, begin) in enumerate(starts, 1):
        end = starts[number][0] if number < len(starts) else len(content)
        part = _QUOTED.sub(rb"\1", content[begin:end])
        found = re.search(rb"^Message-ID:\s*<([^>\s]{1,200})>", part.partition(b"\n\n")[0], re.I | re.M)
        name = found.group(1).decode("ascii", "backslashreplace") if found else str(number)
        if name in met:
            name = f"{name}#{number}"
        met.add(name)
        try:
            yield from _message(part, name, limits)
        except InvalidDocument as error:
            yield Member(name, error=error.message)


def _message(content: bytes, name: str, limits: Limits) -> Iterator[Member]:
    try:
        message = email.message_from_bytes(content, policy=email.policy.default)
    except (ValueError, LookupError, TypeError, IndexError, AttributeError) as error:
        raise InvalidDocument(f"the mail cannot be read: {error}") from None
    if not message.keys():
        raise InvalidDocument("the mail has no header: it is no mail, or its beginning is missing")
    yield from _parts(message, name, limits, 0)


def _parts(message: Message, name: str, limits: Limits, depth: int) -> Iterator[Member]:
    if depth > _DEPTH:
        yield Member(name, error=f"mails lie more than {_DEPTH} deep in each other")
        return
    bodies: list[tuple[str, str]] = []
    attached: list[tuple[str, bytes, str]] = []
    messages: list[tuple[str, Message]] = []
    for number, part in enumerate(_leaves(message)):
        if number >= limits.archive_files:
            yield Member(name, error=f"the mail has more than {limits.archive_files:,} parts")
            break
        kind = part.get_content_type()
        try:
            given = part.get_filename()
        except (ValueError, LookupError, TypeError, AttributeError):
            given = None
        disposition = str(part.get("content-disposition") or "").casefold()
        if kind == "message/rfc822":
            inner = part.get_payload()
            if isinstance(inner, list) and inner and isinstance(inner[0], Message):
                messages.append((given or f"message {len(messages) + 1}.eml", inner[0]))
            continue
        try:
            payload = part.get_payload(decode=True)
        except (ValueError, LookupError, AssertionError):
            payload = None
        if not isinstance(payload, bytes):
            continue
        if kind in ("text/plain", "text/html") and not given and not disposition.startswith("attachment"):
            bodies.append((kind, _decoded(payload, part)))
            continue
        label = (given or f"part {number}{_TYPES.get(kind, '')}").replace("\\", "/").rpartition("/")[2]
        attached.append((label, payload, kind))
    yield Member(name, record=_record(message, bodies))
    met: set[str] = set()
    prefix = f"{name}/" if name else ""
    for label, payload, kind in attached:
        suffix = "." + label.rpartition(".")[2].lower() if "." in label else _TYPES.get(kind, "")
        if suffix not in EXTENSIONS and suffix not in SEVERAL:
            continue
        while label in met:
            label += "_"
        met.add(label)
        yield Member(prefix + label, payload, suffix, metadata={"attached_to": _header(message, "subject")})
    for label, inner_message in messages:
        while label in met:
            label += "_"
        met.add(label)
        yield from _parts(inner_message, prefix + label, limits, depth + 1)


def _leaves(message: Message) -> Iterator[Message]:
    """Parts that have content, without entering attached messages."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        inner = part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(inner, list):
            waiting.extend(one for one in reversed(inner) if isinstance(one, Message))
        else:
            yield part


def _decoded(payload: bytes, part: Message) -> str:
    try:
        charset = part.get_content_charset()
    except (ValueError, LookupError, TypeError, AttributeError):
        charset = None
    if charset:
        try:
            return payload.decode(charset)
        except (LookupError, UnicodeDecodeError):
            pass
    try:
        return decoded(payload, charset)[0]
    except InvalidDocument:
        return payload.decode("utf-8", "replace")


def _header(message: Message, name: str) -> str:
    try:
        return " ".join(str(message.get(name) or "").split())
    except (ValueError, LookupError, TypeError, IndexError, AttributeError):
        return ""


def _addresses(message: Message, name: str) -> list[str]:
    value = _header(message, name)
    try:
        found = email.utils.getaddresses([value])
    except (ValueError, IndexError):
        return [value] if value else []
    return [
        email.utils.formataddr((shown, address)) if not shown else f"{shown} <{address}>"
        for shown, address in found
        if address or shown
    ][:200]


def _record(message: Message, bodies: list[tuple[str, str]]) -> dict[str, Any]:
    plain = [text for kind, text in bodies if kind == "text/plain" and text.strip()]
    html = [text for kind, text in bodies if kind == "text/html" and text.strip()]
    when = None
    try:
        when = email.utils.parsedate_to_datetime(_header(message, "date"))
    except (ValueError, TypeError, IndexError, OverflowError):
        when = None
    metadata = {
        "from": _addresses(message, "from"),
        "to": _addresses(message, "to"),
        "cc": _addresses(message, "cc"),
        "message_id": _header(message, "message-id").strip("<>"),
        "in_reply_to": _header(message, "in-reply-to").strip("<>"),
    }
    record: dict[str, Any] = {
        "title": _header(message, "subject") or None,
        "metadata": {name: value for name, value in metadata.items() if value},
    }
    if plain:
        record["text"] = "\n\n".join(plain).replace("\r\n", "\n")
    elif html:
        record |= {"text": "\n".join(html), "format": "html"}
    else:
        record["text"] = ""
    if when is not None:
        record["observed_at"] = when.isoformat()
    return record
