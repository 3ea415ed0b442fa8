"""What projections of wide features are worth to a monitor, on development streams alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tcuq.base.checks import integer, known_only

from .method import Labeled
from .objective import errors_alone
from .projection import UNLABELED, WIDTH
from .temporal.paper import TcuqPaper


def compare_projections(dev: Labeled, draws: int = 3, **changes: Any) -> dict[str, float]:
    """Return the held-out AUROC of errors with each projection, and without features.

    Nothing but the projection differs. Coefficients are refitted each time, to other folds than those
    that they are judged on, and a projection is made from clean steps. The monitor has the signals of the
    paper, of which one reads features.
    """
    features = dev.observed.features
    width = 0 if features is None else features.shape[1]
    if width <= WIDTH:
        raise ValueError(f"features are {width} wide, expected more than {WIDTH}, or there is no projection")
    seeds = range(integer("draws", draws, 1, 100))
    known_only("setting", changes, ("lags", "blend", "l2"))
    base: Mapping[str, Any] = {**TcuqPaper.grid[1], **changes}
    judge = TcuqPaper()

    def quality(kind: str | None, seed: int = 0) -> float:
        return judge.quality(dev, {**base, "features": kind, "seed": seed}, errors_alone)

    found = {"none": quality(None)}
    for kind in UNLABELED:
        drawn = [quality(kind, seed) for seed in (seeds if kind == "random" else (0,))]
        found[kind] = float(np.mean(drawn))
    return found
