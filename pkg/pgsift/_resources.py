"""Where the SQL sources and the migrations lie: inside an installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _directory(packaged: str, checkout: str) -> Path:
    inside = _PACKAGE / packaged
    if inside.is_dir():
        return inside
    beside = _PACKAGE.parent.parent / checkout
    if beside.is_dir():
        return beside
    raise FileNotFoundError(f"pgsift is installed incompletely: neither {inside} nor {beside} exists")


def sql_directory() -> Path:
    """Directory of the present SQL sources: ``install.sql`` and one file per object."""
    return _directory("_sql", "sql")


def migrations_directory() -> Path:
    """Directory of the alembic environment: ``env.py``, ``versions/`` and ``snapshots/``."""
    return _directory("_migrations", "migrations")


def install_order(install_file: Path) -> list[str]:
    """Names of the files that an ``install.sql`` includes, in order, relative to its directory.

    Such a file holds comments, blank lines and ``\\ir name`` lines and nothing else, so that psql, the
    migrations and the tests all run the same list.
    """
    names = []
    for number, line in enumerate(install_file.read_text(encoding="utf-8").splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("--"):
            continue
        command, _, name = line.partition(" ")
        if command != "\\ir" or not name.strip():
            raise ValueError(rf"{install_file}:{number}: expected '\ir FILE', found {line!r}")
        names.append(name.strip())
    return names
