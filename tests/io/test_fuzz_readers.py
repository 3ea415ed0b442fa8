# SPDX-License-Identifier: MIT
"""Damaged files for every reader, a few of each with fixed seeds; and every file that one once failed on.

`make fuzz` does the same for longer, and in processes of their own.
"""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

FUZZ = ROOT / "fuzz"
FOUND = FUZZ / "corpus" / "found"
CASES = 12
"""Of each reader."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the watch over a case needs POSIX timers")


def module(name: str) -> Any:
    if str(FUZZ) not in sys.path:
        sys.path.append(str(FUZZ))
    return importlib.import_module(name)


def needed(name: str) -> None:
    """Skip a reader whose package is not installed."""
    package = module("reader_targets").missing(name)
    if package is not None:
        pytest.skip(f"{package} is not installed")


NAMES = sorted(path.name for path in (FUZZ / "corpus" / "readers").iterdir())


def test_every_reader_has_seeds() -> None:
    assert sorted(module("reader_targets").TARGETS) == NAMES
    for name in NAMES:
        assert any((FUZZ / "corpus" / "readers" / name).iterdir()), name
    size = sum(path.stat().st_size for path in (FUZZ / "corpus").rglob("*") if path.is_file())
    assert size < 300_000


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_accepted_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    needed(name)
    worker = module("reader_watch").Worker(name, 17, tmp_path, tmp_path / "out")
    for content in worker.seeds:
        assert worker.judge(content) == ""
    assert worker.counts["accepted"] >= 1  # the seeds are files that can be read
    for number in range(CASES):
        worker.case(number)
    assert not worker.said


@pytest.mark.parametrize(
    "path", sorted(FOUND.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_files_that_a_reader_once_failed_on(path: Path, tmp_path: Path) -> None:
    name = path.parent.name
    needed(name)
    assert module("reader_watch").Worker(name, 0, tmp_path, tmp_path / "out").judge(path.read_bytes()) == ""


def test_the_watch_sees_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of finding, by a reader that does it."""
    import warnings
    from dataclasses import replace

    watch, targets = module("reader_watch"), module("reader_targets")
    worker = watch.Worker("names", 0, tmp_path, tmp_path / "out")

    def deep(path: Path) -> None:
        deep(path)

    def fails(error: Exception) -> Any:
        def read(path: Path) -> None:
            raise error

        return read

    def busy(path: Path) -> None:
        while True:
            pass

    monkeypatch.setattr(watch, "SECONDS", 0.05)
    wrong = {
        "ZeroDivisionError": fails(ZeroDivisionError("x")),
        "RecursionError": deep,
        "MemoryError": fails(MemoryError()),
        "UnicodeDecodeError": fails(UnicodeDecodeError("utf-8", b"", 0, 1, "x")),
        "odd characters": fails(ValueError("a\nb")),
        "the message has 3000 characters": fails(ValueError("x" * 3000)),
        "breaks a promise": fails(targets.Broken("x")),
        "warns: DeprecationWarning": lambda path: warnings.warn("x", DeprecationWarning, stacklevel=1),
        "leaves more behind": lambda path: (path.parent / "more").write_text(""),
        "takes more than": busy,
    }
    for said, read in wrong.items():
        monkeypatch.setattr(worker, "target", replace(targets.TARGETS["names"], read=read))
        assert said in worker.judge(b"x"), said
    monkeypatch.setattr(worker, "target", replace(targets.TARGETS["names"], read=fails(ValueError("a: b"))))
    assert worker.judge(b"x") == ""


def test_a_header_of_an_archive_is_written_with_right_checksums() -> None:
    import io
    import zipfile

    mutations = module("reader_mutations")
    content = (FUZZ / "corpus" / "readers" / "log_npz" / "whole.npz").read_bytes()
    good = 0
    for number in range(40):
        changed = mutations.npz_members(content, random.Random(number), [content])
        try:
            with zipfile.ZipFile(io.BytesIO(changed)) as archive:
                good += archive.testzip() is None
        except Exception:
            pass
    assert good > 20
