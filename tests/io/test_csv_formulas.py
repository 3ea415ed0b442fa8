# SPDX-License-Identifier: MIT
"""Names of classes and devices that a table program would run: neutral in CSV, and read back as they were."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from tcuq import Monitor, Params
from tcuq.io import Decisions, read_decisions, write_decisions

NAMES = ("=1+cmd|' /C calc'!A0", "-1+cmd|x", "+1", "@SUM(1)", "'=x", "'n", "n", '="a,b"')


START = ("=", "+", "-", "@", "\t", "\r")


def test_decisions_come_back_with_their_names(tmp_path: Path) -> None:
    params = Params(classes=len(NAMES), names=NAMES)
    steps = Monitor(params).run(np.eye(len(NAMES)) * 0.9 + 0.0125)
    path = tmp_path / "d.csv"
    write_decisions(path, Decisions(steps, names=NAMES))
    with path.open(newline="", encoding="utf-8") as file:
        cells = [row["answer_name"] for row in csv.DictReader(file)]
    assert len(set(cells)) > 2 and not any(cell.startswith(START) for cell in cells)
    found = read_decisions(path).names
    assert found is not None
    assert {name for name in found if name} == {NAMES[step] for step in steps["answer"].tolist()}
