"""Keep migrations/snapshots in step with sql/.

    python tools/snapshot.py REV        copy what changed in sql/ since the newest snapshot into the
    snapshot of REV python tools/snapshot.py --check    exit 1 when sql/ and the newest snapshots differ,
    and say where python tools/snapshot.py --freeze   at a release: write the hashes of all revisions to
    migrations/frozen.txt

A revision listed in frozen.txt was released and never changes again; the others may be copied anew at will.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAMP = re.compile(r"^SELECT '(\w+)' WHERE", re.MULTILINE)


class Tree:
    """The directories of one checkout."""

    def __init__(self, root: Path) -> None:
        self.sql = root / "sql"
        self.migrations = root / "migrations"
        self.snapshots = self.migrations / "snapshots"
        self.frozen = self.migrations / "frozen.txt"

    def revisions(self) -> list[str]:
        """Revisions that have a migration, oldest first."""
        return sorted(path.name.partition("_")[0] for path in self.migrations.glob("versions/[0-9]*_*.py"))

    def present(self) -> dict[str, bytes]:
        """Every file of sql/, by name relative to it."""
        return {
            path.relative_to(self.sql).as_posix(): path.read_bytes()
            for path in sorted(self.sql.rglob("*.sql"))
        }

    def snapshot(self, *, before: str | None = None) -> dict[str, bytes]:
        """sql/ as of the newest revision, or just before *before*: the snapshots laid over each other."""
        files: dict[str, bytes] = {}
        if not self.snapshots.is_dir():
            return files
        for directory in sorted(path for path in self.snapshots.iterdir() if path.is_dir()):
            if before is not None and directory.name >= before:
                break
            for path in directory.rglob("*.sql"):
                files[path.relative_to(directory).as_posix()] = path.read_bytes()
            removed = directory / "removed.txt"
            if removed.exists():
                for name in removed.read_text(encoding="utf-8").split():
                    files.pop(name, None)
        return files

    def history(self) -> list[Path]:
        """Every file whose content a release fixes."""
        files = [*self.migrations.glob("versions/[0-9]*_*.py"), *self.snapshots.rglob("*.sql")]
        return sorted([*files, *self.snapshots.rglob("removed.txt")])

    def frozen_hashes(self) -> dict[str, str]:
        """Hashes by file name relative to migrations/."""
        if not self.frozen.exists():
            return {}
        pairs = (line.split(maxsplit=1) for line in self.frozen.read_text(encoding="utf-8").splitlines())
        return {name: digest for digest, name in (pair for pair in pairs if pair)}


def difference(present: dict[str, bytes], snapshot: dict[str, bytes]) -> tuple[list[str], list[str]]:
    """Names that are new or changed, and names that are gone."""
    changed = sorted(name for name, text in present.items() if snapshot.get(name) != text)
    return changed, sorted(snapshot.keys() - present.keys())


def problems(tree: Tree) -> list[str]:
    """Everything ``--check`` complains about."""
    changed, gone = difference(tree.present(), tree.snapshot())
    found = [f"sql/{name} differs from its newest snapshot" for name in changed]
    found += [f"sql/{name} is gone but its snapshot is not marked as removed" for name in gone]
    stamp = STAMP.search((tree.sql / "stamp.sql").read_text(encoding="utf-8"))
    newest = tree.revisions()[-1]
    if stamp is None or stamp.group(1) != newest:
        found.append(f"sql/stamp.sql does not mark revision {newest}")
    for name, digest in tree.frozen_hashes().items():
        path = tree.migrations / name
        if not path.exists():
            found.append(f"migrations/{name} was released and is gone")
        elif _digest(path) != digest:
            found.append(f"migrations/{name} was released and has changed")
    return found


def take(tree: Tree, revision: str) -> list[str]:
    """Make the snapshot of *revision*; returns the names for its migration, in install order."""
    known = tree.revisions()
    if revision not in known:
        raise SystemExit(f"no migration has revision {revision!r}; known are {', '.join(known)}")
    if revision != known[-1]:
        raise SystemExit(f"{revision} is not the newest revision; sql/ is the present, which is {known[-1]}")
    if any(name.startswith(f"snapshots/{revision}/") for name in tree.frozen_hashes()):
        raise SystemExit(f"{revision} was released; add a revision instead")
    stamp = tree.sql / "stamp.sql"
    text = stamp.read_text(encoding="utf-8")
    stamped = STAMP.sub(f"SELECT '{revision}' WHERE", text)
    if stamped != text:
        stamp.write_text(stamped, encoding="utf-8")
    present = tree.present()
    changed, gone = difference(present, tree.snapshot(before=revision))
    target = tree.snapshots / revision
    for old in target.rglob("*.sql"):
        if old.relative_to(target).as_posix() not in changed:
            old.unlink()
    for name in changed:
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != present[name]:
            path.write_bytes(present[name])
    (target / "removed.txt").unlink(missing_ok=True)
    if gone:
        (target / "removed.txt").write_text("".join(f"{name}\n" for name in gone), encoding="utf-8")
    order = [
        line.split()[1] for line in present["install.sql"].decode().splitlines() if line.startswith("\\ir ")
    ]
    return [name for name in order if name in changed and name != "stamp.sql"]


def freeze(tree: Tree) -> int:
    """Write frozen.txt; returns the number of files in it. Refuses when something released has changed."""
    found = problems(tree)
    if found:
        raise SystemExit("\n".join(found))
    lines = [f"{_digest(path)}  {path.relative_to(tree.migrations).as_posix()}\n" for path in tree.history()]
    tree.frozen.write_text("".join(lines), encoding="utf-8")
    return len(lines)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision", nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--freeze", action="store_true")
    chosen = parser.parse_args(arguments)
    tree = Tree(ROOT)
    if chosen.check:
        found = problems(tree)
        print("\n".join(found) or "sql/ equals the newest snapshots")
        if found:
            print(f"Run: make snapshot REV={tree.revisions()[-1]}", file=sys.stderr)
        return 1 if found else 0
    if chosen.freeze:
        print(f"{freeze(tree)} files frozen")
        return 0
    if not chosen.revision:
        parser.error("a revision, --check or --freeze is needed")
    names = take(tree, chosen.revision)
    print(f"migrations/snapshots/{chosen.revision}: {len(names)} files")
    for name in names:
        print(f'    "{name.removesuffix(".sql")}",')
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
