"""The record of queries: what is written down of a search, and asking recorded queries again."""

from __future__ import annotations

import datetime
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pgsift import _calls
from pgsift.domain.drift import compare_hits
from pgsift.errors import InvalidArgument, PgsiftError
from pgsift.models import Hit, LoggedQuery, QueryDrift, ReplayReport
from pgsift.rerank import Reranker, TokenEmbedder

if TYPE_CHECKING:
    from pgsift.store_async import AsyncStore

# What is recorded apart from the settings, or is no setting of the search.
_APART = {"self", "tenant", "query", "principals", "query_embedding", "log", "report_terms", "sources"}
# What a tenant's settings answer for when the search does not say.
_DEFAULTED = (
    "k1", "b", "title_weight", "abstract_weight", "rrf_k", "weights", "strip_questions", "expand", "model",
)  # fmt: skip


def settings_of(arguments: Mapping[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """Of the arguments of a search those that differ from its defaults, as JSON can hold them: models by name."""
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(function).parameters.items()
    }
    settings: dict[str, Any] = {}
    for name, value in arguments.items():
        if name in _APART or name not in defaults or (value is None and defaults[name] is None):
            continue
        if name == "query_token_embeddings":
            settings[name] = "given"
        elif name in ("embedder", "token_embedder"):
            settings[name] = getattr(value, "name", None)
        elif name == "rerank":
            settings[name] = value.identity
        elif name == "filter":
            compiled = _calls.filter_json(value)
            if compiled is not None:
                settings[name] = json.loads(compiled)
        elif isinstance(value, datetime.datetime):
            settings[name] = value.isoformat()
        elif name == "weights":
            settings[name] = [float(weight) for weight in value]
        elif value is None or isinstance(value, bool | str):
            if value != defaults[name]:
                settings[name] = value
        elif value != defaults[name]:
            settings[name] = int(value) if hasattr(value, "__index__") else float(value)
    return settings


class AsyncReplay:
    """Recorded queries, asked again with the settings and the vector of then."""

    def __init__(
        self,
        store: AsyncStore,
        tenant: str,
        *,
        principals: Sequence[str] | None,
        current_settings: bool,
        rerank: Reranker | None,
        token_embedder: TokenEmbedder | None,
    ) -> None:
        self.store = store
        self.tenant = tenant
        self.principals = principals
        self.current_settings = current_settings
        self.rerank = rerank
        self.token_embedder = token_embedder
        self.accepted = set(inspect.signature(store.search).parameters) - _APART

    async def run(
        self, entries: Sequence[LoggedQuery], progress: Callable[[int, int], None] | None
    ) -> ReplayReport:
        """The drift of each."""
        report: list[QueryDrift] = []
        for number, entry in enumerate(entries, start=1):
            report.append(await self._again(entry))
            if progress is not None:
                progress(number, len(entries))
        return ReplayReport(report)

    async def _again(self, entry: LoggedQuery) -> QueryDrift:
        try:
            hits = await self._hits(entry)
        except PgsiftError as error:
            return QueryDrift(entry.query_id, entry.query, entry.asked_at, problem=error.message)
        now = [
            {
                name: getattr(hit, name)
                for name in (
                    "rank", "chunk_id", "document_id", "key", "score", "lexical_score", "distance", "rerank_score",
                )
            }
            for hit in hits
        ]  # fmt: skip
        return QueryDrift(entry.query_id, entry.query, entry.asked_at, drift=compare_hits(entry.hits, now))

    async def _hits(self, entry: LoggedQuery) -> Sequence[Hit]:
        settings = dict(entry.settings)
        unknown = sorted(settings.keys() - self.accepted)
        if unknown:
            raise InvalidArgument(f"it was asked with settings that a search does not have: {', '.join(unknown)}")
        settings.pop("embedder", None)
        judge, late = settings.pop("rerank", None), settings.pop("token_embedder", None)
        given = settings.pop("query_token_embeddings", None)
        if judge is not None and (self.rerank is None or self.rerank.identity != judge):
            raise InvalidArgument(f"it was reranked by {judge}, which is not given")
        if late is not None and (self.token_embedder is None or self.token_embedder.name != late):
            raise InvalidArgument(f"it was reranked by token vectors of {late}, which is not given")
        if given is not None and late is None:
            raise InvalidArgument("it was asked with token vectors of its own, which are not recorded")
        if entry.principals is None and self.principals is None:
            raise InvalidArgument("it is not recorded for whom it was asked; say so with principals")
        if not self.current_settings:
            settings |= {
                name: entry.defaults[name]
                for name in _DEFAULTED
                if settings.get(name) is None and name in entry.defaults
            }
        if settings.get("mode") == "lexical":
            settings.pop("model", None)
        # Without a vector of its own no model is asked for one: then the query had none either.
        return await self.store.search(
            self.tenant,
            entry.query,
            principals=entry.principals if self.principals is None else self.principals,
            query_embedding=entry.query_embedding,
            embedder=None if entry.query_embedding is not None else NO_EMBEDDER,
            rerank=self.rerank if judge is not None else None,
            token_embedder=self.token_embedder if late is not None else None,
            snippet_width=None,
            **{name: value for name, value in settings.items() if name != "snippet_width"},
        )


#: Given as embedder of a search: none, not even the store's.
NO_EMBEDDER: Any = object()
