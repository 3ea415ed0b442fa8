# SPDX-License-Identifier: MIT
"""How `tcuq live` ends."""

from __future__ import annotations

import io
import signal
import sys

import pytest

from tcuq_watch.cli.live import _Printer, _Stop


def test_the_second_interrupt_of_a_live_run_ends_it_at_once() -> None:
    ending = _Stop()
    ending.on_signal(signal.SIGTERM, None)
    ending.on_signal(signal.SIGTERM, None)  # asks again for what is under way
    with pytest.raises(KeyboardInterrupt):
        ending.on_signal(signal.SIGINT, None)


def test_nothing_is_printed_after_the_reader_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            tried.append(text)
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(sys, "stdout", Gone())
    output = _Printer()
    output("one")
    output("two")
    assert tried == ["one"] and isinstance(output.broken, BrokenPipeError)
