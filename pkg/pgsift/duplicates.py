"""Signatures of texts, by which near-duplicates are found.

A text is the set of its shingles: runs of :data:`SHINGLE` tokens. Its MinHash signature (A. Z. Broder: On the
resemblance and containment of documents, 1997) is cut into bands of ``rows`` values; two texts of Jaccard
similarity *s* share at least one of ``bands`` bands with the probability ``1 - (1 - s**rows)**bands``. Texts
that share a band are candidates; the database counts their common shingles and decides.

A text that contains another whole shares no band with it as a rule: their similarity is the smaller the longer
it is. It does have the other's :func:`anchors`, and by these the database finds the two.

The signatures are datasketch's (extra ``dedup``). They are the same in every process and on every platform:
SHA-1 of the shingle, permutations from a fixed seed. Should a release of the library ever make others, the
:attr:`Scheme.name` changes with them, and the database asks for all signatures anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pgsift.errors import InvalidArgument, MissingExtra

#: Tokens in a shingle.
SHINGLE = 5
#: Texts of fewer tokens are near-duplicates of their copies alone: a word more or less is another text.
MIN_TOKENS = 20
#: Values in a signature, at most.
PERMUTATIONS = 128
#: How likely two texts just at the threshold are to become candidates, at least.
RECALL = 0.995
#: Anchors of a text.
ANCHORS = 8
_SEED = 1
_SAMPLE = ("the", "same", "signature", "in", "every", "process", "and", "on", "every", "platform")


def shingles(tokens: Sequence[str]) -> set[str]:
    """The distinct runs of :data:`SHINGLE` tokens, joined by a space; of fewer tokens the one run of all."""
    if not tokens:
        return set()
    return {" ".join(tokens[i : i + SHINGLE]) for i in range(max(len(tokens) - SHINGLE + 1, 1))}


def jaccard(a: Iterable[str], b: Iterable[str]) -> float:
    """Jaccard similarity of two sets of shingles, ``|a ∩ b| / |a ∪ b|``; 0 of two empty ones."""
    first, second = set(a), set(b)
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def anchors(of: Iterable[str]) -> list[int]:
    """The :data:`ANCHORS` smallest hashes of shingles: the first eight bytes of the MD5, as a signed number.
    The database makes the same (``sift._anchor``)."""
    return sorted(
        int.from_bytes(hashlib.md5(shingle.encode(), usedforsecurity=False).digest()[:8], "big", signed=True)
        for shingle in of
    )[:ANCHORS]


def candidate_probability(similarity: float, bands: int, rows: int) -> float:
    """The probability that two texts share a band."""
    return float(1.0 - (1.0 - similarity**rows) ** bands)


def banding(threshold: float) -> tuple[int, int]:
    """Bands and rows: the longest bands that still find pairs at the threshold with probability
    :data:`RECALL`."""
    for rows in range(PERMUTATIONS, 1, -1):
        bands = PERMUTATIONS // rows
        if candidate_probability(threshold, bands, rows) >= RECALL:
            return bands, rows
    return PERMUTATIONS, 1


@dataclass(frozen=True, slots=True)
class Scheme:
    """How signatures are made. ``name`` says all of it, a checksum of a sample's signature included."""

    threshold: float
    bands: int
    rows: int
    name: str

    def sign(self, tokens: Sequence[str]) -> tuple[int, list[int], list[int]]:
        """Number of distinct shingles, the bands and the anchors as 64-bit integers; neither of a text that
        is too short."""
        found = shingles(tokens)
        if len(tokens) < MIN_TOKENS:
            return len(found), [], []
        return len(found), _bands(_signature(found, self.bands * self.rows), self.rows), anchors(found)


def scheme(threshold: float) -> Scheme:
    """The scheme for a threshold of similarity above 0 and at most 1; :class:`MissingExtra` without
    datasketch."""
    if not 0.0 < threshold <= 1.0:
        raise InvalidArgument(
            f"threshold must be above 0 and at most 1, not {threshold!r}",
            hint="It is the share of common runs of five words; 0.8 is usual.",
        )
    bands, rows = banding(threshold)
    checksum = hashlib.sha256(_signature(shingles(_SAMPLE), bands * rows)).hexdigest()[:16]
    name = (
        f"minhash shingle={SHINGLE} min={MIN_TOKENS} bands={bands} rows={rows} sample={checksum} "
        f"anchors={ANCHORS}"
    )
    return Scheme(threshold, bands, rows, name)


def token_hash(tokens: Sequence[str]) -> str | None:
    """SHA-256 of the tokens in their order, in hexadecimal; ``None`` where there is none."""
    return hashlib.sha256(" ".join(tokens).encode()).hexdigest() if tokens else None


def signature(document_id: int, version: int, tokens: Sequence[str], made_by: Scheme) -> dict[str, Any]:
    """What ``sift.put_signatures`` takes of one document."""
    size, bands, anchored = made_by.sign(tokens)
    return {
        "document_id": document_id,
        "version": version,
        "token_hash": token_hash(tokens),
        "shingles": size,
        "bands": bands,
        "anchors": anchored,
    }


def signatures(documents: Iterable[tuple[int, int, Sequence[str]]], made_by: Scheme) -> list[dict[str, Any]]:
    """:func:`signature` of several documents: number, version and tokens of each."""
    return [signature(document_id, version, tokens, made_by) for document_id, version, tokens in documents]


def _signature(of: set[str], size: int) -> bytes:
    """The values of a MinHash signature, each as four bytes, the lowest first."""
    sketch = _empty(size).copy()
    sketch.update_batch([shingle.encode() for shingle in of])
    return bytes(sketch.hashvalues.astype("<u4").tobytes())


def _bands(values: bytes, rows: int) -> list[int]:
    width = 4 * rows
    return [
        int.from_bytes(
            hashlib.blake2b(
                values[start : start + width], digest_size=8, person=(start // width).to_bytes(4, "little")
            ).digest(),
            "little",
            signed=True,
        )
        for start in range(0, len(values), width)
    ]


@cache
def _empty(size: int) -> Any:
    try:
        from datasketch import MinHash
    except ImportError as error:
        raise MissingExtra(
            "near-duplicates are found with the package datasketch, which is not installed",
            hint="Run: pip install 'pgsift[dedup]'",
        ) from error
    return MinHash(num_perm=size, seed=_SEED, scheme="affine32")
