"""The result of an evaluation, as a plain dictionary and as a table of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pgsift.evaluate.analysis import LegReport
from pgsift.evaluate.metrics import MEASURES, Bootstrap, Estimate, PerQuery


@dataclass(frozen=True)
class ModeResult:
    """What one mode (``lexical``, ``dense``, ``hybrid``) scored.

    ``estimates`` and ``per_query`` have a measure as key. ``empty`` counts the queries that found nothing.
    ``milliseconds`` is the median time of one search, without embedding the query; ``None`` where not timed.
    ``duplicates`` is the share of the first ten hits whose text, or nearly, stands above them; ``None`` where not
    looked at.
    """

    estimates: Mapping[str, Estimate]
    per_query: Mapping[str, PerQuery]
    empty: int = 0
    milliseconds: float | None = None
    duplicates: float | None = None


@dataclass(frozen=True)
class Report:
    """An evaluation of one collection.

    ``settings`` says everything that was chosen (analyzer, embedder, k, depth, weights, …). ``differences``
    holds, for each pair ``(mode, baseline)``, the paired difference of each measure. ``forms[mode][form]``
    is a mode with the queries put in another form, ``legs[unit]`` what each ranking has of the relevant
    documents, and ``questions`` how many of the queries are questions by their form.
    """

    collection: str
    documents: int
    queries: int
    judgments: int
    settings: Mapping[str, Any]
    modes: Mapping[str, ModeResult]
    differences: Mapping[tuple[str, str], Mapping[str, Estimate]] = field(default_factory=dict)
    forms: Mapping[str, Mapping[str, ModeResult]] = field(default_factory=dict)
    legs: Mapping[str, LegReport] = field(default_factory=dict)
    questions: int | None = None

    def mean(self, mode: str, measure: str) -> float:
        """One figure: ``report.mean('hybrid', 'nDCG@10')``."""
        return self.modes[mode].estimates[measure].mean

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Plain dictionaries, lists, strings and numbers, ready for JSON."""


        def plain(result: ModeResult) -> dict[str, Any]:
            out: dict[str, Any] = {
                "measures": {name: estimate.to_dict() for name, estimate in result.estimates.items()},
                "empty": result.empty,
                "milliseconds": result.milliseconds,
                "duplicates": result.duplicates,
            }
            if per_query:
                out["per_query"] = {name: dict(values) for name, values in result.per_query.items()}
            return out

        return {
            "collection": self.collection,
            "documents": self.documents,
            "queries": self.queries,
            "judgments": self.judgments,
            "settings": dict(self.settings),
            "questions": self.questions,
            "modes": {mode: plain(result) for mode, result in self.modes.items()},
            "differences": [
                {
                    "mode": mode,
                    "baseline": baseline,
                    "measures": {name: estimate.to_dict() for name, estimate in estimates.items()},
                }
                for (mode, baseline), estimates in self.differences.items()
            ],
            "forms": {
                mode: {form: plain(result) for form, result in by_form.items()}
                for mode, by_form in self.forms.items()
            },
            "legs": {unit: legs.to_dict() for unit, legs in self.legs.items()},
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
        lines = [
            f"{self.collection}: {self.documents:,} documents, {self.queries:,} queries, "
            f"{self.judgments:,} judgments",
            "  ".join(f"{key}={_shown(value)}" for key, value in self.settings.items() if value is not None),
            "",
            *_aligned(self.rows()),
        ]
        if self.forms:
            lines += ["", f"forms of the queries; {self.questions or 0:,} are questions", ""]
            lines += _aligned(self.form_rows())
        for unit, legs in self.legs.items():
            lines += ["", f"relevant documents within {legs.depth} ranks (unit {unit}), of {legs.relevant:,}", ""]
            lines += _aligned(legs_rows(legs))
        repeats = {mode: one.duplicates for mode, one in self.modes.items() if one.duplicates is not None}
        if repeats:
            lines += ["", "of the first ten hits, texts that nearly stand above: "]
            lines[-1] += ", ".join(f"{mode} {share:.2%}" for mode, share in repeats.items())
        level = self.settings.get("level")
        if isinstance(level, float):
            lines += ["", f"in brackets: the {level:.0%} bootstrap interval over queries"]
        return "\n".join(lines)

    def form_rows(self) -> list[tuple[str, ...]]:
        """The table of forms: a heading row, then one for each mode and form."""
        rows: list[tuple[str, ...]] = [("mode: form", *MEASURES)]
        for mode, by_form in self.forms.items():
            for form, result in by_form.items():
                rows.append(
                    (f"{mode}: {form}", *(_interval(result.estimates[measure]) for measure in MEASURES))
                )
        return rows

    def to_markdown(self) -> str:
        """The tables of :meth:`to_table` as Markdown, with a line above each that says what it is."""
        level = self.settings.get("level", 0.95)
        settings = ", ".join(
            f"{key} {_shown(value)}" for key, value in self.settings.items() if value is not None
        )
        parts = [
            f"{self.documents:,} documents, {self.queries:,} queries ({self.questions or 0:,} of them questions), "
            f"{self.judgments:,} judgments; {settings}. In brackets the {level:.0%} interval.",
            _markdown(self.rows()),
        ]
        if self.forms:
            parts += ["Forms of the queries:", _markdown(self.form_rows())]
        for unit, legs in self.legs.items():
            parts += [
                f"Of {legs.relevant:,} relevant documents, within {legs.depth} ranks (unit {unit}):",
                _markdown(legs_rows(legs)),
            ]
        repeats = {mode: one.duplicates for mode, one in self.modes.items() if one.duplicates is not None}
        if repeats:
            parts.append(
                "Duplicates among the first ten hits: "
                + ", ".join(f"{mode} {share:.2%}" for mode, share in repeats.items())
                + "."
            )
        return "\n\n".join(parts) + "\n"


def legs_rows(legs: LegReport) -> list[tuple[str, ...]]:
    """What each ranking has of the relevant documents: a heading row, then one row."""
    heading = ("both", "lexical alone", "dense alone", "neither", "recall of the union", "recall of the hybrid")
    shares = (f"{legs.share(part):.2%}" for part in ("both", "lexical_only", "dense_only", "neither"))
    hybrid = "" if legs.hybrid is None else _interval(legs.hybrid)
    return [heading, (*shares, _interval(legs.union), hybrid)]


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _markdown(rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|---" * len(rows[0]) + "|")
    return "\n".join(lines)


def summarize(
    per_query: Mapping[str, Mapping[str, PerQuery]], bootstrap: Bootstrap
) -> tuple[dict[str, dict[str, Estimate]], dict[tuple[str, str], dict[str, Estimate]]]:
    """Estimates per mode, and the paired differences of ``hybrid`` to each other mode of its unit."""
    estimates = {
        mode: {measure: bootstrap.estimate(values) for measure, values in measures.items()}
        for mode, measures in per_query.items()
    }
    differences: dict[tuple[str, str], dict[str, Estimate]] = {}
    for name in per_query:
        mode, comma, unit = name.partition(", ")
        if mode != "hybrid":
            continue
        for baseline in per_query:
            if baseline != name and baseline.partition(", ")[1:] == (comma, unit):
                differences[name, baseline] = {
                    measure: bootstrap.difference(values, per_query[baseline][measure])
                    for measure, values in per_query[name].items()
                }
    return estimates, differences


def _interval(estimate: Estimate, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    return f"{estimate.mean:{sign}.4f} [{estimate.low:{sign}.3f}, {estimate.high:{sign}.3f}]"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}:{item:g}" for key, item in value.items())
    return str(value)
