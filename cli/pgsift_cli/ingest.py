"""``pgsift ingest`` and ``pgsift dead-letters``."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsift_cli._common import SOME_FAILED, Session, command, document_embedder


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "ingest")(ingest)
    command(app, "dead-letters")(dead_letters)


def ingest(
    session: Session,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH…", help="Files and folders (text, Markdown, HTML, JSON lines); - is standard input."
        ),
    ],
    acl: Annotated[
        list[str] | None,
        typer.Option(
            "--acl",
            metavar="PRINCIPAL",
            help="Who may see the documents, e.g. group:hr; repeat for several. Default: the tenant's "
            "default.",
        ),
    ] = None,
    classification: Annotated[
        str | None,
        typer.Option(
            "--classification",
            metavar="NAME",
            help="How confidential the documents are that do not say it themselves, e.g. internal.",
        ),
    ] = None,
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder",
            metavar="MODEL",
            help="minilm, static, onnx:FOLDER, sentence-transformers:NAME, fastembed:NAME, openai:MODEL, or "
            "none.",
        ),
    ] = "minilm",
    prefix: Annotated[str, typer.Option("--prefix", metavar="TEXT", help="Put before every key.")] = "",
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="text, markdown, html or jsonl, instead of what the file name says.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Key of the document on standard input. Default: stdin."),
    ] = None,
    keep_source: Annotated[
        bool, typer.Option("--keep-source", help="Keep the bytes of the documents too, compressed.")
    ] = False,
    sync: Annotated[
        bool, typer.Option("--sync", help="Also delete documents whose file is gone from the folders given.")
    ] = False,
) -> None:
    """Store documents and index them.

    They are read, cut into chunks, tokenized and embedded; each becomes visible as a whole.

    A document is stored under a key: the path of a file below the folder given; for a JSON line, #ID is
    added. What has not changed since the last time is left alone. A file that cannot be ingested does not
    stop the others: it is listed by "pgsift dead-letters", and the exit code is 7.

    \b
    Examples:
      pgsift ingest docs/ README.md
      pgsift ingest personnel/ --prefix hr/ --acl group:hr
      pgsift ingest notes.jsonl --embedder none
      curl -s https://example.org/page.html | pgsift ingest - --format html --key page
    """
    model = document_embedder(embedder)
    from pgsift.errors import report_of

    try:
        with session.store() as store, session.out.progress() as progress:
            report = store.ingest(
                session.tenant,
                paths,
                embedder=model,
                progress=progress,
                acl=acl,
            classification=classification,
            keep_source=keep_source,
                prefix=prefix,
                format=format,
                key=key,
                sync=sync,
            )
    except BaseException as error:
        done = report_of(error)
        if done is not None:
            session.out.document(done) if session.json else session.out.report(done)
        raise
    if session.json:
        session.out.document(report)
    else:
        session.out.report(report)
    if report.withheld:
        session.out.remark(
            f"{report.withheld:,} documents were kept from the remote embedder and have no vectors"
        )
    if report.failed:
        session.out.remark(f"{report.failed:,} sources failed; list them with: pgsift dead-letters")
        raise typer.Exit(SOME_FAILED)


def dead_letters(
    session: Session,
    k: Annotated[int, typer.Option("-k", metavar="N", help="How many, the newest first.")] = 20,
    run: Annotated[int | None, typer.Option("--run", metavar="ID", help="Of this ingest run only.")] = None,
) -> None:
    """List what could not be ingested, and why.

    \b
    Examples:
      pgsift dead-letters
      pgsift dead-letters --run 12 --json
    """
    with session.store() as store:
        letters = store.dead_letters(session.tenant, k=k, run_id=run)
    if session.json:
        session.out.document({"dead_letters": list(letters)})
        return
    session.out.table(
        ["run#", "source", "stage", "reason"],
        [(letter.run_id, letter.key or letter.source_uri, letter.stage, letter.reason) for letter in letters],
    )
