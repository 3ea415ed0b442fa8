"""The monitor alone, under emulation: the integers of Python on three cores, at three levels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import vector_files

from tcuq._core import Core
from tcuq.device.boards import Board, board
from tcuq.device.emulate.emulator import emulate
from tcuq.device.emulate.replay import Case, encode
from tcuq.device.firmware.build import build_replay, replay_room
from tcuq.device.tools import missing
from tcuq.monitor.signals import SIGNALS

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

LEVELS = ("-Os", "-O2", "-O3")


def python_lines(case: Case) -> list[str]:
    """Return what the firmware should print, from the package."""
    core, saved = Core(dict(case.fields)), b""
    classes = case.fields["classes"]
    lines = [" ".join(map(str, ["case 0", *core.sizes()]))]
    for kind, row in case.events:
        if kind == "step":
            values = np.frombuffer(row, np.int8)
            step = core.step(values[:classes], values[classes:] if len(values) > classes else None, True)
            assert step.signals is not None
            found = [step.threshold * 65536, step.label, step.risk * 65536, step.uncertainty * 65536]
            found += [step.flagged, step.abstain, step.alarm, step.warming_up]
            found += [255 if step.reason is None else SIGNALS.index(step.reason), step.low_mass]
            found += [value * 65536 for value in step.signals]
            lines.append(" ".join(["step", *(str(round(value)) for value in found)]))
        elif kind == "reset":
            core.reset()
        elif kind == "save":
            saved = core.save()
            lines.append(f"save {saved.hex()}")
        else:
            core = Core(dict(case.fields))
            core.load(saved)
            lines.append("load 0")
    return lines


@pytest.fixture(scope="module")
def cases() -> list[tuple[Case, list[str]]]:
    """Every vector, with what Python makes of it."""
    found = [(case, python_lines(case)) for case, _ in map(vector_files.read, vector_files.FILES)]
    assert len(found) == len(vector_files.FILES) > 50
    return found


def fits(case: Case, on: Board) -> bool:
    ring, state, *_ = Core(dict(case.fields)).sizes()
    return max(ring, state) <= replay_room(on)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


def replayed(on: Board, level: str, cases: list[tuple[Case, list[str]]], folder: Path, kept: Path) -> None:
    image = build_replay(on, folder / "build", level, kept)
    ran = emulate(image, encode([case for case, _ in cases]), timeout=120)
    assert ran.lines == [line for _, lines in cases for line in lines]


def test_python_says_what_the_oracle_says(cases: list[tuple[Case, list[str]]]) -> None:
    """The comparison below is then one with the vectors too."""
    for path, (_, lines) in zip(vector_files.FILES, cases, strict=True):
        assert lines == vector_files.read(path)[1], path.name


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["stm32l432kc", "stm32f767zi"])
def test_every_vector_on_cortex_m4_and_m7(
    name: str, level: str, cases: list[tuple[Case, list[str]]], kept: Path, tmp_path: Path
) -> None:
    assert all(fits(case, board(name)) for case, _ in cases)
    replayed(board(name), level, cases, tmp_path, kept)


@pytest.mark.parametrize("level", LEVELS)
def test_vectors_on_cortex_m0(
    level: str, cases: list[tuple[Case, list[str]]], kept: Path, tmp_path: Path
) -> None:
    """Where 16 KB of RAM hold a case, on that machine; the others run the same code on the larger core."""
    small = board("microbit")
    inside = [each for each in cases if fits(each[0], small)]
    beyond = [each for each in cases if not fits(each[0], small)]
    assert len(inside) > 0.8 * len(cases) and beyond
    replayed(small, level, inside, tmp_path / "small", kept)
    replayed(replace(board("stm32l432kc"), compiler=small.compiler), level, beyond, tmp_path / "large", kept)


def test_one_changed_integer_is_found(
    cases: list[tuple[Case, list[str]]], kept: Path, tmp_path: Path
) -> None:
    case, lines = cases[0]
    changed = Case({**case.fields, "bias": case.fields["bias"] + 65536}, case.events)
    ran = emulate(build_replay(board("stm32l432kc"), tmp_path / "build", "-Os", kept), encode([changed]))
    assert len(ran.lines) == len(lines) and ran.lines != lines


@pytest.mark.parametrize("damage", [b"x", b"c\0", None], ids=["letter", "short", "parameters"])
def test_an_input_that_makes_no_sense_is_refused(
    damage: bytes | None, cases: list[tuple[Case, list[str]]], kept: Path, tmp_path: Path
) -> None:
    image = build_replay(board("stm32l432kc"), tmp_path / "build", "-Os", kept)
    bad = encode([Case({**cases[0][0].fields, "classes": 1001}, [])]) if damage is None else damage
    with pytest.raises(ValueError, match=r"image\.elf refused its input$"):
        emulate(image, bad)
