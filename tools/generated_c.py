# SPDX-License-Identifier: MIT
"""The C that an export generates for a monitor, written into a folder for tools to look at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tcuq.export import integer_projection, sources
from tcuq_device.cost.stock import FEATURES, WIDE, monitors
from tcuq_device.tools import PACKAGE


def generated(folder: Path) -> list[Path]:
    """Export stock monitors with all that an export can have; return the sources that are theirs alone."""
    paper = replace(monitors()["paper"], feature_scale=0.5)
    waves = np.sin(np.arange(WIDE * FEATURES)).reshape(WIDE, FEATURES)
    projection = integer_projection(waves, np.zeros(FEATURES), 0.1, -128, paper)
    texts = {
        "standard": sources(monitors()["standard"], logits_scale=0.1),
        "paper": sources(paper, projection=projection),
    }
    shared = {path.name for part in ("core", "export/c") for path in (PACKAGE / part).glob("*.c")}
    for name, files in texts.items():
        for file, text in files.items():
            path = folder / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return sorted(path for path in folder.glob("*/**/*.c") if path.name not in shared)
