"""``pgsift ingest``."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsift_cli._common import SOME_FAILED, Session, command, no_empty_name, writing_embedders
from pgsift_cli.output import safe

if TYPE_CHECKING:
    from pgsift.ingest.formats import Limits
    from pgsift.models import IngestReport

Acl = Annotated[
    list[str] | None,
    typer.Option(
        "--acl",
        metavar="PRINCIPAL",
        callback=no_empty_name,
        help="Who may see the documents, e.g. group:hr; repeat for several. Left out: a new document gets "
        "what is set for its prefix or the tenant, a known one keeps what it has.",
    ),
]
Deny = Annotated[
    list[str] | None,
    typer.Option(
        "--deny",
        metavar="PRINCIPAL",
        callback=no_empty_name,
        help="Who may not see them, although --acl allows it; repeat for several. Needs --acl.",
    ),
]
Classification = Annotated[
    str | None,
    typer.Option(
        "--classification",
        metavar="NAME",
        help="How confidential the documents are that do not say it themselves, e.g. internal.",
    ),
]
EmbedderName = Annotated[
    list[str] | None,
    typer.Option(
        "--embedder",
        metavar="MODEL",
        help="minilm, static, onnx:FOLDER, sentence-transformers:NAME, fastembed:NAME, openai:MODEL, a registered "
        "model, or none; repeat for several. Default: the models the tenant keeps current, or minilm.",
    ),
]
TokenEmbedderName = Annotated[
    str | None,
    typer.Option(
        "--token-embedder",
        metavar="MODEL",
        help="Store a vector for each token too, for reranking by late interaction: onnx:FOLDER.",
    ),
]
KeepSource = Annotated[
    bool, typer.Option("--keep-source", help="Keep the bytes of the documents too, compressed.")
]

ChunkerName = Annotated[
    str | None,
    typer.Option(
        "--chunker",
        metavar="NAME",
        help="What cuts the texts: structure, window, sentence_window, parent or page, with parameters as in "
        "window:words=150,overlap=30 (docs/chunkers.md). Default: the tenant's; structure where it has none.",
    ),
]
ContextPrefix = Annotated[
    bool | None,
    typer.Option(
        "--context-prefix/--no-context-prefix",
        help="Index and embed title and section with every chunk; they are not shown as its text. Default: as the "
        "tenant says.",
    ),
]
ParseSeconds = Annotated[
    float,
    typer.Option(
        "--parse-seconds",
        metavar="N",
        min=0.001,
        help="How long reading one PDF, Office file and the like may take.",
    ),
]
ParseMemory = Annotated[
    int,
    typer.Option("--parse-memory", metavar="MB", min=128, help="How much memory reading one may take."),
]
ParseWorkers = Annotated[
    int | None,
    typer.Option(
        "--parse-workers", metavar="N", min=1, help="How many are read at a time. Default: one a core, up to 4."
    ),
]
Bibliographies = Annotated[
    list[str] | None,
    typer.Option(
        "--bib",
        metavar="FILE",
        help="A bibliography (BibTeX, BibLaTeX, CSL-JSON) with entries of the files: their citekeys become the "
        "keys, and what they say wins; repeat for several. Files find their entries by the field file, their "
        "name, DOI or title.",
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="TAG",
        help="The language of the documents that do not say theirs, e.g. de or pt-BR. Default: it is detected "
        "where the extra language is installed.",
    ),
]


class Pages(StrEnum):
    """Which pages of a PDF are recognized."""

    OFF = "off"
    AUTO = "auto"
    FORCE = "force"


Ocr = Annotated[
    Pages,
    typer.Option(
        "--ocr",
        help="Recognize the text of scanned pages of PDFs: of those without text (auto), or of all (force). Needs "
        "the extra ocr.",
    ),
]
OcrLanguages = Annotated[
    list[str] | None,
    typer.Option(
        "--ocr-language",
        metavar="NAME",
        help="A language of these pages, as Tesseract calls it or as a tag, e.g. deu or de; repeat for several. "
        "Default: eng.",
    ),
]
ParserName = Annotated[
    str | None,
    typer.Option(
        "--parser",
        metavar="NAME",
        help="docling: it reads PDF, Word, PowerPoint and Excel files in the place of the parsers that come with "
        "pgsift. Needs the extra docling.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "ingest")(ingest)


def ingest(
    session: Session,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH…",
            help="Files and folders (text, Markdown, HTML, PDF, Office, mail, ZIP, JSON lines and more: "
            "docs/formats.md); - is standard input.",
        ),
    ],
    acl: Acl = None,
    deny: Deny = None,
    classification: Classification = None,
    embedder: EmbedderName = None,
    token_embedder: TokenEmbedderName = None,
    prefix: Annotated[str, typer.Option("--prefix", metavar="TEXT", help="Put before every key.")] = "",
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="text, markdown, html, pdf, jsonl and so on, instead of what content and name say.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Key of the document on standard input. Default: stdin."),
    ] = None,
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
    sync: Annotated[
        bool,
        typer.Option("--sync", help="Synchronize the folders given, as pgsift sync does: also move and delete."),
    ] = False,
) -> None:
    """Store documents and index them.

    They are read, cut into chunks, tokenized and embedded; each becomes visible as a whole.

    A document is stored under a key: the path of a file below the folder given; for a JSON line, #ID is
    added. What has not changed since the last time is left alone. A file that cannot be ingested does not
    stop the others: it is listed by "pgsift dead-letters", and the exit code is 7.

    Without --acl a new document gets what "pgsift acl" set for the prefix of its key, or the tenant's default;
    a known one keeps its list. A file whose front matter names an access list is not ingested without --acl,
    which wins. Hidden files are skipped, and so are links that lead out of the folder.

    \b
    Examples:
      pgsift ingest docs/ README.md
      pgsift ingest personnel/ --prefix hr/ --acl group:hr --deny user:1042
      pgsift ingest notes.jsonl --embedder none
      pgsift ingest papers/ --bib papers/refs.bib
      pgsift ingest scans/ --ocr auto --ocr-language deu --parse-seconds 900
      pgsift ingest manuals/ --chunker window:words=150,overlap=30 --context-prefix
      curl -s https://example.org/page.html | pgsift ingest - --format html --key page
    """
    from pgsift.errors import report_of
    from pgsift.rerank import load_token_embedder

    try:
        with session.store() as store, session.out.progress() as progress:
            models = writing_embedders(session, store, embedder)
            report = store.ingest(
                session.tenant,
                paths,
                embedder=models or None,
                token_embedder=None if token_embedder is None else load_token_embedder(token_embedder),
                progress=progress,
                acl=access(acl, deny),
                classification=classification,
                keep_source=keep_source,
                chunker=chunker,
                context_prefix=context_prefix,
                prefix=prefix,
                format=format,
                key=key,
                sync=sync,
                limits=parse_limits(parse_seconds, parse_memory, parse_workers, ocr, ocr_language, parser),
                language=language,
                bibliography=bib or None,
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
    remarks(session, report)
    if report.failed:
        session.out.remark(f"{report.failed:,} sources failed; list them with: pgsift dead-letters")
        raise typer.Exit(SOME_FAILED)


def parse_limits(
    seconds: float,
    memory_mb: int,
    workers: int | None,
    ocr: Pages,
    ocr_languages: list[str] | None,
    parser: str | None,
) -> Limits:
    """What reading one file may cost, and how it is read, as the library takes it."""
    from pgsift.ingest.formats import Limits

    if ocr_languages and ocr is Pages.OFF:
        raise typer.BadParameter("--ocr-language needs --ocr auto or --ocr force", param_hint="'--ocr-language'")
    if parser not in (None, "docling"):
        raise typer.BadParameter("the only one is docling", param_hint="'--parser'")
    try:
        return Limits(
            seconds=seconds,
            memory_mb=memory_mb,
            workers=workers,
            ocr=ocr.value,
            ocr_languages=tuple(ocr_languages or ("eng",)),
            parser="docling" if parser else "",
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def access(acl: list[str] | None, deny: list[str] | None) -> Any:
    """What ``--acl`` and ``--deny`` say, as the library takes it."""
    if not deny:
        return acl
    if acl is None:
        raise typer.BadParameter(
            "--deny needs --acl: say who may see the documents too", param_hint="'--deny'"
        )
    return {"allow": acl, "deny": deny}


def remarks(session: Session, report: IngestReport) -> None:
    """What should be known beside the numbers."""
    if report.acl_ignored:
        session.out.remark(
            f"{report.acl_ignored:,} files name an access list in their front matter; that of --acl was taken"
        )
    if report.withheld:
        session.out.remark(f"{report.withheld:,} documents were kept from the remote embedder and have no vectors")
    found = report.bibliography
    if found is not None:
        if found.files_without_entry or found.entries_without_file:
            session.out.remark(
                f"{found.files_without_entry:,} files without an entry, {found.entries_without_file:,} entries "
                "without a file"
            )
        for sentence in (*found.ambiguous, *found.problems):
            session.out.remark(safe(sentence))
    if report.languages.get("und"):
        from pgsift.ingest.languages import available

        if not available():
            session.out.remark(
                "languages were not detected; for that: pip install 'pgsift[language]', or name one: --language"
            )
    if report.models_left and report.chunks:
        left = ", ".join(report.models_left)
        session.out.remark(
            f"what was stored has no vectors of {left}; pgsift models backfill {report.models_left[0]} makes them"
        )
