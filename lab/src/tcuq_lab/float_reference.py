"""The paper's equations in float64 on the dequantized integers: for tests and plots only.

Nothing that a user runs calls this; it exists so that anyone can see how far the integer
core is from real arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.monitor.params import Params
from tcuq.monitor.signals import LAGGED, SIGNALS, SLOW

Floats = npt.NDArray[np.float64]

SHIFTS = (0, 1, 2, 4, 7, 6)
"""Experts by how seldom the class changes: with probability 2^-shift. The last takes steps as independent."""

SIXTHS = np.array([0, 1, 2, 4, 6, 0]) / 6
"""What each expert adds to the persistence."""

CLASS_MIX = 5
KEPT = 251 / 256
"""How much of a deficit is left after a step."""

COPIES = np.array([5.0, 5, 5, 5, 5, 0])
"""Bits by which the others stand behind the class mix, which counts 32 times where there is no alarm."""

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
    """Return the belief before a step: the class was redrawn with probability 2^-shift."""
    fresh = ((65536 >> shift) // len(belief) if shift < 7 else (65536 // len(belief) + 127) >> 7) / 65536
    return np.asarray(belief * (1 - 2.0**-shift) + fresh)


def weights_of(deficits: Floats) -> Floats:
    """Return the weights of the experts, which sum to 1, from their deficits in bits after forgetting.

    They are those of a monitor without an alarm.
    """
    behind = deficits + COPIES
    behind = behind - behind.min()
    weights = np.where(behind < 15, 2.0**-behind, 0.0) + LEAST_WEIGHT
    return np.asarray(weights / weights.sum())


def experts(p: Floats) -> Experts:
    """Run all experts over one uninterrupted stream.

    Parameters
    ----------
    p : array of shape (T, L)
        Posteriors.

    Examples
    --------
    >>> held = experts(np.tile([[0.9, 0.1]], (60, 1)))
    >>> mixed = experts(np.array([[0.9, 0.1], [0.1, 0.9]])[np.random.default_rng(0).integers(0, 2, 60)])
    >>> bool(held.persistence[-1] > 0.5 > mixed.persistence[-1])
    True
    """
    steps, classes = p.shape
    q = likelihoods(p)
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


@dataclass(frozen=True, eq=False)
class Reference:
    """What the float64 equations give.

    Parameters
    ----------
    signals : array of shape (T, 10)
    doubted : array of T numbers
        One minus what the risk leans on.
    uncertainty, risk : array of T numbers
    answer : array of T integers
    persistence : array of T numbers
        0 without an instant head.
    look : array of T numbers
        0 without evidence.
    expected_accuracy : array of T numbers
        NaN without a horizon.
    severity : array of T numbers
        0 without evidence.
    still : array of T booleans
        Whether the input stands still.
    """

    signals: Floats
    doubted: Floats
    uncertainty: Floats
    risk: Floats
    answer: npt.NDArray[np.int64]
    persistence: Floats
    look: Floats
    expected_accuracy: Floats
    severity: Floats
    still: npt.NDArray[np.bool_]


def _xlog2x(p: Floats) -> Floats:
    return p * np.log2(np.where(p > 0, p, 1.0))


def _divergences(p: Floats, lags: tuple[int, ...]) -> list[Floats]:
    """Jensen-Shannon divergences in bits of rows from those some steps before, a list a lag.

    The mass that a row has lost counts as one more class.
    """
    mass = p.sum(1)
    p = np.column_stack([p, np.maximum(0, 1 - mass)])
    own, mass = _xlog2x(p), np.maximum(1, mass)
    found = []
    for lag in lags:
        now, past = _rows(lag, len(p))
        raw: Floats = ((own[now] + own[past]) / 2 - _xlog2x((p[now] + p[past]) / 2)).sum(1)
        found.append(np.asarray(np.clip(raw / ((mass[now] + mass[past]) / 2), 0, 1)))
    return found


def _rows(lag: int, count: int) -> tuple[slice, slice]:
    """Return the rows that have one `lag` steps before them, and those ones."""
    return slice(lag, None), slice(None, max(0, count - lag))


def _half_distance(a: Floats, b: Floats) -> Floats:
    """(1 - cosine) / 2; 0 for two zero vectors, 1/2 for one."""
    norm_a, norm_b = np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)
    product = norm_a * norm_b
    cosine = np.divide((a * b).sum(1), product, out=np.zeros(len(a)), where=product > 0)
    result: Floats = (1 - np.clip(cosine, -1, 1)) / 2
    result[(norm_a == 0) & (norm_b == 0)] = 0
    return result


def _log_odds(against: Floats) -> Floats:
    """Log-odds of a probability against the prediction: a half at even odds, 1/16 a factor of two."""
    ratio = (against + 1 / 512) / (1 - against + 1 / 512)
    return np.asarray(np.clip(0.5 + np.log2(ratio) / 16, 0, 1))


def _lagged(name: str, params: Params, p: Floats, x: Floats, predictions: npt.NDArray[Any]) -> Floats:
    """One lagged signal: the mean over the lags that are filled, weighted for divergence."""
    total, weight = np.zeros(len(p)), np.zeros(len(p))
    divergences = _divergences(p, params.lags) if name == "divergence" else []
    for number, (lag, lag_weight) in enumerate(zip(params.lags, params.lag_weights, strict=True)):
        now, past = _rows(lag, len(p))
        if name == "divergence":
            share, value = lag_weight, divergences[number]
        elif name == "instability":
            share, value = 1.0, _half_distance(x[now], x[past])
        else:
            share, value = 1.0, (predictions[now] != predictions[past]).astype(np.float64)
        total[now] += share * value
        weight[now] += share
    missing = np.full(len(p), params.clean_means[name])
    return np.asarray(np.divide(total, weight, out=missing, where=weight > 0))


def reference(
    params: Params, probs: npt.NDArray[np.int8], features: npt.NDArray[np.int8] | None = None
) -> Reference:
    """Compute signals, uncertainty and risk of one uninterrupted stream in float64.

    Parameters
    ----------
    params : Params
    probs : int8 array of shape (T, L)
    features : int8 array of shape (T, d), optional

    Returns
    -------
    Reference

    Examples
    --------
    >>> import numpy as np
    >>> probs = np.array([[127, -128], [-128, 127]], dtype=np.int8)
    >>> result = reference(Params(classes=2), probs)
    >>> bool(result.signals[1, 0] > 0.99)
    True
    """
    p = (probs.astype(np.float64) + 128) / 256
    if features is None:
        return exact(params, p, np.zeros((len(p), 1)))
    return exact(params, p, features.astype(np.float64) - params.feature_zero_point)


def exact(params: Params, p: Floats, x: Floats) -> Reference:
    """Compute the same on real posteriors and features, without any quantization.

    Parameters
    ----------
    params : Params
    p : array of shape (T, L)
    x : array of shape (T, d)
        In any scale, with zero at zero.
    """
    order = np.sort(p, axis=1)
    top, second = order[:, -1], order[:, -2]
    predictions = np.argmax(p, axis=1)
    rows = np.arange(len(p))
    answer, persistence, mixed = predictions, np.zeros(len(p)), None
    if params.instant is not None:
        mixed, answer, persistence = experts(p)
    classes = answer = answer if params.about == "answer" else predictions
    own = p[rows, classes]
    odds = _log_odds(1 - own)
    signals = np.zeros((len(p), len(SIGNALS)))
    for name in params.signals:
        if name in LAGGED:
            value = _lagged(name, params, p, x, predictions)
        elif name == "doubt":
            value = params.doubt_mix * (1 - top) + (1 - params.doubt_mix) * (1 - (top - second))
        elif name == "magnitude":
            value = np.log2((x * x).sum(1) + 1) / 24
        elif name == "distance":
            value = _distance(params, x, classes)
        elif name == "disbelief" and mixed is not None:
            value = _log_odds(1 - mixed[rows, classes])
        elif name in SLOW:
            continue
        else:
            value = odds
        signals[:, SIGNALS.index(name)] = value
    leans_on = own if params.anchor == "confidence" or mixed is None else mixed[rows, classes]
    doubted = 1 - leans_on
    look, severity, still = np.zeros(len(p)), np.zeros(len(p)), np.zeros(len(p), dtype=np.bool_)
    if params.evidence is not None:
        look, severity, still = _slow(params, signals, odds, x, classes)
    return weighed(params, signals, doubted, answer, persistence, look, severity, still)


def _distance(params: Params, x: Floats, classes: npt.NDArray[Any]) -> Floats:
    """Logarithm of the squared distance of the features from the center of a class, over 24."""
    centers = np.array(params.centers, dtype=np.float64) - params.feature_zero_point
    squares = ((x - centers[classes]) ** 2).sum(1)
    return np.asarray(np.log2(squares + 1) / 24)


def _blocks(x: Floats) -> Floats:
    """Return the sums of eight blocks of neighboring columns."""
    ends = [number * x.shape[1] // 8 for number in range(9)]
    return np.stack([x[:, start:end].sum(1) for start, end in pairwise(ends)], axis=1)


def _slow(
    params: Params, signals: Floats, odds: Floats, x: Floats, classes: npt.NDArray[Any]
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Return looks, severity and whether the input stands still; sets the signals that go by looks."""
    head = params.evidence
    assert head is not None
    sees = "distance" in params.signals
    now = _blocks(x) if sees else 65536 * odds[:, None]
    moved = np.square(np.diff(now, axis=0)).sum(1)
    look = np.concatenate([[1.0], np.clip(moved / (head.reach // 256 * 256), 1 / 8, 1)])
    coef = np.array([0.0 if name in SLOW else head.coef.get(name, 0.0) for name in SIGNALS])
    evidence = np.clip(signals @ coef + np.array(head.offsets)[classes], -head.clip, head.clip)
    short = np.where(look == 1, 0, head.reach.bit_length() - np.frexp(np.floor([0, *moved]))[1])
    still = (_means_after(short, 1 / 16, 0.0) > head.still) & (head.still > 0)
    look, evidence = np.where(still, 1.0, look), np.where(still, head.clip, evidence)
    severity = _by_looks(evidence[:, None], look)[:, 0]
    signals[:, SIGNALS.index("severity")] = (
        np.clip(0.5 + severity / 16, 0, 1) if "severity" in params.signals else 0
    )
    if "drift" in params.signals:
        centers = np.array(params.centers, dtype=np.float64) - params.feature_zero_point
        gaps = np.minimum(np.abs(_by_looks(_blocks(x - centers[classes]), look)) * 4, 16383)
        signals[:, SIGNALS.index("drift")] = np.log2(1 + np.square(gaps).sum(1)) / 24
    return look, severity, still


def _by_looks(values: Floats, look: Floats) -> Floats:
    """Return slow means of columns from 0 on, at a rate of 1/8 a look."""
    out, mean = np.empty_like(values), np.zeros(values.shape[1])
    for t, rate in enumerate((look / 8).tolist()):
        mean += rate * (values[t] - mean)
        out[t] = mean
    return out


def _means_after(values: Floats, rate: float, start: float) -> Floats:
    """Exponentially weighted mean of the values up to each one, itself included."""
    out, mean = np.empty(len(values)), start
    for t, value in enumerate(values.tolist()):
        mean += rate * (value - mean)
        out[t] = mean
    return out


def weighed(
    params: Params,
    signals: Floats,
    doubted: Floats,
    answer: npt.NDArray[Any],
    persistence: Floats,
    look: Floats,
    severity: Floats,
    still: npt.NDArray[np.bool_],
) -> Reference:
    """Compute what follows from the signals of a stream and from what its risk leans on.

    Parameters
    ----------
    params : Params
        Its heads, blend and horizon are read here.
    signals : array of shape (T, 10)
    doubted : array of T values
        One minus the confidence, or one minus the belief.
    answer, persistence, look, severity : array of T values
        They go through.
    still : array of T booleans
        Steps that are at least as uncertain as a guess.
    """
    steady = np.array([params.coef.get(name, 0.0) for name in SIGNALS])
    z = params.bias + signals @ steady
    if params.instant is not None:
        instant = np.array([params.instant.coef.get(name, 0.0) for name in SIGNALS])
        alone = params.instant.bias + signals @ instant
        z = alone + persistence * (z - alone)
    uncertainty = np.where(z >= 0, 1 / (1 + np.exp(-np.abs(z))), 1 / (1 + np.exp(np.abs(z))))
    uncertainty = np.where(still, np.maximum(uncertainty, 1 - 1 / params.classes), uncertainty)
    risk = params.blend * uncertainty + (1 - params.blend) * doubted
    expected = np.full(len(signals), np.nan)
    if params.horizon:
        expected = _means_after(1 - uncertainty, 1 / params.horizon, params.expected_start)
    return Reference(
        signals, doubted, uncertainty, risk, answer, persistence, look, expected, severity, still
    )
