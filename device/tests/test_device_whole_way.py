# SPDX-License-Identifier: MIT
"""From a .tflite file to a board: the recorded log, the C package and the firmware decide alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from device_emitted import agree
from tiny_models import MODELS, bars

import tcuq
from tcuq.export.selfcheck import taken
from tcuq.monitor.made import STEP_FIELDS
from tcuq.recording.model import Format
from tcuq.recording.ranges import quantized
from tcuq_device.emit.application import Application
from tcuq_device.tflite.importing import import_model
from tcuq_device.tools import missing

pytest.importorskip("ai_edge_litert", reason="LiteRT is missing: pip install ai-edge-litert")
STEPS = 200


@pytest.mark.slow
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
@pytest.mark.parametrize("features", [None, pytest.param(False, marks=pytest.mark.slow)])
def test_log_package_and_firmware_of_a_tflite_model_decide_alike(
    features: bool | None, tmp_path: Path
) -> None:
    path = MODELS / "int8.tflite"
    x, y = bars(1500, seed=5, noise=0.9)
    x[STEPS // 2 : STEPS] *= 0.5  # faint pictures, so that something happens
    log = tcuq.record(path, x, y, features=features)
    params = tcuq.fit(
        log, options=tcuq.FitOptions(warmup=20, explain=False, drop_unused=False), run_length=100
    )
    assert bool(params.features) == (features is None)
    rows = log.probs[:STEPS, :0] if log.features is None else log.features[:STEPS]
    assert params.sight is not None and log.gauges is not None
    gauges = log.gauges_named(params.sight.gauges)
    wanted = taken(tcuq.Monitor(params), log.probs[:STEPS], rows, gauges[:STEPS])[0].tolist()
    graph = import_model(path).graph
    given = graph.tensors[graph.input]
    rows, _ = quantized(x[:STEPS].reshape(STEPS, -1), Format(given.scale, given.zero), np.int8)
    agree(Application(graph, params, "whole"), rows, wanted, tmp_path)
    columns = dict(zip(STEP_FIELDS, np.array(wanted).T, strict=True))
    assert set(columns["abstain"]) == {0, 1} and len(set(columns["answer"])) > 2
