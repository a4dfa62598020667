"""The reranker protocol, and what every adapter shares: input checks, batches, output checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from pgsift.embed._base import without_surrogates
from pgsift.errors import InvalidArgument, InvalidVector


@runtime_checkable
class Reranker(Protocol):
    """Anything that judges how well texts answer a query.

    ``identity`` says which model with which settings judged, for records of a search; ``remote``, where it
    has one, whether texts leave for another machine.
    """

    @property
    def identity(self) -> str: ...

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One finite number for each text, the greater the better; numbers of different queries need not be
        comparable."""
        ...


class BaseReranker:
    """Shared half of the adapters: they fill in :meth:`_score`."""

    remote: bool = False

    def __init__(self, *, name: str, batch_size: int) -> None:
        if batch_size < 1:
            raise InvalidArgument(f"batch_size is {batch_size}, must be at least 1")
        self.name = name
        self._batch_size = batch_size

    @property
    def revision(self) -> str:
        raise NotImplementedError

    @property
    def identity(self) -> str:
        """``name@revision``."""
        return f"{self.name}@{self.revision}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def _score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Scores of at most ``batch_size`` texts that UTF-8 can hold."""
        raise NotImplementedError

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        if isinstance(texts, str):
            raise InvalidArgument(
                "texts is one string, not a sequence of strings", hint="Pass a list: score(query, [text])."
            )
        for place, text in enumerate(texts):
            if not isinstance(text, str):
                raise InvalidArgument(f"text {place} is {type(text).__name__}, not str")
        if not query or query.isspace():
            raise InvalidArgument("the query is blank, and nothing can be judged by it")
        asked = without_surrogates(query)
        scores: list[float] = []
        for start in range(0, len(texts), self._batch_size):
            part = [without_surrogates(text) for text in texts[start : start + self._batch_size]]
            scores += checked_scores(self._score(asked, part), count=len(part), name=self.name)
        return scores


def checked_scores(scores: Sequence[float], *, count: int, name: str) -> list[float]:
    """The scores as floats, as many as there are texts and all of them finite; else
    :class:`~pgsift.errors.InvalidVector`."""
    hint = "A reranker gives one finite number for each text. Check the model, or leave the reranker out."
    try:
        numbers = [float(score) for score in scores]
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidVector(
            f"reranker {name!r} returned something that is no list of numbers: {error}", hint=hint
        ) from error
    if len(numbers) != count:
        raise InvalidVector(
            f"reranker {name!r} returned {len(numbers)} scores for {count} texts", hint=hint
        )
    for place, number in enumerate(numbers):
        if not math.isfinite(number):
            raise InvalidVector(f"reranker {name!r} returned {number} for text {place}", hint=hint)
    return numbers


def is_remote(model: object) -> bool:
    """Whether texts leave for another machine; a model that does not say so keeps them here."""
    return bool(getattr(model, "remote", False))
