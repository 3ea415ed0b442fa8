# SPDX-License-Identifier: MIT
"""The tool that counts CMSIS-NN and our kernels on the same networks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cmsis_nn import NETWORKS, STORED, main, measure

from tcuq_device.graph.model import products
from tcuq_device.tflite.convert import graph_of
from tcuq_device.tools import missing

FOLDER = os.environ.get("TCUQ_CMSIS", "")


def test_the_networks_are_those_whose_counts_are_stored() -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))["measured"]
    assert {name: products(graph_of(make())) for name, make in NETWORKS.items()} == {
        name: found["products"] for name, found in stored.items()
    }


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_folder_without_the_library_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--cmsis", str(tmp_path), "--only", "autoencoder"])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.startswith("cmsis_nn: ") and said.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason="TCUQ_CMSIS must name a folder with the sources of CMSIS-NN")
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_both_engines_give_the_bytes_of_the_reference(tmp_path: Path) -> None:
    steps = measure(NETWORKS["DS-CNN"](), Path(FOLDER).resolve(), tmp_path)
    assert 2 * sum(each.ours for each in steps) < sum(each.theirs for each in steps)
