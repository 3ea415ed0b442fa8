"""What pages, comments and docstrings name is there: files, names in files, tests, links, layers."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest
from places import ROOT

PAGES = sorted(
    path
    for path in [
        *ROOT.glob("*.md"),
        *ROOT.glob(".github/*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("*/README.md"),
    ]
    if path.name != "CHANGELOG.md"  # speaks of the past
)
FOLDERS = "bench|device|docs|examples|fuzz|lab|packaging|proofs|src|tests|tools|vectors|watch"
NAMED = re.compile(rf"(?<![\w./-])((?:{FOLDERS})/[\w./-]*\w)")
NAME_IN = re.compile(rf"(?<![\w./-])((?:{FOLDERS})/[\w./-]*\.(?:py|[ch])):(\w+)")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
EXPORTED = {"src/kws_arduino.h", "examples/Watch/Watch.ino", "examples/send_frames.c"}
"""Files of an exported package."""


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = {each for each in NAMED.findall(text) if each not in EXPORTED and "NAME" not in each}
    missing = [
        each for each in sorted(named) if not (ROOT / each).exists() and not (page.parent / each).exists()
    ]
    assert not missing


def spoken(path: Path) -> str:
    """Return what a file says to readers: of Python its comments and docstrings, of others all."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    told = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return "\n".join([*told, *re.findall(r"#.*", text)])


def code() -> list[Path]:
    """Return our sources, scripts and settings."""
    told = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if told.returncode:
        pytest.skip("git does not know this checkout")
    kinds = (".py", ".c", ".h", ".sh", ".toml", ".yml", "Makefile", ".ci/run")
    return [
        ROOT / name for name in told.stdout.splitlines() if name.endswith(kinds) and (ROOT / name).exists()
    ]


def test_files_tests_and_names_that_sources_speak_of_exist() -> None:
    sources = code()
    tests = {name for path in sources for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))}
    tests |= {path.stem for path in sources}
    wrong = []
    for path in sources:
        text, part = spoken(path), ROOT / path.relative_to(ROOT).parts[0]
        for name in re.findall(
            rf"(?<![\w./-])((?:{FOLDERS})/[\w./-]*\w\.(?:py|md|[ch]|sh|toml|json|txt|yml))\b", text
        ):
            homes = (ROOT, path.parent, part)
            if (
                name not in EXPORTED
                and "NAME" not in name
                and not any((home / name).exists() for home in homes)
            ):
                wrong.append(f"{path.relative_to(ROOT)}: {name}")
        wrong += [
            f"{path.relative_to(ROOT)}: {name}"
            for name in re.findall(r"`(test_\w+)`", text)
            if name not in tests
        ]
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_in_files_that_a_page_names_exist(page: Path) -> None:
    for file, name in NAME_IN.findall(page.read_text(encoding="utf-8")):
        assert re.search(rf"\b{name}\b", (ROOT / file).read_text(encoding="utf-8")), (file, name)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        path = (page.parent / target).resolve()
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            heads = re.findall(r"(?m)^#+ (.*)$", path.read_text(encoding="utf-8"))
            anchors = {"#" + re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
            assert anchor in anchors, (target, anchor)


def pictured() -> dict[str, list[str]]:
    """Return the layers that the picture of DESIGN.md shows for each heading, in two columns."""
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    rows = text[text.index("```text\nall four") :].split("```")[1].splitlines()[1:]
    middle = rows[0].index("tcuq_lab (")
    found: dict[str, list[str]] = {}
    for column in ([row[:middle] for row in rows], [row[middle:] for row in rows]):
        heading = ""
        for before, row, after in zip(["", *column], column, [*column[1:], ""], strict=False):
            if row.strip() and not before.strip() and not after.strip():
                heading = row.partition("(")[0].strip()
            elif row.strip() and "no imports" not in row:
                found.setdefault(heading, []).append(row.strip())
    return found


def test_the_picture_of_the_parts_shows_the_layers_that_are_checked() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 or newer reads TOML")
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [each for each in contracts if each["type"] == "layers"]
    assert pictured() == {each.get("containers", ["all four"])[0]: each["layers"] for each in layers}
