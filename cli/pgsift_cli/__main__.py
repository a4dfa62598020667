"""``python -m pgsift_cli`` is ``pgsift``."""

from __future__ import annotations

import sys

from pgsift_cli.app import main

if __name__ == "__main__":
    sys.exit(main())
