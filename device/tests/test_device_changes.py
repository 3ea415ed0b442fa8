"""What differs from a stored result is said before anything is overwritten."""

from __future__ import annotations

import json
from pathlib import Path

from tcuq_device.changes import SHOWN, compared, keep


def test_nothing_is_written_unless_told_to_and_changes_are_said_first(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"accuracy": 0.954}, indent=1) + "\n")
    before, said = path.read_bytes(), []
    keep(path, {"accuracy": 0.099}, False, said.append)
    assert path.read_bytes() == before
    assert [line.split() for line in said[1:3]] == [
        ["-", '"accuracy":', "0.954"],
        ["+", '"accuracy":', "0.099"],
    ]

    def say(line: str) -> None:
        said.append(line)
        assert path.read_bytes() == before or line.startswith("written: ")

    said.clear()
    keep(path, {"accuracy": 0.099}, True, say)
    assert json.loads(path.read_text()) == {"accuracy": 0.099} and said[-1] == f"written: {path}"


def test_lines_are_compared_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("one\ntwo\nthree\n")
    assert compared(path, "one\ntwo\nthree\n") == [f"the same as {path}"]
    assert compared(path, "one\n2\nthree\n") == [f"2 lines differ from {path}:", "  -two", "  +2"]
    assert compared(path, "one\nthree\n", part=True) == [f"the same as {path}"]
    # A stored value is shown beside the new one; what the part lacks is not.
    assert compared(path, "1\n", part=True) == [f"2 lines differ from {path}:", "  -one", "  +1"]
    said = compared(path, "\n".join(map(str, range(40))))
    assert len(said) == SHOWN + 2 and said[-1] == f"  and {43 - SHOWN} more"
