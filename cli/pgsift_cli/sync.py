"""``pgsift sync``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pgsift_cli._common import NOT_FOUND, PROBLEMS_FOUND, SOME_FAILED, Session, command, writing_embedders
from pgsift_cli.ingest import (
    Acl,
    Bibliographies,
    ChunkerName,
    Classification,
    ContextPrefix,
    Deny,
    EmbedderName,
    KeepSource,
    Language,
    Ocr,
    OcrLanguages,
    Pages,
    ParseMemory,
    ParserName,
    ParseSeconds,
    ParseWorkers,
    access,
    parse_limits,
    remarks,
)
from pgsift_cli.output import safe

if TYPE_CHECKING:
    from pgsift.models import SyncReport


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "sync")(sync)


def sync(
    session: Session,
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="SOURCE…", help="Folders, and feeds: files of JSON lines.", show_default=False),
    ] = None,
    prefix: Annotated[str, typer.Option("--prefix", metavar="TEXT", help="Put before every key.")] = "",
    watermark: Annotated[
        bool,
        typer.Option(
            "--watermark",
            help="Read only files whose size or time changed, and records of a later version or updated_at; "
            "a feed then names changes alone.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; print what would be.")] = False,
    allow_empty: Annotated[
        bool,
        typer.Option("--allow-empty", help="Delete everything where the source holds nothing any more."),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Name of the source. Default: its address (file:///…)."),
    ] = None,
    acl: Acl = None,
    deny: Deny = None,
    classification: Classification = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="text, markdown, html, pdf, jsonl and so on, instead of what content and names say.",
        ),
    ] = None,
    embedder: EmbedderName = None,
    keep_source: KeepSource = False,
    chunker: ChunkerName = None,
    context_prefix: ContextPrefix = None,
    parse_seconds: ParseSeconds = 120,
    parse_memory: ParseMemory = 2048,
    parse_workers: ParseWorkers = None,
    bib: Bibliographies = None,
    language: Language = None,
    ocr: Ocr = Pages.OFF,
    ocr_language: OcrLanguages = None,
    parser: ParserName = None,
    listing: Annotated[bool, typer.Option("--list", help="List what is synchronized, and end.")] = False,
    forget: Annotated[
        str | None,
        typer.Option(
            "--forget",
            metavar="NAME",
            help="Forget that a source is synchronized, and end; its documents stay.",
        ),
    ] = None,
) -> None:
    """Make the store hold what folders and feeds hold: add, change, move, delete.

    What is gone is deleted, with a tombstone that says why; not what merely cannot be read, and not
    everything at once unless --allow-empty is given. A file that was renamed keeps its document, with its
    number, history and vectors. An interrupted run is simply run again.

    A record of a feed may have "version" (an integer) or "updated_at" (a time), by which the latest of a key
    counts, and "deleted": true. With --watermark one that is older than what is stored, deletions too, changes
    nothing.

    At the end the store is counted: the entries of the source are those stored, failed (dead letters) and
    skipped. Where that does not add up the exit code is 1; where a source failed, 7.

    \b
    Examples:
      pgsift sync handbook/ --prefix handbook/
      pgsift sync handbook/ --prefix handbook/ --watermark --json
      pgsift sync papers/ --bib papers/refs.bib
      pgsift sync export/articles.jsonl --name articles --dry-run
      pgsift sync --list
    """
    if listing or forget is not None:
        if sources or (listing and forget is not None):
            raise typer.BadParameter("--list and --forget stand alone")
        _known(session, forget)
        return
    if not sources:
        raise typer.BadParameter("name a folder or a file of JSON lines, or pass --list")
    if name is not None and (not name or len(sources) > 1):
        raise typer.BadParameter("--name is the name of one source")
    reports: list[SyncReport] = []
    from pgsift.errors import report_of

    try:
        with session.store() as store, session.out.progress() as progress:
            models = [] if dry_run else writing_embedders(session, store, embedder)
            for source in sources:
                report = store.sync(
                    session.tenant,
                    source,
                    name=name,
                    prefix=prefix,
                    watermark=watermark,
                    allow_empty=allow_empty,
                    dry_run=dry_run,
                    acl=access(acl, deny),
                    classification=classification,
                    format=format,
                    embedder=models or None,
                    keep_source=keep_source,
                    chunker=chunker,
                    context_prefix=context_prefix,
                    limits=parse_limits(parse_seconds, parse_memory, parse_workers, ocr, ocr_language, parser),
                    language=language,
                    bibliography=bib or None,
                    progress=progress,
                )
                reports.append(report)
                if not session.json:
                    _print(session, report)
    except BaseException as error:
        done = report_of(error)
        if done is not None and not session.json:
            session.out.report(done)
        raise
    if session.json:
        session.out.document({"reconciled": all(report.reconciled for report in reports), "sources": reports})
    if not all(report.reconciled for report in reports):
        raise typer.Exit(PROBLEMS_FOUND)
    if any(report.failed for report in reports):
        session.out.remark("some sources failed; list them with: pgsift dead-letters")
        raise typer.Exit(SOME_FAILED)


def _print(session: Session, report: SyncReport) -> None:
    out = session.out
    out.line(f"source:    {safe(report.source)}")
    if report.dry_run:
        for change in report.planned:
            came = f"{safe(change.from_key)} -> " if change.from_key is not None else ""
            out.line(f"{change.change:<6}  {came}{safe(change.key)}")
    else:
        out.report(report.ingest)
    verb = "would be stored" if report.dry_run else "stored"
    out.line(
        f"entries:   {report.entries:,} in the source = {report.stored:,} {verb} + {report.failed:,} dead letters "
        f"+ {report.skipped:,} skipped" + ("" if report.reconciled else ": DOES NOT ADD UP")
    )
    if report.unread:
        out.line(f"unread:    {report.unread:,} with the mark they had")
    if report.kept:
        out.line(f"kept:      {report.kept:,} documents that this run did not look for")
    for note in report.notes:
        out.remark(f"note: {note}")
    remarks(session, report.ingest)


def _known(session: Session, forget: str | None) -> None:
    with session.store() as store:
        if forget is not None:
            found = store.end_sync(session.tenant, forget)
            if session.json:
                session.out.document({"forgotten": found})
            elif found:
                session.out.line(f"forgotten: {safe(forget)}; its documents stay")
            if not found:
                session.out.remark("no source of this name is synchronized")
                raise typer.Exit(NOT_FOUND)
            return
        known = store.sync_sources(session.tenant)
    if session.json:
        session.out.document({"sources": list(known)})
        return
    session.out.table(
        ["name", "kind", "prefix", "documents#", "watermark", "complete"],
        [
            (
                source.name,
                source.kind,
                source.prefix,
                source.documents,
                source.watermark,
                f"{source.finished_at:%Y-%m-%d %H:%M:%S}" if source.finished_at else "never",
            )
            for source in known
        ],
    )
