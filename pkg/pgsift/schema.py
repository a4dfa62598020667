"""The schema ``sift`` in a database: its revision, upgrades, downgrades, and what is wrong with it.

Alembic does the work, configured here in code; no ini file is read or needed. Our version table is
``sift.alembic_version``, so an application that uses alembic for its own tables in the same database is not
disturbed.

Every function takes a DSN: a libpq connection string or a ``postgresql://`` URL.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg

from pgsift import _resources
from pgsift.errors import (
    InvalidArgument,
    NotPermitted,
    PgsiftError,
    SchemaVersionMismatch,
    ServerUnavailable,
    from_psycopg,
)

if TYPE_CHECKING:
    from alembic.config import Config

__all__ = [
    "SchemaStatus",
    "check",
    "current",
    "downgrade",
    "expected_version",
    "head",
    "render_sql",
    "revisions",
    "status",
    "upgrade",
]

ROLES = ("sift_owner", "sift_writer", "sift_app", "sift_reader")
MINIMUM_VECTOR = (0, 8)

# A revision holds the tables it has while it waits for the next, so a write waits for several of these: less
# than a second in all for the few tables that one revision changes.
_LOCK_TIMEOUT_MS = 200
_ATTEMPTS = 60

# Alembic keeps the migration it runs in module-wide proxies, so that two threads would take each other's.
# Processes are kept apart in the database (migrations/env.py).
_alembic = threading.Lock()


@dataclass(frozen=True, slots=True)
class SchemaStatus:
    """The state of one database."""

    database: str
    server_version: str
    vector_version: str | None
    vector_schema: str | None
    current: str | None
    head: str
    pending: tuple[str, ...]

    @property
    def up_to_date(self) -> bool:
        """Whether the database is at the revision this version of pgsift was written for."""
        return self.current == self.head


def revisions() -> list[str]:
    """All revisions, oldest first. History is a line; a test holds it to that."""
    files = (_resources.migrations_directory() / "versions").glob("[0-9]*_*.py")
    return sorted(path.name.partition("_")[0] for path in files)


def head() -> str:
    """The newest revision."""
    return revisions()[-1]


def expected_version() -> str:
    """The revision that this version of pgsift works with: what ``sift.schema_version()`` has to return."""
    return head()


def current(dsn: str) -> str | None:
    """The revision a database is at; ``None`` where pgsift is not installed."""
    with _connect(dsn) as connection:
        return _current(connection)


def status(dsn: str) -> SchemaStatus:
    """Revision of the schema, with the versions it stands on."""
    with _connect(dsn) as connection:
        revision = _current(connection)
        row = connection.execute(
            "SELECT current_database()::text, current_setting('server_version')"
        ).fetchone()
        assert row is not None
        extension = _vector(connection)
    known = revisions()
    pending = known if revision is None else [name for name in known if name > revision]
    return SchemaStatus(
        database=row[0],
        server_version=row[1],
        vector_version=extension[0] if extension else None,
        vector_schema=extension[1] if extension else None,
        current=revision,
        head=known[-1],
        pending=tuple(pending),
    )


def upgrade(dsn: str, revision: str = "head") -> str:
    """Install the schema, or bring it to *revision*; returns the revision the database is at afterwards.

    Several at once on one database: one works, the others wait and find nothing left to do. Each revision
    is one transaction. A table that is in use is waited for briefly and again later, so that the queue
    behind it stays short; ``ServerUnavailable`` is raised when it never became free, and the upgrade can be
    run again.
    """
    target = _known(revision)
    present = current(dsn)
    if present is not None and present > target:
        if present not in revisions():
            raise _newer(present)
        if revision == "head":
            return present
        raise InvalidArgument(
            f"the schema is at revision {present}, later than {target}",
            hint=f"Run: pgsift db downgrade {target}",
        )
    _migrate(dsn, "up", target)
    return current(dsn) or ""


def downgrade(dsn: str, revision: str) -> str | None:
    """Bring the schema back to an older *revision*, or with ``"base"`` remove it and its data altogether.

    Removed is what pgsift made in the schema ``sift``. The four roles stay, since they belong to the whole
    cluster, and the extension ``vector`` stays, since others may use it. An object of somebody else's that
    depends on ours makes the downgrade fail and nothing is changed. Returns the revision afterwards.
    """
    target = _known(revision)
    present = current(dsn)
    if present is None:
        if target == "base":
            return None
        raise SchemaVersionMismatch("pgsift is not installed in this database", hint="Run: pgsift db upgrade")
    if present not in revisions():
        raise _newer(present)
    if target != "base" and target > present:
        raise InvalidArgument(
            f"the schema is at revision {present}, earlier than {target}",
            hint=f"Run: pgsift db upgrade {target}",
        )
    _migrate(dsn, "down", target)
    return current(dsn)


def render_sql(start: str | None = None, to: str = "head") -> str:
    """The statements that lead from revision *start* (``None`` or ``"base"``: nothing installed) to *to*,
    for psql.

    A *to* older than *start* gives the downgrade.
    """
    from alembic import command

    begin = "base" if start is None else _known(start)
    end = _known(to)
    if begin == end:
        return ""
    config = _config()
    buffer = io.StringIO()
    config.output_buffer = buffer
    with _alembic, _alembic_errors():
        if end != "base" and (begin == "base" or begin < end):
            command.upgrade(config, f"{begin}:{end}", sql=True)
        else:
            config.attributes["direction"] = "down"
            config.attributes["to_base"] = end == "base"
            command.downgrade(config, f"{begin}:{end}", sql=True)
    return buffer.getvalue().rstrip() + "\n"


def check(dsn: str) -> list[str]:
    """What is wrong with the schema in a database, one sentence each; empty when nothing is.

    Compared are the revision, the existence of every object, the bodies of functions, privileges of PUBLIC,
    the validity of indexes, the roles, and the version of pgvector.
    """
    problems: list[str] = []
    with _connect(dsn) as connection:
        extension = _vector(connection)
        if extension is None:
            problems.append("the extension vector is not installed in this database")
        else:
            found = tuple(int(part) for part in re.findall(r"\d+", extension[0])[:2])
            if found < MINIMUM_VECTOR:
                problems.append(
                    f"pgvector is {extension[0]}; {'.'.join(map(str, MINIMUM_VECTOR))} or newer is needed"
                )
        for role in ROLES:
            if connection.execute("SELECT to_regrole(%s)", [role]).fetchone() == (None,):
                problems.append(f"the role {role} does not exist")
        revision = _current(connection)
        if revision is None:
            return [*problems, "the schema sift is not installed: pgsift db upgrade"]
        if revision != head():
            problems.append(
                f"the schema is at revision {revision}, this pgsift needs {head()}: pgsift db upgrade"
            )
            return problems
        problems += _compare(connection)
    return problems


# --- comparing ------------------------------------------------------------------------------------


def _compare(connection: psycopg.Connection) -> list[str]:
    from pgsift import _doctor

    problems: list[str] = []
    relations = {
        name: kind
        for name, kind in connection.execute(
            "SELECT c.relname::text, c.relkind::text FROM pg_catalog.pg_class AS c"
            " WHERE c.relnamespace = 'sift'::regnamespace"
        )
    }
    routines: dict[str, list[tuple[str, bool]]] = {}
    for name, source, public in connection.execute(
        "SELECT p.proname::text, p.prosrc,"
        " EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a"
        "         WHERE a.grantee = 0)"
        " FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = 'sift'::regnamespace"
    ):
        routines.setdefault(name, []).append((source, public))
    known: set[str] = set()
    for wanted in _doctor.sources():
        if wanted.kind not in ("FUNCTION", "PROCEDURE"):
            if wanted.name not in relations:
                problems.append(f"{wanted.kind.lower()} sift.{wanted.name} is missing")
            continue
        known.add(wanted.name)
        present = routines.get(wanted.name, [])
        if not present:
            problems.append(f"function sift.{wanted.name} is missing")
            continue
        if wanted.body is not None and all(source.strip() != wanted.body for source, _ in present):
            problems.append(f"function sift.{wanted.name} is not the one of revision {head()}")
        if len(present) > 1:
            problems.append(f"function sift.{wanted.name} exists {len(present)} times with different arguments")
        if any(public for _, public in present):
            problems.append(f"function sift.{wanted.name} may be executed by everybody (PUBLIC)")
    problems += [f"function sift.{name} is not part of pgsift" for name in sorted(routines.keys() - known)]
    problems += [
        f"{who} may {what} in the schema sift, which pgsift did not grant"
        for who, what in connection.execute(
            "SELECT CASE a.grantee WHEN 0 THEN 'everybody (PUBLIC)' ELSE pg_get_userbyid(a.grantee)::text END,"
            " lower(string_agg(a.privilege_type, ' and ' ORDER BY a.privilege_type))"
            " FROM pg_catalog.pg_namespace AS n, aclexplode(n.nspacl) AS a"
            " WHERE n.nspname = 'sift' AND a.grantee <> n.nspowner"
            " AND NOT (a.privilege_type = 'USAGE' AND pg_get_userbyid(a.grantee) = ANY (%s::name[]))"
            " GROUP BY a.grantee ORDER BY 1",
            [list(ROLES)],
        )
    ]
    problems += [
        f"index sift.{name} is invalid: REINDEX INDEX sift.{name}"
        for (name,) in connection.execute(
            "SELECT c.relname::text FROM pg_catalog.pg_index AS i"
            " JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid"
            " WHERE c.relnamespace = 'sift'::regnamespace AND NOT i.indisvalid"
        )
    ]
    return problems


# --- alembic --------------------------------------------------------------------------------------


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    # An absolute path; "%" is interpolation in this format.
    location = str(_resources.migrations_directory()).replace("%", "%%")
    config.set_main_option("script_location", location)
    config.set_main_option("path_separator", "newline")
    return config


def _migrate(dsn: str, direction: str, target: str) -> None:
    from alembic import command

    for attempt in range(1, _ATTEMPTS + 1):
        config = _config()
        config.attributes["dsn"] = _normalized(dsn)
        config.attributes["direction"] = direction
        config.attributes["lock_timeout_ms"] = _LOCK_TIMEOUT_MS
        try:
            with _alembic, _alembic_errors():
                (command.upgrade if direction == "up" else command.downgrade)(config, target)
            return
        except _Busy as error:
            if attempt == _ATTEMPTS:
                raise ServerUnavailable(
                    f"a table of the schema stayed locked by another session: {error.message}",
                    hint="End long transactions, then run it again. What waited changed nothing.",
                    sqlstate=error.sqlstate,
                ) from error
            time.sleep(random.uniform(0.2, 1.0))


class _Busy(PgsiftError):
    """A lock was not granted in time; internal, tried again."""


@contextlib.contextmanager
def _alembic_errors() -> Iterator[None]:
    """Re-raise what alembic and SQLAlchemy wrap as our own exceptions, with a hint fit for installing."""
    from alembic.util.exc import CommandError
    from sqlalchemy.exc import DBAPIError

    try:
        yield
    except CommandError as error:
        raise SchemaVersionMismatch(str(error), hint="Run: pgsift db status") from error
    except (DBAPIError, psycopg.Error) as error:
        original = error.orig if isinstance(error, DBAPIError) else error
        if not isinstance(original, psycopg.Error):
            raise
        message = original.diag.message_primary or str(original)
        if isinstance(original, psycopg.errors.LockNotAvailable):
            raise _Busy(message, sqlstate=original.sqlstate) from original
        if isinstance(original, psycopg.errors.InsufficientPrivilege):
            raise NotPermitted(
                message,
                hint=original.diag.message_hint
                or "Installing needs CREATE on the database; or an administrator makes a schema sift that "
                "belongs to your role, and the extension vector.",
                sqlstate=original.sqlstate,
            ) from original
        ours = from_psycopg(original)
        if ours is not None and not isinstance(ours, SchemaVersionMismatch):
            raise ours from original
        detail = original.diag.message_detail
        raise PgsiftError(
            f"{message}: {detail}" if detail else message,
            hint=original.diag.message_hint,
            sqlstate=original.sqlstate,
        ) from original


def _known(revision: str) -> str:
    """*revision* checked and spelled out: ``head`` becomes its number; ``base`` stays."""
    known = revisions()
    if revision == "head":
        return known[-1]
    if revision == "base" or revision in known:
        return revision
    raise InvalidArgument(
        f"there is no revision {revision!r}",
        hint=f"Known are {', '.join(known)}, and the words base and head.",
    )


def _newer(present: str) -> SchemaVersionMismatch:
    return SchemaVersionMismatch(
        f"the schema is at revision {present}, which this version of pgsift (at {head()}) does not know",
        hint="Upgrade the package: pip install --upgrade pgsift",
    )


# --- database -------------------------------------------------------------------------------------


def _normalized(dsn: str) -> str:
    """A DSN as libpq reads it: the driver names that SQLAlchemy puts in URLs are dropped."""
    return re.sub(r"\A(postgres(?:ql)?)\+\w+://", r"\1://", dsn)


@contextlib.contextmanager
def _connect(dsn: str) -> Iterator[psycopg.Connection]:
    try:
        connection = psycopg.connect(_normalized(dsn), autocommit=True, client_encoding="utf8")
    except psycopg.OperationalError as error:
        raise ServerUnavailable(
            str(error).strip(), hint="Check that the server runs and that --dsn or PGSIFT_DSN names it."
        ) from error
    except psycopg.ProgrammingError as error:
        raise InvalidArgument(f"not a connection string: {error}") from error
    # In one transaction, and the setting with it: behind a pooler the session is somebody else's next.
    with connection, connection.transaction():
        connection.execute("SET LOCAL search_path = pg_catalog, pg_temp")  # nobody else's operators
        yield connection


def _current(connection: psycopg.Connection) -> str | None:
    if connection.execute("SELECT to_regclass('sift.alembic_version')").fetchone() == (None,):
        return None
    try:
        with connection.transaction():
            row = connection.execute("SELECT v.version_num FROM sift.alembic_version AS v").fetchone()
    except psycopg.errors.InsufficientPrivilege:
        # Readers may ask the function, not the table.
        row = connection.execute("SELECT sift.schema_version()").fetchone()
    return row[0] if row else None


def _vector(connection: psycopg.Connection) -> tuple[str, str] | None:
    """Version and schema of pgvector in this database."""
    return connection.execute(
        "SELECT e.extversion, n.nspname::text FROM pg_catalog.pg_extension AS e"
        " JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'vector'"
    ).fetchone()
