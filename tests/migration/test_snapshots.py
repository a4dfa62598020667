"""sql/ against its snapshots, and the tool that keeps them in step."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from pgsift import _replaceable, _resources, schema

ROOT = Path(__file__).resolve().parents[2]


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("snapshot_tool", ROOT / "tools" / "snapshot.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = load_tool()
HEAD = schema.head()
NEXT, AFTER = (f"{int(HEAD) + step:04}" for step in (1, 2))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of sql/ and migrations/ to change at will: in step with each other, nothing released."""
    for name in ("sql", "migrations"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    tree = tool.Tree(tmp_path)
    for name, text in tree.snapshot().items():
        (tree.sql / name).write_bytes(text)
    for name in tree.present().keys() - tree.snapshot().keys():
        (tree.sql / name).unlink()
    tree.frozen.write_text("")
    return tmp_path


def begin_revision(root: Path) -> None:
    text = f'revision = "{NEXT}"\ndown_revision = "{HEAD}"\n'
    (root / "migrations" / "versions" / f"{NEXT}_next.py").write_text(text)


def test_sql_equals_its_newest_snapshots() -> None:
    assert tool.problems(tool.Tree(ROOT)) == []


def test_install_order_names_every_file_once() -> None:
    directory = _resources.sql_directory()
    order = _resources.install_order(directory / "install.sql")
    assert len(order) == len(set(order))
    present = {path.relative_to(directory).as_posix() for path in directory.rglob("*.sql")} - {"install.sql"}
    assert set(order) == present


def test_files_end_with_a_semicolon() -> None:
    """Statements follow each other in the offline output."""
    for path in _resources.sql_directory().rglob("*.sql"):
        if path.name != "install.sql":
            lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
            assert lines[-1].rstrip().endswith(";"), path


def test_the_file_name_is_the_object() -> None:
    directory = _resources.sql_directory()
    kinds = {"functions": "FUNCTION", "internal": "FUNCTION", "views": "VIEW", "tables": "TABLE"}
    for folder, kind in kinds.items():
        for path in (directory / folder).glob("*.sql"):
            created = _replaceable.created_objects(path.read_text(encoding="utf-8"))
            assert (kind, path.stem) in created, path
            if kind != "TABLE":  # a table's sequence stands beside it
                assert len(created) == 1, path


def test_a_change_is_noticed_and_copied(copy: Path) -> None:
    tree = tool.Tree(copy)
    begin_revision(copy)
    changed = copy / "sql" / "functions" / "schema_version.sql"
    changed.write_text(changed.read_text() + "-- changed\n;\n")
    added = copy / "sql" / "functions" / "brand_new.sql"
    added.write_text("CREATE OR REPLACE FUNCTION sift.brand_new() RETURNS text LANGUAGE sql RETURN 'x';\n")
    gone = copy / "sql" / "functions" / "search.sql"
    gone.unlink()
    order = copy / "sql" / "install.sql"
    lines = order.read_text().replace("\\ir functions/search.sql\n", "\\ir functions/brand_new.sql\n")
    order.write_text(lines)
    found = "\n".join(tool.problems(tree))
    for expected in (
        "schema_version.sql differs",
        "brand_new.sql differs",
        "search.sql is gone",
        f"does not mark revision {NEXT}",
    ):
        assert expected in found
    assert tool.take(tree, NEXT) == ["functions/schema_version.sql", "functions/brand_new.sql"]
    assert tool.problems(tree) == []
    snapshot = copy / "migrations" / "snapshots" / NEXT
    new = {"install.sql", "stamp.sql", "functions/brand_new.sql", "removed.txt"}
    assert names(snapshot) == new | {"functions/schema_version.sql"}
    assert (snapshot / "removed.txt").read_text().split() == ["functions/search.sql"]
    # Taking it again, with one change withdrawn, leaves no copy behind.
    changed.write_bytes(tree.snapshot(before=NEXT)["functions/schema_version.sql"])
    assert tool.take(tree, NEXT) == ["functions/brand_new.sql"]
    assert names(snapshot) == new
    assert tool.problems(tree) == []


def names(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def test_only_the_newest_revision_is_taken(copy: Path) -> None:
    begin_revision(copy)
    with pytest.raises(SystemExit, match="not the newest"):
        tool.take(tool.Tree(copy), HEAD)
    with pytest.raises(SystemExit, match="no migration has revision"):
        tool.take(tool.Tree(copy), AFTER)


def test_released_files_are_frozen(copy: Path) -> None:
    tree = tool.Tree(copy)
    assert tool.freeze(tree) == len(tree.history()) > 50
    assert tool.problems(tree) == []
    with pytest.raises(SystemExit, match="was released"):
        tool.take(tree, HEAD)
    frozen = copy / "migrations" / "snapshots" / "0001" / "functions" / "schema_version.sql"
    frozen.write_text(frozen.read_text() + "-- mended in place\n")
    assert any("schema_version.sql was released and has changed" in line for line in tool.problems(tree))
    with pytest.raises(SystemExit):
        tool.freeze(tree)
    (copy / "migrations" / "versions" / "0001_initial.py").unlink()
    begin_revision(copy)
    assert any("0001_initial.py was released and is gone" in line for line in tool.problems(tree))


def test_older_snapshots_are_found(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_resources, "migrations_directory", lambda: copy / "migrations")
    snapshots = copy / "migrations" / "snapshots"
    newest = _replaceable.newest
    first = newest("functions/search")
    assert first is not None
    second = snapshots / NEXT / "functions" / "search.sql"
    second.parent.mkdir(parents=True)
    second.write_text("-- changed\n")
    (snapshots / AFTER).mkdir()
    (snapshots / AFTER / "removed.txt").write_text("functions/search.sql\n")
    assert newest("functions/search") is None
    assert newest("functions/search", before=AFTER) == second
    assert newest("functions/search", until=NEXT) == second
    assert newest("functions/search", before=NEXT) == first
    assert newest("functions/search", before="0001") is None
    assert newest("schema", until=AFTER) == newest("schema", until=HEAD) is not None


def test_created_objects() -> None:
    text = """
-- CREATE TABLE sift.not_this
CREATE SEQUENCE sift.ids;
CREATE TABLE IF NOT EXISTS sift.things (
    body text DEFAULT 'CREATE VIEW sift.nor_this'
);
CREATE INDEX things_idx ON sift.things (body);
create or replace function sift.lower_case() returns text language sql return 'x';
CREATE MATERIALIZED  VIEW sift.seen AS SELECT 1;
"""
    assert _replaceable.created_objects(text) == [
        ("SEQUENCE", "ids"), ("TABLE", "things"), ("FUNCTION", "lower_case"), ("MATERIALIZED VIEW", "seen"),
    ]  # fmt: skip
