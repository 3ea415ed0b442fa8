"""What differs between a stored result and a new one, in lines for people, before anything is overwritten."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tcuq.base.atomic_files import write_whole

SHOWN = 16
"""Changed lines that are shown."""

Content = Mapping[str, Any] | str


def compared(path: str | Path, content: Content, part: bool = False) -> list[str]:
    """Say in lines how new content differs from a stored file.

    Where the content is only a `part` of what is stored, what it lacks is no change.
    """
    target = Path(path)
    if not target.exists():
        return [f"{path} does not exist: nothing to compare with"]
    old = target.read_text(encoding="utf-8", errors="replace").splitlines()
    new = _text(content).splitlines()
    kept: list[str] = []
    for _, low, high, start, stop in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if old[low:high] != new[start:stop]:
            gone = min(high - low, stop - start) if part else high - low
            kept += [f"-{line}" for line in old[low : low + gone]]
            kept += [f"+{line}" for line in new[start:stop]]
    if not kept:
        return [f"the same as {path}"]
    shown = [f"  {line if len(line) <= 150 else line[:147] + '...'}" for line in kept[:SHOWN]]
    more = [f"  and {len(kept) - SHOWN:,} more"] if len(kept) > SHOWN else []
    return [f"{len(kept):,} lines differ from {path}:", *shown, *more]


def _text(content: Content) -> str:
    return content if isinstance(content, str) else json.dumps(content, indent=1, allow_nan=False) + "\n"


def keep(
    path: str | Path, content: Content, write: bool, say: Callable[[str], None], part: bool = False
) -> None:
    """Say how new content differs from a stored file; then write it, where that was asked for.

    A mapping is written as JSON. `say` takes the lines one by one.
    """
    for line in compared(path, content, part):
        say(line)
    if write:
        write_whole(path, _text(content))
        say(f"written: {path}")
    else:
        say(f"nothing was written; --write stores this in {path}")
