"""OOD sets: examples that are none of the classes of a task, and that no network is ever trained on.

What is seen in development differs from what is seen in the test:

| task            | dev                                                   | test                          |
| --------------- | ----------------------------------------------------- | ----------------------------- |
| mnist           | CIFAR-10, dev part, gray, 28 x 28                     | Fashion-MNIST, test           |
| cifar10         | Fashion-MNIST, test, 32 x 32, three equal channels    | SVHN, test                    |
| speech_commands | ten `OTHER_WORDS` of validation, noise recordings 1-3 | the other ten of test, 4-6    |
| tinyimagenet20  | SVHN, train, 64 x 64                                  | val of the 4 held-out classes |
| text            | chunks of module pydoc                                | chunks of module subprocess   |

Fashion-MNIST serves as a test set for MNIST and in development for CIFAR-10: two tasks with networks of
their own, so nothing is learned for one from the test of the other. The packed form of SVHN has few digits
(486 in its test split), so that streams show them again and again: a rate on them is as sure as that many
distinct examples make it, however long the stream; see `distinct_interval`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, known, number
from tcuq.metrics import wilson

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


class _Set(NamedTuple):
    name: str
    load: Callable[[], Dataset]


def ood_name(task: str, part: str) -> str:
    """Return the name of the OOD set of a task."""
    return _find(task, part).name


def has_ood(task: str) -> bool:
    """Return whether a task has OOD sets.

    Examples
    --------
    >>> has_ood("signs"), has_ood("motion")
    (True, False)
    """
    return task in _TABLE


def load_ood(task: str, part: str) -> Dataset:
    """Return the OOD set of a task, with examples like those of the task."""
    return _find(task, part).load()


def ood_labels(task: str, part: str) -> Labels:
    """Return the labels of `load_ood`, without decoding words."""
    found = _find(task, part)
    return _other(part).y if task == "speech_commands" else found.load().y


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
    try:
        image: Any = import_module("PIL.Image")
    except ImportError:
        raise ImportError("Pillow is needed to resize pictures: pip install pillow") from None
    mode = "L" if gray else "RGB"
    x = np.empty((len(data.x), side, side) if gray else (len(data.x), side, side, 3), dtype=np.uint8)
    for row, pixels in enumerate(data.x):
        picture = image.fromarray(pixels).convert(mode)
        x[row] = picture.resize((side, side), image.Resampling.BICUBIC)
    how = f"{'gray' if gray else 'three channels'}, resized to {side} x {side} (bicubic)"
    return Dataset(name, data.split, x, data.y, data.license, f"{data.source}; {how}")


def _gray_cifar10() -> Dataset:
    return _resized(load_part("cifar10", "dev"), "cifar10", 28, True)


def _wide_fashion() -> Dataset:
    return _resized(load("fashion_mnist", "test"), "fashion_mnist", 32, False)


def _large_svhn() -> Dataset:
    return _resized(load("svhn", "train"), "svhn", 64, False)


def _fashion() -> Dataset:
    return load("fashion_mnist", "test")


def _svhn() -> Dataset:
    return load("svhn", "test")


def _held_out() -> Dataset:
    whole = load("tinyimagenet20", "val")
    rows = np.isin(whole.y, HELD_OUT)
    y = np.searchsorted(HELD_OUT, whole.y[rows]).astype(np.int64)
    about = f"{whole.source}; val of the classes {', '.join(map(str, HELD_OUT))}"
    return Dataset("held_out", "val", whole.x[rows], y, whole.license, about)


class _Other(NamedTuple):
    """Which clips are taken: rows of a split of speech, rows of the noise, and the labels of both."""

    split: str
    said: Labels
    noise: Dataset
    heard: Labels
    y: Labels
    about: str


def _other(part: str) -> _Other:
    """Return ten of the other words and three of the noise recordings: for dev the first ones by name.

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
    y = np.concatenate([np.searchsorted(taken, every[said]), len(taken) + noise.y[heard] % 3])
    about = f"{', '.join(taken)}; noise recordings {3 * half + 1} to {3 * half + 3}"
    return _Other(split, said, noise, heard, y.astype(np.int64), about)


def _other_speech(part: str, name: str) -> Dataset:
    other = _other(part)
    speech = load("speech_commands", other.split)
    x = np.concatenate([speech.x[other.said], other.noise.x[other.heard]])
    source = f"{speech.source}, {other.split}: {other.about}"
    return Dataset(name, other.split, x, other.y, speech.license, source)


_TABLE = {
    "mnist": {"dev": _Set("cifar10", _gray_cifar10), "test": _Set("fashion_mnist", _fashion)},
    "cifar10": {"dev": _Set("fashion_mnist", _wide_fashion), "test": _Set("svhn", _svhn)},
    "speech_commands": {
        "dev": _Set("other_a", partial(_other_speech, "dev", "other_a")),
        "test": _Set("other_b", partial(_other_speech, "test", "other_b")),
    },
    "cifar10_animals": {"dev": _Set("fashion_mnist", _wide_fashion), "test": _Set("svhn", _svhn)},
    "signs": {"dev": _Set("fashion_mnist", _wide_fashion), "test": _Set("svhn", _svhn)},
    "mnist_pairs": {
        "dev": _Set("cifar10", lambda: pairs(_gray_cifar10())),
        "test": _Set("fashion_mnist", lambda: pairs(_fashion())),
    },
    "tinyimagenet20": {"dev": _Set("svhn", _large_svhn), "test": _Set("held_out", _held_out)},
    "text": {name: _Set(module, partial(load_other, module)) for name, module in OTHERS.items()},
}
