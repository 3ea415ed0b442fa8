"""Parts of the datasets: train, dev and test, which share no example."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import known
from tcuq.recording.rand import Numbers

from .dataset import Dataset, data_folder, entry, load, names, present, splits
from .official import OTHER, label_of, speech_names
from .packed import members
from .text import load_text

PARTS = ("train", "dev", "test")
HELD_OUT = (4, 9, 14, 19)
"""Classes of tinyimagenet20 that are never trained on: every fifth."""

_CLASSES = 20  # of tinyimagenet20, the held-out ones among them
_FIRST = 350  # training images of a class of tinyimagenet20 that are for training; the others are for dev
_TRAIN = {"mnist": 55_000, "cifar10": 45_000}  # the first ones are for training; the others are for dev
MADE_FROM: Mapping[str, str] = MappingProxyType({"cifar10_animals": "cifar10", "mnist_pairs": "mnist"})
"""Tasks of few and of many classes, and the dataset whose parts they are made from."""
ANIMALS = (2, 3, 4, 5, 6, 7)
"""Labels of CIFAR-10 that are animals; the others are vehicles."""


def base_of(name: str) -> str:
    """Return the dataset whose files a task needs."""
    return MADE_FROM.get(name, name)


def animals(data: Dataset) -> Dataset:
    """Return CIFAR-10 with two classes: 0 is a vehicle, 1 an animal.

    Examples
    --------
    >>> animals(Dataset("cifar10", "dev", np.zeros((3, 32, 32, 3), np.uint8), np.array([0, 3, 9]), "", "")).y
    array([0, 1, 0])
    """
    y = np.isin(data.y, ANIMALS).astype(np.int64)
    return replace(data, name="cifar10_animals", y=y, source=f"{data.source}; animals and vehicles")


def pairs(data: Dataset) -> Dataset:
    """Return as many pictures of two: each on the left once and on the right once, there as a negative.

    The class is ten times that of the left one and that of the right one. Left and right differ in more than
    their place, as the small networks average over all places.
    """
    right = Numbers(0, f"pairs/{data.split}").shuffled(len(data.y))[0]
    x = np.concatenate([data.x, 255 - data.x[right]], axis=2)
    source = f"{data.source}; pairs, the right one as a negative"
    return replace(data, name="mnist_pairs", x=x, y=10 * data.y + data.y[right], source=source)


_MAKERS: dict[str, Callable[[Dataset], Dataset]] = {"cifar10_animals": animals, "mnist_pairs": pairs}


def split_of(name: str, part: str) -> str:
    """Return the split of `tcuq_lab.data` that a part is cut from."""
    known("dataset with parts", name, (*(each for each in names() if entry(each).parts), *MADE_FROM))
    return entry(base_of(name)).parts[known(f"part of {name}", part, PARTS)][0]


def part(name: str, which: str) -> tuple[str, npt.NDArray[np.int64]]:
    """Return the split that a part is cut from, and the rows of it.

    MNIST and CIFAR-10 give their last 5,000 training images to dev. Speech Commands has its own validation
    split; only the ten keywords are taken. Of tinyimagenet20, 16 classes are taken: every fifth is
    `HELD_OUT`; the first 350 training images of a class are for training, the others for dev.
    """
    split = split_of(name, which)
    return split, _rows(name, which, load(name, split).y)


def load_part(name: str, which: str) -> Dataset:
    """Return one part of a dataset; labels of tinyimagenet20 are renumbered, 0 to 15."""
    if name == "text":
        return load_text(which)
    if name in _MAKERS:
        return _MAKERS[name](load_part(MADE_FROM[name], which))
    whole = load(name, split_of(name, which))
    rows = _rows(name, which, whole.y)
    y = whole.y[rows]
    if name == "tinyimagenet20":
        y = y - np.searchsorted(HELD_OUT, y)
    about = entry(name).parts[which][1]
    return Dataset(name, which, whole.x[rows], y, whole.license, f"{whole.source}; {about}")


def _rows(name: str, which: str, y: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if name not in _TRAIN and splits(name) == PARTS:
        return np.arange(len(y))
    if name == "speech_commands":
        return np.flatnonzero(y < OTHER)
    if which == "test":
        return np.flatnonzero(~np.isin(y, HELD_OUT)) if name == "tinyimagenet20" else np.arange(len(y))
    _enough(name, y)
    early = np.arange(len(y)) < _TRAIN[name] if name in _TRAIN else places(y) < _FIRST
    taken = early if which == "train" else ~early
    return np.flatnonzero(taken if name in _TRAIN else taken & ~np.isin(y, HELD_OUT))


def _enough(name: str, y: npt.NDArray[np.int64]) -> None:
    """Refuse a training split that the cut would leave without examples for dev."""
    if name in _TRAIN:
        rows, least, what = len(y), _TRAIN[name], "rows"
    else:
        known_classes = np.setdiff1d(np.arange(_CLASSES), HELD_OUT)
        rows = int(np.bincount(y, minlength=_CLASSES)[known_classes].min())
        least, what = _FIRST, "rows of a class"
    if rows <= least:
        raise ValueError(f"{name} train has {rows} {what}; more than {least} are needed for train and dev")


def places(y: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many examples of the same class come before each."""
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], y[order])
    places = np.empty(len(y), dtype=np.int64)
    places[order] = np.arange(len(y)) - starts
    return places


def words(split: str) -> npt.NDArray[np.str_]:
    """Return the word of each clip, in the order in which `tcuq_lab.data.load` gives them."""
    form = present("speech_commands", split)
    if form is None:
        raise ValueError(f"speech_commands {split} is not in {data_folder()} (see tcuq-lab data list)")
    path = data_folder() / form.files[0]
    if path.suffix != ".npz":
        return np.array([name.partition("/")[0] for name in speech_names(path, split)], dtype=np.str_)
    found = members(path, "word", "words", "split")
    marks, names = found["word"], found["words"]
    if marks.dtype.kind not in "iu" or names.dtype.kind != "U" or int(marks.max(initial=0)) >= len(names):
        raise ValueError(f"{path}: word is {marks.dtype} and words {names.shape}, expected places in words")
    rows = found["split"] == splits("speech_commands").index(split)
    return np.asarray(names[marks[rows]])


def keyword_labels(split: str) -> npt.NDArray[np.int64]:
    """Return the labels of the clips that say a keyword."""
    labels = np.array([label_of(word) for word in words(split).tolist()], dtype=np.int64)
    return labels[labels < OTHER]
