"""What holds for the tests of the documentation: blocks write into folders of their own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import pytest
from places import ROOT

WATCHED = ("docs", "examples", "lab")
"""Folders that a page finds as links in its own folder."""
IGNORED = ("build", "dist", "out", "__pycache__")
"""What builds leave; git ignores it too."""


def entries() -> set[str]:
    """Return what lies at the top of the checkout and in the folders that pages can reach."""
    found = set(_visible(os.listdir(ROOT)))
    for place in WATCHED:
        for folder, folders, files in os.walk(ROOT / place):
            folders[:] = _visible(folders)
            found |= {os.path.relpath(os.path.join(folder, name), ROOT) for name in _visible(files)}
    return found


def _visible(names: Iterable[str]) -> list[str]:
    return [each for each in names if each not in IGNORED and not each.startswith(".")]


@pytest.fixture(autouse=True, scope="module")
def nothing_is_left_in_the_checkout() -> Iterator[None]:
    before = entries()
    yield
    left = sorted(entries() - before)
    assert not left, f"files were left in the checkout: {', '.join(left)}"
