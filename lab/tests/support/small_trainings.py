"""Trainings that take seconds: configurations, pictures, and the command's refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tcuq_lab.cli import main
from tcuq_lab.zoo.config import Config, config_from
from tcuq_lab.zoo.train import Examples

PLAIN = {
    "name": "t",
    "dataset": "speech_commands",
    "backbone": "dscnn",
    "epochs": 1,
    "batch": 10,
    "rate": 0.05,
}
SMALL = {**PLAIN, "options": {"width": 4}}


def refused(
    folder: Path, capsys: pytest.CaptureFixture[str], *names: str, options: tuple[str, ...] = ()
) -> str:
    """Run `tcuq-lab train`; return the one line of its error, and see that nothing was made."""
    files = [str(folder / f"{name}.json") for name in names]
    assert main(["train", *files, "--out", str(folder / "out" / "weights"), "--device", "cpu", *options]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("tcuq-lab: ") and err.count("\n") == 1
    assert not (folder / "out").exists()
    return err.removeprefix("tcuq-lab: ").strip()


def write(folder: Path, name: str, /, **content: object) -> None:
    (folder / f"{name}.json").write_text(json.dumps(content))


def squares(n: int = 96, seed: int = 0) -> Examples:
    """Four classes of 28 x 28 pictures: a bright corner each, under noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    x = rng.integers(0, 60, (n, 28, 28))
    for image, label in zip(x, y, strict=True):
        row, column = divmod(int(label), 2)
        image[14 * row : 14 * row + 14, 14 * column : 14 * column + 14] += 120
    return Examples(torch.from_numpy(x.astype(np.uint8)), torch.from_numpy(y))


def small(**changes: object) -> Config:
    given = {"name": "t", "dataset": "mnist", "backbone": "cnn4", "epochs": 2, "batch": 32, "rate": 0.05}
    given |= {"options": {"width": 4}, "augment": {"shift": [1, 1], "noise": 0.1}, **changes}
    return config_from(given)
