"""XLSX by openpyxl (MIT), read row by row: each sheet is a page with its name as a heading, and each block of
rows without an empty one a pipe table. Values are those stored when the workbook was saved, not formulas."""

from __future__ import annotations

import datetime
import io
import warnings
import zipfile
from collections.abc import Sequence
from typing import Any

from pgsift.errors import InvalidDocument
from pgsift.ingest.formats import Limits, needs
from pgsift.ingest.formats.building import TextBuilder
from pgsift.ingest.formats.docx import core_metadata
from pgsift.ingest.formats.zipped import opened
from pgsift.ingest.parsers import Parsed

_COLUMNS = 1000


def read(content: bytes, limits: Limits) -> Parsed:
    """A workbook."""
    with needs("xlsx"):
        import openpyxl
    opened(content, limits, "workbook")
    warnings.simplefilter("ignore")  # about parts of workbooks that are not read
    try:
        workbook = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InvalidDocument(f"the workbook is broken: {error}") from None
    builder = TextBuilder()
    for sheet in workbook.worksheets:
        builder.page()
        builder.add(str(sheet.title), "heading", 2)
        rows: list[list[str]] = []
        # What a file says about its own size may be wrong.
        sheet.reset_dimensions()
        for row in sheet.iter_rows(values_only=True):
            cells = [_cell(value) for value in row[:_COLUMNS]]
            if any(cells):
                rows.append(cells)
            elif rows:
                _block(rows, builder)
                rows = []
        if rows:
            _block(rows, builder)
    properties = workbook.properties
    metadata = core_metadata(_Core(properties))
    metadata["sheets"] = [str(sheet.title) for sheet in workbook.worksheets][:200]
    return builder.parsed(
        title=properties.title, metadata=metadata, language=properties.language, from_heading=False
    )


class _Core:
    """Properties by the names they have in the other formats."""

    def __init__(self, properties: Any) -> None:
        self.author = properties.creator
        self.subject = properties.subject
        self.keywords = properties.keywords
        self.created = properties.created
        self.identifier = properties.identifier


def _block(rows: Sequence[Sequence[str]], builder: TextBuilder) -> None:
    width = max(sum(1 for cell in row if cell) for row in rows)
    if width < 2:
        # A column of text is no table.
        builder.add("\n".join(next(cell for cell in row if cell) for row in rows))
        return
    first = 0
    while first < len(rows) - 1 and sum(1 for cell in rows[first] if cell) == 1:
        builder.add(next(cell for cell in rows[first] if cell))
        first += 1
    builder.table(rows[first:])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value).strip()
