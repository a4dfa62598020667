"""The whole schema.

Revision: 0001
Revises: nothing
"""

from __future__ import annotations

from alembic import op

from pgsift._replaceable import drop_all, install_all

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    install_all(op, revision)


def downgrade() -> None:
    # Roles belong to the whole cluster and the extension to the whole database; both stay.
    drop_all(op, revision)
