# SPDX-License-Identifier: MIT
"""Models, graphs and figures at their limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from places import ROOT
from refusals import refused

from tcuq.io import Limits
from tcuq_device.graph.storage import load_graph
from tcuq_device.tflite.importing import import_model

MODEL = ROOT / "device" / "tests" / "data" / "dense.tflite"


def test_models_graphs_and_figures(tmp_path: Path) -> None:
    size = MODEL.stat().st_size
    assert import_model(MODEL, limits=Limits(model=size)).graph is not None
    path, huge = tmp_path / "g.npz", tmp_path / "huge.npz"
    np.savez_compressed(path, header=np.zeros(1 << 20, np.uint8))
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    for read in (
        lambda: import_model(MODEL, limits=Limits(model=size - 1)),
        lambda: load_graph(huge),
    ):
        with refused("limit"):
            read()
    with pytest.raises(ValueError, match="when unpacked"):
        load_graph(path, Limits(model=1 << 19))
