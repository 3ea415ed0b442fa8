"""What the tests of the zoo share."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest

from tcuq_lab.data.official import KEYWORDS


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with four clips a keyword, of the layout of Speech Commands."""
    root, rng = tmp_path / "data" / "speech_commands_v0.01", np.random.default_rng(0)
    for number, word in enumerate(KEYWORDS):
        (root / word).mkdir(parents=True)
        for name in "abcd":
            tone = 4000 * np.sin(np.arange(16000) * (0.05 + 0.1 * number)) + rng.normal(0, 400, 16000)
            with wave.open(str(root / word / f"{name}.wav"), "wb") as file:
                file.setparams((1, 2, 16000, 0, "NONE", ""))
                file.writeframes(tone.astype("<i2").tobytes())
    for name, letter in (("validation", "c"), ("testing", "d")):
        lines = [f"{word}/{letter}.wav\n" for word in KEYWORDS]
        (root / f"{name}_list.txt").write_text("".join(lines))
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # or workers wait for each other on few cores
    return tmp_path
