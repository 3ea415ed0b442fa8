"""A small classifier of pictures of clothes, faults of its camera, and the stream it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..log.gauges import gauge_names, input_gauges
from ..log.log import Log

Floats = npt.NDArray[Any]

NAMES = (
    *("T-shirt", "trousers", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
)
SIDE, HIDDEN = 28, 32
EPOCHS, COPIES, BATCH, RATE = 12, 2, 64, 2e-3  # of the training; a copy is a jittered one of each picture
FITTED, SHOWN = 800, 800  # pictures to fit the monitor, and of the day; the others train the classifier


class Split(NamedTuple):
    """Pictures of shape (n, 28, 28) in [0, 1] and their classes."""

    pictures: Floats
    labels: npt.NDArray[np.int64]


class Classifier(NamedTuple):
    """A trained network with one hidden layer of 32 units."""

    weights: list[Floats]
    biases: list[Floats]

    def __call__(self, pictures: Floats) -> tuple[Floats, Floats]:
        """Return posteriors (n, 10) and the hidden layer (n, 32)."""
        flat = pictures.reshape(len(pictures), -1)
        hidden = np.maximum(0, flat @ self.weights[0] + self.biases[0])
        logits = hidden @ self.weights[1] + self.biases[1]
        exps = np.exp(logits - logits.max(axis=1, keepdims=True))
        return exps / exps.sum(axis=1, keepdims=True), hidden


def load(seed: int) -> tuple[Split, Split, Split]:
    """Return 4,000 pictures of Fashion-MNIST's train part, to train, to fit the monitor and for the day."""
    with np.load(Path(__file__).with_name("clothes.npz")) as file:
        packed, labels = file["pictures"], file["labels"].astype(np.int64)
    pictures = np.stack([packed >> 4, packed & 15], axis=2).reshape(-1, SIDE, SIDE).astype(np.float32) / 15
    order = np.random.default_rng(seed).permutation(len(labels))
    cuts = np.split(order, [len(labels) - FITTED - SHOWN, len(labels) - SHOWN])
    first, second, third = (Split(pictures[part], labels[part]) for part in cuts)
    return first, second, third


def jitter(pictures: Floats, rng: np.random.Generator) -> Floats:
    """Return pictures in varying light with faint noise, moved by up to a pixel, as a camera sees them."""
    light = rng.uniform(0.8, 1.1, (len(pictures), 1, 1)).astype(np.float32)
    noisy = pictures * light + rng.normal(0, 0.05, pictures.shape).astype(np.float32)
    moves = rng.integers(-1, 2, (len(pictures), 2))
    for down, right in ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)):
        here = (moves == (down, right)).all(axis=1)
        noisy[here] = np.roll(noisy[here], (down, right), axis=(1, 2))
    return np.asarray(np.clip(noisy, 0, 1))


