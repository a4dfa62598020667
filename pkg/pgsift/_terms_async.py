"""Vectors of a tenant's terms, of which the database makes those of queries.

``_terms.py`` is generated from this module.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from pgsift import _calls
from pgsift._concurrency import run_in_thread
from pgsift._models_async import AsyncTenantEmbedder
from pgsift.embed import reads
from pgsift.embed.terms import TermVectors, count_forms, frequent_form, neutral_form
from pgsift.errors import InvalidArgument, InvalidVector
from pgsift.models import BackfillProgress, TermFitReport

#: Chunks whose terms are collected before their vectors are made; the most frequent form of a term is that in the
#: portion in which it is first met.
PORTION = 20_000
_PAGE = 1_000
#: Terms embedded and stored together: what is lost when it is interrupted.
_TERMS = 512


class AsyncTermFitting:
    """The vectors of one model for the terms of a tenant that have none.

    Chunks are read in the order of their numbers, and how far is stored with the vectors: one that was
    interrupted goes on where it was, and later runs look at what came since.
    """

    def __init__(
        self,
        model: AsyncTenantEmbedder,
        *,
        forms: str | None = None,
        portion: int = PORTION,
        progress: Callable[[BackfillProgress], None] | None = None,
    ) -> None:
        if forms not in (None, "frequent", "neutral"):
            raise InvalidArgument(f"unknown forms {forms!r}", hint="Use 'frequent' or 'neutral'.")
        if portion < 1:
            raise InvalidArgument(f"portion is {portion}, must be at least 1", hint="It is a number of chunks.")
        self.model = model
        self.store = model.store
        self.tenant = model.tenant
        self.portion = portion
        self.progress = progress
        self._forms = forms
        self._vectors = TermVectors(model.embedder)
        self._analyzer = ""
        self.chunks = self.total = self.stored = self.unread = self.failed = 0
        self._begun = time.monotonic()

    async def run(self, *, anew: bool = False, whole: bool = False) -> TermFitReport:
        """Make the vectors; ``anew`` removes those that are there first, ``whole`` looks at all chunks again."""
        store, tenant, name = self.store, self.tenant, self.model.name
        settings = await store.tenant(tenant)
        self._analyzer = settings.analyzer
        forms = self._forms or ("neutral" if settings.statistics == "visible" else "frequent")
        if settings.statistics == "visible" and forms == "frequent":
            raise InvalidArgument(
                f"the tenant {tenant!r} has statistics of what is visible: frequent forms are of all",
                hint="Leave forms out: neutral ones are taken.",
            )
        if anew:
            await store._one(_calls.drop_term_embeddings(tenant, name))
        (state,) = await store._all(_calls.show_term_fits(tenant, name))
        if state.forms not in (None, forms):
            raise InvalidArgument(
                f"the terms of {tenant!r} have vectors of {state.forms} forms, not of {forms} ones",
                hint="Make them anew (anew=True, --anew).",
            )
        after = 0 if whole else state.fitted_to
        self.total = state.chunks if whole else state.later_chunks
        while True:
            counts: dict[str, Counter[str]] = {}
            read = 0
            while read < self.portion:
                page = await store._all(
                    _calls.chunks_to_fit(tenant, min(_PAGE, self.portion - read), after, self.model.remote)
                )
                if not page:
                    break
                after = page[-1].chunk_id
                read += len(page)
                texts = ["\n".join(filter(None, (c.title, c.prefix, c.body))) for c in page]
                await run_in_thread(count_forms, self._analyzer, texts, counts)
            if not read:
                break
            await self._fit(counts, forms, read)
            await store._one(_calls.put_term_embeddings(tenant, name, [], [], after, forms))
            self.chunks += read
            self._show(0)
        (state,) = await store._all(_calls.show_term_fits(tenant, name))
        return TermFitReport(
            tenant,
            name,
            forms,
            self.chunks,
            self.stored,
            self.unread,
            self.failed,
            state.terms,
            round(time.monotonic() - self._begun, 3),
        )

    async def _fit(self, counts: dict[str, Counter[str]], forms: str, read: int) -> None:
        missing = await self.store._all(_calls.terms_without_embedding(self.tenant, self.model.name, list(counts)))
        readable = [term for term in missing if reads(self.model.embedder, term)]
        self.unread += len(missing) - len(readable)
        for start in range(0, len(readable), _TERMS):
            part = readable[start : start + _TERMS]
            chosen = [
                frequent_form(counts[term]) if forms == "frequent" else neutral_form(self._analyzer, term)
                for term in part
            ]
            found = [
                (term, vector)
                for term, vector in zip(part, await self._embed(chosen), strict=True)
                if vector is not None
            ]
            self.failed += len(part) - len(found)
            if found:
                self.stored += await self.store._one(
                    _calls.put_term_embeddings(
                        self.tenant,
                        self.model.name,
                        [term for term, _ in found],
                        [vector for _, vector in found],
                        None,
                        forms,
                    )
                )
            self._show(read * (start + len(part)) // len(readable))

    async def _embed(self, forms: Sequence[str]) -> list[Any]:
        """A vector for each form, ``None`` where the embedder gives none."""
        try:
            rows = await run_in_thread(self._vectors.vectors, forms)
        except (InvalidArgument, InvalidVector):
            if len(forms) == 1:
                return [None]
            # One that the embedder does not take; the others get theirs.
            return [(await self._embed([form]))[0] for form in forms]
        return [row if row.any() else None for row in rows]

    def _show(self, more: int) -> None:
        if self.progress is None:
            return
        seconds = time.monotonic() - self._begun
        self.progress(
            BackfillProgress.after(seconds, self.tenant, self.model.name, self.chunks + more, self.total)
        )
