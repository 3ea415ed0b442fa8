"""What the documentation names is there: files, commands, links."""

from __future__ import annotations

import re
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
FOLDERS = "bench|device|docs|examples|lab|src|tests|tools|vectors|watch"
NAMED = re.compile(rf"(?<![\w./-])((?:{FOLDERS})/[\w./-]*\w)")
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
