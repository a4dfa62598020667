"""The history of revisions, by itself."""

from __future__ import annotations

import re

import pytest
from alembic.script import ScriptDirectory

from pgsift import _resources, schema
from pgsift.errors import InvalidArgument


def scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(schema._config())


def test_one_line_with_one_head() -> None:
    directory = scripts()
    assert directory.get_heads() == [schema.head()]
    assert len(directory.get_bases()) == 1
    assert [script.revision for script in reversed(list(directory.walk_revisions()))] == schema.revisions()
    for script in directory.walk_revisions():
        assert not script.is_merge_point and not script.is_branch_point
        assert script.dependencies is None and not script.branch_labels


def test_numbers_without_gaps() -> None:
    assert schema.revisions() == [f"{number:04}" for number in range(1, len(schema.revisions()) + 1)]


def test_file_names_tell_the_revision() -> None:
    for path in (_resources.migrations_directory() / "versions").glob("*.py"):
        assert re.fullmatch(r"\d{4}_[a-z0-9_]+\.py", path.name)
        assert f'revision = "{path.name[:4]}"' in path.read_text(encoding="utf-8")


def test_every_revision_goes_both_ways() -> None:
    for script in scripts().walk_revisions():
        assert callable(script.module.upgrade) and callable(script.module.downgrade)


def test_no_sql_bodies_in_migrations() -> None:
    """Bodies live in snapshots, where they can be compared."""
    for path in (_resources.migrations_directory() / "versions").glob("*.py"):
        assert "CREATE OR REPLACE" not in path.read_text(encoding="utf-8").upper()


def test_expected_version_is_the_head() -> None:
    assert schema.expected_version() == schema.head() == schema.revisions()[-1]


@pytest.mark.parametrize("revision", ["", "1", "9999", "0001; DROP SCHEMA sift", "heads", "+1"])
def test_unknown_revisions_are_refused(revision: str) -> None:
    with pytest.raises(InvalidArgument, match="there is no revision"):
        schema.render_sql("base", revision)


def test_nothing_to_do_is_no_sql() -> None:
    assert schema.render_sql("head", "head") == ""
    assert schema.render_sql("base", "base") == ""
