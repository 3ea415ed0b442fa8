"""A bank: what a network says to every example of a part, under every source of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from ..corruptions import corrupt, suite_of
from ..data import Dataset
from .examples import front_end
from .outputs import outputs

Bank = dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any] | None]]
Progress = Callable[[int, int, str], None]


def examples(
    data: Dataset,
    sources: Iterable[str],
    ood: Mapping[str, Dataset] | None = None,
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Give every source and its examples, corrupted and then through the front end."""
    names = list(sources)
    for number, name in enumerate(names):
        if progress is not None:
            progress(number, len(names), name)
        kind, _, rest = name.partition("/")
        if kind == "ood":
            if ood is None or rest not in ood:
                raise ValueError(f"ood lacks {rest}; every OOD set of the sources is needed")
            x = ood[rest].x
        elif kind == "clean":
            x = data.x
        else:
            x = corrupt(data.x, suite_of(data.name).name, kind, int(rest), seed, workers=workers)
        yield name, front_end(x)


def record(
    module: nn.Module,
    data: Dataset,
    sources: Iterable[str],
    ood: Mapping[str, Dataset] | None = None,
    *,
    seed: int = 0,
    device: str = "cpu",
    workers: int = 1,
    progress: Progress | None = None,
) -> Bank:
    """Run a network over a part of a dataset, as it is and corrupted."""
    found: Bank = {}
    for name, x in examples(data, sources, ood, seed=seed, workers=workers, progress=progress):
        probs, features, _ = outputs(module, x, device)
        found[name] = (probs, features.astype(np.float16))
    return found
