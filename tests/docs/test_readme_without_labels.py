"""The Python of README with a fit without labels, which expects no accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doc_blocks import parse
from places import ROOT
from streams import dwell_stream

from tcuq import Log
from tcuq.io import write_log


def test_an_alarm_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probs, features, _, _ = dwell_stream(1500, 4, 3, np.random.default_rng(0))
    (tmp_path / "demo").mkdir()
    write_log(tmp_path / "demo" / "dev.npz", Log(probs, features))
    monkeypatch.chdir(tmp_path)
    page = parse((ROOT / "README.md").read_text(encoding="utf-8"), "README.md")
    held: dict[str, Any] = {}
    for block in page.blocks:
        if block.language == "python":
            exec(block.code, held)
    assert held["params"].horizon == 0
    probs, features, _, shifted = dwell_stream(1500, 4, 3, np.random.default_rng(1), shifted=True)
    said = [held["on_inference"](*row) for row in zip(probs, features, strict=True)]
    assert "degraded" in np.array(said)[shifted] and f"class {np.argmax(probs[0])}" == said[0]
