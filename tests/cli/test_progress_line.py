"""The line that tells how far an ingest is, in a terminal of 80 columns."""

from __future__ import annotations

import io
import re

import pytest

from pgsift.models import Progress
from pgsift_cli import output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_rates_and_the_time_left_are_seen_in_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(output.Rates, "add", lambda *_: (1166.4, 1166.4))
    with output.Output().progress() as show:
        for portion in range(1, 9):
            done = portion * 1000
            show(Progress("store", done, done, done * 100, 1_000_000, 0))
    lines = [
        re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).strip() for line in re.split(r"[\r\n]", terminal.getvalue())
    ]
    shown = next(line for line in reversed(lines) if "8,000 documents" in line)
    assert re.search(r"\d:\d\d left, 8,000 documents \(1,166/s\), 8,000 chunks \(1,166/s\)$", shown), shown
    assert len(shown) <= 80
