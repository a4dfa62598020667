"""An application with alembic migrations of its own, in the same database."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from catalog import describe

from pgsift import schema

MODELS = """
    from sqlalchemy import BigInteger, Column, ForeignKey, MetaData, Table, Text

    metadata = MetaData()
    Table("customers", metadata, Column("id", BigInteger, primary_key=True),
          Column("name", Text, nullable=False))
    # The same name as one of ours, in the application's own schema.
    Table("documents", metadata, Column("id", BigInteger, primary_key=True),
          Column("customer_id", BigInteger, ForeignKey("customers.id"), index=True))
"""

ENVIRONMENT = """
    import importlib.util
    from alembic import context
    import psycopg
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    config = context.config
    spec = importlib.util.spec_from_file_location("host_models", config.attributes["models"])
    models = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(models)
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(config.attributes["dsn"]),
                           poolclass=NullPool)
    with engine.connect() as connection:
        context.configure(connection=connection, target_metadata=models.metadata,
                          **config.attributes["options"])
        with context.begin_transaction():
            context.run_migrations()
"""


def include_name(name: str | None, type_: str, _parent_names: object) -> bool:
    """What docs/migrations.md tells applications with include_schemas to write."""
    return not (type_ == "schema" and name == "sift")


class Host:
    """A host application: its own models, version table and history."""

    def __init__(self, directory: Path, dsn: str, **options: object) -> None:
        (directory / "versions").mkdir(parents=True)
        (directory / "env.py").write_text(textwrap.dedent(ENVIRONMENT))
        (directory / "models.py").write_text(textwrap.dedent(MODELS))
        (directory / "script.py.mako").write_text(
            "revision = ${repr(up_revision)}\ndown_revision = ${repr(down_revision)}\n"
            "from alembic import op\nimport sqlalchemy as sa\n"
            "def upgrade():\n    ${upgrades}\ndef downgrade():\n    ${downgrades}\n"
        )
        self.config = Config()
        self.config.set_main_option("script_location", str(directory))
        self.config.set_main_option("path_separator", "newline")
        self.config.attributes.update(dsn=dsn, options=options, models=str(directory / "models.py"))

    def autogenerate(self, name: str) -> list[object]:
        """The operations alembic would write into a new revision."""
        found: list[object] = []

        def look(_context: object, _revision: object, directives: list[object]) -> None:
            found.extend(directives[0].upgrade_ops.ops)  # type: ignore[attr-defined]

        command.revision(self.config, name, autogenerate=True, process_revision_directives=look)
        return found

    def upgrade(self) -> None:
        command.upgrade(self.config, "head")


@pytest.mark.parametrize(
    "options",
    [{}, {"include_schemas": True, "include_name": include_name}],
    ids=["its own schema", "all schemas"],
)
def test_autogenerate_sees_nothing_of_ours(
    empty_dsn: str, tmp_path: Path, options: dict[str, object]
) -> None:
    host = Host(tmp_path / "host", empty_dsn, **options)
    assert len(host.autogenerate("first")) > 0
    host.upgrade()
    before = describe(empty_dsn)

    schema.upgrade(empty_dsn)
    assert host.autogenerate("after the installation") == []
    host.upgrade()
    assert schema.check(empty_dsn) == []

    schema.downgrade(empty_dsn, "base")
    assert describe(empty_dsn) == before
    assert host.autogenerate("after the removal") == []
    assert len(list(ScriptDirectory.from_config(host.config).walk_revisions())) == 3


def test_the_applications_own_migrations_keep_working(empty_dsn: str, tmp_path: Path) -> None:
    schema.upgrade(empty_dsn)
    before = describe(empty_dsn, "sift")
    host = Host(tmp_path / "host", empty_dsn)
    assert len(host.autogenerate("first")) > 0
    host.upgrade()
    command.downgrade(host.config, "base")
    assert describe(empty_dsn, "sift") == before
    assert schema.check(empty_dsn) == []


def test_the_documented_snippet_is_this_one() -> None:
    text = (Path(__file__).parents[2] / "docs" / "migrations.md").read_text(encoding="utf-8")
    assert 'return not (type_ == "schema" and name == "sift")' in text
