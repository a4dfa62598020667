"""Ingest: sources are read, parsed, cleaned, cut into chunks and tokenized here; SQL stores the result.

See :meth:`pgsift.Store.ingest`. The modules: :mod:`~pgsift.ingest.sources`, :mod:`~pgsift.ingest.parsers`,
:mod:`~pgsift.ingest.cleaning`, :mod:`~pgsift.ingest.chunker`, :mod:`~pgsift.ingest.pipeline`.
"""

from __future__ import annotations
