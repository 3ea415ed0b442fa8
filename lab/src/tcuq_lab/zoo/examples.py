"""Parts of a dataset as a network takes them: pictures and text as they are, sound through the front end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import known

from ..data import Dataset, text

_SHAPES: dict[str, tuple[tuple[int, ...], type, int]] = {
    "mnist": ((28, 28), np.uint8, 10),
    "mnist_pairs": ((28, 56), np.uint8, 100),
    "cifar10": ((32, 32, 3), np.uint8, 10),
    "cifar10_animals": ((32, 32, 3), np.uint8, 2),
    "speech_commands": ((49, 10), np.float32, 10),
    "tinyimagenet20": ((64, 64, 3), np.uint8, 16),
    "signs": ((32, 32, 3), np.uint8, 43),
    "motion": ((64, 1, 3), np.uint8, 5),
}


class Form(NamedTuple):
    """An example of a dataset as a network takes it, all zeros, in a batch of one; and all classes."""

    blank: npt.NDArray[Any]
    classes: int


def form_of(dataset: str) -> Form:
    """Return what a network is given for a dataset, without its files.

    Examples
    --------
    >>> form_of("speech_commands").blank.shape
    (1, 49, 10)
    >>> form_of("cifar")
    Traceback (most recent call last):
    ...
    tcuq.InputError: dataset 'cifar' is unknown; did you mean cifar10?
    """
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
