"""CONTRIBUTING.md sends nobody to a file, function, target or command that is not there."""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path

import pytest
from places import ROOT

PAGE = ROOT / "CONTRIBUTING.md"
ENDINGS = ("py", "c", "h", "md", "json", "yml", "sh", "npz", "txt", "ld", "toml", "cff")


def quoted(text: str) -> list[str]:
    """Return what stands between single backquotes."""
    return re.findall(r"`([^`\n]+)`", text)


def named_paths(text: str) -> list[tuple[str, str]]:
    """Return (path, name of something in it or "") for every path that a page names from the root.

    Examples
    --------
    >>> named_paths("`src/a.py:run`, `lab/`, `SPEC.md`, `a <b>/c.py`, `x/<y>.json`, `.vec`, `noise.py`")
    [('src/a.py', 'run'), ('lab/', ''), ('SPEC.md', ''), ('x/<y>.json', '')]
    """
    found = []
    for word in quoted(text):
        path, _, name = word.partition(":")
        whole = re.fullmatch(r"[\w.<>/-]+", path) and re.fullmatch(r"[\w.]*", name)
        at_root = re.fullmatch(rf"[A-Z][\w-]*(\.({'|'.join(ENDINGS)}))?", path) and (ROOT / path).suffix
        if whole and ("/" in path or at_root):
            found.append((path, name))
    return found


def names_in(path: Path) -> set[str]:
    """Return the functions, classes, methods and constants that a Python or C file defines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".c", ".h"):
        functions = re.findall(r"^[A-Za-z_][\w \t*]*?\b(\w+)\([^;{}]*\)\s*\{", text, re.M)
        return {*functions, *re.findall(r"^#define (\w+)", text, re.M)}
    names = set()
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
            names |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
        elif isinstance(node, ast.Assign):
            names |= {each.id for each in node.targets if isinstance(each, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def problem(path: str, name: str) -> str:
    """Return what is wrong with a path and a name in it, or "" when both exist."""
    matches = list(ROOT.glob(re.sub(r"<\w+>", "*", path).rstrip("/")))
    if not matches:
        return f"{path} does not exist"
    if path.endswith("/") != all(match.is_dir() for match in matches):
        return f"{path}: a folder is written with a slash at its end, a file without"
    if name and not any(name in names_in(match) for match in matches):
        return f"{path} has no {name}"
    return ""


PATHS = sorted(set(named_paths(PAGE.read_text(encoding="utf-8"))))


def test_every_path_and_name_exists() -> None:
    assert len(PATHS) > 60
    assert sum(bool(name) for _, name in PATHS) > 20
    assert [found for found in (problem(*each) for each in PATHS) if found] == []


@pytest.mark.parametrize(
    ("path", "name", "said"),
    [
        ("src/tcuq/core/gone.c", "", "does not exist"),
        ("src/tcuq/core", "", "with a slash"),
        ("SPEC.md/", "", "with a slash"),
        ("src/tcuq/fitting/fit.py", "unfit", "has no unfit"),
        ("src/tcuq/core/tcuq.c", "memcpy", "has no memcpy"),
        ("lab/experiments/<nothing>.yml", "", "does not exist"),
    ],
)
def test_a_stale_name_is_found(path: str, name: str, said: str) -> None:
    assert said in problem(path, name)


def test_modules_named_alone_exist() -> None:
    """A row may list modules of the folder that it names."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        alone = [word for word in quoted(line) if re.fullmatch(r"\w+\.py", word)]
        folders = [ROOT / path for path, _ in named_paths(line) if path.endswith("/")]
        for word in alone:
            assert any((folder / word).is_file() for folder in folders), word


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)make ([\w-]+)", text, re.M))
    assert len(named) >= 5
    assert named - targets == set()


def test_every_command_exists() -> None:
    import tcuq.cli
    import tcuq_lab.cli

    parsers: dict[str, argparse.ArgumentParser] = {
        "tcuq": tcuq.cli.build_parser(),
        "tcuq-lab": tcuq_lab.cli.build_parser(),
    }
    found = [word.split() for word in quoted(PAGE.read_text(encoding="utf-8")) if " " in word]
    commands = [words for words in found if words[0] in parsers]
    assert len(commands) >= 4
    for program, *words in commands:
        parser = parsers[program]
        for word in words:
            below = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
            if not below:
                break
            assert word in below[0].choices, f"{program} {' '.join(words)}"
            parser = below[0].choices[word]
        options = {option for action in parser._actions for option in action.option_strings}
        assert {word for word in words if word.startswith("-")} <= options, words
