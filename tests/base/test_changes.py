"""What differs from a stored result is said before anything is overwritten."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tcuq.base.changes import SHOWN, changes, compared, keep


def test_the_largest_change_comes_first_and_texts_before_numbers() -> None:
    old = {"a": 100, "b": 1.0, "c": "x", "d": [1, 2], "e": True}
    new = {"a": 101, "b": 0.1, "c": "y", "d": [1, 2, 3], "e": True}
    found = changes(old, new)
    assert [change.where for change in found] == ["c", "d 2", "b", "a"]
    assert str(found[1]) == "d 2: nothing -> 3" and str(found[2]) == "b: 1 -> 0.1 (-90 %)"
    assert found[-1].size == pytest.approx(0.01) and math.isinf(found[0].size)


def test_a_number_is_no_truth_and_zero_has_no_share() -> None:
    assert [str(change) for change in changes({"a": 1, "b": 0}, {"a": True, "b": 5})] == [
        "a: 1 -> True",
        "b: 0 -> 5",
    ]
    assert changes({"a": 1}, {"a": 1.0}) == []


def test_entries_are_matched_by_name_whatever_their_order() -> None:
    one, two, three = (
        {"task": task, "count": n} for task, n in (("mnist", 1), ("cifar10", 2), ("speech", 3))
    )
    assert changes([one, two], [two, one]) == []
    assert [str(change) for change in changes([one, two], [three, one, two])] == [
        "speech: nothing -> {'task': 'speech', 'count': 3}"
    ]
    # Two of one name are told apart by their order.
    more = {"task": "mnist", "count": 5}
    assert [str(change) for change in changes([one, two, one], [one, more])] == [
        "cifar10: {'task': 'cifar10', 'count': 2} -> nothing",
        "mnist (2) count: 1 -> 5 (+400 %)",
    ]


def test_a_part_is_compared_with_its_part() -> None:
    old = {"accuracy": {"mnist": 0.9, "cifar10": 0.8}}
    assert changes(old, {"accuracy": {"mnist": 0.9}}, part=True) == []
    assert [change.where for change in changes(old, {"accuracy": {"mnist": 0.9}})] == ["accuracy cifar10"]
    assert [change.where for change in changes(old, {"accuracy": {"mnist": 0.1}}, part=True)] == [
        "accuracy mnist"
    ]


def test_nothing_is_written_unless_told_to_and_changes_are_said_first(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"accuracy": 0.954}))
    before, said = path.read_bytes(), []
    keep(path, {"accuracy": 0.099}, False, said.append)
    assert path.read_bytes() == before
    assert said[1].strip() == "accuracy: 0.954 -> 0.099 (-90 %)" and said[2].startswith("nothing was written")

    def say(line: str) -> None:
        said.append(line)
        assert path.read_bytes() == before or line.startswith("written: ")

    said.clear()
    keep(path, {"accuracy": 0.099}, True, say)
    assert json.loads(path.read_text()) == {"accuracy": 0.099} and said[-1] == f"written: {path}"


def test_pages_are_compared_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("one\ntwo\nthree\n")
    assert compared(path, "one\ntwo\nthree\n") == [f"the same as {path}"]
    assert compared(path, "one\n2\nthree\n") == [f"2 lines differ from {path}:", "  -two", "  +2"]


def test_many_changes_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps({str(n): n for n in range(1, 31)}))
    said = compared(path, {str(n): 2 * n for n in range(1, 31)})
    assert said[0].startswith("30 values differ") and len(said) == SHOWN + 2
    assert said[-1].strip() == f"and {30 - SHOWN} more"
    path.write_text("{")
    assert compared(path, {}) == [f"{path} is no JSON: nothing to compare with"]
