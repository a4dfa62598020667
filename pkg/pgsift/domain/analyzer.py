"""What a term is.

Three analyzers, each a pure function of the text. The twin in SQL (``sift.tokenize``) reads the same tables
and applies the same patterns; both sides agree on every code point and on any text.

``standard``
    1. What the frozen tables (:mod:`pgsift.domain._analyzer_tables`) do not know becomes a space; then NFKC,
       then full case folding. How known characters normalize and fold never changes between versions of
       Unicode, so the interpreter's NFKC may be used; all else comes from the tables.
    2. Words are runs of letters, numbers and the combining marks of letters. A mark that follows anything but
       a letter or another mark of a letter separates.
    3. Within them, runs of scripts written without spaces become their code points, each followed by the
       overlapping pair that starts there; a mark is a code point of its own. A run may mix these scripts, and
       ends where another script begins: ``docker船`` is the word ``docker`` and a run.
    4. Stopwords go, and words of one code point that is not a letter or number of those scripts. A word is
       cut at 256 bytes of UTF-8.
    5. Order and repeats are kept.

    A *query* has of a run only the pairs, and of a run of one code point that: ``船`` finds ``船在印度洋``,
    and ``火星`` does not find a text for the ``火`` in it.

``english``
    ``standard``, then the Porter2 stem of each token that consists of Latin letters.

``identifiers``
    ``standard``, and compounds whole. A compound is two or more words joined by one of
    ``. / @ : & # - \\ + ++ :: :// ->`` or by underscores; or a word followed by ``++`` or ``#``; or a word in
    camelCase. The order is: the compound as written (folded); then for each of its words from the left, the
    dotted number that starts there (``v1.18.6rc1`` in ``nginx-v1.18.6rc1``, then ``1.18.6`` without the
    letters it touches), the word with its ``++`` or ``#``, the word, its camelCase parts. A hyphen U+2010
    counts as ``-``.

    A *query* leaves out the words of dotted numbers: ``1.18.6`` asks for that and not for any ``18``, and so
    does not match ``1.18.60``. A query ``18`` still finds both.

Tokens are never empty and hold no white space and no control characters.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from pgsift.domain import _analyzer_tables as tables
from pgsift.domain import _porter2
from pgsift.domain.errors import UnknownAnalyzer

__all__ = [
    "ANALYZERS",
    "MAX_TOKEN_BYTES",
    "STOPWORDS",
    "Analysis",
    "Analyzer",
    "UnknownAnalyzer",
    "get_analyzer",
]

ANALYZERS: tuple[str, ...] = ("standard", "english", "identifiers")

# Raised whenever a rule below changes what any text becomes.
_RULES_VERSION = 2

MAX_TOKEN_BYTES = 256

# The English stopwords of Lucene.
STOPWORDS = frozenset(
    (
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no",
        "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this",
        "to", "was", "will", "with",
    )
)  # fmt: skip

# A word of a dotted number, in the candidates of a query; no word starts with a dot.
_NUMBER_PART = "."

_ASCII_WORD = re.compile("[a-z0-9]{2,}")


@dataclass(frozen=True, slots=True)
class Analysis:
    """The tokens of a text in order, repeats included, and how many of them were cut at 256 bytes."""

    tokens: list[str]
    cuts: int


def _code_points(table: str) -> list[tuple[int, int]]:
    ranges = []
    for word in table.split():
        first, _, last = word.partition("-")
        ranges.append((int(first, 16), int(last or first, 16)))
    return ranges


@cache
def _set(name: str) -> str:
    """The inside of a bracket expression for a frozen set of characters."""
    table: str = getattr(tables, name)
    return "".join(chr(a) if a == b else f"{chr(a)}-{chr(b)}" for a, b in _code_points(table))


@cache
def _folds() -> dict[str, str]:
    """Full case folding of the characters NFKC can yield, those that change."""
    folds: dict[str, str] = {}
    for word in tables.FOLD_SIMPLE.split():
        span, sign, delta = re.split("([+-])(?=[^+-]+$)", word)
        span, _, step = span.partition("/")
        first, _, last = span.partition("-")
        distance = int(sign + delta, 16)
        for point in range(int(first, 16), int(last or first, 16) + 1, int(step or "1")):
            folds[chr(point)] = chr(point + distance)
    for word in tables.FOLD_FULL.split():
        source, _, target = word.partition(">")
        folds[chr(int(source, 16))] = "".join(chr(int(point, 16)) for point in target.split("."))
    return folds


def sql_tables() -> dict[str, str]:
    """The constants the SQL twin is generated from, by the name it knows them by."""
    folds = {source: target for source, target in _folds().items() if source > "\x7f"}  # lower() does ASCII
    one = {source: target for source, target in folds.items() if len(target) == 1}
    several = {source: target for source, target in folds.items() if len(target) > 1}
    return {
        "known": _set("KNOWN"),
        "alphanumeric": _set("ALPHANUMERIC"),
        "number": _set("NUMBERS"),
        "mark": _set("MARKS"),
        "unspaced": _set("UNSPACED"),
        "latin": _set("LATIN"),
        "upper": _set("UPPER"),
        "lower": _set("LOWER"),
        "foldable": "".join(folds),
        "fold_from": "".join(one),
        "fold_to": "".join(one.values()),
        # each as a source character, its target, and a space
        "fold_full": "".join(f"{source}{target} " for source, target in several.items()),
        "stopwords": " ".join(sorted(STOPWORDS)),
    }


# Characters that may join or follow the words of a compound.
_JOINERS = r"_./@:&+#>\\-"
_JOIN = r"_+|[./@:&#\\-]|\+\+?|::|://|->"


class _Patterns:
    """Everything compiled from the tables; made once, when the first text that needs it comes."""

    def __init__(self) -> None:
        alnum, number, mark, unspaced = _set("ALPHANUMERIC"), _set("NUMBERS"), _set("MARKS"), _set("UNSPACED")
        upper, lower = _set("UPPER"), _set("LOWER")
        word = f"[^{unspaced} {_JOINERS}]"
        self.unknown = re.compile(f"[^{_set('KNOWN')}]+")
        self.foldable = re.compile(f"[{''.join(_folds())}]")
        self.separators = re.compile(f"[^{alnum}{mark}]+")
        self.stray_marks = re.compile(f"(^|[{number} ])[{mark}]+")
        self.unspaced = re.compile(f"[{unspaced}]")
        self.runs = re.compile(f"[{unspaced}][{unspaced}{mark}]*|[^{unspaced} ]+")
        self.latin = re.compile(f"[{_set('LATIN')}]+")

        self.separators_but_joiners = re.compile(f"[^{alnum}{mark}{_JOINERS}]+")
        self.stray_marks_or_joiners = re.compile(f"(^|[{number} {_JOINERS}])[{mark}]+")
        sign = rf"(?:\+\+|#)(?!{word})"
        self.compounds = re.compile(
            f"[{unspaced}][{unspaced}{mark}]*|{word}+(?:{sign})?(?:(?:{_JOIN}){word}+(?:{sign})?)*"
        )
        camel = f"[{lower}{number}][{upper}]|[{upper}]{{2}}[{lower}]"
        self.camel = re.compile(camel)
        self.compound = re.compile(f"[{_JOINERS}]|{camel}")
        self.hard_dots = re.compile(rf"([{number}])\.(?=[{number}])")
        self.segments = re.compile(rf"{word}+(?:\+\+|#(?!{word}))?")
        self.letters_before_number = re.compile(rf"^[^{number}.]+(?=[{number}]+\.)")
        self.letters_after_number = re.compile(rf"(\.[{number}]+)[^{number}.][^.]*$")
        self.lower_upper = re.compile(f"([{lower}])([{upper}])")
        self.upper_upper_lower = re.compile(f"([{upper}])([{upper}][{lower}])")
        self.number_upper_lower = re.compile(f"([{number}])([{upper}][{lower}])")


@cache
def _patterns() -> _Patterns:
    return _Patterns()


def _normalize(text: str) -> str:
    """Step 1 without the folding."""
    return unicodedata.normalize("NFKC", _patterns().unknown.sub(" ", text))


def _fold(text: str) -> str:
    folds = _folds()
    return _patterns().foldable.sub(lambda match: folds[match[0]], text)


def _split(run: str, query: bool) -> list[str]:
    """The words of a run of scripts written without spaces."""
    if len(run) == 1:
        return [run]
    pairs = [a + b for a, b in pairwise(run)]
    if query:
        return pairs
    words = [""] * (2 * len(run) - 1)
    words[::2] = run
    words[1::2] = pairs
    return words


def _words(text: str, query: bool) -> list[str]:
    """Steps 1 to 3: what may become a token of ``standard``."""
    patterns = _patterns()
    folded = patterns.separators.sub(" ", _fold(_normalize(text)))
    folded = patterns.stray_marks.sub(r"\1 ", folded)
    if not patterns.unspaced.search(folded):
        return folded.split(" ")
    words: list[str] = []
    for run in patterns.runs.findall(folded):
        if patterns.unspaced.match(run):
            words.extend(_split(run, query))
        else:
            words.append(run)
    return words


def _camel_parts(word: str) -> list[str]:
    patterns = _patterns()
    if not patterns.camel.search(word):
        return []
    for boundary in (patterns.lower_upper, patterns.upper_upper_lower, patterns.number_upper_lower):
        word = boundary.sub(r"\1 \2", word)
    parts = word.split(" ")
    return parts if len(parts) > 1 else []


def _compound_words(compound: str, query: bool) -> list[str]:
    """A compound and what it consists of, as written; *query* marks the words of dotted numbers."""
    patterns = _patterns()
    words = [compound]
    # A dot between two numbers is written as a comma, which a compound cannot hold.
    for segment in patterns.segments.findall(patterns.hard_dots.sub(r"\1,", compound)):
        bare = segment.rstrip("+#")
        if segment != bare and segment != compound:
            words.append(segment.replace(",", "."))
        if "," not in bare:
            if bare != compound:
                words.append(bare)
            words.extend(_camel_parts(bare))
            continue
        dotted = bare.replace(",", ".")
        if dotted != compound:
            words.append(dotted)
        number = patterns.letters_before_number.sub("", dotted)
        number = patterns.letters_after_number.sub(r"\1", number)
        if number != dotted:
            words.append(number)
        for part in bare.split(","):
            prefix = _NUMBER_PART if query else ""
            words.extend(prefix + word for word in (part, *_camel_parts(part)))
    return words


def _identifier_words(text: str, query: bool) -> list[str]:
    """The candidates of ``identifiers``: those of ``standard``, and compounds whole."""
    patterns = _patterns()
    text = _normalize(text).replace("\u2010", "-")
    text = patterns.separators_but_joiners.sub(" ", text)
    text = patterns.stray_marks_or_joiners.sub(r"\1 ", text)
    words: list[str] = []
    for run in patterns.compounds.findall(text):
        if patterns.unspaced.match(run):
            words.extend(_split(run, query))
        elif patterns.compound.search(run):
            words.extend(_compound_words(run, query))
        else:
            words.append(run)
    return _fold(" ".join(words)).split(" ")


def _cut(token: str) -> str:
    """The longest beginning of at most 256 bytes that ends between two characters."""
    return token.encode()[:MAX_TOKEN_BYTES].decode(errors="ignore")


_STEM_CACHE_SIZE = 200_000
_stems: dict[str, str] = {}


def _stem(token: str) -> str:
    stem = _stems.get(token)
    if stem is None:
        latin = (token.isascii() and token.isalpha()) or _patterns().latin.fullmatch(token)
        stem = _porter2.stem(token) if latin else token
        if len(_stems) >= _STEM_CACHE_SIZE:
            _stems.clear()
        _stems[token] = stem
    return stem


def _kept(word: str) -> bool:
    if word in STOPWORDS:
        return False
    return len(word) > 1 or (len(word) == 1 and _patterns().unspaced.match(word) is not None)


@dataclass(frozen=True, slots=True)
class Analyzer:
    """One of the analyzers; :func:`get_analyzer` returns it."""

    name: str
    fingerprint: str
    """16 hexadecimal digits; equal where any text becomes the same tokens, in Python and in the database."""

    def analyze(self, text: str) -> Analysis:
        """The tokens of a text to be indexed, and how many of them were cut."""
        return self._analyze(text, query=False)

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text to be indexed, in order, repeats included."""
        return self.analyze(text).tokens

    def query_terms(self, text: str) -> list[str]:
        """The distinct terms to search for, in the order of their first occurrence.

        They are among the tokens of the text. Runs of scripts written without spaces are asked for by their
        pairs alone, and ``identifiers`` leaves out the words of dotted numbers.
        """
        return list(dict.fromkeys(self._analyze(text, query=True).tokens))

    def _analyze(self, text: str, query: bool) -> Analysis:
        if self.name == "identifiers":
            words = _identifier_words(text, query)
            if query:
                words = [word for word in words if not word.startswith(_NUMBER_PART)]
        elif text.isascii():  # the same by one pattern: it drops words of one character at once
            words = _ASCII_WORD.findall(text.lower())
        else:
            words = _words(text, query)
        return self._finish(words)

    def _finish(self, words: list[str]) -> Analysis:
        """Step 4, and stems."""
        cuts = 0
        tokens = [word for word in words if _kept(word)]
        for position, token in enumerate(tokens):
            if len(token) > MAX_TOKEN_BYTES // 4 and len(token.encode()) > MAX_TOKEN_BYTES:
                tokens[position] = _cut(token)
                cuts += 1
        if self.name == "english":
            tokens = [_stem(token) for token in tokens]
        return Analysis(tokens, cuts)


def _fingerprint(name: str) -> str:
    content: dict[str, object] = {"analyzer": name, "rules": _RULES_VERSION, "bytes": MAX_TOKEN_BYTES}
    content |= sql_tables()
    if name == "english":
        public: Callable[[str], bool] = str.isupper
        content |= {key: value for key, value in vars(_porter2).items() if public(key)}
    if name == "identifiers":
        content |= {"joiners": _JOINERS, "join": _JOIN}
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _analyzer(name: str) -> Analyzer:
    return Analyzer(name, _fingerprint(name))


def get_analyzer(name: str) -> Analyzer:
    """The analyzer of that name, one of :data:`ANALYZERS`; :class:`UnknownAnalyzer` for any other name."""
    if name not in ANALYZERS:
        raise UnknownAnalyzer(
            f"there is no analyzer {name!r}", hint=f"The analyzers are {', '.join(ANALYZERS)}."
        )
    return _analyzer(name)
