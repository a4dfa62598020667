"""Write, or with ``--check`` compare, all generated pages of docs/."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import gen_cli_docs
import gen_sql_api

if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(max(gen_cli_docs.main([a for a in given if a == "--check"]), gen_sql_api.main(given)))
