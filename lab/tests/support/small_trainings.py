"""Trainings that take seconds: configurations and pictures."""

from __future__ import annotations

import numpy as np
import torch

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
