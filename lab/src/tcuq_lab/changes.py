"""What would change in a file before it is replaced: values of a JSON file, lines of any other text."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tcuq.base.atomic_files import write_whole

MOST = 20
"""Changes that are listed; the rest is counted."""
NAMING = ("task", "dwell", "row", "fit", "column", "name", "seed", "firmware", "monitor", "board", "level")
"""Entries by which an object in a list is recognized wherever it stands in the list."""
FIELDS = "fields"
"""Entry of a JSON file whose lines are lists: the names of their parts, in order."""
MISSING = object()


class Change(NamedTuple):
    """A place of a file with what is there and what would be; None where there is nothing."""

    place: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        return f"{self.place}: {self.old or 'nothing'} -> {self.new or 'nothing'}"


class Update(NamedTuple):
    """What replacing a file would change."""

    path: Path
    text: str  # the new content
    state: str  # "same", "new" or "changed"
    changes: tuple[Change, ...]  # those of a changed file

    def lines(self, most: int = MOST) -> list[str]:
        """Return what is shown of it: a line that counts, and the first changes."""
        if self.state != "changed":
            return [f"{self.path}: {'no change' if self.state == 'same' else 'new file'}"]
        added = sum(each.old is None for each in self.changes)
        gone = sum(each.new is None for each in self.changes)
        counts = [f"{len(self.changes) - added - gone} changed", f"{added} added", f"{gone} removed"]
        shown = [f"  {each}" for each in self.changes[:most]]
        left = len(self.changes) - len(shown)
        more = [f"  and {left} more"] if left else []
        return [f"{self.path}: {', '.join(counts)}", *shown, *more]

    def write(self) -> None:
        """Replace the file; one that is the same is left alone."""
        if self.state != "same":
            write_whole(self.path, self.text)


def update(path: str | Path, text: str) -> Update:
    """Compare a file with the text that is to replace it; nothing is written."""
    place = Path(path)
    if not place.exists():
        return Update(place, text, "new", ())
    old = place.read_text(encoding="utf-8")
    if old == text:
        return Update(place, text, "same", ())
    return Update(place, text, "changed", tuple(_changes(place, old, text)))


def _changes(path: Path, old: str, new: str) -> Iterator[Change]:
    if path.suffix == ".json":
        try:
            before, after = json.loads(old), json.loads(new)
        except ValueError:
            pass  # a damaged file is compared as a text
        else:
            found = list(json_changes(*map(named_lines, (before, after))))
            yield from found or [Change("layout", "as it was", "other spaces or order")]
            return
    yield from text_changes(old, new)


def named_lines(content: Any) -> Any:
    """Return a JSON content with the parts of its lines by name, where `FIELDS` names them.

    Examples
    --------
    >>> named_lines({"fields": ["row", "value", "low"], "lines": [["base", 0.5, None]]})
    {'lines': [{'row': 'base', 'value': 0.5}]}
    """
    if not isinstance(content, dict) or FIELDS not in content:
        return content
    rest = {name: value for name, value in content.items() if name != FIELDS}
    lines = [zip(content[FIELDS], line, strict=True) for line in content["lines"]]
    return rest | {"lines": [{name: value for name, value in line if value is not None} for line in lines]}


def json_changes(old: Any, new: Any, place: str = "") -> Iterator[Change]:
    """Give every value that differs between two JSON contents.

    Examples
    --------
    >>> old = {"lines": [{"row": "base", "value": 0.5}, {"row": "tcuq", "value": 0.7}], "seeds": [0, 1]}
    >>> new = {"lines": [{"row": "tcuq", "value": 0.8}, {"row": "base", "value": 0.5}], "seeds": [0]}
    >>> [str(each) for each in json_changes(old, new)]
    ['lines tcuq value: 0.7 -> 0.8', 'seeds 1: 1 -> nothing']
    """
    before, after = _entries(old), _entries(new)
    if before is None or after is None:
        if old != new:
            shown = [None if each is MISSING else json.dumps(each) for each in (old, new)]
            yield Change(place or "content", *shown)
        return
    for name in dict.fromkeys((*before, *after)):
        inner = f"{place} {name}".strip()
        yield from json_changes(before.get(name, MISSING), after.get(name, MISSING), inner)


def _entries(value: Any) -> dict[str, Any] | None:
    """Return the parts of an object or a list by name; None of a single value."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list):
        return None
    names = [_name(each) for each in value]
    if None in names or len(set(names)) < len(names):
        names = [str(number) for number in range(len(value))]
    return dict(zip(map(str, names), value, strict=True))


def _name(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return None
    return " ".join(str(entry[key]) for key in NAMING if key in entry) or None


def text_changes(old: str, new: str) -> Iterator[Change]:
    r"""Give every line that differs between two texts.

    Examples
    --------
    >>> [str(each) for each in text_changes("a\nb\nc", "a\nB\nc\nd")]
    ['line 2: b -> B', 'line 4: nothing -> d']
    """
    before, after = old.splitlines(), new.splitlines()
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            for step in range(max(b - a, d - c)):
                yield Change(
                    f"line {c + step + 1}",
                    before[a + step] if a + step < b else None,
                    after[c + step] if c + step < d else None,
                )


def put(
    path: str | Path, text: str, write: bool, say: Callable[[str], None] = print, part: bool = False
) -> Update:
    """Say what a new text changes in a file, and write it where that was asked for."""
    found = update(path, text)
    if part:
        found = found._replace(changes=tuple(each for each in found.changes if each.new is not None))
    for line in found.lines():
        say(line)
    if write:
        found.write()
    elif found.state != "same":
        say("nothing written; --write writes")
    return found
