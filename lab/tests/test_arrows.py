"""Imports point down only: what is below knows nothing of what is above."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from places import LAB

ROOT = LAB / "src" / "tcuq_lab"
ABOVE = {
    "data": {"audio", "corruptions", "streams", "detection", "comparison", "zoo", "methods", "reproduce"},
    "corruptions": {"streams", "detection", "comparison", "zoo", "methods", "reproduce"},
    "streams": {"detection", "comparison", "zoo", "methods", "reproduce"},
    "detection": {"streams", "comparison", "zoo", "methods", "reproduce"},
    "comparison": {"zoo", "methods", "reproduce"},
    "zoo": {"detection", "comparison", "methods", "reproduce"},
    "methods": {"comparison", "reproduce"},  # a method does not import its judge
    "reproduce": set(),
    "pages": {"zoo", "methods", "comparison"},
}
EVERYWHERE = {"pages", "boards", "cli"}
"""What no part imports but itself and the command."""


def imported(path: Path) -> set[str]:
    """Return the parts of the lab that a module imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            inside = path.relative_to(ROOT).parts[:-1]
            base = inside[: len(inside) - node.level + 1] if node.level else ()
            name = ".".join([*base, *([node.module] if node.module else [])])
            names = [name] if name else [each.name for each in node.names]
            if node.level or name.startswith("tcuq_lab"):
                found |= {each.removeprefix("tcuq_lab.").partition(".")[0] for each in names}
        elif isinstance(node, ast.Import):
            found |= {each.name.split(".")[1] for each in node.names if each.name.startswith("tcuq_lab.")}
    return found


@pytest.mark.parametrize("part", ABOVE)
def test_arrows_point_down(part: str) -> None:
    modules = sorted((ROOT / part).rglob("*.py"))
    assert modules
    for path in modules:
        wrong = imported(path) & (ABOVE[part] | EVERYWHERE - {part})
        assert not wrong, f"{path.relative_to(ROOT)} imports {', '.join(sorted(wrong))}"


def test_imports_of_every_form_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "methods").mkdir()
    path = tmp_path / "methods" / "x.py"
    path.write_text(
        "from ..comparison import a\nfrom .. import zoo\nimport tcuq_lab.data.parts\nfrom . import y\n"
        "from tcuq_lab.pages import b\nimport numpy\n\ndef f():\n    from ..streams.plan import c\n"
    )
    assert imported(path) == {"comparison", "zoo", "data", "methods", "pages", "streams"}


def test_experiments_ask_a_method_and_do_not_name_it() -> None:
    for path in (ROOT / "reproduce" / "kinds").glob("*.py"):
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert "Tcuq" not in names, path.name
