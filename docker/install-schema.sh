#!/usr/bin/env bash
# Run once by the entry point of the postgres image, when the data directory is new: installs the schema sift.
set -euo pipefail
psql -X --quiet --set ON_ERROR_STOP=1 --single-transaction --output /dev/null \
    --username "${POSTGRES_USER:-postgres}" --dbname "${POSTGRES_DB:-pgsift}" \
    --file "${PGSIFT_SQL:-/usr/share/pgsift/sql}/install.sql"
