"""Reranking the hits of a search outside of the database, and the backfill of token vectors, asynchronously.
:mod:`pgsift._rerank` is generated from this module and does the same without ``await``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pgsift import _calls
from pgsift._concurrency import run_in_thread
from pgsift.domain.choice import choose
from pgsift.embed import embedding_text, is_embeddable
from pgsift.errors import AlreadyExists, InvalidArgument
from pgsift.models import Hit
from pgsift.rerank import Reranker, TokenEmbedder, checked_scores, is_remote

if TYPE_CHECKING:
    from pgsift.store_async import AsyncStore

#: How many hits are judged where the caller does not say.
DEFAULT_DEPTH = 50
_MOST = 10_000
_PAGE = 64


async def reranked(
    store: AsyncStore,
    tenant: str,
    query: str | None,
    asked: str,
    *,
    reranker: Reranker,
    rerank_depth: int | None,
    k: int,
    skip: int,
    depth: int | None,
    principals: Iterable[str] | None,
    per_document: int | None,
    mmr: float | None,
    token_budget: int | None,
    model: str | None,
    as_of: Any,
    settings: Mapping[str, Any],
) -> tuple[list[Hit], list[str]]:
    """The page after reranking, and what people should know.

    The first ``rerank_depth`` hits of the search without a cap are judged, by ``body``, the text that is shown.
    Judged ones come first, by their scores, then the others in their order; a text that is blank, or that the
    tenant's options keep from a remote model, is not judged. Then the page is chosen by the rules of the
    database.
    """
    if not is_embeddable(asked):
        raise InvalidArgument(
            "there is nothing to judge the hits by: the query is blank", hint="Pass a query, or leave rerank out."
        )
    judged_depth = DEFAULT_DEPTH if rerank_depth is None else _calls.integer(rerank_depth, "rerank_depth")
    if judged_depth is None or not 1 <= judged_depth <= _MOST:
        raise InvalidArgument(
            f"rerank_depth must lie between 1 and {_MOST}, not {rerank_depth}",
            hint=f"It is how many hits are judged; {DEFAULT_DEPTH} where it is left out.",
        )
    if mmr is not None and as_of is not None:
        raise InvalidArgument(
            "mmr after a reranker does not go with as_of", hint="Leave mmr out, or rerank, to search the past."
        )
    # What the database checks when it chooses the page itself.
    page = _calls.checked_page(k, skip, per_document, mmr, token_budget)
    names = None if principals is None else list(principals)
    reach = max(page.rows, judged_depth if depth is None else min(judged_depth, depth))
    scores: dict[int, float] = {}
    withheld = 0
    judged = False
    while True:
        hits: list[Hit] = await store._all(
            _calls.search(
                tenant,
                query,
                k=reach,
                skip=0,
                depth=depth,
                principals=names,
                per_document=None,
                model=model,
                as_of=as_of,
                **settings,
            )
        )
        if not judged:
            judged = True
            considered = [hit for hit in hits[:judged_depth] if is_embeddable(hit.body)]
            sendable = [hit for hit in considered if hit.may_be_sent or not is_remote(reranker)]
            withheld = len(considered) - len(sendable)
            if sendable:
                numbers = await run_in_thread(reranker.score, asked, [hit.body for hit in sendable])
                checked = checked_scores(numbers, count=len(sendable), name=reranker.identity)
                scores = {hit.chunk_id: score for hit, score in zip(sendable, checked, strict=True)}
        ordered = [hit for hit in hits if hit.chunk_id in scores]
        ordered.sort(key=lambda hit: (-scores[hit.chunk_id], hit.rank))
        ordered += [hit for hit in hits if hit.chunk_id not in scores]
        if mmr is None:
            places, refused = choose(
                [hit.document_id for hit in ordered],
                k=page.rows,
                per_document=per_document,
                bodies=[hit.body for hit in ordered],
                token_budget=token_budget,
            )
        else:
            rows = await store._all(
                _calls.choose_chunks(
                    tenant,
                    [hit.chunk_id for hit in ordered],
                    [scores.get(hit.chunk_id) for hit in ordered],
                    k=page.rows,
                    principals=names,
                    per_document=per_document,
                    mmr=mmr,
                    token_budget=token_budget,
                    model=model,
                )
            )
            by_chunk = {hit.chunk_id: place for place, hit in enumerate(ordered)}
            places, refused = [by_chunk[chunk_id] for chunk_id in rows], token_budget is not None
        if len(places) >= page.rows or refused or depth is not None or len(hits) < reach or reach >= _MOST:
            break
        # The cap left room: what lies deeper moves up, unjudged.
        reach = min(2 * reach, _MOST)
    chosen = [ordered[place] for place in places]
    page_hits = [
        dataclasses.replace(hit, rank=rank, former_rank=hit.rank, rerank_score=scores.get(hit.chunk_id))
        for rank, hit in enumerate(chosen, start=1)
    ]
    warnings = []
    if withheld:
        warnings.append(
            f"{withheld} hits were not judged and come after the others: the tenant's options keep their texts "
            f"from the remote model {reranker.identity}"
        )
    return page_hits[page.skip :], warnings


async def embed_tokens(store: AsyncStore, tenant: str, embedder: TokenEmbedder) -> int:
    """Token vectors for the chunks that have none of the model; their number."""
    dimensions = await run_in_thread(lambda: embedder.dimensions)
    for known in await store.token_models():
        if known.model == embedder.name and (known.revision, known.dimensions) != (embedder.revision, dimensions):
            raise AlreadyExists(
                f"the token model {embedder.name!r} is registered with revision {known.revision!r} and "
                f"{known.dimensions} dimensions, the embedder has {embedder.revision!r} and {dimensions}",
                hint="Vectors of different making are not mixed: name the embedder differently.",
            )
    await store._one(_calls.register_token_model(embedder.name, dimensions, embedder.revision))
    after = done = 0
    while True:
        page = await store._all(
            _calls.chunks_without_token_embedding(tenant, embedder.name, _PAGE, after, is_remote(embedder))
        )
        if not page:
            return done
        after = page[-1].chunk_id
        wanted = [
            (chunk.chunk_id, text)
            for chunk in page
            if is_embeddable(text := embedding_text(chunk.title, chunk.body, chunk.prefix))
        ]
        if wanted:
            matrices = await run_in_thread(embedder.embed_document_tokens, [text for _, text in wanted])
            done += await store._one(
                _calls.put_token_embeddings(
                    tenant, embedder.name, [chunk_id for chunk_id, _ in wanted], list(matrices)
                )
            )
