"""From reranked candidates to a page, as the database does it (``sift._choose``): pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from pgsift.domain.errors import InvalidArgument

__all__ = ["choose", "tokens_of"]


def tokens_of(body: str) -> int:
    """Tokens of a text as a token budget counts them: one for every four bytes in UTF-8, the last four begun."""
    return -(-len(body.encode("utf-8", "surrogatepass")) // 4)


def choose(
    documents: Sequence[Hashable],
    *,
    k: int,
    per_document: int | None = None,
    bodies: Sequence[str] | None = None,
    token_budget: int | None = None,
) -> tuple[list[int], bool]:
    """Places of the first ``k`` candidates that the cap of their document lets in and the budget can hold, and
    whether one did not fit.

    ``documents`` has the document of each candidate, best first; ``bodies`` their texts, needed for a budget.
    A text that does not fit is passed over and takes nothing from the ones after it.
    """
    if k < 0 or (per_document is not None and per_document < 1) or (token_budget is not None and token_budget < 1):
        raise InvalidArgument(
            f"k {k}, per_document {per_document}, token_budget {token_budget}: k must not be negative, the others"
            " be at least 1"
        )
    if token_budget is not None and bodies is None:
        raise InvalidArgument("a token budget needs the texts")
    left, refused = token_budget, False
    taken: Counter[Hashable] = Counter()
    places: list[int] = []
    for place, document in enumerate(documents):
        if len(places) >= k:
            break
        if left is not None and bodies is not None:
            tokens = tokens_of(bodies[place])
            if tokens > left:
                refused = True
                continue
        else:
            tokens = 0
        if per_document is not None and taken[document] >= per_document:
            continue
        places.append(place)
        taken[document] += 1
        if left is not None:
            left -= tokens
    return places, refused
