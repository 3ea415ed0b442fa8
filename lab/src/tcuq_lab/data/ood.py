"""OOD sets: examples that are none of the classes of a task, and that no network is ever trained on.

What is seen in development differs from what is seen in the test, see `_TABLE`. Fashion-MNIST serves as a
test set for MNIST and in development for CIFAR-10: two tasks with networks of their own, so nothing is
learned for one from the test of the other. The packed form of SVHN has few digits (486 in its test split): a
rate on them is as sure as that many examples make it, however long the stream; see `distinct_interval`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, known, number
from tcuq.metrics import wilson

from ..home import library
from .dataset import Dataset, load
from .parts import HELD_OUT, load_part, pairs, split_of, words
from .text import OTHERS, load_other

Labels = npt.NDArray[np.int64]

OTHER_WORDS = (
    "bed", "bird", "cat", "dog", "eight", "five", "four", "happy", "house", "marvin",
    "nine", "one", "seven", "sheila", "six", "three", "tree", "two", "wow", "zero",
)  # fmt: skip
"""Words of Speech Commands v0.01 that are no keywords: the first ten for dev, the others for the test.

The five that v0.02 adds (backward, follow, forward, learn, visual) are in neither.
"""


def ood_name(task: str, part: str) -> str:
    """Return the name of the OOD set of a task."""
    return _find(task, part)[0]


def has_ood(task: str) -> bool:
    """Return whether a task has OOD sets."""
    return task in _TABLE


def load_ood(task: str, part: str) -> Dataset:
    """Return the OOD set of a task, with examples like those of the task."""
    return _find(task, part)[1]()


def ood_labels(task: str, part: str) -> Labels:
    """Return the labels of `load_ood`, without decoding words."""
    name, whole = _find(task, part)
    return _other(part, name)[0] if task == "speech_commands" else whole().y


def noise_of(part: str) -> npt.NDArray[np.int16]:
    """Return the seconds of the noise recordings that a part of speech_commands may use."""
    split_of("speech_commands", part)  # knows which parts there are
    noise = load("speech_noise", "all")
    return np.asarray(noise.x[noise.y // 3 == int(part == "test")])


def distinct_interval(rate: float, distinct: int) -> tuple[float, float]:
    """Return the Wilson interval of a rate that repeated examples gave, as if each had counted once.

    Examples
    --------
    >>> [round(x, 3) for x in distinct_interval(0.5, 486)]
    [0.456, 0.544]
    """
    count = integer("distinct", distinct, 1, 2**53)
    return wilson(round(number("rate", rate, 0, 1) * count), count)


def _find(task: str, part: str) -> _Set:
    sets = _TABLE[known("task with OOD sets", task, _TABLE)]
    return sets[known(f"OOD part of {task}", part, sets)]


def _resized(data: Dataset, name: str, side: int, gray: bool) -> Dataset:
    """Return pictures in another size, gray or with three channels."""
    image = library("PIL.Image", "to resize pictures")
    mode = "L" if gray else "RGB"
    x = np.empty((len(data.x), side, side) if gray else (len(data.x), side, side, 3), dtype=np.uint8)
    for row, pixels in enumerate(data.x):
        picture = image.fromarray(pixels).convert(mode)
        x[row] = picture.resize((side, side), image.Resampling.BICUBIC)
    how = f"{'gray' if gray else 'three channels'}, resized to {side} x {side} (bicubic)"
    return Dataset(name, data.split, x, data.y, data.license, f"{data.source}; {how}")


def _gray_cifar10() -> Dataset:
    return _resized(load_part("cifar10", "dev"), "cifar10", 28, True)


def _held_out() -> Dataset:
    whole = load("tinyimagenet20", "val")
    rows = np.isin(whole.y, HELD_OUT)
    y = np.searchsorted(HELD_OUT, whole.y[rows]).astype(np.int64)
    about = f"{whole.source}; val of the classes {', '.join(map(str, HELD_OUT))}"
    return Dataset("held_out", "val", whole.x[rows], y, whole.license, about)


def _other(part: str, name: str) -> tuple[Labels, Callable[[], Dataset]]:
    """Return ten of the other words and three of the noise recordings: labels, and who joins the sound.

    A fixed list, so that a folder that lacks a word cannot move the words of the test into dev.
    """
    split, half = split_of("speech_commands", part), int(part == "test")
    every, noise = words(split), load("speech_noise", "all")
    taken = OTHER_WORDS[10 * half : 10 * half + 10]
    lacking = sorted(set(taken) - set(every.tolist()))
    if lacking:
        raise ValueError(
            f"speech_commands {split} has no clip of {lacking[0]}; all of {', '.join(taken)} are needed"
        )
    said = np.flatnonzero(np.isin(every, taken))
    heard = np.flatnonzero(noise.y // 3 == half)
    y = np.concatenate([np.searchsorted(taken, every[said]), len(taken) + noise.y[heard] % 3]).astype(
        np.int64
    )
    about = f"{', '.join(taken)}; noise recordings {3 * half + 1} to {3 * half + 3}"

    def whole() -> Dataset:
        speech = load("speech_commands", split)
        x = np.concatenate([speech.x[said], noise.x[heard]])
        return Dataset(name, split, x, y, speech.license, f"{speech.source}, {split}: {about}")

    return y, whole


_Set = tuple[str, Callable[[], Dataset]]
_FASHION: _Set = ("fashion_mnist", lambda: load("fashion_mnist", "test"))
_OF_CIFAR10: dict[str, _Set] = {
    "dev": ("fashion_mnist", lambda: _resized(load("fashion_mnist", "test"), "fashion_mnist", 32, False)),
    "test": ("svhn", lambda: load("svhn", "test")),
}
_TABLE: dict[str, dict[str, _Set]] = {
    "mnist": {"dev": ("cifar10", _gray_cifar10), "test": _FASHION},
    "cifar10": _OF_CIFAR10,
    "speech_commands": {
        "dev": ("other_a", lambda: _other("dev", "other_a")[1]()),
        "test": ("other_b", lambda: _other("test", "other_b")[1]()),
    },
    "cifar10_animals": _OF_CIFAR10,
    "signs": _OF_CIFAR10,
    "mnist_pairs": {
        "dev": ("cifar10", lambda: pairs(_gray_cifar10())),
        "test": ("fashion_mnist", lambda: pairs(_FASHION[1]())),
    },
    "tinyimagenet": {
        "dev": ("fashion_mnist", lambda: _resized(load("fashion_mnist", "test"), "fashion_mnist", 64, False)),
        "test": ("svhn", lambda: _resized(load("svhn", "test"), "svhn", 64, False)),
    },
    "tinyimagenet20": {
        "dev": ("svhn", lambda: _resized(load("svhn", "train"), "svhn", 64, False)),
        "test": ("held_out", _held_out),
    },
    "text": {name: (module, partial(load_other, module)) for name, module in OTHERS.items()},
}
"""Name of the OOD set of each task and part, and who loads it."""
