"""What differs between a stored result and a new one, in lines for people, before anything is overwritten."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .whole_files import write_whole

SHOWN = 8
"""Changes that are shown one by one."""

Content = Mapping[str, Any] | str


class Change(NamedTuple):
    """A value that differs.

    Parameters
    ----------
    where : str
        The way to it.
    old, new : object
        `ABSENT` where one side has none.
    """

    where: str
    old: Any
    new: Any

    @property
    def size(self) -> float:
        """Share of the old value by which a number changed; infinite for anything else.

        Examples
        --------
        >>> Change("accuracy", 0.95, 0.19).size
        0.8
        """
        if not (_is_number(self.old) and _is_number(self.new)):
            return math.inf
        if self.old == 0:
            return math.inf if self.new else 0.0
        return float(abs(self.new - self.old) / abs(self.old))

    def __str__(self) -> str:
        """Say what was and what is.

        Examples
        --------
        >>> print(Change("accuracy mnist base", 0.954, 0.099))
        accuracy mnist base: 0.954 -> 0.099 (-90 %)
        """
        share = ""
        if math.isfinite(self.size) and self.old:
            share = f" ({100 * (self.new - self.old) / abs(self.old):+,.{2 if self.size < 0.1 else 0}f} %)"
        return f"{self.where}: {_short(self.old)} -> {_short(self.new)}{share}"


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


ABSENT = _Absent()


def changes(old: Any, new: Any, part: bool = False) -> list[Change]:
    """Return what differs between two JSON-like values, largest changes first.

    Entries of lists are matched by their names (the text that each holds), so that a new entry in the middle
    is one change; those without any text by their place.

    Parameters
    ----------
    old, new : JSON-like
    part : bool
        Whether `new` is only a part: then what it lacks is no change.

    Examples
    --------
    >>> before = [{"board": "a", "flash": 100}, {"board": "b", "flash": 50}]
    >>> after = [{"board": "b", "flash": 75}, {"board": "a", "flash": 101}]
    >>> [str(change) for change in changes({"measured": before}, {"measured": after})]
    ['measured b flash: 50 -> 75 (+50 %)', 'measured a flash: 100 -> 101 (+1.00 %)']
    """
    return sorted(_walk("", old, new, part), key=lambda change: -change.size)


def _walk(where: str, old: Any, new: Any, part: bool) -> Iterator[Change]:
    if isinstance(old, Sequence) and isinstance(new, Sequence) and not isinstance(old, str | bytes):
        if isinstance(new, str | bytes):
            yield Change(where, old, new)
            return
        names = _names(old), _names(new)
        if None not in names:
            old, new = (dict(zip(n, v, strict=True)) for n, v in zip(names, (old, new), strict=True))  # type: ignore[arg-type]
        else:
            old, new = ({str(at): value for at, value in enumerate(each)} for each in (old, new))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*old, *(key for key in new if key not in old)]:
            if not (part and key not in new):
                yield from _walk(f"{where} {key}".strip(), old.get(key, ABSENT), new.get(key, ABSENT), part)
    elif not _same(old, new):
        yield Change(where, old, new)


def _names(values: Sequence[Any]) -> list[str] | None:
    """Return a name for every entry of a list, from its texts; a second of one name gets a number."""
    if not values or not all(isinstance(value, Mapping) for value in values):
        return None
    names: list[str] = []
    seen: dict[str, int] = {}
    for value in values:
        name = " ".join(each for each in value.values() if isinstance(each, str) and len(each) < 40)
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names if all(seen) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(old: Any, new: Any) -> bool:
    return bool(type(old) is type(new) or (_is_number(old) and _is_number(new))) and bool(old == new)


def _short(value: Any) -> str:
    if _is_number(value):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def compared(path: str | Path, content: Content, part: bool = False) -> list[str]:
    """Say in lines how new content differs from a stored file.

    Parameters
    ----------
    path : path
        Of a JSON file, or of a text.
    content : mapping or str
        What would be written there.
    part : bool
        Whether the content is only a part of what is stored.

    Examples
    --------
    >>> compared("no_such_file.json", {"a": 1})
    ['no_such_file.json does not exist: nothing to compare with']
    """
    target = Path(path)
    if not target.exists():
        return [f"{path} does not exist: nothing to compare with"]
    text = target.read_text(encoding="utf-8", errors="replace")
    if isinstance(content, str):
        return _lines(str(path), text, content)
    try:
        old = json.loads(text)
    except ValueError:
        return [f"{path} is no JSON: nothing to compare with"]
    # As a file would hold it: tuples become lists, keys become text.
    found = changes(old, json.loads(json.dumps(content)), part)
    if not found:
        return [f"the same as in {path}"]
    more = [f"  and {len(found) - SHOWN:,} more"] if len(found) > SHOWN else []
    what = "value differs" if len(found) == 1 else "values differ"
    head = f"{len(found):,} {what} from {path}, the largest changes first:"
    return [head, *(f"  {change}" for change in found[:SHOWN]), *more]


def _lines(path: str, old: str, new: str) -> list[str]:
    if old == new:
        return [f"the same as {path}"]
    diff = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    kept = [line for line in diff if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    shown = [f"  {line if len(line) <= 150 else line[:147] + '...'}" for line in kept[: 2 * SHOWN]]
    more = [f"  and {len(kept) - 2 * SHOWN:,} more"] if len(kept) > 2 * SHOWN else []
    return [f"{len(kept):,} lines differ from {path}:", *shown, *more]


def keep(
    path: str | Path, content: Content, write: bool, say: Callable[[str], None], part: bool = False
) -> None:
    """Say how new content differs from a stored file; then write it, where that was asked for.

    Parameters
    ----------
    path : path
        Its folder must exist where something is written.
    content : mapping or str
        A mapping is written as JSON.
    write : bool
        Whether to overwrite the file. Without, nothing on the disk changes.
    say : callable
        Takes the lines one by one.
    part : bool
        As for `compared`.
    """
    for line in compared(path, content, part):
        say(line)
    if write:
        text = content if isinstance(content, str) else json.dumps(content, indent=1, allow_nan=False) + "\n"
        write_whole(path, text)
        say(f"written: {path}")
    else:
        say(f"nothing was written; --write stores this in {path}")
