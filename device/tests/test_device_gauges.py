"""Firmware that looks at the network's input: gauges on the device, the alarm that they move, refusals."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from tcuq import Alarm, AlarmSide, Params, Sight, gauge_names, input_gauges
from tcuq.monitor.made import STEP_FIELDS
from tcuq_device.boards import board
from tcuq_device.cost.agree import expected, first_difference
from tcuq_device.cost.measure import measure
from tcuq_device.cost.stock import small_graph, standard
from tcuq_device.emit.application import Application, made_inputs
from tcuq_device.emit.text import defines, texts
from tcuq_device.firmware.decision import Watch
from tcuq_device.firmware.firmware import Firmware
from tcuq_device.tools import path_of

GRAPH = small_graph()


def seeing(kind: str) -> Params:
    """Return a monitor that knows noise as clean input of the small network, of one kind or another."""
    shape = GRAPH.tensors[GRAPH.input].shape
    seen = input_gauges(made_inputs(GRAPH, 64, 5).reshape(-1, *shape), kind)
    count = seen.shape[1] + 3
    classes = standard("standard").classes
    return standard("standard").replace(
        evidence=None,
        signals=("odds", "degradation", "magnitude", "distance", "disbelief"),
        coef=None,
        clean_means=None,
        feature_scale=0.1,
        alarm=Alarm(rise=AlarmSide(0.0, 1.5, cap=64.0, clear=1.1)),
        sight=Sight(
            gauges=gauge_names(shape, kind),
            means=[*seen.mean(0).tolist(), 0.3, 0.7, 0.4],
            deviations=[*np.maximum(seen.std(0), 0.05).tolist(), 0.1, 0.05, 0.05],
            class_means=[[0.0] * count] * classes,
            matrix=[0.4 * (at == 0) for row in range(count) for at in range(count - row)],
            baseline=20,
            odds_weight=0.25,
        ),
    )


def stream() -> np.ndarray:
    """Return clean inputs, then dark ones."""
    inputs = made_inputs(GRAPH, 60, 5)
    inputs[30:] = np.maximum(inputs[30:] // 4 - 90, -128)
    return inputs


@pytest.mark.parametrize("kind", ["picture", "table"])
def test_a_firmware_takes_gauges_of_its_input_to_the_bit(kind: str, tmp_path: Path) -> None:
    firmware = Firmware("small", [GRAPH], rule=Watch(seeing(kind)))
    assert first_difference(firmware, board("netduinoplus2"), stream()) is None
    alarms = [line.split()[2 + STEP_FIELDS.index("alarm")] for line in expected(firmware, stream())]
    assert alarms[20] == "0" and alarms[-1] == "1"  # what is compared sees the input
    found, _ = measure(firmware, board("netduinoplus2"), stream()[:4])
    assert found["gauges"]["instructions"]["least"] > 5 * firmware.input_bytes


def test_an_emitted_package_takes_gauges_before_the_network_writes_over_its_input(tmp_path: Path) -> None:
    params, inputs = seeing("picture"), stream()
    for file, text in texts(Application(GRAPH, params), None).items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    (tmp_path / "inputs.bin").write_bytes(inputs.tobytes())
    flags = ["-std=c99", "-O1", *defines(Application(GRAPH, params)), "-I."]
    sources = [str(file) for file in sorted(tmp_path.glob("*.c"))]
    subprocess.run([path_of("gcc"), *flags, *sources, "-o", "example"], cwd=tmp_path, check=True)
    done = subprocess.run(
        ["./example", "inputs.bin"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    found = [line.split()[3::2] for line in done.stdout.splitlines()]
    wanted = [line.split()[2:] for line in expected(Firmware("small", [GRAPH], rule=Watch(params)), inputs)]
    assert found == wanted


def test_gauges_that_the_input_does_not_give_are_refused() -> None:
    params = seeing("table")
    names = ("temperature", *params.sight.gauges[1:])
    other = params.replace(sight=replace(params.sight, gauges=names))
    with refused("unsupported") as error:
        Application(GRAPH, other)
    assert "temperature" in str(error.value) and "\n" not in str(error.value)
    with refused("unsupported"):
        Firmware("small", [GRAPH], rule=Watch(other))
