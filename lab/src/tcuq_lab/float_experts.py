"""Learned persistence in float64: the experts, their weights, and the class to act on.

The constants are those of the core: where there are many classes, their rounding is part of the definition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SHIFTS = (0, 1, 2, 4, 6, 6)
"""Experts by how seldom the class changes: with probability 2^-shift. The last takes steps as independent."""

SIXTHS = np.array([0, 1, 2, 4, 6, 0]) / 6
"""What each expert adds to the persistence."""

CLASS_MIX = 5
KEPT = 251 / 256
"""How much of a deficit is left after a step."""

COPIES = np.array([5.0, 5, 5, 5, 5, 0])
"""Bits by which the others stand behind the class mix, which counts 32 times."""

LEAST_WEIGHT = 1 / 16384
MOST_DEFICIT = 65535 / 2048


class Experts(NamedTuple):
    """What the experts make of a stream.

    Parameters
    ----------
    belief : array of shape (T, L)
        Their mixture after each step.
    answer : array of T integers
    persistence : array of T numbers
    """

    belief: Floats
    answer: npt.NDArray[np.int64]
    persistence: Floats


def likelihoods(p: Floats) -> Floats:
    """Return what posteriors say of each class, about 1 % of it spread over all."""
    return np.asarray(p + max(1, 164 // p.shape[1]) / (64 * 256))


def predicted(belief: Floats, shift: int) -> Floats:
    """Return the belief before a step: the class was drawn anew with probability 2^-shift."""
    fresh = (65536 >> shift) // len(belief) / 65536
    return np.asarray(belief * (1 - 2.0**-shift) + fresh)


def corrected(p: Floats, class_mix: Floats) -> Floats:
    """Return likelihoods divided by how much more often than in development they have been saying a class."""
    weights = likelihoods(p)
    seen = class_mix.copy()
    out = np.empty_like(p)
    for t in range(len(p)):
        low = np.maximum.reduce([seen, class_mix / 2, np.full(len(seen), 1 / 65536)])
        out[t] = np.maximum(1 / 16384, weights[t] * np.sqrt(np.minimum(2, class_mix / low)) / 2)
        seen += (p[t] - seen) / 256
    return out


def weights_of(deficits: Floats) -> Floats:
    """Return the weights of the experts, which sum to 1, from their deficits in bits after forgetting."""
    behind = deficits + COPIES
    behind = behind - behind.min()
    weights = np.where(behind < 15, 2.0**-behind, 0.0) + LEAST_WEIGHT
    return np.asarray(weights / weights.sum())


def experts(p: Floats, class_mix: Floats | None = None) -> Experts:
    """Run all experts over one uninterrupted stream.

    Parameters
    ----------
    p : array of shape (T, L)
        Posteriors.
    class_mix : array of L numbers, optional
        Turns the correction by class mix on.

    Examples
    --------
    >>> held = experts(np.tile([[0.9, 0.1]], (60, 1)))
    >>> mixed = experts(np.array([[0.9, 0.1], [0.1, 0.9]])[np.random.default_rng(0).integers(0, 2, 60)])
    >>> bool(held.persistence[-1] > 0.5 > mixed.persistence[-1])
    True
    """
    steps, classes = p.shape
    q = likelihoods(p) if class_mix is None else corrected(p, class_mix)
    even = np.full(classes, 65536 // classes / 65536)
    # The first has no memory; the last holds the class mix, which outlives its own step.
    old = [even.copy() for _ in SHIFTS]
    deficits = np.zeros(len(SHIFTS))
    belief, persistence = np.empty_like(p), np.empty(steps)
    for t in range(steps):
        joints = [predicted(each, shift) * q[t] for each, shift in zip(old, SHIFTS, strict=True)]
        totals = np.array([joint.sum() for joint in joints])
        after = [joint / total for joint, total in zip(joints, totals, strict=True)]
        for k in range(1, CLASS_MIX):
            old[k] = after[k]
        old[CLASS_MIX] += (after[CLASS_MIX] - old[CLASS_MIX]) / 32
        forgotten = deficits * KEPT
        weights = weights_of(forgotten)
        persistence[t] = weights @ SIXTHS
        belief[t] = (weights[0] + weights[CLASS_MIX]) * after[0]
        for k in range(1, CLASS_MIX):
            belief[t] += weights[k] * after[k]
        gains = np.log2(totals) - forgotten
        deficits = np.minimum(MOST_DEFICIT, gains.max() - gains)
    answer = np.asarray(belief.argmax(1), dtype=np.int64)
    return Experts(belief, answer, persistence)
