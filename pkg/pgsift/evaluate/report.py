"""The result of an evaluation, as a plain dictionary and as a table of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pgsift.evaluate.metrics import MEASURES, Bootstrap, Estimate, PerQuery


@dataclass(frozen=True)
class ModeResult:
    """What one mode (``lexical``, ``dense``, ``hybrid``) scored.

    ``estimates`` and ``per_query`` have a measure as key. ``empty`` counts the queries that found nothing.
    ``milliseconds`` is the median time of one search, without embedding the query; ``None`` where not timed.
    """

    estimates: Mapping[str, Estimate]
    per_query: Mapping[str, PerQuery]
    empty: int = 0
    milliseconds: float | None = None


@dataclass(frozen=True)
class Report:
    """An evaluation of one collection.

    ``settings`` says everything that was chosen (analyzer, embedder, k, depth, weights, …). ``differences``
    holds, for each pair ``(mode, baseline)``, the paired difference of each measure.
    """

    collection: str
    documents: int
    queries: int
    judgments: int
    settings: Mapping[str, Any]
    modes: Mapping[str, ModeResult]
    differences: Mapping[tuple[str, str], Mapping[str, Estimate]] = field(default_factory=dict)

    def mean(self, mode: str, measure: str) -> float:
        """One figure: ``report.mean('hybrid', 'nDCG@10')``."""
        return self.modes[mode].estimates[measure].mean

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers, ready for JSON."""
        modes: dict[str, Any] = {}
        for mode, result in self.modes.items():
            modes[mode] = {
                "measures": {name: estimate.to_dict() for name, estimate in result.estimates.items()},
                "empty": result.empty,
                "milliseconds": result.milliseconds,
            }
            if per_query:
                modes[mode]["per_query"] = {name: dict(values) for name, values in result.per_query.items()}
        return {
            "collection": self.collection,
            "documents": self.documents,
            "queries": self.queries,
            "judgments": self.judgments,
            "settings": dict(self.settings),
            "modes": modes,
            "differences": [
                {
                    "mode": mode,
                    "baseline": baseline,
                    "measures": {name: estimate.to_dict() for name, estimate in estimates.items()},
                }
                for (mode, baseline), estimates in self.differences.items()
            ],
        }

    def rows(self) -> list[tuple[str, ...]]:
        """The table: a heading row, then one row per mode and per difference, every cell a string."""
        rows: list[tuple[str, ...]] = [("mode", *MEASURES, "ms")]
        for mode, result in self.modes.items():
            time = "" if result.milliseconds is None else f"{result.milliseconds:.1f}"
            cells = (_interval(result.estimates[measure]) for measure in MEASURES)
            rows.append((mode, *cells, time))
        for (mode, baseline), estimates in self.differences.items():
            cells = (_interval(estimates[measure], signed=True) for measure in MEASURES)
            rows.append((f"{mode} - {baseline}", *cells, ""))
        return rows

    def to_table(self) -> str:
        """The report as aligned lines of text: what was measured, then :meth:`rows`."""
        rows = self.rows()
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            f"{self.collection}: {self.documents:,} documents, {self.queries:,} queries, "
            f"{self.judgments:,} judgments",
            "  ".join(f"{key}={_shown(value)}" for key, value in self.settings.items() if value is not None),
            "",
        ]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append("  ".join(cells).rstrip())
        level = self.settings.get("level")
        if isinstance(level, float):
            lines += ["", f"in brackets: the {level:.0%} bootstrap interval over queries"]
        return "\n".join(lines)


def summarize(
    per_query: Mapping[str, Mapping[str, PerQuery]], bootstrap: Bootstrap
) -> tuple[dict[str, dict[str, Estimate]], dict[tuple[str, str], dict[str, Estimate]]]:
    """Estimates per mode, and the paired differences of ``hybrid`` to each other mode."""
    estimates = {
        mode: {measure: bootstrap.estimate(values) for measure, values in measures.items()}
        for mode, measures in per_query.items()
    }
    differences: dict[tuple[str, str], dict[str, Estimate]] = {}
    if "hybrid" in per_query:
        for baseline in per_query:
            if baseline != "hybrid":
                differences["hybrid", baseline] = {
                    measure: bootstrap.difference(values, per_query[baseline][measure])
                    for measure, values in per_query["hybrid"].items()
                }
    return estimates, differences


def _interval(estimate: Estimate, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    return f"{estimate.mean:{sign}.4f} [{estimate.low:{sign}.3f}, {estimate.high:{sign}.3f}]"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}:{item:g}" for key, item in value.items())
    return str(value)
