"""A small real classifier of handwritten digits."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Split:
    """Images of shape (n, 8, 8) in [0, 1] and their digits."""

    images: Floats
    digits: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Classifier:
    """A trained network with one hidden layer of 32 units.

    Parameters
    ----------
    weights, biases : lists of two arrays
        From the input to the hidden layer, and from there to the ten classes.
    """

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
    try:
        for name in ("datasets", "neural_network"):
            import_module(f"sklearn.{name}")
    except ImportError:
        raise ValueError('the demo needs scikit-learn; install it with: pip install "tcuq[demo]"') from None
    return import_module("sklearn")


def load(seed: int) -> tuple[Split, Split, Split]:
    """Return the 1,797 digits as train, development and test images: 1,000, 400 and 397."""
    bunch = _sklearn().datasets.load_digits()
    images = np.asarray(bunch.images, dtype=np.float64) / 16
    digits = np.asarray(bunch.target, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(images))
    parts = order[:1000], order[1000:1400], order[1400:]
    train_part, dev_part, test_part = (Split(images[part], digits[part]) for part in parts)
    return train_part, dev_part, test_part


def jitter(images: Floats, rng: np.random.Generator) -> Floats:
    """Return images in varying light with faint noise, as a camera would see them."""
    light = rng.uniform(0.8, 1.1, (len(images), 1, 1))
    return np.clip(images * light + rng.normal(0, 0.05, images.shape), 0, 1)


def train(data: Split, seed: int) -> Classifier:
    """Train on four jittered copies of each image."""
    rng = np.random.default_rng(seed)
    images = np.concatenate([jitter(data.images, rng) for _ in range(4)])
    digits = np.tile(data.digits, 4)
    network = _sklearn().neural_network.MLPClassifier((32,), alpha=1e-3, max_iter=60, random_state=seed)
    with warnings.catch_warnings():
        # Sixty epochs are enough for the demo; that they do not converge to 1e-4 is no news.
        warnings.simplefilter("ignore")
        network.fit(images.reshape(len(images), -1), digits)
    return Classifier(list(network.coefs_), list(network.intercepts_))
