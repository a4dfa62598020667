"""``pgsift manifest …``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from pgsift_cli._common import NOT_FOUND, Session, command
from pgsift_cli.output import safe

if TYPE_CHECKING:
    from pgsift import Store

app = typer.Typer(
    help="Release manifests: what the corpus is made of, and what changed since.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A manifest, a file that holds one, or now: the corpus as it is.")
]


def create(
    session: Session,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Its name. Default: the time.")
    ] = None,
    parent: Annotated[
        str | None,
        typer.Option("--parent", metavar="NAME", help="What it follows; none for nothing. Default: the latest."),
    ] = None,
) -> None:
    """Record what the corpus is made of: counts, digests, models, settings, and every document's hash.

    The same corpus has the same digests, also after dump and restore.

    \b
    Examples:
      pgsift manifest create --name 2024-06
      pgsift manifest create --name 2024-06.1 --parent 2024-06 --json
    """
    with session.store() as store:
        made = store.create_manifest(session.tenant, name, parent="" if parent == "none" else parent)
    _print(session, made.to_dict())


def show(
    session: Session,
    name: Name,
    documents: Annotated[
        bool, typer.Option("--documents", help="With the list of documents; what diff needs in a file.")
    ] = False,
) -> None:
    """Print a manifest; with --documents --json in the form that "pgsift manifest diff" takes as a file.

    \b
    Examples:
      pgsift manifest show 2024-06
      pgsift manifest show 2024-06 --documents --json
    """
    with session.store() as store:
        found = _stored(session, store, name, documents)
    _print(session, found)


def listed(session: Session) -> None:
    """List the manifests, the latest first.

    \b
    Examples:
      pgsift manifest list
    """
    with session.store() as store:
        manifests = list(store.manifests(session.tenant))
    if session.json:
        session.out.document({"manifests": manifests})
        return
    session.out.table(
        ["name", "parent", "made", "by", "documents#", "chunks#", "digest"],
        [
            (
                m.manifest_name,
                m.parent_name,
                f"{m.created_at:%Y-%m-%d %H:%M:%S}",
                m.created_by,
                m.summary["counts"]["documents"],
                m.summary["counts"]["chunks"],
                m.summary["digests"]["documents"][:12],
            )
            for m in manifests
        ],
    )


def diff(
    session: Session,
    a: Name,
    b: Annotated[str, typer.Argument(metavar="[NAME]", help="Likewise. Default: now.")] = "now",
) -> None:
    """Print what changed from one manifest to another: documents added, removed, changed, moved, under other
    access, and settings.

    A file is what "pgsift manifest show NAME --documents --json" printed, here or in another store.

    \b
    Examples:
      pgsift manifest diff 2024-05 2024-06
      pgsift manifest diff 2024-06.json now --json
    """
    with session.store() as store:
        names = {m.manifest_name for m in store.manifests(session.tenant)} | {"now"}
        for name in (a, b):
            if not _is_file(name) and name not in names:
                _no_such(session, name)
        if _is_file(a) or _is_file(b):
            from pgsift.manifests import compare

            changes = compare(_loaded(session, store, a), _loaded(session, store, b))
        else:
            changes = list(store.compare_manifests(session.tenant, a, b))
    if session.json:
        session.out.document({"a": a, "b": b, "changes": changes})
        return
    for change in changes:
        if change.kind == "setting":
            before, after = json.dumps(change.before), json.dumps(change.after)
            session.out.line(f"setting\t{safe(change.name)}\t{safe(before)} -> {safe(after)}")
        else:
            came = f"{safe(change.before['key'])} -> " if change.change == "moved" else ""
            session.out.line(f"{change.change}\t{came}{safe(change.name)}")
    if not changes:
        session.out.remark("nothing changed")


def delete(session: Session, name: Name) -> None:
    """Remove a manifest; the corpus stays as it is.

    \b
    Examples:
      pgsift manifest delete 2023-01
    """
    with session.store() as store:
        found = store.drop_manifest(session.tenant, name)
    if session.json:
        session.out.document({"deleted": found})
    if not found:
        _no_such(session, name)


def _no_such(session: Session, name: str) -> NoReturn:
    session.out.remark(f"there is no manifest {safe(repr(name))}; pgsift manifest list lists them")
    raise typer.Exit(NOT_FOUND)


def _is_file(name: str) -> bool:
    return name != "now" and (name.endswith(".json") or "/" in name) and Path(name).is_file()


def _loaded(session: Session, store: Store, name: str) -> dict[str, Any]:
    if not _is_file(name):
        return _stored(session, store, name, True)
    try:
        found = json.loads(Path(name).read_text(encoding="utf-8"))
    except ValueError as error:
        raise typer.BadParameter(f"{name} holds no manifest: {error}") from None
    if not isinstance(found, dict) or not {"summary", "documents"} <= found.keys():
        raise typer.BadParameter(
            f"{name} holds no manifest with documents; print one with: "
            "pgsift manifest show NAME --documents --json"
        )
    return found


def _stored(session: Session, store: Store, name: str, documents: bool) -> dict[str, Any]:
    if name == "now":
        return store.current_manifest(session.tenant, documents=documents)
    found = next((m for m in store.manifests(session.tenant) if m.manifest_name == name), None)
    if found is None:
        _no_such(session, name)
    result: dict[str, Any] = found.to_dict()
    if documents:
        result["documents"] = [d.to_dict() for d in store.all_manifest_documents(session.tenant, name)]
    return result


def _print(session: Session, manifest: dict[str, Any]) -> None:
    if session.json:
        session.out.document(manifest)
        return
    summary = manifest["summary"]
    counts = summary["counts"]
    session.out.record(
        {
            "name": manifest["manifest_name"],
            "parent": manifest["parent_name"],
            "made": f"{manifest['created_at']} by {manifest['created_by']}",
            "documents": f"{counts['documents']:,}",
            "chunks": f"{counts['chunks']:,} with {counts['tokens']:,} tokens",
            "vectors": ", ".join(f"{n:,} of {model}" for model, n in counts["vectors"].items()) or "none",
            **{f"digest of {part}": digest for part, digest in summary["digests"].items()},
            **{f"model {m}": f"revision {v['revision']}" for m, v in summary["models"].items()},
            **summary["settings"],
            "schema": summary["schema"],
            "package": summary.get("package"),
        }
    )
    for document in manifest.get("documents", ()):
        session.out.line(f"{safe(document['key'])}\t{document['version']}\t{document['content_hash']}")


command(app, "create")(create)
command(app, "show")(show)
command(app, "list")(listed)
command(app, "diff")(diff)
command(app, "delete")(delete)
