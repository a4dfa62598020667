"""What the text of a query asks for, beside its words.

Operators stand at the beginning of a word, that is after white space or at the start:

``"co simulation"``
    a phrase: the words in this order, next to each other. In a question, which quotes more than it demands
    (:func:`is_question`), quotation marks without a sign are words.
``+word``  ``+"a phrase"``  ``+pre*``
    must be there
``-word``  ``-"a phrase"``  ``-pre*``
    must not be there
``pre*``
    any term that begins so

Whatever is not exactly that is words, so there are no syntax errors: a quotation mark without its partner,
``--amend``, ``C++``, ``a - b``, ``co-simulation``, ``-5``, ``+``. ``+`` and ``-`` are operators before a letter or
a quotation mark only, ``*`` only at the end of a word of two characters or more that holds nothing but letters,
numbers and what joins them.

Questions are recognized by their form, and the words that make them questions can be left out
(:func:`strip_question`). A query that is not a question in form is never changed by that.

The twins in SQL are ``sift._parse_query`` and ``sift._strip_question``; both sides agree on any text.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from functools import cache

from pgsift.domain.analyzer import Analyzer, _set

__all__ = [
    "AUXILIARIES",
    "QUESTION_WORDS",
    "ParsedQuery",
    "Part",
    "is_question",
    "parse_query",
    "search_terms",
    "strip_question",
]

# What separates words, on both sides; the inside of a bracket expression.
_BLANK = " \t\n\v\f\r\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_OPERATOR = re.compile(rf'["*]|(?:^|[{_BLANK}])[+-]')
_PIECE = re.compile(rf'([+-]?)"([^"{_BLANK}][^"]*)"([^{_BLANK}]*)|((?![+-]?"[^"{_BLANK}][^"]*")[^{_BLANK}]+)')

MAX_PARTS = 64
"""So many parts of a query are more than words; what follows is words, and not looked at where it was excluded."""

QUESTION_WORDS = ("what", "which", "who", "whom", "whose", "when", "where", "why", "how")
"""The interrogatives that a question loses."""

AUXILIARIES = (
    "am", "is", "are", "was", "were", "be", "been", "being",
    "do", "does", "did", "have", "has", "had",
    "can", "could", "shall", "should", "will", "would", "may", "might", "must",
)  # fmt: skip
"""The auxiliary verbs that a question loses, in their contractions too (don't, what's)."""

# After an interrogative these make a question too (how many, how to), and after an auxiliary a subject does.
_AFTER_INTERROGATIVE = ("many", "much", "long", "often", "far", "old", "to")
_SUBJECTS = ("i", "you", "we", "they", "he", "she", "it", "there", "one", "anyone", "someone")

_STRIPPED = frozenset(QUESTION_WORDS + AUXILIARIES)
_PUNCTUATION = r"!-/:-@\[-`{-~\u00a1\u00ab\u00bb\u00bf\u2013\u2014\u2018-\u201f\u2026"
_TRIM = re.compile(rf"^[{_PUNCTUATION}]+|[{_PUNCTUATION}]+$")
_CONTRACTION = re.compile("(?:n['\u2019]t|['\u2019](?:s|re|d|ll|ve))$")
_ENDS_ASKING = re.compile(rf"[?\uff1f\u061f][{_BLANK}\"')\u2019\u201d]*$")
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_BASES = {"ca": "can", "wo": "will", "sha": "shall"}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a query: what it asks of a hit, and for what.

    ``kind`` is ``word``, ``phrase``, ``required`` or ``excluded``; ``prefix`` tells that the text goes on.
    """

    kind: str
    text: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The parts of a query in their order; neighbouring words are one part."""

    parts: tuple[Part, ...]
    plain: str
    """The text without operators and without what is excluded: what an embedder is given."""


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    alnum, mark = _set("ALPHANUMERIC"), _set("MARKS")
    return (
        re.compile(f"[{alnum}]"),
        re.compile(rf"^[+-](?![{_set('NUMBERS')}])[{alnum}]"),
        re.compile(rf"^[{alnum}][{alnum}{mark}_./@:&#\\-]*[{alnum}{mark}]\*$"),
    )


def parse_query(query: str, *, plain: bool = False) -> ParsedQuery:
    """The parts of a query. With *plain*, and where it holds no operator, all of it is words as it stands."""
    if plain or not _OPERATOR.search(query):
        return ParsedQuery((Part("word", query),), query)
    character, sign_before_letter, open_word = _patterns()
    parts: list[Part] = []
    words: list[str] = []
    text: list[str] = []

    operators = 0

    def add(part: Part) -> None:
        nonlocal operators
        operators += 1
        if operators > MAX_PARTS:
            if part.kind != "excluded":
                add_word(part.text)
            return
        if words:
            parts.append(Part("word", " ".join(words)))
            words.clear()
        parts.append(part)
        if part.kind != "excluded":
            text.append(part.text)

    def add_word(word: str) -> None:
        words.append(word)
        text.append(word)

    kinds = {"": "phrase", "+": "required", "-": "excluded"}
    asks = is_question(query)
    for piece in _PIECE.finditer(query):
        sign, phrase, tail, word = piece.groups()
        if phrase is not None:
            if (asks and not sign) or not character.search(phrase):
                add_word(piece[0])
                continue
            add(Part(kinds[sign], phrase))
            if tail:
                add_word(tail)
            continue
        signed = sign_before_letter.match(word) is not None
        body = word[1:] if signed else word
        prefix = open_word.match(body) is not None
        if prefix:
            body = body[:-1]
        if signed or prefix:
            add(Part(kinds[word[0]] if signed else "word", body, prefix))
        else:
            add_word(word)
    if not operators:
        return ParsedQuery((Part("word", query),), query)
    if words:
        parts.append(Part("word", " ".join(words)))
    return ParsedQuery(tuple(parts), " ".join(text))


def _lower(text: str) -> str:
    """ASCII alone, as all the words of the lists are."""
    return text.translate(_LOWER)


def _base(word: str, first: bool, shouted: bool) -> str:
    """The word of the lists that a word is a form of, or what it is itself; nothing for names and acronyms, which
    are written with capitals: May, WHO. *first* is the first word of a text, *shouted* a text in capitals alone.
    """
    bare = _TRIM.sub("", word)
    lower = _lower(bare)
    if not shouted and bare != "I" and bare[int(first) :] != lower[int(first) :]:
        return ""
    base = _CONTRACTION.sub("", lower)
    return _BASES.get(base, base) if lower[len(base) : len(base) + 1] == "n" else base


_LONGEST = 100  # characters; no form of a listed word is longer


def _bases(text: str) -> list[tuple[str, str]]:
    words = re.findall(f"[^{_BLANK}]+", text)
    shouted = re.search("[a-z]", text) is None
    return [
        (word, _base(word, place == 0, shouted) if len(word) <= _LONGEST else "")
        for place, word in enumerate(words)
    ]


def is_question(text: str) -> bool:
    """Whether a text has the form of a question in English, or ends with a question mark."""
    if _ENDS_ASKING.search(text):
        return True
    words = re.findall(f"[^{_BLANK}]+", text)[:2]
    if len(words) < 2 or max(map(len, words)) > _LONGEST:
        return False
    shouted = re.search("[a-z]", text) is None
    bases = [_base(word, place == 0, shouted) for place, word in enumerate(words)]
    return (bases[0] in QUESTION_WORDS and bases[1] in AUXILIARIES + _AFTER_INTERROGATIVE) or (
        bases[0] in AUXILIARIES and bases[1] in _SUBJECTS
    )


def strip_question(text: str) -> tuple[str, list[str]]:
    """A text without interrogatives and auxiliaries, and those that were left out; whether the text is part of a
    question is for the caller to know."""
    kept: list[str] = []
    stripped: list[str] = []
    for word, base in _bases(text):
        (stripped if base in _STRIPPED else kept).append(word)
    return " ".join(kept), stripped


def search_terms(analyzer: Analyzer, query: str) -> list[str]:
    """The distinct terms of a query that has no operators, without the words that make a question one; those too
    where it has no others. What a search looks for with the settings of a new tenant."""
    terms = analyzer.query_terms(strip_question(query)[0]) if is_question(query) else []
    return terms or analyzer.query_terms(query)
