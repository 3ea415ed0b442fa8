"""Firmware with networks and monitors: the bits of Python, counts that repeat, a check of growth."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_graphs import graph_of, pictures
from refusals import refused
from tiers import first_quick

from tcuq import Monitor
from tcuq_device.boards import board
from tcuq_device.cost.agree import digest, words
from tcuq_device.cost.cycles import cycles
from tcuq_device.cost.measure import made_stream, measure, overhead
from tcuq_device.cost.stock import monitors
from tcuq_device.emulate.emulator import command_of, emulate
from tcuq_device.firmware.build import build
from tcuq_device.firmware.decision import Watch
from tcuq_device.firmware.firmware import SEED, Firmware, posteriors
from tcuq_device.graph.model import Graph
from tcuq_device.kernels.host import Network
from tcuq_device.tools import missing, path_of

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

SMALL, BIG = board("stm32l432kc"), board("stm32f767zi")
OTHERS = [board(name) for name in ("microbit", "rp2350", "corstone300", "esp32c3")]
CLASSES, FEATURES = 10, 32


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.mark.cases(1)
@pytest.mark.parametrize("profile", first_quick(["standard", "paper", "standard, bet"], 2))
@pytest.mark.parametrize("on", first_quick([SMALL, BIG, *OTHERS]), ids=lambda each: each.name)
def test_backbone_and_monitor_say_what_python_says(on: Any, profile: str, kept: Path, tmp_path: Path) -> None:
    if shutil.which(f"{on.toolchain}-gcc") is None or shutil.which(on.emulated.emulator) is None:
        pytest.skip(f"{on.toolchain}-gcc or {on.emulated.emulator} is missing")
    graph, x, params = graph_of(), pictures(40), monitors()[profile]
    image = build(Firmware("f", [graph], rule=Watch(params)), on, tmp_path / "build", kept=kept)
    ran = emulate(image, x.tobytes())
    host, monitor = Network(graph).run(x), Monitor(params)
    expected = []
    for probs, features in zip(host["probs"], host["features"], strict=True):
        step = monitor.step(probs, features)
        expected.append([probs.tobytes().hex(), digest(features), *words(step)])
    assert [line.split()[2:] for line in ran.lines] == expected
    assert len({line[0] for line in expected}) > 30, "posteriors differ from step to step"


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("graphs", "passes"),
    [
        ([graph_of(heads=3)], 1),
        ([graph_of(seed) for seed in range(5)], 1),
        ([graph_of(drop=True)], 10),
    ],
    ids=["heads", "networks", "dropout"],
)
def test_members_are_averaged(graphs: list[Graph], passes: int, kept: Path, tmp_path: Path) -> None:
    x = pictures(6)
    firmware = Firmware("f", graphs, passes)
    ran = emulate(build(firmware, BIG, tmp_path / "build", kept=kept), x.tobytes())
    networks = [Network(graph, seed=SEED) for graph in graphs]
    for line, one in zip(ran.lines, x, strict=True):
        total = np.zeros(CLASSES, np.int64)
        for _ in range(passes):
            for network in networks:
                found = network.run(one[None])
                total += sum(found[name][0].astype(np.int64) + 128 for name in posteriors(network.graph))
        mean = (total + firmware.members // 2) // firmware.members - 128
        assert line.split()[2] == mean.astype(np.int8).tobytes().hex()


def test_counts_repeat_to_the_instruction(kept: Path, tmp_path: Path) -> None:
    """Twice in blocks and once instruction by instruction."""
    rows = made_stream(CLASSES, FEATURES, 50)
    firmware = Firmware("f", rule=Watch(monitors()["paper"]), shape=(CLASSES, FEATURES))
    image = build(firmware, SMALL, tmp_path / "build", kept=kept)
    runs = [
        emulate(image, rows.tobytes(), counted=True, kept=kept, singly=singly)
        for singly in (False, False, True)
    ]
    counts = [run.counts["rule"].instructions for run in runs]
    assert counts[0] == counts[1] == counts[2] and len(counts[0]) == 50 and len(set(counts[0])) > 5
    totals = [sum(length * times for _, length, times in run.counts["rule"].blocks) for run in runs]
    # The blocks also hold the call of the mark behind each step, and of the pair with nothing between.
    assert totals == [sum(counts[0]) + 51] * 3
    told = cycles(image, runs[0].counts["rule"])
    assert told is not None and 0 < told["least"] < told["most"]
    # At 80 MHz, and 84 uA/MHz x 3.3 V.
    for unit, each in (("milliseconds", 1 / 80_000), ("microjoules", 84e-6 * 3.3)):
        assert told[unit] == pytest.approx([told["least"] * each, told["most"] * each])


def test_what_runs_in_the_emulator_reaches_no_file(kept: Path, tmp_path: Path) -> None:
    """Semihosting would open any file of this computer; a breakpoint that asks for it is a fault here."""
    image = build(Firmware("f", shape=(CLASSES, FEATURES)), SMALL, tmp_path / "build", kept=kept)
    command = " ".join(command_of(image, b"", tmp_path))
    assert "semihosting" not in command and "-nic none" in command
    listing = subprocess.run(
        [path_of("arm-none-eabi-objdump"), "-d", image.path], capture_output=True, text=True, check=True
    )
    assert "<harness_exit>" in listing.stdout and "bkpt" not in listing.stdout


def test_the_stack_is_measured_and_refused_when_used_up(kept: Path) -> None:
    shape = (CLASSES, FEATURES)
    rows, bare = made_stream(*shape, 20), Firmware("b", shape=shape)
    watching = Firmware("w", rule=Watch(monitors()["paper"]), shape=shape)
    found = [measure(each, SMALL, rows, kept=kept)[0]["ram"] for each in (bare, watching)]
    depth = found[1]["stack"]
    assert 0 < found[0]["stack"] < 160 < depth < SMALL.stack_bytes
    assert found[1]["total"] == found[1]["zeroed"] + depth
    with refused("limit"):
        measure(watching, replace(SMALL, stack_bytes=depth), rows[:3], kept=kept)


def test_a_pair_that_is_none_is_refused() -> None:
    more, less = ({"firmware": n, "flash": {"total": n}, "ram": {"total": 1}} for n in (2, 1))
    assert overhead(more, less) == {"flash": 1, "ram": 0}
    with refused("failed"):
        overhead(less, more)


def test_inputs_of_another_size_are_refused() -> None:
    with refused("value"):
        measure(Firmware("f", shape=(10, 32)), SMALL, np.zeros((3, 9), np.int8))
