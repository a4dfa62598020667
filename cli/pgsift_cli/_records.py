"""JSON lines that add something to stored documents: one object a line, with the document's key."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import typer


def read_records(file: Path) -> dict[str, list[dict[str, Any]]]:
    """The objects of a file by the key of their document, in the order of the file; ``-`` is standard input."""
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        lines = content.decode("utf-8").splitlines()
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be read: {error.strerror}", param_hint="FILE") from None
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{file} is not UTF-8: {error}", param_hint="FILE") from None
    records: dict[str, list[dict[str, Any]]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise typer.BadParameter(f"line {number} is not JSON: {error}", param_hint="FILE") from None
        if not isinstance(record, dict) or not isinstance(record.get("key"), str):
            raise typer.BadParameter(f"line {number} is not an object with a key", param_hint="FILE")
        records.setdefault(record.pop("key"), []).append(record)
    return records
