"""The image recipe and the compose file, as far as they can be checked without a Docker engine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict

from pgsift import schema, server
from pgsift.errors import MissingExtra

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "docker" / "Dockerfile"
COMPOSE = ROOT / "docker" / "compose.yaml"


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile as pairs of instruction and arguments, comments gone and continued lines joined."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return loaded


def test_bases_are_pinned() -> None:
    bases = [rest.split()[0] for name, rest in instructions() if name == "FROM"]
    assert len(bases) == 3
    for base in bases:
        assert ":" in base and not base.endswith(":latest")


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    allowed = (ROOT / "docker" / "Dockerfile.dockerignore").read_text().split()
    copied = []
    for name, rest in instructions():
        words = [word for word in shlex.split(rest) if not word.startswith("--chmod")]
        if name == "COPY" and not words[0].startswith("--from"):
            copied += words[:-1]
    assert len(copied) >= 9
    for source in copied:
        assert (ROOT / source).exists(), source
        assert f"!/{source}" in allowed, source


def test_pgvector_is_pinned_by_commit_and_the_one_tests_use() -> None:
    arguments = dict(rest.split("=", 1) for name, rest in instructions() if name == "ARG" and "=" in rest)
    assert re.fullmatch(r"0\.8\.\d+", arguments["PGVECTOR_VERSION"])
    assert re.fullmatch(r"[0-9a-f]{40}", arguments["PGVECTOR_COMMIT"])
    image = f"pgvector/pgvector:{arguments['PGVECTOR_VERSION']}-pg{arguments['PG_MAJOR']}"
    assert f'CONTAINER_IMAGE = "{image}"' in (ROOT / "tests" / "conftest.py").read_text()


def test_the_command_line_does_not_run_as_root() -> None:
    users = [rest for name, rest in instructions() if name == "USER"]
    assert users == ["10001"]


def test_targets_of_compose_are_stages() -> None:
    stages = {rest.split()[-1] for name, rest in instructions() if name == "FROM" and " AS " in rest}
    for service in compose()["services"].values():
        assert service["build"]["target"] in stages
        assert (
            COMPOSE.parent / service["build"]["context"] / service["build"]["dockerfile"]
        ).resolve() == DOCKERFILE


def test_upgrade_runs_once_after_the_database_is_healthy() -> None:
    services = compose()["services"]
    upgrade = services["upgrade"]
    assert upgrade["command"] == ["db", "upgrade"] and upgrade["restart"] == "no"
    assert upgrade["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert "pg_isready" in services["db"]["healthcheck"]["test"]
    parts = conninfo_to_dict(upgrade["environment"]["PGSIFT_DSN"])
    assert parts["host"] == "db" and parts["dbname"] == services["db"]["environment"]["POSTGRES_DB"]


def test_nothing_is_open_to_the_world() -> None:
    db = compose()["services"]["db"]
    assert all(str(port).startswith("127.0.0.1:") for port in db["ports"])
    assert ":?" in db["environment"]["POSTGRES_PASSWORD"], "no password of ours"


def test_the_volume_is_where_postgresql_18_writes() -> None:
    assert compose()["services"]["db"]["volumes"] == ["data:/var/lib/postgresql"]


def test_first_start_installs_the_schema(empty_dsn: str) -> None:
    """The script of the image, run against the test server with the environment the image gives it."""
    try:
        programs = server.program("psql").parent
    except MissingExtra:
        pytest.skip("no psql")
    parts = {key: str(value) for key, value in conninfo_to_dict(empty_dsn).items()}
    variables = {f"PG{key.upper()}": parts[key] for key in ("host", "port", "password") if key in parts}
    variables |= {
        "POSTGRES_USER": parts["user"],
        "POSTGRES_DB": parts["dbname"],
        "PGSIFT_SQL": str(ROOT / "sql"),
    }
    variables["PATH"] = f"{programs}:{os.environ['PATH']}"
    script = ROOT / "docker" / "install-schema.sh"
    result = subprocess.run([script], env=os.environ | variables, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    with psycopg.connect(empty_dsn) as connection:
        assert connection.execute("SELECT sift.schema_version()").fetchone() == (schema.head(),)


def test_linter() -> None:
    hadolint = shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed")
    result = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_compose_accepts_the_file() -> None:
    for command in (["docker", "compose"], ["docker-compose"]):
        if (
            shutil.which(command[0])
            and subprocess.run([*command, "version"], capture_output=True).returncode == 0
        ):
            break
    else:
        pytest.skip("docker compose is not installed")
    check = [*command, "-f", str(COMPOSE), "config"]
    clean = {key: value for key, value in os.environ.items() if key != "POSTGRES_PASSWORD"}
    result = subprocess.run(check, env=clean | {"POSTGRES_PASSWORD": "x"}, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert yaml.safe_load(result.stdout)["services"].keys() == {"db", "upgrade"}
    without = subprocess.run(check, env=clean, capture_output=True, text=True)
    assert "POSTGRES_PASSWORD" in without.stderr and without.stdout == ""
