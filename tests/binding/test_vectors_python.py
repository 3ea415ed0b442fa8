"""The shared vectors through the Python binding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import ROOT

from tcuq._core import Core
from tcuq.monitor.signals import SIGNALS

FILES = sorted((ROOT / "vectors").glob("*.vec"))
LISTS = ("lags", "lag_weights", "coef", "clean_mean")


def int8(text: str) -> Any:
    return None if text == "-" else np.frombuffer(bytes.fromhex(text), dtype=np.int8)


def numbers(words: list[str]) -> list[int]:
    return [] if words == ["-"] else [int(word) for word in words]


def check_step(core: Core, words: list[str], where: str) -> None:
    step = core.step(int8(words[0]), int8(words[1]), True)
    assert step.signals is not None
    reason = 255 if step.reason is None else SIGNALS.index(step.reason)
    got = [
        round(step.threshold * 65536),
        step.label,
        round(step.risk * 65536),
        round(step.uncertainty * 65536),
        int(step.flagged),
        int(step.abstain),
        step.alarm,
        int(step.warming_up),
        reason,
        int(step.low_mass),
        *(round(value * 65536) for value in step.signals),
    ]
    assert got == numbers(words[2:]), where


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_vector(path: Path) -> None:
    fields: dict[str, Any] = {}
    core, saved, steps = None, b"", 0
    for line, text in enumerate(path.read_text("ascii").splitlines(), 1):
        where = f"{path.name}:{line}"
        if not text or text.startswith("#"):
            continue
        verb, *words = text.split()
        if verb in ("case", "end"):
            fields, core = {}, None
        elif verb == "params":
            fields.update((key, int(value)) for key, value in (word.split("=") for word in words))
        elif verb in LISTS:
            fields[verb] = numbers(words)
        elif verb == "evidence":
            clip, allowance, *rest = numbers(words)
            fields[verb] = {"clip": clip, "allowance": allowance}
            fields[verb] |= {"coef": rest[: len(SIGNALS)], "offset": rest[len(SIGNALS) :]}
        elif verb == "sizes":
            core = Core(fields)
            assert list(core.sizes()[:2]) == numbers(words), where
        elif verb == "bounds":
            assert core is not None and list(core.sizes()[2:]) == numbers(words), where
        elif verb == "step":
            assert core is not None
            check_step(core, words, where)
            steps += 1
        elif verb == "reset":
            assert core is not None
            core.reset()
        elif verb == "save":
            assert core is not None
            saved = core.save()
            assert saved.hex() == words[0], where
        elif verb == "load":
            core = Core(fields)
            assert core.load(saved) == 0, where
        else:
            pytest.fail(f"{where}: {verb} is unknown")
    assert steps > 0
