"""The monitor alone, under emulation: the integers of the vectors on three cores, at three levels.

That Python gives them too is tested with the binding.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import vector_files
from device_replay import build_replay, case_of, encode, expected, replay_fits
from refusals import refused
from tiers import first_quick
from vector_files import VectorCase

from tcuq.monitor.made import STEP_FIELDS
from tcuq_device.boards import Board, board
from tcuq_device.cost import stock
from tcuq_device.cost.measure import DWELL, made_stream
from tcuq_device.emulate.emulator import emulate
from tcuq_device.tools import missing

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

LEVELS = ("-Os", "-O2", "-O3")
Expected = tuple[VectorCase, list[str]]


@pytest.fixture(scope="module")
def cases() -> list[Expected]:
    """Every vector, with what the oracle expects of it."""
    found = [(case, expected(case)) for case in map(vector_files.read, vector_files.FILES)]
    assert len(found) == len(vector_files.FILES) > 50
    return found


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


def replayed(on: Board, level: str, cases: list[Expected], folder: Path, kept: Path) -> None:
    image = build_replay(on, folder / "build", level, kept)
    room = 96 << 10 if on.name == "microbit" else 8 << 20  # its input lies in what the image leaves of flash
    parts: list[list[Expected]] = [[]]
    for case in cases:
        if parts[-1] and len(encode([each for each, _ in (*parts[-1], case)])) > room:
            parts.append([])
        parts[-1].append(case)
    for part in parts:
        ran = emulate(image, encode([case for case, _ in part]), timeout=120)
        assert ran.lines == [line for _, lines in part for line in lines]


@pytest.mark.parametrize("level", first_quick(LEVELS))
@pytest.mark.parametrize("name", first_quick(["stm32l432kc", "stm32f767zi"]))
def test_every_vector_on_cortex_m4_and_m7(
    name: str, level: str, cases: list[Expected], kept: Path, tmp_path: Path
) -> None:
    assert all(replay_fits(case, board(name)) for case, _ in cases)
    replayed(board(name), level, cases, tmp_path, kept)


@pytest.mark.parametrize("level", first_quick(LEVELS))
def test_vectors_on_cortex_m0(level: str, cases: list[Expected], kept: Path, tmp_path: Path) -> None:
    """Where 16 KB of RAM hold a case, on that machine; the others run the same code on the larger core."""
    small = board("microbit")
    inside = [each for each in cases if replay_fits(each[0], small)]
    beyond = [each for each in cases if not replay_fits(each[0], small)]
    assert len(inside) > 0.8 * len(cases) and beyond
    replayed(small, level, inside, tmp_path / "small", kept)
    replayed(replace(board("stm32l432kc"), compiler=small.compiler), level, beyond, tmp_path / "large", kept)


def learned() -> list[Expected]:
    """Monitors that learn the persistence, with all that goes with it, and what Python answers."""
    found = []
    for params in (stock.standard(name) for name in stock.STANDARD):
        few = params.replace(budget=0.3, level=0.2, warmup=5)
        for number, dwell in enumerate((1, 8)):
            rows = made_stream(params.classes, params.features, 160, number)[:: DWELL // dwell]
            probs, features = rows[:, : params.classes], rows[:, params.classes :]
            events = [*[""] * 12, "save", *[""] * 17, "reset", *[""] * 6, "save"]
            given = np.ascontiguousarray(features) if params.features else None
            case = case_of(few, np.ascontiguousarray(probs), given, events)
            found.append((case, expected(case)))
    return found


@pytest.mark.cases(1)
@pytest.mark.parametrize("level", first_quick(LEVELS))
@pytest.mark.parametrize("name", first_quick(["stm32l432kc", "microbit", "stm32f767zi"], 2))
def test_learned_persistence_on_three_cores(name: str, level: str, kept: Path, tmp_path: Path) -> None:
    """With and without features, and with a bet: every field, every signal and saved states."""
    cases = learned()
    assert all(replay_fits(case, board(name)) for case, _ in cases)
    steps = [event.expected for case, _ in cases for event in case.events if event.kind == "step"]
    for field in ("degradation", "persistence", "expected_accuracy"):
        assert len({step[STEP_FIELDS.index(field)] for step in steps}) > 100, field
    both = [STEP_FIELDS.index(field) for field in ("prediction", "answer")]
    assert any(step[both[0]] != step[both[1]] for step in steps)
    replayed(board(name), level, cases, tmp_path, kept)


@pytest.mark.parametrize("damage", [b"x", b"c\0", None], ids=["letter", "short", "parameters"])
def test_an_input_that_makes_no_sense_is_refused(
    damage: bytes | None, cases: list[Expected], kept: Path, tmp_path: Path
) -> None:
    image = build_replay(board("stm32l432kc"), tmp_path / "build", "-Os", kept)
    bad = encode([VectorCase({**cases[0][0].fields, "classes": 1001})]) if damage is None else damage
    with refused("failed"):
        emulate(image, bad)
