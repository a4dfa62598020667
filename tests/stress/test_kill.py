"""``kill -9`` of the server, and of the client, at random moments of an ingest."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import feed
import psycopg
import pytest
import server_process
from server_process import Private

from pgsift import Store


def client(dsn: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("client.py")), dsn, str(path), "vectors"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kills", "documents", "victim"),
    [
        pytest.param(3, 200, "server", id="server-short"),
        pytest.param(1, 200, "client", id="client-short"),
        pytest.param(20, 1500, "server", id="server-long", marks=[pytest.mark.stress, pytest.mark.timeout(1800)]),
        pytest.param(20, 1500, "client", id="client-long", marks=[pytest.mark.stress, pytest.mark.timeout(1800)]),
    ],
)
def test_kill_nine(
    private: Private, directory: Path, monkeypatch: pytest.MonkeyPatch, kills: int, documents: int, victim: str
) -> None:
    """Each time everything there is is whole; in the end everything is there, once.

    Small batches, so that the moment falls between two and within one. After every second kill all documents have
    a new version, so that some are created and others replaced.
    """
    monkeypatch.setenv("PGSIFT_STRESS_BATCH", "60")
    rng = random.Random()
    seed = rng.randrange(2**32)
    rng.seed(seed)
    begun = time.monotonic()
    dsn = private.start()
    with Store(dsn) as store:
        store.create_tenant("default", analyzer="english", default_principals=["public"])
    path = directory / "corpus.jsonl"
    version = 0
    keys = feed.write(path, documents)
    done = within = 0
    faults: list[str] = []
    # How long a client takes to begin, and to come to its end, on this machine.
    at = time.monotonic()
    running = client(dsn, path)
    wait_until_writing(dsn, running, version, 60)
    lead = time.monotonic() - at
    while done < kills:
        time.sleep(rng.uniform(0, 0.6 if done % 2 else 0.15))
        finished = running.poll() is not None
        if victim == "server":
            private.kill()
        else:
            running.send_signal(signal.SIGKILL)
        done += 1
        out, err = running.communicate(timeout=60)
        if victim == "server" and not finished:
            assert "Traceback" not in err, err
            answer = json.loads(out)
            if "error" in answer:
                assert answer["error"] == "ServerUnavailable" and "\n" not in answer["message"], answer
                within += 1
        elif not finished:
            assert running.returncode == -signal.SIGKILL
            within += 1
        dsn = private.start()
        server_process.wait_for_end_of_sessions(dsn)
        stored, wrong = feed.whole(dsn, path, vectors=True, as_it_is=True)
        faults += [f"after kill {done} (seed {seed}): {fault}" for fault in wrong]
        if not set(stored) <= set(keys):
            faults.append(f"after kill {done}: documents nobody wrote: {sorted(set(stored) - set(keys))[:3]}")
        if done < kills:
            if done % 2 == 0 or of_version(dsn, version) == documents:
                version += 1
                feed.write(path, documents, version=version)
            running = client(dsn, path)
            wait_until_writing(dsn, running, version, lead)
    dsn = private.start()
    first = feed.ingest(dsn, path, vectors=True)
    again = feed.ingest(dsn, path, vectors=True)
    stored, wrong = feed.whole(dsn, path, vectors=True)
    faults += wrong
    print(
        f"\n{done} times kill -9 of the {victim}, {within} within an ingest, {documents:,} documents,"
        f" {version + 1} versions: {len(faults)} faults; the last run found {first.unchanged:,} stored and made"
        f" {first.created + first.replaced:,}; {time.monotonic() - begun:.0f} s"
    )
    assert faults == [], faults[:10]
    assert stored == keys
    assert (first.failed, first.unchanged + first.created + first.replaced) == (0, documents)
    assert (again.unchanged, again.chunks, again.vectors_computed) == (documents, 0, 0)
    assert within > 0


def wait_until_writing(dsn: str, running: subprocess.Popen[str], version: int, patience: float) -> None:
    """Until a client stores more of this version, has ended, or had time enough."""
    before = of_version(dsn, version)
    deadline = time.monotonic() + patience
    while running.poll() is None and of_version(dsn, version) == before and time.monotonic() < deadline:
        time.sleep(0.01)


def of_version(dsn: str, version: int) -> int:
    """How many documents are of this version."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute("SELECT count(*) FROM sift.documents WHERE title = %s", (f"t{version}",)).fetchone()
    assert row is not None
    return int(row[0])
