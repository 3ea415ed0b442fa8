"""Every method on a board: the rules of rivals say what Python says, and a table holds their cost."""

from __future__ import annotations

from pathlib import Path

import device_graphs
import device_programs
import numpy as np
import pytest
from device_graphs import CLASSES, graph_of, pictures

from tcuq_device.boards import board
from tcuq_device.cost.bench import made_stream, monitors
from tcuq_device.emulate.emulator import emulate
from tcuq_device.firmware.build import build
from tcuq_device.firmware.decision import Rule
from tcuq_device.firmware.firmware import Firmware
from tcuq_device.tools import missing
from tcuq_lab.boards.rival_rules import ConformalRule, VoteRule
from tcuq_lab.boards.table import methods, table
from tcuq_lab.methods.conformal import p_values
from tcuq_lab.methods.method import Observed
from tcuq_lab.methods.temporal.vote import Vote

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
    seen = Observed(probs, np.zeros((200, 0)), {}, np.zeros(200, np.int64))
    expected = Vote().score(seen, {"last": last, "weight": weight}).score
    assert (found[:, 0] == probs.argmax(axis=1)).all()
    # Rounded down twice, the weight rounded, and the sum held below 1.
    assert np.abs(found[:, 1] / 65536 - np.minimum(expected, 65535 / 65536)).max() < 4 / 65536


@pytest.mark.slow
@tooled
def test_a_table_of_every_method(kept: Path) -> None:
    """Random networks: five of one kind, with heads, with dropout; one task whose networks are too large."""
    clean = (made_stream(CLASSES, 0, 50).astype(int).max(axis=1) + 128).tolist()
    stock = monitors()
    sets = {
        "plain": [graph_of(seed) for seed in range(5)],
        "exits": [graph_of(heads=2)],
        "hydra": [graph_of(heads=5)],
        "dropout": [graph_of(drop=True)],
    }
    firmwares = methods(sets, clean, stock["paper"], stock["standard"])
    assert list(firmwares) == [
        *("base", "conformal", "vote", "tcuq_paper", "tcuq"),
        *("early_exit", "hydra", "mc_dropout", "deep"),
    ]
    makers = [device_graphs.Maker((600,), seed) for seed in range(5)]
    wide = [make.graph(probs=make.softmax(make.dense("input", 120))) for make in makers]
    large = {"base": Firmware("base", wide[:1]), "deep": Firmware("deep", wide)}
    tasks = {"small": (firmwares, pictures(2)), "large": (large, makers[0].input(1))}
    found = table(tasks, ["stm32l432kc"], steps=20)
    rows = {(entry["task"], entry["firmware"]): entry for entry in found["measured"]}
    assert len(rows) == 11
    small = {name: rows["small", name] for name in firmwares}
    for name in ("conformal", "vote", "tcuq_paper", "tcuq"):
        assert small[name]["overhead"]["flash"] > 0 and small[name]["rule"]["instructions"]["steps"] == 20
        assert small[name]["network"] == small["base"]["network"], "the same network at the same cost"
    passes = (
        small["mc_dropout"]["network"]["instructions"]["mean"]
        / small["base"]["network"]["instructions"]["mean"]
    )
    assert 9.5 < passes < 12 and small["mc_dropout"]["members"] == 10
    assert (
        4.5
        < small["deep"]["network"]["instructions"]["mean"] / small["base"]["network"]["instructions"]["mean"]
        < 5.5
    )
    assert "overhead" not in small["deep"]
    # A network of 72 KB fits the small board, five of them do not: the linker says by how much.
    assert rows["large", "base"]["network"]["instructions"]["steps"] == 1
    deep = rows["large", "deep"]
    assert deep["over"] == {"flash": deep["flash"]["total"] - SMALL.flash_bytes} and "network" not in deep
    assert deep["said"].startswith("deep is too large for STM32L432KC: flash over by ")
