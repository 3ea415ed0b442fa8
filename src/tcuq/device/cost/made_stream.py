"""A made-up stream of posteriors and features with dwell, the same with every version of numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

DWELL = 8


def made_stream(classes: int, features: int, steps: int, seed: int = 0) -> npt.NDArray[np.int8]:
    """Return rows of a posterior and its features, as a network leaves them.

    Parameters
    ----------
    classes, features, steps : int
    seed : int

    Returns
    -------
    int8 array (steps, classes + features)

    Examples
    --------
    >>> rows = made_stream(10, 32, 100)
    >>> rows.shape, bool(((rows[:, :10].astype(int) + 128).sum(axis=1) == 256).all())
    ((100, 42), True)
    """
    bits = np.random.PCG64(seed)

    def draw(below: int, *shape: int) -> npt.NDArray[np.int64]:
        # Raw integers: distributions may change from one version to the next.
        raw = bits.random_raw(int(np.prod(shape)))
        return np.asarray(raw >> np.uint64(33), np.int64).reshape(shape) % below

    labels = np.repeat(draw(classes, steps // DWELL + 1), DWELL)[:steps]
    top = 90 + draw(150, steps)
    share = 1 + draw(1000, steps, classes)
    share[np.arange(steps), labels] = 0
    u = (256 - top)[:, None] * share // share.sum(axis=1, keepdims=True)
    # What rounding loses goes to the label.
    u[np.arange(steps), labels] = np.minimum(255, 256 - u.sum(axis=1))
    centers = draw(120, classes, features) if features else np.zeros((classes, 0), np.int64)
    noise = draw(60, steps, features) if features else np.zeros((steps, 0), np.int64)
    return np.concatenate([u - 128, centers[labels] + noise - 128], axis=1).astype(np.int8)
