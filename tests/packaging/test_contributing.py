"""What CONTRIBUTING.md and README.md tell people to type exists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pgsift import schema

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_every_make_command_is_a_target(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    code = re.findall(r"`(make[^`]*)`", text) + re.findall(r"^(make .*)$", text, re.MULTILINE)
    named = {word for line in code for word in re.findall(r"^make ([a-z-]+)", line)}
    assert named and named <= targets(), named - targets()


def test_every_path_named_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:sql|migrations|pkg|cli|tests|docs|docker)/[\w./-]*)`", text)
    assert len(named) > 8
    for name in named:
        assert (ROOT / name).exists() or "0002" in name, name


def test_every_target_is_explained_and_parses() -> None:
    explained = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
    assert explained == targets() == set(re.search(r"\.PHONY: (.*)", MAKEFILE).group(1).split())  # type: ignore[union-attr]
    for target in sorted(targets()):
        result = subprocess.run(
            ["make", "--dry-run", target, f"REV={schema.head()}", "NAME=x"],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, f"{target}: {result.stderr}"


def test_programs_of_the_makefile_exist() -> None:
    scripts = re.findall(r"\$\(BIN\)/python ((?:tools|demo|tests)/[\w/]+\.py)", MAKEFILE)
    assert len(set(scripts)) >= 4
    for script in scripts:
        assert (ROOT / script).exists(), script


def test_continuous_integration_runs_the_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    assert "make test" in script.read_text(encoding="utf-8")
