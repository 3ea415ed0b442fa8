"""What a release must agree on, and what the changelog says of names that moved."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from places import ROOT

import tcuq
from tcuq.cli import moved

CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def check() -> ModuleType:
    """Return the program that the release workflow runs."""
    spec = importlib.util.spec_from_file_location("check_release", ROOT / ".github/check_release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a small checkout that may be released as v1.2.3."""
    (tmp_path / "src/tcuq").mkdir(parents=True)
    (tmp_path / "src/tcuq/_version.py").write_text('VERSION = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changes\n\n## 1.2.3 - 2030-01-02\n\n- New.\n\n## 1.2.2\n\n- Old.\n"
    )
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.3\n")
    return tmp_path


def test_a_release_that_agrees_is_let_through(check: ModuleType, root: Path) -> None:
    assert check.problem("v1.2.3", root) == ""


@pytest.mark.parametrize(
    ("tag", "file", "old", "new", "said"),
    [
        ("v1.2.4", "CITATION.cff", "", "", "tag is v1.2.4, expected v1.2.3"),
        ("1.2.3", "CITATION.cff", "", "", "tag is 1.2.3, expected v1.2.3"),
        ("v1.2.3", "CHANGELOG.md", "1.2.3", "1.2.30", "no entry '## 1.2.3'"),
        ("v1.2.3", "CHANGELOG.md", " - 2030-01-02", "", "no date"),
        ("v1.2.3", "CHANGELOG.md", "- New.", "", "is empty"),
        ("v1.2.3", "CITATION.cff", "1.2.3", "1.2.2", "CITATION.cff does not say"),
        ("v1.2.3", "src/tcuq/_version.py", "VERSION", "NUMBER", "names no VERSION"),
    ],
)
def test_a_release_that_disagrees_is_refused(
    check: ModuleType, root: Path, tag: str, file: str, old: str, new: str, said: str
) -> None:
    path = root / file
    path.write_text(path.read_text().replace(old, new, 1))
    assert said in check.problem(tag, root)


def test_the_program_says_one_line_and_exits_with_2(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / ".github/check_release.py")]
    for arguments in (["v0.0.0"], []):
        done = subprocess.run([*program, *arguments], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stdout == "" and len(done.stderr.splitlines()) == 1


def test_version_and_citation_agree() -> None:
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    assert cited is not None and cited[1] == tcuq.__version__


def test_the_changelog_names_every_module_and_command_that_moved() -> None:
    rows = dict(re.findall(r"^\| `([^|]+)` \| `([^|]+)` \|$", CHANGES, re.M))
    assert "The first ten modules" in CHANGES and len(tcuq._MOVED) == 10
    modules = [old for old in rows if re.fullmatch(r"tcuq\.\w+", old)]
    assert modules[:10] == [f"tcuq.{old}" for old in sorted(tcuq._MOVED)]
    for old, new in tcuq._MOVED.items():
        assert rows[f"tcuq.{old}"] == f"tcuq.{new}"
    for new in (new for old, new in rows.items() if old.startswith("tcuq.") and "," not in old + new):
        assert importlib.util.find_spec(new) is not None, new
    for name in moved.COMMANDS:
        assert rows[f"tcuq {name}"] == f"tcuq-lab {name}"
    for name in tcuq._LAB:
        assert f"`tcuq.{name}`" in CHANGES


def test_versions_come_newest_first() -> None:
    found = re.findall(r"^## (\d[\d.]*)", CHANGES, re.M)
    assert found[0] == tcuq.__version__
    numbers = [tuple(map(int, each.split("."))) for each in found]
    assert numbers == sorted(set(numbers), reverse=True)


def test_workflows_ask_for_no_more_than_they_need() -> None:
    workflows = sorted((ROOT / ".github/workflows").glob("*.yml"))
    assert [path.stem for path in workflows] == ["release", "test", "wheels"]
    for path in workflows:
        text = path.read_text(encoding="utf-8")
        assert re.search(r"^permissions:( \{\}|\n  contents: read\n)", text, re.M), path
        granted = set(re.findall(r"^ +([\w-]+): write\b", text, re.M))
        assert granted == ({"id-token"} if path.stem == "release" else set()), path
        jobs = text.split("\njobs:\n")[1]
        assert jobs.count("timeout-minutes:") == jobs.count("runs-on:"), path
        for action in re.findall(r"uses: (\S+)", text):
            assert action.startswith("./") or re.search(r"@(v\d+(\.\d+)?|release/v\d+)$", action), action
