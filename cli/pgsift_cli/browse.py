"""``pgsift browse``."""

from __future__ import annotations

import html
import shutil
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pgsift_cli._common import All, As, Mapped, Session, command, principals, tenant_embedder

if TYPE_CHECKING:
    from pgsift import Store
    from pgsift.embed import Embedder


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    command(app, "browse")(browse)


def browse(
    session: Session,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port of 127.0.0.1. Default: a free one.")
    ] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    as_: As = None,
    all_: All = False,
    mapped: Mapped = False,
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder",
            metavar="MODEL",
            help="What embeds queries; default: the model of the tenant. none: no vector.",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge", metavar="NAME", help="Under whose name marks are kept. Default: the database login."
        ),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Nothing can be marked. So it is on a standby, too.")
    ] = False,
) -> None:
    """Serve a page on this machine: search as somebody, see both rankings and their fusion, open the evidence,
    read where a score comes from, and mark hits.

    The page answers on 127.0.0.1 alone, under the address that is printed: it holds a key that changes with
    every start, and whoever has it searches with your login. Ctrl-C ends it. Needs the extra browse.

    \b
    Examples:
      pgsift browse --open
      pgsift browse --as user:1042 --as group:hr --judge anna
      pgsift browse --dsn postgresql://app@db/prod --tenant acme --port 8765 --read-only
    """
    from pgsift.browse import Settings, require_extra, serve

    require_extra()
    who = principals(as_, all_, mapped)
    if judge is not None and not 0 < len(judge.strip().encode()) <= 200:
        raise typer.BadParameter("a name has 1 to 200 bytes", param_hint="'--judge'")
    with session.store() as store:
        store.models()  # connects: what is wrong with server, schema or login is told now

    def embedder_of(store: Store, tenant: str) -> tuple[Embedder | None, str | None]:
        return tenant_embedder(store, tenant, embedder)

    settings = Settings(
        dsn=session.server_dsn(),
        tenant=session.tenant,
        principals=who,
        judged_by=judge,
        read_only=read_only,
        embedder_of=embedder_of,
    )
    opened = _Opened()

    def ready(address: str) -> None:
        if session.json:
            session.out.document({"address": address})
        else:
            session.out.line(address)
        sys.stdout.flush()
        session.out.remark("Ctrl-C ends it")
        if open_:
            opened.show(address)

    try:
        serve(settings, port=port, ready=ready)
    finally:
        opened.close()


class _Opened:
    """Opens the page in a browser. Its address holds a key, and arguments of programs can be seen by everybody on
    the machine: the browser is given a file that only this account can read, and that leads there."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def show(self, address: str) -> None:
        from platformdirs import user_cache_path

        parent = user_cache_path("pgsift", ensure_exists=True)  # browsers in a sandbox do not see /tmp
        self._folder = Path(tempfile.mkdtemp(prefix="browse-", dir=parent))
        page = self._folder / "open.html"
        where = html.escape(address)
        page.write_text(
            f'<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={where}">'
            f'<title>pgsift</title><a href="{where}">pgsift browse</a>\n'
        )
        if not webbrowser.open(page.as_uri()):
            sys.stderr.write("no browser was found; open the address above\n")

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
