"""${message}

Revision: ${up_revision}
Revises: ${down_revision or "nothing"}
"""

from __future__ import annotations

from alembic import op

from pgsift._replaceable import execute, install, restore

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None

# Files of migrations/snapshots/${up_revision}, in dependency order; "make snapshot REV=${up_revision}" prints them.
FILES: tuple[str, ...] = ()


def upgrade() -> None:
    # Changes of tables by hand, e.g. execute(op, "ALTER TABLE sift.documents ADD COLUMN …;"), before or after:
    install(op, revision, *FILES, "owner")


def downgrade() -> None:
    restore(op, revision, *FILES)
    # … and the changes of tables undone.
