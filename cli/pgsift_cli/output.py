"""Printing: JSON for programs, tables and text for people, and nothing a stored text could abuse.

What comes out of the database was written by strangers. It is never read as markup, and characters that
command a terminal (escape sequences, C1 controls, overrides of the writing direction) are shown, not sent.

For people: aligned tables and colours on a terminal; tab-separated columns with a heading, and whole lines,
where standard output is a pipe or a file. Progress and remarks go to standard error.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from pgsift.models import BackfillProgress, Evidence, Hit, IngestReport, Progress, SearchResult

# C0 controls and DEL, C1 controls, the controls of bidirectional text, line and paragraph separators, lone
# surrogates, and the invisible tag characters.
_HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\ufeff\U000e0000-\U000e007f]"
)
# What json.dumps leaves as it is although a terminal obeys it. In JSON the escaped form is the same string.
_HARMFUL_IN_JSON = re.compile(_HARMFUL.pattern.replace("\x00-\x1f", ""))
_EXCERPT = 320


def safe(text: object) -> str:
    """Any value as one line of text that a terminal shows and does not obey."""
    return _HARMFUL.sub(_visible, " ".join(str(text).split(" ")))


def _visible(match: re.Match[str]) -> str:
    character = match.group()
    if character in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def json_text(value: Any, stream: TextIO) -> str:
    """*value* as one JSON document, indented, in characters the stream can carry."""
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("_", "-")
    text = json.dumps(value, indent=2, ensure_ascii=not encoding.startswith("utf"), default=_plain)
    return _HARMFUL_IN_JSON.sub(_json_escape, text)


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


class Rates:
    """How many documents and chunks a second were dealt with, over the last half minute: an ingest stores in
    portions, and its beginning tells little of the rest."""

    SECONDS = 30.0

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int, int]] = deque()

    def add(self, now: float, documents: int, chunks: int) -> tuple[float, float]:
        """Note what is done by now; documents and chunks per second."""
        seen = self._seen
        if not seen or now - seen[-1][0] >= 0.1:
            seen.append((now, documents, chunks))
        while len(seen) > 2 and now - seen[1][0] >= self.SECONDS:
            seen.popleft()
        passed = now - seen[0][0]
        if passed <= 0:
            return 0.0, 0.0
        return (documents - seen[0][1]) / passed, (chunks - seen[0][2]) / passed


class Output:
    """Where a command prints. With ``json`` standard output gets one JSON document and nothing else."""

    def __init__(self, *, json: bool = False) -> None:
        self.json = json
        self.interactive = not json and sys.stdout.isatty()

    @property
    def _colour(self) -> bool:
        return self.interactive and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def _console(self) -> Console:
        from rich.console import Console

        return Console(markup=False, emoji=False, highlight=False, no_color=not self._colour, soft_wrap=False)

    def document(self, value: Any) -> None:
        """The answer of a command under ``--json``."""
        sys.stdout.write(json_text(value, sys.stdout) + "\n")

    def line(self, text: str = "") -> None:
        """A line of one's own words; values in it went through :func:`safe`."""
        sys.stdout.write(text + "\n")

    def text(self, text: str) -> None:
        """Several lines made by the library."""
        for line in text.splitlines():
            self.line(safe(line))

    def remark(self, text: str) -> None:
        """A sentence beside the answer, on standard error; left out under ``--json``."""
        if not self.json:
            sys.stderr.write(f"{safe(text)}\n")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Rows under a heading. Columns whose name ends in ``#`` are numbers, aligned to the right."""
        cells = [["" if cell is None else safe(cell) for cell in row] for row in rows]
        names = [name.removesuffix("#") for name in columns]
        if not self.interactive:
            for row in [names, *cells]:
                self.line("\t".join(row))
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for column, name in zip(columns, names, strict=True):
            table.add_column(
                Text(name), justify="right" if column.endswith("#") else "left", overflow="fold",
                no_wrap=column.endswith("#"),
            )  # fmt: skip
        for row in cells:
            table.add_row(*map(Text, row))
        self._console().print(table)

    def record(self, values: Mapping[str, object]) -> None:
        """Names and values, one a line."""
        if not self.interactive:
            for name, value in values.items():
                self.line(f"{name}\t{'' if value is None else safe(value)}")
            return
        width = max(map(len, values), default=0)
        for name, value in values.items():
            self.line(f"{name:<{width}}  {'-' if value is None else safe(value)}")

    def hits(self, result: SearchResult, *, full: bool = False) -> None:
        """Search results: a heading line for each hit, where it stands and why, then its text."""
        if not self.interactive:
            for hit in result:
                self.line(
                    f"{hit.rank}\t{hit.score:.6f}\t{safe(hit.key)}\t{safe(hit.title or '')}\t{_why(hit)}"
                )
                self.line("\t" + safe(_whole(hit) if full else "".join(text for text, _ in _shown(hit))))
            return
        from rich.padding import Padding
        from rich.text import Text

        console = self._console()
        for hit in result:
            heading = Text(f"{hit.rank:>3}  ")
            heading.append(safe(hit.title or hit.key), style="bold")
            heading.append(f"  {safe(hit.key)}", style="cyan")
            console.print(heading)
            console.print(Padding(Text(f"{hit.score:.6f}  {_why(hit)}", style="dim"), (0, 0, 0, 5)))
            if full:
                # Line breaks of the text are kept; everything else that moves the cursor is not.
                body = Text("\n".join(safe(line.expandtabs(4)) for line in _whole(hit).splitlines()))
            else:
                body = self._highlighted(_shown(hit))
            console.print(Padding(body, (0, 0, 1, 5)))

    def evidence(self, key: str, passages: Sequence[Evidence]) -> None:
        """Passages of a document: where each stands, then its text with its lines."""
        if not self.interactive:
            for passage in passages:
                self.line(f"{safe(key)}\t{passage.char_start}\t{passage.char_end}\t{_where(passage)}")
                for line in passage.text.splitlines():
                    self.line("\t" + safe(line.expandtabs(4)))
            return
        from rich.padding import Padding
        from rich.text import Text

        console = self._console()
        if passages:
            console.print(Text(safe(passages[0].title or key), style="bold"), Text(safe(key), style="cyan"))
        for passage in passages:
            console.print(Text(_where(passage), style="dim"))
            pieces = _pieces(passage.text, passage.highlights, lambda part: part.expandtabs(4))
            console.print(Padding(self._highlighted(pieces, lines=True), (0, 0, 1, 2)))

    def _highlighted(self, pieces: Sequence[tuple[str, bool]], *, lines: bool = False) -> Any:
        """A text in pieces, those that were searched for in bold."""
        from rich.text import Text

        text = Text()
        for piece, found in pieces:
            shown = "\n".join(map(safe, piece.split("\n"))) if lines else safe(piece)
            text.append(shown, style="bold yellow" if found else None)
        return text

    def report(self, report: IngestReport) -> None:
        """What an ingest did."""
        documents = ", ".join(
            f"{getattr(report, name):,} {name}"
            for name in ("created", "replaced", "updated", "unchanged", "moved", "deleted", "empty", "failed")
            if getattr(report, name)
        )
        self.line(f"documents: {documents or 'none'}")
        references = f", {report.references:,} of bibliographies (not ranked)" if report.references else ""
        self.line(f"chunks:    {report.chunks:,} with {report.tokens:,} tokens{references}")
        if report.vectors_computed or report.vectors_reused:
            self.line(f"vectors:   {report.vectors_computed:,} computed, {report.vectors_reused:,} reused")
        if report.terms_cut or report.characters_cleaned:
            self.line(
                f"cleaned:   {report.characters_cleaned:,} characters, {report.terms_cut:,} terms cut at "
                f"256 bytes"
            )
        if any(language != "und" for language in report.languages):
            counts = list(report.languages.items())[:12]
            self.line("languages: " + ", ".join(f"{safe(name)} {count:,}" for name, count in counts))
        if report.bibliography is not None:
            found = report.bibliography
            self.line(f"bib:       {found.entries:,} entries, {found.matched:,} files have one")
        if report.skipped:
            skipped = ", ".join(f"{count:,} {safe(reason)}" for reason, count in report.skipped.items())
            self.line(f"skipped:   {skipped}")
        self.line(f"time:      {report.seconds:.1f} s")
        for failure in report.failures:
            self.remark(
                f"failed: {failure.key or failure.source_uri or '?'} ({failure.stage}): {failure.reason}"
            )

    @contextmanager
    def progress(self) -> Iterator[Any]:
        """A function for the ``progress`` argument of an ingest: a bar on standard error when that is a
        terminal, else ``None``."""
        if not self._bars:
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True, markup=False, no_color=bool(os.environ.get("NO_COLOR")))
        # The time left first, in one column with the counts: a narrow terminal cuts columns at their ends.
        with Bar(
            TextColumn("{task.fields[phase]:<6}", markup=False), BarColumn(bar_width=20),
            TextColumn("{task.fields[done]}", markup=False), console=console, transient=True,
            speed_estimate_period=60,
        ) as bar:  # fmt: skip
            task = bar.add_task("", total=None, phase="read", done="")
            rates = Rates()

            def show(state: Progress) -> None:
                failed = f", {state.failed:,} failed" if state.failed else ""
                documents, chunks = rates.add(time.monotonic(), state.documents, state.chunks)
                bar.update(task, completed=state.bytes, total=state.total_bytes, phase=state.phase)
                remaining = bar.tasks[0].time_remaining
                left = "" if remaining is None else f"{_duration(remaining)} left, "
                bar.update(
                    task, done=f"{left}{state.documents:,} documents ({documents:,.{int(documents < 10)}f}/s), "
                    f"{state.chunks:,} chunks ({chunks:,.0f}/s){failed}",
                )  # fmt: skip

            yield show

    @contextmanager
    def backfill(self) -> Iterator[Any]:
        """A function for the ``progress`` argument of a backfill: a bar with rate and remaining time, or
        ``None``."""
        if not self._bars:
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True, markup=False, no_color=bool(os.environ.get("NO_COLOR")))
        with Bar(
            TextColumn("{task.fields[name]}", markup=False), BarColumn(),
            TextColumn("{task.fields[done]}", markup=False), console=console, transient=True,
        ) as bar:  # fmt: skip
            task = bar.add_task("", total=None, name="", done="")

            def show(state: BackfillProgress) -> None:
                left = "" if state.seconds_left is None else f", {_duration(state.seconds_left)} left"
                bar.update(
                    task, completed=state.done, total=max(state.total, state.done),
                    name=f"{state.tenant}, {state.model}",
                    done=f"{state.done:,} of {state.total:,} chunks, {state.rate:,.1f}/s{left}",
                )  # fmt: skip

            yield show

    @contextmanager
    def steps(self) -> Iterator[Any]:
        """A function ``(stage, done, total)`` that moves a bar on standard error, or ``None``."""
        if not self._bars:
            yield None
            return
        from rich.console import Console
        from rich.progress import Progress as Bar

        console = Console(stderr=True, markup=False, no_color=bool(os.environ.get("NO_COLOR")))
        with Bar(console=console, transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda stage, done, total: bar.update(task, description=stage, completed=done, total=total)

    @property
    def _bars(self) -> bool:
        return not self.json and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def failure(message: str, *, hint: str | None, sqlstate: str | None, exit_code: int, json: bool) -> None:
    """An error, on standard error."""
    if json:
        error = {"error": {"message": message, "hint": hint, "sqlstate": sqlstate, "exit_code": exit_code}}
        sys.stderr.write(json_text(error, sys.stderr) + "\n")
        return
    red, plain = (
        ("\x1b[31m", "\x1b[0m") if sys.stderr.isatty() and not os.environ.get("NO_COLOR") else ("", "")
    )
    state = f" ({sqlstate})" if sqlstate else ""
    lines = [safe(line) for line in message.splitlines()] or [""]
    sys.stderr.write(f"{red}error{plain}{state}: " + "\n  ".join(lines) + "\n")
    if hint:
        sys.stderr.write(f"hint: {safe(hint)}\n")


def _duration(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def _excerpt(body: str) -> str:
    text = " ".join(body.split())
    if len(text) <= _EXCERPT:
        return text
    return text[: _EXCERPT - 1].rsplit(" ", 1)[0] + "…"


def _pieces(
    text: str, spans: Sequence[Sequence[int]], clean: Callable[[str], str]
) -> list[tuple[str, bool]]:
    """A text cut at its highlights, each piece with whether it is one."""
    pieces: list[tuple[str, bool]] = []
    position = 0
    for start, end in spans:
        pieces += [(clean(text[position:start]), False), (clean(text[start:end]), True)]
        position = end
    pieces.append((clean(text[position:]), False))
    return [piece for piece in pieces if piece[0]]


def _whole(hit: Hit) -> str:
    """The text of a hit with what is shown around it; of one that stands in what a better hit shows, its own."""
    return hit.body if hit.context is None else hit.context


def _shown(hit: Hit) -> list[tuple[str, bool]]:
    """What is shown of a hit, on one line: its snippet, else the beginning of its text."""
    if hit.snippet is None or hit.snippet_start is None:
        return [(_excerpt(hit.body), False)]
    pieces = _pieces(hit.snippet, hit.highlights or (), lambda part: re.sub(r"\s+", " ", part))
    before = hit.body[: hit.snippet_start].strip()
    after = hit.body[hit.snippet_start + len(hit.snippet) :].strip()
    return [*([("… ", False)] if before else []), *pieces, *([(" …", False)] if after else [])]


def _where(passage: Evidence) -> str:
    parts = [f"characters {passage.char_start:,} to {passage.char_end:,}"]
    if passage.page is not None:
        to = f"–{passage.page_end}" if passage.page_end not in (None, passage.page) else ""
        parts.append(f"page{'s' if to else ''} {passage.page}{to}")
    if passage.section:
        parts.append(safe(passage.section))
    parts.append(", ".join(map(safe, passage.terms)) or "no word of the query: the beginning")
    return " · ".join(parts)


def _why(hit: Hit) -> str:
    parts = []
    if hit.lexical_rank is not None and hit.lexical_score is not None:
        parts.append(f"lexical {hit.lexical_rank} ({hit.lexical_score:.3f})")
    if hit.dense_rank is not None and hit.distance is not None:
        parts.append(f"dense {hit.dense_rank} ({hit.distance:.3f})")
    if hit.rerank_score is not None:
        parts.append(f"reranked {hit.rerank_score:.3f} (was {hit.former_rank})")
    elif hit.former_rank not in (None, hit.rank):
        parts.append(f"was {hit.former_rank}")
    if hit.claim is not None:
        parts.append(
            f"claim, {hit.claim['source_level']}, by chunks "
            + ", ".join(str(source["ordinal"]) for source in hit.claim["sources"])
        )
    if hit.section:
        parts.append(safe(hit.section))
    page = hit.page if hit.snippet_page is None else hit.snippet_page
    if page is not None:
        parts.append(f"page {page}")
    if hit.context_of is not None:
        parts.append(f"shown with {hit.context_of}")
    return " · ".join(parts)
