"""The wheel: what is in it, and that it works in an environment with nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgsift import schema

ROOT = Path(__file__).resolve().parents[2]


def run(*command: object, **options: object) -> str:
    result = subprocess.run(  # type: ignore[call-overload]
        [str(part) for part in command], capture_output=True, text=True, timeout=170, **options
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return str(result.stdout)


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheel, built from the source distribution, and the source distribution."""
    target = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", target, ROOT)
    return target


@pytest.fixture(scope="module")
def wheel(distributions: Path) -> Path:
    (found,) = distributions.glob("*.whl")
    return found


def tracked(folder: str, suffix: str) -> set[str]:
    """Names of the files below a folder of the checkout."""
    found = (ROOT / folder).rglob(f"*{suffix}")
    return {path.relative_to(ROOT / folder).as_posix() for path in found if "__pycache__" not in path.parts}


def below(names: set[str], folder: str) -> set[str]:
    return {name.removeprefix(folder) for name in names if name.startswith(folder)}


def test_wheel_holds_the_sql_and_the_migrations(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert below(names, "pgsift/_sql/") == tracked("sql", ".sql")
    assert below(names, "pgsift/_migrations/") >= tracked("migrations", ".sql") | tracked("migrations", ".py")
    assert {"pgsift/py.typed", "pgsift/schema.py", "pgsift_cli/app.py"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("licenses/NOTICE") for name in names)
    foreign = [name for name in names if not name.startswith(("pgsift/", "pgsift_cli/", "pgsift-"))]
    assert foreign == [] and not any("__pycache__" in name for name in names)


def test_wheel_is_for_every_platform_and_python_3(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")


def test_source_distribution_can_be_tested(distributions: Path) -> None:
    (path,) = distributions.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "Makefile",
        "README.md",
        "LICENSE",
        "tests/conftest.py",
        "tools/snapshot.py",
        "sql/install.sql",
    } <= names


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A clean environment with the wheel and its dependencies, without extras and development tools."""
    directory = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(directory, with_pip=True)
    run(directory / "bin" / "python", "-m", "pip", "install", "--quiet", wheel)
    yield directory


@pytest.mark.timeout(400)
def test_installed_wheel_upgrades_a_database(environment: Path, empty_dsn: str) -> None:
    ours = ("PYTHON", "PG", "VIRTUAL_ENV")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    options = {"cwd": "/", "env": clean}
    pgsift = environment / "bin" / "pgsift"
    assert run(pgsift, "--version", **options).strip().endswith("0.1.0")
    assert "pgsift" in run(pgsift, "--help", **options)
    run(pgsift, "db", "upgrade", "--dsn", empty_dsn, **options)
    with psycopg.connect(empty_dsn) as connection:
        assert connection.execute("SELECT sift.schema_version()").fetchone() == (schema.head(),)
    assert schema.check(empty_dsn) == []
    assert run(pgsift, "db", "sql", **options) == schema.render_sql()
    where = run(environment / "bin" / "python", "-c", "import pgsift; print(pgsift.__file__)", **options)
    assert Path(where.strip()).is_relative_to(environment)


@pytest.mark.timeout(400)
def test_without_extras_what_is_missing_is_named(environment: Path) -> None:
    code = """if True:
        from pgsift import server
        from pgsift.errors import MissingExtra
        try:
            server.program("psql")
        except MissingExtra as error:
            print(error.hint)
    """
    assert "pgsift[local]" in run(environment / "bin" / "python", "-c", code, cwd="/")


@pytest.mark.timeout(400)
def test_every_module_imports_without_extras(environment: Path) -> None:
    code = """if True:
        import importlib, pkgutil, pgsift, pgsift_cli
        for package in (pgsift, pgsift_cli):
            for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
                if not module.name.endswith("__main__") and "._migrations" not in module.name:
                    importlib.import_module(module.name)
                    print(module.name)
    """
    names = run(environment / "bin" / "python", "-W", "error", "-c", code, cwd="/").split()
    assert "pgsift.schema" in names and "pgsift_cli.db" in names


def test_editable_install_reads_the_checkout() -> None:
    """No copies anywhere: what is edited is what runs."""
    from pgsift import _resources

    if not (ROOT / "pkg" / "pgsift" / "_resources.py").samefile(_resources.__file__):
        pytest.skip("not an editable installation")
    assert _resources.sql_directory() == ROOT / "sql"
    assert _resources.migrations_directory() == ROOT / "migrations"
