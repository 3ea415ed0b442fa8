"""The live loop, with made pictures and with stand-ins for OpenCV and sounddevice."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest
from places import ROOT

LOOP = ROOT / "examples" / "live_loop" / "watch_live.py"
Watch = Callable[..., tuple[int, str, str]]

CV2 = """\
import numpy
COLOR_BGR2GRAY = 6
def cvtColor(picture, kind):
    assert kind == COLOR_BGR2GRAY
    return picture.mean(axis=2).astype(numpy.uint8)
class VideoCapture:
    def __init__(self, number):
        self.step, self.rng = 0, numpy.random.default_rng(number)
    def isOpened(self):
        return {opened}
    def read(self):
        lamp = 8 if self.step >= 700 else self.rng.uniform(40, 120)
        picture = self.rng.normal(60, 15, (12, 20, 3))
        at = self.step // 25 % 2
        picture[:6, 10 * at:10 * at + 10] += lamp
        self.step += 1
        return self.step <= {pictures}, picture.clip(0, 255).astype(numpy.uint8)
"""
SOUND = """\
import numpy
class PortAudioError(Exception):
    pass
class InputStream:
    def __init__(self, samplerate, channels, blocksize):
        assert (samplerate, channels, blocksize) == (16000, 1, 1600)
        self.step, self.rng, self.started = 0, numpy.random.default_rng(0), False
    def start(self):
        if {broken}:
            raise PortAudioError("no device")
        self.started = True
    def read(self, frames):
        assert self.started
        tone = (200, 1000)[self.step // 25 % 2]
        loud = 0.0 if self.step >= 700 else self.rng.uniform(0.03, 0.1)
        self.step += 1
        noise = self.rng.normal(0, 0.1, frames)
        sound = loud * 40 * numpy.sin(numpy.arange(frames) * tone * numpy.pi / 8000) + noise
        return sound.astype(numpy.float32)[:, None], False
"""


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Watch:
    """Return the program: arguments and modules that stand in for others to status, output and errors."""
    program = runpy.run_path(str(LOOP))

    def run(*args: str, **stand_ins: str) -> tuple[int, str, str]:
        for name, text in stand_ins.items():
            module = types.ModuleType(name)
            exec(text, module.__dict__)
            monkeypatch.setitem(sys.modules, name, module)
        status = program["main"](list(args))
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_made_pictures_raise_the_alarm_while_a_hand_covers_the_lens(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(LOOP), "--steps", "1300"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    fitting, watching, first, second, counts = done.stdout.splitlines()
    assert fitting.startswith("fitting on 1500 ") and watching.startswith("watching 1300 ")
    raised, cleared = (int(re.findall(r"step (\d+): ", line)[0]) for line in (first, second))
    assert "ALARM" in first and 500 <= raised < 560
    assert "has cleared" in second and 900 <= cleared < 950
    assert sum(map(int, re.findall(r"\d+", counts))) == 1300
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "stand_ins", "soon"),
    [
        ("--camera", {"cv2": CV2.format(opened=True, pictures=10**6)}, 280),
        ("--microphone", {"sounddevice": SOUND.format(broken=False)}, 230),
    ],
)
def test_a_camera_and_a_microphone_are_watched(
    watch: Watch, option: str, stand_ins: dict[str, str], soon: int
) -> None:
    status, said, _ = watch(option, "--fit-steps", "500", "--steps", "300", **stand_ins)
    raised = [int(step) for step in re.findall(r"step (\d+): ALARM", said)]
    # Pictures behind a hand are all alike, and count for little; noise is always new.
    assert status == 0 and len(raised) == 1 and 200 <= raised[0] < soon, said
