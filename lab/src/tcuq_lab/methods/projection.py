"""Fixed projections of wide features to what a monitor can afford to remember."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import known

Floats = npt.NDArray[np.float64]
KINDS = ("average", "pca", "random")
WIDTH = 32
"""Features that a step keeps at most."""


@dataclass(frozen=True, eq=False)
class Projection:
    """An affine map of features, fixed before deployment."""

    kind: str  # as of `projection`
    matrix: Floats  # features are multiplied by it
    offset: Floats  # added afterwards

    def __call__(self, features: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return projected features, in the precision of a network."""
        # Summed in double precision, so that rounding leaves the same whatever rows come together.
        return np.asarray(features.astype(np.float64) @ self.matrix + self.offset, dtype=np.float32)

    @property
    def parameters(self) -> int:
        """Values that a device stores; none for averages, which are a loop over neighbors."""
        if self.kind == "average":
            return 0
        return self.matrix.size + (self.offset.size if self.kind == "pca" else 0)

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds a step; averages only add."""
        return 0 if self.kind == "average" else self.matrix.size


def projection(kind: str, clean: npt.NDArray[Any], kept: int = WIDTH, seed: int = 0) -> Projection | None:
    """Make a projection for features as wide as some clean ones."""
    known("projection", kind, KINDS)
    width = clean.shape[1]
    if width <= kept:
        return None
    offset = np.zeros(kept)
    if kind == "average":
        group = np.arange(width) * kept // width
        members = group[:, None] == np.arange(kept)
        matrix = members / members.sum(axis=0)
    elif kind == "pca":
        if len(clean) < 2:
            raise ValueError(f"clean features have {len(clean)} rows; pca needs 2 or more")
        given = clean.astype(np.float64)
        centered = given - given.mean(axis=0)
        _, vectors = np.linalg.eigh(centered.T @ centered)
        matrix = _signed(vectors[:, ::-1][:, :kept])
        offset = -given.mean(axis=0) @ matrix
    else:
        drawn = np.random.default_rng(seed).normal(size=(width, kept))
        matrix = _signed(np.linalg.qr(drawn)[0])
    return Projection(kind, np.ascontiguousarray(matrix, dtype=np.float64), offset)


def _signed(columns: Floats) -> Floats:
    """Fix the signs, which a decomposition leaves open: the largest entry of a column is positive."""
    largest = np.abs(columns).argmax(axis=0)
    return np.asarray(columns * np.where(columns[largest, np.arange(columns.shape[1])] < 0, -1.0, 1.0))
