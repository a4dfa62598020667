"""An ingesting client as a process: ``client.py DSN FILE VECTORS``. Prints the report, or the error, as JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import feed

from pgsift.errors import PgsiftError, report_of
from pgsift.ingest import pipeline

if __name__ == "__main__":
    if "PGSIFT_STRESS_BATCH" in os.environ:
        pipeline.BATCH_CHUNKS = int(os.environ["PGSIFT_STRESS_BATCH"])
        pipeline.GROUP_DOCUMENTS = pipeline.BATCH_CHUNKS
    try:
        report = feed.ingest(sys.argv[1], Path(sys.argv[2]), vectors=sys.argv[3] == "vectors")
        print(json.dumps({"report": report.to_dict()}))
    except PgsiftError as error:
        done = report_of(error)
        kind = type(error).__name__
        print(json.dumps({"error": kind, "message": error.message, "report": done and done.to_dict()}))