def train(data: Split, seed: int) -> Classifier:
    """Train on two jittered copies of each picture, with Adam."""
    rng = np.random.default_rng(seed)
    pictures = np.concatenate([jitter(data.pictures, rng) for _ in range(COPIES)]).reshape(-1, SIDE * SIDE)
    labels, widths = np.tile(data.labels, COPIES), (SIDE * SIDE, HIDDEN, len(NAMES))
    parts = [rng.normal(0, np.sqrt(2 / a), (a, b)).astype(np.float32) for a, b in pairwise(widths)]
    parts += [np.zeros(width, np.float32) for width in widths[1:]]
    network, mean, square = Classifier(parts[:2], parts[2:]), [0 * p for p in parts], [0 * p for p in parts]
    rounds = EPOCHS * (len(labels) // BATCH)
    for number in range(1, rounds + 1):
        rows = rng.integers(0, len(labels), BATCH)
        probs, hidden = network(pictures[rows])
        off = (probs - np.eye(len(NAMES), dtype=np.float32)[labels[rows]]) / BATCH
        back = (off @ parts[1].T) * (hidden > 0)
        slopes = [pictures[rows].T @ back, hidden.T @ off, back.sum(0), off.sum(0)]
        rate = RATE * (1 - number / rounds) * np.sqrt(1 - 0.999**number) / (1 - 0.9**number)
        for part, slope, m, v in zip(parts, slopes, mean, square, strict=True):
            m += 0.1 * (slope - m)
            v += 0.001 * (slope * slope - v)
            part -= rate * m / (np.sqrt(v) + 1e-8)
    return network


Corruption = Callable[[Floats, np.random.Generator], Floats]

Layout = Callable[[int, int, np.random.Generator], npt.NDArray[np.uint8]]

DWELL = 16
FAULT = 400  # steps of a corruption


def noise(pictures: Floats, rng: np.random.Generator) -> Floats:
    """Strong sensor noise."""
    return pictures + rng.normal(0, 0.45, pictures.shape)


def fade(pictures: Floats, rng: np.random.Generator) -> Floats:
    """Little contrast over a gray ground."""
    return 0.45 + 0.25 * pictures + rng.normal(0, 0.05, pictures.shape)


def stripes(pictures: Floats, rng: np.random.Generator) -> Floats:
    """Bright interference on every other row."""
    out = pictures.copy()
    out[:, ::2] += 0.7
    return out


def mirror(pictures: Floats, rng: np.random.Generator) -> Floats:
    """Show the world through a mirror."""
    return pictures[:, :, ::-1]


def fogged_lens(pictures: Floats, rng: np.random.Generator) -> Floats:
    """Fog: a Gaussian blur of 2.2 pixels."""
    apart = np.arange(SIDE)[:, None] - np.arange(SIDE)
    kernel = np.exp(-0.5 * np.square(apart / 2.2))
    kernel /= kernel.sum(axis=1, keepdims=True)
    return np.asarray(kernel @ pictures @ kernel.T)


def camera_knocked(pictures: Floats, rng: np.random.Generator) -> Floats:
    """Turn by 40 degrees about the center."""
    down, right = np.indices((SIDE, SIDE)) - (SIDE - 1) / 2
    cos, sin = np.cos(np.radians(40)), np.sin(np.radians(40))
    turned = np.stack([cos * down + sin * right, cos * right - sin * down])
    places = np.rint(turned + (SIDE - 1) / 2)
    inside = ((places >= 0) & (places < SIDE)).all(axis=0)
    row, column = np.clip(places, 0, SIDE - 1).astype(int)
    return pictures[:, row, column] * inside


def dirt(pictures: Floats, rng: np.random.Generator) -> Floats:
    """Dirt on the lens: the lower twelve rows are dark."""
    out = pictures.copy()
    out[:, -12:] = 0
    return out


def rain(pictures: Floats, rng: np.random.Generator) -> Floats:
    """Ten white streaks of ten pixels, each time others."""
    out = pictures.copy()
    for picture in out:
        for top, side in rng.integers(0, (SIDE - 9, SIDE), (10, 2)).tolist():
            picture[top : top + 10, side] = 1
    return out


def dead_pixels(pictures: Floats, rng: np.random.Generator) -> Floats:
    """Stick a quarter of the pixels at black or white."""
    stuck = rng.random(pictures.shape) < 0.25
    return np.where(stuck, rng.integers(0, 2, pictures.shape), pictures)


def brighter_lamp(pictures: Floats, rng: np.random.Generator) -> Floats:
    """Add 15 % of light, which costs the classifier next to nothing."""
    return 1.15 * pictures


DEV_CORRUPTIONS: tuple[Corruption, ...] = (noise, fade, stripes, mirror)
TEST_CORRUPTIONS: tuple[Corruption, ...] = (
    fogged_lens,
    camera_knocked,
    dirt,
    rain,
    dead_pixels,
    brighter_lamp,
)
"""What the fit has not seen: five faults, and a change that does no harm."""


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
    """Return the same for a day: clean but for one stretch of each kind, 400 steps long."""
    shifted = np.zeros(steps, dtype=np.uint8)
    part = steps // kinds
    for kind in range(kinds):
        start = kind * part + int(rng.integers(part // 4, part - FAULT - part // 8))
        shifted[start : start + FAULT] = 1 + kind
    return shifted


class Seen(NamedTuple):
    """What the classifier watched: its log, and the pictures as the camera gave them."""

    log: Log
    pictures: npt.NDArray[np.uint8]


def make_stream(
    classifier: Classifier,
    data: Split,
    corruptions: Sequence[Corruption],
    steps: int,
    seed: int,
    layout: Layout = alternating,
) -> Seen:
    """Let the classifier watch a stream; the layout says when which corruption is on."""
    # Clothes come in batches of one class, 16 on average, and of ten batches each has another class: else a
    # stretch might look hard by what it shows. Each step shows another jittered picture.
    rng = np.random.default_rng(seed)
    by_class = [np.flatnonzero(data.labels == label) for label in range(len(NAMES))]
    changes = rng.random(steps) < 1 / DWELL
    changes[0] = True
    batches = [rng.permutation(len(NAMES)) for _ in range(int(changes.sum()) // len(NAMES) + 1)]
    labels = np.concatenate(batches)[np.cumsum(changes) - 1]
    pictures = jitter(data.pictures[[rng.choice(by_class[label]) for label in labels]], rng)
    shifted = layout(steps, len(corruptions), rng)
    edges = [0, *(np.flatnonzero(np.diff(shifted)) + 1).tolist(), steps]
    for start, stop in pairwise(edges):
        if shifted[start]:
            pictures[start:stop] = corruptions[shifted[start] - 1](pictures[start:stop], rng)
    seen = np.rint(255 * np.clip(pictures, 0, 1)).astype(np.uint8)
    probs, hidden = classifier(seen.astype(np.float32) / 255)
    names = tuple(each.__name__.replace("_", " ") for each in corruptions)
    log = Log(probs, hidden, labels, shifted=shifted, shift_names=names)
    gauges, known = input_gauges(seen[..., None]), gauge_names((SIDE, SIDE, 1), "picture")
    return Seen(replace(log, gauges=gauges, gauge_names=known), seen)


def make_log(
    classifier: Classifier,
    data: Split,
    corruptions: Sequence[Corruption],
    steps: int,
    seed: int,
    layout: Layout = alternating,
) -> Log:
    """Return the log of such a stream alone."""
    return make_stream(classifier, data, corruptions, steps, seed, layout).log
