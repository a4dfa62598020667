"""A tenant to look at."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from browse_site import Site, Toy, documents

from pgsift import Store


@pytest.fixture(scope="module")
def site(schema_dsn: str) -> Iterator[Site]:
    tenant = f"browse_{uuid.uuid4().hex[:12]}"
    with Store(schema_dsn) as store:
        store.create_tenant(tenant, default_principals=["public"])
        try:
            store.put_documents(tenant, documents(), embedder=Toy())
            yield Site(schema_dsn, tenant)
        finally:
            store.drop_tenant(tenant)
