# SPDX-License-Identifier: MIT
"""Models, graphs and figures at their limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from limit_checks import refusal, says
from places import ROOT

from tcuq.io import Limits
from tcuq_device.cost.stored import load as load_figures
from tcuq_device.graph.storage import load_graph
from tcuq_device.tflite.importing import import_model

MODEL = ROOT / "device" / "tests" / "data" / "dense.tflite"


def test_models_graphs_and_figures(tmp_path: Path) -> None:
    size = MODEL.stat().st_size
    assert import_model(MODEL, limits=Limits(model=size)).graph is not None
    says(refusal(lambda: import_model(MODEL, limits=Limits(model=size - 1))), "model", f"has {size:,} bytes")
    path = tmp_path / "g.npz"
    np.savez_compressed(path, header=np.zeros(1 << 20, np.uint8))
    says(refusal(lambda: load_graph(path, Limits(model=1 << 19))), "model", "take 1,048,576 bytes")
    huge = tmp_path / "huge.npz"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    says(refusal(lambda: load_graph(huge)), "model", "has 1,099,511,627,776 bytes")
    says(refusal(lambda: load_figures(huge)), "document", "has 1,099,511,627,776 bytes")
