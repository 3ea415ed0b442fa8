"""Parts of a dataset as a network takes them, as they are and corrupted; and what a network says to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import known

from ..corruptions import corrupt, suite_of
from ..data import Dataset, text

if TYPE_CHECKING:
    from torch import nn

_SHAPES: dict[str, tuple[tuple[int, ...], type, int]] = {
    "mnist": ((28, 28), np.uint8, 10),
    "mnist_pairs": ((28, 56), np.uint8, 100),
    "cifar10": ((32, 32, 3), np.uint8, 10),
    "cifar10_animals": ((32, 32, 3), np.uint8, 2),
    "speech_commands": ((49, 10), np.float32, 10),
    "tinyimagenet": ((64, 64, 3), np.uint8, 200),
    "tinyimagenet20": ((64, 64, 3), np.uint8, 16),
    "signs": ((32, 32, 3), np.uint8, 43),
    "motion": ((64, 1, 3), np.uint8, 5),
}


class Form(NamedTuple):
    """An example of a dataset as a network takes it, all zeros, in a batch of one; and all classes."""

    blank: npt.NDArray[Any]
    classes: int


def form_of(dataset: str) -> Form:
    """Return what a network is given for a dataset, without its files."""
    if known("dataset", dataset, (*_SHAPES, "text")) == "text":
        return Form(np.zeros((1, text.CHUNK), np.uint8), len(text.DOCUMENTS))
    shape, kind, classes = _SHAPES[dataset]
    return Form(np.zeros((1, *shape), kind), classes)


def inputs_of(dataset: Dataset) -> npt.NDArray[Any]:
    """Return what a backbone is given for the examples of a dataset."""
    return front_end(dataset.x)


def front_end(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return pictures as they are, and the MFCC of sound."""
    if x.dtype == np.int16:
        from ..audio import mfcc

        return mfcc(x)
    return x


Bank = dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any] | None]]
"""What a network says to every example of a part, by source: posteriors and features."""
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


def record(module: nn.Module, data: Dataset, sources: Iterable[str], **options: Any) -> Bank:
    """Run a network over a part of a dataset, as it is and corrupted; options are those of `examples`."""
    from .outputs import outputs

    found: Bank = {}
    for name, x in examples(data, sources, **options):
        probs, features, _ = outputs(module, x)
        found[name] = (probs, features.astype(np.float16))
    return found
