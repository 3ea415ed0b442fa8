"""What lies in the checkout, to see that blocks of pages write into folders of their own alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

WATCHED = ("docs", "examples")
"""Folders that a page may find as links in its own, and that no other test writes into."""
IGNORED = ("build", "dist", "out", "__pycache__")
"""What builds leave; git ignores it too."""


def entries(root: Path) -> set[str]:
    """Return what lies at the top of a checkout and, at any depth, in the folders that pages can reach."""
    found = set(_visible(os.listdir(root)))
    for place in WATCHED:
        for folder, folders, files in os.walk(root / place):
            folders[:] = _visible(folders)
            found |= {os.path.relpath(os.path.join(folder, name), root) for name in _visible(files)}
    return found


def _visible(names: Iterable[str]) -> list[str]:
    return [each for each in names if each not in IGNORED and not each.startswith(".")]
