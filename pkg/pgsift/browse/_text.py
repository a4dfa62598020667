"""Texts of strangers, made fit for a page: everything is escaped, spans are marked, and characters that are not
seen but change what is seen are shown by their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import urlsplit

# Controls but tab and line ends; overrides, embeddings and isolates of direction; marks that separate nothing
# visible. Marks that plain Arabic and Hebrew use (U+200E, U+200F) and joiners stay as they are.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]"
)
_TAGS = re.compile("[\U000e0000-\U000e007f]+")

#: What is shown of one text at most, in characters.
LONGEST = 6_000


def shown(value: object) -> str:
    """Any value as HTML that shows it."""
    text = str(value)
    out: list[str] = []
    done = 0
    for match in sorted((*_UNSEEN.finditer(text), *_TAGS.finditer(text)), key=lambda found: found.start()):
        out.append(escape(text[done : match.start()]))
        names = " ".join(dict.fromkeys(f"U+{ord(char):04X}" for char in match.group()))
        out.append(f'<span class="unseen">{names}</span>')
        done = match.end()
    out.append(escape(text[done:]))
    return "".join(out)


def plain(value: object, longest: int = 80) -> str:
    """Any value as the title of a window, where nothing can be marked."""
    text = str(value)
    text = text if len(text) <= longest else text[:longest] + "…"
    return _UNSEEN.sub(lambda match: f" U+{ord(match.group()):04X} ", text)


def marked(text: str, spans: Iterable[Sequence[int]] = (), longest: int = LONGEST) -> str:
    """A text as HTML, with spans ``[start, end)`` of its characters marked, cut after ``longest``."""
    cut = len(text) - longest
    text = text[:longest]
    out: list[str] = []
    done = 0
    for start, end in merged(spans):
        start, end = max(start, done), min(end, len(text))
        if start < end:
            out += [shown(text[done:start]), "<mark>", shown(text[start:end]), "</mark>"]
            done = end
    out.append(shown(text[done:]))
    if cut > 0:
        out.append(f'<span class="cut"> … {cut:,} characters more</span>')
    return "".join(out)


def merged(spans: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """Spans in order, those that touch or overlap as one."""
    out: list[tuple[int, int]] = []
    for start, end in sorted((int(span[0]), int(span[1])) for span in spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        elif start < end:
            out.append((start, end))
    return out


def link(uri: str | None) -> str | None:
    """An address that may be followed: http and https alone, with a host, without characters that deceive."""
    if not uri or _UNSEEN.search(uri) or re.search(r"\s", uri):
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return uri if parts.scheme in ("http", "https") and parts.hostname else None


def figure(value: float | None, digits: int = 6) -> str:
    """A number in as many digits as tell something."""
    return "" if value is None else f"{value:.{digits}g}"
