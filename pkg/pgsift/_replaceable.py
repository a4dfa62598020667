"""Frozen SQL sources, installed and restored by migrations.

``sql/`` holds the present. Each revision keeps a copy of the files it changed in
``migrations/snapshots/<revision>/``, so that a migration written once runs the same statements for ever,
upward and downward. A snapshot of the first revision is complete and has an ``install.sql`` that gives the
order; a later one holds the changed files, and in ``removed.txt`` the names of files that are gone since.

Only migrations and the snapshot tool use this module.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pgsift import _resources

if TYPE_CHECKING:
    from alembic.operations import Operations

ORDER_FILE = "install.sql"
STAMP_FILE = "stamp.sql"
REMOVED_FILE = "removed.txt"

_CREATE = re.compile(
    r"^CREATE\s+(?:OR\s+REPLACE\s+)?(TABLE|SEQUENCE|VIEW|MATERIALIZED\s+VIEW|FUNCTION|PROCEDURE|AGGREGATE|TYPE|DOMAIN)"
    r"\s+(?:IF\s+NOT\s+EXISTS\s+)?sift\.(\w+)",
    re.MULTILINE | re.IGNORECASE,
)


def snapshots_directory() -> Path:
    """Directory with one directory per revision."""
    return _resources.migrations_directory() / "snapshots"


def execute(op: Operations, statements: str) -> None:
    """Run SQL text, several statements included, untouched: ``:name``, ``%`` and ``\\`` mean themselves."""
    context = op.get_context()
    if context.as_sql:
        context.impl.static_output(statements.rstrip())
    else:
        op.get_bind().exec_driver_sql(statements, execution_options={"no_parameters": True})


def install(op: Operations, revision: str, *names: str) -> None:
    """Run the files *names* (``functions/search``) as of *revision*, in the order given."""
    for name in names:
        execute(op, _text(revision, name))


def install_all(op: Operations, revision: str) -> None:
    """Run every file of a complete snapshot in its own install order."""
    for name in _complete_order(revision):
        execute(op, _text(revision, name))


def restore(op: Operations, revision: str, *names: str) -> None:
    """Undo ``install``: bring back the newest older snapshot of each file, or drop what the file created.

    Names are given as to ``install`` and handled in reverse.
    """
    for name in reversed(names):
        older = newest(name, before=revision)
        if older is None:
            _drop(op, _text(revision, name))
        else:
            execute(op, older.read_text(encoding="utf-8"))


def drop_all(op: Operations, revision: str) -> None:
    """Undo ``install_all``. Drops nothing in cascade: it fails on what others built upon our objects."""
    for name in reversed(_complete_order(revision)):
        _drop(op, _text(revision, name))


def created_objects(text: str) -> list[tuple[str, str]]:
    """Kind and name of what SQL text creates in the schema ``sift``: ``[("FUNCTION", "search")]``."""
    return [(" ".join(kind.upper().split()), name) for kind, name in _CREATE.findall(text)]


def newest(name: str, *, before: str | None = None, until: str | None = None) -> Path | None:
    """The newest snapshot of a file, among all, those older than *before*, or those not newer than *until*.

    ``None`` where it has none, or was removed since.
    """
    file_name = _file_name(name)
    for directory in sorted(snapshots_directory().iterdir(), reverse=True):
        too_new = until is not None and directory.name > until
        if too_new or (before is not None and directory.name >= before):
            continue
        removed = directory / REMOVED_FILE
        if removed.exists() and file_name in removed.read_text(encoding="utf-8").split():
            return None
        if (directory / file_name).exists():
            return directory / file_name
    return None


def _complete_order(revision: str) -> list[str]:
    names = _resources.install_order(snapshots_directory() / revision / ORDER_FILE)
    return [name for name in names if name != STAMP_FILE]  # alembic marks the revision itself


def _file_name(name: str) -> str:
    return name if name.endswith((".sql", ".txt")) else f"{name}.sql"


def _text(revision: str, name: str) -> str:
    path = newest(name, until=revision)
    if path is None:
        raise FileNotFoundError(f"no snapshot of {_file_name(name)} up to revision {revision}")
    return path.read_text(encoding="utf-8")


def _drop(op: Operations, text: str) -> None:
    for kind, name in reversed(created_objects(text)):
        if name != "alembic_version":  # alembic still writes to it; env.py drops it last
            execute(op, f"DROP {kind} sift.{name};")
