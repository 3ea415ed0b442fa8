"""Watch any scikit-learn classifier that has `predict_proba`, on real images of digits.

    pip install '..[demo]'
    python sklearn_digits.py

Takes a few seconds. The monitor is fitted on noisy images and then watches images under a fading light,
which it has never seen. Images of one digit come in runs, as in front of a camera: time helps only where
neighboring steps belong together, and `fit` tells you whether they do. Only `stream` knows about images; for
your data, replace it with what your classifier says to a recorded stream.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import tcuq

Floats = npt.NDArray[np.float64]
rng = np.random.default_rng(0)
x, y = load_digits(return_X_y=True)
train, dev, test = np.split(rng.permutation(len(x)), [600, 1200])  # three disjoint parts
model = LogisticRegression(max_iter=500).fit(x[train], y[train])


def noise(images: Floats) -> Floats:
    """Return images from a bad sensor."""
    return images + rng.normal(0, 5, images.shape)


def dusk(images: Floats) -> Floats:
    """Return images under a light that fades from left to right."""
    return (images.reshape(-1, 8, 8) * np.linspace(1, 0.1, 8)).reshape(images.shape)


def stream(part: npt.NDArray[np.int64], degrade: Callable[[Floats], Floats], steps: int = 4000) -> tcuq.Log:
    """Return a log: runs of about 10 images of a digit, every other 400 steps degraded."""
    digits = np.repeat(rng.integers(0, 10, steps), rng.geometric(0.1, steps))[:steps]
    chosen = np.array([rng.choice(part[y[part] == digit]) for digit in digits])
    shifted = np.arange(steps) // 400 % 2 == 1
    images = np.where(shifted[:, None], degrade(x[chosen]), x[chosen])
    return tcuq.Log(model.predict_proba(images), labels=digits, shifted=shifted)


params = tcuq.fit(stream(dev, noise), about="prediction", budget=0.1, run_length=1000)
print(params)

log = stream(test, dusk)
monitor = tcuq.Monitor(params)
steps = monitor.run(log.probs)  # or monitor.step(probs) after each inference
right = ~log.errors()
for name, chosen in {
    "all steps": np.ones(len(log), bool),
    "accepted": ~steps["abstain"],
    "accepted, no alarm": ~steps["abstain"] & (steps["alarm"] == 0),
}.items():
    print(f"{name:<19} {chosen.mean():>6.1%} of the stream, classifier right on {right[chosen].mean():.1%}")
for name, chosen in {"clean": log.kinds == 0, "degraded": log.kinds != 0}.items():
    print(f"alarm on for {(steps['alarm'][chosen] > 0).mean():.1%} of the {name} steps")
