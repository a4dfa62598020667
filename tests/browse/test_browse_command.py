"""``pgsift browse`` as it is started and ended, ``pgsift judgments``, and the examples of docs/browse.md."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from browse_site import Site, Toy

from pgsift import Store
from pgsift.errors import MissingExtra
from pgsift_cli.app import main

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/browse.md").read_text(encoding="utf-8")


@pytest.fixture
def run(site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """``run(0, "judgments", "list")``: standard output and error of a command that ends with this code."""
    monkeypatch.setenv("PGSIFT_DSN", site.dsn)
    monkeypatch.setenv("PGSIFT_TENANT", site.tenant)

    def call(code: int, *arguments: str) -> tuple[str, str]:
        capsys.readouterr()
        assert main(list(arguments)) == code
        out, err = capsys.readouterr()
        return out, err

    return call


@pytest.fixture
def started(site: Site) -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """``started("--port", "0")``: a process that serves, and its address."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "pgsift_cli", "browse", "--embedder", "none", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"PGSIFT_DSN": site.dsn, "PGSIFT_TENANT": site.tenant},
        )  # fmt: skip
        running.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_from_start_to_end(started: Callable[..., tuple[subprocess.Popen[str], str]], number: signal.Signals) -> None:
    process, address = started("--as", "public", "--judge", "anna")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", address)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{address}?q=winch+secretword", timeout=30) as answer:
        assert b"marks are kept as <bdi>anna</bdi>" in answer.read()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        opener.open(re.sub(r"/[\w-]{43}/", "/", address), timeout=30)
    port = int(address.split(":")[2].split("/")[0])
    # On the loopback's first address alone: another one of this machine does not answer.
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=5):
        pass
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert out == "" and "Traceback" not in err and "secretword" not in err and "Ctrl-C ends it" in err


