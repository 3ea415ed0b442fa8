# SPDX-License-Identifier: MIT
"""A small real classifier of handwritten digits, corruptions of its input, and the stream it is shown."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq import Log
from tcuq.base.errors import needed

Floats = npt.NDArray[np.float64]


class Split(NamedTuple):
    """Images of shape (n, 8, 8) in [0, 1] and their digits."""

    images: Floats
    digits: npt.NDArray[np.int64]


class Classifier(NamedTuple):
    """A trained network with one hidden layer of 32 units."""

    weights: list[Floats]
    biases: list[Floats]

    def __call__(self, images: Floats) -> tuple[Floats, Floats]:
        """Return posteriors (n, 10) and the hidden layer (n, 32)."""
        flat = images.reshape(len(images), -1)
        hidden = np.maximum(0, flat @ self.weights[0] + self.biases[0])
        logits = hidden @ self.weights[1] + self.biases[1]
        exps = np.exp(logits - logits.max(axis=1, keepdims=True))
        return exps / exps.sum(axis=1, keepdims=True), hidden


def _sklearn() -> Any:
    for name in ("datasets", "neural_network"):
        needed(f"sklearn.{name}", "scikit-learn", "digits")
    return import_module("sklearn")


def load(seed: int) -> tuple[Split, Split, Split]:
    """Return the 1,797 digits as train, development and test images: 1,000, 400 and 397."""
    bunch = _sklearn().datasets.load_digits()
    images = np.asarray(bunch.images, dtype=np.float64) / 16
    digits = np.asarray(bunch.target, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(images))
    first, second, third = (Split(images[part], digits[part]) for part in np.split(order, [1000, 1400]))
    return first, second, third


def jitter(images: Floats, rng: np.random.Generator) -> Floats:
    """Return images in varying light with faint noise, as a camera would see them."""
    light = rng.uniform(0.8, 1.1, (len(images), 1, 1))
    return np.clip(images * light + rng.normal(0, 0.05, images.shape), 0, 1)


def shake(images: Floats, rng: np.random.Generator) -> Floats:
    """Return images moved by up to a third of a pixel up or down and to a side, each on its own."""
    for axis in (1, 2):
        share = rng.uniform(-1 / 3, 1 / 3, (len(images), 1, 1))
        moved = np.where(share > 0, np.roll(images, 1, axis), np.roll(images, -1, axis))
        images = (1 - np.abs(share)) * images + np.abs(share) * moved
    return images


def train(data: Split, seed: int) -> Classifier:
    """Train on four jittered copies of each image."""
    rng = np.random.default_rng(seed)
    images = np.concatenate([jitter(data.images, rng) for _ in range(4)])
    digits = np.tile(data.digits, 4)
    network = _sklearn().neural_network.MLPClassifier((32,), alpha=1e-3, max_iter=60, random_state=seed)
    with warnings.catch_warnings():
        # Sixty epochs are enough here; that they do not converge to 1e-4 is no news.
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "Training interrupted")  # scikit-learn goes on after Ctrl-C
        try:
            network.fit(images.reshape(len(images), -1), digits)
        except UserWarning:
            raise KeyboardInterrupt from None
    return Classifier(list(network.coefs_), list(network.intercepts_))


Corruption = Callable[[Floats, np.random.Generator], Floats]

Layout = Callable[[int, int, np.random.Generator], npt.NDArray[np.uint8]]

DWELL = 8
FAULT = 400  # steps of a corruption
HELD = 0.25  # last share of a stream, in which one image is held for as long as its digit stays


def noise(images: Floats, rng: np.random.Generator) -> Floats:
    """Strong sensor noise."""
    return np.clip(images + rng.normal(0, 0.45, images.shape), 0, 1)


def fade(images: Floats, rng: np.random.Generator) -> Floats:
    """Little contrast over a gray ground."""
    return 0.45 + 0.25 * images + rng.normal(0, 0.05, images.shape)


def stripes(images: Floats, rng: np.random.Generator) -> Floats:
    """Bright interference on every other row."""
    out = images.copy()
    out[:, int(rng.integers(2)) :: 2] = np.clip(out[:, int(rng.integers(2)) :: 2] + 0.7, 0, 1)
    return out


def mirror(images: Floats, rng: np.random.Generator) -> Floats:
    """Show the world through a mirror."""
    return images[:, :, ::-1].copy()


def blur(images: Floats, rng: np.random.Generator) -> Floats:
    """Unfocused lens: three passes of a 3 x 3 mean."""
    out = images
    for _ in range(3):
        padded = np.pad(out, ((0, 0), (1, 1), (1, 1)), mode="edge")
        out = np.mean([padded[:, r : r + 8, c : c + 8] for r in range(3) for c in range(3)], axis=0)
    return np.asarray(out)


def dusk(images: Floats, rng: np.random.Generator) -> Floats:
    """Less than half of the light."""
    return np.clip(0.45 * images + rng.normal(0, 0.05, images.shape), 0, 1)


def dirt(images: Floats, rng: np.random.Generator) -> Floats:
    """Dirt on the lens: the lower three rows are dark."""
    out = images.copy()
    out[:, 5:] = 0
    return out


def block(images: Floats, rng: np.random.Generator) -> Floats:
    """Something passes before the lens: half of the rows are dark, each time others."""
    out = images.copy()
    rows = rng.integers(0, 5, len(images))
    for image, row in zip(out, rows, strict=True):
        image[row : row + 4] = 0
    return out


def dead_pixels(images: Floats, rng: np.random.Generator) -> Floats:
    """Stick a quarter of the pixels at black or white."""
    stuck = rng.random(images.shape) < 0.25
    return np.where(stuck, rng.integers(0, 2, images.shape), images)


DEV_CORRUPTIONS: tuple[Corruption, ...] = (noise, fade, stripes, mirror)
TEST_CORRUPTIONS: tuple[Corruption, ...] = (dusk, blur, dead_pixels, dirt, block)  # unseen in development


def alternating(steps: int, kinds: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Return the number of the corruption of each step: clean and corrupted stretches of mean length 400."""
    shifted = np.zeros(steps, dtype=np.uint8)
    at, bad = 0, bool(rng.integers(2))
    while at < steps:
        stop = min(steps, at + FAULT // 2 + int(rng.geometric(2 / FAULT)))
        if bad:
            shifted[at:stop] = 1 + int(rng.integers(kinds))
        at, bad = stop, not bad
    return shifted


def day(steps: int, kinds: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Return the same for a day: clean but for one fault of each kind, 400 steps long."""
    shifted = np.zeros(steps, dtype=np.uint8)
    part = steps // kinds
    for kind in range(kinds):
        start = kind * part + int(rng.integers(part // 4, part - FAULT - part // 8))
        shifted[start : start + FAULT] = 1 + kind
    return shifted


def make_log(
    classifier: Classifier,
    data: Split,
    corruptions: Sequence[Corruption],
    steps: int,
    seed: int,
    layout: Layout = alternating,
) -> Log:
    """Let the classifier watch a stream; the layout says when which corruption is on."""
    # A digit stays for a geometric number of steps with mean 8, each step showing another jittered image of
    # it; in the last quarter one image of it, shaken and jittered.
    rng = np.random.default_rng(seed)
    by_digit = [np.flatnonzero(data.digits == digit) for digit in range(10)]
    changes = rng.random(steps) < 1 / DWELL
    changes[0] = True
    drawn = rng.integers(0, 10, int(changes.sum()))
    digits = drawn[np.cumsum(changes) - 1]
    index = np.array([rng.choice(by_digit[digit]) for digit in digits])
    held = np.arange(steps) >= round((1 - HELD) * steps)
    runs = np.maximum.accumulate(np.where(changes, np.arange(steps), 0))
    index[held] = index[runs[held]]
    images = jitter(data.images[index], rng)
    images[held] = shake(images[held], rng)
    shifted = layout(steps, len(corruptions), rng)
    edges = [0, *(np.flatnonzero(np.diff(shifted)) + 1).tolist(), steps]
    for start, stop in pairwise(edges):
        if shifted[start]:
            images[start:stop] = corruptions[shifted[start] - 1](images[start:stop], rng)
    probs, hidden = classifier(images)
    names = tuple(each.__name__.replace("_", " ") for each in corruptions)
    rows = probs.astype(np.float32), hidden.astype(np.float32)
    return Log(*rows, digits, shifted=shifted, shift_names=names)
