# SPDX-License-Identifier: MIT
"""Every way in which a command can end, turned into one line and an exit status."""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tcuq.cli import common, main, process


def ended(act: Callable[[argparse.Namespace], Any]) -> int:
    parser: Any = SimpleNamespace(parse_args=lambda argv: argparse.Namespace(command=act, quiet=False))
    return process.run_command("tcuq x", lambda: parser, [])


def raising(error: BaseException) -> Callable[[argparse.Namespace], Any]:
    def act(args: argparse.Namespace) -> None:
        raise error

    return act


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (SystemExit("no such thing"), 1, "tcuq x: no such thing\n"),
        (SystemExit(), 0, ""),
        (SystemExit(3), 3, ""),
        (BrokenPipeError(32, "Broken pipe", "out.csv"), 2, "tcuq x: out.csv: Broken pipe\n"),
        (MemoryError(), 2, "tcuq x: not enough memory for this input\n"),
        (KeyboardInterrupt(), 130, ""),
        (ZeroDivisionError("odd"), 2, "tcuq x: this is a bug, please report it: ZeroDivisionError: odd\n"),
        (ValueError("two\nlines"), 2, "tcuq x: two lines\n"),
    ],
)
def test_every_end_is_one_line_and_a_status(
    error: BaseException, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(raising(error)) == status
    assert capsys.readouterr().err == said


def test_a_bug_can_be_seen_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCUQ_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        ended(raising(ZeroDivisionError("odd")))


def test_warnings_of_others_are_shown_as_python_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[str] = []

    def act(args: argparse.Namespace) -> int:
        warnings.simplefilter("always")
        warnings.warn("to the\nuser", UserWarning, stacklevel=1)
        warnings.warn("to a developer", DeprecationWarning, stacklevel=1)
        return 0

    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *rest, **more: shown.append(str(message))
        assert ended(act) == 0
    assert capsys.readouterr().err == "tcuq x: to the user\n" and shown == ["to a developer"]


def test_streams_that_cannot_be_set_or_silenced(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = io.StringIO()  # a notebook's stream: no reconfigure, no file below it
    monkeypatch.setattr(sys, "stdout", plain)
    monkeypatch.setattr(sys, "stderr", None)
    process.open_streams()
    assert sys.stdout is plain and sys.stderr is not None
    sys.stderr.close()
    process.silence(plain)
    plain.close()
    process.silence(plain)


def test_what_json_has_no_word_for_is_turned_into_what_it_has() -> None:
    assert common._plain(np.float64(0.5)) == 0.5 and common._plain(np.arange(2)) == [0, 1]
    assert common._plain(os.environ) == dict(os.environ) and common._plain(Path("a")) == "a"


def test_a_fit_writes_over_no_log_and_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, clean, model = (tmp_path / name for name in ("dev.npz", "clean.npz", "m.tflite"))
    for place in (log, clean):
        np.savez(place, probs=np.full((3, 2), 0.5))
    model.write_bytes(b"  \x1c\0TFL3")
    before = {place: place.read_bytes() for place in (log, clean, model)}
    for place, said in (
        (log, f"PARAMS and LOG are both {str(log)!r}; one would be lost"),
        (clean, f"PARAMS and --clean are both {str(clean)!r}; one would be lost"),
        (model, f"{model}: exists and is not a parameter file; remove it, or name another with -o"),
    ):
        assert main(["fit", str(log), "--clean", str(clean), "-o", str(place)]) == 2
        assert said in capsys.readouterr().err
    assert before == {place: place.read_bytes() for place in before}
