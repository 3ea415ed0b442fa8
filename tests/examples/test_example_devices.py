"""The examples for devices do the same on one made stream: sketch, Zephyr application, MicroPython."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from array import array
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cortex import HERE as STAND_INS
from cortex import need
from places import ROOT

import tcuq
from tcuq.export import export

EXAMPLES = ROOT / "examples"
PARAMS = tcuq.Params.load(ROOT / "packaging" / "registry" / "demo_monitor.json")
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]


def posteriors() -> np.ndarray[Any, np.dtype[np.int8]]:
    """Return what the examples make up, from their words: a class for 12 steps, not sure from step 400 on."""
    noise, rows = 1, []
    for count in range(600):
        noise = (noise * 1664525 + 1013904223) % 2**32
        share = (220 if count < 400 else 90) + (noise >> 28)
        row = [(256 - share) // 3] * 4
        row[count // 12 % 4] = share
        rows.append(row)
    return (np.array(rows) - 128).astype(np.int8)


def expected() -> list[str]:
    """Return the lines that Python's monitor gives for that stream."""
    monitor, last, said = tcuq.Monitor(PARAMS), "", []
    for count, row in enumerate(posteriors()):
        step = monitor.step(row)
        action = "hold" if step.alarm else "ask" if step.abstain or step.warming_up else "act"
        if action != last:
            said.append(f"step {count}: {action}")
        last = action
    return said


def test_the_made_stream_shows_all_three_actions() -> None:
    said = expected()
    assert said[:2] == ["step 0: ask", "step 64: act"]
    first = int(re.findall(r"step (\d+): hold", "\n".join(said))[0])
    assert 400 < first < 440, "the pages say: soon after step 400"


def ran(command: list[str | Path], program: Path) -> list[str]:
    subprocess.run([*map(str, command), "-o", str(program)], check=True)
    return subprocess.run(
        [program], check=True, capture_output=True, text=True, timeout=60
    ).stdout.splitlines()


def compiled(folder: Path, sources: Path, *flags: str) -> list[Path]:
    """Compile the C files of a package, all in one call."""
    folder.mkdir()
    command = [
        need("cc", "gcc"),
        "-std=c99",
        *STRICT,
        "-pedantic",
        *flags,
        "-c",
        *sorted(sources.glob("*.c")),
    ]
    subprocess.run([str(part) for part in command], cwd=folder, check=True)
    return sorted(folder.glob("*.o"))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """Return the sources of the Arduino library and their objects: the same C as in every form."""
    folder = tmp_path_factory.mktemp("example")
    export(PARAMS, folder / "tcuq_monitor", "monitor", form="arduino")
    sources = folder / "tcuq_monitor" / "src"
    return sources, compiled(folder / "o", sources)


def test_the_sketch_acts_as_python_does(tmp_path: Path, library: tuple[Path, list[Path]]) -> None:
    compiler = need("g++", "g++")
    sources, parts = library
    sketch = EXAMPLES / "arduino" / "act_on_answers" / "act_on_answers.ino"
    source = tmp_path / "sketch.cpp"
    # The builder of Arduino puts the header of the core before the sketch.
    source.write_text("#include <Arduino.h>\n" + sketch.read_text())
    host = ROOT / "tests" / "examples" / "arduino_host"
    command: list[str | Path] = [compiler, "-std=gnu++11", *STRICT, f"-I{host}", f"-I{sources}", source]
    said = ran([*command, *parts], tmp_path / "sketch")
    assert said[:-1] == expected()
    # The LED follows the alarm, which is on at the end.
    turns = [line.endswith("hold") for line in expected()]
    changes = sum(one != two for one, two in pairwise(turns))
    assert said[-1] == f"led {int(turns[-1])}, {changes} changes"


def zephyr_application(include: Path, *more: str) -> list[str | Path]:
    """Return the command that compiles the application."""
    folders = [f"-I{include}", f"-I{STAND_INS / 'zephyr'}"]
    source = EXAMPLES / "zephyr" / "src" / "main.c"
    return [need("cc", "gcc"), "-std=c99", *STRICT, *folders, *more, source]


def test_the_zephyr_application_acts_as_python_does(tmp_path: Path, library: tuple[Path, list[Path]]) -> None:
    sources, parts = library
    assert ran([*zephyr_application(sources), *parts], tmp_path / "app") == expected()


class StandIn:
    """The module of the interpreter, as far as the program uses it."""

    def __init__(self, status: int) -> None:
        self.status = status

    def selfcheck(self) -> int:
        return self.status

    class Monitor:
        def __init__(self) -> None:
            self.monitor = tcuq.Monitor(PARAMS)

        def step(self, posteriors: array[int]) -> tcuq.Step:
            return self.monitor.step(np.frombuffer(posteriors, dtype=np.int8))


def test_the_program_for_micropython_acts_as_python_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = EXAMPLES / "micropython" / "main.py"
    monkeypatch.setitem(sys.modules, "tcuq_monitor", StandIn(0))
    runpy.run_path(str(program))
    assert capsys.readouterr().out.splitlines() == expected()
    monkeypatch.setitem(sys.modules, "tcuq_monitor", StandIn(7))
    with pytest.raises(RuntimeError, match="self-check failed: 7"):
        runpy.run_path(str(program))
    # What the program asks of the module is there.
    export(PARAMS, tmp_path / "module", "monitor", form="micropython")
    module = (tmp_path / "module" / "modtcuq_monitor.c").read_text()
    asked = set(re.findall(r"\b(?:tcuq_monitor|monitor|step)\.(\w+)", program.read_text()))
    assert asked == {"selfcheck", "Monitor", "step", "alarm", "abstain", "warming_up"}
    assert all(f"MP_QSTR_{name}" in module for name in asked)
