"""The live loop, with made pictures and with stand-ins for OpenCV and sounddevice."""

from __future__ import annotations

import re
import runpy
import sys
import types

import numpy as np
import pytest
from places import ROOT

LOOP = runpy.run_path(str(ROOT / "examples" / "live_loop" / "watch_live.py"))


class Capture:
    """A camera that goes dark."""

    def __init__(self, number: int) -> None:
        self.step, self.rng = 0, np.random.default_rng(number)

    def isOpened(self) -> bool:
        return True

    def read(self) -> tuple[bool, np.ndarray]:
        picture, corner = self.rng.normal(60, 15, (12, 20, 3)), 10 * (self.step // 25 % 2)
        picture[:6, corner : corner + 10] += 8 if self.step >= 700 else self.rng.uniform(40, 120)
        self.step += 1
        return True, picture.clip(0, 255).astype(np.uint8)


class Input:
    """A microphone that goes deaf."""

    def __init__(self, samplerate: int, channels: int, blocksize: int) -> None:
        self.step, self.rng = 0, np.random.default_rng(0)

    def start(self) -> None:
        pass

    def read(self, frames: int) -> tuple[np.ndarray, bool]:
        tone, loud = (200, 1000)[self.step // 25 % 2], 40 * self.rng.uniform(0.03, 0.1) * (self.step < 700)
        self.step += 1
        noise = self.rng.normal(0, 0.1, frames)
        return (loud * np.sin(np.arange(frames) * tone * np.pi / 8000) + noise)[:, None], False


CV2 = {"COLOR_BGR2GRAY": 6, "cvtColor": lambda picture, _: picture.mean(axis=2), "VideoCapture": Capture}
SOUND = {"PortAudioError": OSError, "InputStream": Input}


@pytest.mark.parametrize(
    ("options", "alarms"),
    [
        (["--steps", "1300"], [("ALARM", 500, 560), ("", 900, 950)]),
        # Pictures behind a hand are all alike, and count for little; noise is always new.
        (["--camera", "--fit-steps", "500", "--steps", "300"], [("ALARM", 200, 280)]),
        (["--microphone", "--fit-steps", "500", "--steps", "300"], [("ALARM", 200, 230)]),
    ],
)
def test_the_alarm_comes_when_the_source_fails(
    options: list[str],
    alarms: list[tuple[str, int, int]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, parts in (("cv2", CV2), ("sounddevice", SOUND)):
        module = types.ModuleType(name)
        module.__dict__.update(parts)
        monkeypatch.setitem(sys.modules, name, module)
    assert LOOP["main"](options) == 0
    changes = re.findall(r"step (\d+): (ALARM)?", capsys.readouterr().out)
    assert [word for _, word in changes] == [word for word, *_ in alarms]
    for (step, _), (_, low, high) in zip(changes, alarms, strict=True):
        assert low <= int(step) < high
