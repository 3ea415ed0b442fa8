"""Rules of rivals on a board say what Python says."""

from __future__ import annotations

from pathlib import Path

import device_programs
import numpy as np
import pytest
from device_graphs import CLASSES

from tcuq_device.boards import board
from tcuq_device.cost.measure import made_stream
from tcuq_device.emulate.emulator import emulate
from tcuq_device.firmware.build import build
from tcuq_device.firmware.decision import Rule
from tcuq_device.firmware.firmware import Firmware
from tcuq_device.tools import missing
from tcuq_lab.boards.rivals import ConformalRule, VoteRule
from tcuq_lab.harness.types import Outputs
from tcuq_lab.methods.confidence import p_values
from tcuq_lab.methods.rules import Vote

pytestmark = pytest.mark.slow

tooled = pytest.mark.skipif(missing() is not None, reason=str(missing()))
SMALL = board("stm32l432kc")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.mark.parametrize("rule", [ConformalRule([1]), VoteRule()], ids=type)
def test_rules_are_clean_for_another_compiler(rule: Rule, tmp_path: Path) -> None:
    device_programs.no_warnings_from_clang(rule, [], tmp_path)


def decisions(rule: Rule, rows: np.ndarray, kept: Path, folder: Path) -> np.ndarray:
    """Return prediction and score of every step, from a firmware without a network."""
    image = build(Firmware("f", rule=rule, shape=(CLASSES, 0)), SMALL, folder / "build", kept=kept)
    return np.array(
        [[int(word) for word in line.split()[-2:]] for line in emulate(image, rows.tobytes()).lines]
    )


@tooled
def test_the_conformal_rule_is_that_of_python(kept: Path, tmp_path: Path) -> None:
    rows = made_stream(CLASSES, 0, 200)
    u = rows.astype(int) + 128
    clean = made_stream(CLASSES, 0, 99, seed=1).astype(int).max(axis=1) + 128
    found = decisions(ConformalRule(clean.tolist()), rows, kept, tmp_path)
    expected = 1 - p_values(np.sort(1 - clean / 256), 1 - u.max(axis=1) / 256)
    assert (found[:, 0] == u.argmax(axis=1)).all()
    assert np.abs(found[:, 1] / 65536 - expected).max() < 1 / 65536
    assert len(set(found[:, 1].tolist())) > 20


@tooled
@pytest.mark.parametrize(("last", "weight"), [(1, 0.02), (5, 0.02), (9, 1.0)])
def test_the_vote_is_that_of_python(last: int, weight: float, kept: Path, tmp_path: Path) -> None:
    rows = made_stream(CLASSES, 0, 200)
    probs = (rows.astype(float) + 128) / 256
    found = decisions(VoteRule(last, weight), rows, kept, tmp_path)
    seen = Outputs(probs, np.zeros((200, 0)), {}, np.zeros(200, np.int64))
    expected = Vote().score(seen, {"last": last, "weight": weight}).score
    assert (found[:, 0] == probs.argmax(axis=1)).all()
    # Rounded down twice, the weight rounded, and the sum held below 1.
    assert np.abs(found[:, 1] / 65536 - np.minimum(expected, 65535 / 65536)).max() < 4 / 65536
