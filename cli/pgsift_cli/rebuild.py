"""``pgsift rebuild``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import NOT_FOUND, SOME_FAILED, Session, command, writing_embedders
from pgsift_cli.ingest import (
    ChunkerName,
    ContextPrefix,
    EmbedderName,
    Ocr,
    OcrLanguages,
    Pages,
    ParseMemory,
    ParserName,
    ParseSeconds,
    ParseWorkers,
    parse_limits,
)
from pgsift_cli.output import safe


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "rebuild")(rebuild)


def rebuild(
    session: Session,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY…]", help="Keys of documents; without any, all documents."),
    ] = None,
    embedder: EmbedderName = None,
    chunker: ChunkerName = None,
    context_prefix: ContextPrefix = None,
    parse_seconds: ParseSeconds = 120,
    parse_memory: ParseMemory = 2048,
    parse_workers: ParseWorkers = None,
    ocr: Ocr = Pages.OFF,
    ocr_language: OcrLanguages = None,
    parser: ParserName = None,
) -> None:
    """Make chunks, tokens and vectors anew from the sources that "ingest --keep-source" kept.

    With the parsers of this release and the chunker that is named, or the tenant's: what they would make as it
    is stored is left alone, so the command can be run again, after an interruption too. Access lists, keys,
    metadata and dates stay. The exit code is 3 when there is no document of some key, and 7 when some could not
    be rebuilt; these stay as they were. Documents of which no source was kept are counted and named. What was
    ingested with limits of its own (--parse-seconds, --ocr) needs them again.

    \b
    Examples:
      pgsift rebuild
      pgsift rebuild handbook/pay.md --json
      pgsift rebuild --embedder none
      pgsift rebuild --chunker parent
      pgsift rebuild scans/ledger.pdf --ocr auto --parse-seconds 900
    """
    with session.store() as store, session.out.progress() as progress:
        models = writing_embedders(session, store, embedder)
        report = store.rebuild(
            session.tenant,
            keys or None,
            embedder=models or None,
            chunker=chunker,
            context_prefix=context_prefix,
            limits=parse_limits(parse_seconds, parse_memory, parse_workers, ocr, ocr_language, parser),
            progress=progress,
        )
    if session.json:
        session.out.document(report)
    else:
        session.out.line(f"documents: {report.documents:,}")
        session.out.line(
            f"rebuilt:   {report.rebuilt:,} with {report.chunks:,} chunks, {report.tokens:,} tokens"
        )
        session.out.line(f"unchanged: {report.unchanged:,}")
        if report.vectors_computed or report.vectors_reused:
            session.out.line(
                f"vectors:   {report.vectors_computed:,} computed, {report.vectors_reused:,} reused"
            )
        session.out.line(f"time:      {report.seconds:.1f} s")
        if report.without_source:
            session.out.line(f"no source: {report.without_source:,}")
            for key in report.without_source_keys:
                session.out.line(f"\t{safe(key)}")
    if report.superseded:
        session.out.remark(f"{len(report.superseded):,} documents were changed meanwhile and left alone")
    for failure in report.failures:
        session.out.remark(f"failed: {safe(failure.key or '?')} ({failure.stage}): {safe(failure.reason)}")
    for key in report.absent:
        session.out.remark(f"no document {safe(key)}")
    if report.failed:
        raise typer.Exit(SOME_FAILED)
    if report.absent:
        raise typer.Exit(NOT_FOUND)