def test_a_port_that_is_taken(run: Callable[..., Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        _, err = run(2, "browse", "--port", str(taken.getsockname()[1]), "--embedder", "none")
    assert "cannot be listened on" in err and "Leave out --port" in err


def test_what_is_wrong_is_told_at_the_start(run: Callable[..., Any]) -> None:
    assert "exclude each other" in run(2, "browse", "--as", "a", "--all")[1]
    assert "1 to 200 bytes" in run(2, "browse", "--judge", " ")[1]
    assert run(6, "browse", "--dsn", "host=127.0.0.1 port=1 connect_timeout=1")[1]


def test_the_extra_is_named_where_it_is_missing(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from pgsift import browse

    monkeypatch.setattr(browse.importlib.util, "find_spec", lambda name: None if name == "starlette" else object())
    with pytest.raises(MissingExtra):
        browse.require_extra()
    out, err = run(4, "browse")
    assert out == "" and "starlette" in err and "pip install 'pgsift[browse]'" in err


@pytest.mark.parametrize("found", [True, False])
def test_opening(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, found: bool) -> None:
    """The browser is given a file that others cannot read; no program's arguments hold the key."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    seen: list[Path] = []

    def open_(url: str) -> bool:
        path = Path(url.removeprefix("file://"))
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert "http://127.0.0.1:1/key/" in path.read_text() and "key" not in url.replace("keyring", "")
        seen.append(path)
        return found

    monkeypatch.setattr(webbrowser, "open", open_)
    monkeypatch.setattr("pgsift.browse.serve", lambda _settings, *, port, ready: ready(f"http://127.0.0.1:{port or 1}/key/"))
    out, err = run(0, "browse", "--open", "--json")
    assert json.loads(out) == {"address": "http://127.0.0.1:1/key/"}
    assert ("no browser was found" in err) is not found
    assert len(seen) == 1 and not seen[0].parent.exists()


class TestJudgments:
    def test_add_list_remove(self, run: Callable[..., Any], site: Site) -> None:
        with Store(site.dsn) as store:
            hit = store.search(site.tenant, "drum", principals=["public"], embedder=Toy())[0]
        whole = json.loads(run(0, "judgments", "add", "drum", "ferry.md", "0", "--judge", "anna", "--note", "no\x1b drum", "--json")[0])
        passage = json.loads(run(0, "judgments", "add", "drum", hit.key, "3", "--chunk", str(hit.chunk_id), "--judge", "anna", "--json")[0])
        hidden = run(0, "judgments", "add", "drum", "hidden.md", "1", "--as", "group:mine")[0].split()[1]
        listed = json.loads(run(0, "judgments", "list", "--query", " DRUM", "--json")[0])["judgments"]
        assert [(one["judgment_id"], one["key"], one["grade"], one["place"]) for one in listed] == [
            (passage["judgment_id"], hit.key, 3, "passage"), (whole["judgment_id"], "ferry.md", 0, "document")
        ]  # fmt: skip
        text = run(0, "judgments", "list", "--all", "-k", "2", "--below", str(int(hidden) + 1))[0]
        assert "hidden.md" in text and "\x1b" not in text and "ferry.md" not in text
        assert json.loads(run(0, "judgments", "list", "--key", "ferry.md", "--judge", "nobody", "--json")[0])["judgments"] == []
        assert json.loads(run(3, "judgments", "remove", hidden, str(whole["judgment_id"]), "--json")[0]) == {"removed": [whole["judgment_id"]]}
        assert run(3, "judgments", "remove", hidden) == ("removed 0\n", f"no judgment {hidden}, or none that may be seen\n")
        assert run(0, "judgments", "remove", hidden, str(passage["judgment_id"]), "--all")[0] == "removed 2\n"

    def test_what_is_refused(self, run: Callable[..., Any], tmp_path: Path) -> None:
        assert run(2, "judgments", "add", "drum", "ferry.md", "4")[1]
        told = [run(2, "judgments", "add", "drum", key, "1")[1].replace(key, "…") for key in ("hidden.md", "absent.md")]
        assert told[0] == told[1] and "that may be judged" in told[0]
        assert "no judgment" in run(2, "judgments", "export", str(tmp_path / "x"))[1] and not (tmp_path / "x").exists()

    def test_export(self, run: Callable[..., Any], tmp_path: Path) -> None:
        number = run(0, "judgments", "add", "winch", "ferry.md", "2", "--judge", "anna")[0].split()[1]
        made = json.loads(run(0, "judgments", "export", str(tmp_path / "all"), "--json")[0])
        assert (made["queries"], made["judgments"], made["documents"]) == (1, 1, 4)
        assert "1 queries, 1 judged documents, 1 documents" in run(0, "judgments", "export", str(tmp_path / "one"), "--judged-only")[0]
        assert "not an empty folder" in run(2, "judgments", "export", str(tmp_path / "one"))[1]
        run(0, "judgments", "remove", number)


def test_the_page_of_the_documentation_works(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ir_measures")
    shutil.copytree(ROOT / "demo/corpus/public", tmp_path / "demo/corpus/public")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGSIFT_DSN", dsn)
    monkeypatch.delenv("PGSIFT_TENANT", raising=False)
    with Store(dsn) as store:
        store.create_tenant("default", default_principals=["public"])
    printed = io.StringIO()
    with psycopg.connect(dsn, autocommit=True) as connection:
        for language, block in re.findall(r"^```(sh|sql|python)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
            if language == "sql":
                for statement in block.strip().rstrip(";").split(";\n"):
                    assert connection.execute(statement.encode()).fetchall(), statement
            elif language == "python":
                with contextlib.redirect_stdout(printed):
                    exec(compile(block, "browse.md", "exec"), {})
            else:
                for line in block.splitlines():
                    if line.startswith("pgsift ") and line != "pgsift browse --open":
                        assert main(shlex.split(line)[1:]) == 0, line
    assert "high water" in printed.getvalue() and " passage" in printed.getvalue()
    assert "2 queries, 3 judged documents" in capsys.readouterr().out


def test_pictures_and_links_are_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        path = ROOT / "docs" / target
        assert path.exists() and (path.suffix != ".png" or path.stat().st_size < 150_000), target
